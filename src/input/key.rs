//! Keys, chords, mouse and paste as plain values.

/// One key without its modifiers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Key {
    /// A character as typed; for chords with Ctrl or Alt, the base letter in lower case.
    Char(char),
    Enter,
    Tab,
    Backspace,
    Delete,
    Insert,
    Escape,
    Up,
    Down,
    Left,
    Right,
    Home,
    End,
    PageUp,
    PageDown,
    /// F1 is `F(1)`.
    F(u8),
}

/// Held with a key.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Modifiers {
    pub ctrl: bool,
    pub alt: bool,
    pub shift: bool,
}

/// A key with its modifiers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Chord {
    pub key: Key,
    pub modifiers: Modifiers,
}

impl Chord {
    /// A key on its own.
    pub fn plain(key: Key) -> Self {
        Self {
            key,
            modifiers: Modifiers::default(),
        }
    }

    /// A letter with Ctrl.
    pub fn ctrl(letter: char) -> Self {
        Self {
            key: Key::Char(letter),
            modifiers: Modifiers {
                ctrl: true,
                ..Modifiers::default()
            },
        }
    }

    /// A key with Alt.
    pub fn alt(key: Key) -> Self {
        Self {
            key,
            modifiers: Modifiers {
                alt: true,
                ..Modifiers::default()
            },
        }
    }

    /// The character to insert, when this chord types one.
    pub fn typed(&self) -> Option<char> {
        match self.key {
            Key::Char(c) if !self.modifiers.ctrl && !self.modifiers.alt => Some(c),
            _ => None,
        }
    }
}

/// Which button.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MouseButton {
    Left,
    Middle,
    Right,
}

/// What the mouse did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MouseKind {
    Down(MouseButton),
    Up(MouseButton),
    Drag(MouseButton),
    Moved,
    WheelUp,
    WheelDown,
}

/// A mouse report; column and row count from zero.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MouseEvent {
    pub kind: MouseKind,
    pub column: u16,
    pub row: u16,
    pub modifiers: Modifiers,
}

/// A terminal's answer to one of our questions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TerminalReply {
    /// Red, green, blue of the background (OSC 11).
    Background(u8, u8, u8),
    Foreground(u8, u8, u8),
    /// The kitty keyboard flags that are on.
    KeyboardFlags(u32),
    /// A private mode and its state: 0 unknown, 1 set, 2 reset, 3 always set, 4 always reset.
    Mode {
        mode: u16,
        state: u8,
    },
    /// Primary device attributes: ends a round of questions.
    DeviceAttributes(Vec<u16>),
    /// Name and version (XTVERSION).
    Version(String),
    /// The theme changed: dark or light.
    ThemeIsDark(bool),
    CursorPosition {
        column: u16,
        row: u16,
    },
    /// Pixels of the text area and of one cell, where told.
    PixelSize {
        width: u16,
        height: u16,
    },
    CellSize {
        width: u16,
        height: u16,
    },
    /// The kitty graphics protocol answered.
    KittyGraphics {
        ok: bool,
    },
    /// A DECRQSS or XTGETTCAP answer, raw.
    Status(String),
}

/// Everything the terminal can send.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TerminalEvent {
    Key(Chord),
    /// Bracketed, or a burst that came too fast to be typed. Without escape sequences and control
    /// characters; line breaks are line feeds.
    Paste(String),
    Mouse(MouseEvent),
    Focus(bool),
    Resize {
        columns: u16,
        rows: u16,
    },
    Reply(TerminalReply),
}
