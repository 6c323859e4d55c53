//! What layout gives: rows of spans, each with a role.

use std::sync::Arc;

/// One row of the screen.
#[derive(Clone, PartialEq, Eq, Debug, Default, Hash)]
pub struct Row {
    pub spans: Vec<Span>,
    /// The row goes on with the line of the row above: a copy joins them.
    pub joins: bool,
}

/// A piece of a row in one style.
#[derive(Clone, PartialEq, Eq, Debug, Hash)]
pub struct Span {
    pub text: String,
    pub role: Role,
    pub emphasis: Emphasis,
    /// Where it leads; only targets that may be opened.
    pub link: Option<Arc<str>>,
}

/// What a piece of text is; the theme says how it looks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub enum Role {
    #[default]
    Text,
    /// Borders, bars, rules and padding: what a copy leaves out.
    Frame,
    Heading1,
    Heading2,
    /// The third level and those below.
    Heading3,
    HeadingMark,
    ListMark,
    TaskOpen,
    TaskDone,
    Quote,
    QuoteMark,
    AlertNote,
    AlertTip,
    AlertImportant,
    AlertWarning,
    AlertCaution,
    Link,
    /// The target of a link whose text says something else.
    LinkTarget,
    Image,
    Footnote,
    Html,
    Math,
    /// Front matter.
    Meta,
    TableHead,
    /// Code within a line.
    Code,
    /// Code in a block, as far as it has no colour of its own.
    CodeBlock,
    CodeLabel,
    Keyword,
    Type,
    Function,
    Variable,
    Constant,
    Number,
    String,
    Escape,
    Comment,
    Operator,
    Punctuation,
    Attribute,
    Tag,
    Invalid,
    DiffFile,
    DiffHunk,
    DiffContext,
    DiffAdded,
    DiffRemoved,
    /// What changed within a line that was changed.
    DiffAddedPart,
    DiffRemovedPart,
    LineNumber,
    /// Colours that a tool chose.
    Tinted {
        foreground: Tint,
        background: Tint,
    },
}

impl Role {
    /// Whether it frames the text and is no part of it.
    pub fn is_frame(self) -> bool {
        matches!(self, Self::Frame | Self::QuoteMark | Self::LineNumber)
    }
}

/// A colour that a tool chose.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub enum Tint {
    #[default]
    Default,
    /// One of the 256; the first 16 are the terminal's own.
    Palette(u8),
    Rgb(u8, u8, u8),
}

/// How a text stands out besides its role.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub struct Emphasis(u8);

impl Emphasis {
    pub const NONE: Self = Self(0);
    pub const BOLD: Self = Self(1);
    pub const ITALIC: Self = Self(2);
    pub const STRIKE: Self = Self(4);
    pub const UNDERLINE: Self = Self(8);
    pub const DIM: Self = Self(16);
    pub const REVERSE: Self = Self(32);

    /// Both together.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// This without the other.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Whether the other is part of this.
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

impl Span {
    /// Text of a role, without emphasis and link.
    pub fn new(text: impl Into<String>, role: Role) -> Self {
        Self {
            text: text.into(),
            role,
            emphasis: Emphasis::NONE,
            link: None,
        }
    }

    /// Cells it takes.
    pub fn width(&self) -> usize {
        crate::text::width(&self.text)
    }
}

impl Row {
    /// A row of these spans that begins a line.
    pub fn new(spans: Vec<Span>) -> Self {
        Self {
            spans,
            joins: false,
        }
    }

    /// Cells it takes.
    pub fn width(&self) -> usize {
        self.spans.iter().map(Span::width).sum()
    }

    /// All its text.
    pub fn text(&self) -> String {
        self.spans.iter().map(|s| s.text.as_str()).collect()
    }
}
