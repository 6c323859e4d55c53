//! The signals a full screen listens for. What each of them means is told where they are awaited.

use std::io;
use tokio::signal::unix::{Signal, SignalKind, signal};

pub(super) struct Signals {
    pub(super) terminate: Signal,
    pub(super) hangup: Signal,
    pub(super) interrupt: Signal,
    pub(super) quit: Signal,
    pub(super) resized: Signal,
    pub(super) resumed: Signal,
    pub(super) stop: Signal,
}

impl Signals {
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            hangup: signal(SignalKind::hangup())?,
            interrupt: signal(SignalKind::interrupt())?,
            quit: signal(SignalKind::quit())?,
            resized: signal(SignalKind::window_change())?,
            resumed: signal(SignalKind::from_raw(libc_sigcont()))?,
            stop: signal(SignalKind::from_raw(libc_sigtstp()))?,
        })
    }
}

fn libc_sigcont() -> i32 {
    rustix::process::Signal::CONT.as_raw()
}

fn libc_sigtstp() -> i32 {
    rustix::process::Signal::TSTP.as_raw()
}
