//! A conversation as the directory lists it. Its messages are in `timeline`.

use super::ids::{ConversationId, RemoteId};
use crate::text::SafeText;

/// What a conversation is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum ConversationKind {
    /// The one the server falls back to.
    Default,
    /// One of several named places.
    Channel,
    /// A side line of a channel.
    Thread,
    /// A chat with an agent that stands on its own.
    #[default]
    Session,
}

/// One entry of the directory.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ConversationInfo {
    pub kind: ConversationKind,
    pub parent: Option<ConversationId>,
    pub name: SafeText,
    /// The name was derived by the server and may still be replaced by it.
    pub name_is_derived: bool,
    pub is_favorite: bool,
    /// Output only: it has no composer.
    pub is_automation: bool,
    pub is_archived: bool,
    /// Milliseconds since 1970 of the last activity the server names.
    pub last_activity_ms: Option<i64>,
    pub appearance: Appearance,
}

/// How the person wants a conversation to look.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Appearance {
    /// Red, green, blue.
    pub color: Option<(u8, u8, u8)>,
    /// An encoded picture (PNG or JPEG), bounded by the driver.
    pub icon: Option<std::sync::Arc<[u8]>>,
}

/// How much of a conversation has not been read.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Unread {
    #[default]
    None,
    /// Something is new; the server does not say how much.
    Some,
    /// This many messages are new.
    Count(u32),
}

/// Where the person has read to; it only moves forward.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ReadMark {
    /// Order of the newest message that was read.
    pub order: i64,
    pub remote: Option<RemoteId>,
    /// Wall milliseconds of that reading.
    pub at_ms: i64,
}
