//! One kept entry of a conversation as JSON and as lines for a person.

use super::export::Files;
use super::{json, words};
use crate::domain::{
    AttachmentState, Author, Delivery, Entry, EntryBody, Message, MessageSort, RunOutcome,
    ToolCall, ToolStatus,
};
use serde_json::{Value, json};

/// The entry as the event it once was.
pub fn value(entry: &Entry, files: &Files) -> Value {
    match &entry.body {
        EntryBody::Message(message) => self::message(message, files),
        EntryBody::Tool(tool) => json::tool(tool),
        EntryBody::RunEnded { outcome, .. } => json::finished(outcome),
        EntryBody::Gap { .. } => json!({"event": "gap"}),
        EntryBody::Deleted { count } => json!({"event": "deleted", "count": count}),
    }
}

fn message(message: &Message, files: &Files) -> Value {
    let mut value = json!({
        "event": "message",
        "message": message.remote.as_ref().map(|remote| remote.as_str()),
        "author": json::author(message.author),
        "at_ms": message.sent_at_ms.unwrap_or(message.seen_at_ms),
        "text": message.body.text().as_str(),
    });
    let sort = match message.sort {
        MessageSort::Ordinary => None,
        MessageSort::Commentary => Some("commentary"),
        MessageSort::Notice => Some("notice"),
        MessageSort::Aside => Some("aside"),
    };
    if let Some(sort) = sort {
        value["sort"] = sort.into();
    }
    if !message.reasoning.is_empty() {
        value["reasoning"] = message.reasoning.text().as_str().into();
    }
    if let Some(reply_to) = &message.reply_to {
        value["reply_to"] = reply_to.as_str().into();
    }
    if let Some(model) = &message.footer.model {
        value["model"] = model.as_str().into();
    }
    if let Some(delivery) = &message.delivery {
        value["delivery"] = delivery_word(delivery).into();
    }
    if message.is_interrupted {
        value["interrupted"] = true.into();
    }
    let attachments: Vec<Value> = message
        .attachments
        .iter()
        .filter_map(|id| files.get(id))
        .map(|file| {
            let path = match &file.state {
                AttachmentState::Present { path } => Some(path.to_string_lossy().into_owned()),
                _ => None,
            };
            json!({
                "name": file.name.as_str(), "media_type": file.media_type.as_str(),
                "size": file.size, "path": path,
            })
        })
        .collect();
    if !attachments.is_empty() {
        value["attachments"] = attachments.into();
    }
    value
}

fn delivery_word(delivery: &Delivery) -> &'static str {
    match delivery {
        Delivery::Queued => "queued",
        Delivery::InFlight => "in-flight",
        Delivery::Accepted => "accepted",
        Delivery::Read => "read",
        Delivery::Uncertain => "uncertain",
        Delivery::Failed(_) => "failed",
    }
}

/// What a person wants to know of the delivery of an own message; nothing when it arrived.
pub fn delivery_note(message: &Message) -> Option<&'static str> {
    match message.delivery.as_ref()? {
        Delivery::Queued => Some("not sent yet"),
        Delivery::InFlight => Some("on its way"),
        Delivery::Uncertain => Some("it is not certain that it arrived"),
        Delivery::Failed(_) => Some("was not sent"),
        Delivery::Accepted | Delivery::Read => None,
    }
}

/// Who wrote it, for a person.
pub fn author_word(author: Author) -> &'static str {
    match author {
        Author::User => "you",
        Author::Assistant => "agent",
        Author::System => "system",
        Author::Automation => "automation",
    }
}

/// How a run ended, when that is worth a line.
pub fn outcome_words(outcome: &RunOutcome) -> String {
    match outcome {
        RunOutcome::Completed => "the run ended without an answer".to_owned(),
        RunOutcome::Cancelled => "stopped".to_owned(),
        RunOutcome::Failed { error, .. } => format!("the run failed: {error}"),
        RunOutcome::Lost => "the run was lost".to_owned(),
    }
}

/// A call in one line.
pub fn tool_line(tool: &ToolCall) -> String {
    let mark = match tool.status {
        ToolStatus::Running => "▸",
        ToolStatus::Completed => "✓",
        ToolStatus::Failed => "✗",
        ToolStatus::Cancelled => "–",
    };
    let took = tool
        .duration_ms
        .map(|ms| format!(" ({})", words::seconds(ms)))
        .unwrap_or_default();
    let what = if tool.error.is_empty() {
        &tool.preview
    } else {
        &tool.error
    };
    format!("{mark} {} {what}{took}", tool.name)
        .trim_end()
        .to_owned()
}

/// The entry as lines for a person; none for what is only for the eye of a program.
pub fn lines(entry: &Entry, files: &Files) -> Option<String> {
    match &entry.body {
        EntryBody::Message(message) => {
            if message.sort == MessageSort::Aside {
                return None;
            }
            let at = words::time(message.sent_at_ms.unwrap_or(message.seen_at_ms));
            let mut text = message_lines(&at, "", message.author, message.body.text().as_str());
            for file in message.attachments.iter().filter_map(|id| files.get(id)) {
                text.push_str(&format!("\n  + {}", file.name));
            }
            if let Some(note) = delivery_note(message) {
                text.push_str(&format!("\n  ({note})"));
            }
            Some(text)
        }
        EntryBody::Tool(tool) => Some(format!("  {}", tool_line(tool))),
        EntryBody::RunEnded { outcome, .. } => Some(format!("  – {}", outcome_words(outcome))),
        EntryBody::Gap { .. } => Some("  … messages that are on the server only".to_owned()),
        EntryBody::Deleted { .. } => None,
    }
}

/// A message as a line with time, place and author; further lines of its text are indented.
pub fn message_lines(at: &str, place: &str, author: Author, text: &str) -> String {
    let between = if place.is_empty() { "" } else { "  " };
    let text = text.trim_end().replace('\n', "\n  ");
    format!("{at}  {place}{between}{}: {text}", author_word(author))
}
