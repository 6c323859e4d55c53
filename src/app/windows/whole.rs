//! The whole of a conversation, brought here step by step for code that wants all of it and shows
//! nothing: opened on the server, gaps filled, then older page by older page. The reader's place
//! goes along, so that the window stays bounded.

use super::super::effect::Effect;
use super::super::screen::viewport::Anchor;
use super::super::state::{Pending, State};
use super::{OPEN, ask_page, grow_older, open_on_server};
use crate::domain::{
    AccountId, ConversationId, EntryBody, HistoryPaging, Lookup, PageToken, Place,
};
use std::collections::BTreeSet;

/// What there is to do next.
#[derive(Clone, PartialEq, Debug)]
pub enum Step {
    /// Carry these out, then ask again after the next event.
    Go(Vec<Effect>),
    /// Something is on its way.
    Wait,
    /// Everything that can be had is in the store, or will be with the next flush.
    Done,
    /// There is no such conversation.
    Unknown,
}

/// Brings the newest page of a conversation here.
pub fn newest(state: &mut State, account: &AccountId, id: &ConversationId) -> Step {
    let Some(of) = state.account(account) else {
        return Step::Unknown;
    };
    let Some(here) = of.conversations.get(id) else {
        return Step::Unknown;
    };
    let timeline = &here.timeline;
    let is_asked = of.pending.values().any(|pending| {
        matches!(pending, Pending::Open { conversation } | Pending::Older { conversation }
            if conversation == id)
    });
    if !timeline.is_loaded {
        if timeline.is_loading_newer {
            return Step::Wait;
        }
        let mut effects = vec![Effect::Look(Lookup::Window {
            account: account.clone(),
            conversation: id.clone(),
            around: Place::Newest,
            before: OPEN,
            after: 0,
        })];
        if let Some(here) = state.conversation_mut(account, id) {
            here.timeline.is_loading_newer = true;
        }
        effects.extend(open_on_server(state, account, id));
        return Step::Go(effects);
    }
    let is_busy = is_asked
        || timeline.is_loading_older
        || timeline.is_loading_newer
        || !timeline.waiting.is_empty();
    if is_busy {
        return Step::Wait;
    }
    if !here.is_open && of.is_ready() {
        return Step::Go(open_on_server(state, account, id));
    }
    if here.is_open { Step::Done } else { Step::Wait }
}

/// Brings everything here. `asked` holds the places that were asked for: a server that names one
/// twice has no more to give there.
pub fn whole(
    state: &mut State,
    account: &AccountId,
    id: &ConversationId,
    asked: &mut BTreeSet<PageToken>,
) -> Step {
    match newest(state, account, id) {
        Step::Done => {}
        other => return other,
    }
    let Some(of) = state.account_mut(account) else {
        return Step::Unknown;
    };
    let can_ask = of.is_ready() && of.account.capabilities.history == HistoryPaging::OlderThanToken;
    let Some(here) = of.conversations.get_mut(id) else {
        return Step::Unknown;
    };
    let gap = here
        .timeline
        .entries
        .iter()
        .find_map(|entry| match &entry.body {
            EntryBody::Gap { token } if can_ask && !asked.contains(token) => Some(token.clone()),
            _ => None,
        });
    if let Some(token) = gap {
        asked.insert(token.clone());
        here.timeline.is_loading_older = true;
        return Step::Go(ask_page(state, account, id, token));
    }
    if let Some(first) = here.timeline.entries.first() {
        here.viewport.anchor = Anchor::Show { key: first.key };
    }
    if !here.timeline.has_older {
        match &here.timeline.older_token {
            Some(token) if can_ask && asked.insert(token.clone()) => {}
            _ => return Step::Done,
        }
    }
    match grow_older(state, account, id) {
        effects if effects.is_empty() => Step::Done,
        effects => Step::Go(effects),
    }
}
