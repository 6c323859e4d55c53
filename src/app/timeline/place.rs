//! Places of entries: orders that fit between neighbours, and neighbours that move apart.

use super::{Merger, Slot, set_order};
use crate::domain::{
    Author, Entry, EntryBody, MessageKey, MessageSort, Moment, ORDER_STEP, RemoteId,
};

/// How far back a missed message looks for its place.
const LATE: usize = 200;
/// So much of the room before what came later is left for what is still missed.
const MORE: i64 = 1024;

impl Merger<'_> {
    /// The order of the next entry at the end.
    pub fn next_order(&mut self) -> i64 {
        let timeline = &mut *self.timeline;
        let last = timeline.all().map(|entry| entry.order).max().unwrap_or(0);
        timeline.newest_order = timeline.newest_order.max(last) + ORDER_STEP;
        timeline.newest_order
    }

    /// Adds an entry that the window does not reach.
    pub(super) fn add_to_tail(&mut self, mut entry: Entry, order: i64) {
        set_order(&mut entry, order);
        self.timeline.come_back(entry.key);
        self.changes.written.insert(entry.key);
        self.changes.is_visible = true;
        self.timeline.tail.push(entry);
    }

    /// Puts an entry behind everything else.
    pub fn append(&mut self, mut entry: Entry) -> Slot {
        let order = self.next_order();
        set_order(&mut entry, order);
        self.timeline.come_back(entry.key);
        self.changes.written.insert(entry.key);
        self.changes.is_visible = true;
        if entry
            .message()
            .is_some_and(|message| message.author != Author::User)
        {
            self.changes.appended += 1;
        }
        if self.timeline.is_at_newest() {
            self.timeline.entries.push(entry);
            Slot::Window(self.timeline.entries.len() - 1)
        } else {
            self.timeline.tail.push(entry);
            Slot::Tail(self.timeline.tail.len() - 1)
        }
    }

    /// The messages that were caught up on last over this link.
    pub fn caught_up(&self) -> Vec<RemoteId> {
        let caught_up = self.timeline.caught_up.iter().flatten();
        let mut last: Vec<RemoteId> = caught_up
            .filter(|(_, at)| at.mono_ms >= self.link_since.mono_ms)
            .map(|(remote, _)| remote.clone())
            .collect();
        last.dedup();
        last
    }

    /// Whether an entry came after a message that was missed and sent at this time: it says so, or it
    /// began over the present link. What was caught up on before it did not. None when that does not
    /// show, as with messages of ours that only our own clock has dated.
    fn came_later(&self, entry: &Entry, sent_ms: i64) -> Option<bool> {
        let is_of_now = |at: &Moment| at.mono_ms >= self.link_since.mono_ms;
        match &entry.body {
            EntryBody::Message(message) => {
                let mut caught_up = self.timeline.caught_up.iter().flatten();
                let is_last = caught_up
                    .any(|(remote, at)| message.remote.as_ref() == Some(remote) && is_of_now(at));
                match message.sent_at_ms {
                    _ if is_last => Some(false),
                    Some(_) if message.remote.is_none() => None,
                    Some(at) => Some(at > sent_ms),
                    None => (message.is_streaming && entry.seen_at_ms >= self.link_since.wall_ms)
                        .then_some(true),
                }
            }
            EntryBody::Tool(_) => {
                let mut live = self.timeline.live_calls.iter();
                live.any(|(key, at)| *key == entry.key && is_of_now(at))
                    .then_some(true)
            }
            _ => None,
        }
    }

    /// Where a message that was missed stands among those that came in since: before messages that
    /// came later. Only the end is looked at.
    pub(super) fn late_index(&self, entry: &Entry) -> Option<usize> {
        let sent = entry.message()?.sent_at_ms?;
        if !self.timeline.is_at_newest() {
            return None;
        }
        let entries = &self.timeline.entries;
        let mut index = entries.len();
        for (i, other) in entries.iter().enumerate().rev().take(LATE) {
            match self.came_later(other, sent) {
                Some(true) => index = i,
                Some(false) => break,
                None => {}
            }
        }
        (index < entries.len()).then_some(index)
    }

    /// A message that was seen to begin before others were caught up on says only now when it was
    /// sent: it stands behind what the agent said before that.
    pub(super) fn settle(&mut self, key: MessageKey) {
        let Some(at) = self.timeline.index_of(key) else {
            return;
        };
        let entries = &self.timeline.entries;
        let Some(sent) = entries[at].message().and_then(|message| message.sent_at_ms) else {
            return;
        };
        let end = entries.len().min(at + 1 + LATE);
        let last = entries[at + 1..end].iter().rposition(|other| {
            other.message().is_some_and(|message| {
                message.author != Author::User && message.sent_at_ms.is_some_and(|at| at < sent)
            })
        });
        if let Some(last) = last {
            self.move_to(key, at + 1 + last + 1);
        }
    }

    /// An order for a missed message before what came later, where there is room for one more: among
    /// what is in memory, and what was written without being shown.
    pub fn order_among_later(&self, entry: &Entry) -> Option<i64> {
        let sent = entry.message()?.sent_at_ms?;
        let timeline = &*self.timeline;
        let window: &[Entry] = match timeline.is_at_newest() {
            true => &timeline.entries,
            false => &[],
        };
        let here = window.iter().chain(&timeline.tail);
        let here = here.map(|other| (other.order, self.came_later(other, sent)));
        // They were caught up on before this one.
        let beside = timeline.unshown.iter().map(|order| (*order, Some(false)));
        let mut places: Vec<(i64, Option<bool>)> = here.chain(beside).collect();
        places.sort_unstable();
        let mut place = None;
        for (i, (_, is_later)) in places.iter().enumerate().rev() {
            match is_later {
                Some(true) => place = Some(i),
                Some(false) => break,
                None => {}
            }
        }
        let index = place?;
        let (after, _) = *places.get(index)?;
        let before = match index.checked_sub(1).and_then(|i| places.get(i)) {
            Some((before, _)) => (*before).max(after - ORDER_STEP),
            None => after - ORDER_STEP,
        };
        // More of them follow, each behind the one before.
        let order = before + ((after - before) / MORE).max(1);
        (order < after).then_some(order)
    }

    /// Inserts entries into the window so that they stand before what is at `index` now. Their
    /// orders fit between the neighbours; when there is no room, the neighbours move apart.
    pub fn insert(&mut self, index: usize, mut entries: Vec<Entry>) {
        let count = entries.len() as i64;
        if count == 0 {
            return;
        }
        for entry in &entries {
            self.timeline.come_back(entry.key);
        }
        let index = index.min(self.timeline.entries.len());
        if index == self.timeline.entries.len() && self.timeline.is_at_newest() {
            for mut entry in entries {
                let order = self.next_order();
                set_order(&mut entry, order);
                self.changes.written.insert(entry.key);
                self.timeline.entries.push(entry);
            }
            self.changes.is_visible = true;
            return;
        }
        let (mut low, mut step) = self.room(index, count);
        if step < 1 {
            self.spread(index, count);
            (low, step) = self.room(index, count);
        }
        for (i, entry) in entries.iter_mut().enumerate() {
            set_order(entry, low + step.max(1) * (i as i64 + 1));
            self.changes.written.insert(entry.key);
        }
        if index == 0
            && let Some(first) = entries.first()
        {
            self.timeline.oldest_order = self.timeline.oldest_order.min(first.order);
        }
        self.timeline.entries.splice(index..index, entries);
        self.changes.is_visible = true;
    }

    /// Takes a deleted message out. A line that says so stands in its place, one for neighbours.
    pub fn delete(&mut self, slot: Slot) {
        let message = self.timeline.at(slot).and_then(Entry::message);
        let was_shown = message.is_some_and(|message| message.sort != MessageSort::Aside);
        // Dated like the message, so that no day line comes to stand around it.
        let dated = message.map(|message| message.sent_at_ms.unwrap_or(message.seen_at_ms));
        self.remove(slot);
        let Slot::Window(index) = slot else {
            return;
        };
        if !was_shown {
            return;
        }
        let neighbour = [index.checked_sub(1), Some(index)]
            .into_iter()
            .flatten()
            .find_map(|at| {
                let entry = self.timeline.entries.get_mut(at)?;
                match &mut entry.body {
                    EntryBody::Deleted { count } => {
                        *count += 1;
                        Some(entry.key)
                    }
                    _ => None,
                }
            });
        match neighbour {
            Some(key) => {
                self.changes.written.insert(key);
            }
            None => {
                let entry = Entry {
                    key: MessageKey(self.ids.mint()),
                    order: 0,
                    seen_at_ms: dated.unwrap_or(self.now.wall_ms),
                    body: EntryBody::Deleted { count: 1 },
                };
                self.insert(index, vec![entry]);
            }
        }
    }

    /// The order before the place and the step of `count` entries there.
    pub(super) fn room(&self, index: usize, count: i64) -> (i64, i64) {
        let timeline = &*self.timeline;
        let before = index
            .checked_sub(1)
            .and_then(|i| timeline.entries.get(i))
            .map(|entry| entry.order);
        let after = timeline.entries.get(index).map(|entry| entry.order);
        match (before, after) {
            (Some(before), Some(after)) => (before, (after - before) / (count + 1)),
            (Some(before), None) => (before, ORDER_STEP / (count + 1)),
            // Older entries in the store stand at least one step away from the window.
            (None, Some(after)) if timeline.has_older => {
                (after - ORDER_STEP / 2, ORDER_STEP / 2 / (count + 1))
            }
            (None, Some(after)) => (after - ORDER_STEP * (count + 1), ORDER_STEP),
            (None, None) => (timeline.newest_order, ORDER_STEP),
        }
    }

    /// Moves neighbours apart until `count` more entries fit at `index`.
    pub(super) fn spread(&mut self, index: usize, count: i64) {
        let entries = &mut self.timeline.entries;
        let (mut low, mut high) = (index.saturating_sub(1), index.min(entries.len() - 1));
        loop {
            let can_go_down = low > 0;
            let can_go_up = high + 1 < entries.len();
            let places = (high - low) as i64 + count + 1;
            let span = entries[high].order - entries[low].order;
            if span / places >= 1024 || (!can_go_down && !can_go_up) {
                break;
            }
            low = low.saturating_sub(1);
            high = (high + 1).min(entries.len() - 1);
        }
        let places = (high - low) as i64 + count;
        let first = entries[low].order;
        let mut step = (entries[high].order - first) / places.max(1);
        if step < 1024 && high + 1 == entries.len() && !self.timeline.has_newer {
            step = ORDER_STEP;
        }
        for (i, entry) in entries[low..=high].iter_mut().enumerate() {
            let place = i as i64 + if low + i >= index { count } else { 0 };
            let order = first + step * place;
            if entry.order != order {
                set_order(entry, order);
                self.changes.moved.insert(entry.key);
            }
        }
    }

    /// Puts an entry of the window before what is at `index` now.
    pub fn move_to(&mut self, key: MessageKey, index: usize) {
        let Some(from) = self.timeline.index_of(key) else {
            return;
        };
        if from == index || from + 1 == index {
            return;
        }
        let entry = self.timeline.take(Slot::Window(from));
        self.changes.moved.insert(key);
        self.insert(if from < index { index - 1 } else { index }, vec![entry]);
    }

    /// Puts an entry that is in the window or tail behind everything else.
    pub fn move_to_end(&mut self, key: MessageKey) {
        let Some(slot) = self.timeline.find_key(key) else {
            return;
        };
        let is_last = match slot {
            Slot::Window(index) => index + 1 == self.timeline.entries.len(),
            Slot::Tail(index) => index + 1 == self.timeline.tail.len(),
        };
        if is_last {
            return;
        }
        let mut entry = self.timeline.take(slot);
        let order = self.next_order();
        set_order(&mut entry, order);
        self.changes.moved.insert(key);
        self.changes.is_visible = true;
        if self.timeline.is_at_newest() {
            self.timeline.entries.push(entry);
        } else {
            self.timeline.tail.push(entry);
        }
    }
}
