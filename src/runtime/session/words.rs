//! What the account task says: frames for the inspector, and its own end.

use super::{SecretPlace, SessionEvent};
use crate::domain::{AccountEvent, LinkEvent, LinkState, Topic};
use crate::link::Frame;
use crate::text::SafeText;
use tokio::task::JoinError;

/// Bytes of a frame that the inspector gets.
const SHOWN: usize = 16 * 1024;

/// A frame as the inspector shows it.
pub(super) fn shown(frame: &Frame) -> SafeText {
    match frame {
        Frame::Text(_) => {
            let text = frame.as_text().unwrap_or_default();
            let mut end = text.len().min(SHOWN);
            while !text.is_char_boundary(end) {
                end -= 1;
            }
            let cut = if end < text.len() { " …" } else { "" };
            SafeText::prose(&format!("{}{cut}", &text[..end]))
        }
        Frame::Binary(bytes) => shown_bytes(bytes.len()),
    }
}

/// A piece of a file as the inspector shows it.
pub(super) fn shown_bytes(count: usize) -> SafeText {
    SafeText::prose(&format!("({count} bytes)"))
}

/// The words for a task that ended without being asked to.
pub(super) fn ended_by(error: JoinError) -> SafeText {
    if !error.is_panic() {
        return SafeText::prose("The account was stopped.");
    }
    let panic = error.into_panic();
    let what = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("unknown");
    SafeText::prose(&format!(
        "A fault in trialogue stopped this account ({what}). The other accounts go on; connect again \
         to try once more."
    ))
}

/// The command that sets a secret, as the drivers say it.
const LOGIN: &str = "(`trialogue account login`)";

/// A refusal of the secret, with the place from where it came: where that is another than the one
/// that the command fills, the command would not help.
pub(super) fn with_place(reason: &SafeText, place: &SecretPlace) -> SafeText {
    let SecretPlace { name, takes_login } = place;
    let by = if *takes_login {
        format!("(`trialogue account login`; it came from {name})")
    } else {
        format!("in {name}, from where it came")
    };
    SafeText::prose(&reason.as_str().replace(LOGIN, &by))
}

/// What the loop hears at the end.
pub(super) fn last_events(reason: Option<SafeText>) -> Vec<SessionEvent> {
    let mut events = Vec::new();
    if reason.is_some() {
        events.push(SessionEvent::Account(Box::new(AccountEvent::live(
            Topic::Link(LinkEvent::Changed(LinkState::Off)),
        ))));
    }
    events.push(SessionEvent::Ended { reason });
    events
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_secret_is_mended_where_it_came_from() {
        let reason =
            SafeText::from("Set the right token (`trialogue account login`), then connect again.");
        let check = |name: &str, takes_login, wanted: &str| {
            let place = SecretPlace {
                name: name.to_owned(),
                takes_login,
            };
            assert_eq!(with_place(&reason, &place).as_str(), wanted);
        };
        check(
            "the variable TRIALOGUE_SECRET_HOME",
            false,
            "Set the right token in the variable TRIALOGUE_SECRET_HOME, from where it came, then \
             connect again.",
        );
        check(
            "the keyring",
            true,
            "Set the right token (`trialogue account login`; it came from the keyring), then \
             connect again.",
        );
    }
}
