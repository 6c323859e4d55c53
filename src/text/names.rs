//! Names that look like other names.

/// Whether a word of a name mixes letters of scripts that look alike: the reader should know.
pub fn mixes_scripts(name: &str) -> bool {
    #[derive(PartialEq)]
    enum Script {
        Latin,
        Greek,
        Cyrillic,
    }
    name.split(|c: char| !c.is_alphabetic()).any(|word| {
        let mut scripts = word.chars().filter_map(|c| match c {
            'a'..='z' | 'A'..='Z' | '\u{c0}'..='\u{24f}' => Some(Script::Latin),
            '\u{370}'..='\u{3ff}' => Some(Script::Greek),
            '\u{400}'..='\u{52f}' => Some(Script::Cyrillic),
            _ => None,
        });
        let Some(first) = scripts.next() else {
            return false;
        };
        scripts.any(|script| script != first)
    })
}

/// Whether a text has letters that are read from right to left.
pub fn is_right_to_left(text: &str) -> bool {
    use unicode_bidi::BidiClass::{AL, R};
    // Most text has none, and their blocks begin here.
    text.chars()
        .any(|c| c >= '\u{590}' && matches!(unicode_bidi::bidi_class(c), R | AL))
}

#[cfg(test)]
mod tests {
    use super::{is_right_to_left, mixes_scripts};

    #[test]
    fn letters_from_right_to_left_are_noticed() {
        assert!(is_right_to_left("see שלום"));
        assert!(is_right_to_left("مرحبا"));
        assert!(!is_right_to_left("日本 «é» 1"));
    }

    #[test]
    fn a_word_of_two_scripts_is_noticed() {
        assert!(mixes_scripts("\u{430}1\u{435}rts"));
        assert!(mixes_scripts("p\u{430}ypal"));
        assert!(!mixes_scripts("alerts"));
        assert!(!mixes_scripts("новости and news"));
        assert!(!mixes_scripts("日本 alerts"));
    }
}
