//! What the agent behind the runtime needs to sign in. No answer exists to either line: the person
//! signs in elsewhere, and it shows by `auth_success`, by an answer that comes, or not at all. The
//! page waits two minutes and dies without a word.

use super::{Omi, word};
use crate::domain::{LinkEvent, LinkState, LoginMethod, LoginNeed, Moment, Severity, Topic};
use crate::protocol::decode::notice;
use crate::text::SafeText;
use serde_json::{Map, Value};
use std::time::Duration;

/// How long a sign-in page waits.
const PAGE_LIFE: Duration = Duration::from_secs(120);

/// Whether a sign-in is awaited.
#[derive(Debug, Default)]
pub(super) struct SignIn {
    until: Option<Moment>,
    has_page: bool,
    ways: Vec<String>,
}

impl SignIn {
    pub(super) fn until(&self) -> Option<Moment> {
        self.until
    }

    pub(super) fn forget(&mut self) {
        *self = Self::default();
    }

    /// The commands and names that sign in, in a row; none when the runtime named none.
    pub(super) fn ways(&self) -> Option<String> {
        (!self.ways.is_empty()).then(|| self.ways.join(", "))
    }
}

impl Omi {
    pub(super) fn on_auth_required(&mut self, now: Moment, line: &Map<String, Value>) {
        let methods: Vec<LoginMethod> = line
            .get("methods")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_object)
            .take(16)
            .map(method)
            .collect();
        let url = Some(word(line, "authUrl")).filter(|url| !url.is_empty());
        let sign_in = &mut self.session.sign_in;
        // It may come twice for one start: without the page first, then with it.
        if url.is_none() && sign_in.has_page && sign_in.until.is_some() {
            return;
        }
        sign_in.has_page = url.is_some();
        sign_in.until = Some(now.after(PAGE_LIFE));
        // Those of the first time hold beside the page.
        for method in &methods {
            let way = match method.detail.as_str() {
                "" => continue,
                detail => format!("{}: {detail}", method.name),
            };
            if !sign_in.ways.contains(&way) {
                sign_in.ways.push(way);
            }
        }
        let hint = match url {
            Some(url) => page_hint(url),
            None => "Sign in with the agent's own program on the machine the runtime runs on, \
                     then connect again."
                .to_owned(),
        };
        self.say(Topic::Link(LinkEvent::Changed(LinkState::NeedsLogin(
            LoginNeed {
                // An address that is cut leads nowhere.
                url: url.map(SafeText::command),
                methods,
                hint: SafeText::prose(&hint),
            },
        ))));
    }

    /// The sign-in worked: said, or shown by an answer that comes.
    pub(super) fn signed_in(&mut self) {
        if self.session.sign_in.until.is_some() {
            self.session.sign_in.forget();
            self.use_again();
        }
    }

    /// The query that needed it has failed: nothing waits for a sign-in without a page any more.
    pub(super) fn sign_in_failed(&mut self) {
        let sign_in = &mut self.session.sign_in;
        if !sign_in.has_page && sign_in.until.take().is_some() {
            self.use_again();
        }
    }

    /// The page is dead. The account can be used: what needs the sign-in asks for it again.
    pub(super) fn expire_sign_in(&mut self, now: Moment) {
        let sign_in = &mut self.session.sign_in;
        if sign_in
            .until
            .is_none_or(|until| until.mono_ms > now.mono_ms)
        {
            return;
        }
        let ways = sign_in.ways().unwrap_or_default();
        let words = match (sign_in.has_page, ways.as_str()) {
            (true, "") => {
                "The sign-in page no longer waits. Send a message to get a new one.".into()
            }
            (true, ways) => format!(
                "The sign-in page no longer waits. Send a message to get a new one, or sign in \
                 with the agent's own program: {ways}."
            ),
            (false, "") => {
                "Sign in with the agent's own program, then send the message again.".into()
            }
            (false, ways) => format!("Sign in with {ways}, then send the message again."),
        };
        sign_in.until = None;
        let event = notice(
            Severity::Warning,
            None,
            "The agent is not signed in",
            &words,
        );
        self.tell(event);
        self.use_again();
    }

    fn use_again(&mut self) {
        if self.session.is_ready() {
            self.say(Topic::Link(LinkEvent::Changed(LinkState::Ready)));
        }
    }
}

fn method(method: &Map<String, Value>) -> LoginMethod {
    let name = match word(method, "displayName") {
        "" => word(method, "id"),
        name => name,
    };
    let detail = match (method.get("args"), method.get("env")) {
        (Some(Value::Array(args)), _) => args
            .iter()
            .filter_map(Value::as_str)
            .collect::<Vec<_>>()
            .join(" "),
        (_, Some(Value::Object(env))) => {
            let names: Vec<&str> = env.keys().map(String::as_str).collect();
            match names.as_slice() {
                [] => String::new(),
                names => format!("set {}", names.join(", ")),
            }
        }
        _ => String::new(),
    };
    LoginMethod {
        name: SafeText::label(name),
        detail: SafeText::label(&detail),
    }
}

/// The browser has to reach a port of the runtime's machine, which stands in the address.
fn page_hint(url: &str) -> String {
    let port = url
        .split(['?', '&'])
        .find_map(|part| part.strip_prefix("redirect_uri="))
        .map(|part| {
            part.replace("%3A", ":")
                .replace("%3a", ":")
                .replace("%2F", "/")
                .replace("%2f", "/")
        })
        .and_then(|part| {
            let (_, rest) = part.split_once("://")?;
            let (_, rest) = rest.split_once(':')?;
            let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
            digits.parse::<u16>().ok()
        });
    match port {
        Some(port) => format!(
            "The page answers to port {port} of the machine the runtime runs on. Over SSH forward \
             it first: ssh -L {port}:localhost:{port} HOST. The page waits two minutes."
        ),
        None => {
            "The page answers to a port of the machine the runtime runs on; over SSH that port \
                 must be forwarded. The page waits two minutes."
                .to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::page_hint;

    #[test]
    fn the_port_to_forward_is_the_one_in_the_address() {
        let url = "https://claude.ai/oauth?code=true&redirect_uri=http%3A%2F%2Flocalhost%3A54545%2Fcallback&x=1";
        assert!(page_hint(url).contains("ssh -L 54545:localhost:54545"));
        assert!(!page_hint("https://example.com/x").contains("ssh"));
    }
}
