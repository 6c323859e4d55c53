//! What the rest of the shell says: the editor, files, the clipboard, the wizard's checks.

use super::effect::Effect;
use super::event::ShellReply;
use super::screen::overlay::{Overlay, Prompted};
use super::screen::{TappedFrame, attach, drawer, wizard};
use super::state::{Pending, Redraw, State};
use super::{actions, drafts};
use crate::domain::{
    AccountId, Appearance, Command, ConversationCommand, ConversationId, Moment, Severity,
};
use crate::text::SafeText;
use std::path::PathBuf;

/// Frames kept for the inspector.
const TAPPED: usize = 500;
/// Saved files that are named in one toast.
const SAVED_NAMES: usize = 4;

/// Takes one reply.
pub fn on_reply(state: &mut State, now: Moment, reply: ShellReply) -> Vec<Effect> {
    match reply {
        ShellReply::Edited {
            account,
            conversation,
            text,
        } => {
            actions::on_edited(state, &account, &conversation, text);
            drafts::save(state, now, &account, &conversation);
            state.redraw(Redraw::Now);
            vec![Effect::RedrawAll]
        }
        ShellReply::Listing { directory, entries } => {
            drawer::on_listing(state, &directory, entries);
            Vec::new()
        }
        ShellReply::FileInspected { path, facts } => {
            attach::on_inspected(state, &path, facts);
            Vec::new()
        }
        ShellReply::PictureTaken {
            account,
            conversation,
            file,
        } => match file {
            Ok(path) => attach::attach(state, &account, &conversation, path),
            Err(why) => {
                state.say(Severity::Warning, format!("No picture is attached: {why}."));
                Vec::new()
            }
        },
        ShellReply::IconLoaded {
            account,
            conversation,
            icon,
        } => icon_loaded(state, &account, &conversation, icon),
        ShellReply::Copied { how, severity } => {
            state.say(severity, how.as_str());
            Vec::new()
        }
        ShellReply::Opened { what, error } => {
            match error {
                Some(error) => state.say(
                    Severity::Error,
                    format!("{what} could not be opened: {error}"),
                ),
                None => state.say(Severity::Done, format!("Opened {what}.")),
            }
            Vec::new()
        }
        ShellReply::Saved { path, error } => {
            match error {
                Some(error) => state.say(Severity::Error, format!("Not saved: {error}")),
                None => saved(state, path),
            }
            Vec::new()
        }
        ShellReply::AccountChecked { account, result } => {
            wizard::on_checked(state, &account, result);
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
            if state.is_inspected() {
                state.redraw(Redraw::Paced);
            }
            Vec::new()
        }
        ShellReply::Diagnosed(page) => {
            actions::on_diagnosed(state, page);
            Vec::new()
        }
        ShellReply::Reloaded { warnings } => {
            if warnings.is_empty() {
                state.say(Severity::Done, "The configuration was read again.");
            }
            for warning in warnings {
                state.say(Severity::Warning, warning.as_str());
            }
            Vec::new()
        }
    }
}

/// An icon goes to the server together with the colour, which would be cleared without it.
/// One toast for all files that were saved in a row.
fn saved(state: &mut State, path: PathBuf) {
    let before = SafeText::prose(&saved_words(&state.screen.saved));
    let toasts = &mut state.screen.toasts;
    match toasts.iter().position(|toast| toast.text == before) {
        Some(standing) => {
            toasts.remove(standing);
        }
        None => state.screen.saved.clear(),
    }
    state.screen.saved.push(path);
    let words = saved_words(&state.screen.saved);
    state.say(Severity::Done, words);
}

fn saved_words(files: &[PathBuf]) -> String {
    let Some(last) = files.last() else {
        return String::new();
    };
    if files.len() == 1 {
        return format!("Saved as {}.", last.display());
    }
    let folder = last.parent().map(|folder| folder.display().to_string());
    let names: Vec<String> = files
        .iter()
        .filter_map(|file| file.file_name())
        .take(SAVED_NAMES)
        .map(|name| name.to_string_lossy().into_owned())
        .collect();
    let more = match files.len() - names.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!(
        "Saved {} files in {}: {}{more}.",
        files.len(),
        folder.unwrap_or_default(),
        names.join(", ")
    )
}

fn icon_loaded(
    state: &mut State,
    account: &AccountId,
    id: &ConversationId,
    icon: Result<std::sync::Arc<[u8]>, SafeText>,
) -> Vec<Effect> {
    let asked = state.screen.overlays.iter().position(|overlay| {
        matches!(overlay, Overlay::Prompt(prompt)
            if matches!(&prompt.then, Prompted::Icon(of, place) if of == account && place == id))
    });
    match icon {
        Err(reason) => {
            let words = format!("The icon could not be read: {reason}");
            match asked.and_then(|at| state.screen.overlays.get_mut(at)) {
                Some(Overlay::Prompt(prompt)) => {
                    prompt.error = Some(SafeText::prose(&words));
                    state.redraw(Redraw::Now);
                }
                _ => state.say(Severity::Error, words),
            }
            Vec::new()
        }
        Ok(icon) => {
            if let Some(at) = asked {
                state.screen.overlays.remove(at);
            }
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
                Pending::Told("The icon was not set", "The icon is set."),
            )
        }
    }
}
