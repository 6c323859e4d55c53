//! Search here and everywhere: the local store answers while one types, the servers on demand, and
//! a hit leads to its place in the conversation.

use super::overlay::{List, Overlay, SearchPopup};
use super::popups;
use super::{Pane, rows};
use crate::app::commands::issue;
use crate::app::state::{AccountState, Pending, Redraw, State};
use crate::app::{Effect, conversation};
use crate::domain::{
    AccountId, Command, Entry, Lookup, Moment, Place, SearchHit, SearchQuery, SearchScope, Severity,
};
use crate::text::SafeText;

/// Hits on a page.
const PAGE: usize = 200;
/// Hits the servers are asked for.
const SERVER_PAGE: usize = 20;

/// Opens the popup: in the conversation on screen, or everywhere.
pub fn open(state: &mut State, is_here: bool) -> Vec<Effect> {
    let here = state.focus.clone().filter(|_| is_here);
    popups::open(
        state,
        Overlay::Search(SearchPopup {
            here,
            ..SearchPopup::default()
        }),
    );
    Vec::new()
}

fn top(state: &State) -> Option<&SearchPopup> {
    match state.screen.overlays.last() {
        Some(Overlay::Search(popup)) => Some(popup),
        _ => None,
    }
}

fn top_mut(state: &mut State) -> Option<&mut SearchPopup> {
    match state.screen.overlays.last_mut() {
        Some(Overlay::Search(popup)) => Some(popup),
        _ => None,
    }
}

/// Asks the store for what is typed now.
pub fn look(state: &mut State) -> Vec<Effect> {
    let Some(popup) = top_mut(state) else {
        return Vec::new();
    };
    let query = popup.query.text.trim().to_owned();
    popup.list = List::default();
    if query.is_empty() {
        popup.hits.clear();
        popup.is_running = false;
        popup.has_more = false;
        return Vec::new();
    }
    popup.is_running = true;
    // What is found takes the place of what an earlier query found.
    popup.has_more = false;
    vec![lookup(popup, query, 0)]
}

/// Asks for the next page, when there is one and none is on its way.
pub fn more(state: &mut State) -> Vec<Effect> {
    let Some(popup) = top_mut(state) else {
        return Vec::new();
    };
    if !popup.has_more || popup.is_running {
        return Vec::new();
    }
    popup.is_running = true;
    let (query, skip) = (popup.query.text.trim().to_owned(), popup.hits.len());
    vec![lookup(popup, query, skip)]
}

fn lookup(popup: &SearchPopup, query: String, skip: usize) -> Effect {
    let (account, conversation) = match &popup.here {
        Some((account, conversation)) => (Some(account.clone()), Some(conversation.clone())),
        None => (None, None),
    };
    Effect::Look(Lookup::Search {
        query,
        account,
        conversation,
        limit: PAGE,
        skip,
    })
}

/// Takes a page of the store. One for an earlier query is too late.
pub fn on_found(state: &mut State, query: &str, hits: Vec<(AccountId, SearchHit)>, has_more: bool) {
    let Some(popup) = state
        .screen
        .overlays
        .iter_mut()
        .find_map(|overlay| match overlay {
            Overlay::Search(popup) => Some(popup),
            _ => None,
        })
    else {
        return;
    };
    if popup.query.text.trim() != query {
        return;
    }
    // The first page takes the place of what an earlier query found.
    if !popup.has_more {
        popup.hits.clear();
    }
    for (account, hit) in hits {
        let is_known = popup
            .hits
            .iter()
            .any(|(known, other)| *known == account && is_same(other, &hit));
        if !is_known {
            popup.hits.push((account, hit));
        }
    }
    popup.has_more = has_more;
    popup.is_running = false;
    state.redraw(Redraw::Now);
}

fn is_same(a: &SearchHit, b: &SearchHit) -> bool {
    a.conversation == b.conversation
        && ((a.order.is_some() && a.order == b.order)
            || (a.remote.is_some() && a.remote == b.remote))
}

/// Enter with nothing found asks the servers.
pub fn ask_servers_if_open(state: &mut State) -> Vec<Effect> {
    if top(state).is_some() {
        ask_servers(state)
    } else {
        Vec::new()
    }
}

/// Whether a server that can be asked now can search where this popup does.
pub fn can_ask_servers(state: &State, popup: &SearchPopup) -> bool {
    servers(state, popup).next().is_some()
}

/// The accounts whose servers can be asked.
fn servers<'a>(state: &'a State, popup: &'a SearchPopup) -> impl Iterator<Item = &'a AccountState> {
    state
        .accounts
        .iter()
        .filter(|of| {
            popup
                .here
                .as_ref()
                .is_none_or(|(id, _)| *id == of.account.id)
        })
        .filter(|of| of.account.capabilities.server_search.is_yes() && of.is_ready())
}

/// Asks the servers that can search.
pub fn ask_servers(state: &mut State) -> Vec<Effect> {
    let Some(popup) = top(state) else {
        return Vec::new();
    };
    let query = popup.query.text.trim().to_owned();
    if query.is_empty() {
        return Vec::new();
    }
    let here = popup.here.clone();
    let accounts: Vec<AccountId> = servers(state, popup)
        .map(|of| of.account.id.clone())
        .collect();
    if accounts.is_empty() {
        state.say(
            Severity::Warning,
            "No server here can search; what is stored on this machine was searched.",
        );
        return Vec::new();
    }
    let mut effects = Vec::new();
    for account in accounts {
        let scope = match &here {
            Some((_, conversation)) => SearchScope::Conversation(conversation.clone()),
            None => SearchScope::All,
        };
        effects.extend(issue(
            state,
            &account,
            Command::Search(SearchQuery {
                text: query.clone(),
                scope,
                limit: SERVER_PAGE,
            }),
            Pending::Search,
        ));
    }
    if let Some(popup) = top_mut(state) {
        popup.is_running = true;
    }
    effects
}

/// Goes to the place of a hit and marks what was looked for.
pub fn go_to_hit(
    state: &mut State,
    now: Moment,
    account: &AccountId,
    hit: &SearchHit,
) -> Vec<Effect> {
    if let Some(popup) = top(state) {
        let marked = SafeText::label(popup.query.text.trim());
        let here: Vec<SearchHit> = popup
            .hits
            .iter()
            .filter(|(of, other)| of == account && other.conversation == hit.conversation)
            .map(|(_, hit)| hit.clone())
            .collect();
        state.screen.found = here;
        state.screen.marked = Some(marked);
    }
    popups::close_all(state);
    state.screen.pane = Pane::Timeline;
    jump_to(state, now, account, hit)
}

fn jump_to(state: &mut State, now: Moment, account: &AccountId, hit: &SearchHit) -> Vec<Effect> {
    let place = match (hit.order, &hit.remote) {
        (Some(order), _) => Place::Order(order),
        (None, Some(remote)) => Place::Remote(remote.clone()),
        (None, None) => return conversation::focus(state, now, account, &hit.conversation),
    };
    conversation::jump(state, now, account, &hit.conversation, place)
}

/// Goes to the next match (older) or the previous one (newer) of the last search, from the
/// selected entry on.
pub fn step(state: &mut State, now: Moment, is_older: bool) -> Vec<Effect> {
    let Some((account, id)) = state.focus.clone() else {
        return Vec::new();
    };
    let mut orders: Vec<(i64, usize)> = state
        .screen
        .found
        .iter()
        .enumerate()
        .filter(|(_, hit)| hit.conversation == id)
        .filter_map(|(at, hit)| Some((order_of(state, hit)?, at)))
        .collect();
    orders.sort_unstable();
    if orders.is_empty() {
        state.say(
            Severity::Info,
            "Nothing was looked for here yet; / searches.",
        );
        return Vec::new();
    }
    let selected = state
        .conversation(&account, &id)
        .and_then(|of| of.viewport.selected)
        .and_then(|key| rows::entry(state, key))
        .map(|entry| entry.order);
    let next = match selected {
        Some(order) if is_older => orders.iter().rev().find(|(other, _)| *other < order),
        Some(order) => orders.iter().find(|(other, _)| *other > order),
        None => orders.last(),
    };
    let Some((_, at)) = next else {
        state.say(
            Severity::Info,
            if is_older {
                "That was the oldest match."
            } else {
                "That was the newest match."
            },
        );
        return Vec::new();
    };
    let Some(hit) = state.screen.found.get(*at).cloned() else {
        return Vec::new();
    };
    jump_to(state, now, &account, &hit)
}

/// Where a hit stands; one of the server is found by its id when its message is loaded.
fn order_of(state: &State, hit: &SearchHit) -> Option<i64> {
    hit.order.or_else(|| {
        let remote = hit.remote.as_ref()?;
        let (_, _, conversation) = state.focused()?;
        conversation
            .timeline
            .entries
            .iter()
            .filter_map(Entry::message)
            .find(|message| message.remote.as_ref() == Some(remote))
            .map(|message| message.order)
    })
}
