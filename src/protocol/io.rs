//! What goes into a driver and what comes out of it.

use crate::domain::{AccountEvent, Command, CommandId, Secret, TransferId};
use crate::link::{CloseReason, Frame, HttpReply, HttpRequest};
use bytes::Bytes;
use std::path::PathBuf;
use std::time::Duration;

/// Everything that can happen to a driver.
#[derive(Debug)]
pub enum Input {
    /// A link stands. Each link has a number; a later one supersedes it.
    LinkUp {
        generation: u64,
    },
    /// The link ended or never came to stand. Commands that may have left end as `LinkLost`,
    /// those that did not as `NotSent`.
    LinkDown {
        reason: CloseReason,
    },
    Frame(Frame),
    /// Something the person or the program wants.
    Command {
        id: CommandId,
        command: Command,
    },
    /// An HTTP request ended with a status.
    HttpReply(HttpReply),
    /// All bytes of a download are in the file and on disk.
    TransferDone {
        transfer: TransferId,
        size: u64,
        sha256: [u8; 32],
    },
    TransferFailed {
        transfer: TransferId,
        reason: TransferFailure,
    },
    /// Bytes of a file that `Output::WantBytes` asked for; at most as many as asked.
    UploadChunk {
        transfer: TransferId,
        bytes: Bytes,
    },
    /// The file is at its end.
    UploadEnd {
        transfer: TransferId,
        size: u64,
        sha256: [u8; 32],
    },
    /// A local tool ended: JSON on standard output, or what went wrong.
    ToolFinished {
        call: u64,
        result: Result<String, String>,
    },
    /// The secret was read anew.
    SecretRenewed(Secret),
    /// The person acts on this account, so it matters now whether the link lives. Comes at most once
    /// a second.
    PersonActed,
    /// The end of what the process at the other end wrote on standard error.
    Log(String),
    /// The moment given by `Driver::deadline` has come.
    Deadline,
}

/// Why bytes did not arrive.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TransferFailure {
    Cancelled,
    /// More bytes than the driver allowed.
    TooLarge,
    /// The file here could not be read or written, or changed since it was attached.
    LocalFile(String),
    Network(String),
}

/// Everything a driver can want.
#[derive(Debug)]
pub enum Output {
    Frame(Frame),
    Http(HttpRequest),
    /// Ends a transfer and forgets its file. Nothing comes for it afterwards.
    CancelTransfer {
        transfer: TransferId,
    },
    /// Bytes for the file the shell opened under this transfer.
    DownloadChunk {
        transfer: TransferId,
        bytes: Bytes,
    },
    /// No more bytes come: with `ok` the shell syncs and answers `TransferDone`, else it drops
    /// the file and the driver has said why in an event or outcome.
    DownloadEnd {
        transfer: TransferId,
        ok: bool,
    },
    /// The next bytes of the file behind this transfer.
    WantBytes {
        transfer: TransferId,
        max: usize,
    },
    /// Runs one of the account's own tools: `[account.tools]` by name, JSON on standard input.
    RunTool {
        call: u64,
        name: String,
        input: String,
        deadline: Duration,
    },
    /// The secret is about to end or was refused; read it anew.
    WantSecret,
    /// What the process at the other end wrote last on standard error; `Input::Log` follows at once.
    WantLog,
    Event(Box<AccountEvent>),
    /// Ends the link. `last` is written before, and the peer has `grace` to go by itself.
    Close {
        last: Option<Frame>,
        grace: Duration,
        retry: Retry,
    },
}

/// Whether, and when, the shell dials again after a link ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Retry {
    /// With growing delays and jitter.
    Backoff,
    /// Soon: the server said that it restarts.
    Soon,
    /// Not before this long.
    NotBefore(Duration),
    /// Not by itself: the person must change something first.
    Never,
}

/// Frames with the same key say the same thing, the newer one better: while both wait, only the
/// newer one has to be decoded.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ReplaceKey(pub String);

/// What a driver is built with.
#[derive(Clone, Debug)]
pub struct Setup {
    pub secret: Option<Secret>,
    pub resume: Resume,
    /// Random bytes of the shell: ids on the wire are a prefix out of them plus a counter.
    pub seed: [u8; 16],
    /// Where trialogue was started.
    pub working_directory: PathBuf,
    /// Version of this program, for servers that want to know.
    pub client_version: &'static str,
}

/// What a driver kept with `SyncEvent::Kept`, by name.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Resume {
    pub facts: std::collections::BTreeMap<String, String>,
}
