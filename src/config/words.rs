//! Small tools on text: a command line into words, a colour, a path.

use std::path::PathBuf;

/// Splits a command into words as a shell would, with quotes and backslashes and nothing else: no
/// variables, no patterns. None when a quote is left open.
pub(super) fn split(text: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\'' => {
                let word = word.get_or_insert_default();
                loop {
                    match chars.next()? {
                        '\'' => break,
                        c => word.push(c),
                    }
                }
            }
            '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match chars.next()? {
                        '"' => break,
                        '\\' => match chars.next()? {
                            c @ ('"' | '\\' | '$' | '`') => word.push(c),
                            c => word.extend(['\\', c]),
                        },
                        c => word.push(c),
                    }
                }
            }
            '\\' => word.get_or_insert_default().push(chars.next()?),
            c if c.is_whitespace() => words.extend(word.take()),
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    Some(words)
}

/// A colour as `#rrggbb` or `#rgb`.
pub(super) fn color(text: &str) -> Option<(u8, u8, u8)> {
    let digits = text.strip_prefix('#')?;
    if !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    let part = |at: usize, len: usize| u8::from_str_radix(digits.get(at..at + len)?, 16).ok();
    match digits.len() {
        6 => Some((part(0, 2)?, part(2, 2)?, part(4, 2)?)),
        3 => Some((part(0, 1)? * 17, part(1, 1)? * 17, part(2, 1)? * 17)),
        _ => None,
    }
}

/// A path, with `~/` standing for the home folder.
pub(super) fn path(text: &str) -> PathBuf {
    let rest = match text {
        "~" => Some(""),
        _ => text.strip_prefix("~/"),
    };
    match (rest, super::paths::home()) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => PathBuf::from(text),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn commands_split_like_in_a_shell() {
        let check = |text: &str, words: &[&str]| assert_eq!(split(text).unwrap(), words, "{text}");
        check("pass show  iris", &["pass", "show", "iris"]);
        check(
            r#"sh -c 'echo "a b"' x\ y "q\"$HOME" """#,
            &["sh", "-c", "echo \"a b\"", "x y", "q\"$HOME", ""],
        );
        check(
            "op read 'op://Private/My Key'",
            &["op", "read", "op://Private/My Key"],
        );
        check("  ", &[]);
        assert_eq!(split("open 'quote"), None);
        assert_eq!(split("end\\"), None);
    }

    #[test]
    fn colours_are_read() {
        assert_eq!(color("#0a1B2c"), Some((10, 27, 44)));
        assert_eq!(color("#f00"), Some((255, 0, 0)));
        for wrong in ["red", "#12345", "#gggggg", "", "#é12"] {
            assert_eq!(color(wrong), None, "{wrong}");
        }
    }
}
