//! One top-level block of Markdown to rows.

use super::Options;
use super::blocks::{label, syntax};
use super::code::{self, Code};
use super::flow::{Flow, Prefix, Style};
use super::highlight::{Colours, Job};
use super::links::{find_address, may_open, target_differs};
use super::row::{Emphasis, Role, Row, Span};
use super::table;
use crate::text::clean_line;
use pulldown_cmark::{
    BlockQuoteKind, BrokenLink, CodeBlockKind, CowStr, Event, HeadingLevel, LinkType, Parser, Tag,
    TagEnd,
};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

/// A block of code in a text, for copying.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CodeBlock {
    pub language: String,
    /// Without the line feed at its end, as a layout gives it out.
    pub text: String,
    /// The rows it takes, frame included.
    pub rows: Range<usize>,
}

/// What a block needs to know of the rest of its source.
pub(super) struct Surroundings<'a> {
    /// Targets by label.
    pub definitions: &'a BTreeMap<String, String>,
    /// Labels of footnotes that are defined.
    pub footnotes: &'a BTreeSet<String>,
    pub colours: &'a Colours,
    pub options: &'a Options,
}

/// A block laid out.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct BlockRows {
    pub rows: Vec<Row>,
    /// With rows counted from the first of the block.
    pub code: Vec<CodeBlock>,
    pub wants: Vec<Job>,
    /// Labels whose definition, present or not, made the block what it is.
    pub asked: Vec<String>,
}

/// Lays out a block as [`super::blocks::split`] gives it.
pub(super) fn block(source: &str, around: &Surroundings<'_>) -> BlockRows {
    // A footnote is only referred to where the parser has seen its definition, so a stub of each
    // that may be meant goes before the block and its events are passed over. The rule behind them
    // keeps the block from becoming part of the last.
    let mut with_stubs = String::new();
    for (at, mark) in source.match_indices("[^") {
        let name = source[at + mark.len()..].split(']').next();
        if let Some(name) = name.filter(|name| around.footnotes.contains(*name)) {
            let stub = format!("[^{name}]: -\n\n");
            if !with_stubs.contains(&stub) {
                with_stubs.push_str(&stub);
            }
        }
    }
    if with_stubs.is_empty() {
        return parse(source, 0, around);
    }
    with_stubs.push_str("***\n");
    let skip = with_stubs.len();
    with_stubs.push_str(source);
    parse(&with_stubs, skip, around)
}

fn parse(text: &str, skip: usize, around: &Surroundings<'_>) -> BlockRows {
    let mut asked = Vec::new();
    let resolve = |broken: BrokenLink<'_>| -> Option<(CowStr<'_>, CowStr<'_>)> {
        let label = label(&broken.reference);
        let target = around.definitions.get(&label).cloned();
        asked.push(label);
        Some((target?.into(), "".into()))
    };
    let parser = Parser::new_with_broken_link_callback(text, syntax(), Some(resolve));
    let mut writer = Writer::new(text, around);
    for (event, range) in parser.into_offset_iter() {
        if range.start >= skip {
            writer.event(event, range);
        }
    }
    writer.flush();
    let mut out = writer.out;
    out.asked.append(&mut asked);
    out
}

/// A list that is open.
struct List {
    next: Option<u64>,
    /// Its entries are parted by blank lines.
    is_loose: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Container {
    Item,
    Other,
}

struct Writer<'a> {
    text: &'a str,
    around: &'a Surroundings<'a>,
    out: BlockRows,
    prefix: Prefix,
    flow: Flow,
    /// A blank row is due before the next block.
    gap: bool,
    lists: Vec<List>,
    /// For each open quote the rows there were when it began.
    quotes: Vec<usize>,
    containers: Vec<Container>,
    roles: Vec<Role>,
    emphases: Vec<Emphasis>,
    links: Vec<OpenLink>,
    code: Option<OpenCode>,
    table: Option<table::Table>,
}

struct OpenLink {
    target: String,
    link: Option<Arc<str>>,
    /// Where its text begins in the flow.
    start: usize,
}

struct OpenCode {
    language: String,
    text: String,
    is_closed: bool,
}

impl<'a> Writer<'a> {
    fn new(text: &'a str, around: &'a Surroundings<'a>) -> Self {
        Self {
            text,
            around,
            out: BlockRows::default(),
            prefix: Prefix::default(),
            flow: Flow::default(),
            gap: false,
            lists: Vec::new(),
            quotes: Vec::new(),
            containers: Vec::new(),
            roles: Vec::new(),
            emphases: Vec::new(),
            links: Vec::new(),
            code: None,
            table: None,
        }
    }

    fn event(&mut self, event: Event<'_>, range: Range<usize>) {
        match event {
            Event::Start(tag) => self.start(tag, range),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => match &mut self.code {
                Some(code) => code.text.push_str(&text),
                None => self.push(&text),
            },
            Event::Code(text) => self.push_as(Role::Code, &text),
            Event::InlineMath(text) => self.push_as(Role::Math, &format!("${text}$")),
            Event::DisplayMath(text) => self.push_lines(Role::Math, &format!("$${text}$$")),
            Event::Html(html) => self.push_lines(Role::Html, &html),
            Event::InlineHtml(html) => {
                if is_break(&html) {
                    self.push_as(Role::Text, "\n");
                } else {
                    self.push_lines(Role::Html, &html);
                }
            }
            Event::FootnoteReference(name) => self.push_as(Role::Footnote, &format!("[{name}]")),
            Event::SoftBreak | Event::HardBreak => self.push_as(Role::Text, "\n"),
            Event::Rule => {
                self.begin();
                let cells = self.inner();
                let mut spans = self.prefix.next();
                spans.push(Span::new(self.glyph("─", "-").repeat(cells), Role::Frame));
                self.out.rows.push(Row::new(spans));
                self.after_block();
            }
            Event::TaskListMarker(is_done) => self.task(is_done),
        }
    }

    fn start(&mut self, tag: Tag<'_>, range: Range<usize>) {
        match tag {
            Tag::Paragraph => {
                if self.containers.last() == Some(&Container::Item)
                    && let Some(list) = self.lists.last_mut()
                {
                    list.is_loose = true;
                }
                self.begin();
            }
            Tag::Heading { level, .. } => {
                self.begin();
                let (role, marks) = heading(level);
                self.indent(vec![Span::new(format!("{marks} "), Role::HeadingMark)]);
                self.roles.push(role);
                self.emphases.push(Emphasis::BOLD);
            }
            Tag::BlockQuote(kind) => self.start_quote(kind),
            Tag::CodeBlock(kind) => {
                self.begin();
                let language = match kind {
                    CodeBlockKind::Fenced(info) => language(&info),
                    CodeBlockKind::Indented => String::new(),
                };
                self.code = Some(OpenCode {
                    is_closed: is_closed(
                        &self.text[range],
                        self.quotes.len(),
                        self.lists.is_empty(),
                    ),
                    language,
                    text: String::new(),
                });
            }
            Tag::HtmlBlock | Tag::MetadataBlock(_) => self.begin(),
            Tag::List(first) => {
                self.begin();
                self.lists.push(List {
                    next: first,
                    is_loose: false,
                });
            }
            Tag::Item => self.start_item(),
            Tag::FootnoteDefinition(name) => {
                self.begin();
                let mark = Span::new(format!("[{}] ", clean_line(&name)), Role::Footnote);
                self.indent(vec![mark]);
                self.containers.push(Container::Other);
            }
            Tag::DefinitionList | Tag::DefinitionListTitle | Tag::DefinitionListDefinition => {
                self.begin();
            }
            Tag::Table(alignments) => {
                self.begin();
                self.table = Some(table::Table::new(&alignments));
            }
            Tag::TableHead | Tag::TableRow => {
                if let Some(table) = &mut self.table {
                    table.begin_row();
                }
            }
            Tag::TableCell => {}
            Tag::Emphasis => self.emphases.push(Emphasis::ITALIC),
            Tag::Strong => self.emphases.push(Emphasis::BOLD),
            Tag::Strikethrough => self.emphases.push(Emphasis::STRIKE),
            Tag::Superscript | Tag::Subscript => self.emphases.push(Emphasis::NONE),
            Tag::Link {
                link_type,
                dest_url,
                id,
                ..
            } => {
                let target = self.target(link_type, &dest_url, &id);
                self.start_link(target, Role::Link);
            }
            Tag::Image {
                link_type,
                dest_url,
                id,
                ..
            } => {
                let target = self.target(link_type, &dest_url, &id);
                let mark = self.glyph("▧ ", "[image] ");
                self.push_as(Role::Image, mark);
                self.start_link(target, Role::Image);
            }
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph | TagEnd::HtmlBlock | TagEnd::MetadataBlock(_) => {
                self.flow.trim_end();
                self.flush();
                self.after_block();
            }
            TagEnd::Heading(_) => {
                self.flush();
                self.show_mark();
                self.prefix.pop();
                self.roles.pop();
                self.emphases.pop();
                self.after_block();
            }
            TagEnd::BlockQuote(_) => {
                self.flush();
                if self.quotes.pop() == Some(self.out.rows.len()) {
                    let spans = self.prefix.next();
                    self.out.rows.push(Row::new(spans));
                }
                self.prefix.pop();
                self.roles.pop();
                self.containers.pop();
                self.after_block();
            }
            TagEnd::CodeBlock => self.end_code(),
            TagEnd::List(_) => {
                self.flush();
                self.lists.pop();
                self.after_block();
            }
            TagEnd::Item => {
                self.flush();
                self.end_marked();
                self.gap = self.lists.last().is_some_and(|list| list.is_loose);
            }
            TagEnd::FootnoteDefinition => {
                self.flush();
                self.end_marked();
                self.after_block();
            }
            TagEnd::DefinitionList
            | TagEnd::DefinitionListTitle
            | TagEnd::DefinitionListDefinition => {
                self.flush();
                self.after_block();
            }
            TagEnd::Table => {
                if let Some(table) = self.table.take() {
                    table.rows(&mut self.prefix, self.around.options, &mut self.out.rows);
                }
                self.after_block();
            }
            TagEnd::TableHead | TagEnd::TableRow => {}
            TagEnd::TableCell => {
                let mut cell = std::mem::take(&mut self.flow);
                link_addresses(&mut cell);
                if let Some(table) = &mut self.table {
                    table.push_cell(cell);
                }
            }
            TagEnd::Emphasis
            | TagEnd::Strong
            | TagEnd::Strikethrough
            | TagEnd::Superscript
            | TagEnd::Subscript => {
                self.emphases.pop();
            }
            TagEnd::Link | TagEnd::Image => self.end_link(),
        }
    }

    fn start_quote(&mut self, kind: Option<BlockQuoteKind>) {
        self.begin();
        let bar = self.glyph("▌ ", "> ");
        let (role, title) = match kind {
            None => (Role::QuoteMark, None),
            Some(BlockQuoteKind::Note) => (Role::AlertNote, Some("Note")),
            Some(BlockQuoteKind::Tip) => (Role::AlertTip, Some("Tip")),
            Some(BlockQuoteKind::Important) => (Role::AlertImportant, Some("Important")),
            Some(BlockQuoteKind::Warning) => (Role::AlertWarning, Some("Warning")),
            Some(BlockQuoteKind::Caution) => (Role::AlertCaution, Some("Caution")),
        };
        if self.has_room_for(2) {
            self.prefix.push(Span::new(bar, role));
        } else {
            self.prefix.push_hidden();
        }
        self.containers.push(Container::Other);
        self.quotes.push(self.out.rows.len());
        match title {
            None => self.roles.push(Role::Quote),
            Some(title) => {
                let style = Style {
                    emphasis: Emphasis::BOLD,
                    ..Style::of(role)
                };
                self.flow.push(title, &style);
                self.flush();
                self.roles.push(Role::Text);
            }
        }
    }

    fn start_item(&mut self) {
        self.begin();
        let depth = self.lists.len();
        let mark = match self.lists.last_mut().and_then(|list| list.next.as_mut()) {
            Some(number) => {
                let mark = format!("{number}. ");
                *number = number.saturating_add(1);
                mark
            }
            None => match (self.around.options.ascii, depth % 3) {
                (true, 1) => "- ",
                (true, 2) => "* ",
                (true, _) => "+ ",
                (false, 1) => "• ",
                (false, 2) => "◦ ",
                (false, _) => "▪ ",
            }
            .to_owned(),
        };
        self.indent(vec![Span::new(mark, Role::ListMark)]);
        self.containers.push(Container::Item);
    }

    /// Puts a mark before the next row and indents those below, as long as room is left; deeper
    /// ones only get their mark.
    fn indent(&mut self, mark: Vec<Span>) {
        let width = mark.iter().map(Span::width).sum();
        if self.has_room_for(width) {
            self.prefix.push_mark(mark, width);
        } else {
            self.prefix.push_hidden();
            for span in mark {
                self.push_as(span.role, &span.text);
            }
        }
    }

    fn has_room_for(&self, cells: usize) -> bool {
        self.prefix.has_room_for(cells, self.around.options.cells())
    }

    /// Ends a container with a mark; what holds nothing shows the mark alone.
    fn end_marked(&mut self) {
        self.show_mark();
        self.prefix.pop();
        self.containers.pop();
    }

    fn show_mark(&mut self) {
        if self.prefix.has_mark() {
            let spans = self.prefix.next();
            self.out.rows.push(Row::new(spans));
        }
    }

    fn task(&mut self, is_done: bool) {
        let (mark, role) = if is_done {
            (self.glyph("☑ ", "[x] "), Role::TaskDone)
        } else {
            (self.glyph("☐ ", "[ ] "), Role::TaskOpen)
        };
        let is_numbered = self.lists.last().is_some_and(|list| list.next.is_some());
        let span = Span::new(mark, role);
        if is_numbered || !self.prefix.replace_mark(&span) {
            self.push_as(role, mark);
        }
    }

    fn start_link(&mut self, target: String, role: Role) {
        let link = may_open(&target).then(|| Arc::from(target.as_str()));
        self.links.push(OpenLink {
            link,
            target,
            start: self.flow.text().len(),
        });
        self.roles.push(role);
    }

    fn end_link(&mut self) {
        self.roles.pop();
        let Some(link) = self.links.pop() else {
            return;
        };
        let shown = self.flow.text().get(link.start..).unwrap_or_default();
        if !link.target.is_empty() && target_differs(shown, &link.target) {
            let separator = if shown.is_empty() { "" } else { " " };
            let text = format!("{separator}({})", link.target);
            let style = Style {
                role: Role::LinkTarget,
                emphasis: Emphasis::NONE,
                link: link.link,
            };
            self.flow.push(&text, &style);
        }
    }

    /// The target of a link: of labels defined twice the first definition counts, which may stand
    /// in another block.
    fn target(&self, link_type: LinkType, target: &str, id: &str) -> String {
        let by_label = match link_type {
            LinkType::Reference
            | LinkType::Collapsed
            | LinkType::Shortcut
            | LinkType::ReferenceUnknown
            | LinkType::CollapsedUnknown
            | LinkType::ShortcutUnknown => self.around.definitions.get(&label(id)),
            LinkType::Inline | LinkType::Autolink | LinkType::Email | LinkType::WikiLink { .. } => {
                None
            }
        };
        let target = by_label.map_or(target, String::as_str);
        let target = clean_line(target);
        if link_type == LinkType::Email && !target.starts_with("mailto:") {
            return format!("mailto:{target}");
        }
        target.into_owned()
    }

    fn end_code(&mut self) {
        let Some(open) = self.code.take() else {
            return;
        };
        let code = Code {
            language: &open.language,
            text: &clean_code(&open.text),
            is_closed: open.is_closed,
        };
        let (block, want) = code::rows(
            &code,
            self.around.colours,
            &mut self.prefix,
            self.around.options,
            &mut self.out.rows,
        );
        self.out.code.push(block);
        self.out.wants.extend(want);
        self.after_block();
    }

    /// Begins a block: what ran before is written, and the blank row that is due.
    fn begin(&mut self) {
        self.flush();
        if std::mem::take(&mut self.gap) {
            self.out.rows.push(self.prefix.blank());
        }
    }

    fn after_block(&mut self) {
        self.gap = match self.containers.last() {
            Some(Container::Item) => self.lists.last().is_none_or(|list| list.is_loose),
            Some(Container::Other) | None => true,
        };
    }

    /// Writes the text that runs.
    fn flush(&mut self) {
        if self.flow.is_empty() {
            return;
        }
        let mut flow = std::mem::take(&mut self.flow);
        link_addresses(&mut flow);
        flow.rows(
            &mut self.prefix,
            self.around.options.cells(),
            &mut self.out.rows,
        );
    }

    fn inner(&self) -> usize {
        let cells = self.around.options.cells();
        cells.saturating_sub(self.prefix.width()).max(1)
    }

    fn glyph(&self, usual: &'static str, ascii: &'static str) -> &'static str {
        if self.around.options.ascii {
            ascii
        } else {
            usual
        }
    }

    fn style(&self, role: Option<Role>) -> Style {
        let base = self.roles.last().copied().unwrap_or(Role::Text);
        Style {
            role: role.unwrap_or(base),
            emphasis: self
                .emphases
                .iter()
                .fold(Emphasis::NONE, |all, one| all.with(*one)),
            link: self.links.last().and_then(|open| open.link.clone()),
        }
    }

    fn push(&mut self, text: &str) {
        let style = self.style(None);
        self.flow.push(&clean_line(text), &style);
    }

    fn push_as(&mut self, role: Role, text: &str) {
        let style = self.style(Some(role));
        if text == "\n" {
            self.flow.push(text, &style);
        } else {
            self.flow.push(&clean_line(text), &style);
        }
    }

    /// Text of several lines; the line feed at its end is none of them.
    fn push_lines(&mut self, role: Role, text: &str) {
        for (number, line) in text.split('\n').enumerate() {
            if number > 0 {
                self.push_as(role, "\n");
            }
            self.push_as(role, line);
        }
    }
}

fn heading(level: HeadingLevel) -> (Role, &'static str) {
    match level {
        HeadingLevel::H1 => (Role::Heading1, "#"),
        HeadingLevel::H2 => (Role::Heading2, "##"),
        HeadingLevel::H3 => (Role::Heading3, "###"),
        HeadingLevel::H4 => (Role::Heading3, "####"),
        HeadingLevel::H5 => (Role::Heading3, "#####"),
        HeadingLevel::H6 => (Role::Heading3, "######"),
    }
}

/// The language that the info string of a fence names.
fn language(info: &str) -> String {
    let name = info
        .trim_start_matches(['{', '.', ' '])
        .split([' ', ',', '}', '{', ':'])
        .next()
        .unwrap_or_default();
    crate::text::truncate(&clean_line(name), 40)
}

/// Whether a block of code ends with the fence it began with. An indented one counts as closed:
/// whatever comes, the lines there stay.
fn is_closed(block: &str, quotes: usize, is_outside_lists: bool) -> bool {
    let Some(fence) = Fence::opening(block.trim_start_matches(' ')) else {
        return true;
    };
    let Some((_, lines)) = block.split_once('\n') else {
        return false;
    };
    let last = lines.trim_end_matches(['\n', ' ']).rsplit('\n').next();
    last.is_some_and(|mut line| {
        for _ in 0..quotes {
            line = line.trim_start_matches(' ');
            line = line.strip_prefix('>').unwrap_or(line);
        }
        let indent = line.len() - line.trim_start_matches(' ').len();
        // One blank belongs to the mark of the quote; in lists any number to their indent.
        (indent < 4 + quotes.min(1) || !is_outside_lists) && fence.is_closed_by(&line[indent..])
    })
}

/// The marks that open a block of code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Fence {
    mark: char,
    length: usize,
}

impl Fence {
    /// The fence that a text begins with.
    pub fn opening(text: &str) -> Option<Self> {
        let mark = text.chars().next().filter(|c| matches!(c, '`' | '~'))?;
        let length = text.len() - text.trim_start_matches(mark).len();
        (length >= 3).then_some(Self { mark, length })
    }

    pub fn is_closed_by(self, line: &str) -> bool {
        let line = line.trim_end_matches(' ');
        line.len() >= self.length && line.chars().all(|c| c == self.mark)
    }
}

fn is_break(html: &str) -> bool {
    let inner = html.trim_start_matches('<').trim_end_matches('>');
    inner
        .trim_end_matches('/')
        .trim()
        .eq_ignore_ascii_case("br")
}

fn clean_code(text: &str) -> String {
    let lines: Vec<_> = text.split('\n').map(clean_line).collect();
    lines.join("\n")
}

/// Makes links of addresses that nobody marked.
fn link_addresses(flow: &mut Flow) {
    if !flow.text().contains("://") {
        return;
    }
    let mut at = 0;
    while let Some(range) = find_address(flow.text(), at) {
        at = range.end;
        flow.link(range);
    }
}
