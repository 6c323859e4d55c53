//! Plays a recording into the real interface: links that the recording feeds, and the keys.
//!
//! # How it goes
//! Every account dials as usual and gets a link when the recording comes to the line where one
//! stood. Frames of the server are handed over in their order and at the pace that is wanted; a
//! frame waits, for a moment at most, until the driver has sent what it had sent before that frame
//! in the recording. Ids that the driver makes anew are told from the recorded ones by comparing
//! the frames that went out, and frames that come in carry the new ones. Nothing leaves this
//! machine.
//!
//! When nothing of a kind is left in the recording, a question of the driver that was answered
//! before gets that answer again (heartbeats above all), so the interface stays alive at the end.

use super::read::{Line, Recording, What, close_reason};
use crate::domain::AccountId;
use crate::link::{CloseReason, Frame};
use crate::runtime::input::Bytes;
use crate::transport::Link;
use crate::transport::replay::{self, Played, Player};
use serde_json::Value;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep_until, timeout_at};

/// No pause is longer, however long it was.
const PAUSE_AT_MOST: Duration = Duration::from_secs(2);
/// So long a frame waits for what the driver had sent before it.
const PATIENCE: Duration = Duration::from_millis(400);
/// So long a line where a link stood waits for the account to dial.
const DIAL_PATIENCE: Duration = Duration::from_secs(40);
/// A key comes at least so long after the line before it, if it did in the recording: popups take
/// keys only after they were seen for a moment.
const KEY_PAUSE: Duration = Duration::from_millis(450);

/// How fast it goes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Speed {
    /// So many times as fast as it was.
    Times(f64),
    /// Without pauses.
    Most,
}

/// What the accounts and the screen ask of the player.
#[derive(Debug)]
enum Ask {
    Dial(String, oneshot::Sender<Link>),
    Sent(String, Frame),
    /// One line more.
    Step,
    /// Stop, or go on.
    Pause,
}

/// A recording on stage. Clones are the same.
#[derive(Clone, Debug)]
pub struct Stage {
    recording: Arc<Recording>,
    asks: mpsc::Sender<Ask>,
    /// Taken when the play begins.
    inbox: Arc<Mutex<Option<mpsc::Receiver<Ask>>>>,
    speed: Speed,
    by_steps: bool,
}

/// Where an account of a recording dials.
#[derive(Clone, Debug)]
pub struct Seat {
    account: String,
    asks: mpsc::Sender<Ask>,
}

impl PartialEq for Seat {
    fn eq(&self, other: &Self) -> bool {
        self.account == other.account && self.asks.same_channel(&other.asks)
    }
}

impl Eq for Seat {}

impl Seat {
    /// Waits for the line where a link stood.
    pub async fn dial(&self) -> Result<Link, CloseReason> {
        let (reply, link) = oneshot::channel();
        let _ = self.asks.send(Ask::Dial(self.account.clone(), reply)).await;
        match link.await {
            Ok(link) => Ok(link),
            // The play is over; the account stays where it is.
            Err(_) => std::future::pending().await,
        }
    }
}

impl Stage {
    /// A recording, ready to be played.
    pub fn new(recording: Recording, speed: Speed, by_steps: bool) -> Self {
        let (asks, inbox) = mpsc::channel(256);
        Self {
            recording: Arc::new(recording),
            asks,
            inbox: Arc::new(Mutex::new(Some(inbox))),
            speed,
            by_steps,
        }
    }

    /// Where this account dials.
    pub fn seat(&self, account: &AccountId) -> Seat {
        Seat {
            account: account.as_str().to_owned(),
            asks: self.asks.clone(),
        }
    }

    /// What the driver of an account was built with.
    pub fn session(&self, account: &AccountId) -> ([u8; 16], BTreeMap<String, String>) {
        self.recording.session(account.as_str()).unwrap_or_default()
    }

    /// How it goes, in words.
    pub fn speed_words(&self) -> String {
        match self.speed {
            _ if self.by_steps => "by steps, F7".to_owned(),
            Speed::Times(times) => format!("{times}\u{d7}"),
            Speed::Most => "without pauses".to_owned(),
        }
    }

    /// Begins to play; keys go to `screen`.
    pub fn begin(&self, screen: mpsc::Sender<Bytes>) {
        let inbox = match self.inbox.lock() {
            Ok(mut inbox) => inbox.take(),
            Err(_) => None,
        };
        let Some(inbox) = inbox else { return };
        let lines = self
            .recording
            .lines
            .iter()
            .cloned()
            .collect::<VecDeque<_>>();
        let play = Play {
            total: lines.len(),
            lines,
            inbox,
            asks: self.asks.clone(),
            screen,
            speed: self.speed,
            is_paused: self.by_steps,
            steps: 0,
            parts: BTreeMap::new(),
            last_ms: 0,
        };
        tokio::spawn(play.run());
    }

    /// One line more.
    pub fn step(&self) {
        let _ = self.asks.try_send(Ask::Step);
    }

    /// Stops, or goes on.
    pub fn pause(&self) {
        let _ = self.asks.try_send(Ask::Pause);
    }
}

/// One account on stage.
#[derive(Default)]
struct Part {
    dials: Option<oneshot::Sender<Link>>,
    played: Option<mpsc::Sender<Played>>,
    /// Recorded frames of ours that the driver has not sent yet, oldest first.
    expected: Vec<Value>,
    /// Frames the driver sent before their line came.
    early: Vec<Value>,
    /// Recorded ids, as JSON, and what stands for them now.
    ids: BTreeMap<String, Value>,
    /// Recorded questions with their answers.
    answered: Vec<(Value, Option<Value>)>,
}

struct Play {
    lines: VecDeque<Line>,
    total: usize,
    inbox: mpsc::Receiver<Ask>,
    asks: mpsc::Sender<Ask>,
    screen: mpsc::Sender<Bytes>,
    speed: Speed,
    is_paused: bool,
    steps: usize,
    parts: BTreeMap<String, Part>,
    last_ms: u64,
}

impl Play {
    async fn run(mut self) {
        while let Some(line) = self.lines.pop_front() {
            if !self.wait_for_turn(&line).await {
                return;
            }
            self.last_ms = line.at_ms;
            let words = self.is_paused.then(|| words(&line.what)).flatten();
            self.play(line.what).await;
            if let Some(words) = words {
                let at = self.total - self.lines.len();
                let note = format!("Step {at} of {}: {words}", self.total);
                let _ = self.screen.send(Bytes::Note(note)).await;
            }
        }
        let _ = self.screen.send(Bytes::PlayEnded).await;
        while let Some(ask) = self.inbox.recv().await {
            self.take(ask).await;
        }
    }

    /// Waits as long as it took, or for a step; false when nobody looks any more.
    async fn wait_for_turn(&mut self, line: &Line) -> bool {
        let gap = Duration::from_millis(line.at_ms.saturating_sub(self.last_ms)).min(PAUSE_AT_MOST);
        let mut pause = match self.speed {
            Speed::Times(times) => gap.div_f64(times.max(0.001)),
            Speed::Most => Duration::ZERO,
        };
        if matches!(line.what, What::Terminal(_)) {
            pause = pause.max(gap.min(KEY_PAUSE));
        }
        let until = Instant::now() + pause;
        loop {
            if self.screen.is_closed() {
                return false;
            }
            let is_silent = words(&line.what).is_none();
            if self.is_paused && !is_silent {
                if self.steps > 0 {
                    self.steps -= 1;
                    return true;
                }
                match self.inbox.recv().await {
                    Some(ask) => self.take(ask).await,
                    None => return false,
                }
                continue;
            }
            tokio::select! {
                biased;
                ask = self.inbox.recv() => match ask {
                    Some(ask) => self.take(ask).await,
                    None => return false,
                },
                () = sleep_until(until) => return true,
            }
        }
    }

    async fn take(&mut self, ask: Ask) {
        match ask {
            Ask::Step => {
                self.is_paused = true;
                self.steps += 1;
            }
            Ask::Pause => self.is_paused = !self.is_paused,
            Ask::Dial(account, reply) => {
                self.parts.entry(account).or_default().dials = Some(reply);
            }
            Ask::Sent(account, frame) => {
                let Some(value) = json_of(&frame) else { return };
                let rest = &self.lines;
                let part = self.parts.entry(account.clone()).or_default();
                if let Some(at) = part
                    .expected
                    .iter()
                    .position(|known| kind_of(known) == kind_of(&value))
                {
                    let known = part.expected.remove(at);
                    pair(&known, &value, "", &mut part.ids);
                    return;
                }
                let comes = rest.iter().any(|line| {
                    matches!(&line.what, What::Frame { account: of, outgoing: true, text }
                        if *of == account
                            && serde_json::from_str::<Value>(text)
                                .is_ok_and(|known| kind_of(&known) == kind_of(&value)))
                });
                if comes {
                    part.early.push(value);
                } else if let Some(answer) = part.answer(&value)
                    && let Some(played) = &part.played
                {
                    let frame = Frame::text(answer.to_string());
                    let _ = played.send(Played::Frame(frame)).await;
                }
            }
        }
    }

    async fn play(&mut self, what: What) {
        match what {
            What::Up { account } => self.link_up(account).await,
            What::Down { account, how } => {
                let part = self.parts.entry(account).or_default();
                if let Some(played) = part.played.take() {
                    let _ = played.send(Played::Down(close_reason(&how))).await;
                }
            }
            What::Frame {
                account,
                outgoing: true,
                text,
            } => {
                let Ok(known) = serde_json::from_str::<Value>(&text) else {
                    return;
                };
                let part = self.parts.entry(account).or_default();
                part.answered.push((known.clone(), None));
                let early = part
                    .early
                    .iter()
                    .position(|value| kind_of(value) == kind_of(&known));
                match early {
                    Some(at) => {
                        let value = part.early.remove(at);
                        pair(&known, &value, "", &mut part.ids);
                    }
                    None => part.expected.push(known),
                }
            }
            What::Frame {
                account,
                outgoing: false,
                text,
            } => self.frame(account, text).await,
            What::Terminal(event) => {
                // What came in before a key was on screen when it was pressed.
                tokio::task::yield_now().await;
                let _ = self.screen.send(Bytes::Played(event)).await;
            }
            What::Sidebar { .. }
            | What::Session { .. }
            | What::Command { .. }
            | What::Bytes { .. }
            | What::Hidden
            | What::LeftOut(_) => {}
        }
    }

    async fn link_up(&mut self, account: String) {
        let until = Instant::now() + DIAL_PATIENCE;
        loop {
            let part = self.parts.entry(account.clone()).or_default();
            if let Some(reply) = part.dials.take() {
                let (link, player) = replay::start();
                let Player { played, mut sent } = player;
                part.played = Some(played);
                part.expected.clear();
                part.early.clear();
                if reply.send(link).is_ok() {
                    let (asks, of) = (self.asks.clone(), account);
                    tokio::spawn(async move {
                        while let Some(frame) = sent.recv().await {
                            if asks.send(Ask::Sent(of.clone(), frame)).await.is_err() {
                                return;
                            }
                        }
                    });
                    return;
                }
                continue;
            }
            match timeout_at(until, self.inbox.recv()).await {
                Ok(Some(ask)) => self.take(ask).await,
                Ok(None) | Err(_) => return,
            }
        }
    }

    async fn frame(&mut self, account: String, text: String) {
        let until = Instant::now() + PATIENCE;
        while self
            .parts
            .get(&account)
            .is_some_and(|part| !part.expected.is_empty())
        {
            match timeout_at(until, self.inbox.recv()).await {
                Ok(Some(ask)) => self.take(ask).await,
                Ok(None) => return,
                // It was not asked for this time; nothing waits for it a second time.
                Err(_) => {
                    if let Some(part) = self.parts.get_mut(&account) {
                        part.expected.clear();
                    }
                }
            }
        }
        let Some(part) = self.parts.get_mut(&account) else {
            return;
        };
        let frame = match serde_json::from_str::<Value>(&text) {
            Ok(mut value) => {
                part.note_answer(&value);
                if part.ids.is_empty() {
                    Frame::text(text)
                } else {
                    rename(&mut value, &part.ids);
                    Frame::text(value.to_string())
                }
            }
            Err(_) => Frame::text(text),
        };
        if let Some(played) = &part.played {
            let _ = played.send(Played::Frame(frame)).await;
        }
    }
}

impl Part {
    /// A frame of the server that carries an id of ours is the answer to the frame that had it.
    fn note_answer(&mut self, value: &Value) {
        let ids = ids_of(value);
        let question = self
            .answered
            .iter_mut()
            .rev()
            .take(64)
            .find(|(question, answer)| {
                answer.is_none() && ids_of(question).iter().any(|id| ids.contains(id))
            });
        if let Some((_, answer)) = question {
            *answer = Some(value.clone());
        }
    }

    /// The answer to a question that was asked and answered before, but for its ids.
    fn answer(&self, value: &Value) -> Option<Value> {
        let (question, answer) = self.answered.iter().rev().find_map(|(question, answer)| {
            let is_same = without_ids(question) == without_ids(value);
            answer.as_ref().filter(|_| is_same).map(|a| (question, a))
        })?;
        let mut ids = BTreeMap::new();
        pair(question, value, "", &mut ids);
        let mut answer = answer.clone();
        rename(&mut answer, &ids);
        Some(answer)
    }
}

fn words(what: &What) -> Option<String> {
    let short = |text: &str| text.chars().take(100).collect::<String>();
    match what {
        What::Up { account } => Some(format!("{account}: a link stands")),
        What::Down { account, how } => Some(format!("{account}: the link is over ({how})")),
        What::Frame {
            account,
            outgoing: false,
            text,
        } => Some(format!("{account} ← {}", short(text))),
        What::Terminal(event) => Some(match event {
            crate::input::TerminalEvent::Key(chord) => format!("key {}", chord.label()),
            other => short(&format!("{other:?}")),
        }),
        _ => None,
    }
}

fn json_of(frame: &Frame) -> Option<Value> {
    serde_json::from_str(frame.as_text()?).ok()
}

fn kind_of(value: &Value) -> Option<&str> {
    value.get("type").and_then(Value::as_str)
}

fn is_id(key: &str) -> bool {
    key == "id" || key.ends_with("_id") || key.ends_with("Id")
}

/// Notes which ids of a frame that was sent now stand for recorded ones.
fn pair(known: &Value, now: &Value, key: &str, ids: &mut BTreeMap<String, Value>) {
    match (known, now) {
        (Value::Object(known), Value::Object(now)) => {
            for (key, value) in known {
                if let Some(other) = now.get(key) {
                    pair(value, other, key, ids);
                }
            }
        }
        (Value::Array(known), Value::Array(now)) => {
            for (value, other) in known.iter().zip(now) {
                pair(value, other, key, ids);
            }
        }
        (Value::String(_) | Value::Number(_), Value::String(_) | Value::Number(_))
            if is_id(key) && known != now =>
        {
            ids.insert(known.to_string(), now.clone());
        }
        _ => {}
    }
}

/// Puts the ids of now where recorded ones stand.
fn rename(value: &mut Value, ids: &BTreeMap<String, Value>) {
    match value {
        Value::Object(fields) => fields.values_mut().for_each(|value| rename(value, ids)),
        Value::Array(values) => values.iter_mut().for_each(|value| rename(value, ids)),
        Value::String(_) | Value::Number(_) => {
            if let Some(now) = ids.get(&value.to_string()) {
                *value = now.clone();
            }
        }
        Value::Null | Value::Bool(_) => {}
    }
}

fn ids_of(value: &Value) -> Vec<&Value> {
    fn walk<'a>(value: &'a Value, key: &str, found: &mut Vec<&'a Value>) {
        match value {
            Value::Object(fields) => {
                for (key, value) in fields {
                    walk(value, key, found);
                }
            }
            Value::String(_) | Value::Number(_) if key == "id" || key.starts_with("request") => {
                found.push(value);
            }
            _ => {}
        }
    }
    let mut found = Vec::new();
    walk(value, "", &mut found);
    found
}

fn without_ids(value: &Value) -> Value {
    match value {
        Value::Object(fields) => fields
            .iter()
            .filter(|(key, _)| *key != "id" && !key.starts_with("request"))
            .map(|(key, value)| (key.clone(), without_ids(value)))
            .collect(),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn recorded_ids_give_way_to_those_of_now() {
        let mut ids = BTreeMap::new();
        let known = json!({"type": "open", "request_id": "old-3", "conversation_id": "c"});
        let now = json!({"type": "open", "request_id": "new-1", "conversation_id": "c"});
        pair(&known, &now, "", &mut ids);
        let mut answer = json!({"type": "opened", "request_id": "old-3", "list": ["old-3", "x"]});
        rename(&mut answer, &ids);
        assert_eq!(
            answer,
            json!({"type": "opened", "request_id": "new-1", "list": ["new-1", "x"]})
        );
    }

    #[test]
    fn a_heartbeat_is_answered_as_it_was_before() {
        let mut part = Part::default();
        part.answered.push((json!({"type": "ping", "id": 7}), None));
        part.note_answer(&json!({"type": "pong", "id": 7}));
        assert_eq!(
            part.answer(&json!({"type": "ping", "id": 90})),
            Some(json!({"type": "pong", "id": 90}))
        );
        assert_eq!(part.answer(&json!({"type": "send", "id": 91})), None);
    }
}
