//! What happens when a row of a list is chosen.

use super::overlay::{Confirmed, Line, List, Overlay, Prompt, Prompted};
use super::popups::{self, close_all, push};
use super::rows::{self, Then};
use super::{Pane, decision, search, source, wizard};
use crate::app::commands::issue;
use crate::app::state::{MediaThen, Pending, State};
use crate::app::{Effect, actions, media};
use crate::domain::{
    AccountId, Command, ConversationId, Entry, Lookup, ModelChoice, ModelCommand, Moment, Scope,
    ServerChoice,
};
use crate::text::SafeText;

/// Inputs that are fetched at once.
const INPUTS: usize = 200;

/// Carries out what a row stands for.
pub fn choose(state: &mut State, now: Moment, then: Then) -> Vec<Effect> {
    match then {
        Then::Nothing => Vec::new(),
        Then::Perform(action) => {
            // The menu of an entry acts on the entry, which stays selected below it.
            close_all(state);
            actions::perform(state, now, action)
        }
        Then::Decision(account, id) => decision::open(state, now, &account, &id),
        Then::Focus(account, id) => {
            close_all(state);
            actions::go_to(state, now, &account, &id)
        }
        Then::Hit(account, hit) => search::go_to_hit(state, now, &account, &hit),
        Then::Model(choice) => set_model(state, choice),
        Then::ModelFreeText => {
            if let Some((account, id)) = state.focus.clone() {
                push(
                    state,
                    Overlay::Prompt(Prompt {
                        title: "Model".into(),
                        line: Default::default(),
                        hint: "its exact name".into(),
                        error: None,
                        is_secret: false,
                        then: Prompted::ModelFreeText(account, id),
                    }),
                );
            }
            Vec::new()
        }
        Then::Effort(level) => set_effort(state, level),
        Then::Attachment(account, id) => media::fetch(state, now, &account, &id, MediaThen::Open),
        Then::Queued(account, key) => popups::send_queued(state, now, &account, key),
        Then::Theme(name) => {
            state.settings.theme.clone_from(&name);
            // What Esc would go back to is given up.
            state.screen.overlays.pop();
            vec![Effect::SaveSetting {
                key: "theme",
                value: name,
            }]
        }
        Then::Kind(at) => {
            wizard::choose_kind(state, at);
            Vec::new()
        }
        Then::Demo => vec![Effect::Demo],
        Then::Input(text) => {
            close_all(state);
            if let Some((account, id)) = state.focus.clone()
                && let Some(of) = state.conversation_mut(&account, &id)
            {
                of.composer.put(&text, text.len());
            }
            state.screen.pane = Pane::Composer;
            Vec::new()
        }
        Then::Function(account, name, hint) => function(state, account, name, hint),
        Then::Choice(account, row) => {
            let ServerChoice {
                label,
                function,
                subject,
                argument_hint,
                ..
            } = *row;
            if argument_hint.is_empty() {
                close_all(state);
                return invoke(state, &account, function, subject, String::new());
            }
            ask_argument(state, account, label, function, subject, argument_hint);
            Vec::new()
        }
        Then::Code(key, at) => {
            let block = rows::entry(state, key)
                .and_then(Entry::message)
                .and_then(|message| {
                    source::code_blocks(message.body.text().as_str())
                        .into_iter()
                        .nth(at)
                });
            popups::close_top(state);
            match block {
                Some((_, body)) => vec![Effect::Copy(SafeText::prose(&body))],
                None => Vec::new(),
            }
        }
        Then::Link(link) => {
            ask_link(state, link);
            Vec::new()
        }
        Then::Adapter(adapter) => set_profile(state, Some(adapter), None, None),
        Then::ProfileModel(model) => set_profile(state, None, Some(model), None),
        Then::ProfileDirectory => {
            if let Some((account, id)) = state.focus.clone() {
                let text = state
                    .conversation(&account, &id)
                    .and_then(|of| of.profile.as_ref())
                    .map_or_else(String::new, |profile| profile.directory.to_string());
                let caret = text.len();
                push(
                    state,
                    Overlay::Prompt(Prompt {
                        title: "Working folder".into(),
                        line: Line { text, caret },
                        hint: "its whole path on the machine of the agent".into(),
                        error: None,
                        is_secret: false,
                        then: Prompted::ProfileDirectory(account, id),
                    }),
                );
            }
            Vec::new()
        }
        Then::Text(title, body) => {
            push(
                state,
                Overlay::Document {
                    title,
                    body,
                    scroll: 0,
                },
            );
            Vec::new()
        }
    }
}

/// Shows a link whole before it is opened.
pub fn ask_link(state: &mut State, link: String) {
    let text = SafeText::prose(&link);
    popups::confirm(
        state,
        "Open this link?",
        text.as_str(),
        "Open",
        Confirmed::OpenLink(link),
    );
}

fn function(
    state: &mut State,
    account: AccountId,
    name: String,
    hint: &'static str,
) -> Vec<Effect> {
    if hint.is_empty() {
        close_all(state);
        return invoke(state, &account, name, None, String::new());
    }
    let title = state
        .account(&account)
        .and_then(|of| {
            let functions = &of.account.capabilities.functions;
            functions.iter().find(|function| function.name == name)
        })
        .map_or_else(
            || SafeText::label(&name),
            |known| SafeText::from(known.title),
        );
    ask_argument(state, account, title, name, None, hint);
    Vec::new()
}

fn ask_argument(
    state: &mut State,
    account: AccountId,
    title: SafeText,
    function: String,
    subject: Option<String>,
    hint: &'static str,
) {
    push(
        state,
        Overlay::Prompt(Prompt {
            title,
            line: Default::default(),
            hint: SafeText::from(hint),
            error: None,
            is_secret: false,
            then: Prompted::FunctionArgument(account, function, subject),
        }),
    );
}

/// Asks the server for one of its functions.
pub fn invoke(
    state: &mut State,
    account: &AccountId,
    function: String,
    subject: Option<String>,
    argument: String,
) -> Vec<Effect> {
    let conversation = state
        .focus
        .as_ref()
        .filter(|(focused, _)| focused == account)
        .map(|(_, conversation)| conversation.clone());
    issue(
        state,
        account,
        Command::Invoke {
            function,
            conversation,
            subject,
            argument,
        },
        Pending::Other("It was not done"),
    )
}

/// For what a choice holds: for everything where the person said so, or where the server knows
/// nothing else.
fn scope(
    state: &State,
    account: &AccountId,
    conversation: &ConversationId,
    for_all: bool,
) -> Scope {
    let is_per_conversation = state
        .account(account)
        .is_some_and(|of| of.account.capabilities.models_per_conversation.is_yes());
    if for_all || !is_per_conversation {
        Scope::Account
    } else {
        Scope::Conversation(conversation.clone())
    }
}

fn set_model(state: &mut State, choice: ModelChoice) -> Vec<Effect> {
    let Some(Overlay::Models {
        account,
        conversation,
        for_all,
        ..
    }) = state.screen.overlays.last()
    else {
        return Vec::new();
    };
    let (account, conversation, for_all) = (account.clone(), conversation.clone(), *for_all);
    let scope = scope(state, &account, &conversation, for_all);
    close_all(state);
    let pending = model_pending(&scope);
    issue(
        state,
        &account,
        Command::Model(ModelCommand::SetModel { choice, scope }),
        pending,
    )
}

/// Sets a model by a name that is not listed.
pub fn set_model_by_name(
    state: &mut State,
    account: &AccountId,
    conversation: &ConversationId,
    model: &str,
) -> Vec<Effect> {
    let has_profile = state
        .account(account)
        .is_some_and(|of| of.account.capabilities.profile.is_yes());
    let is_profile = state
        .screen
        .overlays
        .iter()
        .any(|overlay| matches!(overlay, Overlay::Profile { .. }));
    if has_profile && is_profile {
        return set_profile(state, None, Some(model.to_owned()), None);
    }
    let for_all = state
        .screen
        .overlays
        .iter()
        .any(|overlay| matches!(overlay, Overlay::Models { for_all: true, .. }));
    let scope = scope(state, account, conversation, for_all);
    close_all(state);
    let pending = model_pending(&scope);
    issue(
        state,
        account,
        Command::Model(ModelCommand::SetModel {
            choice: ModelChoice {
                model: model.to_owned(),
                provider: None,
            },
            scope,
        }),
        pending,
    )
}

/// What is set for all may change nothing on this screen, so it is told.
fn model_pending(scope: &Scope) -> Pending {
    const REFUSED: &str = "The model was not changed";
    match scope {
        Scope::Account => Pending::Told(
            REFUSED,
            "It is the model of every conversation without one of its own.",
        ),
        Scope::Conversation(_) => Pending::Other(REFUSED),
    }
}

fn set_effort(state: &mut State, level: String) -> Vec<Effect> {
    let Some(Overlay::Effort {
        account,
        conversation,
        for_all,
        ..
    }) = state.screen.overlays.last()
    else {
        return Vec::new();
    };
    let (account, conversation, for_all) = (account.clone(), conversation.clone(), *for_all);
    const REFUSED: &str = "The reasoning effort was not changed";
    let (scope, pending) = if for_all {
        let words = "It is the effort of every conversation without one of its own.";
        (Scope::Account, Pending::Told(REFUSED, words))
    } else {
        (Scope::Conversation(conversation), Pending::Other(REFUSED))
    };
    close_all(state);
    issue(
        state,
        &account,
        Command::Model(ModelCommand::SetEffort { level, scope }),
        pending,
    )
}

/// Changes with what, and where, the conversation on screen is carried out.
pub fn set_profile(
    state: &mut State,
    adapter: Option<String>,
    model: Option<String>,
    directory: Option<String>,
) -> Vec<Effect> {
    let Some((account, conversation)) = state.focus.clone() else {
        return Vec::new();
    };
    close_all(state);
    issue(
        state,
        &account,
        Command::Model(ModelCommand::SetProfile {
            conversation,
            adapter,
            model,
            directory,
        }),
        Pending::Other("The profile was not changed"),
    )
}

/// Opens the search in earlier inputs.
pub fn open_inputs(state: &mut State) -> Vec<Effect> {
    popups::open(
        state,
        Overlay::Inputs {
            filter: Default::default(),
            list: List::default(),
            texts: Vec::new(),
            everywhere: true,
        },
    );
    look_for_inputs(state)
}

/// Asks the store for the inputs the open popup wants. All that contain the longest word are
/// fetched; the filter does the rest.
pub fn look_for_inputs(state: &mut State) -> Vec<Effect> {
    let Some(Overlay::Inputs {
        filter, everywhere, ..
    }) = state.screen.overlays.last()
    else {
        return Vec::new();
    };
    let containing = longest_word(&filter.text);
    let place = state.focus.clone().filter(|_| !*everywhere);
    let (account, conversation) = match place {
        Some((account, conversation)) => (Some(account), Some(conversation)),
        None => (None, None),
    };
    vec![Effect::Look(Lookup::Inputs {
        account,
        conversation,
        containing,
        limit: INPUTS,
    })]
}

fn longest_word(filter: &str) -> String {
    // A fuzzy filter need not stand in the text as it is, so short ones do not narrow the store's
    // answer.
    filter
        .split_whitespace()
        .filter(|word| word.len() >= 6)
        .max_by_key(|word| word.len())
        .unwrap_or("")
        .to_owned()
}

/// Takes inputs that the store found: for the open popup, else for the composer that waits.
pub fn on_inputs(state: &mut State, containing: &str, found: Vec<String>) {
    if let Some(Overlay::Inputs { filter, texts, .. }) = state.screen.overlays.last_mut() {
        if longest_word(&filter.text) == containing {
            *texts = found;
        }
        state.redraw(crate::app::state::Redraw::Now);
        return;
    }
    let Some((account, id)) = state.focus.clone() else {
        return;
    };
    if let Some(of) = state.conversation_mut(&account, &id)
        && of.composer.awaits_inputs
    {
        of.composer.awaits_inputs = false;
        of.composer.learn_inputs(found);
        of.composer.older();
        state.redraw(crate::app::state::Redraw::Now);
    }
}
