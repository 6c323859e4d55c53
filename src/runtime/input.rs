//! Bytes of the terminal, read on a thread of their own that can be stopped and made again (for
//! the editor and for suspend), so that no other program's keys are eaten.

use super::terminal;
use rustix::event::{PollFd, PollFlags, poll};
use std::io;
use std::os::fd::OwnedFd;
use std::thread::JoinHandle;
use tokio::sync::mpsc;

/// What the reader has to say.
#[derive(Debug)]
pub enum Bytes {
    /// What came, and when it was read: a burst is told from typing by that, however late the loop
    /// gets to it.
    Read {
        bytes: Vec<u8>,
        at: std::time::Instant,
    },
    /// A key of a recording that is played.
    Played(crate::input::TerminalEvent),
    /// A word of the player to the person.
    Note(String),
    /// Nothing of the recording is left.
    PlayEnded,
    /// The terminal is gone.
    Closed,
}

/// A running reader; dropping it stops it.
pub struct Reader {
    stop: Option<OwnedFd>,
    thread: Option<JoinHandle<()>>,
}

impl Reader {
    /// Starts reading; what comes goes into `sender`, which holds the reader back when it is full.
    pub fn start(sender: mpsc::Sender<Bytes>) -> io::Result<Self> {
        let tty = terminal::open_tty()?;
        // Programs that are started meanwhile must not hold its end open: the thread would never wake.
        let (stop_read, stop_write) = io::pipe()?;
        let thread = std::thread::Builder::new()
            .name("input".to_owned())
            .spawn(move || {
                let mut buffer = vec![0_u8; 16 * 1024];
                loop {
                    let mut fds = [
                        PollFd::new(&tty, PollFlags::IN),
                        PollFd::new(&stop_read, PollFlags::IN),
                    ];
                    match poll(&mut fds, None) {
                        Ok(_) => {}
                        Err(rustix::io::Errno::INTR) => continue,
                        Err(_) => break,
                    }
                    if !fds[1].revents().is_empty() {
                        return;
                    }
                    match rustix::io::read(&tty, &mut buffer[..]) {
                        Ok(0) => break,
                        Ok(n) => {
                            let read = Bytes::Read {
                                bytes: buffer[..n].to_vec(),
                                at: std::time::Instant::now(),
                            };
                            if sender.blocking_send(read).is_err() {
                                return;
                            }
                        }
                        Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => {}
                        Err(_) => break,
                    }
                }
                let _ = sender.blocking_send(Bytes::Closed);
            })?;
        Ok(Self {
            stop: Some(stop_write.into()),
            thread: Some(thread),
        })
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        // Closing our end of the pipe wakes the thread.
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
