//! A word to the person about the account or the program; not part of a conversation.

use super::ids::ConversationId;
use crate::text::SafeText;

/// How much it matters.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Severity {
    /// Something the person asked for is done.
    Done,
    #[default]
    Info,
    Warning,
    Error,
}

/// What a notice is about; decides whether it may ring.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum NoticeKind {
    /// Something of ours, or a word of the server on its state. Never rings.
    #[default]
    Plain,
    /// The server wants it announced (scheduled output, a background result).
    Announcement,
    /// The peer broke its protocol. Counted, one line in the log, never rings.
    Oddity,
}

/// One notice.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Notice {
    pub severity: Severity,
    pub kind: NoticeKind,
    pub conversation: Option<ConversationId>,
    pub title: SafeText,
    pub body: SafeText,
}
