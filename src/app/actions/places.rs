//! Conversations and accounts: going to them, and what can be changed about them.

use crate::app::commands::issue;
use crate::app::effect::LinkChange;
use crate::app::screen::overlay::{Confirmed, Overlay, Prompt, Prompted};
use crate::app::screen::palette::account_number;
use crate::app::screen::{Pane, SidebarRow, popups, sidebar};
use crate::app::state::{AccountState, Pending, State};
use crate::app::{Action, Effect, conversation, runs};
use crate::domain::{
    AccountId, Command, ConversationCommand, ConversationId, LinkState, LoginNeed, ModelCommand,
    Moment, Severity, Unread, Write,
};
use crate::text::SafeText;

type Pair = (AccountId, ConversationId);

/// Goes to a conversation, ready to write.
pub fn go_to(
    state: &mut State,
    now: Moment,
    account: &AccountId,
    conversation: &ConversationId,
) -> Vec<Effect> {
    state.screen.pane = Pane::Composer;
    state.screen.sidebar.is_over = false;
    state.screen.sidebar.selected = None;
    state.screen.selection = None;
    state.screen.stop_asked = None;
    conversation::focus(state, now, account, conversation)
}

/// Carries out an action.
pub(super) fn perform(state: &mut State, now: Moment, action: Action) -> Vec<Effect> {
    use Action::*;
    match action {
        GoBack => match state.visited.last().cloned() {
            Some((account, id)) => go_to(state, now, &account, &id),
            None => Vec::new(),
        },
        NextConversation => step(state, now, true, |_, _| true),
        PreviousConversation => step(state, now, false, |_, _| true),
        NextUnread => {
            let before = state.focus.clone();
            let effects = step(state, now, true, calls);
            if state.focus == before {
                state.say(Severity::Info, "Nothing is unread.");
            }
            effects
        }
        NextAccount => {
            let here = state.focus.as_ref().map(|(account, _)| account.clone());
            let at = state
                .accounts
                .iter()
                .position(|of| Some(&of.account.id) == here.as_ref());
            let next = at.map_or(0, |at| (at + 1) % state.accounts.len().max(1));
            to_account(state, now, next)
        }
        RetryNow | Disconnect | RemoveAccount | SignIn => match target_account(state) {
            Some(account) => on_account(state, now, &account, action),
            None => Vec::new(),
        },
        StopRun => stop_run(state, now),
        action => match account_number(action) {
            Some(n) => to_account(state, now, n - 1),
            None => on_conversation(state, now, action),
        },
    }
}

/// The conversation an action is for: the one under the cursor of the sidebar, else the one on
/// screen.
fn target(state: &State) -> Option<Pair> {
    if state.screen.pane == Pane::Sidebar
        && let Some(SidebarRow::Conversation(account, id)) = &state.screen.sidebar.selected
    {
        return Some((account.clone(), id.clone()));
    }
    state.focus.clone()
}

/// Whether an address may be one to sign in at: nobody listens in on the way there.
fn is_sign_in_page(url: &str) -> bool {
    let url = url.to_ascii_lowercase();
    let is_here = ["http://127.0.0.1", "http://localhost", "http://[::1]"]
        .iter()
        .filter_map(|start| url.strip_prefix(start))
        .any(|rest| rest.is_empty() || rest.starts_with([':', '/', '?']));
    is_here || url.starts_with("https://")
}

/// The page, what to know before it is opened, and the other ways.
fn ways_to_sign_in(need: &LoginNeed) -> String {
    let mut text = need.url.clone().unwrap_or_default().to_string();
    if !need.hint.is_empty() {
        text = format!("{text}\n\n{}", need.hint);
    }
    for method in &need.methods {
        text = match method.detail.as_str() {
            "" => format!("{text}\n\nOr: {}", method.name),
            detail => format!("{text}\n\nOr: {}: {detail}", method.name),
        };
    }
    text
}

/// The account an action is for: the one under the cursor of the sidebar, else the one on screen,
/// else the first in which a conversation can be begun.
pub(crate) fn target_account(state: &State) -> Option<AccountId> {
    if state.screen.pane == Pane::Sidebar {
        match &state.screen.sidebar.selected {
            Some(
                SidebarRow::Account(account)
                | SidebarRow::Archive(account)
                | SidebarRow::Conversation(account, _),
            ) => return Some(account.clone()),
            Some(SidebarRow::Attention) | None => {}
        }
    }
    state
        .focus
        .as_ref()
        .map(|(account, _)| account.clone())
        .or_else(|| {
            let creates = |of: &&AccountState| of.account.capabilities.create_conversation.is_yes();
            let first = state.accounts.iter().find(creates);
            let first = first.or_else(|| state.accounts.first());
            first.map(|of| of.account.id.clone())
        })
}

/// Whether a conversation calls for the person.
fn calls(state: &State, (account, id): &Pair) -> bool {
    let Some(of) = state.account(account) else {
        return false;
    };
    let waits = of
        .decisions
        .iter()
        .any(|d| d.conversation == *id && d.life.is_open());
    let is_unread = of
        .conversations
        .get(id)
        .is_some_and(|c| c.unread != Unread::None && !c.settings.is_muted);
    waits || is_unread
}

/// The conversations in the order of the sidebar, folded accounts too.
fn in_order(state: &State) -> Vec<Pair> {
    state
        .accounts
        .iter()
        .flat_map(|of| {
            sidebar::ordered(of)
                .0
                .into_iter()
                .map(|id| (of.account.id.clone(), id))
        })
        .collect()
}

/// Goes to the next conversation for which `fits` holds, round the end.
fn step(
    state: &mut State,
    now: Moment,
    is_next: bool,
    fits: impl Fn(&State, &Pair) -> bool,
) -> Vec<Effect> {
    let all = in_order(state);
    let count = all.len();
    let at = state
        .focus
        .as_ref()
        .and_then(|focus| all.iter().position(|pair| pair == focus));
    let found = (1..=count)
        .map(|n| match (at, is_next) {
            (Some(at), true) => (at + n) % count,
            (Some(at), false) => (at + count - n % count) % count,
            (None, true) => n - 1,
            (None, false) => count - n,
        })
        .find(|index| Some(*index) != at && fits(state, &all[*index]));
    match found.and_then(|index| all.get(index).cloned()) {
        Some((account, id)) => {
            let pane = state.screen.pane;
            let effects = go_to(state, now, &account, &id);
            // Walking through conversations in the sidebar leaves the keys there.
            if pane == Pane::Sidebar {
                state.screen.pane = pane;
                state.screen.sidebar.selected = Some(SidebarRow::Conversation(account, id));
            }
            effects
        }
        None => Vec::new(),
    }
}

/// Goes to an account: to the conversation the person was in there last, else its first.
fn to_account(state: &mut State, now: Moment, at: usize) -> Vec<Effect> {
    let Some(of) = state.accounts.get(at) else {
        state.say(
            Severity::Warning,
            format!("There is no account {}.", at.saturating_add(1)),
        );
        return Vec::new();
    };
    let account = of.account.id.clone();
    if state
        .focus
        .as_ref()
        .is_some_and(|(here, _)| *here == account)
    {
        return Vec::new();
    }
    let last = state
        .visited
        .iter()
        .rev()
        .find(|(other, id)| *other == account && of.conversations.contains_key(id))
        .map(|(_, id)| id.clone())
        .or_else(|| sidebar::ordered(of).0.into_iter().next());
    match last {
        Some(id) => go_to(state, now, &account, &id),
        None => {
            let label = of.account.label.clone();
            match of.account.link {
                LinkState::Ready => state.say(
                    Severity::Warning,
                    format!("{label} has no conversation yet; /new begins one."),
                ),
                LinkState::Connecting | LinkState::Syncing => state.say(
                    Severity::Info,
                    format!("{label} is still connecting; nothing of it is here yet."),
                ),
                // Why there is nothing, and what can be done, stands there.
                LinkState::Off
                | LinkState::Waiting { .. }
                | LinkState::Refused { .. }
                | LinkState::NeedsLogin(_) => {
                    popups::open(state, Overlay::Account { account, scroll: 0 });
                }
            }
            Vec::new()
        }
    }
}

/// Stops the active run of the conversation on screen.
pub(super) fn stop_run(state: &mut State, now: Moment) -> Vec<Effect> {
    match state.focus.clone() {
        Some((account, id)) => runs::stop(state, now, &account, &id),
        None => Vec::new(),
    }
}

/// Whether an account is switched off, or stays so until it is connected again.
pub fn is_off(of: &AccountState) -> bool {
    matches!(of.account.link, LinkState::Off | LinkState::Refused { .. })
}

/// Carries out an action on one account.
pub fn on_account(
    state: &mut State,
    _now: Moment,
    account: &AccountId,
    action: Action,
) -> Vec<Effect> {
    let Some(of) = state.account(account) else {
        return Vec::new();
    };
    let label = of.account.label.clone();
    let is_off = is_off(of);
    match action {
        Action::RetryNow => vec![Effect::Link {
            account: account.clone(),
            change: if is_off {
                LinkChange::Connect
            } else {
                LinkChange::RetryNow
            },
        }],
        Action::Disconnect if is_off => vec![Effect::Link {
            account: account.clone(),
            change: LinkChange::Connect,
        }],
        Action::Disconnect => {
            let title = Action::Disconnect.title();
            let keys = match state.keymap.hint_anywhere(Action::Palette) {
                Some(keys) => format!("{keys} “{title}”"),
                None => format!("“{title}”"),
            };
            let words = format!("{label} is off: nothing comes or goes. {keys} connects it again.");
            state.say(Severity::Warning, words);
            vec![Effect::Link {
                account: account.clone(),
                change: LinkChange::Disconnect,
            }]
        }
        Action::RemoveAccount => {
            popups::confirm(
                state,
                &format!("Remove {label}?"),
                "Its secret and what this program keeps of it go too. What the agent keeps \
                 stays.",
                "Remove",
                Confirmed::RemoveAccount(account.clone()),
            );
            Vec::new()
        }
        Action::SignIn => {
            let need = match &of.account.link {
                LinkState::NeedsLogin(need) => Some(need.clone()),
                _ => None,
            };
            match need {
                Some(need)
                    if need
                        .url
                        .as_ref()
                        .is_some_and(|url| !is_sign_in_page(url.as_str())) =>
                {
                    let url = need.url.clone().unwrap_or_default();
                    state.say(
                        Severity::Warning,
                        format!("Not opened, for a page to sign in begins with https://: {url}"),
                    );
                }
                // The page is shown whole and opened only on a key.
                Some(need) if need.url.is_some() => {
                    let url = need.url.clone().unwrap_or_default();
                    popups::confirm(
                        state,
                        "Open the page to sign in?",
                        &ways_to_sign_in(&need),
                        "Open",
                        Confirmed::OpenLink(url.to_string()),
                    );
                }
                _ => popups::push(
                    state,
                    Overlay::Prompt(Prompt {
                        title: SafeText::label(&format!("Secret of {label}")),
                        line: Default::default(),
                        hint: "token or password; it goes to the keyring".into(),
                        error: None,
                        is_secret: true,
                        then: Prompted::Secret(account.clone()),
                    }),
                ),
            }
            Vec::new()
        }
        _ => Vec::new(),
    }
}

fn ask(state: &mut State, title: &'static str, hint: &'static str, old: &str, then: Prompted) {
    popups::push(
        state,
        Overlay::Prompt(Prompt {
            title: title.into(),
            line: crate::app::screen::overlay::Line::new(old),
            hint: hint.into(),
            error: None,
            is_secret: false,
            then,
        }),
    );
}

fn on_conversation(state: &mut State, now: Moment, action: Action) -> Vec<Effect> {
    use Action::*;
    if action == RefreshDirectory {
        return match target_account(state) {
            Some(account) => issue(
                state,
                &account,
                Command::Conversation(ConversationCommand::Refresh),
                Pending::Other("The conversations were not loaded"),
            ),
            None => Vec::new(),
        };
    }
    if action == NewConversation {
        if let Some(account) = target_account(state) {
            ask(
                state,
                "New conversation",
                "its name; may stay empty where it gets one by itself",
                "",
                Prompted::NewConversation(account),
            );
        }
        return Vec::new();
    }
    let Some((account, id)) = target(state) else {
        return Vec::new();
    };
    let Some(of) = state.conversation(&account, &id) else {
        return Vec::new();
    };
    let info = of.info.clone();
    let is_left = of.settings.is_left;
    let name = info.name.clone();
    match action {
        NewThread => {
            // A thread of a thread belongs to the channel.
            let parent = info.parent.unwrap_or(id);
            ask(
                state,
                "New thread",
                "its name",
                "",
                Prompted::NewThread(account, parent),
            );
        }
        RenameConversation => ask(
            state,
            "Rename the conversation",
            "its new name",
            name.as_str(),
            Prompted::Rename(account, id),
        ),
        SetColor => ask(
            state,
            "Colour of the conversation",
            "#88c0d0 or a name; empty takes it away",
            "",
            Prompted::Color(account, id),
        ),
        SetIcon => ask(
            state,
            "Icon of the conversation",
            "path of a small PNG or JPEG; empty takes it away",
            "",
            Prompted::Icon(account, id),
        ),
        DeleteConversation => popups::confirm(
            state,
            &format!("Delete {name}?"),
            match state
                .account(&account)
                .map_or("", |of| of.account.capabilities.delete_note)
            {
                _ if is_left => "It is kept here only. This cannot be undone.",
                "" => "The server deletes it with all its messages. This cannot be undone.",
                note => note,
            },
            "Delete",
            Confirmed::DeleteConversation(account, id),
        ),
        ClearConversation => popups::confirm(
            state,
            &format!("Empty {name}?"),
            "All its messages go, here and where the agent keeps them. This cannot be undone.",
            "Empty",
            Confirmed::ClearConversation(account, id),
        ),
        ToggleFavorite => return toggle_favorite(state, account, id),
        ToggleMute => {
            if let Some(of) = state.conversation_mut(&account, &id) {
                of.settings.is_muted = !of.settings.is_muted;
                let settings = of.settings.clone();
                let words = if settings.is_muted {
                    "Muted: it neither rings nor counts."
                } else {
                    "It rings again."
                };
                state.write(Write::LocalSettings {
                    account,
                    conversation: id,
                    settings,
                });
                state.say(Severity::Done, words);
            }
        }
        ToggleAutomation => {
            return issue(
                state,
                &account,
                Command::Conversation(ConversationCommand::SetAutomation {
                    conversation: id,
                    on: !info.is_automation,
                }),
                Pending::Other("It was not changed"),
            );
        }
        SetDefault => {
            return issue(
                state,
                &account,
                Command::Conversation(ConversationCommand::SetDefault { conversation: id }),
                Pending::Other("The default conversation is as before"),
            );
        }
        MarkRead => return conversation::mark_read(state, now, &account, &id),
        ToggleAutoApprove => return toggle_auto_approve(state, account, id),
        ToggleAutoThread => {
            state.settings.auto_thread = !state.settings.auto_thread;
            let words = if state.settings.auto_thread {
                "Each message in the default conversation opens a thread."
            } else {
                "Messages open no threads."
            };
            state.say(Severity::Done, words);
            return vec![Effect::SaveSetting {
                key: "auto_thread",
                value: state.settings.auto_thread.to_string(),
            }];
        }
        _ => {}
    }
    Vec::new()
}

/// A favourite of the server where it knows favourites, else one of this machine.
fn toggle_favorite(state: &mut State, account: AccountId, id: ConversationId) -> Vec<Effect> {
    let on_server = state
        .account(&account)
        .is_some_and(|of| of.account.capabilities.favorite.is_yes());
    let Some(of) = state.conversation_mut(&account, &id) else {
        return Vec::new();
    };
    if on_server {
        let on = !of.info.is_favorite;
        return issue(
            state,
            &account,
            Command::Conversation(ConversationCommand::SetFavorite {
                conversation: id,
                on,
            }),
            Pending::Other("The favourite was not changed"),
        );
    }
    of.settings.is_pinned = !of.settings.is_pinned;
    let settings = of.settings.clone();
    state.write(Write::LocalSettings {
        account,
        conversation: id,
        settings,
    });
    Vec::new()
}

/// Off at once; on only after a question, since it lets everything through.
fn toggle_auto_approve(state: &mut State, account: AccountId, id: ConversationId) -> Vec<Effect> {
    let label = state
        .account(&account)
        .map_or("", |of| of.account.capabilities.auto_approve_label);
    let label = if label.is_empty() {
        "auto-approve"
    } else {
        label
    };
    let is_on = state
        .conversation(&account, &id)
        .is_some_and(|of| of.auto_approve);
    if is_on {
        return issue(
            state,
            &account,
            Command::Model(ModelCommand::SetAutoApprove {
                conversation: id,
                on: false,
            }),
            Pending::Other("It was not switched off"),
        );
    }
    popups::confirm(
        state,
        &format!("Switch {label} on?"),
        "The agent then acts in this conversation without asking you, until you switch it off.",
        "Switch on",
        Confirmed::AutoApproveOn(account, id),
    );
    Vec::new()
}
