//! The Iris gateway against its schema: frames as literals.
#![allow(clippy::unwrap_used)]

mod directory;
mod link;
mod things;
mod turns;

use super::super::files::{File, sha256_hex};
use super::super::scenario::Library;
use super::*;

struct Device {
    id: ConnectionId,
    next: u64,
}

fn gateway(readings: Readings) -> Iris {
    Iris::new(Setup::default(), readings)
}

fn enter(iris: &mut Iris, name: &str) -> (Device, Vec<Value>) {
    let (id, out) = iris.connect("127.0.0.1");
    assert!(out.is_empty());
    let mut device = Device { id, next: 1 };
    let hello = json!({"token": "demo-secret", "device_id": name, "device_name": name,
        "caps": {"min_protocol": 1, "media": true, "push": "none"}});
    let got = device.ask(iris, "hello", None, hello);
    (device, got)
}

fn start() -> (Iris, Device) {
    start_with(Readings::default())
}

fn start_with(readings: Readings) -> (Iris, Device) {
    let mut iris = gateway(readings);
    let (device, _) = enter(&mut iris, "one");
    (iris, device)
}

fn frames(out: Vec<GatewayOutput>, to: ConnectionId) -> Vec<Value> {
    out.into_iter()
        .filter_map(|output| match output {
            GatewayOutput::Send { connection, frame } if connection == to => Some(
                frame
                    .as_text()
                    .map_or(json!({"type": "bytes", "size": frame.len()}), |text| {
                        serde_json::from_str(text).unwrap()
                    }),
            ),
            _ => None,
        })
        .collect()
}

impl Device {
    fn ask(
        &mut self,
        iris: &mut Iris,
        kind: &str,
        chat: Option<&str>,
        payload: Value,
    ) -> Vec<Value> {
        let out = self.ask_all(iris, kind, chat, payload);
        frames(out, self.id)
    }

    fn ask_all(
        &mut self,
        iris: &mut Iris,
        kind: &str,
        chat: Option<&str>,
        payload: Value,
    ) -> Vec<GatewayOutput> {
        let mut frame = json!({"v": 1, "id": self.next, "type": kind, "payload": payload});
        if let Some(chat) = chat {
            frame["chat_id"] = json!(chat);
        }
        self.next += 1;
        iris.frame(self.id, &Frame::text(frame.to_string()))
    }

    fn say(&mut self, iris: &mut Iris, text: &str) -> Vec<Value> {
        self.ask(iris, "message.send", Some("default"), json!({"text": text}))
    }

    fn wait(&self, iris: &mut Iris, until: u64) -> Vec<Value> {
        let mut got = Vec::new();
        while let Some(due) = iris.due().filter(|due| *due <= until) {
            got.extend(frames(iris.advance(due), self.id));
        }
        got.extend(frames(iris.advance(until), self.id));
        got
    }
}

fn of<'a>(frames: &'a [Value], kind: &str) -> Vec<&'a Value> {
    frames.iter().filter(|f| f["type"] == kind).collect()
}

fn kinds(frames: &[Value]) -> Vec<&str> {
    let mut kinds: Vec<&str> = frames.iter().map(|f| f["type"].as_str().unwrap()).collect();
    kinds.dedup();
    kinds
}
