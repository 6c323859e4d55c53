//! Editing one line, on grapheme clusters: filters, prompts, the reason of a refusal, the wizard.

use super::overlay::Line;
use crate::app::Action;
use unicode_segmentation::UnicodeSegmentation;

/// The longest text a line takes; longer pastes are cut.
pub const LINE_LIMIT: usize = 4096;

impl Line {
    /// A line with this text and the caret at its end.
    pub fn new(text: impl Into<String>) -> Self {
        let text = text.into();
        Self {
            caret: text.len(),
            text,
        }
    }

    /// Types or pastes text; line breaks become spaces.
    pub fn insert(&mut self, text: &str) {
        let mut clean: String = text
            .chars()
            .map(|c| {
                if matches!(c, '\n' | '\r' | '\t') {
                    ' '
                } else {
                    c
                }
            })
            .filter(|c| !c.is_control())
            .collect();
        let mut room = LINE_LIMIT.saturating_sub(self.text.len()).min(clean.len());
        while !clean.is_char_boundary(room) {
            room -= 1;
        }
        clean.truncate(room);
        self.caret = self.caret.min(self.text.len());
        self.text.insert_str(self.caret, &clean);
        self.caret += clean.len();
    }

    /// Carries out a motion or deletion; false when the action is none of a line's.
    pub fn edit(&mut self, action: Action) -> bool {
        let (text, caret) = (&self.text, self.caret);
        match action {
            Action::MoveLeft => self.caret = before(text, caret),
            Action::MoveRight => self.caret = after(text, caret),
            Action::MoveWordLeft => self.caret = word_before(text, caret),
            Action::MoveWordRight => self.caret = word_after(text, caret),
            Action::MoveLineStart => self.caret = 0,
            Action::MoveLineEnd => self.caret = text.len(),
            Action::DeleteBackward => self.cut(before(text, caret), caret),
            Action::DeleteForward => self.cut(caret, after(text, caret)),
            Action::DeleteWordBackward => self.cut(word_before(text, caret), caret),
            Action::DeleteWordForward => self.cut(caret, word_after(text, caret)),
            Action::KillToLineStart => self.cut(0, caret),
            Action::KillToLineEnd => self.cut(caret, text.len()),
            _ => return false,
        }
        true
    }

    fn cut(&mut self, from: usize, to: usize) {
        self.text.replace_range(from..to, "");
        self.caret = from;
    }
}

/// Start of the cluster before `at`.
pub fn before(text: &str, at: usize) -> usize {
    text[..at]
        .grapheme_indices(true)
        .next_back()
        .map_or(0, |(start, _)| start)
}

/// End of the cluster after `at`.
pub fn after(text: &str, at: usize) -> usize {
    text[at..]
        .graphemes(true)
        .next()
        .map_or(text.len(), |cluster| at + cluster.len())
}

/// Start of the word before `at`: blanks and punctuation are skipped, then the word.
pub fn word_before(text: &str, at: usize) -> usize {
    let mut start = at;
    let mut in_word = false;
    for (i, cluster) in text[..at].grapheme_indices(true).rev() {
        let is_word = is_word(cluster);
        if in_word && !is_word {
            break;
        }
        in_word |= is_word;
        start = i;
    }
    start
}

/// End of the word after `at`.
pub fn word_after(text: &str, at: usize) -> usize {
    let mut end = at;
    let mut in_word = false;
    for (i, cluster) in text[at..].grapheme_indices(true) {
        let is_word = is_word(cluster);
        if in_word && !is_word {
            break;
        }
        in_word |= is_word;
        end = at + i + cluster.len();
    }
    end
}

/// Start of the next word as vim counts words: letters are one sort, signs another, and blanks lie
/// between.
pub fn word_start_after(text: &str, at: usize) -> usize {
    let sort = |cluster: &str| match cluster.chars().next() {
        Some(c) if c.is_whitespace() => 0,
        Some(_) if is_word(cluster) => 1,
        _ => 2,
    };
    let mut sorts = text[at..]
        .grapheme_indices(true)
        .map(|(i, cluster)| (at + i, sort(cluster)));
    let Some((_, first)) = sorts.next() else {
        return text.len();
    };
    let mut has_left = first == 0;
    for (i, sort) in sorts {
        has_left |= sort != first;
        if has_left && sort != 0 {
            return i;
        }
    }
    text.len()
}

fn is_word(cluster: &str) -> bool {
    cluster
        .chars()
        .next()
        .is_some_and(|c| c.is_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deleting_takes_whole_clusters() {
        let mut line = Line::new("ae\u{301}👨‍👩‍👧");
        line.edit(Action::DeleteBackward);
        assert_eq!(line.text, "ae\u{301}");
        line.edit(Action::DeleteBackward);
        assert_eq!(line.text, "a");
    }

    #[test]
    fn a_paste_stays_one_line() {
        let mut line = Line::default();
        line.insert("a\r\nb\tc\u{1b}");
        assert_eq!(line.text, "a  b c");
    }

    #[test]
    fn words_end_at_blanks_and_punctuation() {
        assert_eq!(word_before("cargo build --release ", 22), 14);
        assert_eq!(word_after("cargo build", 0), 5);
        assert_eq!(word_after("cargo build", 5), 11);
    }

    #[test]
    fn the_next_word_begins_after_blanks_or_signs() {
        let text = "one, two\n  three";
        let mut at = 0;
        let mut starts = Vec::new();
        while at < text.len() {
            at = word_start_after(text, at);
            starts.push(at);
        }
        assert_eq!(starts, [3, 5, 11, text.len()]);
    }
}
