//! The text form of chords: "ctrl-x", "alt-enter", "G", and sequences with spaces between them:
//! "ctrl-x a". The language of the keymap file and of every hint.

use super::key::{Chord, Key, Modifiers};
use std::fmt;

/// Why a text is no chord.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BadChord {
    pub text: String,
}

impl fmt::Display for BadChord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "“{}” is no key; write a letter, or one of enter, tab, esc, space, backspace, delete, \
             insert, up, down, left, right, home, end, pageup, pagedown, f1…f24, with ctrl+, alt+ \
             or shift+ before it",
            self.text
        )
    }
}

const NAMES: &[(&str, Key)] = &[
    ("enter", Key::Enter),
    ("tab", Key::Tab),
    ("backspace", Key::Backspace),
    ("delete", Key::Delete),
    ("insert", Key::Insert),
    ("esc", Key::Escape),
    ("up", Key::Up),
    ("down", Key::Down),
    ("left", Key::Left),
    ("right", Key::Right),
    ("home", Key::Home),
    ("end", Key::End),
    ("pageup", Key::PageUp),
    ("pagedown", Key::PageDown),
];

/// Other names people write.
const ALIASES: &[(&str, Key)] = &[
    ("return", Key::Enter),
    ("ret", Key::Enter),
    ("escape", Key::Escape),
    ("del", Key::Delete),
    ("ins", Key::Insert),
    ("bs", Key::Backspace),
    ("pgup", Key::PageUp),
    ("pgdn", Key::PageDown),
    ("pgdown", Key::PageDown),
];

impl Chord {
    /// The names of keys that are no characters.
    pub fn names() -> impl Iterator<Item = &'static str> {
        NAMES.iter().chain(ALIASES).map(|(name, _)| *name)
    }

    /// Reads one chord.
    pub fn parse(text: &str) -> Result<Self, BadChord> {
        let bad = || BadChord {
            text: text.to_owned(),
        };
        let mut modifiers = Modifiers::default();
        let mut rest = text;
        while let Some((head, tail)) = modifier(rest) {
            match head.to_ascii_lowercase().as_str() {
                "ctrl" | "control" | "c" => modifiers.ctrl = true,
                "alt" | "meta" | "option" | "m" | "a" => modifiers.alt = true,
                "shift" | "s" => modifiers.shift = true,
                _ => return Err(bad()),
            }
            rest = tail;
        }
        let mut chars = rest.chars();
        if let (Some(c), None) = (chars.next(), chars.next()) {
            if c.is_control() {
                return Err(bad());
            }
            // People write Ctrl+X and mean the key, not Shift.
            let c = if modifiers.ctrl {
                single(c.to_lowercase(), c)
            } else {
                c
            };
            return Ok(Self::of_char(c, modifiers));
        }
        let lower = rest.to_ascii_lowercase();
        let key = match lower.as_str() {
            "space" => return Ok(Self::of_char(' ', modifiers)),
            "backtab" => {
                modifiers.shift = true;
                Key::Tab
            }
            _ => {
                if let Some((_, key)) = NAMES.iter().chain(ALIASES).find(|(n, _)| *n == lower) {
                    *key
                } else if let Some(n) = lower.strip_prefix('f').and_then(|n| n.parse().ok()) {
                    if !(1..=24).contains(&n) {
                        return Err(bad());
                    }
                    Key::F(n)
                } else {
                    return Err(bad());
                }
            }
        };
        Ok(Self { key, modifiers })
    }

    /// Reads a sequence of chords with spaces between them.
    pub fn parse_sequence(text: &str) -> Result<Vec<Self>, BadChord> {
        let chords = text
            .split_whitespace()
            .map(Self::parse)
            .collect::<Result<Vec<_>, _>>()?;
        if chords.is_empty() {
            return Err(BadChord {
                text: text.to_owned(),
            });
        }
        Ok(chords)
    }

    /// A character with modifiers, in the one form that both the parser and the keymap use: without
    /// Ctrl and Alt a shifted letter is the capital letter; with them it is the small one and Shift.
    pub fn of_char(c: char, mut modifiers: Modifiers) -> Self {
        let mut c = c;
        if modifiers.ctrl || modifiers.alt {
            if c.is_uppercase() {
                modifiers.shift = true;
                c = single(c.to_lowercase(), c);
            } else if !c.is_alphabetic() {
                // Which punctuation needs Shift depends on the layout, so Shift says nothing.
                modifiers.shift = false;
            }
        } else {
            if modifiers.shift {
                c = single(c.to_uppercase(), c);
            }
            modifiers.shift = false;
        }
        Self {
            key: Key::Char(c),
            modifiers,
        }
    }

    /// How it is shown to the person: "Ctrl+X", "Alt+Up". In words only: not every terminal has
    /// arrows, and who listens hears a word.
    pub fn label(&self) -> String {
        let mut out = String::new();
        if self.modifiers.ctrl {
            out.push_str("Ctrl+");
        }
        if self.modifiers.alt {
            out.push_str("Alt+");
        }
        if self.modifiers.shift {
            out.push_str("Shift+");
        }
        match self.key {
            Key::Char(' ') => out.push_str("Space"),
            Key::Char(c) if self.modifiers.ctrl || self.modifiers.alt => {
                out.extend(c.to_uppercase());
            }
            Key::Char(c) => out.push(c),
            Key::PageUp => out.push_str("PageUp"),
            Key::PageDown => out.push_str("PageDown"),
            Key::F(n) => out.push_str(&format!("F{n}")),
            key => {
                let name = NAMES
                    .iter()
                    .find(|(_, k)| *k == key)
                    .map_or("", |(name, _)| name);
                let mut chars = name.chars();
                if let Some(first) = chars.next() {
                    out.extend(first.to_uppercase());
                    out.push_str(chars.as_str());
                }
            }
        }
        out
    }

    /// Whether every terminal can send it, without the kitty protocol or modifyOtherKeys.
    pub fn is_legacy(&self) -> bool {
        let m = self.modifiers;
        match self.key {
            Key::Char(c) if m.ctrl => {
                // Ctrl+H, I, M and [ are Backspace, Tab, Enter and Esc on the wire.
                !m.shift
                    && (c.is_ascii_lowercase() && !matches!(c, 'h' | 'i' | 'm')
                        || matches!(c, ' ' | '_' | '\\' | ']' | '^'))
            }
            Key::Char(_) => true,
            Key::Enter | Key::Escape | Key::Backspace => !m.ctrl && !m.shift,
            Key::Tab => !m.ctrl && !m.alt,
            Key::F(n) => n <= 12,
            // Cursor keys carry their modifiers in every terminal since xterm.
            _ => true,
        }
    }
}

/// The first modifier of a chord and what follows it; none when only the key is left. A mark at the
/// very start or end is a key itself.
fn modifier(text: &str) -> Option<(&str, &str)> {
    let (at, mark) = text
        .char_indices()
        .skip(1)
        .find(|(_, c)| *c == '-' || *c == '+')?;
    let tail = &text[at + mark.len_utf8()..];
    (!tail.is_empty()).then(|| (&text[..at], tail))
}

/// Sequences as the person sees them: "Ctrl+X a".
pub fn label(chords: &[Chord]) -> String {
    chords
        .iter()
        .map(Chord::label)
        .collect::<Vec<_>>()
        .join(" ")
}

fn single(mut mapped: impl Iterator<Item = char>, otherwise: char) -> char {
    match (mapped.next(), mapped.next()) {
        (Some(c), None) => c,
        _ => otherwise,
    }
}

/// The text form that `Chord::parse` reads.
impl fmt::Display for Chord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.modifiers.ctrl {
            f.write_str("ctrl-")?;
        }
        if self.modifiers.alt {
            f.write_str("alt-")?;
        }
        if self.modifiers.shift {
            f.write_str("shift-")?;
        }
        match self.key {
            Key::Char(' ') => f.write_str("space"),
            Key::Char(c) => write!(f, "{c}"),
            Key::F(n) => write!(f, "f{n}"),
            key => f.write_str(
                NAMES
                    .iter()
                    .find(|(_, k)| *k == key)
                    .map_or("", |(name, _)| name),
            ),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_text_form_reads_back() {
        for text in [
            "ctrl-x",
            "alt-enter",
            "G",
            "g",
            "space",
            "ctrl-_",
            "ctrl--",
            "-",
            "+",
            "f12",
            "shift-tab",
            "alt-shift-x",
            "ctrl-alt-up",
            "pagedown",
            "й",
            "ctrl-space",
            "/",
        ] {
            let chord = Chord::parse(text).unwrap();
            assert_eq!(chord.to_string(), text);
        }
    }

    #[test]
    fn other_spellings_mean_the_same() {
        for (text, same) in [
            ("Ctrl+X", "ctrl-x"),
            ("C-x", "ctrl-x"),
            ("shift-g", "G"),
            ("alt-X", "alt-shift-x"),
            ("Escape", "esc"),
            ("backtab", "shift-tab"),
            ("PgDn", "pagedown"),
        ] {
            assert_eq!(Chord::parse(text).unwrap(), Chord::parse(same).unwrap());
        }
    }

    #[test]
    fn what_is_no_key_is_refused() {
        for text in ["", "hyper-x", "f99", "enterr", "ctrl-"] {
            assert!(Chord::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn labels_are_for_people() {
        let chords = Chord::parse_sequence("ctrl-x a").unwrap();
        assert_eq!(label(&chords), "Ctrl+X a");
        assert_eq!(Chord::parse("alt-up").unwrap().label(), "Alt+Up");
    }
}
