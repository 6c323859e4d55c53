//! Calls of tools and ends of runs in a timeline.

use super::lookup::remember;
use super::{Merger, Slot, set_order};
use crate::domain::{
    Entry, EntryBody, MessageKey, RemoteId, RunId, RunOutcome, ToolCall, ToolCallId, ToolStatus,
};

/// Entries written without being shown whose orders are remembered.
const UNSHOWN: usize = 512;
/// Calls seen live that are remembered as such.
const LIVE: usize = 128;

impl Merger<'_> {
    /// Merges a report of a tool into its call; the first one gives it its place.
    pub fn tool(&mut self, mut tool: ToolCall) -> MessageKey {
        if tool.status == ToolStatus::Running && tool.started.is_none() {
            tool.started = Some(self.now);
        }
        if let Some(slot) = self.timeline.find_tool(&tool.id) {
            let Some(entry) = self.timeline.at_mut(slot) else {
                return MessageKey(0);
            };
            let key = entry.key;
            if let EntryBody::Tool(old) = &mut entry.body {
                let before = old.clone();
                old.merge(tool);
                if *old != before {
                    self.changes.written.insert(key);
                    self.changes.is_visible = true;
                }
            }
            return key;
        }
        let key = MessageKey(self.ids.mint());
        self.append(Entry {
            key,
            order: 0,
            seen_at_ms: self.now.wall_ms,
            body: EntryBody::Tool(Box::new(tool)),
        });
        remember(&mut self.timeline.live_calls, (key, self.now), LIVE);
        key
    }

    /// Merges the end of a call that was missed. A new one stands behind the message `after`, and what
    /// was caught up on before it, and the calls that follow.
    pub fn missed_tool(&mut self, tool: ToolCall, after: Option<&RemoteId>, at_ms: Option<i64>) {
        if self.timeline.find_tool(&tool.id).is_some() {
            self.tool(tool);
            return;
        }
        let entry = Entry {
            key: MessageKey(self.ids.mint()),
            order: 0,
            seen_at_ms: at_ms.unwrap_or(self.now.wall_ms),
            body: EntryBody::Tool(Box::new(tool)),
        };
        let is_at_newest = self.timeline.is_at_newest();
        // Behind what was caught up on last, too: a message of the person may stand further up, where
        // it was said.
        let last = self.caught_up();
        let index_of = |remote: &RemoteId| match self.timeline.find_remote(remote) {
            Some(Slot::Window(at)) => Some(at),
            _ => None,
        };
        let Some(at) = after.and_then(index_of) else {
            match after {
                // Only the store knows that message.
                Some(after) if !is_at_newest || self.timeline.has_older => {
                    let mut entry = entry;
                    let order = self.next_order();
                    set_order(&mut entry, order);
                    self.set_aside(entry, [vec![after.clone()], last].concat());
                }
                _ => drop(self.append(entry)),
            }
            return;
        };
        let at = last
            .iter()
            .filter_map(index_of)
            .max()
            .map_or(at, |last| last.max(at));
        let entries = &self.timeline.entries;
        let calls = entries[at + 1..]
            .iter()
            .take_while(|entry| matches!(entry.body, EntryBody::Tool(_)))
            .count();
        let place = at + 1 + calls;
        if place == entries.len() && self.timeline.is_at_newest() {
            self.append(entry);
        } else {
            self.insert(place, vec![entry]);
        }
    }

    /// Has an entry written without being shown.
    pub fn set_aside(&mut self, entry: Entry, after: Vec<RemoteId>) {
        let timeline = &mut *self.timeline;
        let newest = timeline.newest_order.min(entry.order - 1);
        timeline.aside_from = Some(timeline.aside_from.map_or(newest, |from| from.min(newest)));
        // Only the store knows where a call comes to stand.
        if entry.message().is_some() {
            remember(&mut timeline.unshown, entry.order, UNSHOWN);
        }
        timeline.aside.push((entry, after));
    }

    /// A run that was thought to be over goes on: its line goes, and these calls run again.
    pub fn take_up(&mut self, run: &RunId, tools: &[ToolCallId]) {
        let line = self.timeline.find(
            |entry| matches!(&entry.body, EntryBody::RunEnded { run: known, .. } if known == run),
        );
        if let Some(slot) = line {
            self.remove(slot);
        }
        let timeline = &mut *self.timeline;
        for entry in timeline.entries.iter_mut().chain(timeline.tail.iter_mut()) {
            if let EntryBody::Tool(tool) = &mut entry.body
                && tool.status == ToolStatus::Cancelled
                && tools.contains(&tool.id)
            {
                tool.status = ToolStatus::Running;
                self.changes.written.insert(entry.key);
                self.changes.is_visible = true;
            }
        }
    }

    /// A call is known by its real id now. When both are there, they become one. False when it is
    /// not in memory.
    pub fn rekey_tool(&mut self, from: &ToolCallId, to: &ToolCallId) -> bool {
        if from == to {
            return true;
        }
        self.timeline.rename_call(from, to);
        let Some(old) = self.timeline.find_tool(from) else {
            return false;
        };
        if let Some(other) = self.timeline.find_tool(to) {
            let newer = match self.timeline.at(other).map(|entry| &entry.body) {
                Some(EntryBody::Tool(tool)) => Some((**tool).clone()),
                _ => None,
            };
            let key = self.timeline.at(old).map(|entry| entry.key);
            self.remove(other);
            if let (Some(key), Some(newer)) = (key, newer)
                && let Some(slot) = self.timeline.find_key(key)
                && let Some(Entry {
                    body: EntryBody::Tool(tool),
                    ..
                }) = self.timeline.at_mut(slot)
            {
                tool.merge(newer);
            }
        }
        let Some(slot) = self.timeline.find_tool(from) else {
            return true;
        };
        if let Some(entry) = self.timeline.at_mut(slot)
            && let EntryBody::Tool(tool) = &mut entry.body
        {
            tool.id = to.clone();
            self.changes.written.insert(entry.key);
            self.changes.is_visible = true;
        }
        true
    }

    /// Ends a call that seems to run. False when it is not in memory.
    pub fn lose_tool(&mut self, call: &ToolCallId) -> bool {
        let Some(slot) = self.timeline.find_tool(call) else {
            return false;
        };
        if let Some(entry) = self.timeline.at_mut(slot)
            && let EntryBody::Tool(tool) = &mut entry.body
            && tool.status == ToolStatus::Running
        {
            tool.status = ToolStatus::Cancelled;
            self.changes.written.insert(entry.key);
            self.changes.is_visible = true;
        }
        true
    }

    /// Ends the calls of a run that never said how they ended.
    pub fn end_tools(&mut self, run: Option<&RunId>, status: ToolStatus) {
        let timeline = &mut *self.timeline;
        for entry in timeline.entries.iter_mut().chain(timeline.tail.iter_mut()) {
            if let EntryBody::Tool(tool) = &mut entry.body
                && tool.status == ToolStatus::Running
                && (run.is_none() || tool.run.is_none() || tool.run.as_ref() == run)
            {
                tool.status = status;
                self.changes.written.insert(entry.key);
                self.changes.is_visible = true;
            }
        }
    }

    /// A run that was reported as failed goes on all the same; its line says nothing true any more.
    /// False when it did not fail.
    pub fn run_goes_on(&mut self, run: &RunId) -> bool {
        let failure = self.timeline.find(|entry| {
            matches!(
                &entry.body,
                EntryBody::RunEnded { run: known, outcome: RunOutcome::Failed { .. } } if known == run
            )
        });
        if let Some(slot) = failure {
            self.remove(slot);
        }
        failure.is_some()
    }

    /// A line that says how a run ended; once for each run.
    pub fn run_ended(&mut self, run: &RunId, outcome: RunOutcome) {
        let is_there = self.timeline.find(
            |entry| matches!(&entry.body, EntryBody::RunEnded { run: known, .. } if known == run),
        );
        if is_there.is_some() {
            return;
        }
        let key = MessageKey(self.ids.mint());
        self.append(Entry {
            key,
            order: 0,
            seen_at_ms: self.now.wall_ms,
            body: EntryBody::RunEnded {
                run: run.clone(),
                outcome,
            },
        });
    }
}
