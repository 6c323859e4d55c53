//! What a terminal can tell us, and the parser of its bytes: pure, with time handed in.

pub mod chord;
pub mod key;
pub mod layout;
pub mod parser;
pub mod paste;

pub use chord::BadChord;
pub use key::{
    Chord, Key, Modifiers, MouseButton, MouseEvent, MouseKind, TerminalEvent, TerminalReply,
};
pub use parser::{Parser, ParserOptions};
