//! The program before a recording: a driver, the state and a store. What a person does goes the way
//! of the screen, through `app::update` and the store to the driver; what the recording does not
//! answer stays unanswered. Every scene ends with what stands in the timeline then.

use super::words::{beside, entry_line, question};
use crate::desk::{Desk, account_id};
use crate::driver_lab::{Lab, LabSetup};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt::Write as _;
use std::time::Duration;
use trialogue::app::actions::perform;
use trialogue::app::event::TransferProgress;
use trialogue::app::screen::composer::DraftFile;
use trialogue::app::state::Pending;
use trialogue::app::{Action, Event, decisions, issue, media, outbox};
use trialogue::domain::*;
use trialogue::link::{Frame, HttpReply, HttpSink};
use trialogue::protocol::{Input, Output};

/// The wall clock of the recordings.
const BEGINNING: Moment = Moment {
    mono_ms: 1_000_000,
    wall_ms: 1_795_995_270_000,
};

/// How ids stand in the frames of a protocol.
pub struct Ids {
    /// Where the id of a request stands.
    pub key: &'static str,
    /// A frame that any server may send at any time, to keep a thinned recording alive.
    pub sign_of_life: Option<&'static str>,
}

pub struct Program {
    pub lab: Lab,
    pub desk: Desk,
    ids: Ids,
    /// Recorded ids of requests and ours.
    ours: BTreeMap<String, String>,
    /// Other recorded ids and ours.
    names: BTreeMap<String, String>,
    /// Recorded requests that wait for ours: type and id.
    awaited: VecDeque<(String, String)>,
    /// The last frame of each type that the driver wrote.
    latest: BTreeMap<String, Value>,
    /// Answers that the recording leaves out, by the path of an HTTP request.
    pub http: BTreeMap<String, String>,
    /// What the scenes lead to.
    pub scenes: String,
    /// The entries as they were stated last.
    stated: BTreeMap<ConversationId, Vec<(MessageKey, String)>>,
    /// Everything else as it was stated last.
    aside: BTreeMap<String, String>,
    asked: BTreeSet<DecisionId>,
    toasts: BTreeSet<(String, u64)>,
    /// Oddities that the recording really has: their words, and how often they come.
    pub explained: BTreeMap<&'static str, usize>,
    /// Bytes that came in by transfer.
    received: BTreeMap<u64, u64>,
}

impl Program {
    pub fn new(setup: &LabSetup, ids: Ids) -> Self {
        let (store, _) = trialogue::store::memory().unwrap();
        let mut lab = Lab::new(setup);
        lab.now = BEGINNING;
        let mut desk = Desk::on(store, 1);
        desk.now = BEGINNING;
        desk.state.accounts[0].account.capabilities = Capabilities::default();
        Self {
            lab,
            desk,
            ids,
            ours: BTreeMap::new(),
            names: BTreeMap::new(),
            awaited: VecDeque::new(),
            latest: BTreeMap::new(),
            http: BTreeMap::new(),
            scenes: String::new(),
            stated: BTreeMap::new(),
            aside: BTreeMap::new(),
            asked: BTreeSet::new(),
            toasts: BTreeSet::new(),
            explained: BTreeMap::new(),
            received: BTreeMap::new(),
        }
    }

    // -----------------------------------------------------------------------------------------
    // The loop

    pub fn input(&mut self, input: Input) {
        self.lab.driver.handle(self.lab.now, input);
        self.work();
    }

    /// Carries everything to its place until nothing is left to do.
    pub fn work(&mut self) {
        self.desk.now = self.lab.now;
        for _ in 0..100_000 {
            if let Some(output) = self.lab.driver.poll() {
                self.output(output);
            } else if !self.desk.commands.is_empty() {
                let (id, command) = self.desk.commands.remove(0);
                self.lab
                    .driver
                    .handle(self.lab.now, Input::Command { id, command });
            } else {
                self.look();
                return;
            }
        }
        panic!("it never comes to rest");
    }

    fn output(&mut self, output: Output) {
        match output {
            Output::Frame(frame @ Frame::Text(_)) => self.written(&frame),
            Output::Event(event) => {
                if let Topic::Notice(notice) = &event.topic
                    && notice.kind == NoticeKind::Oddity
                {
                    self.oddity(&format!("{} {}", notice.title, notice.body));
                }
                self.desk.event(Event::Account {
                    account: account_id(),
                    event,
                });
            }
            Output::Http(request) if matches!(request.sink, HttpSink::File { .. }) => {
                // A download: the bytes that were offered.
                let offered =
                    self.desk.work().attachments.values().find(|file| {
                        file.source == AttachmentSource::HttpPath(request.path.clone())
                    });
                let size = offered.and_then(|file| file.size).unwrap();
                self.arrived(request.transfer, size);
            }
            Output::Http(request) => {
                let body = self.http[&request.path].clone();
                let reply = HttpReply {
                    transfer: request.transfer,
                    status: 200,
                    body: body.into(),
                };
                self.lab
                    .driver
                    .handle(self.lab.now, Input::HttpReply(reply));
            }
            Output::WantBytes { transfer, max } => {
                // A file of one piece.
                let _ = max;
                let size = self.upload_size(transfer);
                let sent = self.received.entry(transfer.0).or_default();
                let input = if *sent < size {
                    *sent = size;
                    Input::UploadChunk {
                        transfer,
                        bytes: vec![b'x'; usize::try_from(size).unwrap()].into(),
                    }
                } else {
                    Input::UploadEnd {
                        transfer,
                        size,
                        sha256: [0xab; 32],
                    }
                };
                self.lab.driver.handle(self.lab.now, input);
            }
            Output::DownloadChunk { transfer, bytes } => {
                *self.received.entry(transfer.0).or_default() += bytes.len() as u64;
            }
            Output::DownloadEnd { transfer, ok } => {
                assert!(ok, "a download that came in short");
                let size = self.received[&transfer.0];
                self.arrived(transfer, size);
            }
            Output::Close { .. } => panic!("the driver hangs up"),
            Output::Frame(Frame::Binary(_))
            | Output::CancelTransfer { .. }
            | Output::RunTool { .. }
            | Output::WantSecret
            | Output::WantLog => {}
        }
    }

    /// A file is here as a whole.
    fn arrived(&mut self, transfer: TransferId, size: u64) {
        self.desk.progress(
            transfer,
            TransferProgress::Finished {
                path: "/cache/file".into(),
            },
        );
        let done = Input::TransferDone {
            transfer,
            size,
            sha256: [7; 32],
        };
        self.lab.driver.handle(self.lab.now, done);
    }

    fn upload_size(&self, transfer: TransferId) -> u64 {
        self.desk
            .work()
            .outbox
            .iter()
            .flat_map(|row| &row.files)
            .find(|file| file.transfer == transfer)
            .map(|file| file.size)
            .unwrap()
    }

    /// Something that cannot be read or placed; only what the test explains may come.
    fn oddity(&mut self, words: &str) {
        let explained = self
            .explained
            .iter_mut()
            .find(|(known, left)| words.contains(**known) && **left > 0);
        match explained {
            Some((_, left)) => *left -= 1,
            None => panic!("an oddity: {words}"),
        }
    }

    /// A frame of ours: its id is the one of the recorded request that waits for it.
    fn written(&mut self, frame: &Frame) {
        let ours: Value = serde_json::from_str(frame.as_text().unwrap()).unwrap();
        let name = ours["type"].as_str().unwrap().to_owned();
        let Some(id) = id_text(&ours[self.ids.key]) else {
            return;
        };
        if let Some(at) = self.awaited.iter().position(|(of, _)| *of == name) {
            let (_, recorded) = self.awaited.remove(at).unwrap();
            self.ours.insert(recorded, id.clone());
        }
        self.latest.insert(name, ours);
    }

    pub fn pass(&mut self, milliseconds: u64) {
        let until = self.lab.now.mono_ms + milliseconds;
        let mut alive = self.lab.now.mono_ms;
        while self.lab.now.mono_ms < until {
            let next = [
                self.lab.driver.deadline().map(|at| at.mono_ms),
                self.desk.state.wake.map(|at| at.mono_ms),
                Some(alive + 20_000),
            ]
            .into_iter()
            .flatten()
            .min()
            .unwrap_or(until)
            .clamp(self.lab.now.mono_ms + 1, until);
            self.lab.now = self
                .lab
                .now
                .after(Duration::from_millis(next - self.lab.now.mono_ms));
            self.desk.now = self.lab.now;
            if self.desk.state.wake.is_some_and(|at| at.mono_ms <= next) {
                self.desk.state.wake = None;
                self.desk.event(Event::Deadline);
            }
            if self
                .lab
                .driver
                .deadline()
                .is_some_and(|at| at.mono_ms <= next)
            {
                self.lab.driver.handle(self.lab.now, Input::Deadline);
            }
            if next >= alive + 20_000 {
                alive = next;
                if let Some(sign) = self.ids.sign_of_life {
                    self.lab
                        .driver
                        .handle(self.lab.now, Input::Frame(Frame::text(sign)));
                }
            }
            self.work();
        }
    }

    pub fn link_up(&mut self) {
        self.input(Input::LinkUp { generation: 1 });
    }

    // -----------------------------------------------------------------------------------------
    // Recorded frames

    /// The next frame of this type that the driver writes is the recorded one.
    pub fn await_request(&mut self, recorded: &Value) {
        if let Some(id) = id_text(&recorded[self.ids.key]) {
            let name = recorded["type"].as_str().unwrap().to_owned();
            self.awaited.push_back((name, id));
        }
    }

    /// What was not written by now never is; true when something was.
    pub fn stop_waiting(&mut self) -> bool {
        let nothing = self.awaited.is_empty();
        self.awaited.clear();
        nothing
    }

    /// A recorded frame stands for one that the driver wrote by itself.
    pub fn pair(&mut self, recorded: &Value) {
        let ours = self.latest.get(recorded["type"].as_str().unwrap());
        if let (Some(theirs), Some(ours)) = (
            id_text(&recorded[self.ids.key]),
            ours.and_then(|frame| id_text(&frame[self.ids.key])),
        ) {
            self.ours.insert(theirs, ours);
        }
    }

    /// A recorded id and the one that stands for it here.
    pub fn name(&mut self, recorded: &str, ours: &str) {
        self.names.insert(recorded.to_owned(), ours.to_owned());
    }

    /// Our last frame of a type.
    pub fn last(&self, name: &str) -> &Value {
        &self.latest[name]
    }

    pub fn receive(&mut self, mut frame: Value) {
        self.rename(&mut frame);
        self.input(Input::Frame(Frame::text(frame.to_string())));
    }

    fn rename(&self, value: &mut Value) {
        match value {
            Value::String(text) => {
                if let Some(ours) = self.names.get(text) {
                    ours.clone_into(text);
                }
            }
            Value::Array(values) => values.iter_mut().for_each(|value| self.rename(value)),
            Value::Object(values) => {
                let key = self.ids.key;
                for (name, value) in values {
                    if name == key
                        && let Some(ours) = id_text(value).and_then(|id| self.ours.get(&id))
                    {
                        *value = ours
                            .parse::<u64>()
                            .map_or_else(|_| Value::from(ours.clone()), Value::from);
                        continue;
                    }
                    self.rename(value);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    pub fn bytes(&mut self, count: usize) {
        self.input(Input::Frame(Frame::Binary(vec![b'x'; count].into())));
    }

    // -----------------------------------------------------------------------------------------
    // The person

    fn does(&mut self, words: &str) {
        let _ = writeln!(self.scenes, "> {words}");
    }

    /// Puts a conversation on screen.
    pub fn go_to(&mut self, conversation: &str) {
        let conversation = ConversationId::from(conversation);
        if self
            .desk
            .state
            .focus
            .as_ref()
            .is_some_and(|(_, id)| *id == conversation)
        {
            return;
        }
        let name = self.desk.work().conversations[&conversation]
            .info
            .name
            .clone();
        self.does(&format!("goes to {name}"));
        self.desk.focus(conversation.as_str());
        self.work();
    }

    /// Says something; while a run is active it goes at once, as with "send now".
    pub fn say(&mut self, text: &str, files: Vec<DraftFile>) {
        let mut words = format!("says {text:?}");
        for file in &files {
            let _ = write!(words, " with {}", file.path.display());
        }
        self.does(&words);
        self.desk.now = self.lab.now;
        self.desk.here_mut().composer.files = files;
        let mode = if self.desk.here().run.is_some() {
            outbox::SendMode::Now
        } else {
            outbox::SendMode::Ordinary
        };
        self.desk.send_as(text, mode);
        self.work();
    }

    /// Takes what waits in the queue back and throws it away.
    pub fn take_back(&mut self) {
        let waiting: Vec<MessageKey> = self
            .desk
            .work()
            .outbox
            .iter()
            .filter(|row| row.delivery == Delivery::Queued)
            .map(|row| row.key)
            .collect();
        for key in waiting {
            self.does("takes the message back");
            let effects = outbox::take_back(&mut self.desk.state, self.lab.now, &account_id(), key);
            self.desk.finish(effects);
            self.desk.here_mut().composer.take();
            self.work();
        }
    }

    pub fn act(&mut self, words: &str, action: Action) {
        self.does(words);
        self.desk.now = self.lab.now;
        let effects = perform(&mut self.desk.state, self.lab.now, action);
        self.desk.finish(effects);
        self.work();
    }

    pub fn answer(&mut self, decision: &str, answer: Answer) {
        let words = match &answer {
            Answer::Choice {
                value,
                reason: None,
            } => format!("answers {value}"),
            Answer::Choice {
                value,
                reason: Some(reason),
            } => format!("answers {value} because {reason:?}"),
            Answer::Text(text) => format!("answers {text:?}"),
        };
        self.does(&words);
        self.desk.now = self.lab.now;
        let effects = decisions::answer(
            &mut self.desk.state,
            self.lab.now,
            &account_id(),
            &decision.into(),
            answer,
        );
        self.desk.finish(effects);
        self.work();
    }

    pub fn command(&mut self, words: &str, command: Command, pending: Pending) {
        self.does(words);
        self.desk.now = self.lab.now;
        let effects = issue(&mut self.desk.state, &account_id(), command, pending);
        self.desk.finish(effects);
        self.work();
    }

    /// Brings a file here; false when that was begun before, as it is for a picture.
    pub fn fetch(&mut self, attachment: &str) -> bool {
        let id = AttachmentId::from(attachment);
        let known = &self.desk.work().attachments[&id];
        if !matches!(known.state, AttachmentState::Offered) {
            return false;
        }
        let name = known.name.clone();
        self.does(&format!("fetches {name}"));
        self.desk.now = self.lab.now;
        let effects = media::fetch(
            &mut self.desk.state,
            self.lab.now,
            &account_id(),
            &id,
            media::MediaThen::Show,
        );
        self.desk.finish(effects);
        self.work();
        true
    }

    // -----------------------------------------------------------------------------------------
    // What stands there

    /// Notes what appeared beside the timeline: questions and toasts.
    fn look(&mut self) {
        let mut lines = String::new();
        for decision in &self.desk.work().decisions {
            if decision.life == DecisionLife::Open && self.asked.insert(decision.id.clone()) {
                let _ = writeln!(lines, "? {}", question(decision));
            }
        }
        for toast in &self.desk.state.screen.toasts {
            let is_new = (toast.text.to_string(), toast.until.mono_ms);
            if self.toasts.insert(is_new) {
                let _ = writeln!(lines, "! {}", toast.text);
            }
        }
        self.scenes.push_str(&lines);
    }

    pub fn begin_scene(&mut self, name: &str) {
        let _ = writeln!(self.scenes, "== {name}");
    }

    /// States what this scene changed, conversation by conversation.
    pub fn end_scene(&mut self) {
        let ids: Vec<ConversationId> = self.desk.work().conversations.keys().cloned().collect();
        for id in ids {
            self.state_conversation(&id);
        }
    }

    fn state_conversation(&mut self, id: &ConversationId) {
        let of = self.desk.work();
        let here = &of.conversations[id];
        let name = here.info.name.clone();
        let now: Vec<(MessageKey, String)> = here
            .timeline
            .entries
            .iter()
            .map(|entry| (entry.key, entry_line(&self.desk, entry)))
            .collect();
        let is_whole = !here.timeline.has_older && !here.timeline.has_newer;
        let mut lines = String::new();
        if here.timeline.is_loaded {
            let before = self.stated.entry(id.clone()).or_default();
            for (key, line) in &now {
                match before.iter().find(|(known, _)| known == key) {
                    Some((_, old)) if old == line => {}
                    Some(_) => {
                        let _ = writeln!(lines, "~ {line}");
                    }
                    None => {
                        let _ = writeln!(lines, "  {line}");
                    }
                }
            }
            if is_whole {
                for (key, line) in before.iter() {
                    if !now.iter().any(|(known, _)| known == key) {
                        let _ = writeln!(lines, "- {line}");
                    }
                }
            }
            self.stated.insert(id.clone(), now);
        }
        for (what, words) in beside(&self.desk, id) {
            let key = format!("{id} {what}", id = id.as_str());
            let old = self.aside.insert(key, words.clone());
            if old.unwrap_or_default() != words {
                let words = if words.is_empty() { "none" } else { &words };
                let _ = writeln!(lines, "  {what}: {words}");
            }
        }
        if !lines.is_empty() {
            let _ = writeln!(self.scenes, "# {name}");
            self.scenes.push_str(&lines);
        }
    }

    /// The store holds what is on screen, entry for entry, and nothing twice.
    pub fn check_store(&mut self) {
        // Streamed texts are written with a delay.
        self.pass(5_000);
        for (id, here) in &self.desk.work().conversations {
            if !here.timeline.is_loaded || here.timeline.has_newer || here.timeline.has_older {
                continue;
            }
            let on_screen: Vec<String> = here
                .timeline
                .entries
                .iter()
                .map(crate::desk::line)
                .collect();
            assert_eq!(on_screen, self.desk.stored(id.as_str()), "{}", id.as_str());
            let mut seen = BTreeSet::new();
            for message in here.timeline.entries.iter().filter_map(Entry::message) {
                let remote = message.remote.iter().map(RemoteId::as_str);
                let files = message.attachments.iter().map(AttachmentId::as_str);
                for id in remote.chain(files) {
                    assert!(seen.insert(id.to_owned()), "{id} stands there twice");
                }
            }
        }
    }
}

fn id_text(value: &Value) -> Option<String> {
    match value {
        Value::String(id) => Some(id.clone()),
        Value::Number(id) => Some(id.to_string()),
        _ => None,
    }
}
