//! Which part of a timeline is in memory: opening a conversation, growing the window at its ends,
//! jumping, and forgetting what is far from the reader. Nothing here asks for more than a few
//! hundred entries at once.

use super::effect::Effect;
use super::screen::overlay::Overlay;
use super::screen::viewport::{Anchor, LayoutFacts};
use super::state::{Pending, Redraw, State, Timeline, Waiting};
use super::timeline::set_order;
use super::{commands, conversation, drafts, pages};
use crate::domain::{
    AccountId, Command, ConversationCommand, ConversationId, Delivery, Entry, EntryBody,
    HistoryPaging, Lookup, MessageKey, Moment, Place, ReadMark, Severity, ToolStatus, Unread,
    Write,
};

/// Entries read around the newest one when a conversation is opened.
const OPEN: usize = 200;
/// Entries read at once when the reader comes to an end of the window.
const GROW: usize = 200;
/// A window longer than this is shortened to what lies around the reader.
const LONG: usize = 900;
/// What stays on each side of the reader.
const AROUND: usize = 300;
/// Conversations whose window stays in memory after the reader left.
const KEPT_WINDOWS: usize = 6;
/// Places the reader can go back to.
const VISITED: usize = 50;
/// A call that has been running for so long without a run around it has ended unseen.
const STALE_MS: i64 = 10 * 60 * 1000;
/// Pages loaded from the server for one jump.
pub(super) const JUMP_PAGES: u8 = 25;

/// Brings a conversation on screen.
pub fn focus(
    state: &mut State,
    now: Moment,
    account: &AccountId,
    conversation: &ConversationId,
) -> Vec<Effect> {
    if state.conversation(account, conversation).is_none() {
        return Vec::new();
    }
    let target = (account.clone(), conversation.clone());
    if state.focus.as_ref() != Some(&target) {
        if let Some(left) = state.focus.take() {
            leave(state, now, &left);
            state.visited.retain(|visited| *visited != left);
            state.visited.push(left);
            let extra = state.visited.len().saturating_sub(VISITED);
            state.visited.drain(..extra);
        }
        state.focus = Some(target);
        if !state.is_loading {
            state.write(Write::Ui {
                name: FOCUS.to_owned(),
                value: focus_value(account, conversation),
            });
        }
        forget_windows(state);
    }
    state.redraw(Redraw::Now);
    let mut effects = Vec::new();
    if let Some(of) = state.conversation_mut(account, conversation) {
        of.unread_line = (of.unread != Unread::None).then_some(of.read.order);
        if !of.timeline.is_loaded && !of.timeline.is_loading_newer {
            of.timeline.is_loading_newer = true;
            effects.push(Effect::Look(Lookup::Window {
                account: account.clone(),
                conversation: conversation.clone(),
                around: Place::Newest,
                before: OPEN,
                after: 0,
            }));
            effects.push(Effect::Look(Lookup::Attachments {
                account: account.clone(),
                conversation: conversation.clone(),
            }));
        }
    }
    effects.extend(open_on_server(state, account, conversation));
    effects
}

/// The name of the last conversation in the store.
pub const FOCUS: &str = "focus";

/// How the conversation on screen is written down.
pub fn focus_value(account: &AccountId, conversation: &ConversationId) -> String {
    format!("{}\n{}", account.as_str(), conversation.as_str())
}

/// Reads what `focus_value` wrote.
pub fn parse_focus(value: &str) -> Option<(AccountId, ConversationId)> {
    let (account, conversation) = value.split_once('\n')?;
    Some((account.into(), conversation.into()))
}

fn leave(state: &mut State, now: Moment, left: &(AccountId, ConversationId)) {
    drafts::save(state, now, &left.0, &left.1);
    if let Some(of) = state.conversation_mut(&left.0, &left.1) {
        of.unread_line = None;
        of.timeline.jump = None;
        if of.viewport.anchor == Anchor::Newest {
            shorten(&mut of.timeline, None);
        }
    }
}

/// Asks the server for the conversation once over each link.
pub fn open_on_server(
    state: &mut State,
    account: &AccountId,
    conversation: &ConversationId,
) -> Vec<Effect> {
    let Some(of) = state.account_mut(account) else {
        return Vec::new();
    };
    let is_asked = of.pending.values().any(
        |pending| matches!(pending, Pending::Open { conversation: asked } if asked == conversation),
    );
    let is_open = of
        .conversations
        .get(conversation)
        .is_none_or(|conversation| conversation.is_open);
    if !of.is_ready() || is_open || is_asked {
        return Vec::new();
    }
    commands::issue(
        state,
        account,
        Command::Conversation(ConversationCommand::Open {
            conversation: conversation.clone(),
        }),
        Pending::Open {
            conversation: conversation.clone(),
        },
    )
}

/// Loads what is older than the window of the conversation on screen: from the store, and where
/// the store ends, from the server.
pub fn load_older(state: &mut State, _now: Moment) -> Vec<Effect> {
    let Some((account, id)) = state.focus.clone() else {
        return Vec::new();
    };
    grow_older(state, &account, &id)
}

fn grow_older(state: &mut State, account: &AccountId, id: &ConversationId) -> Vec<Effect> {
    let Some(of) = state.account_mut(account) else {
        return Vec::new();
    };
    let can_ask = of.is_ready() && of.account.capabilities.history == HistoryPaging::OlderThanToken;
    let Some(conversation) = of.conversations.get_mut(id) else {
        return Vec::new();
    };
    let timeline = &mut conversation.timeline;
    if timeline.is_loading_older || !timeline.is_loaded {
        return Vec::new();
    }
    if timeline.has_older
        && let Some(first) = timeline.entries.first()
    {
        timeline.is_loading_older = true;
        timeline.asked_older = Some(first.order);
        return vec![Effect::Look(Lookup::Window {
            account: account.clone(),
            conversation: id.clone(),
            around: Place::Order(first.order),
            before: GROW,
            after: 0,
        })];
    }
    let Some(token) = timeline.older_token.clone().filter(|_| can_ask) else {
        return Vec::new();
    };
    timeline.is_loading_older = true;
    ask_page(state, account, id, token)
}

/// Asks the server for the page before a token.
fn ask_page(
    state: &mut State,
    account: &AccountId,
    id: &ConversationId,
    token: crate::domain::PageToken,
) -> Vec<Effect> {
    commands::issue(
        state,
        account,
        Command::Conversation(ConversationCommand::LoadOlder {
            conversation: id.clone(),
            before: token,
        }),
        Pending::Older {
            conversation: id.clone(),
        },
    )
}

fn grow_newer(state: &mut State, account: &AccountId, id: &ConversationId) -> Vec<Effect> {
    let Some(of) = state.conversation_mut(account, id) else {
        return Vec::new();
    };
    let timeline = &mut of.timeline;
    if timeline.is_loading_newer || !timeline.is_loaded || !timeline.has_newer {
        return Vec::new();
    }
    let Some(last) = timeline.entries.last() else {
        return Vec::new();
    };
    timeline.is_loading_newer = true;
    timeline.asked_newer = Some(last.order);
    vec![Effect::Look(Lookup::Window {
        account: account.clone(),
        conversation: id.clone(),
        around: Place::Order(last.order),
        before: 0,
        after: GROW,
    })]
}

/// Shows a place of a conversation: at once when it is in the window, else the store is read.
pub fn jump(
    state: &mut State,
    now: Moment,
    account: &AccountId,
    conversation: &ConversationId,
    place: Place,
) -> Vec<Effect> {
    let mut effects = focus(state, now, account, conversation);
    let Some(of) = state.conversation_mut(account, conversation) else {
        return effects;
    };
    of.jump_pages = 0;
    of.viewport.delta = 0;
    let shown = if of.timeline.is_loaded {
        anchor_at(&of.timeline, &place)
    } else {
        None
    };
    match shown {
        Some(anchor) => {
            of.viewport.anchor = anchor;
            if let Anchor::Show { key } = anchor {
                of.viewport.selected = Some(key);
            }
            of.timeline.jump = None;
        }
        None => {
            of.timeline.jump = Some(place.clone());
            let (before, after) = match place {
                Place::Newest => (OPEN, 0),
                Place::Oldest => (0, OPEN),
                Place::Order(_) | Place::Remote(_) | Place::Time(_) => (OPEN / 2, OPEN / 2),
            };
            // A window that is being opened anyway would only come in the way.
            effects.retain(|effect| {
                !matches!(
                    effect,
                    Effect::Look(Lookup::Window {
                        around: Place::Newest,
                        ..
                    })
                )
            });
            effects.push(Effect::Look(Lookup::Window {
                account: account.clone(),
                conversation: conversation.clone(),
                around: place,
                before,
                after,
            }));
        }
    }
    state.redraw(Redraw::Now);
    effects
}

/// Where the viewport stands for a place, when the window has it.
fn anchor_at(timeline: &Timeline, place: &Place) -> Option<Anchor> {
    let show = |entry: &Entry| Anchor::Show { key: entry.key };
    match place {
        Place::Newest => (!timeline.has_newer).then_some(Anchor::Newest),
        Place::Oldest => {
            if timeline.has_older {
                None
            } else {
                timeline.entries.first().map(show)
            }
        }
        Place::Order(order) => timeline
            .entries
            .iter()
            .find(|entry| entry.order == *order)
            .map(show),
        Place::Remote(remote) => timeline
            .entries
            .iter()
            .find(|entry| {
                entry
                    .message()
                    .is_some_and(|message| message.remote.as_ref() == Some(remote))
            })
            .map(show),
        Place::Time(at) => {
            let is_after = |entry: &&Entry| time_of(entry) >= *at;
            let first = timeline.entries.iter().position(|entry| is_after(&entry))?;
            if first == 0 && timeline.has_older {
                return None;
            }
            timeline.entries.get(first).map(show)
        }
    }
}

fn time_of(entry: &Entry) -> i64 {
    entry
        .message()
        .and_then(|message| message.sent_at_ms)
        .unwrap_or(entry.seen_at_ms)
}

/// Says that everything in the conversation was read.
pub fn mark_read(
    state: &mut State,
    now: Moment,
    account: &AccountId,
    conversation: &ConversationId,
) -> Vec<Effect> {
    let Some(of) = state.conversation_mut(account, conversation) else {
        return Vec::new();
    };
    let remote = of
        .timeline
        .all()
        .rev()
        .filter_map(Entry::message)
        .find_map(|message| message.remote.clone());
    let at_ms = now
        .wall_ms
        .max(of.info.last_activity_ms.unwrap_or(0))
        .max(of.read.at_ms);
    let order = of.timeline.newest_order.max(of.read.order);
    let is_new = order > of.read.order || of.unread != Unread::None;
    of.unread = Unread::None;
    if !is_new {
        // The time moves along without a write; the next real reading stores it.
        of.read.at_ms = at_ms;
        return Vec::new();
    }
    of.read = ReadMark {
        order,
        remote: remote.or(of.read.remote.take()),
        at_ms,
    };
    let mark = of.read.clone();
    state.write(Write::Read {
        account: account.clone(),
        conversation: conversation.clone(),
        mark,
    });
    state.redraw(Redraw::Paced);
    Vec::new()
}

/// Takes what the view found while it drew.
pub fn on_layout(state: &mut State, now: Moment, facts: LayoutFacts) -> Vec<Effect> {
    state.screen.composer_columns = facts.composer_columns;
    state.screen.timeline_rows = facts.rows;
    super::screen::popups::on_layout(state, facts.overlay_scroll_max);
    if let Some(Overlay::Decision(popup)) = state.screen.overlays.last_mut() {
        popup.painted.get_or_insert(now);
        popup.end_seen |= facts.decision_end_seen;
    }
    let is_watched = state.screen.is_focused != Some(false) && state.screen.overlays.is_empty();
    let (account, id) = (facts.account, facts.conversation);
    if !state.shows(&account, &id) {
        return Vec::new();
    }
    let Some(of) = state.conversation_mut(&account, &id) else {
        return Vec::new();
    };
    // A jump that came after that frame was drawn is not undone by its facts.
    if of.timeline.jump.is_none() {
        of.viewport.anchor = facts.anchor;
    }
    of.viewport.delta = of.viewport.delta.saturating_sub(facts.resolved);
    if facts.revealed.is_some() && of.viewport.reveal == facts.revealed {
        of.viewport.reveal = None;
    }
    let mut effects = Vec::new();
    if facts.is_at_newest && !of.timeline.has_newer {
        of.viewport.new_below = 0;
        if is_watched && (of.unread != Unread::None || of.timeline.newest_order > of.read.order) {
            effects.extend(mark_read(state, now, &account, &id));
        }
    }
    if facts.is_short_above {
        effects.extend(grow_older(state, &account, &id));
    }
    if facts.is_short_below {
        effects.extend(grow_newer(state, &account, &id));
    }
    effects.extend(fill_gaps(
        state,
        &account,
        &id,
        facts.first_seen,
        facts.last_seen,
    ));
    effects
}

/// Asks for the pages of gaps that are in sight.
fn fill_gaps(
    state: &mut State,
    account: &AccountId,
    id: &ConversationId,
    first: Option<MessageKey>,
    last: Option<MessageKey>,
) -> Vec<Effect> {
    let Some(of) = state.account(account).filter(|of| of.is_ready()) else {
        return Vec::new();
    };
    let is_asking = of
        .pending
        .values()
        .any(|pending| matches!(pending, Pending::Older { conversation } if conversation == id));
    let Some(timeline) = of.conversations.get(id).map(|of| &of.timeline) else {
        return Vec::new();
    };
    let (Some(first), Some(last)) = (
        first.and_then(|key| timeline.index_of(key)),
        last.and_then(|key| timeline.index_of(key)),
    ) else {
        return Vec::new();
    };
    let token = timeline
        .entries
        .get(first..=last)
        .unwrap_or_default()
        .iter()
        .find_map(|entry| match &entry.body {
            EntryBody::Gap { token } => Some(token.clone()),
            _ => None,
        });
    match token {
        Some(token) if !is_asking => ask_page(state, account, id, token),
        _ => Vec::new(),
    }
}

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
    join(&mut of.timeline, around, entries, has_older, has_newer);
    reconcile(state, now, account, id);
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

/// Looks again for the place of a jump after a page came.
pub(super) fn go_on(
    state: &mut State,
    account: &AccountId,
    id: &ConversationId,
    place: &Place,
) -> Vec<Effect> {
    let Some(of) = state.conversation_mut(account, id) else {
        return Vec::new();
    };
    match anchor_at(&of.timeline, place) {
        Some(anchor) => {
            of.timeline.jump = None;
            of.viewport.anchor = anchor;
            of.viewport.delta = 0;
            if let Anchor::Show { key } = anchor {
                of.viewport.selected = Some(key);
            }
            Vec::new()
        }
        None => jump_on(state, account, id, place, &Place::Newest),
    }
}

/// Goes on with a jump to something that the store does not have: page by page from the server.
pub(super) fn jump_on(
    state: &mut State,
    account: &AccountId,
    id: &ConversationId,
    place: &Place,
    around: &Place,
) -> Vec<Effect> {
    let Some(of) = state.conversation_mut(account, id) else {
        return Vec::new();
    };
    match place {
        Place::Remote(_) if of.jump_pages < JUMP_PAGES => {
            of.jump_pages += 1;
            if around == place {
                // The store does not have it, so it can only lie before the oldest entry.
                return vec![Effect::Look(Lookup::Window {
                    account: account.clone(),
                    conversation: id.clone(),
                    around: Place::Oldest,
                    before: 0,
                    after: OPEN,
                })];
            }
            let effects = grow_older(state, account, id);
            if effects.is_empty() {
                give_up_jump(state, account, id);
            }
            effects
        }
        Place::Remote(_) => {
            give_up_jump(state, account, id);
            Vec::new()
        }
        Place::Newest | Place::Oldest | Place::Order(_) | Place::Time(_) => {
            // The nearest thing is at the end of what was read.
            of.timeline.jump = None;
            of.viewport.anchor = match of.timeline.entries.first() {
                Some(first) if *place == Place::Oldest => Anchor::Show { key: first.key },
                _ => of
                    .timeline
                    .entries
                    .last()
                    .filter(|_| of.timeline.has_newer)
                    .map_or(Anchor::Newest, |last| Anchor::Show { key: last.key }),
            };
            Vec::new()
        }
    }
}

fn give_up_jump(state: &mut State, account: &AccountId, id: &ConversationId) {
    if let Some(of) = state.conversation_mut(account, id) {
        if of.timeline.jump.is_none() {
            return;
        }
        of.timeline.jump = None;
    }
    state.say(
        Severity::Info,
        "This message is not in the history that could be loaded.",
    );
}

/// Merges the pages that waited for the window.
fn merge_waiting(
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
/// outbox knows where our own messages stand, and what grew then grows no more.
fn reconcile(state: &mut State, now: Moment, account: &AccountId, id: &ConversationId) {
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
                if message.is_streaming && is_quiet {
                    fixes.push((entry.key, Fix::Cut));
                }
            }
            EntryBody::Tool(tool) if tool.status == ToolStatus::Running => {
                if is_quiet && is_stale(entry) {
                    fixes.push((entry.key, Fix::Ended));
                }
            }
            EntryBody::Tool(_) | EntryBody::RunEnded { .. } | EntryBody::Gap { .. } => {}
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
enum Fix {
    Delivery(Delivery),
    Cut,
    Ended,
}

/// Joins what the store found with what is here. The copy in memory is never older than the
/// store's, so it wins; the store's key and order win, because others may have been made there.
fn join(
    timeline: &mut Timeline,
    around: &Place,
    found: Vec<Entry>,
    has_older: bool,
    has_newer: bool,
) {
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
        let known: std::collections::BTreeSet<MessageKey> =
            timeline.entries.iter().map(|entry| entry.key).collect();
        let mut older: Vec<Entry> = found
            .into_iter()
            .filter(|entry| !known.contains(&entry.key))
            .collect();
        older.append(&mut timeline.entries);
        timeline.entries = older;
        timeline.entries.sort_by_key(|entry| entry.order);
    } else if is_newer_part {
        timeline.is_loading_newer = false;
        timeline.asked_newer = None;
        timeline.has_newer = has_newer;
        let known: std::collections::BTreeSet<MessageKey> =
            timeline.entries.iter().map(|entry| entry.key).collect();
        timeline.entries.extend(
            found
                .into_iter()
                .filter(|entry| !known.contains(&entry.key)),
        );
        timeline.entries.sort_by_key(|entry| entry.order);
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
            .filter(|entry| !super::timeline::is_settled(entry) || unsaved.contains_key(&entry.key))
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
    join_tail(timeline);
}

/// Lets entries of the tail take their place in the window: all of them when it reaches the newest
/// entry, else those that are in it already.
fn join_tail(timeline: &mut Timeline) {
    let tail = std::mem::take(&mut timeline.tail);
    for mut entry in tail {
        let same = timeline
            .entries
            .iter()
            .position(|known| is_same(known, &entry));
        match same {
            Some(index) => {
                let known = &mut timeline.entries[index];
                entry.key = known.key;
                let order = known.order;
                if let Some(message) = entry.message_mut() {
                    message.key = known.key;
                }
                set_order(&mut entry, order);
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

fn is_same(a: &Entry, b: &Entry) -> bool {
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
fn reader_of(anchor: &Anchor) -> Option<MessageKey> {
    match anchor {
        Anchor::Newest => None,
        Anchor::Top { key, .. } | Anchor::Show { key } => Some(*key),
    }
}

/// Forgets entries far from the reader; none means that the reader is at the newest one.
pub(super) fn shorten(timeline: &mut Timeline, reader: Option<MessageKey>) {
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
    let must_stay =
        |entry: &Entry| !super::timeline::is_settled(entry) || unsaved.contains_key(&entry.key);
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

/// Reads what was written behind the window without being shown.
pub(super) fn look_aside(
    state: &mut State,
    account: &AccountId,
    id: &ConversationId,
) -> Vec<Effect> {
    let Some(of) = state.conversation_mut(account, id) else {
        return Vec::new();
    };
    let timeline = &mut of.timeline;
    let Some(from) = timeline.aside_from.take() else {
        return Vec::new();
    };
    if !timeline.is_at_newest() || timeline.is_loading_newer {
        return Vec::new();
    }
    timeline.is_loading_newer = true;
    timeline.asked_newer = Some(from);
    vec![Effect::Look(Lookup::Window {
        account: account.clone(),
        conversation: id.clone(),
        around: Place::Order(from),
        before: 0,
        after: GROW,
    })]
}

/// Keeps the window of a growing timeline bounded while the reader watches it.
pub(super) fn shorten_focused(state: &mut State, account: &AccountId, id: &ConversationId) {
    if state.store_fails || state.read_only.is_some() {
        return;
    }
    if let Some(of) = state.conversation_mut(account, id) {
        let reader = reader_of(&of.viewport.anchor);
        shorten(&mut of.timeline, reader);
    }
}

/// Forgets the windows of conversations that the reader left long ago.
fn forget_windows(state: &mut State) {
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
                    !super::timeline::is_settled(entry) || unsaved.contains_key(&entry.key)
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

/// Asks the store for more of the window because a page reaches further back.
pub(super) fn grow_for_page(
    state: &mut State,
    account: &AccountId,
    id: &ConversationId,
) -> Vec<Effect> {
    grow_older(state, account, id)
}

/// Whether a page has to wait: the window is not there, or not at its newest end.
pub(super) fn must_wait(timeline: &Timeline, page: &crate::domain::HistoryPage) -> bool {
    page.before.is_none() && !timeline.is_at_newest()
}

/// Whether the window can still grow towards older entries for a page.
pub(super) fn fit(
    merger: &mut super::timeline::Merger<'_>,
    page: &crate::domain::HistoryPage,
) -> pages::PageFit {
    let may_grow = merger.timeline.has_older;
    pages::merge_page(merger, page, may_grow)
}
