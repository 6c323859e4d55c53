//! Sockets and child processes: everything that moves bytes between a gateway and this program.
//!
//! A transport is dialled once and gives a [`Link`]: frames in, frames out, one reason at the end.
//! A link owns its tasks; dropping it ends them, and a child process with its whole group. Knows no
//! protocol, no account and no retry rule.
//!
//! Memory is bounded both ways, by number and in bytes: what was read and not yet taken is at most
//! [`WAITING_FRAMES`] frames and [`WAITING_BYTES`] bytes, or one frame that is larger; after that
//! nothing more is read and the peer feels it. What waits to be written is bounded in the same way.

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
pub const WAITING_BYTES: usize = 1024 * 1024;
/// Frames that wait to be written.
const OUTGOING_FRAMES: usize = 64;
/// Their bytes.
pub const OUTGOING_BYTES: usize = 1024 * 1024;

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
    /// What the frame taken last holds of the budget, until the next one is asked for: while a large
    /// one is being used, no other is read.
    held: Option<OwnedSemaphorePermit>,
    outgoing: mpsc::Sender<Ordered>,
    room: Arc<Semaphore>,
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
        self.held = None;
        let queued = self.incoming.recv().await;
        self.taken(queued)
    }

    /// The next frame if one was read already.
    pub fn try_next(&mut self) -> Option<Arrival> {
        self.held = None;
        match self.incoming.try_recv() {
            Ok(queued) => Some(self.taken(Some(queued))),
            Err(mpsc::error::TryRecvError::Empty) => None,
            Err(mpsc::error::TryRecvError::Disconnected) => Some(self.taken(None)),
        }
    }

    fn taken(&mut self, queued: Option<Queued>) -> Arrival {
        match queued {
            Some(Queued { arrival, bytes }) => {
                self.held = bytes;
                arrival
            }
            None => Arrival::Down(ended_without_word()),
        }
    }

    /// Hands a frame to the writer.
    pub fn try_send(&self, frame: Frame) -> Result<(), SendRefused> {
        let Ok(bytes) = self.room.clone().try_acquire_many_owned(share(&frame)) else {
            return Err(SendRefused::Full(frame));
        };
        let ordered = Ordered {
            order: Outgoing::Frame(frame),
            bytes: Some(bytes),
        };
        match self.outgoing.try_send(ordered) {
            Ok(()) => Ok(()),
            Err(mpsc::error::TrySendError::Full(Ordered {
                order: Outgoing::Frame(frame),
                ..
            })) => Err(SendRefused::Full(frame)),
            Err(_) => Err(SendRefused::Closed),
        }
    }

    /// The next frame, or none when the writer can take this one before that.
    pub async fn next_or_room(&mut self, waiting: &Frame) -> Option<Arrival> {
        self.held = None;
        let queued = tokio::select! {
            () = room(&self.outgoing, &self.room, waiting) => return None,
            queued = self.incoming.recv() => queued,
        };
        Some(self.taken(queued))
    }

    /// Waits until the writer can take this frame, or the link is ending.
    pub async fn room(&self, waiting: &Frame) {
        room(&self.outgoing, &self.room, waiting).await;
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
            self.held = None;
            let last = last.into_iter().map(Outgoing::Frame);
            for order in last.chain([Outgoing::Close { grace }]) {
                let _ = self.outgoing.send(Ordered { order, bytes: None }).await;
            }
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

/// What a frame takes of a budget; a large one takes all of it and is alone.
fn share(frame: &Frame) -> u32 {
    u32::try_from(frame.len().clamp(1, WAITING_BYTES.min(OUTGOING_BYTES))).unwrap_or(1)
}

async fn room(outgoing: &mpsc::Sender<Ordered>, room: &Semaphore, waiting: &Frame) {
    // Both are given back at once: only one task hands frames over, so the room stays.
    if outgoing.reserve().await.is_ok() {
        let _ = room.acquire_many(share(waiting)).await;
    }
}

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
    /// Its part of the budget.
    bytes: Option<OwnedSemaphorePermit>,
}

/// What a writer is asked to do.
#[derive(Debug)]
enum Outgoing {
    Frame(Frame),
    Close { grace: Duration },
}

#[derive(Debug)]
struct Ordered {
    order: Outgoing,
    /// Gives the bytes back to the budget when the writer takes the frame.
    bytes: Option<OwnedSemaphorePermit>,
}

/// Where a writer finds what it is asked to do.
struct Orders(mpsc::Receiver<Ordered>);

impl Orders {
    async fn recv(&mut self) -> Option<Outgoing> {
        let Ordered { order, bytes } = self.0.recv().await?;
        drop(bytes);
        Some(order)
    }
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
    outgoing: Orders,
    probes: mpsc::Receiver<Duration>,
}

fn link() -> (Link, Ends) {
    let (in_sender, incoming) = mpsc::channel(WAITING_FRAMES);
    let (outgoing, out_receiver) = mpsc::channel(OUTGOING_FRAMES);
    let (probes, probe_receiver) = mpsc::channel(1);
    (
        Link {
            incoming,
            held: None,
            outgoing,
            room: Arc::new(Semaphore::new(OUTGOING_BYTES)),
            probes,
            tasks: Tasks::default(),
            log: None,
        },
        Ends {
            arrivals: Arrivals {
                queue: in_sender,
                budget: Arc::new(Semaphore::new(WAITING_BYTES)),
            },
            outgoing: Orders(out_receiver),
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
    /// Hands a frame on and waits until another one may be read; false when nobody listens any more.
    async fn frame(&self, frame: Frame) -> bool {
        let Ok(permit) = self.budget.clone().acquire_many_owned(share(&frame)).await else {
            return false;
        };
        let queued = Queued {
            arrival: Arrival::Frame(frame),
            bytes: Some(permit),
        };
        // The next one is not even read while a large one waits.
        self.queue.send(queued).await.is_ok() && self.budget.acquire().await.is_ok()
    }

    async fn down(&self, reason: CloseReason) {
        let _ = self
            .queue
            .send(Queued {
                arrival: Arrival::Down(reason),
                bytes: None,
            })
            .await;
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use futures_util::poll;
    use std::task::Poll;

    fn bytes(count: usize) -> Frame {
        Frame::Binary(vec![0; count].into())
    }

    #[tokio::test]
    async fn what_waits_to_be_written_is_bounded_in_bytes() {
        let (link, mut ends) = link();
        for _ in 0..4 {
            link.try_send(bytes(OUTGOING_BYTES / 4)).unwrap();
        }
        let fifth = bytes(OUTGOING_BYTES / 4);
        assert!(matches!(
            link.try_send(fifth.clone()),
            Err(SendRefused::Full(_))
        ));
        {
            let mut room = Box::pin(link.room(&fifth));
            assert!(poll!(&mut room).is_pending());
            ends.outgoing.recv().await.unwrap();
            assert!(poll!(&mut room).is_ready());
        }
        link.try_send(fifth).unwrap();
        for _ in 0..4 {
            ends.outgoing.recv().await.unwrap();
        }
        // What is larger than the whole budget goes alone.
        link.try_send(bytes(3 * OUTGOING_BYTES)).unwrap();
        assert!(matches!(
            link.try_send(Frame::text("x")),
            Err(SendRefused::Full(_))
        ));
    }

    #[tokio::test]
    async fn no_frame_is_read_while_a_large_one_waits_or_is_used() {
        let (mut link, ends) = link();
        let mut reading = Box::pin(ends.arrivals.frame(bytes(4 * WAITING_BYTES)));
        assert!(poll!(&mut reading).is_pending());
        assert!(matches!(link.next().await, Arrival::Frame(_)));
        assert!(poll!(&mut reading).is_pending());
        // Whoever asks for the next one is through with it.
        assert!(link.try_next().is_none());
        assert_eq!(poll!(&mut reading), Poll::Ready(true));
    }
}
