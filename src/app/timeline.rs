//! Pure merging on the window of a timeline: finding entries again, placing new ones, growing texts.
//! Every operation is idempotent and keeps keys. What changed is collected, so that the caller
//! writes just that. Pages and snapshots are in `pages`.
//!
//! A new entry joins the window when the window reaches the newest entry of the store; otherwise it
//! waits in the tail, where it can still grow, until the window comes to it.

mod lookup;
mod place;
mod tools;

use super::state::{Ids, Timeline};
use crate::domain::{
    Author, Delivery, Entry, EntryBody, Footer, IncomingMessage, Message, MessageKey, Moment,
    OutboxRecord, Part, RemoteId, RunId, TextPatch, ToolStatus,
};
use std::collections::BTreeSet;

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
    /// Messages that history knows by another id than the one they came in with.
    pub renamed: Vec<(RemoteId, RemoteId)>,
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
    /// Since when the link stands.
    pub link_since: Moment,
    pub own: Vec<Own>,
    pub changes: Changes,
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
        EntryBody::RunEnded { .. } | EntryBody::Gap { .. } | EntryBody::Deleted { .. } => true,
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
    /// A message as it comes in.
    pub fn make(&mut self, message: IncomingMessage, is_history: bool) -> Entry {
        let key = MessageKey(self.ids.mint());
        self.make_with(key, message, is_history)
    }

    fn make_with(&self, key: MessageKey, mut message: IncomingMessage, is_history: bool) -> Entry {
        if is_history {
            self.leave_hanging(&mut message, key);
        }
        let mut made = Message {
            key,
            order: 0,
            remote: None,
            author: message.author,
            sort: message.sort,
            body: Default::default(),
            reasoning: Default::default(),
            reasoned_ms: None,
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
            let had_time = self
                .timeline
                .at(slot)
                .and_then(Entry::message)
                .is_none_or(|known| known.sent_at_ms.is_some());
            let key = self.replace(slot, message, false);
            if is_late && !had_time {
                self.settle(key);
            }
            return Some(key);
        }
        if let Some(own) = self.own_by_text(&message) {
            // The row is known, its entry is not in memory: the store keeps its order.
            let mut entry = self.make_with(own, message, false);
            if let Some(message) = entry.message_mut() {
                message.delivery = Some(Delivery::Accepted);
            }
            self.changes.proven.push(own);
            self.add(entry, is_late);
            return Some(own);
        }
        let entry = self.make(message, false);
        let key = entry.key;
        self.add(entry, is_late);
        Some(key)
    }

    /// Puts a new message behind everything else, or, when it is a missed one, before what came later.
    fn add(&mut self, entry: Entry, is_late: bool) {
        if is_late && let Some(index) = self.late_index(&entry) {
            self.insert(index, vec![entry]);
        } else if is_late
            && !self.timeline.is_at_newest()
            && let Some(order) = self.order_among_later(&entry)
        {
            self.add_to_tail(entry, order);
        } else {
            self.append(entry);
        }
    }

    /// A file hangs on one message. Where it came in live is where it belongs; history may only
    /// guess, and leaves it there.
    fn leave_hanging(&self, message: &mut IncomingMessage, key: MessageKey) {
        if message.attachments.is_empty() {
            return;
        }
        message.attachments.retain(|file| {
            !self
                .timeline
                .all()
                .filter(|entry| entry.key != key)
                .filter_map(Entry::message)
                .any(|other| other.attachments.contains(&file.id))
        });
    }

    fn replace(
        &mut self,
        slot: Slot,
        mut message: IncomingMessage,
        is_history: bool,
    ) -> MessageKey {
        if is_history && let Some(key) = self.timeline.at(slot).map(|entry| entry.key) {
            self.leave_hanging(&mut message, key);
        }
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
        let after = message.remote.clone();
        let key = self.replace(slot, message, true);
        if let (Some(before), Some(after)) = (before, after)
            && before != after
        {
            self.timeline.alias(before.clone(), key);
            self.changes.renamed.push((before, after));
        }
        key
    }

    /// Whether a message is one of ours that waits for its proof.
    pub fn is_own(&self, message: &IncomingMessage) -> bool {
        self.find_own(message).is_some() || self.own_by_text(message).is_some()
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
        let has_begun = part == Part::Body && text.text().as_str().trim().is_empty();
        if text.apply(patch) {
            if has_begun && !message.reasoning.is_empty() && message.reasoned_ms.is_none() {
                let spent = self.now.wall_ms - message.seen_at_ms;
                message.reasoned_ms = u64::try_from(spent).ok();
            }
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
            // Its end may have been lost with an earlier link.
            let is_old = message.seen_at_ms < self.link_since.wall_ms;
            message.is_interrupted = is_interrupted || is_old;
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
        self.timeline.forget(entry.key);
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
        if let Some(other) = self.timeline.find_remote(to)
            && self.timeline.at(other).map(|entry| entry.key) != key
        {
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
