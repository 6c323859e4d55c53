//! The real program in terminals of several kinds: what every key does in each of them, pictures in
//! those that can show them, lines where there is no cursor, and what `doctor` says of them.
#![allow(clippy::unwrap_used)]

#[path = "terminal/doctor.rs"]
mod doctor;
#[path = "terminal/field.rs"]
mod field;
#[path = "terminal/first_run.rs"]
mod first_run;
#[path = "terminal/hands.rs"]
mod hands;
#[path = "terminal/keys.rs"]
mod keys;
#[path = "terminal/lines.rs"]
mod lines;
#[path = "terminal/pictures.rs"]
mod pictures;
mod support;
