//! Splits a source into its top-level blocks, each a run of whole lines that parses alone as it
//! does in the whole.
//!
//! Markdown is read line by line, and at the line where a top-level block begins nothing before is
//! open any more. So a block depends on what stands before it only through link and footnote
//! definitions, and those are handed in. What follows it can take its end or join it only through
//! the first line of the next block, so a change needs the block before it looked at again and
//! nothing more.

use pulldown_cmark::{Event, Options as Syntax, Parser, Tag};
use std::ops::Range;

/// What we read as Markdown.
pub(super) fn syntax() -> Syntax {
    Syntax::ENABLE_TABLES
        | Syntax::ENABLE_FOOTNOTES
        | Syntax::ENABLE_STRIKETHROUGH
        | Syntax::ENABLE_TASKLISTS
        | Syntax::ENABLE_MATH
        | Syntax::ENABLE_GFM
}

/// A top-level block of a source.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Block {
    /// Whole lines, up to the next block.
    pub range: Range<usize>,
    pub kind: Kind,
    /// Link definitions in it, in order.
    pub definitions: Vec<Definition>,
    /// Labels of footnotes defined in it.
    pub footnotes: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Paragraph,
    List,
    FrontMatter,
    Other,
}

/// A link definition.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Definition {
    /// As [`label`] gives it.
    pub label: String,
    pub target: String,
}

/// A label as labels are compared.
pub(super) fn label(raw: &str) -> String {
    let mut label = String::with_capacity(raw.len());
    for word in raw.split_whitespace() {
        if !label.is_empty() {
            label.push(' ');
        }
        label.extend(word.chars().flat_map(char::to_lowercase));
    }
    label
}

/// The blocks from `from` on, which must be 0, the end of the front matter or the start of a block.
pub(super) fn split(source: &str, from: usize) -> Vec<Block> {
    let text = &source[from..];
    if text.is_empty() {
        return Vec::new();
    }
    let mut blocks: Vec<Block> = Vec::new();
    let mut footnotes: Vec<(usize, String)> = Vec::new();
    // Where the parser sees each block end.
    let mut ends: Vec<usize> = Vec::new();
    let mut depth = 0usize;
    let mut events = Parser::new_ext(text, syntax()).into_offset_iter();
    for (event, range) in events.by_ref() {
        if depth == 0 && !matches!(event, Event::End(_)) {
            let start = text[..range.start].rfind('\n').map_or(0, |at| at + 1);
            let kind = match event {
                Event::Start(Tag::Paragraph) => Kind::Paragraph,
                Event::Start(Tag::List(_)) => Kind::List,
                _ => Kind::Other,
            };
            begin(&mut blocks, from + start, kind);
            ends.push(from + range.end);
            ends.truncate(blocks.len());
        }
        match event {
            Event::Start(tag) => {
                if let Tag::FootnoteDefinition(label) = tag {
                    footnotes.push((from + range.start, label.to_string()));
                }
                depth += 1;
            }
            Event::End(_) => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    if blocks.is_empty() {
        begin(&mut blocks, from, Kind::Other);
    }
    blocks[0].range.start = from;
    let mut definitions: Vec<(usize, Definition)> = events
        .reference_definitions()
        .iter()
        .map(|(name, definition)| {
            let definition_of = Definition {
                label: label(name),
                target: definition.dest.to_string(),
            };
            (from + definition.span.start, definition_of)
        })
        .collect();
    definitions.sort_by_key(|(at, _)| *at);
    take_in_definitions(source, &mut blocks, &ends);
    // Each block ends where the next one begins.
    let starts: Vec<usize> = blocks[1..]
        .iter()
        .map(|b| b.range.start)
        .chain([source.len()])
        .collect();
    for (block, end) in blocks.iter_mut().zip(starts) {
        block.range.end = end;
    }
    for (at, definition) in definitions {
        block_at(&mut blocks, at).definitions.push(definition);
    }
    for (at, label) in footnotes {
        block_at(&mut blocks, at).footnotes.push(label);
    }
    blocks
}

fn begin(blocks: &mut Vec<Block>, start: usize, kind: Kind) {
    if blocks.last().is_some_and(|last| last.range.start >= start) {
        return;
    }
    blocks.push(Block {
        range: start..start,
        kind,
        definitions: Vec::new(),
        footnotes: Vec::new(),
    });
}

/// Between blocks stand blank lines and link definitions. A definition right above a block is read
/// as the start of a paragraph, and some things can't interrupt a paragraph: without it the block
/// might be read as something else.
fn take_in_definitions(source: &str, blocks: &mut [Block], ends: &[usize]) {
    for (block, end) in blocks[1..].iter_mut().zip(ends) {
        let start = block.range.start;
        let Some(between) = source.get(*end..start) else {
            continue;
        };
        let mut lines = between.split_inclusive('\n');
        let mut at = *end;
        if !source[..at].ends_with('\n') {
            at += lines.next().map_or(0, str::len);
        }
        let mut first = at;
        for line in lines {
            at += line.len();
            if line.trim().is_empty() {
                first = at;
            }
        }
        block.range.start = first.min(start);
    }
}

fn block_at(blocks: &mut [Block], at: usize) -> &mut Block {
    let index = blocks.partition_point(|b| b.range.start <= at);
    &mut blocks[index.saturating_sub(1)]
}

/// The block of front matter at the start of a source: between two lines of three dashes, with
/// something that looks like a key. Without its end it is ordinary Markdown.
pub(super) fn front_matter(source: &str) -> Option<Block> {
    /// Front matter is short; a source is not searched to its end on every change.
    const LINES: usize = 100;
    let rest = source.strip_prefix("---\n")?;
    let mut at = "---\n".len();
    let mut has_key = false;
    for line in rest.split_inclusive('\n').take(LINES) {
        at += line.len();
        match line.trim_end() {
            "---" | "..." if has_key => {
                return Some(Block {
                    range: 0..at,
                    kind: Kind::FrontMatter,
                    definitions: Vec::new(),
                    footnotes: Vec::new(),
                });
            }
            "" => return None,
            line => has_key |= line.contains(':'),
        }
    }
    None
}
