//! Folded pastes: which ones are folded, what stands in their place, and how they unfold.

use super::{CHIP_CHARACTERS, CHIP_LINES, Composer};
use crate::text;
use crate::text::size_words;
use std::ops::Range;

impl Composer {
    /// Unfolds the chip before, after or around the caret; false when there is none.
    pub fn unfold(&mut self) -> bool {
        let caret = self.caret;
        let Some(at) = self
            .chips
            .iter()
            .position(|chip| chip.start <= caret && caret <= chip.end)
            .or_else(|| (!self.chips.is_empty()).then(|| self.chips.len() - 1))
        else {
            return false;
        };
        self.chips.remove(at);
        true
    }

    pub(super) fn fold_if_long(&mut self) {
        if is_long(&self.text) && self.text.len() > 4 * CHIP_CHARACTERS {
            self.chips = std::iter::once(0..self.text.len()).collect();
            self.caret = self.text.len();
        }
    }
}

/// The ranges that are parts of this text, sorted and apart: what a file says may be of another text.
pub(super) fn foldable(text: &str, ranges: &[Range<usize>]) -> Vec<Range<usize>> {
    let mut from = 0;
    let mut folded = Vec::new();
    for range in ranges {
        if range.start >= from && text.get(range.clone()).is_some_and(|part| !part.is_empty()) {
            from = range.end;
            folded.push(range.clone());
        }
    }
    folded
}

pub(super) fn is_long(text: &str) -> bool {
    text.lines().nth(CHIP_LINES).is_some() || text.chars().nth(CHIP_CHARACTERS).is_some()
}

/// What stands in place of a folded paste.
pub fn chip_label(folded: &str) -> String {
    let lines = folded.lines().count();
    let size = size_words(u64::try_from(folded.len()).unwrap_or(u64::MAX));
    let start = text::lead(folded.lines().next().unwrap_or("").trim(), 16);
    let start: String = start.chars().filter(|c| !c.is_control()).collect();
    if lines > 1 {
        format!("[{start}… {lines} lines, {size}]")
    } else {
        format!("[{start}… {size}]")
    }
}
