//! The person: types, sends, looks elsewhere, answers what is asked, and settles what is uncertain.

use super::Kind;
use super::client::account;
use super::scenes::WORDS;
use super::world::World;
use std::collections::{BTreeMap, BTreeSet};
use trialogue::app::event::Event;
use trialogue::app::{conversation, decisions, outbox};
use trialogue::domain::*;
use trialogue::input::{Chord, Key, TerminalEvent};

#[derive(Default)]
pub struct Person {
    /// When the person does something next.
    pub next: Option<u64>,
    counter: u64,
    /// Where the person writes.
    pub homes: Vec<ConversationId>,
    /// How often each text was sent, and where.
    pub sent: BTreeMap<(String, ConversationId), u64>,
    /// Texts that are or were on disk as messages.
    pub kept: BTreeSet<String>,
    /// Texts that left while the disk was full, as the person was told.
    pub gone_unwritten: BTreeSet<String>,
    /// Texts of messages that the person dropped.
    pub dropped: Vec<String>,
    /// Drafts as they were typed, each with its moment.
    pub drafts: BTreeMap<ConversationId, Vec<(u64, String)>>,
    /// How often each decision was answered.
    pub answered: BTreeMap<DecisionId, u64>,
    /// When a row was first seen uncertain or failed.
    unsettled: BTreeMap<MessageKey, u64>,
}

impl World {
    /// Finds the places to write in, and goes to the first.
    pub fn settle_in(&mut self) {
        let of = self.client.work();
        let mut homes: Vec<(bool, String, ConversationId)> = of
            .conversations
            .iter()
            .filter(|(_, here)| !here.info.is_automation && here.info.parent.is_none())
            .map(|(id, here)| {
                let is_default = here.info.kind == ConversationKind::Default;
                (!is_default, here.info.name.as_str().to_owned(), id.clone())
            })
            .collect();
        if homes.is_empty() {
            self.fail("no conversation to write in");
        }
        homes.sort();
        homes.truncate(2);
        self.person.homes = homes.into_iter().map(|(_, _, id)| id).collect();
        let first = self.person.homes[0].clone();
        self.look_at(&first);
        self.run(1_000);
    }

    pub fn look_at(&mut self, id: &ConversationId) {
        let at = self.at();
        let effects = conversation::focus(&mut self.client.state, at, &account(), id);
        self.client.effects.extend(effects);
        self.client.end_batch();
    }

    /// The person does one thing.
    pub fn act(&mut self) {
        self.settle_rows();
        self.answer();
        if self.is_calm {
            return;
        }
        match self.random.below(10) {
            0..=2 => self.type_something(),
            3..=6 => {
                if self.draft().is_empty() {
                    self.type_something();
                }
                if self.random.chance(70) {
                    self.press_send();
                }
            }
            7 => {
                let home = self.random.pick(&self.person.homes.clone()).clone();
                self.look_at(&home);
            }
            8 => self.erase(),
            _ => {}
        }
        self.note_draft();
    }

    fn draft(&self) -> String {
        self.client
            .state
            .focused()
            .map(|(_, _, here)| here.composer.text().to_owned())
            .unwrap_or_default()
    }

    /// Remembers the draft on screen, when it changed.
    pub fn note_draft(&mut self) {
        let text = self.draft();
        let Some((_, id)) = self.client.state.focus.clone() else {
            return;
        };
        let now = self.now;
        let versions = self.person.drafts.entry(id).or_default();
        if versions.last().map(|(_, text)| text.as_str()).unwrap_or("") != text {
            versions.push((now, text));
        }
    }

    fn key(&mut self, event: TerminalEvent) {
        let at = self.at();
        self.client.event(at, Event::Terminal(event));
        self.client.end_batch();
    }

    fn type_something(&mut self) {
        if self.client.state.focus.is_none() {
            return;
        }
        let text = if self.draft().is_empty() {
            let mut word = *self.random.pick(WORDS);
            if word == "forget" && !self.random.chance(15) {
                word = "brief";
            }
            self.person.counter += 1;
            format!("{word} m{}", self.person.counter)
        } else {
            (*self
                .random
                .pick(&["!", " please", " now", "\nthanks", " žluťoučký 🐎"]))
            .to_owned()
        };
        if self.random.chance(50) {
            self.key(TerminalEvent::Paste(text));
        } else {
            for c in text.chars() {
                let key = if c == '\n' {
                    Chord::ctrl('j')
                } else {
                    Chord::plain(Key::Char(c))
                };
                self.key(TerminalEvent::Key(key));
            }
        }
    }

    fn erase(&mut self) {
        for _ in 0..self.random.below(4) {
            self.key(TerminalEvent::Key(Chord::plain(Key::Backspace)));
        }
    }

    fn press_send(&mut self) {
        self.note_draft();
        let text = self.draft();
        let Some((account, id)) = self.client.state.focus.clone() else {
            return;
        };
        let sent_text = text.trim().to_owned();
        if sent_text.is_empty() || text.starts_with('/') {
            return;
        }
        let mode = match self.random.below(12) {
            0 => outbox::SendMode::Now,
            1 => outbox::SendMode::Hold,
            _ => outbox::SendMode::Ordinary,
        };
        let at = self.at();
        let effects = outbox::send(&mut self.client.state, at, &account, &id, mode);
        self.client.effects.extend(effects);
        self.client.end_batch();
        if !self.draft().is_empty() {
            return;
        }
        self.tell(|| format!("sent {sent_text:?} ({mode:?})"));
        self.totals.sent += 1;
        if sent_text.contains("forget") {
            self.has_lost_memory = true;
        }
        *self.person.sent.entry((sent_text, id)).or_default() += 1;
    }

    /// Answers what is asked, sooner or later.
    fn answer(&mut self) {
        for (account, id) in decisions::waiting(&self.client.state) {
            if !self.is_calm && self.random.chance(60) {
                continue;
            }
            let Some(decision) = decisions::find(&self.client.state, &account, &id).cloned() else {
                continue;
            };
            if !decision.life.is_open() || !self.client.work().is_ready() {
                continue;
            }
            let Some(choice) = decision.choices.first() else {
                continue;
            };
            let answer = Answer::Choice {
                value: choice.value.clone(),
                reason: None,
            };
            let at = self.at();
            let effects = decisions::answer(&mut self.client.state, at, &account, &id, answer);
            if !effects.is_empty() {
                *self.person.answered.entry(id.clone()).or_default() += 1;
                self.tell(|| format!("answered {id:?}"));
            }
            self.client.effects.extend(effects);
            self.client.end_batch();
        }
    }

    /// What stands uncertain or failed for a while is sent again, dropped, or taken back.
    fn settle_rows(&mut self) {
        let rows: Vec<OutboxRecord> = self.client.work().outbox.clone();
        let is_ready = self.client.work().is_ready();
        for row in rows {
            let is_held = self.client.work().held.contains_key(&row.key);
            let at = self.at();
            match row.delivery {
                Delivery::Uncertain | Delivery::Failed(_) => {
                    let since = *self.person.unsettled.entry(row.key).or_insert(self.now);
                    // Long enough that the server's word is in, if there is one.
                    let wait = if self.kind == Kind::Omi {
                        20_000
                    } else {
                        15_000
                    };
                    if self.is_calm || !is_ready || since + wait > self.now {
                        continue;
                    }
                    let text = row.text.trim().to_owned();
                    let state = &mut self.client.state;
                    let effects = match self.random.below(3) {
                        0 => {
                            let sent = (text.clone(), row.conversation.clone());
                            if let Some(times) = self.person.sent.get_mut(&sent) {
                                *times += 1;
                            }
                            self.tell_row("sent again", &text);
                            outbox::resend(&mut self.client.state, at, &account(), row.key)
                        }
                        1 => {
                            self.person.dropped.push(text.clone());
                            self.tell_row("dropped", &text);
                            outbox::discard(&mut self.client.state, at, &account(), row.key)
                        }
                        _ => {
                            let is_here = state
                                .focus
                                .as_ref()
                                .is_some_and(|(_, id)| *id == row.conversation);
                            if !is_here {
                                continue;
                            }
                            self.person.dropped.push(text.clone());
                            self.tell_row("taken back", &text);
                            outbox::take_back(&mut self.client.state, at, &account(), row.key)
                        }
                    };
                    self.client.effects.extend(effects);
                    self.client.end_batch();
                    self.note_draft();
                    self.person.unsettled.remove(&row.key);
                }
                Delivery::Queued if is_held && self.is_calm => {
                    let is_running = self
                        .client
                        .work()
                        .conversations
                        .get(&row.conversation)
                        .is_some_and(|here| here.run.is_some());
                    if is_running || !is_ready {
                        continue;
                    }
                    let effects = outbox::send_now(&mut self.client.state, at, &account(), row.key);
                    self.client.effects.extend(effects);
                    self.client.end_batch();
                }
                Delivery::Queued | Delivery::InFlight | Delivery::Accepted | Delivery::Read => {}
            }
        }
    }

    fn tell_row(&mut self, what: &str, text: &str) {
        let line = format!("{what}: {text:?}");
        self.tell(|| line);
    }
}
