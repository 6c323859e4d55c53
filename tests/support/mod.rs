//! Harness shared by the integration tests.
#![allow(dead_code, clippy::unwrap_used)]

pub mod pty;
pub mod served;
