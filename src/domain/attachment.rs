//! A file on a message, in either direction, and where its bytes are.

use super::ids::{AttachmentId, RemoteId, TransferId};
use crate::text::SafeText;
use std::path::PathBuf;

/// What kind of thing the file is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum AttachmentKind {
    Image,
    Audio,
    Voice,
    Video,
    #[default]
    Document,
}

/// Who sent it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Direction {
    /// From the agent to the person.
    #[default]
    In,
    /// From the person to the agent.
    Out,
}

/// Where the bytes come from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum AttachmentSource {
    /// Over the account's link, by its id.
    Pull,
    /// Over HTTP, from this path on the account's own origin.
    HttpPath(String),
    /// A file on this machine.
    LocalFile(PathBuf),
}

/// Where the bytes are.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum AttachmentState {
    /// The server has them.
    #[default]
    Offered,
    /// A transfer waits for its turn.
    Queued {
        transfer: TransferId,
    },
    Transferring {
        transfer: TransferId,
        done: u64,
    },
    /// On this machine.
    Present {
        path: PathBuf,
    },
    /// The server no longer has them.
    Gone,
    Failed {
        reason: SafeText,
    },
}

/// One attachment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Attachment {
    pub id: AttachmentId,
    /// The message it belongs to; none when the server did not say.
    pub message: Option<RemoteId>,
    pub direction: Direction,
    /// For display; a saved file gets a name made from it by `runtime`.
    pub name: SafeText,
    pub media_type: SafeText,
    pub kind: AttachmentKind,
    /// Bytes; none when unknown.
    pub size: Option<u64>,
    /// A picture that may be shown without being asked for.
    pub may_preview: bool,
    /// Wall milliseconds after which the server no longer hands it out.
    pub expires_at_ms: Option<i64>,
    pub source: AttachmentSource,
    pub state: AttachmentState,
}

/// A file that goes out with a message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OutgoingFile {
    /// Carries its bytes; the shell knows the file behind it.
    pub transfer: TransferId,
    pub path: PathBuf,
    /// Base name as the server will see it.
    pub name: String,
    pub media_type: String,
    pub kind: AttachmentKind,
    pub size: u64,
    /// The server's id once it was uploaded; such a file is not uploaded again.
    pub uploaded: Option<AttachmentId>,
}
