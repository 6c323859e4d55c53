//! What the state wants done, as data.

use crate::domain::{
    AccountId, Command, CommandId, ConversationId, Durability, Lookup, Moment, TransferId, Write,
};
use crate::text::SafeText;
use std::path::PathBuf;

/// One thing to do. The shell executes a list in order.
#[must_use]
#[derive(Clone, PartialEq, Debug)]
pub enum Effect {
    /// To the driver of an account.
    Command {
        account: AccountId,
        id: CommandId,
        command: Command,
    },
    /// Writes in one transaction; `then` runs once they are on disk.
    Commit {
        writes: Vec<Write>,
        durability: Durability,
        then: Vec<Effect>,
    },
    Look(Lookup),
    Link {
        account: AccountId,
        change: LinkChange,
    },
    /// Opens the file behind a transfer before the command that uses it.
    OpenTransfer {
        transfer: TransferId,
        account: AccountId,
        file: TransferFile,
    },
    CancelTransfer {
        transfer: TransferId,
    },
    /// Opens a link or a file with the system's program; by argument list, never a shell.
    OpenExternal(OpenTarget),
    /// Copies a finished download to the download folder under a clean name.
    SaveFile {
        from: PathBuf,
        name: SafeText,
    },
    /// Writes the frames of the last minutes, secrets masked, into a file.
    SaveFrames,
    Copy(SafeText),
    /// Copies what lies between the ends of `Screen::selection`, as text without frames and
    /// padding; the view knows it.
    CopySelection,
    /// A notification of the desktop or the terminal; the shell limits their rate.
    Notify {
        account: AccountId,
        title: SafeText,
        body: SafeText,
    },
    Bell,
    Title(SafeText),
    /// Hands the draft to the person's editor.
    Edit {
        account: AccountId,
        conversation: ConversationId,
        text: String,
    },
    ListDirectory {
        directory: String,
    },
    InspectFile {
        path: PathBuf,
    },
    /// Puts the picture in the desktop's clipboard into a file, for the draft of a conversation.
    TakePicture {
        account: AccountId,
        conversation: ConversationId,
    },
    /// Reads a small picture for a conversation's icon.
    LoadIcon {
        account: AccountId,
        conversation: ConversationId,
        path: PathBuf,
    },
    /// Ends this screen and starts the demo in its place.
    Demo,
    /// Wants `Event::Deadline` at this moment; several may be out, the earliest counts.
    Wake(Moment),
    /// `now` for keys and final events, paced otherwise.
    Redraw {
        now: bool,
    },
    /// Looks at this place and every account, for the page of hints.
    Doctor,
    /// Draws everything again, for a screen that something else wrote to.
    RedrawAll,
    Suspend,
    /// Something for the log file.
    Log(SafeText),
    /// Writes a setting of the person into the configuration file.
    SaveSetting {
        key: &'static str,
        value: String,
    },
    /// Adds, checks or removes an account (the wizard).
    Account(AccountEffect),
    Quit {
        code: i32,
    },
}

/// What should become of a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LinkChange {
    Connect,
    Disconnect,
    /// Do not wait for the next attempt.
    RetryNow,
    /// The person acts: look soon whether it lives.
    Attend,
}

/// The file behind a transfer.
#[derive(Clone, PartialEq, Debug)]
pub enum TransferFile {
    /// A new file in the cache, at most so large; `name` is for its ending only. One of another
    /// size than announced is not kept.
    Download {
        name: SafeText,
        limit: u64,
        announced: Option<u64>,
    },
    /// A file of the person; size and time must still be these.
    Upload { path: PathBuf, size: u64 },
}

/// What is opened outside.
#[derive(Clone, PartialEq, Debug)]
pub enum OpenTarget {
    /// Checked against the list of schemes by the shell again.
    Link(String),
    /// A file by its path, and its name for the person: the one in the cache says nothing.
    File { path: PathBuf, name: SafeText },
}

/// What the account wizard does.
#[derive(Clone, PartialEq, Debug)]
pub enum AccountEffect {
    /// Connects with these fields and says what was found.
    Check {
        fields: Vec<(String, String)>,
        secret: Option<crate::domain::Secret>,
    },
    /// Saves it, keeps its secret, and connects.
    Add {
        fields: Vec<(String, String)>,
        secret: Option<crate::domain::Secret>,
    },
    Remove {
        account: AccountId,
    },
    /// Takes a new secret and connects again.
    Login {
        account: AccountId,
        secret: crate::domain::Secret,
    },
}
