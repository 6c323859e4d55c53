//! From source text to rows of role-tagged spans: Markdown, plain text, tool output with colours,
//! diffs. Knows roles, not colours, so that a change of theme lays out nothing again; knows no
//! terminal. Every span holds text that is safe to show. [`html`] is for files that are exported.
//!
//! A message is laid out by a [`Layout`], which keeps the rows of the blocks that did not change;
//! what it gives is what [`markdown`] gives from scratch.

mod ansi;
mod blocks;
mod code;
mod diff;
mod fence;
mod flow;
pub mod highlight;
mod html;
mod layout;
mod links;
mod markdown;
mod row;
mod table;

pub use ansi::{ansi, plain};
pub use diff::{diff, looks_like_diff};
pub use highlight::{Coloured, Colours, Job};
pub use html::{escape_html, html, html_of_output};
pub use layout::Layout;
pub use links::{may_open, target_differs};
pub use markdown::CodeBlock;
pub use row::{Emphasis, Role, Row, Span, Tint};

/// How to lay out.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Options {
    /// Cells a row may take. Fewer than eight are taken for eight.
    pub width: u16,
    /// Long lines of code go on in the next row; otherwise they are cut.
    pub wrap_code: bool,
    /// Cells that cut code is shifted to the left.
    pub code_shift: u16,
    /// Frames, bullets and marks of ASCII only.
    pub ascii: bool,
    /// From this width on a diff stands in two columns.
    pub side_by_side_from: u16,
}

impl Options {
    /// The usual layout at this width.
    pub fn new(width: u16) -> Self {
        Self {
            width,
            wrap_code: true,
            code_shift: 0,
            ascii: false,
            side_by_side_from: 110,
        }
    }

    fn cells(&self) -> usize {
        usize::from(self.width.max(8))
    }
}

impl Default for Options {
    fn default() -> Self {
        Self::new(80)
    }
}

/// Lays out Markdown from scratch, code uncoloured.
pub fn markdown(source: &str, options: &Options) -> Vec<Row> {
    let mut layout = Layout::default();
    layout.update(source, options, &Colours::default());
    layout.into_rows()
}
