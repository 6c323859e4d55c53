//! A prose that grows or is sent again whole: cleaned only where it changed.

use super::clean::{Resume, clean_behind};
use super::safe::SafeText;

/// A text as it came and as it may be shown. However it got here, it is what cleaning the whole
/// text at once would give; a change costs what changed and not what the text holds.
#[derive(Clone, Debug, Default)]
pub struct GrowingText {
    clean: SafeText,
    /// As it came; kept only when cleaning changed something.
    raw: Option<String>,
    /// Places to begin again, in order.
    resumes: Vec<Resume>,
}

/// Two texts are equal when they came equal, by whatever steps.
impl PartialEq for GrowingText {
    fn eq(&self, other: &Self) -> bool {
        self.raw() == other.raw()
    }
}

impl Eq for GrowingText {}

impl GrowingText {
    /// The cleaned text.
    pub fn clean(&self) -> &SafeText {
        &self.clean
    }

    /// The text as it came.
    pub fn raw(&self) -> &str {
        self.raw.as_deref().unwrap_or(self.clean.as_str())
    }

    /// Adds raw text at the end. Returns how many bytes at the start of the cleaned text stayed.
    pub fn append(&mut self, more: &str) -> usize {
        let from = self.resume_before(self.raw().len());
        match &mut self.raw {
            Some(raw) => {
                raw.push_str(more);
                let raw = std::mem::take(raw);
                self.clean_from(from, raw)
            }
            None => {
                // What stands before `from` is the same in both, so the tail is enough.
                let mut tail =
                    String::with_capacity(self.clean.as_str().len() - from.clean + more.len());
                tail.push_str(&self.clean.as_str()[from.clean..]);
                tail.push_str(more);
                let mut tried = Vec::new();
                let mut cleaned = String::new();
                let start = Resume {
                    raw: 0,
                    clean: 0,
                    ..from
                };
                if clean_behind(&mut cleaned, &tail, start, &mut tried) {
                    let mut raw = self.clean.as_str().to_owned();
                    raw.push_str(more);
                    return self.clean_from(from, raw);
                }
                self.resumes.retain(|r| r.raw <= from.raw);
                self.resumes.extend(tried.into_iter().map(|r| Resume {
                    raw: r.raw + from.raw,
                    clean: r.clean + from.clean,
                    ..r
                }));
                let stable = self.clean.as_str().len();
                self.clean.push_clean(more);
                stable
            }
        }
    }

    /// Takes another raw text in place of this one, of which the first `common` bytes are the
    /// same. Returns how many bytes at the start of the cleaned text stayed.
    pub fn replace(&mut self, raw: String, common: usize) -> usize {
        let from = self.resume_before(common);
        self.clean_from(from, raw)
    }

    /// The last place to begin again of which also the character behind is among the first
    /// `unchanged` bytes of the raw text.
    fn resume_before(&self, unchanged: usize) -> Resume {
        let count = self.resumes.partition_point(|r| r.raw + 4 <= unchanged);
        count
            .checked_sub(1)
            .and_then(|last| self.resumes.get(last))
            .copied()
            .unwrap_or(Resume::START)
    }

    fn clean_from(&mut self, from: Resume, raw: String) -> usize {
        self.resumes.retain(|r| r.raw <= from.raw);
        let old_tail = self.clean.as_str()[from.clean..].to_owned();
        let mut out = self.clean.take();
        out.truncate(from.clean);
        let changed = clean_behind(&mut out, &raw, from, &mut self.resumes);
        let stable = from.clean + common_prefix(&old_tail, &out[from.clean..]);
        self.clean = SafeText::from_cleaned(out);
        self.raw = changed.then_some(raw);
        stable
    }
}

/// Length of the longest common prefix in bytes, cut back to a character boundary of both.
pub fn common_prefix(a: &str, b: &str) -> usize {
    const STRIDE: usize = 4096;
    let (x, y) = (a.as_bytes(), b.as_bytes());
    let limit = x.len().min(y.len());
    let mut n = 0;
    // Comparing slices is a memory comparison; only the last stride is looked at byte by byte.
    while n + STRIDE <= limit && x[n..n + STRIDE] == y[n..n + STRIDE] {
        n += STRIDE;
    }
    while n + 64 <= limit && x[n..n + 64] == y[n..n + 64] {
        n += 64;
    }
    while n < limit && x[n] == y[n] {
        n += 1;
    }
    while !a.is_char_boundary(n) || !b.is_char_boundary(n) {
        n -= 1;
    }
    n
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Pieces that change their looks by what follows.
    fn piece() -> impl Strategy<Value = String> {
        prop_oneof![
            4 => "[a-z ]{1,12}",
            1 => Just("\n".to_owned()),
            1 => Just("\t".to_owned()),
            1 => Just("\r".to_owned()),
            1 => "[e\u{301}\u{302}\u{200d}\u{fe0f}👩🇩🏴\u{e0067}\u{e0062}\u{e0065}\u{e007f}क्षيक가配あ\u{3099}\u{202e}\u{1b}]{1,10}",
            1 => Just("x".repeat(2500)),
            1 => Just("配".repeat(900)),
        ]
    }

    proptest! {
        #[test]
        fn any_way_to_a_text_gives_the_text_cleaned_at_once(pieces in prop::collection::vec(piece(), 0..40), back in 0usize..6) {
            let mut grown = GrowingText::default();
            let mut whole = String::new();
            for (count, piece) in pieces.iter().enumerate() {
                let before = grown.clean().as_str().to_owned();
                let stable = if count % 3 == 0 {
                    // Sent again whole, with the end cut off or another one.
                    let mut keep = whole.len().saturating_sub(back);
                    while !whole.is_char_boundary(keep) {
                        keep -= 1;
                    }
                    whole.truncate(keep);
                    whole.push_str(piece);
                    let common = common_prefix(grown.raw(), &whole);
                    grown.replace(whole.clone(), common)
                } else {
                    whole.push_str(piece);
                    grown.append(piece)
                };
                let expected = SafeText::prose(&whole);
                prop_assert_eq!(grown.clean(), &expected);
                prop_assert_eq!(grown.raw(), whole.as_str());
                prop_assert!(before.is_char_boundary(stable));
                prop_assert_eq!(before.get(..stable), expected.as_str().get(..stable));
            }
        }
    }
}
