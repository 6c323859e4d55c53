//! Pictures in the timeline. A worker decodes, scales and encodes; what it brought is looked up here
//! by attachment.
//!
//! Every picture has half blocks: two pixels to a cell, in any terminal that has the colours. Where
//! the terminal can do better, there are three sharper ways. A picture that the terminal keeps itself
//! is named by placeholders, which are cells like any others. The other two are sequences drawn over
//! cells: half blocks are put there first, and when the frame is complete, the rows of which nothing
//! was covered (by a popup, a toast, a mark) are handed over as sequences and their cells are left
//! alone. So a covered picture is coarse as long as it is covered, and never wrong.

use super::canvas::Canvas;
use super::color::{Rgb, nearest_index};
use super::theme::Depth;
use crate::domain::{AccountId, AttachmentId, ConversationId, ConversationInfo};
use ratatui::buffer::{Buffer, Cell, CellDiffOption};
use ratatui::layout::Rect;
use ratatui::style::Color;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

/// Cells a picture takes at most.
const COLUMNS: u16 = 64;
const ROWS: u16 = 20;

/// A picture that is in sight and not decoded for this width yet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PictureWish {
    pub account: AccountId,
    pub attachment: AttachmentId,
    pub source: PictureSource,
    /// It has to fit into this many cells; a cell is one pixel wide and two high.
    pub columns: u16,
    pub rows: u16,
}

/// Where the bytes of a picture are.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PictureSource {
    File(PathBuf),
    /// Already here: the icon of a conversation.
    Bytes(Arc<[u8]>),
}

/// Cells of an icon, in one row.
const ICON_COLUMNS: u16 = 2;

/// The name under which the icon of a conversation is looked up; another one for other bytes.
fn icon_name(conversation: &ConversationId, icon: &Arc<[u8]>) -> AttachmentId {
    let at = icon.as_ptr() as usize;
    AttachmentId::from(format!(
        "icon {at} {} {}",
        icon.len(),
        conversation.as_str()
    ))
}

/// A picture scaled for the screen.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Picture {
    /// Pixels from left to right, which are also cells.
    pub width: u16,
    /// Pixels from top to bottom, two to a cell.
    pub height: u16,
    /// Red, green, blue of each pixel, row by row.
    pub pixels: Arc<[u8]>,
    /// A sharper way to draw it, over the same cells.
    pub sharp: Option<Sharp>,
}

/// A way to draw a picture that the terminal must be able to do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Sharp {
    /// The terminal has it under this number; cells with placeholders show it.
    Kept { id: u8 },
    /// A sequence for each row of cells.
    Strips(Arc<[Arc<str>]>),
    /// Sixel: what comes before, and one sequence for each six rows of pixels.
    Bands {
        head: Arc<str>,
        bands: Arc<[Arc<str>]>,
        /// Pixels from the top to the bottom of a cell.
        cell_height: u16,
    },
}

impl Sharp {
    /// The sequences for so many rows of cells from `first` on.
    fn parts(&self, first: u16, rows: u16) -> Vec<Arc<str>> {
        match self {
            Self::Kept { .. } => Vec::new(),
            Self::Strips(strips) => strips
                .iter()
                .skip(usize::from(first))
                .take(usize::from(rows))
                .cloned()
                .collect(),
            Self::Bands {
                head,
                bands,
                cell_height,
            } => {
                let pixels = |rows: u16| usize::from(rows) * usize::from(*cell_height);
                // A band that begins above the first row would come out too low.
                let from = pixels(first).div_ceil(6);
                let to = pixels(first + rows) / 6;
                let mut parts = vec![Arc::clone(head)];
                parts.extend(bands.iter().take(to).skip(from).cloned());
                parts.push("\x1b\\".into());
                parts
            }
        }
    }

    fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Strips(a), Self::Strips(b))
            | (Self::Bands { bands: a, .. }, Self::Bands { bands: b, .. }) => Arc::ptr_eq(a, b),
            _ => false,
        }
    }
}

/// A picture drawn over cells that the buffer leaves alone.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Graphic {
    pub column: u16,
    pub row: u16,
    pub columns: u16,
    pub rows: u16,
    /// What the terminal is sent, in order, with the cursor in the upper left cell.
    pub parts: Vec<Arc<str>>,
}

/// One row of a picture in the frame that is being drawn.
#[derive(Clone, Debug)]
pub(crate) struct DrawnRow {
    x: u16,
    y: u16,
    /// Which row of the picture it is.
    row: u16,
    cells: Vec<Cell>,
    sharp: Sharp,
}

/// Takes the rows of which nothing was covered out of a buffer that is complete.
pub(crate) fn uncovered(buffer: &mut Buffer, drawn: Vec<DrawnRow>) -> Vec<Graphic> {
    let mut graphics: Vec<(Graphic, Sharp, u16)> = Vec::new();
    // A sequence in the last row could make the terminal scroll.
    let last = buffer.area.bottom().saturating_sub(1);
    for drawn in drawn {
        let columns = u16::try_from(drawn.cells.len()).unwrap_or(0);
        let is_whole = drawn
            .cells
            .iter()
            .zip(drawn.x..)
            .all(|(cell, x)| buffer.cell((x, drawn.y)) == Some(cell));
        if !is_whole || drawn.y >= last || columns == 0 {
            continue;
        }
        for x in drawn.x..drawn.x + columns {
            if let Some(cell) = buffer.cell_mut((x, drawn.y)) {
                cell.reset();
                cell.set_diff_option(CellDiffOption::Skip);
            }
        }
        // Rows of one picture in a row are one graphic, but for strips, which are one each.
        if let (Some((graphic, sharp, first)), Sharp::Bands { .. }) =
            (graphics.last_mut(), &drawn.sharp)
            && sharp.is_same(&drawn.sharp)
            && graphic.row + graphic.rows == drawn.y
            && *first + graphic.rows == drawn.row
            && graphic.column == drawn.x
        {
            graphic.rows += 1;
            continue;
        }
        let graphic = Graphic {
            column: drawn.x,
            row: drawn.y,
            columns,
            rows: 1,
            parts: Vec::new(),
        };
        graphics.push((graphic, drawn.sharp, drawn.row));
    }
    graphics
        .into_iter()
        .map(|(mut graphic, sharp, first)| {
            graphic.parts = sharp.parts(first, graphic.rows);
            graphic
        })
        .collect()
}

/// The character that stands for a part of a picture the terminal keeps.
pub const PLACEHOLDER: char = '\u{10eeee}';

/// The marks that number rows and columns of a kept picture, from kitty's table.
const NUMBERS: [char; 64] = [
    '\u{305}', '\u{30d}', '\u{30e}', '\u{310}', '\u{312}', '\u{33d}', '\u{33e}', '\u{33f}',
    '\u{346}', '\u{34a}', '\u{34b}', '\u{34c}', '\u{350}', '\u{351}', '\u{352}', '\u{357}',
    '\u{35b}', '\u{363}', '\u{364}', '\u{365}', '\u{366}', '\u{367}', '\u{368}', '\u{369}',
    '\u{36a}', '\u{36b}', '\u{36c}', '\u{36d}', '\u{36e}', '\u{36f}', '\u{483}', '\u{484}',
    '\u{485}', '\u{486}', '\u{487}', '\u{592}', '\u{593}', '\u{594}', '\u{595}', '\u{597}',
    '\u{598}', '\u{599}', '\u{59c}', '\u{59d}', '\u{59e}', '\u{59f}', '\u{5a0}', '\u{5a1}',
    '\u{5a8}', '\u{5a9}', '\u{5ab}', '\u{5ac}', '\u{5af}', '\u{5c4}', '\u{610}', '\u{611}',
    '\u{612}', '\u{613}', '\u{614}', '\u{615}', '\u{616}', '\u{617}', '\u{657}', '\u{658}',
];

/// What is known of pictures.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pictures {
    /// None: it cannot be shown. With the columns it was made for.
    found: HashMap<(AccountId, AttachmentId), (u16, Option<Picture>)>,
}

impl Pictures {
    /// Forgets everything: the terminal turned out to draw pictures in another way, or may have
    /// lost those it kept.
    pub(crate) fn clear(&mut self) {
        self.found.clear();
    }

    /// Keeps what a worker made of a wish.
    pub(crate) fn insert(&mut self, wish: &PictureWish, picture: Option<Picture>) {
        let whole = |picture: &Picture| {
            picture.pixels.len() == usize::from(picture.width) * usize::from(picture.height) * 3
                && picture.width > 0
                && picture.width <= wish.columns
        };
        let key = (wish.account.clone(), wish.attachment.clone());
        self.found
            .insert(key, (wish.columns, picture.filter(whole)));
    }

    /// The picture of an attachment in a timeline so wide. One made for another width stands in as
    /// long as it fits.
    pub(crate) fn find(
        &self,
        account: &AccountId,
        attachment: &AttachmentId,
        columns: u16,
    ) -> Option<&Picture> {
        let (_, picture) = self.found.get(&(account.clone(), attachment.clone()))?;
        picture.as_ref().filter(|picture| picture.width <= columns)
    }

    /// The cells that a picture still has to be made for.
    pub(crate) fn wanted(
        &self,
        account: &AccountId,
        attachment: &AttachmentId,
        columns: u16,
    ) -> Option<(u16, u16)> {
        let wanted = columns.min(COLUMNS);
        let made = self.found.get(&(account.clone(), attachment.clone()));
        (made.map(|(columns, _)| *columns) != Some(wanted)).then_some((wanted, ROWS))
    }
}

impl Pictures {
    /// The icon of a conversation, when it has one that can be shown. Four pixels of half blocks
    /// show nothing, so without a sharper way the mark stays.
    pub(crate) fn icon(
        &self,
        account: &AccountId,
        conversation: &ConversationId,
        info: &ConversationInfo,
    ) -> Option<&Picture> {
        let icon = info.appearance.icon.as_ref()?;
        self.find(account, &icon_name(conversation, icon), ICON_COLUMNS)
            .filter(|picture| picture.sharp.is_some())
    }

    /// The wish for an icon that was not decoded yet.
    pub(crate) fn wanted_icon(
        &self,
        account: &AccountId,
        conversation: &ConversationId,
        info: &ConversationInfo,
    ) -> Option<PictureWish> {
        let icon = info.appearance.icon.as_ref()?;
        let attachment = icon_name(conversation, icon);
        let (columns, _) = self.wanted(account, &attachment, ICON_COLUMNS)?;
        Some(PictureWish {
            account: account.clone(),
            attachment,
            source: PictureSource::Bytes(Arc::clone(icon)),
            columns,
            rows: 1,
        })
    }
}

impl Picture {
    /// Rows of cells it takes.
    pub(crate) fn rows(&self) -> u16 {
        self.height.div_ceil(2)
    }

    fn pixel(&self, x: u16, y: u16) -> Option<Rgb> {
        let at = (usize::from(y) * usize::from(self.width) + usize::from(x)) * 3;
        let pixel = self.pixels.get(at..at + 3)?;
        (y < self.height).then(|| Rgb(pixel[0], pixel[1], pixel[2]))
    }

    /// Puts one row of cells.
    pub(crate) fn put_row(&self, canvas: &mut Canvas<'_>, area: Rect, y: u16, row: u16) {
        if let Some(Sharp::Kept { id }) = self.sharp {
            self.put_placeholders(canvas, area, y, row, id);
            return;
        }
        self.put_blocks(canvas, area, y, row);
        if let Some(sharp) = &self.sharp
            && self.width <= area.width
            && !canvas.is_bare
        {
            let cells = (area.x..area.x + self.width)
                .filter_map(|x| canvas.buffer.cell((x, y)).cloned())
                .collect();
            canvas.pictures.push(DrawnRow {
                x: area.x,
                y,
                row,
                cells,
                sharp: sharp.clone(),
            });
        }
    }

    fn put_placeholders(&self, canvas: &mut Canvas<'_>, area: Rect, y: u16, row: u16, id: u8) {
        let Some(number) = NUMBERS.get(usize::from(row)) else {
            return;
        };
        for (x, column) in (0..self.width.min(area.width)).zip(NUMBERS) {
            if let Some(cell) = canvas.buffer.cell_mut((area.x + x, y)) {
                cell.set_symbol(&String::from_iter([PLACEHOLDER, *number, column]));
                cell.set_fg(Color::Indexed(id));
                cell.set_bg(Color::Reset);
            }
        }
    }

    fn put_blocks(&self, canvas: &mut Canvas<'_>, area: Rect, y: u16, row: u16) {
        let color = |rgb: Rgb| match canvas.theme.depth {
            Depth::TrueColor => rgb.color(),
            _ => Color::Indexed(nearest_index(rgb)),
        };
        for x in 0..self.width.min(area.width) {
            let Some(upper) = self.pixel(x, row * 2) else {
                return;
            };
            let lower = self.pixel(x, row * 2 + 1);
            if let Some(cell) = canvas.buffer.cell_mut((area.x + x, y)) {
                cell.set_symbol("▀");
                cell.set_fg(color(upper));
                if let Some(lower) = lower {
                    cell.set_bg(color(lower));
                }
            }
        }
    }
}
