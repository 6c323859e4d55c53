//! Which part of a timeline is in memory: opening a conversation, growing the window at its ends,
//! jumping, and forgetting what is far from the reader. Nothing here asks for more than a few
//! hundred entries at once.

mod join;
mod jump;
mod whole;

pub(super) use join::{on_found, shorten_focused};
pub(super) use jump::go_on;
pub use jump::jump;
pub use whole::{Step, newest, whole};

use super::effect::Effect;
use super::screen::overlay::Overlay;
use super::screen::viewport::{Anchor, LayoutFacts};
use super::state::{Pending, Redraw, State, Timeline};
use super::{commands, drafts, pages};
use crate::domain::{
    AccountId, Command, ConversationCommand, ConversationId, Entry, EntryBody, HistoryPaging,
    Lookup, MessageKey, Moment, ORDER_STEP, Place, ReadMark, Unread, Write,
};
use join::{forget_windows, shorten};

/// Entries read around the newest one when a conversation is opened.
const OPEN: usize = 200;
/// Entries read at once when the reader comes to an end of the window.
const GROW: usize = 200;
/// Places the reader can go back to.
const VISITED: usize = 50;

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
        .is_none_or(|conversation| conversation.is_open || conversation.settings.is_left);
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
    // A message that grew while it was read is later than the mark from when it began.
    let is_later = of
        .info
        .last_activity_ms
        .is_some_and(|last| last > of.read.at_ms);
    let is_new = order > of.read.order || of.unread != Unread::None || is_later;
    of.unread = Unread::None;
    if !is_new {
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
        let is_later = of
            .info
            .last_activity_ms
            .is_some_and(|last| last > of.read.at_ms);
        let is_new = of.timeline.newest_order > of.read.order;
        if is_watched && (of.unread != Unread::None || is_new || is_later) {
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

/// Asks the store for what lies between the window of a reader far above and the newest entry, when
/// a page waits for that: its messages count, are stored and found though the reader stays. Beyond
/// the largest window the page waits for the reader.
pub(super) fn grow_to_newest(
    state: &mut State,
    account: &AccountId,
    id: &ConversationId,
) -> Vec<Effect> {
    let is_near = state.conversation(account, id).is_some_and(|of| {
        let timeline = &of.timeline;
        let last = timeline.entries.last().map_or(0, |entry| entry.order);
        let missing = timeline.newest_order.saturating_sub(last) / ORDER_STEP;
        let wanted = usize::try_from(missing).unwrap_or(usize::MAX);
        !timeline.waiting.is_empty()
            && wanted.saturating_add(timeline.entries.len()) <= pages::LARGEST_WINDOW
    });
    if is_near {
        grow_newer(state, account, id)
    } else {
        Vec::new()
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
