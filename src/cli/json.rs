//! JSON lines for scripts. Every line is one object with `"v"` (the version of this schema, 1) and
//! `"event"`; fields are only ever added. `send --json` prints what concerns its own message;
//! `listen --json` and `tail --json` add `account` and `conversation` to every line that has one,
//! and `replayed` where it happened while the link was down.
//!
//! | event | fields |
//! |---|---|
//! | `connected` | `account` |
//! | `link` | `state`: off, connecting, syncing, ready, waiting, refused, needs-login; `reason` |
//! | `conversation` | `id`, `name` |
//! | `accepted` | – |
//! | `started` | `run` |
//! | `text` | `message`, `more`: to be appended to the text of that message |
//! | `rewritten` | `message`, `text`: the whole text again |
//! | `message` | `message`, `author`, `at_ms`, `text`: a message is complete |
//! | `notice` | `text` |
//! | `tool` | `id`, `name`, `status`, `preview`, `arguments`, `output`, `error`, `duration_ms` |
//! | `decision` | `id`, `kind`, `question`, `description`, `choices` (`value`, `label`) |
//! | `resolved` | `id`, `choice` |
//! | `expired` | `id`, `why`: gone, run-ended, timed-out, server-restarted |
//! | `attachment` | `name`, `size` |
//! | `finished` | `outcome`: completed, cancelled, failed, lost; `error` |
//! | `error` | `code` (the exit code), `text` |
//!
//! What `tail --json` and `export --format json` print of the past are the events `message`
//! (with `sort`, `reasoning`, `reply_to`, `attachments`, `model`, `delivery` and `interrupted`
//! where there are such), `tool`, `finished`, and `gap` where messages are on the server only.

use crate::domain::{
    Author, Decision, Expiry, LinkState, Question, RunOutcome, ToolCall, ToolStatus,
};
use crate::runtime::oneshot::{Listened, Report};
use serde_json::{Value, json};

/// Version of the schema above.
pub const VERSION: u32 = 1;

/// One report as a line, without the line break.
pub fn report(report: &Report<'_>) -> String {
    line(value(report))
}

/// One report with the place it belongs to.
pub fn listened(listened: &Listened<'_>) -> String {
    let mut value = value(&listened.report);
    value["account"] = listened.account.as_str().into();
    if let Some(conversation) = listened.conversation {
        value["conversation"] = conversation.as_str().into();
        value["name"] = listened.name.as_str().into();
    }
    if listened.is_replayed {
        value["replayed"] = true.into();
    }
    line(value)
}

/// An object with the version of the schema, as a line.
pub fn line(mut value: Value) -> String {
    version(&mut value);
    value.to_string()
}

fn value(report: &Report<'_>) -> Value {
    match report {
        Report::Connected { account } => json!({"event": "connected", "account": account.as_str()}),
        Report::Link(link) => {
            let (state, reason) = link_state(link);
            json!({"event": "link", "state": state, "reason": reason})
        }
        Report::Conversation { id, name } => {
            json!({"event": "conversation", "id": id.as_str(), "name": name.as_str()})
        }
        Report::Accepted => json!({"event": "accepted"}),
        Report::Started { run } => json!({"event": "started", "run": run.as_str()}),
        Report::Text { message, more } => {
            json!({"event": "text", "message": message.as_str(), "more": more})
        }
        Report::Rewritten { message, text } => {
            json!({"event": "rewritten", "message": message.as_str(), "text": text})
        }
        Report::MessageEnded {
            message,
            author,
            at_ms,
            text,
        } => json!({
            "event": "message", "message": message.as_str(), "author": self::author(*author),
            "at_ms": at_ms, "text": text,
        }),
        Report::Notice { text } => json!({"event": "notice", "text": text}),
        Report::Tool(tool) => self::tool(tool),
        Report::Decision(decision) => self::decision(decision),
        Report::Resolved { decision, choice } => json!({
            "event": "resolved", "id": decision.as_str(),
            "choice": choice.map(|choice| choice.as_str()),
        }),
        Report::Expired { decision, why } => {
            let why = match why {
                Expiry::Gone => "gone",
                Expiry::RunEnded => "run-ended",
                Expiry::TimedOut => "timed-out",
                Expiry::ServerRestarted => "server-restarted",
            };
            json!({"event": "expired", "id": decision.as_str(), "why": why})
        }
        Report::Attachment { name, size } => {
            json!({"event": "attachment", "name": name.as_str(), "size": size})
        }
        Report::Finished(outcome) => finished(outcome),
    }
}

/// Where a link stands, and why.
pub fn link_state(link: &LinkState) -> (&'static str, Option<&str>) {
    match link {
        LinkState::Off => ("off", None),
        LinkState::Connecting => ("connecting", None),
        LinkState::Syncing => ("syncing", None),
        LinkState::Ready => ("ready", None),
        LinkState::Waiting { reason, .. } => ("waiting", Some(reason.as_str())),
        LinkState::Refused { reason } => ("refused", Some(reason.as_str())),
        LinkState::NeedsLogin(need) => ("needs-login", Some(need.hint.as_str())),
    }
}

/// A call of a tool.
pub fn tool(tool: &ToolCall) -> Value {
    json!({
        "event": "tool",
        "id": tool.id.as_str(),
        "name": tool.name.as_str(),
        "status": tool_status(tool.status),
        "preview": tool.preview.as_str(),
        "arguments": tool.arguments.as_str(),
        "output": tool.output.as_str(),
        "error": tool.error.as_str(),
        "duration_ms": tool.duration_ms,
    })
}

fn decision(decision: &Decision) -> Value {
    let (kind, question, description) = match &decision.question {
        Question::Approval {
            command,
            description,
            ..
        } => ("approval", command.as_str(), description.as_str()),
        Question::Clarification { question, .. } => ("clarification", question.as_str(), ""),
        Question::Picker { title } => ("picker", title.as_str(), ""),
    };
    let choices: Vec<Value> = decision
        .choices
        .iter()
        .map(|choice| json!({"value": choice.value, "label": choice.label.as_str()}))
        .collect();
    json!({
        "event": "decision", "id": decision.id.as_str(), "kind": kind,
        "question": question, "description": description, "choices": choices,
    })
}

/// How a run ended.
pub fn finished(outcome: &RunOutcome) -> Value {
    let (word, error) = match outcome {
        RunOutcome::Completed => ("completed", None),
        RunOutcome::Cancelled => ("cancelled", None),
        RunOutcome::Failed { error, .. } => ("failed", Some(error.as_str())),
        RunOutcome::Lost => ("lost", None),
    };
    json!({"event": "finished", "outcome": word, "error": error})
}

/// The word for who wrote a message.
pub fn author(author: Author) -> &'static str {
    match author {
        Author::User => "user",
        Author::Assistant => "assistant",
        Author::System => "system",
        Author::Automation => "automation",
    }
}

/// The last line of a run that did not end well.
pub fn error(code: u8, text: &str) -> String {
    line(json!({"event": "error", "code": code, "text": text}))
}

/// The word for where a tool stands.
pub fn tool_status(status: ToolStatus) -> &'static str {
    match status {
        ToolStatus::Running => "running",
        ToolStatus::Completed => "completed",
        ToolStatus::Failed => "failed",
        ToolStatus::Cancelled => "cancelled",
    }
}

fn version(value: &mut Value) {
    if let Value::Object(fields) = value {
        fields.insert("v".to_owned(), VERSION.into());
    }
}
