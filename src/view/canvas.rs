//! Drawing into the buffer: the one place that puts text into cells, by the one width function.

use super::glyphs::Glyphs;
use super::theme::{Role, Theme};
use crate::app::screen::Target;
use crate::text::{graphemes, is_right_to_left, truncate, width};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use std::sync::Arc;

/// A piece of a line: text in one role.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Piece {
    pub text: String,
    pub role: Role,
    pub link: Option<Arc<str>>,
}

/// One line of pieces with what a click on it means.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Row {
    pub pieces: Vec<Piece>,
    pub target: Option<Target>,
    /// Fills the whole width with this role before the pieces.
    pub ground: Option<Role>,
    /// Cells between the left edge and the first piece.
    pub indent: u16,
    /// Pieces that stand at the right edge.
    pub right: Vec<Piece>,
    /// A row that `render` laid out, after the pieces.
    pub laid: Option<crate::render::Row>,
}

impl Row {
    /// An empty line.
    pub(crate) fn blank() -> Row {
        Row::default()
    }

    /// A line of one piece.
    pub(crate) fn of(text: impl Into<String>, role: Role) -> Row {
        Row::default().and(text, role)
    }

    /// The line with one more piece.
    pub(crate) fn and(mut self, text: impl Into<String>, role: Role) -> Row {
        let text = text.into();
        if !text.is_empty() {
            self.pieces.push(Piece {
                text,
                role,
                link: None,
            });
        }
        self
    }

    /// The line with a piece at the right edge.
    pub(crate) fn right(mut self, text: impl Into<String>, role: Role) -> Row {
        self.right.push(Piece {
            text: text.into(),
            role,
            link: None,
        });
        self
    }

    /// The line, so far from the left edge.
    pub(crate) fn indented(mut self, indent: u16) -> Row {
        self.indent = indent;
        self
    }

    /// The line on this ground.
    pub(crate) fn on(mut self, ground: Role) -> Row {
        self.ground = Some(ground);
        self
    }

    /// The line with what a click on it means.
    pub(crate) fn hits(mut self, target: Target) -> Row {
        self.target = Some(target);
        self
    }
}

/// The buffer with all that drawing needs.
pub(crate) struct Canvas<'a> {
    pub buffer: &'a mut Buffer,
    pub theme: &'a Theme,
    pub glyphs: &'static Glyphs,
    pub hits: &'a mut super::layout::HitMap,
    pub links: &'a mut Vec<LinkSpan>,
    /// Rows of pictures that may be drawn sharper.
    pub pictures: &'a mut Vec<super::picture::DrawnRow>,
    /// Frames are left out, so that the terminal's own selection copies text only.
    pub is_bare: bool,
    /// Where the popup stands.
    pub popup: Option<Rect>,
}

/// Cells that belong to a link.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LinkSpan {
    pub row: u16,
    pub column: u16,
    pub width: u16,
    pub target: Arc<str>,
}

impl Canvas<'_> {
    /// Fills an area with blanks in this role.
    pub(crate) fn fill(&mut self, area: Rect, role: Role) {
        let style = self.theme.style(role);
        let area = area.intersection(self.buffer.area);
        for y in area.top()..area.bottom() {
            for x in area.left()..area.right() {
                let cell = &mut self.buffer[(x, y)];
                cell.reset();
                cell.set_style(style);
            }
        }
    }

    /// Changes the style of an area and leaves its text.
    pub(crate) fn tint(&mut self, area: Rect, role: Role) {
        let style = self.theme.style(role);
        self.buffer
            .set_style(area.intersection(self.buffer.area), style);
    }

    /// Puts text into at most `cells` cells and returns the column after it.
    pub(crate) fn put(&mut self, x: u16, y: u16, text: &str, cells: u16, role: Role) -> u16 {
        let style = self.theme.style(role);
        // What somebody types, and what is asked to be allowed, is shown to the letter.
        let is_exact = matches!(role, Role::Input | Role::Marked | Role::Command);
        if text.is_ascii() || is_exact || !self.glyphs.is_ascii() {
            return self.put_styled(x, y, text, cells, style);
        }
        let glyphs = self.glyphs;
        let words: String = graphemes(text)
            .map(|cluster| glyphs.in_words(cluster))
            .collect();
        self.put_styled(x, y, &words, cells, style)
    }

    pub(crate) fn put_styled(
        &mut self,
        x: u16,
        y: u16,
        text: &str,
        cells: u16,
        style: Style,
    ) -> u16 {
        let end = self.put_part(x, y, text, cells, style);
        if is_right_to_left(text) {
            self.isolate(x, end, y);
        }
        end
    }

    /// Keeps terminals that reorder letters from right to left from reordering across what stands
    /// beside this part of a row. Nothing is reordered here.
    pub(crate) fn isolate(&mut self, from: u16, to: u16, y: u16) {
        const BEGIN: char = '\u{2068}';
        const END: char = '\u{2069}';
        let area = self.buffer.area;
        let to = to.min(area.right());
        if from >= to || y < area.top() || y >= area.bottom() {
            return;
        }
        let mut last = from;
        let mut at = from;
        while at < to {
            last = at;
            at += u16::try_from(width(self.buffer[(at, y)].symbol()))
                .unwrap_or(1)
                .max(1);
        }
        let first = &mut self.buffer[(from, y)];
        if first.symbol().starts_with(BEGIN) {
            return;
        }
        let symbol = format!("{BEGIN}{}", first.symbol());
        first.set_symbol(&symbol);
        let last = &mut self.buffer[(last, y)];
        let symbol = format!("{}{END}", last.symbol());
        last.set_symbol(&symbol);
    }

    /// Puts a part of a row that is isolated as a whole.
    pub(crate) fn put_part(&mut self, x: u16, y: u16, text: &str, cells: u16, style: Style) -> u16 {
        let area = self.buffer.area;
        if y < area.top() || y >= area.bottom() {
            return x;
        }
        let end = x.saturating_add(cells).min(area.right());
        let mut at = x;
        if text.is_ascii() {
            // Most text; every byte is a cluster of one cell.
            for (byte, symbol) in text.bytes().zip(text.split("").skip(1)) {
                if at >= end {
                    break;
                }
                let cell = &mut self.buffer[(at, y)];
                cell.set_symbol(if byte.is_ascii_control() {
                    self.glyphs.dot
                } else {
                    symbol
                });
                cell.set_style(on_ground(cell, style));
                at += 1;
            }
            return at;
        }
        for cluster in graphemes(text) {
            let is_control = cluster.chars().next().is_none_or(char::is_control);
            let cluster = if is_control { self.glyphs.dot } else { cluster };
            let wide = u16::try_from(width(cluster)).unwrap_or(1);
            if wide == 0 {
                continue;
            }
            if at.saturating_add(wide) > end {
                break;
            }
            let cell = &mut self.buffer[(at, y)];
            cell.set_symbol(cluster);
            cell.set_style(on_ground(cell, style));
            for hidden in 1..wide {
                let cell = &mut self.buffer[(at + hidden, y)];
                cell.set_symbol(" ");
                cell.set_style(on_ground(cell, style));
            }
            at += wide;
        }
        at
    }

    /// Puts text that is cut with an ellipsis where it is longer.
    pub(crate) fn put_cut(&mut self, x: u16, y: u16, text: &str, cells: u16, role: Role) -> u16 {
        if width(text) <= usize::from(cells) {
            return self.put(x, y, text, cells, role);
        }
        let cut = self.cut(text, usize::from(cells));
        self.put(x, y, &cut, cells, role)
    }

    /// Puts text into the middle of a row.
    pub(crate) fn put_middle(&mut self, area: Rect, y: u16, text: &str, role: Role) {
        let wide = u16::try_from(width(text))
            .unwrap_or(u16::MAX)
            .min(area.width);
        let x = area.x + (area.width - wide) / 2;
        self.put_cut(x, y, text, area.width, role);
    }

    /// `text` in at most so many cells.
    pub(crate) fn cut(&self, text: &str, cells: usize) -> String {
        cut(text, cells, self.glyphs)
    }

    /// Puts a line into one row of cells.
    pub(crate) fn row(&mut self, area: Rect, y: u16, row: &Row) {
        if let Some(ground) = row.ground {
            let indent = row.indent.min(area.width);
            let ground_area = Rect::new(area.x + indent, y, area.width - indent, 1);
            self.fill(ground_area, ground);
        }
        let mut end = area.right();
        let right: usize = row.right.iter().map(|piece| width(&piece.text)).sum();
        let right = u16::try_from(right).unwrap_or(u16::MAX);
        if right > 0 && right < area.width.saturating_sub(row.indent) {
            let mut x = end - right;
            for piece in &row.right {
                x = self.put(
                    x,
                    y,
                    &piece.text,
                    area.right().saturating_sub(x),
                    piece.role,
                );
            }
            end = end.saturating_sub(right + 1);
        }
        if let Some(target) = &row.target {
            self.hits
                .add(Rect::new(area.x, y, area.width, 1), target.clone());
        }
        let mut x = area.x + row.indent.min(area.width);
        for (at, piece) in row.pieces.iter().enumerate() {
            let room = end.saturating_sub(x);
            let start = x;
            let is_last = at + 1 == row.pieces.len();
            let is_cut = width(&piece.text) > usize::from(room);
            x = if is_last || is_cut {
                self.put_cut(x, y, &piece.text, room, piece.role)
            } else {
                self.put(x, y, &piece.text, room, piece.role)
            };
            if let Some(link) = &piece.link
                && x > start
            {
                self.hits.add(
                    Rect::new(start, y, x - start, 1),
                    Target::Link(link.to_string()),
                );
                self.links.push(LinkSpan {
                    row: y,
                    column: start,
                    width: x - start,
                    target: Arc::clone(link),
                });
            }
            if is_cut {
                break;
            }
        }
        if let Some(laid) = &row.laid {
            let rest = Rect {
                x,
                width: end.saturating_sub(x),
                ..area
            };
            super::prose::put_row(self, rest, y, laid, false);
        }
    }

    /// A line across, from frame to frame.
    pub(crate) fn rule(&mut self, area: Rect, y: u16, role: Role) {
        let line = self.glyphs.horizontal;
        for x in area.left()..area.right() {
            self.put(x, y, line, 1, role);
        }
    }

    /// A frame around an area that is filled before.
    pub(crate) fn frame(&mut self, area: Rect, ground: Role, border: Role) {
        self.fill(area, ground);
        if area.width < 2 || area.height < 2 {
            return;
        }
        let g = self.glyphs;
        let (right, bottom) = (area.right() - 1, area.bottom() - 1);
        for x in area.left() + 1..right {
            self.put(x, area.y, g.horizontal, 1, border);
            self.put(x, bottom, g.horizontal, 1, border);
        }
        for y in area.top() + 1..bottom {
            self.put(area.x, y, g.vertical, 1, border);
            self.put(right, y, g.vertical, 1, border);
        }
        self.put(area.x, area.y, g.top_left, 1, border);
        self.put(right, area.y, g.top_right, 1, border);
        self.put(area.x, bottom, g.bottom_left, 1, border);
        self.put(right, bottom, g.bottom_right, 1, border);
    }

    /// A thumb beside a list or text that is longer than its area.
    pub(crate) fn scrollbar(&mut self, x: u16, area: Rect, total: usize, top: usize, role: Role) {
        let height = usize::from(area.height);
        if total <= height || height == 0 {
            return;
        }
        let thumb = (height * height / total).max(1);
        let span = height - thumb;
        let at = (top * span).div_ceil(total - height).min(span);
        for row in at..at + thumb {
            let y = area.y + u16::try_from(row).unwrap_or(0);
            self.put(x, y, self.glyphs.scroll_thumb, 1, role);
        }
    }
}

/// The style of text on what a cell has already. On a reversed ground a colour of its own would
/// become a patch behind the letters.
fn on_ground(cell: &ratatui::buffer::Cell, style: Style) -> Style {
    let is_reversed = cell.modifier.contains(Modifier::REVERSED)
        && !style.add_modifier.contains(Modifier::REVERSED);
    if is_reversed && style.bg.is_none() {
        Style { fg: None, ..style }
    } else {
        style
    }
}

/// `text` in at most so many cells, with an ellipsis of the set where something is missing.
pub(crate) fn cut(text: &str, cells: usize, glyphs: &Glyphs) -> String {
    let short = truncate(text, cells);
    if glyphs.ellipsis == "…" || short == text {
        return short;
    }
    let dots = glyphs.ellipsis.len();
    if cells <= dots {
        return ".".repeat(cells);
    }
    let (start, _) = crate::text::cut_to_width(text, cells - dots);
    format!("{start}{}", glyphs.ellipsis)
}

/// Breaks text into lines of at most so many cells, at spaces where there are some.
pub(crate) fn wrap(text: &str, cells: usize) -> Vec<String> {
    let cells = cells.max(1);
    let mut lines = Vec::new();
    for source in text.split('\n') {
        let mut line = String::new();
        let mut used = 0;
        let mut last_space: Option<usize> = None;
        for cluster in graphemes(source) {
            let wide = width(cluster);
            if used + wide > cells && !line.is_empty() {
                if cluster == " " {
                    lines.push(std::mem::take(&mut line));
                    used = 0;
                    last_space = None;
                    continue;
                }
                let rest = match last_space {
                    Some(at) if at > 0 => {
                        let rest = line[at..].to_owned();
                        line.truncate(at);
                        rest
                    }
                    _ => String::new(),
                };
                lines.push(line.trim_end_matches(' ').to_owned());
                line = rest;
                used = width(&line);
                last_space = None;
            }
            line.push_str(cluster);
            used += wide;
            if cluster == " " {
                last_space = Some(line.len());
            }
        }
        lines.push(line);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_at_spaces_and_long_words_at_the_edge() {
        assert_eq!(wrap("one two three", 8), ["one two", "three"]);
        assert_eq!(wrap("abcdefgh", 3), ["abc", "def", "gh"]);
        assert_eq!(wrap("a\n\nb", 5), ["a", "", "b"]);
        assert_eq!(wrap("配置文件", 5), ["配置", "文件"]);
    }
}
