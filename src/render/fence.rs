//! Fences around blocks of code: which language they name, and whether a block is closed.

use crate::text::clean_line;

/// The language that the info string of a fence names.
pub(super) fn language(info: &str) -> String {
    let name = info
        .trim_start_matches(['{', '.', ' '])
        .split([' ', ',', '}', '{', ':'])
        .next()
        .unwrap_or_default();
    crate::text::truncate(&clean_line(name), 40)
}

/// Whether a block of code ends with the fence it began with. An indented one counts as closed:
/// whatever comes, the lines there stay.
pub(super) fn is_closed(block: &str, quotes: usize, is_outside_lists: bool) -> bool {
    let Some(fence) = Fence::opening(block.trim_start_matches(' ')) else {
        return true;
    };
    let Some((_, lines)) = block.split_once('\n') else {
        return false;
    };
    let last = lines.trim_end_matches(['\n', ' ']).rsplit('\n').next();
    last.is_some_and(|mut line| {
        for _ in 0..quotes {
            line = line.trim_start_matches(' ');
            line = line.strip_prefix('>').unwrap_or(line);
        }
        let indent = line.len() - line.trim_start_matches(' ').len();
        // One blank belongs to the mark of the quote; in lists any number to their indent.
        (indent < 4 + quotes.min(1) || !is_outside_lists) && fence.is_closed_by(&line[indent..])
    })
}

/// The marks that open a block of code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Fence {
    mark: char,
    length: usize,
}

impl Fence {
    /// The fence that a text begins with.
    pub fn opening(text: &str) -> Option<Self> {
        let mark = text.chars().next().filter(|c| matches!(c, '`' | '~'))?;
        let length = text.len() - text.trim_start_matches(mark).len();
        (length >= 3).then_some(Self { mark, length })
    }

    pub fn is_closed_by(self, line: &str) -> bool {
        let line = line.trim_end_matches(' ');
        line.len() >= self.length && line.chars().all(|c| c == self.mark)
    }
}
