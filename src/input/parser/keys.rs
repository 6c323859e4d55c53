//! Keys and the mouse in control sequences: xterm, rxvt, the Linux console, modifyOtherKeys and the
//! kitty protocol.

use super::Parser;
use crate::input::key::{
    Chord, Key, Modifiers, MouseButton, MouseEvent, MouseKind, TerminalEvent, TerminalReply,
};
use crate::input::layout;

/// Parameters of a control sequence: fields by `;`, parts of a field by `:`. Numbers too large
/// saturate.
pub(super) struct Parameters(Vec<Vec<Option<u32>>>);

impl Parameters {
    pub(super) fn parse(bytes: &[u8]) -> Self {
        Self(
            bytes
                .split(|b| *b == b';')
                .map(|field| field.split(|b| *b == b':').map(number).collect())
                .collect(),
        )
    }

    /// The first part of a field, or what stands for an empty one.
    pub(super) fn get(&self, field: usize, otherwise: u32) -> u32 {
        self.part(field, 0).unwrap_or(otherwise)
    }

    pub(super) fn part(&self, field: usize, part: usize) -> Option<u32> {
        self.0.get(field)?.get(part).copied().flatten()
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    fn parts(&self, field: usize) -> impl Iterator<Item = u32> + '_ {
        self.0.get(field).into_iter().flatten().copied().flatten()
    }
}

fn number(bytes: &[u8]) -> Option<u32> {
    if bytes.is_empty() {
        return None;
    }
    bytes.iter().try_fold(0u32, |n, b| {
        b.is_ascii_digit()
            .then(|| n.saturating_mul(10).saturating_add(u32::from(*b - b'0')))
    })
}

/// Modifiers as xterm and kitty count them; none when a key of the desktop (Super, Hyper) is held,
/// which is none of ours.
fn modifiers(value: u32) -> Option<Modifiers> {
    let bits = value.saturating_sub(1);
    if bits & (8 | 16) != 0 {
        return None;
    }
    Some(Modifiers {
        shift: bits & 1 != 0,
        alt: bits & (2 | 32) != 0,
        ctrl: bits & 4 != 0,
    })
}

impl Parser {
    /// A complete control sequence: parameters and intermediates, and the final byte.
    pub(super) fn control_sequence(&mut self, bytes: &[u8], last: u8, alt: bool) {
        let (prefix, rest) = match bytes.first() {
            Some(b @ (b'<' | b'=' | b'>' | b'?')) => (Some(*b), &bytes[1..]),
            _ => (None, bytes),
        };
        let split = rest
            .iter()
            .position(|b| (0x20..0x30).contains(b))
            .unwrap_or(rest.len());
        let (parameters, intermediates) = rest.split_at(split);
        let parameters = Parameters::parse(parameters);
        match (prefix, intermediates, last) {
            (Some(b'<'), b"", b'M' | b'm') if parameters.len() == 3 => {
                let number = |field| parameters.get(field, 0);
                self.mouse(number(0), number(1), number(2), last == b'm');
            }
            (Some(b'?'), _, _) => self.private_report(&parameters, intermediates, last),
            (None, b"", b'I') => self.event(TerminalEvent::Focus(true)),
            (None, b"", b'O') => self.event(TerminalEvent::Focus(false)),
            (None, b"", b't') => self.window_report(&parameters),
            (None, b"", b'u') => self.kitty_key(&parameters),
            (None, b"", b'~') => self.numbered_key(&parameters, alt),
            (None, b"", b'^' | b'@') => self.rxvt_key(&parameters, last),
            (None, b"", b'R') if self.is_position(&parameters) => {
                self.positions = self.positions.saturating_sub(1);
                let at = |n: u32| u16::try_from(n.saturating_sub(1)).ok();
                if let (Some(row), Some(column)) =
                    (at(parameters.get(0, 1)), at(parameters.get(1, 1)))
                {
                    self.event(TerminalEvent::Reply(TerminalReply::CursorPosition {
                        column,
                        row,
                    }));
                }
            }
            (None, b"", b'Z') => {
                let mut held = modifiers(parameters.get(1, 1)).unwrap_or_default();
                held.shift = true;
                held.alt |= alt;
                self.key(Key::Tab, held);
            }
            (None, b"", b'a'..=b'd') if parameters.part(0, 0).is_none() => {
                if let Some(key) = letter_key(last.to_ascii_uppercase()) {
                    self.key(
                        key,
                        Modifiers {
                            shift: true,
                            alt,
                            ctrl: false,
                        },
                    );
                }
            }
            (None, b"", _) => {
                if let Some(key) = letter_key(last) {
                    self.modified(key, &parameters, alt);
                }
            }
            _ => {}
        }
    }

    /// A key in application mode; false when there is none of this letter.
    pub(super) fn application_key(&mut self, letter: u8, bytes: &[u8], alt: bool) -> bool {
        let mut held = modifiers(number(bytes).unwrap_or(1)).unwrap_or_default();
        held.alt |= alt;
        let key = match letter {
            b'M' => Key::Enter,
            b'I' => Key::Tab,
            b'j' => Key::Char('*'),
            b'k' => Key::Char('+'),
            b'l' => Key::Char(','),
            b'm' => Key::Char('-'),
            b'n' => Key::Char('.'),
            b'o' => Key::Char('/'),
            b'p'..=b'y' => Key::Char(char::from(letter - b'p' + b'0')),
            b'a'..=b'd' => {
                held.ctrl = true;
                match letter_key(letter.to_ascii_uppercase()) {
                    Some(key) => key,
                    None => return false,
                }
            }
            _ => match letter_key(letter) {
                Some(key) => key,
                None => return false,
            },
        };
        self.key(key, held);
        true
    }

    /// A key with its modifiers in the second field; a release is not reported.
    fn modified(&mut self, key: Key, parameters: &Parameters, alt: bool) {
        if parameters.part(1, 1) == Some(3) {
            return;
        }
        if let Some(mut held) = modifiers(parameters.get(1, 1)) {
            held.alt |= alt;
            self.key(key, held);
        }
    }

    fn numbered_key(&mut self, parameters: &Parameters, alt: bool) {
        let first = parameters.get(0, 0);
        if first == 27 && parameters.len() >= 3 {
            self.coded_key(parameters.get(2, 0), None, None, parameters.get(1, 1), None);
        } else if let Some(key) = numbered(first) {
            self.modified(key, parameters, alt);
        }
    }

    /// rxvt says Ctrl by `^` and Ctrl with Shift by `@`.
    fn rxvt_key(&mut self, parameters: &Parameters, last: u8) {
        if let Some(key) = numbered(parameters.get(0, 0)) {
            self.key(
                key,
                Modifiers {
                    ctrl: true,
                    shift: last == b'@',
                    alt: false,
                },
            );
        }
    }

    /// `CSI code:shifted:base ; modifiers:event ; text u`.
    fn kitty_key(&mut self, parameters: &Parameters) {
        if parameters.part(1, 1) == Some(3) {
            return;
        }
        let text: String = parameters.parts(2).filter_map(char::from_u32).collect();
        self.coded_key(
            parameters.get(0, 0),
            parameters.part(0, 1).and_then(char::from_u32),
            parameters.part(0, 2).and_then(char::from_u32),
            parameters.get(1, 1),
            (!text.is_empty()).then_some(text),
        );
    }

    fn coded_key(
        &mut self,
        code: u32,
        shifted: Option<char>,
        base: Option<char>,
        held: u32,
        text: Option<String>,
    ) {
        let Some(held) = modifiers(held) else {
            return;
        };
        if let Some(key) = functional(code) {
            match key {
                Key::Char(c) => self.chord(Chord::of_char(c, held)),
                key => self.key(key, held),
            }
            return;
        }
        // Modifiers, media keys and others without a meaning here.
        if (0xe000..=0xf8ff).contains(&code) {
            return;
        }
        let Some(c) = char::from_u32(code).filter(|c| !c.is_control()) else {
            // modifyOtherKeys in old xterms codes Ctrl+letter as the control character.
            if let Ok(byte @ 1..=31) = u8::try_from(code) {
                self.control(byte, held.alt);
            }
            return;
        };
        if held.ctrl || held.alt {
            // The layout's letter says nothing of the key; the base letter does.
            let c = if c.is_ascii() {
                c
            } else {
                base.filter(char::is_ascii)
                    .or_else(|| layout::latin(c))
                    .unwrap_or(c)
            };
            // Ctrl+_ comes as the key of the minus with Shift.
            match shifted
                .filter(char::is_ascii)
                .or_else(|| layout::shifted(c))
            {
                Some(upper) if held.shift && !c.is_ascii_alphanumeric() => {
                    let held = Modifiers {
                        shift: false,
                        ..held
                    };
                    self.chord(Chord::of_char(upper, held));
                }
                _ => self.chord(Chord::of_char(c, held)),
            }
            return;
        }
        match text {
            Some(text) => {
                for c in text.chars().filter(|c| !c.is_control()) {
                    self.chord(Chord::of_char(c, Modifiers::default()));
                }
            }
            None => {
                let c = shifted.filter(|_| held.shift).unwrap_or(c);
                self.chord(Chord::of_char(c, held));
            }
        }
    }

    /// F3 with a modifier and a cursor position look the same; what was asked for decides.
    fn is_position(&self, parameters: &Parameters) -> bool {
        parameters.len() == 2
            && parameters.part(0, 0).is_some()
            && (self.positions > 0
                || parameters.get(0, 0) != 1
                || !(2..=16).contains(&parameters.get(1, 0)))
    }

    /// A mouse report; columns and rows count from one. A zero is a fault of the terminal.
    pub(super) fn mouse(&mut self, code: u32, column: u32, row: u32, is_release: bool) {
        let (Ok(column @ 1..), Ok(row @ 1..)) = (u16::try_from(column), u16::try_from(row)) else {
            return;
        };
        let button = match code & 3 {
            0 => Some(MouseButton::Left),
            1 => Some(MouseButton::Middle),
            2 => Some(MouseButton::Right),
            _ => None,
        };
        let kind = if code & 128 != 0 {
            return;
        } else if code & 64 != 0 {
            match code & 3 {
                0 => MouseKind::WheelUp,
                1 => MouseKind::WheelDown,
                _ => return,
            }
        } else {
            match (code & 32 != 0, is_release, button) {
                (true, _, Some(button)) => MouseKind::Drag(button),
                (true, _, None) => MouseKind::Moved,
                (false, true, Some(button)) => MouseKind::Up(button),
                (false, false, Some(button)) => MouseKind::Down(button),
                // Old reports do not say which button was let go.
                (false, _, None) => MouseKind::Up(MouseButton::Left),
            }
        };
        self.event(TerminalEvent::Mouse(MouseEvent {
            kind,
            column: column - 1,
            row: row - 1,
            modifiers: Modifiers {
                shift: code & 4 != 0,
                alt: code & 8 != 0,
                ctrl: code & 16 != 0,
            },
        }));
    }
}

fn letter_key(letter: u8) -> Option<Key> {
    Some(match letter {
        b'A' => Key::Up,
        b'B' => Key::Down,
        b'C' => Key::Right,
        b'D' => Key::Left,
        b'H' => Key::Home,
        b'F' => Key::End,
        b'P' => Key::F(1),
        b'Q' => Key::F(2),
        b'R' => Key::F(3),
        b'S' => Key::F(4),
        _ => return None,
    })
}

fn numbered(number: u32) -> Option<Key> {
    Some(match number {
        1 | 7 => Key::Home,
        2 => Key::Insert,
        3 => Key::Delete,
        4 | 8 => Key::End,
        5 => Key::PageUp,
        6 => Key::PageDown,
        11..=15 => Key::F(small(number - 10)),
        17..=21 => Key::F(small(number - 11)),
        23..=26 => Key::F(small(number - 12)),
        28 | 29 => Key::F(small(number - 13)),
        31..=34 => Key::F(small(number - 14)),
        _ => return None,
    })
}

/// Keys that the kitty protocol gives a number of their own.
fn functional(code: u32) -> Option<Key> {
    Some(match code {
        9 => Key::Tab,
        13 | 57414 => Key::Enter,
        27 => Key::Escape,
        8 | 127 => Key::Backspace,
        57376..=57398 => Key::F(small(code - 57376 + 13)),
        57399..=57408 => Key::Char(char::from(b'0' + small(code - 57399))),
        57409 => Key::Char('.'),
        57410 => Key::Char('/'),
        57411 => Key::Char('*'),
        57412 => Key::Char('-'),
        57413 => Key::Char('+'),
        57415 => Key::Char('='),
        57416 => Key::Char(','),
        57417 => Key::Left,
        57418 => Key::Right,
        57419 => Key::Up,
        57420 => Key::Down,
        57421 => Key::PageUp,
        57422 => Key::PageDown,
        57423 => Key::Home,
        57424 => Key::End,
        57425 => Key::Insert,
        57426 => Key::Delete,
        _ => return None,
    })
}

fn small(number: u32) -> u8 {
    u8::try_from(number).unwrap_or(0)
}
