//! The visual mode of the vim scheme: a selection that grows with every motion and holds the
//! cluster, or the line, on which it was begun.

use super::super::line::{after, before};
use super::{Composer, Edit, Motion};
use std::ops::Range;

/// Where the selection was begun.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Visual {
    /// Start of the cluster that was under the caret.
    start: usize,
    /// Whole lines are selected.
    by_lines: bool,
}

impl Composer {
    /// Whether a visual selection is being made.
    pub fn is_visual(&self) -> bool {
        self.visual.is_some()
    }

    /// Begins a visual selection, of lines or of clusters; from one sort to the other it stays begun
    /// where it was, and the same again ends it.
    pub fn begin_visual(&mut self, by_lines: bool) {
        if self
            .visual
            .is_some_and(|visual| visual.by_lines == by_lines)
        {
            return self.end_visual();
        }
        let start = self.visual.map_or(self.caret, |visual| visual.start);
        // Lines know no column: on its own line the selection goes back to where it was begun.
        let line = self.line();
        let at = match self.visual {
            Some(Visual { by_lines: true, .. }) if (line.start..=line.end).contains(&start) => {
                start
            }
            Some(_) => self.cursor(start),
            None => start,
        };
        self.visual = Some(Visual { start, by_lines });
        self.select_to(at);
    }

    /// Gives the visual selection up; the caret stays where its free end was.
    pub fn end_visual(&mut self) {
        if let Some(visual) = self.visual {
            self.caret = self.cursor(visual.start);
        }
        self.unselect();
    }

    /// Moves the free end of the visual selection so many times.
    pub fn extend_visual(&mut self, motion: Motion, times: usize) {
        for _ in 0..times {
            let Some(visual) = self.visual else {
                return;
            };
            // These lead behind the last cluster, the others onto one.
            let leads_behind = matches!(
                motion,
                Motion::WordRight | Motion::LineEnd | Motion::TextEnd
            );
            if !leads_behind {
                self.caret = self.cursor(visual.start);
            }
            let to = self.target(motion);
            if visual.by_lines || !leads_behind || to <= visual.start {
                self.select_to(to);
            } else {
                self.anchor = Some(visual.start);
                self.caret = to;
            }
        }
    }

    /// Moves the free end of the visual selection by lines of the text.
    pub fn extend_visual_lines(&mut self, lines: isize) {
        for _ in 0..lines.unsigned_abs() {
            let Some(visual) = self.visual else {
                return;
            };
            self.caret = self.cursor(visual.start);
            let line = self.line();
            let column = self.text[line.start..self.caret].chars().count();
            let start = if lines < 0 {
                let Some(end) = line.start.checked_sub(1) else {
                    return self.select_to(self.caret);
                };
                self.text[..end].rfind('\n').map_or(0, |at| at + 1)
            } else if line.end < self.text.len() {
                line.end + 1
            } else {
                return self.select_to(self.caret);
            };
            let end = self.text[start..]
                .find('\n')
                .map_or(self.text.len(), |at| start + at);
            let to = self.text[start..end]
                .char_indices()
                .nth(column)
                .map_or(end, |(at, _)| start + at);
            self.select_to(to);
        }
    }

    /// Whether whole lines are being selected.
    pub fn is_visual_by_lines(&self) -> bool {
        self.visual.is_some_and(|visual| visual.by_lines)
    }

    /// Copies the visual selection and ends it; of lines, what stands in them.
    pub fn copy_visual(&mut self) -> Option<String> {
        let range = self.visual_range()?;
        let text = self.visual_text(&range);
        self.unselect();
        self.caret = range.start;
        self.settle();
        Some(text)
    }

    /// Deletes the visual selection. To write in its place, `keeps_line` leaves an empty line.
    pub fn delete_visual(&mut self, keeps_line: bool) -> Option<String> {
        let by_lines = self.visual?.by_lines;
        let range = if by_lines && keeps_line {
            self.selection()
        } else {
            self.visual_range()
        };
        let Some(range) = range else {
            self.unselect();
            return None;
        };
        self.remember(Edit::Other);
        let gone = self.visual_text(&range);
        self.replace(range, "");
        if by_lines {
            self.caret = self.line().start;
        }
        Some(gone)
    }

    /// What is selected: of lines without the break that goes with them.
    fn visual_text(&self, range: &Range<usize>) -> String {
        let range = match self.selection() {
            Some(lines) if self.is_visual_by_lines() => lines,
            None if self.is_visual_by_lines() => self.caret..self.caret,
            _ => range.clone(),
        };
        self.text[range].to_owned()
    }

    fn visual_range(&self) -> Option<Range<usize>> {
        let visual = self.visual?;
        let range = match self.selection() {
            Some(range) => range,
            None if visual.by_lines => self.caret..self.caret,
            None => return None,
        };
        let range = if visual.by_lines {
            self.with_break(range)
        } else {
            range
        };
        (!range.is_empty()).then_some(range)
    }

    /// The cluster on which the free end lies.
    fn cursor(&self, start: usize) -> usize {
        let by_lines = self.visual.is_some_and(|visual| visual.by_lines);
        if !by_lines && self.caret > start && self.anchor.is_some_and(|anchor| anchor < self.caret)
        {
            self.step_from(self.caret, Motion::Left)
        } else {
            self.caret
        }
    }

    /// Selects from the cluster or line of the beginning to that at `at`, both included.
    fn select_to(&mut self, at: usize) {
        let Some(visual) = self.visual else {
            return;
        };
        let Visual { start, by_lines } = visual;
        let (low, high) = (start.min(at), start.max(at));
        let (low, high) = if by_lines {
            let line_end = self.text[high..]
                .find('\n')
                .map_or(self.text.len(), |end| high + end);
            let line_start = self.text[..low].rfind('\n').map_or(0, |end| end + 1);
            (line_start, line_end)
        } else {
            (low, self.step_from(high, Motion::Right))
        };
        let (anchor, caret) = if at >= start {
            (low, high)
        } else {
            (high, low)
        };
        self.anchor = Some(anchor);
        self.caret = caret;
        self.settle();
    }

    /// One cluster on or back; a folded paste is one.
    fn step_from(&self, at: usize, motion: Motion) -> usize {
        let (to, on) = match motion {
            Motion::Left => (before(&self.text, at), false),
            _ => (after(&self.text, at), true),
        };
        self.chips
            .iter()
            .find(|chip| chip.start < to && to < chip.end)
            .map_or(to, |chip| if on { chip.end } else { chip.start })
    }
}
