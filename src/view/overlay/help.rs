//! The help page, made from the live keymap.

use super::{frame, hints, input, most_rows};
use crate::app::keymap::Context;
use crate::app::screen::overlay::Line;
use crate::app::state::State;
use crate::text::width;
use crate::view::canvas::{Canvas, Row};
use crate::view::theme::Role;
use ratatui::layout::Rect;

pub(super) fn draw(
    canvas: &mut Canvas<'_>,
    state: &State,
    scroll: u16,
    filter: &Line,
    area: Rect,
) -> Option<(u16, u16)> {
    let rows = rows(state, &filter.text);
    let inner = frame(canvas, area, "Keys", 84, most_rows(area));
    let cursor = input(
        canvas,
        inner,
        inner.y,
        filter,
        "part of a key or of what it does",
    );
    let body = Rect {
        y: inner.y + 2,
        height: inner.height.saturating_sub(2),
        ..inner
    };
    let height = usize::from(body.height);
    let top = usize::from(scroll).min(rows.len().saturating_sub(height));
    for (line, row) in rows.iter().skip(top).take(height).enumerate() {
        canvas.row(body, body.y + u16::try_from(line).unwrap_or(0), row);
    }
    canvas.scrollbar(body.right() + 1, body, rows.len(), top, Role::PopupMuted);
    hints(canvas, state, Context::Text, inner);
    cursor
}

fn rows(state: &State, filter: &str) -> Vec<Row> {
    let needle = filter.trim().to_lowercase();
    let mut rows = Vec::new();
    for (context, bindings) in state.keymap.help() {
        let fitting: Vec<_> = bindings
            .into_iter()
            .filter(|(keys, action)| {
                needle.is_empty()
                    || keys.to_lowercase().contains(&needle)
                    || action.title().to_lowercase().contains(&needle)
                    || action.name().contains(&needle)
            })
            .collect();
        if fitting.is_empty() {
            continue;
        }
        if !rows.is_empty() {
            rows.push(Row::blank());
        }
        rows.push(Row::of(context.title(), Role::Heading));
        let column = fitting
            .iter()
            .map(|(keys, _)| width(keys))
            .max()
            .unwrap_or(0)
            .min(30);
        for (keys, action) in fitting {
            let gap = " ".repeat(column.saturating_sub(width(&keys)) + 2);
            rows.push(
                Row::of(keys, Role::Key)
                    .and(gap, Role::Text)
                    .and(action.title(), Role::Text)
                    .indented(2),
            );
        }
    }
    if rows.is_empty() {
        rows.push(Row::of("No key fits.", Role::PopupMuted));
    }
    rows
}
