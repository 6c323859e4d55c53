//! What a batch of events collects in the state, and words for the person. Holds no rule of its own.

use super::effect::Effect;
use super::screen::Toast;
use super::state::{AccountState, Conversation, Redraw, State};
use crate::domain::{AccountId, ConversationId, Durability, Severity, Write};
use crate::text::SafeText;
use std::time::Duration;

/// How long a toast stays.
const TOAST: Duration = Duration::from_secs(6);
/// Toasts at once; the oldest goes first.
const TOASTS: usize = 5;

impl State {
    /// Has this written with the batch.
    pub fn write(&mut self, write: Write) {
        self.batch.writes.push(write);
    }

    /// Has this written with the batch so that it survives a power cut.
    pub fn write_fully(&mut self, write: Write) {
        self.batch.durability = Durability::Full;
        self.batch.writes.push(write);
    }

    /// Commits everything that was collected, and then does this.
    pub fn commit(&mut self, then: Vec<Effect>) -> Effect {
        let batch = std::mem::take(&mut self.batch);
        self.batch.redraw = batch.redraw;
        self.commits.asked += 1;
        Effect::Commit {
            writes: batch.writes,
            durability: batch.durability,
            then,
        }
    }

    /// Asks for a repaint; the strongest wish of a batch counts.
    pub fn redraw(&mut self, redraw: Redraw) {
        self.batch.redraw = self.batch.redraw.max(redraw);
    }

    /// Asks for a repaint because of something in this conversation: paced where it is not shown.
    pub fn redraw_for(&mut self, account: &AccountId, conversation: &ConversationId) {
        let redraw = if self.shows(account, conversation) {
            Redraw::Now
        } else {
            Redraw::Paced
        };
        self.redraw(redraw);
    }

    /// Whether this conversation is on screen.
    pub fn shows(&self, account: &AccountId, conversation: &ConversationId) -> bool {
        self.focus
            .as_ref()
            .is_some_and(|(a, c)| a == account && c == conversation)
    }

    /// Says something to the person for a few seconds. The same words twice are shown once.
    pub fn say(&mut self, severity: Severity, text: impl AsRef<str>) {
        let text = SafeText::prose(text.as_ref());
        let until = self.now.after(TOAST);
        self.screen.toasts.retain(|toast| toast.text != text);
        self.screen.toasts.push(Toast {
            text,
            severity,
            until,
        });
        let extra = self.screen.toasts.len().saturating_sub(TOASTS);
        self.screen.toasts.drain(..extra);
        self.redraw(Redraw::Now);
    }

    /// The conversation, when it is there.
    pub fn conversation(
        &self,
        account: &AccountId,
        conversation: &ConversationId,
    ) -> Option<&Conversation> {
        self.account(account)?.conversations.get(conversation)
    }

    /// The conversation, to be changed.
    pub fn conversation_mut(
        &mut self,
        account: &AccountId,
        conversation: &ConversationId,
    ) -> Option<&mut Conversation> {
        self.account_mut(account)?
            .conversations
            .get_mut(conversation)
    }
}

impl AccountState {
    /// Whether commands may be sent.
    pub fn is_ready(&self) -> bool {
        self.account.link == crate::domain::LinkState::Ready
    }
}
