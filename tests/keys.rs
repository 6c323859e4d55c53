//! Key scripts: a start, keys, and what a person notices: effects in words, the draft, the popup.
//! One test for each row of the key table, then the complaints of the field that begin at the
//! keyboard.

#![allow(clippy::unwrap_used)]

#[path = "keys/any_keys.rs"]
mod any_keys;
#[path = "keys/deciding.rs"]
mod deciding;
#[path = "keys/desk.rs"]
mod desk;
#[path = "keys/drafts.rs"]
mod drafts;
#[path = "keys/field.rs"]
mod field;
#[path = "keys/popups.rs"]
mod popups;
#[path = "keys/table.rs"]
mod table;
#[path = "keys/vim.rs"]
mod vim;
