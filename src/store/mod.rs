//! What is kept on this machine: a cache of everything the servers said, plus what exists nowhere
//! else (outbox, drafts, read marks, mutes, tombstones, the log of decisions).
//!
//! # How it works
//! One thread owns one SQLite connection. A [`Handle`] puts jobs into its queue and gets the reply
//! through a callback on that thread, so the store needs no async runtime. The thread drains what
//! is waiting: all commits up to the next lookup become one transaction, with a savepoint for each
//! batch, so that a batch is all or nothing and one that fails takes no other with it. A callback
//! of a commit runs only once the transaction is on disk as hard as its [`Durability`] asks.
//!
//! # What can go wrong, and what becomes of it
//! - A file that is no database, or a damaged one, is set aside by rename and a new one is made;
//!   outbox and drafts come over from the damaged file where it can be read, else from the small
//!   `unsent.json` beside it.
//! - A file of a newer version is opened for reading only.
//! - A folder on the network gets the rollback journal in place of WAL.
//! - A full disk fails the commits, says so, and nothing else.
//! - Several processes may write; SQLite's lock serialises them.
//!
//! The store must not interpret what it keeps: no protocol rule lives here.

mod apply;
mod attachments;
pub mod audit;
mod calls;
mod database;
mod directory;
mod error;
pub mod fixture;
mod fold;
mod history;
mod late;
pub mod lock;
mod look;
mod meeting;
mod own;
pub mod pages;
mod rows;
mod search;
mod sidecar;
mod small;
mod unsent;
mod worker;

pub use error::StoreError;
pub use worker::{CommitDone, LookDone};

use crate::domain::{Durability, Found, Lookup, StartFacts, Write};
use crate::text::SafeText;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use worker::Job;

/// Jobs in the queue above which [`Handle::is_behind`] asks for a pause.
const BEHIND: usize = 256;

/// How a store is opened.
#[derive(Clone, Debug, Default)]
pub struct StoreOptions {
    /// The log of decisions; none means `decisions.jsonl` beside the database.
    pub audit: Option<PathBuf>,
    /// Opens for reading only: nothing is made, mended or written.
    pub read_only: bool,
    /// The file may not grow beyond this; commits fail then as on a full disk.
    pub max_bytes: Option<u64>,
    /// Told how many messages there are before a file of an older version is written anew, which
    /// can take a while.
    pub before_upgrade: Option<fn(u64)>,
}

/// What the opening found out.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Health {
    /// Why nothing can be written; none when it can.
    pub read_only: Option<SafeText>,
    /// What happened at the opening that the person should know: a damaged file set aside.
    pub notices: Vec<SafeText>,
    /// Whether write-ahead logging is on; without it the rollback journal is used.
    pub is_wal: bool,
}

/// The way to a running store. Clones share it; the last one dropped ends the thread after all
/// that is waiting was written.
#[derive(Clone)]
pub struct Handle {
    jobs: Sender<Job>,
    waiting: Arc<AtomicUsize>,
    health: Arc<Health>,
}

impl std::fmt::Debug for Handle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Handle")
            .field("waiting", &self.waiting.load(Ordering::Relaxed))
            .field("health", &self.health)
            .finish_non_exhaustive()
    }
}

/// Opens the database at `path`, making it and its folder when they are missing.
pub fn open(
    path: impl AsRef<Path>,
    options: StoreOptions,
) -> Result<(Handle, StartFacts), StoreError> {
    let path = path.as_ref();
    let (opened, health) = database::open(path, &options)?;
    let audit = options
        .audit
        .unwrap_or_else(|| path.with_file_name(audit::FILE_NAME));
    Ok(start(opened, health, Some(path.to_owned()), Some(audit)))
}

/// A store without a disk, with the same contract; all is gone when the last handle is.
pub fn memory() -> Result<(Handle, StartFacts), StoreError> {
    let (opened, health) = database::open_memory()?;
    Ok(start(opened, health, None, None))
}

/// The same, but the log of decisions is still written to a file (`--no-cache`).
pub fn memory_with_audit(audit: PathBuf) -> Result<(Handle, StartFacts), StoreError> {
    let (opened, health) = database::open_memory()?;
    Ok(start(opened, health, None, Some(audit)))
}

fn start(
    opened: database::Opened,
    health: Health,
    path: Option<PathBuf>,
    audit: Option<PathBuf>,
) -> (Handle, StartFacts) {
    let (jobs, inbox) = channel();
    let waiting = Arc::new(AtomicUsize::new(0));
    let facts = opened.facts;
    let worker = worker::Worker::new(
        opened.connection,
        path,
        audit,
        health.read_only.clone(),
        Arc::clone(&waiting),
    );
    let spawned = std::thread::Builder::new()
        .name("store".to_owned())
        .spawn(move || worker.run(&inbox));
    if let Err(error) = spawned {
        // The queue has no reader then, and every job is answered with `Closed`.
        tracing::error!(%error, "the thread of the store could not be started");
    }
    let handle = Handle {
        jobs,
        waiting,
        health: Arc::new(health),
    };
    (handle, facts)
}

impl Handle {
    /// Writes a batch, all or nothing; `done` hears what really changed, on the store's thread.
    pub fn commit(&self, writes: Vec<Write>, durability: Durability, done: CommitDone) {
        self.put(Job::Commit {
            writes,
            durability,
            done,
        });
    }

    /// Asks; the answer knows every commit that was put in before.
    pub fn look(&self, lookup: Lookup, done: LookDone) {
        self.put(Job::Look { lookup, done });
    }

    /// Asks and waits. For code without a loop: the headless verbs and tests.
    pub fn look_now(&self, lookup: Lookup) -> Result<Found, StoreError> {
        let (reply, answer) = channel();
        self.look(
            lookup,
            Box::new(move |found| {
                // Nobody listens any more when the asker gave up; there is nobody to tell.
                let _ = reply.send(found);
            }),
        );
        answer.recv().unwrap_or(Err(StoreError::Closed))
    }

    /// Writes and waits, like [`Handle::look_now`].
    pub fn commit_now(
        &self,
        writes: Vec<Write>,
        durability: Durability,
    ) -> Result<Vec<crate::domain::Committed>, StoreError> {
        let (reply, answer) = channel();
        self.commit(
            writes,
            durability,
            Box::new(move |result| {
                let _ = reply.send(result);
            }),
        );
        answer.recv().unwrap_or(Err(StoreError::Closed))
    }

    /// Writes all that is waiting, closes the file and returns once that is done. Later jobs are
    /// answered with [`StoreError::Closed`].
    pub fn close(&self) {
        let (reply, answer) = channel();
        self.put(Job::Close { done: reply });
        // An error means that the thread has ended already.
        let _ = answer.recv();
    }

    /// Whether so much is waiting that no more account events should be taken for now.
    pub fn is_behind(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) > BEHIND
    }

    /// What the opening found out.
    pub fn health(&self) -> &Health {
        &self.health
    }

    fn put(&self, job: Job) {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        if let Err(unsent) = self.jobs.send(job) {
            self.waiting.fetch_sub(1, Ordering::Relaxed);
            unsent.0.refuse(StoreError::Closed);
        }
    }
}
