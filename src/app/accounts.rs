//! What an account says of itself: its link, its directory, its models, its words, what it wants
//! kept.

mod links;

use super::effect::Effect;
use super::screen::overlay::Overlay;
use super::state::{AccountState, Redraw, State};
use super::{attention, commands, conversation, decisions, windows};
use crate::domain::{
    AccountId, Command, ConversationCommand, ConversationId, ConversationInfo, ConversationKind,
    DirectoryEvent, LinkState, ModelsEvent, Moment, Notice, NoticeKind, Provenance, ReadMark,
    Scope, Severity, SyncEvent, Unread, Write,
};
use crate::text::SafeText;
use links::to_reopen;
use std::collections::BTreeSet;

pub use links::{attend, on_link, waits};

// Directory

/// Takes one event about the list of conversations.
pub fn on_directory(
    state: &mut State,
    now: Moment,
    account: &AccountId,
    event: DirectoryEvent,
) -> Vec<Effect> {
    if state.account(account).is_none() {
        return Vec::new();
    }
    match event {
        DirectoryEvent::Replaced(list) => replaced(state, now, account, list),
        DirectoryEvent::Upserted { conversation, info } => {
            upsert(state, account, &conversation, info, false);
            state.redraw(Redraw::Paced);
            focus_first(state, now)
        }
        DirectoryEvent::Renamed { conversation, name } => {
            if let Some(here) = state.conversation(account, &conversation)
                && here.info.name != name
            {
                let info = ConversationInfo {
                    name,
                    ..here.info.clone()
                };
                upsert(state, account, &conversation, info, false);
                state.redraw(Redraw::Paced);
            }
            Vec::new()
        }
        DirectoryEvent::Removed { conversation } => removed(state, now, account, &conversation),
        DirectoryEvent::Touched {
            conversation,
            at_ms,
        } => {
            touched(state, account, &conversation, at_ms);
            Vec::new()
        }
    }
}

fn replaced(
    state: &mut State,
    now: Moment,
    account: &AccountId,
    list: Vec<(ConversationId, ConversationInfo)>,
) -> Vec<Effect> {
    let Some(of) = state.account(account) else {
        return Vec::new();
    };
    let is_first = of.conversations.is_empty();
    let is_catching_up = of.account.link == LinkState::Syncing;
    let listed: BTreeSet<&ConversationId> = list.iter().map(|(id, _)| id).collect();
    let missing: BTreeSet<ConversationId> = of
        .conversations
        .iter()
        .filter(|(id, here)| !listed.contains(id) && !here.settings.is_left)
        .map(|(id, _)| id.clone())
        .collect();
    for (id, info) in list {
        upsert(state, account, &id, info, is_first);
    }
    if let Some(of) = state.account_mut(account) {
        of.missing = missing;
    }
    let mut effects = Vec::new();
    // A server that lost its state says so when everything missed is here.
    if !is_catching_up {
        effects.extend(forget_missing(state, now, account));
    }
    state.redraw(Redraw::Now);
    effects.extend(focus_first(state, now));
    effects
}

/// What the server does not name any more was deleted there.
pub(super) fn forget_missing(state: &mut State, now: Moment, account: &AccountId) -> Vec<Effect> {
    let Some(of) = state.account_mut(account) else {
        return Vec::new();
    };
    let missing = std::mem::take(&mut of.missing);
    let stay = of
        .conversations
        .keys()
        .filter(|id| !missing.contains(id))
        .cloned()
        .collect();
    state.write(Write::DirectoryIs {
        account: account.clone(),
        conversations: stay,
    });
    let mut effects = Vec::new();
    for id in missing {
        effects.extend(forget(state, now, account, &id));
    }
    effects
}

/// The server began anew: what it does not name was not deleted by anybody, and stays to be read.
fn keep_missing(state: &mut State, account: &AccountId) {
    let Some(of) = state.account_mut(account) else {
        return;
    };
    for id in std::mem::take(&mut of.missing) {
        let Some(here) = state.conversation_mut(account, &id) else {
            continue;
        };
        here.info.is_archived = true;
        let info = Box::new(here.info.clone());
        state.write(Write::Conversation {
            account: account.clone(),
            conversation: id.clone(),
            info,
        });
        set_left(state, account, &id, true);
    }
}

fn set_left(state: &mut State, account: &AccountId, id: &ConversationId, is_left: bool) {
    if let Some(here) = state.conversation_mut(account, id)
        && here.settings.is_left != is_left
    {
        here.settings.is_left = is_left;
        let settings = here.settings.clone();
        state.write(Write::LocalSettings {
            account: account.clone(),
            conversation: id.clone(),
            settings,
        });
    }
}

/// Adds or changes a conversation; what is kept of it here stays.
fn upsert(
    state: &mut State,
    account: &AccountId,
    id: &ConversationId,
    info: ConversationInfo,
    is_first: bool,
) {
    let is_known = state.conversation(account, id).is_some();
    set_left(state, account, id, false);
    if let Some(of) = state.account_mut(account) {
        of.missing.remove(id);
    }
    if is_known {
        let at_ms = info.last_activity_ms;
        let Some(here) = state.conversation_mut(account, id) else {
            return;
        };
        let mut info = info;
        info.last_activity_ms = info.last_activity_ms.max(here.info.last_activity_ms);
        let is_new = here.info != info;
        here.info = info.clone();
        if is_new {
            state.write(Write::Conversation {
                account: account.clone(),
                conversation: id.clone(),
                info: Box::new(info),
            });
        }
        if let Some(at_ms) = at_ms {
            touched(state, account, id, at_ms);
        }
        return;
    }
    conversation::ensure(state, account, id);
    let at_ms = info.last_activity_ms.unwrap_or(0);
    let Some(here) = state.conversation_mut(account, id) else {
        return;
    };
    here.info = info.clone();
    state.write(Write::Conversation {
        account: account.clone(),
        conversation: id.clone(),
        info: Box::new(info),
    });
    if at_ms > 0 && is_first {
        // On the first visit nothing is unread: reading begins here.
        let mark = ReadMark {
            order: 0,
            remote: None,
            at_ms,
        };
        if let Some(here) = state.conversation_mut(account, id) {
            here.read = mark.clone();
        }
        state.write(Write::Read {
            account: account.clone(),
            conversation: id.clone(),
            mark,
        });
    }
}

/// Something happened in a conversation that was not reported otherwise: when it is later than the
/// last reading, there is something to read.
fn touched(state: &mut State, account: &AccountId, id: &ConversationId, at_ms: i64) {
    let is_watched = state.shows(account, id) && state.screen.is_focused != Some(false);
    let Some(here) = state.conversation_mut(account, id) else {
        return;
    };
    if here.info.last_activity_ms.is_none_or(|known| known < at_ms) {
        here.info.last_activity_ms = Some(at_ms);
        let info = Box::new(here.info.clone());
        state.write(Write::Conversation {
            account: account.clone(),
            conversation: id.clone(),
            info,
        });
        state.redraw(Redraw::Paced);
    }
    let Some(here) = state.conversation_mut(account, id) else {
        return;
    };
    if !is_watched && at_ms > here.read.at_ms && here.unread == Unread::None && here.run.is_none() {
        here.unread = Unread::Some;
        state.redraw(Redraw::Paced);
    }
}

fn removed(
    state: &mut State,
    now: Moment,
    account: &AccountId,
    id: &ConversationId,
) -> Vec<Effect> {
    let Some(of) = state.account(account) else {
        return Vec::new();
    };
    let under: Vec<ConversationId> = of
        .conversations
        .iter()
        .filter(|(_, here)| here.info.parent.as_ref() == Some(id))
        .map(|(child, _)| child.clone())
        .collect();
    let mut effects = Vec::new();
    for gone in under.iter().chain([id]) {
        state.write(Write::ConversationGone {
            account: account.clone(),
            conversation: gone.clone(),
        });
        effects.extend(forget(state, now, account, gone));
    }
    state.redraw(Redraw::Now);
    effects
}

/// Takes a conversation out of memory; when it is on screen, another one takes its place.
fn forget(state: &mut State, now: Moment, account: &AccountId, id: &ConversationId) -> Vec<Effect> {
    decisions::conversation_gone(state, now, account, id);
    let is_shown = state.shows(account, id);
    let has_kept = keep_unsent(state, now, account, id);
    let Some(of) = state.account_mut(account) else {
        return Vec::new();
    };
    let name = of
        .conversations
        .remove(id)
        .map(|here| here.info.name)
        .unwrap_or_default();
    state.visited.retain(|(a, c)| !(a == account && c == id));
    let what = if name.is_empty() {
        "A conversation".to_owned()
    } else {
        name.as_str().to_owned()
    };
    if has_kept {
        let words = format!(
            "{what} was deleted. What you had written there is among the earlier inputs (Ctrl+R)."
        );
        state.say(Severity::Warning, words);
    }
    if !is_shown {
        return Vec::new();
    }
    state.focus = None;
    if !has_kept {
        state.say(Severity::Done, format!("{what} was deleted."));
    }
    match state.visited.pop() {
        Some((account, id)) => windows::focus(state, now, &account, &id),
        None => focus_something(state, now, account),
    }
}

/// Moves what was written in a conversation and never sent to the earlier inputs, where it can be
/// found from everywhere: the conversation itself is about to go. True when there was something.
fn keep_unsent(state: &mut State, now: Moment, account: &AccountId, id: &ConversationId) -> bool {
    let Some(of) = state.account_mut(account) else {
        return false;
    };
    let mut texts = Vec::new();
    let mut keys = Vec::new();
    of.outbox.retain(|row| {
        if row.conversation != *id {
            return true;
        }
        texts.push(row.text.clone());
        keys.push(row.key);
        false
    });
    if let Some(here) = of.conversations.get(id)
        && !here.composer.text().trim().is_empty()
    {
        texts.push(here.composer.text().to_owned());
    }
    for key in keys {
        state.write_fully(Write::OutboxGone { key });
    }
    state.write_fully(Write::Draft {
        account: account.clone(),
        conversation: id.clone(),
        draft: None,
    });
    let is_something = !texts.is_empty();
    for text in texts {
        state.write_fully(Write::Input {
            account: account.clone(),
            conversation: id.clone(),
            text,
            at_ms: now.wall_ms,
        });
    }
    is_something
}

/// Shows a conversation when none is on screen: the default one, else the latest.
pub(super) fn focus_something(state: &mut State, now: Moment, account: &AccountId) -> Vec<Effect> {
    if state.focus.is_some() || state.is_loading {
        return Vec::new();
    }
    let Some(of) = state.account(account) else {
        return Vec::new();
    };
    let best = best_conversation(of);
    match best {
        Some(id) => windows::focus(state, now, account, &id),
        None => Vec::new(),
    }
}

/// Shows a conversation when none is on screen, of the first account that has one. An account that
/// is still being connected is waited for, so that what opens does not hang on who is quicker.
pub(super) fn focus_first(state: &mut State, now: Moment) -> Vec<Effect> {
    if state.focus.is_some() || state.is_loading {
        return Vec::new();
    }
    for of in &state.accounts {
        if best_conversation(of).is_some() {
            let id = of.account.id.clone();
            return focus_something(state, now, &id);
        }
        if matches!(of.account.link, LinkState::Connecting | LinkState::Syncing) {
            break;
        }
    }
    Vec::new()
}

fn best_conversation(of: &AccountState) -> Option<ConversationId> {
    of.conversations
        .iter()
        .filter(|(_, here)| !here.info.is_archived && !here.info.is_automation)
        .max_by_key(|(_, here)| {
            (
                here.info.kind == ConversationKind::Default,
                here.info.last_activity_ms,
            )
        })
        .or_else(|| of.conversations.iter().next())
        .map(|(id, _)| id.clone())
}

// Models, words, cursors

/// Takes one event about models, effort, autonomy and profiles.
pub fn on_models(state: &mut State, account: &AccountId, event: ModelsEvent) -> Vec<Effect> {
    let Some(of) = state.account_mut(account) else {
        return Vec::new();
    };
    match event {
        ModelsEvent::CatalogLoaded {
            conversation,
            catalog,
        } => {
            if let Some(here) = conversation.and_then(|id| of.conversations.get_mut(&id))
                && let Some(current) = &catalog.current
            {
                here.model = Some(current.clone());
            }
            of.models = (*catalog).clone();
            for overlay in &mut state.screen.overlays {
                if let Overlay::Models {
                    account: shown,
                    catalog: slot,
                    ..
                } = overlay
                    && shown == account
                {
                    *slot = Some(catalog.clone());
                }
            }
            // A list that was empty until now opens on what is set; one in use stays put.
            if let Some(Overlay::Models { list, filter, .. }) = state.screen.overlays.last()
                && list.selected == 0
                && filter.text.is_empty()
            {
                super::screen::popups::to_current(state);
            }
        }
        ModelsEvent::ModelChanged { choice, scope } => match scope {
            Scope::Account => of.model = Some(choice),
            Scope::Conversation(id) => {
                if let Some(here) = of.conversations.get_mut(&id) {
                    here.model = Some(choice);
                }
            }
        },
        ModelsEvent::EffortChanged { effort, scope } => match scope {
            Scope::Account => of.effort = Some(effort),
            Scope::Conversation(id) => {
                if let Some(here) = of.conversations.get_mut(&id) {
                    here.effort = Some(effort);
                }
            }
        },
        ModelsEvent::AutoApproveChanged { conversation, on } => {
            let label = match of.account.capabilities.auto_approve_label {
                "" => "auto-approve",
                label => label,
            };
            if let Some(here) = of.conversations.get_mut(&conversation) {
                let is_news = on && !here.auto_approve;
                here.auto_approve = on;
                // Whoever switched it on, nobody is asked any more.
                if is_news {
                    let words = format!(
                        "{} has {label} on: what the agent does there is not asked.",
                        here.info.name
                    );
                    state.say(Severity::Warning, words);
                }
            }
        }
        ModelsEvent::ProfileChanged {
            conversation,
            profile,
        } => {
            if let Some(here) = of.conversations.get_mut(&conversation) {
                here.profile = Some(profile);
            }
        }
    }
    state.redraw(Redraw::Now);
    Vec::new()
}

/// Takes a word about the account or the program.
pub fn on_notice(
    state: &mut State,
    account: &AccountId,
    provenance: &Provenance,
    notice: Notice,
) -> Vec<Effect> {
    let Some(of) = state.account_mut(account) else {
        return Vec::new();
    };
    let label = of.account.label.clone();
    let words = match (notice.title.is_empty(), notice.body.is_empty()) {
        (false, false) => format!("{}: {}", notice.title, notice.body),
        (false, true) => notice.title.as_str().to_owned(),
        (true, _) => notice.body.as_str().to_owned(),
    };
    match notice.kind {
        NoticeKind::Oddity => {
            of.oddities += 1;
            vec![Effect::Log(SafeText::prose(&format!("{label}: {words}")))]
        }
        NoticeKind::Plain => {
            if *provenance == Provenance::Live {
                state.say(notice.severity, format!("{label}: {words}"));
            }
            Vec::new()
        }
        NoticeKind::Announcement => {
            if *provenance == Provenance::Live {
                state.say(notice.severity, format!("{label}: {words}"));
            }
            attention::announced(state, account, provenance, &notice)
        }
    }
}

/// Takes what the driver wants kept, in the same transaction as what came before it.
pub fn on_sync(
    state: &mut State,
    now: Moment,
    account: &AccountId,
    event: SyncEvent,
) -> Vec<Effect> {
    match event {
        SyncEvent::Kept { name, value } => {
            state.write_fully(Write::Fact {
                account: account.clone(),
                name,
                value,
            });
            Vec::new()
        }
        SyncEvent::ReadingBegan => {
            let ids: Vec<ConversationId> = state
                .account(account)
                .map(|of| of.conversations.keys().cloned().collect())
                .unwrap_or_default();
            ids.iter()
                .flat_map(|id| super::windows::mark_read(state, now, account, id))
                .collect()
        }
        SyncEvent::Done => attention::caught_up(state, account),
        SyncEvent::ServerLostState => {
            let label = state
                .account(account)
                .map(|of| of.account.label.as_str().to_owned())
                .unwrap_or_default();
            state.say(
                crate::domain::Severity::Warning,
                format!(
                    "{label} began anew and no longer knows what was before. What was read stays here."
                ),
            );
            keep_missing(state, account);
            if let Some(of) = state.account_mut(account) {
                for here in of.conversations.values_mut() {
                    here.is_open = false;
                }
            }
            let mut effects = commands::issue(
                state,
                account,
                Command::Conversation(ConversationCommand::Refresh),
                super::state::Pending::Other("The list of conversations could not be loaded"),
            );
            for id in to_reopen(state, account) {
                effects.extend(windows::open_on_server(state, account, &id));
            }
            effects
        }
    }
}
