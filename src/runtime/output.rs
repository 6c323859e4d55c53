//! Bytes to the terminal, written on a thread of their own with one frame in flight: a terminal
//! that does not take them stalls nothing else, and a frame that could not be taken is not
//! computed.

use super::terminal;
use std::fs::File;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use tokio::sync::Notify;

/// The writer.
pub struct Writer {
    sender: Option<SyncSender<Vec<u8>>>,
    shared: Arc<Shared>,
    thread: Option<std::thread::JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    is_busy: AtomicBool,
    is_gone: AtomicBool,
    written: AtomicU64,
    done: Notify,
}

impl Writer {
    /// Starts the thread on the terminal.
    pub fn start() -> io::Result<Self> {
        Self::on(terminal::open_tty()?)
    }

    fn on(mut tty: File) -> io::Result<Self> {
        let (sender, receiver) = sync_channel::<Vec<u8>>(1);
        let shared = Arc::new(Shared::default());
        let thread_shared = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("output".to_owned())
            .spawn(move || {
                while let Ok(bytes) = receiver.recv() {
                    if tty.write_all(&bytes).and_then(|()| tty.flush()).is_err() {
                        thread_shared.is_gone.store(true, Ordering::SeqCst);
                    }
                    thread_shared
                        .written
                        .fetch_add(bytes.len() as u64, Ordering::Relaxed);
                    thread_shared.is_busy.store(false, Ordering::SeqCst);
                    thread_shared.done.notify_one();
                }
            })?;
        Ok(Self {
            sender: Some(sender),
            shared,
            thread: Some(thread),
        })
    }

    /// Whether the next frame would be taken at once.
    pub fn is_idle(&self) -> bool {
        !self.shared.is_busy.load(Ordering::SeqCst)
    }

    /// Whether a write failed: the terminal is gone.
    pub fn is_gone(&self) -> bool {
        self.shared.is_gone.load(Ordering::SeqCst)
    }

    /// Hands bytes over; gives them back when a frame is still in flight.
    pub fn write(&self, bytes: Vec<u8>) -> Result<(), Vec<u8>> {
        let Some(sender) = &self.sender else {
            return Ok(());
        };
        if bytes.is_empty() {
            return Ok(());
        }
        self.shared.is_busy.store(true, Ordering::SeqCst);
        match sender.try_send(bytes) {
            Ok(()) => Ok(()),
            Err(TrySendError::Full(bytes)) => Err(bytes),
            Err(TrySendError::Disconnected(_)) => {
                self.shared.is_gone.store(true, Ordering::SeqCst);
                Ok(())
            }
        }
    }

    /// Resolves when the frame in flight was written.
    pub async fn written(&self) {
        if self.is_idle() {
            return;
        }
        self.shared.done.notified().await;
    }

    /// All bytes written so far.
    pub fn total(&self) -> u64 {
        self.shared.written.load(Ordering::Relaxed)
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        drop(self.sender.take());
        // A terminal that takes nothing must not hold the exit up, so only a writer that is done
        // is waited for.
        if self.is_idle()
            && let Some(thread) = self.thread.take()
        {
            let _ = thread.join();
        }
    }
}
