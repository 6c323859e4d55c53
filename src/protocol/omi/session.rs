//! The life of the process as seen from its lines: init, owner, token, signs of life, its end.
//! Must not touch conversations.

use super::{Asked, Omi, control, number, word};
use crate::config::account::ProcessEndpoint;
use crate::domain::{
    AttachmentLimits, Capabilities, HistoryPaging, Identity, LinkEvent, LinkState, Moment, Secret,
    Severity, Support, SyncEvent, Topic,
};
use crate::link::CloseReason;
use crate::protocol::decode::notice;
use crate::protocol::{Output, Retry};
use crate::text::SafeText;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::time::Duration;

/// The version this driver speaks.
pub(super) const VERSION: u64 = 2;
const INIT_PATIENCE: Duration = Duration::from_secs(30);
/// A runtime that promised signs of life and gives none for so long is frozen.
const LEASE: Duration = Duration::from_secs(60);
/// A token is renewed this long before it ends.
const BEFORE_ITS_END: Duration = Duration::from_secs(5 * 60);
/// The same for a token that does not say when it ends, and after one that ended already.
const TOKEN_LIFE: Duration = Duration::from_secs(45 * 60);
/// How often a sign of life is passed on.
const HEARD_EVERY: Duration = Duration::from_secs(5);
/// The fact that holds an owner made here.
const OWNER: &str = "owner";

pub(super) const NO_MESSAGE_DELETION: &str =
    "Omi cannot delete single messages; clear the conversation, or write a correction";
const DELETE_NOTE: &str = "Its messages are emptied out of the runtime's journal and out of this \
    program, which then forgets it. Files that the agent made stay. This cannot be undone.";
pub(super) const NO_SERVER_SEARCH: &str = "Omi does not search in its journal; search here";
pub(super) const NO_CATALOG: &str = "Omi has no slash commands of its own";
pub(super) const FILES_ARE_HERE: &str = "the file is on this machine already";
pub(super) const NO_ANSWER: &str =
    "The runtime gave no answer in time. Try again, or start it anew with a reconnect.";
const NOT_IN_OMI: &str = "Omi does not have this";

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Stage {
    #[default]
    Down,
    /// The process runs; its init is awaited.
    Starting {
        until: Moment,
    },
    Ready,
}

/// The state of the process.
#[derive(Debug, Default)]
pub(super) struct Session {
    stage: Stage,
    pub(super) owner: String,
    owner_is_new: bool,
    pub(super) verdict: Option<Retry>,
    pub(super) heard: Moment,
    told: Option<Moment>,
    /// This process promises signs of life: one was seen.
    pub(super) is_leased: bool,
    /// A fresh token can be had at any time.
    pub(super) renews: bool,
    /// When the token is read anew.
    token_until: Option<Moment>,
    pub(super) sign_in: super::signin::SignIn,
    /// With what new sessions begin, as the runtime confirmed it.
    pub(super) defaults: Option<super::profile::Pinned>,
    pub(super) adapters: Vec<String>,
    pub(super) control_tools: Vec<String>,
    /// Agents that were started in the background from here.
    pub(super) started: Vec<super::agents::Agent>,
    /// A failure that waits for the log that explains it.
    pub(super) unexplained: Option<Box<Map<String, Value>>>,
    /// The end of what the process wrote on standard error, as it was asked for last.
    pub(super) log: String,
    /// This process wants to know from where some functions are asked for.
    pub(super) wants_origin: bool,
}

impl Session {
    pub(super) fn new(
        endpoint: &ProcessEndpoint,
        renews: bool,
        facts: &BTreeMap<String, String>,
    ) -> Self {
        let owner = endpoint
            .owner
            .clone()
            .or_else(|| facts.get(OWNER).cloned())
            .unwrap_or_default();
        Self {
            owner_is_new: owner.is_empty(),
            owner,
            renews,
            ..Self::default()
        }
    }

    pub(super) fn is_ready(&self) -> bool {
        self.stage == Stage::Ready
    }

    pub(super) fn is_down(&self) -> bool {
        self.stage == Stage::Down
    }

    /// How long a query may be silent; none when this process promised nothing.
    pub(super) fn lease(&self) -> Option<Duration> {
        (self.is_ready() && self.is_leased).then_some(LEASE)
    }

    pub(super) fn deadline(&self) -> Option<Moment> {
        match self.stage {
            Stage::Starting { until } => Some(until),
            Stage::Ready => [self.token_until, self.sign_in.until()]
                .into_iter()
                .flatten()
                .min_by_key(|moment| moment.mono_ms),
            Stage::Down => None,
        }
    }
}

impl Omi {
    pub(super) fn link_up(&mut self, now: Moment) {
        self.oddities.reset();
        self.session.verdict = None;
        self.session.stage = Stage::Starting {
            until: now.after(INIT_PATIENCE),
        };
        self.say(Topic::Link(LinkEvent::Changed(LinkState::Connecting)));
    }

    pub(super) fn session_down(&mut self, was_ready: bool, reason: &CloseReason) {
        self.session.stage = Stage::Down;
        self.session.told = None;
        self.session.is_leased = false;
        self.session.wants_origin = false;
        self.session.token_until = None;
        self.session.sign_in.forget();
        if let CloseReason::Exited { stderr_tail, .. } = reason {
            let is_memory = [
                "JavaScript heap out of memory",
                "FatalProcessOutOfMemory",
                "failed to reserve virtual memory",
            ]
            .iter()
            .any(|sign| stderr_tail.contains(sign));
            let words = if is_memory {
                "It ran out of memory. What it had begun is not done again by itself.".to_owned()
            } else {
                reason.words()
            };
            if was_ready {
                let event = notice(Severity::Error, None, "The Omi runtime stopped", &words);
                self.tell(event);
            }
        }
    }

    /// The process is given up; the person must change something.
    fn give_up(&mut self, words: &str) {
        self.session.verdict = Some(Retry::Never);
        let reason = SafeText::prose(words);
        self.say(Topic::Link(LinkEvent::Changed(LinkState::Refused {
            reason,
        })));
        self.close(Retry::Never);
    }

    pub(super) fn close(&mut self, retry: Retry) {
        self.session.verdict = Some(retry);
        self.session.stage = Stage::Down;
        self.out.push_back(Output::Close {
            last: None,
            grace: Duration::from_secs(3),
            retry,
        });
    }

    /// An error before init: the runtime says why it cannot start, and goes.
    pub(super) fn failed_to_start(&mut self, message: &str) {
        let words = format!(
            "The Omi runtime could not start: {}. Correct its command or environment in the \
             configuration, then connect again.",
            message.trim().trim_end_matches('.')
        );
        self.give_up(&words);
    }

    pub(super) fn on_init(&mut self, now: Moment, line: &Map<String, Value>) {
        let version = line.get("protocolVersion").and_then(Value::as_u64);
        if version != Some(VERSION) {
            let theirs = version.map_or("no version".to_owned(), |n| format!("version {n}"));
            return self.give_up(&format!(
                "The runtime speaks {theirs} of Omi's protocol, this program version {VERSION}. \
                 Update the older of the two. What is stored here stays readable."
            ));
        }
        let list = |key: &str| -> Vec<String> {
            let items = line.get(key).and_then(Value::as_array);
            items
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .take(256)
                .map(str::to_owned)
                .collect()
        };
        self.session.adapters = list("runtimeAdapterIds");
        self.session.control_tools = list("agentControlTools");
        let capabilities = list("runtimeCapabilities");
        self.session.stage = Stage::Ready;
        self.session.heard = now;
        if self.session.owner_is_new {
            self.session.owner_is_new = false;
            self.session.owner = format!("local-{}", self.ids.mint());
            self.say(Topic::Sync(SyncEvent::Kept {
                name: OWNER.to_owned(),
                value: Some(self.session.owner.clone()),
            }));
        }
        self.say(Topic::Link(LinkEvent::IdentityKnown(Identity {
            server: "omi".into(),
            version: SafeText::label(word(line, "runtimeVersion")),
        })));
        let offered = Box::new(capabilities_of(&self.session.control_tools));
        self.say(Topic::Link(LinkEvent::CapabilitiesChanged(offered)));
        let missing: Vec<&str> = ["journal_import_remote_turn", "runtime_adapter_availability"]
            .into_iter()
            .filter(|name| !capabilities.iter().any(|known| known == name))
            .collect();
        if !missing.is_empty() {
            let event = notice(
                Severity::Warning,
                None,
                "This Omi runtime is an old one",
                &format!("It lacks {}. Some things may not work.", missing.join(", ")),
            );
            self.tell(event);
        }
        self.introduce();
        self.time_token(now);
        self.set_defaults(now);
        self.say(Topic::Link(LinkEvent::Changed(LinkState::Ready)));
        self.list_chats();
        self.look_for_lost(now);
    }

    /// Agents that the agent starts itself work in the person's folder too, not among the files of
    /// the runtime.
    fn set_defaults(&mut self, now: Moment) {
        let Some(profile) = self.creation_profile() else {
            return;
        };
        let mut line = profile;
        line["type"] = json!("configure_default_execution_profile");
        self.ask(now, line, Asked::Defaults);
    }

    pub(super) fn on_defaults_kept(&mut self, line: &Map<String, Value>) {
        self.pending.take(word(line, "requestId"));
        let defaults = super::profile::Pinned {
            generation: number(line, "preferenceGeneration").unwrap_or(1),
            ..super::profile::pinned(line)
        };
        self.session.defaults = Some(defaults);
    }

    /// Names the owner; no answer comes to either line.
    pub(super) fn introduce(&mut self) {
        let owner = self.session.owner.clone();
        match self.secret.as_ref().filter(|secret| !secret.is_empty()) {
            Some(secret) => {
                let token = secret.expose().to_owned();
                self.write(json!({"type": "refresh_token", "token": token, "ownerId": owner}));
            }
            None => self.write(json!({"type": "refresh_owner", "ownerId": owner})),
        }
    }

    pub(super) fn renew_secret(&mut self, now: Moment, secret: Secret) {
        self.secret = Some(secret);
        if self.session.is_ready() {
            self.introduce();
            self.time_token(now);
        }
    }

    /// Plans when a token that can be renewed is read anew.
    fn time_token(&mut self, now: Moment) {
        self.session.token_until = None;
        let Some(secret) = self.secret.as_ref().filter(|_| self.session.renews) else {
            return;
        };
        let left = end_of_token(secret.expose())
            .and_then(|end_ms| u64::try_from(end_ms - now.wall_ms).ok())
            .map(Duration::from_millis)
            .and_then(|left| left.checked_sub(BEFORE_ITS_END))
            .unwrap_or(TOKEN_LIFE);
        self.session.token_until = Some(now.after(left));
    }

    pub(super) fn hear(&mut self, now: Moment) {
        self.session.heard = now;
        if !self.session.is_ready() {
            return;
        }
        let is_due = self
            .session
            .told
            .is_none_or(|told| now.since(told) >= HEARD_EVERY);
        if is_due {
            self.session.told = Some(now);
            self.say(Topic::Link(LinkEvent::Heard { latency_ms: None }));
        }
    }

    /// Ends a process that does not start, or that is frozen.
    pub(super) fn watch(&mut self, now: Moment) {
        match self.session.stage {
            Stage::Starting { until } if until.mono_ms <= now.mono_ms => {
                let event = notice(
                    Severity::Error,
                    None,
                    "The Omi runtime does not start",
                    "It was started and said nothing for 30 seconds, so it is ended. Look whether its \
                     command is right: it has to speak the protocol on its standard output.",
                );
                self.tell(event);
                self.close(Retry::Backoff);
            }
            Stage::Ready => {
                if self
                    .session
                    .token_until
                    .is_some_and(|until| until.mono_ms <= now.mono_ms)
                {
                    self.session.token_until = Some(now.after(TOKEN_LIFE));
                    self.out.push_back(Output::WantSecret);
                }
                self.expire_sign_in(now);
            }
            Stage::Starting { .. } | Stage::Down => {}
        }
    }

    /// Ends a process of which nothing comes any more.
    pub(super) fn is_frozen(&mut self) {
        let event = notice(
            Severity::Error,
            None,
            "The Omi runtime is frozen",
            "It gave no sign of life for a minute, so it is ended. Nothing is sent a second time by \
             itself.",
        );
        self.tell(event);
        self.close(Retry::Soon);
    }
}

/// Wall milliseconds at which a token ends, where it says so (the `exp` of a JWT).
fn end_of_token(token: &str) -> Option<i64> {
    use base64::Engine as _;
    let claims = token.split('.').nth(1)?;
    let bytes = base64::engine::general_purpose::URL_SAFE_NO_PAD
        .decode(claims.trim_end_matches('='))
        .ok()?;
    let claims: Map<String, Value> = serde_json::from_slice(&bytes).ok()?;
    claims.get("exp")?.as_i64()?.checked_mul(1000)
}

fn capabilities_of(tools: &[String]) -> Capabilities {
    Capabilities {
        create_conversation: Support::Yes,
        create_thread: Support::No("Omi has no threads; begin a new conversation"),
        rename_conversation: Support::Yes,
        delete_conversation: Support::Yes,
        clear_conversation: Support::Yes,
        set_default: Support::No(NOT_IN_OMI),
        favorite: Support::No(NOT_IN_OMI),
        appearance: Support::No(NOT_IN_OMI),
        automation: Support::No(NOT_IN_OMI),
        auto_thread: Support::No(NOT_IN_OMI),
        delete_note: DELETE_NOTE,
        delete_message: Support::No(NO_MESSAGE_DELETION),
        reply_to: Support::No(NOT_IN_OMI),
        read_receipts: Support::No(NOT_IN_OMI),
        cancel_run: Support::Yes,
        queues_messages: Support::No("Omi answers one message of a conversation at a time"),
        server_search: Support::No(NO_SERVER_SEARCH),
        slash_catalog: Support::No(NO_CATALOG),
        models: Support::No("Omi lists no models; set one with the profile of the conversation"),
        models_per_conversation: Support::Yes,
        models_free_text: Support::Yes,
        effort: Support::Yes,
        auto_approve: Support::Yes,
        auto_approve_label: "act mode",
        profile: Support::Yes,
        upload: Support::Yes,
        download: Support::No(FILES_ARE_HERE),
        reasoning: Support::Yes,
        todos: Support::Yes,
        history: HistoryPaging::NewerThanToken,
        attachment_limits: AttachmentLimits {
            count: 20,
            bytes: None,
            pictures: None,
        },
        text_limit: None,
        functions: control::functions(tools),
    }
}

#[cfg(test)]
mod tests {
    use super::end_of_token;

    #[test]
    fn a_token_says_when_it_ends_or_nothing() {
        // {"sub":"ada","exp":1767229200}
        let token = "eyJhbGciOiJub25lIn0.eyJzdWIiOiJhZGEiLCJleHAiOjE3NjcyMjkyMDB9.x";
        assert_eq!(end_of_token(token), Some(1_767_229_200_000));
        assert_eq!(end_of_token("opaque"), None);
    }
}
