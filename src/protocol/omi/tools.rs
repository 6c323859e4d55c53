//! Calls of tools, the todo list that one of them keeps, and the files an answer brought.

use super::{Omi, number, word};
use crate::domain::{
    Attachment, AttachmentEvent, AttachmentId, AttachmentKind, AttachmentSource, AttachmentState,
    ConversationId, Direction, Moment, RemoteId, RunEvent, RunId, RunOutcome, TimelineEvent,
    ToolCall, ToolCallId, ToolStatus, Topic,
};
use crate::protocol::decode::{TOOL_TEXT_LIMIT, bounded};
use crate::protocol::tools;
use crate::text::SafeText;
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Files of one answer.
const FILE_LIMIT: usize = 64;

impl Omi {
    pub(super) fn on_tool_line(
        &mut self,
        now: Moment,
        id: &str,
        kind: &str,
        line: &Map<String, Value>,
    ) {
        let name = word(line, "name").to_owned();
        let stand_in = self.ids.mint();
        let Some(query) = self.queries.get_mut(id) else {
            return;
        };
        let conversation = query.conversation.clone();
        let run = query.run.clone();
        let stated = match kind {
            "tool_use" => word(line, "callId"),
            _ => word(line, "toolUseId"),
        };
        // Older adapters leave the id out: the oldest open call of the same name.
        let call = match stated {
            "" => query
                .tools
                .iter()
                .find(|(_, known)| *known == name)
                .map_or(stand_in, |(call, _)| call.clone()),
            stated => stated.to_owned(),
        };
        let status = match (kind, word(line, "status")) {
            ("tool_activity", "completed") => ToolStatus::Completed,
            ("tool_activity", "failed") => ToolStatus::Failed,
            ("tool_activity", "cancelled" | "interrupted") => ToolStatus::Cancelled,
            _ => ToolStatus::Running,
        };
        let rests = query.split();
        let is_open = query.tools.iter().any(|(known, _)| *known == call);
        if status != ToolStatus::Running {
            query.tools.retain(|(known, _)| *known != call);
        } else if !is_open && kind != "tool_result_display" {
            query.tools.push((call.clone(), name.clone()));
        }
        if let Some(remote) = rests {
            self.rest_part(conversation.clone(), remote);
        }
        let mut tool = ToolCall::new(call_id(&run, &call), SafeText::label(&name));
        tool.run = Some(run);
        tool.status = status;
        if status == ToolStatus::Running {
            tool.started = (kind != "tool_result_display").then_some(now);
        }
        if let Some(input) = line.get("input").and_then(Value::as_object) {
            tool.preview = tools::preview(&name, input);
            tool.arguments = tools::readable(input);
            if name.starts_with("TodoWrite")
                && let Some(todos) = tools::todos(&[], input)
            {
                self.say(Topic::Timeline(TimelineEvent::TodosReplaced {
                    conversation: conversation.clone(),
                    todos,
                }));
            }
        }
        if kind == "tool_result_display" {
            tool.output = SafeText::prose(&bounded(word(line, "output"), TOOL_TEXT_LIMIT));
        }
        self.say(Topic::Run(RunEvent::ToolChanged {
            conversation,
            tool: Box::new(tool),
        }));
    }

    /// Calls that did not say their end end with their run.
    pub(super) fn end_tools(
        &mut self,
        conversation: &ConversationId,
        run: &RunId,
        tools: &[(String, String)],
        outcome: &RunOutcome,
    ) {
        let status = match outcome {
            RunOutcome::Completed => ToolStatus::Completed,
            RunOutcome::Cancelled => ToolStatus::Cancelled,
            RunOutcome::Failed { .. } | RunOutcome::Lost => ToolStatus::Failed,
        };
        for (call, name) in tools {
            let mut tool = ToolCall::new(call_id(run, call), SafeText::label(name));
            tool.run = Some(run.clone());
            tool.status = status;
            self.say(Topic::Run(RunEvent::ToolChanged {
                conversation: conversation.clone(),
                tool: Box::new(tool),
            }));
        }
    }
}

/// What a call is known by. Not every runtime has ids that no other run of it uses again.
fn call_id(run: &RunId, call: &str) -> ToolCallId {
    ToolCallId::from(format!("{}/{call}", run.as_str()))
}

/// Files of an answer: they are on this machine already. Both lists of a result may name the same
/// file.
pub(super) fn artifacts_of(
    conversation: &ConversationId,
    message: &RemoteId,
    line: &Map<String, Value>,
) -> Vec<Topic> {
    let mut seen = BTreeSet::new();
    ["artifacts", "completionDeltaArtifacts"]
        .into_iter()
        .filter_map(|list| line.get(list).and_then(Value::as_array))
        .flatten()
        .filter_map(Value::as_object)
        .filter(|artifact| seen.insert(word(artifact, "artifactId")))
        .take(FILE_LIMIT)
        .filter_map(|artifact| {
            let attachment = file_of(artifact, message)?;
            Some(Topic::Attachment(AttachmentEvent::Added {
                conversation: conversation.clone(),
                attachment: Box::new(attachment),
            }))
        })
        .collect()
}

/// A file that an agent made; none for addresses that are not files of this machine, and for what
/// was deleted.
fn file_of(artifact: &Map<String, Value>, message: &RemoteId) -> Option<Attachment> {
    if matches!(
        word(artifact, "lifecycleState"),
        "deleted" | "discarded" | "expired"
    ) {
        return None;
    }
    let path = file_path(word(artifact, "uri"))?;
    let media_type = word(artifact, "mimeType");
    let kind = match media_type.split('/').next() {
        Some("image") => AttachmentKind::Image,
        Some("audio") => AttachmentKind::Audio,
        Some("video") => AttachmentKind::Video,
        _ => AttachmentKind::Document,
    };
    let base = path.file_name().map(|name| name.to_string_lossy());
    let name = match word(artifact, "displayName") {
        "" => base.unwrap_or_default().into_owned(),
        name => name.to_owned(),
    };
    let id = match word(artifact, "artifactId") {
        "" => path.to_string_lossy().into_owned(),
        id => id.to_owned(),
    };
    Some(Attachment {
        id: AttachmentId::from(id),
        message: Some(message.clone()),
        direction: Direction::In,
        name: SafeText::label(&name),
        media_type: SafeText::label(media_type),
        kind,
        size: number(artifact, "sizeBytes"),
        may_preview: kind == AttachmentKind::Image,
        expires_at_ms: None,
        source: AttachmentSource::LocalFile(path.clone()),
        state: AttachmentState::Present { path },
    })
}

/// The path of a `file:` address; none for addresses of other kinds and other machines.
fn file_path(uri: &str) -> Option<PathBuf> {
    let rest = uri.strip_prefix("file://")?;
    let rest = rest.strip_prefix("localhost").unwrap_or(rest);
    if !rest.starts_with('/') {
        return None;
    }
    let bytes = rest.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let hex = bytes
            .get(at + 1..at + 3)
            .filter(|_| *byte == b'%')
            .and_then(|pair| std::str::from_utf8(pair).ok())
            .and_then(|pair| u8::from_str_radix(pair, 16).ok());
        out.push(hex.unwrap_or(*byte));
        at += if hex.is_some() { 3 } else { 1 };
    }
    String::from_utf8(out).ok().map(PathBuf::from)
}

/// The `file:` address of a path.
pub(super) fn file_uri(path: &Path) -> String {
    let mut uri = String::from("file://");
    for byte in path.to_string_lossy().bytes() {
        if byte.is_ascii_alphanumeric() || b"/-_.~".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            let _ = write!(uri, "%{byte:02X}");
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_files_come_back_as_they_were() {
        for path in ["/home/ada/a b.txt", "/tmp/50%/ü.png"] {
            assert_eq!(
                file_path(&file_uri(Path::new(path))),
                Some(PathBuf::from(path))
            );
        }
        assert_eq!(file_path("https://example.com/x"), None);
        assert_eq!(file_path("file://elsewhere/x"), None);
    }
}
