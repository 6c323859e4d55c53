//! Accounts, store, update and effects, without a terminal. A front watches the state and carries
//! out what only it can (drawing, the clipboard, the editor).
//!
//! The loop of a front is: wait with `Engine::wait`, hand in what came with `Engine::apply`, drain
//! what is there, `Engine::flush`, then look at the state and at `Engine::take_front_effects`.

mod effects;

use super::clock::Clock;
use super::desktop::Place;
use super::recording::Recorder;
use super::recording::stage::Stage;
use super::session::{self, SessionEvent, SessionHandle, SessionInput};
use super::setup;
use crate::app::event::{ShellReply, StoreReply};
use crate::app::state::AccountState;
use crate::app::{Effect, Event, State, update};
use crate::config::account::{AccountConfig, EndpointPlace};
use crate::config::paths::Paths;
use crate::domain::{
    AccountEvent, AccountId, Committed, Durability, Found, LinkEvent, LinkState, Lookup, Moment,
    Secret, Topic, Write,
};
use crate::store::lock::ProfileLock;
use crate::store::{self, StoreError};
use crate::text::SafeText;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::sync::mpsc;

/// Events of sessions, and answers of the store and of workers, that may wait for the loop.
const QUEUE: usize = 1_024;
/// How long all accounts together may take to end. A runtime has three seconds to go by itself, and
/// is made to then.
const GOODBYES: std::time::Duration = std::time::Duration::from_millis(3_800);
/// The same where nobody waits for it: within a second of a lost terminal nothing of us is left. A
/// runtime that does not go by itself is killed after half a second.
const QUICK_GOODBYES: std::time::Duration = std::time::Duration::from_millis(700);

/// What an engine needs to know of where it runs.
#[derive(Clone, Debug)]
pub struct Surroundings {
    pub paths: Paths,
    pub place: Place,
    pub clock: Clock,
    pub working_directory: PathBuf,
    /// Never asks the desktop's keyring.
    pub no_keyring: bool,
    /// Gets everything that passes over the links.
    pub recorder: Option<Recorder>,
    /// Accounts dial a recording instead of their servers.
    pub stage: Option<Stage>,
    /// Transfers and links work as usual, but no configuration file is written (the demo).
    pub is_throwaway: bool,
}

impl Surroundings {
    /// Those of a command that neither records nor plays, on the folders of the person.
    pub fn new(paths: Paths, no_keyring: bool) -> Self {
        Self {
            paths,
            place: Place::detect(),
            clock: Clock::start(),
            working_directory: std::env::current_dir().unwrap_or_else(|_| "/".into()),
            no_keyring,
            recorder: None,
            stage: None,
            is_throwaway: false,
        }
    }
}

/// What came from outside the front.
pub enum Happening {
    Session(AccountId, SessionEvent),
    Inner(Inner),
    /// The moment the state asked for.
    Deadline,
}

/// Answers of our own threads.
pub enum Inner {
    Committed {
        commit: u64,
        result: Result<Vec<Committed>, StoreError>,
    },
    Found(Box<Result<Found, (Lookup, StoreError)>>),
    Shell(Box<ShellReply>),
    SessionReady {
        account: AccountId,
        setup: Box<session::SessionSetup>,
    },
    /// The wizard or a file change brought an account.
    /// An account was saved, and where its secret was put.
    AccountReady(Box<AccountConfig>, Option<String>),
}

/// The engine.
pub struct Engine {
    pub state: State,
    store: store::Handle,
    sessions: BTreeMap<AccountId, SessionHandle>,
    configs: BTreeMap<AccountId, AccountConfig>,
    sessions_out: mpsc::Sender<(AccountId, SessionEvent)>,
    sessions_in: mpsc::Receiver<(AccountId, SessionEvent)>,
    inner_out: mpsc::Sender<Inner>,
    inner_in: mpsc::Receiver<Inner>,
    commits: BTreeMap<u64, Vec<Effect>>,
    next_commit: u64,
    wake: Option<Moment>,
    front: Vec<Effect>,
    facts: Vec<(AccountId, String, String)>,
    ui: Vec<(String, String)>,
    /// Frames are reported, because the inspector is open.
    is_inspected: bool,
    known_secrets: BTreeMap<AccountId, Secret>,
    around: Arc<Surroundings>,
    /// Held by the screen of this profile as long as it lives.
    _lock: Option<ProfileLock>,
}

impl Engine {
    /// An engine over an open store. Accounts are added with `add_account`, and nothing connects
    /// before `connect_all`.
    pub fn new(
        state: State,
        store: store::Handle,
        around: Surroundings,
        lock: Option<ProfileLock>,
    ) -> Self {
        let (sessions_out, sessions_in) = mpsc::channel(QUEUE);
        let (inner_out, inner_in) = mpsc::channel(QUEUE * 4);
        Self {
            state,
            store,
            sessions: BTreeMap::new(),
            configs: BTreeMap::new(),
            sessions_out,
            sessions_in,
            inner_out,
            inner_in,
            commits: BTreeMap::new(),
            next_commit: 0,
            wake: None,
            front: Vec::new(),
            facts: Vec::new(),
            ui: Vec::new(),
            is_inspected: false,
            known_secrets: BTreeMap::new(),
            around: Arc::new(around),
            _lock: lock,
        }
    }

    /// Makes an account known to the state.
    pub fn add_account(&mut self, config: AccountConfig) {
        let id = AccountId::new(&config.name);
        if self.state.account(&id).is_none() {
            let label = SafeText::label(&config.name);
            let mut account = AccountState::new(id.clone(), label);
            account.color = config.color;
            account.ends_with_us = matches!(config.endpoint.place(), EndpointPlace::Process(_));
            self.state.accounts.push(account);
        }
        self.configs.insert(id, config);
    }

    /// Takes what the store knew at the start; after the accounts were added.
    pub fn restore(&mut self, facts: crate::domain::StartFacts) {
        self.facts.clone_from(&facts.facts);
        self.ui.clone_from(&facts.ui);
        self.apply(Event::Store(StoreReply::Found(Found::Start(Box::new(
            facts,
        )))));
        self.flush();
    }

    /// In the order of the sidebar.
    fn account_names(&self) -> Vec<String> {
        let accounts = self.state.accounts.iter();
        accounts
            .map(|account| account.account.id.as_str().to_owned())
            .collect()
    }

    /// Starts the session of every account that is not switched off.
    pub fn connect_all(&mut self) {
        if let Some(recorder) = &self.around.recorder {
            recorder.sidebar(&self.account_names(), &self.ui);
        }
        let ids: Vec<AccountId> = self
            .state
            .accounts
            .iter()
            .map(|account| account.account.id.clone())
            .filter(|id| {
                self.configs
                    .get(id)
                    .is_some_and(|config| !config.is_disabled)
            })
            .collect();
        for id in ids {
            self.start_session(&id);
        }
    }

    /// Starts the session of one account, or lets a running one connect.
    pub fn start_session(&mut self, id: &AccountId) {
        if let Some(session) = self.sessions.get(id)
            && session.try_send(SessionInput::Connect).is_ok()
        {
            return;
        }
        let Some(config) = self.configs.get(id).cloned() else {
            return;
        };
        let facts = self
            .facts
            .iter()
            .filter(|(account, _, _)| account == id)
            .map(|(_, name, value)| (name.clone(), value.clone()))
            .collect();
        // Finding the secret may ask other programs, so it is done on a thread.
        let (out, sessions_out, around, secret) = (
            self.inner_out.clone(),
            self.sessions_out.clone(),
            Arc::clone(&self.around),
            self.known_secrets.get(id).cloned(),
        );
        let account = id.clone();
        tokio::task::spawn_blocking(move || {
            match setup::session(&config, facts, secret, &around) {
                Ok(setup) => {
                    let _ = out.blocking_send(Inner::SessionReady {
                        account,
                        setup: Box::new(setup),
                    });
                }
                // Every front hears of it as of a refusal of the server.
                Err(reason) => {
                    let link = LinkEvent::Changed(LinkState::Refused { reason });
                    let event = AccountEvent::live(Topic::Link(link));
                    let event = SessionEvent::Account(Box::new(event));
                    let _ = sessions_out.blocking_send((account, event));
                }
            }
        });
    }

    /// A secret that is in no store: the demo's.
    pub fn know_secret(&mut self, id: &AccountId, secret: Secret) {
        self.known_secrets.insert(id.clone(), secret);
    }

    fn take_setup(&mut self, account: &AccountId, setup: session::SessionSetup) {
        if self.sessions.contains_key(account) || !self.configs.contains_key(account) {
            return;
        }
        let handle = session::spawn(setup, self.sessions_out.clone());
        let _ = handle.try_send(SessionInput::Connect);
        if self.is_inspected {
            let _ = handle.try_send(SessionInput::Inspect { on: true });
        }
        self.sessions.insert(account.clone(), handle);
    }

    /// The next thing from outside the front.
    pub async fn wait(&mut self) -> Happening {
        let wake = self.wake.map(|moment| self.around.clock.instant(moment));
        tokio::select! {
            biased;
            Some(inner) = self.inner_in.recv() => Happening::Inner(inner),
            Some((account, event)) = self.sessions_in.recv() => Happening::Session(account, event),
            () = tokio::time::sleep_until(wake.unwrap_or_else(tokio::time::Instant::now)), if wake.is_some() => Happening::Deadline,
            // The senders live as long as the engine, so one of the above always comes.
            else => std::future::pending().await,
        }
    }

    /// What is there without waiting.
    pub fn try_next(&mut self) -> Option<Happening> {
        if let Ok(inner) = self.inner_in.try_recv() {
            return Some(Happening::Inner(inner));
        }
        if let Ok((account, event)) = self.sessions_in.try_recv() {
            return Some(Happening::Session(account, event));
        }
        None
    }

    /// Hands one happening to the state.
    pub fn take(&mut self, happening: Happening) {
        match happening {
            Happening::Deadline => {
                self.wake = None;
                self.apply(Event::Deadline);
            }
            Happening::Session(account, event) => self.take_session(account, event),
            Happening::Inner(Inner::Shell(reply)) => self.apply(Event::Shell(*reply)),
            Happening::Inner(Inner::Found(found)) => match *found {
                Ok(found) => self.apply(Event::Store(StoreReply::Found(found))),
                Err((lookup, error)) => {
                    tracing::warn!(%error, "a lookup failed");
                    let reason = SafeText::label(&error.to_string());
                    let lookup = Box::new(lookup);
                    self.apply(Event::Store(StoreReply::LookupFailed { lookup, reason }));
                }
            },
            Happening::Inner(Inner::Committed { commit, result }) => {
                self.take_commit(commit, result)
            }
            Happening::Inner(Inner::SessionReady { account, setup }) => {
                self.take_setup(&account, *setup)
            }
            Happening::Inner(Inner::AccountReady(config, place)) => {
                let id = AccountId::new(&config.name);
                let words = match place {
                    Some(place) => format!("{} was added; its secret is {place}.", config.name),
                    None => format!("{} was added.", config.name),
                };
                self.add_account(*config);
                self.start_session(&id);
                self.front.push(Effect::Redraw { now: true });
                // The form that asked for it closes.
                self.apply(Event::Shell(ShellReply::AccountChecked {
                    account: id,
                    result: Ok(SafeText::prose(&words)),
                }));
            }
        }
    }

    fn take_session(&mut self, account: AccountId, event: SessionEvent) {
        match event {
            SessionEvent::Account(event) => {
                if let Topic::Sync(crate::domain::SyncEvent::Kept { name, value }) = &event.topic {
                    self.facts.retain(|(a, n, _)| *a != account || n != name);
                    if let Some(value) = value {
                        self.facts
                            .push((account.clone(), name.clone(), value.clone()));
                    }
                }
                self.apply(Event::Account { account, event });
            }
            SessionEvent::Waits { until, reason } => {
                self.apply(Event::LinkWaits {
                    account,
                    until,
                    reason,
                });
            }
            SessionEvent::Transfer { transfer, progress } => {
                self.apply(Event::Transfer { transfer, progress });
            }
            SessionEvent::Tapped {
                outgoing,
                at,
                frame,
            } => {
                self.apply(Event::Shell(ShellReply::Tapped {
                    account,
                    outgoing,
                    at,
                    frame,
                }));
            }
            SessionEvent::Ended { reason } => {
                self.sessions.remove(&account);
                let link = match reason {
                    Some(reason) => LinkState::Refused { reason },
                    None => LinkState::Off,
                };
                let event = AccountEvent::live(Topic::Link(LinkEvent::Changed(link)));
                self.apply(Event::Account {
                    account,
                    event: Box::new(event),
                });
            }
        }
    }

    fn take_commit(&mut self, commit: u64, result: Result<Vec<Committed>, StoreError>) {
        let then = self.commits.remove(&commit).unwrap_or_default();
        match result {
            Ok(committed) => {
                self.apply(Event::Store(StoreReply::Committed(committed)));
                self.execute(then);
            }
            Err(error) => {
                tracing::error!(%error, "a commit failed");
                let commands = then
                    .iter()
                    .filter_map(|effect| match effect {
                        Effect::Command { id, .. } => Some(*id),
                        _ => None,
                    })
                    .collect();
                let reason = SafeText::label(&error.to_string());
                self.apply(Event::Store(StoreReply::CommitFailed { reason, commands }));
            }
        }
    }

    /// Hands one event to the state and carries out what comes of it.
    pub fn apply(&mut self, event: Event) {
        let effects = update::update(&mut self.state, self.around.clock.now(), event);
        self.execute(effects);
    }

    /// Ends a batch: what was collected is written in one transaction.
    pub fn flush(&mut self) {
        let effects = update::flush(&mut self.state);
        self.execute(effects);
        let is_inspected = self.state.is_inspected();
        if std::mem::replace(&mut self.is_inspected, is_inspected) != is_inspected {
            if is_inspected {
                // The sessions tell what passed lately once more.
                self.state.screen.tapped.clear();
            }
            for session in self.sessions.values() {
                let _ = session.try_send(SessionInput::Inspect { on: is_inspected });
            }
        }
    }

    /// What only the front can do, in order.
    pub fn take_front_effects(&mut self) -> Vec<Effect> {
        std::mem::take(&mut self.front)
    }

    /// Stays, though a key of a recording leaves.
    pub fn stay(&mut self) {
        self.front
            .retain(|effect| !matches!(effect, Effect::Quit { .. }));
    }

    /// A sender for workers of the front.
    pub fn inner(&self) -> mpsc::Sender<Inner> {
        self.inner_out.clone()
    }

    /// Where it runs.
    pub fn surroundings(&self) -> &Surroundings {
        &self.around
    }

    /// The configured accounts.
    pub fn config_of(&self, id: &AccountId) -> Option<&AccountConfig> {
        self.configs.get(id)
    }

    /// Carries effects out, as if an event had brought them.
    pub fn carry_out(&mut self, effects: Vec<Effect>) {
        self.execute(effects);
    }

    /// Lets the caller change the state as an event would, and carries out what comes of it.
    pub fn perform(&mut self, change: impl FnOnce(&mut State, Moment) -> Vec<Effect>) {
        let now = self.around.clock.now();
        self.state.now = now;
        let effects = change(&mut self.state, now);
        self.execute(effects);
    }

    /// Writes something that no event is about.
    pub fn keep(&mut self, write: Write) {
        self.execute(vec![Effect::Commit {
            writes: vec![write],
            durability: Durability::Normal,
            then: Vec::new(),
        }]);
    }

    /// Whether everything that was to be written is on disk.
    pub fn is_settled(&self) -> bool {
        self.commits.is_empty() && self.state.batch.writes.is_empty()
    }

    /// The store, for reading what it has.
    pub fn store(&self) -> &store::Handle {
        &self.store
    }

    /// A value of the screen's stored state.
    pub fn stored_ui(&self, name: &str) -> Option<&str> {
        self.ui
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    }

    fn execute(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            self.execute_one(effect);
        }
    }

    /// Ends every session and the store at once, as a lost terminal or a signal wants it.
    pub async fn shut_down_at_once(self) {
        for session in self.sessions.values() {
            session.hurry();
        }
        self.end(QUICK_GOODBYES).await;
    }

    /// Ends every session and the store; what is open is written before.
    pub async fn shut_down(self) {
        self.end(GOODBYES).await;
    }

    async fn end(mut self, goodbyes: std::time::Duration) {
        self.flush();
        for session in self.sessions.values() {
            let _ = session.try_send(SessionInput::Shutdown);
        }
        let deadline = tokio::time::Instant::now() + goodbyes;
        for (_, session) in std::mem::take(&mut self.sessions) {
            let _ = tokio::time::timeout_at(deadline, session.shutdown()).await;
        }
        let store = self.store;
        let _ = tokio::task::spawn_blocking(move || store.close()).await;
    }
}
