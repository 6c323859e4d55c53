//! Replays recordings of a real agent through the drivers, scene by scene. Recorded client frames
//! become commands, and their ids the ids that the driver gives to the frames it writes for them;
//! what else the driver asks stays unanswered. What a scene leads to is stated in
//! `recordings/<protocol>.scenes.txt`, and no frame may be one that cannot be read or placed. What a
//! person then sees, with the state and a store behind the driver, is stated in
//! `recordings/<protocol>.timeline.txt`. With `TRANSCRIPTS=rewrite` in the environment both are
//! written anew.

#![allow(clippy::unwrap_used)]

#[path = "support/driver_lab.rs"]
#[allow(dead_code)]
mod driver_lab;

#[path = "update/desk.rs"]
#[allow(dead_code)]
mod desk;

#[path = "recordings/iris.rs"]
mod iris;
#[path = "recordings/omi.rs"]
mod omi;
#[path = "recordings/pheby.rs"]
mod pheby;
#[path = "recordings/program.rs"]
mod program;
#[path = "recordings/words.rs"]
mod words;

use driver_lab::{Lab, LabSetup, command, event_line};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;
use trialogue::domain::{Command, TimelineEvent, Topic};
use trialogue::link::Frame;
use trialogue::protocol::Output;

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/recordings")
        .join(name)
}

/// What a protocol needs to be replayed.
struct Player {
    lab: Lab,
    /// Where the id of a request stands in a frame.
    id_key: &'static str,
    /// A frame that any server may send at any time, to keep a thinned recording alive.
    sign_of_life: &'static str,
    ids: BTreeMap<String, Value>,
    scenes: String,
    patches: usize,
    /// The last id that the driver gave to a frame of each type.
    latest: BTreeMap<String, Value>,
    /// Announced sizes of files.
    sizes: BTreeMap<String, u64>,
}

impl Player {
    fn new(kind: &str, id_key: &'static str, sign_of_life: &'static str) -> Self {
        Self {
            lab: Lab::new(&LabSetup::new(kind)),
            id_key,
            sign_of_life,
            ids: BTreeMap::new(),
            scenes: String::new(),
            patches: 0,
            latest: BTreeMap::new(),
            sizes: BTreeMap::new(),
        }
    }

    fn take(&mut self, outputs: &[Output]) {
        for output in outputs {
            if let Output::Frame(frame @ Frame::Text(_)) = output {
                let ours: Value = serde_json::from_str(frame.as_text().unwrap()).unwrap();
                let name = ours["type"].as_str().unwrap().to_owned();
                self.latest.insert(name, ours[self.id_key].clone());
            }
            let Output::Event(event) = output else {
                continue;
            };
            match &event.topic {
                // Text on its way: the end says it whole.
                Topic::Timeline(TimelineEvent::Patched { .. }) => self.patches += 1,
                Topic::Timeline(TimelineEvent::Typing { .. }) => {}
                Topic::Link(trialogue::domain::LinkEvent::Heard { .. }) => {}
                Topic::Directory(trialogue::domain::DirectoryEvent::Touched { .. }) => {}
                _ => {
                    let line = event_line(event);
                    assert!(!line.starts_with("oddity"), "{line}");
                    self.scenes.push_str(&shorten(&line));
                    self.scenes.push('\n');
                }
            }
        }
    }

    fn pass(&mut self, milliseconds: u64) {
        let mut left = milliseconds;
        while left > 0 {
            let step = left.min(20_000);
            let outputs = self.lab.advance(Duration::from_millis(step));
            self.take(&outputs);
            left -= step;
            if left > 0 {
                let outputs = self.lab.frame(self.sign_of_life);
                self.take(&outputs);
            }
        }
    }

    /// Gives a command, and notes the id of the frame that the driver writes for it.
    fn give(&mut self, command: Command, recorded: &Value) {
        let (_, outputs) = self.lab.command(command);
        self.note(&outputs, recorded);
        self.take(&outputs);
    }

    fn note(&mut self, outputs: &[Output], recorded: &Value) {
        for output in outputs {
            if let Output::Frame(frame @ Frame::Text(_)) = output {
                let ours: Value = serde_json::from_str(frame.as_text().unwrap()).unwrap();
                if ours["type"] == recorded["type"] && !ours[self.id_key].is_null() {
                    self.ids
                        .insert(recorded[self.id_key].to_string(), ours[self.id_key].clone());
                    return;
                }
            }
        }
    }

    /// A recorded frame stands for one that the driver wrote by itself.
    fn pair(&mut self, recorded: &Value) {
        if let Some(ours) = self.latest.get(recorded["type"].as_str().unwrap()) {
            self.ids
                .insert(recorded[self.id_key].to_string(), ours.clone());
        }
    }

    fn receive(&mut self, mut frame: Value) {
        if let Some(ours) = self.ids.get(&frame[self.id_key].to_string()) {
            frame[self.id_key] = ours.clone();
        }
        let outputs = self.lab.frame(&frame.to_string());
        self.take(&outputs);
    }

    fn end_scene(&mut self) {
        if self.patches > 0 {
            self.scenes
                .push_str(&format!("({} drafts)\n", self.patches));
            self.patches = 0;
        }
    }

    fn compare(self, name: &str) {
        compare(&format!("{name}.scenes.txt"), &self.scenes);
    }
}

/// Compares with what is stated in a file.
fn compare(name: &str, scenes: &str) {
    let file = path(name);
    if std::env::var("TRANSCRIPTS").is_ok_and(|value| value == "rewrite") {
        std::fs::write(&file, scenes).unwrap();
        return;
    }
    let expected = std::fs::read_to_string(&file).unwrap_or_default();
    for (at, (a, b)) in expected.lines().zip(scenes.lines()).enumerate() {
        assert_eq!(a, b, "{name}, line {}", at + 1);
    }
    assert_eq!(expected.lines().count(), scenes.lines().count(), "{name}");
}

/// Long texts are cut for the stated scenes.
fn shorten(line: &str) -> String {
    let mut out = String::new();
    for (at, line) in line.lines().enumerate() {
        if at > 0 {
            out.push('\n');
        }
        if line.chars().count() > 240 {
            out.extend(line.chars().take(240));
            out.push('…');
        } else {
            out.push_str(line);
        }
    }
    out
}

fn recorded(name: &str) -> Vec<(f64, String, bool, Value)> {
    std::fs::read_to_string(path(&format!("{name}.jsonl")))
        .unwrap()
        .lines()
        .map(|line| {
            let entry: Value = serde_json::from_str(line).unwrap();
            (
                entry["t"].as_f64().unwrap(),
                entry["scene"].as_str().unwrap().to_owned(),
                entry["dir"] == ">",
                entry["frame"].clone(),
            )
        })
        .collect()
}

/// A word of a command line.
fn word(value: &Value) -> String {
    json!(value.as_str().unwrap_or_default()).to_string()
}

/// The command behind a recorded frame of a Pheby client; none for what is no command of ours.
fn pheby_command(frame: &Value, decisions: &str) -> Option<String> {
    let conversation = word(&frame["conversation_id"]);
    Some(match frame["type"].as_str().unwrap() {
        "conversation.list" => "refresh".to_owned(),
        "conversation.create" if frame["name"].is_null() => "create".to_owned(),
        "conversation.create" => format!("create {}", word(&frame["name"])),
        "conversation.open" if frame["before_message_id"].is_null() => {
            format!("open {conversation}")
        }
        "conversation.open" => {
            format!("older {conversation} {}", word(&frame["before_message_id"]))
        }
        "chat.send" => {
            let mut line = format!("send {conversation} {}", word(&frame["text"]));
            for (at, id) in frame["attachment_ids"]
                .as_array()
                .into_iter()
                .flatten()
                .enumerate()
            {
                line.push_str(&format!(" file:{at}:file:5={}", id.as_str().unwrap()));
            }
            line
        }
        "run.cancel" => format!("cancel {conversation} {}", word(&frame["run_id"])),
        "approval.respond" => {
            let mut line = format!(
                "answer {decisions} {} choice {}",
                json!(format!(
                    "approval {}",
                    frame["approval_id"].as_str().unwrap()
                )),
                word(&frame["choice"])
            );
            if !frame["reason"].is_null() {
                line.push_str(&format!(" {}", word(&frame["reason"])));
            }
            line
        }
        "clarify.respond" => format!(
            "answer {decisions} {} text {}",
            json!(format!("clarify {}", frame["clarify_id"].as_str().unwrap())),
            word(&frame["response"])
        ),
        "yolo.set" => format!(
            "auto-approve {conversation} {}",
            if frame["enabled"] == true {
                "on"
            } else {
                "off"
            }
        ),
        "models.list" => format!("models {conversation}"),
        "model.set" => format!(
            "model {conversation} {} {}",
            word(&frame["model"]),
            word(&frame["provider"])
        ),
        "reasoning.set" => format!("effort {conversation} {}", word(&frame["effort"])),
        _ => return None,
    })
}

#[test]
fn a_recorded_pheby_agent_leads_to_the_stated_scenes() {
    let mut player = Player::new("pheby", "request_id", r#"{"type":"pong"}"#);
    let (mut scene, mut clock) = (String::new(), 0.0);
    for (t, name, is_ours, frame) in recorded("pheby") {
        player.pass(((t - clock) * 1000.0).max(0.0) as u64);
        clock = f64::max(t, clock);
        if name != scene {
            player.end_scene();
            player.scenes.push_str(&format!("== {name}\n"));
            scene = name;
        }
        if !is_ours {
            player.receive(frame);
        } else if frame["type"] == "hello" {
            let outputs = player.lab.link_up();
            player.note(&outputs, &frame);
            player.take(&outputs);
        } else if let Some(line) = pheby_command(&frame, "-") {
            if line.starts_with("answer") {
                // The recorder answered within the millisecond; a person has to see it first.
                player.pass(100);
            }
            player.give(command(&line), &frame);
        }
    }
    player.end_scene();
    player.compare("pheby");
}

/// The command behind a recorded frame of an Iris client; none for what the driver does by itself.
fn iris_command(frame: &Value, sizes: &BTreeMap<String, u64>) -> Option<String> {
    let conversation = word(&frame["chat_id"]);
    let payload = &frame["payload"];
    Some(match frame["type"].as_str().unwrap() {
        "message.send" if payload["media_refs"].is_null() => {
            format!("send {conversation} {}", word(&payload["text"]))
        }
        "picker.select" => format!(
            "answer {conversation} {} choice {}",
            json!(format!("picker {}", payload["picker_id"].as_str().unwrap())),
            word(&payload["value"])
        ),
        "media.pull" => {
            let media = payload["media_id"].as_str().unwrap();
            format!(
                "fetch {media} transfer={} size={}",
                frame["id"], sizes[media]
            )
        }
        // The words of the message that follows in the recording.
        "media.upload.start" => format!(
            "send default \"look at it\" file:99:{}:{}:{}",
            payload["filename"].as_str().unwrap(),
            payload["size"],
            payload["mime"].as_str().unwrap()
        ),
        _ => return None,
    })
}

#[test]
fn a_recorded_iris_agent_leads_to_the_stated_scenes() {
    let mut player = Player::new("iris", "id", r#"{"v":1,"type":"pong","payload":{}}"#);
    let (mut scene, mut clock) = (String::new(), 0.0);
    for (t, name, is_ours, frame) in recorded("iris") {
        player.pass(((t - clock) * 1000.0).max(0.0) as u64);
        clock = f64::max(t, clock);
        if name != scene {
            player.end_scene();
            player.scenes.push_str(&format!("== {name}\n"));
            scene = name;
        }
        let kind = frame["type"].as_str().unwrap().to_owned();
        if is_ours {
            match iris_command(&frame, &player.sizes) {
                _ if kind == "hello" => {
                    let outputs = player.lab.link_up();
                    player.note(&outputs, &frame);
                    player.take(&outputs);
                }
                Some(line) => {
                    player.give(command(&line), &frame);
                    if kind == "media.upload.start" {
                        for line in [
                            "chunk 99 \"".to_owned() + &"x".repeat(40_000) + "\"",
                            "end 99 40000".to_owned(),
                        ] {
                            let outputs = driver_lab::outputs(&mut player.lab, &line);
                            player.take(&outputs);
                        }
                    }
                }
                None => player.pair(&frame),
            }
            continue;
        }
        if kind == "media.offer" {
            let payload = &frame["payload"];
            player.sizes.insert(
                payload["media_id"].as_str().unwrap().to_owned(),
                payload["size"].as_u64().unwrap(),
            );
        }
        if kind == "media.pull.end" {
            // The recording leaves bytes out.
            let pulled = frame["id"].as_u64().unwrap();
            let sizes: Vec<u64> = player.sizes.values().copied().collect();
            let size = sizes[usize::try_from(pulled - 20).unwrap()];
            let bytes = json!("x".repeat(usize::try_from(size).unwrap())).to_string();
            let outputs = driver_lab::outputs(&mut player.lab, &format!("<bytes {bytes}"));
            player.take(&outputs);
        }
        player.receive(frame.clone());
        if kind == "media.pull.end" {
            let line = format!("stored {} 1", frame["id"]);
            let outputs = driver_lab::outputs(&mut player.lab, &line);
            player.take(&outputs);
        }
        if kind == "hello.ack" {
            // This gateway was not asked for what was missed.
            player.receive(json!({"v": 1, "type": "sync.done", "payload": {"cursor": 0}}));
        }
    }
    player.end_scene();
    player.compare("iris");
}
