//! Cells and rows in the form in which they are compared.

use super::LinkSpan;
use super::colour::{Colour, Depth};
use super::scroll::Shift;
use ratatui::buffer::{Buffer, Cell, CellDiffOption, CellWidth};
use ratatui::style::{Color, Modifier};
use std::sync::Arc;

/// What shows where no letter is.
pub(super) const SEEN_ON_BLANKS: Modifier = Modifier::UNDERLINED
    .union(Modifier::REVERSED)
    .union(Modifier::CROSSED_OUT);
/// Cells that are hashed together.
pub(super) const PIECE: usize = 8;

/// One cell as the terminal shows it or should.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Shown {
    text: Text,
    pub foreground: Colour,
    pub background: Colour,
    pub modifier: Modifier,
    pub link: Option<Arc<str>>,
    /// Cells it takes; none for the second half of a wide one.
    pub width: u8,
    care: Care,
}

/// What a cell asks of the painter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Care {
    Usual,
    /// Written in every frame.
    Always,
    /// Something else is drawn there.
    Never,
    /// Holds a sequence that draws a picture.
    Picture,
    /// What the terminal shows there is not known; equal to nothing that is wanted.
    Unknown,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Text {
    Short(u8, [u8; 12]),
    Long(Box<str>),
}

impl Text {
    fn new(text: &str) -> Self {
        let mut bytes = [0; 12];
        match bytes.get_mut(..text.len()) {
            Some(start) => {
                start.copy_from_slice(text.as_bytes());
                // Twelve at most.
                Self::Short(text.len() as u8, bytes)
            }
            None => Self::Long(text.into()),
        }
    }

    fn as_str(&self) -> &str {
        match self {
            // It was copied from a text, so it is one.
            Self::Short(len, bytes) => {
                std::str::from_utf8(&bytes[..usize::from(*len)]).unwrap_or(" ")
            }
            Self::Long(text) => text,
        }
    }
}

impl Shown {
    const BLANK: Self = Self {
        text: Text::Short(1, *b" \0\0\0\0\0\0\0\0\0\0\0"),
        foreground: Colour::DEFAULT,
        background: Colour::DEFAULT,
        modifier: Modifier::empty(),
        link: None,
        width: 1,
        care: Care::Usual,
    };

    pub fn text(&self) -> &str {
        self.text.as_str()
    }

    /// What erasing with this background gives.
    pub fn blank(background: Colour) -> Self {
        Self {
            background,
            ..Self::BLANK
        }
    }

    /// Whether erasing with its background gives it.
    pub fn is_blank(&self) -> bool {
        *self == Self::blank(self.background)
    }

    pub fn is_ascii(&self) -> bool {
        self.width == 1 && matches!(self.text, Text::Short(1, _)) && self.care == Care::Usual
    }

    pub fn is_left_alone(&self) -> bool {
        self.care == Care::Never || self.width == 0
    }

    pub fn is_restless(&self) -> bool {
        self.care == Care::Always
    }

    /// Whether all terminals agree on its width: one character, and narrow without being a symbol
    /// that some draw wide, or an ideograph, kana or syllable.
    pub fn is_certain(&self) -> bool {
        if self.care == Care::Picture {
            return false;
        }
        let mut chars = self.text().chars();
        // A placeholder of a picture that the terminal keeps: one cell, with marks that have none.
        if self.width == 1 && self.text().starts_with('\u{10eeee}') {
            return true;
        }
        let (Some(first), None) = (chars.next(), chars.next()) else {
            return false;
        };
        match self.width {
            1 => {
                !matches!(first, '\u{2300}'..='\u{23ff}' | '\u{2600}'..='\u{27bf}' | '\u{2b00}'..='\u{2bff}'
                | '\u{e000}'..='\u{f8ff}' | '\u{fffd}' | '\u{10000}'..)
            }
            2 => {
                matches!(first, '\u{3000}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}'
                | '\u{ff01}'..='\u{ff60}')
            }
            _ => false,
        }
    }

    fn new(cell: &Cell, width: usize, depth: Depth) -> Self {
        let care = match cell.diff_option {
            CellDiffOption::None => Care::Usual,
            CellDiffOption::Skip => Care::Never,
            CellDiffOption::AlwaysUpdate => Care::Always,
            CellDiffOption::ForcedWidth(_) => Care::Picture,
        };
        let symbol = cell.symbol();
        // Only what draws pictures may send a sequence.
        let has_control = symbol.chars().any(char::is_control);
        let text = match symbol {
            "" => " ",
            _ if has_control && care != Care::Picture => "\u{fffd}",
            _ => symbol,
        };
        let mut shown = Self {
            text: Text::new(text),
            foreground: depth.of(cell.fg),
            background: depth.of(cell.bg),
            modifier: cell.modifier,
            link: None,
            // Wider than this no cluster is.
            width: width.min(255) as u8,
            care,
        };
        shown.forget_invisible();
        shown
    }

    /// Blanks have no letter to colour.
    fn forget_invisible(&mut self) {
        if self.care == Care::Usual
            && self.text() == " "
            && !self.modifier.intersects(SEEN_ON_BLANKS)
        {
            self.foreground = Colour::DEFAULT;
            self.modifier = Modifier::empty();
        }
    }

    fn hash(&self, hash: u64) -> u64 {
        let mut hash = hash;
        match &self.text {
            Text::Short(_, bytes) => {
                let (low, high) = bytes.split_at(8);
                hash = mix(hash, word(low));
                if high[0] != 0 {
                    hash = mix(hash, word(high));
                }
            }
            Text::Long(text) => {
                for part in text.as_bytes().chunks(8) {
                    hash = mix(hash, word(part));
                }
            }
        }
        let looks = (u64::from(self.foreground.bits()) << 32 | u64::from(self.background.bits()))
            ^ (u64::from(self.modifier.bits()) << 48)
            ^ (u64::from(self.width) << 28)
            ^ ((self.care as u64) << 60);
        hash = mix(hash, looks);
        match &self.link {
            Some(target) => target
                .as_bytes()
                .chunks(8)
                .fold(hash, |hash, part| mix(hash, word(part))),
            None => hash,
        }
    }
}

fn word(bytes: &[u8]) -> u64 {
    let mut word = [0; 8];
    word[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(word)
}

fn mix(hash: u64, word: u64) -> u64 {
    (hash.rotate_left(5) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// A screen full of cells, with hashes of its rows and their pieces.
#[derive(Clone, Debug)]
pub(super) struct Grid {
    columns: usize,
    rows: Vec<Row>,
}

#[derive(Clone, Debug, Default)]
struct Row {
    /// Hash of the buffer's row that this was read from; none when it was not.
    source: Option<u64>,
    /// The row is the same as the one that is shown, and its cells were not read.
    is_shown: bool,
    cells: Vec<Shown>,
    pieces: Vec<u64>,
    hash: u64,
    is_restless: bool,
    has_pictures: bool,
}

impl Grid {
    pub fn new(columns: usize, rows: usize) -> Self {
        let mut row = Row {
            cells: vec![Shown::BLANK; columns],
            ..Row::default()
        };
        row.rehash();
        Self {
            columns,
            rows: vec![row; rows],
        }
    }

    pub fn columns(&self) -> usize {
        self.columns
    }

    pub fn rows(&self) -> usize {
        self.rows.len()
    }

    pub fn hash(&self, row: usize) -> u64 {
        self.rows[row].hash
    }

    pub fn pieces(&self, row: usize) -> &[u64] {
        &self.rows[row].pieces
    }

    pub fn is_restless(&self, row: usize) -> bool {
        self.rows[row].is_restless
    }

    pub fn has_pictures(&self) -> bool {
        self.rows.iter().any(|row| row.has_pictures)
    }

    /// Whether these cells were left to something else.
    pub fn is_left_alone(&self, row: usize, column: usize, columns: usize) -> bool {
        self.rows.get(row).is_some_and(|row| {
            row.cells
                .get(column..column + columns)
                .is_some_and(|cells| cells.iter().all(|cell| cell.care == Care::Never))
        })
    }

    /// Takes a row out to work on it; it has to be put back.
    pub fn take_row(&mut self, row: usize) -> Vec<Shown> {
        std::mem::take(&mut self.rows[row].cells)
    }

    pub fn put_row(&mut self, row: usize, cells: Vec<Shown>) {
        self.rows[row].cells = cells;
    }

    /// Nothing is known of a row any more.
    pub fn forget_row(&mut self, row: usize) {
        self.rows[row].forget();
    }

    /// The pieces of a blank row with this background.
    pub fn blank_pieces(&self, background: Colour) -> Vec<u64> {
        let mut row = Row {
            cells: vec![Shown::blank(background); self.columns],
            ..Row::default()
        };
        row.rehash();
        row.pieces
    }

    /// The background in which most rows end; rows that were taken to be the same as those shown
    /// have theirs there.
    pub fn ground(&self, shown: &Self) -> Colour {
        let mut counts: Vec<(Colour, usize)> = Vec::new();
        for (row, shown) in self.rows.iter().zip(&shown.rows) {
            let cells = if row.is_shown {
                &shown.cells
            } else {
                &row.cells
            };
            let Some(last) = cells.last() else { continue };
            match counts
                .iter_mut()
                .find(|(ground, _)| *ground == last.background)
            {
                Some((_, count)) => *count += 1,
                None => counts.push((last.background, 1)),
            }
        }
        let most = counts.into_iter().max_by_key(|(_, count)| *count);
        most.map_or(Colour::DEFAULT, |(ground, _)| ground)
    }

    /// How many columns stand to the left of the place at which most rows change their background;
    /// none when there is no such place.
    pub fn side(&self, shown: &Self) -> usize {
        let mut counts = vec![0; self.columns];
        for (row, shown) in self.rows.iter().zip(&shown.rows) {
            let cells = if row.is_shown {
                &shown.cells
            } else {
                &row.cells
            };
            for (column, pair) in cells.windows(2).enumerate() {
                if pair[0].background != pair[1].background {
                    counts[column + 1] += 1;
                }
            }
        }
        (0..self.columns)
            .max_by_key(|column| counts[*column])
            .filter(|column| counts[*column] * 2 > self.rows.len())
            .unwrap_or(0)
    }

    /// Moves a region as the terminal does. Rows of `wanted` that were taken to be the same as those
    /// here are given their cells before. Terminals fill the rows that come in with one background
    /// or another, so nothing is known of those.
    pub fn shift(&mut self, shift: &Shift, wanted: &mut Self) {
        let region = &mut self.rows[shift.top..=shift.bottom];
        for (shown, wanted) in region
            .iter()
            .zip(&mut wanted.rows[shift.top..=shift.bottom])
        {
            if std::mem::take(&mut wanted.is_shown) {
                wanted.cells.clone_from(&shown.cells);
            }
        }
        let len = region.len();
        let blank = match shift.up {
            Ok(count) => {
                region.rotate_left(count);
                len - count..len
            }
            Err(count) => {
                region.rotate_right(count);
                0..count
            }
        };
        for row in &mut region[blank] {
            row.forget();
            row.rehash();
        }
    }

    /// Takes over the rows that were painted.
    pub fn settle(&mut self, wanted: &mut Self) {
        for (shown, wanted) in self.rows.iter_mut().zip(&mut wanted.rows) {
            if !wanted.is_shown {
                std::mem::swap(shown, wanted);
            }
        }
    }

    /// Whether a row is known to be the same as the one that is shown.
    pub fn is_shown(&self, row: usize) -> bool {
        self.rows[row].is_shown
    }

    /// Reads a buffer of the same size. Rows that give the hash of those shown are not read.
    pub fn read(&mut self, buffer: &Buffer, links: &[LinkSpan], depth: Depth, shown: &Self) {
        let width = self.columns;
        if width == 0 {
            return;
        }
        let content = buffer.content.chunks(width);
        for (y, (row, cells)) in self.rows.iter_mut().zip(content).enumerate() {
            let number = u16::try_from(y).unwrap_or(u16::MAX);
            let links = || links.iter().filter(|link| link.row == number);
            let source = links().fold(cells.iter().fold(1, hash_source), hash_link);
            row.source = Some(source);
            let same = &shown.rows[y];
            row.is_shown = same.source == Some(source) && !same.is_restless;
            if row.is_shown {
                row.hash = same.hash;
                row.pieces.clone_from(&same.pieces);
                row.is_restless = same.is_restless;
                row.has_pictures = same.has_pictures;
            } else {
                row.read(cells, depth);
                links().for_each(|link| mark(&mut row.cells, link));
                row.rehash();
            }
        }
    }
}

impl Row {
    fn forget(&mut self) {
        self.source = None;
        self.cells.fill(Shown {
            care: Care::Unknown,
            ..Shown::BLANK
        });
    }

    fn read(&mut self, cells: &[Cell], depth: Depth) {
        self.cells.clear();
        while let Some(cell) = cells.get(self.cells.len()) {
            let cell_width = match cell.diff_option {
                CellDiffOption::Skip => 1,
                _ => usize::from(cell_width(cell)).max(1),
            };
            let mut shown = Shown::new(cell, cell_width, depth);
            if self.cells.len() + cell_width > cells.len() {
                // Half a cluster can't be shown.
                shown.text = Text::new(" ");
                shown.width = 1;
                shown.forget_invisible();
            }
            let rest = usize::from(shown.width) - 1;
            let half = Shown {
                text: Text::new(""),
                width: 0,
                care: Care::Usual,
                ..shown.clone()
            };
            self.cells.push(shown);
            self.cells.extend(std::iter::repeat_n(half, rest));
        }
    }
}

fn hash_source(hash: u64, cell: &Cell) -> u64 {
    let symbol = cell.symbol().as_bytes();
    let text = match symbol {
        [byte] => u64::from(*byte),
        _ => symbol
            .chunks(8)
            .fold(symbol.len() as u64, |hash, part| mix(hash, word(part))),
    };
    let care = match cell.diff_option {
        CellDiffOption::None => 0,
        CellDiffOption::Skip => 1,
        CellDiffOption::AlwaysUpdate => 2,
        CellDiffOption::ForcedWidth(width) => 3 + u64::from(width.get()),
    };
    let looks = u64::from(source_bits(cell.fg)) << 32 | u64::from(source_bits(cell.bg));
    mix(
        mix(
            hash,
            text ^ care << 56 ^ u64::from(cell.modifier.bits()) << 32,
        ),
        looks,
    )
}

fn hash_link(hash: u64, link: &LinkSpan) -> u64 {
    let place = u64::from(link.column) << 32 | u64::from(link.width);
    link.target
        .as_bytes()
        .chunks(8)
        .fold(mix(hash, place), |hash, part| mix(hash, word(part)))
}

/// Another number for every colour.
fn source_bits(color: Color) -> u32 {
    match color {
        Color::Rgb(r, g, b) => 2 << 24 | u32::from_be_bytes([0, r, g, b]),
        Color::Indexed(index) => 1 << 24 | u32::from(index),
        Color::Reset => 0,
        Color::Black => 1,
        Color::Red => 2,
        Color::Green => 3,
        Color::Yellow => 4,
        Color::Blue => 5,
        Color::Magenta => 6,
        Color::Cyan => 7,
        Color::Gray => 8,
        Color::DarkGray => 9,
        Color::LightRed => 10,
        Color::LightGreen => 11,
        Color::LightYellow => 12,
        Color::LightBlue => 13,
        Color::LightMagenta => 14,
        Color::LightCyan => 15,
        Color::White => 16,
    }
}

/// The width of a cell; a control character, which has none, is shown by a narrow mark.
fn cell_width(cell: &Cell) -> u16 {
    if cell.symbol().len() <= 1 {
        return match cell.diff_option {
            CellDiffOption::ForcedWidth(width) => width.get(),
            _ => 1,
        };
    }
    cell.cell_width()
}

fn mark(cells: &mut [Shown], link: &LinkSpan) {
    let Some(target) = super::pen::link_target(&link.target) else {
        return;
    };
    let start = usize::from(link.column).min(cells.len());
    let end = (start + usize::from(link.width)).min(cells.len());
    for cell in &mut cells[start..end] {
        cell.link = Some(target.clone());
    }
}

impl Row {
    fn rehash(&mut self) {
        self.pieces.clear();
        self.pieces.extend(
            self.cells
                .chunks(PIECE)
                .map(|piece| piece.iter().fold(1, |hash, cell| cell.hash(hash))),
        );
        self.hash = self.pieces.iter().fold(1, |hash, piece| mix(hash, *piece));
        self.is_restless = self.cells.iter().any(Shown::is_restless);
        self.has_pictures = self
            .cells
            .iter()
            .any(|c| matches!(c.care, Care::Picture | Care::Never));
    }
}
