//! Running text in several styles, and how it is broken into rows.

use super::row::{Emphasis, Role, Row, Span};
use crate::text::clusters;
use std::ops::Range;
use std::sync::Arc;

/// The style of a piece of running text.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Style {
    pub role: Role,
    pub emphasis: Emphasis,
    pub link: Option<Arc<str>>,
}

impl Style {
    pub fn of(role: Role) -> Self {
        Self {
            role,
            ..Self::default()
        }
    }
}

/// Running text; a line feed in it is a hard break.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Flow {
    text: String,
    /// Where each style ends, in order.
    runs: Vec<(usize, Style)>,
}

impl Flow {
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn push(&mut self, text: &str, style: &Style) {
        if text.is_empty() {
            return;
        }
        self.text.push_str(text);
        match self.runs.last_mut() {
            Some((end, last)) if last == style => *end = self.text.len(),
            _ => self.runs.push((self.text.len(), style.clone())),
        }
    }

    /// Takes line feeds off the end.
    pub fn trim_end(&mut self) {
        let end = self.text.trim_end_matches('\n').len();
        self.text.truncate(end);
        let kept = self.runs.partition_point(|(run_end, _)| *run_end < end);
        self.runs.truncate(if end == 0 { 0 } else { kept + 1 });
        if let Some((run_end, _)) = self.runs.last_mut() {
            *run_end = end;
        }
    }

    /// Adds another text at the end.
    pub fn append(&mut self, other: &Flow) {
        let mut at = 0;
        for (end, style) in &other.runs {
            self.push(&other.text[at..*end], style);
            at = *end;
        }
    }

    /// Gives text of one role another one, and all text an emphasis.
    pub fn restyle(&mut self, from: Role, to: Role, emphasis: Emphasis) {
        for (_, style) in &mut self.runs {
            if style.role == from {
                style.role = to;
            }
            style.emphasis = style.emphasis.with(emphasis);
        }
    }

    /// Makes a link of an address in the text, where it is plain text in one style.
    pub fn link(&mut self, range: Range<usize>) {
        let index = self.runs.partition_point(|(end, _)| *end <= range.start);
        let start = match index {
            0 => 0,
            _ => self.runs[index - 1].0,
        };
        let Some((end, style)) = self.runs.get(index).cloned() else {
            return;
        };
        let is_plain = matches!(
            style.role,
            Role::Text | Role::Quote | Role::TableHead | Role::CodeBlock | Role::Tinted { .. }
        );
        if range.end > end || style.link.is_some() || !is_plain {
            return;
        }
        let link = Style {
            role: match style.role {
                Role::Tinted { .. } => style.role,
                _ => Role::Link,
            },
            emphasis: style.emphasis,
            link: Some(Arc::from(&self.text[range.clone()])),
        };
        let parts = [
            (range.start, style.clone()),
            (range.end, link),
            (end, style),
        ];
        let mut before = start;
        let parts = parts.into_iter().filter(|(end, _)| {
            let is_some = *end > before;
            before = *end;
            is_some
        });
        let parts: Vec<_> = parts.collect();
        self.runs.splice(index..=index, parts);
    }

    /// Cells of the longest line and of the longest part that can't be broken.
    pub fn extent(&self) -> Extent {
        let mut extent = Extent::default();
        let (mut line, mut word) = (0, 0);
        for cluster in clusters(&self.text) {
            match cluster.text {
                "\n" => (line, word) = (0, 0),
                " " => {
                    line += 1;
                    word = 0;
                    continue;
                }
                _ => {
                    line += cluster.width;
                    // Ideographs may be parted anywhere.
                    word = if cluster.width > 1 {
                        cluster.width
                    } else {
                        word + cluster.width
                    };
                }
            }
            extent.longest_line = extent.longest_line.max(line);
            extent.longest_word = extent.longest_word.max(word);
        }
        extent
    }

    /// The spans of a part of the text.
    pub fn spans(&self, range: Range<usize>, out: &mut Vec<Span>) {
        let first = self.runs.partition_point(|(end, _)| *end <= range.start);
        let mut at = range.start;
        for (end, style) in &self.runs[first..] {
            if at >= range.end {
                break;
            }
            let end = (*end).min(range.end);
            out.push(Span {
                text: self.text[at..end].to_owned(),
                role: style.role,
                emphasis: style.emphasis,
                link: style.link.clone(),
            });
            at = end;
        }
    }

    /// Breaks the text into lines of at most `width` cells, at spaces and other places where words
    /// part, within a word only when it is longer than a line.
    pub fn lines(&self, width: usize) -> Vec<Line> {
        let mut breaker = Breaker {
            text: &self.text,
            width: width.max(1),
            lines: Vec::new(),
            start: 0,
            used: 0,
            chance: None,
            slash: None,
            sign: None,
            is_address: false,
            is_flag: false,
            joins: false,
        };
        breaker.run();
        breaker.lines
    }

    /// Appends the text as rows, each behind a prefix.
    pub fn rows(&self, prefix: &mut Prefix, width: usize, rows: &mut Vec<Row>) {
        let inner = width.saturating_sub(prefix.width()).max(1);
        for line in self.lines(inner) {
            let mut spans = prefix.next();
            self.spans(line.range, &mut spans);
            rows.push(Row {
                spans,
                joins: line.joins,
            });
        }
    }
}

/// Cells that a text wants and needs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Extent {
    pub longest_line: usize,
    pub longest_word: usize,
}

/// One line of a broken text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Line {
    pub range: Range<usize>,
    /// It goes on with the line before.
    pub joins: bool,
}

/// What stands before the rows of a block: bars of quotes, marks and indents of lists. The first
/// row after a mark shows it, later ones its indent.
#[derive(Clone, Debug, Default)]
pub(super) struct Prefix {
    parts: Vec<Part>,
    width: usize,
    /// Containers for which there was no room; all of them lie within those that have parts.
    hidden: usize,
}

#[derive(Clone, Debug)]
struct Part {
    first: Option<Vec<Span>>,
    rest: Span,
    width: usize,
}

impl Prefix {
    pub fn width(&self) -> usize {
        self.width
    }

    /// Whether a part of so many cells leaves half of the row to the text.
    pub fn has_room_for(&self, cells: usize, row: usize) -> bool {
        self.hidden == 0 && self.width + cells <= row / 2
    }

    /// Begins a container that shows nothing. Nesting may be deeper than any row is wide, so these
    /// are only counted.
    pub fn push_hidden(&mut self) {
        self.hidden += 1;
    }

    /// A part that looks the same on every row.
    pub fn push(&mut self, span: Span) {
        let width = span.width();
        self.width += width;
        self.parts.push(Part {
            first: None,
            width,
            rest: span,
        });
    }

    /// A mark for the first row, `width` cells wide; blank below.
    pub fn push_mark(&mut self, mark: Vec<Span>, width: usize) {
        self.width += width;
        self.parts.push(Part {
            first: Some(mark),
            rest: Span::new(" ".repeat(width), Role::Frame),
            width,
        });
    }

    /// Puts another mark in place of the one that waits for its row; false when none waits.
    pub fn replace_mark(&mut self, mark: &Span) -> bool {
        match self.parts.last_mut() {
            Some(part) if part.first.is_some() && self.hidden == 0 => {
                self.width -= part.width;
                part.width = mark.width();
                self.width += part.width;
                part.rest = Span::new(" ".repeat(part.width), Role::Frame);
                part.first = Some(vec![mark.clone()]);
                true
            }
            _ => false,
        }
    }

    /// Ends the innermost container.
    pub fn pop(&mut self) {
        if self.hidden > 0 {
            self.hidden -= 1;
        } else if let Some(part) = self.parts.pop() {
            self.width -= part.width;
        }
    }

    /// Ends what `push` began last, within whatever container.
    pub fn pop_part(&mut self) {
        if let Some(part) = self.parts.pop() {
            self.width -= part.width;
        }
    }

    /// Whether the mark of the innermost container waits for its row.
    pub fn has_mark(&self) -> bool {
        self.hidden == 0 && self.parts.last().is_some_and(|p| p.first.is_some())
    }

    /// The spans for the next row.
    pub fn next(&mut self) -> Vec<Span> {
        let mut spans: Vec<Span> = Vec::with_capacity(self.parts.len() + 2);
        for part in &mut self.parts {
            match part.first.take() {
                Some(mark) => spans.extend(mark),
                None => push_merged(&mut spans, &part.rest),
            }
        }
        spans
    }

    /// The spans for an empty row: bars, but no marks and no blanks at the end.
    pub fn blank(&self) -> Row {
        let mut spans: Vec<Span> = Vec::new();
        for part in &self.parts {
            push_merged(&mut spans, &part.rest);
        }
        while let Some(last) = spans.last_mut() {
            last.text.truncate(last.text.trim_end().len());
            if !last.text.is_empty() {
                break;
            }
            spans.pop();
        }
        Row::new(spans)
    }
}

/// Neighbours of the same looks become one span.
fn push_merged(spans: &mut Vec<Span>, span: &Span) {
    if span.text.is_empty() {
        return;
    }
    match spans.last_mut() {
        Some(last)
            if last.role == span.role
                && last.emphasis == span.emphasis
                && last.link == span.link =>
        {
            last.text.push_str(&span.text);
        }
        _ => spans.push(span.clone()),
    }
}

struct Breaker<'a> {
    text: &'a str,
    width: usize,
    lines: Vec<Line>,
    start: usize,
    /// Cells of the line so far.
    used: usize,
    chance: Option<Chance>,
    /// The last slash in the word; taken when the word is longer than a line.
    slash: Option<Chance>,
    /// The last sign in an address that it may be parted behind when there is no slash.
    sign: Option<Chance>,
    /// Within an address, which stays whole as long as it can.
    is_address: bool,
    /// Within a word that a hyphen begins, such as `--locked`: it stays whole in the same way.
    is_flag: bool,
    joins: bool,
}

/// A place where the line may end.
#[derive(Clone, Copy)]
struct Chance {
    /// The line ends here …
    end: usize,
    /// … and the next one begins here.
    next: usize,
    /// Cells of the line up to `next`.
    used: usize,
}

impl Breaker<'_> {
    fn run(&mut self) {
        let mut previous: Option<(&str, usize)> = None;
        for cluster in clusters(self.text) {
            let end = cluster.at + cluster.text.len();
            if cluster.text == "\n" {
                self.emit(cluster.at, end, false);
                self.used = 0;
                (self.is_address, self.is_flag) = (false, false);
                previous = None;
                continue;
            }
            let begins = previous.is_none_or(|(before, _)| before == " " || is_opening(before));
            self.is_flag |= begins && cluster.text == "-";
            if let Some((before, before_width)) = previous
                && cluster.text != " "
                && before != " "
            {
                let here = Chance {
                    end: cluster.at,
                    next: cluster.at,
                    used: self.used,
                };
                self.is_address |= self.text[..cluster.at].ends_with("://");
                let is_wide = before_width > 1 || cluster.width > 1;
                if (is_wide || !(self.is_address || self.is_flag))
                    && may_part(before, before_width, cluster.text, cluster.width)
                {
                    self.chance = Some(here);
                } else if before == "/"
                    && cluster.text != "/"
                    && !self.text[..cluster.at].ends_with("://")
                {
                    self.slash = Some(here);
                } else if self.is_address && matches!(before, "-" | "?" | "&" | "=" | "#" | "_")
                    || self.is_flag
                        && may_part(before, before_width, cluster.text, cluster.width)
                        && !self.text[..cluster.at].ends_with("--")
                {
                    self.sign = Some(here);
                }
            }
            if cluster.text == " " {
                (self.slash, self.sign) = (None, None);
                (self.is_address, self.is_flag) = (false, false);
                let content_end = match self.chance {
                    // One place for a row of spaces.
                    Some(chance)
                        if chance.next == cluster.at && previous.is_some_and(|(p, _)| p == " ") =>
                    {
                        chance.end
                    }
                    _ => cluster.at,
                };
                if cluster.at > self.start || !self.joins {
                    self.chance = Some(Chance {
                        end: content_end,
                        next: end,
                        used: self.used + 1,
                    });
                }
                if cluster.at == self.start && self.joins {
                    // A row never begins with the space it was broken at.
                    self.start = end;
                    continue;
                }
                self.used += 1;
            } else {
                if self.used + cluster.width > self.width && cluster.at > self.start {
                    match self.best_chance() {
                        Some(chance) => {
                            let rest = self.used - chance.used;
                            self.emit(chance.end, chance.next, true);
                            self.used = rest;
                        }
                        _ => {
                            self.emit(cluster.at, cluster.at, true);
                            self.used = 0;
                        }
                    }
                    if self.used + cluster.width > self.width && cluster.at > self.start {
                        self.emit(cluster.at, cluster.at, true);
                        self.used = 0;
                    }
                }
                self.used += cluster.width;
            }
            previous = Some((cluster.text, cluster.width));
        }
        if self.start < self.text.len() || self.lines.is_empty() || self.text.ends_with('\n') {
            self.emit(self.text.len(), self.text.len(), false);
        }
    }

    /// Where to end the line: at its last space, or within the word when it would not fit into a
    /// line of its own.
    fn best_chance(&self) -> Option<Chance> {
        let is_use = |chance: &Chance| chance.end > self.start && chance.next > self.start;
        let space = self.chance.filter(is_use);
        // Before it is parted behind any other sign it gets a row of its own.
        let sign = self.sign.filter(|sign| space.is_none() && is_use(sign));
        let Some(slash) = self.slash.filter(is_use).or(sign) else {
            return space;
        };
        let word_start = space.map_or(self.start, |chance| chance.next);
        let mut cells = 0;
        for cluster in clusters(&self.text[word_start..]) {
            if matches!(cluster.text, " " | "\n") {
                return space;
            }
            cells += cluster.width;
            if cells > self.width {
                return Some(slash);
            }
        }
        space
    }

    fn emit(&mut self, end: usize, next: usize, is_soft: bool) {
        let line = &self.text[self.start..end.max(self.start)];
        let trimmed = line.trim_end_matches(' ').len();
        self.lines.push(Line {
            range: self.start..self.start + trimmed,
            joins: self.joins,
        });
        self.start = next;
        self.chance = None;
        (self.slash, self.sign) = (None, None);
        self.joins = is_soft;
    }
}

/// Whether a line may end between two clusters that no space parts.
fn may_part(before: &str, before_width: usize, after: &str, after_width: usize) -> bool {
    if before_width > 1 || after_width > 1 {
        return !is_opening(before) && !is_closing(after);
    }
    match before {
        "-" | "\u{2010}" | "\u{2013}" => after.starts_with(char::is_alphabetic),
        "\u{2014}" => true,
        _ => false,
    }
}

fn is_opening(cluster: &str) -> bool {
    matches!(
        cluster,
        "(" | "["
            | "{"
            | "「"
            | "『"
            | "（"
            | "【"
            | "《"
            | "〈"
            | "“"
            | "‘"
            | "［"
            | "｛"
            | "$"
            | "￥"
    )
}

fn is_closing(cluster: &str) -> bool {
    matches!(
        cluster,
        ")" | "]"
            | "}"
            | ","
            | "."
            | ":"
            | ";"
            | "!"
            | "?"
            | "%"
            | "…"
            | "”"
            | "’"
            | "」"
            | "』"
            | "）"
            | "】"
            | "》"
            | "〉"
            | "、"
            | "。"
            | "，"
            | "．"
            | "："
            | "；"
            | "！"
            | "？"
            | "］"
            | "｝"
            | "ー"
            | "々"
            | "ぁ"
            | "ぃ"
            | "ぅ"
            | "ぇ"
            | "ぉ"
            | "っ"
            | "ゃ"
            | "ゅ"
            | "ょ"
            | "ァ"
            | "ィ"
            | "ゥ"
            | "ェ"
            | "ォ"
            | "ッ"
            | "ャ"
            | "ュ"
            | "ョ"
            | "％"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn broken(text: &str, width: usize) -> Vec<String> {
        let mut flow = Flow::default();
        flow.push(text, &Style::default());
        flow.lines(width)
            .into_iter()
            .map(|line| flow.text()[line.range].to_owned())
            .collect()
    }

    #[test]
    fn an_option_stays_whole_as_long_as_it_fits_a_row() {
        assert_eq!(
            broken("CI builds without --locked today", 20),
            ["CI builds without", "--locked today"]
        );
        assert_eq!(
            broken("run it with --all-features", 20),
            ["run it with", "--all-features"]
        );
        assert_eq!(
            broken("a well-known word of two", 8),
            ["a well-", "known", "word of", "two"]
        );
    }
}
