//! Pure merging on the window of a timeline: finding entries again, placing new ones, growing texts.
//! Every operation is idempotent and keeps keys. What changed is collected, so that the caller
//! writes just that. Pages and snapshots are in `pages`.
//!
//! A new entry joins the window when the window reaches the newest entry of the store; otherwise it
//! waits in the tail, where it can still grow, until the window comes to it.

use super::state::{Ids, Timeline};
use crate::domain::{
    Author, Delivery, Entry, EntryBody, Footer, IncomingMessage, Message, MessageKey, Moment,
    ORDER_STEP, OutboxRecord, Part, RemoteId, RunId, RunOutcome, TextPatch, ToolCall, ToolCallId,
    ToolStatus,
};
use std::collections::BTreeSet;

/// Entries kept in the tail besides those that still change.
const TAIL: usize = 64;
/// Deleted messages remembered here; the store remembers all of them.
const BURIED: usize = 256;
/// Former ids of messages remembered.
const ALIASES: usize = 64;
/// Wall clocks of server and client may differ by so much when a message is matched by its time.
const CLOCK_SKEW_MS: i64 = 10 * 60 * 1000;

/// What a merge did.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Changes {
    /// Entries to be written.
    pub written: BTreeSet<MessageKey>,
    /// Entries that grew; writing them may wait a little.
    pub grown: BTreeSet<MessageKey>,
    pub gone: Vec<MessageKey>,
    /// Entries that got another order.
    pub moved: BTreeSet<MessageKey>,
    /// Messages of others that were added at the end.
    pub appended: u32,
    /// Own messages that the server turned out to have.
    pub proven: Vec<MessageKey>,
    /// Something on screen may look different.
    pub is_visible: bool,
}

/// An own message that may be met again in an echo or in history.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Own {
    pub key: MessageKey,
    pub text: String,
    pub created_ms: i64,
}

impl Own {
    /// The messages among these rows of which the server may have a copy already.
    pub fn of<'a>(rows: impl Iterator<Item = &'a OutboxRecord>) -> Vec<Self> {
        rows.filter(|row| {
            matches!(
                row.delivery,
                Delivery::InFlight | Delivery::Uncertain | Delivery::Accepted | Delivery::Read
            )
        })
        .map(|row| Self {
            key: row.key,
            text: row.text.clone(),
            created_ms: row.created_ms,
        })
        .collect()
    }
}

/// Where an entry is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Slot {
    Window(usize),
    Tail(usize),
}

/// One merge on one timeline.
pub struct Merger<'a> {
    pub timeline: &'a mut Timeline,
    pub ids: &'a mut Ids,
    pub now: Moment,
    pub own: Vec<Own>,
    pub changes: Changes,
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

    fn find(&self, is_it: impl Fn(&Entry) -> bool) -> Option<Slot> {
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
        self.aliases.push((remote, key));
        let extra = self.aliases.len().saturating_sub(ALIASES);
        self.aliases.drain(..extra);
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
            self.buried.push(remote.clone());
            let extra = self.buried.len().saturating_sub(BURIED);
            self.buried.drain(..extra);
        }
    }

    fn is_buried(&self, remote: Option<&RemoteId>) -> bool {
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

/// Whether nothing will change in this entry by itself.
pub fn is_settled(entry: &Entry) -> bool {
    match &entry.body {
        EntryBody::Message(message) => {
            !message.is_streaming
                && !matches!(
                    message.delivery,
                    Some(Delivery::InFlight | Delivery::Uncertain | Delivery::Failed(_))
                )
        }
        EntryBody::Tool(tool) => tool.status != ToolStatus::Running,
        EntryBody::RunEnded { .. } | EntryBody::Gap { .. } => true,
    }
}

/// Gives an entry its place.
pub fn set_order(entry: &mut Entry, order: i64) {
    entry.order = order;
    if let Some(message) = entry.message_mut() {
        message.order = order;
    }
}

/// Whether two texts are the same message: white space around them does not count.
pub fn same_text(a: &str, b: &str) -> bool {
    a.trim() == b.trim()
}

/// Takes over every part of a footer that is there.
fn merge_footer(old: &mut Footer, new: Footer) {
    fn take<T>(old: &mut Option<T>, new: Option<T>) {
        if new.is_some() {
            *old = new;
        }
    }
    take(&mut old.model, new.model);
    take(&mut old.tokens_in, new.tokens_in);
    take(&mut old.tokens_out, new.tokens_out);
    take(&mut old.tokens_cached, new.tokens_cached);
    take(&mut old.tokens, new.tokens);
    take(&mut old.context_percent, new.context_percent);
    take(&mut old.directory, new.directory);
    take(&mut old.latency_ms, new.latency_ms);
    take(&mut old.cost_micro_usd, new.cost_micro_usd);
}

/// Takes over what a newer report of a message says. True when something changed.
pub fn merge_message(message: &mut Message, newer: IncomingMessage, is_history: bool) -> bool {
    let before = message.clone();
    // A partial text that comes after the whole one is late.
    let is_late = newer.is_streaming && !message.is_streaming;
    if !is_late && (!newer.text.is_empty() || message.body.is_empty()) {
        message.body.apply(TextPatch::Replace(newer.text));
    }
    if let Some(reasoning) = newer.reasoning
        && !is_late
    {
        message.reasoning.apply(TextPatch::Replace(reasoning));
    }
    if !is_late {
        message.is_streaming = newer.is_streaming;
        message.is_interrupted = newer.is_interrupted && !newer.is_streaming;
    }
    if newer.remote.is_some() {
        message.remote = newer.remote;
    }
    message.author = newer.author;
    message.sort = newer.sort;
    if message.delivery.is_some() && !newer.attachments.is_empty() {
        // The server's files take the place of ours.
        message.attachments.retain(|id| !super::media::is_local(id));
    }
    for attachment in newer.attachments {
        if !message.attachments.contains(&attachment.id) {
            message.attachments.push(attachment.id);
        }
    }
    message.reply_to = newer.reply_to.or(message.reply_to.take());
    message.sent_at_ms = newer.sent_at_ms.or(message.sent_at_ms);
    message.run = newer.run.or(message.run.take());
    message.command = message.command.or(newer.command);
    merge_footer(&mut message.footer, newer.footer);
    if message.delivery.is_some() && message.delivery != Some(Delivery::Read) {
        message.delivery = Some(Delivery::Accepted);
    }
    if is_history {
        message.is_seen_live_only = false;
    }
    *message != before
}

impl Merger<'_> {
    /// The order of the next entry at the end.
    pub fn next_order(&mut self) -> i64 {
        let timeline = &mut *self.timeline;
        let last = timeline.all().map(|entry| entry.order).max().unwrap_or(0);
        timeline.newest_order = timeline.newest_order.max(last) + ORDER_STEP;
        timeline.newest_order
    }

    /// A message as it comes in.
    pub fn make(&mut self, message: IncomingMessage, is_history: bool) -> Entry {
        let key = MessageKey(self.ids.mint());
        self.make_with(key, message, is_history)
    }

    fn make_with(&self, key: MessageKey, message: IncomingMessage, is_history: bool) -> Entry {
        let mut made = Message {
            key,
            order: 0,
            remote: None,
            author: message.author,
            sort: message.sort,
            body: Default::default(),
            reasoning: Default::default(),
            attachments: Vec::new(),
            reply_to: None,
            sent_at_ms: None,
            seen_at_ms: self.now.wall_ms,
            run: None,
            delivery: None,
            command: None,
            footer: Footer::default(),
            is_streaming: message.is_streaming,
            is_interrupted: false,
            is_seen_live_only: !is_history,
        };
        merge_message(&mut made, message, is_history);
        Entry {
            key,
            order: 0,
            seen_at_ms: self.now.wall_ms,
            body: EntryBody::Message(Box::new(made)),
        }
    }

    /// Puts an entry behind everything else.
    pub fn append(&mut self, mut entry: Entry) -> Slot {
        let order = self.next_order();
        set_order(&mut entry, order);
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

    /// Takes a message: the one with its remote id, our own that it echoes, or a new one. `place`
    /// asks to stand before messages that were sent later.
    pub fn upsert(&mut self, message: IncomingMessage, is_late: bool) -> Option<MessageKey> {
        if self.timeline.is_buried(message.remote.as_ref()) {
            return None;
        }
        let slot = message
            .remote
            .as_ref()
            .and_then(|remote| self.timeline.find_remote(remote))
            .or_else(|| self.find_own(&message));
        if let Some(slot) = slot {
            let mut message = message;
            let is_alias = message.remote.as_ref().is_some_and(|remote| {
                self.timeline
                    .aliases
                    .iter()
                    .any(|(alias, _)| alias == remote)
            });
            if is_alias {
                // History's id stays.
                message.remote = None;
            }
            return Some(self.replace(slot, message, false));
        }
        if let Some(own) = self.own_by_text(&message) {
            // The row is known, its entry is not in memory: the store keeps its order.
            let mut entry = self.make_with(own, message, false);
            if let Some(message) = entry.message_mut() {
                message.delivery = Some(Delivery::Accepted);
            }
            self.changes.proven.push(own);
            self.append(entry);
            return Some(own);
        }
        let entry = self.make(message, false);
        let key = entry.key;
        let index = if is_late {
            self.late_index(&entry)
        } else {
            None
        };
        match index {
            Some(index) => self.insert(index, vec![entry]),
            None => {
                self.append(entry);
            }
        }
        Some(key)
    }

    fn replace(&mut self, slot: Slot, message: IncomingMessage, is_history: bool) -> MessageKey {
        let Some(entry) = self.timeline.at_mut(slot) else {
            return MessageKey(0);
        };
        let key = entry.key;
        let Some(old) = entry.message_mut() else {
            return key;
        };
        if merge_message(old, message, is_history) {
            self.changes.written.insert(key);
            self.changes.is_visible = true;
        }
        if old.delivery.is_some() {
            self.changes.proven.push(key);
        }
        key
    }

    /// Merges into the entry in this slot what history says of it.
    pub fn confirm(&mut self, slot: Slot, message: IncomingMessage) -> MessageKey {
        let before = self
            .timeline
            .at(slot)
            .and_then(|entry| entry.message())
            .and_then(|known| known.remote.clone());
        let key = self.replace(slot, message.clone(), true);
        if let Some(before) = before
            && message.remote.is_some()
            && message.remote.as_ref() != Some(&before)
        {
            self.timeline.alias(before, key);
        }
        key
    }

    /// Our own message that this is the echo of: by command, else by its text, the oldest first.
    fn find_own(&self, message: &IncomingMessage) -> Option<Slot> {
        if let Some(command) = message.command {
            let by_command = self.timeline.find(|entry| {
                entry
                    .message()
                    .is_some_and(|own| own.delivery.is_some() && own.command == Some(command))
            });
            if by_command.is_some() {
                return by_command;
            }
        }
        if message.author != Author::User {
            return None;
        }
        let is_it = |entry: &Entry| {
            entry.message().is_some_and(|own| {
                own.remote.is_none()
                    && may_have_arrived(own.delivery.as_ref())
                    && same_text(own.body.raw(), &message.text)
                    && sent_after(message.sent_at_ms, own.sent_at_ms.unwrap_or(own.seen_at_ms))
            })
        };
        if let Some(index) = self.timeline.entries.iter().position(is_it) {
            return Some(Slot::Window(index));
        }
        self.timeline.tail.iter().position(is_it).map(Slot::Tail)
    }

    fn own_by_text(&self, message: &IncomingMessage) -> Option<MessageKey> {
        if message.author != Author::User {
            return None;
        }
        self.own
            .iter()
            .find(|own| {
                same_text(&own.text, &message.text)
                    && sent_after(message.sent_at_ms, own.created_ms)
                    && self.timeline.find_key(own.key).is_none()
                    && !self.changes.proven.contains(&own.key)
            })
            .map(|own| own.key)
    }

    /// Where a message that was missed stands among those that came in since: before messages that
    /// say they were sent later. Only the end is looked at.
    fn late_index(&self, entry: &Entry) -> Option<usize> {
        let sent = entry.message()?.sent_at_ms?;
        if !self.timeline.is_at_newest() {
            return None;
        }
        let entries = &self.timeline.entries;
        let mut index = entries.len();
        for (i, other) in entries.iter().enumerate().rev().take(200) {
            match other.message() {
                Some(message) if message.sent_at_ms.is_some_and(|at| at > sent) => index = i,
                Some(message) if message.sent_at_ms.is_some() => break,
                _ => {}
            }
        }
        (index < entries.len()).then_some(index)
    }

    /// Changes a text of a message; one that is not there yet is made.
    pub fn patch(
        &mut self,
        remote: &RemoteId,
        run: Option<RunId>,
        part: Part,
        patch: TextPatch,
    ) -> MessageKey {
        let Some(slot) = self.timeline.find_remote(remote) else {
            if self.timeline.is_buried(Some(remote)) {
                return MessageKey(0);
            }
            let mut message = IncomingMessage {
                remote: Some(remote.clone()),
                author: Author::Assistant,
                run,
                is_streaming: true,
                ..IncomingMessage::default()
            };
            let (TextPatch::Replace(text) | TextPatch::Append(text)) = patch;
            match part {
                Part::Body => message.text = text,
                Part::Reasoning => message.reasoning = Some(text),
            }
            let entry = self.make(message, false);
            let key = entry.key;
            self.append(entry);
            return key;
        };
        let Some(entry) = self.timeline.at_mut(slot) else {
            return MessageKey(0);
        };
        let key = entry.key;
        let Some(message) = entry.message_mut() else {
            return key;
        };
        let text = match part {
            Part::Body => &mut message.body,
            Part::Reasoning => &mut message.reasoning,
        };
        if !message.is_streaming {
            // What comes after the end is late, unless it says more than the end did.
            let says_more = match &patch {
                TextPatch::Replace(new) => !text.raw().trim_end().starts_with(new.trim_end()),
                TextPatch::Append(_) => false,
            };
            if !says_more {
                return key;
            }
            message.is_streaming = true;
            message.is_interrupted = false;
        }
        if message.run.is_none() {
            message.run = run;
        }
        if text.apply(patch) {
            self.changes.grown.insert(key);
            self.changes.is_visible = true;
        }
        key
    }

    /// Ends a message. One without anything in it is taken out again.
    #[allow(clippy::too_many_arguments)]
    pub fn end(
        &mut self,
        remote: &RemoteId,
        text: Option<String>,
        reasoning: Option<String>,
        footer: Footer,
        sent_at_ms: Option<i64>,
        is_interrupted: bool,
    ) -> Option<MessageKey> {
        let Some(slot) = self.timeline.find_remote(remote) else {
            let text = text.filter(|text| !text.trim().is_empty())?;
            if self.timeline.is_buried(Some(remote)) {
                return None;
            }
            let entry = self.make(
                IncomingMessage {
                    remote: Some(remote.clone()),
                    author: Author::Assistant,
                    text,
                    reasoning,
                    footer,
                    sent_at_ms,
                    is_interrupted,
                    ..IncomingMessage::default()
                },
                false,
            );
            let key = entry.key;
            self.append(entry);
            return Some(key);
        };
        let entry = self.timeline.at_mut(slot)?;
        let key = entry.key;
        let message = entry.message_mut()?;
        let before = message.clone();
        if let Some(text) = text {
            message.body.apply(TextPatch::Replace(text));
        }
        if let Some(reasoning) = reasoning {
            message.reasoning.apply(TextPatch::Replace(reasoning));
        }
        merge_footer(&mut message.footer, footer);
        message.sent_at_ms = sent_at_ms.or(message.sent_at_ms);
        message.is_streaming = false;
        message.is_interrupted = is_interrupted;
        if is_hollow(message) {
            self.remove(slot);
            return None;
        }
        if *message != before {
            self.changes.written.insert(key);
            self.changes.is_visible = true;
        }
        Some(key)
    }

    /// Ends every message of a run that is still streaming, for a run that is over.
    pub fn end_streaming(&mut self, run: Option<&RunId>, is_interrupted: bool) {
        let keys: Vec<MessageKey> = self
            .timeline
            .all()
            .filter(|entry| {
                entry.message().is_some_and(|message| {
                    message.is_streaming
                        && (run.is_none() || message.run.is_none() || message.run.as_ref() == run)
                })
            })
            .map(|entry| entry.key)
            .collect();
        for key in keys {
            let Some(slot) = self.timeline.find_key(key) else {
                continue;
            };
            let Some(message) = self.timeline.at_mut(slot).and_then(Entry::message_mut) else {
                continue;
            };
            message.is_streaming = false;
            message.is_interrupted = is_interrupted;
            self.changes.is_visible = true;
            if is_hollow(message) {
                self.remove(slot);
            } else {
                self.changes.written.insert(key);
            }
        }
    }

    /// Takes an entry out and has it dropped from the store.
    pub fn remove(&mut self, slot: Slot) {
        let entry = self.timeline.take(slot);
        self.timeline.unsaved.remove(&entry.key);
        self.changes.written.remove(&entry.key);
        self.changes.grown.remove(&entry.key);
        self.changes.moved.remove(&entry.key);
        self.changes.gone.push(entry.key);
        self.changes.is_visible = true;
    }

    /// The server knows a message by another id now.
    pub fn rekey(&mut self, from: &RemoteId, to: &RemoteId) {
        if from == to {
            return;
        }
        if self.timeline.is_buried(Some(from)) || self.timeline.is_buried(Some(to)) {
            // One of its names was deleted, so the message is.
            for remote in [from, to] {
                self.timeline.bury(remote);
                if let Some(slot) = self.timeline.find_remote(remote) {
                    self.remove(slot);
                }
            }
            return;
        }
        let Some(old) = self.timeline.find_remote(from) else {
            return;
        };
        let key = self.timeline.at(old).map(|entry| entry.key);
        if let Some(other) = self.timeline.find_remote(to) {
            // Both were made: the one the reader saw first stays, with the newer content.
            let newer = self.timeline.at(other).and_then(Entry::message).cloned();
            self.remove(other);
            if let (Some(key), Some(newer)) = (key, newer)
                && let Some(slot) = self.timeline.find_key(key)
                && let Some(message) = self.timeline.at_mut(slot).and_then(Entry::message_mut)
                && !newer.body.is_empty()
            {
                message.body = newer.body;
                message.is_streaming = newer.is_streaming;
            }
        }
        if let Some(key) = key
            && let Some(slot) = self.timeline.find_key(key)
            && let Some(message) = self.timeline.at_mut(slot).and_then(Entry::message_mut)
        {
            message.remote = Some(to.clone());
            self.changes.written.insert(key);
            self.changes.is_visible = true;
        }
    }

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
        key
    }

    /// A call is known by its real id now. When both are there, they become one.
    pub fn rekey_tool(&mut self, from: &ToolCallId, to: &ToolCallId) {
        if from == to {
            return;
        }
        let Some(old) = self.timeline.find_tool(from) else {
            return;
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
            return;
        };
        if let Some(entry) = self.timeline.at_mut(slot)
            && let EntryBody::Tool(tool) = &mut entry.body
        {
            tool.id = to.clone();
            self.changes.written.insert(entry.key);
            self.changes.is_visible = true;
        }
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

    /// Inserts entries into the window so that they stand before what is at `index` now. Their
    /// orders fit between the neighbours; when there is no room, the neighbours move apart.
    pub fn insert(&mut self, index: usize, mut entries: Vec<Entry>) {
        let count = entries.len() as i64;
        if count == 0 {
            return;
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

    /// The order before the place and the step of `count` entries there.
    fn room(&self, index: usize, count: i64) -> (i64, i64) {
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
    fn spread(&mut self, index: usize, count: i64) {
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

/// Whether a message has nothing to show.
pub fn is_hollow(message: &Message) -> bool {
    message.body.text().as_str().trim().is_empty()
        && message.reasoning.text().as_str().trim().is_empty()
        && message.attachments.is_empty()
        && message.delivery.is_none()
}

/// Whether the server may have our message.
pub fn may_have_arrived(delivery: Option<&Delivery>) -> bool {
    matches!(
        delivery,
        Some(Delivery::InFlight | Delivery::Accepted | Delivery::Read | Delivery::Uncertain)
    )
}

/// Whether a message that says when it was sent can be the one that was written at this time.
fn sent_after(sent_at_ms: Option<i64>, created_ms: i64) -> bool {
    sent_at_ms.is_none_or(|sent| sent >= created_ms - CLOCK_SKEW_MS)
}
