//! Replays recordings of a real agent through the drivers, scene by scene. Recorded client frames
//! become commands, and their ids the ids that the driver gives to the frames it writes for them;
//! what else the driver asks stays unanswered. What a scene leads to is stated in
//! `recordings/<protocol>.scenes.txt`, and no frame may be one that cannot be read or placed. With
//! `TRANSCRIPTS=rewrite` in the environment the scenes are written anew.

#![allow(clippy::unwrap_used)]

#[path = "support/driver_lab.rs"]
#[allow(dead_code)]
mod driver_lab;

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
}

impl Player {
    fn take(&mut self, outputs: &[Output]) {
        for output in outputs {
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
        let file = path(&format!("{name}.scenes.txt"));
        if std::env::var("TRANSCRIPTS").is_ok_and(|value| value == "rewrite") {
            std::fs::write(&file, &self.scenes).unwrap();
            return;
        }
        let expected = std::fs::read_to_string(&file).unwrap();
        for (at, (a, b)) in expected.lines().zip(self.scenes.lines()).enumerate() {
            assert_eq!(a, b, "{name}.scenes.txt, line {}", at + 1);
        }
        assert_eq!(expected.lines().count(), self.scenes.lines().count());
    }
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
    let mut player = Player {
        lab: Lab::new(&LabSetup::new("pheby")),
        id_key: "request_id",
        sign_of_life: r#"{"type":"pong"}"#,
        ids: BTreeMap::new(),
        scenes: String::new(),
        patches: 0,
    };
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
