//! Cells on the screen. Every place that measures text asks here, so that layout and drawing agree.

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// The grapheme clusters of a text, in order.
pub fn graphemes(text: &str) -> impl DoubleEndedIterator<Item = &str> {
    text.graphemes(true)
}

/// Cells that a text takes, cluster by cluster.
pub fn width(text: &str) -> usize {
    if text.is_ascii() {
        return text.len();
    }
    text.graphemes(true).map(UnicodeWidthStr::width).sum()
}

/// The longest start of `text` that fits into `cells`, and its width.
pub fn cut_to_width(text: &str, cells: usize) -> (&str, usize) {
    if text.is_ascii() {
        let n = text.len().min(cells);
        return (&text[..n], n);
    }
    let mut used = 0;
    for (at, cluster) in text.grapheme_indices(true) {
        let w = cluster.width();
        if used + w > cells {
            return (&text[..at], used);
        }
        used += w;
    }
    (text, used)
}

/// `text` cut to `cells`, with an ellipsis where something is missing.
pub fn truncate(text: &str, cells: usize) -> String {
    if width(text) <= cells {
        return text.to_owned();
    }
    if cells == 0 {
        return String::new();
    }
    let (start, _) = cut_to_width(text, cells - 1);
    format!("{start}…")
}
