//! A question with yes and no, and one line that is asked for.

use super::{field, frame, hints, paragraph};
use crate::app::screen::Target;
use crate::app::screen::overlay::{Confirm, Prompt};
use crate::app::state::State;
use crate::text::width;
use crate::view::canvas::{Canvas, wrap};
use crate::view::theme::Role;
use ratatui::layout::Rect;

const COLUMNS: u16 = 58;

pub(super) fn draw(canvas: &mut Canvas<'_>, state: &State, confirm: &Confirm, area: Rect) {
    let columns = COLUMNS.min(area.width.saturating_sub(8)).max(8);
    let lines = wrap(confirm.text.as_str(), usize::from(columns)).len();
    let rows = u16::try_from(lines).unwrap_or(u16::MAX).saturating_add(2);
    let inner = frame(canvas, area, confirm.title.as_str(), columns, rows);
    let text = Rect {
        height: inner.height.saturating_sub(2),
        ..inner
    };
    paragraph(canvas, text, inner.y, confirm.text.as_str(), Role::Text);
    let y = inner.bottom().saturating_sub(1);
    let buttons = [
        ("No", !confirm.is_yes_selected),
        (confirm.yes.as_str(), confirm.is_yes_selected),
    ];
    let mut x = inner.x;
    for (at, (label, is_focused)) in buttons.into_iter().enumerate() {
        x = button(canvas, x, y, label, is_focused, inner.right(), at) + 2;
    }
    hints(canvas, state, inner);
}

/// A button; returns the column after it.
pub(super) fn button(
    canvas: &mut Canvas<'_>,
    x: u16,
    y: u16,
    label: &str,
    is_focused: bool,
    right: u16,
    index: usize,
) -> u16 {
    let role = if is_focused {
        Role::ButtonFocused
    } else {
        Role::Button
    };
    // The brackets tell the focus without colour.
    let text = if is_focused {
        format!("[ {label} ]")
    } else {
        format!("  {label}  ")
    };
    let wide = u16::try_from(width(&text))
        .unwrap_or(0)
        .min(right.saturating_sub(x));
    let end = canvas.put_cut(x, y, &text, wide, role);
    let hit = Rect::new(x, y, wide, 1);
    canvas.hits.add(hit, Target::OverlayButton(index));
    end
}

pub(super) fn prompt(
    canvas: &mut Canvas<'_>,
    state: &State,
    prompt: &Prompt,
    area: Rect,
) -> Option<(u16, u16)> {
    let columns = COLUMNS.min(area.width.saturating_sub(8)).max(8);
    let below = match &prompt.error {
        Some(error) => (error.as_str(), Role::Danger),
        None => (prompt.hint.as_str(), Role::PopupMuted),
    };
    let lines = if below.0.is_empty() {
        0
    } else {
        wrap(below.0, usize::from(columns)).len() + 1
    };
    let rows = 1 + u16::try_from(lines).unwrap_or(0);
    let inner = frame(canvas, area, prompt.title.as_str(), columns, rows);
    let mark = canvas.glyphs.prompt;
    canvas.put(inner.x, inner.y, mark, 1, Role::Prompt);
    let line = Rect {
        x: inner.x + 2,
        width: inner.width.saturating_sub(2),
        ..inner
    };
    let cursor = field(canvas, line, inner.y, &prompt.line, "", prompt.is_secret);
    if !below.0.is_empty() {
        paragraph(canvas, inner, inner.y + 2, below.0, below.1);
    }
    hints(canvas, state, inner);
    cursor
}
