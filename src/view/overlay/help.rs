//! The help page, made from the live keymap.

use super::{Found, frame, hints, input, most_rows};
use crate::app::screen::help::{self, HelpRow};
use crate::app::screen::overlay::Line;
use crate::app::state::State;
use crate::text::{graphemes, width};
use crate::view::canvas::{Canvas, Row, wrap};
use crate::view::theme::Role;
use ratatui::layout::Rect;

pub(super) fn draw(
    canvas: &mut Canvas<'_>,
    state: &State,
    scroll: u16,
    filter: &Line,
    area: Rect,
) -> Found {
    let most = if area.width < 84 { 18 } else { 30 };
    let inner = frame(canvas, area, "Keys", 84, most_rows(area));
    let rows = rows(state, &filter.text, most, usize::from(inner.width));
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
    hints(canvas, state, inner);
    Found {
        cursor,
        scroll_max: Some(u16::try_from(rows.len().saturating_sub(height)).unwrap_or(u16::MAX)),
        ..Found::default()
    }
}

/// The rows of the page, so wide; keys take at most so many cells, or push what they do aside.
fn rows(state: &State, filter: &str, most: usize, columns: usize) -> Vec<Row> {
    let page = help::rows(&state.keymap, filter);
    let column = page
        .iter()
        .map(|row| match row {
            HelpRow::Key { keys, .. } => width(keys),
            HelpRow::Heading(_) => 0,
        })
        .max()
        .unwrap_or(0)
        .min(most);
    let mut rows = Vec::new();
    for row in page {
        match row {
            HelpRow::Heading(title) => {
                if !rows.is_empty() {
                    rows.push(Row::blank());
                }
                rows.push(Row::of(title, Role::Heading));
            }
            HelpRow::Key {
                keys,
                title,
                matched,
            } => {
                let before = column.max(width(&keys)) + 2;
                let gap = " ".repeat(before - width(&keys));
                let mut row = Row::of(keys, Role::Key).and(gap, Role::Text).indented(2);
                let mut at = 0;
                for line in wrap(title, columns.saturating_sub(before + 2)) {
                    // The blank at which a line was broken is in the title only.
                    at += title[at..].len() - title[at..].trim_start().len();
                    for (part, role) in marked(&line, at, &matched) {
                        row = row.and(part, role);
                    }
                    at += line.len();
                    let next = Row::of(" ".repeat(before), Role::Text).indented(2);
                    rows.push(std::mem::replace(&mut row, next));
                }
            }
        }
    }
    if rows.is_empty() {
        rows.push(Row::of("No key fits.", Role::PopupMuted));
    }
    rows
}

/// A part of a title, which begins so far in it, in pieces: what was looked for stands out.
fn marked(line: &str, start: usize, matched: &[usize]) -> Vec<(String, Role)> {
    let mut pieces: Vec<(String, Role)> = Vec::new();
    let mut at = start;
    for cluster in graphemes(line) {
        let role = if matched.contains(&at) {
            Role::Match
        } else {
            Role::Text
        };
        match pieces.last_mut() {
            Some((part, last)) if *last == role => part.push_str(cluster),
            _ => pieces.push((cluster.to_owned(), role)),
        }
        at += cluster.len();
    }
    pieces
}
