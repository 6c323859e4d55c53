//! What must hold: on every frame that leaves, at every start, and at the end of the day. The truth
//! about a conversation is asked of the gateway itself, with literal frames and past the driver.

use super::Kind;
use super::client::account;
use super::world::World;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use trialogue::demo::engine::GatewayOutput;
use trialogue::domain::*;
use trialogue::link::Frame;

/// How old the draft on disk may be.
const DRAFT_AGE: u64 = 1_000;

type Row = (Author, String);

/// A text without the white space at its ends.
fn trimmed(text: &str) -> String {
    text.trim().to_owned()
}

/// A text without any white space.
fn bare(text: &str) -> String {
    text.split_whitespace().collect()
}

/// The turn of a message; its parts are numbered behind a slash.
fn turn_of(remote: &RemoteId) -> &str {
    let id = remote.as_str();
    id.split_once('/').map_or(id, |(turn, _)| turn)
}

/// How often an answer stands among what the agent said, by turn and text. The beginning of an
/// answer that was cut may be all that the journal has of it; another one that begins alike is no
/// second one of it, though it may be here alone.
fn times_said(
    answer: &str,
    parts: &[(Option<&str>, String)],
    turns: &BTreeMap<String, String>,
) -> usize {
    let said: String = parts.iter().map(|(_, text)| text.as_str()).collect();
    let of_others: usize = parts
        .iter()
        .filter(|(turn, text)| {
            let journal = turn.and_then(|turn| turns.get(turn));
            turn.is_some() && text != answer && journal.is_none_or(|text| text != answer)
        })
        .map(|(_, text)| text.matches(answer).count())
        .sum();
    said.matches(answer).count().saturating_sub(of_others)
}

#[test]
fn an_answer_that_begins_like_a_cut_one_is_no_second_one_of_it() {
    let turns = BTreeMap::from([
        ("t1".to_owned(), "Resnap".to_owned()),
        ("t2".to_owned(), String::new()),
    ]);
    let said = |parts: &[(&'static str, &str)]| {
        let parts: Vec<_> = parts
            .iter()
            .map(|(turn, text)| (Some(*turn), (*text).to_owned()))
            .collect();
        times_said("Resnap", &parts, &turns)
    };
    assert_eq!(said(&[("t1", "Resnap")]), 1);
    assert_eq!(said(&[("t1", "Resnap"), ("t2", "Resnapm4:thelin")]), 1);
    // What is really there twice is seen, under whatever name.
    assert_eq!(said(&[("t1", "Resnap"), ("t9", "Resnap")]), 2);
    assert_eq!(said(&[("t1", "Resnap"), ("t1", "Resnapm3:th")]), 2);
    // An answer in several parts.
    assert_eq!(said(&[("t1", "Re"), ("t1", "snap")]), 1);
}

/// Whether messages of the agent, with others between them, make up this text.
fn in_parts(answer: &str, shown: &[(Row, &Message)]) -> bool {
    let mut rest = answer;
    for ((author, text), _) in shown {
        let part: String = text.split_whitespace().collect();
        if *author == Author::Assistant
            && !part.is_empty()
            && let Some(left) = rest.strip_prefix(part.as_str())
        {
            rest = left;
        }
    }
    rest.is_empty()
}

impl World {
    /// A message leaves only when it stands on disk as in flight, an answer only when it stands
    /// there as being given.
    pub fn check_leaving(&mut self, frame: &Frame) {
        let Some(text) = frame.as_text() else { return };
        let Ok(value) = serde_json::from_str::<Value>(text) else {
            self.fail("a frame that is no JSON leaves");
        };
        if let Some(owner) = value["ownerId"].as_str() {
            self.owner = owner.to_owned();
        }
        let kind = value["type"].as_str().unwrap_or_default();
        let said = match kind {
            "chat.send" => value["text"].as_str(),
            "message.send" => value["payload"]["text"].as_str(),
            "query" => value["prompt"].as_str(),
            "approval.respond" | "clarify.respond" => {
                if self.client.answering.is_empty() && !self.client.state.store_fails {
                    self.fail(&format!("an answer leaves that is not on disk: {text}"));
                }
                None
            }
            _ => None,
        };
        let Some(said) = said else { return };
        let said = said.to_owned();
        let is_of_chat = |(text, _): &(String, ConversationId)| text == said.trim();
        if !self.person.sent.keys().any(is_of_chat) {
            // An answer to a question that is given by writing.
            return;
        }
        self.tell(|| format!("out: {kind} {said:?}"));
        if self.person.gone_unwritten.contains(said.trim()) {
            return;
        }
        let is_on_disk =
            self.client.on_disk.values().any(|row| {
                row.delivery == Delivery::InFlight && trimmed(&row.text) == trimmed(&said)
            });
        if !is_on_disk {
            self.fail(&format!(
                "{said:?} leaves before it is on disk as in flight"
            ));
        }
    }

    /// After a start: drafts are whole and young, and what was sent is not a draft as well.
    pub fn check_restart(&mut self, died: u64) {
        if self.disk_was_full() {
            // The person was told that nothing is kept.
            self.person.drafts.clear();
        }
        for (id, versions) in &self.person.drafts {
            let Some(here) = self.client.work().conversations.get(id) else {
                continue;
            };
            let restored = here.composer.text();
            let Some(latest) = versions.len().checked_sub(1) else {
                continue;
            };
            let is_known = versions.iter().enumerate().any(|(place, (_, text))| {
                let until = versions.get(place + 1).map_or(died, |(at, _)| *at);
                text == restored && (place == latest || until + DRAFT_AGE >= died)
            }) || (restored.is_empty() && versions[0].0 + DRAFT_AGE >= died);
            if !is_known {
                let known: Vec<_> = versions.iter().rev().take(4).collect();
                self.fail(&format!(
                    "draft {restored:?} after a start; typed: {known:?}"
                ));
            }
            // Without its name it may have been written anew.
            let is_twice =
                super::counts::name_of(restored).is_some()
                    && self.client.work().outbox.iter().any(|row| {
                        row.conversation == *id && trimmed(&row.text) == trimmed(restored)
                    });
            if is_twice {
                self.fail(&format!("{restored:?} is a draft and in the outbox"));
            }
        }
        // What died with the program before it was written was never sent, unless the disk was
        // full: then it may have been, and may come back as a draft.
        let person = &mut self.person;
        person.sent.retain(|(text, _), _| {
            person.kept.contains(text) || person.gone_unwritten.contains(text)
        });
        let restored: Vec<(ConversationId, String)> = self
            .client
            .work()
            .conversations
            .iter()
            .map(|(id, here)| (id.clone(), here.composer.text().to_owned()))
            .collect();
        for (id, text) in restored {
            if self.person.drafts.contains_key(&id) || !text.is_empty() {
                let now = self.now;
                self.person.drafts.insert(id, vec![(now, text)]);
            }
        }
    }

    /// Everything that was replayed up to the stored cursor is stored.
    pub fn check_cursor(&mut self) {
        if self.replayed.is_empty() || self.has_lost_memory {
            return;
        }
        let Ok(Found::Start(facts)) = self.client.store.look_now(Lookup::Start) else {
            return;
        };
        let Some(cursor) = facts
            .facts
            .iter()
            .find(|(_, name, _)| name == "cursor")
            .and_then(|(_, _, value)| value.parse::<i64>().ok())
        else {
            return;
        };
        let mut stored = BTreeSet::new();
        for conversation in &facts.conversations {
            for entry in self.client.stored(&conversation.conversation) {
                if let Some(remote) = entry.message().and_then(|message| message.remote.clone()) {
                    stored.insert(remote.as_str().to_owned());
                }
            }
        }
        for (at, id) in &self.replayed {
            if *at <= cursor && !stored.contains(id) {
                self.fail(&format!(
                    "the stored cursor {cursor} is ahead of message {id} at {at}"
                ));
            }
        }
    }

    /// The whole of what is there, with the line well and everybody at rest.
    pub fn check_end(&mut self) {
        if !self.client.work().is_ready() {
            let link = self.client.work().account.link.clone();
            self.fail(&format!("not connected in the end: {link:?}"));
        }
        for row in self.client.work().outbox.clone() {
            match row.delivery {
                Delivery::Uncertain | Delivery::Failed(_) => {}
                other => {
                    let of = self.client.work();
                    let here = of.conversations.get(&row.conversation);
                    self.fail(&format!(
                        "{:?} is {other:?} in the end; instance {} of {}, held {:?}, run {:?}, pending {:?}",
                        row.text,
                        row.instance,
                        self.client.starts,
                        of.held.get(&row.key),
                        here.map(|here| &here.run),
                        of.pending,
                    ))
                }
            }
        }
        let homes = self.person.homes.clone();
        let mut truth = BTreeMap::new();
        for home in homes {
            if !self.client.work().conversations.contains_key(&home) {
                self.fail(&format!("the conversation {home:?} is gone"));
            }
            self.look_at(&home);
            self.run(4_000);
            let rows = self.truth(&home);
            self.check_conversation(&home, &rows);
            truth.insert(home, rows);
        }
        self.check_own(&truth);
    }

    /// What the gateway has of a conversation, oldest first.
    fn truth(&mut self, id: &ConversationId) -> Vec<Row> {
        let mut rows: BTreeMap<String, (u64, u64, Row)> = BTreeMap::new();
        let mut list = Vec::new();
        let mut after = 0;
        loop {
            let page = self.page(id, after);
            let count = page.len();
            for message in page {
                let (role, text) = match self.kind {
                    Kind::Omi => (&message["role"], &message["content"]),
                    Kind::Pheby | Kind::Iris => (&message["role"], &message["text"]),
                };
                let author = match role.as_str() {
                    Some("user") => Author::User,
                    Some("assistant") => Author::Assistant,
                    _ => continue,
                };
                let row = (author, trimmed(text.as_str().unwrap_or_default()));
                if self.kind == Kind::Omi {
                    let seq = message["turnSeq"].as_u64().unwrap_or(0);
                    after = after.max(seq);
                    let turn = message["turnId"].as_str().unwrap_or_default().to_owned();
                    self.turns.insert(turn.clone(), bare(&row.1));
                    let at = message["createdAtMs"].as_u64().unwrap_or(0);
                    rows.insert(turn, (at, seq, row));
                } else {
                    list.push(row);
                }
            }
            if self.kind != Kind::Omi || count == 0 {
                break;
            }
        }
        if self.kind == Kind::Omi {
            let mut turns: Vec<_> = rows.into_values().collect();
            turns.sort_by_key(|(at, seq, _)| (*at, *seq));
            list = turns.into_iter().map(|(_, _, row)| row).collect();
        }
        list.retain(|(_, text)| !text.is_empty());
        list
    }

    fn page(&mut self, id: &ConversationId, after: u64) -> Vec<Value> {
        let id = id.as_str();
        let request = match self.kind {
            Kind::Pheby => json!({"type": "conversation.open", "conversation_id": id,
                "limit": 500, "request_id": "truth"}),
            Kind::Iris => json!({"v": 1, "type": "history", "id": 900_001, "chat_id": id,
                "payload": {"limit": 200}}),
            Kind::Omi => json!({"type": "journal_list_turns", "protocolVersion": 2,
                "requestId": "truth", "clientId": "truth", "ownerId": self.owner,
                "surfaceKind": "task_chat", "externalRefKind": "task", "externalRefId": id,
                "afterTurnSeq": after, "limit": 100}),
        };
        let Some(connection) = self.wire.connection else {
            self.fail("no connection in the end");
        };
        let outputs = self
            .gateway
            .frame(connection, &Frame::text(request.to_string()));
        let mut found = None;
        let mut others = Vec::new();
        for output in outputs {
            let answer = match &output {
                GatewayOutput::Send { frame, .. } => frame
                    .as_text()
                    .and_then(|text| serde_json::from_str::<Value>(text).ok())
                    .filter(|value| {
                        value["request_id"] == "truth"
                            || value["requestId"] == "truth"
                            || value["id"] == 900_001
                    }),
                _ => None,
            };
            match answer {
                Some(value) => found = Some(value),
                None => others.push(output),
            }
        }
        self.gateway_said(others);
        let Some(answer) = found else {
            self.fail("the gateway does not say what it has");
        };
        let messages = match self.kind {
            Kind::Pheby => &answer["messages"],
            Kind::Iris => &answer["payload"]["messages"],
            Kind::Omi => &answer["turns"],
        };
        let mut messages = messages
            .as_array()
            .cloned()
            .unwrap_or_else(|| self.fail(&format!("the gateway answers {answer}")));
        let oldest = &answer["payload"]["oldest_message_id"];
        if oldest.is_string()
            && messages
                .last()
                .is_some_and(|last| last["message_id"] == *oldest)
        {
            messages.reverse();
        }
        messages
    }

    /// The conversation on screen against the truth, and the same against the store.
    fn check_conversation(&mut self, id: &ConversationId, rows: &[Row]) {
        let here = match self.client.work().conversations.get(id) {
            Some(here) => here.clone(),
            None => self.fail("the conversation is gone"),
        };
        if here.run.is_some() {
            self.fail(&format!("a run that never ends: {:?}", here.run));
        }
        self.check_entries(id, &here.timeline.entries, rows, "screen");
        let stored = self.client.stored(id);
        self.check_entries(id, &stored, rows, "store");
        self.totals.rows_checked += rows.len() as u64;
    }

    fn check_entries(&self, id: &ConversationId, entries: &[Entry], rows: &[Row], place: &str) {
        let mut messages: Vec<&Message> = Vec::new();
        let mut tools = BTreeSet::new();
        for entry in entries {
            match &entry.body {
                EntryBody::Message(message) => {
                    if message.is_streaming {
                        self.fail(&format!("{place}: still streaming: {message:?}"));
                    }
                    if message.delivery == Some(Delivery::InFlight) {
                        self.fail(&format!("{place}: still in flight: {message:?}"));
                    }
                    let is_talk = matches!(message.author, Author::User | Author::Assistant)
                        && message.sort == MessageSort::Ordinary
                        && !message.body.raw().trim().is_empty();
                    if is_talk {
                        messages.push(message);
                    }
                }
                EntryBody::Tool(tool) => {
                    // Where a gateway says nothing of calls that a kill cut off, they end by time.
                    let is_young = self.kind == Kind::Iris
                        && !self.is_third_look
                        && self.at().wall_ms - entry.seen_at_ms < 10 * 60 * 1000;
                    if tool.status == ToolStatus::Running && !is_young {
                        self.fail(&format!("{place}: a tool that never ends: {tool:?}"));
                    }
                    if !tools.insert(tool.id.clone()) {
                        self.fail(&format!("{place}: a tool twice: {tool:?}"));
                    }
                }
                EntryBody::RunEnded { .. } | EntryBody::Deleted { .. } => {}
                EntryBody::Gap { .. } if place == "screen" => {
                    self.fail("a gap in sight that is not filled");
                }
                EntryBody::Gap { .. } => {}
            }
        }
        let shown: Vec<(Row, &Message)> = messages
            .into_iter()
            .map(|message| {
                let row = (message.author, trimmed(message.body.raw()));
                (row, message)
            })
            .collect();
        let texts: Vec<Row> = shown.iter().map(|(row, _)| row.clone()).collect();
        self.check_counts(id, &texts, rows, place);
        self.check_order(&texts, place);
        self.check_calls(id, entries, place);
        if self.kind == Kind::Omi {
            return self.check_joined(&shown, rows, place);
        }
        // Older messages need not be here; from the first one on, all must.
        let first = shown
            .iter()
            .find_map(|(row, _)| rows.iter().position(|of| of == row))
            .unwrap_or(rows.len());
        let mut wanted: Vec<&Row> = rows[first..].iter().collect();
        let mut extra: Vec<&(Row, &Message)> = Vec::new();
        for pair in &shown {
            // Iris: a message that waited its turn stands in the log where its turn came, and here
            // where it was said. Pheby: what was seen live may stand as it was seen until the
            // conversation is opened again.
            let is_ordered = self.kind == Kind::Pheby && self.is_second_look;
            let is_open = self
                .client
                .work()
                .outbox
                .iter()
                .any(|row| row.key == pair.1.key);
            let found = if is_open {
                // Another message may say the same.
                None
            } else if is_ordered {
                (wanted.first() == Some(&&pair.0)).then_some(0)
            } else {
                wanted.iter().position(|row| **row == pair.0)
            };
            match found {
                Some(place) => {
                    wanted.remove(place);
                }
                None => extra.push(pair),
            }
        }
        let list = || {
            let lines: Vec<String> = shown
                .iter()
                .map(|((author, text), message)| {
                    format!(
                        "  {author:?} {:?} {:?} {text:?}",
                        message.remote, message.delivery
                    )
                })
                .collect();
            let truth: Vec<String> = rows.iter().map(|row| format!("  {row:?}")).collect();
            let end = |list: &[String]| list[list.len().saturating_sub(24)..].join("\n");
            format!(
                "{id:?}\n{place}:\n{}\nserver:\n{}",
                end(&lines),
                end(&truth)
            )
        };
        if let Some(missing) = wanted.first() {
            self.fail(&format!(
                "{place}: missing or out of order: {missing:?}\n{}",
                list()
            ));
        }
        for ((author, text), message) in extra {
            let is_on_server = rows.iter().any(|of| of.0 == *author && of.1 == *text);
            // A few words that name no message may begin any.
            let is_start_of = super::counts::name_of(text).is_some()
                && rows
                    .iter()
                    .any(|of| of.0 == *author && of.1.starts_with(text.as_str()));
            let is_open = self
                .client
                .work()
                .outbox
                .iter()
                .any(|row| row.key == message.key);
            let is_legitimate = match author {
                Author::User => is_open || self.has_lost_memory,
                _ => message.is_seen_live_only || message.is_interrupted || self.has_lost_memory,
            };
            if *author == Author::Assistant
                && (is_on_server || is_start_of)
                && !self.has_lost_memory
            {
                self.fail(&format!("{place}: twice: {text:?}\n{}", list()));
            }
            if !is_legitimate {
                self.fail(&format!(
                    "{place}: the server does not have {text:?}\n{}",
                    list()
                ));
            }
        }
    }

    /// Messages of the person are compared one by one. What the agent said is compared joined, for
    /// one answer may stand in several parts: every text of the journal stands here once. What was
    /// cut off, or ended while the program was down, may be here alone.
    fn check_joined(&self, shown: &[(Row, &Message)], rows: &[Row], place: &str) {
        let open: Vec<MessageKey> = self
            .client
            .work()
            .outbox
            .iter()
            .map(|row| row.key)
            .collect();
        let of = |author: Author| {
            shown
                .iter()
                .filter(move |(row, _)| row.0 == author)
                .filter(|(_, message)| !open.contains(&message.key))
                .map(|(row, _)| bare(&row.1))
        };
        let theirs = |author: Author| {
            rows.iter()
                .filter(move |row| row.0 == author)
                .map(|row| bare(&row.1))
                .collect::<Vec<String>>()
        };
        let asked: Vec<String> = of(Author::User).collect();
        let journal = theirs(Author::User);
        // What a runtime forgot stays here.
        if asked != journal && !self.has_lost_memory {
            self.fail(&format!(
                "{place}: messages differ from the journal\n  here: {asked:?}\n  journal: {journal:?}"
            ));
        }
        let said: String = of(Author::Assistant).collect();
        let parts: Vec<(Option<&str>, String)> = shown
            .iter()
            .filter(|(row, _)| row.0 == Author::Assistant)
            .map(|(row, message)| (message.remote.as_ref().map(turn_of), bare(&row.1)))
            .collect();
        let answers = theirs(Author::Assistant);
        for answer in &answers {
            let there = answers.iter().filter(|other| *other == answer).count();
            let mut here = said.matches(answer.as_str()).count();
            if here < there {
                // What came unasked may stand between two parts of it.
                here = here.max(usize::from(in_parts(answer, shown)));
            }
            let is_part = answers
                .iter()
                .any(|other| other != answer && other.contains(answer));
            let is_twice = times_said(answer, &parts, &self.turns) > there;
            if here < there || (is_twice && !is_part && !self.has_lost_memory) {
                let all: Vec<_> = shown.iter().map(|((_, text), _)| text).collect();
                self.fail(&format!(
                    "{place}: {answer:?} stands {here} times here and {there} times in the journal\n\
                     here: {all:#?}"
                ));
            }
        }
    }

    /// Every message of the person is somewhere, and nowhere more often than it was sent.
    fn check_own(&self, truth: &BTreeMap<ConversationId, Vec<Row>>) {
        for ((text, home), times) in &self.person.sent {
            let on_server = truth.get(home).map_or(0, |rows| {
                rows.iter()
                    .filter(|(author, said)| *author == Author::User && said == text)
                    .count() as u64
            });
            if on_server > *times {
                self.fail(&format!(
                    "{text:?} was sent {times} times and arrived {on_server} times"
                ));
            }
            let row = self
                .client
                .work()
                .outbox
                .iter()
                .find(|row| row.conversation == *home && trimmed(&row.text) == *text);
            if let Some(row) = row
                && row.delivery == Delivery::Uncertain
                && on_server == *times
                // A journal that began anew behind the mark is not read from its start.
                && !(self.kind == Kind::Omi && self.has_lost_memory)
            {
                self.fail(&format!("{text:?} arrived and is uncertain for ever"));
            }
            let is_dropped =
                self.person.dropped.contains(text) || self.person.gone_unwritten.contains(text);
            let is_lost = on_server == 0 && row.is_none() && !is_dropped && !self.has_lost_memory;
            if is_lost && self.client.work().account.id == account() {
                self.fail(&format!("{text:?} is lost"));
            }
        }
    }
}
