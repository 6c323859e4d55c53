//! Scripts of events against the state with a store behind it: one rule a test, told by its name.
#![allow(clippy::unwrap_used)]

#[path = "update/attention.rs"]
mod attention;
#[path = "update/decisions.rs"]
mod decisions;
#[path = "update/delivery.rs"]
mod delivery;
#[path = "update/desk.rs"]
mod desk;
#[path = "update/history.rs"]
mod history;
#[path = "update/media.rs"]
mod media;
#[path = "update/profile.rs"]
mod profile;
#[path = "update/properties.rs"]
mod properties;
#[path = "update/runs.rs"]
mod runs;
#[path = "update/start.rs"]
mod start;
