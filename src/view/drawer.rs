//! The drawer over the composer: slash commands, paths, and the offer to attach.

use super::canvas::Canvas;
use super::overlay::top;
use super::theme::Role;
use crate::app::screen::Target;
use crate::app::screen::drawer::{self, DrawerKind, DrawerRow};
use crate::app::state::State;
use crate::text::{graphemes, width};
use ratatui::layout::Rect;

/// Rows in sight at most.
const SHOWN: usize = 10;
const COLUMNS: u16 = 108;

/// Draws the open drawer with its lower edge at `bottom`.
pub(crate) fn draw(canvas: &mut Canvas<'_>, state: &State, area: Rect, bottom: u16) {
    let Some((_, _, conversation)) = state.focused() else {
        return;
    };
    let Some(open) = &conversation.composer.drawer else {
        return;
    };
    let rows = drawer::rows(state);
    let word = match &open.kind {
        DrawerKind::Paths {
            is_loading: true, ..
        } if rows.is_empty() => "reading the folder",
        DrawerKind::Paths { directory, .. } if !directory.is_empty() => directory.as_str(),
        DrawerKind::Paths { .. } => "attach a file",
        DrawerKind::Commands => "commands",
        DrawerKind::Offer { .. } => "a file was pasted",
    };
    let room = usize::from(bottom.saturating_sub(area.y + 3));
    let shown = rows.len().min(SHOWN).min(room);
    if shown == 0 {
        return;
    }
    let height = u16::try_from(shown + 2).unwrap_or(2);
    let outer = Rect {
        x: area.x + 1,
        y: bottom.saturating_sub(height),
        width: COLUMNS.min(area.width.saturating_sub(2)),
        height,
    };
    canvas.frame(outer, Role::Popup, Role::PopupBorder);
    canvas.hits.add(outer, Target::Nothing);
    let title = format!(" {word} ");
    let wide = outer.width.saturating_sub(4);
    canvas.put_cut(outer.x + 2, outer.y, &title, wide, Role::PopupMuted);
    let keys = [
        (" Tab", Role::Key),
        (" take   ", Role::PopupMuted),
        ("Esc", Role::Key),
        (" close ", Role::PopupMuted),
    ];
    let wide: usize = keys.iter().map(|(word, _)| width(word)).sum();
    let wide = u16::try_from(wide).unwrap_or(0);
    if wide + 4 < outer.width {
        let mut x = outer.right() - wide - 3;
        for (word, role) in keys {
            x = canvas.put(x, outer.bottom() - 1, word, wide, role);
        }
    }
    let inner = Rect {
        x: outer.x + 3,
        y: outer.y + 1,
        width: outer.width.saturating_sub(6),
        height: height - 2,
    };
    let first = top(open.list.selected, open.list.scroll, rows.len(), shown);
    let label_width = rows
        .iter()
        .map(|row| width(row.label.as_str()) + width(row.hint.as_str()) + 1)
        .max()
        .unwrap_or(0);
    let label_width = u16::try_from(label_width)
        .unwrap_or(u16::MAX)
        .min(inner.width * 2 / 5);
    for (at, row) in rows.iter().enumerate().skip(first).take(shown) {
        let line = Rect {
            y: inner.y + u16::try_from(at - first).unwrap_or(0),
            height: 1,
            ..inner
        };
        draw_row(canvas, row, line, label_width, at == open.list.selected);
        canvas.hits.add(line, Target::OverlayRow(at));
    }
    canvas.scrollbar(
        outer.right() - 1,
        inner,
        rows.len(),
        first,
        Role::PopupMuted,
    );
}

fn draw_row(
    canvas: &mut Canvas<'_>,
    row: &DrawerRow,
    area: Rect,
    label_width: u16,
    is_selected: bool,
) {
    if is_selected {
        let whole = Rect {
            x: area.x - 2,
            width: area.width + 4,
            ..area
        };
        canvas.fill(whole, Role::Selected);
        let mark = canvas.glyphs.selection;
        canvas.put(whole.x, area.y, mark, 1, Role::SelectionMark);
    }
    let end = area.x + label_width;
    let mut x = area.x;
    let mut at = 0;
    for cluster in graphemes(row.label.as_str()) {
        let role = if row.matched.contains(&at) {
            Role::Match
        } else {
            Role::Text
        };
        x = canvas.put(x, area.y, cluster, end.saturating_sub(x), role);
        at += cluster.len();
    }
    if !row.hint.is_empty() && x < end {
        let room = end.saturating_sub(x + 1);
        canvas.put_cut(x + 1, area.y, row.hint.as_str(), room, Role::PopupMuted);
    }
    let mut right = area.right();
    if let Some(origin) = row.origin.as_ref().filter(|origin| !origin.is_empty()) {
        let wide = u16::try_from(width(origin.as_str())).unwrap_or(u16::MAX);
        if wide < area.width / 4 {
            right -= wide;
            canvas.put(right, area.y, origin.as_str(), wide, Role::PopupMuted);
            right -= 2;
        }
    }
    let detail = row.detail.as_str().lines().next().unwrap_or_default();
    let room = right.saturating_sub(end + 2);
    canvas.put_cut(end + 2, area.y, detail, room, Role::PopupMuted);
}
