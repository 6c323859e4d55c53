//! Pasted text without what is no text: escape sequences are taken out whole, line breaks are line
//! feeds, control characters are gone.

/// Cleans pasted text. Doing it twice is the same as once.
pub fn clean(raw: &str) -> String {
    let mut out = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(c) = rest.chars().next() {
        let after = &rest[c.len_utf8()..];
        rest = match c {
            '\u{1b}' => skip_sequence(after),
            '\r' => {
                out.push('\n');
                after.strip_prefix('\n').unwrap_or(after)
            }
            '\n' | '\t' => {
                out.push(c);
                after
            }
            c if c.is_control() => after,
            c => {
                out.push(c);
                after
            }
        };
    }
    out
}

/// What follows the sequence that begins after an Esc. Of one without an end only the Esc goes, so
/// that no text is lost with it.
fn skip_sequence(after: &str) -> &str {
    let mut chars = after.char_indices();
    match chars.next() {
        Some((_, '[')) => {
            for (at, c) in chars {
                match c {
                    '\u{20}'..='\u{3f}' => {}
                    '\u{40}'..='\u{7e}' => return &after[at + 1..],
                    _ => break,
                }
            }
            after
        }
        Some((_, ']' | 'P' | '_' | '^' | 'X')) => {
            let body = &after[1..];
            let ends = [
                body.find("\u{1b}\\").map(|at| at + 2),
                body.find('\u{7}').map(|at| at + 1),
            ];
            match ends.into_iter().flatten().min() {
                Some(end) => &body[end..],
                None => after,
            }
        }
        Some((_, 'O')) => match chars.next() {
            Some((at, c)) if c.is_ascii_alphabetic() => &after[at + 1..],
            _ => after,
        },
        _ => after,
    }
}

#[cfg(test)]
mod tests {
    use super::clean;

    #[test]
    fn sequences_go_and_text_stays() {
        assert_eq!(clean("a\u{1b}[I b\u{1b}[<35;3;3M c"), "a b c");
        assert_eq!(
            clean("x\u{1b}]0;title\u{7}y\u{1b}]52;c;aGk=\u{1b}\\z"),
            "xyz"
        );
        assert_eq!(
            clean("one\r\ntwo\rthree\n\tfour\u{0}\u{9b}2J"),
            "one\ntwo\nthree\n\tfour2J"
        );
        assert_eq!(clean("\u{1b}]never ended"), "]never ended");
    }
}
