//! The Omi driver (`omi.protocol.ts`, protocol 2): lines of JSON to and from a child process. Read
//! with what is known of how the runtimes behave, which decides wherever the two differ.
//!
//! # How it works
//! - `launch`: how the process is started. `session`: init within 30 s, owner, sign-in, liveness.
//! - `chats`: conversations. The runtime has no list of them for us, so the driver keeps its own
//!   as facts; each is a local surface of the runtime, resolved when it is first needed.
//! - `journal`: the history of a conversation, listed by revisions.
//! - `queries`: a message out (exchange, query), its answer in, its end (terminalize).
//! - `tools`: calls of tools, todos, files.
//! - `host`: what the runtime asks of its host: tools of ours, storing, questions.

mod chats;
mod host;
mod journal;
mod launch;
mod queries;
mod session;
mod tools;

pub use launch::launch;

use super::decode::{self, Oddities, Oddity};
use super::pending::{Pending, WireIds};
use super::{Driver, Input, Output, ReplaceKey, Retry, Setup, retry};
use crate::config::account::ProcessEndpoint;
use crate::domain::{
    AccountEvent, ChatCommand, Command, CommandId, CommandOutcome, ConversationId, ModelCommand,
    Moment, Refusal, RefusalCode, Reply, Secret, Topic, TransferCommand,
};
use crate::link::{CloseReason, Frame};
use serde_json::{Map, Value, json};
use std::collections::VecDeque;
use std::time::Duration;

/// How long an answer is awaited.
const PATIENCE: Duration = Duration::from_secs(20);
/// The same where an adapter may have to start first.
const START_PATIENCE: Duration = Duration::from_secs(120);

/// What a request was for.
#[derive(Debug)]
enum Asked {
    Resolve {
        conversation: ConversationId,
    },
    List {
        conversation: ConversationId,
    },
    Exchange {
        query: Box<queries::Planned>,
    },
    Terminalize,
    Repair {
        conversation: ConversationId,
    },
    Clear {
        command: CommandId,
        conversation: ConversationId,
    },
    Migrate {
        command: CommandId,
        conversation: ConversationId,
    },
    Elicit {
        command: CommandId,
    },
    Control {
        command: CommandId,
        title: String,
    },
}

impl Asked {
    fn command(&self) -> Option<CommandId> {
        match self {
            Self::Exchange { query } => Some(query.command),
            Self::Clear { command, .. }
            | Self::Migrate { command, .. }
            | Self::Elicit { command }
            | Self::Control { command, .. } => Some(*command),
            Self::Resolve { .. } | Self::List { .. } | Self::Terminalize | Self::Repair { .. } => {
                None
            }
        }
    }
}

/// One Omi account.
pub struct Omi {
    endpoint: ProcessEndpoint,
    directory: String,
    secret: Option<Secret>,
    ids: WireIds,
    /// Names this life of the program to the runtime.
    client: String,
    out: VecDeque<Output>,
    pending: Pending<Asked>,
    oddities: Oddities,
    session: session::Session,
    chats: chats::Chats,
    queries: queries::Queries,
    host: host::Host,
}

impl Omi {
    /// A driver that waits for its process.
    pub fn new(endpoint: &ProcessEndpoint, setup: Setup) -> Self {
        let mut ids = WireIds::new(&setup.seed);
        let client = ids.mint();
        let directory = endpoint
            .directory
            .as_ref()
            .unwrap_or(&setup.working_directory)
            .to_string_lossy()
            .into_owned();
        Self {
            directory,
            secret: setup.secret,
            ids,
            client,
            out: VecDeque::new(),
            pending: Pending::default(),
            oddities: Oddities::default(),
            session: session::Session::new(endpoint, &setup.resume.facts),
            chats: chats::Chats::from_facts(endpoint.main_chat, &setup.resume.facts),
            queries: queries::Queries::default(),
            host: host::Host::default(),
            endpoint: endpoint.clone(),
        }
    }

    fn say(&mut self, topic: Topic) {
        self.tell(AccountEvent::live(topic));
    }

    fn tell(&mut self, event: AccountEvent) {
        self.out.push_back(Output::Event(Box::new(event)));
    }

    fn odd(&mut self, words: impl Into<String>) {
        if let Some(event) = self.oddities.report(Oddity::new(words)) {
            self.tell(event);
        }
    }

    fn finish(&mut self, command: CommandId, outcome: CommandOutcome) {
        self.say(Topic::Outcome { command, outcome });
    }

    fn done(&mut self, command: CommandId) {
        self.finish(command, CommandOutcome::Done(Reply::Nothing));
    }

    fn refuse(&mut self, command: CommandId, code: RefusalCode, words: impl AsRef<str>) {
        self.finish(command, CommandOutcome::Refused(Refusal::new(code, words)));
    }

    /// Writes one line. It is one frame and so one write, which the runtimes need.
    fn write(&mut self, line: Value) {
        self.out
            .push_back(Output::Frame(Frame::text(line.to_string())));
    }

    /// The fields that every request has.
    fn envelope(&self, line: &mut Value, id: &str) {
        line["protocolVersion"] = json!(session::VERSION);
        line["requestId"] = json!(id);
        line["clientId"] = json!(self.client);
        line["ownerId"] = json!(self.session.owner);
    }

    /// Writes a request and notes what it is for.
    fn ask(&mut self, now: Moment, mut line: Value, asked: Asked) {
        let patience = match asked {
            Asked::Resolve { .. } | Asked::Control { .. } => START_PATIENCE,
            _ => PATIENCE,
        };
        let id = self.ids.mint();
        self.envelope(&mut line, &id);
        self.write(line);
        self.pending.insert(id, asked, now, patience);
    }

    fn on_command(&mut self, now: Moment, id: CommandId, command: Command) {
        if !self.session.is_ready() {
            return self.finish(id, CommandOutcome::NotSent);
        }
        match command {
            Command::Chat(ChatCommand::Send {
                conversation,
                text,
                files,
                effort,
                ..
            }) => self.send(now, id, conversation, text, &files, effort),
            Command::Chat(ChatCommand::CancelRun { conversation, .. }) => {
                self.cancel_run(now, id, &conversation);
            }
            Command::Chat(ChatCommand::DeleteMessages { .. }) => {
                self.refuse(id, RefusalCode::Unsupported, session::NO_MESSAGE_DELETION);
            }
            Command::Conversation(command) => self.on_conversation_command(now, id, command),
            Command::Answer {
                decision, answer, ..
            } => self.answer(now, id, &decision, answer),
            Command::Model(command) => match command {
                ModelCommand::LoadCatalog { .. } => self.load_catalog(id),
                ModelCommand::SetModel { choice, scope } => self.set_model(now, id, choice, scope),
                ModelCommand::SetEffort { level, scope } => self.set_effort(id, level, scope),
                ModelCommand::SetAutoApprove { conversation, on } => {
                    self.set_mode(id, &conversation, on);
                }
                ModelCommand::SetProfile {
                    conversation,
                    adapter,
                    model,
                    directory,
                } => self.set_profile(now, id, conversation, adapter, model, directory),
            },
            Command::Invoke {
                function, argument, ..
            } => self.invoke(now, id, &function, &argument),
            Command::Search(_) => {
                self.refuse(id, RefusalCode::Unsupported, session::NO_SERVER_SEARCH);
            }
            Command::LoadCatalog => {
                self.refuse(id, RefusalCode::Unsupported, session::NO_CATALOG);
            }
            Command::Transfer(TransferCommand::Fetch { .. }) => {
                self.refuse(id, RefusalCode::Unsupported, session::FILES_ARE_HERE);
            }
            Command::Transfer(TransferCommand::Cancel { .. }) => self.done(id),
        }
    }

    fn on_frame(&mut self, now: Moment, frame: &Frame) {
        if self.session.is_down() {
            return;
        }
        self.hear(now);
        let Some(text) = frame.as_text() else {
            return self.odd(format!("a line of {} bytes that is no text", frame.len()));
        };
        if text.trim().is_empty() {
            return;
        }
        match decode::object(text) {
            Ok(line) => self.on_line(now, &line),
            Err(oddity) => {
                if let Some(event) = self.oddities.report(oddity) {
                    self.tell(event);
                }
            }
        }
    }

    fn on_line(&mut self, now: Moment, line: &Map<String, Value>) {
        let kind = word(line, "type");
        if !self.session.is_ready() {
            return match kind {
                "init" => self.on_init(now, line),
                "error" => self.failed_to_start(word(line, "message")),
                "auth_required" => self.on_auth_required(line),
                _ => {}
            };
        }
        match kind {
            "init" => self.odd("a second init"),
            "text_delta"
            | "thinking_delta"
            | "tool_activity"
            | "tool_use"
            | "tool_result_display"
            | "model_used"
            | "turn_activity" => {
                self.on_streamed(now, kind, line);
            }
            "result" => self.on_result(now, line),
            "cancel_ack" => self.on_cancel_ack(line),
            "error" => self.on_error(now, line),
            "surface_session_resolved" => self.on_resolved(now, line),
            "session_execution_profile_migrated" => self.on_migrated(line),
            "journal_operation_result" => self.on_journal_result(now, line),
            "journal_turn_changed" => self.on_turn_changed(now, line),
            "authorized_tool_execution" => self.on_tool_wanted(now, line),
            "journal_backend_sync"
            | "journal_backend_delete"
            | "journal_backend_reconcile"
            | "chat_first_deferral_delivery" => self.on_backend_wanted(kind, line),
            "elicitation_pending" => self.on_elicitation(now, line),
            "elicitation_resolved" => self.on_elicitation_resolved(line),
            "control_tool_result" => self.on_control_result(line),
            "auth_required" => self.on_auth_required(line),
            "auth_success" => self.on_auth_success(),
            // Answers to what a terminal never asks, or that say nothing more.
            "default_execution_profile_configured"
            | "context_source_updated"
            | "context_snapshot"
            | "owner_runtime_revoked"
            | "legacy_main_chat_sessions_imported"
            | "agent_spawn_journal_ensured"
            | "external_surface_run_begin_result"
            | "external_surface_tool_result"
            | "external_surface_run_complete_result"
            | "chat_first_harness_executor_result"
            | "authorized_tool_result"
            | "session_invalidated" => {}
            other => {
                let other = other.to_owned();
                if let Some(event) = self.oddities.unknown_type(&other) {
                    self.tell(event);
                }
            }
        }
    }

    /// A request that was refused, or an end of a query.
    fn on_error(&mut self, now: Moment, line: &Map<String, Value>) {
        let id = word(line, "requestId");
        if self.queries.knows(id) {
            return self.on_query_error(now, line);
        }
        let words = failure_words(line);
        match self.pending.take(id) {
            Some(asked) => self.on_refused(now, asked, &words),
            None => self.odd(format!("an error without its request: {words}")),
        }
    }

    fn on_refused(&mut self, now: Moment, asked: Asked, words: &str) {
        match asked {
            Asked::Resolve { conversation } => self.resolve_failed(&conversation, words),
            Asked::List { conversation } => self.list_failed(&conversation, words),
            // History is a convenience; the question is not lost with it.
            Asked::Exchange { query } => {
                self.odd(format!("the exchange was not written down: {words}"));
                self.start_query(now, *query, false);
            }
            Asked::Terminalize | Asked::Repair { .. } => {
                self.odd(format!("the end of a turn was not written down: {words}"));
            }
            asked => {
                if let Some(command) = asked.command() {
                    self.refuse(command, RefusalCode::BadRequest, words);
                }
            }
        }
    }

    fn on_deadline(&mut self, now: Moment) {
        for (_, asked) in self.pending.expire(now) {
            match asked {
                Asked::Resolve { conversation } => {
                    self.resolve_failed(&conversation, session::NO_ANSWER);
                }
                Asked::List { conversation } => {
                    self.list_failed(&conversation, session::NO_ANSWER);
                }
                Asked::Exchange { query } => self.start_query(now, *query, false),
                asked => {
                    if let Some(command) = asked.command() {
                        self.refuse(command, RefusalCode::TimedOut, session::NO_ANSWER);
                    }
                }
            }
        }
        self.expire_queries(now);
        self.expire_questions(now);
        self.watch(now);
    }

    fn link_down(&mut self, reason: &CloseReason) {
        let was_ready = self.session.is_ready();
        for (_, asked) in self.pending.drain() {
            if let Some(command) = asked.command() {
                self.finish(command, CommandOutcome::LinkLost);
            }
        }
        self.cut_chats();
        self.cut_queries();
        self.cut_host();
        self.session_down(was_ready, reason);
    }
}

impl Driver for Omi {
    fn handle(&mut self, now: Moment, input: Input) {
        match input {
            Input::LinkUp { .. } => self.link_up(now),
            Input::LinkDown { reason } => self.link_down(&reason),
            Input::Frame(frame) => self.on_frame(now, &frame),
            Input::Command { id, command } => self.on_command(now, id, command),
            Input::ToolFinished { call, result } => self.on_tool_finished(call, result),
            Input::SecretRenewed(secret) => self.renew_secret(secret),
            Input::Deadline => self.on_deadline(now),
            // Files stay where they are, and there is no HTTP beside a process.
            Input::HttpReply(_)
            | Input::TransferDone { .. }
            | Input::TransferFailed { .. }
            | Input::UploadChunk { .. }
            | Input::UploadEnd { .. } => {}
        }
    }

    fn poll(&mut self) -> Option<Output> {
        self.out.pop_front()
    }

    fn deadline(&self) -> Option<Moment> {
        [
            self.pending.deadline(),
            self.session.deadline(self.queries.are_leased()),
            self.queries.deadline(),
            self.host.deadline(),
        ]
        .into_iter()
        .flatten()
        .min_by_key(|moment| moment.mono_ms)
    }

    fn glance(&self, _frame: &Frame) -> Option<ReplaceKey> {
        // Deltas add to each other; none makes another obsolete.
        None
    }

    fn redact(&self, frame: &Frame) -> Frame {
        let Some(text) = frame.as_text() else {
            return frame.clone();
        };
        let masked = decode::mask(text, self.secret.as_ref());
        if masked.contains("refresh_token")
            && let Ok(mut map) = decode::object(&masked)
            && map.contains_key("token")
        {
            map.insert("token".to_owned(), "<secret>".into());
            return Frame::text(Value::Object(map).to_string());
        }
        Frame::text(masked)
    }

    fn retry(&self, reason: &CloseReason) -> Retry {
        self.session
            .verdict
            .unwrap_or_else(|| retry::network(reason))
    }
}

/// A text of a line; empty when it is missing or no text.
fn word<'a>(line: &'a Map<String, Value>, key: &str) -> &'a str {
    line.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn number(line: &Map<String, Value>, key: &str) -> Option<u64> {
    let value = line.get(key)?;
    value
        .as_u64()
        .or_else(|| value.as_f64().filter(|n| *n >= 0.0).map(|n| n as u64))
}

/// What a failure says to the person: the runtime's safe text, else its message.
fn failure_words(line: &Map<String, Value>) -> String {
    let failure = line.get("failure").and_then(Value::as_object);
    let said = failure.map(|failure| word(failure, "userMessage"));
    let words = said
        .filter(|text| !text.trim().is_empty())
        .unwrap_or_else(|| word(line, "message"));
    match words.trim() {
        "" => "The runtime did not say why.".to_owned(),
        words => crate::text::truncate(words, 2_000).to_string(),
    }
}
