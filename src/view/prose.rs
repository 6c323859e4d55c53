//! Laid-out text on the screen: what `render` gives, with the theme's styles for its roles.

use super::canvas::{Canvas, LinkSpan};
use super::color::{Rgb, nearest_index};
use super::theme::{Depth, Role};
use crate::app::screen::Target;
use crate::domain::Body;
use crate::render::{self, Colours, Emphasis, Layout, Options, Tint};
use crate::text::is_right_to_left;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use std::sync::Arc;

/// A text laid out for a width; remembers what it did last.
#[derive(Debug, Default)]
pub(crate) struct Prose {
    layout: Layout,
    seen: Option<Seen>,
    /// First rows of the blocks of code, once the text is whole.
    code: Vec<usize>,
    /// The revision of the body while it grows.
    growing: Option<u32>,
}

/// What the rows were made from, besides the text itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Seen {
    options: Options,
    is_growing: bool,
    len: usize,
}

impl Prose {
    /// Lays out what changed in a body. While it grows, what the body says of its changes is
    /// believed; once it is whole, it is compared with what was laid out.
    pub(crate) fn update_body(
        &mut self,
        body: &Body,
        options: &Options,
        colours: &Colours,
        is_growing: bool,
    ) {
        let unchanged = self
            .growing
            .filter(|_| is_growing)
            .and_then(|revision| body.unchanged_since(revision))
            .unwrap_or(0);
        self.growing = is_growing.then(|| body.revision());
        let source = body.text().as_str();
        self.update_behind(unchanged, source, options, colours, is_growing);
    }

    /// Lays out what changed.
    pub(crate) fn update(&mut self, source: &str, options: &Options, colours: &Colours) {
        self.update_behind(0, source, options, colours, false);
    }

    /// A text that still grows has no copy marks.
    fn update_behind(
        &mut self,
        unchanged: usize,
        source: &str,
        options: &Options,
        colours: &Colours,
        is_growing: bool,
    ) {
        self.layout
            .update_behind(unchanged, source, options, colours);
        let seen = Seen {
            options: *options,
            is_growing,
            len: source.len(),
        };
        if self.seen != Some(seen) {
            self.seen = Some(seen);
            self.code.clear();
            if !is_growing {
                let blocks = self.layout.code_blocks();
                self.code
                    .extend(blocks.iter().map(|block| block.rows.start));
            }
        }
    }

    /// How many rows it has.
    pub(crate) fn len(&self) -> usize {
        self.layout.rows().len()
    }

    /// One row.
    pub(crate) fn row(&self, at: usize) -> Option<&render::Row> {
        self.layout.rows().get(at)
    }

    /// Which block of code begins in a row.
    pub(crate) fn code_at(&self, row: usize) -> Option<usize> {
        self.code.iter().position(|first| *first == row)
    }

    /// The blocks of code that could have colours.
    pub(crate) fn wants(&self) -> Vec<render::Job> {
        self.layout.wants()
    }
}

/// Puts one laid-out row and returns the column after it.
pub(crate) fn put_row(
    canvas: &mut Canvas<'_>,
    area: Rect,
    y: u16,
    row: &render::Row,
    is_dim: bool,
) -> u16 {
    let mut x = area.x;
    // Between frames, text is isolated as one.
    let mut from = x;
    let mut is_isolated = false;
    for span in &row.spans {
        if canvas.is_bare && span.role.is_frame() {
            continue;
        }
        let style = style(canvas, span.role, span.emphasis, is_dim);
        let start = x;
        if span.role.is_frame() && std::mem::take(&mut is_isolated) {
            canvas.isolate(from, x, y);
        }
        x = canvas.put_part(x, y, &span.text, area.right().saturating_sub(x), style);
        if span.role.is_frame() {
            from = x;
        } else {
            is_isolated |= is_right_to_left(&span.text);
        }
        if let Some(link) = &span.link
            && x > start
        {
            canvas.hits.add(
                Rect::new(start, y, x - start, 1),
                Target::Link(link.to_string()),
            );
            canvas.links.push(LinkSpan {
                row: y,
                column: start,
                width: x - start,
                target: Arc::clone(link),
            });
        }
    }
    if is_isolated {
        canvas.isolate(from, x, y);
    }
    x
}

fn style(canvas: &Canvas<'_>, role: render::Role, emphasis: Emphasis, is_dim: bool) -> Style {
    let mut style = match role {
        render::Role::Tinted {
            foreground,
            background,
        } => {
            let mut style = canvas.theme.style(Role::Text);
            style.fg = tint(canvas, foreground).or(style.fg);
            style.bg = tint(canvas, background);
            style
        }
        render::Role::Text if is_dim => canvas.theme.style(Role::Muted),
        role => canvas.theme.style(role_of(role)),
    };
    for (part, modifier) in [
        (Emphasis::BOLD, Modifier::BOLD),
        (Emphasis::ITALIC, Modifier::ITALIC),
        (Emphasis::STRIKE, Modifier::CROSSED_OUT),
        (Emphasis::UNDERLINE, Modifier::UNDERLINED),
        (Emphasis::DIM, Modifier::DIM),
        (Emphasis::REVERSE, Modifier::REVERSED),
    ] {
        if emphasis.has(part) {
            style = style.add_modifier(modifier);
        }
    }
    style
}

/// A colour that a tool chose: the first sixteen follow the theme, the rest stay as they are where
/// the terminal can show them.
fn tint(canvas: &Canvas<'_>, tint: Tint) -> Option<Color> {
    let depth = canvas.theme.depth;
    match tint {
        Tint::Default => None,
        Tint::Palette(index) if index < 16 => {
            const ROLES: [Role; 8] = [
                Role::AnsiBlack,
                Role::AnsiRed,
                Role::AnsiGreen,
                Role::AnsiYellow,
                Role::AnsiBlue,
                Role::AnsiMagenta,
                Role::AnsiCyan,
                Role::AnsiWhite,
            ];
            canvas.theme.style(ROLES[usize::from(index % 8)]).fg
        }
        Tint::Palette(index) => (depth >= Depth::Indexed).then_some(Color::Indexed(index)),
        Tint::Rgb(r, g, b) => match depth {
            Depth::TrueColor => Some(Color::Rgb(r, g, b)),
            Depth::Indexed => Some(Color::Indexed(nearest_index(Rgb(r, g, b)))),
            Depth::Ansi | Depth::Mono => None,
        },
    }
}

fn role_of(role: render::Role) -> Role {
    use render::Role as R;
    match role {
        R::Text | R::DiffContext | R::Tinted { .. } => Role::Text,
        R::Frame => Role::Border,
        R::Heading1 | R::Heading2 | R::Heading3 => Role::Heading,
        R::HeadingMark | R::Footnote | R::Html | R::Meta | R::LineNumber | R::TaskOpen => {
            Role::Muted
        }
        R::ListMark => Role::ListMark,
        R::TaskDone | R::AlertTip => Role::Good,
        R::Quote => Role::Quote,
        R::QuoteMark => Role::QuoteRail,
        R::AlertNote => Role::Note,
        R::AlertImportant => Role::Accent,
        R::AlertWarning => Role::Warning,
        R::AlertCaution | R::Invalid => Role::Danger,
        R::Link | R::Image => Role::Link,
        R::LinkTarget => Role::LinkTarget,
        R::Math => Role::Math,
        R::TableHead => Role::TableHead,
        R::Code => Role::Code,
        R::CodeBlock => Role::CodeVariable,
        R::CodeLabel => Role::Muted,
        R::Keyword => Role::CodeKeyword,
        R::Type => Role::CodeType,
        R::Function => Role::CodeFunction,
        R::Variable => Role::CodeVariable,
        R::Constant | R::Escape => Role::CodeConstant,
        R::Number => Role::CodeNumber,
        R::String => Role::CodeString,
        R::Comment => Role::CodeComment,
        R::Operator => Role::CodeOperator,
        R::Punctuation => Role::CodePunctuation,
        R::Attribute => Role::CodeAttribute,
        R::Tag => Role::CodeTag,
        R::DiffFile => Role::Strong,
        R::DiffHunk => Role::DiffHunk,
        R::DiffAdded => Role::DiffAdded,
        R::DiffRemoved => Role::DiffRemoved,
        R::DiffAddedPart => Role::DiffAddedPart,
        R::DiffRemovedPart => Role::DiffRemovedPart,
    }
}
