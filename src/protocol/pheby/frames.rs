//! The frames of Pheby v1 as types, in the order and spelling of the spec (`pheby.md`). Reading is
//! tolerant: a missing or misshapen field falls back, because the parts decide what they need.
//! Must not decide anything.

use crate::protocol::decode::{Oddity, list, object, optional_text, payload, soft, text, texts};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// What the client sends, with the id that the direct reply echoes.
#[derive(Serialize)]
pub(super) struct Outgoing<'a> {
    #[serde(flatten)]
    pub(super) request: &'a Request<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) request_id: Option<&'a str>,
}

/// Client → server.
#[derive(Serialize)]
#[serde(tag = "type")]
pub(super) enum Request<'a> {
    #[serde(rename = "hello")]
    Hello {
        secret: &'a str,
        protocol_version: u64,
    },
    #[serde(rename = "ping")]
    Ping,
    #[serde(rename = "conversation.list")]
    ConversationList,
    #[serde(rename = "conversation.create")]
    ConversationCreate {
        #[serde(skip_serializing_if = "Option::is_none")]
        name: Option<&'a str>,
    },
    #[serde(rename = "conversation.open")]
    ConversationOpen {
        conversation_id: &'a str,
        limit: u32,
        #[serde(skip_serializing_if = "Option::is_none")]
        before_message_id: Option<&'a str>,
    },
    #[serde(rename = "conversation.rename")]
    ConversationRename {
        conversation_id: &'a str,
        name: &'a str,
    },
    #[serde(rename = "conversation.delete")]
    ConversationDelete { conversation_id: &'a str },
    #[serde(rename = "chat.send")]
    ChatSend {
        conversation_id: &'a str,
        text: &'a str,
        #[serde(skip_serializing_if = "<[&str]>::is_empty")]
        attachment_ids: &'a [&'a str],
    },
    #[serde(rename = "run.cancel")]
    RunCancel {
        conversation_id: &'a str,
        run_id: &'a str,
    },
    #[serde(rename = "approval.respond")]
    ApprovalRespond {
        approval_id: &'a str,
        choice: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<&'a str>,
    },
    #[serde(rename = "clarify.respond")]
    ClarifyRespond {
        clarify_id: &'a str,
        response: &'a str,
    },
    #[serde(rename = "yolo.current")]
    YoloCurrent { conversation_id: &'a str },
    #[serde(rename = "yolo.set")]
    YoloSet {
        conversation_id: &'a str,
        enabled: bool,
    },
    #[serde(rename = "models.list")]
    ModelsList {
        #[serde(skip_serializing_if = "Option::is_none")]
        conversation_id: Option<&'a str>,
    },
    #[serde(rename = "models.current")]
    ModelsCurrent {
        #[serde(skip_serializing_if = "Option::is_none")]
        conversation_id: Option<&'a str>,
    },
    #[serde(rename = "model.set")]
    ModelSet {
        model: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        provider: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        conversation_id: Option<&'a str>,
    },
    #[serde(rename = "reasoning.current")]
    ReasoningCurrent {
        #[serde(skip_serializing_if = "Option::is_none")]
        conversation_id: Option<&'a str>,
    },
    #[serde(rename = "reasoning.set")]
    ReasoningSet {
        effort: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        conversation_id: Option<&'a str>,
    },
}

/// One frame of the server, with the id of the request it answers.
#[derive(Debug)]
pub(super) struct Incoming {
    pub(super) request_id: Option<String>,
    pub(super) event: Event,
}

/// Server → client.
#[derive(Debug)]
pub(super) enum Event {
    Ready(Ready),
    Pong,
    Error(ErrorBody),
    ConversationSnapshot(ConversationSnapshot),
    ConversationCreated(ConversationNamed),
    ConversationUpdated(ConversationNamed),
    ConversationHistory(Box<ConversationHistory>),
    ConversationRenamed(ConversationNamed),
    ConversationDeleted(ConversationNamed),
    RunAccepted(RunFrame),
    MessageStart(MessageFrame),
    MessageDelta(MessageFrame),
    MessageComplete(MessageFrame),
    RunFinished(RunFrame),
    ToolEvent(ToolEvent),
    ApprovalRequest(ApprovalRequest),
    ApprovalResolved(ApprovalResolved),
    ClarifyRequest(ClarifyRequest),
    ClarifyResolved(ClarifyResolved),
    YoloSnapshot(YoloFrame),
    YoloChanged(YoloFrame),
    AttachmentAdded(AttachmentAdded),
    ModelsSnapshot(ModelsSnapshot),
    ModelCurrent(ModelFrame),
    ModelChanged(ModelFrame),
    ReasoningSnapshot(ReasoningFrame),
    ReasoningChanged(ReasoningFrame),
    /// A type that the spec does not name.
    Unknown(String),
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Ready {
    #[serde(deserialize_with = "soft")]
    pub(super) protocol_version: Option<u64>,
    #[serde(deserialize_with = "text")]
    pub(super) server: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ErrorBody {
    #[serde(deserialize_with = "text")]
    pub(super) code: String,
    #[serde(deserialize_with = "text")]
    pub(super) message: String,
    /// It has the form in which an Iris gateway says no.
    #[serde(skip)]
    pub(super) is_of_iris: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ConversationSnapshot {
    #[serde(deserialize_with = "list")]
    pub(super) conversations: Vec<ConversationEntry>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ConversationEntry {
    #[serde(deserialize_with = "text")]
    pub(super) conversation_id: String,
    #[serde(deserialize_with = "text")]
    pub(super) name: String,
    #[serde(deserialize_with = "optional_text")]
    pub(super) last_active: Option<String>,
}

/// `conversation.created`, `.updated`, `.renamed` and `.deleted`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ConversationNamed {
    #[serde(deserialize_with = "text")]
    pub(super) conversation_id: String,
    #[serde(deserialize_with = "optional_text")]
    pub(super) name: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ConversationHistory {
    #[serde(deserialize_with = "text")]
    pub(super) conversation_id: String,
    #[serde(deserialize_with = "list")]
    pub(super) messages: Vec<HistoryMessage>,
    #[serde(deserialize_with = "soft")]
    pub(super) has_more: bool,
    #[serde(deserialize_with = "list")]
    pub(super) attachments: Vec<Attachment>,
    #[serde(deserialize_with = "soft")]
    pub(super) run: Option<ActiveRun>,
    #[serde(deserialize_with = "list")]
    pub(super) tools: Vec<ToolEvent>,
    #[serde(deserialize_with = "list")]
    pub(super) approvals: Vec<ApprovalRequest>,
    #[serde(deserialize_with = "list")]
    pub(super) clarifications: Vec<ClarifyRequest>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct HistoryMessage {
    #[serde(deserialize_with = "text")]
    pub(super) message_id: String,
    #[serde(deserialize_with = "text")]
    pub(super) role: String,
    #[serde(deserialize_with = "text")]
    pub(super) text: String,
    #[serde(deserialize_with = "optional_text")]
    pub(super) ts: Option<String>,
}

/// `run` of a snapshot; the spec names no fields, so each may be missing.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ActiveRun {
    #[serde(deserialize_with = "text")]
    pub(super) run_id: String,
    #[serde(deserialize_with = "text")]
    pub(super) status: String,
    #[serde(deserialize_with = "optional_text")]
    pub(super) message_id: Option<String>,
    #[serde(deserialize_with = "text")]
    pub(super) text: String,
    #[serde(deserialize_with = "optional_text")]
    pub(super) started_at: Option<String>,
}

/// `run.accepted` and `run.finished`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct RunFrame {
    #[serde(deserialize_with = "text")]
    pub(super) conversation_id: String,
    #[serde(deserialize_with = "text")]
    pub(super) run_id: String,
    #[serde(deserialize_with = "text")]
    pub(super) status: String,
    #[serde(deserialize_with = "words")]
    pub(super) error: String,
}

/// `message.start`, `.delta` and `.complete`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct MessageFrame {
    #[serde(deserialize_with = "text")]
    pub(super) conversation_id: String,
    #[serde(deserialize_with = "optional_text")]
    pub(super) run_id: Option<String>,
    #[serde(deserialize_with = "text")]
    pub(super) message_id: String,
    #[serde(deserialize_with = "text")]
    pub(super) text: String,
    #[serde(deserialize_with = "text")]
    pub(super) kind: String,
    #[serde(deserialize_with = "optional_text")]
    pub(super) ts: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ToolEvent {
    #[serde(deserialize_with = "text")]
    pub(super) conversation_id: String,
    #[serde(deserialize_with = "optional_text")]
    pub(super) run_id: Option<String>,
    #[serde(deserialize_with = "text")]
    pub(super) tool_call_id: String,
    #[serde(deserialize_with = "text")]
    pub(super) tool_name: String,
    #[serde(deserialize_with = "text")]
    pub(super) status: String,
    #[serde(deserialize_with = "soft")]
    pub(super) args_redacted: Map<String, Value>,
    #[serde(deserialize_with = "soft")]
    pub(super) duration_ms: Option<f64>,
    #[serde(deserialize_with = "words")]
    pub(super) error: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ApprovalRequest {
    #[serde(deserialize_with = "text")]
    pub(super) approval_id: String,
    #[serde(deserialize_with = "text")]
    pub(super) conversation_id: String,
    #[serde(deserialize_with = "optional_text")]
    pub(super) run_id: Option<String>,
    #[serde(deserialize_with = "text")]
    pub(super) command: String,
    #[serde(deserialize_with = "text")]
    pub(super) description: String,
    #[serde(deserialize_with = "texts")]
    pub(super) choices: Vec<String>,
    #[serde(deserialize_with = "optional_text")]
    pub(super) ts: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ApprovalResolved {
    #[serde(deserialize_with = "text")]
    pub(super) approval_id: String,
    #[serde(deserialize_with = "optional_text")]
    pub(super) choice: Option<String>,
    #[serde(deserialize_with = "soft")]
    pub(super) accepted: Option<bool>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ClarifyRequest {
    #[serde(deserialize_with = "text")]
    pub(super) clarify_id: String,
    #[serde(deserialize_with = "text")]
    pub(super) conversation_id: String,
    #[serde(deserialize_with = "optional_text")]
    pub(super) run_id: Option<String>,
    #[serde(deserialize_with = "text")]
    pub(super) question: String,
    #[serde(deserialize_with = "texts")]
    pub(super) choices: Vec<String>,
    #[serde(deserialize_with = "optional_text")]
    pub(super) ts: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ClarifyResolved {
    #[serde(deserialize_with = "text")]
    pub(super) clarify_id: String,
    #[serde(deserialize_with = "optional_text")]
    pub(super) response: Option<String>,
    #[serde(deserialize_with = "soft")]
    pub(super) accepted: Option<bool>,
}

/// `yolo.snapshot` and `yolo.changed`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct YoloFrame {
    #[serde(deserialize_with = "soft")]
    pub(super) enabled: Option<bool>,
    #[serde(deserialize_with = "optional_text")]
    pub(super) conversation_id: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct AttachmentAdded {
    #[serde(deserialize_with = "text")]
    pub(super) conversation_id: String,
    #[serde(deserialize_with = "soft")]
    pub(super) attachment: Attachment,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Attachment {
    #[serde(deserialize_with = "text")]
    pub(super) attachment_id: String,
    #[serde(deserialize_with = "text")]
    pub(super) filename: String,
    #[serde(deserialize_with = "text")]
    pub(super) mime_type: String,
    #[serde(deserialize_with = "soft")]
    pub(super) size: Option<u64>,
    #[serde(deserialize_with = "text")]
    pub(super) kind: String,
    #[serde(deserialize_with = "soft")]
    pub(super) inline_image: bool,
    #[serde(deserialize_with = "text")]
    pub(super) direction: String,
    #[serde(deserialize_with = "optional_text")]
    pub(super) conversation_id: Option<String>,
    #[serde(deserialize_with = "optional_text")]
    pub(super) message_id: Option<String>,
    #[serde(deserialize_with = "optional_text")]
    pub(super) created_at: Option<String>,
    #[serde(deserialize_with = "optional_text")]
    pub(super) expires_at: Option<String>,
    #[serde(deserialize_with = "text")]
    pub(super) download_path: String,
}

/// The body of a successful upload.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Uploaded {
    #[serde(deserialize_with = "soft")]
    pub(super) attachment: Attachment,
}

/// The body of a refused HTTP request, where there is one.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct HttpError {
    #[serde(deserialize_with = "soft")]
    pub(super) error: ErrorBody,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ModelsSnapshot {
    #[serde(deserialize_with = "list")]
    pub(super) providers: Vec<Provider>,
    #[serde(deserialize_with = "optional_text")]
    pub(super) current_model: Option<String>,
    #[serde(deserialize_with = "optional_text")]
    pub(super) current_provider: Option<String>,
    #[serde(deserialize_with = "texts")]
    pub(super) supported_reasoning_efforts: Vec<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Provider {
    #[serde(deserialize_with = "text")]
    pub(super) slug: String,
    #[serde(deserialize_with = "text")]
    pub(super) name: String,
    #[serde(deserialize_with = "soft")]
    pub(super) is_current: bool,
    #[serde(deserialize_with = "texts")]
    pub(super) models: Vec<String>,
    #[serde(deserialize_with = "soft")]
    pub(super) total_models: u64,
}

/// `model.current` and `model.changed`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ModelFrame {
    #[serde(deserialize_with = "text")]
    pub(super) model: String,
    #[serde(deserialize_with = "optional_text")]
    pub(super) provider: Option<String>,
    #[serde(deserialize_with = "text")]
    pub(super) scope: String,
    #[serde(deserialize_with = "optional_text")]
    pub(super) conversation_id: Option<String>,
}

/// `reasoning.snapshot` and `reasoning.changed`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ReasoningFrame {
    #[serde(deserialize_with = "optional_text")]
    pub(super) effort: Option<String>,
    #[serde(deserialize_with = "soft")]
    pub(super) enabled: Option<bool>,
    #[serde(deserialize_with = "text")]
    pub(super) scope: String,
    #[serde(deserialize_with = "optional_text")]
    pub(super) conversation_id: Option<String>,
    #[serde(deserialize_with = "texts")]
    pub(super) supported_efforts: Vec<String>,
}

/// An error given as words, or as an object with a message.
fn words<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    Ok(match Value::deserialize(deserializer)? {
        Value::String(text) => text,
        Value::Object(map) => map
            .get("message")
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned(),
        _ => String::new(),
    })
}

/// Reads one frame.
pub(super) fn decode(frame: &str) -> Result<Incoming, Oddity> {
    let mut map = object(frame)?;
    let name = match map.remove("type") {
        Some(Value::String(name)) => name,
        _ => return Err(Oddity::new("a frame without a type")),
    };
    let request_id = match map.remove("request_id") {
        Some(Value::String(id)) => Some(id),
        Some(Value::Number(id)) => Some(id.to_string()),
        _ => None,
    };
    let what = name.as_str();
    let event = match what {
        "ready" => Event::Ready(payload(what, map)?),
        "pong" => Event::Pong,
        "error" => Event::Error(match map.remove("error") {
            Some(Value::Object(body)) => payload(what, body)?,
            Some(Value::String(code)) => ErrorBody {
                code,
                ..ErrorBody::default()
            },
            // Iris has a version on every frame, and what is wrong in a payload.
            _ if map.contains_key("v") && map.contains_key("payload") => ErrorBody {
                is_of_iris: true,
                ..ErrorBody::default()
            },
            _ => payload(what, map)?,
        }),
        "conversation.snapshot" => Event::ConversationSnapshot(payload(what, map)?),
        "conversation.created" => Event::ConversationCreated(payload(what, map)?),
        "conversation.updated" => Event::ConversationUpdated(payload(what, map)?),
        "conversation.history" => Event::ConversationHistory(Box::new(payload(what, map)?)),
        "conversation.renamed" => Event::ConversationRenamed(payload(what, map)?),
        "conversation.deleted" => Event::ConversationDeleted(payload(what, map)?),
        "run.accepted" => Event::RunAccepted(payload(what, map)?),
        "message.start" => Event::MessageStart(payload(what, map)?),
        "message.delta" => Event::MessageDelta(payload(what, map)?),
        "message.complete" => Event::MessageComplete(payload(what, map)?),
        "run.finished" => Event::RunFinished(payload(what, map)?),
        "tool.event" => Event::ToolEvent(payload(what, map)?),
        "approval.request" => Event::ApprovalRequest(payload(what, map)?),
        "approval.resolved" => Event::ApprovalResolved(payload(what, map)?),
        "clarify.request" => Event::ClarifyRequest(payload(what, map)?),
        "clarify.resolved" => Event::ClarifyResolved(payload(what, map)?),
        "yolo.snapshot" => Event::YoloSnapshot(payload(what, map)?),
        "yolo.changed" => Event::YoloChanged(payload(what, map)?),
        "attachment.added" => Event::AttachmentAdded(payload(what, map)?),
        "models.snapshot" => Event::ModelsSnapshot(payload(what, map)?),
        "model.current" => Event::ModelCurrent(payload(what, map)?),
        "model.changed" => Event::ModelChanged(payload(what, map)?),
        "reasoning.snapshot" => Event::ReasoningSnapshot(payload(what, map)?),
        "reasoning.changed" => Event::ReasoningChanged(payload(what, map)?),
        _ => Event::Unknown(name),
    };
    Ok(Incoming { request_id, event })
}

impl Event {
    /// The conversation whose order of events the frame belongs to; none where order does not
    /// matter.
    pub(super) fn conversation(&self) -> Option<&str> {
        let id = match self {
            Self::RunAccepted(frame) | Self::RunFinished(frame) => &frame.conversation_id,
            Self::MessageStart(frame)
            | Self::MessageDelta(frame)
            | Self::MessageComplete(frame) => &frame.conversation_id,
            Self::ToolEvent(frame) => &frame.conversation_id,
            Self::ApprovalRequest(frame) => &frame.conversation_id,
            Self::ClarifyRequest(frame) => &frame.conversation_id,
            Self::AttachmentAdded(frame) => &frame.conversation_id,
            Self::ConversationHistory(frame) => &frame.conversation_id,
            Self::ConversationDeleted(frame) => &frame.conversation_id,
            _ => return None,
        };
        Some(id)
    }
}
