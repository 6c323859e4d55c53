//! Everything the loop can tell the state: a closed list.

use super::screen::Target;
use super::screen::viewport::LayoutFacts;
use crate::domain::{
    AccountEvent, AccountId, CommandId, Committed, ConversationId, Found, Moment, Severity,
    TransferId,
};
use crate::input::{MouseEvent, TerminalEvent};
use crate::text::SafeText;
use std::path::PathBuf;

/// One thing that happened.
#[derive(Clone, PartialEq, Debug)]
pub enum Event {
    /// Keys, pastes, focus, size, answers of the terminal. Mouse reports come as `Pointer`.
    Terminal(TerminalEvent),
    /// A mouse report with what lies under it in the frame on screen.
    Pointer {
        mouse: MouseEvent,
        target: Target,
    },
    Account {
        account: AccountId,
        event: Box<AccountEvent>,
    },
    /// The shell waits before it dials again, or gave up.
    LinkWaits {
        account: AccountId,
        until: Moment,
        reason: SafeText,
    },
    Store(StoreReply),
    Shell(ShellReply),
    Transfer {
        transfer: TransferId,
        progress: TransferProgress,
    },
    Layout(Box<LayoutFacts>),
    /// A moment that `Effect::Wake` asked for has come.
    Deadline,
    Signal(Signal),
    /// The recording that is played has come to its end.
    PlayEnded,
    /// The person typed something while a recording is played.
    PlayTyped,
}

/// What the store says.
#[derive(Clone, PartialEq, Debug)]
pub enum StoreReply {
    Found(Found),
    /// A commit went through; what it changed.
    Committed(Vec<Committed>),
    /// A lookup could not be carried out.
    LookupFailed {
        lookup: Box<crate::domain::Lookup>,
        reason: SafeText,
    },
    /// A commit failed. Messages in it stay queued and can be sent anyway.
    CommitFailed {
        reason: SafeText,
        commands: Vec<CommandId>,
    },
}

/// What the rest of the shell says.
#[derive(Clone, PartialEq, Debug)]
pub enum ShellReply {
    /// The editor ended; none when it failed or nothing was saved.
    Edited {
        account: AccountId,
        conversation: ConversationId,
        text: Option<String>,
    },
    /// What lies in a directory, for path completion.
    Listing {
        directory: String,
        entries: Vec<ListedFile>,
    },
    /// A file someone wants to attach was looked at.
    FileInspected {
        path: PathBuf,
        facts: Result<FileFacts, SafeText>,
    },
    /// The file with the picture from the clipboard, or why there is none.
    PictureTaken {
        account: AccountId,
        conversation: ConversationId,
        file: Result<PathBuf, SafeText>,
    },
    /// A picture for a conversation's icon was read.
    IconLoaded {
        account: AccountId,
        conversation: ConversationId,
        icon: Result<std::sync::Arc<[u8]>, SafeText>,
    },
    /// Where a copied text went.
    Copied { how: SafeText, severity: Severity },
    /// A file was opened or could not be.
    Opened {
        what: SafeText,
        error: Option<SafeText>,
    },
    /// Attachment saved under this path.
    Saved {
        path: PathBuf,
        error: Option<SafeText>,
    },
    /// An account command of the wizard ended.
    AccountChecked {
        account: AccountId,
        result: Result<SafeText, SafeText>,
    },
    /// Coloured code blocks are ready; the view's memo has them.
    Highlighted,
    /// A picture was decoded and scaled; the view's memo has it.
    PictureReady,
    /// A line for the inspector: direction, account, one redacted frame.
    Tapped {
        account: AccountId,
        outgoing: bool,
        at: Moment,
        frame: SafeText,
    },
    /// The page that says what works here, as Markdown.
    Diagnosed(SafeText),
    /// Configuration was read again.
    Reloaded { warnings: Vec<SafeText> },
}

/// One entry of a directory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ListedFile {
    pub name: String,
    pub is_directory: bool,
    pub size: u64,
}

/// What is known of a file to be attached.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FileFacts {
    /// Where it lies, from the root: `~` and the working folder are resolved.
    pub path: PathBuf,
    pub name: String,
    pub size: u64,
    pub media_type: String,
    pub kind: crate::domain::AttachmentKind,
}

/// How far a transfer is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TransferProgress {
    Moved {
        done: u64,
        total: Option<u64>,
    },
    /// A download is complete and in its place.
    Finished {
        path: PathBuf,
    },
    Failed {
        reason: SafeText,
    },
    Cancelled,
}

/// What the operating system wants.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Signal {
    /// Leave now; drafts are written before.
    Terminate,
    /// Back after having been stopped.
    Resumed,
    /// The wall clock jumped or the machine slept.
    Woke,
}
