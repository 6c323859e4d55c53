//! Opening popups, and the switches of the screen.

use crate::app::commands::issue;
use crate::app::decisions;
use crate::app::screen::overlay::{List, Overlay, Prompt, Prompted};
use crate::app::screen::{Pane, decision, popups, search, sidebar, wizard};
use crate::app::state::{Pending, State};
use crate::app::{Action, Effect};
use crate::domain::{AccountId, Command, ModelCommand, Moment, Severity, Write};
use crate::text::SafeText;

/// Width of the sidebar before the person changed it, and its bounds.
const SIDEBAR: u16 = 24;
const SIDEBAR_LEAST: u16 = 14;
const SIDEBAR_MOST: u16 = 60;

/// The title of the page that says what works here.
const DOCTOR: &str = "What works here";

/// The page is there; it goes into its popup, if that is still open.
pub(crate) fn on_diagnosed(state: &mut State, page: SafeText) {
    if let Some(Overlay::Document { title, body, .. }) = state.screen.overlays.last_mut()
        && title.as_str() == DOCTOR
    {
        *body = page;
        state.redraw(crate::app::state::Redraw::Now);
    }
}

/// Carries out an action.
pub(super) fn perform(state: &mut State, now: Moment, action: Action) -> Vec<Effect> {
    use Action::*;
    match action {
        OpenDecision => return open_decision(state, now),
        SearchHere => return search::open(state, true),
        SearchEverywhere => return search::open(state, false),
        ToggleFooter => return toggle_footer(state),
        ToggleMouse => {
            state.settings.mouse = !state.settings.mouse;
            return saved("mouse", state.settings.mouse);
        }
        ToggleMotion => {
            state.settings.reduced_motion = !state.settings.reduced_motion;
            return saved("reduced_motion", state.settings.reduced_motion);
        }
        ToggleSidebar => toggle_sidebar(state),
        WiderSidebar => widen(state, 2),
        NarrowerSidebar => widen(state, -2),
        Zen => {
            state.screen.is_zen = !state.screen.is_zen;
            state.screen.pane = Pane::Composer;
        }
        BareView => {
            state.screen.is_bare = !state.screen.is_bare;
            state.screen.selection = None;
            if state.screen.is_bare {
                state.say(
                    Severity::Info,
                    "Plain text: select with the terminal's own mouse; Esc leaves.",
                );
            }
        }
        ShowTodos => state.screen.todos_open = !state.screen.todos_open,
        AddAccount => {
            if state.kinds.is_empty() {
                state.say(
                    Severity::Info,
                    "Accounts are added with `trialogue account add`.",
                );
            } else {
                wizard::open(state);
            }
        }
        Attention => {
            if decisions::waiting(state).is_empty() {
                state.say(Severity::Info, "Nothing waits for you.");
            } else {
                popups::open(
                    state,
                    Overlay::Attention {
                        list: List::default(),
                    },
                );
            }
        }
        Palette => popups::open(
            state,
            Overlay::Palette {
                filter: Default::default(),
                list: List::default(),
            },
        ),
        Switcher => popups::open(
            state,
            Overlay::Switcher {
                filter: Default::default(),
                list: List::default(),
            },
        ),
        Help => popups::open(
            state,
            Overlay::Help {
                scroll: 0,
                filter: Default::default(),
            },
        ),
        Doctor => {
            popups::open(
                state,
                Overlay::Document {
                    title: DOCTOR.into(),
                    body: "Looking at terminal, clipboard, secrets, files and accounts.".into(),
                    scroll: 0,
                },
            );
            return vec![Effect::Doctor];
        }
        Inspector => popups::open(
            state,
            Overlay::Inspector {
                filter: Default::default(),
                list: List::default(),
            },
        ),
        Theme => {
            let before = state.settings.theme.clone();
            let selected = state
                .themes
                .iter()
                .position(|name| *name == before)
                .unwrap_or(0);
            popups::open(
                state,
                Overlay::Theme {
                    list: List {
                        selected,
                        scroll: 0,
                    },
                    before,
                },
            );
        }
        action => return about_conversation(state, action),
    }
    Vec::new()
}

/// Whether a conversation of the account has a model as a part of its profile alone.
pub(crate) fn has_profile_only(state: &State, account: &AccountId) -> bool {
    state.account(account).is_some_and(|of| {
        let can = &of.account.capabilities;
        !can.models.is_yes() && can.profile.is_yes()
    })
}

fn saved(key: &'static str, value: bool) -> Vec<Effect> {
    vec![Effect::SaveSetting {
        key,
        value: value.to_string(),
    }]
}

/// The oldest decision that waits here; with none here the list of all.
fn open_decision(state: &mut State, now: Moment) -> Vec<Effect> {
    let here = decisions::waiting_here(state).into_iter().next();
    match here {
        Some((account, id)) => decision::open(state, now, &account, &id),
        None => perform(state, now, Action::Attention),
    }
}

/// Popups about the conversation or the account on screen.
fn about_conversation(state: &mut State, action: Action) -> Vec<Effect> {
    use Action::*;
    if action == AccountDetails {
        let account = state
            .focus
            .as_ref()
            .map(|(account, _)| account.clone())
            .or_else(|| state.accounts.first().map(|of| of.account.id.clone()));
        let account = match (&state.screen.pane, &state.screen.sidebar.selected) {
            (Pane::Sidebar, Some(crate::app::screen::SidebarRow::Account(id))) => Some(id.clone()),
            _ => account,
        };
        if let Some(account) = account {
            popups::open(state, Overlay::Account { account, scroll: 0 });
        }
        return Vec::new();
    }
    let Some((account, conversation)) = state.focus.clone() else {
        return Vec::new();
    };
    let list = List::default();
    // Where models are no list of the server, they stand in the profile of the conversation.
    let action = match action {
        Models if has_profile_only(state, &account) => Profile,
        other => other,
    };
    match action {
        Models => {
            popups::open(
                state,
                Overlay::Models {
                    account: account.clone(),
                    conversation: conversation.clone(),
                    filter: Default::default(),
                    list,
                    for_all: false,
                    catalog: None,
                },
            );
            popups::to_current(state);
            return load_models(state, account, conversation);
        }
        Effort => {
            let has_levels = state
                .account(&account)
                .is_some_and(|of| !of.models.efforts.is_empty());
            popups::open(
                state,
                Overlay::Effort {
                    account: account.clone(),
                    conversation: conversation.clone(),
                    list,
                    for_all: false,
                },
            );
            popups::to_current(state);
            let can_load = state
                .account(&account)
                .is_some_and(|of| of.account.capabilities.models.is_yes());
            if !has_levels && can_load {
                return load_models(state, account, conversation);
            }
        }
        Profile => {
            popups::open(
                state,
                Overlay::Profile {
                    account,
                    conversation,
                    list,
                },
            );
            popups::to_current(state);
        }
        MediaList => popups::open(
            state,
            Overlay::Media {
                account,
                conversation,
                list,
            },
        ),
        ShowQueue => {
            let is_empty = state
                .account(&account)
                .is_none_or(|of| of.outbox.iter().all(|row| row.conversation != conversation));
            if is_empty {
                state.say(Severity::Info, "Nothing waits to be sent here.");
            } else {
                popups::open(
                    state,
                    Overlay::Queue {
                        account,
                        conversation,
                        list,
                    },
                );
            }
        }
        ServerFunctions => popups::open(state, Overlay::Functions { account, list }),
        GoToDate => popups::push(
            state,
            Overlay::Prompt(Prompt {
                title: "Go to a date".into(),
                line: Default::default(),
                hint: "2026-08-31, 31.8., today, yesterday, 3 days, monday".into(),
                error: None,
                is_secret: false,
                then: Prompted::JumpToDate(account, conversation),
            }),
        ),
        _ => {}
    }
    Vec::new()
}

fn load_models(
    state: &mut State,
    account: crate::domain::AccountId,
    conversation: crate::domain::ConversationId,
) -> Vec<Effect> {
    issue(
        state,
        &account,
        Command::Model(ModelCommand::LoadCatalog {
            conversation: Some(conversation),
        }),
        Pending::Other("The list of models was not loaded"),
    )
}

fn toggle_sidebar(state: &mut State) {
    let is_narrow = state.screen.columns < 90;
    let bar = &mut state.screen.sidebar;
    if is_narrow || state.screen.is_zen {
        bar.is_over = !bar.is_over;
        state.screen.pane = if bar.is_over {
            Pane::Sidebar
        } else {
            Pane::Composer
        };
        return;
    }
    let is_shown = bar.is_shown.unwrap_or(true);
    bar.is_shown = Some(!is_shown);
    if is_shown && state.screen.pane == Pane::Sidebar {
        state.screen.pane = Pane::Composer;
    }
    state.write(Write::Ui {
        name: sidebar::SHOWN.to_owned(),
        value: if is_shown { "hidden" } else { "shown" }.to_owned(),
    });
}

fn widen(state: &mut State, by: i32) {
    let columns = i32::from(state.screen.sidebar.columns.unwrap_or(SIDEBAR)) + by;
    set_width(state, u16::try_from(columns.max(0)).unwrap_or(SIDEBAR));
}

/// Sets the width of the sidebar within its bounds.
pub(crate) fn set_width(state: &mut State, columns: u16) {
    let most = SIDEBAR_MOST.min(state.screen.columns.saturating_sub(30));
    let columns = columns.clamp(SIDEBAR_LEAST, most.max(SIDEBAR_LEAST));
    if state.screen.sidebar.columns != Some(columns) {
        state.screen.sidebar.columns = Some(columns);
        state.write(Write::Ui {
            name: sidebar::COLUMNS.to_owned(),
            value: columns.to_string(),
        });
    }
}

/// All parts of the line under an answer, or none.
fn toggle_footer(state: &mut State) -> Vec<Effect> {
    let settings = &mut state.settings;
    let is_shown = settings.show_model
        || settings.show_context
        || settings.show_directory
        || settings.show_latency
        || settings.show_cost;
    for part in [
        &mut settings.show_model,
        &mut settings.show_context,
        &mut settings.show_directory,
        &mut settings.show_latency,
        &mut settings.show_cost,
    ] {
        *part = !is_shown;
    }
    let words = if is_shown {
        "The line under answers is off."
    } else {
        "The line under answers is on."
    };
    state.say(Severity::Done, SafeText::from(words));
    [
        "show_model",
        "show_context",
        "show_directory",
        "show_latency",
        "show_cost",
    ]
    .into_iter()
    .flat_map(|key| saved(key, !is_shown))
    .collect()
}
