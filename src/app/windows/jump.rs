//! Jumps to a place of a conversation: in the window, in the store, or page by page from the server.

use super::super::effect::Effect;
use super::super::screen::viewport::Anchor;
use super::super::state::{Redraw, State, Timeline};
use super::{OPEN, focus, grow_older};
use crate::domain::{AccountId, ConversationId, Entry, Lookup, Moment, Place, Severity};

/// Pages loaded from the server for one jump.
pub(in crate::app) const JUMP_PAGES: u8 = 25;

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
pub(in crate::app) fn anchor_at(timeline: &Timeline, place: &Place) -> Option<Anchor> {
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

pub(in crate::app) fn time_of(entry: &Entry) -> i64 {
    entry
        .message()
        .and_then(|message| message.sent_at_ms)
        .unwrap_or(entry.seen_at_ms)
}

/// Looks again for the place of a jump after a page came.
pub(in crate::app) fn go_on(
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
pub(in crate::app) fn jump_on(
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

pub(in crate::app) fn give_up_jump(state: &mut State, account: &AccountId, id: &ConversationId) {
    if let Some(of) = state.conversation_mut(account, id) {
        if of.timeline.jump.is_none() {
            return;
        }
        of.timeline.jump = None;
    }
    state.say(
        Severity::Warning,
        "This message is not in the history that could be loaded.",
    );
}
