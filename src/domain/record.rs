//! What is kept on disk, said in domain terms: writes, lookups and what they find. The store
//! carries them out; the program state only describes them.

use super::attachment::{Attachment, OutgoingFile};
use super::conversation::{ConversationInfo, ReadMark, Unread};
use super::decision::Answer;
use super::ids::{
    AccountId, AttachmentId, CommandId, ConversationId, DecisionId, MessageKey, PageToken,
    RemoteId, ToolCallId,
};
use super::message::Delivery;
use super::search::SearchHit;
use super::timeline::Entry;
use crate::text::SafeText;

/// One change. A batch of them is one transaction.
#[derive(Clone, PartialEq, Debug)]
pub enum Write {
    /// A fact of a driver (`SyncEvent::Kept`); none removes it.
    Fact {
        account: AccountId,
        name: String,
        value: Option<String>,
    },
    /// Adds or changes a directory entry; local settings and marks stay.
    Conversation {
        account: AccountId,
        conversation: ConversationId,
        info: Box<ConversationInfo>,
    },
    /// Conversations of the account that are not in the list are marked gone.
    DirectoryIs {
        account: AccountId,
        conversations: Vec<ConversationId>,
    },
    /// Removes it with its entries, marks and attachments; outbox rows and drafts stay.
    ConversationGone {
        account: AccountId,
        conversation: ConversationId,
    },
    /// Removes everything of an account, outbox and drafts too: the person removed it.
    AccountGone {
        account: AccountId,
    },
    LocalSettings {
        account: AccountId,
        conversation: ConversationId,
        settings: LocalSettings,
    },
    /// Where older pages begin; none: the start of the conversation is here.
    OlderToken {
        account: AccountId,
        conversation: ConversationId,
        token: Option<PageToken>,
    },
    /// Adds or replaces an entry. One with the same key, or a message with the same remote id, or
    /// a tool with the same call id is replaced and keeps its key and order. A message whose remote
    /// id was deleted (tombstone) is not added.
    Entry {
        account: AccountId,
        conversation: ConversationId,
        entry: Box<Entry>,
    },
    /// The same for something that was missed, of which only the store knows where it belongs. A
    /// message that is new stands before those at the end that say they were sent later, and behind
    /// each of `after`; a call stands right behind the last of `after` and the calls that follow it.
    Missed {
        account: AccountId,
        conversation: ConversationId,
        entry: Box<Entry>,
        after: Vec<RemoteId>,
    },
    /// Entries stand elsewhere now: the only write that changes the order of a known entry.
    Orders {
        account: AccountId,
        conversation: ConversationId,
        orders: Vec<(MessageKey, i64)>,
    },
    /// Drops entries by key, without a tombstone.
    EntriesGone {
        account: AccountId,
        conversation: ConversationId,
        keys: Vec<MessageKey>,
    },
    /// Messages deleted for good: a replay does not bring them back.
    MessagesDeleted {
        account: AccountId,
        conversation: ConversationId,
        remotes: Vec<RemoteId>,
    },
    /// A message has another remote id now.
    Rekeyed {
        account: AccountId,
        conversation: ConversationId,
        from: RemoteId,
        to: RemoteId,
    },
    /// A call has another id now.
    CallRekeyed {
        account: AccountId,
        conversation: ConversationId,
        from: ToolCallId,
        to: ToolCallId,
    },
    /// A call does not run any more. One that ended stays as it is.
    CallLost {
        account: AccountId,
        conversation: ConversationId,
        call: ToolCallId,
    },
    /// Drops all entries; the read mark begins anew with them.
    Cleared {
        account: AccountId,
        conversation: ConversationId,
    },
    /// Only ever moves forward.
    Read {
        account: AccountId,
        conversation: ConversationId,
        mark: ReadMark,
    },
    Outbox(Box<OutboxRecord>),
    OutboxGone {
        key: MessageKey,
    },
    /// None: the draft is empty.
    Draft {
        account: AccountId,
        conversation: ConversationId,
        draft: Option<Box<DraftRecord>>,
    },
    Attachment {
        account: AccountId,
        conversation: ConversationId,
        attachment: Box<Attachment>,
    },
    AttachmentGone {
        account: AccountId,
        attachment: AttachmentId,
    },
    /// One line of the audit log; written to a file of its own besides the store.
    Audit(Box<AuditRecord>),
    /// An answer is on its way: its state is on disk before its first byte leaves.
    Answering {
        account: AccountId,
        decision: DecisionId,
        conversation: ConversationId,
        answer: Answer,
        command: CommandId,
    },
    AnswerGone {
        account: AccountId,
        decision: DecisionId,
    },
    /// Remembers an input for the history of the composer.
    Input {
        account: AccountId,
        conversation: ConversationId,
        text: String,
        at_ms: i64,
    },
    /// State of the screen by name: widths, folded accounts, the last conversation.
    Ui {
        name: String,
        value: String,
    },
}

/// How hard a batch must be on disk before `then` runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Durability {
    /// Survives the end of the program.
    #[default]
    Normal,
    /// Survives a power cut: outbox, drafts, cursors, decisions.
    Full,
}

/// What the person set for a conversation here, not on the server.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LocalSettings {
    pub is_muted: bool,
    /// A favourite here, where the server has none.
    pub is_pinned: bool,
    /// The server began anew and does not know it any more: it is kept here only.
    pub is_left: bool,
}

/// A message on its way out.
#[derive(Clone, PartialEq, Debug)]
pub struct OutboxRecord {
    pub key: MessageKey,
    pub account: AccountId,
    pub conversation: ConversationId,
    pub text: String,
    pub files: Vec<OutgoingFile>,
    pub reply_to: Option<RemoteId>,
    pub auto_thread: bool,
    pub delivery: Delivery,
    pub created_ms: i64,
    /// Who wrote it: only this program run sends it by itself (the screen takes over what it finds).
    pub instance: u64,
    /// Place in the queue.
    pub position: i64,
}

/// A draft with all that hangs on it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct DraftRecord {
    pub text: String,
    /// Byte offset of the caret.
    pub caret: usize,
    /// Byte ranges of the text that stand folded in the composer; sorted and apart.
    pub folded: Vec<std::ops::Range<usize>>,
    pub reply_to: Option<RemoteId>,
    pub files: Vec<std::path::PathBuf>,
    pub saved_ms: i64,
}

/// One line of the decision log.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AuditRecord {
    pub at_ms: i64,
    pub account: AccountId,
    pub conversation: ConversationId,
    pub conversation_name: SafeText,
    pub decision: DecisionId,
    /// "approval", "clarification", "picker".
    pub kind: &'static str,
    /// The command or the question.
    pub question: SafeText,
    /// What was answered; none when it ended without an answer.
    pub answer: Option<String>,
    pub reason: Option<String>,
    /// "here", "elsewhere", "expired", "uncertain".
    pub by: &'static str,
}

/// One question to the store.
#[derive(Clone, PartialEq, Debug)]
pub enum Lookup {
    /// Everything the first frame needs, of all accounts: directories, marks, drafts, outbox.
    Start,
    /// Entries around a place: at most `before` older and `after` newer ones.
    Window {
        account: AccountId,
        conversation: ConversationId,
        around: Place,
        before: usize,
        after: usize,
    },
    /// Local full-text search, newest first.
    Search {
        query: String,
        account: Option<AccountId>,
        conversation: Option<ConversationId>,
        limit: usize,
        skip: usize,
    },
    /// Inputs of the composer, newest first, of all conversations when none is given.
    Inputs {
        account: Option<AccountId>,
        conversation: Option<ConversationId>,
        containing: String,
        limit: usize,
    },
    Attachments {
        account: AccountId,
        conversation: ConversationId,
    },
}

/// A place in a conversation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Place {
    Newest,
    Oldest,
    Order(i64),
    Remote(RemoteId),
    /// The first entry at or after this wall time.
    Time(i64),
}

/// What a lookup found.
#[derive(Clone, PartialEq, Debug)]
pub enum Found {
    Start(Box<StartFacts>),
    Window {
        account: AccountId,
        conversation: ConversationId,
        around: Place,
        entries: Vec<Entry>,
        has_older: bool,
        has_newer: bool,
    },
    Search {
        query: String,
        hits: Vec<(AccountId, SearchHit)>,
        has_more: bool,
    },
    Inputs {
        containing: String,
        texts: Vec<String>,
    },
    Attachments {
        account: AccountId,
        conversation: ConversationId,
        attachments: Vec<Attachment>,
    },
}

/// What the first frame needs.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct StartFacts {
    pub conversations: Vec<StoredConversation>,
    pub outbox: Vec<OutboxRecord>,
    pub answering: Vec<(AccountId, DecisionId, ConversationId, Answer)>,
    /// Facts of drivers: account, name, value.
    pub facts: Vec<(AccountId, String, String)>,
    pub ui: Vec<(String, String)>,
}

/// A conversation as the store knows it.
#[derive(Clone, PartialEq, Debug)]
pub struct StoredConversation {
    pub account: AccountId,
    pub conversation: ConversationId,
    pub info: ConversationInfo,
    pub settings: LocalSettings,
    pub read: ReadMark,
    pub unread: Unread,
    /// Lowest and highest order of its entries; zero when it has none.
    pub oldest_order: i64,
    pub newest_order: i64,
    /// Where older pages begin on the server; none when it is not known or at the start.
    pub older_token: Option<PageToken>,
    pub draft: Option<DraftRecord>,
}

/// What a committed batch really changed, one for each conversation in it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Committed {
    pub account: AccountId,
    pub conversation: ConversationId,
    /// Messages of others that were not known before, with their remote ids.
    pub new_messages: Vec<RemoteId>,
    pub unread: Unread,
    pub newest_order: i64,
    pub last_activity_ms: i64,
}
