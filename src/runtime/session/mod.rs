//! The account task: one driver, one link at a time, a clock. Any number run at once; one that fails
//! takes no other with it.
//!
//! # How it goes
//! The task dials when it is told to. A link that stands gets the next generation number; the driver
//! says hello. Frames are read greedily and wait undecoded ([`super::coalesce`]); the driver takes
//! them one by one, and what it puts out is done in order: frames to the link, events to the loop,
//! transfers and tools to workers of their own. When a link ends, the driver says whether and when
//! to dial again, and the loop is told until when the task waits. There is never more than one
//! attempt, and never two links.
//!
//! # What bounds it
//! Commands wait in a queue of [`COMMANDS`]; a full one refuses as busy and is never awaited. Events
//! to the loop are awaited, and meanwhile commands, deadlines and timers are still served, only no
//! further frame is decoded; then waiting frames fill up, then the socket is no longer read.

mod links;
mod recent;
mod task;
mod words;
mod work;

pub use links::Place;

use super::clock::Clock;
use super::recording::Recorder;
use crate::app::event::TransferProgress;
use crate::domain::{AccountEvent, AccountId, Command, CommandId, Moment, Secret, TransferId};
use crate::protocol::Driver;
use crate::text::SafeText;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// Commands that may wait for one account.
pub const COMMANDS: usize = 64;

/// Reads the secret of the account anew; may take its time, on a thread of its own.
pub type SecretSource = Arc<dyn Fn() -> Result<Option<Secret>, String> + Send + Sync>;

/// What an account task is started with.
pub struct SessionSetup {
    pub account: AccountId,
    pub place: Place,
    pub driver: Box<dyn Driver>,
    /// Goes out as the bearer of HTTP requests; the driver was built with the same.
    pub secret: Option<Secret>,
    pub secrets: SecretSource,
    /// The account's own tools: argument lists by name.
    pub tools: std::collections::BTreeMap<String, Vec<String>>,
    /// Where downloads come to lie.
    pub cache: PathBuf,
    pub clock: Clock,
    /// Spreads the attempts of many clients.
    pub seed: u64,
    /// Gets every frame, as the driver redacts it.
    pub recording: Option<Recorder>,
    /// What the driver was built with, for recordings.
    pub origin: Origin,
}

/// From where a secret came, for the words when it is refused.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SecretPlace {
    /// In words.
    pub name: String,
    /// `account login` puts a new one there; otherwise it is changed by hand.
    pub takes_login: bool,
}

/// What a driver was built with, but for its secret.
#[derive(Clone, Debug, Default)]
pub struct Origin {
    pub kind: String,
    /// From where the secret came, in words; none when it is only tried, or was given since.
    pub secret_place: Option<SecretPlace>,
    pub seed: [u8; 16],
    pub facts: std::collections::BTreeMap<String, String>,
}

/// What the loop tells an account task.
#[derive(Debug)]
pub enum SessionInput {
    Command {
        id: CommandId,
        command: Command,
    },
    /// Opens the file behind a transfer, before the command that uses it.
    OpenTransfer {
        transfer: TransferId,
        file: crate::app::effect::TransferFile,
    },
    CancelTransfer {
        transfer: TransferId,
    },
    /// Dials, if there is no link and none in the making.
    Connect,
    /// Ends the link and stays off.
    Disconnect,
    /// Dials now instead of waiting.
    RetryNow,
    /// The person acts: the driver looks whether the link lives.
    Attend,
    /// The person gave a new secret: it is used from now on, and the link is made anew.
    Secret(Secret),
    /// Whether redacted frames are reported for the inspector; those of the last minutes come first.
    Inspect {
        on: bool,
    },
    /// Wants the last minutes as lines of a recording, with their times.
    Recent(oneshot::Sender<Vec<(u64, String)>>),
    /// Ends everything; the child process with its group.
    Shutdown,
}

/// What an account task tells the loop.
#[derive(Debug)]
pub enum SessionEvent {
    Account(Box<AccountEvent>),
    /// The link is down; the next attempt is at `until`.
    Waits {
        until: Moment,
        reason: SafeText,
    },
    Transfer {
        transfer: TransferId,
        progress: TransferProgress,
    },
    /// One redacted frame.
    Tapped {
        outgoing: bool,
        at: Moment,
        frame: SafeText,
    },
    /// The task is over; with a reason when that was not asked for.
    Ended {
        reason: Option<SafeText>,
    },
}

/// Too much is waiting for this account, or its task is over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Busy;

/// The loop's end of an account task. Dropping it ends the task.
#[derive(Debug)]
pub struct SessionHandle {
    commands: mpsc::Sender<SessionInput>,
    /// Apart from the commands, so that a flood of them cannot keep the person from disconnecting.
    control: mpsc::Sender<SessionInput>,
    stop: CancellationToken,
    is_hurried: Arc<AtomicBool>,
    task: Option<JoinHandle<()>>,
}

impl SessionHandle {
    /// Hands an input over without waiting.
    pub fn try_send(&self, input: SessionInput) -> Result<(), Busy> {
        match input {
            SessionInput::Shutdown => {
                self.stop.cancel();
                Ok(())
            }
            SessionInput::Command { .. } | SessionInput::OpenTransfer { .. } => {
                self.commands.try_send(input).map_err(|_| Busy)
            }
            SessionInput::CancelTransfer { .. }
            | SessionInput::Connect
            | SessionInput::Disconnect
            | SessionInput::RetryNow
            | SessionInput::Attend
            | SessionInput::Secret(_)
            | SessionInput::Recent(_)
            | SessionInput::Inspect { .. } => self.control.try_send(input).map_err(|_| Busy),
        }
    }

    /// The other side has little time to go when the task ends.
    pub fn hurry(&self) {
        self.is_hurried.store(true, Ordering::Relaxed);
    }

    /// Ends the task and waits until everything it started is gone.
    pub async fn shutdown(mut self) {
        self.stop.cancel();
        if let Some(task) = self.task.take() {
            let _ = task.await;
        }
    }
}

impl Drop for SessionHandle {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// Starts an account task. It does nothing until [`SessionInput::Connect`].
pub fn spawn(
    setup: SessionSetup,
    events: mpsc::Sender<(AccountId, SessionEvent)>,
) -> SessionHandle {
    let (commands, command_inputs) = mpsc::channel(COMMANDS);
    let (control, control_inputs) = mpsc::channel(COMMANDS);
    let stop = CancellationToken::new();
    let is_hurried = Arc::new(AtomicBool::new(false));
    let account = setup.account.clone();
    let task = task::Task::new(
        setup,
        events.clone(),
        command_inputs,
        control_inputs,
        stop.clone(),
        is_hurried.clone(),
    );
    let supervised = stop.clone();
    let task = tokio::spawn(async move {
        let reason = match tokio::spawn(task.run()).await {
            Ok(()) => None,
            Err(error) => Some(words::ended_by(error)),
        };
        // Whoever shut it down may not listen any more; a crash must be heard.
        for event in words::last_events(reason) {
            tokio::select! {
                _ = events.send((account.clone(), event)) => {}
                () = supervised.cancelled() => break,
            }
        }
    });
    SessionHandle {
        commands,
        control,
        stop,
        is_hurried,
        task: Some(task),
    }
}
