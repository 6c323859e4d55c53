//! The Pheby driver (`pheby.md`).

use super::{Driver, Input, Output, ReplaceKey, Retry, Setup};
use crate::config::account::NetworkEndpoint;
use crate::domain::Moment;
use crate::link::{CloseReason, Frame};

/// One Pheby account.
pub struct Pheby {
    _setup: Setup,
}

impl Pheby {
    /// A driver that waits for its first link.
    pub fn new(_endpoint: &NetworkEndpoint, setup: Setup) -> Self {
        Self { _setup: setup }
    }
}

impl Driver for Pheby {
    fn handle(&mut self, _now: Moment, _input: Input) {}
    fn poll(&mut self) -> Option<Output> {
        None
    }
    fn deadline(&self) -> Option<Moment> {
        None
    }
    fn glance(&self, _frame: &Frame) -> Option<ReplaceKey> {
        None
    }
    fn redact(&self, frame: &Frame) -> Frame {
        frame.clone()
    }
    fn retry(&self, _reason: &CloseReason) -> Retry {
        Retry::Backoff
    }
}
