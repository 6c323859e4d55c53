//! Diffs, unified or side by side, with what changed within a line picked out.

use super::Options;
use super::code::fit_line;
use super::row::{Role, Row, Span};
use crate::text::{clean_line, common_prefix};

/// Whether a text is a unified diff: it has a head of a hunk, or heads of files.
pub fn looks_like_diff(text: &str) -> bool {
    let mut lines = text.lines().take(200).peekable();
    while let Some(line) = lines.next() {
        if hunk(line).is_some() || line.starts_with("diff --git ") {
            return true;
        }
        if line.starts_with("--- ") && lines.peek().is_some_and(|next| next.starts_with("+++ ")) {
            return true;
        }
    }
    false
}

/// Lays out a unified diff. Wide options put the two sides beside each other.
pub fn diff(text: &str, options: &Options) -> Vec<Row> {
    lines(text, options.cells(), options)
}

pub(super) fn lines(text: &str, cells: usize, options: &Options) -> Vec<Row> {
    let parsed = parse(text);
    if cells >= usize::from(options.side_by_side_from) && parsed.iter().any(|l| l.number.is_some())
    {
        side_by_side(&parsed, cells, options)
    } else {
        unified(&parsed, cells, options)
    }
}

/// One line of a diff.
#[derive(Clone, PartialEq, Eq, Debug)]
struct DiffLine {
    role: Role,
    /// Without the sign.
    text: String,
    /// Number in its file, where hunks tell it.
    number: Option<usize>,
    /// Number in the new file of a line that is in both.
    other: Option<usize>,
    /// The part that changed, in bytes of the text.
    part: Option<(usize, usize)>,
}

/// Reads `@@ -a,b +c,d @@`: first lines and counts.
fn hunk(line: &str) -> Option<((usize, usize), (usize, usize))> {
    let rest = line.strip_prefix("@@ -")?;
    let (ranges, _) = rest.split_once(" @@")?;
    let (old, new) = ranges.split_once(" +")?;
    let range = |text: &str| -> Option<(usize, usize)> {
        match text.split_once(',') {
            Some((start, count)) => Some((start.parse().ok()?, count.parse().ok()?)),
            None => Some((text.parse().ok()?, 1)),
        }
    };
    Some((range(old)?, range(new)?))
}

fn parse(text: &str) -> Vec<DiffLine> {
    let mut lines: Vec<DiffLine> = Vec::new();
    // Numbers of the next line and lines left, in the old and in the new file.
    let mut place: Option<((usize, usize), (usize, usize))> = None;
    for raw in text.lines() {
        let line = clean_line(raw);
        if let Some(start) = hunk(&line) {
            place = Some(start);
            push(&mut lines, Role::DiffHunk, &line, None, None);
            continue;
        }
        // Within a hunk a line of dashes is a removed line that begins with dashes.
        let is_in_hunk = place.is_some_and(|((_, old), (_, new))| old + new > 0);
        let is_head = !is_in_hunk
            && [
                "--- ",
                "+++ ",
                "diff ",
                "index ",
                "new file",
                "deleted file",
                "rename ",
                "similarity ",
                "*** ",
                "Binary ",
            ]
            .iter()
            .any(|head| line.starts_with(head));
        if is_head {
            push(&mut lines, Role::DiffFile, &line, None, None);
            continue;
        }
        let (role, rest) = match line.as_bytes().first() {
            Some(b'+') => (Role::DiffAdded, &line[1..]),
            Some(b'-') => (Role::DiffRemoved, &line[1..]),
            Some(b'\\') => (Role::DiffHunk, line.as_ref()),
            Some(b' ') => (Role::DiffContext, &line[1..]),
            _ => (Role::DiffContext, line.as_ref()),
        };
        let mut numbers = (None, None);
        if let Some((old, new)) = place.as_mut().filter(|_| is_in_hunk) {
            let step = |side: &mut (usize, usize)| {
                let number = side.0;
                *side = (side.0.saturating_add(1), side.1.saturating_sub(1));
                Some(number)
            };
            numbers = match role {
                Role::DiffAdded => (step(new), None),
                Role::DiffRemoved => (step(old), None),
                Role::DiffContext => (step(old), step(new)),
                _ => (None, None),
            };
        }
        push(&mut lines, role, rest, numbers.0, numbers.1);
    }
    mark_parts(&mut lines);
    lines
}

fn push(
    lines: &mut Vec<DiffLine>,
    role: Role,
    text: &str,
    number: Option<usize>,
    other: Option<usize>,
) {
    lines.push(DiffLine {
        role,
        text: text.to_owned(),
        number,
        other,
        part: None,
    });
}

/// Where as many lines were added as removed just before, each pair is compared.
fn mark_parts(lines: &mut [DiffLine]) {
    let mut at = 0;
    while at < lines.len() {
        let removed = count(&lines[at..], Role::DiffRemoved);
        let added = count(&lines[at + removed..], Role::DiffAdded);
        if removed > 0 && removed == added {
            for pair in 0..removed {
                let (old, new) = (at + pair, at + removed + pair);
                let (old_part, new_part) = changed_part(&lines[old].text, &lines[new].text);
                lines[old].part = old_part;
                lines[new].part = new_part;
            }
        }
        at += (removed + added).max(1);
    }
}

fn count(lines: &[DiffLine], role: Role) -> usize {
    lines.iter().take_while(|line| line.role == role).count()
}

type Part = Option<(usize, usize)>;

/// What lies between the common start and the common end of two lines; nothing when they have too
/// little in common to be one line changed.
fn changed_part(old: &str, new: &str) -> (Part, Part) {
    let start = common_prefix(old, new);
    let (old_rest, new_rest) = (&old[start..], &new[start..]);
    let end: usize = old_rest
        .chars()
        .rev()
        .zip(new_rest.chars().rev())
        .take_while(|(a, b)| a == b)
        .map(|(c, _)| c.len_utf8())
        .sum();
    let shared = old[..start].trim_start().len() + end;
    if shared * 3 < old.trim().len().max(new.trim().len()) {
        return (None, None);
    }
    let part = |text: &str| (start < text.len() - end).then(|| (start, text.len() - end));
    (part(old), part(new))
}

fn spans(line: &DiffLine, sign: &str) -> Vec<Span> {
    let mut spans = Vec::with_capacity(4);
    if !sign.is_empty() {
        spans.push(Span::new(sign, line.role));
    }
    let part_role = match line.role {
        Role::DiffAdded => Role::DiffAddedPart,
        _ => Role::DiffRemovedPart,
    };
    match line.part {
        Some((start, end)) => {
            for (text, role) in [
                (&line.text[..start], line.role),
                (&line.text[start..end], part_role),
                (&line.text[end..], line.role),
            ] {
                if !text.is_empty() {
                    spans.push(Span::new(text, role));
                }
            }
        }
        None if !line.text.is_empty() => spans.push(Span::new(line.text.as_str(), line.role)),
        None => {}
    }
    spans
}

fn sign(role: Role) -> &'static str {
    match role {
        Role::DiffAdded => "+",
        Role::DiffRemoved => "-",
        Role::DiffContext => " ",
        _ => "",
    }
}

fn unified(lines: &[DiffLine], cells: usize, options: &Options) -> Vec<Row> {
    lines
        .iter()
        .flat_map(|line| {
            let sign = sign(line.role);
            fit_line(spans(line, sign), sign.len(), cells, options)
        })
        .collect()
}

/// Removed on the left, added on the right, what is in both on both sides.
fn side_by_side(lines: &[DiffLine], cells: usize, options: &Options) -> Vec<Row> {
    let digits = lines
        .iter()
        .filter_map(|l| l.number.max(l.other))
        .max()
        .unwrap_or(0)
        .to_string()
        .len();
    let middle = if options.ascii { " | " } else { " │ " };
    let side = Side {
        digits,
        cells: (cells - 3) / 2,
        options,
    };
    let mut rows = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        let line = &lines[at];
        match line.role {
            Role::DiffRemoved | Role::DiffAdded => {
                let removed = count(&lines[at..], Role::DiffRemoved);
                let added = count(&lines[at + removed..], Role::DiffAdded);
                let left = &lines[at..at + removed];
                let right = &lines[at + removed..at + removed + added];
                for pair in 0..removed.max(added) {
                    let left = left.get(pair).map(|l| (l, l.number));
                    let right = right.get(pair).map(|l| (l, l.number));
                    side.pair(left, right, middle, &mut rows);
                }
                at += removed + added;
            }
            Role::DiffContext => {
                side.pair(
                    Some((line, line.number)),
                    Some((line, line.other)),
                    middle,
                    &mut rows,
                );
                at += 1;
            }
            _ => {
                rows.extend(fit_line(spans(line, ""), 0, cells, options));
                at += 1;
            }
        }
    }
    rows
}

struct Side<'a> {
    digits: usize,
    cells: usize,
    options: &'a Options,
}

impl Side<'_> {
    fn pair(
        &self,
        left: Option<(&DiffLine, Option<usize>)>,
        right: Option<(&DiffLine, Option<usize>)>,
        middle: &str,
        rows: &mut Vec<Row>,
    ) {
        let left = self.half(left);
        let right = self.half(right);
        for number in 0..left.len().max(right.len()) {
            let mut spans = left.get(number).cloned().unwrap_or_default();
            let used: usize = spans.iter().map(Span::width).sum();
            let blank = self.cells.saturating_sub(used);
            spans.push(Span::new(
                format!("{}{middle}", " ".repeat(blank)),
                Role::Frame,
            ));
            spans.extend(right.get(number).cloned().unwrap_or_default());
            rows.push(Row {
                spans,
                joins: number > 0,
            });
        }
    }

    fn half(&self, line: Option<(&DiffLine, Option<usize>)>) -> Vec<Vec<Span>> {
        let Some((line, number)) = line else {
            return Vec::new();
        };
        let width = self.digits;
        let room = self.cells.saturating_sub(width + 1).max(1);
        let sign = sign(line.role);
        fit_line(spans(line, sign), sign.len(), room, self.options)
            .into_iter()
            .enumerate()
            .map(|(index, row)| {
                let number = match number.filter(|_| index == 0) {
                    Some(number) => format!("{number:>width$} "),
                    None => " ".repeat(width + 1),
                };
                let mut spans = vec![Span::new(number, Role::LineNumber)];
                spans.extend(row.spans);
                spans
            })
            .collect()
    }
}
