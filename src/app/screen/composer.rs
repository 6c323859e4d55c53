//! The composer: text edited by grapheme clusters, with undo, kill ring, history and what hangs on
//! the draft. One for each conversation.

use crate::app::event::FileFacts;
use crate::domain::RemoteId;
use std::path::PathBuf;

/// A draft and the caret in it.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Composer {
    text: String,
    /// Byte offset, on a cluster boundary.
    caret: usize,
    pub reply_to: Option<RemoteId>,
    pub files: Vec<DraftFile>,
}

/// A file that hangs on a draft.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DraftFile {
    pub path: PathBuf,
    /// None until the shell looked at it.
    pub facts: Option<FileFacts>,
}

impl Composer {
    /// The text of the draft.
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

    /// Puts this text in place of what is there.
    pub fn put(&mut self, text: &str, caret: usize) {
        self.text = text.to_owned();
        self.caret = caret.min(self.text.len());
        while !self.text.is_char_boundary(self.caret) {
            self.caret -= 1;
        }
    }

    /// Takes the text out; what hangs on the draft stays.
    pub fn take(&mut self) -> String {
        self.caret = 0;
        std::mem::take(&mut self.text)
    }
}
