//! The draft as it is drawn: chips as labels, characters that must not reach the screen as marks,
//! wrapped to a width. The composer's motions by row and the view use the same rows.

use super::composer::chip_label;
use crate::text;
use std::ops::Range;

/// A part of the text that is shown otherwise than it is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Piece {
    pub text: Range<usize>,
    pub shown: Range<usize>,
    /// A folded paste; else a mark for one character.
    pub is_chip: bool,
}

/// A draft laid out. Offsets without another word are into `text` here, not into the draft.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Shown {
    pub text: String,
    /// Rows from the top; a row does not contain its line break.
    pub rows: Vec<Range<usize>>,
    pub caret_row: usize,
    /// Cells from the left; less than the width.
    pub caret_column: usize,
    pub selection: Option<Range<usize>>,
    pub pieces: Vec<Piece>,
}

impl Shown {
    /// Lays a draft out.
    pub(super) fn new(
        draft: &str,
        caret: usize,
        selection: Option<Range<usize>>,
        chips: &[Range<usize>],
        columns: usize,
    ) -> Self {
        let columns = columns.max(2);
        let (text, pieces) = show(draft, chips);
        let mut shown = Self {
            text,
            rows: Vec::new(),
            caret_row: 0,
            caret_column: 0,
            selection: None,
            pieces,
        };
        shown.selection =
            selection.map(|range| shown.shown_offset(range.start)..shown.shown_offset(range.end));
        shown.rows = wrap(&shown.text, columns);
        let caret = shown.shown_offset(caret);
        let row = shown
            .rows
            .iter()
            .rposition(|row| row.start <= caret)
            .unwrap_or(0);
        let mut column = text::width(&shown.text[shown.rows[row].start..caret]);
        shown.caret_row = row;
        if column >= columns {
            let is_last = row + 1 == shown.rows.len();
            let ends_row = caret == shown.rows[row].end;
            if ends_row && is_last && column == columns {
                // The caret needs a cell of its own.
                shown.rows.push(caret..caret);
                shown.caret_row += 1;
                column = 0;
            } else {
                // Behind a blank that hangs over the edge.
                column = columns - 1;
            }
        }
        shown.caret_column = column;
        shown
    }

    /// The offset in the shown text of an offset in the draft.
    pub fn shown_offset(&self, at: usize) -> usize {
        let mut shift = 0isize;
        for piece in &self.pieces {
            if at < piece.text.end {
                if at > piece.text.start {
                    return piece.shown.start;
                }
                break;
            }
            shift = piece.shown.end as isize - piece.text.end as isize;
        }
        at.saturating_add_signed(shift)
    }

    /// The offset in the draft of an offset in the shown text; inside a chip it is its nearer end.
    pub fn text_offset(&self, at: usize) -> usize {
        let mut shift = 0isize;
        for piece in &self.pieces {
            if at < piece.shown.end {
                if at > piece.shown.start {
                    let middle = piece.shown.start + piece.shown.len() / 2;
                    return if at < middle {
                        piece.text.start
                    } else {
                        piece.text.end
                    };
                }
                break;
            }
            shift = piece.text.end as isize - piece.shown.end as isize;
        }
        at.saturating_add_signed(shift)
    }

    /// The offset of the cluster at a cell of a row; past the end, the end of the row.
    pub(super) fn offset_at(&self, row: usize, column: usize) -> usize {
        let Some(range) = self.rows.get(row) else {
            return self.text.len();
        };
        let line = &self.text[range.clone()];
        let (start, _) = text::cut_to_width(line, column);
        let mut at = range.start + start.len();
        // The end of a row that goes on belongs to the next one; stay before its last cluster.
        let goes_on = self.rows.get(row + 1).is_some_and(|next| next.start == at);
        if goes_on && at > range.start {
            at = super::line::before(&self.text, at);
        }
        at
    }
}

fn show(draft: &str, chips: &[Range<usize>]) -> (String, Vec<Piece>) {
    let mut text = String::with_capacity(draft.len().min(4096));
    let mut pieces = Vec::new();
    let mut at = 0;
    for chip in chips
        .iter()
        .chain(std::iter::once(&(draft.len()..draft.len())))
    {
        for (i, c) in draft[at..chip.start].char_indices() {
            match mark(c) {
                None => text.push(c),
                Some(mark) => {
                    let from = at + i;
                    let start = text.len();
                    text.push_str(mark);
                    pieces.push(Piece {
                        text: from..from + c.len_utf8(),
                        shown: start..text.len(),
                        is_chip: false,
                    });
                }
            }
        }
        if !chip.is_empty() {
            let start = text.len();
            text.push_str(&chip_label(&draft[chip.clone()]));
            pieces.push(Piece {
                text: chip.clone(),
                shown: start..text.len(),
                is_chip: true,
            });
        }
        at = chip.end;
    }
    (text, pieces)
}

/// What stands for a character that must not be drawn as it is.
fn mark(c: char) -> Option<&'static str> {
    match c {
        '\n' => None,
        '\t' => Some("    "),
        c if c.is_control() => Some("\u{fffd}"),
        '\u{202a}'..='\u{202e}'
        | '\u{2066}'..='\u{2069}'
        | '\u{200e}'
        | '\u{200f}'
        | '\u{61c}'
        | '\u{2028}'
        | '\u{2029}'
        | '\u{feff}' => Some("\u{fffd}"),
        _ => None,
    }
}

/// Rows of at most `columns` cells, broken after blanks where there are any. A blank may hang over
/// the edge.
fn wrap(text: &str, columns: usize) -> Vec<Range<usize>> {
    let mut rows = Vec::new();
    let mut line_start = 0;
    for line in text.split('\n') {
        let mut row = line_start;
        let mut used = 0;
        let mut after_blank = None;
        let mut at = line_start;
        for cluster in text::graphemes(line) {
            let width = text::width(cluster);
            let is_blank = cluster == " ";
            if used + width > columns && !is_blank {
                let cut = after_blank.filter(|cut| *cut > row).unwrap_or(at);
                rows.push(row..cut);
                row = cut;
                used = text::width(&text[row..at]);
                after_blank = None;
            }
            used += width;
            at += cluster.len();
            if is_blank {
                after_blank = Some(at);
            }
        }
        rows.push(row..at);
        line_start = at + 1;
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_break_after_blanks() {
        let rows = wrap("alpha beta gammagamma\n\nx", 6);
        let text = "alpha beta gammagamma\n\nx";
        let rows: Vec<&str> = rows.into_iter().map(|row| &text[row]).collect();
        assert_eq!(rows, ["alpha ", "beta ", "gammag", "amma", "", "x"]);
    }

    #[test]
    fn a_full_row_gives_the_caret_a_row_of_its_own() {
        let shown = Shown::new("abcd", 4, None, &[], 4);
        assert_eq!((shown.caret_row, shown.caret_column), (1, 0));
    }

    #[test]
    fn marks_and_tabs_keep_their_places() {
        let draft = "a\tb\u{202e}c";
        let shown = Shown::new(draft, draft.len(), None, &[], 40);
        assert_eq!(shown.text, "a    b\u{fffd}c");
        for at in [0, 1, 2, 3, draft.len()] {
            assert_eq!(shown.text_offset(shown.shown_offset(at)), at);
        }
    }
}
