//! Adding an account: the fields of its kind, and what the check found.

use super::confirm::button;
use super::{field, frame, hints, paragraph};
use crate::app::screen::Target;
use crate::app::screen::overlay::{Line, Wizard};
use crate::app::state::State;
use crate::view::canvas::{Canvas, wrap};
use crate::view::theme::Role;
use ratatui::layout::Rect;

/// Cells of the form.
const COLUMNS: u16 = 76;
/// Cells before what is filled in.
const LABELS: u16 = 12;

pub(super) fn draw(
    canvas: &mut Canvas<'_>,
    state: &State,
    wizard: &Wizard,
    area: Rect,
) -> Option<(u16, u16)> {
    let kind = wizard.kind.and_then(|at| state.kinds.get(at))?;
    let title = format!("Add an account: {}", kind.title);
    // Every hint is read whole, on as many rows as it takes.
    let room = usize::from(
        COLUMNS
            .min(area.width.saturating_sub(6))
            .saturating_sub(LABELS),
    );
    let hints_of: Vec<Vec<String>> = kind
        .fields
        .iter()
        .map(|of| wrap(of.hint.as_str(), room))
        .collect();
    let hinted: usize = hints_of.iter().map(Vec::len).sum();
    let label = match &wizard.result {
        Some(Ok(_)) => "Save",
        _ => "Connect and see",
    };
    let (text, role) = outcome(wizard);
    let told = wrap(text, usize::from(COLUMNS.min(area.width.saturating_sub(6)))).len();
    let rows = u16::try_from(kind.fields.len() * 2 + hinted + 2 + told.max(2)).unwrap_or(u16::MAX);
    let inner = frame(canvas, area, &title, COLUMNS, rows);
    // With little room the blanks between the fields go first, then the hints of other fields.
    let fields = kind.fields.len();
    let focused = hints_of.get(wizard.focused).map_or(0, Vec::len);
    let fits = |rows: usize| usize::from(inner.height) >= rows;
    let is_tight = inner.height < rows;
    // What went wrong is read whole before a hint is.
    let shows_all = fits(fields + hinted + 1 + told);
    let shows_focused = fits(fields + focused + 1 + told);
    let mut y = inner.y;
    let mut cursor = None;
    let blank = Line::default();
    for (at, of) in kind.fields.iter().enumerate() {
        if y >= inner.bottom() {
            break;
        }
        let line = wizard.fields.get(at).unwrap_or(&blank);
        let is_focused = wizard.focused == at;
        let mark = if is_focused {
            canvas.glyphs.prompt
        } else {
            " "
        };
        canvas.put(inner.x, y, mark, 1, Role::Prompt);
        let role = if is_focused { Role::Title } else { Role::Text };
        canvas.put_cut(inner.x + 2, y, of.title.as_str(), LABELS - 3, role);
        let value = Rect {
            x: inner.x + LABELS,
            width: inner.width.saturating_sub(LABELS),
            ..inner
        };
        canvas.hits.add(
            Rect {
                y,
                height: 1,
                ..inner
            },
            Target::OverlayRow(at),
        );
        let placeholder = if of.is_required {
            "needed"
        } else {
            "may stay empty"
        };
        let place = field(canvas, value, y, line, placeholder, of.is_secret);
        if is_focused {
            cursor = place;
        }
        y += 1;
        if shows_all || (shows_focused && is_focused) {
            for line in hints_of.get(at).into_iter().flatten() {
                canvas.put_cut(value.x, y, line, value.width, Role::PopupMuted);
                y += 1;
            }
        }
        y += u16::from(!is_tight);
    }
    if y < inner.bottom() {
        let is_focused = wizard.focused >= kind.fields.len();
        button(
            canvas,
            inner.x + LABELS,
            y,
            label,
            is_focused,
            inner.right(),
            0,
        );
        y += if is_tight { 1 } else { 2 };
    }
    let y = y.min(inner.bottom().saturating_sub(1));
    paragraph(canvas, inner, y, text, role);
    hints(canvas, state, inner);
    cursor
}

/// How the check stands, in words.
fn outcome(wizard: &Wizard) -> (&str, Role) {
    match &wizard.result {
        Some(Ok(_)) if wizard.is_checking => ("Saving", Role::Info),
        _ if wizard.is_checking => ("Connecting, to see what is there", Role::Info),
        Some(Ok(found)) => (found.as_str(), Role::Good),
        Some(Err(problem)) => (problem.as_str(), Role::Danger),
        None => ("It is tried out before it is saved.", Role::PopupMuted),
    }
}
