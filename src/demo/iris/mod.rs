//! The gateway side of Iris v1: pairing, outbox with cursors, sync, and the routing of requests.
//! Written from the schema; where that can be read in several ways, `Readings` says which way this
//! gateway goes.

mod asking;
mod commands;
mod directory;
mod lookups;
mod media;
mod readings;
mod sending;
mod turns;

pub use readings::{BytesLayout, ChannelAnswers, Echo, PullFault, Readings, Receipt, SyncCursor};

use super::engine::{
    ConnectionId, Desk, Gateway, GatewayOutput, HttpAnswer, HttpCall, Setup, ordered,
};
use crate::link::Frame;
use directory::Channel;
use lookups::Logged;
use media::{Pull, Stored, Upload};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use turns::Lane;

/// A client must say hello within so many milliseconds.
const HELLO_DEADLINE: u64 = 10_000;
/// Frame types that wait in the outbox for whoever is away.
const NEVER_DROPPED: [&str; 13] = [
    "message",
    "message.stop",
    "message.deleted",
    "tool.end",
    "notification",
    "channel.list",
    "channel.created",
    "channel.renamed",
    "channel.deleted",
    "search.results",
    "error",
    "picker.choice",
    "media.offer",
];

#[derive(Debug)]
struct Client {
    device: Option<String>,
    deadline: u64,
    uploads: Vec<Upload>,
    pulls: VecDeque<Pull>,
    /// Moments of sends, for the rate limit.
    sends: VecDeque<u64>,
}

impl Client {
    fn is_ready(&self) -> bool {
        self.device.is_some()
    }
}

/// A frame in the outbox.
#[derive(Clone, Debug)]
struct Parked {
    cursor: u64,
    /// Only for this device.
    device: Option<String>,
    /// Devices that got it live.
    seen: BTreeSet<String>,
    frame: Value,
}

/// Where a message belongs: a channel, or a thread under it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Address {
    chat: String,
    thread: Option<String>,
}

/// Who asked, and under which number.
#[derive(Clone, Debug)]
struct Asker {
    connection: ConnectionId,
    id: Value,
}

/// What is to happen later.
#[derive(Clone, Debug)]
enum Timer {
    Unsolicited {
        address: Address,
        word: String,
    },
    /// An automatic thread gets its better name.
    NameThread {
        chat_id: String,
        name: String,
    },
    Up,
}

/// The Iris gateway.
pub struct Iris {
    setup: Setup,
    readings: Readings,
    desk: Desk,
    clients: BTreeMap<ConnectionId, Client>,
    /// Newest cursor each device has certainly been offered.
    devices: BTreeMap<String, u64>,
    channels: Vec<Channel>,
    lanes: BTreeMap<Address, Lane>,
    log: Vec<Logged>,
    outbox: VecDeque<Parked>,
    head: u64,
    media: BTreeMap<String, Stored>,
    pickers: BTreeMap<String, commands::Pending>,
    timers: Vec<(u64, Timer)>,
    down_until: u64,
    /// Pieces of pulls that may still leave in this call, so that memory stays bounded.
    budget: u32,
}

impl Iris {
    /// A gateway that has just started, with the channels of the library.
    pub fn new(setup: Setup, readings: Readings) -> Self {
        let desk = Desk::new(&setup, 0x6972_6973);
        let mut gateway = Self {
            setup,
            readings,
            desk,
            clients: BTreeMap::new(),
            devices: BTreeMap::new(),
            channels: Vec::new(),
            lanes: BTreeMap::new(),
            log: Vec::new(),
            outbox: VecDeque::new(),
            head: 0,
            media: BTreeMap::new(),
            pickers: BTreeMap::new(),
            timers: Vec::new(),
            down_until: 0,
            budget: 0,
        };
        gateway.load_presets();
        gateway
    }

    fn write(frame: &Value) -> String {
        ordered(
            frame,
            &[
                "v",
                "type",
                "id",
                "chat_id",
                "thread_id",
                "cursor",
                "message_id",
            ],
        )
    }

    /// A frame in its envelope.
    fn envelope(&self, address: Option<&Address>, kind: &str, payload: Value) -> Value {
        let mut frame = json!({"v": 1, "type": kind, "payload": payload});
        if let Some(address) = address {
            match (&address.thread, self.readings.thread_is_chat) {
                (Some(thread), true) => frame["chat_id"] = json!(thread),
                (Some(thread), false) => {
                    frame["chat_id"] = json!(address.chat);
                    frame["thread_id"] = json!(thread);
                }
                (None, _) => frame["chat_id"] = json!(address.chat),
            }
        }
        frame
    }

    fn send(&mut self, connection: ConnectionId, frame: &Value) {
        self.desk.send_text(connection, Self::write(frame));
    }

    fn ready(&self) -> Vec<ConnectionId> {
        self.clients
            .iter()
            .filter(|(_, client)| client.is_ready())
            .map(|(id, _)| *id)
            .collect()
    }

    /// Puts a frame into the outbox if its type is never dropped.
    fn park(&mut self, device: Option<&str>, frame: &Value) {
        let kind = frame["type"].as_str().unwrap_or_default();
        let is_offer = kind == "media.offer";
        let is_picker = kind.starts_with("picker.");
        if !(NEVER_DROPPED.contains(&kind) || is_picker) || (is_offer && self.readings.drops_offers)
        {
            return;
        }
        self.head += 1;
        let live = self
            .clients
            .values()
            .filter_map(|client| client.device.clone())
            .filter(|known| device.is_none_or(|only| only == known))
            .collect();
        self.outbox.push_back(Parked {
            cursor: self.head,
            device: device.map(str::to_owned),
            seen: live,
            frame: frame.clone(),
        });
        while self.outbox.len() > self.readings.outbox {
            self.outbox.pop_front();
        }
    }

    /// Tells every device; the asker's copy carries its number.
    fn publish(
        &mut self,
        address: Option<&Address>,
        kind: &str,
        payload: Value,
        asker: Option<&Asker>,
    ) {
        let frame = self.envelope(address, kind, payload);
        self.park(None, &frame);
        let text = Self::write(&frame);
        for connection in self.ready() {
            match asker.filter(|asker| asker.connection == connection && !asker.id.is_null()) {
                Some(asker) => {
                    let mut own = frame.clone();
                    own["id"] = asker.id.clone();
                    self.send(connection, &own);
                }
                None => self.desk.send_text(connection, text.clone()),
            }
        }
    }

    /// Answers one connection.
    fn answer(&mut self, asker: &Asker, address: Option<&Address>, kind: &str, payload: Value) {
        let mut frame = self.envelope(address, kind, payload);
        if let Some(device) = self
            .clients
            .get(&asker.connection)
            .and_then(|client| client.device.clone())
        {
            self.park(Some(&device), &frame);
        }
        if !asker.id.is_null() {
            frame["id"] = asker.id.clone();
        }
        self.send(asker.connection, &frame);
    }

    fn error(&mut self, asker: &Asker, code: &str, message: &str) {
        let payload = json!({"code": code, "message": message});
        self.answer(asker, None, "error", payload);
    }

    fn turn_away(&mut self, asker: &Asker, code: &str, message: &str, close: Option<u16>) {
        self.error(asker, code, message);
        if let Some(close) = close {
            self.desk.close(asker.connection, close, message);
            self.clients.remove(&asker.connection);
        }
    }

    fn hello(&mut self, asker: &Asker, payload: &Value) {
        let text = |key: &str| payload.get(key).and_then(Value::as_str).unwrap_or("");
        if text("token") != self.setup.secret {
            let close = (!self.readings.stays_after_auth_error).then_some(1008);
            return self.turn_away(asker, "auth", "Wrong token", close);
        }
        if payload["caps"]["min_protocol"].as_u64().unwrap_or(1) > 1 {
            return self.turn_away(asker, "unsupported", "Only protocol 1", Some(1002));
        }
        let device = match text("device_id") {
            "" => "anonymous".to_owned(),
            device => device.to_owned(),
        };
        let delivered = self.devices.get(&device).copied().unwrap_or(0);
        if let Some(client) = self.clients.get_mut(&asker.connection) {
            client.device = Some(device.clone());
        }
        let sync_cursor = match self.readings.sync_cursor {
            SyncCursor::Head => self.head,
            SyncCursor::Delivered => delivered,
            SyncCursor::Zero => 0,
        };
        let pushed = if self.readings.pushes { self.head } else { 0 };
        let payload = json!({
            "server_caps": {
                "streaming": true, "reasoning": true, "tools": true, "media": true,
                "search": true, "push": "none", "push_ntfy_server": "", "pickers": true,
            },
            "sync_cursor": sync_cursor,
            "last_pushed_cursor": pushed,
            "channels": self.directory(),
        });
        let mut frame = self.envelope(None, "hello.ack", payload);
        if !asker.id.is_null() {
            frame["id"] = asker.id.clone();
        }
        self.send(asker.connection, &frame);
        self.devices.insert(device, self.head);
        let status = self.envelope(None, "status", json!({"state": "online"}));
        self.send(asker.connection, &status);
        self.send_todos(asker.connection);
    }

    fn sync(&mut self, asker: &Asker, payload: &Value) {
        let from = payload.get("cursor").and_then(Value::as_u64).unwrap_or(0);
        let device = self
            .clients
            .get(&asker.connection)
            .and_then(|client| client.device.clone())
            .unwrap_or_default();
        let only_undelivered = self.readings.replays_only_undelivered;
        let replay: Vec<Value> = self
            .outbox
            .iter_mut()
            .filter(|parked| parked.cursor > from)
            .filter(|parked| parked.device.as_ref().is_none_or(|only| *only == device))
            .filter_map(|parked| {
                let is_new = parked.seen.insert(device.clone());
                let mut frame = parked.frame.clone();
                frame["cursor"] = json!(parked.cursor);
                (is_new || !only_undelivered).then_some(frame)
            })
            .collect();
        for frame in replay {
            self.send(asker.connection, &frame);
        }
        let done = json!({"cursor": self.head});
        self.answer(asker, None, "sync.done", done);
    }

    fn request(&mut self, connection: ConnectionId, text: &str) {
        let is_ready = self.clients.get(&connection).is_some_and(Client::is_ready);
        let parsed: Option<Value> = serde_json::from_str(text)
            .ok()
            .filter(|value: &Value| value.is_object());
        let Some(request) = parsed else {
            let asker = Asker {
                connection,
                id: Value::Null,
            };
            let close = (!is_ready).then_some(1002);
            return self.turn_away(&asker, "unsupported", "Not a frame", close);
        };
        let asker = Asker {
            connection,
            id: request.get("id").cloned().unwrap_or(Value::Null),
        };
        let kind = request.get("type").and_then(Value::as_str).unwrap_or("");
        let payload = request.get("payload").cloned().unwrap_or(json!({}));
        if request.get("v").and_then(Value::as_u64) != Some(1) {
            let close = (!is_ready).then_some(1002);
            return self.turn_away(&asker, "unsupported", "Only protocol 1", close);
        }
        if !is_ready {
            if kind != "hello" {
                return self.turn_away(&asker, "auth", "Say hello first", Some(1008));
            }
            return self.hello(&asker, &payload);
        }
        match kind {
            "hello" => self.hello(&asker, &payload),
            "ping" => {
                let pong =
                    json!({"ts": payload.get("ts").cloned().unwrap_or(json!(self.desk.wall()))});
                self.answer(&asker, None, "pong", pong);
            }
            "sync" => self.sync(&asker, &payload),
            "message.send" => self.message_send(&asker, &request, &payload),
            "message.delete" => self.message_delete(&asker, &request, &payload),
            "history" => self.history(&asker, &request, &payload),
            "search" => self.search(&asker, &request, &payload),
            "commands.catalog" => {
                let commands = json!({"commands": commands::catalog()});
                self.answer(&asker, None, "commands.catalog", commands);
            }
            "picker.select" => self.picker_select(&payload),
            // Nothing to push to, and nothing to say about it.
            "fcm.register" => {}
            _ if kind.starts_with("media.") => self.media_request(&asker, kind, &payload),
            _ if kind.starts_with("channel.") => {
                self.channel_request(&asker, kind, &request, &payload);
            }
            _ => self.error(&asker, "unsupported", &format!("Unknown frame type {kind}")),
        }
    }

    /// Where a request points: both ways of naming a thread are taken.
    fn address(&self, request: &Value) -> Option<Address> {
        let text = |key: &str| request.get(key).and_then(Value::as_str);
        let default = || {
            self.channels
                .iter()
                .find(|channel| channel.is_default)
                .map(|channel| channel.chat_id.clone())
        };
        let named = match (text("thread_id"), text("chat_id")) {
            (Some(thread), _) => thread.to_owned(),
            (None, Some(chat)) => chat.to_owned(),
            (None, None) => default()?,
        };
        let channel = self.channels.iter().find(|c| c.chat_id == named)?;
        Some(channel.address())
    }

    /// Everything stops; what is parked stays, what only lived in memory is gone.
    fn restart(&mut self, milliseconds: u64, lost: bool) {
        if !self.readings.loses_open_messages {
            let lanes: Vec<Address> = self.lanes.keys().cloned().collect();
            for address in lanes {
                self.stop_message(&address);
            }
        }
        self.publish(None, "status", json!({"state": "restarting"}), None);
        for connection in std::mem::take(&mut self.clients).into_keys() {
            self.desk.close(connection, 1001, "restarting");
        }
        self.timers.clear();
        self.pickers.clear();
        self.down_until = self.desk.now + milliseconds;
        self.timers.push((self.down_until, Timer::Up));
        for lane in self.lanes.values_mut() {
            lane.forget_turn();
        }
        if lost {
            self.channels.clear();
            self.lanes.clear();
            self.log.clear();
            self.outbox.clear();
            self.devices.clear();
            self.media.clear();
            self.head = 0;
            self.load_presets();
        }
    }

    fn fire(&mut self, timer: Timer) {
        match timer {
            Timer::Unsolicited { address, word } => self.start_unsolicited(&address, &word),
            Timer::NameThread { chat_id, name } => self.rename_channel(&chat_id, &name, None),
            Timer::Up => {}
        }
    }

    fn next_hello(&self) -> Option<u64> {
        self.clients
            .values()
            .filter(|client| !client.is_ready())
            .map(|client| client.deadline)
            .min()
    }

    fn step(&mut self, until: u64) -> bool {
        let timer = self.timers.iter().map(|(at, _)| *at).min();
        let hello = self.next_hello();
        let lane = self.next_lane();
        let pull = if self.budget > 0 {
            self.next_pull()
        } else {
            None
        };
        let first = [
            timer,
            hello,
            lane.as_ref().map(|(at, _)| *at),
            pull.map(|(at, _)| at),
        ]
        .into_iter()
        .flatten()
        .min();
        let Some(at) = first.filter(|at| *at <= until) else {
            return false;
        };
        self.desk.now = self.desk.now.max(at);
        if timer == Some(at) {
            if let Some(index) = self.timers.iter().position(|(moment, _)| *moment == at) {
                let (_, timer) = self.timers.remove(index);
                self.fire(timer);
            }
        } else if hello == Some(at) {
            let late: Vec<ConnectionId> = self
                .clients
                .iter()
                .filter(|(_, client)| !client.is_ready() && client.deadline <= at)
                .map(|(id, _)| *id)
                .collect();
            for connection in late {
                let asker = Asker {
                    connection,
                    id: Value::Null,
                };
                self.turn_away(&asker, "auth", "No hello within 10 seconds", Some(1008));
            }
        } else if let Some((_, address)) = lane.filter(|(moment, _)| *moment == at) {
            self.step_lane(&address);
        } else if let Some((_, connection)) = pull {
            self.budget -= 1;
            self.step_pull(connection);
        }
        true
    }
}

/// Pieces of pulls that leave in one call.
const PULL_BUDGET: u32 = 8;

impl Gateway for Iris {
    fn connect(&mut self, _: &str) -> (ConnectionId, Vec<GatewayOutput>) {
        let connection = self.desk.connection();
        if self.desk.now < self.down_until {
            let refusal = GatewayOutput::Refuse {
                connection,
                status: 503,
            };
            return (connection, vec![refusal]);
        }
        self.clients.insert(
            connection,
            Client {
                device: None,
                deadline: self.desk.now + HELLO_DEADLINE,
                uploads: Vec::new(),
                pulls: VecDeque::new(),
                sends: VecDeque::new(),
            },
        );
        (connection, Vec::new())
    }

    fn frame(&mut self, connection: ConnectionId, frame: &Frame) -> Vec<GatewayOutput> {
        if self.clients.contains_key(&connection) {
            match frame {
                Frame::Text(_) => self.request(connection, frame.as_text().unwrap_or("")),
                Frame::Binary(bytes) => self.upload_bytes(connection, bytes),
            }
        }
        self.desk.release()
    }

    fn disconnect(&mut self, connection: ConnectionId) -> Vec<GatewayOutput> {
        if let Some(client) = self.clients.remove(&connection)
            && let Some(device) = client.device
        {
            self.devices.insert(device, self.head);
        }
        self.desk.forget(connection);
        self.desk.release()
    }

    fn http(&mut self, _: &HttpCall) -> HttpAnswer {
        HttpAnswer::json(404, json!({"error": "no such thing here"}))
    }

    fn advance(&mut self, now: u64) -> Vec<GatewayOutput> {
        self.budget = PULL_BUDGET;
        let mut out = Vec::new();
        while self.step(now) {
            out.extend(self.desk.release());
        }
        self.desk.now = self.desk.now.max(now);
        self.delay_pulls();
        out.extend(self.desk.release());
        out
    }

    fn due(&self) -> Option<u64> {
        self.timers
            .iter()
            .map(|(at, _)| *at)
            .chain(self.next_hello())
            .chain(self.desk.silence_ends())
            .chain(self.next_lane().map(|(at, _)| at))
            .chain(self.next_pull().map(|(at, _)| at))
            .min()
    }
}

#[cfg(test)]
mod tests;
