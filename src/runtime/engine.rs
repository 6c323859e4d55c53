//! Accounts, store, update and effects, without a terminal. A front watches the state and carries
//! out what only it can (drawing, the clipboard, the editor).
//!
//! The loop of a front is: wait with `Engine::wait`, hand in what came with `Engine::apply`, drain
//! what is there, `Engine::flush`, then look at the state and at `Engine::take_front_effects`.

use super::clock::Clock;
use super::desktop::{self, Place};
use super::recording::stage::Stage;
use super::recording::{self, Head, Recorder};
use super::session::{self, SessionEvent, SessionHandle, SessionInput};
use super::setup;
use crate::app::effect::{AccountEffect, LinkChange, OpenTarget};
use crate::app::event::{FileFacts, ListedFile, ShellReply, StoreReply};
use crate::app::state::AccountState;
use crate::app::{Effect, Event, State, update};
use crate::config::account::AccountConfig;
use crate::config::paths::Paths;
use crate::domain::{
    AccountEvent, AccountId, AttachmentKind, CommandOutcome, Committed, Durability, Found,
    LinkEvent, LinkState, Lookup, Moment, Secret, Topic, Write,
};
use crate::store::lock::ProfileLock;
use crate::store::{self, StoreError};
use crate::text::SafeText;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::sync::mpsc;

/// Events of sessions, and answers of the store and of workers, that may wait for the loop.
const QUEUE: usize = 1_024;
/// So long an account may take to say what passed lately.
const SAVE_PATIENCE: std::time::Duration = std::time::Duration::from_secs(2);
/// How long all accounts together may take to end: within a second of a lost terminal nothing of us
/// is left. A runtime that does not go by itself is killed after half a second.
const GOODBYES: std::time::Duration = std::time::Duration::from_millis(700);

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

    fn execute_one(&mut self, effect: Effect) {
        if self.around.stage.is_some() && leaves_the_stage(&effect) {
            return;
        }
        match effect {
            Effect::Command {
                account,
                id,
                command,
            } => {
                let sent = self
                    .sessions
                    .get(&account)
                    .map(|session| session.try_send(SessionInput::Command { id, command }));
                let outcome = match sent {
                    Some(Ok(())) => return,
                    Some(Err(_)) => CommandOutcome::Refused(crate::domain::Refusal::new(
                        crate::domain::RefusalCode::Busy,
                        "too much is waiting for this account; try again in a moment",
                    )),
                    None => CommandOutcome::NotSent,
                };
                let event = AccountEvent::live(Topic::Outcome {
                    command: id,
                    outcome,
                });
                self.apply(Event::Account {
                    account,
                    event: Box::new(event),
                });
            }
            Effect::Commit {
                writes,
                durability,
                then,
            } => {
                self.next_commit += 1;
                let commit = self.next_commit;
                self.commits.insert(commit, then);
                let out = self.inner_out.clone();
                self.store.commit(
                    writes,
                    durability,
                    Box::new(move |result| {
                        let _ = out.blocking_send(Inner::Committed { commit, result });
                    }),
                );
            }
            Effect::Look(lookup) => {
                let out = self.inner_out.clone();
                let asked = lookup.clone();
                self.store.look(
                    lookup,
                    Box::new(move |result| {
                        let result = result.map_err(|error| (asked, error));
                        let _ = out.blocking_send(Inner::Found(Box::new(result)));
                    }),
                );
            }
            Effect::Link { account, change } => self.change_link(&account, change),
            Effect::OpenTransfer {
                transfer,
                account,
                file,
            } => {
                if let Some(session) = self.sessions.get(&account) {
                    let _ = session.try_send(SessionInput::OpenTransfer { transfer, file });
                }
            }
            Effect::CancelTransfer { transfer } => {
                for session in self.sessions.values() {
                    let _ = session.try_send(SessionInput::CancelTransfer { transfer });
                }
            }
            Effect::OpenExternal(target) => self.open_external(target),
            Effect::SaveFile { from, name } => {
                let dir = self.around.paths.downloads.clone();
                self.work(
                    move || match desktop::save_file(&from, &dir, name.as_str()) {
                        Ok(path) => ShellReply::Saved { path, error: None },
                        Err(error) => ShellReply::Saved {
                            path: dir,
                            error: Some(SafeText::label(&error.to_string())),
                        },
                    },
                );
            }
            Effect::ListDirectory { directory } => {
                let base = self.around.working_directory.clone();
                self.work(move || list_directory(&base, directory));
            }
            Effect::InspectFile { path } => {
                let base = self.around.working_directory.clone();
                self.work(move || ShellReply::FileInspected {
                    facts: inspect_file(&base, &path),
                    path,
                });
            }
            Effect::TakePicture {
                account,
                conversation,
            } => {
                let place = self.around.place;
                let dir = self.around.paths.data.join("pasted");
                let name = format!("clipboard-{}.png", self.around.clock.now().wall_ms);
                self.work(move || ShellReply::PictureTaken {
                    account,
                    conversation,
                    file: desktop::take_picture(place, &dir, &name)
                        .map_err(|why| SafeText::label(&why)),
                });
            }
            Effect::LoadIcon {
                account,
                conversation,
                path,
            } => {
                let base = self.around.working_directory.clone();
                self.work(move || ShellReply::IconLoaded {
                    account,
                    conversation,
                    icon: load_icon(&base, &path),
                });
            }
            Effect::SaveFrames => self.save_frames(),
            Effect::Wake(moment) => {
                self.wake = Some(self.wake.map_or(moment, |known| known.min(moment)));
            }
            Effect::Log(text) => tracing::info!("{text}"),
            Effect::Account(effect) => self.account_effect(effect),
            Effect::SaveSetting { key, value } => {
                if !self.around.is_throwaway {
                    let file = self.around.paths.config_file();
                    if let Err(error) = crate::config::file::save_setting(&file, key, &value) {
                        tracing::warn!(%error, "a setting could not be saved");
                    }
                }
            }
            front @ (Effect::Copy(_)
            | Effect::CopySelection
            | Effect::Demo
            | Effect::Doctor
            | Effect::Notify { .. }
            | Effect::Bell
            | Effect::Title(_)
            | Effect::Edit { .. }
            | Effect::Redraw { .. }
            | Effect::RedrawAll
            | Effect::Suspend
            | Effect::Quit { .. }) => self.front.push(front),
        }
    }

    fn change_link(&mut self, account: &AccountId, change: LinkChange) {
        match change {
            LinkChange::Connect => self.start_session(account),
            LinkChange::Disconnect | LinkChange::RetryNow => {
                let input = if change == LinkChange::Disconnect {
                    SessionInput::Disconnect
                } else {
                    SessionInput::RetryNow
                };
                match self.sessions.get(account) {
                    Some(session) => {
                        let _ = session.try_send(input);
                    }
                    None if change == LinkChange::RetryNow => self.start_session(account),
                    None => {}
                }
            }
        }
    }

    fn open_external(&mut self, target: OpenTarget) {
        let what = match target {
            OpenTarget::Link(link) => {
                if let Some(why) = desktop::refuse_link(&link) {
                    self.apply(Event::Shell(ShellReply::Opened {
                        what: SafeText::label(&link),
                        error: Some(SafeText::label(why)),
                    }));
                    return;
                }
                link
            }
            OpenTarget::File(path) => path.to_string_lossy().into_owned(),
        };
        self.work(move || ShellReply::Opened {
            error: desktop::open_external(&what)
                .err()
                .map(|error| SafeText::label(&error)),
            what: SafeText::label(&what),
        });
    }

    fn account_effect(&mut self, effect: AccountEffect) {
        match effect {
            AccountEffect::Check { fields, secret } => {
                let (out, around) = (self.inner_out.clone(), Arc::clone(&self.around));
                tokio::spawn(async move {
                    let (account, result) = setup::check_fields(&fields, secret, &around).await;
                    let reply = ShellReply::AccountChecked { account, result };
                    let _ = out.send(Inner::Shell(Box::new(reply))).await;
                });
            }
            AccountEffect::Add { fields, secret } => {
                let (out, around) = (self.inner_out.clone(), Arc::clone(&self.around));
                tokio::task::spawn_blocking(move || {
                    let inner = match setup::add_fields(&fields, secret, &around) {
                        Ok((config, place)) => Inner::AccountReady(Box::new(config), place),
                        Err(error) => Inner::Shell(Box::new(ShellReply::AccountChecked {
                            account: AccountId::new("new"),
                            result: Err(SafeText::label(&error)),
                        })),
                    };
                    let _ = out.blocking_send(inner);
                });
            }
            AccountEffect::Remove { account } => {
                if let Some(session) = self.sessions.remove(&account) {
                    let _ = session.try_send(SessionInput::Shutdown);
                }
                self.configs.remove(&account);
                self.state
                    .accounts
                    .retain(|known| known.account.id != account);
                if self
                    .state
                    .focus
                    .as_ref()
                    .is_some_and(|(focused, _)| *focused == account)
                {
                    self.state.focus = None;
                }
                let around = Arc::clone(&self.around);
                tokio::task::spawn_blocking(move || {
                    if let Err(error) = setup::remove_account(account.as_str(), &around) {
                        tracing::warn!(%error, "the account could not be removed from the configuration");
                    }
                });
            }
            AccountEffect::Login { account, secret } => {
                let around = Arc::clone(&self.around);
                let name = account.as_str().to_owned();
                match self.sessions.get(&account) {
                    Some(session) => {
                        let _ = session.try_send(SessionInput::Secret(secret.clone()));
                    }
                    None => {
                        self.know_secret(&account, secret.clone());
                        self.start_session(&account);
                    }
                }
                tokio::task::spawn_blocking(move || {
                    if let Err(error) = setup::keep_secret(&name, &secret, &around) {
                        tracing::warn!(%error, "the secret could not be kept");
                    }
                });
            }
        }
    }

    /// Runs something that may block, off the loop.
    fn work(&self, job: impl FnOnce() -> ShellReply + Send + 'static) {
        let out = self.inner_out.clone();
        tokio::task::spawn_blocking(move || {
            let _ = out.blocking_send(Inner::Shell(Box::new(job())));
        });
    }

    /// Writes the last minutes of all accounts into a file, as a recording.
    fn save_frames(&mut self) {
        let mut answers = Vec::new();
        for session in self.sessions.values() {
            let (reply, lines) = tokio::sync::oneshot::channel();
            if session.try_send(SessionInput::Recent(reply)).is_ok() {
                answers.push(lines);
            }
        }
        let now = self.around.clock.now();
        let focus = self
            .state
            .focus
            .as_ref()
            .map(|(account, id)| (account.as_str().to_owned(), id.as_str().to_owned()));
        let head = Head {
            version: env!("TRIALOGUE_VERSION").to_owned(),
            started_ms: now.wall_ms - i64::try_from(now.mono_ms).unwrap_or(0),
            columns: 80,
            rows: 24,
            focus,
        };
        let sidebar = recording::sidebar_line(&self.account_names(), &self.ui);
        let (out, folder) = (
            self.inner_out.clone(),
            self.around.paths.state.join("recordings"),
        );
        tokio::spawn(async move {
            let mut lines = vec![(0, sidebar)];
            for answer in answers {
                if let Ok(Ok(of)) = tokio::time::timeout(SAVE_PATIENCE, answer).await {
                    lines.extend(of);
                }
            }
            // Stable: lines of one account keep their order.
            lines.sort_by_key(|(at_ms, _)| *at_ms);
            let path = folder.join(format!("{}.jsonl", now.wall_ms / 1_000));
            let written = tokio::task::spawn_blocking({
                let path = path.clone();
                move || recording::save(&folder, &path, &head, &lines)
            })
            .await;
            let error = match written {
                Ok(Ok(())) => None,
                Ok(Err(error)) => Some(SafeText::label(&error.to_string())),
                Err(_) => Some("the writer failed".into()),
            };
            let reply = ShellReply::Saved { path, error };
            let _ = out.send(Inner::Shell(Box::new(reply))).await;
        });
    }

    /// Ends every session and the store; what is open is written before.
    pub async fn shut_down(mut self) {
        self.flush();
        for session in self.sessions.values() {
            let _ = session.try_send(SessionInput::Shutdown);
        }
        let deadline = tokio::time::Instant::now() + GOODBYES;
        for (_, session) in std::mem::take(&mut self.sessions) {
            let _ = tokio::time::timeout_at(deadline, session.shutdown()).await;
        }
        let store = self.store;
        let _ = tokio::task::spawn_blocking(move || store.close()).await;
    }
}

/// Whether an effect reaches beyond this window: none does while a recording is played, whose keys
/// somebody else pressed elsewhere.
fn leaves_the_stage(effect: &Effect) -> bool {
    matches!(
        effect,
        Effect::OpenExternal(_)
            | Effect::SaveFile { .. }
            | Effect::SaveFrames
            | Effect::TakePicture { .. }
            | Effect::Copy(_)
            | Effect::CopySelection
            | Effect::Edit { .. }
            | Effect::Account(_)
            | Effect::SaveSetting { .. }
            | Effect::Demo
            | Effect::Suspend
    )
}

/// The entries of a directory for path completion, at most 2,000.
fn list_directory(base: &Path, directory: String) -> ShellReply {
    let path = base.join(expand_home(&directory));
    let mut entries: Vec<ListedFile> = std::fs::read_dir(path)
        .into_iter()
        .flatten()
        .flatten()
        .take(2_000)
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let metadata = std::fs::metadata(entry.path()).ok()?;
            Some(ListedFile {
                name,
                is_directory: metadata.is_dir(),
                size: metadata.len(),
            })
        })
        .collect();
    entries.sort_by(|a, b| {
        b.is_directory
            .cmp(&a.is_directory)
            .then_with(|| a.name.cmp(&b.name))
    });
    ShellReply::Listing { directory, entries }
}

/// The largest icon a server takes.
const LARGEST_ICON: u64 = 512 * 1024;

fn load_icon(base: &Path, path: &Path) -> Result<Arc<[u8]>, SafeText> {
    let full = base.join(expand_home(&path.to_string_lossy()));
    let say = |what: &str| SafeText::label(&format!("{}: {what}", path.display()));
    let metadata = std::fs::metadata(&full).map_err(|error| say(&error.to_string()))?;
    if metadata.len() > LARGEST_ICON {
        return Err(say("an icon may have 512 KiB at most"));
    }
    let bytes = std::fs::read(&full).map_err(|error| say(&error.to_string()))?;
    let is_picture = infer::get(&bytes)
        .is_some_and(|kind| matches!(kind.mime_type(), "image/png" | "image/jpeg"));
    if !is_picture {
        return Err(say("an icon must be a PNG or JPEG picture"));
    }
    Ok(bytes.into())
}

/// `~` at the start means the home folder.
pub fn expand_home(path: &str) -> PathBuf {
    if let Some(rest) = path.strip_prefix("~/")
        && let Some(home) = std::env::var_os("HOME")
    {
        return PathBuf::from(home).join(rest);
    }
    PathBuf::from(path)
}

/// Looks at a file that is to be attached.
pub fn inspect_file(base: &Path, path: &Path) -> Result<FileFacts, SafeText> {
    let full = base.join(expand_home(&path.to_string_lossy()));
    let say = |what: &str| SafeText::label(&format!("{}: {what}", path.display()));
    let metadata = std::fs::metadata(&full).map_err(|error| say(&error.to_string()))?;
    if !metadata.is_file() {
        return Err(say("only files can be attached"));
    }
    if metadata.len() == 0 {
        return Err(say("the file is empty"));
    }
    let mut start = vec![0_u8; 512];
    let read = std::fs::File::open(&full)
        .and_then(|mut file| std::io::Read::read(&mut file, &mut start))
        .map_err(|error| say(&error.to_string()))?;
    let media_type = infer::get(&start[..read]).map_or_else(
        || {
            mime_guess::from_path(&full)
                .first_or_octet_stream()
                .essence_str()
                .to_owned()
        },
        |kind| kind.mime_type().to_owned(),
    );
    let kind = match media_type.split('/').next() {
        Some("image") => AttachmentKind::Image,
        Some("audio") => AttachmentKind::Audio,
        Some("video") => AttachmentKind::Video,
        _ => AttachmentKind::Document,
    };
    let name = full
        .file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default();
    Ok(FileFacts {
        path: full,
        name,
        size: metadata.len(),
        media_type,
        kind,
    })
}
