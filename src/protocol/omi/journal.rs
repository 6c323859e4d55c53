//! The history of a conversation: revisions of turns, listed from the last one seen. The highest
//! `turnSeq` of a turn wins; shown is by time of making. Rows that change are only a wake-up.

use super::{Asked, Omi, blocks, number, word};
use crate::domain::{
    AccountEvent, Author, ConversationId, HistoryPage, IncomingMessage, Moment, Provenance,
    RefusalCode, RemoteId, Snapshot, TimelineEvent, Topic,
};
use crate::protocol::decode::{TEXT_LIMIT, bounded};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// Turns of one answer, the most a runtime gives.
const PAGE: u64 = 100;
/// Turns of one conversation that are kept.
const TURN_LIMIT: usize = 20_000;

/// Why the journal is listed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Listing {
    /// The conversation is opened: it is shown whole.
    Page,
    /// Something changed that was not seen: only what is new is shown.
    Gap,
}

/// One turn as it is now.
#[derive(Clone, Debug)]
struct Turn {
    seq: u64,
    is_user: bool,
    is_open: bool,
    is_failed: bool,
    content: String,
    /// None where the journal says nothing of it: what was seen live stays.
    reasoning: Option<String>,
    at_ms: Option<i64>,
}

/// What is known of the journal of a conversation.
#[derive(Debug, Default)]
pub(super) struct Journal {
    pub(super) generation: u64,
    /// The newest revision that was listed.
    seen: u64,
    /// It began anew behind what was seen: a runtime lost it. What stands here stays.
    pub(super) was_lost: bool,
    /// The newest revision that an earlier process of ours knew of.
    pub(super) kept: u64,
    /// The newest revision that is known of.
    pub(super) known: u64,
    turns: BTreeMap<String, Turn>,
    /// It was read in this process.
    pub(super) is_read: bool,
    /// Turns that were asked to be repaired in this process.
    repaired: Vec<String>,
}

impl Journal {
    /// Takes a revision over; false when it is not newer.
    fn take(&mut self, row: &Map<String, Value>) -> bool {
        let id = word(row, "turnId");
        let seq = number(row, "turnSeq").unwrap_or(0);
        let is_newer = self.turns.get(id).is_none_or(|known| seq > known.seq);
        if id.is_empty() || !is_newer || self.turns.len() >= TURN_LIMIT {
            return false;
        }
        self.known = self.known.max(seq);
        let (content, reasoning) = blocks::words(row);
        let turn = Turn {
            seq,
            is_user: word(row, "role") == "user",
            is_open: matches!(word(row, "status"), "pending" | "streaming"),
            is_failed: word(row, "status") == "failed",
            content: bounded(&content, TEXT_LIMIT),
            reasoning: reasoning.map(|text| bounded(&text, TEXT_LIMIT)),
            at_ms: number(row, "createdAtMs").and_then(|ms| i64::try_from(ms).ok()),
        };
        self.turns.insert(id.to_owned(), turn);
        true
    }

    fn message(&self, id: &str) -> Option<IncomingMessage> {
        let turn = self.turns.get(id)?;
        Some(IncomingMessage {
            remote: Some(RemoteId::from(id)),
            author: if turn.is_user {
                Author::User
            } else {
                Author::Assistant
            },
            text: turn.content.clone(),
            reasoning: turn.reasoning.clone(),
            sent_at_ms: turn.at_ms,
            is_interrupted: turn.is_failed && !turn.is_user,
            ..IncomingMessage::default()
        })
    }
}

impl Omi {
    pub(super) fn list_turns(&mut self, now: Moment, id: &ConversationId, listing: Listing) {
        if self
            .pending
            .any(|asked| matches!(asked, Asked::List { conversation, .. } if conversation == id))
        {
            return;
        }
        let seen = self.chats.all.get(id).map_or(0, |chat| chat.journal.seen);
        let mut line = json!({"type": "journal_list_turns", "afterTurnSeq": seen, "limit": PAGE});
        self.put_surface(&mut line, id);
        let conversation = id.clone();
        self.ask(
            now,
            line,
            Asked::List {
                conversation,
                listing,
            },
        );
    }

    pub(super) fn on_journal_result(&mut self, now: Moment, line: &Map<String, Value>) {
        match self.pending.take(word(line, "requestId")) {
            Some(Asked::List {
                conversation,
                listing,
            }) => self.on_listed(now, conversation, listing, line),
            Some(Asked::Exchange { query }) => {
                self.note_generation(&query.conversation, line);
                self.note_high(&query.conversation, line);
                self.start_query(now, *query, true);
            }
            Some(Asked::Terminalize | Asked::Rescue) => {
                if let Some(id) = self.chats.of_surface(line) {
                    self.note_high(&id, line);
                }
            }
            Some(Asked::Repair { conversation }) => {
                let rows = line.get("turns").and_then(Value::as_array);
                let rows: Vec<Map<String, Value>> = rows
                    .into_iter()
                    .flatten()
                    .filter_map(|row| row.as_object().cloned())
                    .collect();
                for row in rows {
                    self.apply(&conversation, &row);
                }
            }
            Some(Asked::Clear {
                command,
                conversation,
                aim,
            }) => {
                self.note_generation(&conversation, line);
                self.clear_done(command, &conversation, aim);
            }
            Some(_) | None => self.unasked(line, "a journal answer"),
        }
    }

    /// A higher generation: somebody cleared the conversation.
    fn note_generation(&mut self, id: &ConversationId, line: &Map<String, Value>) -> bool {
        let (Some(chat), Some(generation)) = (
            self.chats.all.get_mut(id),
            number(line, "conversationGeneration"),
        ) else {
            return false;
        };
        let old = chat.journal.generation;
        if generation <= old {
            return false;
        }
        chat.journal.generation = generation;
        if old == 0 {
            return false;
        }
        chat.journal.turns.clear();
        chat.journal.seen = number(line, "generationBaseTurnSeq").unwrap_or(0);
        chat.journal.known = chat.journal.seen;
        chat.journal.was_lost = false;
        true
    }

    /// Revisions that an answer of the runtime tells of are no gap.
    fn note_high(&mut self, id: &ConversationId, line: &Map<String, Value>) {
        if let (Some(chat), Some(high)) =
            (self.chats.all.get_mut(id), number(line, "highWaterTurnSeq"))
        {
            chat.journal.known = chat.journal.known.max(high);
        }
    }

    fn on_listed(
        &mut self,
        now: Moment,
        id: ConversationId,
        listing: Listing,
        line: &Map<String, Value>,
    ) {
        if self.note_generation(&id, line) {
            self.cleared(&id);
            return self.list_turns(now, &id, listing);
        }
        let Some((before, kept)) = self
            .chats
            .all
            .get(&id)
            .map(|chat| (chat.journal.seen, chat.journal.kept))
        else {
            return;
        };
        let high = number(line, "highWaterTurnSeq");
        if high.is_some_and(|high| high < before.max(kept)) {
            if let Some(chat) = self.chats.all.get_mut(&id) {
                chat.journal.turns.clear();
                (chat.journal.seen, chat.journal.known, chat.journal.kept) = (0, 0, 0);
                chat.journal.was_lost = true;
            }
            self.keep(&id);
            return self.list_turns(now, &id, Listing::Page);
        }
        self.note_high(&id, line);
        let rows: Vec<&Map<String, Value>> = line
            .get("turns")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_object)
            .collect();
        let newest: BTreeMap<&str, u64> = rows
            .iter()
            .map(|row| (word(row, "turnId"), number(row, "turnSeq").unwrap_or(0)))
            .collect();
        for row in rows {
            let seq = number(row, "turnSeq").unwrap_or(0);
            if listing == Listing::Gap && newest.get(word(row, "turnId")) == Some(&seq) {
                self.apply(&id, row);
            }
            let Some(chat) = self.chats.all.get_mut(&id) else {
                return;
            };
            chat.journal.take(row);
            chat.journal.seen = chat.journal.seen.max(seq);
        }
        let high = number(line, "highWaterTurnSeq").unwrap_or(0);
        let Some(chat) = self.chats.all.get_mut(&id) else {
            return;
        };
        // A page that brings nothing new would be asked for again for ever.
        if chat.journal.seen < high && chat.journal.seen > before {
            return self.list_turns(now, &id, listing);
        }
        let opening = std::mem::take(&mut chat.opening);
        if chat.journal.known > chat.journal.kept {
            chat.journal.kept = chat.journal.known;
            self.keep(&id);
        }
        if listing == Listing::Page || !opening.is_empty() {
            self.say_page(&id);
        }
        for command in opening {
            self.done(command);
        }
        self.repair(now, &id);
        self.go_on_clearing(now, &id);
    }

    pub(super) fn list_failed(&mut self, id: &ConversationId, words: &str) {
        let opening = self
            .chats
            .all
            .get_mut(id)
            .map(|chat| std::mem::take(&mut chat.opening))
            .unwrap_or_default();
        for command in opening {
            self.refuse(command, RefusalCode::ServerFailed, words);
        }
        self.clearing_failed(id, words);
    }

    /// The whole history as one page, oldest first.
    fn say_page(&mut self, id: &ConversationId) {
        let Some(chat) = self.chats.all.get(id) else {
            return;
        };
        let mut order: Vec<(&String, &Turn)> = chat.journal.turns.iter().collect();
        order.sort_by_key(|(_, turn)| (turn.at_ms, turn.seq));
        let mut messages = Vec::new();
        for (turn, _) in order {
            let Some(mut message) = chat.journal.message(turn) else {
                continue;
            };
            // What was said before the process ended is not written down yet.
            if let Some(said) = self.queries.cut.get(turn)
                && said.len() > message.text.len()
            {
                message.text.clone_from(said);
                message.is_interrupted = true;
            }
            match self.queries.written(turn) {
                // Still being written: what was streamed is more than the journal has.
                Some((parts, run)) => {
                    let last = parts.len();
                    messages.extend(parts.into_iter().enumerate().map(|(at, (remote, text))| {
                        IncomingMessage {
                            remote: Some(remote),
                            text,
                            run: Some(run.clone()),
                            is_streaming: at + 1 == last,
                            ..message.clone()
                        }
                    }));
                }
                None if !message.text.is_empty() => messages.extend(chat.split(turn, message)),
                None => {}
            }
        }
        let page = HistoryPage {
            conversation: id.clone(),
            messages,
            before: None,
            older: None,
            is_authoritative: !chat.journal.was_lost,
        };
        // In a new process nothing of the conversation runs: calls of tools that an earlier life of
        // this program wrote down as running have ended with theirs.
        let is_first = self
            .chats
            .all
            .get_mut(id)
            .is_some_and(|chat| !std::mem::replace(&mut chat.journal.is_read, true));
        let is_quiet = !self.queries.is_active(id) && self.host.is_quiet();
        let event = if is_first && is_quiet {
            AccountEvent {
                provenance: Provenance::Snapshot,
                topic: Topic::Timeline(TimelineEvent::Snapshot(Box::new(Snapshot {
                    page,
                    run: None,
                    draft: None,
                    tools: Vec::new(),
                    attachments: Vec::new(),
                    decisions: Vec::new(),
                    lost_runs: false,
                }))),
            }
        } else {
            AccountEvent {
                provenance: Provenance::History,
                topic: Topic::Timeline(TimelineEvent::Page(Box::new(page))),
            }
        };
        self.tell(event);
    }

    /// Answers left open by an earlier process end now.
    fn repair(&mut self, now: Moment, id: &ConversationId) {
        let Some(chat) = self.chats.all.get_mut(id) else {
            return;
        };
        let open: Vec<String> = chat
            .journal
            .turns
            .iter()
            .filter(|(turn, state)| {
                state.is_open
                    && !state.is_user
                    && self.queries.written(turn).is_none()
                    && !chat.journal.repaired.contains(turn)
            })
            .map(|(turn, _)| turn.clone())
            .collect();
        if open.is_empty() {
            return;
        }
        chat.journal.repaired.extend(open.iter().cloned());
        for turn in &open {
            if let Some(text) = self.queries.cut.remove(turn) {
                self.rescue(now, id, turn, &text);
            }
        }
        self.ask_repair(now, id, &open);
    }

    /// What an answer had said when it was cut is written down before its turn is ended.
    pub(super) fn rescue(&mut self, now: Moment, id: &ConversationId, turn: &str, text: &str) {
        let mut line = json!({
            "type": "journal_update_turn",
            "update": {"turnId": turn, "content": text},
        });
        self.put_surface(&mut line, id);
        self.ask(now, line, Asked::Rescue);
    }

    pub(super) fn ask_repair(&mut self, now: Moment, id: &ConversationId, turns: &[String]) {
        let mut line = json!({"type": "journal_repair_turns", "turnIds": turns});
        self.put_surface(&mut line, id);
        let conversation = id.clone();
        self.ask(now, line, Asked::Repair { conversation });
    }

    pub(super) fn on_turn_changed(&mut self, now: Moment, line: &Map<String, Value>) {
        let Some(id) = self.chats.of_surface(line) else {
            return;
        };
        if self.note_generation(&id, line) {
            self.cleared(&id);
            return self.list_turns(now, &id, Listing::Page);
        }
        let Some(row) = line.get("turn").and_then(Value::as_object) else {
            return;
        };
        let seq = number(row, "turnSeq").unwrap_or(0);
        let Some(chat) = self.chats.all.get(&id) else {
            return;
        };
        // Lines may be missing; only of a conversation that was read can it be said.
        let is_gap = chat.journal.seen > 0 && seq > chat.journal.known.saturating_add(1);
        self.apply(&id, row);
        if is_gap {
            self.list_turns(now, &id, Listing::Gap);
        }
    }

    /// Shows one revision. What this program wrote or streams itself is known better here.
    fn apply(&mut self, id: &ConversationId, row: &Map<String, Value>) {
        let turn = word(row, "turnId").to_owned();
        let Some(chat) = self.chats.all.get_mut(id) else {
            return;
        };
        if !chat.journal.take(row) || self.queries.is_ours(&turn) {
            return;
        }
        let Some(message) = chat.journal.message(&turn).filter(|m| !m.text.is_empty()) else {
            return;
        };
        let messages = chat.split(&turn, message);
        for message in messages {
            self.say(Topic::Timeline(TimelineEvent::Upserted {
                conversation: id.clone(),
                message: Box::new(message),
            }));
        }
    }
}
