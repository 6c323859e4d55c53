//! A decision that waits for the person. It is state with a life, replaced by snapshots, and never
//! an event to be shown once.

use super::ids::{CommandId, ConversationId, DecisionId, RunId, ToolCallId};
use super::moment::Moment;
use crate::text::SafeText;

/// What is asked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Question {
    /// May the agent do this?
    Approval {
        /// The whole command, cleaned with `SafeText::command`: line breaks kept, the rest marked.
        command: SafeText,
        description: SafeText,
        /// The server may have cut the command, so what is approved is not wholly known.
        may_be_cut: bool,
        /// A reason may be given with a refusal.
        takes_reason: bool,
    },
    /// The agent wants to know something.
    Clarification {
        question: SafeText,
        takes_free_text: bool,
    },
    /// One of a list, asked for by the person's own command or by the server.
    Picker { title: SafeText },
}

/// What a choice grants, for the words beside it and for the safety rules of the popup.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Grant {
    /// Nothing beyond the answer itself (clarifications, pickers).
    #[default]
    Answer,
    /// This one action.
    Once,
    /// Every action of this pattern in this conversation.
    Session,
    /// Every action of this pattern everywhere, for good.
    Always,
    /// Refuses.
    Deny,
    /// An approval choice whose meaning the server did not say.
    Unknown,
}

/// One choice as the server sent it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Choice {
    /// Goes back on the wire unchanged.
    pub value: String,
    pub label: SafeText,
    pub grant: Grant,
    pub is_current: bool,
}

/// How the person can answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum AnswerWay {
    /// The driver sends the choice.
    #[default]
    Direct,
    /// The driver sends it as a message in the conversation.
    Reply,
    /// Only by writing in the composer; the decision is shown as a notice.
    Composer,
}

/// How a decision ended without our answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Expiry {
    /// The server no longer knows it.
    Gone,
    /// Its run ended.
    RunEnded,
    /// Its time ran out.
    TimedOut,
    /// The server restarted.
    ServerRestarted,
}

/// Where a decision stands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DecisionLife {
    Open,
    /// Our answer is on its way.
    Answering {
        command: CommandId,
        answer: Answer,
    },
    /// Answered: by us, or elsewhere when `by_us` is false.
    Resolved {
        choice: Option<SafeText>,
        by_us: bool,
        at: Moment,
    },
    Expired {
        why: Expiry,
        at: Moment,
    },
    /// Our answer was sent and the link broke before the server said anything.
    Uncertain {
        answer: Answer,
    },
}

impl DecisionLife {
    /// Whether the person can still answer.
    pub fn is_open(&self) -> bool {
        matches!(self, Self::Open)
    }

    /// Whether it waits for somebody: the person, or the server's word on our answer.
    pub fn is_pending(&self) -> bool {
        matches!(
            self,
            Self::Open | Self::Answering { .. } | Self::Uncertain { .. }
        )
    }
}

/// What the person answers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Answer {
    /// A value out of the list, with a reason where that is possible.
    Choice {
        value: String,
        reason: Option<String>,
    },
    /// Free text.
    Text(String),
}

/// One decision.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Decision {
    pub id: DecisionId,
    pub conversation: ConversationId,
    pub run: Option<RunId>,
    /// The tool call that waits for it, where that is known.
    pub tool: Option<ToolCallId>,
    pub question: Question,
    pub choices: Vec<Choice>,
    pub way: AnswerWay,
    pub life: DecisionLife,
    pub asked_at: Moment,
    /// When it runs out, where that is known.
    pub deadline: Option<Moment>,
    /// It answers the person's own command, so its popup opens at once.
    pub was_asked_for: bool,
}
