//! Drafts on their way to the store: every change is there within a quarter of a second, and at once when the
//! conversation is left or the program ends.

use super::state::{Conversation, State};
use crate::domain::{AccountId, ConversationId, DraftRecord, Moment, Write};
use std::time::Duration;

/// How long a changed draft may wait.
const DRAFT_DELAY: Duration = Duration::from_millis(250);

/// Notices that the draft on screen was changed, and plans its writing.
pub fn notice(state: &mut State, now: Moment) {
    let Some((account, id)) = state.focus.clone() else {
        return;
    };
    if let Some(conversation) = state.conversation_mut(&account, &id)
        && conversation.draft_due.is_none()
        && is_changed(conversation)
    {
        conversation.draft_due = Some(now.after(DRAFT_DELAY));
    }
}

fn is_changed(conversation: &Conversation) -> bool {
    let (composer, saved) = (&conversation.composer, &conversation.saved_draft);
    composer.text() != saved.text
        || composer.chips() != saved.folded
        || composer.reply_to != saved.reply_to
        || composer.files.len() != saved.files.len()
        || composer
            .files
            .iter()
            .zip(&saved.files)
            .any(|(file, path)| file.path != *path)
}

/// Has the draft of a conversation written, when it changed.
pub fn save(state: &mut State, now: Moment, account: &AccountId, id: &ConversationId) {
    let Some(conversation) = state.conversation_mut(account, id) else {
        return;
    };
    conversation.draft_due = None;
    conversation.composer.unsaved_since = None;
    if !is_changed(conversation) {
        return;
    }
    let record = conversation.composer.record(now);
    conversation.saved_draft = record.clone().unwrap_or_default();
    state.write_fully(Write::Draft {
        account: account.clone(),
        conversation: id.clone(),
        draft: record.map(Box::new),
    });
}

/// Has every changed draft written.
pub fn save_all(state: &mut State, now: Moment) {
    for (account, conversation) in conversations(state, is_changed) {
        save(state, now, &account, &conversation);
    }
}

/// Has the drafts written whose time has come.
pub fn save_due(state: &mut State, now: Moment) {
    let is_due = |conversation: &Conversation| {
        conversation
            .draft_due
            .is_some_and(|due| due.mono_ms <= now.mono_ms)
    };
    for (account, conversation) in conversations(state, is_due) {
        save(state, now, &account, &conversation);
    }
}

/// The draft is empty now and the store is told by somebody else.
pub fn forget(conversation: &mut Conversation) {
    conversation.saved_draft = DraftRecord::default();
    conversation.draft_due = None;
    conversation.composer.unsaved_since = None;
}

/// The conversations of all accounts for which this holds.
pub fn conversations(
    state: &State,
    holds: impl Fn(&Conversation) -> bool,
) -> Vec<(AccountId, ConversationId)> {
    state
        .accounts
        .iter()
        .flat_map(|account| {
            account
                .conversations
                .iter()
                .filter(|(_, conversation)| holds(conversation))
                .map(|(id, _)| (account.account.id.clone(), id.clone()))
        })
        .collect()
}
