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

pub use colour::Depth;

use cell::{Grid, Shown};
use pen::Pen;
use ratatui::buffer::Buffer;
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
}

impl Default for PaintOptions {
    fn default() -> Self {
        Self {
            sync: false,
            colours: Depth::True,
            links: true,
            scroll: true,
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

/// Frames of less than this are whole at once anyway, so nothing is put around them.
const SMALL_FRAME: usize = 96;
/// Cells that a cluster of uncertain width may run over.
const RUN_OVER: usize = 6;
/// Unchanged cells that are written again rather than stepped over.
const BRIDGE: usize = 3;

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
        }
    }

    /// The terminal turned out to be able to do something else.
    pub fn set_options(&mut self, options: PaintOptions) {
        if options != self.options {
            self.options = options;
            self.invalidate();
        }
    }

    /// Someone else wrote to the terminal: the next frame writes every cell.
    pub fn invalidate(&mut self) {
        self.unknown.fill(true);
        self.at = None;
        self.is_cursor_shown = None;
        self.pen = Pen::default();
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
        self.scroll(&mut out);
        for row in 0..self.wanted.rows() {
            let was_unknown = std::mem::take(&mut self.unknown[row]);
            let is_same = self.wanted.is_shown(row)
                || (self.wanted.hash(row) == self.shown.hash(row) && !self.wanted.is_restless(row));
            if was_unknown || !is_same {
                self.paint_row(row, &mut out);
            }
        }
        self.shown.settle(&mut self.wanted);
        self.pen.end_link(&mut out);
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

    /// Lets the terminal move a region when that saves writing it.
    fn scroll(&mut self, out: &mut String) {
        if !self.options.scroll || self.unknown.iter().any(|u| *u) {
            return;
        }
        if self.shown.has_pictures() || self.wanted.has_pictures() {
            return;
        }
        let Some(shift) = scroll::find(&self.shown, &self.wanted) else {
            return;
        };
        // The rows that come in take the background of the pen.
        self.pen.reset(out);
        let (top, bottom) = (shift.top + 1, shift.bottom + 1);
        let (count, order) = match shift.up {
            Ok(count) => (count, 'S'),
            Err(count) => (count, 'T'),
        };
        out.push_str(&format!("\x1b[{top};{bottom}r\x1b[{count}{order}\x1b[r"));
        self.shown.shift(&shift, &mut self.wanted);
        // Setting the margins takes the cursor home.
        self.at = Some((0, 0));
    }

    fn paint_row(&mut self, row: usize, out: &mut String) {
        let columns = self.wanted.columns();
        let new = self.wanted.take_row(row);
        let old = self.shown.take_row(row);
        let tail = new
            .iter()
            .rposition(|c| !c.is_blank())
            .map_or(0, |at| at + 1);
        let stale = (tail..columns).filter(|c| !old[*c].is_blank()).count();
        let erases = stale > BRIDGE;
        let end = if erases { tail } else { columns };
        let mut run_over = 0;
        let mut column = 0;
        while column < end {
            let cell = &new[column];
            let width = usize::from(cell.width).max(1);
            let differs = (column..(column + width).min(columns)).any(|c| new[c] != old[c]);
            if cell.is_left_alone() || !(differs || column < run_over || cell.is_restless()) {
                column += width;
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
                run_over = next + RUN_OVER;
                self.at = None;
            } else {
                // Behind the last column the terminal waits to wrap: nobody knows where it is.
                self.at = (next < columns).then_some((next, row));
            }
            column = next;
        }
        if erases {
            self.go_to(tail, row, out);
            self.pen.set_blank(out);
            out.push_str("\x1b[K");
        }
        self.wanted.put_row(row, new);
        self.shown.put_row(row, old);
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
