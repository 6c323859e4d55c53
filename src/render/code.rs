//! Blocks of code: a frame with the language, lines that are wrapped or cut.

use super::Options;
use super::flow::Prefix;
use super::highlight::{Colours, Job};
use super::markdown::CodeBlock;
use super::row::{Role, Row, Span};
use crate::text::{clusters, truncate, width};

/// A block of code as it stands in the source.
pub(super) struct Code<'a> {
    pub language: &'a str,
    /// Whole lines, each with its line feed.
    pub text: &'a str,
    /// Whether its last line is known; colours wait for it.
    pub is_closed: bool,
}

/// Appends the rows of a block of code. Gives the block for copying, with a job when its colours
/// are still wanted.
pub(super) fn rows(
    code: &Code<'_>,
    colours: &Colours,
    prefix: &mut Prefix,
    options: &Options,
    rows: &mut Vec<Row>,
) -> (CodeBlock, Option<Job>) {
    let first_row = rows.len();
    let inner = options.cells().saturating_sub(prefix.width()).max(4);
    let frame = Frame::of(options);
    let mut top = prefix.next();
    top.extend(frame.top(code.language, inner));
    rows.push(Row::new(top));
    let text = code.text.strip_suffix('\n').unwrap_or(code.text);
    let mut want = None;
    if is_diff(code.language) {
        prefix.push(frame.bar());
        for row in super::diff::lines(text, inner - BAR, options) {
            push(prefix, row, rows);
        }
        prefix.pop_part();
    } else if !code.text.is_empty() {
        let whole = whole_lines(code.text);
        let job = if code.is_closed {
            Job::new(code.language, text)
        } else {
            Job::growing(code.language, whole)
        };
        let coloured = job
            .as_ref()
            .filter(|_| code.is_closed)
            .and_then(|job| colours.get(job.key()));
        // Until all colours are there, lines keep those they had while the block grew.
        let start = match coloured {
            None if job.is_some() => colours.start(code.language, whole),
            _ => None,
        };
        let known = start.as_ref().map_or(0, |start| start.lines);
        if coloured.is_none() && (code.is_closed || known < whole.matches('\n').count()) {
            want = job;
        }
        for (number, line) in text.split('\n').enumerate() {
            let pieces = match (&coloured, &start) {
                (Some(coloured), _) => coloured.line(number),
                (None, Some(start)) if number < start.lines => start.line(number),
                (None, _) => None,
            };
            line_rows(line, pieces, prefix, options, rows);
        }
    }
    if code.is_closed {
        let mut bottom = prefix.next();
        bottom.push(frame.bottom(inner));
        rows.push(Row::new(bottom));
    }
    let block = CodeBlock {
        language: code.language.to_owned(),
        text: code.text.to_owned(),
        rows: first_row..rows.len(),
    };
    (block, want)
}

/// The lines of code that end with a line feed.
pub(super) fn whole_lines(code: &str) -> &str {
    &code[..code.rfind('\n').map_or(0, |at| at + 1)]
}

/// Appends the rows of one line of code.
pub(super) fn line_rows(
    line: &str,
    pieces: Option<&[(u32, Role)]>,
    prefix: &mut Prefix,
    options: &Options,
    rows: &mut Vec<Row>,
) {
    let inner = options.cells().saturating_sub(prefix.width()).max(4);
    let spans = match pieces {
        Some(pieces) => coloured_spans(line, pieces),
        None if line.is_empty() => Vec::new(),
        None => vec![Span::new(line, Role::CodeBlock)],
    };
    prefix.push(Frame::of(options).bar());
    for row in fit_line(spans, 0, inner - BAR, options) {
        push(prefix, row, rows);
    }
    prefix.pop_part();
}

/// Cells of the bar before code.
const BAR: usize = 2;

/// Whether a language names diffs.
pub(super) fn is_diff(language: &str) -> bool {
    matches!(language, "diff" | "patch" | "udiff")
}

fn push(prefix: &mut Prefix, row: Row, rows: &mut Vec<Row>) {
    let mut spans = prefix.next();
    spans.extend(row.spans);
    rows.push(Row {
        spans,
        joins: row.joins,
    });
}

fn coloured_spans(line: &str, pieces: &[(u32, Role)]) -> Vec<Span> {
    let mut spans = Vec::with_capacity(pieces.len());
    let mut at = 0;
    for (len, role) in pieces {
        let end = (at + *len as usize).min(line.len());
        if end > at && line.is_char_boundary(end) {
            spans.push(Span::new(&line[at..end], *role));
            at = end;
        }
    }
    if at < line.len() {
        spans.push(Span::new(&line[at..], Role::CodeBlock));
    }
    spans
}

/// A line of code in rows of at most `cells`: wrapped, or shifted and cut. Blanks stay. The first
/// `signs` characters are a mark before the line (of a diff).
pub(super) fn fit_line(
    spans: Vec<Span>,
    signs: usize,
    cells: usize,
    options: &Options,
) -> Vec<Row> {
    let shift = if options.wrap_code {
        0
    } else {
        usize::from(options.code_shift)
    };
    let whole: usize = spans.iter().map(Span::width).sum();
    if whole <= cells && shift == 0 {
        return vec![Row::new(spans)];
    }
    if options.wrap_code {
        wrap_line(&spans, signs, cells, options)
    } else {
        vec![cut_line(&spans, whole, shift, cells)]
    }
}

/// Rows below the first begin with this many cells of indent and mark; none where the row is too
/// narrow for them.
fn hanging(text: &str, signs: usize, cells: usize) -> usize {
    let blanks = text.chars().skip(signs).take_while(|c| *c == ' ').count();
    let hang = signs + blanks.min(cells / 3) + HANG;
    if hang + LEAST <= cells { hang } else { 0 }
}

/// Cells of the mark before a row that goes on with the line above.
const HANG: usize = 2;
/// Cells that have to be left for code behind it.
const LEAST: usize = 8;

/// Breaks behind a blank where one is near the end of the row, else behind one or between two parts
/// of the code in its second half, else anywhere. The blank stays, so the rows put together, without the mark
/// before those that go on, are the line.
fn wrap_line(spans: &[Span], signs: usize, cells: usize, options: &Options) -> Vec<Row> {
    let text: String = spans.iter().map(|s| s.text.as_str()).collect();
    let hang = hanging(&text, signs, cells);
    let mut breaks = Vec::new();
    let (mut start, mut used) = (0, 0);
    let (mut blank, mut part, mut before) = (None, None, "");
    for cluster in clusters(&text) {
        let mut room = if breaks.is_empty() {
            cells
        } else {
            cells - hang
        };
        if used * 2 > room && (before == " " || parts(before, cluster.text)) {
            part = Some((cluster.at, used));
        }
        // What goes on with the next row may be too much for it, as its room is smaller.
        while used + cluster.width > room && cluster.at > start {
            let (at, rest) = match blank.or(part) {
                Some((at, cells_before)) => (at, used - cells_before),
                None => (cluster.at, 0),
            };
            breaks.push(at);
            (start, used, blank, part) = (at, rest, None, None);
            room = cells - hang;
        }
        used += cluster.width;
        if cluster.text == " " && used * 4 > room * 3 {
            blank = Some((cluster.at + 1, used));
        }
        before = cluster.text;
    }
    breaks.push(text.len());
    let mut rows = Vec::with_capacity(breaks.len());
    let mut span_start = 0;
    let mut pieces = spans.iter().peekable();
    let mut from = 0;
    for to in breaks {
        let mut row = Row {
            spans: Vec::new(),
            joins: from > 0,
        };
        if row.joins && hang > 0 {
            let mark = if options.ascii { "> " } else { "↳ " };
            let indent = " ".repeat(hang - HANG);
            row.spans.push(Span::new(indent + mark, Role::Frame));
        }
        while let Some(span) = pieces.peek() {
            let span_end = span_start + span.text.len();
            push_piece(
                &mut row,
                span,
                from.max(span_start) - span_start,
                to.min(span_end) - span_start,
            );
            if span_end > to {
                break;
            }
            span_start = span_end;
            pieces.next();
        }
        rows.push(row);
        from = to;
    }
    rows
}

/// Whether code may well be parted between two characters: behind a comma or a sign that leads on
/// to what follows, and before the point of a call.
fn parts(before: &str, after: &str) -> bool {
    let is_word = |text: &str| text.starts_with(|c: char| c.is_alphanumeric() || c == '_');
    match before {
        "," | ";" => !matches!(after, ")" | "]" | "}" | " " | "\"" | "'"),
        "(" | "[" | "{" | "/" | "|" | "&" | "=" | ":" | ">" => is_word(after),
        ")" | "]" => after == ".",
        _ => false,
    }
}

fn cut_line(spans: &[Span], whole: usize, shift: usize, cells: usize) -> Row {
    let mut row = Row::default();
    let is_cut_left = shift > 0 && whole > 0;
    let is_cut_right = whole > shift + cells;
    let (first, last) = (
        shift + usize::from(is_cut_left),
        shift + cells - usize::from(is_cut_right),
    );
    if is_cut_left {
        row.spans.push(Span::new("…", Role::Frame));
    }
    let mut at = 0;
    for span in spans {
        let mut range: Option<(usize, usize)> = None;
        for cluster in clusters(&span.text) {
            let end = at + cluster.width;
            if at >= first && end <= last {
                let start = range.map_or(cluster.at, |r| r.0);
                range = Some((start, cluster.at + cluster.text.len()));
            }
            at = end;
        }
        if let Some((start, end)) = range {
            push_piece(&mut row, span, start, end);
        }
    }
    if is_cut_right {
        row.spans.push(Span::new("…", Role::Frame));
    }
    row
}

fn push_piece(row: &mut Row, span: &Span, start: usize, end: usize) {
    if start < end {
        row.spans.push(Span {
            text: span.text[start..end].to_owned(),
            ..span.clone()
        });
    }
}

struct Frame {
    top_left: &'static str,
    bottom_left: &'static str,
    line: &'static str,
    side: &'static str,
}

impl Frame {
    fn of(options: &Options) -> Self {
        if options.ascii {
            Self {
                top_left: "+",
                bottom_left: "+",
                line: "-",
                side: "|",
            }
        } else {
            Self {
                top_left: "┌",
                bottom_left: "└",
                line: "─",
                side: "│",
            }
        }
    }

    fn top(&self, label: &str, cells: usize) -> Vec<Span> {
        let label = truncate(label, cells.saturating_sub(4));
        if label.is_empty() {
            let line = self.line.repeat(cells - 1);
            return vec![Span::new(format!("{}{line}", self.top_left), Role::Frame)];
        }
        let rest = cells.saturating_sub(width(&label) + 3);
        vec![
            Span::new(format!("{} ", self.top_left), Role::Frame),
            Span::new(label, Role::CodeLabel),
            Span::new(format!(" {}", self.line.repeat(rest)), Role::Frame),
        ]
    }

    fn bar(&self) -> Span {
        Span::new(format!("{} ", self.side), Role::Frame)
    }

    fn bottom(&self, cells: usize) -> Span {
        let line = self.line.repeat(cells - 1);
        Span::new(format!("{}{line}", self.bottom_left), Role::Frame)
    }
}
