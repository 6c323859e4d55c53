//! What the person set: accounts, keys, colours, switches. Read from TOML with file and line in
//! every complaint; written back without touching comments.
//!
//! Keys and colours stay text here: `app` makes a keymap of the one, `view` a theme of the other.

pub mod account;
mod account_table;
mod edit;
pub mod error;
pub mod file;
pub mod keys;
pub mod paths;
mod reader;
pub mod settings;
pub mod theme;
mod words;

pub use error::{ConfigError, ConfigErrors};
