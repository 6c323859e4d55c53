//! A text to read.

use super::{frame, hints, outline};
use crate::app::state::State;
use crate::render::Options;
use crate::text::SafeText;
use crate::view::Memo;
use crate::view::canvas::Canvas;
use crate::view::prose::put_row;
use crate::view::theme::Role;
use ratatui::layout::Rect;

/// Cells in a row of the text.
const COLUMNS: u16 = 96;

pub(super) fn draw(
    canvas: &mut Canvas<'_>,
    state: &State,
    (title, body): (&SafeText, &SafeText),
    scroll: u16,
    memo: &mut Memo,
    area: Rect,
) -> Option<u16> {
    let text = &mut memo.document;
    let options = Options {
        ascii: state.settings.ascii,
        ..Options::new(outline(area, COLUMNS, 1).width.saturating_sub(6))
    };
    text.update(body.as_str(), &options, &memo.colours);
    // A short text takes no more room than it needs.
    let rows = u16::try_from(text.len()).unwrap_or(u16::MAX);
    let inner = frame(canvas, area, title.as_str(), COLUMNS, rows);
    let height = usize::from(inner.height);
    let top = usize::from(scroll).min(text.len().saturating_sub(height));
    for line in 0..height {
        let Some(row) = text.row(top + line) else {
            break;
        };
        let y = inner.y + u16::try_from(line).unwrap_or(0);
        put_row(canvas, inner, y, row, false);
    }
    canvas.scrollbar(inner.right() + 1, inner, text.len(), top, Role::PopupMuted);
    let scroll_max = u16::try_from(text.len().saturating_sub(height)).ok();
    hints(canvas, state, inner);
    scroll_max
}
