//! What the store found, joined with what is in memory, and windows cut to what lies around the
//! reader.

use super::super::conversation;
use super::super::effect::Effect;
use super::super::screen::viewport::Anchor;
use super::super::state::{Redraw, State, Timeline, Waiting};
use super::super::timeline::set_order;
use super::jump::{anchor_at, jump_on};
use crate::domain::{
    AccountId, ConversationId, Delivery, Entry, EntryBody, MessageKey, Moment, Place, ToolStatus,
};
use std::collections::BTreeSet;

/// A window longer than this is shortened to what lies around the reader.
pub(in crate::app) const LONG: usize = 900;

/// What stays on each side of the reader.
pub(in crate::app) const AROUND: usize = 300;

/// Conversations whose window stays in memory after the reader left.
pub(in crate::app) const KEPT_WINDOWS: usize = 6;

/// A call that has been running for so long without a run around it has ended unseen.
pub(in crate::app) const STALE_MS: i64 = 10 * 60 * 1000;

/// Takes entries that the store found.
#[allow(clippy::too_many_arguments)]
pub fn on_found(
    state: &mut State,
    now: Moment,
    account: &AccountId,
    id: &ConversationId,
    around: &Place,
    entries: Vec<Entry>,
    has_older: bool,
    has_newer: bool,
) -> Vec<Effect> {
    let Some(of) = state.conversation_mut(account, id) else {
        return Vec::new();
    };
    let known: BTreeSet<MessageKey> = of.timeline.all().map(|entry| entry.key).collect();
    join(&mut of.timeline, around, entries, has_older, has_newer);
    reconcile(state, now, account, id, &known);
    let Some(of) = state.conversation_mut(account, id) else {
        return Vec::new();
    };
    let mut effects = Vec::new();
    if let Some(place) = of.timeline.jump.clone() {
        match anchor_at(&of.timeline, &place) {
            Some(anchor) => {
                of.timeline.jump = None;
                of.viewport.anchor = anchor;
                of.viewport.delta = 0;
                if let Anchor::Show { key } = anchor {
                    of.viewport.selected = Some(key);
                }
            }
            None => effects.extend(jump_on(state, account, id, &place, around)),
        }
    }
    effects.extend(merge_waiting(state, now, account, id));
    effects.extend(super::grow_to_newest(state, account, id));
    if let Some(of) = state.conversation_mut(account, id) {
        let reader = reader_of(&of.viewport.anchor);
        if of.timeline.waiting.is_empty() {
            shorten(&mut of.timeline, reader);
        }
    }
    if state.shows(account, id) {
        state.redraw(Redraw::Now);
    }
    effects
}

/// Merges the pages that waited for the window.
pub(in crate::app) fn merge_waiting(
    state: &mut State,
    now: Moment,
    account: &AccountId,
    id: &ConversationId,
) -> Vec<Effect> {
    let Some(of) = state.conversation_mut(account, id) else {
        return Vec::new();
    };
    if !of.timeline.is_at_newest() {
        return Vec::new();
    }
    let mut effects = Vec::new();
    for waiting in std::mem::take(&mut of.timeline.waiting) {
        effects.extend(match waiting {
            Waiting::Page(page) => conversation::merge_page(state, now, account, *page),
            Waiting::Snapshot(snapshot) => {
                conversation::merge_snapshot_page(state, now, account, *snapshot)
            }
        });
    }
    effects
}

/// Entries of an earlier run of the program may say that something is under way which is not: the
/// outbox knows where our own messages stand, and what grew then grows no more. What was in memory
/// before, which `known` says, was heard of over the present link where that is open.
pub(in crate::app) fn reconcile(
    state: &mut State,
    now: Moment,
    account: &AccountId,
    id: &ConversationId,
    known: &BTreeSet<MessageKey>,
) {
    let Some(of) = state.account(account) else {
        return;
    };
    let Some(here) = of.conversations.get(id) else {
        return;
    };
    let rows: std::collections::BTreeMap<MessageKey, Delivery> = of
        .outbox
        .iter()
        .map(|row| (row.key, row.delivery.clone()))
        .collect();
    let is_quiet = here.run.is_none() && !here.is_open;
    let is_stale = |entry: &Entry| now.wall_ms - entry.seen_at_ms > STALE_MS;
    let mut fixes: Vec<(MessageKey, Fix)> = Vec::new();
    for entry in &here.timeline.entries {
        match &entry.body {
            EntryBody::Message(message) => {
                let has_stood = matches!(
                    message.delivery,
                    Some(Delivery::InFlight | Delivery::Uncertain | Delivery::Queued)
                );
                if has_stood && rows.get(&entry.key) != message.delivery.as_ref() {
                    let now_is = rows.get(&entry.key).cloned().unwrap_or(Delivery::Accepted);
                    fixes.push((entry.key, Fix::Delivery(now_is)));
                }
                let is_left = here.run.is_none() && !known.contains(&entry.key);
                if message.is_streaming && (is_quiet || is_left) {
                    fixes.push((entry.key, Fix::Cut));
                }
            }
            EntryBody::Tool(tool) if tool.status == ToolStatus::Running => {
                if is_quiet && is_stale(entry) {
                    fixes.push((entry.key, Fix::Ended));
                }
            }
            EntryBody::Tool(_)
            | EntryBody::RunEnded { .. }
            | EntryBody::Gap { .. }
            | EntryBody::Deleted { .. } => {}
        }
    }
    if fixes.is_empty() {
        return;
    }
    conversation::merging(state, now, account, id, |merger| {
        for (key, fix) in fixes {
            let Some(slot) = merger.timeline.find_key(key) else {
                continue;
            };
            let Some(entry) = merger.timeline.at_mut(slot) else {
                continue;
            };
            match (&mut entry.body, fix) {
                (EntryBody::Message(message), Fix::Delivery(delivery)) => {
                    message.delivery = Some(delivery);
                }
                (EntryBody::Message(message), Fix::Cut) => {
                    message.is_streaming = false;
                    message.is_interrupted = true;
                }
                (EntryBody::Tool(tool), Fix::Ended) => tool.status = ToolStatus::Cancelled,
                _ => {}
            }
            merger.changes.written.insert(key);
        }
    });
}

/// What an entry of an earlier run has to be told.
pub(in crate::app) enum Fix {
    Delivery(Delivery),
    Cut,
    Ended,
}

/// Joins what the store found with what is here. The copy in memory is never older than the
/// store's, so it wins; the store's key and order win, because others may have been made there.
pub(in crate::app) fn join(
    timeline: &mut Timeline,
    around: &Place,
    mut found: Vec<Entry>,
    has_older: bool,
    has_newer: bool,
) {
    found.retain(|entry| !timeline.gone.contains(&entry.key));
    for entry in &mut found {
        if let EntryBody::Tool(call) = &mut entry.body {
            let renamed = timeline.renamed_calls.iter();
            if let Some((_, to)) = renamed.rev().find(|(from, _)| *from == call.id) {
                call.id = to.clone();
            }
        }
    }
    let asked = match around {
        Place::Order(order) => Some(*order),
        _ => None,
    };
    let is_older_part = timeline.is_loaded && asked.is_some() && timeline.asked_older == asked;
    let is_newer_part = timeline.is_loaded && asked.is_some() && timeline.asked_newer == asked;
    if is_older_part {
        timeline.is_loading_older = false;
        timeline.asked_older = None;
        timeline.has_older = has_older;
        join_part(timeline, found);
    } else if is_newer_part {
        timeline.is_loading_newer = false;
        timeline.asked_newer = None;
        timeline.has_newer = has_newer;
        join_part(timeline, found);
    } else if found.is_empty() && timeline.is_loaded && !timeline.entries.is_empty() {
        // The place is not in the store; what is on screen stays.
        timeline.is_loading_newer = false;
        timeline.is_loading_older = false;
    } else {
        timeline.is_loading_newer = false;
        timeline.is_loading_older = false;
        timeline.asked_older = None;
        timeline.asked_newer = None;
        let old = std::mem::replace(&mut timeline.entries, found);
        timeline.is_loaded = true;
        timeline.has_older = has_older;
        timeline.has_newer = has_newer;
        // What changed and is not written yet lives on in the tail until it joins again.
        let unsaved = &timeline.unsaved;
        let mut moving: Vec<Entry> = old
            .into_iter()
            .filter(|entry| {
                !super::super::timeline::is_settled(entry) || unsaved.contains_key(&entry.key)
            })
            .collect();
        moving.append(&mut timeline.tail);
        timeline.tail = moving;
    }
    if let Some(last) = timeline.entries.last() {
        timeline.newest_order = timeline.newest_order.max(last.order);
    }
    if let Some(first) = timeline.entries.first()
        && !timeline.has_older
    {
        timeline.oldest_order = first.order;
    }
    if timeline.is_at_newest() {
        timeline.unshown.clear();
    }
    join_tail(timeline);
}

/// Adds a further part of the store to the window. The same message may be here under a key of its
/// own, from a page that came while the store wrote it.
fn join_part(timeline: &mut Timeline, found: Vec<Entry>) {
    let known: BTreeSet<MessageKey> = timeline.entries.iter().map(|entry| entry.key).collect();
    for entry in found {
        if known.contains(&entry.key) {
            continue;
        }
        match timeline
            .entries
            .iter_mut()
            .find(|known| is_same(known, &entry))
        {
            Some(known) => take_name(known, &entry),
            None => timeline.entries.push(entry),
        }
    }
    timeline.entries.sort_by_key(|entry| entry.order);
}

/// Gives an entry the key and order under which the store has it.
fn take_name(entry: &mut Entry, stored: &Entry) {
    entry.key = stored.key;
    if let Some(message) = entry.message_mut() {
        message.key = stored.key;
    }
    set_order(entry, stored.order);
}

/// A message of ours that the server tells again stays one of ours.
fn keep_ticks(entry: &mut Entry, stored: &Entry) {
    let Some(own) = stored.message() else {
        return;
    };
    let Some(message) = entry.message_mut() else {
        return;
    };
    if message.delivery.is_none() {
        message.delivery = match own.delivery {
            None => None,
            Some(Delivery::Read) => Some(Delivery::Read),
            Some(_) => Some(Delivery::Accepted),
        };
        message.command = message.command.or(own.command);
    }
}

/// A call keeps what only the store knows of it.
fn keep_call(entry: &mut Entry, stored: &Entry) {
    if let (EntryBody::Tool(newer), EntryBody::Tool(known)) = (&mut entry.body, &stored.body) {
        let mut whole = known.clone();
        whole.merge((**newer).clone());
        *newer = whole;
    }
}

/// Lets entries of the tail take their place in the window: all of them when it reaches the newest
/// entry, else those that are in it already.
pub(in crate::app) fn join_tail(timeline: &mut Timeline) {
    let tail = std::mem::take(&mut timeline.tail);
    for mut entry in tail {
        let same = timeline
            .entries
            .iter()
            .position(|known| is_same(known, &entry));
        match same {
            Some(index) => {
                let known = &mut timeline.entries[index];
                take_name(&mut entry, known);
                keep_ticks(&mut entry, known);
                keep_call(&mut entry, known);
                *known = entry;
            }
            None if !timeline.has_newer => {
                let index = timeline
                    .entries
                    .partition_point(|known| known.order < entry.order);
                timeline.entries.insert(index, entry);
            }
            None => timeline.tail.push(entry),
        }
    }
}

pub(in crate::app) fn is_same(a: &Entry, b: &Entry) -> bool {
    if a.key == b.key {
        return true;
    }
    match (&a.body, &b.body) {
        (EntryBody::Message(a), EntryBody::Message(b)) => {
            a.remote.is_some() && a.remote == b.remote
        }
        (EntryBody::Tool(a), EntryBody::Tool(b)) => a.id == b.id,
        (EntryBody::RunEnded { run: a, .. }, EntryBody::RunEnded { run: b, .. }) => a == b,
        _ => false,
    }
}

/// The entry that the reader's place hangs on.
pub(in crate::app) fn reader_of(anchor: &Anchor) -> Option<MessageKey> {
    match anchor {
        Anchor::Newest => None,
        Anchor::Top { key, .. } | Anchor::Show { key } => Some(*key),
    }
}

/// Forgets entries far from the reader; none means that the reader is at the newest one.
pub(in crate::app) fn shorten(timeline: &mut Timeline, reader: Option<MessageKey>) {
    if timeline.entries.len() <= LONG || timeline.is_loading_older || timeline.is_loading_newer {
        return;
    }
    let at = match reader {
        None => timeline.entries.len(),
        Some(key) => match timeline.index_of(key) {
            Some(index) => index,
            None => return,
        },
    };
    let unsaved = &timeline.unsaved;
    let must_stay = |entry: &Entry| {
        !super::super::timeline::is_settled(entry) || unsaved.contains_key(&entry.key)
    };
    // Beyond the reader's surroundings nothing is dropped that still changes.
    let end = (at + AROUND * 2).min(timeline.entries.len());
    let start = at.saturating_sub(AROUND * 2);
    let can_cut_end = !timeline.entries[end..].iter().any(must_stay);
    let can_cut_start = !timeline.entries[..start].iter().any(|entry| {
        // A running call from long ago is stuck; it does not hold the window.
        must_stay(entry)
            && !matches!(&entry.body, EntryBody::Tool(tool) if tool.status == ToolStatus::Running)
    });
    if can_cut_end && end < timeline.entries.len() {
        timeline.entries.truncate(end);
        timeline.has_newer = true;
    }
    if can_cut_start && start > 0 {
        timeline.entries.drain(..start);
        timeline.has_older = true;
    }
}

/// Keeps the window of a growing timeline bounded while the reader watches it.
pub(in crate::app) fn shorten_focused(state: &mut State, account: &AccountId, id: &ConversationId) {
    if state.store_fails || state.read_only.is_some() {
        return;
    }
    if let Some(of) = state.conversation_mut(account, id) {
        let reader = reader_of(&of.viewport.anchor);
        shorten(&mut of.timeline, reader);
    }
}

/// Forgets the windows of conversations that the reader left long ago.
pub(in crate::app) fn forget_windows(state: &mut State) {
    if state.store_fails || state.read_only.is_some() {
        return;
    }
    let kept: Vec<(AccountId, ConversationId)> = state
        .visited
        .iter()
        .rev()
        .take(KEPT_WINDOWS)
        .chain(state.focus.as_ref())
        .cloned()
        .collect();
    for account in &mut state.accounts {
        let account_id = &account.account.id;
        for (id, conversation) in &mut account.conversations {
            let timeline = &mut conversation.timeline;
            let is_kept = kept.iter().any(|(a, c)| a == account_id && c == id);
            if is_kept || !timeline.is_loaded || !timeline.waiting.is_empty() {
                continue;
            }
            let unsaved = &timeline.unsaved;
            let mut tail: Vec<Entry> = std::mem::take(&mut timeline.entries)
                .into_iter()
                .filter(|entry| {
                    !super::super::timeline::is_settled(entry) || unsaved.contains_key(&entry.key)
                })
                .collect();
            tail.append(&mut timeline.tail);
            timeline.tail = tail;
            timeline.is_loaded = false;
            timeline.has_older = true;
            timeline.has_newer = false;
            timeline.is_loading_older = false;
            timeline.is_loading_newer = false;
            timeline.asked_older = None;
            timeline.asked_newer = None;
            timeline.jump = None;
            conversation.viewport = Default::default();
        }
    }
}
