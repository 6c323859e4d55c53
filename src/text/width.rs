//! Cells on the screen. Every place that measures text asks here, so that layout and drawing agree:
//! a cluster is as wide as ratatui's `Buffer` takes it to be.

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// One grapheme cluster and the cells it takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cluster<'a> {
    /// Where it begins in the text.
    pub at: usize,
    pub text: &'a str,
    pub width: usize,
}

/// The grapheme clusters of a text, in order.
pub fn graphemes(text: &str) -> impl DoubleEndedIterator<Item = &str> {
    text.graphemes(true)
}

/// The clusters of a text with place and width. Most text is ASCII or ideographs, where a cluster
/// is seen at a glance and the segmenter is not asked.
pub fn clusters(text: &str) -> Clusters<'_> {
    Clusters { text, at: 0 }
}

/// See [`clusters`].
#[derive(Clone, Debug)]
pub struct Clusters<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Iterator for Clusters<'a> {
    type Item = Cluster<'a>;

    fn next(&mut self) -> Option<Cluster<'a>> {
        let at = self.at;
        let bytes = self.text.as_bytes();
        let first = *bytes.get(at)?;
        let (len, width) = if is_printable(first) && bytes.get(at + 1).is_none_or(u8::is_ascii) {
            (1, 1)
        } else {
            let rest = &self.text[at..];
            match lone_ideograph(rest) {
                Some(len) => (len, 2),
                None => {
                    let cluster = rest.graphemes(true).next()?;
                    (cluster.len(), cluster_width(cluster))
                }
            }
        };
        self.at = at + len;
        Some(Cluster {
            at,
            text: &self.text[at..at + len],
            width,
        })
    }
}

/// Cells that one cluster takes. Half-width sound marks take a cell of their own, as in ratatui:
/// terminals don't put them on the letter before. What holds a control character takes none: the
/// buffer leaves it out.
pub fn cluster_width(cluster: &str) -> usize {
    if let [byte] = cluster.as_bytes() {
        return usize::from(is_printable(*byte));
    }
    if cluster.contains(char::is_control) {
        return 0;
    }
    let marks = cluster
        .chars()
        .filter(|c| matches!(c, '\u{ff9e}' | '\u{ff9f}'))
        .count();
    cluster.width() + marks
}

/// Cells that a text takes, cluster by cluster.
pub fn width(text: &str) -> usize {
    if text.bytes().all(is_printable) {
        return text.len();
    }
    clusters(text).map(|c| c.width).sum()
}

/// The longest start of `text` that fits into `cells`, and its width.
pub fn cut_to_width(text: &str, cells: usize) -> (&str, usize) {
    let mut used = 0;
    for cluster in clusters(text) {
        if used + cluster.width > cells {
            return (&text[..cluster.at], used);
        }
        used += cluster.width;
    }
    (text, used)
}

/// `text` cut to `cells`, with an ellipsis where something is missing.
pub fn truncate(text: &str, cells: usize) -> String {
    // One pass that stops where the text no longer fits: the text may be long.
    let mut used = 0;
    let mut cut = 0;
    for cluster in clusters(text) {
        used += cluster.width;
        if used > cells {
            return if cells == 0 {
                String::new()
            } else {
                format!("{}…", &text[..cut])
            };
        }
        if used < cells {
            cut = cluster.at + cluster.text.len();
        }
    }
    text.to_owned()
}

/// The start of a text before an ellipsis that stands there in any case: with a blank behind the
/// whole text, and as far as `cells` allow of one that is longer; never with an ellipsis of its own.
pub fn lead(text: &str, cells: usize) -> String {
    let start = truncate(text, cells);
    if start == text {
        let whole = text.trim_end_matches(['…', ' ']);
        let blank = if whole.is_empty() { "" } else { " " };
        return format!("{whole}{blank}");
    }
    start.trim_end_matches('…').trim_end().to_owned()
}

fn is_printable(byte: u8) -> bool {
    (0x20..0x7f).contains(&byte)
}

/// The length of the first character when it is an ideograph or kana that nothing can join.
fn lone_ideograph(text: &str) -> Option<usize> {
    let mut chars = text.chars();
    let first = chars.next().filter(|c| is_ideograph(*c))?;
    match chars.next() {
        None => Some(first.len_utf8()),
        Some(next) if next.is_ascii() || is_ideograph(next) => Some(first.len_utf8()),
        Some(_) => None,
    }
}

/// Wide characters that never join a neighbour: kana and the unified ideographs.
pub(super) fn is_ideograph(c: char) -> bool {
    matches!(c, '\u{3041}'..='\u{3096}' | '\u{30a1}'..='\u{30fa}' | '\u{3400}'..='\u{4dbf}'
        | '\u{4e00}'..='\u{9fff}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_cut_never_splits_a_cluster() {
        assert_eq!(cut_to_width("ab配置", 5), ("ab配", 4));
        assert_eq!(cut_to_width("a👨‍👩‍👧b", 2), ("a", 1));
        assert_eq!(cut_to_width("e\u{301}x", 1), ("e\u{301}", 1));
    }

    #[test]
    fn an_ellipsis_stands_where_text_is_missing() {
        assert_eq!(truncate("abcdef", 4), "abc…");
        assert_eq!(truncate("abcd", 4), "abcd");
        assert_eq!(truncate("配置配", 4), "配…");
        assert_eq!(truncate("abc", 0), "");
    }

    #[test]
    fn what_leads_to_an_ellipsis_has_none_of_its_own() {
        assert_eq!(lead("abcdef", 4), "abc");
        assert_eq!(lead("ab cdef", 4), "ab");
        assert_eq!(lead("abcd", 4), "abcd ");
        assert_eq!(lead("wait …", 9), "wait ");
        assert_eq!(lead("", 4), "");
    }

    proptest! {
        #[test]
        fn the_fast_path_finds_the_clusters_of_the_segmenter(text in "[a-c 配置あ\u{301}\u{200d}\u{fe0f}👩🇩🇪ｶﾞ각ᄀ\u{3099}क्ष]{0,24}") {
            let quick: Vec<&str> = clusters(&text).map(|c| c.text).collect();
            let slow: Vec<&str> = graphemes(&text).collect();
            prop_assert_eq!(quick, slow);
        }
    }
}
