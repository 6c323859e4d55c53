//! The name that was probably meant by a misspelt one, for complaints about what a person wrote.

/// The known name that a misspelt one is nearest to, when it is near enough. Case counts for
/// nothing, and neither does the difference between `-` and `_`.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let name = plain(name);
    let limit = (name.chars().count() / 3).clamp(1, 3);
    known
        .into_iter()
        .map(|candidate| (distance(&name, &plain(candidate)), candidate))
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

fn plain(name: &str) -> String {
    name.to_lowercase().replace('-', "_")
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_near() {
        let known = ["theme", "mouse", "secret_command", "url"];
        let check = |name, wanted| assert_eq!(nearest(name, known), wanted, "{name}");
        check("tehme", Some("theme"));
        check("Theme", Some("theme"));
        check("secret-comand", Some("secret_command"));
        check("uri", Some("url"));
        check("xylophone", None);
        assert_eq!(nearest("Go_Back", ["go-back", "go-on"]), Some("go-back"));
    }
}
