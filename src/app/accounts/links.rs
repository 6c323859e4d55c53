//! The link of an account: what changes with it, and what is asked for when it stands again.

use super::super::effect::{Effect, LinkChange};
use super::super::screen::overlay::{Confirmed, Overlay};
use super::super::state::{Conversation, Pending, Redraw, State};
use super::super::{commands, outbox, windows};
use super::focus_first;
use crate::domain::{
    AccountId, Command, ConversationId, Delivery, LinkEvent, LinkState, LoginNeed, Moment, Severity,
};
use crate::text::SafeText;
use std::time::Duration;

/// Conversations asked for again after a reconnect besides the one on screen.
const REOPENED: usize = 12;
/// While the person types, the driver is told no more often.
const ATTEND_EVERY: Duration = Duration::from_secs(1);

/// Takes one event about the link.
pub fn on_link(
    state: &mut State,
    now: Moment,
    account: &AccountId,
    event: LinkEvent,
) -> Vec<Effect> {
    let Some(of) = state.account_mut(account) else {
        return Vec::new();
    };
    match event {
        LinkEvent::Changed(link) => changed(state, now, account, link),
        LinkEvent::IdentityKnown(identity) => {
            of.account.identity = Some(identity);
            state.redraw(Redraw::Paced);
            Vec::new()
        }
        LinkEvent::CapabilitiesChanged(capabilities) => {
            of.account.capabilities = *capabilities;
            state.redraw(Redraw::Now);
            Vec::new()
        }
        LinkEvent::HealthChanged(health) => {
            if of.account.health != health {
                of.account.health = health;
                state.redraw(Redraw::Now);
            }
            Vec::new()
        }
        // A heartbeat alone never redraws: an idle screen writes nothing.
        LinkEvent::Heard { latency_ms } => {
            of.account.last_frame = Some(now);
            of.account.latency_ms = latency_ms.or(of.account.latency_ms);
            if of.account.silent_since.take().is_some() {
                state.redraw(Redraw::Now);
            }
            Vec::new()
        }
        LinkEvent::Silent { since } => {
            of.account.silent_since = Some(since);
            state.redraw(Redraw::Now);
            Vec::new()
        }
        LinkEvent::CatalogLoaded(catalog) => {
            of.catalog = catalog;
            state.redraw(Redraw::Paced);
            Vec::new()
        }
    }
}

fn changed(state: &mut State, now: Moment, account: &AccountId, link: LinkState) -> Vec<Effect> {
    let Some(of) = state.account_mut(account) else {
        return Vec::new();
    };
    let was_ready = of.is_ready();
    if of.account.link == link {
        return Vec::new();
    }
    let before = std::mem::replace(&mut of.account.link, link.clone());
    of.account.silent_since = None;
    if let LinkState::Refused { reason } | LinkState::Waiting { reason, .. } = &link {
        of.last_failure = Some(reason.clone());
    }
    let is_ready = link == LinkState::Ready;
    of.link_since = match link {
        LinkState::Syncing | LinkState::Ready => of.link_since.or(Some(now)),
        LinkState::Off
        | LinkState::Connecting
        | LinkState::Waiting { .. }
        | LinkState::Refused { .. }
        | LinkState::NeedsLogin(_) => None,
    };
    if was_ready && !is_ready {
        of.ready_since = None;
        for here in of.conversations.values_mut() {
            here.is_open = false;
            here.typing_until = None;
            here.timeline.is_loading_older &= here.timeline.asked_older.is_some();
        }
    }
    if let LinkState::NeedsLogin(need) = &before {
        close_question(state, need);
    }
    state.redraw(Redraw::Now);
    if !is_ready {
        let effects = focus_first(state, now);
        tell_refusal(state, account, &link);
        return effects;
    }
    let Some(of) = state.account_mut(account) else {
        return Vec::new();
    };
    of.last_failure = None;
    of.ready_since = Some(now);
    of.links += 1;
    let mut effects = match of.missing.is_empty() {
        true => Vec::new(),
        false => super::forget_missing(state, now, account),
    };
    for id in to_reopen(state, account) {
        effects.extend(windows::open_on_server(state, account, &id));
    }
    if let Some(of) = state.account(account)
        && of.account.capabilities.slash_catalog.is_yes()
        && of.catalog.is_empty()
    {
        effects.extend(commands::issue(
            state,
            account,
            Command::LoadCatalog,
            Pending::Other(""),
        ));
    }
    effects.extend(outbox::release_all(state, now, account));
    effects.extend(focus_first(state, now));
    effects
}

/// The person acts: the driver of the account on screen is told, so that a link that died without a
/// word is noticed while somebody relies on it.
pub fn attend(state: &mut State, now: Moment) -> Option<Effect> {
    let account = state.focus.as_ref()?.0.clone();
    let of = state.account_mut(&account)?;
    let was_just_told = of
        .attended
        .is_some_and(|attended| now.since(attended) < ATTEND_EVERY);
    if !of.is_ready() || was_just_told {
        return None;
    }
    of.attended = Some(now);
    Some(Effect::Link {
        account,
        change: LinkChange::Attend,
    })
}

/// Takes away the question whether a page to sign in at is to be opened: it is not needed any more.
fn close_question(state: &mut State, need: &LoginNeed) {
    let Some(url) = &need.url else { return };
    state.screen.overlays.retain(|overlay| {
        !matches!(overlay, Overlay::Confirm(confirm)
            if matches!(&confirm.then, Confirmed::OpenLink(link) if link == url.as_str()))
    });
}

/// Tells that an account will not be tried again by itself, when another one is on screen: its own
/// conversations say so all the time.
fn tell_refusal(state: &mut State, account: &AccountId, link: &LinkState) {
    let what = match link {
        LinkState::Refused { .. } => "was refused",
        LinkState::NeedsLogin(_) => "wants you to sign in",
        LinkState::Off
        | LinkState::Connecting
        | LinkState::Syncing
        | LinkState::Ready
        | LinkState::Waiting { .. } => return,
    };
    if state
        .focus
        .as_ref()
        .is_none_or(|(shown, _)| shown == account)
    {
        return;
    }
    let Some(at) = state
        .accounts
        .iter()
        .position(|of| of.account.id == *account)
    else {
        return;
    };
    let label = state.accounts[at].account.label.clone();
    let keys = super::super::screen::palette::to_account(at + 1).and_then(|action| {
        state
            .keymap
            .hint(action, super::super::keymap::Context::Global)
    });
    let way = keys.map_or_else(String::new, |keys| {
        format!(" {keys} says why, and what to do.")
    });
    state.say(Severity::Error, format!("{label} {what}.{way}"));
}

/// The conversation on screen, and those where something was under way when the link broke.
pub(super) fn to_reopen(state: &State, account: &AccountId) -> Vec<ConversationId> {
    let Some(of) = state.account(account) else {
        return Vec::new();
    };
    let mut ids: Vec<ConversationId> = state
        .focus
        .iter()
        .filter(|(a, _)| a == account)
        .map(|(_, conversation)| conversation.clone())
        .collect();
    let is_unsettled = |id: &ConversationId, here: &Conversation| {
        here.run.is_some()
            || of
                .decisions
                .iter()
                .any(|decision| decision.conversation == *id && decision.life.is_pending())
            || of.unproven.iter().any(|(_, home, _)| home == id)
            || of
                .outbox
                .iter()
                .any(|row| row.conversation == *id && row.delivery == Delivery::Uncertain)
    };
    let unsettled: Vec<ConversationId> = of
        .conversations
        .iter()
        .filter(|(id, here)| !ids.contains(id) && is_unsettled(id, here))
        .map(|(id, _)| id.clone())
        .take(REOPENED)
        .collect();
    ids.extend(unsettled);
    ids
}

/// The shell waits before it dials again.
pub fn waits(
    state: &mut State,
    now: Moment,
    account: &AccountId,
    until: Moment,
    reason: SafeText,
) -> Vec<Effect> {
    changed(state, now, account, LinkState::Waiting { until, reason })
}
