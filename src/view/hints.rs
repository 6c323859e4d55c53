//! What helps along: the hints of the status line, what can follow the leader key, toasts, and the
//! strip that says what is wrong with the link.

use super::canvas::{self, Canvas, Row, wrap};
use super::item::Scene;
use super::sidebar::{link_mark, silence_ms};
use super::theme::Role;
use super::words;
use crate::app::Action;
use crate::app::actions::context;
pub(crate) use crate::app::actions::way_to;
use crate::app::keymap::hinted;
use crate::app::state::State;
use crate::domain::{LinkState, Severity};
use crate::text::width;
use ratatui::layout::Rect;

/// The right part of the status line, in so many cells.
pub(crate) fn row(state: &State, columns: u16) -> Row {
    let screen = &state.screen;
    if screen.quit_asked.is_some() {
        return Row::of("Ctrl+C again quits", Role::Warning);
    }
    if screen.stop_asked.is_some() {
        return Row::of("Esc again stops the run", Role::Warning);
    }
    // A popup has its own at its lower edge.
    if !screen.overlays.is_empty() {
        return Row::default();
    }
    let context = context(state);
    let is_read_only = state
        .focused()
        .is_some_and(|(_, _, conversation)| conversation.info.is_automation);
    let is_nowhere = state.focused().is_none();
    let has_nowhere_to_go = state.accounts.iter().all(|of| of.conversations.is_empty());
    let waits = !crate::app::decisions::waiting(state).is_empty();
    let mut row = Row::default();
    let mut used = 0;
    for (action, word) in hinted(context) {
        let writes = matches!(action, Action::Send | Action::NewLine | Action::InsertMode);
        let is_idle = match action {
            Action::OpenDecision => !waits || state.only_reads,
            Action::Switcher => has_nowhere_to_go,
            Action::FocusNext => is_nowhere,
            _ => writes && (is_read_only || is_nowhere || state.only_reads),
        };
        if is_idle {
            continue;
        }
        let Some(keys) = state.keymap.hint(*action, context) else {
            continue;
        };
        let wide = width(&keys) + width(word) + 4;
        if used + wide > usize::from(columns) {
            break;
        }
        used += wide;
        row = row
            .and("   ", Role::BarMuted)
            .and(keys, Role::Key)
            .and(format!(" {word}"), Role::BarMuted);
    }
    row
}

/// What can follow the chords typed so far, over the lower edge of an area.
pub(crate) fn following(canvas: &mut Canvas<'_>, state: &State, area: Rect) {
    if state.screen.pending.is_empty() {
        return;
    }
    let next = state
        .keymap
        .following(context(state), &state.screen.pending);
    if next.is_empty() {
        return;
    }
    let keys_width = next.iter().map(|(keys, _)| width(keys)).max().unwrap_or(1);
    let title_width = next
        .iter()
        .map(|(_, action)| width(action.short()))
        .max()
        .unwrap_or(1)
        .min(30);
    let cell = keys_width + title_width + 4;
    let columns = (usize::from(area.width).saturating_sub(1) / cell).clamp(1, 4);
    let rows = next.len().div_ceil(columns);
    let height = u16::try_from(rows + 2).unwrap_or(u16::MAX).min(area.height);
    let outer = Rect {
        y: area.bottom() - height,
        height,
        ..area
    };
    canvas.frame(outer, Role::Popup, Role::PopupBorder);
    canvas.hits.add(outer, crate::app::screen::Target::Nothing);
    let typed = format!(" {} … ", crate::app::keymap::shown(&state.screen.pending));
    canvas.put(
        outer.x + 2,
        outer.y,
        &typed,
        outer.width.saturating_sub(4),
        Role::PopupTitle,
    );
    for (at, (keys, action)) in next.iter().enumerate() {
        let (column, line) = (at / rows, at % rows);
        let y = outer.y + 1 + u16::try_from(line).unwrap_or(0);
        if y + 1 >= outer.bottom() {
            // There is more than fits.
            let mark = canvas.glyphs.ellipsis;
            let wide = u16::try_from(width(mark)).unwrap_or(1);
            canvas.put(outer.x + 2, outer.bottom() - 1, mark, wide, Role::Key);
            continue;
        }
        let x = outer.x + 2 + u16::try_from(column * cell).unwrap_or(0);
        let room = outer.right().saturating_sub(x + 1);
        let pad = keys_width - width(keys).min(keys_width);
        let x = x + u16::try_from(pad).unwrap_or(0);
        let end = canvas.put(x, y, keys, room, Role::Key);
        let room = outer.right().saturating_sub(end + 2);
        let room = room.min(u16::try_from(title_width).unwrap_or(30));
        canvas.put_cut(end + 2, y, action.short(), room, Role::Text);
    }
}

/// Rows that one of them takes at most.
const TOAST_ROWS: usize = 4;

/// Words that go by themselves, newest lowest, in the upper right corner of an area, or beside the
/// popup that stands there.
pub(crate) fn toasts(canvas: &mut Canvas<'_>, state: &State, area: Rect) {
    let g = canvas.glyphs;
    let most = usize::from(area.width.saturating_sub(8).clamp(8, 56));
    let mut shown: Vec<(Severity, Vec<String>)> = state
        .screen
        .toasts
        .iter()
        .rev()
        .take(4)
        .rev()
        .map(|toast| {
            let mut lines = wrap(toast.text.as_str(), most);
            lines.truncate(TOAST_ROWS);
            (toast.severity, lines)
        })
        .collect();
    let mut y = area.y + 1;
    if let Some(popup) = canvas.popup
        && stack(&shown, area, y).intersects(popup)
    {
        let screen = canvas.buffer.area;
        let above = popup.y.saturating_sub(screen.y);
        let below = screen.bottom().saturating_sub(popup.bottom());
        while shown.len() > 1 && stack(&shown, area, y).height > above.max(below) {
            shown.remove(0);
        }
        let height = stack(&shown, area, y).height;
        y = if area.y + height <= popup.y {
            popup.y - height
        } else if height <= below {
            popup.bottom()
        } else {
            // The newest in what room there is; the screen is never so small that there is none.
            let lines = usize::from(above.max(below).max(1));
            if let (Some((_, words)), Some(toast)) = (shown.last_mut(), state.screen.toasts.last())
            {
                let mut whole = wrap(toast.text.as_str(), most);
                let rest = whole.split_off(lines.saturating_sub(1).min(whole.len()));
                whole.push(canvas::cut(&rest.join(" "), most, g));
                *words = whole;
            }
            if above > below {
                screen.y
            } else {
                popup.bottom()
            }
        };
    }
    let bottom = match canvas.popup {
        Some(_) => canvas.buffer.area.bottom(),
        None => area.bottom(),
    };
    for (severity, lines) in shown {
        let wide = toast_width(&lines);
        let height = u16::try_from(lines.len()).unwrap_or(1);
        if y + height > bottom || wide > area.width {
            break;
        }
        let spot = Rect::new(area.right() - wide - 1, y, wide, height);
        canvas.fill(spot, Role::Popup);
        let (mark, role) = match severity {
            Severity::Done => (g.check, Role::Good),
            Severity::Info => (g.dot, Role::Info),
            Severity::Warning => (g.decision, Role::Warning),
            Severity::Error => (g.cross, Role::Danger),
        };
        for (line, text) in lines.iter().enumerate() {
            let y = y + u16::try_from(line).unwrap_or(0);
            canvas.put(spot.x, y, g.rail, 1, role);
            canvas.put(
                spot.x + 4,
                y,
                text,
                spot.width.saturating_sub(5),
                Role::Text,
            );
        }
        canvas.put(spot.x + 2, y, mark, 1, role);
        y += height + 1;
    }
}

/// The cells of a toast with its mark and its edges.
fn toast_width(lines: &[String]) -> u16 {
    let wide = lines.iter().map(|line| width(line)).max().unwrap_or(0);
    u16::try_from(wide).unwrap_or(u16::MAX).saturating_add(6)
}

/// What toasts take at the right edge of an area, from a row on, with a blank row between them.
fn stack(toasts: &[(Severity, Vec<String>)], area: Rect, y: u16) -> Rect {
    let lines = |(_, lines): &(Severity, Vec<String>)| u16::try_from(lines.len()).unwrap_or(1);
    let blanks = u16::try_from(toasts.len().saturating_sub(1)).unwrap_or(0);
    let wide = toasts.iter().map(|(_, lines)| toast_width(lines)).max();
    let wide = wide.unwrap_or(0).min(area.width.saturating_sub(1));
    Rect::new(
        area.right() - wide - 1,
        y,
        wide,
        toasts.iter().map(lines).sum::<u16>() + blanks,
    )
}

/// What is wrong with the link of the account on screen, and what can be done, in so many columns.
/// A refusal stays until the person does something, so it is told in whole sentences.
pub(crate) fn link_rows(scene: &Scene<'_>, columns: u16, is_roomy: bool) -> Vec<Row> {
    let LinkState::Refused { reason } = &scene.account.account.link else {
        return link_row(scene).into_iter().collect();
    };
    let (mark, role, _) = link_mark(scene.account, scene.state, scene.glyphs);
    let cells = usize::from(columns).saturating_sub(8);
    let words = format!("refused: {}", reason.as_str().replace('\n', " "));
    let mut lines = wrap(&words, cells);
    let most = if is_roomy { 5 } else { 2 };
    if lines.len() > most {
        let rest = lines.split_off(most - 1).join(" ");
        lines.push(canvas::cut(&rest, cells, scene.glyphs));
    }
    let mut rows: Vec<Row> = lines
        .into_iter()
        .enumerate()
        .map(|(at, line)| match at {
            0 => Row::of(format!("{mark} "), role)
                .and(line, Role::Text)
                .indented(2),
            _ => Row::of(line, Role::Text).indented(4),
        })
        .collect();
    rows.push(
        Row::of("/account", Role::Key)
            .and(" shows it and signs in   ", Role::Muted)
            .and("/connect", Role::Key)
            .and(" tries again", Role::Muted)
            .indented(4),
    );
    rows
}

/// The same in one row, for what passes by itself or is asked in a popup.
fn link_row(scene: &Scene<'_>) -> Option<Row> {
    let account = &scene.account.account;
    let (mark, role, _) = link_mark(scene.account, scene.state, scene.glyphs);
    let (text, does) = match &account.link {
        LinkState::Waiting { until, reason } => {
            let ms = until.mono_ms.saturating_sub(scene.state.now.mono_ms);
            let text = format!(
                "offline: {reason}; next attempt in {}",
                words::age(ms.div_ceil(1000) * 1000)
            );
            (text, (Action::RetryNow, "tries now"))
        }
        LinkState::NeedsLogin(need) => {
            // What to know about a page stands in the popup that opens it.
            let hint = if need.hint.is_empty() || need.url.is_some() {
                "this account wants you to sign in"
            } else {
                need.hint.as_str()
            };
            (hint.to_owned(), (Action::SignIn, "signs in"))
        }
        LinkState::Syncing | LinkState::Ready => {
            let ms = silence_ms(scene.account, scene.state)?;
            let text = format!("no answer from the server for {}", words::age(ms));
            (text, (Action::RetryNow, "dials anew"))
        }
        LinkState::Off | LinkState::Connecting | LinkState::Refused { .. } => return None,
    };
    let row = Row::of(format!("{mark} "), role)
        .and(text.replace('\n', " "), Role::Muted)
        .indented(2)
        .right(way_to(scene.state, does.0), Role::Key)
        .right(format!(" {}", does.1), Role::Muted);
    Some(row)
}
