//! Code colouring on a thread of its own, made when the first job comes: the grammars cost memory
//! and the first block of a language costs milliseconds, so neither start nor drawing waits.

use crate::render::highlight::Highlighter;
use crate::render::{Coloured, Job};
use std::collections::BTreeSet;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex};

/// Jobs that may wait; what does not fit is asked for again by the next frame.
const WAITING: usize = 64;

/// The thread and what it has done.
#[derive(Default)]
pub struct Colourist {
    jobs: Option<SyncSender<Job>>,
    done: Arc<Mutex<Vec<Coloured>>>,
    /// Jobs that were handed over and whose result was not taken yet.
    asked: BTreeSet<u64>,
    /// One of them is for a block that still grows; the next frame asks for more of it.
    is_growing: bool,
}

impl Colourist {
    /// Hands a job over; `notify` is called on the thread when results are there.
    pub fn colour(&mut self, job: Job, notify: impl Fn() + Send + 'static) {
        if self.asked.contains(&job.key()) || (job.is_growing() && self.is_growing) {
            return;
        }
        let jobs = match &self.jobs {
            Some(jobs) => jobs,
            None => {
                let (sender, receiver) = sync_channel::<Job>(WAITING);
                let done = Arc::clone(&self.done);
                let thread = std::thread::Builder::new()
                    .name("colours".to_owned())
                    .spawn(move || {
                        let mut highlighter = Highlighter::default();
                        while let Ok(job) = receiver.recv() {
                            let coloured = highlighter.colour(&job);
                            if let Ok(mut done) = done.lock() {
                                done.push(coloured);
                            }
                            notify();
                        }
                    });
                if thread.is_err() {
                    return;
                }
                self.jobs.insert(sender)
            }
        };
        let (key, is_growing) = (job.key(), job.is_growing());
        if jobs.try_send(job).is_ok() {
            self.asked.insert(key);
            self.is_growing |= is_growing;
        }
    }

    /// What was coloured since the last call.
    pub fn take(&mut self) -> Vec<Coloured> {
        let coloured = self
            .done
            .lock()
            .map(|mut done| std::mem::take(&mut *done))
            .unwrap_or_default();
        for one in &coloured {
            self.asked.remove(&one.key());
            if one.is_growing() {
                self.is_growing = false;
            }
        }
        coloured
    }
}
