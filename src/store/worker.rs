//! The thread of the store: takes what is waiting, makes one transaction of all commits up to the
//! next lookup, and answers.
//!
//! A batch runs inside a savepoint. If it fails, its writes are undone and only its callback hears
//! of it. If the transaction itself fails (a full disk), every batch in it failed.
//!
//! What failed for want of room, or because another program held the file, is kept and goes first
//! in the next transaction: a later batch never gets ahead of an earlier one, so no cursor is
//! stored before the messages it covers.

use super::apply::{Applied, apply};
use super::audit::Log;
use super::{StoreError, database, history, look, sidecar, unsent};
use crate::domain::{Committed, Durability, Found, Lookup, MessageKey, Write};
use crate::text::SafeText;
use rusqlite::{Connection, Transaction, TransactionBehavior};
use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError};
use std::time::Duration;

/// Hears how a commit ended.
pub type CommitDone = Box<dyn FnOnce(Result<Vec<Committed>, StoreError>) + Send>;
/// Hears what a lookup found.
pub type LookDone = Box<dyn FnOnce(Result<Found, StoreError>) + Send>;

/// Batches in one transaction at most.
const DRAIN: usize = 128;
/// Writes that are kept for want of room. Beyond them the oldest are given up.
const BACKLOG: usize = 20_000;
/// A kept batch that fails so often for another reason than want of room is given up.
const TRIES: u8 = 5;
/// After this long without work the sidecar is brought up to date.
const IDLE: Duration = Duration::from_millis(300);

/// One thing to do.
pub(super) enum Job {
    Commit {
        writes: Vec<Write>,
        durability: Durability,
        done: CommitDone,
    },
    Look {
        lookup: Lookup,
        done: LookDone,
    },
    Close {
        done: Sender<()>,
    },
}

impl Job {
    /// Answers a job that will not be done.
    pub fn refuse(self, error: StoreError) {
        match self {
            Self::Commit { done, .. } => done(Err(error)),
            Self::Look { done, .. } => done(Err(error)),
            Self::Close { done } => answer_close(&done),
        }
    }
}

/// One batch of a transaction.
struct Batch {
    writes: Vec<Write>,
    durability: Durability,
    done: CommitDone,
}

/// Writes that could not be stored yet.
struct Kept {
    writes: Vec<Write>,
    tries: u8,
}

/// What the thread owns.
pub(super) struct Worker {
    connection: Connection,
    path: Option<PathBuf>,
    audit: Option<Log>,
    read_only: Option<SafeText>,
    waiting: Arc<AtomicUsize>,
    durability: Option<Durability>,
    /// What failed and goes first next time, oldest first.
    backlog: VecDeque<Kept>,
    /// Outbox or drafts differ from the sidecar.
    sidecar_is_old: bool,
}

impl Worker {
    pub fn new(
        connection: Connection,
        path: Option<PathBuf>,
        audit: Option<PathBuf>,
        read_only: Option<SafeText>,
        waiting: Arc<AtomicUsize>,
    ) -> Self {
        Self {
            connection,
            path,
            audit: audit.map(Log::new),
            read_only,
            waiting,
            durability: None,
            backlog: VecDeque::new(),
            sidecar_is_old: false,
        }
    }

    /// Works until it is closed or nobody can ask any more.
    pub fn run(mut self, inbox: &Receiver<Job>) {
        let mut next: Option<Job> = None;
        let closer = loop {
            let job = match next.take() {
                Some(job) => job,
                None => match self.wait(inbox) {
                    Some(job) => job,
                    None => break None,
                },
            };
            match job {
                Job::Commit {
                    writes,
                    durability,
                    done,
                } => {
                    let mut batches = vec![Batch {
                        writes,
                        durability,
                        done,
                    }];
                    next = drain(inbox, &mut batches);
                    let count = batches.len();
                    self.commit(batches);
                    self.waiting.fetch_sub(count, Ordering::Relaxed);
                }
                Job::Look { lookup, done } => {
                    let found = look::look(&self.connection, lookup);
                    if let Err(StoreError::Damaged(_)) = &found {
                        self.mark_damaged();
                    }
                    done(found);
                    self.waiting.fetch_sub(1, Ordering::Relaxed);
                }
                Job::Close { done } => break Some(done),
            }
        };
        self.end();
        // Whoever waits for the closing may delete the folder next.
        if let Some(done) = closer {
            answer_close(&done);
        }
    }

    /// The next job; none when nobody is left. Uses the quiet for the sidecar.
    fn wait(&mut self, inbox: &Receiver<Job>) -> Option<Job> {
        if !self.sidecar_is_old {
            return inbox.recv().ok();
        }
        match inbox.recv_timeout(IDLE) {
            Ok(job) => Some(job),
            Err(RecvTimeoutError::Disconnected) => None,
            Err(RecvTimeoutError::Timeout) => {
                self.write_sidecar();
                inbox.recv().ok()
            }
        }
    }

    fn commit(&mut self, batches: Vec<Batch>) {
        if let Some(reason) = &self.read_only {
            for batch in batches {
                (batch.done)(Err(StoreError::ReadOnly(reason.as_str().to_owned())));
            }
            return;
        }
        let durability = if batches
            .iter()
            .any(|batch| batch.durability == Durability::Full)
        {
            Durability::Full
        } else {
            Durability::Normal
        };
        let (writes, dones): (Vec<_>, Vec<_>) = batches
            .into_iter()
            .map(|batch| (batch.writes, batch.done))
            .unzip();
        let results = self.commit_behind_backlog(writes, durability);
        if results
            .iter()
            .any(|result| matches!(result, Err(StoreError::Damaged(_))))
        {
            self.mark_damaged();
        }
        for (done, result) in dones.into_iter().zip(results) {
            if let Err(error) = &result {
                tracing::error!(%error, "a batch was not stored");
            }
            done(result);
        }
    }

    /// One transaction of what failed before and of new batches; one result for each new batch.
    fn commit_behind_backlog(
        &mut self,
        fresh: Vec<Vec<Write>>,
        durability: Durability,
    ) -> Vec<Result<Vec<Committed>, StoreError>> {
        let kept = std::mem::take(&mut self.backlog);
        let count = kept.len();
        let durability = if count > 0 {
            Durability::Full
        } else {
            durability
        };
        let batches: Vec<Vec<Write>> = kept
            .iter()
            .map(|kept| kept.writes.clone())
            .chain(fresh.iter().cloned())
            .collect();
        let mut results = match self.transact(batches, durability) {
            Ok(results) => results,
            Err(error) => vec![Err(error); count + fresh.len()],
        };
        let mut fresh_results = results.split_off(count);
        if fresh_results.contains(&Err(StoreError::DiskFull)) {
            self.save_precious(&fresh);
        }
        let tried = kept.into_iter().map(|kept| (kept.writes, kept.tries));
        let untried = fresh.into_iter().map(|writes| (writes, 0));
        let all = tried
            .chain(untried)
            .zip(results.iter().chain(&fresh_results));
        for ((writes, tries), result) in all {
            let tries = match result {
                Err(StoreError::DiskFull) => tries,
                Err(StoreError::CommitFailed(_)) if tries < TRIES => tries + 1,
                _ => continue,
            };
            if !writes.is_empty() {
                self.backlog.push_back(Kept { writes, tries });
            }
        }
        let mut size: usize = self.backlog.iter().map(|kept| kept.writes.len()).sum();
        while size > BACKLOG && self.backlog.len() > 1 {
            if let Some(oldest) = self.backlog.pop_front() {
                size -= oldest.writes.len();
                tracing::error!(writes = oldest.writes.len(), "writes were given up");
            }
        }
        // What was new in the kept batches is told with the first answer.
        let late: Vec<Committed> = results.into_iter().flatten().flatten().collect();
        if let Some(Ok(first)) = fresh_results.first_mut() {
            first.splice(0..0, late);
        }
        fresh_results
    }

    /// What the person wrote or decided is small and exists nowhere else: where there is no room for
    /// a whole batch there may still be room for that. It is written again with its batch.
    fn save_precious(&mut self, batches: &[Vec<Write>]) {
        let dropped: Vec<MessageKey> = batches
            .iter()
            .flatten()
            .filter_map(|write| match write {
                Write::OutboxGone { key } => Some(*key),
                _ => None,
            })
            .collect();
        let precious: Vec<Write> = batches
            .iter()
            .flatten()
            .filter(|write| {
                // An entry that goes with its row.
                if let Write::EntriesGone { keys, .. } = write {
                    return keys.iter().all(|key| dropped.contains(key));
                }
                matches!(
                    write,
                    Write::Outbox(_)
                        | Write::OutboxGone { .. }
                        | Write::Draft { .. }
                        | Write::Answering { .. }
                        | Write::AnswerGone { .. }
                )
            })
            .cloned()
            .collect();
        if precious.is_empty() {
            return;
        }
        if let Err(error) = self.transact(vec![precious], Durability::Full) {
            tracing::warn!(%error, "not even drafts could be stored");
        }
    }

    /// One transaction of several batches; one result for each.
    fn transact(
        &mut self,
        batches: Vec<Vec<Write>>,
        durability: Durability,
    ) -> Result<Vec<Result<Vec<Committed>, StoreError>>, StoreError> {
        let failed = |error: rusqlite::Error| StoreError::from_write(&error);
        self.set_durability(durability).map_err(failed)?;
        let mut audit = Vec::new();
        let mut changed_unsent = false;
        let mut results = Vec::with_capacity(batches.len());
        let mut transaction = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(failed)?;
        for writes in batches {
            match run_batch(&mut transaction, writes) {
                Ok((committed, applied)) => {
                    audit.extend(applied.audit);
                    changed_unsent |= applied.changed_unsent;
                    results.push(Ok(committed));
                }
                // Some failures (a full disk) undo the whole transaction at once.
                Err(error) if transaction.is_autocommit() => return Err(failed(error)),
                Err(error) => results.push(Err(failed(error))),
            }
        }
        history::index(&transaction).map_err(failed)?;
        transaction.commit().map_err(failed)?;
        self.sidecar_is_old |= changed_unsent && self.path.is_some();
        if let (false, Some(log)) = (audit.is_empty(), &self.audit)
            && let Err(error) = log.add(&audit)
        {
            tracing::error!(%error, "a line of the log of decisions was not written");
        }
        Ok(results)
    }

    fn set_durability(&mut self, durability: Durability) -> rusqlite::Result<()> {
        if self.durability != Some(durability) {
            let level = match durability {
                Durability::Full => "FULL",
                Durability::Normal => "NORMAL",
            };
            self.connection.pragma_update(None, "synchronous", level)?;
            self.durability = Some(durability);
        }
        Ok(())
    }

    fn write_sidecar(&mut self) {
        self.sidecar_is_old = false;
        let Some(path) = &self.path else { return };
        let written = unsent::read(&self.connection)
            .map_err(std::io::Error::other)
            .and_then(|unsent| sidecar::write(path, &unsent));
        if let Err(error) = written {
            tracing::warn!(%error, "the copy of unsent messages was not written");
        }
    }

    fn mark_damaged(&self) {
        if let (None, Some(path)) = (&self.read_only, &self.path) {
            database::mark_damaged(path);
        }
    }

    fn end(mut self) {
        if !self.backlog.is_empty() {
            // A last try; there may be room by now.
            self.commit_behind_backlog(Vec::new(), Durability::Full);
        }
        if self.sidecar_is_old {
            self.write_sidecar();
        }
        if self.read_only.is_none()
            && let Err(error) = self.connection.execute_batch("PRAGMA optimize")
        {
            tracing::debug!(%error, "the store was not optimised");
        }
        if let Err((_, error)) = self.connection.close() {
            tracing::warn!(%error, "the store was not closed well");
        }
    }
}

/// Takes all commits that wait, up to the first job of another kind.
fn drain(inbox: &Receiver<Job>, batches: &mut Vec<Batch>) -> Option<Job> {
    while batches.len() < DRAIN {
        match inbox.try_recv() {
            Ok(Job::Commit {
                writes,
                durability,
                done,
            }) => batches.push(Batch {
                writes,
                durability,
                done,
            }),
            Ok(other) => return Some(other),
            // When nobody is left, the next wait finds out.
            Err(TryRecvError::Empty | TryRecvError::Disconnected) => return None,
        }
    }
    None
}

fn run_batch(
    transaction: &mut Transaction<'_>,
    writes: Vec<Write>,
) -> rusqlite::Result<(Vec<Committed>, Applied)> {
    let savepoint = transaction.savepoint()?;
    let mut applied = Applied::default();
    for write in writes {
        apply(&savepoint, write, &mut applied)?;
    }
    let committed = applied.finish(&savepoint)?;
    savepoint.commit()?;
    Ok((committed, applied))
}

fn answer_close(done: &Sender<()>) {
    // The closer may have stopped waiting.
    let _ = done.send(());
}
