//! Adding an account: the fields of its kind, and what the check found.

use super::confirm::button;
use super::{field, frame, hints, paragraph};
use crate::app::screen::Target;
use crate::app::screen::overlay::{Line, Wizard};
use crate::app::state::State;
use crate::view::canvas::Canvas;
use crate::view::theme::Role;
use ratatui::layout::Rect;

pub(super) fn draw(
    canvas: &mut Canvas<'_>,
    state: &State,
    wizard: &Wizard,
    area: Rect,
) -> Option<(u16, u16)> {
    let kind = wizard.kind.and_then(|at| state.kinds.get(at))?;
    let rows = u16::try_from(kind.fields.len() * 3 + 4).unwrap_or(u16::MAX);
    let title = format!("Add an account: {}", kind.title);
    let inner = frame(canvas, area, &title, 66, rows);
    let is_tight = inner.height < rows;
    let step = if is_tight { 1 } else { 3 };
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
        canvas.put_cut(inner.x + 2, y, of.title.as_str(), 16, role);
        let value = Rect {
            x: inner.x + 19,
            width: inner.width.saturating_sub(19),
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
        if !is_tight {
            canvas.put_cut(
                value.x,
                y + 1,
                of.hint.as_str(),
                value.width,
                Role::PopupMuted,
            );
        }
        y += step;
    }
    let label = match &wizard.result {
        Some(Ok(_)) => "Save",
        _ => "Connect and see",
    };
    if y < inner.bottom() {
        let is_focused = wizard.focused >= kind.fields.len();
        button(canvas, inner.x + 19, y, label, is_focused, inner.right(), 0);
        y += if is_tight { 1 } else { 2 };
    }
    let (text, role) = match &wizard.result {
        _ if wizard.is_checking => ("Connecting, to see what is there", Role::Info),
        Some(Ok(found)) => (found.as_str(), Role::Good),
        Some(Err(problem)) => (problem.as_str(), Role::Danger),
        None => (
            "It is tried out before it is saved. The secret goes into the keyring.",
            Role::PopupMuted,
        ),
    };
    let y = y.min(inner.bottom().saturating_sub(1));
    paragraph(canvas, inner, y, text, role);
    hints(canvas, state, inner);
    cursor
}
