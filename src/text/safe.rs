//! `SafeText`: made at the boundary, taken by every sink.
//!
//! | | prose | label | command |
//! |---|---|---|---|
//! | line feed | line break | `␊` | line break |
//! | tab | spaces to the next stop | one space | spaces to the next stop |
//! | other C0, DEL | control picture | control picture | control picture |
//! | NEL, U+2028, U+2029 | line break | mark | named |
//! | C1, bidi controls, fillers, zero width, private use, tags, noncharacters | one mark for a row | one mark for a row | each named |
//! | joiners, variation selectors | kept where they join | kept where they join | kept where they join, else named |
//! | marks on one character | 6 | 3 | 3, the rest named |
//! | length | free | 256 cells, then `…` | free |
//!
//! So no text holds a control character but the line feed, every cluster takes one to four cells,
//! and nothing is taken out without a trace.

use super::clean::{Manner, clean};
use std::fmt;

/// Cells of a label.
const LABEL_CELLS: usize = 256;
/// Bytes of a label that are looked at: even of marks there are no more than fill it.
const LABEL_BYTES: usize = 16 * 1024;

/// Text that no terminal takes for an order and no reader for something else.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct SafeText(String);

impl SafeText {
    /// Cleans prose: messages, tool output. Line breaks stay, tabs become spaces.
    pub fn prose(raw: &str) -> Self {
        Self(clean(raw, Manner::Prose))
    }

    /// Cleans a one-line label: names, titles, file names. At most 256 cells.
    pub fn label(raw: &str) -> Self {
        let mut end = raw.len().min(LABEL_BYTES);
        while !raw.is_char_boundary(end) {
            end -= 1;
        }
        let mut cleaned = clean(&raw[..end], Manner::Label);
        if end < raw.len() {
            cleaned.push('…');
        }
        Self(super::truncate(&cleaned, LABEL_CELLS))
    }

    /// Cleans a command for an approval: line breaks stay, everything else unusual is marked or
    /// named and nothing is left out.
    pub fn command(raw: &str) -> Self {
        Self(clean(raw, Manner::Command))
    }

    /// Whether a command has marks in the place of what hides or moves text.
    pub fn has_marks(&self) -> bool {
        let is_mark = |c: char| matches!(c, '\u{2400}'..='\u{2421}' | '\u{fffd}');
        self.0.contains(is_mark) || self.0.contains("\u{27e8}U+")
    }

    /// Cleans what should be one picture: the first cluster, if it takes at most two cells.
    pub fn glyph(raw: &str) -> Self {
        let start: String = raw.trim_start().chars().take(32).collect();
        let cleaned = clean(&start, Manner::Label);
        let first = super::clusters(&cleaned).next();
        Self(
            first
                .filter(|c| c.width <= 2)
                .map_or_else(String::new, |c| c.text.to_owned()),
        )
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether there is no text.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// From what `clean` gave.
    pub(super) fn from_cleaned(text: String) -> Self {
        Self(text)
    }

    /// Adds text that was found clean behind this one.
    pub(super) fn push_clean(&mut self, text: &str) {
        self.0.push_str(text);
    }

    pub(super) fn take(&mut self) -> String {
        std::mem::take(&mut self.0)
    }
}

impl fmt::Debug for SafeText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0)
    }
}

impl fmt::Display for SafeText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl AsRef<str> for SafeText {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

/// From a literal of ours.
impl From<&'static str> for SafeText {
    fn from(text: &'static str) -> Self {
        Self(clean(text, Manner::Prose))
    }
}

/// Cleans one line that was made from clean text by decoding: entities and escapes of Markdown can
/// bring back what cleaning took out. Not cut.
pub fn clean_line(raw: &str) -> std::borrow::Cow<'_, str> {
    if raw.bytes().all(|b| (0x20..0x7f).contains(&b)) {
        return raw.into();
    }
    clean(raw, Manner::Label).into()
}
