//! One day: a person, a program, a line and a gateway in virtual time, and what goes wrong.

use super::client::{Client, DEADLINE_PAUSE, Job, account};
use super::person::Person;
use super::random::Random;
use super::wire::{Down, Mischief, Wire};
use super::{Kind, moment, scenes};
use serde_json::Value;
use std::collections::{BTreeMap, VecDeque};
use trialogue::app::effect::LinkChange;
use trialogue::app::event::StoreReply;
use trialogue::app::screen::viewport::LayoutFacts;
use trialogue::app::{Effect, Event};
use trialogue::demo::engine::{ConnectionId, Gateway, GatewayOutput, Setup as DemoSetup};
use trialogue::demo::{iris, omi, pheby};
use trialogue::domain::*;
use trialogue::link::{CloseReason, Frame, HttpReply, HttpSink, LinkFailure};
use trialogue::protocol::{Input, Output, Retry, TransferFailure};
use trialogue::text::SafeText;

/// A network says nothing of a dead line for so long at most.
const SILENT: u64 = 75_000;

/// What can go wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fault {
    Cut,
    CutAfterBytes(u64),
    HalfOpen,
    Stall(u64),
    Lag(u64, u64),
    Kill,
    /// After so many jobs of the store, before or after the last one was done.
    KillInStore(u32, bool),
    Doubles,
    DiskFull(u64),
    Freeze(u64),
}

/// What was seen, for the figures.
#[derive(Clone, Debug, Default)]
pub struct Totals {
    pub frames: u64,
    pub cuts: u64,
    pub kills: u64,
    pub sent: u64,
    pub commits: u64,
    pub coalesced: u64,
    pub rows_checked: u64,
}

impl Totals {
    pub fn add(&mut self, other: &Self) {
        self.frames += other.frames;
        self.cuts += other.cuts;
        self.kills += other.kills;
        self.sent += other.sent;
        self.commits += other.commits;
        self.coalesced += other.coalesced;
        self.rows_checked += other.rows_checked;
    }
}

pub struct World {
    pub kind: Kind,
    pub random: Random,
    pub gateway: Box<dyn Gateway>,
    pub client: Client,
    pub wire: Wire,
    /// Milliseconds since the start.
    pub now: u64,
    epoch: u64,
    dial_at: Option<u64>,
    generation: u64,
    /// Connections that the gateway learns the end of later.
    goodbyes: Vec<(u64, ConnectionId)>,
    faults: VecDeque<(u64, Fault)>,
    kill_in_store: Option<(u32, bool)>,
    frozen_since: u64,
    pub frozen_until: u64,
    disk_full_until: u64,
    half_open_since: Option<u64>,
    /// Most milliseconds that the store takes for a job.
    slowness: u64,
    pub person: Person,
    pub totals: Totals,
    /// The gateway forgot what it knew.
    pub has_lost_memory: bool,
    pub is_calm: bool,
    /// After a last start, when every conversation was opened anew.
    pub is_second_look: bool,
    /// After so long that nothing may still be going on.
    pub is_third_look: bool,
    pub is_loud: bool,
    /// The owner that the driver names to its runtime.
    pub owner: String,
    /// Replayed messages with their cursor.
    pub replayed: Vec<(i64, String)>,
    /// What the journal says of turns, without white space.
    pub turns: BTreeMap<String, String>,
    /// The last time that the disk was full.
    was_full: bool,
    log: VecDeque<String>,
}

fn gateway(kind: Kind, seed: u64, random: &mut Random) -> Box<dyn Gateway> {
    // Faster, an agent of Iris would have gone on within a second of a question, as none does.
    let most = if kind == Kind::Iris { 4_000 } else { 25_000 };
    let setup = DemoSetup {
        seed,
        speed: *random.pick(&[300, 1_000, 1_000, 4_000, most]),
        library: scenes::library(),
        ..DemoSetup::default()
    };
    match kind {
        Kind::Pheby => {
            let readings = if random.chance(50) {
                pheby::Readings::seen()
            } else {
                pheby::Readings {
                    accepts_late: random.chance(30),
                    accepted_id_for_all: random.chance(30),
                    several_messages: random.chance(50),
                    keeps_draft_ids: random.chance(30),
                    forgets_tools: random.chance(30),
                    without_times: random.chance(20),
                    resumes_after_restart: random.chance(50),
                    ..pheby::Readings::default()
                }
            };
            Box::new(pheby::Pheby::new(setup, readings))
        }
        Kind::Iris => {
            let readings = if random.chance(50) {
                iris::Readings::default()
            } else {
                iris::Readings {
                    echo: *random.pick(&[
                        iris::Echo::AllAndIdForSender,
                        iris::Echo::AllWithoutId,
                        iris::Echo::OthersOnly,
                    ]),
                    receipt: *random.pick(&[
                        iris::Receipt::AfterEchoWithId,
                        iris::Receipt::AfterEchoWithoutId,
                        iris::Receipt::BeforeEchoWithId,
                    ]),
                    sync_cursor: *random.pick(&[
                        iris::SyncCursor::Head,
                        iris::SyncCursor::Delivered,
                        iris::SyncCursor::Zero,
                    ]),
                    history_newest_first: random.chance(30),
                    loses_open_messages: random.chance(30),
                    ..iris::Readings::default()
                }
            };
            Box::new(iris::Iris::new(setup, readings))
        }
        Kind::Omi => {
            let readings = omi::Readings {
                flavour: *random.pick(&[omi::Flavour::TypeScript, omi::Flavour::Rust]),
                result_text: *random.pick(&[
                    omi::ResultText::Same,
                    omi::ResultText::Same,
                    omi::ResultText::Empty,
                ]),
                asks_the_host: random.chance(50),
                ..omi::Readings::default()
            };
            Box::new(omi::Omi::new(setup, readings, "/tmp/artifacts"))
        }
    }
}

impl World {
    pub fn new(kind: Kind, seed: u64) -> Self {
        let mut random = Random::new(seed);
        let (store, _) = trialogue::store::memory().unwrap();
        let epoch = DemoSetup::default().epoch;
        let gateway = gateway(kind, seed, &mut random);
        let slowness = *random.pick(&[0, 0, 3, 30, 300]);
        let wire = Wire::new(*random.pick(&[(0, 0), (1, 5), (20, 60), (0, 400)]));
        Self {
            kind,
            random,
            gateway,
            client: Client::new(kind, store, 1, moment(epoch, 0)),
            wire,
            now: 0,
            epoch,
            dial_at: Some(0),
            generation: 0,
            goodbyes: Vec::new(),
            faults: VecDeque::new(),
            kill_in_store: None,
            frozen_since: 0,
            frozen_until: 0,
            disk_full_until: 0,
            half_open_since: None,
            slowness,
            person: Person::default(),
            totals: Totals::default(),
            has_lost_memory: false,
            is_calm: false,
            is_second_look: false,
            is_third_look: false,
            is_loud: false,
            owner: String::new(),
            replayed: Vec::new(),
            turns: BTreeMap::new(),
            was_full: false,
            log: VecDeque::new(),
        }
    }

    pub fn at(&self) -> Moment {
        moment(self.epoch, self.now)
    }

    /// Writes down what happens, for a day that went wrong.
    pub fn tell(&mut self, what: impl FnOnce() -> String) {
        if self.is_loud {
            eprintln!("{:>8} {}", self.now, what());
            return;
        }
        if self.log.len() >= 60 {
            self.log.pop_front();
        }
        let line = format!("{:>8} {}", self.now, what());
        self.log.push_back(line);
    }

    /// When the program last had a chance to write.
    pub fn last_awake(&self) -> u64 {
        // Right after the thaw nothing had its turn yet.
        if self.frozen_until + 1_000 >= self.now && self.frozen_since > 0 {
            self.frozen_since
        } else {
            self.now
        }
    }

    /// Whether the disk was full at any time of the day.
    pub fn disk_was_full(&self) -> bool {
        self.was_full
    }

    /// Ends the day as one that went wrong.
    pub fn fail(&self, what: &str) -> ! {
        let log: Vec<&str> = self.log.iter().map(String::as_str).collect();
        panic!("{what}\n{}", log.join("\n"))
    }

    /// Plays the whole day and checks what is left of it.
    pub fn day(&mut self) {
        self.run(3_000);
        self.settle_in();
        let length = self.random.between(20_000, 80_000);
        let start = self.now;
        let mut faults: Vec<(u64, Fault)> = (0..self.random.between(0, 6))
            .map(|_| (start + self.random.below(length), self.fault()))
            .collect();
        faults.sort_by_key(|(at, _)| *at);
        self.faults = faults.into();
        self.person.next = Some(self.now);
        self.run(length);
        self.calm_down();
        self.check_end();
        self.kill();
        self.run(20_000);
        self.is_second_look = true;
        self.check_end();
        if self.has_running_call() {
            self.run(11 * 60 * 1000);
            self.is_third_look = true;
            self.check_end();
        }
    }

    fn has_running_call(&self) -> bool {
        let mut here = self.client.work().conversations.values();
        here.any(|here| {
            here.timeline.entries.iter().any(|entry| {
                matches!(&entry.body, EntryBody::Tool(tool) if tool.status == ToolStatus::Running)
            })
        })
    }

    fn fault(&mut self) -> Fault {
        let random = &mut self.random;
        match random.below(16) {
            0..=2 => Fault::Cut,
            3 | 4 => Fault::CutAfterBytes(random.between(1, 4_000)),
            5 => Fault::HalfOpen,
            6 => Fault::Stall(random.between(500, 15_000)),
            7 => {
                let least = random.below(500);
                Fault::Lag(least, least + random.below(1_500))
            }
            8 | 9 => Fault::Kill,
            10..=12 => Fault::KillInStore(random.below(8) as u32, random.chance(50)),
            13 => Fault::Doubles,
            14 => Fault::DiskFull(random.between(500, 8_000)),
            _ => Fault::Freeze(random.between(1_000, 100_000)),
        }
    }

    fn strike(&mut self, fault: Fault) {
        self.tell(|| format!("fault: {fault:?}"));
        match fault {
            Fault::Cut => self.cut(),
            Fault::CutAfterBytes(bytes) => self.wire.budget = Some(bytes),
            Fault::HalfOpen => {
                if self.wire.connection.is_some() {
                    self.wire.is_half_open = true;
                    self.half_open_since = Some(self.now);
                }
            }
            Fault::Stall(ms) => self.wire.stalled_until = self.now + ms,
            Fault::Lag(least, most) => self.wire.latency = (least, most),
            Fault::Kill => self.kill(),
            Fault::KillInStore(jobs, is_before) => self.kill_in_store = Some((jobs, is_before)),
            Fault::Doubles => {
                self.wire.mischief = Mischief {
                    doubles: 30,
                    swaps: 20,
                }
            }
            Fault::DiskFull(ms) => {
                self.disk_full_until = self.now + ms;
                self.was_full = true;
            }
            Fault::Freeze(ms) => {
                if self.frozen_until <= self.now {
                    self.frozen_since = self.now;
                }
                self.frozen_until = self.frozen_until.max(self.now + ms);
            }
        }
    }

    /// Nothing goes wrong any more, and the person tidies up.
    fn calm_down(&mut self) {
        self.is_calm = true;
        self.faults.clear();
        self.kill_in_store = None;
        self.disk_full_until = 0;
        self.frozen_until = self.frozen_until.min(self.now);
        self.wire.stalled_until = self.wire.stalled_until.min(self.now);
        self.wire.latency = (0, 5);
        self.wire.mischief = Mischief::default();
        self.wire.budget = None;
        self.tell(|| "calm".to_owned());
        self.run(200_000);
    }

    /// Lets time pass.
    pub fn run(&mut self, ms: u64) {
        let until = self.now + ms;
        let mut turns = 0_u32;
        loop {
            self.settle();
            let next = self.due().map_or(until, |next| next.max(self.now));
            if next >= until {
                self.now = until;
                self.settle();
                return;
            }
            turns = if next == self.now { turns + 1 } else { 0 };
            if turns > 2_000 {
                self.fail(&format!(
                    "it never comes to rest: {:?}, gateway {:?}, client {:?} (driver {:?}, wake {:?}), line {:?}",
                    (&self.client.effects, &self.client.work().outbox, &self.client.on_disk),
                    self.gateway.due(),
                    self.client.due(),
                    self.client.driver.deadline(),
                    self.client.wake,
                    (self.wire.due_up(), self.wire.due_down()),
                ));
            }
            self.now = next;
        }
    }

    fn due(&self) -> Option<u64> {
        let awake = |at: u64| at.max(self.frozen_until);
        let up = self.wire.due_up();
        let down = self.wire.due_down().map(awake);
        [
            self.gateway.due(),
            self.client.due().map(awake),
            up,
            down,
            self.dial_at.map(awake),
            self.faults.front().map(|(at, _)| *at),
            self.person.next.map(awake),
            self.goodbyes.iter().map(|(at, _)| *at).min(),
            self.half_open_since.map(|since| since + SILENT),
            (self.frozen_until > self.now).then_some(self.frozen_until),
        ]
        .into_iter()
        .flatten()
        .min()
    }

    /// Everything that happens at this moment.
    fn settle(&mut self) {
        let outputs = self.gateway.advance(self.now);
        self.gateway_said(outputs);
        while let Some(frame) = self.wire.take_up(self.now) {
            if let Some(connection) = self.wire.connection {
                let outputs = self.gateway.frame(connection, &frame);
                self.gateway_said(outputs);
            }
        }
        let gone: Vec<ConnectionId> = self
            .goodbyes
            .extract_if(.., |(at, _)| *at <= self.now)
            .map(|(_, connection)| connection)
            .collect();
        for connection in gone {
            let outputs = self.gateway.disconnect(connection);
            self.gateway_said(outputs);
        }
        while self.faults.front().is_some_and(|(at, _)| *at <= self.now) {
            if let Some((_, fault)) = self.faults.pop_front() {
                self.strike(fault);
            }
        }
        if self
            .half_open_since
            .is_some_and(|since| since + SILENT <= self.now)
        {
            self.half_open_since = None;
            if self.wire.is_half_open {
                self.wire.ending = Some(CloseReason::Silent);
                self.wire.is_half_open = false;
            }
        }
        if self.frozen_until > self.now {
            return;
        }
        self.client_works();
        if self.person.next.is_some_and(|at| at <= self.now) {
            let pause = self.random.between(100, 3_000);
            self.person.next = Some(self.now + pause);
            self.act();
            self.client_works();
        }
    }

    fn client_works(&mut self) {
        for _ in 0..200 {
            self.do_jobs();
            self.take_inbox();
            while let Some(effect) = self.client.effects.pop_front() {
                self.carry_out(effect);
            }
            self.wire
                .read(self.now, &*self.client.driver, &mut self.random);
            if let Some(frame) = self.wire.waiting.pop() {
                self.totals.frames += 1;
                if self.is_loud && std::env::var_os("TRIALOGUE_FAULT_FRAMES").is_some() {
                    let text = frame.as_text().unwrap_or("(bytes)").to_owned();
                    self.tell(|| format!("in: {}", text.chars().take(3000).collect::<String>()));
                }
                self.drive(Input::Frame(frame));
                continue;
            }
            if let Some(reason) = self.wire.ending.take() {
                self.link_down(reason);
                continue;
            }
            let now = self.now;
            if self.client.driver.deadline().is_some_and(|at| {
                at.mono_ms <= now && self.client.deadline_fed + DEADLINE_PAUSE <= now
            }) {
                self.client.deadline_fed = now;
                self.drive(Input::Deadline);
                continue;
            }
            if self.client.wake.is_some_and(|at| at <= now) {
                self.client.wake = None;
                let at = self.at();
                self.client.event(at, Event::Deadline);
                self.client.end_batch();
                continue;
            }
            if self.dial_at.is_some_and(|at| at <= now) {
                self.dial_at = None;
                self.dial();
                continue;
            }
            let is_quiet = self.client.effects.is_empty()
                && self.client.inbox.is_empty()
                && self.client.jobs.front().is_none_or(|(at, _)| *at > now);
            if is_quiet {
                if std::mem::take(&mut self.client.must_draw) {
                    self.draw();
                    continue;
                }
                return;
            }
        }
    }

    /// One batch of what the driver said.
    fn take_inbox(&mut self) {
        if self.client.inbox.is_empty() {
            return;
        }
        let at = self.at();
        let most = self.random.between(1, 24);
        for _ in 0..most {
            match self.client.inbox.pop_front() {
                Some(event) => self.client.event(at, event),
                None => break,
            }
        }
        self.client.end_batch();
    }

    fn do_jobs(&mut self) {
        while self
            .client
            .jobs
            .front()
            .is_some_and(|(at, _)| *at <= self.now)
        {
            let dies = match &mut self.kill_in_store {
                Some((0, is_before)) => Some(*is_before),
                Some((left, _)) => {
                    *left -= 1;
                    None
                }
                None => None,
            };
            if dies == Some(true) {
                return self.kill();
            }
            let Some((_, job)) = self.client.jobs.pop_front() else {
                return;
            };
            let at = self.at();
            if self.is_loud && std::env::var_os("TRIALOGUE_FAULT_FRAMES").is_some() {
                let line = match &job {
                    Job::Commit { writes, .. } => {
                        let texts: Vec<String> = writes
                            .iter()
                            .map(|write| format!("{write:?}").chars().take(150).collect())
                            .collect();
                        format!("store: {texts:#?}")
                    }
                    Job::Look(lookup) => format!("store: {lookup:?}"),
                };
                self.tell(|| line);
            }
            match job {
                Job::Commit {
                    writes,
                    durability,
                    then,
                } => {
                    if self.disk_full_until > self.now {
                        let commands = then
                            .iter()
                            .filter_map(|effect| match effect {
                                Effect::Command { id, .. } => Some(*id),
                                _ => None,
                            })
                            .collect();
                        self.client.backlog.extend(writes);
                        let reason = SafeText::from("the disk is full");
                        self.client.event(
                            at,
                            Event::Store(StoreReply::CommitFailed { reason, commands }),
                        );
                        self.client.end_batch();
                        continue;
                    }
                    self.totals.commits += 1;
                    // As the store does: what failed goes first.
                    let mut all = std::mem::take(&mut self.client.backlog);
                    all.extend(writes);
                    let writes = all;
                    self.client.note(&writes);
                    for write in &writes {
                        if let Write::Outbox(row) = write {
                            self.person.kept.insert(row.text.trim().to_owned());
                        }
                    }
                    let committed = self.client.store.commit_now(writes, durability).unwrap();
                    if dies.is_some() {
                        return self.kill();
                    }
                    self.client
                        .event(at, Event::Store(StoreReply::Committed(committed)));
                    self.client.effects.extend(then);
                }
                Job::Look(lookup) => {
                    let found = self.client.store.look_now(lookup).unwrap();
                    self.client
                        .event(at, Event::Store(StoreReply::Found(found)));
                }
            }
            self.client.end_batch();
            while let Some(effect) = self.client.effects.pop_front() {
                self.carry_out(effect);
            }
        }
    }

    fn carry_out(&mut self, effect: Effect) {
        match effect {
            Effect::Commit {
                writes,
                durability,
                then,
            } => {
                let job = Job::Commit {
                    writes,
                    durability,
                    then,
                };
                self.client
                    .put(self.now, job, self.slowness, &mut self.random);
            }
            Effect::Look(lookup) => {
                self.client
                    .put(self.now, Job::Look(lookup), self.slowness, &mut self.random);
            }
            Effect::Command { id, command, .. } => {
                if let Command::Chat(ChatCommand::Send { text, .. }) = &command
                    && self.client.state.store_fails
                {
                    // The person had it sent though nothing is kept; its row may follow any time.
                    self.person.gone_unwritten.insert(text.trim().to_owned());
                }
                self.drive(Input::Command { id, command });
            }
            Effect::Redraw { .. } => self.client.must_draw = true,
            Effect::Wake(at) => {
                let wake = self.client.wake.map_or(at.mono_ms, |w| w.min(at.mono_ms));
                self.client.wake = Some(wake);
            }
            Effect::Link { change, .. } => match change {
                LinkChange::Connect | LinkChange::RetryNow => {
                    if self.wire.connection.is_none() {
                        self.dial_at = Some(self.now);
                    }
                }
                LinkChange::Attend => self.drive(Input::PersonActed),
                LinkChange::Disconnect => {}
            },
            _ => {}
        }
    }

    fn dial(&mut self) {
        if self.wire.connection.is_some() {
            return;
        }
        let (connection, outputs) = self.gateway.connect("127.0.0.1");
        let is_refused = outputs.iter().find_map(|output| match output {
            GatewayOutput::Refuse { status, .. } => Some(*status),
            _ => None,
        });
        self.wire.renew(connection);
        self.half_open_since = None;
        if let Some(status) = is_refused {
            self.wire.break_off();
            let reason = CloseReason::HttpStatus { status };
            let retry = self.client.driver.retry(&reason);
            self.drive(Input::LinkDown { reason });
            self.plan(retry);
            return;
        }
        self.generation += 1;
        let generation = self.generation;
        self.tell(|| format!("link {} up", connection.0));
        self.drive(Input::LinkUp { generation });
        self.gateway_said(outputs);
    }

    fn plan(&mut self, retry: Retry) {
        let delay = match retry {
            Retry::Backoff => self.random.between(200, 4_000),
            Retry::Soon => 250,
            Retry::NotBefore(least) => u64::try_from(least.as_millis()).unwrap(),
            Retry::Never => self.fail("it does not dial any more"),
        };
        self.dial_at = Some(self.now + delay);
        let until = moment(self.epoch, self.now + delay);
        self.client.inbox.push_back(Event::LinkWaits {
            account: account(),
            until,
            reason: SafeText::from("broken"),
        });
    }

    pub fn gateway_said(&mut self, outputs: Vec<GatewayOutput>) {
        for output in outputs {
            let (connection, down) = match output {
                GatewayOutput::Send { connection, frame } => {
                    self.note_replay(&frame);
                    (connection, Down::Frame(frame))
                }
                GatewayOutput::Close {
                    connection,
                    code,
                    reason,
                } => {
                    let reason = match self.kind {
                        Kind::Omi => CloseReason::Exited {
                            code: Some(i32::from(code)),
                            signal: None,
                            stderr_tail: String::new(),
                        },
                        Kind::Pheby | Kind::Iris => CloseReason::Peer {
                            code: Some(code),
                            reason,
                        },
                    };
                    (connection, Down::End(reason))
                }
                GatewayOutput::Cut { connection } => (connection, Down::End(self.broken())),
                GatewayOutput::Log { .. } | GatewayOutput::Refuse { .. } => continue,
            };
            if self.wire.connection != Some(connection) {
                continue;
            }
            if self.wire.send_down(self.now, down, &mut self.random) {
                self.cut();
            }
        }
    }

    fn note_replay(&mut self, frame: &Frame) {
        if self.kind != Kind::Iris {
            return;
        }
        let Some(text) = frame.as_text().filter(|text| text.contains("\"cursor\"")) else {
            return;
        };
        let Ok(value) = serde_json::from_str::<Value>(text) else {
            return;
        };
        let payload = &value["payload"];
        // An answer that was cut before its first word is nothing to keep.
        let has_words = ["text", "final_text", "reasoning"].iter().any(|name| {
            payload[*name]
                .as_str()
                .is_some_and(|text| !text.trim().is_empty())
        }) || payload["media"]
            .as_array()
            .is_some_and(|media| !media.is_empty());
        let is_message =
            has_words && matches!(value["type"].as_str(), Some("message" | "message.stop"));
        if let (true, Some(cursor), Some(id)) = (
            is_message,
            value["cursor"].as_i64(),
            value["payload"]["message_id"].as_str(),
        ) {
            self.replayed.push((cursor, id.to_owned()));
        }
    }

    pub fn broken(&self) -> CloseReason {
        match self.kind {
            Kind::Omi => CloseReason::Exited {
                code: None,
                signal: Some(9),
                stderr_tail: String::new(),
            },
            Kind::Pheby | Kind::Iris => CloseReason::Failed {
                kind: LinkFailure::Broken,
                detail: "the line broke".to_owned(),
            },
        }
    }

    /// The line breaks and both sides notice.
    fn cut(&mut self) {
        if self.wire.connection.is_some() {
            self.totals.cuts += 1;
            let reason = self.broken();
            self.link_down(reason);
        }
    }

    fn link_down(&mut self, reason: CloseReason) {
        let retry = self.client.driver.retry(&reason);
        self.forget_line();
        self.tell(|| format!("link down: {reason:?}, {retry:?}"));
        self.drive(Input::LinkDown { reason });
        self.plan(retry);
    }

    /// The client's end of the line is gone; the gateway may learn of it later.
    fn forget_line(&mut self) {
        self.totals.coalesced += self.wire.waiting.replaced();
        let was_half_open = self.wire.is_half_open || self.half_open_since.take().is_some();
        if let Some(connection) = self.wire.break_off() {
            let delay = match self.kind {
                // Two processes never share a folder.
                Kind::Omi => 0,
                Kind::Pheby | Kind::Iris if was_half_open => self.random.below(30_000),
                Kind::Pheby | Kind::Iris => *self.random.pick(&[0, 0, 0, 700, 5_000]),
            };
            if delay == 0 {
                let outputs = self.gateway.disconnect(connection);
                self.gateway_said(outputs);
            } else {
                self.goodbyes.push((self.now + delay, connection));
            }
        }
    }

    /// The program dies without a goodbye and is started again.
    pub fn kill(&mut self) {
        self.totals.kills += 1;
        self.kill_in_store = None;
        let (state, shell) = (self.client.state.wake, self.client.wake);
        self.tell(|| format!("killed; wakes at {state:?}, {shell:?}"));
        self.forget_line();
        self.check_cursor();
        let store = self.client.store.clone();
        let starts = self.client.starts + 1;
        let last_awake = self.last_awake();
        self.frozen_until = self.frozen_until.min(self.now);
        self.client = Client::new(self.kind, store, starts, self.at());
        self.dial_at = Some(self.now + self.random.between(50, 2_000));
        self.check_restart(last_awake);
    }

    pub fn drive(&mut self, input: Input) {
        let at = self.at();
        self.client.driver.handle(at, input);
        let mut closing = None;
        while let Some(output) = self.client.driver.poll() {
            match output {
                Output::Frame(frame) => {
                    if closing.is_none() {
                        self.send(frame);
                    }
                }
                Output::Event(event) => self.client.inbox.push_back(Event::Account {
                    account: account(),
                    event,
                }),
                Output::Http(request) => {
                    let answer = HttpReply {
                        transfer: request.transfer,
                        status: 404,
                        body: bytes::Bytes::new(),
                    };
                    let input = match request.sink {
                        HttpSink::Memory { .. } => Input::HttpReply(answer),
                        HttpSink::File { .. } => Input::TransferFailed {
                            transfer: request.transfer,
                            reason: TransferFailure::Cancelled,
                        },
                    };
                    self.client.driver.handle(at, input);
                }
                Output::Close { last, retry, .. } => {
                    closing.get_or_insert((last, retry));
                }
                Output::CancelTransfer { .. }
                | Output::DownloadChunk { .. }
                | Output::DownloadEnd { .. }
                | Output::WantBytes { .. }
                | Output::RunTool { .. }
                | Output::WantSecret
                | Output::WantLog => {}
            }
        }
        if let Some((last, retry)) = closing
            && self.wire.connection.is_some()
        {
            if let Some(last) = last {
                self.send(last);
            }
            self.tell(|| format!("closed by the driver, {retry:?}"));
            self.forget_line();
            self.drive(Input::LinkDown {
                reason: CloseReason::Ours,
            });
            self.plan(retry);
        }
    }

    fn send(&mut self, frame: Frame) {
        if self.wire.connection.is_none() {
            return;
        }
        if self.is_loud && std::env::var_os("TRIALOGUE_FAULT_FRAMES").is_some() {
            let text = frame.as_text().unwrap_or("(bytes)").to_owned();
            self.tell(|| format!("leaves: {text}"));
        }
        self.check_leaving(&frame);
        if self.wire.send_up(self.now, frame, &mut self.random) {
            let reason = self.broken();
            self.totals.cuts += 1;
            self.wire.ending = Some(reason);
        }
    }

    /// What the view would report: the end is in sight, and gaps too.
    fn draw(&mut self) {
        let Some((_, _, here)) = self.client.state.focused() else {
            return;
        };
        let Some((account, conversation)) = self.client.state.focus.clone() else {
            return;
        };
        let entries = &here.timeline.entries;
        let facts = LayoutFacts {
            account,
            conversation,
            anchor: here.viewport.anchor,
            resolved: here.viewport.delta,
            revealed: None,
            rows: 500,
            columns: 80,
            is_short_above: false,
            is_short_below: here.timeline.has_newer,
            first_seen: entries.first().map(|entry| entry.key),
            last_seen: entries.last().map(|entry| entry.key),
            is_at_newest: !here.timeline.has_newer,
            decision_end_seen: true,
            composer_columns: 80,
            overlay_scroll_max: None,
        };
        let at = self.at();
        self.client.event(at, Event::Layout(Box::new(facts)));
        self.client.end_batch();
    }
}
