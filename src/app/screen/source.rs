//! What can be taken out of the source of a message: its code blocks and its links.

use std::ops::Range;

/// The fenced code blocks of a text, as source without the fences: language and text.
pub fn code_blocks(text: &str) -> Vec<(String, String)> {
    let mut blocks = Vec::new();
    let mut open: Option<(char, usize, String, String)> = None;
    for line in text.lines() {
        let trimmed = line.trim_start();
        let mark = trimmed.chars().next().unwrap_or(' ');
        let length = trimmed.chars().take_while(|c| *c == mark).count();
        let is_fence = matches!(mark, '`' | '~') && length >= 3;
        match open.take() {
            None if is_fence => {
                let language = trimmed[length..].trim().to_owned();
                open = Some((mark, length, language, String::new()));
            }
            None => {}
            Some((fence, least, language, body)) => {
                let closes = is_fence
                    && mark == fence
                    && length >= least
                    && trimmed[length..].trim().is_empty();
                if closes {
                    blocks.push((language, body));
                } else {
                    let mut body = body;
                    if !body.is_empty() {
                        body.push('\n');
                    }
                    body.push_str(line);
                    open = Some((fence, least, language, body));
                }
            }
        }
    }
    // A block that is still being written can be copied as far as it goes.
    if let Some((_, _, language, body)) = open
        && !body.is_empty()
    {
        blocks.push((language, body));
    }
    blocks
}

/// Links of Markdown that are looked for, and how long the text of one may be.
const MARKED: usize = 1_000;
const LONGEST_TEXT: usize = 300;

/// The texts of marked links: an address in one is not where the link leads.
fn texts_of_links(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    for (end, _) in text.match_indices("](").take(MARKED) {
        let mut start = end.saturating_sub(LONGEST_TEXT);
        while !text.is_char_boundary(start) {
            start += 1;
        }
        let mut depth = 0_usize;
        for (at, c) in text[start..end].char_indices().rev() {
            match c {
                ']' => depth += 1,
                '[' if depth == 0 => {
                    found.push(start + at..end);
                    break;
                }
                '[' => depth -= 1,
                _ => {}
            }
        }
    }
    found
}

/// The links in a text that may be opened, in order.
pub fn links(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut rest = text;
    let texts = texts_of_links(text);
    while let Some(at) = ["https://", "http://", "mailto:"]
        .iter()
        .filter_map(|scheme| rest.find(scheme))
        .min()
    {
        let tail = &rest[at..];
        let place = text.len() - tail.len();
        if let Some(inside) = texts.iter().find(|inside| inside.contains(&place)) {
            rest = &text[inside.end..];
            continue;
        }
        let end = tail
            .find(|c: char| c.is_whitespace() || matches!(c, '<' | '>' | '"' | '`' | '|' | '\\'))
            .unwrap_or(tail.len());
        let mut link = tail[..end].trim_end_matches(['.', ',', ';', ':', '!', '?', '\'', '*', '_']);
        // A bracket that closes something before the link is not part of it.
        while let Some(inner) = link.strip_suffix(')').or_else(|| link.strip_suffix(']')) {
            let opener = if link.ends_with(')') { '(' } else { '[' };
            let closer = if link.ends_with(')') { ')' } else { ']' };
            if link.matches(opener).count() >= link.matches(closer).count() {
                break;
            }
            link = inner.trim_end_matches(['.', ',', ';', ':', '!', '?']);
        }
        if link.len() > "https://".len() && !found.iter().any(|known| known == link) {
            found.push(link.to_owned());
        }
        rest = &rest[at + end.max(1)..];
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_blocks_are_copied_as_source() {
        let text = "x\n```rust\nfn main() {}\n\n  // y\n```\nz\n~~~\n```\n~~~\n````\nopen";
        assert_eq!(
            code_blocks(text),
            [
                ("rust".to_owned(), "fn main() {}\n\n  // y".to_owned()),
                (String::new(), "```".to_owned()),
                (String::new(), "open".to_owned()),
            ]
        );
    }

    #[test]
    fn links_end_where_people_end_them() {
        assert_eq!(
            links("see (https://a.example/x_(y)), <http://b.example>. mailto:me@x.example!"),
            [
                "https://a.example/x_(y)",
                "http://b.example",
                "mailto:me@x.example"
            ]
        );
        assert_eq!(links("javascript:alert(1) https://"), Vec::<String>::new());
    }

    #[test]
    fn a_marked_link_leads_where_it_says_and_not_where_its_text_says() {
        for text in [
            "[https://bank.example](https://evil.example/x)",
            "[https://bank.example](<https://evil.example/x>)",
            "[see [1] at https://bank.example now](https://evil.example/x)",
            "![https://bank.example](https://evil.example/x)",
        ] {
            assert_eq!(links(text), ["https://evil.example/x"], "{text}");
        }
    }
}
