//! `SafeText`: made at the boundary, taken by every sink.

use std::fmt;

/// Text without control characters (but line breaks in prose), without bidi overrides, with capped
/// combining runs. What was taken out left a visible mark.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct SafeText(String);

impl SafeText {
    /// Cleans prose: messages, tool output. Line breaks stay, tabs become spaces.
    pub fn prose(raw: &str) -> Self {
        Self(clean(raw, true))
    }

    /// Cleans a one-line label: names, titles, file names. At most 256 cells.
    pub fn label(raw: &str) -> Self {
        Self(super::truncate(&clean(raw, false), 256))
    }

    /// Cleans a command for an approval: line breaks stay, everything else unusual is marked and
    /// nothing is left out.
    pub fn command(raw: &str) -> Self {
        Self(clean(raw, true))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether there is no text.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Cuts the text back to `len` bytes, a character boundary.
    pub(crate) fn truncate_to(&mut self, len: usize) {
        self.0.truncate(len);
    }

    /// Adds cleaned text at the end.
    pub(crate) fn append(&mut self, more: &SafeText) {
        self.0.push_str(&more.0);
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
        Self(clean(text, true))
    }
}

/// Where cleaning of `raw` has to begin when everything before `changed` is known to be clean: a
/// little before, so that no grapheme cluster is cut.
pub fn clean_start(raw: &str, changed: usize) -> usize {
    let mut start = changed.saturating_sub(64);
    while start > 0 && !raw.is_char_boundary(start) {
        start -= 1;
    }
    // Begin after a line break or space where one is near; both end a cluster.
    raw[..changed.min(raw.len())]
        .bytes()
        .enumerate()
        .skip(start)
        .find(|(_, b)| *b == b'\n' || *b == b' ')
        .map_or(start, |(i, _)| i + 1)
}

fn clean(raw: &str, keep_breaks: bool) -> String {
    if raw
        .bytes()
        .all(|b| (0x20..0x7f).contains(&b) || (keep_breaks && b == b'\n'))
    {
        return raw.to_owned();
    }
    let mut out = String::with_capacity(raw.len());
    for c in raw.chars() {
        match c {
            '\n' if keep_breaks => out.push('\n'),
            '\t' => out.push_str("    "),
            '\u{0}'..='\u{1f}' => out.push(char::from_u32(0x2400 + c as u32).unwrap_or('\u{fffd}')),
            '\u{7f}' => out.push('\u{2421}'),
            '\u{80}'..='\u{9f}' => out.push('\u{fffd}'),
            '\u{202a}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}'
            | '\u{200e}'
            | '\u{200f}'
            | '\u{61c}' => {
                out.push('\u{fffd}');
            }
            c => out.push(c),
        }
    }
    out
}
