//! Small tools on text: a command line into words, the nearest known name, a colour, a path.

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

/// The known name that a misspelt one is nearest to, when it is near enough.
pub(super) fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let name = name.to_lowercase().replace('-', "_");
    let limit = (name.chars().count() / 3).clamp(1, 3);
    known
        .into_iter()
        .map(|candidate| (distance(&name, candidate), candidate))
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Insertions, deletions, replacements and swaps of neighbours between two words.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let width = b.len() + 1;
    let mut table: Vec<usize> = (0..width).collect();
    table.resize(width * (a.len() + 1), 0);
    for i in 1..=a.len() {
        table[i * width] = i;
        for j in 1..=b.len() {
            let cost = usize::from(a[i - 1] != b[j - 1]);
            let mut best = (table[(i - 1) * width + j] + 1)
                .min(table[i * width + j - 1] + 1)
                .min(table[(i - 1) * width + j - 1] + cost);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(table[(i - 2) * width + j - 2] + 1);
            }
            table[i * width + j] = best;
        }
    }
    table[width * (a.len() + 1) - 1]
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
        check("  ", &[]);
        assert_eq!(split("open 'quote"), None);
        assert_eq!(split("end\\"), None);
    }

    #[test]
    fn the_nearest_name_is_near() {
        let known = ["theme", "mouse", "secret_command", "url"];
        let check = |name, wanted| assert_eq!(nearest(name, known), wanted, "{name}");
        check("tehme", Some("theme"));
        check("Theme", Some("theme"));
        check("secret-comand", Some("secret_command"));
        check("uri", Some("url"));
        check("xylophone", None);
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
