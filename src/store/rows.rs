//! The store's own row types: what stands in the `rest` columns as JSON, and the numbers in the
//! others. Domain types are not serialisable, so that a change of the domain cannot change the
//! file by accident; here every field has a default, so that rows of older versions still read.

mod numbers;

use crate::domain::{
    Answer, Attachment, AttachmentId, AttachmentSource, AttachmentState, CommandId, Delivery,
    Direction, DraftRecord, Footer, Moment, OutgoingFile, Refusal, RemoteId, RunId, RunOutcome,
    ToolCall, ToolCallId, ToolStatus, TransferId,
};
use crate::text::SafeText;
use numbers::{kind_number, kind_of, refusal_code, refusal_name};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

pub(super) use numbers::{
    author_number, author_of, conversation_kind_number, conversation_kind_of, sort_number, sort_of,
};

/// The rest of a message.
#[derive(Serialize, Deserialize, Default)]
#[serde(default)]
pub(super) struct MessageRest {
    #[serde(skip_serializing_if = "is_default")]
    pub sort: u8,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reasoning: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoned_ms: Option<u64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delivery: Option<DeliveryRow>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub footer: Option<FooterRow>,
    #[serde(skip_serializing_if = "is_default")]
    pub is_streaming: bool,
    #[serde(skip_serializing_if = "is_default")]
    pub is_interrupted: bool,
    #[serde(skip_serializing_if = "is_default")]
    pub is_seen_live_only: bool,
}

/// A delivery by name, with the refusal when it failed.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum DeliveryRow {
    Queued,
    InFlight,
    Accepted,
    Read,
    Uncertain,
    Failed { code: String, text: String },
}

/// A footer.
#[derive(Serialize, Deserialize, Default)]
#[serde(default)]
pub(super) struct FooterRow {
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tokens_in: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tokens_out: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tokens_cached: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    context_percent: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    directory: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    latency_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cost_micro_usd: Option<u64>,
}

/// A tool call but for its id.
#[derive(Serialize, Deserialize, Default)]
#[serde(default)]
pub(super) struct ToolRest {
    run: Option<String>,
    name: String,
    status: u8,
    preview: String,
    arguments: String,
    note: String,
    output: String,
    error: String,
    emoji: String,
    duration_ms: Option<u64>,
    started_mono_ms: Option<u64>,
    started_wall_ms: Option<i64>,
}

/// The end of a run.
#[derive(Serialize, Deserialize)]
pub(super) struct RunEndedRest {
    run: String,
    outcome: OutcomeRow,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum OutcomeRow {
    Completed,
    Cancelled,
    Failed {
        error: String,
        hint: String,
        #[serde(default)]
        details: String,
    },
    Lost,
}

/// A gap.
#[derive(Serialize, Deserialize)]
pub(super) struct GapRest {
    pub token: String,
}

/// Deleted messages.
#[derive(Serialize, Deserialize)]
pub(super) struct DeletedRest {
    pub count: u32,
}

/// An outbox row but for its key, account, conversation and position.
#[derive(Serialize, Deserialize)]
pub(super) struct OutboxRest {
    pub text: String,
    #[serde(default)]
    pub files: Vec<OutgoingFileRow>,
    pub reply_to: Option<String>,
    #[serde(default)]
    pub auto_thread: bool,
    pub delivery: DeliveryRow,
    pub created_ms: i64,
    #[serde(default)]
    pub instance: u64,
}

/// A file that goes out.
#[derive(Serialize, Deserialize)]
pub(super) struct OutgoingFileRow {
    transfer: u64,
    path: PathText,
    name: String,
    media_type: String,
    kind: u8,
    size: u64,
    uploaded: Option<String>,
}

/// A draft.
#[derive(Serialize, Deserialize, Default)]
#[serde(default)]
pub(super) struct DraftRest {
    text: String,
    caret: usize,
    folded: Vec<std::ops::Range<usize>>,
    reply_to: Option<String>,
    files: Vec<PathText>,
    saved_ms: i64,
}

/// An attachment but for its id.
#[derive(Serialize, Deserialize)]
pub(super) struct AttachmentRest {
    direction: u8,
    name: String,
    media_type: String,
    kind: u8,
    size: Option<u64>,
    may_preview: bool,
    expires_at_ms: Option<i64>,
    source: SourceRow,
    state: StateRow,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum SourceRow {
    Pull,
    HttpPath(String),
    LocalFile(PathText),
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum StateRow {
    Offered,
    Present(PathText),
    Gone,
    Failed(String),
}

/// An answer on its way.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum AnswerRow {
    Choice {
        value: String,
        reason: Option<String>,
    },
    Text(String),
}

/// A path that need not be UTF-8: plain text where it is, else its bytes.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum PathText {
    Text(String),
    Bytes(Vec<u8>),
}

impl From<&PathBuf> for PathText {
    fn from(path: &PathBuf) -> Self {
        match path.to_str() {
            Some(text) => Self::Text(text.to_owned()),
            None => {
                use std::os::unix::ffi::OsStrExt;
                Self::Bytes(path.as_os_str().as_bytes().to_vec())
            }
        }
    }
}

impl From<PathText> for PathBuf {
    fn from(path: PathText) -> Self {
        match path {
            PathText::Text(text) => Self::from(text),
            PathText::Bytes(bytes) => {
                use std::os::unix::ffi::OsStringExt;
                Self::from(std::ffi::OsString::from_vec(bytes))
            }
        }
    }
}

impl From<&Delivery> for DeliveryRow {
    fn from(delivery: &Delivery) -> Self {
        match delivery {
            Delivery::Queued => Self::Queued,
            Delivery::InFlight => Self::InFlight,
            Delivery::Accepted => Self::Accepted,
            Delivery::Read => Self::Read,
            Delivery::Uncertain => Self::Uncertain,
            Delivery::Failed(refusal) => Self::Failed {
                code: refusal_name(refusal.code).to_owned(),
                text: refusal.text.as_str().to_owned(),
            },
        }
    }
}

impl From<DeliveryRow> for Delivery {
    fn from(row: DeliveryRow) -> Self {
        match row {
            DeliveryRow::Queued => Self::Queued,
            DeliveryRow::InFlight => Self::InFlight,
            DeliveryRow::Accepted => Self::Accepted,
            DeliveryRow::Read => Self::Read,
            DeliveryRow::Uncertain => Self::Uncertain,
            DeliveryRow::Failed { code, text } => {
                Self::Failed(Refusal::new(refusal_code(&code), text))
            }
        }
    }
}

impl From<&Footer> for FooterRow {
    fn from(footer: &Footer) -> Self {
        Self {
            model: footer.model.as_ref().map(text_of),
            tokens_in: footer.tokens_in,
            tokens_out: footer.tokens_out,
            tokens_cached: footer.tokens_cached,
            tokens: footer.tokens,
            context_percent: footer.context_percent,
            directory: footer.directory.as_ref().map(text_of),
            latency_ms: footer.latency_ms,
            cost_micro_usd: footer.cost_micro_usd,
        }
    }
}

impl From<FooterRow> for Footer {
    fn from(row: FooterRow) -> Self {
        Self {
            model: row.model.map(safe),
            tokens_in: row.tokens_in,
            tokens_out: row.tokens_out,
            tokens_cached: row.tokens_cached,
            tokens: row.tokens,
            context_percent: row.context_percent,
            directory: row.directory.map(safe),
            latency_ms: row.latency_ms,
            cost_micro_usd: row.cost_micro_usd,
        }
    }
}

impl From<&ToolCall> for ToolRest {
    fn from(tool: &ToolCall) -> Self {
        Self {
            run: tool.run.as_ref().map(|run| run.as_str().to_owned()),
            name: text_of(&tool.name),
            status: match tool.status {
                ToolStatus::Running => 0,
                ToolStatus::Completed => 1,
                ToolStatus::Failed => 2,
                ToolStatus::Cancelled => 3,
            },
            preview: text_of(&tool.preview),
            arguments: text_of(&tool.arguments),
            note: text_of(&tool.note),
            output: text_of(&tool.output),
            error: text_of(&tool.error),
            emoji: text_of(&tool.emoji),
            duration_ms: tool.duration_ms,
            started_mono_ms: tool.started.map(|started| started.mono_ms),
            started_wall_ms: tool.started.map(|started| started.wall_ms),
        }
    }
}

impl ToolRest {
    /// The call with this id.
    pub fn into_tool(self, id: ToolCallId) -> ToolCall {
        ToolCall {
            id,
            run: self.run.map(RunId::from),
            name: safe(self.name),
            status: match self.status {
                0 => ToolStatus::Running,
                1 => ToolStatus::Completed,
                2 => ToolStatus::Failed,
                _ => ToolStatus::Cancelled,
            },
            preview: safe(self.preview),
            arguments: safe(self.arguments),
            note: safe(self.note),
            output: safe(self.output),
            error: safe(self.error),
            emoji: safe(self.emoji),
            duration_ms: self.duration_ms,
            started: self.started_wall_ms.map(|wall_ms| Moment {
                mono_ms: self.started_mono_ms.unwrap_or_default(),
                wall_ms,
            }),
        }
    }
}

impl RunEndedRest {
    /// The row of this end.
    pub fn new(run: &RunId, outcome: &RunOutcome) -> Self {
        Self {
            run: run.as_str().to_owned(),
            outcome: match outcome {
                RunOutcome::Completed => OutcomeRow::Completed,
                RunOutcome::Cancelled => OutcomeRow::Cancelled,
                RunOutcome::Failed {
                    error,
                    hint,
                    details,
                } => OutcomeRow::Failed {
                    error: text_of(error),
                    hint: text_of(hint),
                    details: text_of(details),
                },
                RunOutcome::Lost => OutcomeRow::Lost,
            },
        }
    }

    /// Run and outcome.
    pub fn into_parts(self) -> (RunId, RunOutcome) {
        let outcome = match self.outcome {
            OutcomeRow::Completed => RunOutcome::Completed,
            OutcomeRow::Cancelled => RunOutcome::Cancelled,
            OutcomeRow::Failed {
                error,
                hint,
                details,
            } => RunOutcome::Failed {
                error: safe(error),
                hint: safe(hint),
                details: safe(details),
            },
            OutcomeRow::Lost => RunOutcome::Lost,
        };
        (RunId::from(self.run), outcome)
    }
}

impl From<&OutgoingFile> for OutgoingFileRow {
    fn from(file: &OutgoingFile) -> Self {
        Self {
            transfer: file.transfer.0,
            path: PathText::from(&file.path),
            name: file.name.clone(),
            media_type: file.media_type.clone(),
            kind: kind_number(file.kind),
            size: file.size,
            uploaded: file.uploaded.as_ref().map(|id| id.as_str().to_owned()),
        }
    }
}

impl From<OutgoingFileRow> for OutgoingFile {
    fn from(row: OutgoingFileRow) -> Self {
        Self {
            transfer: TransferId(row.transfer),
            path: row.path.into(),
            name: row.name,
            media_type: row.media_type,
            kind: kind_of(row.kind),
            size: row.size,
            uploaded: row.uploaded.map(AttachmentId::from),
        }
    }
}

impl From<&DraftRecord> for DraftRest {
    fn from(draft: &DraftRecord) -> Self {
        Self {
            text: draft.text.clone(),
            caret: draft.caret,
            folded: draft.folded.clone(),
            reply_to: draft.reply_to.as_ref().map(|id| id.as_str().to_owned()),
            files: draft.files.iter().map(PathText::from).collect(),
            saved_ms: draft.saved_ms,
        }
    }
}

impl From<DraftRest> for DraftRecord {
    fn from(row: DraftRest) -> Self {
        Self {
            text: row.text,
            caret: row.caret,
            folded: row.folded,
            reply_to: row.reply_to.map(RemoteId::from),
            files: row.files.into_iter().map(PathBuf::from).collect(),
            saved_ms: row.saved_ms,
        }
    }
}

impl From<&Attachment> for AttachmentRest {
    fn from(attachment: &Attachment) -> Self {
        Self {
            direction: match attachment.direction {
                Direction::In => 0,
                Direction::Out => 1,
            },
            name: text_of(&attachment.name),
            media_type: text_of(&attachment.media_type),
            kind: kind_number(attachment.kind),
            size: attachment.size,
            may_preview: attachment.may_preview,
            expires_at_ms: attachment.expires_at_ms,
            source: match &attachment.source {
                AttachmentSource::Pull => SourceRow::Pull,
                AttachmentSource::HttpPath(path) => SourceRow::HttpPath(path.clone()),
                AttachmentSource::LocalFile(path) => SourceRow::LocalFile(path.into()),
            },
            state: match &attachment.state {
                // A transfer does not outlive the program, so what it was moving is on offer.
                AttachmentState::Offered
                | AttachmentState::Queued { .. }
                | AttachmentState::Transferring { .. } => StateRow::Offered,
                AttachmentState::Present { path } => StateRow::Present(path.into()),
                AttachmentState::Gone => StateRow::Gone,
                AttachmentState::Failed { reason } => StateRow::Failed(text_of(reason)),
            },
        }
    }
}

impl AttachmentRest {
    /// The attachment with this id and message.
    pub fn into_attachment(self, id: AttachmentId, message: Option<RemoteId>) -> Attachment {
        Attachment {
            id,
            message,
            direction: if self.direction == 0 {
                Direction::In
            } else {
                Direction::Out
            },
            name: safe(self.name),
            media_type: safe(self.media_type),
            kind: kind_of(self.kind),
            size: self.size,
            may_preview: self.may_preview,
            expires_at_ms: self.expires_at_ms,
            source: match self.source {
                SourceRow::Pull => AttachmentSource::Pull,
                SourceRow::HttpPath(path) => AttachmentSource::HttpPath(path),
                SourceRow::LocalFile(path) => AttachmentSource::LocalFile(path.into()),
            },
            state: match self.state {
                StateRow::Offered => AttachmentState::Offered,
                StateRow::Present(path) => AttachmentState::Present { path: path.into() },
                StateRow::Gone => AttachmentState::Gone,
                StateRow::Failed(reason) => AttachmentState::Failed {
                    reason: safe(reason),
                },
            },
        }
    }
}

impl From<&Answer> for AnswerRow {
    fn from(answer: &Answer) -> Self {
        match answer {
            Answer::Choice { value, reason } => Self::Choice {
                value: value.clone(),
                reason: reason.clone(),
            },
            Answer::Text(text) => Self::Text(text.clone()),
        }
    }
}

impl From<AnswerRow> for Answer {
    fn from(row: AnswerRow) -> Self {
        match row {
            AnswerRow::Choice { value, reason } => Self::Choice { value, reason },
            AnswerRow::Text(text) => Self::Text(text),
        }
    }
}

/// The command of a message.
pub(super) fn command_of(number: Option<u64>) -> Option<CommandId> {
    number.map(CommandId)
}

/// Kept text is cleaned again on its way out: the file may have been written by anybody.
pub(super) fn safe(text: String) -> SafeText {
    SafeText::prose(&text)
}

fn text_of(text: &SafeText) -> String {
    text.as_str().to_owned()
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
