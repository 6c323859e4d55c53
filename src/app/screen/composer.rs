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
}
