//! Text selected with the mouse: which cells it covers, and what it says without frames and
//! padding, with the lines that were only wrapped joined again.

use super::canvas::Row;
use crate::app::screen::{Selection, Spot};
use crate::domain::{Entry, MessageKey};
use crate::render;
use crate::text::{cut_to_width, width};

/// A selection in the order of the timeline.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Span {
    pub first: (usize, u16, u16),
    pub last: (usize, u16, u16),
}

/// Where a selection begins and ends among the entries; none when one of them is gone.
pub(crate) fn span(selection: &Selection, entries: &[Entry]) -> Option<Span> {
    let index = |key: MessageKey| entries.iter().position(|entry| entry.key == key);
    let place = |spot: Spot| Some((index(spot.key)?, spot.row, spot.column));
    let (from, to) = (place(selection.from)?, place(selection.to)?);
    Some(Span {
        first: from.min(to),
        last: from.max(to),
    })
}

impl Span {
    /// The cells of a row that are selected: from the first to before the second.
    pub(crate) fn cells(&self, index: usize, row: u32) -> Option<(u16, u16)> {
        let row = u16::try_from(row).ok()?;
        let at = (index, row);
        let (first, last) = ((self.first.0, self.first.1), (self.last.0, self.last.1));
        if at < first || at > last {
            return None;
        }
        let start = if at == first { self.first.2 } else { 0 };
        let end = if at == last {
            self.last.2.saturating_add(1)
        } else {
            u16::MAX
        };
        (start < end).then_some((start, end))
    }
}

/// Collects selected rows into a text.
#[derive(Debug)]
pub(crate) struct Collected {
    text: String,
    has_rows: bool,
    /// Cells a row can take.
    columns: u16,
    /// The row before filled them, so it was cut inside a word.
    was_full: bool,
}

impl Collected {
    /// Nothing yet, of rows so wide.
    pub(crate) fn new(columns: u16) -> Self {
        Self {
            text: String::new(),
            has_rows: false,
            columns,
            was_full: false,
        }
    }

    /// Adds the selected cells of a row that `render` laid out, so far from the left edge.
    pub(crate) fn laid(&mut self, row: &render::Row, indent: u16, (start, end): (u16, u16)) {
        if is_border(row) {
            return;
        }
        let mut line = String::new();
        let mut x = usize::from(indent);
        let is_framed = row.spans.first().is_some_and(|span| span.role.is_frame());
        // A frame between two parts is the edge of a cell of a table.
        let mut is_next_cell = false;
        for span in &row.spans {
            if span.role.is_frame() {
                x += span.width();
                is_next_cell = true;
                continue;
            }
            let mut part = String::new();
            take(&mut part, &span.text, &mut x, (start, end));
            if part.is_empty() {
                continue;
            }
            if std::mem::take(&mut is_next_cell) && !line.is_empty() {
                line.truncate(line.trim_end_matches(' ').len());
                line.push_str("  ");
            }
            line.push_str(&part);
        }
        self.add(&line, row.joins, is_framed);
        self.was_full = x >= usize::from(self.columns);
    }

    /// Adds the selected cells of another row.
    pub(crate) fn plain(&mut self, row: &Row, (start, end): (u16, u16)) {
        if let Some(laid) = &row.laid {
            let before: usize = row.pieces.iter().map(|piece| width(&piece.text)).sum();
            let indent = row.indent + u16::try_from(before).unwrap_or(0);
            return self.laid(laid, indent, (start, end));
        }
        let mut line = String::new();
        let mut x = usize::from(row.indent);
        for piece in &row.pieces {
            take(&mut line, &piece.text, &mut x, (start, end));
        }
        self.add(&line, false, false);
        self.was_full = false;
    }

    fn add(&mut self, line: &str, joins: bool, is_framed: bool) {
        if self.has_rows {
            if joins {
                // A line that was wrapped at a blank lost it; code and long words did not.
                if !is_framed && !self.was_full && !ends_inside(&self.text, line) {
                    self.text.push(' ');
                }
            } else {
                let kept = self.text.trim_end_matches(' ').len();
                self.text.truncate(kept);
                self.text.push('\n');
            }
        }
        self.has_rows = true;
        self.text.push_str(line);
    }

    /// The text; none when it has no letters.
    pub(crate) fn finish(self) -> Option<String> {
        let text = self.text.trim_end().trim_start_matches('\n');
        (!text.trim().is_empty()).then(|| text.to_owned())
    }
}

/// Whether a row only closes or opens a frame, with the label in it.
fn is_border(row: &render::Row) -> bool {
    let is_bare = row
        .spans
        .iter()
        .all(|span| span.role.is_frame() || span.role == render::Role::CodeLabel);
    is_bare
        && row
            .spans
            .iter()
            .any(|span| span.text.contains("──") || span.text.contains("--"))
}

/// Whether two rows may have been parted without a blank between them.
fn ends_inside(before: &str, after: &str) -> bool {
    let wide = |cluster: Option<&str>| cluster.is_some_and(|cluster| width(cluster) > 1);
    before.ends_with([' ', '\n', '/', '-', '\u{2014}'])
        || after.is_empty()
        || wide(crate::text::graphemes(before).next_back())
        || wide(crate::text::graphemes(after).next())
}

/// Adds the part of a text that lies between two cells and moves on behind it.
fn take(line: &mut String, text: &str, x: &mut usize, (start, end): (u16, u16)) {
    let (start, end) = (usize::from(start), usize::from(end));
    let wide = width(text);
    let skipped = start.saturating_sub(*x).min(wide);
    let (head, head_width) = cut_to_width(text, skipped);
    let room = end.saturating_sub(*x + head_width);
    let rest = text.get(head.len()..).unwrap_or_default();
    let (part, _) = cut_to_width(rest, room);
    line.push_str(part);
    *x += wide;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::theme::Role;

    fn laid(text: &str, joins: bool) -> render::Row {
        let mut row = render::Row::new(vec![
            render::Span::new("│ ", render::Role::Frame),
            render::Span::new(text, render::Role::CodeBlock),
        ]);
        row.joins = joins;
        row
    }

    #[test]
    fn frames_are_left_out_and_wrapped_lines_joined() {
        let mut collected = Collected::new(40);
        collected.laid(&laid("cargo bui", false), 0, (0, u16::MAX));
        collected.laid(&laid("ld", true), 0, (0, u16::MAX));
        collected.laid(&laid("next", false), 0, (0, u16::MAX));
        assert_eq!(collected.finish().as_deref(), Some("cargo build\nnext"));
    }

    #[test]
    fn the_cells_of_a_table_stay_apart() {
        let edge = || render::Span::new(" │ ", render::Role::Frame);
        let cell = |text: &str| render::Span::new(text, render::Role::Text);
        let row = render::Row {
            spans: vec![
                edge(),
                cell("started "),
                edge(),
                cell("22:40"),
                cell("   "),
                edge(),
            ],
            joins: false,
        };
        let mut collected = Collected::new(40);
        collected.laid(&row, 0, (0, u16::MAX));
        collected.laid(&row, 0, (14, u16::MAX));
        assert_eq!(collected.finish().as_deref(), Some("started  22:40\n22:40"));
    }

    #[test]
    fn prose_gets_its_blank_back_and_a_cut_word_does_not() {
        let row = |text: &str, joins| render::Row {
            spans: vec![render::Span::new(text, render::Role::Text)],
            joins,
        };
        let mut collected = Collected::new(10);
        collected.laid(&row("one two", false), 0, (0, u16::MAX));
        collected.laid(&row("abcdefghij", true), 0, (0, u16::MAX));
        collected.laid(&row("klm", true), 0, (0, u16::MAX));
        assert_eq!(collected.finish().as_deref(), Some("one two abcdefghijklm"));
    }

    #[test]
    fn only_the_cells_between_the_ends_count() {
        let mut collected = Collected::new(40);
        collected.plain(&Row::of("漢字abc", Role::Text), (2, 6));
        assert_eq!(collected.finish().as_deref(), Some("字ab"));
    }
}
