//! What the person set: accounts, keys, colours, switches. Read from TOML with file and line in
//! every complaint; written back without touching comments.

pub mod account;
