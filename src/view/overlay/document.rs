//! A text to read.

use super::{frame, hints};
use crate::app::keymap::Context;
use crate::app::state::State;
use crate::domain::Body;
use crate::text::SafeText;
use crate::view::canvas::Canvas;
use crate::view::prose::Prose;
use crate::view::theme::Role;
use ratatui::layout::Rect;

pub(super) fn draw(
    canvas: &mut Canvas<'_>,
    state: &State,
    (title, body): (&SafeText, &SafeText),
    scroll: u16,
    text: &mut Prose,
    area: Rect,
) {
    let rows = area.height.saturating_sub(6);
    let inner = frame(canvas, area, title.as_str(), 96, rows);
    text.update(&Body::new(body.as_str()), inner.width, state.settings.ascii);
    let height = usize::from(inner.height);
    let top = usize::from(scroll).min(text.len().saturating_sub(height));
    for line in 0..height {
        let Some(row) = text.row(top + line) else {
            break;
        };
        canvas.row(inner, inner.y + u16::try_from(line).unwrap_or(0), row);
    }
    canvas.scrollbar(inner.right() + 1, inner, text.len(), top, Role::PopupMuted);
    hints(canvas, state, Context::Text, inner);
}
