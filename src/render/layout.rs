//! The rows of one message, kept while its text changes.
//!
//! What did not change keeps its rows; see [`super::blocks`] for why that is right. The result is
//! the same as from scratch, by whatever steps the text came.

use super::blocks::{self, Block, Kind};
use super::fence::Fence;
use super::flow::Prefix;
use super::highlight::{Colours, Job};
use super::markdown::{self, BlockRows, CodeBlock, Surroundings};
use super::row::{Role, Row, Span};
use super::{Options, ansi};
use crate::text::common_prefix;
use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The laid-out form of one Markdown text.
#[derive(Clone, Debug, Default)]
pub struct Layout {
    source: String,
    options: Option<Options>,
    colours_seen: u64,
    blocks: Vec<Laid>,
    rows: Vec<Row>,
    /// Of labels defined twice the first one counts.
    definitions: BTreeMap<String, String>,
    footnotes: BTreeSet<String>,
    open: Option<OpenFence>,
}

/// A block of code at the end of the text that goes on. Nothing but its closing fence ends it, so
/// text that comes is more lines of it and the rest needs no look.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct OpenFence {
    fence: Fence,
    /// The end of the last whole line.
    whole: Mark,
    /// The start of the first line that may still get colours.
    plain: Mark,
}

/// A place between two lines of a block of code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Mark {
    /// Lines of code before it.
    lines: usize,
    /// Bytes of the source before it.
    bytes: usize,
    /// Rows before it.
    rows: usize,
    /// Bytes of the code for copying before it.
    code: usize,
}

#[derive(Clone, Debug)]
struct Laid {
    block: Block,
    /// Rows, the blank one before it included.
    rows: usize,
    has_gap: bool,
    code: Vec<CodeBlock>,
    wants: Vec<Job>,
    asked: Vec<String>,
    /// It may refer to footnotes.
    refers: bool,
}

impl Layout {
    /// Takes the text as it is now and gives its rows.
    pub fn update(&mut self, source: &str, options: &Options, colours: &Colours) -> &[Row] {
        self.update_behind(0, source, options, colours)
    }

    /// The same for a text of which so many bytes at the start are known to be as they were at the
    /// last update.
    pub fn update_behind(
        &mut self,
        unchanged: usize,
        source: &str,
        options: &Options,
        colours: &Colours,
    ) -> &[Row] {
        let common = if self.options.as_ref() == Some(options) {
            match (self.source.get(unchanged..), source.get(unchanged..)) {
                (Some(old), Some(new)) => unchanged + common_prefix(old, new),
                _ => common_prefix(&self.source, source),
            }
        } else {
            self.forget();
            self.options = Some(*options);
            0
        };
        let is_same = common == source.len() && common == self.source.len();
        if is_same && (self.colours_seen == colours.revision() || !self.has_wants()) {
            self.colours_seen = colours.revision();
            return &self.rows;
        }
        // The parser is not ours; should it fail, the text is still there to read.
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            if !self.grow_open_fence(source, common, options, colours) {
                self.change(source, common, options, colours);
            }
        }));
        if outcome.is_err() {
            self.forget();
            self.options = Some(*options);
            self.rows = ansi::plain(source, options);
        }
        self.source.truncate(common.min(self.source.len()));
        self.source.push_str(&source[self.source.len()..]);
        self.colours_seen = colours.revision();
        &self.rows
    }

    /// The rows as they are.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// The rows, taken out.
    pub fn into_rows(self) -> Vec<Row> {
        self.rows
    }

    /// The blocks of code in the text, with the rows they take.
    pub fn code_blocks(&self) -> Vec<CodeBlock> {
        let mut found = Vec::new();
        let mut first = 0;
        for laid in &self.blocks {
            let start = first + usize::from(laid.has_gap);
            for code in &laid.code {
                found.push(CodeBlock {
                    language: code.language.clone(),
                    text: code
                        .text
                        .strip_suffix('\n')
                        .unwrap_or(&code.text)
                        .to_owned(),
                    rows: code.rows.start + start..code.rows.end + start,
                });
            }
            first += laid.rows;
        }
        found
    }

    /// The blocks of code that stand plain and could have colours.
    pub fn wants(&self) -> Vec<Job> {
        self.blocks
            .iter()
            .flat_map(|b| b.wants.iter().cloned())
            .collect()
    }

    fn has_wants(&self) -> bool {
        self.blocks.iter().any(|b| !b.wants.is_empty())
    }

    fn forget(&mut self) {
        *self = Self::default();
    }

    /// Lays out what changed. `common` bytes of the text are as they were.
    fn change(&mut self, source: &str, common: usize, options: &Options, colours: &Colours) {
        let front = blocks::front_matter(source);
        let had_front = self
            .blocks
            .first()
            .map(|b| &b.block)
            .filter(|b| b.kind == Kind::FrontMatter);
        let mut first = if front.as_ref() == had_front {
            let touched = self.blocks.partition_point(|b| b.block.range.end < common);
            touched.saturating_sub(1).max(usize::from(front.is_some()))
        } else {
            0
        };
        first = first.min(self.blocks.len());
        let from = match first.checked_sub(1) {
            Some(before) => self.blocks[before].block.range.end,
            None => 0,
        };
        let mut fresh = Vec::new();
        if first == 0
            && let Some(front) = front
        {
            let end = front.range.end;
            fresh.push(front);
            fresh.extend(blocks::split(source, end));
        } else {
            fresh.extend(blocks::split(source, from));
        }
        let affected = self.define(first, &fresh);
        let is_quiet = affected.labels.is_empty()
            && !affected.footnotes
            && self.colours_seen == colours.revision();
        // Blocks before whose links or colours are others now are laid out again as well.
        let dirty = |laid: &Laid| {
            laid.asked
                .iter()
                .any(|label| affected.labels.contains(label))
                || (affected.footnotes && laid.refers)
                || laid.wants.iter().any(|job| colours.has(job))
        };
        let start = match is_quiet {
            true => first,
            false => self.blocks[..first].iter().position(dirty).unwrap_or(first),
        };
        let old_count: usize = self.blocks[start..].iter().map(|b| b.rows).sum();
        let mut old_rows = self.rows.split_off(self.rows.len() - old_count).into_iter();
        let old = self.blocks.split_off(start);
        let between: Vec<Block> = old[..first - start]
            .iter()
            .map(|b| b.block.clone())
            .collect();
        let mut old = old.into_iter().peekable();
        let around = Surroundings {
            definitions: &self.definitions,
            footnotes: &self.footnotes,
            colours,
            options,
        };
        let mut previous = self.blocks.last().map(|b| b.block.kind);
        let mut previous_end = self.blocks.last().map_or(0, |b| b.block.range.end);
        for block in between.into_iter().chain(fresh) {
            let mut reused = None;
            while let Some(laid) = old.next_if(|laid| laid.block.range.start <= block.range.start) {
                let is_same = laid.block == block && block.range.end <= common && !dirty(&laid);
                if laid.has_gap {
                    old_rows.next();
                }
                let count = laid.rows - usize::from(laid.has_gap);
                if is_same {
                    reused = Some((old_rows.by_ref().take(count).collect::<Vec<_>>(), laid));
                } else {
                    old_rows.by_ref().take(count).for_each(drop);
                }
            }
            let (rows, mut laid) = match reused {
                Some(reused) => reused,
                None => lay_out(source, &block, &around),
            };
            let joins_paragraph = previous == Some(Kind::Paragraph)
                && block.kind == Kind::List
                && !ends_blank(&source[..previous_end]);
            laid.has_gap = !self.rows.is_empty() && !rows.is_empty() && !joins_paragraph;
            if laid.has_gap {
                self.rows.push(Row::default());
            }
            laid.rows = rows.len() + usize::from(laid.has_gap);
            self.rows.extend(rows);
            previous = Some(block.kind);
            previous_end = block.range.end;
            laid.block = block;
            self.blocks.push(laid);
        }
        self.open = self.find_open_fence(source);
    }

    fn find_open_fence(&self, source: &str) -> Option<OpenFence> {
        let last = self.blocks.last()?;
        let text = &source[last.block.range.clone()];
        let fence = Fence::opening(text)?;
        let [code] = &last.code[..] else {
            return None;
        };
        // The first line must be whole, and a diff is more than its lines.
        let first_end = text.find('\n')?;
        let lines = &text[first_end + 1..];
        if lines.is_empty()
            || super::code::is_diff(&code.language)
            || last.block.kind != Kind::Other
        {
            return None;
        }
        // Clean text has no carriage returns; where one is, the parser says what it means.
        if lines.contains('\r')
            || lines
                .split('\n')
                .any(|line| fence.is_closed_by(line.trim_start_matches(' ')))
        {
            return None;
        }
        // Only what ends with a line feed is sure to stay as it is.
        let rest = lines.len() - lines.rfind('\n').map_or(0, |at| at + 1);
        let last_line = &lines[lines.len() - rest..];
        if is_unsure(last_line) {
            return None;
        }
        let mut last_rows = Vec::new();
        if !last_line.is_empty() {
            let options = self.options.as_ref()?;
            super::code::line_rows(
                &crate::text::clean_line(last_line),
                None,
                &mut Prefix::default(),
                options,
                &mut last_rows,
            );
        }
        let whole = Mark {
            lines: code.text.matches('\n').count(),
            bytes: source.len() - rest,
            rows: self.rows.len().checked_sub(last_rows.len())?,
            code: super::code::whole_lines(&code.text).len(),
        };
        // Behind the frame with the language.
        let first = Mark {
            lines: 0,
            bytes: last.block.range.start + first_end + 1,
            rows: (self.rows.len() + usize::from(last.has_gap) + 1).checked_sub(last.rows)?,
            code: 0,
        };
        let plain = if last.wants.is_empty() { whole } else { first };
        Some(OpenFence {
            fence,
            whole,
            plain,
        })
    }

    /// Lays out more lines of a block of code that is open; false when something else changed.
    fn grow_open_fence(
        &mut self,
        source: &str,
        common: usize,
        options: &Options,
        colours: &Colours,
    ) -> bool {
        let Some(mut open) = self.open.filter(|open| open.whole.bytes <= common) else {
            return false;
        };
        let are_colours_new = self.colours_seen != colours.revision();
        if are_colours_new {
            let before = self.blocks.len().saturating_sub(1);
            let has_new = |laid: &Laid| laid.wants.iter().any(|job| colours.has(job));
            if self.blocks[..before].iter().any(has_new) {
                return false;
            }
        }
        let has_front = self
            .blocks
            .first()
            .is_some_and(|b| b.block.kind == Kind::FrontMatter);
        if blocks::front_matter(source).is_some() != has_front {
            return false;
        }
        let more = &source[open.whole.bytes..];
        let closes = |line: &str| open.fence.is_closed_by(line.trim_start_matches(' '));
        if more.contains('\r')
            || more.split('\n').any(closes)
            || more.split('\n').next_back().is_some_and(is_unsure)
        {
            return false;
        }
        let Some(last) = self.blocks.last_mut() else {
            return false;
        };
        let Some(code) = last.code.first_mut() else {
            return false;
        };
        // With colours for lines that stood plain, those are laid out again as well.
        let start = colours
            .start(&code.language, &code.text[..open.whole.code])
            .filter(|start| are_colours_new && start.lines > open.plain.lines);
        let mut at = if start.is_some() {
            open.plain
        } else {
            open.whole
        };
        last.rows -= self.rows.len() - at.rows;
        self.rows.truncate(at.rows);
        code.text.truncate(at.code);
        for line in source[at.bytes..].split_inclusive('\n') {
            let before = self.rows.len();
            let text = crate::text::clean_line(line.strip_suffix('\n').unwrap_or(line));
            let pieces = start
                .as_ref()
                .filter(|start| at.lines < start.lines)
                .and_then(|start| start.line(at.lines));
            super::code::line_rows(
                &text,
                pieces,
                &mut Prefix::default(),
                options,
                &mut self.rows,
            );
            last.rows += self.rows.len() - before;
            code.text.push_str(&text);
            if line.ends_with('\n') {
                code.text.push('\n');
                at = Mark {
                    lines: at.lines + 1,
                    bytes: at.bytes + line.len(),
                    rows: self.rows.len(),
                    code: code.text.len(),
                };
                open.whole = at;
                if start.as_ref().is_some_and(|start| at.lines <= start.lines) {
                    open.plain = at;
                }
            }
        }
        code.rows.end = last.rows - usize::from(last.has_gap);
        last.wants = if open.plain.lines < open.whole.lines {
            let lines = &code.text[..open.whole.code];
            super::highlight::Job::growing(&code.language, lines)
                .into_iter()
                .collect()
        } else {
            Vec::new()
        };
        last.block.range.end = source.len();
        self.open = Some(open);
        true
    }

    /// Takes over the definitions of the blocks as they are now. Tells what changed by that.
    fn define(&mut self, first: usize, fresh: &[Block]) -> Affected {
        let gone = &self.blocks[first..];
        let links_stay = gone
            .iter()
            .flat_map(|b| &b.block.definitions)
            .eq(fresh.iter().flat_map(|b| &b.definitions));
        let footnotes_stay = gone
            .iter()
            .flat_map(|b| &b.block.footnotes)
            .eq(fresh.iter().flat_map(|b| &b.footnotes));
        let mut affected = Affected::default();
        if !links_stay {
            let mut definitions = BTreeMap::new();
            let kept = self.blocks[..first].iter().map(|b| &b.block);
            for definition in kept.chain(fresh).flat_map(|b| &b.definitions) {
                definitions
                    .entry(definition.label.clone())
                    .or_insert_with(|| definition.target.clone());
            }
            for label in self.definitions.keys().chain(definitions.keys()) {
                if self.definitions.get(label) != definitions.get(label) {
                    affected.labels.insert(label.clone());
                }
            }
            self.definitions = definitions;
        }
        if !footnotes_stay {
            let kept = self.blocks[..first].iter().map(|b| &b.block);
            let footnotes: BTreeSet<String> = kept
                .chain(fresh)
                .flat_map(|b| b.footnotes.iter().cloned())
                .collect();
            affected.footnotes = footnotes != self.footnotes;
            self.footnotes = footnotes;
        }
        affected
    }
}

/// Blanks that no line feed ends yet: the parser has its own mind about them.
fn is_unsure(line: &str) -> bool {
    !line.is_empty() && line.bytes().all(|b| b == b' ')
}

#[derive(Default)]
struct Affected {
    labels: BTreeSet<String>,
    footnotes: bool,
}

fn lay_out(source: &str, block: &Block, around: &Surroundings<'_>) -> (Vec<Row>, Laid) {
    let text = &source[block.range.clone()];
    let BlockRows {
        rows,
        code,
        wants,
        mut asked,
    } = match block.kind {
        Kind::FrontMatter => front_matter(text, around),
        Kind::Paragraph | Kind::List | Kind::Other => markdown::block(text, around),
    };
    // A link by a definition in the block itself depends on an earlier one of the same name.
    asked.extend(block.definitions.iter().map(|d| d.label.clone()));
    let laid = Laid {
        block: block.clone(),
        rows: rows.len(),
        has_gap: false,
        code,
        wants,
        asked,
        refers: text.contains("[^"),
    };
    (rows, laid)
}

fn front_matter(text: &str, around: &Surroundings<'_>) -> BlockRows {
    let rows = text
        .trim_end()
        .lines()
        .flat_map(|line| {
            let spans = vec![Span::new(line, Role::Meta)];
            super::code::fit_line(spans, 0, around.options.cells(), around.options)
        })
        .collect();
    BlockRows {
        rows,
        ..BlockRows::default()
    }
}

fn ends_blank(text: &str) -> bool {
    text.trim_end_matches([' ', '\t']).ends_with("\n\n")
        || text
            .rsplit('\n')
            .nth(1)
            .is_some_and(|line| line.trim().is_empty())
}
