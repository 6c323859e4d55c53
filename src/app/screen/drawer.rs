//! The drawer over the composer: slash commands, paths to attach, and the offer to attach a file
//! whose path was pasted.

use super::overlay::List;
use crate::app::event::ListedFile;
use std::path::PathBuf;

/// What is open over the composer.
#[derive(Clone, PartialEq, Debug)]
pub struct Drawer {
    pub kind: DrawerKind,
    pub list: List,
    /// The person moved the cursor in it, so Enter takes the row too.
    pub is_chosen: bool,
    /// Closed with Esc; stays so until what opened it is gone.
    pub is_dismissed: bool,
}

/// Which list it holds.
#[derive(Clone, PartialEq, Debug)]
pub enum DrawerKind {
    /// Commands that fit the word at the start of the draft.
    Commands,
    /// Paths that fit the word before the caret, which begins with `@` at this offset.
    Paths {
        start: usize,
        directory: String,
        entries: Vec<ListedFile>,
        is_loading: bool,
    },
    /// The text between the offsets is the path of a file.
    Offer {
        start: usize,
        end: usize,
        path: PathBuf,
    },
}
