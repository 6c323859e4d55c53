//! The first state: what the store kept, on screen before any network answer. It may come after
//! the first events of a quick link, so nothing that is known already is overwritten.

use super::accounts;
use super::effect::Effect;
use super::screen::overlay::{List, Overlay};
use super::screen::viewport::Viewport;
use super::state::{Redraw, State};
use super::windows;
use crate::domain::{
    Delivery, Moment, OutboxRecord, StartFacts, StoredConversation, Unread, Write,
};

/// A queued message of another program run is taken over when it is older than this: nobody waits
/// so long to send it.
const STALE_MS: i64 = 120_000;
/// While a message of another program run waits here, the store is asked so often what became of
/// it: it is sent, taken back when its command gives up, or left behind.
const ASKED_AGAIN: std::time::Duration = std::time::Duration::from_secs(5);

/// Takes the last stored state.
pub fn restore(state: &mut State, now: Moment, facts: StartFacts) -> Vec<Effect> {
    let is_first = state.is_loading;
    if !is_first && state.store_fails {
        // The disk is behind what is known here: what was sent since still waits on it. It is asked
        // again once everything is written.
        return Vec::new();
    }
    state.is_loading = false;
    let mut effects = Vec::new();
    if is_first {
        for stored in facts.conversations {
            effects.extend(restore_conversation(state, stored));
        }
        for (account, decision, conversation, answer) in facts.answering {
            if let Some(of) = state.account_mut(&account) {
                of.unproven.push((decision, conversation, answer));
            }
        }
    }
    if !is_first {
        forget_sent_elsewhere(state, &facts.outbox);
    }
    for row in facts.outbox {
        restore_row(state, now, row, is_first);
    }
    if is_first {
        super::screen::sidebar::restore(&mut state.screen.sidebar, &facts.ui);
        if let Some((_, reasons)) = facts
            .ui
            .iter()
            .find(|(name, _)| name == super::screen::decision::KEPT_REASONS)
        {
            state.screen.reasons = reasons.lines().map(str::to_owned).collect();
        }
        let last = facts
            .ui
            .iter()
            .find(|(name, _)| name == windows::FOCUS)
            .and_then(|(_, value)| windows::parse_focus(value))
            .filter(|(account, id)| state.conversation(account, id).is_some());
        if state.focus.is_none() {
            match last {
                Some((account, id)) => {
                    effects.extend(windows::focus(state, now, &account, &id));
                }
                None => {
                    let accounts: Vec<_> = state
                        .accounts
                        .iter()
                        .map(|of| of.account.id.clone())
                        .collect();
                    for account in accounts {
                        effects.extend(accounts::focus_something(state, now, &account));
                    }
                }
            }
        } else if let Some((account, id)) = state.focus.clone() {
            // It was focused before the store answered; now its window can be read.
            effects.extend(windows::focus(state, now, &account, &id));
        }
    }
    if is_first && state.accounts.is_empty() && state.takes_over {
        state.screen.overlays.push(Overlay::Welcome {
            list: List::default(),
        });
    }
    let accounts: Vec<_> = state
        .accounts
        .iter()
        .filter(|of| of.is_ready())
        .map(|of| of.account.id.clone())
        .collect();
    for account in accounts {
        effects.extend(super::outbox::release_all(state, now, &account));
    }
    state.redraw(Redraw::Now);
    effects
}

fn restore_conversation(state: &mut State, stored: StoredConversation) -> Vec<Effect> {
    let mut effects = Vec::new();
    let Some(of) = state.account_mut(&stored.account) else {
        return effects;
    };
    let is_known = of.conversations.contains_key(&stored.conversation);
    let here = of.conversations.entry(stored.conversation).or_default();
    if !is_known {
        here.info = stored.info;
    }
    here.settings = stored.settings;
    let is_later = here
        .info
        .last_activity_ms
        .is_some_and(|at| stored.read.at_ms > 0 && at > stored.read.at_ms);
    here.unread = match stored.unread {
        Unread::None if is_later => Unread::Some,
        unread => unread,
    };
    here.read = stored.read;
    here.timeline.has_older = stored.newest_order != 0 || stored.oldest_order != 0;
    here.timeline.is_loaded = false;
    here.timeline.newest_order = here.timeline.newest_order.max(stored.newest_order);
    here.timeline.oldest_order = stored.oldest_order;
    here.timeline.older_token = stored.older_token;
    // Whatever came before the store answered waits for the window.
    let mut early = std::mem::take(&mut here.timeline.entries);
    here.timeline.tail.append(&mut early);
    here.viewport = Viewport::default();
    if let Some(draft) = stored.draft
        && here.composer.is_empty()
    {
        here.composer.restore(&draft);
        effects.extend(
            draft
                .files
                .iter()
                .map(|path| Effect::InspectFile { path: path.clone() }),
        );
        here.saved_draft = draft;
    }
    effects
}

/// Takes over a message that another run of the program left behind. What may have been sent is
/// uncertain; it is never sent again by itself.
fn restore_row(state: &mut State, now: Moment, mut row: OutboxRecord, is_first: bool) {
    let ours = state.ids.instance;
    let takes_over = state.takes_over;
    let is_reader = state.read_only.is_some();
    let Some(of) = state.account_mut(&row.account.clone()) else {
        return;
    };
    // Of our own messages the memory knows more than the store.
    if row.instance == ours {
        return;
    }
    if !takes_over {
        // It is not ours to send or to judge, but history that comes in may prove it.
        if matches!(row.delivery, Delivery::InFlight | Delivery::Uncertain)
            && of.outbox.iter().all(|known| known.key != row.key)
        {
            of.outbox.push(row);
        }
        return;
    }
    if of
        .outbox
        .iter()
        .any(|known| known.key == row.key && known.instance == ours)
    {
        return;
    }
    of.outbox.retain(|known| known.key != row.key);
    if is_reader {
        // The screen that writes sends it.
        of.outbox.push(row);
        of.outbox.sort_by_key(|row| row.position);
        return;
    }
    let account = row.account.clone();
    let key = row.key;
    let is_stale =
        now.wall_ms - row.created_ms > STALE_MS || super::state::Ids::is_screen(row.instance);
    match row.delivery {
        Delivery::InFlight if !is_first && !is_stale => {
            // The command that waited here is sending it now.
            of.outbox.push(row);
            of.outbox.sort_by_key(|row| row.position);
            return;
        }
        Delivery::InFlight => {
            row.delivery = Delivery::Uncertain;
            row.instance = ours;
        }
        Delivery::Queued if !is_stale => {
            // A running command may still send it.
            of.outbox.push(row);
            of.outbox.sort_by_key(|row| row.position);
            return;
        }
        Delivery::Queued | Delivery::Uncertain | Delivery::Failed(_) => row.instance = ours,
        Delivery::Accepted | Delivery::Read => {
            state.write_fully(Write::OutboxGone { key });
            return;
        }
    }
    of.outbox.push(row);
    of.outbox.sort_by_key(|row| row.position);
    super::outbox::write_row(state, &account, key);
}

/// Messages of another program run that are no longer in the store were sent or dropped there.
fn forget_sent_elsewhere(state: &mut State, stored: &[OutboxRecord]) {
    let ours = state.ids.instance;
    for of in &mut state.accounts {
        of.outbox
            .retain(|row| row.instance == ours || stored.iter().any(|kept| kept.key == row.key));
    }
}

/// When the store is asked what became of the rows of other program runs; not while the last
/// question may still be waiting for its answer.
pub fn next_stale(state: &State) -> Option<Moment> {
    if !state.takes_over || state.is_loading || state.read_only.is_some() || state.store_fails {
        return None;
    }
    let ours = state.ids.instance;
    let waits = state.accounts.iter().flat_map(|of| &of.outbox).any(|row| {
        row.instance != ours && matches!(row.delivery, Delivery::Queued | Delivery::InFlight)
    });
    waits.then(|| {
        state
            .stale_asked
            .map_or(state.now, |asked| asked.after(ASKED_AGAIN))
    })
}
