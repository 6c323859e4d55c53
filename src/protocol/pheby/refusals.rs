//! The errors of the spec's section "Errors" and of the HTTP endpoints as refusals with words for
//! the person: what happened, what it means, what can be done. Must not decide what follows.

use super::frames::{ErrorBody, HttpError};
use crate::domain::{Refusal, RefusalCode};
use crate::link::HttpReply;
use crate::text::size_words;

/// The longest text of a message, in characters.
pub(super) const TEXT_LIMIT: usize = 64_000;
/// The largest frame a server takes, in bytes.
pub(super) const FRAME_LIMIT: usize = 2 * 1024 * 1024;
/// The largest upload, in bytes.
pub(super) const UPLOAD_LIMIT: u64 = 64 * 1024 * 1024;
/// Files with one message.
pub(super) const FILE_LIMIT: usize = 10;

/// What was asked, for the words of a refusal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Asking {
    Send,
    Open,
    Older,
    Cancel,
    Decision,
    Setting,
    Other,
}

/// The refusal behind an error frame.
pub(super) fn refusal(error: &ErrorBody, asking: Asking) -> Refusal {
    let (code, words) = match error.code.as_str() {
        "unauthorized" => (
            RefusalCode::Unauthorized,
            "The server refused the secret of this account. Nothing is tried again by itself, \
             because five refused tries lock this machine out for a minute. Set the right secret \
             (`trialogue account login`), then connect again.",
        ),
        "auth_timeout" => (
            RefusalCode::TimedOut,
            "The server waited in vain for the sign-in; the line may be very slow. It is tried \
             again by itself.",
        ),
        "version_mismatch" => (
            RefusalCode::VersionMismatch,
            "The server speaks another version of Pheby; this program speaks version 1. Update \
             the older of the two. What is stored here stays readable.",
        ),
        "bad_request" => (RefusalCode::BadRequest, bad_request(asking)),
        "invalid_json" => (
            RefusalCode::BadRequest,
            "The server could not read what was sent. That is a fault of this program or of \
             something between; the text is kept and can be sent again.",
        ),
        "unknown_type" => (
            RefusalCode::Unsupported,
            "The server does not know this function. It may be older than this program; updating \
             it may help.",
        ),
        "not_implemented" => (
            RefusalCode::Unsupported,
            "The server does not offer this function.",
        ),
        "not_found" => (
            RefusalCode::NotFound,
            match asking {
                Asking::Cancel => {
                    "The run has ended already, or can no longer be stopped. There is nothing \
                     to do."
                }
                _ => "The server no longer has it. Reload the conversation to see what there is.",
            },
        ),
        "conversation_not_found" => (
            RefusalCode::NotFound,
            "The server no longer has this conversation; it was deleted elsewhere. Choose or \
             begin another one; what was typed is kept.",
        ),
        "approval_not_found" => (
            RefusalCode::NotFound,
            "This approval is no longer open: it was answered elsewhere, its time ran out, or \
             its run ended. Nothing was approved by this answer.",
        ),
        "clarify_not_found" => (
            RefusalCode::NotFound,
            "This question is no longer open: it was answered elsewhere, its time ran out, or \
             its run ended. Write the answer as a message if it still matters.",
        ),
        "too_large" => (
            RefusalCode::TooLarge,
            "It is too large for the server: a message may have 64,000 characters, a frame \
             2.0 MB, a file 67.1 MB. Shorten it, or attach the text as a file.",
        ),
        "rate_limited" => (
            RefusalCode::RateLimited,
            "The server asks to slow down. Wait a moment, then send it again.",
        ),
        "run_active" => (
            RefusalCode::RunActive,
            "The agent is still busy in this conversation, and it takes one message at a time. \
             The text is kept; send it when the run has ended, or stop the run.",
        ),
        "internal_error" => (
            RefusalCode::ServerFailed,
            "The server failed. Try again; if it stays, look into its log.",
        ),
        _ => (
            RefusalCode::ServerFailed,
            "The server refused for a reason this program does not know.",
        ),
    };
    let says_more = matches!(
        error.code.as_str(),
        "bad_request" | "invalid_json" | "internal_error" | "not_implemented" | "rate_limited"
    ) || !is_known(&error.code);
    with_server_words(code, words, if says_more { &error.message } else { "" })
}

fn bad_request(asking: Asking) -> &'static str {
    match asking {
        Asking::Send => {
            "The server did not take the message. If files are attached, one of them may have \
             been sent already or have expired: attach them again."
        }
        Asking::Older => "The place to load from is gone. Open the conversation again.",
        Asking::Setting => "The server does not take this value. Choose one that it offers.",
        Asking::Open | Asking::Cancel | Asking::Decision | Asking::Other => {
            "The server did not take the request."
        }
    }
}

fn is_known(code: &str) -> bool {
    [
        "unauthorized",
        "auth_timeout",
        "version_mismatch",
        "bad_request",
        "invalid_json",
        "unknown_type",
        "not_found",
        "conversation_not_found",
        "approval_not_found",
        "clarify_not_found",
        "too_large",
        "rate_limited",
        "run_active",
        "internal_error",
        "not_implemented",
    ]
    .contains(&code)
}

fn with_server_words(code: RefusalCode, words: &str, server: &str) -> Refusal {
    let server = server.trim();
    if server.is_empty() {
        return Refusal::new(code, words);
    }
    let server = crate::text::truncate(server, 400);
    Refusal::new(code, format!("{words} The server says: {server}"))
}

/// The refusal behind a reply of the attachment endpoints. The body need not be JSON.
pub(super) fn http(reply: &HttpReply, is_upload: bool) -> Refusal {
    let server = serde_json::from_slice::<HttpError>(&reply.body)
        .map(|body| body.error.message)
        .unwrap_or_default();
    let (code, words) = match (reply.status, is_upload) {
        (401, _) => (
            RefusalCode::Unauthorized,
            "The server refused the secret for this file. Check the secret of this account."
                .to_owned(),
        ),
        (403 | 429, _) => (
            RefusalCode::RateLimited,
            "The server takes no more requests from this machine for now. Try again in a minute."
                .to_owned(),
        ),
        (400, true) => (
            RefusalCode::BadRequest,
            "The server did not take the file: it may be empty, or the conversation is gone."
                .to_owned(),
        ),
        (404, true) => (
            RefusalCode::NotFound,
            "The server takes no files at this address. Check that the web server before it \
             forwards /attachments."
                .to_owned(),
        ),
        (413, true) => (
            RefusalCode::TooLarge,
            format!(
                "The file is too large for the server; {} is the limit, and a web server before \
                 it may set a lower one.",
                size_words(UPLOAD_LIMIT)
            ),
        ),
        (404 | 410, false) => (
            RefusalCode::NotFound,
            "The server no longer has this file. Ask the agent to send it again.".to_owned(),
        ),
        (300..=399, _) => (
            RefusalCode::ServerFailed,
            "The server pointed to another address, which is not followed, because the secret \
             would go along. Check the address of this account."
                .to_owned(),
        ),
        (500..=599, _) => (
            RefusalCode::ServerFailed,
            format!("The server failed (HTTP {}). Try again.", reply.status),
        ),
        (status, _) => (
            RefusalCode::ServerFailed,
            format!("The server answered with HTTP {status}, which this program does not expect."),
        ),
    };
    let says_more = matches!(reply.status, 400 | 402 | 405..=409 | 411 | 412 | 414..=599);
    with_server_words(code, &words, if says_more { &server } else { "" })
}

/// No answer came in time.
pub(super) fn timed_out() -> Refusal {
    Refusal::new(
        RefusalCode::TimedOut,
        "The server did not answer in time. It may be busy; try again.",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_a_refusal_name_the_limits_that_there_are() {
        let error = ErrorBody {
            code: "too_large".to_owned(),
            ..ErrorBody::default()
        };
        let words = refusal(&error, Asking::Send).text.to_string();
        for limit in [FRAME_LIMIT as u64, UPLOAD_LIMIT] {
            assert!(words.contains(&size_words(limit)), "{words}");
        }
    }
}
