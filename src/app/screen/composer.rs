//! The composer: text edited by grapheme clusters, with undo, history and what hangs on the draft.
//! One for each conversation, so a draft can only go where it was begun.
//!
//! The model always holds the whole text. A long paste is folded into a *chip* for the eye only:
//! `shown` replaces it by a short label, and every motion steps over it as over one cluster.

mod chips;
mod history;
mod lines;
mod motion;
mod visual;

use super::drawer::Drawer;
use crate::app::event::FileFacts;
use crate::domain::{DraftRecord, Moment, RemoteId};
use std::ops::Range;
use std::path::PathBuf;

pub use super::shown::{Piece, Shown};
pub use chips::chip_label;
use chips::{foldable, is_long};
pub use motion::Motion;

/// A paste with more lines than this becomes a chip.
pub const CHIP_LINES: usize = 8;
/// A paste with more characters than this becomes a chip.
pub const CHIP_CHARACTERS: usize = 1000;
/// Steps that undo goes back, and bytes they hold at most.
const UNDO_STEPS: usize = 200;
const UNDO_BYTES: usize = 1 << 20;
/// Inputs of this run of the program that Up finds before the store is asked.
const RECENT: usize = 100;

/// A draft and the caret in it.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Composer {
    text: String,
    /// Byte offset, on a cluster boundary, never inside a chip.
    caret: usize,
    pub reply_to: Option<RemoteId>,
    pub files: Vec<DraftFile>,
    /// The other end of the selection.
    anchor: Option<usize>,
    /// The visual mode of the vim scheme, while it lasts.
    visual: Option<visual::Visual>,
    /// Folded pastes: ranges of the text, sorted and apart.
    chips: Vec<Range<usize>>,
    undo: Vec<Step>,
    redo: Vec<Step>,
    last_edit: Edit,
    /// Where the last yank stands, so that the next one can take its place.
    yanked: Option<(Range<usize>, usize)>,
    /// The column that motions by row want to stay in.
    wanted_column: Option<usize>,
    /// Inputs of this run of the program, newest last; cleared drafts are among them.
    recent: Vec<String>,
    /// Inputs the store knows, newest first; none before it was asked.
    stored: Option<Vec<String>>,
    browsing: Option<Browsing>,
    /// The command drawer or the list of paths, while it is open.
    pub drawer: Option<Drawer>,
    /// When the oldest change was made that is not in the store.
    pub unsaved_since: Option<Moment>,
    /// Up was pressed and the store has not answered yet.
    pub awaits_inputs: bool,
}

/// A file that hangs on a draft.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DraftFile {
    pub path: PathBuf,
    /// None until the shell looked at it.
    pub facts: Option<FileFacts>,
}

/// What undo goes back to.
#[derive(Clone, PartialEq, Debug)]
struct Step {
    text: String,
    caret: usize,
    chips: Vec<Range<usize>>,
}

/// The sort of the last change; equal ones in a row are one step.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Edit {
    #[default]
    None,
    TypedWord,
    TypedBlank,
    Deleted,
    Other,
}

/// Walking through earlier inputs.
#[derive(Clone, PartialEq, Debug)]
struct Browsing {
    /// How many inputs back; one is the newest.
    back: usize,
    /// The draft that was there before.
    draft: Step,
}

/// What became of a step back in the history.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HistoryStep {
    Moved,
    /// The store has to be asked first.
    NeedsStore,
    /// There is nothing older, or newer.
    End,
}

impl Composer {
    /// The whole text of the draft.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Byte offset of the caret.
    pub fn caret(&self) -> usize {
        self.caret
    }

    /// Whether there is neither text nor anything attached.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty() && self.files.is_empty()
    }

    /// The selected part of the text.
    pub fn selection(&self) -> Option<Range<usize>> {
        let anchor = self.anchor?;
        let range = anchor.min(self.caret)..anchor.max(self.caret);
        (!range.is_empty()).then_some(range)
    }

    /// The selected text.
    pub fn selected_text(&self) -> Option<&str> {
        self.selection().map(|range| &self.text[range])
    }

    /// Folded pastes as ranges of the text.
    pub fn chips(&self) -> &[Range<usize>] {
        &self.chips
    }

    /// Characters, as servers count them.
    pub fn characters(&self) -> usize {
        self.text.chars().count()
    }

    /// The draft as it is drawn in `columns` cells.
    pub fn shown(&self, columns: usize) -> Shown {
        Shown::new(
            &self.text,
            self.caret,
            self.selection(),
            &self.chips,
            columns,
        )
    }

    /// What the store keeps; none for an empty draft.
    pub fn record(&self, now: Moment) -> Option<DraftRecord> {
        if self.is_empty() && self.reply_to.is_none() {
            return None;
        }
        Some(DraftRecord {
            text: self.text.clone(),
            caret: self.caret,
            folded: self.chips.clone(),
            reply_to: self.reply_to.clone(),
            files: self.files.iter().map(|file| file.path.clone()).collect(),
            saved_ms: now.wall_ms,
        })
    }

    /// Takes over what the store kept. Files have to be looked at again.
    pub fn restore(&mut self, record: &DraftRecord) {
        self.put(&record.text, 0);
        self.chips = foldable(&record.text, &record.folded);
        self.place(record.caret);
        self.reply_to = record.reply_to.clone();
        self.files = record
            .files
            .iter()
            .map(|path| DraftFile {
                path: path.clone(),
                facts: None,
            })
            .collect();
        self.undo.clear();
        self.unsaved_since = None;
    }

    /// Puts this text in place of what is there.
    pub fn put(&mut self, text: &str, caret: usize) {
        self.remember(Edit::Other);
        self.text = text.to_owned();
        self.chips.clear();
        self.place(caret);
    }

    /// Takes the text out; what hangs on the draft stays. Undo brings the text back.
    pub fn take(&mut self) -> String {
        self.remember(Edit::Other);
        let text = std::mem::take(&mut self.text);
        self.chips.clear();
        self.place(0);
        self.browsing = None;
        self.drawer = None;
        text
    }

    /// Remembers an input, so that Up finds it.
    pub fn remember_input(&mut self, text: &str) {
        if text.trim().is_empty() {
            return;
        }
        self.recent.retain(|known| known != text);
        self.recent.push(text.to_owned());
        if self.recent.len() > RECENT {
            self.recent.remove(0);
        }
        self.browsing = None;
    }

    // Typing and deleting

    /// Types text at the caret, in place of the selection.
    pub fn insert(&mut self, text: &str) {
        let edit = match text.chars().next() {
            Some(c) if c.is_whitespace() => Edit::TypedBlank,
            Some(_) => Edit::TypedWord,
            None => return,
        };
        // A blank ends the word, so it belongs to the same step as the word before it.
        let continues = matches!(
            (self.last_edit, edit),
            (Edit::TypedWord, _) | (Edit::TypedBlank, Edit::TypedBlank)
        ) && self.anchor.is_none()
            && !text.contains('\n');
        if continues {
            self.last_edit = edit;
            self.redo.clear();
        } else {
            self.remember(edit);
        }
        let range = self.selection().unwrap_or(self.caret..self.caret);
        self.replace(range, text);
        self.last_edit = edit;
    }

    /// Puts pasted text in; a long one is folded.
    pub fn paste(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        self.remember(Edit::Other);
        let range = self.selection().unwrap_or(self.caret..self.caret);
        let start = range.start;
        self.replace(range, text);
        if is_long(text) {
            self.chips.push(start..start + text.len());
            self.chips.sort_by_key(|chip| chip.start);
        }
    }

    /// Deletes the selection, else from the caret to where `motion` leads. Returns what went.
    pub fn delete(&mut self, motion: Motion) -> Option<String> {
        let range = match self.selection() {
            Some(range) => range,
            None => {
                let to = self.target(motion);
                to.min(self.caret)..to.max(self.caret)
            }
        };
        if range.is_empty() {
            return None;
        }
        let is_small = matches!(motion, Motion::Left | Motion::Right);
        if !(is_small && self.last_edit == Edit::Deleted) {
            self.remember(Edit::Deleted);
        }
        let gone = self.text[range.clone()].to_owned();
        self.replace(range, "");
        self.last_edit = if is_small { Edit::Deleted } else { Edit::Other };
        Some(gone)
    }

    /// Deletes up to where the motion leads when it is made so many times, as one step. Returns what
    /// went.
    pub fn delete_times(&mut self, motion: Motion, times: usize) -> Option<String> {
        if times > 1 && self.selection().is_none() {
            for _ in 0..times {
                self.go(motion, true);
            }
        }
        self.delete(motion)
    }

    /// Puts back the `nth` newest of what was deleted; a repeat takes the place of the one before.
    pub fn yank(&mut self, kills: &[String], again: bool) {
        let (range, nth) = match (&self.yanked, again) {
            (Some((range, nth)), true) if range.end <= self.text.len() => {
                (range.clone(), (nth + 1) % kills.len().max(1))
            }
            _ => (self.selection().unwrap_or(self.caret..self.caret), 0),
        };
        let Some(text) = kills.len().checked_sub(1 + nth).and_then(|i| kills.get(i)) else {
            return;
        };
        self.remember(Edit::Other);
        let start = range.start;
        self.replace(range, text);
        self.yanked = Some((start..start + text.len(), nth));
    }

    /// Goes one step back.
    pub fn undo(&mut self) -> bool {
        let Some(step) = self.undo.pop() else {
            return false;
        };
        let now = self.step();
        self.redo.push(now);
        self.go_to(step);
        true
    }

    /// Takes one step back back.
    pub fn redo(&mut self) -> bool {
        let Some(step) = self.redo.pop() else {
            return false;
        };
        let now = self.step();
        self.undo.push(now);
        self.go_to(step);
        true
    }

    // Motions

    /// Moves the caret; `extends` keeps the other end of the selection.
    pub fn go(&mut self, motion: Motion, extends: bool) {
        let selection = self.selection();
        self.set_anchor(extends);
        // A motion out of a selection goes to its end first.
        self.caret = match (selection, extends, motion) {
            (Some(range), false, Motion::Left) => range.start,
            (Some(range), false, Motion::Right) => range.end,
            _ => self.target(motion),
        };
        self.settle();
    }

    /// Moves the caret by rows as they are drawn in `columns` cells; false at the first or last.
    pub fn go_rows(&mut self, rows: isize, columns: usize) -> bool {
        let shown = self.shown(columns);
        let Some(row) = shown.caret_row.checked_add_signed(rows) else {
            return false;
        };
        if row >= shown.rows.len() {
            return false;
        }
        let column = self.wanted_column.unwrap_or(shown.caret_column);
        self.set_anchor(false);
        self.caret = shown.text_offset(shown.offset_at(row, column));
        self.settle();
        self.wanted_column = Some(column);
        true
    }

    /// Puts the caret where the mouse points.
    pub fn go_to_cell(&mut self, row: usize, column: usize, columns: usize) {
        let shown = self.shown(columns);
        let row = row.min(shown.rows.len().saturating_sub(1));
        self.set_anchor(false);
        self.caret = shown.text_offset(shown.offset_at(row, column));
        self.settle();
    }

    /// Selects everything.
    pub fn select_all(&mut self) {
        self.anchor = Some(0);
        self.caret = self.text.len();
        self.settle();
    }

    /// Gives the selection up; false when there is none.
    pub fn unselect(&mut self) -> bool {
        self.visual = None;
        self.anchor.take().is_some()
    }

    // Inside

    fn place(&mut self, caret: usize) {
        self.unselect();
        self.caret = caret.min(self.text.len());
        while !self.text.is_char_boundary(self.caret) {
            self.caret -= 1;
        }
        self.settle();
    }

    fn set_anchor(&mut self, extends: bool) {
        if !extends {
            self.unselect();
        } else if self.anchor.is_none() {
            self.anchor = Some(self.caret);
        }
    }

    /// After a motion: the caret leaves the inside of a chip, and one thing ends, the next begins.
    fn settle(&mut self) {
        if let Some(chip) = self
            .chips
            .iter()
            .find(|chip| chip.start < self.caret && self.caret < chip.end)
        {
            self.caret = chip.end;
        }
        self.wanted_column = None;
        self.yanked = None;
        self.last_edit = Edit::None;
    }

    /// Every change of the text goes through here, so that chips and caret stay right.
    fn replace(&mut self, range: Range<usize>, with: &str) {
        self.chips.retain_mut(|chip| {
            if chip.end <= range.start {
                return true;
            }
            if chip.start >= range.end {
                chip.start = chip.start - range.len() + with.len();
                chip.end = chip.end - range.len() + with.len();
                return true;
            }
            false
        });
        self.caret = range.start + with.len();
        self.text.replace_range(range, with);
        self.unselect();
        self.wanted_column = None;
        self.yanked = None;
        self.browsing = None;
    }

    fn step(&self) -> Step {
        Step {
            text: self.text.clone(),
            caret: self.caret,
            chips: self.chips.clone(),
        }
    }

    fn remember(&mut self, edit: Edit) {
        let step = self.step();
        if self.undo.last().is_none_or(|last| last.text != step.text) {
            self.undo.push(step);
        }
        let mut bytes: usize = self.undo.iter().map(|step| step.text.len()).sum();
        while self.undo.len() > 1 && (self.undo.len() > UNDO_STEPS || bytes > UNDO_BYTES) {
            bytes -= self.undo.remove(0).text.len();
        }
        self.redo.clear();
        self.last_edit = edit;
    }

    fn go_to(&mut self, step: Step) {
        self.text = step.text;
        self.chips = step.chips;
        self.browsing = None;
        self.place(step.caret);
    }
}

#[cfg(test)]
mod tests;
