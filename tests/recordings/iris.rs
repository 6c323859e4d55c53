//! The recording of a real Iris agent before the whole program.

use super::program::{Ids, Program};
use super::{compare, recorded};
use crate::driver_lab::LabSetup;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use trialogue::app::event::FileFacts;
use trialogue::app::screen::composer::DraftFile;
use trialogue::domain::*;

/// What the person did to have this frame sent; false for what the driver does by itself.
fn act(program: &mut Program, frame: &Value) -> bool {
    let payload = &frame["payload"];
    let text = |name: &str| payload[name].as_str().unwrap_or_default().to_owned();
    match frame["type"].as_str().unwrap() {
        "hello" => program.link_up(),
        "message.send" if payload["media_refs"].is_null() => {
            program.go_to(frame["chat_id"].as_str().unwrap());
            program.say(&text("text"), Vec::new());
        }
        "picker.select" => {
            program.pass(100);
            let answer = Answer::Choice {
                value: text("value"),
                reason: None,
            };
            program.answer(&format!("picker {}", text("picker_id")), answer);
        }
        "media.pull" => return program.fetch(&text("media_id")),
        // The words are those of the message that follows in the recording.
        "media.upload.start" => {
            let file = DraftFile {
                path: "n.md".into(),
                facts: Some(FileFacts {
                    path: "n.md".into(),
                    name: text("filename"),
                    size: payload["size"].as_u64().unwrap(),
                    media_type: text("mime"),
                    kind: AttachmentKind::Document,
                }),
            };
            program.say("look at it", vec![file]);
        }
        _ => return false,
    }
    true
}

#[test]
fn a_recorded_iris_agent_fills_the_stated_timeline() {
    let ids = Ids {
        key: "id",
        sign_of_life: Some(r#"{"v":1,"type":"pong","payload":{}}"#),
    };
    let mut program = Program::new(&LabSetup::new("iris"), ids);
    let (mut scene, mut clock) = (String::new(), 0.0);
    let mut sizes: BTreeMap<String, u64> = BTreeMap::new();
    let mut pulls: BTreeMap<String, u64> = BTreeMap::new();
    for (t, name, is_ours, frame) in recorded("iris") {
        program.pass(((t - clock) * 1000.0).max(0.0) as u64);
        clock = f64::max(t, clock);
        if name != scene {
            program.end_scene();
            program.begin_scene(&name);
            scene = name;
        }
        let kind = frame["type"].as_str().unwrap().to_owned();
        let id = frame["id"].to_string();
        let media = frame["payload"]["media_id"].as_str().unwrap_or_default();
        if is_ours {
            if kind == "media.pull" {
                pulls.insert(id, sizes[media]);
            }
            program.await_request(&frame);
            let is_deed = act(&mut program, &frame);
            if !is_deed {
                program.pair(&frame);
            }
            // One file comes after the other; the second is asked for later.
            if !is_deed || kind != "media.pull" {
                program.stop_waiting();
            }
            continue;
        }
        match kind.as_str() {
            "media.offer" => {
                let size = frame["payload"]["size"].as_u64().unwrap();
                sizes.insert(media.to_owned(), size);
            }
            // The recording leaves bytes out.
            "media.pull.end" => program.bytes(usize::try_from(pulls[&id]).unwrap()),
            _ => {}
        }
        program.receive(frame);
        if kind == "hello.ack" {
            // This gateway was not asked for what was missed.
            program.receive(json!({"v": 1, "type": "sync.done", "payload": {"cursor": 0}}));
        }
    }
    program.end_scene();
    program.check_store();
    compare("iris.timeline.txt", &program.scenes);
}
