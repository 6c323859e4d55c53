//! The front of `trialogue send`: one message out, its answer in, no screen. It goes through the
//! same state, outbox and store as the screen, so a cut leaves the message in a known state.
//!
//! One attempt to connect; then the conversation is found or made; the message goes out through
//! the outbox; what comes of it is reported until the run ends.
//!
//! Another run may be active in the conversation. Its answer is not ours: what it says is held back.
//! Where the server queues messages, ours begins a run of its own behind it; when none begins, the
//! run that was active has answered ours as well, with what it said since ours was taken. Where it
//! waits for a decision, nothing is sent.

mod beside;
mod fetch;
mod listen;
mod report;

pub use fetch::{Amount, Fetched, fetch};
pub use listen::{Deaf, Listened, Listening, listen};
pub use report::Report;

use super::engine::{Engine, Happening};
use super::session::SessionEvent;
use crate::app;
use crate::app::outbox::{self, SendMode};
use crate::app::state::{AccountState, Pending};
use crate::domain::{
    AccountEvent, AccountId, Answer, Author, ChatCommand, Command, CommandId, CommandOutcome,
    ConversationCommand, ConversationId, ConversationKind, Decision, DecisionEvent, DecisionId,
    Delivery, DirectoryEvent, Grant, LinkEvent, LinkState, MessageKey, Question, Refusal,
    RefusalCode, Reply, RunEvent, RunId, RunOutcome, TimelineEvent, Topic, Write,
};
use crate::store::pages;
use crate::text::SafeText;
use beside::Beside;
use report::Tracker;
use std::path::PathBuf;
use std::time::Duration;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// What should be sent.
#[derive(Clone, Debug)]
pub struct Request {
    pub account: AccountId,
    /// By name or id; none takes the default conversation, or the one used last, or a new one.
    pub conversation: Option<String>,
    pub text: String,
    pub files: Vec<PathBuf>,
    pub on_approval: OnApproval,
    /// The runtime of the account is a process of ours: it, and a run in it, end with us.
    pub ends_with_us: bool,
    /// Without a sign of life for so long, it is given up.
    pub patience: Duration,
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

const NOT_SENT: &str = "the agent waits for a decision in this conversation; nothing was sent";

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
    shot.engine.shut_down().await;
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
            "nothing came from the server for {} s; {became}",
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

    /// Reports what an event says before the state takes it.
    fn look_at(&mut self, event: &AccountEvent) {
        match &event.topic {
            Topic::Link(LinkEvent::Changed(LinkState::Refused { reason })) => {
                self.ended = Some(Ended::Refused(reason.clone()));
            }
            Topic::Link(LinkEvent::Changed(LinkState::NeedsLogin(need))) => {
                let mut words = format!("sign in first: {}", need.hint);
                for method in &need.methods {
                    words.push_str(&format!(" {}: {}.", method.name, method.detail));
                }
                if let Some(url) = &need.url {
                    words.push_str(&format!(" {url}"));
                }
                self.ended = Some(Ended::Refused(SafeText::label(&words)));
            }
            Topic::Directory(DirectoryEvent::Replaced(_)) => self.has_directory = true,
            Topic::Outcome { command, outcome } => self.look_at_outcome(*command, outcome),
            // Texts before our run has begun belong to another one.
            Topic::Timeline(event) if self.run.is_some() => self.look_at_timeline(event),
            Topic::Timeline(event) if self.is_sent() && self.is_taken() => {
                if let Some(here) = &self.conversation {
                    self.beside.hear(here, event);
                }
            }
            Topic::Run(event) if self.is_sent() => self.look_at_run(event),
            Topic::Decision(DecisionEvent::Opened(decision)) if self.is_sent() => {
                self.decide(decision)
            }
            Topic::Attachment(crate::domain::AttachmentEvent::Added {
                conversation,
                attachment,
            }) if self.is_here(conversation) && self.run.is_some() => {
                (self.report)(Report::Attachment {
                    name: &attachment.name,
                    size: attachment.size,
                });
            }
            _ => {}
        }
    }

    fn is_sent(&self) -> bool {
        matches!(self.stage, Stage::Sending | Stage::Running)
    }

    fn is_here(&self, conversation: &ConversationId) -> bool {
        self.conversation.as_ref() == Some(conversation)
    }

    fn look_at_outcome(&mut self, command: CommandId, outcome: &CommandOutcome) {
        // The message opened a thread, so the answer comes there.
        if let CommandOutcome::Done(Reply::Created(thread)) = outcome
            && self.is_sent()
            && self.command == Some(command)
        {
            self.conversation = Some(thread.clone());
        }
        if let Stage::Creating { command: creating } = self.stage
            && creating == command
        {
            match outcome {
                CommandOutcome::Done(Reply::Created(id)) => {
                    self.conversation = Some(id.clone());
                }
                CommandOutcome::Refused(refusal) => {
                    self.ended = Some(Ended::Refused(refusal.text.clone()));
                }
                _ => {}
            }
        }
    }

    fn look_at_timeline(&mut self, event: &TimelineEvent) {
        let is_ours = match event {
            TimelineEvent::Upserted {
                conversation,
                message,
            } => self.is_here(conversation) && message.author != Author::User,
            TimelineEvent::Patched { conversation, .. }
            | TimelineEvent::Ended { conversation, .. }
            | TimelineEvent::Rekeyed { conversation, .. } => self.is_here(conversation),
            _ => false,
        };
        if is_ours {
            self.tracker.timeline(event, self.report);
        }
    }

    /// Whether the server has our message.
    fn is_taken(&self) -> bool {
        let of = self.engine.state.account(&self.request.account);
        self.command.is_some()
            && of.is_some_and(|of| !of.outbox.iter().any(|row| Some(row.key) == self.key))
    }

    /// No run of our own began behind the one that was active.
    fn settle_for_other(&mut self) {
        let is_due = self.beside.left().is_some_and(|left| left.is_zero());
        if !is_due || self.run.is_some() || !self.is_taken() {
            return;
        }
        if self.beside.tell(&mut self.tracker, self.report) {
            (self.report)(Report::Finished(&RunOutcome::Completed));
            self.ended = Some(Ended::Answered);
        } else {
            self.ended = Some(Ended::RunFailed(
                "the run that was active ended, and none began for this message".into(),
            ));
        }
    }

    fn look_at_run(&mut self, event: &RunEvent) {
        match event {
            // A run that another message began is not ours, unless the server never says.
            RunEvent::Started {
                conversation,
                run,
                command,
                is_stated,
            } if self.is_here(conversation) => {
                let is_ours = match command {
                    Some(_) => *command == self.command,
                    None => *is_stated,
                };
                if is_ours {
                    self.run = Some(run.clone());
                    self.stage = Stage::Running;
                    (self.report)(Report::Accepted);
                } else if self.run.is_none() {
                    self.beside.begin(run);
                }
            }
            RunEvent::Owned {
                conversation,
                run,
                command,
            } if self.is_here(conversation) && Some(*command) == self.command => {
                self.beside.end(run);
                self.run = Some(run.clone());
                self.stage = Stage::Running;
                (self.report)(Report::Accepted);
            }
            RunEvent::Resumed {
                conversation, run, ..
            } if self.is_here(conversation) && self.run.is_none() => {
                self.beside.begin(run);
            }
            RunEvent::Finished {
                conversation, run, ..
            } if self.is_here(conversation) && self.run.is_none() => self.beside.end(run),
            // Calls before our run has begun are those of another one.
            RunEvent::ToolChanged { conversation, tool }
            | RunEvent::ToolEnded { conversation, tool }
                if self.is_here(conversation) && self.run.is_some() =>
            {
                self.tracker.tool(tool, self.report);
            }
            RunEvent::ToolRekeyed { .. } => self.tracker.follow(event),
            RunEvent::Finished {
                conversation,
                run,
                outcome,
            } if self.is_here(conversation) && self.run.as_ref() == Some(run) => {
                (self.report)(Report::Finished(outcome));
                if *outcome == RunOutcome::Lost && self.request.ends_with_us {
                    self.lost = Some(std::time::Instant::now() + REASON);
                    return;
                }
                self.ended = Some(match outcome {
                    RunOutcome::Completed => Ended::Answered,
                    RunOutcome::Cancelled => Ended::RunFailed("the run was cancelled".into()),
                    RunOutcome::Failed { error, hint } => Ended::RunFailed(with_hint(error, hint)),
                    RunOutcome::Lost => Ended::RunFailed("the server lost the run".into()),
                });
            }
            _ => {}
        }
    }

    fn decide(&mut self, decision: &Decision) {
        if !self.is_here(&decision.conversation) {
            return;
        }
        // Another run asks somebody else; answering for it would let it do what nobody here saw.
        if self.run.is_none() && decision.run.is_some() {
            self.ended = Some(Ended::NeedsDecision(
                if self.is_taken() {
                    "the run that is active in this conversation waits for a decision; answer it \
                     in trialogue. What was sent is there already and comes after it"
                } else {
                    NOT_SENT
                }
                .into(),
            ));
            return;
        }
        (self.report)(Report::Decision(decision));
        let is_approval = matches!(decision.question, Question::Approval { .. });
        let wanted = match self.request.on_approval {
            OnApproval::Deny if is_approval => Some(Grant::Deny),
            OnApproval::Once if is_approval => Some(Grant::Once),
            _ => None,
        };
        let choice =
            wanted.and_then(|grant| decision.choices.iter().find(|choice| choice.grant == grant));
        match choice {
            Some(choice) => {
                let answer = Answer::Choice {
                    value: choice.value.clone(),
                    reason: None,
                };
                // The state knows the decision only after this event was taken.
                self.answers.push((decision.id.clone(), answer));
            }
            None => {
                let words = match (is_approval, self.request.ends_with_us) {
                    _ if wanted.is_some() => {
                        "the agent asked for an approval that cannot be given like this; send it \
                         from trialogue, or without --on-approval to see what it offers"
                    }
                    (true, false) => {
                        "the agent waits for an approval; give it in trialogue, or use \
                         --on-approval"
                    }
                    (true, true) => {
                        "the agent asked for an approval, and its run ended with this command; \
                         send it again with --on-approval once or deny, or from trialogue"
                    }
                    (false, false) => "the agent waits for an answer; give it in trialogue",
                    (false, true) => {
                        "the agent asked something, and its run ended with this command; send it \
                         again from trialogue, where it can be answered"
                    }
                };
                self.ended = Some(Ended::NeedsDecision(words.into()));
            }
        }
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

    fn last_used_name(&self) -> String {
        format!("send.last.{}", self.request.account.as_str())
    }

    /// Finds the conversation, or asks for a new one.
    fn choose(&mut self) {
        let Some(account) = self.engine.state.account(&self.request.account) else {
            return;
        };
        let found = match &self.request.conversation {
            Some(wanted) => match named(account, wanted) {
                Ok(id) => Some(id),
                Err(why) => {
                    self.ended = Some(Ended::Unusable(why));
                    return;
                }
            },
            None => account
                .conversations
                .iter()
                .find(|(_, c)| c.info.kind == ConversationKind::Default)
                .map(|(id, _)| id.clone())
                .or_else(|| {
                    let name = self.last_used_name();
                    let last = self.engine.stored_ui(&name)?;
                    let id = ConversationId::from(last);
                    account.conversations.contains_key(&id).then_some(id)
                }),
        };
        match found {
            Some(id) if self.may_run(&id) => {
                self.conversation = Some(id);
                self.stage = Stage::Watching {
                    until: std::time::Instant::now() + WATCH,
                };
            }
            Some(id) => self.send_in(id),
            None => {
                let command = Command::Conversation(ConversationCommand::Create {
                    name: None,
                    parent: None,
                });
                let account = self.request.account.clone();
                let before = self.engine.state.ids.next;
                self.engine
                    .perform(|state, _| app::issue(state, &account, command, Pending::Create));
                self.stage = Stage::Creating {
                    command: CommandId(before + 1),
                };
            }
        }
    }

    /// Our run was the last thing that happened here.
    fn remember_quiet(&mut self, ended: &Ended) {
        if *ended != Ended::Answered {
            return;
        }
        if let Some(value) = self
            .conversation
            .clone()
            .and_then(|id| self.quiet_value(&id))
        {
            let name = self.quiet_name();
            self.engine.keep(Write::Ui { name, value });
        }
    }

    fn quiet_name(&self) -> String {
        format!("send.quiet.{}", self.request.account.as_str())
    }

    /// What says that nothing happened in a conversation since our run ended there.
    fn quiet_value(&self, id: &ConversationId) -> Option<String> {
        let of = self.engine.state.account(&self.request.account)?;
        let at_ms = of.conversations.get(id)?.info.last_activity_ms?;
        Some(format!("{} {at_ms}", id.as_str()))
    }

    /// Whether a run may be active in a conversation of which nothing was heard yet. Only a server
    /// that queues messages takes ours beside it, and only there it has to be told apart.
    fn may_run(&self, id: &ConversationId) -> bool {
        let now = self.engine.surroundings().clock.now();
        let Some(of) = self.engine.state.account(&self.request.account) else {
            return false;
        };
        let Some(here) = of.conversations.get(id) else {
            return false;
        };
        let is_late = here
            .info
            .last_activity_ms
            .is_some_and(|at| now.wall_ms - at < LATELY_MS);
        let was_ours = self.quiet_value(id);
        of.account.capabilities.queues_messages.is_yes()
            && is_late
            && here.run.is_none()
            && self.engine.stored_ui(&self.quiet_name()) != was_ours.as_deref()
    }

    /// Whether a run waits for somebody's decision in a conversation. A text would be taken for the
    /// answer there, or wait until one is given; a command may be the answer. A picker that belongs
    /// to no run holds nothing up.
    fn is_waited_for(&self, id: &ConversationId) -> bool {
        let of = self.engine.state.account(&self.request.account);
        let mut decisions = of.into_iter().flat_map(|of| &of.decisions);
        !self.request.text.starts_with('/')
            && decisions.any(|decision| {
                let is_picker = matches!(decision.question, Question::Picker { .. });
                decision.conversation == *id
                    && decision.life.is_open()
                    && !(is_picker && decision.run.is_none())
            })
    }

    fn send_in(&mut self, id: ConversationId) {
        if self.is_waited_for(&id) {
            self.ended = Some(Ended::NeedsDecision(NOT_SENT.into()));
            return;
        }
        let account = self.request.account.clone();
        let name = self
            .engine
            .state
            .account(&account)
            .and_then(|account| account.conversations.get(&id))
            .map(|conversation| conversation.info.name.clone())
            .unwrap_or_default();
        (self.report)(Report::Conversation {
            id: &id,
            name: &name,
        });
        self.conversation = Some(id.clone());
        let active = self
            .engine
            .state
            .conversation(&account, &id)
            .and_then(|here| here.run.as_ref())
            .map(|run| run.id.clone());
        if let Some(run) = active {
            self.beside.begin(&run);
        }
        self.engine
            .perform(|state, now| app::conversation::focus(state, now, &account, &id));
        let base = self.engine.surroundings().working_directory.clone();
        let mut files = Vec::new();
        for path in &self.request.files {
            match super::engine::inspect_file(&base, path) {
                Ok(facts) => files.push(app::screen::composer::DraftFile {
                    path: facts.path.clone(),
                    facts: Some(facts),
                }),
                Err(error) => {
                    self.ended = Some(Ended::Unusable(error));
                    return;
                }
            }
        }
        let text = self.request.text.clone();
        let before: Vec<MessageKey> = self.outbox_keys();
        self.engine.perform(|state, now| {
            if let Some(conversation) = state
                .account_mut(&account)
                .and_then(|a| a.conversations.get_mut(&id))
            {
                conversation.composer.put(&text, text.len());
                conversation.composer.files = files;
            }
            outbox::send(state, now, &account, &id, SendMode::Now)
        });
        self.key = self
            .outbox_keys()
            .into_iter()
            .find(|key| !before.contains(key));
        if self.key.is_none() {
            let why = self
                .engine
                .state
                .screen
                .toasts
                .last()
                .map(|toast| toast.text.clone());
            self.ended = Some(Ended::Unusable(
                why.unwrap_or_else(|| "the message cannot be sent".into()),
            ));
            return;
        }
        let write = Write::Ui {
            name: self.last_used_name(),
            value: id.as_str().to_owned(),
        };
        self.engine.keep(write);
        self.stage = Stage::Sending;
        self.note_command();
    }

    fn outbox_keys(&self) -> Vec<MessageKey> {
        self.engine
            .state
            .account(&self.request.account)
            .map(|account| account.outbox.iter().map(|record| record.key).collect())
            .unwrap_or_default()
    }

    /// Looks where our message stands: refused, uncertain, or without a run that is stated.
    fn watch_delivery(&mut self) {
        let (Some(key), Some(account)) =
            (self.key, self.engine.state.account(&self.request.account))
        else {
            return;
        };
        let delivery = account
            .outbox
            .iter()
            .find(|record| record.key == key)
            .map(|record| record.delivery.clone());
        let waits_here = delivery == Some(Delivery::Queued);
        let (is_running, has_decision) = match &self.conversation {
            Some(id) => (
                account
                    .conversations
                    .get(id)
                    .is_some_and(|here| here.run.is_some()),
                account
                    .decisions
                    .iter()
                    .any(|decision| decision.conversation == *id && decision.life.is_open()),
            ),
            None => (false, false),
        };
        if waits_here && has_decision {
            self.give_up();
            self.ended = Some(Ended::NeedsDecision(NOT_SENT.into()));
            return;
        }
        if !waits_here && self.beside.is_active() && self.run.is_none() && !self.has_said_waiting {
            self.has_said_waiting = true;
            (self.report)(Report::Notice {
                text: "another run is active here; the answer comes after it",
            });
        }
        if waits_here && is_running && !self.has_said_waiting {
            self.has_said_waiting = true;
            (self.report)(Report::Notice {
                text: "another run is active here; the message goes when it has ended",
            });
        }
        match delivery {
            Some(Delivery::Failed(Refusal { code, text })) => {
                self.ended = Some(match code {
                    RefusalCode::LocalLimit | RefusalCode::LocalFile => Ended::Unusable(text),
                    _ => Ended::Refused(text),
                });
            }
            Some(Delivery::Uncertain) => {
                self.ended = Some(Ended::NoConnection(
                    "the connection broke while the message was being sent; it may have arrived. It is kept as uncertain".into(),
                ));
            }
            _ => {}
        }
    }
}

/// Why a run failed, and what can be done about it.
fn with_hint(error: &SafeText, hint: &SafeText) -> SafeText {
    if hint.is_empty() {
        return error.clone();
    }
    let end = if error.as_str().ends_with(['.', '!', '?']) {
        ""
    } else {
        "."
    };
    SafeText::prose(&format!("{error}{end} {hint}"))
}

/// The conversation of an account that a person means: by id, else by name, else by the beginning
/// of a name when it is the only one.
fn named(account: &AccountState, wanted: &str) -> Result<ConversationId, SafeText> {
    let known: Vec<_> = account.conversations.iter().collect();
    let found = pages::meant(&known, wanted, |(id, of)| {
        (id.as_str(), of.info.name.as_str())
    });
    if let [(id, _)] = found.as_slice() {
        return Ok((*id).clone());
    }
    let found: Vec<_> = found
        .iter()
        .map(|(id, of)| (id.as_str(), of.info.name.as_str()))
        .collect();
    Err(SafeText::label(&pages::not_one(wanted, &found)))
}

/// The three signals that end a command, with the codes they end it with.
struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
}

impl Signals {
    fn new() -> std::io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }

    /// Waits for one; the exit code.
    async fn recv(&mut self) -> i32 {
        tokio::select! {
            _ = self.interrupt.recv() => 130,
            _ = self.terminate.recv() => 143,
            _ = self.hangup.recv() => 129,
        }
    }
}

impl Engine {
    /// Lets the caller change the state as an event would, and carries out what comes of it.
    pub fn perform(
        &mut self,
        change: impl FnOnce(&mut app::State, crate::domain::Moment) -> Vec<app::Effect>,
    ) {
        let now = self.surroundings().clock.now();
        self.state.now = now;
        let effects = change(&mut self.state, now);
        self.carry_out(effects);
    }

    /// Writes something that no event is about.
    pub fn keep(&mut self, write: Write) {
        self.carry_out(vec![app::Effect::Commit {
            writes: vec![write],
            durability: crate::domain::Durability::Normal,
            then: Vec::new(),
        }]);
    }
}
