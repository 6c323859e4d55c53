//! What the rest of the shell says: the editor, files, the clipboard, the wizard's checks.

use super::drafts;
use super::effect::Effect;
use super::event::{FileFacts, ListedFile, ShellReply};
use super::screen::TappedFrame;
use super::screen::drawer::DrawerKind;
use super::screen::overlay::Overlay;
use super::state::{Pending, Redraw, State};
use crate::domain::{
    AccountId, Appearance, Command, ConversationCommand, ConversationId, Moment, Severity,
};
use crate::text::SafeText;
use std::path::{Path, PathBuf};

/// Frames kept for the inspector.
const TAPPED: usize = 500;

/// Takes one reply.
pub fn on_reply(state: &mut State, now: Moment, reply: ShellReply) -> Vec<Effect> {
    match reply {
        ShellReply::Edited {
            account,
            conversation,
            text,
        } => {
            if let Some(text) = text
                && let Some(here) = state.conversation_mut(&account, &conversation)
            {
                // Editors end a file with a line break that nobody typed.
                let text = text.strip_suffix('\n').unwrap_or(&text);
                here.composer.put(text, text.len());
                drafts::save(state, now, &account, &conversation);
            }
            state.redraw(Redraw::Now);
            vec![Effect::RedrawAll]
        }
        ShellReply::Listing { directory, entries } => {
            listed(state, &directory, entries);
            Vec::new()
        }
        ShellReply::FileInspected { path, facts } => {
            inspected(state, &path, facts);
            Vec::new()
        }
        ShellReply::IconLoaded {
            account,
            conversation,
            icon,
        } => icon_loaded(state, &account, &conversation, icon),
        ShellReply::Copied { how, certain } => {
            let words = if certain {
                format!("Copied ({how}).")
            } else {
                format!(
                    "Sent to the clipboard ({how}); the terminal does not say whether it took it."
                )
            };
            state.say(Severity::Info, words);
            Vec::new()
        }
        ShellReply::Opened { what, error } => {
            match error {
                Some(error) => state.say(
                    Severity::Error,
                    format!("{what} could not be opened: {error}"),
                ),
                None => state.say(Severity::Info, format!("Opened {what}.")),
            }
            Vec::new()
        }
        ShellReply::Saved { path, error } => {
            match error {
                Some(error) => state.say(Severity::Error, format!("Not saved: {error}")),
                None => state.say(Severity::Info, format!("Saved as {}.", path.display())),
            }
            Vec::new()
        }
        ShellReply::AccountChecked { account, result } => {
            checked(state, account, result);
            Vec::new()
        }
        ShellReply::Highlighted | ShellReply::PictureReady => {
            state.redraw(Redraw::Paced);
            Vec::new()
        }
        ShellReply::Tapped {
            account,
            outgoing,
            at,
            frame,
        } => {
            let tapped = &mut state.screen.tapped;
            tapped.push_back(TappedFrame {
                account,
                outgoing,
                at,
                frame,
            });
            while tapped.len() > TAPPED {
                tapped.pop_front();
            }
            let is_watched = state
                .screen
                .overlays
                .iter()
                .any(|overlay| matches!(overlay, Overlay::Inspector { .. }));
            if is_watched {
                state.redraw(Redraw::Paced);
            }
            Vec::new()
        }
        ShellReply::Reloaded { warnings } => {
            if warnings.is_empty() {
                state.say(Severity::Info, "The configuration was read again.");
            }
            for warning in warnings {
                state.say(Severity::Warning, warning.as_str());
            }
            Vec::new()
        }
    }
}

/// An icon goes to the server together with the colour, which would be cleared without it.
fn icon_loaded(
    state: &mut State,
    account: &AccountId,
    id: &ConversationId,
    icon: Result<std::sync::Arc<[u8]>, SafeText>,
) -> Vec<Effect> {
    match icon {
        Err(reason) => {
            state.say(
                Severity::Error,
                format!("The icon could not be read: {reason}"),
            );
            Vec::new()
        }
        Ok(icon) => {
            let Some(here) = state.conversation(account, id) else {
                return Vec::new();
            };
            let appearance = Appearance {
                color: here.info.appearance.color,
                icon: Some(icon),
            };
            super::issue(
                state,
                account,
                Command::Conversation(ConversationCommand::SetAppearance {
                    conversation: id.clone(),
                    appearance,
                }),
                Pending::Other("The icon was not set"),
            )
        }
    }
}

/// What lies in a directory, for the list of paths that asked for it.
fn listed(state: &mut State, directory: &str, found: Vec<ListedFile>) {
    let Some((account, id)) = state.focus.clone() else {
        return;
    };
    let Some(here) = state.conversation_mut(&account, &id) else {
        return;
    };
    if let Some(drawer) = &mut here.composer.drawer
        && let DrawerKind::Paths {
            directory: asked,
            entries,
            is_loading,
            ..
        } = &mut drawer.kind
        && asked == directory
    {
        *entries = found;
        *is_loading = false;
        state.redraw(Redraw::Now);
    }
}

/// A file that hangs on a draft was looked at; one that cannot be read comes off.
fn inspected(state: &mut State, path: &Path, facts: Result<FileFacts, SafeText>) {
    let mut refused = None;
    for of in &mut state.accounts {
        for here in of.conversations.values_mut() {
            let composer = &mut here.composer;
            match &facts {
                Ok(facts) => {
                    for file in &mut composer.files {
                        if file.path == path {
                            file.facts = Some(facts.clone());
                        }
                    }
                }
                Err(reason) => {
                    let before = composer.files.len();
                    composer.files.retain(|file| file.path != path);
                    if composer.files.len() != before {
                        refused = Some((PathBuf::from(path), reason.clone()));
                    }
                }
            }
        }
    }
    if let Some((path, reason)) = refused {
        state.say(
            Severity::Error,
            format!("{} cannot be attached: {reason}", path.display()),
        );
    }
    state.redraw(Redraw::Now);
}

fn checked(state: &mut State, account: AccountId, result: Result<SafeText, SafeText>) {
    let wizard = state
        .screen
        .overlays
        .iter_mut()
        .find_map(|overlay| match overlay {
            Overlay::Wizard(wizard) => Some(wizard),
            _ => None,
        });
    match wizard {
        Some(wizard) => {
            wizard.is_checking = false;
            wizard.result = Some(result);
            state.redraw(Redraw::Now);
        }
        None => match result {
            Ok(words) => state.say(Severity::Info, words.as_str()),
            Err(words) => state.say(
                Severity::Error,
                format!("{}: {words}", SafeText::label(account.as_str())),
            ),
        },
    }
}
