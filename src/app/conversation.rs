//! What happens in a conversation: messages, pages, snapshots, typing, todos. Merging itself is in
//! `timeline` and `pages`; this file decides what is written, shown and proven.
//!
//! An event may be reported twice, late, or for a conversation that nobody has open; each is
//! applied in a way that makes that harmless.

mod receipts;
mod snapshot;

pub(super) use snapshot::{merge_page, merge_snapshot_page};

use super::effect::Effect;
use super::state::{Conversation, Redraw, State};
use super::timeline::{Changes, Merger, Own};
use super::{attention, media, outbox, runs, windows};
use crate::domain::{
    AccountId, Author, ConversationId, Delivery, Entry, IncomingMessage, MessageKey, MessageSort,
    Moment, Part, Provenance, RemoteId, TextPatch, TimelineEvent, Write,
};
use receipts::{acknowledged, was_read};
use snapshot::snapshot_came;
use std::time::Duration;

pub use super::windows::{FOCUS, focus_value, parse_focus};
pub use super::windows::{focus, jump, load_older, mark_read};

/// How often a growing text is written to the store.
pub(super) const SAVE_EVERY: Duration = Duration::from_secs(1);
/// Messages that began so long after another one ended stand behind it.
const LONG_STREAM_MS: i64 = 60 * 60 * 1000;
/// A typing mark without a word goes out by itself.
const TYPING: Duration = Duration::from_secs(5);

/// The conversation, made when the directory has not named it yet.
pub fn ensure(state: &mut State, account: &AccountId, id: &ConversationId) {
    let is_loading = state.is_loading;
    let Some(of) = state.account_mut(account) else {
        return;
    };
    if of.conversations.contains_key(id) {
        return;
    }
    let mut conversation = Conversation::default();
    // All stored conversations are known after the start, so a new one has nothing in the store.
    conversation.timeline.is_loaded = !is_loading;
    let info = Box::new(conversation.info.clone());
    of.conversations.insert(id.clone(), conversation);
    state.write(Write::Conversation {
        account: account.clone(),
        conversation: id.clone(),
        info,
    });
}

/// Merges into the timeline of a conversation, then writes and shows what changed.
pub(super) fn merging<R>(
    state: &mut State,
    now: Moment,
    account: &AccountId,
    id: &ConversationId,
    work: impl FnOnce(&mut Merger<'_>) -> R,
) -> Option<R> {
    let State { accounts, ids, .. } = state;
    let of = accounts.iter_mut().find(|of| of.account.id == *account)?;
    let own = Own::of(of.outbox.iter().filter(|row| row.conversation == *id));
    let conversation = of.conversations.get_mut(id)?;
    let mut merger = Merger {
        timeline: &mut conversation.timeline,
        ids,
        now,
        link_since: of.link_since.unwrap_or(now),
        own,
        changes: Changes::default(),
    };
    let result = work(&mut merger);
    let changes = merger.changes;
    apply(state, now, account, id, changes);
    Some(result)
}

/// Writes and shows what a merge changed.
fn apply(
    state: &mut State,
    now: Moment,
    account: &AccountId,
    id: &ConversationId,
    changes: Changes,
) {
    let is_shown = state.shows(account, id);
    let is_growth_only = changes.written.is_empty() && changes.gone.is_empty();
    let Some(of) = state.conversation_mut(account, id) else {
        return;
    };
    let mut writes = Vec::new();
    if !changes.gone.is_empty() {
        if changes
            .gone
            .iter()
            .any(|key| of.viewport.selected == Some(*key))
        {
            of.viewport.selected = None;
        }
        of.toggled.retain(|key| !changes.gone.contains(key));
        writes.push(Write::EntriesGone {
            account: account.clone(),
            conversation: id.clone(),
            keys: changes.gone,
        });
    }
    // Before the entries: another run of the program may have written the message under a key of
    // its own, and only the id that it came in with leads there.
    for (from, to) in changes.renamed {
        writes.push(Write::Rekeyed {
            account: account.clone(),
            conversation: id.clone(),
            from,
            to,
        });
    }
    let timeline = &mut of.timeline;
    let mut written = changes.written;
    for key in changes.grown {
        let since = *timeline.unsaved.entry(key).or_insert(now);
        if now.since(since) >= SAVE_EVERY {
            written.insert(key);
        }
    }
    for key in written {
        timeline.unsaved.remove(&key);
        if let Some(entry) = timeline.entry(key) {
            writes.push(Write::Entry {
                account: account.clone(),
                conversation: id.clone(),
                entry: Box::new(entry.clone()),
            });
        }
    }
    let orders: Vec<(MessageKey, i64)> = changes
        .moved
        .iter()
        .filter_map(|key| Some((*key, timeline.entry(*key)?.order)))
        .collect();
    if !orders.is_empty() {
        writes.push(Write::Orders {
            account: account.clone(),
            conversation: id.clone(),
            orders,
        });
    }
    timeline.prune_tail();
    if of.viewport.anchor != super::screen::viewport::Anchor::Newest {
        of.viewport.new_below += changes.appended;
    }
    for write in writes {
        state.write(write);
    }
    for key in changes.proven {
        outbox::proven(state, account, key);
    }
    if changes.is_visible {
        if !is_growth_only {
            state.redraw_for(account, id);
        } else if is_shown {
            state.redraw(Redraw::Paced);
        }
    }
    windows::shorten_focused(state, account, id);
}

/// Writes the growing texts whose time has come.
pub fn save_grown(state: &mut State, now: Moment, all: bool) {
    let is_due = |since: &Moment| all || now.since(*since) >= SAVE_EVERY;
    let due = super::drafts::conversations(state, |conversation| {
        conversation.timeline.unsaved.values().any(is_due)
    });
    for (account, id) in due {
        merging(state, now, &account, &id, |merger| {
            let keys: Vec<MessageKey> = merger
                .timeline
                .unsaved
                .iter()
                .filter(|(_, since)| is_due(since))
                .map(|(key, _)| *key)
                .collect();
            merger.changes.written.extend(keys);
        });
    }
}

/// Takes one event of the timeline.
pub fn on_event(
    state: &mut State,
    now: Moment,
    account: &AccountId,
    provenance: &Provenance,
    event: TimelineEvent,
) -> Vec<Effect> {
    attention::replayed(state, account, provenance, &event);
    match event {
        TimelineEvent::Upserted {
            conversation,
            message,
        } => upserted(state, now, account, &conversation, provenance, *message),
        TimelineEvent::Patched {
            conversation,
            remote,
            run,
            part,
            patch,
        } => {
            ensure(state, account, &conversation);
            let has_text = match &patch {
                TextPatch::Replace(text) | TextPatch::Append(text) => {
                    part == Part::Body && !text.trim().is_empty()
                }
            };
            merging(state, now, account, &conversation, |merger| {
                merger.patch(&remote, run, part, patch)
            });
            runs::seen(state, now, account, &conversation, has_text);
            Vec::new()
        }
        TimelineEvent::Ended {
            conversation,
            remote,
            text,
            reasoning,
            footer,
            sent_at_ms,
            is_interrupted,
        } => {
            ensure(state, account, &conversation);
            let key = merging(state, now, account, &conversation, |merger| {
                merger.end(&remote, text, reasoning, footer, sent_at_ms, is_interrupted)
            })
            .flatten();
            if let Some(key) = key {
                attention::message_ended(state, account, &conversation, key, provenance);
            }
            runs::seen(state, now, account, &conversation, key.is_some());
            if state.shows(account, &conversation) {
                state.redraw(Redraw::Now);
            }
            Vec::new()
        }
        TimelineEvent::Rekeyed {
            conversation,
            from,
            to,
        } => {
            merging(state, now, account, &conversation, |merger| {
                merger.rekey(&from, &to);
            });
            state.write(Write::Rekeyed {
                account: account.clone(),
                conversation,
                from,
                to,
            });
            Vec::new()
        }
        TimelineEvent::Deleted {
            conversation,
            remotes,
        } => {
            deleted(state, now, account, &conversation, remotes);
            Vec::new()
        }
        TimelineEvent::Page(page) => {
            ensure(state, account, &page.conversation);
            learn_files(state, account, &page.conversation, &page.messages);
            merge_page(state, now, account, *page)
        }
        TimelineEvent::Snapshot(snapshot) => snapshot_came(state, now, account, *snapshot),
        TimelineEvent::Acknowledged {
            conversation,
            command,
            remote,
        } => {
            acknowledged(state, now, account, &conversation, command, remote);
            Vec::new()
        }
        TimelineEvent::WasRead {
            conversation,
            remote,
            command,
        } => {
            was_read(state, now, account, &conversation, remote, command);
            Vec::new()
        }
        TimelineEvent::Cleared { conversation } => {
            cleared(state, now, account, &conversation);
            Vec::new()
        }
        TimelineEvent::TodosReplaced {
            conversation,
            todos,
        } => {
            ensure(state, account, &conversation);
            if let Some(of) = state.conversation_mut(account, &conversation)
                && of.todos != todos
            {
                of.todos = todos;
                state.redraw_for(account, &conversation);
            }
            Vec::new()
        }
        TimelineEvent::Typing { conversation, on } => {
            ensure(state, account, &conversation);
            if let Some(of) = state.conversation_mut(account, &conversation) {
                let was_on = of.typing_until.is_some();
                of.typing_until = on.then(|| now.after(TYPING));
                if was_on != on {
                    state.redraw(Redraw::Paced);
                }
            }
            Vec::new()
        }
    }
}

fn upserted(
    state: &mut State,
    now: Moment,
    account: &AccountId,
    id: &ConversationId,
    provenance: &Provenance,
    message: IncomingMessage,
) -> Vec<Effect> {
    ensure(state, account, id);
    learn_files(state, account, id, std::slice::from_ref(&message));
    let is_replayed = matches!(provenance, Provenance::Replayed { .. });
    let is_answer = message.author == Author::Assistant && message.sort != MessageSort::Notice;
    let is_streaming = message.is_streaming;
    let has_text =
        is_answer && (!message.text.trim().is_empty() || !message.attachments.is_empty());
    let is_history =
        matches!(provenance, Provenance::History | Provenance::Snapshot) && !is_streaming;
    let caught_up = message.remote.clone().filter(|_| is_replayed);
    let is_persons = message.author == Author::User;
    let key = merging(state, now, account, id, |merger| {
        if is_replayed && must_stand_aside(merger, &message) {
            stand_aside(merger, message)
        } else {
            let key = merger.upsert(message, is_replayed)?;
            if is_history
                && let Some(slot) = merger.timeline.find_key(key)
                && let Some(message) = merger.timeline.at_mut(slot).and_then(Entry::message_mut)
            {
                message.is_seen_live_only = false;
            }
            Some(key)
        }
    })
    .flatten();
    write_aside(state, account, id);
    if let Some(remote) = caught_up
        && let Some(of) = state.conversation_mut(account, id)
    {
        let [last, last_of_others] = &mut of.timeline.caught_up;
        if !is_persons {
            *last_of_others = Some((remote.clone(), now));
        }
        *last = Some((remote, now));
    }
    if let Some(key) = key
        && !is_streaming
    {
        attention::message_ended(state, account, id, key, provenance);
    }
    if is_answer && *provenance == Provenance::Live {
        runs::seen(state, now, account, id, has_text);
    }
    Vec::new()
}

/// Whether only the store can tell that a missed message is new: it is not here, and it may be older
/// than what the window holds.
fn must_stand_aside(merger: &Merger<'_>, message: &IncomingMessage) -> bool {
    let timeline = &*merger.timeline;
    // A message stands where it began and is dated when it ended, so times alone say little.
    let oldest_ms = timeline
        .entries
        .iter()
        .filter_map(Entry::message)
        .filter(|known| known.author != Author::User)
        .find_map(|known| known.sent_at_ms);
    let is_younger = message
        .sent_at_ms
        .zip(oldest_ms)
        .is_some_and(|(sent, oldest)| sent.saturating_sub(oldest) > LONG_STREAM_MS);
    let would_be_here = timeline.is_at_newest() && (!timeline.has_older || is_younger);
    let is_known = message
        .remote
        .as_ref()
        .is_none_or(|remote| timeline.find_remote(remote).is_some());
    !would_be_here && !is_known && !merger.is_own(message)
}

/// Has a message written without being shown.
fn stand_aside(merger: &mut Merger<'_>, message: IncomingMessage) -> Option<MessageKey> {
    let mut entry = merger.make(message, false);
    let after = merger.caught_up();
    let order = match merger.order_among_later(&entry) {
        Some(order) => order,
        None => merger.next_order(),
    };
    super::timeline::set_order(&mut entry, order);
    merger.set_aside(entry, after);
    None
}

pub(super) fn write_aside(state: &mut State, account: &AccountId, id: &ConversationId) {
    let Some(of) = state.conversation_mut(account, id) else {
        return;
    };
    for (entry, after) in std::mem::take(&mut of.timeline.aside) {
        state.write(Write::Missed {
            account: account.clone(),
            conversation: id.clone(),
            entry: Box::new(entry),
            after,
        });
    }
}

fn learn_files(
    state: &mut State,
    account: &AccountId,
    id: &ConversationId,
    messages: &[IncomingMessage],
) {
    for attachment in messages.iter().flat_map(|message| &message.attachments) {
        media::learn(state, account, id, attachment.clone());
    }
}

fn deleted(
    state: &mut State,
    now: Moment,
    account: &AccountId,
    id: &ConversationId,
    remotes: Vec<RemoteId>,
) {
    merging(state, now, account, id, |merger| {
        for remote in &remotes {
            if let Some(slot) = merger.timeline.find_remote(remote) {
                merger.delete(slot);
            }
            merger.timeline.bury(remote);
        }
    });
    state.write(Write::MessagesDeleted {
        account: account.clone(),
        conversation: id.clone(),
        remotes,
    });
}

fn cleared(state: &mut State, now: Moment, account: &AccountId, id: &ConversationId) {
    let Some(of) = state.conversation_mut(account, id) else {
        return;
    };
    let timeline = &mut of.timeline;
    let kept: Vec<Entry> = timeline
        .entries
        .drain(..)
        .chain(timeline.tail.drain(..))
        .filter(|entry| {
            entry.message().is_some_and(|message| {
                matches!(
                    message.delivery,
                    Some(Delivery::InFlight | Delivery::Uncertain | Delivery::Failed(_))
                )
            })
        })
        .collect();
    timeline.has_older = false;
    timeline.has_newer = false;
    timeline.is_loaded = true;
    timeline.older_token = None;
    timeline.unsaved.clear();
    timeline.waiting.clear();
    timeline.jump = None;
    of.viewport = Default::default();
    of.todos.clear();
    of.running_tools.clear();
    of.unread_line = None;
    state.write(Write::Cleared {
        account: account.clone(),
        conversation: id.clone(),
    });
    state.write(Write::OlderToken {
        account: account.clone(),
        conversation: id.clone(),
        token: None,
    });
    merging(state, now, account, id, |merger| {
        for entry in kept {
            merger.changes.written.insert(entry.key);
            merger.timeline.entries.push(entry);
        }
        merger.changes.is_visible = true;
    });
}
