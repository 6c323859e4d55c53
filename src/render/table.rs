//! Tables: columns as wide as their content where there is room, fitted and wrapped where there is
//! not, and one row below the other where even that is too tight.

use super::Options;
use super::flow::{Flow, Line, Prefix};
use super::row::{Emphasis, Role, Row, Span};
use pulldown_cmark::Alignment;

/// Cells that words may want for themselves, at best and at least.
const WORDS: [usize; 3] = [24, 16, 10];
/// A table of more cells is shown as records: it is no longer looked at as a table.
const MOST_CELLS: usize = 20_000;

/// A table as it was read.
pub(super) struct Table {
    alignments: Vec<Alignment>,
    /// The first row is the head.
    rows: Vec<Vec<Flow>>,
}

impl Table {
    pub fn new(alignments: &[Alignment]) -> Self {
        Self {
            alignments: alignments.to_vec(),
            rows: Vec::new(),
        }
    }

    pub fn begin_row(&mut self) {
        self.rows.push(Vec::new());
    }

    pub fn push_cell(&mut self, cell: Flow) {
        if let Some(row) = self.rows.last_mut() {
            row.push(cell);
        }
    }

    /// Appends the table as rows.
    pub fn rows(mut self, prefix: &mut Prefix, options: &Options, rows: &mut Vec<Row>) {
        let cells = options.cells().saturating_sub(prefix.width());
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        if columns == 0 {
            return;
        }
        for row in &mut self.rows {
            row.resize_with(columns, Flow::default);
        }
        self.alignments.resize(columns, Alignment::None);
        if let Some(head) = self.rows.first_mut() {
            for cell in head {
                cell.restyle(Role::Text, Role::TableHead, Emphasis::BOLD);
            }
        }
        let is_small = columns.saturating_mul(self.rows.len()) <= MOST_CELLS;
        match self.widths(columns, cells).filter(|_| is_small) {
            Some(widths) => self.grid(&widths, prefix, options, rows),
            None => self.records(prefix, options, rows),
        }
    }

    /// How wide each column becomes; none when they don't fit side by side.
    fn widths(&self, columns: usize, cells: usize) -> Option<Vec<usize>> {
        // A border before each column and one at the end, a blank on both sides of each cell.
        let room = cells.checked_sub(columns * 3 + 1)?;
        let mut wanted = vec![1; columns];
        let mut needed = vec![1; columns];
        for row in &self.rows {
            for (column, cell) in row.iter().enumerate() {
                let extent = cell.extent();
                wanted[column] = wanted[column].max(extent.longest_line);
                needed[column] = needed[column].max(extent.longest_word);
            }
        }
        if wanted.iter().sum::<usize>() <= room {
            return Some(wanted);
        }
        // Words stay whole where that leaves room for all; else the long ones are parted, and where
        // short ones would have to be, it is no table to read.
        let least = WORDS.iter().find_map(|longest| {
            let least: Vec<usize> = needed.iter().map(|n| (*n).min(*longest)).collect();
            (least.iter().sum::<usize>() <= room).then_some(least)
        })?;
        let mut widths = least;
        let mut left = room - widths.iter().sum::<usize>();
        // What is left goes to those that still want, the narrowest first, so that columns that
        // can be satisfied are.
        while left > 0 {
            let Some(column) = (0..columns)
                .filter(|c| widths[*c] < wanted[*c])
                .min_by_key(|c| widths[*c])
            else {
                break;
            };
            widths[column] += 1;
            left -= 1;
        }
        Some(widths)
    }

    fn grid(&self, widths: &[usize], prefix: &mut Prefix, options: &Options, rows: &mut Vec<Row>) {
        let frame = if options.ascii { &ASCII } else { &BOX };
        let push = |spans: Vec<Span>, prefix: &mut Prefix, rows: &mut Vec<Row>| {
            let mut all = prefix.next();
            all.extend(spans);
            rows.push(Row::new(all));
        };
        push(vec![frame.rule(&frame.top, widths)], prefix, rows);
        let broken: Vec<Vec<(&Flow, Vec<Line>)>> = self
            .rows
            .iter()
            .map(|row| {
                let cells = row.iter().zip(widths);
                cells
                    .map(|(cell, width)| (cell, cell.lines(*width)))
                    .collect()
            })
            .collect();
        let height = |row: &[(&Flow, Vec<Line>)]| {
            let lines = row.iter().map(|(_, lines)| lines.len());
            lines.max().unwrap_or(1)
        };
        // With a row of several lines all are kept apart, else nobody sees where one ends.
        let is_tall = broken.iter().skip(1).any(|row| height(row) > 1);
        for (number, cells) in broken.iter().enumerate() {
            if number == 1 || (number > 1 && is_tall) {
                push(vec![frame.rule(&frame.middle, widths)], prefix, rows);
            }
            for line in 0..height(cells) {
                let mut spans = Vec::with_capacity(widths.len() * 3 + 1);
                for (column, (cell, lines)) in cells.iter().enumerate() {
                    let edge = if column == 0 {
                        frame.edge.0
                    } else {
                        frame.edge.1
                    };
                    spans.push(Span::new(edge, Role::Frame));
                    let mut content = Vec::new();
                    if let Some(line) = lines.get(line) {
                        cell.spans(line.range.clone(), &mut content);
                    }
                    self.align(column, widths[column], content, &mut spans);
                }
                spans.push(Span::new(frame.edge.2, Role::Frame));
                push(spans, prefix, rows);
            }
        }
        push(vec![frame.rule(&frame.bottom, widths)], prefix, rows);
    }

    fn align(&self, column: usize, width: usize, content: Vec<Span>, spans: &mut Vec<Span>) {
        let used: usize = content.iter().map(Span::width).sum();
        let left = width.saturating_sub(used);
        let before = match self.alignments[column] {
            Alignment::None | Alignment::Left => 0,
            Alignment::Center => left / 2,
            Alignment::Right => left,
        };
        let blank = |cells: usize| Span::new(" ".repeat(cells), Role::Frame);
        if before > 0 {
            spans.push(blank(before));
        }
        spans.extend(content);
        if left > before {
            spans.push(blank(left - before));
        }
    }

    /// Each row as a list of head and value.
    fn records(&self, prefix: &mut Prefix, options: &Options, rows: &mut Vec<Row>) {
        let rule = if options.ascii { "-" } else { "─" };
        let cells = options.cells();
        let Some((head, body)) = self.rows.split_first() else {
            return;
        };
        let separate = |prefix: &mut Prefix, rows: &mut Vec<Row>| {
            let inner = cells.saturating_sub(prefix.width()).max(1);
            let mut spans = prefix.next();
            spans.push(Span::new(rule.repeat(inner.min(24)), Role::Frame));
            rows.push(Row::new(spans));
        };
        if body.is_empty() {
            for cell in head {
                cell.rows(prefix, cells, rows);
            }
        }
        for (number, row) in body.iter().enumerate() {
            if number > 0 {
                separate(prefix, rows);
            }
            for (column, (name, value)) in head.iter().zip(row).enumerate() {
                if value.is_empty() && column > 0 {
                    continue;
                }
                let mut line = name.clone();
                if !line.is_empty() {
                    line.push(": ", &super::flow::Style::of(Role::TableHead));
                }
                line.append(value);
                if !line.is_empty() {
                    line.rows(prefix, cells, rows);
                }
            }
        }
    }
}

struct Frame {
    top: [&'static str; 4],
    middle: [&'static str; 4],
    bottom: [&'static str; 4],
    edge: (&'static str, &'static str, &'static str),
}

const BOX: Frame = Frame {
    top: ["┌", "─", "┬", "┐"],
    middle: ["├", "─", "┼", "┤"],
    bottom: ["└", "─", "┴", "┘"],
    edge: ("│ ", " │ ", " │"),
};

const ASCII: Frame = Frame {
    top: ["+", "-", "+", "+"],
    middle: ["+", "-", "+", "+"],
    bottom: ["+", "-", "+", "+"],
    edge: ("| ", " | ", " |"),
};

impl Frame {
    fn rule(&self, parts: &[&'static str; 4], widths: &[usize]) -> Span {
        let [start, line, cross, end] = parts;
        let columns: Vec<String> = widths.iter().map(|w| line.repeat(w + 2)).collect();
        Span::new(format!("{start}{}{end}", columns.join(cross)), Role::Frame)
    }
}
