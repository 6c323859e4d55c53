//! The program's state and the only function that changes it.
//!
//! # The contract
//! - `update(state, now, event)` changes the state and returns effects. It never awaits, reads a
//!   clock, touches a file, or takes an id from anywhere but the state.
//! - Effects are plain data, executed in order. `Effect::Commit` runs its `then` after the store
//!   confirmed; a command that must not be lost leaves only from there.
//! - Reducers are idempotent. Counts, badges and bells follow the store's word on what was new.
//! - The view reads the state. A key changes a row delta; the view resolves it and reports facts.

pub mod accounts;
pub mod action;
pub mod actions;
pub mod attention;
mod batch;
pub mod commands;
pub mod conversation;
pub mod deadlines;
pub mod decisions;
mod delivery;
mod drafts;
pub mod effect;
pub mod event;
pub mod keymap;
pub mod keys;
pub mod media;
pub mod outbox;
mod pages;
pub mod replay;
mod runs;
pub mod screen;
mod shell_replies;
pub mod slash;
mod start;
pub mod state;
mod store_replies;
pub mod timeline;
pub mod update;
mod windows;

pub use action::Action;
pub use commands::issue;
pub use effect::Effect;
pub use event::Event;
pub use state::State;
pub use windows::{Step, newest, whole};
