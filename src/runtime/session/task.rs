//! The loop of the account task.

mod ends;
mod inputs;
mod tap;

use super::links::Made;
use super::links::{Attempt, Links};
use super::recent::{Passed, Recent};
use super::work::{Moved, Work, WorkEnd};
use super::{SecretSource, SessionEvent, SessionInput, SessionSetup};
use crate::domain::{
    AccountEvent, AccountId, LinkEvent, LinkState, Notice, Secret, Severity, Topic,
};
use crate::link::{CloseReason, Frame, LinkFailure};
use crate::protocol::{Driver, Input, Output, Retry};
use crate::runtime::clock::{Clock, JumpWatch};
use crate::runtime::coalesce::Waiting;
use crate::runtime::recording::Recorder;
use crate::runtime::transfers::Transfers;
use crate::text::SafeText;
use crate::transport::http::HttpClient;
use crate::transport::{Arrival, SendRefused};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::{Id, JoinError};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

/// Events that may wait for the loop before decoding stops.
const EVENTS_AT_MOST: usize = 256;
/// Frames and bytes that may wait for the link before decoding and commands stop.
const OUT_FRAMES_AT_MOST: usize = 256;
const OUT_BYTES_AT_MOST: usize = 8 * 1024 * 1024;
/// After sleep the server must answer within this time.
const PROBE: Duration = Duration::from_secs(5);
/// Deadlines of a driver come no closer together.
const DEADLINE_PAUSE: Duration = Duration::from_millis(5);
/// Frames that a newer one would replace are decoded no closer together. A screen shows no more of
/// them, and each costs a scan, two changes of thread and a change of the state.
const UPDATE_PAUSE: Duration = Duration::from_millis(25);
/// Frames decoded before other tasks get their turn.
const DECODED_AT_ONCE: u32 = 16;

pub(super) struct Task {
    account: AccountId,
    driver: Box<dyn Driver>,
    clock: Clock,
    links: Links,
    commands: mpsc::Receiver<SessionInput>,
    control: mpsc::Receiver<SessionInput>,
    events: mpsc::Sender<(AccountId, SessionEvent)>,
    stop: CancellationToken,
    is_hurried: Arc<AtomicBool>,
    waiting: Waiting,
    /// When the last frame that could have been replaced was decoded.
    updated: Option<Instant>,
    /// The end of the link, kept until the frames before it are decoded.
    ending: Option<CloseReason>,
    closing: Option<Closing>,
    /// The error the driver told last, when nothing came after it.
    last_error: Option<String>,
    outgoing: VecDeque<Frame>,
    outgoing_bytes: usize,
    pending: VecDeque<SessionEvent>,
    tapped: VecDeque<SessionEvent>,
    is_inspected: bool,
    jumps: JumpWatch,
    deadline_fed: Instant,
    /// The last word of the driver on its link.
    state: LinkState,
    pub(super) transfers: Transfers,
    pub(super) http: Option<HttpClient>,
    pub(super) secret: Option<Secret>,
    pub(super) secrets: SecretSource,
    /// The secret is being read to connect with it.
    pub(super) dials_with_secret: bool,
    pub(super) tools: BTreeMap<String, Vec<String>>,
    pub(super) work: Work,
    /// What the driver is told when it has said everything.
    later: VecDeque<Input>,
    recording: Option<Recorder>,
    origin: super::Origin,
    recent: Recent,
    is_over: bool,
}

/// How the driver wants the link ended.
struct Closing {
    last: Option<Frame>,
    grace: Duration,
    retry: Retry,
    /// What the driver told the person right before.
    why: Option<String>,
}

/// Why the select of the loop came back.
enum Woken {
    Stop,
    Input(SessionInput),
    Delivered,
    Arrived(Arrival),
    Room,
    Dialled(Result<Made, CloseReason>),
    Worked(Result<(Id, WorkEnd), JoinError>),
    Moved(Moved),
    Timer,
}

impl Task {
    pub fn new(
        setup: SessionSetup,
        events: mpsc::Sender<(AccountId, SessionEvent)>,
        commands: mpsc::Receiver<SessionInput>,
        control: mpsc::Receiver<SessionInput>,
        stop: CancellationToken,
        is_hurried: Arc<AtomicBool>,
    ) -> Self {
        let SessionSetup {
            account,
            place,
            driver,
            clock,
            seed,
            secret,
            secrets,
            tools,
            cache,
            recording,
            origin,
        } = setup;
        if let Some(recorder) = &recording {
            recorder.session(
                clock.now(),
                account.as_str(),
                &origin.kind,
                &origin.seed,
                &origin.facts,
            );
        }
        Self {
            account,
            driver,
            clock,
            links: Links::new(place, seed),
            commands,
            control,
            events,
            stop,
            is_hurried,
            waiting: Waiting::default(),
            updated: None,
            ending: None,
            closing: None,
            last_error: None,
            outgoing: VecDeque::new(),
            outgoing_bytes: 0,
            pending: VecDeque::new(),
            tapped: VecDeque::new(),
            is_inspected: false,
            jumps: JumpWatch::new(clock.now()),
            deadline_fed: Instant::now(),
            state: LinkState::Off,
            transfers: Transfers::new(cache),
            http: None,
            secret,
            secrets,
            dials_with_secret: false,
            tools,
            work: Work::new(),
            later: VecDeque::new(),
            recording,
            origin,
            recent: Recent::default(),
            is_over: false,
        }
    }

    pub async fn run(mut self) {
        let mut decoded = 0;
        while !self.is_over {
            self.write_out();
            self.serve_wants();
            self.read_in();
            self.deliver();
            if self.decode_one() {
                decoded += 1;
                self.serve_between();
                if decoded % DECODED_AT_ONCE == 0 {
                    tokio::task::yield_now().await;
                }
                continue;
            }
            let woken = self.wait().await;
            self.on_woken(woken);
        }
        let last = self.farewell();
        match self.is_hurried.load(Ordering::Relaxed) {
            true => self.links.leave_in_a_hurry(last),
            false => self.links.leave_quietly(last),
        }
        self.links.gone().await;
    }

    /// What must not wait while frames are decoded one after the other.
    fn serve_between(&mut self) {
        if self.stop.is_cancelled() {
            self.is_over = true;
            return;
        }
        if let Ok(input) = self.control.try_recv() {
            self.on_input(input);
        }
        if self.takes_commands()
            && let Ok(input) = self.commands.try_recv()
        {
            self.on_input(input);
        }
        self.on_timer();
    }

    async fn wait(&mut self) -> Woken {
        let wake = self.next_wake();
        let takes_commands = self.takes_commands();
        let is_full = self.waiting.is_full() || self.ending.is_some();
        let outgoing = self.outgoing.front();
        let has_events = !self.pending.is_empty() || !self.tapped.is_empty();
        let standing = self.links.standing.as_mut();
        // Two shared or exclusive uses of the link cannot be awaited side by side, so the room of
        // the writer is waited for only when there is something to write.
        let arrival = async {
            match (standing, outgoing) {
                (Some(standing), Some(frame)) if is_full => {
                    standing.link.room(frame).await;
                    Woken::Room
                }
                (Some(standing), Some(frame)) => standing
                    .link
                    .next_or_room(frame)
                    .await
                    .map_or(Woken::Room, Woken::Arrived),
                (Some(standing), None) if !is_full => Woken::Arrived(standing.link.next().await),
                _ => std::future::pending().await,
            }
        };
        let attempt = &mut self.links.attempt;
        let dialled = async {
            match attempt {
                Attempt::Dialling(task) => match task.await {
                    Ok(result) => result,
                    Err(error) => Err(CloseReason::Failed {
                        kind: LinkFailure::Broken,
                        detail: format!("The attempt to connect failed: {error}"),
                    }),
                },
                Attempt::Idle | Attempt::Waiting { .. } => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = self.stop.cancelled() => Woken::Stop,
            input = self.control.recv() => match input {
                Some(input) => Woken::Input(input),
                None => Woken::Stop,
            },
            Some(input) = self.commands.recv(), if takes_commands => Woken::Input(input),
            () = sleep_until(wake) => Woken::Timer,
            result = dialled => Woken::Dialled(result),
            permit = self.events.reserve(), if has_events => match permit {
                Ok(permit) => {
                    let event = self.pending.pop_front().or_else(|| self.tapped.pop_front());
                    if let Some(event) = event {
                        permit.send((self.account.clone(), event));
                    }
                    Woken::Delivered
                }
                Err(_) => Woken::Stop,
            },
            Some(end) = self.work.running.join_next_with_id() => Woken::Worked(end),
            Some(moved) = self.work.moved.recv() => Woken::Moved(moved),
            woken = arrival => woken,
        }
    }

    fn on_woken(&mut self, woken: Woken) {
        match woken {
            Woken::Stop => self.is_over = true,
            Woken::Input(input) => self.on_input(input),
            Woken::Delivered | Woken::Room => {}
            Woken::Arrived(arrival) => self.on_arrival(arrival),
            Woken::Worked(end) => self.on_work_end(end),
            Woken::Moved(moved) => self.on_moved(moved),
            Woken::Dialled(Ok(Made { link, http })) => {
                self.http = http;
                let generation = self.links.stands(link);
                let now = self.clock.now();
                tracing::info!(account = ?self.account, generation, "link up");
                if let Some(recorder) = &self.recording {
                    recorder.up(now, self.account.as_str());
                }
                self.recent.add(now, Passed::Up);
                self.feed(Input::LinkUp { generation });
            }
            Woken::Dialled(Err(reason)) => self.on_link_ended(reason),
            Woken::Timer => self.on_timer(),
        }
    }

    fn takes_commands(&self) -> bool {
        self.outgoing.len() < OUT_FRAMES_AT_MOST && self.outgoing_bytes < OUT_BYTES_AT_MOST
    }

    fn next_wake(&self) -> Instant {
        let mut wake = self.clock.instant(self.jumps.next_tick());
        if let Some(deadline) = self.driver.deadline() {
            // A driver whose deadline does not move on must not spin the processor.
            let soonest = self.deadline_fed + DEADLINE_PAUSE;
            wake = wake.min(self.clock.instant(deadline).max(soonest));
        }
        if let Attempt::Waiting { until } = self.links.attempt {
            wake = wake.min(until);
        }
        if let Some(until) = self.held_until() {
            wake = wake.min(until);
        }
        wake
    }

    /// Until when the frames that wait may go on waiting for newer ones.
    fn held_until(&self) -> Option<Instant> {
        let until = self.updated? + UPDATE_PAUSE;
        (self.waiting.may_all_be_replaced() && self.ending.is_none()).then_some(until)
    }

    fn on_timer(&mut self) {
        let now = self.clock.now();
        if self.jumps.next_tick() <= now && self.jumps.has_jumped(now) {
            match &self.links.standing {
                Some(standing) => standing.link.probe(PROBE),
                None => {
                    if let Attempt::Waiting { .. } = self.links.attempt {
                        self.dial();
                    }
                }
            }
        }
        if let Attempt::Waiting { until } = self.links.attempt
            && until <= Instant::now()
        {
            self.dial();
        }
        if let Some(deadline) = self.driver.deadline()
            && deadline.mono_ms <= now.mono_ms
            && self.deadline_fed + DEADLINE_PAUSE <= Instant::now()
        {
            self.deadline_fed = Instant::now();
            self.feed(Input::Deadline);
        }
    }

    fn dial(&mut self) {
        if self.links.may_dial() {
            self.links.dial();
            self.tell_link(LinkState::Connecting);
        }
    }

    /// Takes everything that was read already.
    fn read_in(&mut self) {
        while !self.waiting.is_full() && self.ending.is_none() {
            let Some(standing) = self.links.standing.as_mut() else {
                return;
            };
            match standing.link.try_next() {
                Some(arrival) => self.on_arrival(arrival),
                None => return,
            }
        }
    }

    fn on_arrival(&mut self, arrival: Arrival) {
        match arrival {
            Arrival::Frame(frame) => {
                let key = self.driver.glance(&frame);
                self.waiting.push(frame, key);
            }
            Arrival::Down(reason) => self.ending = Some(reason),
        }
    }

    /// Gives the driver the next frame, or the end of the link after the last one; false when there
    /// is nothing to do or the loop has to take events first.
    fn decode_one(&mut self) -> bool {
        if self.pending.len() >= EVENTS_AT_MOST || !self.takes_commands() {
            return false;
        }
        if self
            .held_until()
            .is_some_and(|until| until > Instant::now())
        {
            return false;
        }
        let is_update = self.waiting.may_all_be_replaced();
        if let Some(frame) = self.waiting.pop() {
            if is_update {
                self.updated = Some(Instant::now());
            }
            self.tap(false, &frame);
            self.feed(Input::Frame(frame));
            return true;
        }
        if let Some(reason) = self.ending.take() {
            self.on_link_ended(reason);
            return true;
        }
        false
    }

    fn tell_link(&mut self, state: LinkState) {
        self.tell(AccountEvent::live(Topic::Link(LinkEvent::Changed(state))));
    }

    fn tell(&mut self, event: AccountEvent) {
        if let Topic::Link(LinkEvent::Changed(state)) = &event.topic {
            self.state = state.clone();
        }
        self.pending
            .push_back(SessionEvent::Account(Box::new(event)));
    }

    fn feed(&mut self, input: Input) {
        let now = self.clock.now();
        self.driver.handle(now, input);
        while let Some(output) = self.driver.poll() {
            self.on_output(output);
        }
        // Only now: what the driver said beside it comes first, and what the end brings last.
        if let Some(closing) = self.closing.take() {
            self.close(closing);
        }
        self.feed_later();
    }

    /// Keeps an input until the driver's outputs are all taken.
    pub(super) fn later(&mut self, input: Input) {
        self.later.push_back(input);
    }

    pub(super) fn feed_later(&mut self) {
        while let Some(input) = self.later.pop_front() {
            self.feed(input);
        }
    }

    pub(super) fn push(&mut self, event: SessionEvent) {
        self.pending.push_back(event);
    }

    pub(super) fn outgoing_len(&self) -> usize {
        self.outgoing.len()
    }

    /// A word to the person about this account.
    pub(super) fn warn(&mut self, words: &str) {
        self.tell(AccountEvent::live(Topic::Notice(Notice {
            severity: Severity::Warning,
            body: SafeText::prose(words),
            ..Notice::default()
        })));
    }

    fn on_output(&mut self, output: Output) {
        let told = self.last_error.take();
        match output {
            Output::Frame(frame) => {
                // Without a link there is nobody to read it; the driver learns of the end anyway.
                if self.links.standing.is_some() && self.closing.is_none() {
                    self.tap(true, &frame);
                    self.outgoing_bytes += frame.len();
                    self.outgoing.push_back(frame);
                }
            }
            Output::Event(event) => {
                if let Topic::Notice(notice) = &event.topic
                    && notice.severity == Severity::Error
                {
                    self.last_error = Some(notice.body.to_string());
                }
                let mut event = *event;
                if let Topic::Link(LinkEvent::Changed(LinkState::Refused { reason })) =
                    &mut event.topic
                    && let Some(place) = &self.origin.secret_place
                {
                    *reason = super::words::with_place(reason, place);
                }
                self.tell(event);
            }
            Output::Close { last, grace, retry } => {
                if let Some(last) = &last {
                    self.tap(true, last);
                }
                // A driver that hangs up without a word waited in vain.
                let told = told.or_else(|| (retry == Retry::Backoff).then(|| self.silence()));
                self.closing.get_or_insert(Closing {
                    last,
                    grace,
                    retry,
                    why: told,
                });
            }
            Output::Http(request) => self.start_http(request),
            Output::CancelTransfer { transfer } => {
                self.drop_transfer(transfer);
            }
            Output::DownloadChunk { transfer, bytes } => self.download_chunk(transfer, &bytes),
            Output::DownloadEnd { transfer, ok } => self.download_end(transfer, ok),
            Output::WantBytes { transfer, max } => self.want_bytes(transfer, max),
            Output::RunTool {
                call,
                name,
                input,
                deadline,
            } => self.run_tool(call, &name, input, deadline),
            Output::WantSecret => self.read_secret(),
            Output::WantLog => {
                let standing = self.links.standing.as_ref();
                let log = standing.map(|standing| standing.link.log());
                self.later(Input::Log(log.unwrap_or_default()));
            }
        }
    }

    /// Hands frames to the link as far as it takes them.
    fn write_out(&mut self) {
        let Some(standing) = &self.links.standing else {
            return;
        };
        while let Some(frame) = self.outgoing.pop_front() {
            let size = frame.len();
            match standing.link.try_send(frame) {
                Ok(()) => self.outgoing_bytes -= size,
                Err(SendRefused::Full(frame)) => {
                    self.outgoing.push_front(frame);
                    return;
                }
                // The reader says why in a moment.
                Err(SendRefused::Closed) => {
                    self.outgoing.clear();
                    self.outgoing_bytes = 0;
                }
            }
        }
    }

    /// Hands events to the loop as far as it takes them.
    fn deliver(&mut self) {
        while !self.pending.is_empty() || !self.tapped.is_empty() {
            let Ok(permit) = self.events.try_reserve() else {
                return;
            };
            if let Some(event) = self.pending.pop_front().or_else(|| self.tapped.pop_front()) {
                permit.send((self.account.clone(), event));
            }
        }
    }
}
