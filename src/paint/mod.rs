//! Two buffers to bytes: what the terminal shows and what it should show give the shortest
//! sequence that gets there. Pure; knows nothing else of ours.
//!
//! A frame goes like this. Every row of the buffer is brought into the form in which rows are
//! compared and is hashed in pieces; rows with equal hashes are passed over. If moving a region up
//! or down makes enough pieces equal, the terminal moves it (and the margins span the full width,
//! so what stands beside the moving text moves too and is painted again). In the rows that are left
//! the cells that differ are written, with the attributes that changed and as few cursor moves as
//! can be; a blank end is erased. The screen as a whole is never erased.
//!
//! Terminals disagree on the width of many clusters. After one of those nothing is taken for
//! granted: the cursor is placed anew, and the cells that it may have run over are written again.

mod cell;
mod colour;
mod pen;
mod scroll;

pub use colour::{Depth, index_of, palette};

use cell::{Grid, Shown};
use colour::Colour;
use pen::Pen;
use ratatui::buffer::Buffer;
use std::ops::Range;
use std::sync::Arc;

/// What the terminal can do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PaintOptions {
    /// It was found to hold a frame back until it is whole (mode 2026).
    pub sync: bool,
    pub colours: Depth,
    /// It takes links (OSC 8), or passes them over.
    pub links: bool,
    /// Regions may be moved.
    pub scroll: bool,
    /// What is erased takes the background of the pen, as nearly all terminals do.
    pub erases_in_colour: bool,
    /// It was found to repeat a character on demand (REP).
    pub repeats: bool,
}

impl Default for PaintOptions {
    fn default() -> Self {
        Self {
            sync: false,
            colours: Depth::True,
            links: true,
            scroll: true,
            erases_in_colour: true,
            repeats: false,
        }
    }
}

/// Cells that lead somewhere.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LinkSpan {
    pub row: u16,
    pub column: u16,
    /// Cells.
    pub width: u16,
    pub target: Arc<str>,
}

/// A picture drawn over cells that the buffer leaves alone.
#[derive(Clone, Debug)]
pub struct Graphic {
    pub column: u16,
    pub row: u16,
    pub columns: u16,
    pub rows: u16,
    /// What is sent, in order, with the cursor in the upper left cell.
    pub parts: Vec<Arc<str>>,
}

impl Graphic {
    /// Whether it is the same picture in the same place. Sequences are long, so only where they lie
    /// in memory is compared.
    fn is_same(&self, other: &Self) -> bool {
        (self.column, self.row, self.columns, self.rows)
            == (other.column, other.row, other.columns, other.rows)
            && self.parts.len() == other.parts.len()
            && self
                .parts
                .iter()
                .zip(&other.parts)
                .all(|(a, b)| Arc::ptr_eq(a, b) || (a.len() < 64 && a == b))
    }
}

/// Frames of less than this are whole at once anyway, so nothing is put around them.
const SMALL_FRAME: usize = 96;
/// Cells that a cluster of uncertain width may run over.
const RUN_OVER: usize = 6;
/// Unchanged cells that are written again rather than stepped over.
const BRIDGE: usize = 3;
/// Blanks in the middle of a row that are erased rather than written.
const ERASED: usize = 12;
/// Bytes of equal characters from which on the terminal is asked to repeat the first.
const REPEATED: usize = 12;

/// Turns buffers into bytes for one terminal.
#[derive(Clone, Debug)]
pub struct Painter {
    options: PaintOptions,
    /// What the terminal shows.
    shown: Grid,
    /// What it should show; kept for its memory.
    wanted: Grid,
    /// Rows of which nothing is known.
    unknown: Vec<bool>,
    /// Where the terminal's cursor is, if that is known: column, row.
    at: Option<(usize, usize)>,
    is_cursor_shown: Option<bool>,
    pen: Pen,
    /// Pictures on the screen.
    graphics: Vec<Graphic>,
}

impl Painter {
    /// A painter for a terminal of this size, of which nothing is known yet.
    pub fn new(columns: u16, rows: u16, options: PaintOptions) -> Self {
        let (columns, rows) = (usize::from(columns), usize::from(rows));
        Self {
            options,
            shown: Grid::new(columns, rows),
            wanted: Grid::new(columns, rows),
            unknown: vec![true; rows],
            at: None,
            is_cursor_shown: None,
            pen: Pen::default(),
            graphics: Vec::new(),
        }
    }

    /// The terminal turned out to be able to do something else.
    pub fn set_options(&mut self, options: PaintOptions) {
        let now = std::mem::replace(&mut self.options, options);
        // The others only say how the same cells may be sent.
        if (now.colours, now.links) != (options.colours, options.links) {
            self.invalidate();
        }
    }

    /// Someone else wrote to the terminal: the next frame writes every cell.
    pub fn invalidate(&mut self) {
        self.unknown.fill(true);
        self.at = None;
        self.is_cursor_shown = None;
        self.pen = Pen::default();
        self.graphics.clear();
    }

    /// The terminal has another size; what it shows now is its own affair.
    pub fn resize(&mut self, columns: u16, rows: u16) {
        let (columns, rows) = (usize::from(columns), usize::from(rows));
        if (columns, rows) != (self.shown.columns(), self.shown.rows()) {
            self.shown = Grid::new(columns, rows);
            self.wanted = Grid::new(columns, rows);
            self.unknown = vec![true; rows];
        }
        self.invalidate();
    }

    /// The bytes that make the terminal show this buffer, with the cursor there or hidden. Nothing
    /// when it shows it already.
    pub fn paint(
        &mut self,
        buffer: &Buffer,
        links: &[LinkSpan],
        cursor: Option<(u16, u16)>,
    ) -> Vec<u8> {
        self.paint_with(buffer, links, Vec::new(), cursor)
    }

    /// The same with pictures over cells that the buffer says to skip. A picture is sent again only
    /// when it, its place, or what was under it changed.
    pub fn paint_with(
        &mut self,
        buffer: &Buffer,
        links: &[LinkSpan],
        graphics: Vec<Graphic>,
        cursor: Option<(u16, u16)>,
    ) -> Vec<u8> {
        let size = (
            usize::from(buffer.area.width),
            usize::from(buffer.area.height),
        );
        if size != (self.shown.columns(), self.shown.rows()) {
            self.resize(buffer.area.width, buffer.area.height);
        }
        let links: &[LinkSpan] = if self.options.links { links } else { &[] };
        let mut out = String::new();
        for row in 0..self.shown.rows() {
            if self.unknown[row] {
                self.shown.forget_row(row);
            }
        }
        let colours = self.options.colours;
        self.wanted.read(buffer, links, colours, &self.shown);
        let has_scrolled = self.scroll(&mut out);
        let stale: Vec<bool> = graphics
            .iter()
            .map(|graphic| {
                !self.graphics.iter().any(|shown| shown.is_same(graphic))
                    || self.is_uncovered(graphic)
            })
            .collect();
        let rows: Vec<usize> = (0..self.wanted.rows())
            .filter(|row| {
                let was_unknown = std::mem::take(&mut self.unknown[*row]);
                let is_same = self.wanted.is_shown(*row)
                    || (self.wanted.hash(*row) == self.shown.hash(*row)
                        && !self.wanted.is_restless(*row));
                was_unknown || !is_same
            })
            .collect();
        let columns = self.wanted.columns();
        // Rows that came in are written from one edge to the other. What stands beside the text is
        // written first, for all of them, so that its colours are set once.
        let side = if has_scrolled {
            self.wanted.side(&self.shown)
        } else {
            0
        };
        let mut run_over = vec![0; rows.len()];
        for band in [0..side, side..columns] {
            if band.is_empty() {
                continue;
            }
            for (row, run_over) in rows.iter().zip(&mut run_over) {
                self.paint_row(*row, band.clone(), run_over, &mut out);
            }
        }
        self.shown.settle(&mut self.wanted);
        self.pen.end_link(&mut out);
        for (graphic, _) in graphics.iter().zip(&stale).filter(|(_, stale)| **stale) {
            self.draw(graphic, &mut out);
        }
        self.graphics = graphics;
        self.finish(out, cursor)
    }

    /// Puts around a frame what it needs, and the cursor where it belongs.
    fn finish(&mut self, cells: String, cursor: Option<(u16, u16)>) -> Vec<u8> {
        let is_large = cells.len() > SMALL_FRAME;
        let mut out = String::with_capacity(cells.len() + 48);
        if is_large && self.options.sync {
            out.push_str("\x1b[?2026h");
        }
        if (is_large && !self.options.sync && self.is_cursor_shown != Some(false))
            || (cursor.is_none() && self.is_cursor_shown != Some(false))
        {
            out.push_str("\x1b[?25l");
            self.is_cursor_shown = Some(false);
        }
        out.push_str(&cells);
        if let Some((column, row)) = cursor {
            let column = usize::from(column).min(self.shown.columns().saturating_sub(1));
            let row = usize::from(row).min(self.shown.rows().saturating_sub(1));
            self.go_to(column, row, &mut out);
            if self.is_cursor_shown != Some(true) {
                out.push_str("\x1b[?25h");
                self.is_cursor_shown = Some(true);
            }
        }
        if is_large && self.options.sync {
            out.push_str("\x1b[?2026l");
        }
        out.into_bytes()
    }

    /// Lets the terminal move a region when that saves writing it; whether it did.
    fn scroll(&mut self, out: &mut String) -> bool {
        if !self.options.scroll || self.unknown.iter().any(|u| *u) {
            return false;
        }
        if self.shown.has_pictures() || self.wanted.has_pictures() {
            return false;
        }
        let ground = if self.options.erases_in_colour {
            self.wanted.ground(&self.shown)
        } else {
            Colour::DEFAULT
        };
        let blank = self.wanted.blank_pieces(ground);
        let Some(shift) = scroll::find(&self.shown, &self.wanted, &blank) else {
            return false;
        };
        // The rows that come in take the background of the pen in most terminals.
        self.pen.set_blank(ground, out);
        let (top, bottom) = (shift.top + 1, shift.bottom + 1);
        let (count, order) = match shift.up {
            Ok(count) => (count, 'S'),
            Err(count) => (count, 'T'),
        };
        out.push_str(&format!("\x1b[{top};{bottom}r\x1b[{count}{order}\x1b[r"));
        self.shown.shift(&shift, &mut self.wanted);
        // Setting the margins takes the cursor home.
        self.at = Some((0, 0));
        true
    }

    /// Whether a cell under a picture shows something else, so that the picture has to come again.
    fn is_uncovered(&self, graphic: &Graphic) -> bool {
        let (top, left) = (usize::from(graphic.row), usize::from(graphic.column));
        (top..top + usize::from(graphic.rows)).any(|row| {
            self.unknown.get(row).copied().unwrap_or(true)
                || !self
                    .shown
                    .is_left_alone(row, left, usize::from(graphic.columns))
        })
    }

    /// Erases the cells under a picture and draws it there.
    fn draw(&mut self, graphic: &Graphic, out: &mut String) {
        let (top, left) = (usize::from(graphic.row), usize::from(graphic.column));
        self.pen.set_blank(colour::Colour::DEFAULT, out);
        for row in top..top + usize::from(graphic.rows) {
            self.go_to(left, row, out);
            out.push_str(&format!("\x1b[{}X", graphic.columns));
        }
        self.go_to(left, top, out);
        for part in &graphic.parts {
            out.push_str(part);
        }
        // Where a terminal leaves the cursor after a picture is its own affair.
        self.at = None;
    }

    /// Writes what differs in some columns of a row. Cells before `run_over` are written again.
    fn paint_row(
        &mut self,
        row: usize,
        band: Range<usize>,
        run_over: &mut usize,
        out: &mut String,
    ) {
        let columns = self.wanted.columns();
        let new = self.wanted.take_row(row);
        let old = self.shown.take_row(row);
        let is_last = band.end == columns;
        let last = new.last().filter(|cell| is_last && self.may_erase(cell));
        let tail = match last {
            Some(blank) => new.iter().rposition(|c| c != blank).map_or(0, |at| at + 1),
            None => columns,
        };
        let stale = (tail..columns).filter(|c| old[*c] != new[*c]).count();
        let erases = stale > BRIDGE;
        let end = if erases { tail } else { band.end };
        let mut column = band.start;
        while column < end {
            let cell = &new[column];
            let width = usize::from(cell.width).max(1);
            let differs = (column..(column + width).min(columns)).any(|c| new[c] != old[c]);
            if cell.is_left_alone() || !(differs || column < *run_over || cell.is_restless()) {
                column += width;
                continue;
            }
            let equals = stale_equals(column..end, &new, &old, *run_over);
            if equals >= ERASED && self.may_erase(cell) {
                self.go_to(column, row, out);
                self.pen.set_blank(cell.background, out);
                out.push_str(&format!("\x1b[{equals}X"));
                column += equals;
                continue;
            }
            self.reach(column, row, &new, out);
            let next = column + width;
            // What runs over the right edge must not come out in the next row.
            let may_wrap = !cell.is_certain() && next + RUN_OVER > columns;
            if may_wrap {
                out.push_str("\x1b[?7l");
            }
            self.write(cell, &old[column..next.min(columns)], out);
            if may_wrap {
                out.push_str("\x1b[?7h");
            }
            if !cell.is_certain() {
                *run_over = next + RUN_OVER;
                self.at = None;
            } else if self.options.repeats && width == 1 && equals * cell.text().len() >= REPEATED {
                let more = equals - 1;
                out.push_str(&format!("\x1b[{more}b"));
                let next = next + more;
                self.at = (next < columns).then_some((next, row));
                column = next;
                continue;
            } else {
                // Behind the last column the terminal waits to wrap: nobody knows where it is.
                self.at = (next < columns).then_some((next, row));
            }
            column = next;
        }
        if let Some(blank) = last
            && erases
        {
            self.go_to(tail, row, out);
            self.pen.set_blank(blank.background, out);
            out.push_str("\x1b[K");
        }
        self.wanted.put_row(row, new);
        self.shown.put_row(row, old);
    }

    /// Whether erasing gives this cell on this terminal.
    fn may_erase(&self, cell: &Shown) -> bool {
        cell.is_blank() && (self.options.erases_in_colour || cell.background == Colour::DEFAULT)
    }

    /// Takes the cursor to a column, over unchanged cells if that is shorter.
    fn reach(&mut self, column: usize, row: usize, new: &[Shown], out: &mut String) {
        if let Some((at, at_row)) = self.at
            && at_row == row
            && at < column
            && column - at <= BRIDGE
            && new[at..column]
                .iter()
                .all(|cell| cell.is_ascii() && self.pen.is_set_to(cell))
        {
            for cell in &new[at..column] {
                out.push_str(cell.text());
            }
            self.at = Some((column, row));
            return;
        }
        self.go_to(column, row, out);
    }

    fn write(&mut self, cell: &Shown, old: &[Shown], out: &mut String) {
        self.pen.set(cell, out);
        if cell.width > 1 && !cell.is_certain() && old.iter().any(|c| !c.is_blank()) {
            // A terminal that takes it for narrow would leave the old cell beside it.
            for _ in 0..cell.width {
                out.push(' ');
            }
            out.push_str(&format!("\x1b[{}D", cell.width));
        }
        out.push_str(cell.text());
    }

    fn go_to(&mut self, column: usize, row: usize, out: &mut String) {
        match self.at {
            Some((x, y)) if (x, y) == (column, row) => {}
            Some((_, y)) if y == row && column == 0 => out.push('\r'),
            Some((x, y)) if y == row && x < column => match column - x {
                1 => out.push_str("\x1b[C"),
                cells => out.push_str(&format!("\x1b[{cells}C")),
            },
            Some((_, y)) if y == row => out.push_str(&format!("\x1b[{}G", column + 1)),
            Some((_, y)) if y + 1 == row && column == 0 => out.push_str("\r\n"),
            _ if (column, row) == (0, 0) => out.push_str("\x1b[H"),
            _ if column == 0 => out.push_str(&format!("\x1b[{}H", row + 1)),
            _ => out.push_str(&format!("\x1b[{};{}H", row + 1, column + 1)),
        }
        self.at = Some((column, row));
    }
}

/// How many equal cells stand at the start of some, up to the last one that is not shown yet.
fn stale_equals(cells: Range<usize>, new: &[Shown], old: &[Shown], run_over: usize) -> usize {
    let first = cells.start;
    cells
        .take_while(|column| new[*column] == new[first])
        .filter(|column| new[*column] != old[*column] || *column < run_over)
        .last()
        .map_or(0, |column| column + 1 - first)
}
