//! One top-level block of Markdown to rows.

mod writing;

use super::Options;
use super::blocks::{label, syntax};
use super::fence::{is_closed, language};
use super::flow::{Flow, Prefix};
use super::highlight::{Colours, Job};
use super::links::find_address;
use super::row::{Emphasis, Role, Row, Span};
use super::table;
use crate::text::clean_line;
use pulldown_cmark::{BrokenLink, CodeBlockKind, CowStr, Event, HeadingLevel, Parser, Tag, TagEnd};
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

fn is_break(html: &str) -> bool {
    let inner = html.trim_start_matches('<').trim_end_matches('>');
    inner
        .trim_end_matches('/')
        .trim()
        .eq_ignore_ascii_case("br")
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
