//! What a terminal can tell us, and the parser of its bytes: pure, with time handed in.

pub mod key;

pub use key::{
    Chord, Key, Modifiers, MouseButton, MouseEvent, MouseKind, TerminalEvent, TerminalReply,
};
