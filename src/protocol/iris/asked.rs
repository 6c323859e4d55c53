//! What a request was for, until its answer comes. Must not decide what follows.

use crate::domain::{CommandId, ConversationId, DecisionId, PageToken};

/// What a request was for.
#[derive(Debug)]
pub(super) enum Asked {
    Hello,
    Sync,
    Catalog {
        commands: Vec<CommandId>,
    },
    List {
        command: CommandId,
    },
    Create {
        command: CommandId,
    },
    /// Rename, default, favourite, look, automation: all answered by the whole entry.
    Change {
        command: CommandId,
    },
    Delete {
        command: CommandId,
    },
    History {
        conversation: ConversationId,
        before: Option<PageToken>,
        commands: Vec<CommandId>,
    },
    Send {
        command: CommandId,
        conversation: ConversationId,
        text: String,
        activity: u64,
        decision: Option<DecisionId>,
        /// The gateway may open a thread of its own for it.
        may_open_thread: bool,
    },
    DeleteMessages {
        command: CommandId,
        conversation: ConversationId,
    },
    Search {
        command: CommandId,
        query: String,
    },
    Pick {
        command: CommandId,
        decision: DecisionId,
        conversation: ConversationId,
        label: String,
    },
    Pull,
    UploadStart,
    UploadEnd,
}

impl Asked {
    /// The commands that end with its answer.
    pub(super) fn commands(&self) -> Vec<CommandId> {
        match self {
            Self::Hello | Self::Sync | Self::Pull | Self::UploadStart | Self::UploadEnd => {
                Vec::new()
            }
            Self::Catalog { commands } | Self::History { commands, .. } => commands.clone(),
            Self::List { command }
            | Self::Create { command }
            | Self::Change { command }
            | Self::Delete { command }
            | Self::Send { command, .. }
            | Self::DeleteMessages { command, .. }
            | Self::Search { command, .. }
            | Self::Pick { command, .. } => vec![*command],
        }
    }

    /// Whether this may be the message of ours that came in a lane.
    pub(super) fn may_stand_in(
        &self,
        lane: &ConversationId,
        parent: Option<&ConversationId>,
    ) -> bool {
        matches!(self, Self::Send { conversation, may_open_thread, .. }
            if conversation == lane || (*may_open_thread && Some(conversation) == parent))
    }
}
