//! Popups: one at a time, in the middle, over everything. Lists come as rows from the state; this
//! room gives them a frame, a filter line, a cursor and a scroll.

mod account;
mod confirm;
mod decision;
mod document;
mod footer;
mod help;
mod list;
mod wizard;

use super::Memo;
use super::canvas::{Canvas, wrap};
use super::layout::centered;
use super::theme::Role;
use crate::app::screen::Target;
use crate::app::screen::overlay::{Line, Overlay};
use crate::app::state::State;
use crate::text::{cut_to_width, width};
use ratatui::layout::Rect;

/// What drawing a popup found out.
#[derive(Default)]
pub(crate) struct Found {
    pub cursor: Option<(u16, u16)>,
    /// The end of a decision's text was in sight.
    pub decision_end_seen: bool,
    /// How far its text can be scrolled.
    pub scroll_max: Option<u16>,
}

/// Draws the popup on top.
pub(crate) fn draw(
    canvas: &mut Canvas<'_>,
    state: &State,
    overlay: &Overlay,
    memo: &mut Memo,
    area: Rect,
) -> Found {
    canvas.hits.add(area, Target::OutsideOverlay);
    let mut found = Found::default();
    match overlay {
        Overlay::Decision(popup) => return decision::draw(canvas, state, popup, area),
        Overlay::Help { scroll, filter } => {
            return help::draw(canvas, state, *scroll, filter, area);
        }
        Overlay::Confirm(confirm) => confirm::draw(canvas, state, confirm, area),
        Overlay::Prompt(prompt) => found.cursor = confirm::prompt(canvas, state, prompt, area),
        Overlay::Document {
            title,
            body,
            scroll,
        } => found.scroll_max = document::draw(canvas, state, (title, body), *scroll, memo, area),
        Overlay::Account { account, scroll } => {
            found.scroll_max = account::draw(canvas, state, account, *scroll, area);
        }
        Overlay::Wizard(wizard) if wizard.kind.is_some() => {
            found.cursor = wizard::draw(canvas, state, wizard, area);
        }
        Overlay::Attention { .. }
        | Overlay::Switcher { .. }
        | Overlay::Palette { .. }
        | Overlay::Models { .. }
        | Overlay::Effort { .. }
        | Overlay::Search(_)
        | Overlay::Media { .. }
        | Overlay::Queue { .. }
        | Overlay::EntryMenu { .. }
        | Overlay::Inspector { .. }
        | Overlay::Theme { .. }
        | Overlay::Wizard(_)
        | Overlay::Welcome { .. }
        | Overlay::Inputs { .. }
        | Overlay::Functions { .. }
        | Overlay::Choices { .. }
        | Overlay::Links { .. }
        | Overlay::CodeBlocks { .. }
        | Overlay::Profile { .. } => {
            found.cursor = list::draw(canvas, state, overlay, area);
        }
    }
    found
}

/// Blank rows inside a frame, above and below; small screens keep them for what is said.
fn padding(area: Rect) -> u16 {
    u16::from(area.height >= 24)
}

/// The rows that a frame can hold at most.
fn most_rows(area: Rect) -> u16 {
    area.height.saturating_sub(4 + padding(area) * 2)
}

/// Fewer cells than this beside a popup are not worth showing.
const SLIVERS: u16 = 10;

/// A frame in the middle with a title; gives the area inside, with its padding taken off.
fn frame(canvas: &mut Canvas<'_>, area: Rect, title: &str, columns: u16, rows: u16) -> Rect {
    let pad = padding(area);
    let outer = outline(area, columns, rows);
    canvas.frame(outer, Role::Popup, Role::PopupBorder);
    canvas.popup = Some(outer);
    canvas.hits.add(outer, Target::Nothing);
    let title = format!(" {title} ");
    let room = outer.width.saturating_sub(4);
    canvas.put_cut(outer.x + 2, outer.y, &title, room, Role::PopupTitle);
    Rect {
        x: outer.x + 3,
        y: outer.y + 1 + pad,
        width: outer.width.saturating_sub(6),
        height: outer.height.saturating_sub(2 + pad * 2),
    }
}

/// The frame itself.
fn outline(area: Rect, columns: u16, rows: u16) -> Rect {
    let rows = rows.min(most_rows(area)).max(1);
    let mut outer = centered(
        area,
        columns.saturating_add(6),
        rows + 2 + padding(area) * 2,
    );
    // Slivers of what lies behind would only look like a mistake.
    if area.width - outer.width < SLIVERS {
        outer.x = area.x;
        outer.width = area.width;
    }
    outer
}

/// The keys of a popup at the bottom of its frame.
fn hints(canvas: &mut Canvas<'_>, state: &State, inner: Rect) {
    footer::draw(canvas, state, inner);
}

/// The row of the frame below an inner area.
fn frame_bottom(canvas: &Canvas<'_>, inner: Rect) -> Option<u16> {
    let corner = canvas.glyphs.bottom_left;
    (inner.bottom()..inner.bottom() + 2).find(|y| {
        let x = inner.x.checked_sub(3);
        x.and_then(|x| canvas.buffer.cell((x, *y)))
            .is_some_and(|cell| cell.symbol() == corner)
    })
}

/// A line of input with its prompt; gives the place of the cursor.
fn input(
    canvas: &mut Canvas<'_>,
    area: Rect,
    y: u16,
    line: &Line,
    placeholder: &str,
) -> Option<(u16, u16)> {
    let prompt = canvas.glyphs.prompt;
    canvas.put(area.x, y, prompt, 1, Role::Prompt);
    field(
        canvas,
        Rect {
            x: area.x + 2,
            width: area.width.saturating_sub(2),
            ..area
        },
        y,
        line,
        placeholder,
        false,
    )
}

/// A line of input as it is, or as dots; scrolls so that the caret is in sight.
fn field(
    canvas: &mut Canvas<'_>,
    area: Rect,
    y: u16,
    line: &Line,
    placeholder: &str,
    is_secret: bool,
) -> Option<(u16, u16)> {
    let before = line.text.get(..line.caret).unwrap_or(&line.text);
    let (text, caret) = if is_secret {
        let dots = |text: &str| "*".repeat(crate::text::graphemes(text).count());
        (dots(&line.text), width(&dots(before)))
    } else {
        (line.text.clone(), width(before))
    };
    let room = usize::from(area.width.saturating_sub(1)).max(1);
    if text.is_empty() {
        canvas.put_cut(area.x, y, placeholder, area.width, Role::Placeholder);
    }
    let skip = caret.saturating_sub(room);
    let (hidden, hidden_width) = cut_to_width(&text, skip);
    let shown = text.get(hidden.len()..).unwrap_or_default();
    canvas.put(area.x, y, shown, area.width, Role::Input);
    let column = u16::try_from(caret - hidden_width.min(caret)).unwrap_or(0);
    Some(((area.x + column).min(area.right().saturating_sub(1)), y))
}

/// Puts wrapped text and returns the row after it.
fn paragraph(canvas: &mut Canvas<'_>, area: Rect, y: u16, text: &str, role: Role) -> u16 {
    let mut y = y;
    for line in wrap(text, usize::from(area.width)) {
        if y >= area.bottom() {
            break;
        }
        canvas.put(area.x, y, &line, area.width, role);
        y += 1;
    }
    y
}

/// The first row of a list in sight, so that the cursor is.
pub(crate) fn top(selected: usize, scroll: usize, total: usize, height: usize) -> usize {
    scroll
        .min(total.saturating_sub(height))
        .min(selected)
        .max((selected + 1).saturating_sub(height))
}
