//! The keys of a popup at the bottom of its frame: the first and the way out always, the others as
//! far as there is room.

use super::frame_bottom;
use crate::app::Action;
use crate::app::actions::context;
use crate::app::decisions::waiting;
use crate::app::keymap::{Context, hinted};
use crate::app::screen::decision::is_refusing;
use crate::app::screen::overlay::Overlay;
use crate::app::screen::search;
use crate::app::state::State;
use crate::domain::LinkState;
use crate::text::width;
use crate::view::canvas::Canvas;
use crate::view::theme::Role;
use ratatui::layout::Rect;

/// Cells between two of them, and where they would not all fit with that.
const GAPS: [usize; 2] = [3, 2];

/// Draws them at the right end of the lower edge.
pub(super) fn draw(canvas: &mut Canvas<'_>, state: &State, inner: Rect) {
    let Some(y) = frame_bottom(canvas, inner) else {
        return;
    };
    let (parts, gap) = fitting(parts(state), usize::from(inner.width));
    if parts.is_empty() {
        return;
    }
    let wide = u16::try_from(cells(&parts, gap)).unwrap_or(u16::MAX);
    let right = inner.right();
    let mut x = right.saturating_sub(wide + 1);
    // One blank before, between and behind, so that the frame does not run through the words.
    for at in x..right {
        canvas.put(at, y, " ", 1, Role::PopupMuted);
    }
    x += 1;
    for (keys, word) in parts {
        x = canvas.put(x, y, &keys, right.saturating_sub(x), Role::Key);
        x = canvas.put(x + 1, y, word, right.saturating_sub(x), Role::PopupMuted);
        x += u16::try_from(gap).unwrap_or(0);
    }
}

/// The cells that they take, with a blank behind the last.
fn cells(parts: &[(String, &str)], gap: usize) -> usize {
    let words: usize = parts
        .iter()
        .map(|(keys, word)| width(keys) + 1 + width(word))
        .sum();
    words + gap * parts.len().saturating_sub(1) + 1
}

/// Those that fit, with the cells between them: the first and the last before the ones between.
fn fitting(
    mut parts: Vec<(String, &'static str)>,
    room: usize,
) -> (Vec<(String, &'static str)>, usize) {
    let [wide, narrow] = GAPS;
    let fits = |parts: &[(String, &str)], gap| cells(parts, gap) < room;
    if fits(&parts, wide) {
        return (parts, wide);
    }
    while parts.len() > 2 && !fits(&parts, narrow) {
        parts.remove(parts.len() - 2);
    }
    while !parts.is_empty() && !fits(&parts, narrow) {
        parts.pop();
    }
    let gap = if fits(&parts, wide) { wide } else { narrow };
    (parts, gap)
}

/// The keys of the popup on top with what they do in it.
fn parts(state: &State) -> Vec<(String, &'static str)> {
    let context = context(state);
    let overlay = state.screen.overlays.last();
    overlay
        .and_then(|overlay| special(state, overlay))
        .unwrap_or_else(|| hinted(context).to_vec())
        .into_iter()
        .filter_map(|(action, word)| {
            // Everybody knows Esc, whatever else closes too.
            let place = match action {
                Action::Escape => Context::Global,
                _ => context,
            };
            Some((state.keymap.hint(action, place)?, word))
        })
        .collect()
}

/// What the keys do in popups where the words of their context say too little.
fn special(state: &State, overlay: &Overlay) -> Option<Vec<(Action, &'static str)>> {
    use Action::*;
    let close = (Escape, "close");
    Some(match overlay {
        Overlay::Models { for_all, .. } | Overlay::Effort { for_all, .. } => {
            let other = if *for_all {
                "only here"
            } else {
                "for every conversation"
            };
            vec![(Accept, "choose"), (AcceptOther, other), close]
        }
        Overlay::Inputs { everywhere, .. } => {
            let other = if *everywhere {
                "only here"
            } else {
                "from everywhere"
            };
            vec![(Accept, "take"), (AcceptOther, other), close]
        }
        Overlay::Search(popup) if search::can_ask_servers(state, popup) => {
            vec![(Accept, "go there"), (AcceptOther, "ask the server"), close]
        }
        Overlay::Search(_) => vec![(Accept, "go there"), close],
        Overlay::Inspector { .. } => vec![
            (Accept, "whole frame"),
            (AcceptOther, "save for a report"),
            close,
        ],
        Overlay::Switcher { .. } => vec![(Accept, "go there"), close],
        Overlay::Queue { .. } => vec![
            (Accept, "send now"),
            (EditRow, "edit"),
            (RemoveRow, "drop"),
            (MoveRowUp, "up"),
            (MoveRowDown, "down"),
            close,
        ],
        Overlay::Media { .. } => vec![
            (Accept, "open"),
            (SaveEntry, "save"),
            (RemoveRow, "stop"),
            close,
        ],
        Overlay::Theme { .. } => vec![(Accept, "keep"), (Escape, "as before")],
        Overlay::Attention { .. } if waiting(state).is_empty() => vec![close],
        Overlay::Attention { .. } => vec![(Accept, "look at it"), close],
        Overlay::Help { .. } => vec![(PageDown, "on"), (PageUp, "back"), close],
        Overlay::Account { account, .. } => {
            let of = state.account(account)?;
            let change = match of.account.link {
                LinkState::Off | LinkState::Waiting { .. } | LinkState::Refused { .. } => {
                    (RetryNow, "connect")
                }
                LinkState::Connecting
                | LinkState::Syncing
                | LinkState::Ready
                | LinkState::NeedsLogin(_) => (Disconnect, "disconnect"),
            };
            let rest = [(SignIn, "sign in"), (RemoveAccount, "remove"), close];
            std::iter::once(change).chain(rest).collect()
        }
        Overlay::Prompt(_) => vec![(Accept, "accept"), close],
        Overlay::Decision(popup) if popup.typing.is_some() => {
            let does = if is_refusing(state, popup) {
                "deny"
            } else {
                "answer"
            };
            vec![(Accept, does), (Escape, "back")]
        }
        Overlay::Wizard(wizard) if wizard.kind.is_some() => {
            let kind = wizard.kind.and_then(|at| state.kinds.get(at));
            let is_at_end = kind.is_some_and(|kind| wizard.focused >= kind.fields.len());
            let does = match &wizard.result {
                _ if !is_at_end => "next field",
                Some(Ok(_)) => "save",
                Some(Err(_)) | None => "connect",
            };
            vec![(Accept, does), close]
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_out_stays_when_there_is_little_room() {
        let parts: Vec<(String, &'static str)> =
            [("Enter", "answer"), ("Space", "read on"), ("Esc", "later")]
                .map(|(keys, word)| (keys.to_owned(), word))
                .to_vec();
        let words = |room| {
            let (parts, gap) = fitting(parts.clone(), room);
            let words: Vec<&str> = parts.iter().map(|(_, word)| *word).collect();
            (words, gap)
        };
        assert_eq!(words(60), (vec!["answer", "read on", "later"], 3));
        // A little less room goes off what is between them.
        assert_eq!(words(41), (vec!["answer", "read on", "later"], 2));
        assert_eq!(words(30), (vec!["answer", "later"], 3));
        assert_eq!(words(15), (vec!["answer"], 3));
    }
}
