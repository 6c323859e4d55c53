//! Pictures in the timeline, drawn with half blocks: two pixels to a cell, in any terminal that has
//! the colours. A worker decodes and scales; what it brought is looked up here by attachment.

use super::canvas::Canvas;
use super::color::{Rgb, nearest_index};
use super::theme::Depth;
use crate::domain::{AccountId, AttachmentId};
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
    pub path: PathBuf,
    /// It has to fit into this many cells; a cell is one pixel wide and two high.
    pub columns: u16,
    pub rows: u16,
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
}

/// What is known of pictures.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pictures {
    /// None: it cannot be shown. With the columns it was made for.
    found: HashMap<(AccountId, AttachmentId), (u16, Option<Picture>)>,
}

impl Pictures {
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
