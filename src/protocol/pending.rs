//! Requests in flight: what each was for, and until when its answer is awaited. Ids on the wire
//! are a prefix out of the shell's random seed plus a counter, so that the ids of other clients of
//! the same server never match ours.

use crate::domain::Moment;
use std::collections::BTreeMap;
use std::time::Duration;

/// Makes ids for the wire.
#[derive(Debug)]
pub(crate) struct WireIds {
    prefix: String,
    counter: u64,
}

impl WireIds {
    /// Ids that start with the first bytes of the seed.
    pub(crate) fn new(seed: &[u8; 16]) -> Self {
        let prefix = seed[..6].iter().map(|byte| format!("{byte:02x}")).collect();
        Self { prefix, counter: 0 }
    }

    /// The next id.
    pub(crate) fn mint(&mut self) -> String {
        self.counter += 1;
        format!("{}-{}", self.prefix, self.counter)
    }
}

/// One request that waits for its answer.
#[derive(Debug)]
struct Waiting<K> {
    /// Order of asking.
    number: u64,
    kind: K,
    deadline: Moment,
}

/// All requests that wait for their answers.
#[derive(Debug)]
pub(crate) struct Pending<K> {
    waiting: BTreeMap<String, Waiting<K>>,
    count: u64,
}

impl<K> Default for Pending<K> {
    fn default() -> Self {
        Self {
            waiting: BTreeMap::new(),
            count: 0,
        }
    }
}

impl<K> Pending<K> {
    /// Notes a request that was just written.
    pub(crate) fn insert(&mut self, id: String, kind: K, now: Moment, patience: Duration) {
        self.count += 1;
        self.waiting.insert(
            id,
            Waiting {
                number: self.count,
                kind,
                deadline: now.after(patience),
            },
        );
    }

    /// The request with this id, which is answered now.
    pub(crate) fn take(&mut self, id: &str) -> Option<K> {
        self.waiting.remove(id).map(|waiting| waiting.kind)
    }

    /// The request with this id.
    pub(crate) fn get(&self, id: &str) -> Option<&K> {
        self.waiting.get(id).map(|waiting| &waiting.kind)
    }

    /// Whether a request like this is in flight.
    pub(crate) fn any(&self, matches: impl Fn(&K) -> bool) -> bool {
        self.waiting.values().any(|waiting| matches(&waiting.kind))
    }

    /// The oldest request that matches, to be changed.
    pub(crate) fn find_mut(&mut self, matches: impl Fn(&K) -> bool) -> Option<&mut K> {
        self.waiting
            .values_mut()
            .filter(|waiting| matches(&waiting.kind))
            .min_by_key(|waiting| waiting.number)
            .map(|waiting| &mut waiting.kind)
    }

    /// Takes the oldest request that matches.
    pub(crate) fn take_first(&mut self, matches: impl Fn(&K) -> bool) -> Option<K> {
        let id = self
            .waiting
            .iter()
            .filter(|(_, waiting)| matches(&waiting.kind))
            .min_by_key(|(_, waiting)| waiting.number)
            .map(|(id, _)| id.clone())?;
        self.take(&id)
    }

    /// Takes every request whose deadline has come, in the order of asking.
    pub(crate) fn expire(&mut self, now: Moment) -> Vec<(String, K)> {
        let mut due: Vec<(u64, String)> = self
            .waiting
            .iter()
            .filter(|(_, waiting)| waiting.deadline.mono_ms <= now.mono_ms)
            .map(|(id, waiting)| (waiting.number, id.clone()))
            .collect();
        due.sort();
        due.into_iter()
            .filter_map(|(_, id)| self.take(&id).map(|kind| (id, kind)))
            .collect()
    }

    /// Takes everything, in the order of asking: the link is gone.
    pub(crate) fn drain(&mut self) -> Vec<(String, K)> {
        let mut all: Vec<(u64, String, K)> = std::mem::take(&mut self.waiting)
            .into_iter()
            .map(|(id, waiting)| (waiting.number, id, waiting.kind))
            .collect();
        all.sort_by_key(|(number, ..)| *number);
        all.into_iter().map(|(_, id, kind)| (id, kind)).collect()
    }

    /// The next deadline.
    pub(crate) fn deadline(&self) -> Option<Moment> {
        self.waiting.values().map(|waiting| waiting.deadline).min()
    }
}
