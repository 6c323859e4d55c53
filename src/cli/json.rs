//! JSON lines for scripts. Every line is one object with `"v"` (the version of this schema, 1) and
//! `"event"`; fields are only ever added. `trialogue send --json` prints:
//!
//! | event | fields |
//! |---|---|
//! | `connected` | `account` |
//! | `conversation` | `id`, `name` |
//! | `accepted` | – |
//! | `text` | `message`, `more`: to be appended to the text of that message |
//! | `rewritten` | `message`, `text`: the whole text again |
//! | `message` | `message`, `text`: a message is complete |
//! | `notice` | `text` |
//! | `tool` | `id`, `name`, `status`, `preview`, `arguments`, `output`, `error`, `duration_ms` |
//! | `decision` | `id`, `kind`, `question`, `description`, `choices` (`value`, `label`) |
//! | `attachment` | `name`, `size` |
//! | `finished` | `outcome`: completed, cancelled, failed, lost; `error` |
//! | `error` | `code` (the exit code), `text` |

use crate::domain::{Question, RunOutcome, ToolStatus};
use crate::runtime::oneshot::Report;
use serde_json::{Value, json};

/// Version of the schema above.
pub const VERSION: u32 = 1;

/// One report as a line, without the line break.
pub fn report(report: &Report<'_>) -> String {
    let mut value = match report {
        Report::Connected { account } => json!({"event": "connected", "account": account.as_str()}),
        Report::Conversation { id, name } => {
            json!({"event": "conversation", "id": id.as_str(), "name": name.as_str()})
        }
        Report::Accepted => json!({"event": "accepted"}),
        Report::Text { message, more } => {
            json!({"event": "text", "message": message.as_str(), "more": more})
        }
        Report::Rewritten { message, text } => {
            json!({"event": "rewritten", "message": message.as_str(), "text": text})
        }
        Report::MessageEnded { message, text } => {
            json!({"event": "message", "message": message.as_str(), "text": text})
        }
        Report::Notice { text } => json!({"event": "notice", "text": text}),
        Report::Tool(tool) => json!({
            "event": "tool",
            "id": tool.id.as_str(),
            "name": tool.name.as_str(),
            "status": tool_status(tool.status),
            "preview": tool.preview.as_str(),
            "arguments": tool.arguments.as_str(),
            "output": tool.output.as_str(),
            "error": tool.error.as_str(),
            "duration_ms": tool.duration_ms,
        }),
        Report::Decision(decision) => {
            let (kind, question, description) = match &decision.question {
                Question::Approval {
                    command,
                    description,
                    ..
                } => ("approval", command.as_str(), description.as_str()),
                Question::Clarification { question, .. } => {
                    ("clarification", question.as_str(), "")
                }
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
        Report::Attachment { name, size } => {
            json!({"event": "attachment", "name": name.as_str(), "size": size})
        }
        Report::Finished(outcome) => {
            let (word, error) = match outcome {
                RunOutcome::Completed => ("completed", None),
                RunOutcome::Cancelled => ("cancelled", None),
                RunOutcome::Failed { error, .. } => ("failed", Some(error.as_str())),
                RunOutcome::Lost => ("lost", None),
            };
            json!({"event": "finished", "outcome": word, "error": error})
        }
    };
    version(&mut value);
    value.to_string()
}

/// The last line of a run that did not end well.
pub fn error(code: u8, text: &str) -> String {
    let mut value = json!({"event": "error", "code": code, "text": text});
    version(&mut value);
    value.to_string()
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
