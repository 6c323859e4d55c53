//! What a character may do to a screen or to a reader.

/// What cleaning makes of a character.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Class {
    /// Shown as it is, whatever stands around it.
    Plain,
    /// Shown, but able to join its neighbours into one cluster.
    Joining,
    Newline,
    Tab,
    /// Unicode's own line breaks: NEL, line and paragraph separator.
    Separator,
    /// C0 without line break and tab, and DEL.
    Control,
    /// A mark that stands on the character before.
    Combining,
    /// Chooses between two pictures of the character before.
    Variation,
    /// Zero-width joiner and non-joiner.
    Joiner,
    /// A letter of a flag's name; valid only behind a black flag.
    Tag,
    /// Seen by nobody or moving what others see: bidi controls, fillers, private use, C1.
    Hidden,
}

/// The class of a character.
pub(super) fn class(c: char) -> Class {
    match c {
        ' '..='~' => Class::Plain,
        '\n' => Class::Newline,
        '\t' => Class::Tab,
        '\u{0}'..='\u{1f}' | '\u{7f}' => Class::Control,
        '\u{85}' | '\u{2028}' | '\u{2029}' => Class::Separator,
        '\u{80}'..='\u{9f}' | '\u{ad}' => Class::Hidden,
        // Latin, Greek, Cyrillic, Armenian: the common case.
        '\u{a0}'..='\u{2ff}' | '\u{370}'..='\u{482}' | '\u{48a}'..='\u{58f}' => Class::Plain,
        '\u{200c}' | '\u{200d}' => Class::Joiner,
        '\u{fe00}'..='\u{fe0f}'
        | '\u{e0100}'..='\u{e01ef}'
        | '\u{180b}'..='\u{180d}'
        | '\u{180f}' => Class::Variation,
        '\u{e0020}'..='\u{e007f}' => Class::Tag,
        c if is_hidden(c) => Class::Hidden,
        // Punctuation, arrows, mathematics, box drawing and other signs.
        '\u{2000}'..='\u{20cf}' | '\u{2100}'..='\u{2bff}' | '\u{3000}'..='\u{3029}' => Class::Plain,
        c if super::width::is_ideograph(c) => Class::Plain,
        c if is_combining(c) => Class::Combining,
        _ => Class::Joining,
    }
}

fn is_hidden(c: char) -> bool {
    let code = c as u32;
    matches!(c,
        '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180e}'
        | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{2800}' | '\u{3164}' | '\u{e000}'..='\u{f8ff}' | '\u{fdd0}'..='\u{fdef}' | '\u{feff}'
        | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{10ffff}')
        || code & 0xfffe == 0xfffe
}

fn is_combining(c: char) -> bool {
    // Hangul vowels and finals have no width of their own, but make syllables, not marks.
    !matches!(c, '\u{1160}'..='\u{11ff}' | '\u{d7b0}'..='\u{d7fb}')
        && unicode_width::UnicodeWidthChar::width(c) == Some(0)
}

/// Characters that can be a picture or part of one.
pub(super) fn is_pictograph(c: char) -> bool {
    matches!(c,
        '\u{a9}' | '\u{ae}' | '\u{203c}' | '\u{2049}' | '\u{2122}' | '\u{2139}' | '\u{2194}'..='\u{21aa}'
        | '\u{2300}'..='\u{23ff}' | '\u{24c2}' | '\u{25a0}'..='\u{25ff}' | '\u{2600}'..='\u{27bf}'
        | '\u{2934}' | '\u{2935}' | '\u{2b00}'..='\u{2bff}' | '\u{3030}' | '\u{303d}' | '\u{3297}'
        | '\u{3299}' | '\u{1f000}'..='\u{1faff}')
}

/// Whether a variation selector says something behind this character.
pub(super) fn takes_variation(base: char, selector: char) -> bool {
    match selector {
        '\u{fe0e}' | '\u{fe0f}' => is_pictograph(base) || matches!(base, '0'..='9' | '#' | '*'),
        '\u{180b}'..='\u{180f}' => matches!(base, '\u{1800}'..='\u{18af}'),
        '\u{e0100}'..='\u{e01ef}' => is_han(base),
        _ => {
            is_han(base)
                || matches!(base, '\u{1000}'..='\u{109f}' | '\u{2200}'..='\u{22ff}' | '\u{a840}'..='\u{a87f}')
        }
    }
}

fn is_han(c: char) -> bool {
    matches!(c, '\u{3000}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{3ffff}')
}

/// Scripts whose letters joiners bind or part: Arabic and its kin, the scripts of India and around.
pub(super) fn takes_joiner(c: char) -> bool {
    matches!(c, '\u{600}'..='\u{8ff}' | '\u{900}'..='\u{109f}' | '\u{1780}'..='\u{18af}'
        | '\u{1a00}'..='\u{1c4f}' | '\u{a840}'..='\u{abff}' | '\u{fb50}'..='\u{fdcf}'
        | '\u{fe70}'..='\u{fefc}' | '\u{11000}'..='\u{11fff}')
}
