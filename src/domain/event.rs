//! What drivers report, by topic. Every event carries its provenance, and every reducer that takes
//! one is idempotent: the same event twice is the same as once.

use super::account::{Identity, LinkState};
use super::attachment::Attachment;
use super::capability::Capabilities;
use super::command::{CommandOutcome, SlashCommand};
use super::conversation::ConversationInfo;
use super::decision::{Decision, Expiry};
use super::ids::{
    AttachmentId, CommandId, ConversationId, Cursor, DecisionId, PageToken, RemoteId, RunId,
    ToolCallId, TransferId,
};
use super::message::{Footer, IncomingMessage, TextPatch};
use super::model::{Effort, ModelCatalog, ModelChoice, Profile, Scope};
use super::moment::Moment;
use super::notice::Notice;
use super::run::{RunOutcome, RunPhase};
use super::todo::Todo;
use super::tool::ToolCall;
use crate::text::SafeText;

/// Where an event comes from. Only live events, and replayed ones that were not announced yet, may
/// ring.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Provenance {
    #[default]
    Live,
    /// Missed while the link was down.
    Replayed { cursor: Cursor, was_announced: bool },
    /// Part of a page of history.
    History,
    /// The server's whole word on a conversation or the account.
    Snapshot,
}

/// One report of a driver.
#[derive(Clone, PartialEq, Debug)]
pub struct AccountEvent {
    pub provenance: Provenance,
    pub topic: Topic,
}

impl AccountEvent {
    /// An event that happens now.
    pub fn live(topic: Topic) -> Self {
        Self {
            provenance: Provenance::Live,
            topic,
        }
    }
}

/// The ten topics.
#[derive(Clone, PartialEq, Debug)]
pub enum Topic {
    Link(LinkEvent),
    Directory(DirectoryEvent),
    Timeline(TimelineEvent),
    Run(RunEvent),
    Decision(DecisionEvent),
    Attachment(AttachmentEvent),
    Models(ModelsEvent),
    Notice(Notice),
    Sync(SyncEvent),
    /// The end of a command, or a stage of it (`Reply::Uploaded`).
    Outcome {
        command: CommandId,
        outcome: CommandOutcome,
    },
}

/// The link and the server behind it.
#[derive(Clone, PartialEq, Debug)]
pub enum LinkEvent {
    /// `Waiting` comes from the shell, all other states from the driver.
    Changed(LinkState),
    IdentityKnown(Identity),
    CapabilitiesChanged(Box<Capabilities>),
    /// None: the server is well.
    HealthChanged(Option<SafeText>),
    /// A frame came in; `latency_ms` when it answered a heartbeat.
    Heard {
        latency_ms: Option<u64>,
    },
    /// The server was asked for a sign of life and gave none; nothing came since then. `Heard` ends
    /// it, and so does the end of the link.
    Silent {
        since: Moment,
    },
    CatalogLoaded(Vec<SlashCommand>),
}

/// The list of conversations.
#[derive(Clone, PartialEq, Debug)]
pub enum DirectoryEvent {
    /// The whole list; what is not in it is gone.
    Replaced(Vec<(ConversationId, ConversationInfo)>),
    /// Added or changed.
    Upserted {
        conversation: ConversationId,
        info: ConversationInfo,
    },
    /// Only its name changed.
    Renamed {
        conversation: ConversationId,
        name: SafeText,
    },
    /// Gone, with every conversation under it.
    Removed { conversation: ConversationId },
    /// Only the time of its last activity is known to have changed.
    Touched {
        conversation: ConversationId,
        at_ms: i64,
    },
}

/// Which text of a message a patch changes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    Body,
    Reasoning,
}

/// A page of history, oldest first.
#[derive(Clone, PartialEq, Debug)]
pub struct HistoryPage {
    pub conversation: ConversationId,
    pub messages: Vec<IncomingMessage>,
    /// The token the page was asked with; none for the newest page.
    pub before: Option<PageToken>,
    /// Where the next older page begins; none at the start of the conversation.
    pub older: Option<PageToken>,
    /// The page decides: own user and assistant messages within its range that it does not have
    /// are gone (unless they were seen live only, or are not sent yet).
    pub is_authoritative: bool,
}

/// Everything a server says of a conversation at once.
#[derive(Clone, PartialEq, Debug)]
pub struct Snapshot {
    pub page: HistoryPage,
    /// The active run: its id, and since when in wall milliseconds.
    pub run: Option<(RunId, Option<i64>)>,
    /// The text of the active run so far, under its draft id.
    pub draft: Option<IncomingMessage>,
    /// Latest state of tools of the current or last run.
    pub tools: Vec<ToolCall>,
    pub attachments: Vec<Attachment>,
    /// All decisions that are open; others of this conversation are not.
    pub decisions: Vec<Decision>,
    /// The server restarted or cut runs since the last snapshot, as far as the driver can tell.
    pub lost_runs: bool,
}

/// Messages.
#[derive(Clone, PartialEq, Debug)]
pub enum TimelineEvent {
    /// Inserts, or replaces the one with this remote id. With `command` it is the echo of our own.
    Upserted {
        conversation: ConversationId,
        message: Box<IncomingMessage>,
    },
    /// Changes a text. A message that is not there yet is made, streaming.
    Patched {
        conversation: ConversationId,
        remote: RemoteId,
        run: Option<RunId>,
        part: Part,
        patch: TextPatch,
    },
    /// No more text comes. None keeps what was streamed.
    Ended {
        conversation: ConversationId,
        remote: RemoteId,
        text: Option<String>,
        reasoning: Option<String>,
        footer: Footer,
        sent_at_ms: Option<i64>,
        is_interrupted: bool,
    },
    /// The server now knows the message by another id.
    Rekeyed {
        conversation: ConversationId,
        from: RemoteId,
        to: RemoteId,
    },
    Deleted {
        conversation: ConversationId,
        remotes: Vec<RemoteId>,
    },
    Page(Box<HistoryPage>),
    Snapshot(Box<Snapshot>),
    /// Our own message has this id on the server.
    Acknowledged {
        conversation: ConversationId,
        command: CommandId,
        remote: Option<RemoteId>,
    },
    /// The agent has begun to work on our message.
    WasRead {
        conversation: ConversationId,
        remote: Option<RemoteId>,
        command: Option<CommandId>,
    },
    /// Emptied, here or elsewhere.
    Cleared {
        conversation: ConversationId,
    },
    TodosReplaced {
        conversation: ConversationId,
        todos: Vec<Todo>,
    },
    Typing {
        conversation: ConversationId,
        on: bool,
    },
}

/// Runs and their tools.
#[derive(Clone, PartialEq, Debug)]
pub enum RunEvent {
    Started {
        conversation: ConversationId,
        run: RunId,
        command: Option<CommandId>,
        is_stated: bool,
    },
    PhaseChanged {
        conversation: ConversationId,
        run: RunId,
        phase: RunPhase,
    },
    /// Something of the run was seen; refreshes its clock.
    Active { conversation: ConversationId },
    /// A tool began, went on or ended; merged by call id.
    ToolChanged {
        conversation: ConversationId,
        tool: Box<ToolCall>,
    },
    /// A call that ended while the link was down. It stands behind the message `after`, as far as
    /// that is here, and is dated by it.
    ToolMissed {
        conversation: ConversationId,
        tool: Box<ToolCall>,
        after: Option<RemoteId>,
        at_ms: Option<i64>,
    },
    /// A call that was seen to begin, maybe by an earlier start of the program, does not run any
    /// more, and how it ended is not known.
    ToolLost {
        conversation: ConversationId,
        tool: ToolCallId,
    },
    /// A call known by a stand-in id has its real one now.
    ToolRekeyed {
        conversation: ConversationId,
        from: ToolCallId,
        to: ToolCallId,
    },
    Finished {
        conversation: ConversationId,
        run: RunId,
        outcome: RunOutcome,
    },
    /// It shows only now that the run answers this message of ours.
    Owned {
        conversation: ConversationId,
        run: RunId,
        command: CommandId,
    },
    /// The end that was reported of this run was wrong: it goes on, with these calls.
    Resumed {
        conversation: ConversationId,
        run: RunId,
        tools: Vec<ToolCallId>,
    },
}

/// Decisions.
#[derive(Clone, PartialEq, Debug)]
pub enum DecisionEvent {
    Opened(Box<Decision>),
    /// Answered. With `command` it was our answer; `choice` is the label or text when known.
    Resolved {
        decision: DecisionId,
        choice: Option<SafeText>,
        command: Option<CommandId>,
    },
    Expired {
        decision: DecisionId,
        why: Expiry,
    },
}

/// Attachments.
#[derive(Clone, PartialEq, Debug)]
pub enum AttachmentEvent {
    Added {
        conversation: ConversationId,
        attachment: Box<Attachment>,
    },
    /// The server no longer has it.
    Gone { attachment: AttachmentId },
    /// A transfer that waited for its turn began.
    TransferBegan { transfer: TransferId },
}

/// Models, effort, profile, autonomy.
#[derive(Clone, PartialEq, Debug)]
pub enum ModelsEvent {
    CatalogLoaded {
        conversation: Option<ConversationId>,
        catalog: Box<ModelCatalog>,
    },
    ModelChanged {
        choice: ModelChoice,
        scope: Scope,
    },
    EffortChanged {
        effort: Effort,
        scope: Scope,
    },
    AutoApproveChanged {
        conversation: ConversationId,
        on: bool,
    },
    ProfileChanged {
        conversation: ConversationId,
        profile: Profile,
    },
}

/// What the driver wants kept, in the same transaction as the events of the same batch that came
/// before it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SyncEvent {
    /// A fact under a name that only the driver reads; none removes it. It comes back in
    /// `Resume::facts` at the next start.
    Kept { name: String, value: Option<String> },
    /// This device is new to the server, and what it was told so far is old news: reading began
    /// here. Comes before `Done`.
    ReadingBegan,
    /// Missed frames were all replayed. How many messages of them were new, the store knows.
    Done,
    /// The server lost its state: directory and history are loaded anew.
    ServerLostState,
}
