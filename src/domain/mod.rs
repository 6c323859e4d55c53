//! The nouns of the program: no IO, no clock, no serialisation.
//!
//! Glossary: an *account* is one configured server or runtime; it holds *conversations*
//! (channels, threads, sessions); a conversation holds a *timeline* of *messages*, at most one
//! active *run* with *tool calls*, a list of *todos*, and *decisions* (approvals, clarifications,
//! pickers) that wait for the person. *Attachments* belong to messages; a *transfer* moves their
//! bytes. A *command* is what the program asks of a driver and ends in one *outcome*; a *refusal*
//! is a server's no. An *event* is what a driver reports, with its *provenance*. A *capability*
//! says whether something can be done at all.

pub mod account;
pub mod attachment;
pub mod capability;
pub mod command;
pub mod conversation;
pub mod decision;
pub mod event;
pub mod ids;
mod io_words;
pub mod message;
pub mod model;
pub mod moment;
pub mod nearest;
pub mod notice;
pub mod record;
pub mod run;
pub mod search;
pub mod secret;
pub mod timeline;
pub mod todo;
pub mod tool;

pub use account::{Account, Identity, LinkState, LoginMethod, LoginNeed};
pub use attachment::{
    Attachment, AttachmentKind, AttachmentSource, AttachmentState, Direction, OutgoingFile,
};
pub use capability::{
    AttachmentLimits, Capabilities, HistoryPaging, ServerChoice, ServerFunction, Support,
};
pub use command::{
    ChatCommand, Command, CommandOutcome, ConversationCommand, ModelCommand, Refusal, RefusalCode,
    Reply, SlashCommand, TransferCommand,
};
pub use conversation::{Appearance, ConversationInfo, ConversationKind, ReadMark, Unread};
pub use decision::{Answer, AnswerWay, Choice, Decision, DecisionLife, Expiry, Grant, Question};
pub use event::{
    AccountEvent, AttachmentEvent, DecisionEvent, DirectoryEvent, HistoryPage, LinkEvent,
    ModelsEvent, Part, Provenance, RunEvent, Snapshot, SyncEvent, TimelineEvent, Topic,
};
pub use ids::{
    AccountId, AttachmentId, CommandId, ConversationId, Cursor, DecisionId, MessageKey, PageToken,
    RemoteId, RunId, ToolCallId, TransferId,
};
pub use io_words::io_words;
pub use message::{
    Author, Body, Delivery, Footer, IncomingMessage, Message, MessageSort, TextPatch,
};
pub use model::{Effort, ModelCatalog, ModelChoice, Profile, Provider, Scope};
pub use moment::Moment;
pub use nearest::nearest;
pub use notice::{Notice, NoticeKind, Severity};
pub use record::{
    AuditRecord, Committed, DraftRecord, Durability, Found, LocalSettings, Lookup, OutboxRecord,
    Place, StartFacts, StoredConversation, Write,
};
pub use run::{Run, RunOutcome, RunPhase};
pub use search::{SearchHit, SearchQuery, SearchScope};
pub use secret::Secret;
pub use timeline::{Entry, EntryBody, ORDER_STEP};
pub use todo::{Todo, TodoStatus};
pub use tool::{ToolCall, ToolStatus};
