//! The whole state of the program, made of sub-states; a reducer gets only the one it needs.

use super::keymap::Keymap;
use super::screen::Screen;
use super::screen::composer::Composer;
use super::screen::overlay::Overlay;
use super::screen::viewport::Viewport;
use crate::domain::{
    Account, AccountId, Answer, Attachment, AttachmentId, CommandId, ConversationId,
    ConversationInfo, Decision, DecisionId, DraftRecord, Durability, Effort, Entry, HistoryPage,
    LocalSettings, MessageKey, ModelCatalog, ModelChoice, Moment, OutboxRecord, PageToken, Place,
    Profile, ReadMark, RemoteId, Run, RunId, SlashCommand, Snapshot, Todo, ToolCall, ToolCallId,
    TransferId, Unread, Write,
};
use crate::text::SafeText;
use std::collections::{BTreeMap, BTreeSet};

/// The state. Only `update` changes it.
#[derive(Clone, PartialEq, Debug)]
pub struct State {
    /// In the person's order.
    pub accounts: Vec<AccountState>,
    /// The conversation on screen.
    pub focus: Option<(AccountId, ConversationId)>,
    /// Where the person was before, newest last; "back" goes there.
    pub visited: Vec<(AccountId, ConversationId)>,
    pub screen: Screen,
    pub settings: Settings,
    pub ids: Ids,
    /// The moment of the last event.
    pub now: Moment,
    /// The store cannot be written (a newer schema, a second screen); said in the status line.
    pub read_only: Option<SafeText>,
    /// A recording is played here; nothing that is written goes anywhere.
    pub play: Option<Play>,
    /// Another screen writes to this profile: this one only reads, and nothing leaves from it.
    pub only_reads: bool,
    /// Something of the last stored state is still being read.
    pub is_loading: bool,
    /// What the events since the last `update::flush` want written and drawn.
    pub batch: Batch,
    /// The screen: messages that another run of the program left behind become ours. Other fronts
    /// leave them alone.
    pub takes_over: bool,
    /// The earliest `Effect::Wake` that is out.
    pub wake: Option<Moment>,
    /// When the store was last asked for messages that another run left behind.
    pub stale_asked: Option<Moment>,
    /// The window title that was set last.
    pub title: SafeText,
    /// How far the store is with what it was given.
    pub commits: Commits,
    /// What may ring once the store says that it is new.
    pub bells: Vec<Bell>,
    /// The store said no to a write; windows are not shortened any more, so that nothing is lost.
    pub store_fails: bool,
    /// When the store is asked to write again what it could not.
    pub store_retry: Option<Moment>,
    pub keymap: Keymap,
    /// What the wizard can add, handed in at start.
    pub kinds: Vec<AccountKind>,
    /// Names of the themes that were found, handed in at start.
    pub themes: Vec<String>,
}

/// What several events collect, so that messages and the cursor behind them share a transaction.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Batch {
    pub writes: Vec<Write>,
    pub durability: Durability,
    pub redraw: Redraw,
}

/// Commits since the start of the program. The store answers them in order.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Commits {
    pub asked: u64,
    pub answered: u64,
}

/// A recording that is played, as the screen tells it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Play {
    /// How fast, in words.
    pub speed: SafeText,
    /// Nothing of it is left.
    pub is_over: bool,
}

/// Messages that a server replays. The driver cannot know which of them an earlier run of the
/// program had; the store can.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Missed {
    /// Which were replayed, each with the commit that writes it.
    pub waiting: BTreeMap<(ConversationId, RemoteId), u64>,
    /// How many of them were new so far.
    pub new: usize,
    /// The replay is over: the commit after which the number is told.
    pub told_after: Option<u64>,
}

/// A message that came in live and outside a run. It rings when it is complete and the store says
/// that it was not known before, in whatever order.
#[derive(Clone, PartialEq, Debug)]
pub struct Bell {
    pub account: AccountId,
    pub conversation: ConversationId,
    pub remote: RemoteId,
    /// What to show; none until it is complete.
    pub words: Option<SafeText>,
    pub is_new: bool,
}

/// What the screen needs after a batch.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Redraw {
    #[default]
    Nothing,
    /// At the pace of the line.
    Paced,
    Now,
}

/// A kind of account the wizard can add, described by the protocols themselves.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AccountKind {
    /// The value of the field "kind".
    pub name: String,
    pub title: SafeText,
    pub hint: SafeText,
    pub fields: Vec<AccountField>,
}

/// One line of the wizard.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AccountField {
    pub name: String,
    pub title: SafeText,
    pub hint: SafeText,
    /// It is the account's secret and shown as dots.
    pub is_secret: bool,
    pub is_required: bool,
}

/// Counters for ids. The base is random, so that two running programs never mint the same.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ids {
    /// Names this run of the program in outbox rows.
    pub instance: u64,
    pub next: u64,
}

/// Set in the instance of a screen. There is one screen at a time in a profile, so what another one
/// left behind has nobody else.
const SCREEN: u64 = 1 << 62;

impl Ids {
    /// Counters from a random number: for a screen, or for a command without one.
    pub fn from_random(random: u64, is_screen: bool) -> Self {
        let instance = (random >> 1) & !SCREEN;
        Self {
            instance: if is_screen {
                instance | SCREEN
            } else {
                instance
            },
            // 31 random bits above 32 bits to count in; the sign stays clear, as the store's numbers
            // have one.
            next: (random >> 33) << 32,
        }
    }

    /// Whether this instance is, or was, a screen.
    pub fn is_screen(instance: u64) -> bool {
        instance & SCREEN != 0
    }

    /// The next number; every key and id in this run comes from here.
    pub fn mint(&mut self) -> u64 {
        self.next += 1;
        self.next
    }
}

/// How the person wants pictures to be drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum PictureChoice {
    /// By what the terminal answers.
    #[default]
    Auto,
    Kitty,
    Iterm,
    Sixel,
    Blocks,
    /// Not at all; their cards stand for them.
    Off,
}

impl PictureChoice {
    /// The choice by its name in the configuration; any other is left to the terminal.
    pub fn named(name: &str) -> Self {
        match name {
            "kitty" => Self::Kitty,
            "iterm2" => Self::Iterm,
            "sixel" => Self::Sixel,
            "blocks" => Self::Blocks,
            "off" => Self::Off,
            _ => Self::Auto,
        }
    }
}

/// What the person can switch.
#[derive(Clone, PartialEq, Debug)]
pub struct Settings {
    pub theme: String,
    pub ascii: bool,
    pub mouse: bool,
    pub reduced_motion: bool,
    /// Notifications do not show what was said.
    pub hide_content: bool,
    pub bell: bool,
    pub notify: bool,
    pub show_model: bool,
    pub show_context: bool,
    pub show_directory: bool,
    pub show_latency: bool,
    pub show_cost: bool,
    /// Tools and reasoning are unfolded by default.
    pub unfold_all: bool,
    /// Long lines of code go on in the next row; otherwise they are cut and can be shifted.
    pub wrap_code: bool,
    /// Ask the server to open a thread for messages in the default conversation.
    pub auto_thread: bool,
    pub pictures: PictureChoice,
    /// Esc and cut sequences wait longer, pictures are not fetched by themselves.
    pub over_ssh: bool,
    /// Minutes east of UTC are the shell's business: it hands the zone's offset in here, at the
    /// last event.
    pub utc_offset_minutes: i32,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            theme: "dark".to_owned(),
            ascii: false,
            mouse: true,
            reduced_motion: false,
            hide_content: false,
            bell: true,
            notify: true,
            show_model: true,
            show_context: true,
            show_directory: true,
            show_latency: true,
            show_cost: true,
            unfold_all: false,
            wrap_code: true,
            auto_thread: false,
            pictures: PictureChoice::Auto,
            over_ssh: false,
            utc_offset_minutes: 0,
        }
    }
}

/// One account with everything in it.
#[derive(Clone, PartialEq, Debug)]
pub struct AccountState {
    pub account: Account,
    /// Its runtime is a process of ours: what runs there ends with this program.
    pub ends_with_us: bool,
    /// In no order; the sidebar sorts.
    pub conversations: BTreeMap<ConversationId, Conversation>,
    /// Not in the list that the server gave, while it is not known whether they were deleted or the
    /// server lost its state.
    pub missing: BTreeSet<ConversationId>,
    /// All that are pending, and those that ended lately; oldest first.
    pub decisions: Vec<Decision>,
    pub attachments: BTreeMap<AttachmentId, Attachment>,
    pub catalog: Vec<SlashCommand>,
    pub models: ModelCatalog,
    /// For conversations without a choice of their own.
    pub model: Option<ModelChoice>,
    pub effort: Option<Effort>,
    /// Messages on their way out, in order. One that is `Queued` stands only here and is shown in
    /// the queue; from its first byte on it stands in the timeline too, under the same key.
    pub outbox: Vec<OutboxRecord>,
    /// Commands without an outcome.
    pub pending: BTreeMap<CommandId, Pending>,
    /// Red, green, blue of its mark.
    pub color: Option<(u8, u8, u8)>,
    /// Frames that could not be understood.
    pub oddities: u64,
    /// What is to happen with an attachment once it is here.
    pub wanted: BTreeMap<AttachmentId, MediaThen>,
    /// Queued messages that wait for more than their turn.
    pub held: BTreeMap<MessageKey, Hold>,
    /// How often a message was refused because a run is active.
    pub busy_refusals: BTreeMap<MessageKey, u8>,
    /// Answers of an earlier run of the program of which nobody knows whether they arrived.
    pub unproven: Vec<(DecisionId, ConversationId, Answer)>,
    /// Since when there is a link, ready or not.
    pub link_since: Option<Moment>,
    /// Since when commands may be sent over the present link.
    pub ready_since: Option<Moment>,
    /// When the driver was last told that the person acts.
    pub attended: Option<Moment>,
    /// Links that came to stand so far.
    pub links: u32,
    /// The shell's delay before the next attempt began here, for the words in the sidebar.
    pub last_failure: Option<SafeText>,
    /// What is being replayed, until it is told.
    pub missed: Missed,
}

/// Why a queued message does not go when its turn comes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Hold {
    /// Only the person lets it go.
    ForPerson,
    /// Until the active run ended, though the server would take it.
    ForRun,
    /// The server asked to slow down; nothing of the conversation overtakes it.
    Until(Moment),
}

/// What happens with an attachment once its bytes are here.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum MediaThen {
    /// Shown in the timeline where that can be.
    #[default]
    Show,
    /// Opened with the system's program.
    Open,
    /// Copied to the download folder.
    Save,
}

/// What a command in flight is for.
#[derive(Clone, PartialEq, Debug)]
pub enum Pending {
    Send {
        conversation: ConversationId,
        key: MessageKey,
    },
    Answer {
        decision: DecisionId,
    },
    Open {
        conversation: ConversationId,
    },
    Older {
        conversation: ConversationId,
    },
    Fetch {
        attachment: AttachmentId,
        transfer: TransferId,
        then_open: bool,
    },
    Create,
    /// A message is being deleted on the server.
    Delete {
        message: MessageKey,
    },
    /// The run of this conversation is to stop.
    Stop {
        conversation: ConversationId,
    },
    /// Something that changes nothing on the screen, so its end is told: the start of the words
    /// when it was refused, and the words when it was done.
    Told(&'static str, &'static str),
    /// Anything whose refusal is shown as a toast with this start.
    Other(&'static str),
    Search,
}

/// One conversation.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Conversation {
    pub info: ConversationInfo,
    pub settings: LocalSettings,
    pub timeline: Timeline,
    pub run: Option<Run>,
    /// Tools of the current run that have not ended, in order of their start.
    pub running_tools: Vec<ToolCall>,
    pub todos: Vec<Todo>,
    /// The agent is typing, until this moment.
    pub typing_until: Option<Moment>,
    pub unread: Unread,
    pub read: ReadMark,
    /// The unread line stands before the first entry after this order, while it is shown.
    pub unread_line: Option<i64>,
    pub model: Option<ModelChoice>,
    pub effort: Option<Effort>,
    pub auto_approve: bool,
    pub profile: Option<Profile>,
    pub composer: Composer,
    pub viewport: Viewport,
    /// Entries whose fold differs from the default.
    pub toggled: Vec<MessageKey>,
    /// It was opened on the server over the present link.
    pub is_open: bool,
    /// Something of the active run was written, so that its end needs no word.
    pub run_has_answer: bool,
    /// A message that is to be stopped as soon as its run begins.
    pub stop_early: Option<CommandId>,
    /// The run that ended last; a second report of its end says nothing new.
    pub ended_run: Option<RunId>,
    /// The active run is the server's own and came with the link; what waits in the queue waits
    /// for the person.
    pub run_is_foreign: bool,
    /// The draft as it is in the store.
    pub saved_draft: DraftRecord,
    /// When a changed draft is written.
    pub draft_due: Option<Moment>,
    /// Pages loaded so far for a jump to a message that was not here.
    pub jump_pages: u8,
}

/// A window on the entries of a conversation, oldest first.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Timeline {
    pub entries: Vec<Entry>,
    /// The store has older entries.
    pub has_older: bool,
    /// The store has newer entries.
    pub has_newer: bool,
    /// Where older messages begin on the server, when the window reaches the oldest entry.
    pub older_token: Option<PageToken>,
    /// The window was read from the store at least once.
    pub is_loaded: bool,
    /// A lookup or a page is on its way.
    pub is_loading_older: bool,
    pub is_loading_newer: bool,
    /// The orders that the store was asked to go on from.
    pub asked_older: Option<i64>,
    pub asked_newer: Option<i64>,
    /// Missed messages were written behind this order without being shown, because only the store
    /// can tell whether they are new.
    pub aside_from: Option<i64>,
    /// What was missed and is written without being shown, on its way into the batch, with the
    /// messages that it stands behind.
    pub aside: Vec<(Entry, Vec<RemoteId>)>,
    /// The orders of those, until the window reaches them.
    pub unshown: Vec<i64>,
    /// The message that was caught up on last, and when; and the last one that is not the person's,
    /// who may have seen his own stand elsewhere.
    pub caught_up: [Option<(RemoteId, Moment)>; 2],
    /// Ids by which messages were known before history named them; late reports still use them.
    pub aliases: Vec<(RemoteId, MessageKey)>,
    /// Calls that got another id.
    pub renamed_calls: Vec<(ToolCallId, ToolCallId)>,
    /// Calls that came in live, and when.
    pub live_calls: Vec<(MessageKey, Moment)>,
    /// Messages deleted lately.
    pub buried: Vec<RemoteId>,
    /// Entries taken out lately. While the disk is full the store still has them.
    pub gone: Vec<MessageKey>,
    /// The highest order in the store or here.
    pub newest_order: i64,
    pub oldest_order: i64,
    /// Entries that are being written to and do not join on to the window; they belong behind
    /// everything in the store.
    pub tail: Vec<Entry>,
    /// Entries with changes that are not in the store yet, and when each was written last.
    pub unsaved: BTreeMap<MessageKey, Moment>,
    /// Pages that wait for the window.
    pub waiting: Vec<Waiting>,
    /// Where the reader wants to be once the window is there.
    pub jump: Option<Place>,
}

/// A report that cannot be merged before the window was read.
#[derive(Clone, PartialEq, Debug)]
pub enum Waiting {
    Page(Box<HistoryPage>),
    Snapshot(Box<Snapshot>),
}

impl State {
    /// Somebody looks at the frames on the wire.
    pub fn is_inspected(&self) -> bool {
        self.screen
            .overlays
            .iter()
            .any(|overlay| matches!(overlay, Overlay::Inspector { .. }))
    }

    /// What is typed now may be a secret.
    pub fn asks_for_secret(&self) -> bool {
        self.screen.overlays.iter().any(|overlay| match overlay {
            Overlay::Wizard(_) => true,
            Overlay::Prompt(prompt) => prompt.is_secret,
            _ => false,
        })
    }

    /// A conversation and its account by name, for what is said of one that may not be on screen.
    pub fn place_of(&self, account: &AccountId, conversation: &ConversationId) -> String {
        let label = self
            .account(account)
            .map_or(account.as_str(), |of| of.account.label.as_str());
        match self.conversation(account, conversation) {
            Some(here) if !here.info.name.is_empty() => format!("{} ({label})", here.info.name),
            _ => label.to_owned(),
        }
    }

    /// A program without accounts, before the store was read.
    pub fn new(ids: Ids, settings: Settings, now: Moment) -> Self {
        Self {
            accounts: Vec::new(),
            focus: None,
            visited: Vec::new(),
            screen: Screen::default(),
            settings,
            ids,
            now,
            read_only: None,
            play: None,
            only_reads: false,
            is_loading: true,
            batch: Batch::default(),
            takes_over: true,
            wake: None,
            stale_asked: None,
            title: SafeText::default(),
            commits: Commits::default(),
            bells: Vec::new(),
            store_fails: false,
            store_retry: None,
            keymap: Keymap::default(),
            kinds: Vec::new(),
            themes: Vec::new(),
        }
    }

    /// The account, when it is there.
    pub fn account(&self, id: &AccountId) -> Option<&AccountState> {
        self.accounts
            .iter()
            .find(|account| account.account.id == *id)
    }

    /// The account, to be changed.
    pub fn account_mut(&mut self, id: &AccountId) -> Option<&mut AccountState> {
        self.accounts
            .iter_mut()
            .find(|account| account.account.id == *id)
    }

    /// The conversation on screen with its account.
    pub fn focused(&self) -> Option<(&AccountState, &ConversationId, &Conversation)> {
        let (account, id) = self.focus.as_ref()?;
        let account = self.account(account)?;
        let (id, conversation) = account.conversations.get_key_value(id)?;
        Some((account, id, conversation))
    }
}

impl AccountState {
    /// Whether the server was asked to delete this message and has not answered.
    pub fn is_deleting(&self, key: MessageKey) -> bool {
        self.pending
            .values()
            .any(|pending| matches!(pending, Pending::Delete { message } if *message == key))
    }

    /// An account of which nothing is known but its name.
    pub fn new(id: AccountId, label: SafeText) -> Self {
        Self {
            account: Account {
                id,
                label,
                link: crate::domain::LinkState::Off,
                identity: None,
                capabilities: crate::domain::Capabilities::default(),
                health: None,
                last_frame: None,
                silent_since: None,
                latency_ms: None,
            },
            ends_with_us: false,
            conversations: BTreeMap::new(),
            missing: BTreeSet::new(),
            decisions: Vec::new(),
            attachments: BTreeMap::new(),
            catalog: Vec::new(),
            models: ModelCatalog::default(),
            model: None,
            effort: None,
            outbox: Vec::new(),
            pending: BTreeMap::new(),
            color: None,
            oddities: 0,
            wanted: BTreeMap::new(),
            held: BTreeMap::new(),
            busy_refusals: BTreeMap::new(),
            unproven: Vec::new(),
            link_since: None,
            ready_since: None,
            attended: None,
            links: 0,
            last_failure: None,
            missed: Missed::default(),
        }
    }
}
