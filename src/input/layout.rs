//! Latin letters on the keys of other layouts, for chords: Ctrl+С on a Cyrillic keyboard is Ctrl+C.
//! Used where the terminal does not say which key it was.

const LATIN: &str = "qwertyuiop[]asdfghjkl;'zxcvbnm,.`";
const CYRILLIC: &str = "йцукенгшщзхъфывапролджэячсмитьбюё";
/// Keys on which the Ukrainian and Belarusian layouts differ.
const CYRILLIC_OTHER: &[(char, char)] =
    &[('і', 's'), ('ї', ']'), ('є', '\''), ('ґ', '`'), ('ў', 'o')];
const GREEK: &str = ";ςερτυθιοπ[]ασδφγηξκλ΄'ζχψωβνμ,.`";
const HEBREW: &str = "/'קראטוןםפ][שדגכעיחלךף,זסבהנמצתץ;";

/// The Latin character on the key of `c`; none when `c` is Latin itself or of no layout known here.
/// A capital letter gives a capital letter.
pub fn latin(c: char) -> Option<char> {
    if c.is_ascii() {
        return None;
    }
    let small = single(c.to_lowercase(), c);
    let found = [CYRILLIC, GREEK, HEBREW]
        .into_iter()
        .find_map(|layout| {
            layout
                .chars()
                .position(|other| other == small)
                .and_then(|at| LATIN.chars().nth(at))
        })
        .or_else(|| {
            CYRILLIC_OTHER
                .iter()
                .find(|(other, _)| *other == small)
                .map(|(_, latin)| *latin)
        })?;
    Some(if small == c {
        found
    } else {
        found.to_ascii_uppercase()
    })
}

/// What Shift makes of a key that chords are on, on most Latin layouts; for terminals that say only
/// which key it was.
pub fn shifted(c: char) -> Option<char> {
    match c {
        '-' => Some('_'),
        ',' => Some('<'),
        '.' => Some('>'),
        '/' => Some('?'),
        _ => None,
    }
}

fn single(mut mapped: impl Iterator<Item = char>, otherwise: char) -> char {
    match (mapped.next(), mapped.next()) {
        (Some(c), None) => c,
        _ => otherwise,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_stand_on_the_same_keys() {
        for (other, key) in [
            ('с', 'c'),
            ('м', 'v'),
            ('я', 'z'),
            ('Ф', 'A'),
            ('і', 's'),
            ('ψ', 'c'),
            ('ש', 'a'),
        ] {
            assert_eq!(latin(other), Some(key), "{other}");
        }
        assert_eq!(latin('c'), None);
        assert_eq!(latin('漢'), None);
    }

    #[test]
    fn every_layout_has_as_many_keys() {
        for layout in [CYRILLIC, GREEK, HEBREW] {
            assert_eq!(layout.chars().count(), LATIN.chars().count(), "{layout}");
        }
    }
}
