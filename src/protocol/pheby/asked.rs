//! What each request in flight was for, and which commands end with its answer.

use super::refusals::Asking;
use crate::domain::{CommandId, ConversationId, DecisionId, PageToken, RunId, Scope};

/// What a request was for.
#[derive(Debug)]
pub(super) enum Asked {
    Hello,
    List {
        command: Option<CommandId>,
    },
    Create {
        command: CommandId,
    },
    Open {
        conversation: ConversationId,
        commands: Vec<CommandId>,
    },
    Older {
        conversation: ConversationId,
        before: PageToken,
        command: CommandId,
    },
    Rename {
        command: CommandId,
        conversation: ConversationId,
    },
    Delete {
        command: CommandId,
        conversation: ConversationId,
    },
    Send {
        command: CommandId,
        conversation: ConversationId,
    },
    Cancel {
        command: CommandId,
        conversation: ConversationId,
        run: RunId,
    },
    Approve {
        command: CommandId,
        decision: DecisionId,
    },
    Clarify {
        command: CommandId,
        decision: DecisionId,
        text: String,
    },
    Yolo {
        command: Option<CommandId>,
        conversation: ConversationId,
    },
    Models {
        command: CommandId,
        conversation: Option<ConversationId>,
    },
    /// `models.current` or `reasoning.current`, asked by the driver itself.
    Current {
        conversation: Option<ConversationId>,
    },
    SetModel {
        command: CommandId,
        scope: Scope,
    },
    SetEffort {
        command: CommandId,
        scope: Scope,
    },
}

impl Asked {
    /// What it is in the words of a refusal.
    pub(super) fn asking(&self) -> Asking {
        match self {
            Self::Send { .. } => Asking::Send,
            Self::Open { .. } => Asking::Open,
            Self::Older { .. } => Asking::Older,
            Self::Cancel { .. } => Asking::Cancel,
            Self::Approve { .. } | Self::Clarify { .. } => Asking::Decision,
            Self::SetModel { .. } | Self::SetEffort { .. } | Self::Yolo { .. } => Asking::Setting,
            Self::Hello
            | Self::List { .. }
            | Self::Create { .. }
            | Self::Rename { .. }
            | Self::Delete { .. }
            | Self::Models { .. }
            | Self::Current { .. } => Asking::Other,
        }
    }

    /// The commands that end with its answer.
    pub(super) fn commands(&self) -> Vec<CommandId> {
        match self {
            Self::Hello | Self::Current { .. } => Vec::new(),
            Self::List { command } | Self::Yolo { command, .. } => {
                command.iter().copied().collect()
            }
            Self::Open { commands, .. } => commands.clone(),
            Self::Create { command }
            | Self::Older { command, .. }
            | Self::Rename { command, .. }
            | Self::Delete { command, .. }
            | Self::Send { command, .. }
            | Self::Cancel { command, .. }
            | Self::Approve { command, .. }
            | Self::Clarify { command, .. }
            | Self::Models { command, .. }
            | Self::SetModel { command, .. }
            | Self::SetEffort { command, .. } => vec![*command],
        }
    }
}
