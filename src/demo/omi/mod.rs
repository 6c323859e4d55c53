//! The runtime side of Omi, protocol 2: one process for one host, lines of JSON both ways. Written
//! from the protocol file and from how runtimes were seen to behave, in both flavours; `Readings`
//! says which way this one goes where there are several.
//!
//! A connection of the engine is the life of a process: connecting starts it, disconnecting kills
//! it. What a runtime keeps on its disk (sessions, journal) outlives the process; runs do not.

mod children;
mod control;
mod dispatches;
mod journal;
mod process;
mod readings;
mod runs;

pub use process::{RuntimeOptions, runtime};
pub use readings::{Cancel, Flavour, Oddity, Readings, ResultText, Start};

use super::engine::{
    ConnectionId, Desk, Gateway, GatewayOutput, HttpAnswer, HttpCall, Setup, ordered,
};
use super::files::Content;
use crate::link::Frame;
use journal::Conversation;
use runs::{Background, Run};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// A line the Rust flavour takes in at most.
const RUST_LINE: usize = 1_048_576;
/// How often a running query says that it lives.
const ACTIVITY: u64 = 15_000;

/// A request for the host that waits for its answer.
#[derive(Clone, Debug)]
struct Owed {
    line: Value,
    /// When it is asked again; none means never.
    again: Option<u64>,
    /// Attempts so far.
    attempts: u64,
}

/// A session: what a conversation runs with.
#[derive(Clone, Debug)]
struct Session {
    id: String,
    conversation: String,
    title: String,
    generation: u64,
    adapter: String,
    model: Option<String>,
    directory: String,
    updated: u64,
}

/// The Omi runtime.
pub struct Omi {
    setup: Setup,
    readings: Readings,
    desk: Desk,
    /// The process that lives, if one does.
    process: Option<ConnectionId>,
    /// When a late process says its first line.
    init_at: Option<u64>,
    owner: Option<String>,
    has_token: bool,
    default_profile: Option<(String, Option<String>, String, u64)>,
    sessions: Vec<Session>,
    conversations: Vec<Conversation>,
    runs: Vec<Run>,
    background: Vec<Background>,
    /// Final texts and states of runs that ended, for the control tools.
    ended: BTreeMap<String, Value>,
    /// How what waited in the queue was answered.
    answered: BTreeMap<String, Value>,
    /// Agents in the background, the oldest first.
    children: Vec<children::Child>,
    owed: BTreeMap<String, Owed>,
    sources: BTreeMap<(String, String), Value>,
    counter: u64,
    boot: String,
    artifacts: String,
    /// Files that are to be written where the artifacts are.
    files: Vec<(String, Content)>,
    is_dirty: bool,
}

impl Omi {
    /// A runtime that was never started before, with the conversations of the library. `artifacts`
    /// is the folder its files are said to be in.
    pub fn new(setup: Setup, readings: Readings, artifacts: &str) -> Self {
        let desk = Desk::new(&setup, 0x006f_6d69);
        let mut runtime = Self {
            setup,
            readings,
            desk,
            process: None,
            init_at: None,
            owner: None,
            has_token: false,
            default_profile: None,
            sessions: Vec::new(),
            conversations: Vec::new(),
            runs: Vec::new(),
            background: Vec::new(),
            ended: BTreeMap::new(),
            answered: BTreeMap::new(),
            children: Vec::new(),
            owed: BTreeMap::new(),
            sources: BTreeMap::new(),
            counter: 0,
            boot: String::new(),
            artifacts: artifacts.trim_end_matches('/').to_owned(),
            files: Vec::new(),
            is_dirty: false,
        };
        runtime.load_presets();
        runtime
    }

    fn is_rust(&self) -> bool {
        self.readings.flavour == Flavour::Rust
    }

    /// The adapters that are registered.
    fn adapters(&self) -> &'static [&'static str] {
        if self.is_rust() {
            &["rx4"]
        } else {
            &["acp", "hermes", "codex"]
        }
    }

    /// One line for the host. The TypeScript flavour writes the type first, the Rust one sorts.
    fn put(&mut self, mut line: Value) {
        let Some(process) = self.process else { return };
        let kind = line["type"].as_str().unwrap_or_default();
        if !kind.starts_with("auth_") && line.get("protocolVersion").is_none() {
            line["protocolVersion"] = json!(2);
        }
        let text = if self.is_rust() {
            line.to_string()
        } else {
            ordered(
                &line,
                &["type", "protocolVersion", "requestId", "clientId", "runId"],
            )
        };
        self.desk.send_text(process, text);
    }

    /// A line for standard error.
    fn log(&mut self, text: &str) {
        if let Some(connection) = self.process {
            let line = format!("[agent] {text}");
            self.desk.out.push(GatewayOutput::Log { connection, line });
        }
    }

    /// Answers a request with its ids.
    fn reply(&mut self, request: &Value, mut line: Value) {
        for key in ["requestId", "clientId"] {
            if let Some(id) = request.get(key) {
                line[key] = id.clone();
            }
        }
        self.put(line);
    }

    /// Refuses a request. The TypeScript flavour names no failure code, and says it only on
    /// standard error when the request cannot be answered by its ids.
    fn refuse(&mut self, request: &Value, code: &str, message: &str) {
        let has_ids = ["requestId", "clientId"].iter().all(|key| {
            request
                .get(*key)
                .and_then(Value::as_str)
                .is_some_and(|id| !id.trim().is_empty())
        });
        if !has_ids && !self.is_rust() {
            return self.log(&format!("Error handling message: {message}"));
        }
        let failure = if self.is_rust() {
            json!({"code": code, "failureCode": code, "userMessage": message})
        } else {
            json!({"code": "runtime_error", "source": "runtime", "retryable": false, "userMessage": message})
        };
        let line = json!({"type": "error", "message": message, "failure": failure});
        self.reply(request, line);
    }

    fn init(&mut self) {
        self.init_at = None;
        let is_rust = self.is_rust();
        let capabilities: &[&str] = match (self.readings.start, is_rust) {
            (Start::FewCapabilities, _) => &["runtime_adapter_availability"],
            (_, true) => &["journal_import_remote_turn", "runtime_adapter_availability"],
            (_, false) => &[
                "journal_import_remote_turn",
                "runtime_adapter_availability",
                "chat_first_capability_projection",
            ],
        };
        let tools: &[&str] = if is_rust { &[] } else { &control::TOOLS };
        let mut line = json!({
            "type": "init",
            "sessionId": "",
            "agentControlTools": tools,
            "runtimeVersion": if is_rust { "0.1.0" } else { "1.0.0-demo" },
            "runtimeCapabilities": capabilities,
            "runtimeAdapterIds": self.adapters(),
            "protocolVersion": 2,
        });
        match self.readings.start {
            Start::OtherVersion => line["protocolVersion"] = json!(3),
            Start::NoVersion => {
                if let Some(fields) = line.as_object_mut() {
                    fields.remove("protocolVersion");
                }
                let text = line.to_string();
                if let Some(process) = self.process {
                    self.desk.send_text(process, text);
                }
                return;
            }
            _ => {}
        }
        self.put(line);
    }

    fn exit(&mut self, code: u16, reason: &str) {
        if let Some(process) = self.process {
            self.desk.close(process, code, reason);
        }
        self.end_process();
    }

    /// The process is gone: what it only held in memory is gone with it.
    fn end_process(&mut self) {
        self.process = None;
        self.init_at = None;
        self.owner = None;
        self.has_token = false;
        self.runs.clear();
        self.background.clear();
        let wall = self.desk.wall();
        self.children.retain(|child| child.is_over(wall));
        self.owed.clear();
        if self.is_rust() {
            self.sessions.clear();
            self.default_profile = None;
        }
    }

    fn start(&mut self) {
        self.boot = self.desk.uuid();
        match self.readings.start {
            Start::Never => {}
            Start::Late(milliseconds) => self.init_at = Some(self.desk.now + milliseconds),
            Start::Error => {
                let message = "OMI_AUTH_TOKEN is required in piMono mode";
                self.put(json!({"type": "error", "message": message}));
                self.exit(1, "exit");
            }
            Start::Exit => self.exit(3, "exit"),
            Start::Noise => {
                if let Some(process) = self.process {
                    for text in [
                        "npm warn deprecated glob@7.2.3",
                        "",
                        "{not json",
                        "undefined",
                    ] {
                        self.desk.send_text(process, text.to_owned());
                    }
                }
                self.init();
            }
            Start::Flood => {
                for n in 0..5_000 {
                    self.log(&format!("migrating journal row {n} of 5000"));
                }
                self.init();
            }
            _ => {
                self.log("runtime starting");
                self.init();
            }
        }
    }

    /// Whether the request comes from the owner of this process.
    fn is_owner(&mut self, request: &Value) -> bool {
        let asked = request
            .get("ownerId")
            .and_then(Value::as_str)
            .filter(|id| !id.trim().is_empty());
        let is_rust = self.is_rust();
        let (code, message) = match (&self.owner, asked) {
            (Some(owner), Some(asked)) if owner == asked => return true,
            (Some(_), None) if !is_rust => return true,
            _ if is_rust => (
                "authentication",
                "request owner does not match the active runtime owner".to_owned(),
            ),
            (None, _) => (
                "authentication",
                "owner_uninitialized: no active runtime owner".to_owned(),
            ),
            (Some(_), _) => (
                "stale_owner",
                "owner_mismatch: request owner is not the active runtime owner".to_owned(),
            ),
        };
        self.refuse(request, code, &message);
        false
    }

    fn set_owner(&mut self, request: &Value) {
        let asked = request.get("ownerId").and_then(Value::as_str).unwrap_or("");
        match &self.owner {
            None if !asked.is_empty() => self.owner = Some(asked.to_owned()),
            Some(owner) if owner == asked => {}
            _ => self.log("owner change refused; restart the runtime"),
        }
        self.reconcile_all();
    }

    fn line(&mut self, text: &str) {
        if text.trim().is_empty() {
            return;
        }
        if self.is_rust() && text.len() > RUST_LINE {
            return self.refuse(
                &Value::Null,
                "invalid_request",
                "JSONL line exceeds maximum size",
            );
        }
        let request: Value = match serde_json::from_str(text) {
            Ok(value @ Value::Object(_)) => value,
            _ if self.is_rust() => {
                let message = "invalid protocol frame: invalid JSONL";
                return self.refuse(&Value::Null, "invalid_request", message);
            }
            _ => return self.log("Failed to parse input line"),
        };
        let kind = request
            .get("type")
            .and_then(Value::as_str)
            .unwrap_or("")
            .to_owned();
        match kind.as_str() {
            "refresh_owner" => return self.set_owner(&request),
            "refresh_token" => {
                self.has_token = true;
                return self.set_owner(&request);
            }
            "stop" if self.is_rust() => {
                // This flavour goes only when its input ends.
                return self.put(json!({"type": "cancel_ack", "accepted": true, "dispatchAttempted": true, "adapterAcknowledged": true}));
            }
            "stop" => return self.exit(0, "exit"),
            "authorized_tool_execution_result" => return self.host_answered(&request),
            "journal_backend_sync_result"
            | "journal_backend_delete_result"
            | "journal_backend_reconcile_result"
            | "chat_first_deferral_delivery_result" => return self.backend_answered(&request),
            "resolve_elicitation" => return self.elicitation_answered(&request),
            _ => {}
        }
        if !control::KNOWN.contains(&kind.as_str()) {
            return self.log(&format!("Unknown message type: {kind}"));
        }
        if !self.is_owner(&request) {
            return;
        }
        match kind.as_str() {
            "query" => self.query(&request),
            "interrupt" => self.interrupt(&request),
            _ if kind.starts_with("journal_") => self.journal_request(&kind, &request),
            _ => self.control_request(&kind, &request),
        }
    }

    /// The id of something new.
    fn id(&mut self, prefix: &str) -> String {
        self.counter += 1;
        format!("{prefix}_{}", self.desk.hex(12))
    }

    /// Requests for the host whose lease is over are asked again.
    fn ask_again(&mut self) {
        let now = self.desk.now;
        let due: Vec<String> = self
            .owed
            .iter()
            .filter(|(_, owed)| owed.again.is_some_and(|at| at <= now))
            .map(|(key, _)| key.clone())
            .collect();
        for key in due {
            if let Some(owed) = self.owed.get_mut(&key) {
                owed.attempts += 1;
                owed.again = Some(now + journal::LEASE);
                owed.line["attemptCount"] = json!(owed.attempts);
                let line = owed.line.clone();
                self.put(line);
            }
        }
    }

    fn next(&self) -> Option<u64> {
        let owed = self.owed.values().filter_map(|owed| owed.again).min();
        let background = self.background.iter().map(|later| later.at).min();
        [
            self.init_at,
            owed,
            background,
            self.next_run().map(|(at, _)| at),
        ]
        .into_iter()
        .flatten()
        .min()
    }

    fn step(&mut self, until: u64) -> bool {
        let Some(at) = self.next().filter(|at| *at <= until) else {
            return false;
        };
        self.desk.now = self.desk.now.max(at);
        if self.init_at.is_some_and(|moment| moment <= at) {
            self.init();
        } else if self
            .owed
            .values()
            .any(|owed| owed.again.is_some_and(|moment| moment <= at))
        {
            self.ask_again();
        } else if self.background.iter().any(|later| later.at <= at) {
            self.speak_in_background();
        } else if let Some((_, index)) = self.next_run() {
            self.step_run(index);
        }
        true
    }

    /// Files that are to be written now, by their full path.
    pub fn take_files(&mut self) -> Vec<(String, Content)> {
        std::mem::take(&mut self.files)
    }

    /// What outlives the process, when it changed since the last call.
    pub fn changed_state(&mut self) -> Option<Value> {
        std::mem::take(&mut self.is_dirty).then(|| self.state())
    }
}

impl Gateway for Omi {
    fn connect(&mut self, _: &str) -> (ConnectionId, Vec<GatewayOutput>) {
        let connection = self.desk.connection();
        self.end_process();
        self.process = Some(connection);
        self.start();
        (connection, self.desk.take())
    }

    fn frame(&mut self, connection: ConnectionId, frame: &Frame) -> Vec<GatewayOutput> {
        if self.process == Some(connection) {
            match frame.as_text() {
                Some(text) => self.line(text),
                None if self.is_rust() => {
                    let message = "stdin frame is not valid UTF-8";
                    self.refuse(&Value::Null, "invalid_request", message);
                }
                None => self.log("Failed to parse input line"),
            }
        }
        self.desk.release()
    }

    fn disconnect(&mut self, connection: ConnectionId) -> Vec<GatewayOutput> {
        if self.process == Some(connection) {
            self.end_process();
        }
        self.desk.forget(connection);
        self.desk.release()
    }

    fn http(&mut self, _: &HttpCall) -> HttpAnswer {
        HttpAnswer::json(404, json!({"error": "no such thing here"}))
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
        self.next()
            .into_iter()
            .chain(self.desk.silence_ends())
            .min()
    }
}

#[cfg(test)]
mod tests;
