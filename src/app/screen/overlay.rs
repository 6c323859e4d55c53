//! Popups: a stack of plain values, the top-most takes the keys.

use crate::domain::{
    AccountId, ConversationId, DecisionId, MessageKey, ModelCatalog, Moment, SearchHit,
    ServerChoice,
};
use crate::text::SafeText;

/// One open popup.
#[derive(Clone, PartialEq, Debug)]
pub enum Overlay {
    Decision(DecisionPopup),
    /// All decisions that wait, over all accounts.
    Attention {
        list: List,
    },
    Switcher {
        filter: Line,
        list: List,
    },
    Palette {
        filter: Line,
        list: List,
    },
    Models {
        account: AccountId,
        conversation: ConversationId,
        filter: Line,
        list: List,
        for_all: bool,
        catalog: Option<Box<ModelCatalog>>,
    },
    Effort {
        account: AccountId,
        conversation: ConversationId,
        list: List,
        for_all: bool,
    },
    /// Search in one conversation, or everywhere.
    Search(SearchPopup),
    Help {
        scroll: u16,
        filter: Line,
    },
    Confirm(Confirm),
    /// One line is asked for.
    Prompt(Prompt),
    Media {
        account: AccountId,
        conversation: ConversationId,
        list: List,
    },
    Queue {
        account: AccountId,
        conversation: ConversationId,
        list: List,
    },
    /// What can be done with the selected entry.
    EntryMenu {
        key: MessageKey,
        list: List,
    },
    /// A text to read.
    Document {
        title: SafeText,
        body: SafeText,
        scroll: u16,
    },
    /// Link, identity, capabilities of an account, or the way to sign in.
    Account {
        account: AccountId,
        scroll: u16,
    },
    Inspector {
        filter: Line,
        list: List,
    },
    Theme {
        list: List,
        before: String,
    },
    /// Adding an account.
    Wizard(Box<Wizard>),
    Welcome {
        list: List,
    },
    /// Earlier inputs, found by what is in them.
    Inputs {
        filter: Line,
        list: List,
        texts: Vec<String>,
        /// All conversations instead of this one.
        everywhere: bool,
    },
    /// Functions of the server without a key of their own.
    Functions {
        account: AccountId,
        list: List,
    },
    /// What a function of the server gave to choose from.
    Choices {
        account: AccountId,
        title: SafeText,
        rows: Vec<ServerChoice>,
        filter: Line,
        list: List,
    },
    /// Which link of an entry is opened.
    Links {
        key: MessageKey,
        list: List,
    },
    /// Which code block of an entry is copied.
    CodeBlocks {
        key: MessageKey,
        list: List,
    },
    /// Adapter, model and folder of a conversation.
    Profile {
        account: AccountId,
        conversation: ConversationId,
        list: List,
    },
}

/// A list with a cursor.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct List {
    pub selected: usize,
    pub scroll: usize,
}

/// One line of input.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Line {
    pub text: String,
    /// Byte offset, on a cluster boundary.
    pub caret: usize,
}

/// The popup of one decision.
#[derive(Clone, PartialEq, Debug)]
pub struct DecisionPopup {
    pub account: AccountId,
    pub decision: DecisionId,
    /// When it was first painted; answer keys are dead before and 400 ms after.
    pub painted: Option<Moment>,
    /// Index into the rows: choices, then free text, then deny where the server sent none.
    pub selected: usize,
    pub scroll: u16,
    /// The end of the command was in sight.
    pub end_seen: bool,
    /// `always` was chosen once and must be chosen again.
    pub always_asked: bool,
    /// The reason line of a refusal, or the free text of a clarification, while it is typed.
    pub typing: Option<Line>,
}

/// The search popup.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct SearchPopup {
    pub here: Option<(AccountId, ConversationId)>,
    pub query: Line,
    pub list: List,
    pub hits: Vec<(AccountId, SearchHit)>,
    pub is_running: bool,
    pub has_more: bool,
}

/// A question with yes and no; no has the focus.
#[derive(Clone, PartialEq, Debug)]
pub struct Confirm {
    pub title: SafeText,
    pub text: SafeText,
    pub yes: SafeText,
    pub is_yes_selected: bool,
    pub then: Confirmed,
}

/// What happens after yes.
#[derive(Clone, PartialEq, Debug)]
pub enum Confirmed {
    DeleteConversation(AccountId, ConversationId),
    ClearConversation(AccountId, ConversationId),
    DeleteMessage(AccountId, ConversationId, MessageKey),
    AutoApproveOn(AccountId, ConversationId),
    RemoveAccount(AccountId),
    OpenLink(String),
    Quit,
}

/// One line that is asked for.
#[derive(Clone, PartialEq, Debug)]
pub struct Prompt {
    pub title: SafeText,
    pub line: Line,
    pub hint: SafeText,
    pub error: Option<SafeText>,
    pub is_secret: bool,
    pub then: Prompted,
}

/// What the line is for.
#[derive(Clone, PartialEq, Debug)]
pub enum Prompted {
    NewConversation(AccountId),
    NewThread(AccountId, ConversationId),
    Rename(AccountId, ConversationId),
    AttachPath(AccountId, ConversationId),
    JumpToDate(AccountId, ConversationId),
    Color(AccountId, ConversationId),
    Icon(AccountId, ConversationId),
    ModelFreeText(AccountId, ConversationId),
    ProfileDirectory(AccountId, ConversationId),
    /// For a function, and what was chosen for it before.
    FunctionArgument(AccountId, String, Option<String>),
    Secret(AccountId),
}

/// The steps of adding an account.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Wizard {
    /// Index into the kinds the program offers.
    pub kind: Option<usize>,
    pub fields: Vec<Line>,
    pub focused: usize,
    /// What the check found, or what went wrong.
    pub result: Option<Result<SafeText, SafeText>>,
    pub is_checking: bool,
    pub list: List,
}
