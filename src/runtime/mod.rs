//! The shell: owns tasks, clock, files and terminal, and connects the pure centre with the edge.

pub mod abilities;
pub mod clock;
pub mod coalesce;
pub mod colours;
pub mod desktop;
pub mod doctor;
pub mod editor;
pub mod engine;
pub mod files;
pub mod frame;
pub mod input;
pub mod log;
pub mod oneshot;
pub mod output;
pub mod pictures;
pub mod plain;
pub mod recording;
pub mod screen;
pub mod secrets;
pub mod session;
pub mod setup;
pub mod terminal;
pub mod tools;
pub mod transfers;
pub mod zone;
