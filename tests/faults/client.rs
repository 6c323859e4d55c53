//! The program on one machine: state, driver and store, with the jobs of the store one after the
//! other in time, so that the program can die between any two of them.

use super::Kind;
use super::random::Random;
use std::collections::{BTreeMap, VecDeque};
use trialogue::app::event::StoreReply;
use trialogue::app::state::{AccountState, Ids, Settings};
use trialogue::app::update::{flush, update};
use trialogue::app::{Effect, Event, State};
use trialogue::config::account::{AccountConfig, Endpoint, NetworkEndpoint, ProcessEndpoint};
use trialogue::demo::engine::Setup as DemoSetup;
use trialogue::domain::*;
use trialogue::protocol::{self, Driver, Resume, Setup};
use trialogue::store::Handle;
use trialogue::text::SafeText;

/// Deadlines of a driver come no closer together, as in the account task.
pub const DEADLINE_PAUSE: u64 = 5;

pub fn account() -> AccountId {
    "test".into()
}

fn config(kind: Kind) -> AccountConfig {
    let network = || NetworkEndpoint {
        url: "ws://127.0.0.1:1/ws".to_owned(),
        ..NetworkEndpoint::default()
    };
    AccountConfig::new(
        "test",
        match kind {
            Kind::Pheby => Endpoint::Pheby(network()),
            Kind::Iris => Endpoint::Iris(network()),
            Kind::Omi => Endpoint::Omi(ProcessEndpoint {
                command: vec!["omi".to_owned()],
                ..ProcessEndpoint::default()
            }),
        },
    )
}

/// A job of the store, to be done at its moment.
pub enum Job {
    Commit {
        writes: Vec<Write>,
        durability: Durability,
        then: Vec<Effect>,
    },
    Look(Lookup),
}

pub struct Client {
    pub state: State,
    pub store: Handle,
    pub driver: Box<dyn Driver>,
    pub starts: u64,
    pub jobs: VecDeque<(u64, Job)>,
    /// Effects to be carried out, in order.
    pub effects: VecDeque<Effect>,
    /// The outbox as it is on disk.
    pub on_disk: BTreeMap<MessageKey, OutboxRecord>,
    /// Answers to decisions that are on disk as on their way.
    pub answering: BTreeMap<DecisionId, Answer>,
    pub must_draw: bool,
    /// What the driver said and the state has not taken.
    pub inbox: VecDeque<Event>,
    /// When the state wants to be woken.
    pub wake: Option<u64>,
    pub deadline_fed: u64,
    /// What the store could not write yet.
    pub backlog: Vec<Write>,
}

impl Client {
    pub fn new(kind: Kind, store: Handle, starts: u64, at: Moment) -> Self {
        let Found::Start(facts) = store.look_now(Lookup::Start).unwrap() else {
            unreachable!()
        };
        let resume = Resume {
            facts: facts
                .facts
                .iter()
                .map(|(_, name, value)| (name.clone(), value.clone()))
                .collect(),
        };
        let driver = protocol::driver(
            &config(kind),
            Setup {
                secret: Some(Secret::new(DemoSetup::default().secret)),
                resume,
                seed: [u8::try_from(starts % 251).unwrap_or(9); 16],
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
        let on_disk = facts
            .outbox
            .iter()
            .map(|row| (row.key, row.clone()))
            .collect();
        let answering = facts
            .answering
            .iter()
            .map(|(_, id, _, answer)| (id.clone(), answer.clone()))
            .collect();
        let mut client = Self {
            state,
            store,
            driver,
            starts,
            jobs: VecDeque::new(),
            effects: VecDeque::new(),
            on_disk,
            answering,
            must_draw: false,
            inbox: VecDeque::new(),
            wake: None,
            deadline_fed: 0,
            backlog: Vec::new(),
        };
        client.event(at, Event::Store(StoreReply::Found(Found::Start(facts))));
        client.end_batch();
        client
    }

    /// Hands an event to the state.
    pub fn event(&mut self, at: Moment, event: Event) {
        let effects = update(&mut self.state, at, event);
        self.effects.extend(effects);
    }

    /// What the events since the last call want written and drawn.
    pub fn end_batch(&mut self) {
        let effects = flush(&mut self.state);
        self.effects.extend(effects);
    }

    /// Puts a job into the queue of the store.
    pub fn put(&mut self, now: u64, job: Job, slowness: u64, random: &mut Random) {
        let last = self.jobs.back().map_or(0, |(at, _)| *at);
        let at = (now + random.below(slowness + 1)).max(last);
        self.jobs.push_back((at, job));
    }

    /// Notes what a transaction changed on disk.
    pub fn note(&mut self, writes: &[Write]) {
        for write in writes {
            match write {
                Write::Outbox(row) => {
                    self.on_disk.insert(row.key, (**row).clone());
                }
                Write::OutboxGone { key } => {
                    self.on_disk.remove(key);
                }
                Write::Answering {
                    decision, answer, ..
                } => {
                    self.answering.insert(decision.clone(), answer.clone());
                }
                Write::AnswerGone { decision, .. } => {
                    self.answering.remove(decision);
                }
                _ => {}
            }
        }
    }

    pub fn work(&self) -> &AccountState {
        &self.state.accounts[0]
    }

    /// When the client has something to do.
    pub fn due(&self) -> Option<u64> {
        [
            self.driver
                .deadline()
                .map(|at| at.mono_ms.max(self.deadline_fed + DEADLINE_PAUSE)),
            self.wake,
            self.jobs.front().map(|(at, _)| *at),
            (!self.effects.is_empty() || !self.inbox.is_empty()).then_some(0),
        ]
        .into_iter()
        .flatten()
        .min()
    }

    /// What the store holds of a conversation.
    pub fn stored(&self, conversation: &ConversationId) -> Vec<Entry> {
        let found = self
            .store
            .look_now(Lookup::Window {
                account: account(),
                conversation: conversation.clone(),
                around: Place::Newest,
                before: 2_000,
                after: 0,
            })
            .unwrap();
        match found {
            Found::Window { entries, .. } => entries,
            _ => unreachable!(),
        }
    }
}
