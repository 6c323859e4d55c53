//! A search and what it found.

use super::ids::{ConversationId, RemoteId};
use super::message::Author;
use crate::text::SafeText;

/// Where to look.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SearchScope {
    /// In every conversation of the account.
    All,
    Conversation(ConversationId),
}

/// What to look for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SearchQuery {
    pub text: String,
    pub scope: SearchScope,
    pub limit: usize,
}

/// One place where it was found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SearchHit {
    pub conversation: ConversationId,
    pub remote: Option<RemoteId>,
    /// Place in the conversation, when the store found it.
    pub order: Option<i64>,
    pub author: Author,
    pub snippet: SafeText,
    pub sent_at_ms: Option<i64>,
}
