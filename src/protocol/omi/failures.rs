//! Failures in words: what the runtime says, and what the person can do. Every `failureCode` has
//! its own next step; errors without one are told apart by how their text begins.

use super::{Omi, word};
use crate::domain::{RunOutcome, Severity};
use crate::protocol::decode::{bounded, notice};
use crate::protocol::{Output, Retry};
use crate::text::SafeText;
use serde_json::{Map, Value};

/// What a failure says to the person: the runtime's safe text, else its message.
pub(super) fn failure_words(line: &Map<String, Value>) -> String {
    let failure = line.get("failure").and_then(Value::as_object);
    let said = failure.map(|failure| word(failure, "userMessage"));
    let words = said
        .filter(|text| !text.trim().is_empty())
        .unwrap_or_else(|| word(line, "message"));
    let words = words.trim();
    if words.is_empty() {
        let words = match word(line, "terminalStatus") {
            "timed_out" => "It took too long.",
            "orphaned" => "The run was lost when the runtime was started anew.",
            _ => "The runtime did not say why.",
        };
        return words.to_owned();
    }
    // Texts that begin with a code say nothing to a person.
    let plain = BEGINNINGS
        .iter()
        .find(|(beginning, ..)| words.starts_with(beginning))
        .and_then(|(_, _, plain)| *plain);
    let words = plain.unwrap_or(words);
    crate::text::truncate(words, 2_000).to_string()
}

/// How the texts of the runtime's own errors begin, what went wrong, and its words for the person
/// where the text has none.
const BEGINNINGS: [(&str, Fault, Option<&str>); 5] = [
    (
        "owner_uninitialized:",
        Fault::NoOwner,
        Some("The runtime did not know whose it is."),
    ),
    (
        "owner_mismatch:",
        Fault::StaleOwner,
        Some("The runtime runs for another owner."),
    ),
    ("Adapter not registered:", Fault::AdapterUnavailable, None),
    (
        "query_wire_field_not_allowed:",
        Fault::TooOld,
        Some("This runtime does not know a part of what was sent."),
    ),
    (
        "context_snapshot_projection_mismatch",
        Fault::Again,
        Some("What the agent knows changed meanwhile."),
    ),
];

/// Bytes of what a failure says for whoever looks into it.
const DETAILS: usize = 4 * 1024;
/// Lines of the runtime's log that stand beside a failure.
const LOG_LINES: usize = 8;

/// What went wrong, as far as it decides what to do next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fault {
    Authentication,
    Quota,
    InvalidRequest,
    Timeout,
    Interrupted,
    AdapterUnavailable,
    AdapterIncompatible,
    CannotStart,
    SetupNeeded,
    ToolResult,
    Cancelled,
    StaleOwner,
    NoOwner,
    /// The runtime is older than the protocol file.
    TooOld,
    Again,
    Denied,
    Unknown,
}

impl Fault {
    fn of(line: &Map<String, Value>) -> Self {
        let failure = line.get("failure").and_then(Value::as_object);
        match failure.map_or("", |failure| word(failure, "failureCode")) {
            // A run whose authority was revoked is sorted under signing in by its letters.
            "authentication" if failure.is_some_and(is_authority) => Self::StaleOwner,
            "authentication" => Self::Authentication,
            "quota_exceeded" => Self::Quota,
            "invalid_request" => Self::InvalidRequest,
            "timeout" => Self::Timeout,
            "transport_interruption" => Self::Interrupted,
            "adapter_unavailable" => Self::AdapterUnavailable,
            "adapter_incompatible" => Self::AdapterIncompatible,
            "bridge_start_failed" => Self::CannotStart,
            "provider_setup_needed" => Self::SetupNeeded,
            "malformed_or_oversized_tool_result" => Self::ToolResult,
            "cancelled" => Self::Cancelled,
            "stale_owner" => Self::StaleOwner,
            "policy_denied" => Self::Denied,
            _ => Self::of_words(word(line, "message")),
        }
    }

    /// Errors of the runtime itself name no code; their texts begin with one.
    fn of_words(message: &str) -> Self {
        let message = message.trim_start();
        BEGINNINGS
            .iter()
            .find(|(beginning, ..)| message.starts_with(beginning))
            .map_or(Self::Unknown, |(_, fault, _)| *fault)
    }
}

/// What a failure says for whoever looks into it; empty where that is what the person reads anyway.
fn details(line: &Map<String, Value>) -> String {
    let failure = line.get("failure").and_then(Value::as_object);
    let said = failure.map_or("", |failure| word(failure, "technicalMessage").trim());
    match said == failure_words(line) {
        true => String::new(),
        false => bounded(said, DETAILS),
    }
}

/// The end of a log, short enough to be read beside a failure.
fn last_lines(log: &str) -> String {
    let lines: Vec<&str> = log.lines().filter(|line| !line.trim().is_empty()).collect();
    let shown: Vec<String> = lines[lines.len().saturating_sub(LOG_LINES)..]
        .iter()
        .map(|line| crate::text::truncate(line.trim_end(), 300).to_string())
        .collect();
    shown.join("\n")
}

/// Whether a failure is explained by what the runtime wrote on standard error.
pub(super) fn needs_log(line: &Map<String, Value>) -> bool {
    matches!(word(line, "type"), "result" | "error") && Fault::of(line) == Fault::CannotStart
}

fn is_authority(failure: &Map<String, Value>) -> bool {
    word(failure, "code").contains("authority")
}

impl Omi {
    /// The end of a run by this line: stopped, or failed with what can be done.
    pub(super) fn failure(&self, line: &Map<String, Value>) -> RunOutcome {
        let fault = Fault::of(line);
        if fault == Fault::Cancelled {
            return RunOutcome::Cancelled;
        }
        let may_retry = line
            .get("failure")
            .and_then(|failure| failure.get("retryable"))
            .and_then(Value::as_bool);
        RunOutcome::Failed {
            error: SafeText::prose(&failure_words(line)),
            hint: SafeText::prose(&self.next_step(fault, may_retry)),
            details: SafeText::prose(&details(line)),
        }
    }

    fn next_step(&self, fault: Fault, may_retry: Option<bool>) -> String {
        let words = match fault {
            Fault::Authentication => match self.session.sign_in.ways() {
                Some(ways) => return format!("Sign in again ({ways}), then send it again."),
                None => "Sign in again with the agent's own program, then send it again.",
            },
            Fault::Quota => "A limit is reached. Send it again later.",
            Fault::InvalidRequest => "Change the message before you send it again.",
            Fault::Timeout => "It took too long. Send it again.",
            Fault::Interrupted => "The connection of the agent broke. Send it again.",
            Fault::AdapterUnavailable => {
                return match self.session.adapters.as_slice() {
                    [] => "This runtime has no adapter. Set one up in the environment of the \
                           account, then connect again."
                        .to_owned(),
                    adapters => format!(
                        "Choose another adapter with the profile of the conversation. This \
                         runtime has: {}.",
                        adapters.join(", ")
                    ),
                };
            }
            Fault::AdapterIncompatible => {
                "Repair the adapter as the text says, or choose another one with the profile of \
                 the conversation."
            }
            Fault::CannotStart => {
                let todo = "The adapter does not start. Correct its command in the environment of \
                            the account, then connect again.";
                return match self.session.log.trim() {
                    "" => todo.to_owned(),
                    log => format!("{todo} The runtime wrote last:\n{}", last_lines(log)),
                };
            }
            Fault::SetupNeeded => {
                "The model behind the agent needs a key or a token. Give the account its token \
                 (`trialogue account login`, or `secret_command` in its configuration), or set \
                 the key in its environment. Then send it again."
            }
            Fault::ToolResult => "A tool gave something that cannot be read. Send it again.",
            Fault::StaleOwner => "The runtime is ended, to be started anew. Send it again then.",
            Fault::NoOwner => "The runtime was told again whose it is. Send it again.",
            Fault::TooOld => "Update the runtime, or leave files and pictures out.",
            Fault::Again => "Send it again.",
            Fault::Denied => "The runtime does not allow this. Ask for something else.",
            Fault::Cancelled | Fault::Unknown => match may_retry {
                Some(true) => "Send it again.",
                _ => "Look at what was done before you send it again.",
            },
        };
        words.to_owned()
    }

    /// Does what must be done about a failure besides showing it: the runtime learns again whose it
    /// is, or is started anew because it believes something else; a refused token is read anew.
    pub(super) fn mend_owner(&mut self, line: &Map<String, Value>) {
        match Fault::of(line) {
            Fault::NoOwner => self.introduce(),
            Fault::StaleOwner => {
                let event = notice(
                    Severity::Warning,
                    None,
                    "The Omi runtime runs for another owner",
                    "It is ended, and runs for this account when it is started again. Nothing is sent a \
                     second time by itself.",
                );
                self.tell(event);
                self.close(Retry::Soon);
            }
            Fault::Authentication if self.session.renews => {
                self.out.push_back(Output::WantSecret);
            }
            _ => {}
        }
    }
}
