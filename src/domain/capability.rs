//! What a server, and a conversation on it, can do. Asked before a command is sent, so that a key
//! that cannot work says why instead of failing on the wire.

use crate::text::SafeText;

/// One answer to "can this be done here?".
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Support {
    /// Yes.
    Yes,
    /// No, and the words for the person why.
    No(&'static str),
    /// Not known before the server said hello.
    #[default]
    Unknown,
}

impl Support {
    /// Whether the function may be offered.
    pub fn is_yes(&self) -> bool {
        matches!(self, Self::Yes)
    }

    /// The words to show when the function is refused; none when it is there.
    pub fn refusal(&self) -> Option<&'static str> {
        match self {
            Self::Yes => None,
            Self::No(reason) => Some(reason),
            Self::Unknown => Some("not known before the account is connected"),
        }
    }
}

/// How the server hands out older messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum HistoryPaging {
    /// There is no history on the server.
    #[default]
    None,
    /// Pages going back from a token.
    OlderThanToken,
    /// The whole log is listed from the start; opening a conversation brings all of it.
    NewerThanToken,
}

/// Limits on what may be attached to one message.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct AttachmentLimits {
    /// Files in one message.
    pub count: usize,
    /// Bytes in one file; none when the server names no limit.
    pub bytes: Option<u64>,
    /// At most this many of them may be pictures; none when there is no such rule.
    pub pictures: Option<usize>,
}

/// Something the person may ask of the server by name that has no key of its own (lists of
/// background runs, "what the agent knows"). The answer is a document.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ServerFunction {
    /// The name the driver knows it by.
    pub name: String,
    /// What the palette shows.
    pub title: &'static str,
    /// What may be typed as its argument; empty when nothing.
    pub argument_hint: &'static str,
}

/// One row of a list that a server gives to choose from: choosing it asks for a function.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ServerChoice {
    pub label: SafeText,
    /// Beside it, less loud: its state.
    pub detail: SafeText,
    /// Wall milliseconds of what it stands for.
    pub at_ms: Option<i64>,
    /// What is asked for then; empty when nothing can be.
    pub function: String,
    /// What it is asked for about, as the server names it.
    pub subject: Option<String>,
    /// What has to be typed before; empty when nothing.
    pub argument_hint: &'static str,
}

/// One answer per function. A conversation narrows it by its flags (read-only).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Capabilities {
    pub create_conversation: Support,
    pub create_thread: Support,
    pub rename_conversation: Support,
    pub delete_conversation: Support,
    /// What deleting does, in words for the person; empty where the server deletes all of it.
    pub delete_note: &'static str,
    /// Empties a conversation and keeps it.
    pub clear_conversation: Support,
    pub set_default: Support,
    pub favorite: Support,
    pub appearance: Support,
    pub automation: Support,
    /// A message may open a thread of its own in the default conversation.
    pub auto_thread: Support,
    pub delete_message: Support,
    pub reply_to: Support,
    pub read_receipts: Support,
    pub cancel_run: Support,
    /// The server itself takes messages while a run is active.
    pub queues_messages: Support,
    pub server_search: Support,
    pub slash_catalog: Support,
    pub models: Support,
    /// A model for this conversation only, besides the default for all.
    pub models_per_conversation: Support,
    /// A model as free text besides the listed ones.
    pub models_free_text: Support,
    pub effort: Support,
    pub auto_approve: Support,
    /// What the switch is called on the screen: "auto-approve", "act mode".
    pub auto_approve_label: &'static str,
    /// Adapter, model and working directory of a conversation.
    pub profile: Support,
    pub upload: Support,
    pub download: Support,
    pub reasoning: Support,
    pub todos: Support,
    pub history: HistoryPaging,
    pub attachment_limits: AttachmentLimits,
    /// Characters in one message; none when the server names no limit.
    pub text_limit: Option<usize>,
    pub functions: Vec<ServerFunction>,
}
