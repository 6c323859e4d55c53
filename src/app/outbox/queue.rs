//! What the person does with messages that were not accepted: send again, drop, take back, reorder.

use super::super::commands::is_held_back;
use super::super::effect::Effect;
use super::super::state::{Redraw, State};
use super::super::{conversation, drafts};
use super::{POSITION_STEP, SendMode, dispatch, may_go, write_row};
use crate::domain::{
    AccountId, ConversationId, Delivery, MessageKey, Moment, OutboxRecord, Severity, Write,
};

/// Sends a failed or uncertain message again. Only the person decides this.
pub fn resend(state: &mut State, now: Moment, account: &AccountId, key: MessageKey) -> Vec<Effect> {
    if is_held_back(state) {
        return Vec::new();
    }
    let Some(of) = state.account_mut(account) else {
        return Vec::new();
    };
    let Some(row) = of.outbox.iter_mut().find(|row| row.key == key) else {
        return Vec::new();
    };
    if !matches!(row.delivery, Delivery::Failed(_) | Delivery::Uncertain) {
        return Vec::new();
    }
    row.delivery = Delivery::Queued;
    row.created_ms = now.wall_ms;
    let conversation = row.conversation.clone();
    let is_slash = row.text.starts_with('/');
    of.held.remove(&key);
    if may_go(
        state,
        account,
        &conversation,
        key,
        SendMode::Ordinary,
        is_slash,
    ) {
        return dispatch(state, now, account, key);
    }
    back_to_queue(state, now, account, &conversation, key);
    vec![state.commit(Vec::new())]
}

/// Takes a row out of the timeline; it stands in the queue alone.
pub(in crate::app) fn back_to_queue(
    state: &mut State,
    now: Moment,
    account: &AccountId,
    conversation: &ConversationId,
    key: MessageKey,
) {
    remove_entry(state, now, account, conversation, key);
    write_row(state, account, key);
    state.redraw(Redraw::Now);
}

pub(in crate::app) fn remove_entry(
    state: &mut State,
    now: Moment,
    account: &AccountId,
    conversation: &ConversationId,
    key: MessageKey,
) {
    let is_here = conversation::merging(state, now, account, conversation, |merger| {
        let slot = merger.timeline.find_key(key)?;
        merger.remove(slot);
        Some(())
    });
    if is_here.flatten().is_none() {
        if let Some(of) = state.conversation_mut(account, conversation) {
            of.timeline.forget(key);
        }
        state.write(Write::EntriesGone {
            account: account.clone(),
            conversation: conversation.clone(),
            keys: vec![key],
        });
    }
}

/// Drops a message that has not been accepted.
pub fn discard(
    state: &mut State,
    now: Moment,
    account: &AccountId,
    key: MessageKey,
) -> Vec<Effect> {
    if is_held_back(state) {
        return Vec::new();
    }
    if take_out(state, now, account, key).is_none() {
        return Vec::new();
    }
    vec![state.commit(Vec::new())]
}

/// Takes a row out of the outbox and its entry out of the timeline.
pub(in crate::app) fn take_out(
    state: &mut State,
    now: Moment,
    account: &AccountId,
    key: MessageKey,
) -> Option<OutboxRecord> {
    let of = state.account_mut(account)?;
    let index = of.outbox.iter().position(|row| row.key == key)?;
    let row = of.outbox.get(index)?;
    let is_mine_to_take = matches!(
        row.delivery,
        Delivery::Queued | Delivery::Failed(_) | Delivery::Uncertain
    );
    if !is_mine_to_take {
        state.say(
            Severity::Info,
            "This message is on its way; wait for its answer.",
        );
        return None;
    }
    let row = of.outbox.remove(index);
    of.held.remove(&key);
    remove_entry(state, now, account, &row.conversation.clone(), key);
    state.write_fully(Write::OutboxGone { key });
    state.redraw(Redraw::Now);
    Some(row)
}

/// Takes a message back into the composer, before what stands there.
pub fn take_back(
    state: &mut State,
    now: Moment,
    account: &AccountId,
    key: MessageKey,
) -> Vec<Effect> {
    if is_held_back(state) {
        return Vec::new();
    }
    let Some(row) = take_out(state, now, account, key) else {
        return Vec::new();
    };
    let conversation = row.conversation.clone();
    let Some(here) = state.conversation_mut(account, &conversation) else {
        return Vec::new();
    };
    let old = here.composer.text().to_owned();
    let text = if old.trim().is_empty() {
        row.text.clone()
    } else {
        format!("{}\n{old}", row.text)
    };
    here.composer.put(&text, row.text.len());
    if here.composer.reply_to.is_none() {
        here.composer.reply_to = row.reply_to;
    }
    let mut effects = Vec::new();
    for file in row.files {
        here.composer
            .files
            .push(super::super::screen::composer::DraftFile {
                path: file.path.clone(),
                facts: None,
            });
        effects.push(Effect::InspectFile { path: file.path });
    }
    state.screen.pane = super::super::screen::Pane::Composer;
    drafts::save(state, now, account, &conversation);
    effects.push(state.commit(Vec::new()));
    effects
}

/// Moves a queued message before the one that goes before it.
pub fn move_up(
    state: &mut State,
    now: Moment,
    account: &AccountId,
    key: MessageKey,
) -> Vec<Effect> {
    swap(state, now, account, key, true)
}

/// Moves a queued message behind the one that goes after it.
pub fn move_down(
    state: &mut State,
    now: Moment,
    account: &AccountId,
    key: MessageKey,
) -> Vec<Effect> {
    swap(state, now, account, key, false)
}

pub(in crate::app) fn swap(
    state: &mut State,
    _now: Moment,
    account: &AccountId,
    key: MessageKey,
    up: bool,
) -> Vec<Effect> {
    if is_held_back(state) {
        return Vec::new();
    }
    let Some(of) = state.account(account) else {
        return Vec::new();
    };
    let Some(row) = of.outbox.iter().find(|row| row.key == key) else {
        return Vec::new();
    };
    let queue = queue(of, &row.conversation);
    let Some(place) = queue.iter().position(|other| other.key == key) else {
        return Vec::new();
    };
    let other = if up {
        place.checked_sub(1)
    } else {
        Some(place + 1)
    };
    let Some(other) = other.and_then(|place| queue.get(place)) else {
        return Vec::new();
    };
    let (mine, theirs, other) = (row.position, other.position, other.key);
    if let Some(of) = state.account_mut(account) {
        for row in &mut of.outbox {
            if row.key == key {
                row.position = theirs;
            } else if row.key == other {
                row.position = mine;
            }
        }
        of.outbox.sort_by_key(|row| row.position);
    }
    write_row(state, account, key);
    write_row(state, account, other);
    state.redraw(Redraw::Now);
    vec![state.commit(Vec::new())]
}

/// The queued messages of a conversation in the order in which they go.
pub fn queue<'a>(
    of: &'a super::super::state::AccountState,
    conversation: &ConversationId,
) -> Vec<&'a OutboxRecord> {
    let mut queue: Vec<&OutboxRecord> = of
        .outbox
        .iter()
        .filter(|row| row.conversation == *conversation && row.delivery == Delivery::Queued)
        .collect();
    queue.sort_by_key(|row| row.position);
    queue
}

/// Sends a queued message now, whatever runs; without a connection it goes first once there is one.
pub fn send_now(
    state: &mut State,
    now: Moment,
    account: &AccountId,
    key: MessageKey,
) -> Vec<Effect> {
    if is_held_back(state) {
        return Vec::new();
    }
    let Some(of) = state.account_mut(account) else {
        return Vec::new();
    };
    let first = of.outbox.iter().map(|row| row.position).min().unwrap_or(0) - POSITION_STEP;
    let is_ready = of.is_ready();
    let Some(row) = of.outbox.iter_mut().find(|row| row.key == key) else {
        return Vec::new();
    };
    if row.delivery != Delivery::Queued {
        return resend(state, now, account, key);
    }
    row.position = first;
    of.held.remove(&key);
    if is_ready {
        return dispatch(state, now, account, key);
    }
    write_row(state, account, key);
    state.say(
        Severity::Info,
        "It goes first as soon as the account is connected.",
    );
    vec![state.commit(Vec::new())]
}
