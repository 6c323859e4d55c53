//! Entries of a timeline in their order. What a conversation holds in memory is a window on the
//! store: some consecutive entries, and whether there are older or newer ones outside.

use super::ids::{MessageKey, PageToken, RunId};
use super::message::Message;
use super::run::RunOutcome;
use super::tool::ToolCall;

/// Distance between the orders of neighbours, so that gaps fill and late history finds its place.
pub const ORDER_STEP: i64 = 1 << 20;

/// One entry.
#[derive(Clone, PartialEq, Debug)]
pub struct Entry {
    pub key: MessageKey,
    pub order: i64,
    /// Wall milliseconds when it came in here.
    pub seen_at_ms: i64,
    pub body: EntryBody,
}

/// What an entry is.
#[derive(Clone, PartialEq, Debug)]
pub enum EntryBody {
    Message(Box<Message>),
    Tool(Box<ToolCall>),
    /// A run ended in a way worth a line (cancelled, failed, lost, or without any answer).
    RunEnded {
        run: RunId,
        outcome: RunOutcome,
    },
    /// Older messages exist on the server between the neighbours and are not here; `token` asks
    /// for them.
    Gap {
        token: PageToken,
    },
    /// So many messages in a row were deleted here. Nothing else is kept of them.
    Deleted {
        count: u32,
    },
}

impl Entry {
    /// The message in it.
    pub fn message(&self) -> Option<&Message> {
        match &self.body {
            EntryBody::Message(message) => Some(message),
            _ => None,
        }
    }

    /// The message in it, to be changed.
    pub fn message_mut(&mut self) -> Option<&mut Message> {
        match &mut self.body {
            EntryBody::Message(message) => Some(message),
            _ => None,
        }
    }
}
