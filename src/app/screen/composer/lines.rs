//! Whole lines of the draft: deleted, copied and put back as lines.

use super::{Composer, Edit};
use std::ops::Range;

/// The most that counted lines become, in bytes.
const MOST: usize = 1 << 20;

impl Composer {
    /// Deletes so many lines from that of the caret on, with a break. Returns what stood in them.
    pub fn delete_lines(&mut self, count: usize) -> Option<String> {
        let lines = self.lines(count);
        let range = self.with_break(lines.clone());
        if range.is_empty() {
            return None;
        }
        self.remember(Edit::Other);
        let gone = self.text[lines].to_owned();
        self.replace(range, "");
        self.caret = self.line().start;
        Some(gone)
    }

    /// Makes one empty line of so many. Returns what went.
    pub fn empty_lines(&mut self, count: usize) -> Option<String> {
        let range = self.lines(count);
        self.remember(Edit::Other);
        let gone = self.text[range.clone()].to_owned();
        self.replace(range, "");
        (!gone.is_empty()).then_some(gone)
    }

    /// The text of so many lines from that of the caret on.
    pub fn lines_text(&self, count: usize) -> &str {
        &self.text[self.lines(count)]
    }

    /// Puts lines so many times behind the line of the caret, which goes to the first of them.
    pub fn put_lines_below(&mut self, lines: &str, times: usize) {
        let block = repeated(lines, times);
        let end = self.line().end;
        self.remember(Edit::Other);
        self.replace(end..end, &format!("\n{block}"));
        self.caret = end + 1;
    }

    /// Puts lines so many times before the line of the caret, which goes to the first of them.
    pub fn put_lines_above(&mut self, lines: &str, times: usize) {
        let block = repeated(lines, times);
        let start = self.line().start;
        self.remember(Edit::Other);
        self.replace(start..start, &format!("{block}\n"));
        self.caret = start;
    }

    /// The line of the caret, without its break.
    pub(super) fn line(&self) -> Range<usize> {
        let start = self.text[..self.caret].rfind('\n').map_or(0, |at| at + 1);
        let end = self.text[self.caret..]
            .find('\n')
            .map_or(self.text.len(), |at| self.caret + at);
        start..end
    }

    /// So many lines from that of the caret on, without the last break.
    pub(super) fn lines(&self, count: usize) -> Range<usize> {
        let mut range = self.line();
        for _ in 1..count {
            let from = range.end + 1;
            let Some(rest) = self.text.get(from..) else {
                break;
            };
            range.end = rest.find('\n').map_or(self.text.len(), |at| from + at);
        }
        range
    }

    /// Lines with the break after them, or at the end of the text with that before.
    pub(super) fn with_break(&self, mut lines: Range<usize>) -> Range<usize> {
        if lines.end < self.text.len() {
            lines.end += 1;
        } else if lines.start > 0 {
            lines.start -= 1;
        }
        lines
    }
}

/// These lines so many times, one after the other.
fn repeated(lines: &str, times: usize) -> String {
    let most = MOST / lines.len().max(1);
    vec![lines; times.min(most).max(1)].join("\n")
}
