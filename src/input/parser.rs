//! The parser of the terminal's bytes. It keeps its place across reads, is handed the time, and
//! never waits: what is incomplete stands until the next byte or until `deadline`.
//!
//! Its rules:
//! - Esc alone is a key only after a time without a further byte; how long depends on the link.
//! - Every well-formed answer of the terminal is swallowed or reported, never typed.
//! - A bracketed paste ends at its mark, after a second of silence, or is cut at a size; escape
//!   sequences in it are taken out.
//! - A carriage return in a stream of text, with nothing but moments before and behind it, was not
//!   typed: the terminal pastes without brackets. It is a line break and what follows is a paste. One
//!   after a pause is the Enter key, whatever follows; and where the terminal is known to put
//!   brackets around a paste, every one is.
//! - Keys of other layouts act like the Latin letter on the same key when Ctrl or Alt is held.
//!
//! The same bytes give the same events however they are cut into reads.

mod keys;
mod replies;

use super::key::{Chord, Key, Modifiers, TerminalEvent};
use super::layout;
use std::time::Duration;

/// What the parser has to know of the link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ParserOptions {
    /// How long Esc waits for the rest of a sequence.
    pub escape_wait: Duration,
    /// The kitty protocol is confirmed: Esc comes as a sequence of its own.
    pub is_kitty: bool,
    /// A paste is cut after so many bytes.
    pub paste_limit: usize,
}

impl ParserOptions {
    /// For a terminal on this machine.
    pub fn local() -> Self {
        Self {
            escape_wait: Duration::from_millis(50),
            is_kitty: false,
            paste_limit: 8 << 20,
        }
    }

    /// For a terminal at the other end of a network.
    pub fn remote() -> Self {
        Self {
            escape_wait: Duration::from_millis(250),
            ..Self::local()
        }
    }
}

/// A gap that a person's fingers cannot beat.
const BURST_GAP: Duration = Duration::from_millis(8);
/// Silence that ends a paste without an end mark.
const PASTE_SILENCE: Duration = Duration::from_secs(1);
/// Silence after which the start of a sequence is given up.
const SEQUENCE_SILENCE: Duration = Duration::from_secs(1);
/// With the kitty protocol nothing but a cut sequence begins with Esc.
const KITTY_ESCAPE_WAIT: Duration = Duration::from_secs(1);
/// Bytes of a control sequence that are kept; what is longer is none of ours.
const SEQUENCE_LIMIT: usize = 256;
/// How long a string may last, however busily keys are typed behind one that never ends.
const STRING_TIME: Duration = Duration::from_secs(3);
/// Bytes of a string answer that are kept.
const STRING_LIMIT: usize = 4096;
const PASTE_END: &[u8] = b"\x1b[201~";

/// Time on the monotonic clock of the caller, in milliseconds.
type Millis = u64;

/// Where the parser stands.
#[derive(Clone, PartialEq, Debug)]
enum Place {
    Ground,
    /// After Esc; `twice` after two.
    Escape {
        twice: bool,
    },
    /// After `ESC [`; the bytes so far.
    Csi {
        bytes: Vec<u8>,
        alt: bool,
    },
    /// After `ESC O`; the digits of modifiers some terminals put here.
    Ss3 {
        bytes: Vec<u8>,
        alt: bool,
    },
    /// After `ESC [ [`: a function key of the Linux console.
    LinuxFunction,
    /// After `ESC [ M`: three bytes of an old mouse report.
    OldMouse {
        bytes: Vec<u8>,
    },
    /// In OSC, DCS or APC.
    String {
        kind: StringKind,
        bytes: Vec<u8>,
        /// The last byte was an Esc.
        escape: bool,
    },
    /// In a bracketed paste.
    Paste {
        bytes: Vec<u8>,
    },
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum StringKind {
    Osc,
    Dcs,
    Apc,
}

impl StringKind {
    /// The byte after Esc that begins it.
    fn opener(self) -> char {
        match self {
            Self::Osc => ']',
            Self::Dcs => 'P',
            Self::Apc => '_',
        }
    }

    /// Whether a terminal can begin an answer with this byte; if not, a person pressed Alt and the
    /// opener and went on typing.
    fn may_begin_with(self, byte: u8) -> bool {
        match self {
            Self::Osc => byte.is_ascii_digit(),
            Self::Dcs => (0x20..0x40).contains(&byte),
            Self::Apc => byte == b'G',
        }
    }
}

/// The parser.
#[derive(Clone, PartialEq, Debug)]
pub struct Parser {
    options: ParserOptions,
    place: Place,
    /// The start of a character in UTF-8, and whether Alt came before it.
    partial: Vec<u8>,
    partial_alt: bool,
    /// Text since a carriage return that may not have been typed.
    burst: String,
    /// When the last byte came.
    last: Millis,
    /// When the string that is open began.
    string_since: Option<Millis>,
    /// The byte at hand came after a pause, so what it begins was typed.
    is_fresh: bool,
    /// Something came in before.
    has_heard: bool,
    /// The terminal was seen to put brackets around a paste: what comes without them was typed.
    knows_brackets: bool,
    /// Answers to a question for the cursor's position that are still out.
    positions: usize,
    events: Vec<TerminalEvent>,
}

impl Parser {
    /// A parser that has seen nothing.
    pub fn new(options: ParserOptions) -> Self {
        Self {
            options,
            place: Place::Ground,
            partial: Vec::new(),
            partial_alt: false,
            burst: String::new(),
            last: 0,
            is_fresh: false,
            string_since: None,
            has_heard: false,
            knows_brackets: false,
            positions: 0,
            events: Vec::new(),
        }
    }

    /// Takes over what was learnt of the terminal.
    pub fn set_options(&mut self, options: ParserOptions) {
        self.options = options;
    }

    /// The cursor's position was asked for: the answer looks like F3 with a modifier.
    pub fn expect_position(&mut self) {
        self.positions += 1;
    }

    /// Takes bytes that came in at `now` (milliseconds on a monotonic clock).
    pub fn feed(&mut self, now: Millis, bytes: &[u8]) -> Vec<TerminalEvent> {
        self.run_out(now);
        if !bytes.is_empty() {
            self.is_fresh = !self.has_heard || now >= self.last + millis(BURST_GAP);
            self.has_heard = true;
            self.last = now;
        }
        for byte in bytes {
            self.byte(*byte);
            self.is_fresh = false;
            let is_string = matches!(self.place, Place::String { .. });
            self.string_since = is_string.then(|| self.string_since.unwrap_or(now));
        }
        std::mem::take(&mut self.events)
    }

    /// When `expire` is wanted; none when nothing is incomplete.
    pub fn deadline(&self) -> Option<Millis> {
        let wait = if !self.burst.is_empty() {
            BURST_GAP
        } else {
            match &self.place {
                Place::Ground if self.partial.is_empty() => return None,
                Place::Escape { .. } if self.options.is_kitty => KITTY_ESCAPE_WAIT,
                Place::Escape { .. } => self.options.escape_wait,
                Place::Csi { bytes, .. } | Place::Ss3 { bytes, .. } if bytes.is_empty() => {
                    self.options.escape_wait * 2
                }
                Place::String { bytes, escape, .. } if bytes.is_empty() && !escape => {
                    self.options.escape_wait * 2
                }
                Place::Paste { .. } => PASTE_SILENCE,
                _ => SEQUENCE_SILENCE,
            }
        };
        let silent = self.last + millis(wait);
        Some(match (&self.place, self.string_since) {
            (Place::String { .. }, Some(since)) if self.burst.is_empty() => {
                silent.min(since + millis(STRING_TIME))
            }
            _ => silent,
        })
    }

    /// Ends what has waited too long.
    pub fn expire(&mut self, now: Millis) -> Vec<TerminalEvent> {
        self.run_out(now);
        std::mem::take(&mut self.events)
    }

    fn run_out(&mut self, now: Millis) {
        while let Some(deadline) = self.deadline() {
            if now < deadline {
                return;
            }
            if !self.burst.is_empty() {
                self.end_burst();
                continue;
            }
            if !self.partial.is_empty() {
                self.partial.clear();
                self.character('\u{fffd}', self.partial_alt);
            }
            match std::mem::replace(&mut self.place, Place::Ground) {
                Place::Escape { twice } => {
                    self.key(Key::Escape, Modifiers::default());
                    if twice {
                        self.key(Key::Escape, Modifiers::default());
                    }
                }
                Place::Csi { bytes, .. } if bytes.is_empty() => self.character('[', true),
                Place::Ss3 { bytes, .. } if bytes.is_empty() => self.character('O', true),
                Place::String {
                    kind,
                    bytes,
                    escape: false,
                } if bytes.is_empty() => self.character(kind.opener(), true),
                Place::Paste { bytes } => self.paste(&bytes),
                // A sequence whose rest was lost says nothing.
                _ => {}
            }
        }
    }

    fn byte(&mut self, byte: u8) {
        match std::mem::replace(&mut self.place, Place::Ground) {
            Place::Ground => self.ground(byte, false),
            Place::Escape { twice } => self.escape(byte, twice),
            Place::Csi { bytes, alt } => self.csi(byte, bytes, alt),
            Place::Ss3 { bytes, alt } => self.ss3(byte, bytes, alt),
            Place::LinuxFunction => {
                if let b'A'..=b'E' = byte {
                    self.key(Key::F(byte - b'A' + 1), Modifiers::default());
                } else {
                    self.ground(byte, false);
                }
            }
            Place::OldMouse { mut bytes } => {
                bytes.push(byte);
                match bytes[..] {
                    [code, column, row] => {
                        let at = |b: u8| u32::from(b.saturating_sub(32));
                        self.mouse(at(code), at(column), at(row), false);
                    }
                    _ => self.place = Place::OldMouse { bytes },
                }
            }
            Place::String {
                kind,
                bytes,
                escape,
            } => self.string(byte, kind, bytes, escape),
            Place::Paste { mut bytes } => {
                bytes.push(byte);
                if bytes.ends_with(PASTE_END) {
                    bytes.truncate(bytes.len() - PASTE_END.len());
                    self.knows_brackets = true;
                    self.paste(&bytes);
                    return;
                }
                let limit = self.options.paste_limit;
                if bytes.len() > limit + PASTE_END.len() {
                    // Behind the limit only the tail is kept, to see the end mark in it.
                    bytes.remove(limit);
                }
                self.place = Place::Paste { bytes };
            }
        }
    }

    fn ground(&mut self, byte: u8, alt: bool) {
        if !self.partial.is_empty() {
            if byte & 0xc0 == 0x80 {
                self.partial.push(byte);
                let wanted = match self.partial[0] {
                    0xc0..=0xdf => 2,
                    0xe0..=0xef => 3,
                    _ => 4,
                };
                if self.partial.len() == wanted {
                    let bytes = std::mem::take(&mut self.partial);
                    let c = std::str::from_utf8(&bytes)
                        .ok()
                        .and_then(|text| text.chars().next())
                        .unwrap_or('\u{fffd}');
                    self.character(c, self.partial_alt);
                }
                return;
            }
            self.partial.clear();
            self.character('\u{fffd}', self.partial_alt);
        }
        match byte {
            0x1b => {
                self.end_burst();
                self.place = Place::Escape { twice: false };
            }
            b'\r' if !alt => {
                let was_typed = self.is_fresh || self.knows_brackets || self.options.is_kitty;
                if was_typed && self.burst.is_empty() {
                    self.key(Key::Enter, Modifiers::default());
                } else {
                    self.burst.push('\r');
                }
            }
            b'\n' | b'\t' if !alt && !self.burst.is_empty() => self.burst.push(char::from(byte)),
            0x00..=0x1f | 0x7f => {
                self.end_burst();
                self.control(byte, alt);
            }
            0x20..=0x7e => self.character(char::from(byte), alt),
            0xc2..=0xf4 => {
                self.partial = vec![byte];
                self.partial_alt = alt;
            }
            // Stray continuations and bytes that UTF-8 does not know.
            _ => {}
        }
    }

    fn escape(&mut self, byte: u8, twice: bool) {
        match byte {
            b'[' => {
                self.place = Place::Csi {
                    bytes: Vec::new(),
                    alt: twice,
                };
            }
            b'O' => {
                self.place = Place::Ss3 {
                    bytes: Vec::new(),
                    alt: twice,
                };
            }
            _ => {
                // Two Escs before anything else are one Esc and what the second begins.
                if twice {
                    self.key(Key::Escape, Modifiers::default());
                }
                let kind = match byte {
                    b']' => StringKind::Osc,
                    b'P' => StringKind::Dcs,
                    b'_' => StringKind::Apc,
                    0x1b => {
                        self.place = Place::Escape { twice: true };
                        return;
                    }
                    _ => return self.ground(byte, true),
                };
                self.place = Place::String {
                    kind,
                    bytes: Vec::new(),
                    escape: false,
                };
            }
        }
    }

    fn csi(&mut self, byte: u8, mut bytes: Vec<u8>, alt: bool) {
        match byte {
            0x20..=0x3f => {
                if bytes.len() < SEQUENCE_LIMIT {
                    bytes.push(byte);
                }
                self.place = Place::Csi { bytes, alt };
            }
            b'[' if bytes.is_empty() => self.place = Place::LinuxFunction,
            b'M' if bytes.is_empty() => self.place = Place::OldMouse { bytes: Vec::new() },
            0x40..=0x7e => {
                if bytes.len() >= SEQUENCE_LIMIT {
                    return;
                }
                if byte == b'~' && bytes == b"200" {
                    self.place = Place::Paste { bytes: Vec::new() };
                    return;
                }
                self.control_sequence(&bytes, byte, alt);
            }
            // Another sequence, a key, or noise: the one before is lost.
            _ => self.ground(byte, false),
        }
    }

    fn ss3(&mut self, byte: u8, mut bytes: Vec<u8>, alt: bool) {
        match byte {
            b'0'..=b'9' | b';' if bytes.len() < 8 => {
                bytes.push(byte);
                self.place = Place::Ss3 { bytes, alt };
            }
            0x40..=0x7e => {
                if !self.application_key(byte, &bytes, alt) && bytes.is_empty() {
                    // Alt+Shift+O and a letter, typed fast.
                    self.character('O', true);
                    self.ground(byte, false);
                }
            }
            _ => {
                if bytes.is_empty() {
                    self.character('O', true);
                }
                self.ground(byte, false);
            }
        }
    }

    fn string(&mut self, byte: u8, kind: StringKind, mut bytes: Vec<u8>, escape: bool) {
        if bytes.is_empty() && !escape && byte != 0x1b && !kind.may_begin_with(byte) {
            self.character(kind.opener(), true);
            self.ground(byte, false);
            return;
        }
        match (escape, byte) {
            (true, b'\\') => self.answer(kind, &bytes),
            // The string was cut and something else begins.
            (true, _) => self.escape(byte, false),
            (false, 0x1b) => {
                self.place = Place::String {
                    kind,
                    bytes,
                    escape: true,
                };
            }
            (false, 0x07) if kind == StringKind::Osc => self.answer(kind, &bytes),
            (false, 0x18 | 0x1a) => {}
            (false, _) => {
                if bytes.len() < STRING_LIMIT {
                    bytes.push(byte);
                }
                self.place = Place::String {
                    kind,
                    bytes,
                    escape: false,
                };
            }
        }
    }

    /// A control character outside of sequences, but Esc and a carriage return without Alt.
    fn control(&mut self, byte: u8, alt: bool) {
        let modifiers = Modifiers {
            alt,
            ..Modifiers::default()
        };
        match byte {
            b'\r' => self.key(Key::Enter, modifiers),
            b'\t' => self.key(Key::Tab, modifiers),
            0x7f => self.key(Key::Backspace, modifiers),
            _ => {
                let letter = match byte {
                    0 => ' ',
                    1..=26 => char::from(byte - 1 + b'a'),
                    // Ctrl with \ ] ^ and _.
                    _ => char::from(byte + 0x40),
                };
                self.chord(Chord {
                    key: Key::Char(letter),
                    modifiers: Modifiers {
                        ctrl: true,
                        ..modifiers
                    },
                });
            }
        }
    }

    /// A character as it was typed.
    fn character(&mut self, c: char, alt: bool) {
        // Control characters of eight bits, in UTF-8.
        if c.is_control() {
            return;
        }
        if !self.burst.is_empty() {
            if !alt {
                self.burst.push(c);
                return;
            }
            self.end_burst();
        }
        let c = if alt {
            layout::latin(c).unwrap_or(c)
        } else {
            c
        };
        self.chord(Chord::of_char(
            c,
            Modifiers {
                alt,
                ..Modifiers::default()
            },
        ));
    }

    fn key(&mut self, key: Key, modifiers: Modifiers) {
        self.chord(Chord { key, modifiers });
    }

    fn chord(&mut self, chord: Chord) {
        self.event(TerminalEvent::Key(chord));
    }

    fn event(&mut self, event: TerminalEvent) {
        self.events.push(event);
    }

    /// What came since a carriage return: that key alone, or a paste.
    fn end_burst(&mut self) {
        match self.burst.as_str() {
            "" => {}
            "\r" => {
                self.burst.clear();
                self.key(Key::Enter, Modifiers::default());
            }
            _ => {
                let text = std::mem::take(&mut self.burst);
                self.paste(text.as_bytes());
            }
        }
    }

    fn paste(&mut self, bytes: &[u8]) {
        let bytes = &bytes[..bytes.len().min(self.options.paste_limit)];
        let text = super::paste::clean(&String::from_utf8_lossy(bytes));
        if !text.is_empty() {
            self.event(TerminalEvent::Paste(text));
        }
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX / 4)
}

#[cfg(test)]
mod tests;
