//! Drivers: one a protocol, each a value that turns frames and commands into events and frames.
//! A driver owns no socket, file, task or clock.
//!
//! # The contract
//! - `handle` takes one input and `poll` hands out what came of it, in order, until it is empty.
//! - `deadline` says when `Input::Deadline` is wanted next; it is asked after every drain.
//! - Every `Command` ends in exactly one `Outcome` event (but for `Reply::Uploaded`, a stage).
//!   A link that ends ends all commands: `LinkLost` when a request may have left, else `NotSent`.
//! - The driver says `LinkEvent::Changed` for connecting, syncing, ready, refused and needs-login;
//!   the shell says waiting, because it counts the delays.
//! - A bad frame yields one `Notice` of kind `Oddity` and never ends a session; a broken
//!   handshake does.
//! - Strings in events are cleaned (`SafeText`) but for message texts, which the timeline cleans
//!   as they grow.

pub mod adding;
mod decode;
mod heartbeat;
pub mod io;
pub mod iris;
mod kinds;
pub mod omi;
mod pending;
pub mod pheby;
mod retry;
mod tools;

pub use io::{Input, Output, ReplaceKey, Resume, Retry, Setup, TransferFailure};
pub use kinds::{Field, Kind, kinds};

use crate::config::account::{AccountConfig, Endpoint};
use crate::domain::Moment;
use crate::link::{CloseReason, Frame};

/// One protocol, for one account.
pub trait Driver: Send {
    /// Takes one input.
    fn handle(&mut self, now: Moment, input: Input);

    /// Hands out the next thing to do; none when all is said.
    fn poll(&mut self) -> Option<Output>;

    /// When `Input::Deadline` is wanted; none when nothing is timed.
    fn deadline(&self) -> Option<Moment>;

    /// Reads a frame only as far as needed to say which waiting frame it makes obsolete.
    fn glance(&self, frame: &Frame) -> Option<ReplaceKey>;

    /// The frame with every secret in it masked, for taps, recordings and the inspector.
    fn redact(&self, frame: &Frame) -> Frame;

    /// What must still be written before a link is ended from this side, so that what the peer keeps
    /// is whole. Nobody waits for an answer to it.
    fn farewell(&mut self, _now: Moment) -> Vec<Frame> {
        Vec::new()
    }

    /// Whether, and when, to dial again after this end of a link. Asked before `Input::LinkDown`
    /// hands in the same reason; a dial that failed ends a link too.
    fn retry(&self, reason: &CloseReason) -> Retry;
}

/// Builds the driver of an account; the only match on the kind of an endpoint.
pub fn driver(account: &AccountConfig, setup: Setup) -> Box<dyn Driver> {
    match &account.endpoint {
        Endpoint::Pheby(endpoint) => Box::new(pheby::Pheby::new(endpoint, setup)),
        Endpoint::Iris(endpoint) => Box::new(iris::Iris::new(endpoint, setup)),
        Endpoint::Omi(endpoint) => {
            let renews = account.secret_command.is_some();
            Box::new(omi::Omi::new(endpoint, renews, setup))
        }
    }
}

/// What a driver is resumed with that only looks whether an account works. Each check is the same
/// device to the server, and none of those that are chatted on.
pub fn check(account: &AccountConfig) -> Resume {
    match &account.endpoint {
        Endpoint::Iris(_) => iris::check(),
        Endpoint::Pheby(_) | Endpoint::Omi(_) => Resume::default(),
    }
}

/// How the program of an account is started; none where there is none, or nothing special about it.
pub fn launch(
    account: &AccountConfig,
    state_dir: &std::path::Path,
) -> Option<crate::link::ChildSpec> {
    match &account.endpoint {
        Endpoint::Omi(endpoint) => Some(omi::launch(&account.name, endpoint, state_dir)),
        Endpoint::Pheby(_) | Endpoint::Iris(_) => None,
    }
}

/// Whether there is a driver for accounts of this kind.
pub fn speaks(endpoint: &Endpoint) -> bool {
    match endpoint {
        Endpoint::Pheby(_) | Endpoint::Iris(_) | Endpoint::Omi(_) => true,
    }
}
