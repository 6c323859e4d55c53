//! One person at a program: state, store, driver and gateway in virtual time, with a link that can
//! be cut at any frame and a program that can be killed at any moment.

use std::collections::VecDeque;
use std::time::Duration;
use trialogue::app::event::StoreReply;
use trialogue::app::screen::viewport::LayoutFacts;
use trialogue::app::state::{AccountState, Ids, Settings};
use trialogue::app::update::{flush, update};
use trialogue::app::{Effect, Event, State, outbox};
use trialogue::config::account::{AccountConfig, Endpoint, NetworkEndpoint, ProcessEndpoint};
use trialogue::demo::engine::{ConnectionId, Gateway, GatewayOutput, Setup as DemoSetup};
use trialogue::domain::*;
use trialogue::link::{CloseReason, Frame, HttpReply, HttpSink, LinkFailure};
use trialogue::protocol::{self, Driver, Input, Output, Resume, Retry, Setup, TransferFailure};
use trialogue::store::Handle;
use trialogue::text::SafeText;

/// Time between the end of a link and the next try.
const REDIAL: u64 = 400;

pub struct World {
    pub gateway: Box<dyn Gateway>,
    pub client: Client,
    /// Milliseconds since the start.
    pub now: u64,
    pub epoch: u64,
}

/// The program on one machine.
pub struct Client {
    pub state: State,
    pub store: Handle,
    driver: Box<dyn Driver>,
    kind: Kind,
    starts: u64,
    connection: Option<ConnectionId>,
    generation: u64,
    dial_at: Option<u64>,
    /// Frames from the server so far.
    pub frames: u64,
    /// The link breaks when this many frames came in.
    pub cut_at: Option<u64>,
    /// The program is killed when this many frames came in.
    pub kill_at: Option<u64>,
    /// Transactions of the store so far.
    pub commits: u64,
    /// The program is killed when this one is about to be written.
    pub kill_at_commit: Option<u64>,
    inbox: VecDeque<Work>,
}

enum Work {
    Frame(Frame),
    Effects(Vec<Effect>),
    Down(CloseReason),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Pheby,
    Iris,
    /// A link is the life of a process: one that ends takes its runs along.
    Omi,
}

pub fn account() -> AccountId {
    "test".into()
}

fn config(kind: Kind) -> AccountConfig {
    let endpoint = NetworkEndpoint {
        url: "ws://127.0.0.1:1/ws".to_owned(),
        ..NetworkEndpoint::default()
    };
    AccountConfig {
        name: "test".to_owned(),
        endpoint: match kind {
            Kind::Pheby => Endpoint::Pheby(endpoint),
            Kind::Iris => Endpoint::Iris(endpoint),
            Kind::Omi => Endpoint::Omi(ProcessEndpoint {
                command: vec!["runtime".to_owned()],
                owner: Some("ada".to_owned()),
                ..ProcessEndpoint::default()
            }),
        },
        secret_command: None,
        is_disabled: false,
        color: None,
    }
}

impl Client {
    fn new(kind: Kind, store: Handle, starts: u64, at: Moment) -> Self {
        let found = store.look_now(Lookup::Start).unwrap();
        let Found::Start(facts) = found else {
            unreachable!()
        };
        let resume = Resume {
            facts: facts
                .facts
                .iter()
                .map(|(_, name, value)| (name.clone(), value.clone()))
                .collect(),
        };
        let secret = DemoSetup::default().secret;
        let driver = protocol::driver(
            &config(kind),
            Setup {
                secret: Some(Secret::new(secret)),
                resume,
                seed: [u8::try_from(starts).unwrap_or(9); 16],
                working_directory: "/tmp".into(),
                client_version: "test",
            },
        );
        let ids = Ids {
            instance: starts,
            next: starts << 40,
        };
        let mut state = State::new(ids, Settings::default(), at);
        state
            .accounts
            .push(AccountState::new(account(), SafeText::label("test")));
        let mut client = Self {
            state,
            store,
            driver,
            kind,
            starts,
            connection: None,
            generation: 0,
            dial_at: Some(0),
            frames: 0,
            cut_at: None,
            kill_at: None,
            commits: 0,
            kill_at_commit: None,
            inbox: VecDeque::new(),
        };
        client.event(at, Event::Store(StoreReply::Found(Found::Start(facts))));
        client
    }

    fn event(&mut self, at: Moment, event: Event) {
        let mut effects = update(&mut self.state, at, event);
        effects.extend(flush(&mut self.state));
        self.inbox.push_back(Work::Effects(effects));
    }
}

impl World {
    pub fn new(kind: Kind, gateway: Box<dyn Gateway>) -> Self {
        let (store, _) = trialogue::store::memory().unwrap();
        let epoch = DemoSetup::default().epoch;
        let at = moment(epoch, 0);
        let mut world = Self {
            gateway,
            client: Client::new(kind, store, 1, at),
            now: 0,
            epoch,
        };
        world.run(2_000);
        world
    }

    fn at(&self) -> Moment {
        moment(self.epoch, self.now)
    }

    /// Lets time pass until nothing is left to do at its end.
    pub fn run(&mut self, ms: u64) {
        let until = self.now + ms;
        let mut turns = 0;
        loop {
            self.work();
            let next = [
                self.gateway.due(),
                self.client.driver.deadline().map(|at| at.mono_ms),
                self.client.state.wake.map(|at| at.mono_ms),
                self.client.dial_at,
            ]
            .into_iter()
            .flatten()
            .min()
            .map_or(until, |next| next.max(self.now));
            if next >= until {
                self.now = until;
                let outputs = self.gateway.advance(self.now);
                self.gateway_said(outputs);
                self.work();
                return;
            }
            self.now = next.max(self.now + u64::from(turns % 64 == 63));
            turns += 1;
            let outputs = self.gateway.advance(self.now);
            self.gateway_said(outputs);
            if self
                .client
                .driver
                .deadline()
                .is_some_and(|at| at.mono_ms <= self.now)
            {
                self.drive(Input::Deadline);
            }
            if self
                .client
                .state
                .wake
                .is_some_and(|at| at.mono_ms <= self.now)
            {
                let at = self.at();
                self.client.event(at, Event::Deadline);
            }
            if self.client.dial_at.is_some_and(|at| at <= self.now) {
                self.client.dial_at = None;
                self.dial();
            }
        }
    }

    fn dial(&mut self) {
        let (connection, outputs) = self.gateway.connect("127.0.0.1");
        self.client.connection = Some(connection);
        self.client.generation += 1;
        let refused = outputs
            .iter()
            .any(|output| matches!(output, GatewayOutput::Refuse { .. }));
        if refused {
            self.link_down(CloseReason::Failed {
                kind: LinkFailure::ConnectionRefused,
                detail: String::new(),
            });
            return;
        }
        let generation = self.client.generation;
        self.drive(Input::LinkUp { generation });
        self.gateway_said(outputs);
    }

    fn gateway_said(&mut self, outputs: Vec<GatewayOutput>) {
        for output in outputs {
            match output {
                GatewayOutput::Send { connection, frame } => {
                    if self.client.connection == Some(connection) {
                        self.client.inbox.push_back(Work::Frame(frame));
                    }
                }
                GatewayOutput::Close {
                    connection,
                    code,
                    reason,
                } => {
                    if self.client.connection == Some(connection) {
                        self.client.inbox.push_back(Work::Down(CloseReason::Peer {
                            code: Some(code),
                            reason,
                        }));
                    }
                }
                // Only a gateway that is a process has a standard error.
                GatewayOutput::Log { .. } => {}
                GatewayOutput::Cut { connection } | GatewayOutput::Refuse { connection, .. } => {
                    if self.client.connection == Some(connection) {
                        self.client.inbox.push_back(Work::Down(broken()));
                    }
                }
            }
        }
    }

    fn work(&mut self) {
        while let Some(work) = self.client.inbox.pop_front() {
            match work {
                Work::Frame(frame) => {
                    if self.client.connection.is_none() {
                        continue;
                    }
                    self.client.frames += 1;
                    if self.client.kill_at == Some(self.client.frames) {
                        self.client.kill_at = None;
                        self.kill();
                        continue;
                    }
                    if self.client.cut_at == Some(self.client.frames) {
                        self.client.cut_at = None;
                        self.link_down(broken());
                        continue;
                    }
                    self.drive(Input::Frame(frame));
                }
                Work::Effects(effects) => self.carry_out(effects),
                Work::Down(reason) => self.link_down(reason),
            }
        }
    }

    fn link_down(&mut self, reason: CloseReason) {
        let Some(connection) = self.client.connection.take() else {
            return;
        };
        self.client
            .inbox
            .retain(|work| matches!(work, Work::Effects(_)));
        let outputs = self.gateway.disconnect(connection);
        self.gateway_said(outputs);
        let retry = self.client.driver.retry(&reason);
        self.drive(Input::LinkDown { reason });
        if retry != Retry::Never {
            self.client.dial_at = Some(self.now + REDIAL);
        }
        let at = self.at();
        self.client.event(
            at,
            Event::LinkWaits {
                account: account(),
                until: moment(self.epoch, self.now + REDIAL),
                reason: SafeText::from("broken"),
            },
        );
    }

    /// The program dies without a goodbye and is started again.
    pub fn kill(&mut self) {
        if let Some(connection) = self.client.connection.take() {
            let outputs = self.gateway.disconnect(connection);
            self.gateway_said(outputs);
        }
        let (kind, store, starts) = (
            self.client.kind,
            self.client.store.clone(),
            self.client.starts + 1,
        );
        let (frames, commits) = (self.client.frames, self.client.commits);
        let at = self.at();
        self.client = Client::new(kind, store, starts, at);
        self.client.frames = frames;
        self.client.commits = commits;
        self.client.dial_at = Some(self.now + REDIAL);
    }

    fn drive(&mut self, input: Input) {
        let at = self.at();
        self.client.driver.handle(at, input);
        let mut effects = Vec::new();
        while let Some(output) = self.client.driver.poll() {
            match output {
                Output::Frame(frame) => {
                    if let Some(connection) = self.client.connection {
                        let outputs = self.gateway.frame(connection, &frame);
                        self.gateway_said(outputs);
                    }
                }
                Output::Event(event) => effects.extend(update(
                    &mut self.client.state,
                    at,
                    Event::Account {
                        account: account(),
                        event,
                    },
                )),
                Output::Http(request) => {
                    let answer = HttpReply {
                        transfer: request.transfer,
                        status: 404,
                        body: bytes::Bytes::new(),
                    };
                    match request.sink {
                        HttpSink::Memory { .. } => {
                            self.client.driver.handle(at, Input::HttpReply(answer))
                        }
                        HttpSink::File { .. } => self.client.driver.handle(
                            at,
                            Input::TransferFailed {
                                transfer: request.transfer,
                                reason: TransferFailure::Cancelled,
                            },
                        ),
                    }
                }
                Output::Close { .. } => self.client.inbox.push_back(Work::Down(CloseReason::Ours)),
                Output::CancelTransfer { .. }
                | Output::DownloadChunk { .. }
                | Output::DownloadEnd { .. }
                | Output::WantBytes { .. }
                | Output::RunTool { .. }
                | Output::WantSecret
                | Output::WantLog => {}
            }
        }
        effects.extend(flush(&mut self.client.state));
        self.client.inbox.push_back(Work::Effects(effects));
    }

    fn carry_out(&mut self, effects: Vec<Effect>) {
        let at = self.at();
        for effect in effects {
            match effect {
                Effect::Commit {
                    writes,
                    durability,
                    then,
                } => {
                    self.client.commits += 1;
                    if self.client.kill_at_commit == Some(self.client.commits) {
                        // Neither this write nor what was to follow it.
                        return self.kill();
                    }
                    let starts = self.client.starts;
                    let committed = self.client.store.commit_now(writes, durability).unwrap();
                    self.client
                        .event(at, Event::Store(StoreReply::Committed(committed)));
                    self.carry_out(then);
                    if self.client.starts != starts {
                        return;
                    }
                }
                Effect::Look(lookup) => {
                    let found = self.client.store.look_now(lookup).unwrap();
                    self.client
                        .event(at, Event::Store(StoreReply::Found(found)));
                }
                Effect::Command { id, command, .. } => self.drive(Input::Command { id, command }),
                Effect::Redraw { .. } => self.draw(),
                _ => {}
            }
        }
    }

    /// What the view would report: the end is in sight, and gaps too.
    fn draw(&mut self) {
        let Some((_, _, here)) = self.client.state.focused() else {
            return;
        };
        let (account, conversation) = self.client.state.focus.clone().unwrap();
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
            is_short_below: false,
            first_seen: entries.first().map(|entry| entry.key),
            last_seen: entries.last().map(|entry| entry.key),
            is_at_newest: true,
            decision_end_seen: false,
            composer_columns: 80,
            overlay_scroll_max: None,
        };
        let at = self.at();
        self.client.event(at, Event::Layout(Box::new(facts)));
    }

    // What the person does

    pub fn open(&mut self, name: &str) {
        let id = self.client.state.accounts[0]
            .conversations
            .iter()
            .find(|(_, here)| here.info.name.as_str() == name)
            .map(|(id, _)| id.clone())
            .unwrap_or_else(|| panic!("no conversation {name}"));
        let at = self.at();
        let mut effects =
            trialogue::app::conversation::focus(&mut self.client.state, at, &account(), &id);
        effects.extend(flush(&mut self.client.state));
        self.client.inbox.push_back(Work::Effects(effects));
        self.run(500);
    }

    /// Opens the conversation that the server falls back to.
    pub fn open_default(&mut self) {
        let name = self.client.state.accounts[0]
            .conversations
            .values()
            .find(|here| here.info.kind == ConversationKind::Default)
            .map(|here| here.info.name.as_str().to_owned())
            .unwrap();
        self.open(&name);
    }

    pub fn say(&mut self, text: &str) {
        let (account, id) = self.client.state.focus.clone().unwrap();
        let at = self.at();
        let state = &mut self.client.state;
        state
            .conversation_mut(&account, &id)
            .unwrap()
            .composer
            .insert(text);
        let mut effects = outbox::send(state, at, &account, &id, outbox::SendMode::Ordinary);
        effects.extend(flush(state));
        self.client.inbox.push_back(Work::Effects(effects));
    }

    pub fn entries(&self) -> &[Entry] {
        &self.client.state.focused().unwrap().2.timeline.entries
    }

    /// The calls of tools in the conversation on screen: name and how each ended. Sorted, since
    /// calls that ran side by side began in another order than they ended in.
    pub fn calls(&self) -> Vec<String> {
        let mut calls: Vec<String> = self
            .entries()
            .iter()
            .filter_map(|entry| match &entry.body {
                EntryBody::Tool(tool) => Some(format!("{} {:?}", tool.name, tool.status)),
                _ => None,
            })
            .collect();
        calls.sort();
        calls
    }

    /// What was said in the conversation on screen: author and text.
    pub fn talk(&self) -> Vec<(Author, String)> {
        self.entries()
            .iter()
            .filter_map(Entry::message)
            .filter(|message| message.sort == MessageSort::Ordinary)
            .map(|message| (message.author, message.body.raw().trim().to_owned()))
            .collect()
    }
}

fn broken() -> CloseReason {
    CloseReason::Failed {
        kind: LinkFailure::Broken,
        detail: String::new(),
    }
}

fn moment(epoch: u64, now: u64) -> Moment {
    Moment::default().after(Duration::ZERO).max(Moment {
        mono_ms: now,
        wall_ms: i64::try_from(epoch + now).unwrap(),
    })
}
