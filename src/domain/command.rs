//! What the program asks of a driver, by topic, and how a driver answers.

use super::attachment::{Attachment, OutgoingFile};
use super::capability::ServerChoice;
use super::conversation::Appearance;
use super::decision::Answer;
use super::ids::{
    AttachmentId, ConversationId, DecisionId, PageToken, RemoteId, RunId, TransferId,
};
use super::model::{ModelChoice, Scope};
use super::search::{SearchHit, SearchQuery};
use crate::text::SafeText;

/// One command. Every command ends in exactly one `CommandOutcome`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Command {
    Chat(ChatCommand),
    Conversation(ConversationCommand),
    /// Answers an open decision.
    Answer {
        decision: DecisionId,
        conversation: ConversationId,
        answer: Answer,
    },
    Transfer(TransferCommand),
    Model(ModelCommand),
    /// Searches on the server.
    Search(SearchQuery),
    /// Asks for the server's slash commands.
    LoadCatalog,
    /// One of `Capabilities::functions`.
    Invoke {
        function: String,
        conversation: Option<ConversationId>,
        /// What was chosen from a list of the server, as it names it.
        subject: Option<String>,
        argument: String,
    },
}

/// Commands on messages and runs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ChatCommand {
    /// Sends a message; files without `uploaded` are uploaded first.
    Send {
        conversation: ConversationId,
        text: String,
        files: Vec<OutgoingFile>,
        reply_to: Option<RemoteId>,
        /// Ask the server to open a thread for it.
        auto_thread: bool,
        /// Reasoning effort for this message alone, where the account takes one per message.
        effort: Option<String>,
    },
    DeleteMessages {
        conversation: ConversationId,
        remotes: Vec<RemoteId>,
    },
    /// Stops the active run.
    CancelRun {
        conversation: ConversationId,
        run: Option<RunId>,
    },
}

/// Commands on the directory and on history.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ConversationCommand {
    /// Asks for the whole directory again.
    Refresh,
    Create {
        name: Option<String>,
        parent: Option<ConversationId>,
    },
    Rename {
        conversation: ConversationId,
        name: String,
    },
    Delete {
        conversation: ConversationId,
    },
    /// Empties it and keeps it.
    Clear {
        conversation: ConversationId,
    },
    /// The person looks at it: load its newest page, its state, its settings. Sent again after
    /// every reconnect for what is shown.
    Open {
        conversation: ConversationId,
    },
    LoadOlder {
        conversation: ConversationId,
        before: PageToken,
    },
    SetDefault {
        conversation: ConversationId,
    },
    SetFavorite {
        conversation: ConversationId,
        on: bool,
    },
    /// Icon and colour together; what is none is cleared.
    SetAppearance {
        conversation: ConversationId,
        appearance: Appearance,
    },
    SetAutomation {
        conversation: ConversationId,
        on: bool,
    },
}

/// Commands on bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TransferCommand {
    /// Brings the bytes of an attachment into the file the shell opened under `transfer`.
    Fetch {
        attachment: Box<Attachment>,
        transfer: TransferId,
    },
    Cancel {
        transfer: TransferId,
    },
}

/// Commands on models, effort and autonomy.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ModelCommand {
    LoadCatalog {
        conversation: Option<ConversationId>,
    },
    SetModel {
        choice: ModelChoice,
        scope: Scope,
    },
    SetEffort {
        level: String,
        scope: Scope,
    },
    SetAutoApprove {
        conversation: ConversationId,
        on: bool,
    },
    /// Changes adapter, model or working directory of a conversation; none leaves a part alone.
    SetProfile {
        conversation: ConversationId,
        adapter: Option<String>,
        model: Option<String>,
        directory: Option<String>,
    },
}

/// Why a server said no, in a form the program can act on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RefusalCode {
    /// The secret or the sign-in is wrong.
    Unauthorized,
    /// Not our version of the protocol.
    VersionMismatch,
    /// The server did not like the request; a fault of ours or a rule we do not know.
    BadRequest,
    NotFound,
    TooLarge,
    RateLimited,
    /// Another run is active; the text may be sent once it ended.
    RunActive,
    /// This server cannot do it.
    Unsupported,
    /// The server failed.
    ServerFailed,
    /// A limit that was checked here before anything was sent.
    LocalLimit,
    /// Too much is waiting for this account already.
    Busy,
    /// No answer within the deadline.
    TimedOut,
    /// The person or the program called it off.
    Cancelled,
    /// A file could not be read or written.
    LocalFile,
}

/// A refusal with words for the person: what happened, what it means, what can be done.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refusal {
    pub code: RefusalCode,
    pub text: SafeText,
}

impl Refusal {
    /// A refusal with these words; they are cleaned here.
    pub fn new(code: RefusalCode, text: impl AsRef<str>) -> Self {
        Self {
            code,
            text: SafeText::prose(text.as_ref()),
        }
    }
}

/// How a command ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CommandOutcome {
    /// The server took it.
    Done(Reply),
    Refused(Refusal),
    /// The link broke after the request may have left: nobody knows.
    LinkLost,
    /// The link was down and nothing was sent.
    NotSent,
}

/// What an outcome brings along.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Reply {
    Nothing,
    /// A conversation came into being.
    Created(ConversationId),
    Hits(Vec<SearchHit>),
    /// A text to show, Markdown.
    Document {
        title: SafeText,
        body: SafeText,
    },
    /// A list to choose from.
    Choices {
        title: SafeText,
        rows: Vec<ServerChoice>,
    },
    /// The upload stage of a send: the server's id of one file. Does not end the command.
    Uploaded {
        transfer: TransferId,
        attachment: AttachmentId,
    },
}

/// One slash command of the server.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SlashCommand {
    /// With its leading slash.
    pub name: SafeText,
    pub aliases: Vec<SafeText>,
    pub description: SafeText,
    pub arguments_hint: SafeText,
    pub category: SafeText,
}
