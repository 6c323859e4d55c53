//! Finding entries of a timeline again, by key, remote id, former id or call.

use super::{Slot, is_settled};
use crate::app::state::Timeline;
use crate::domain::{Entry, EntryBody, Message, MessageKey, RemoteId, ToolCallId};

/// Entries kept in the tail besides those that still change.
const TAIL: usize = 64;
/// Deleted messages remembered here; the store remembers all of them.
const BURIED: usize = 256;
/// Entries that were taken out, remembered here.
const GONE: usize = 256;
/// Former ids of messages remembered.
const ALIASES: usize = 64;

/// Adds to a list of so many at most; the oldest goes.
pub(super) fn remember<T>(list: &mut Vec<T>, item: T, limit: usize) {
    list.push(item);
    let extra = list.len().saturating_sub(limit);
    list.drain(..extra);
}

impl Timeline {
    /// Whether the window reaches the newest entry, so that a new one joins on.
    pub fn is_at_newest(&self) -> bool {
        self.is_loaded && !self.has_newer
    }

    /// All entries in memory, oldest first.
    pub fn all(&self) -> impl DoubleEndedIterator<Item = &Entry> {
        self.entries.iter().chain(self.tail.iter())
    }

    /// The entry with this key.
    pub fn entry(&self, key: MessageKey) -> Option<&Entry> {
        self.all().rev().find(|entry| entry.key == key)
    }

    /// The message with this remote id.
    pub fn message(&self, remote: &RemoteId) -> Option<&Message> {
        self.all()
            .rev()
            .filter_map(Entry::message)
            .find(|message| message.remote.as_ref() == Some(remote))
    }

    /// Place of the entry with this key in the window.
    pub fn index_of(&self, key: MessageKey) -> Option<usize> {
        self.entries.iter().position(|entry| entry.key == key)
    }

    pub(super) fn find(&self, is_it: impl Fn(&Entry) -> bool) -> Option<Slot> {
        if let Some(index) = self.tail.iter().rposition(&is_it) {
            return Some(Slot::Tail(index));
        }
        self.entries.iter().rposition(&is_it).map(Slot::Window)
    }

    /// Where the message with this remote id is, by the id it has now or had before.
    pub fn find_remote(&self, remote: &RemoteId) -> Option<Slot> {
        self.find(|entry| {
            entry
                .message()
                .is_some_and(|message| message.remote.as_ref() == Some(remote))
        })
        .or_else(|| {
            let (_, key) = self.aliases.iter().find(|(alias, _)| alias == remote)?;
            self.find_key(*key)
        })
    }

    /// Remembers another id of a message.
    pub fn alias(&mut self, remote: RemoteId, key: MessageKey) {
        self.aliases.retain(|(alias, _)| *alias != remote);
        remember(&mut self.aliases, (remote, key), ALIASES);
    }

    /// Where the entry with this key is.
    pub fn find_key(&self, key: MessageKey) -> Option<Slot> {
        self.find(|entry| entry.key == key)
    }

    /// Where this call of a tool is.
    pub fn find_tool(&self, id: &ToolCallId) -> Option<Slot> {
        self.find(|entry| matches!(&entry.body, EntryBody::Tool(tool) if tool.id == *id))
    }

    /// The entry in a slot.
    pub fn at(&self, slot: Slot) -> Option<&Entry> {
        match slot {
            Slot::Window(index) => self.entries.get(index),
            Slot::Tail(index) => self.tail.get(index),
        }
    }

    /// The entry in a slot, to be changed.
    pub fn at_mut(&mut self, slot: Slot) -> Option<&mut Entry> {
        match slot {
            Slot::Window(index) => self.entries.get_mut(index),
            Slot::Tail(index) => self.tail.get_mut(index),
        }
    }

    /// Takes an entry out.
    pub fn take(&mut self, slot: Slot) -> Entry {
        match slot {
            Slot::Window(index) => self.entries.remove(index),
            Slot::Tail(index) => self.tail.remove(index),
        }
    }

    /// Remembers that a message was deleted, so that a late report does not bring it back.
    pub fn bury(&mut self, remote: &RemoteId) {
        if !self.buried.contains(remote) {
            remember(&mut self.buried, remote.clone(), BURIED);
        }
    }

    /// Remembers another id of a call, for what the store still has by the former one.
    pub fn rename_call(&mut self, from: &ToolCallId, to: &ToolCallId) {
        let names = (from.clone(), to.clone());
        remember(&mut self.renamed_calls, names, ALIASES);
    }

    /// Remembers that an entry was taken out, so that a store which could not be told does not bring
    /// it back.
    pub fn forget(&mut self, key: MessageKey) {
        remember(&mut self.gone, key, GONE);
    }

    /// The entry is here again: a message that went back into the queue is sent.
    pub fn come_back(&mut self, key: MessageKey) {
        self.gone.retain(|known| *known != key);
    }

    pub(super) fn is_buried(&self, remote: Option<&RemoteId>) -> bool {
        remote.is_some_and(|remote| self.buried.contains(remote))
    }

    /// Forgets entries of the tail that will not change any more and are in the store.
    pub fn prune_tail(&mut self) {
        let mut extra = self.tail.len().saturating_sub(TAIL);
        let unsaved = &self.unsaved;
        self.tail.retain(|entry| {
            let settled = is_settled(entry) && !unsaved.contains_key(&entry.key);
            let drop = extra > 0 && settled;
            extra -= usize::from(drop);
            !drop
        });
    }
}
