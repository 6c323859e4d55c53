//! Sockets and child processes: everything that moves bytes between a gateway and this program.
//!
//! A transport is dialled once and gives a [`Link`]: frames in, frames out, one reason at the end.
//! A link owns its tasks; dropping it ends them, and a child process with its whole group. Knows no
//! protocol, no account and no retry rule.
//!
//! Memory is bounded: what was read and not yet taken is at most [`WAITING_FRAMES`] frames and
//! [`WAITING_BYTES`] bytes; after that nothing more is read and the peer feels it.

pub mod backoff;
pub mod child;
pub mod dial;
pub mod http;
pub mod replay;
pub mod tls;
pub mod websocket;

use crate::link::{CloseReason, Frame, LinkFailure};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::task::JoinHandle;

/// Frames that were read and not yet taken.
pub const WAITING_FRAMES: usize = 256;
/// Their bytes.
pub const WAITING_BYTES: usize = 8 * 1024 * 1024;
/// Frames that wait to be written.
const OUTGOING_FRAMES: usize = 64;

/// What a link brings.
#[derive(Debug)]
pub enum Arrival {
    Frame(Frame),
    /// The end; nothing comes after it.
    Down(CloseReason),
}

/// A link that stands.
#[derive(Debug)]
pub struct Link {
    incoming: mpsc::Receiver<Queued>,
    outgoing: mpsc::Sender<Outgoing>,
    probes: mpsc::Sender<Duration>,
    tasks: Tasks,
    /// What a process writes beside its frames.
    log: Option<child::Log>,
}

/// A frame could not be taken now.
#[derive(Debug)]
pub enum SendRefused {
    /// The peer does not take what was sent already; the frame comes back.
    Full(Frame),
    /// The link is ending.
    Closed,
}

impl Link {
    /// The next frame, or the end. Dropping the future loses nothing.
    pub async fn next(&mut self) -> Arrival {
        match self.incoming.recv().await {
            Some(queued) => queued.arrival,
            None => Arrival::Down(ended_without_word()),
        }
    }

    /// The next frame if one was read already.
    pub fn try_next(&mut self) -> Option<Arrival> {
        match self.incoming.try_recv() {
            Ok(queued) => Some(queued.arrival),
            Err(mpsc::error::TryRecvError::Empty) => None,
            Err(mpsc::error::TryRecvError::Disconnected) => {
                Some(Arrival::Down(ended_without_word()))
            }
        }
    }

    /// Hands a frame to the writer.
    pub fn try_send(&self, frame: Frame) -> Result<(), SendRefused> {
        match self.outgoing.try_send(Outgoing::Frame(frame)) {
            Ok(()) => Ok(()),
            Err(mpsc::error::TrySendError::Full(Outgoing::Frame(frame))) => {
                Err(SendRefused::Full(frame))
            }
            Err(_) => Err(SendRefused::Closed),
        }
    }

    /// The next frame, or none when the writer can take one before that.
    pub async fn next_or_room(&mut self) -> Option<Arrival> {
        tokio::select! {
            _ = self.outgoing.reserve() => None,
            queued = self.incoming.recv() => Some(match queued {
                Some(queued) => queued.arrival,
                None => Arrival::Down(ended_without_word()),
            }),
        }
    }

    /// Waits until the writer can take a frame, or the link is ending.
    pub async fn room(&self) {
        let _ = self.outgoing.reserve().await;
    }

    /// The end of what the process at the other end wrote on standard error; empty where there is
    /// none.
    pub fn log(&self) -> String {
        self.log.as_ref().map(child::Log::text).unwrap_or_default()
    }

    /// Asks the peer for a sign of life; without one within this time the link ends as silent.
    pub fn probe(&self, within: Duration) {
        let _ = self.probes.try_send(within);
    }

    /// Writes the last frames, says goodbye, and gives the peer this long to go by itself.
    pub async fn close(mut self, last: Vec<Frame>, grace: Duration) -> CloseReason {
        let farewell = async {
            for frame in last {
                let _ = self.outgoing.send(Outgoing::Frame(frame)).await;
            }
            let _ = self.outgoing.send(Outgoing::Close { grace }).await;
            loop {
                match self.incoming.recv().await {
                    Some(Queued {
                        arrival: Arrival::Down(reason),
                        ..
                    }) => return reason,
                    Some(_) => {}
                    None => return CloseReason::Ours,
                }
            }
        };
        // The tasks keep the grace themselves; the second limit is for a writer that is stuck.
        tokio::time::timeout(grace + FAREWELL, farewell)
            .await
            .unwrap_or(CloseReason::Ours)
    }
}

const FAREWELL: Duration = Duration::from_secs(2);

fn ended_without_word() -> CloseReason {
    failed(LinkFailure::Broken, "The connection broke.")
}

/// A failure with its words.
pub(crate) fn failed(kind: LinkFailure, detail: impl Into<String>) -> CloseReason {
    CloseReason::Failed {
        kind,
        detail: detail.into(),
    }
}

#[derive(Debug)]
struct Queued {
    arrival: Arrival,
    /// Gives the bytes back to the budget when the frame is taken.
    _bytes: Option<OwnedSemaphorePermit>,
}

/// What a writer is asked to do.
#[derive(Debug)]
enum Outgoing {
    Frame(Frame),
    Close { grace: Duration },
}

/// The tasks of a link; dropping them ends them.
#[derive(Debug, Default)]
struct Tasks(Vec<JoinHandle<()>>);

impl Drop for Tasks {
    fn drop(&mut self) {
        for task in &self.0 {
            task.abort();
        }
    }
}

/// The other side of a [`Link`], for the tasks of a transport.
struct Ends {
    arrivals: Arrivals,
    outgoing: mpsc::Receiver<Outgoing>,
    probes: mpsc::Receiver<Duration>,
}

fn link() -> (Link, Ends) {
    let (in_sender, incoming) = mpsc::channel(WAITING_FRAMES);
    let (outgoing, out_receiver) = mpsc::channel(OUTGOING_FRAMES);
    let (probes, probe_receiver) = mpsc::channel(1);
    (
        Link {
            incoming,
            outgoing,
            probes,
            tasks: Tasks::default(),
            log: None,
        },
        Ends {
            arrivals: Arrivals {
                queue: in_sender,
                budget: Arc::new(Semaphore::new(WAITING_BYTES)),
            },
            outgoing: out_receiver,
            probes: probe_receiver,
        },
    )
}

/// Where a reader puts what it read.
#[derive(Clone)]
struct Arrivals {
    queue: mpsc::Sender<Queued>,
    budget: Arc<Semaphore>,
}

impl Arrivals {
    /// Waits for room; false when nobody listens any more.
    async fn frame(&self, frame: Frame) -> bool {
        let bytes = u32::try_from(frame.len().clamp(1, WAITING_BYTES)).unwrap_or(1);
        let Ok(permit) = self.budget.clone().acquire_many_owned(bytes).await else {
            return false;
        };
        self.queue
            .send(Queued {
                arrival: Arrival::Frame(frame),
                _bytes: Some(permit),
            })
            .await
            .is_ok()
    }

    async fn down(&self, reason: CloseReason) {
        let _ = self
            .queue
            .send(Queued {
                arrival: Arrival::Down(reason),
                _bytes: None,
            })
            .await;
    }
}
