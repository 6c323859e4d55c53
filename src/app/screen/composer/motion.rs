//! Where the caret can go.

use super::super::line::{after, before, word_after, word_before, word_start_after};
use super::Composer;

/// Where the caret can go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Motion {
    Left,
    Right,
    WordLeft,
    WordRight,
    /// To the start of the next word, as vim counts words.
    WordStart,
    /// The same, but not over the end of a line unless it begins there.
    WordStartInLine,
    /// Onto the last letter of a word.
    WordLast,
    LineStart,
    LineEnd,
    /// To the start of the line, or over the break before it.
    KillStart,
    /// To the end of the line, or over its break.
    KillEnd,
    TextStart,
    TextEnd,
}

impl Composer {
    /// Goes behind the cluster under the caret, unless the line ends there.
    pub fn go_behind(&mut self) {
        if self.caret < self.line().end {
            self.go(Motion::Right, false);
        }
    }

    /// Where a motion leads from the caret.
    pub(super) fn target(&self, motion: Motion) -> usize {
        let (text, caret) = (self.text.as_str(), self.caret);
        let to = match motion {
            Motion::Left => before(text, caret),
            Motion::Right => after(text, caret),
            Motion::WordLeft => word_before(text, caret),
            Motion::WordRight => word_after(text, caret),
            Motion::WordStart => word_start_after(text, caret),
            Motion::WordStartInLine => {
                let to = word_start_after(text, caret);
                let end = self.line().end;
                if caret < end { to.min(end) } else { to }
            }
            Motion::WordLast => {
                let end = word_after(text, after(text, caret));
                before(text, end).max(caret)
            }
            Motion::LineStart => self.line().start,
            Motion::LineEnd => self.line().end,
            // A second press at the end of a line takes the break.
            Motion::KillEnd => {
                let end = self.line().end;
                if end == caret {
                    after(text, caret)
                } else {
                    end
                }
            }
            Motion::KillStart => {
                let start = self.line().start;
                if start == caret {
                    before(text, caret)
                } else {
                    start
                }
            }
            Motion::TextStart => 0,
            Motion::TextEnd => text.len(),
        };
        // A chip is one step.
        self.chips
            .iter()
            .find(|chip| chip.start < to && to < chip.end)
            .map_or(to, |chip| if to < caret { chip.start } else { chip.end })
    }
}
