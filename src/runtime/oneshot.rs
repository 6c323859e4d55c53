//! The front of `trialogue send`: one message out, its answer in, no screen. It goes through the
//! same state, outbox and store as the screen, so a cut leaves the message in a known state.
//!
//! One attempt to connect; then the conversation is found or made; the message goes out through
//! the outbox; what comes of it is reported until the run ends.
//!
//! Another run may be active in the conversation. Its answer is not ours: what it says is held back.
//! Where the server queues messages, ours begins a run of its own behind it; when none begins, the
//! run that was active has answered ours as well, with what it said since ours was taken. Where it
//! waits for a decision, nothing is sent. A gateway's own command may be answered without any run.

mod answer;
mod beside;
mod fetch;
mod listen;
mod outgoing;
mod report;
mod signals;

pub use fetch::{Amount, Fetched, fetch};
pub use listen::{Deaf, Listened, Listening, listen};
pub use report::Report;

use super::engine::{Engine, Happening};
use super::session::SessionEvent;
use crate::app;
use crate::app::outbox;
use crate::app::state::Pending;
use crate::domain::{
    AccountId, Answer, ChatCommand, Command, CommandId, ConversationId, DecisionId, Delivery,
    LinkState, MessageKey, RunId,
};
use crate::text::SafeText;
use beside::Beside;
use report::Tracker;
use signals::Signals;
use std::path::PathBuf;
use std::time::Duration;

/// What should be sent.
#[derive(Clone, Debug)]
pub struct Request {
    pub account: AccountId,
    pub place: Place,
    pub text: String,
    pub files: Vec<PathBuf>,
    pub on_approval: OnApproval,
    /// The runtime of the account is a process of ours: it, and a run in it, end with us.
    pub ends_with_us: bool,
    /// Without a sign of life for so long, it is given up.
    pub patience: Duration,
}

/// Where it should be sent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Place {
    /// The default conversation, or the one used last, or a new one.
    Usual,
    /// By name or id.
    Known(String),
    /// A new one with this title; without one when it is empty.
    New(String),
}

/// What happens when the agent asks for an approval.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OnApproval {
    Deny,
    Once,
    Fail,
}

/// How it ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Ended {
    Answered,
    /// The run failed or was cancelled.
    RunFailed(SafeText),
    NoConnection(SafeText),
    Refused(SafeText),
    /// The request itself is wrong: no such conversation, a file that is not there.
    Unusable(SafeText),
    NeedsDecision(SafeText),
    /// By a signal: its number.
    Signal(i32),
}

/// A run that is active shows it within so long after the link came to stand.
const WATCH: Duration = Duration::from_millis(2_500);
/// How long the reason is awaited for which a runtime of ours ended.
const REASON: Duration = Duration::from_secs(2);
/// A runtime that says nothing for so long has written down the end of a stopped run.
const LAST_WORDS: Duration = Duration::from_millis(300);
/// In a conversation where nothing happened for so long, no run is active. Wall milliseconds.
const LATELY_MS: i64 = 120_000;

const NOT_SENT: &str = "the agent waits for a decision in this conversation; nothing was sent. Answer \
    it in the chat (`trialogue`) and send again, or begin another conversation with --new";

enum Stage {
    Connecting,
    /// Ready; the directory is not there yet.
    Listing,
    Creating {
        command: CommandId,
    },
    /// Something happened in the conversation just now, so a run may be active.
    Watching {
        until: std::time::Instant,
    },
    Sending,
    Running,
}

struct OneShot<'r> {
    engine: Engine,
    request: Request,
    report: &'r mut dyn FnMut(Report<'_>),
    stage: Stage,
    has_directory: bool,
    conversation: Option<ConversationId>,
    /// Nothing there was unread, so what is printed is all that is new.
    was_read: bool,
    key: Option<MessageKey>,
    command: Option<CommandId>,
    run: Option<RunId>,
    /// Another run that goes on in the conversation.
    beside: Beside,
    tracker: Tracker,
    last_sign: std::time::Instant,
    has_said_waiting: bool,
    /// The run ended with its runtime; why is awaited until then.
    lost: Option<std::time::Instant>,
    /// Answers to decisions that the state has not taken yet.
    answers: Vec<(DecisionId, Answer)>,
    ended: Option<Ended>,
}

/// Sends and waits for the end.
pub async fn send(
    mut engine: Engine,
    request: Request,
    report: &mut dyn FnMut(Report<'_>),
) -> Ended {
    engine.state.takes_over = false;
    let account = request.account.clone();
    engine.start_session(&account);
    let mut shot = OneShot {
        engine,
        request,
        report,
        stage: Stage::Connecting,
        has_directory: false,
        conversation: None,
        was_read: false,
        key: None,
        command: None,
        run: None,
        beside: Beside::default(),
        tracker: Tracker::default(),
        last_sign: std::time::Instant::now(),
        has_said_waiting: false,
        lost: None,
        answers: Vec::new(),
        ended: None,
    };
    let ended = shot.run().await;
    shot.remember_quiet(&ended);
    shot.mark_read(&ended);
    match ended {
        Ended::Signal(_) => shot.engine.shut_down_at_once().await,
        _ => shot.engine.shut_down().await,
    }
    ended
}

impl OneShot<'_> {
    async fn run(&mut self) -> Ended {
        let Ok(mut signals) = Signals::new() else {
            return Ended::Unusable("signals cannot be received here".into());
        };
        loop {
            let patience = self
                .request
                .patience
                .saturating_sub(self.last_sign.elapsed());
            let wait = self.next_step().unwrap_or(patience);
            let happening = tokio::select! {
                happening = self.engine.wait() => Some(happening),
                code = signals.recv() => return self.interrupted(code).await,
                () = tokio::time::sleep(wait.min(patience)) => None,
            };
            let Some(happening) = happening else {
                if wait < patience {
                    self.advance();
                    self.engine.flush();
                    if let Some(ended) = self.ended.take() {
                        return ended;
                    }
                    continue;
                }
                return self.out_of_patience();
            };
            self.take(happening);
            while let Some(next) = self.engine.try_next() {
                self.take(next);
            }
            self.engine.flush();
            // Nothing here draws.
            drop(self.engine.take_front_effects());
            self.advance();
            self.engine.flush();
            if let Some(ended) = self.ended.take() {
                if ended != Ended::Answered {
                    self.give_up();
                }
                // Its run ends with it; it is stopped, so that it is shown and kept as that.
                if self.request.ends_with_us && matches!(ended, Ended::NeedsDecision(_)) {
                    self.stop_run().await;
                }
                return ended;
            }
        }
    }

    /// How long until something is to be done that no event brings.
    fn next_step(&self) -> Option<Duration> {
        if let Some(until) = self.lost {
            return Some(until.saturating_duration_since(std::time::Instant::now()));
        }
        match self.stage {
            Stage::Watching { until } => {
                Some(until.saturating_duration_since(std::time::Instant::now()))
            }
            Stage::Sending if self.run.is_none() && self.is_taken() => self.beside.left(),
            _ => None,
        }
    }

    /// Lets our message go: whoever called this has given it up. While it still waits here it is
    /// dropped, because it must not go out later unasked; on its way it is uncertain. Returns what
    /// it was left as; none when the server has it, or when it was never written.
    fn give_up(&mut self) -> Option<Delivery> {
        let (account, key) = (self.request.account.clone(), self.key?);
        let mut left = None;
        self.engine.perform(|state, now| {
            let (delivery, effects) = outbox::give_up(state, now, &account, key);
            left = delivery;
            effects
        });
        self.engine.flush();
        left
    }

    /// The server has been silent for as long as the caller waits.
    fn out_of_patience(&mut self) -> Ended {
        let has_key = self.key.is_some();
        let became = match self.give_up() {
            None if has_key => "the message was taken and may still be worked on",
            None | Some(Delivery::Queued) => "nothing was sent",
            Some(_) => "the message may have arrived; it is kept as uncertain",
        };
        Ended::NoConnection(SafeText::label(&format!(
            "nothing came for {} s; {became}",
            self.request.patience.as_secs()
        )))
    }

    /// Asks a running run to stop, and waits a moment for its end.
    async fn interrupted(&mut self, signal: i32) -> Ended {
        self.give_up();
        self.stop_run().await;
        Ended::Signal(signal)
    }

    async fn stop_run(&mut self) {
        self.ended = None;
        if let (Some(conversation), Stage::Running) = (self.conversation.clone(), &self.stage) {
            let command = Command::Chat(ChatCommand::CancelRun {
                conversation,
                run: self.run.clone(),
            });
            let account = self.request.account.clone();
            self.engine.perform(|state, _| {
                app::issue(
                    state,
                    &account,
                    command,
                    Pending::Other("the run could not be stopped"),
                )
            });
            let until = tokio::time::Instant::now() + Duration::from_secs(3);
            while self.ended.is_none() {
                match tokio::time::timeout_at(until, self.engine.wait()).await {
                    Ok(happening) => self.take(happening),
                    Err(_) => break,
                }
            }
            // A runtime that ends with us writes down how far it came.
            while self.request.ends_with_us {
                match tokio::time::timeout(LAST_WORDS, self.engine.wait()).await {
                    Ok(happening) if tokio::time::Instant::now() < until => self.take(happening),
                    _ => break,
                }
                self.engine.flush();
            }
        }
    }

    fn take(&mut self, happening: Happening) {
        match &happening {
            Happening::Session(account, SessionEvent::Account(event))
                if *account == self.request.account =>
            {
                self.last_sign = std::time::Instant::now();
                self.look_at(event);
            }
            Happening::Session(account, SessionEvent::Waits { reason, .. })
                if *account == self.request.account && self.ended.is_none() =>
            {
                self.ended = Some(match self.stage {
                    _ if self.lost.is_some() => Ended::RunFailed(SafeText::prose(&format!(
                        "the runtime ended before the answer was complete: {reason}"
                    ))),
                    Stage::Running | Stage::Sending => Ended::NoConnection(SafeText::label(
                        &format!("the connection broke before the answer was complete: {reason}"),
                    )),
                    _ => Ended::NoConnection(reason.clone()),
                });
            }
            Happening::Session(account, SessionEvent::Ended { reason })
                if *account == self.request.account =>
            {
                self.ended = Some(Ended::NoConnection(reason.clone().unwrap_or_default()));
            }
            _ => {}
        }
        self.engine.take(happening);
        self.note_command();
    }

    /// Notes under which command our message went out. An answer may come right behind it, so this
    /// is looked at after each event.
    fn note_command(&mut self) {
        let (None, Some(key)) = (self.command, self.key) else {
            return;
        };
        let of = self.engine.state.account(&self.request.account);
        self.command = of.and_then(|of| {
            of.pending.iter().find_map(|(id, pending)| match pending {
                Pending::Send { key: sent, .. } if *sent == key => Some(*id),
                _ => None,
            })
        });
    }

    fn is_sent(&self) -> bool {
        matches!(self.stage, Stage::Sending | Stage::Running)
    }

    fn is_here(&self, conversation: &ConversationId) -> bool {
        self.conversation.as_ref() == Some(conversation)
    }

    /// Whether the server has our message.
    fn is_taken(&self) -> bool {
        let of = self.engine.state.account(&self.request.account);
        self.command.is_some()
            && of.is_some_and(|of| !of.outbox.iter().any(|row| Some(row.key) == self.key))
    }

    /// Takes the next step, when the state allows it.
    fn advance(&mut self) {
        let account = self.request.account.clone();
        for (id, answer) in std::mem::take(&mut self.answers) {
            self.engine
                .perform(|state, now| app::decisions::answer(state, now, &account, &id, answer));
        }
        let Some(account) = self.engine.state.account(&self.request.account) else {
            return;
        };
        if self
            .lost
            .is_some_and(|until| until <= std::time::Instant::now())
        {
            let words = "the runtime ended before the answer was complete".into();
            self.ended.get_or_insert(Ended::RunFailed(words));
            return;
        }
        match self.stage {
            Stage::Connecting if account.account.link == LinkState::Ready => {
                (self.report)(Report::Connected {
                    account: &self.request.account,
                });
                self.stage = Stage::Listing;
                self.advance();
            }
            Stage::Listing if self.has_directory => self.choose(),
            Stage::Creating { .. } => {
                if let Some(id) = self.conversation.clone()
                    && account.conversations.contains_key(&id)
                {
                    self.send_in(id);
                }
            }
            Stage::Watching { until } => {
                let runs = self
                    .conversation
                    .as_ref()
                    .and_then(|id| account.conversations.get(id))
                    .is_some_and(|here| here.run.is_some());
                if (runs || until <= std::time::Instant::now())
                    && let Some(id) = self.conversation.clone()
                {
                    self.send_in(id);
                }
            }
            Stage::Sending | Stage::Running => {
                self.watch_delivery();
                self.settle_for_other();
            }
            _ => {}
        }
    }
}
