//! The shell: owns tasks, clock, files and terminal, and connects the pure centre with the edge.

pub mod clock;
pub mod coalesce;
pub mod session;
