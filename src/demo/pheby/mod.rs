//! The server side of Pheby v1: handshake, lockout, heartbeat, errors, and the routing of requests.
//! Written from the protocol document; where that can be read in several ways, `Readings` says
//! which way this server goes.

mod attachments;
mod conversations;
mod decisions;
mod keep;
mod runs;
mod settings;

use super::agent::Context;
use super::engine::{
    ConnectionId, Desk, Gateway, GatewayOutput, HttpAnswer, HttpCall, Kept, Setup, ordered,
};
use crate::link::Frame;
use attachments::Attachment;
use conversations::Conversation;
use serde_json::{Value, json};
use settings::Models;
use std::collections::BTreeMap;

/// A client must say hello within so many milliseconds.
const HELLO_DEADLINE: u64 = 10_000;
/// Failed hellos from one address within `LOCKOUT_WINDOW` before it is shut out.
const LOCKOUT_FAILURES: usize = 5;
const LOCKOUT_WINDOW: u64 = 60_000;
/// Largest frame a client may send.
const MAX_FRAME: usize = 2 * 1024 * 1024;
/// Longest text of one message, in characters.
const MAX_TEXT: usize = 64_000;

/// How the server reads what the protocol document leaves open. The numbers are those of the
/// project's list of readings.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Readings {
    /// P1: what a locked-out address meets.
    pub lockout: Lockout,
    /// P4: a frame above the limit closes the connection.
    pub closes_on_large_frame: bool,
    /// P5: `run.accepted` carries the request id for everyone, not only for the sender.
    pub accepted_id_for_all: bool,
    /// P6: half a second passes before `run.accepted`, with a `conversation.updated` in between.
    pub accepts_late: bool,
    /// P8: a text before a tool or a question is a message of its own.
    pub several_messages: bool,
    /// No growing text, only the final one.
    pub without_deltas: bool,
    /// P9: a message keeps its draft id in the history.
    pub keeps_draft_ids: bool,
    /// P10: a cancelled run completes its message, and the text stays in the history.
    pub completes_cancelled: bool,
    /// P14: the snapshot lists tools only while the run lasts.
    pub forgets_tools: bool,
    /// P15: the largest and the usual page of history.
    pub page: (usize, usize),
    /// P16: an unknown `before_message_id` gives the newest page.
    pub forgives_unknown_cursor: bool,
    /// P17: messages of the history have no time.
    pub without_times: bool,
    /// P18: nobody else hears of a deletion.
    pub deletes_silently: bool,
    /// P19: nobody else hears of a changed reasoning effort.
    pub reasons_silently: bool,
    /// P20: the first text becomes the name of a new conversation.
    pub names_conversations: bool,
    /// P22: runs cut by a restart go on by themselves afterwards.
    pub resumes_after_restart: bool,
    /// P23: to-do lists are tool calls.
    pub shows_todos: bool,
    /// P25: what happens to a download.
    pub download: Download,
    /// P26: how long files are kept, in milliseconds; none keeps them for good.
    pub retention: Option<u64>,
    /// P27: unsolicited output comes without a run.
    pub speaks_without_run: bool,
    /// P28: errors over HTTP have no JSON body.
    pub plain_http_errors: bool,
}

impl Default for Readings {
    fn default() -> Self {
        Self {
            lockout: Lockout::Status(429),
            closes_on_large_frame: false,
            accepted_id_for_all: false,
            accepts_late: false,
            several_messages: false,
            without_deltas: false,
            keeps_draft_ids: false,
            completes_cancelled: false,
            forgets_tools: false,
            page: (500, 200),
            forgives_unknown_cursor: false,
            without_times: false,
            deletes_silently: false,
            reasons_silently: false,
            names_conversations: true,
            resumes_after_restart: false,
            shows_todos: true,
            download: Download::Whole,
            retention: Some(7 * 24 * 3_600_000),
            speaks_without_run: false,
            plain_http_errors: false,
        }
    }
}

impl Readings {
    /// As a gateway in the wild was seen to behave.
    pub fn seen() -> Self {
        Self {
            several_messages: true,
            ..Self::default()
        }
    }
}

/// What a locked-out address meets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Lockout {
    /// This HTTP status in place of the upgrade.
    Status(u16),
    /// A connection that closes at once.
    Close,
}

/// What happens to a download.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Download {
    Whole,
    /// Breaks off after so many bytes.
    Short(u64),
    /// As long as announced, with wrong bytes.
    Corrupt,
}

#[derive(Debug)]
struct Client {
    peer: String,
    is_ready: bool,
    /// When it must have said hello.
    deadline: u64,
}

/// What is to happen later.
#[derive(Clone, Debug)]
enum Timer {
    /// A sent message starts its run.
    Accept { conversation: String },
    /// A scenario starts by itself.
    Unsolicited { conversation: String, word: String },
    /// A file is too old.
    Up,
}

/// The Pheby gateway.
pub struct Pheby {
    setup: Setup,
    readings: Readings,
    desk: Desk,
    clients: BTreeMap<ConnectionId, Client>,
    /// Moments of failed hellos by address.
    failures: BTreeMap<String, Vec<u64>>,
    conversations: Vec<Conversation>,
    attachments: BTreeMap<String, Attachment>,
    models: Models,
    timers: Vec<(u64, Timer)>,
    /// Nobody gets in before this moment.
    down_until: u64,
}

impl Pheby {
    /// A server that has just started, with the conversations of the library.
    pub fn new(setup: Setup, readings: Readings) -> Self {
        let desk = Desk::new(&setup, 0x7068_6562);
        let mut server = Self {
            setup,
            readings,
            desk,
            clients: BTreeMap::new(),
            failures: BTreeMap::new(),
            conversations: Vec::new(),
            attachments: BTreeMap::new(),
            models: Models::new(),
            timers: Vec::new(),
            down_until: 0,
        };
        server.load_presets();
        server
    }

    fn write(frame: &Value) -> String {
        ordered(
            frame,
            &[
                "type",
                "conversation_id",
                "run_id",
                "message_id",
                "request_id",
            ],
        )
    }

    fn send(&mut self, connection: ConnectionId, frame: &Value) {
        self.desk.send_text(connection, Self::write(frame));
    }

    /// Answers one client, with its request id.
    fn reply(&mut self, connection: ConnectionId, request: &Value, mut frame: Value) {
        if let Some(id) = request.get("request_id").filter(|id| !id.is_null()) {
            frame["request_id"] = id.clone();
        }
        self.send(connection, &frame);
    }

    /// Tells every client that said hello.
    fn broadcast(&mut self, frame: &Value) {
        self.broadcast_but(None, frame);
    }

    fn broadcast_but(&mut self, except: Option<ConnectionId>, frame: &Value) {
        let text = Self::write(frame);
        let ready: Vec<ConnectionId> = self
            .clients
            .iter()
            .filter(|(id, client)| client.is_ready && Some(**id) != except)
            .map(|(id, _)| *id)
            .collect();
        for connection in ready {
            self.desk.send_text(connection, text.clone());
        }
    }

    fn error(&mut self, connection: ConnectionId, request: &Value, code: &str, message: &str) {
        let frame = json!({
            "type": "error",
            "error": {"code": code, "message": message},
            "ts": self.desk.timestamp(),
        });
        self.reply(connection, request, frame);
    }

    /// A connection that did not get in: said why, counted, closed.
    fn turn_away(
        &mut self,
        connection: ConnectionId,
        request: &Value,
        code: &str,
        message: &str,
        counts: bool,
    ) {
        self.error(connection, request, code, message);
        self.desk.close(connection, 1008, code);
        if let Some(client) = self.clients.remove(&connection)
            && counts
        {
            let now = self.desk.now;
            self.failures.entry(client.peer).or_default().push(now);
        }
    }

    fn is_locked_out(&mut self, peer: &str) -> bool {
        let now = self.desk.now;
        let Some(failures) = self.failures.get_mut(peer) else {
            return false;
        };
        failures.retain(|at| at + LOCKOUT_WINDOW > now);
        failures.len() >= LOCKOUT_FAILURES
    }

    fn hello(&mut self, connection: ConnectionId, request: &Value) {
        let is_ready = self.clients.get(&connection).is_some_and(|c| c.is_ready);
        let is_hello = request.get("type").and_then(Value::as_str) == Some("hello");
        if is_ready {
            return self.error(connection, request, "bad_request", "Already authenticated");
        }
        if !is_hello || request.get("secret").and_then(Value::as_str) != Some(&self.setup.secret) {
            let message = if is_hello {
                "Invalid secret"
            } else {
                "The first frame must be hello"
            };
            return self.turn_away(connection, request, "unauthorized", message, true);
        }
        if request.get("protocol_version").and_then(Value::as_u64) != Some(1) {
            return self.turn_away(
                connection,
                request,
                "version_mismatch",
                "This server speaks protocol version 1",
                true,
            );
        }
        if let Some(client) = self.clients.get_mut(&connection) {
            client.is_ready = true;
        }
        let ready = json!({
            "type": "ready",
            "protocol_version": 1,
            "server": "pheby",
            "ts": self.desk.timestamp(),
        });
        self.reply(connection, request, ready);
    }

    fn request(&mut self, connection: ConnectionId, text: &str) {
        let is_ready = self.clients.get(&connection).is_some_and(|c| c.is_ready);
        if text.len() > MAX_FRAME {
            self.error(connection, &Value::Null, "too_large", "Frame too large");
            if self.readings.closes_on_large_frame {
                self.desk.close(connection, 1009, "message too big");
                self.clients.remove(&connection);
            }
            return;
        }
        let request: Value = match serde_json::from_str(text) {
            Ok(value @ Value::Object(_)) => value,
            _ if !is_ready => {
                return self.turn_away(
                    connection,
                    &Value::Null,
                    "invalid_json",
                    "Not a JSON object",
                    true,
                );
            }
            _ => {
                return self.error(
                    connection,
                    &Value::Null,
                    "invalid_json",
                    "Not a JSON object",
                );
            }
        };
        let kind = request.get("type").and_then(Value::as_str).unwrap_or("");
        if !is_ready || kind == "hello" {
            return self.hello(connection, &request);
        }
        match kind {
            "" => self.error(connection, &request, "bad_request", "A type is needed"),
            "ping" => {
                let pong = json!({"type": "pong", "ts": self.desk.timestamp()});
                self.reply(connection, &request, pong);
            }
            "chat.send" => self.chat_send(connection, &request),
            "run.cancel" => self.run_cancel(connection, &request),
            "approval.respond" => self.approval_respond(connection, &request),
            "clarify.respond" => self.clarify_respond(connection, &request),
            _ if kind.starts_with("conversation.") => {
                self.conversation_request(connection, kind, &request);
            }
            _ => self.settings_request(connection, kind, &request),
        }
    }

    fn unknown_type(&mut self, connection: ConnectionId, kind: &str, request: &Value) {
        let message = format!("Unknown type: {kind}");
        self.error(connection, request, "unknown_type", &message);
    }

    /// The conversation a request names, or an error to the client.
    fn named(&mut self, connection: ConnectionId, request: &Value) -> Option<usize> {
        let Some(id) = request.get("conversation_id").and_then(Value::as_str) else {
            self.error(
                connection,
                request,
                "bad_request",
                "conversation_id is needed",
            );
            return None;
        };
        let found = self.conversations.iter().position(|c| c.id == id);
        if found.is_none() {
            self.error(
                connection,
                request,
                "conversation_not_found",
                "Conversation not found",
            );
        }
        found
    }

    fn context(&mut self, conversation: usize, text: &str, files: Vec<(String, u64)>) -> Context {
        let call_prefix = self.desk.hex(16);
        let conversation = &self.conversations[conversation];
        Context {
            text: text.to_owned(),
            files,
            words: self.setup.library.words(),
            speed: self.setup.speed,
            call_prefix,
            auto_approve: conversation.is_yolo,
            approved: conversation.approved.clone(),
            todo: conversation.todo.clone(),
        }
    }

    /// Everything stops; clients are sent away and come back to what the disk remembers.
    fn restart(&mut self, milliseconds: u64, lost: bool) {
        let notice = "⚠️ Gateway restarting. Your current task will be interrupted.";
        for index in 0..self.conversations.len() {
            if self.conversations[index].run.is_some() {
                self.notice(index, notice);
            }
        }
        for connection in std::mem::take(&mut self.clients).into_keys() {
            self.desk.close(connection, 1001, "going away");
        }
        self.timers.clear();
        self.down_until = self.desk.now + milliseconds;
        self.timers.push((self.down_until, Timer::Up));
        for index in 0..self.conversations.len() {
            self.lose_run(index);
        }
        if lost {
            self.conversations.clear();
            self.attachments.clear();
            self.load_presets();
        }
    }

    fn fire(&mut self, timer: Timer) {
        match timer {
            Timer::Accept { conversation } => {
                if let Some(index) = self.conversations.iter().position(|c| c.id == conversation) {
                    self.accept(index);
                }
            }
            Timer::Unsolicited { conversation, word } => {
                if let Some(index) = self.conversations.iter().position(|c| c.id == conversation) {
                    self.start_unsolicited(index, &word);
                }
            }
            Timer::Up => self.resume_lost(),
        }
    }

    /// The earliest thing that waits, up to that moment.
    fn step(&mut self, until: u64) -> bool {
        let timer = self.timers.iter().map(|(at, _)| *at).min();
        let hello = self
            .clients
            .values()
            .filter(|client| !client.is_ready)
            .map(|client| client.deadline)
            .min();
        let play = self.next_play();
        let first = [timer, hello, play.map(|(at, _)| at)]
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
                .filter(|(_, client)| !client.is_ready && client.deadline <= at)
                .map(|(id, _)| *id)
                .collect();
            for connection in late {
                self.turn_away(
                    connection,
                    &Value::Null,
                    "auth_timeout",
                    "No hello within 10 seconds",
                    false,
                );
            }
        } else if let Some((_, index)) = play {
            self.play(index);
        }
        true
    }
}

impl Gateway for Pheby {
    fn connect(&mut self, peer: &str) -> (ConnectionId, Vec<GatewayOutput>) {
        let connection = self.desk.connection();
        if self.desk.now < self.down_until {
            self.desk.out.push(GatewayOutput::Refuse {
                connection,
                status: 503,
            });
        } else if self.is_locked_out(peer) {
            match self.readings.lockout {
                Lockout::Status(status) => self
                    .desk
                    .out
                    .push(GatewayOutput::Refuse { connection, status }),
                Lockout::Close => self.desk.close(connection, 1008, "locked out"),
            }
        } else {
            let client = Client {
                peer: peer.to_owned(),
                is_ready: false,
                deadline: self.desk.now + HELLO_DEADLINE,
            };
            self.clients.insert(connection, client);
        }
        // A refusal is no frame; it happens even in a silence.
        (connection, self.desk.take())
    }

    fn frame(&mut self, connection: ConnectionId, frame: &Frame) -> Vec<GatewayOutput> {
        if self.clients.contains_key(&connection) {
            match frame {
                Frame::Text(bytes) => match std::str::from_utf8(bytes) {
                    Ok(text) => self.request(connection, text),
                    Err(_) => self.request(connection, ""),
                },
                Frame::Binary(_) => self.request(connection, ""),
            }
        }
        self.desk.release()
    }

    fn disconnect(&mut self, connection: ConnectionId) -> Vec<GatewayOutput> {
        self.clients.remove(&connection);
        self.desk.forget(connection);
        self.desk.release()
    }

    fn http(&mut self, call: &HttpCall) -> HttpAnswer {
        self.http_call(call)
    }

    fn advance(&mut self, now: u64) -> Vec<GatewayOutput> {
        let mut out = Vec::new();
        while self.step(now) {
            out.extend(self.desk.release());
        }
        self.desk.now = self.desk.now.max(now);
        out.extend(self.desk.release());
        out
    }

    fn due(&self) -> Option<u64> {
        let hello = self
            .clients
            .values()
            .filter(|client| !client.is_ready)
            .map(|client| client.deadline);
        self.timers
            .iter()
            .map(|(at, _)| *at)
            .chain(hello)
            .chain(self.desk.silence_ends())
            .chain(self.next_play().map(|(at, _)| at))
            .min()
    }

    fn revision(&self) -> Option<u64> {
        Some(self.fingerprint())
    }

    fn kept(&self) -> Kept {
        self.on_disk()
    }

    fn restore(&mut self, kept: &Kept) -> Result<(), String> {
        self.take_from_disk(kept)
    }
}

#[cfg(test)]
mod tests;
