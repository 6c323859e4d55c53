//! Markdown as plain words: for titles, questions and other places that show one style only. Keeps
//! every word; the cells of a table stand side by side; must not be used where the exact text counts (commands, values on the wire).

/// Longer texts are left as they are.
const LONGEST: usize = 64 * 1024;
/// Marks inside marks that are looked into.
const DEEPEST: u8 = 6;
/// How far the end of a mark is looked for.
const REACH: usize = 2_000;

/// The text without the marks of Markdown: emphasis, code, headings, fences, links, tables.
pub fn unmarked(text: &str) -> String {
    let has_mark = |c: char| matches!(c, '*' | '_' | '`' | '~' | '#' | '[' | '\\' | '>' | '|');
    if text.len() > LONGEST || !text.contains(has_mark) {
        return text.to_owned();
    }
    let mut lines = Vec::new();
    let mut is_code = false;
    let mut is_table = false;
    let mut rest = text.split('\n').peekable();
    while let Some(line) = rest.next() {
        let start = line.trim_start();
        if start.starts_with("```") || start.starts_with("~~~") {
            is_code = !is_code;
        } else if is_code {
            lines.push(line.to_owned());
        } else if is_table && is_delimiter(line) {
            // Its row is a line only.
        } else if line.contains('|') && (is_table || rest.peek().is_some_and(|n| is_delimiter(n))) {
            is_table = true;
            lines.push(cells(line));
        } else {
            is_table = false;
            lines.push(inline(&characters(block(line)), 0));
        }
    }
    lines.join("\n")
}

/// The line under the head of a table.
fn is_delimiter(line: &str) -> bool {
    let line = line.trim();
    let is_of_marks = |line: &str| line.chars().all(|c| matches!(c, '|' | '-' | ':' | ' '));
    line.contains('|') && line.contains('-') && is_of_marks(line)
}

/// The cells of a row of a table, side by side.
fn cells(line: &str) -> String {
    let line = line.trim();
    let line = line.strip_prefix('|').unwrap_or(line);
    let line = line.strip_suffix('|').unwrap_or(line);
    // A bar in a cell is written with a backslash.
    let line = line.replace("\\|", "\u{0}");
    let cells: Vec<String> = line
        .split('|')
        .map(|cell| inline(&characters(cell.trim()), 0).replace('\u{0}', "|"))
        .filter(|cell| !cell.is_empty())
        .collect();
    cells.join(" · ")
}

fn characters(line: &str) -> Vec<char> {
    line.chars().collect()
}

/// A line without the mark of a heading or a quote.
fn block(line: &str) -> &str {
    let start = line.trim_start();
    let hashes = start.bytes().take_while(|b| *b == b'#').count();
    if (1..=6).contains(&hashes)
        && let Some(rest) = start[hashes..].strip_prefix(' ')
    {
        return rest.trim_end_matches('#').trim();
    }
    start.strip_prefix("> ").unwrap_or(line)
}

fn inline(line: &[char], depth: u8) -> String {
    let mut out = String::new();
    let mut at = 0;
    while let Some(&c) = line.get(at) {
        let found = match c {
            '\\' => line
                .get(at + 1)
                .filter(|next| next.is_ascii_punctuation())
                .map(|next| (next.to_string(), at + 2)),
            '`' => code(line, at),
            '*' | '_' | '~' if depth < DEEPEST => emphasis(line, at, depth),
            '[' if depth < DEEPEST => link(line, at, depth),
            '!' if depth < DEEPEST && line.get(at + 1) == Some(&'[') => link(line, at + 1, depth),
            _ => None,
        };
        match found {
            Some((words, next)) => {
                out.push_str(&words);
                at = next;
            }
            None => {
                // A run of marks without an end is passed as one.
                let run = if matches!(c, '*' | '_' | '~' | '`') {
                    run_at(line, at)
                } else {
                    1
                };
                out.extend(&line[at..at + run]);
                at += run;
            }
        }
    }
    out
}

/// How often the character at a place is repeated.
fn run_at(line: &[char], at: usize) -> usize {
    let c = line[at];
    line[at..].iter().take_while(|other| **other == c).count()
}

/// Where a run of exactly the same length begins that `closes`.
fn end_of(line: &[char], at: usize, run: usize, closes: impl Fn(usize) -> bool) -> Option<usize> {
    let c = line[at];
    let mut next = at + run;
    let last = line.len().min(next + REACH);
    while next < last {
        if line[next] == c {
            let length = run_at(line, next);
            if length == run && closes(next) {
                return Some(next);
            }
            next += length;
        } else {
            next += 1;
        }
    }
    None
}

fn code(line: &[char], at: usize) -> Option<(String, usize)> {
    let run = run_at(line, at);
    let end = end_of(line, at, run, |_| true)?;
    let inside: String = line[at + run..end].iter().collect();
    Some((inside.trim().to_owned(), end + run))
}

fn emphasis(line: &[char], at: usize, depth: u8) -> Option<(String, usize)> {
    let (c, run) = (line[at], run_at(line, at));
    if run > 3 || (c == '~' && run != 2) {
        return None;
    }
    let is_word = |place: Option<usize>| {
        place
            .and_then(|place| line.get(place))
            .is_some_and(|c| c.is_alphanumeric())
    };
    let is_blank = |place: usize| line.get(place).is_none_or(|c| c.is_whitespace());
    // Inside a word an underscore is a letter.
    if is_blank(at + run) || (c == '_' && is_word(at.checked_sub(1))) {
        return None;
    }
    let end = end_of(line, at, run, |end| {
        !(is_blank(end - 1) || c == '_' && is_word(Some(end + run)))
    })?;
    Some((inline(&line[at + run..end], depth + 1), end + run))
}

fn link(line: &[char], at: usize, depth: u8) -> Option<(String, usize)> {
    let reach = &line[at..line.len().min(at + REACH)];
    let close = reach.windows(2).position(|pair| pair == [']', '('])?;
    let end = close + reach[close..].iter().position(|c| *c == ')')?;
    Some((inline(&reach[1..close], depth + 1), at + end + 1))
}

#[cfg(test)]
mod tests {
    use super::unmarked;

    #[test]
    fn marks_go_and_words_stay() {
        for (marked, plain) in [
            ("🧠 **Reasoning Settings**", "🧠 Reasoning Settings"),
            ("Reply `/approve` or *wait*", "Reply /approve or wait"),
            ("## A heading ##\n> said", "A heading\nsaid"),
            (
                "[the log](https://a.b/c) and ![a picture](x.png)",
                "the log and a picture",
            ),
            ("***all of it*** and ~~none~~", "all of it and none"),
            ("**bold with `code` in it**", "bold with code in it"),
            ("```sh\nrm -rf *a*\n```", "rm -rf *a*"),
            (r"\*literal\*", "*literal*"),
            (
                "Sizes:\n| name | **size** |\n|:-----|-----:|\n| a \\| b | 12 |\n\nafter | it",
                "Sizes:\nname · size\na | b · 12\n\nafter | it",
            ),
        ] {
            assert_eq!(unmarked(marked), plain);
        }
    }

    #[test]
    fn what_only_looks_like_a_mark_stays() {
        for text in [
            "2 * 3 * 4",
            "snake_case_name and __init",
            "a ** b",
            "an `open end",
            "**not closed",
            "[x] done (really)",
            "~/src and ~2 s",
            "#channel",
            "cat a | grep b",
            "| no head |\n| of a table |",
        ] {
            assert_eq!(unmarked(text), text);
        }
    }

    #[test]
    fn a_hostile_title_takes_no_time_and_no_stack() {
        let text = "*_`[".repeat(10_000);
        assert!(unmarked(&text).len() <= text.len());
    }
}
