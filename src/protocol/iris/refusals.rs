//! The error codes of Iris as refusals with words for the person: what happened, what it means,
//! what can be done. Must not decide what follows.

use super::Asked;
use super::frames::ErrorBody;
use crate::domain::{Refusal, RefusalCode};

/// The refusal behind an error frame; `asked` is what it answers.
pub(super) fn refusal(error: &ErrorBody, asked: Option<&Asked>) -> Refusal {
    let (code, words, says_more) = match error.code.as_str() {
        "auth" => (
            RefusalCode::Unauthorized,
            "The gateway refused the token of this account. Nothing is tried again by itself. \
             Set the right token (`trialogue account login`), then connect again.",
            false,
        ),
        "not_found" => (RefusalCode::NotFound, not_found(asked), false),
        "rate_limited" => (
            RefusalCode::RateLimited,
            "The gateway asks to slow down. The text is kept; wait a few seconds, then send it \
             again.",
            true,
        ),
        "media_too_large" => (
            RefusalCode::TooLarge,
            "The file is larger than this gateway takes. Make it smaller, or hand it over in \
             another way.",
            true,
        ),
        "unsupported" => (RefusalCode::Unsupported, unsupported(asked), true),
        "internal" => (
            RefusalCode::ServerFailed,
            "The gateway failed. Try again; if it stays, look into its log.",
            true,
        ),
        _ => (
            RefusalCode::ServerFailed,
            "The gateway refused for a reason this program does not know.",
            true,
        ),
    };
    let server = error.message.trim();
    if !says_more || server.is_empty() {
        return Refusal::new(code, words);
    }
    let server = crate::text::truncate(server, 400);
    Refusal::new(code, format!("{words} The gateway says: {server}"))
}

fn not_found(asked: Option<&Asked>) -> &'static str {
    match asked {
        Some(Asked::Pull) => "The gateway no longer has this file. Ask the agent to send it again.",
        Some(Asked::History {
            before: Some(_), ..
        }) => "The place to load from is gone. Open the conversation again.",
        Some(Asked::Send { .. } | Asked::Change { .. } | Asked::Delete { .. }) => {
            "The gateway no longer has this conversation, or it may not be changed this way. \
             What was typed is kept."
        }
        _ => "The gateway does not have it any more. Reload to see what there is.",
    }
}

fn unsupported(asked: Option<&Asked>) -> &'static str {
    match asked {
        Some(Asked::Send { .. }) => {
            "The gateway takes no message here; it may be an automation channel, which only \
             shows what the gateway puts into it."
        }
        Some(Asked::Delete { .. }) => {
            "The gateway does not delete this conversation; the default one cannot go."
        }
        Some(Asked::Change { .. }) => "The gateway does not do this to this conversation.",
        _ => "The gateway does not offer this function; it may be older than this program.",
    }
}

/// No answer came in time.
pub(super) fn timed_out() -> Refusal {
    Refusal::new(
        RefusalCode::TimedOut,
        "The gateway did not answer in time. It may be busy; try again.",
    )
}
