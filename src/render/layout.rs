//! The rows of one message, kept while its text changes.
//!
//! What did not change keeps its rows; see [`super::blocks`] for why that is right. The result is
//! the same as from scratch, by whatever steps the text came.

use super::blocks::{self, Block, Kind};
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
    footnotes: Vec<String>,
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
        let common = if self.options.as_ref() == Some(options) {
            common_prefix(&self.source, source)
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
            self.change(source, common, options, colours);
        }));
        if outcome.is_err() {
            self.forget();
            self.options = Some(*options);
            self.rows = ansi::plain(source, options);
        }
        self.source.truncate(common_prefix(&self.source, source));
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
                    rows: code.rows.start + start..code.rows.end + start,
                    ..code.clone()
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
        // Blocks before whose links or colours are others now are laid out again as well.
        let dirty = |laid: &Laid| {
            laid.asked
                .iter()
                .any(|label| affected.labels.contains(label))
                || (affected.footnotes && laid.refers)
                || laid.wants.iter().any(|job| colours.has(job))
        };
        let start = self.blocks[..first].iter().position(dirty).unwrap_or(first);
        let kept_rows: usize = self.blocks[..start].iter().map(|b| b.rows).sum();
        let mut old_rows = self.rows.split_off(kept_rows).into_iter();
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
            let footnotes: Vec<String> = footnotes.into_iter().collect();
            affected.footnotes = footnotes != self.footnotes;
            self.footnotes = footnotes;
        }
        affected
    }
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
            super::code::fit_line(spans, around.options.cells(), around.options)
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
