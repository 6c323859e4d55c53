//! What the account task says: frames for the inspector, and its own end.

use super::SessionEvent;
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
