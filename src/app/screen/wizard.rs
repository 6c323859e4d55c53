//! Adding an account: the kind, its fields, a check over the wire, and only then saving.

use super::overlay::{Line, Overlay, Wizard};
use super::popups;
use crate::app::effect::AccountEffect;
use crate::app::state::{AccountKind, State};
use crate::app::{Action, Effect};
use crate::domain::{AccountId, Secret};
use crate::text::SafeText;

/// Opens the wizard; with one kind of account it goes on to its fields.
pub fn open(state: &mut State) {
    popups::push(state, Overlay::Wizard(Box::default()));
}

fn top_mut(state: &mut State) -> Option<&mut Wizard> {
    match state.screen.overlays.last_mut() {
        Some(Overlay::Wizard(wizard)) => Some(wizard),
        _ => None,
    }
}

/// Goes on to the fields of a kind.
pub fn choose_kind(state: &mut State, at: usize) {
    let Some(fields) = state.kinds.get(at).map(|kind| kind.fields.len()) else {
        return;
    };
    if let Some(wizard) = top_mut(state) {
        wizard.kind = Some(at);
        wizard.fields = vec![Line::default(); fields];
        wizard.focused = 0;
        wizard.result = None;
    }
}

/// Carries out an action in the fields. Behind the last field stands the button: it checks, and
/// after a good check it saves.
pub fn perform(state: &mut State, action: Action) -> Vec<Effect> {
    let kinds = state.kinds.clone();
    let Some(wizard) = top_mut(state) else {
        return Vec::new();
    };
    let button = wizard.fields.len();
    match action {
        Action::Escape => {
            if wizard.is_checking {
                wizard.is_checking = false;
            } else {
                wizard.kind = None;
            }
            Vec::new()
        }
        Action::Next => {
            wizard.focused = if wizard.focused >= button {
                0
            } else {
                wizard.focused + 1
            };
            Vec::new()
        }
        Action::Previous => {
            wizard.focused = wizard.focused.checked_sub(1).unwrap_or(button);
            Vec::new()
        }
        Action::Accept if wizard.focused < button => {
            wizard.focused += 1;
            Vec::new()
        }
        Action::Accept => match wizard.kind.and_then(|at| kinds.get(at)) {
            Some(kind) => press(wizard, kind),
            None => Vec::new(),
        },
        action => {
            if let Some(line) = wizard.fields.get_mut(wizard.focused) {
                let before = line.text.clone();
                line.edit(action);
                if line.text != before {
                    wizard.result = None;
                }
            }
            Vec::new()
        }
    }
}

fn press(wizard: &mut Wizard, kind: &AccountKind) -> Vec<Effect> {
    if wizard.is_checking {
        return Vec::new();
    }
    let missing = kind
        .fields
        .iter()
        .zip(&wizard.fields)
        .position(|(field, line)| field.is_required && line.text.trim().is_empty());
    if let Some(at) = missing {
        wizard.focused = at;
        wizard.result = Some(Err(SafeText::label(&format!(
            "{} is needed.",
            kind.fields[at].title
        ))));
        return Vec::new();
    }
    let mut fields = vec![("kind".to_owned(), kind.name.clone())];
    let mut secret = None;
    for (field, line) in kind.fields.iter().zip(&wizard.fields) {
        let text = line.text.trim().to_owned();
        if field.is_secret {
            secret = (!text.is_empty()).then(|| Secret::new(text));
        } else if !text.is_empty() {
            fields.push((field.name.clone(), text));
        }
    }
    wizard.is_checking = true;
    vec![Effect::Account(match wizard.result {
        Some(Ok(_)) => AccountEffect::Add { fields, secret },
        _ => AccountEffect::Check { fields, secret },
    })]
}

/// Takes the end of a check, or of saving, after which the wizard closes.
pub fn on_checked(state: &mut State, account: &AccountId, result: Result<SafeText, SafeText>) {
    let is_known = state.account(account).is_some();
    let Some(at) = state
        .screen
        .overlays
        .iter()
        .position(|overlay| matches!(overlay, Overlay::Wizard(wizard) if wizard.is_checking))
    else {
        return;
    };
    if let Some(Overlay::Wizard(wizard)) = state.screen.overlays.get_mut(at) {
        let was_saving = matches!(wizard.result, Some(Ok(_)));
        wizard.is_checking = false;
        if result.is_err() || !(was_saving || is_known) {
            wizard.focused = wizard.fields.len();
            wizard.result = Some(result);
            state.redraw(crate::app::state::Redraw::Now);
            return;
        }
    }
    popups::close_all(state);
    if let Ok(words) = result {
        state.say(crate::domain::Severity::Done, words);
    }
}
