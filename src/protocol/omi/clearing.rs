//! Emptying a conversation, and deleting it: the runtime cannot delete a surface, so a deleted one is
//! emptied there and forgotten here. The journal has to be told its generation, which is learnt by
//! listing it first.

use super::journal::Listing;
use super::{Asked, Omi};
use crate::domain::{
    CommandId, ConversationId, Moment, RefusalCode, Severity, TimelineEvent, Topic,
};
use crate::protocol::decode::notice;
use serde_json::json;

/// What is wanted of a conversation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Aim {
    /// It stays, without its messages.
    Empty,
    /// It goes.
    Delete,
}

impl Omi {
    pub(super) fn clear(
        &mut self,
        now: Moment,
        command: CommandId,
        conversation: &ConversationId,
        aim: Aim,
    ) {
        if self.queries.is_active(conversation) {
            return self.refuse(
                command,
                RefusalCode::RunActive,
                "The agent still works in this conversation; stop it first.",
            );
        }
        let Some(chat) = self.chats.all.get_mut(conversation) else {
            return self.unknown(command);
        };
        if chat.is_main && aim == Aim::Delete {
            return self.refuse(
                command,
                RefusalCode::Unsupported,
                "The main chat belongs to the account; clear it instead.",
            );
        }
        chat.clearing.push((command, aim));
        if chat.session.is_some() {
            self.go_on_clearing(now, conversation);
        } else {
            // Only a resolved surface is sure to keep the profile it was made with.
            self.resolve(now, conversation);
        }
    }

    /// Takes the next step of what waits: learns the generation, then empties.
    pub(super) fn go_on_clearing(&mut self, now: Moment, conversation: &ConversationId) {
        let Some(chat) = self.chats.all.get_mut(conversation) else {
            return;
        };
        if chat.clearing.is_empty() {
            return;
        }
        let generation = chat.journal.generation;
        if generation == 0 {
            return self.list_turns(now, conversation, Listing::Page);
        }
        for (command, aim) in std::mem::take(&mut chat.clearing) {
            // The cloud of the desktop app keeps what it has: it is not ours to empty.
            let mut line = json!({
                "type": "journal_clear_turns",
                "expectedGeneration": generation,
                "deleteBackend": false,
            });
            self.put_surface(&mut line, conversation);
            let conversation = conversation.clone();
            self.ask(
                now,
                line,
                Asked::Clear {
                    command,
                    conversation,
                    aim,
                },
            );
        }
    }

    /// The runtime emptied it.
    pub(super) fn clear_done(
        &mut self,
        command: CommandId,
        conversation: &ConversationId,
        aim: Aim,
    ) {
        match aim {
            Aim::Empty => self.cleared(conversation),
            Aim::Delete => self.forget(conversation),
        }
        self.done(command);
    }

    pub(super) fn clear_failed(
        &mut self,
        now: Moment,
        command: CommandId,
        conversation: &ConversationId,
        aim: Aim,
        code: RefusalCode,
        words: &str,
    ) {
        if aim == Aim::Delete {
            return self.forget_uncleared(command, conversation, words);
        }
        self.refuse(
            command,
            code,
            format!(
                "It was not emptied: {}. Look at it, then try again.",
                bare(words)
            ),
        );
        // It may have been emptied elsewhere, which makes the generation an old one.
        self.list_turns(now, conversation, Listing::Page);
    }

    /// The conversation could not even be looked at.
    pub(super) fn clearing_failed(&mut self, conversation: &ConversationId, words: &str) {
        let waiting = self
            .chats
            .all
            .get_mut(conversation)
            .map(|chat| std::mem::take(&mut chat.clearing))
            .unwrap_or_default();
        for (command, aim) in waiting {
            match aim {
                Aim::Delete => self.forget_uncleared(command, conversation, words),
                Aim::Empty => self.refuse(
                    command,
                    RefusalCode::ServerFailed,
                    format!("It was not emptied: {}.", bare(words)),
                ),
            }
        }
    }

    fn forget_uncleared(&mut self, command: CommandId, conversation: &ConversationId, words: &str) {
        self.forget(conversation);
        let event = notice(
            Severity::Warning,
            None,
            "Deleted here only",
            &format!(
                "The runtime did not empty the conversation, so its journal keeps it: {words}"
            ),
        );
        self.tell(event);
        self.done(command);
    }

    pub(super) fn cleared(&mut self, conversation: &ConversationId) {
        self.say(Topic::Timeline(TimelineEvent::Cleared {
            conversation: conversation.clone(),
        }));
    }
}

/// Words of the runtime as part of a sentence.
fn bare(words: &str) -> &str {
    words.trim_end().trim_end_matches('.')
}
