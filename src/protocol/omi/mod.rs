//! The Omi driver (`omi.protocol.ts`, protocol 2): lines of JSON to and from a child process. Read
//! with what is known of how the runtimes behave, which decides wherever the two differ.
//!
//! # How it works
//! - `launch`: how the process is started. `session`: init within 30 s, owner, token, liveness.
//!   `signin`: what the agent behind the runtime needs to sign in.
//! - `chats`: conversations. The runtime has no list of them for us, so the driver keeps its own
//!   as facts; each is a local surface of the runtime, resolved when it is first needed.
//!   `clearing`: emptying and deleting them. `profile`: adapter, model, folder, mode, effort.
//! - `journal`: the history of a conversation, listed by revisions. `blocks`: turns whose words
//!   are in blocks.
//! - `queries`: a message out (exchange, query) and its answer in; `pictures`: the picture that
//!   goes along; `ends`: stopping, results, errors, and writing the end down; `failures`: the
//!   words for the person. `tools`: calls of tools, todos, files.
//! - `host`: what the runtime asks of its host: tools of the person's own, checked by
//!   `input_hash`; `backend`: storing in a cloud that is not here; `questions`: for the person.
//! - `control`: what can be asked of the runtime by name, and what the agent knows; `listing` and
//!   `agents`: the agents it knows, to choose from; `dispatches`: what waits for the person in its
//!   queue; `documents` writes the answers.
#![doc = include_str!("types.md")]

mod agents;
mod backend;
mod blocks;
mod chats;
mod clearing;
mod control;
mod dispatches;
mod documents;
mod ends;
mod failures;
mod host;
mod input_hash;
mod journal;
mod launch;
mod listing;
mod pictures;
mod profile;
mod queries;
mod questions;
mod session;
mod signin;
mod tools;

pub use launch::launch;

use super::decode::{self, Oddities, Oddity};
use super::pending::{Pending, WireIds};
use super::{Driver, Input, Output, ReplaceKey, Retry, Setup, retry};
use crate::config::account::ProcessEndpoint;
use crate::domain::{
    AccountEvent, Answer, ChatCommand, Command, CommandId, CommandOutcome, ConversationId,
    DecisionId, ModelCommand, Moment, Refusal, RefusalCode, Reply, Secret, Severity, Topic,
    TransferCommand,
};
use crate::link::{CloseReason, Frame};
use failures::failure_words;
use serde_json::{Map, Value, json};
use std::collections::VecDeque;
use std::time::Duration;

/// Longest line of a runtime that is read.
const LINE_LIMIT: usize = 16 * 1024 * 1024;
/// Requests whose late answers are known as such.
const LATE: usize = 64;
/// How long an answer is awaited.
const PATIENCE: Duration = Duration::from_secs(20);
/// The same where the runtime first has to load something.
const START_PATIENCE: Duration = Duration::from_secs(30);
/// The same for a function that ends with a run of an agent.
const RUN_PATIENCE: Duration = Duration::from_secs(180);

/// What a request was for.
#[derive(Debug)]
enum Asked {
    /// The profile of new sessions.
    Defaults,
    /// Where the agent is.
    Workspace,
    Resolve {
        conversation: ConversationId,
    },
    List {
        conversation: ConversationId,
        listing: journal::Listing,
    },
    Exchange {
        query: Box<queries::Planned>,
    },
    /// The text of an answer that a crash cut.
    Rescue,
    Terminalize,
    Repair {
        conversation: ConversationId,
    },
    Clear {
        command: CommandId,
        conversation: ConversationId,
        aim: clearing::Aim,
    },
    Migrate {
        command: CommandId,
        conversation: ConversationId,
    },
    Elicit {
        command: CommandId,
        decision: DecisionId,
    },
    /// What the agent knows.
    Snapshot {
        command: CommandId,
    },
    /// The whole of something that waits in the queue of the runtime.
    Dispatch {
        command: CommandId,
        conversation: Option<ConversationId>,
        id: String,
    },
    /// An answer to it.
    Settle {
        command: CommandId,
        decision: DecisionId,
        answer: Answer,
    },
    Control(Box<control::Call>),
    /// A list of agents.
    Agents(Box<listing::Listing>),
}

impl Asked {
    fn command(&self) -> Option<CommandId> {
        match self {
            Self::Exchange { query } => Some(query.command),
            Self::Clear { command, .. }
            | Self::Migrate { command, .. }
            | Self::Elicit { command, .. }
            | Self::Snapshot { command }
            | Self::Dispatch { command, .. }
            | Self::Settle { command, .. } => Some(*command),
            Self::Control(call) => Some(call.command),
            Self::Agents(listing) => match listing.aim {
                listing::Aim::Choose { command, .. } => Some(command),
                listing::Aim::Lost => None,
            },
            Self::Defaults
            | Self::Workspace
            | Self::Resolve { .. }
            | Self::List { .. }
            | Self::Rescue
            | Self::Terminalize
            | Self::Repair { .. } => None,
        }
    }

    fn patience(&self) -> Duration {
        match self {
            Self::Control(call) if call.is_long() => RUN_PATIENCE,
            Self::Resolve { .. }
            | Self::Control(_)
            | Self::Dispatch { .. }
            | Self::Settle { .. } => START_PATIENCE,
            _ => PATIENCE,
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
    /// Requests whose time was over; their answers may still come.
    late: VecDeque<String>,
    oddities: Oddities,
    session: session::Session,
    chats: chats::Chats,
    queries: queries::Queries,
    pictures: pictures::Pictures,
    host: host::Host,
}

impl Omi {
    /// A driver that waits for its process. `renews` says that a fresh token can be had at any time.
    pub fn new(endpoint: &ProcessEndpoint, renews: bool, setup: Setup) -> Self {
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
            late: VecDeque::new(),
            oddities: Oddities::default(),
            session: session::Session::new(endpoint, renews, &setup.resume.facts),
            chats: chats::Chats::from_facts(endpoint.main_chat, &setup.resume.facts),
            queries: queries::Queries::default(),
            pictures: pictures::Pictures::default(),
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

    /// An answer to nothing: odd, unless it is only late.
    fn unasked(&mut self, line: &Map<String, Value>, what: &str) {
        let id = word(line, "requestId");
        if !self.late.iter().any(|late| late == id) {
            self.odd(format!("{what} that nobody asked for"));
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
        let patience = asked.patience();
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
                function,
                conversation,
                subject,
                argument,
            } => {
                let (conversation, subject) = (conversation.as_ref(), subject.as_deref());
                self.invoke(now, id, &function, conversation, subject, argument.trim());
            }
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
        match decode::object_within(text, LINE_LIMIT) {
            Ok(line) if self.session.is_ready() && failures::needs_log(&line) => {
                self.session.unexplained = Some(Box::new(line));
                self.out.push_back(Output::WantLog);
            }
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
                "auth_required" => self.on_auth_required(now, line),
                _ => {}
            };
        }
        self.note_arrival(line);
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
            "cancel_ack" => self.on_cancel_ack(now, line),
            "error" => self.on_error(now, line),
            "surface_session_resolved" => self.on_resolved(now, line),
            "session_execution_profile_migrated" => self.on_migrated(line),
            "default_execution_profile_configured" => self.on_defaults_kept(line),
            "context_snapshot" => self.on_context_snapshot(now, line),
            "context_source_updated" => {
                self.pending.take(word(line, "requestId"));
            }
            "journal_operation_result" => self.on_journal_result(now, line),
            "journal_turn_changed" => self.on_turn_changed(now, line),
            "authorized_tool_execution" => self.on_tool_wanted(now, line),
            "journal_backend_sync"
            | "journal_backend_delete"
            | "journal_backend_reconcile"
            | "chat_first_deferral_delivery" => self.on_backend_wanted(kind, line),
            "elicitation_pending" => self.on_elicitation(now, line),
            "elicitation_resolved" => self.on_elicitation_resolved(line),
            "approval_requested" => self.on_approval_requested(now, line),
            "approval_resolved" => self.on_approval_resolved(line),
            "control_tool_result" => self.on_control_result(now, line),
            "auth_required" => self.on_auth_required(now, line),
            "auth_success" => self.signed_in(),
            // Answers to what a terminal never asks, or that say nothing more.
            "owner_runtime_revoked"
            | "legacy_main_chat_sessions_imported"
            | "agent_spawn_journal_ensured"
            | "external_surface_run_begin_result"
            | "external_surface_tool_result"
            | "external_surface_run_complete_result"
            | "chat_first_harness_executor_result"
            | "authorized_tool_result" => {}
            "session_invalidated" => self.on_invalidated(line),
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
            Some(asked) => {
                self.mend_owner(line);
                self.on_refused(now, asked, RefusalCode::BadRequest, &words);
            }
            // The tail of a query that ended here.
            None if self.queries.has_ended(id) => {}
            None if id.is_empty() => {
                let title = "The Omi runtime reports an error";
                let event = decode::notice(Severity::Warning, None, title, &words);
                self.tell(event);
                self.mend_owner(line);
            }
            None => self.unasked(line, &format!("an error ({words})")),
        }
    }

    /// A request that the runtime refused, or did not answer in time.
    fn on_refused(&mut self, now: Moment, asked: Asked, code: RefusalCode, words: &str) {
        match asked {
            Asked::Resolve { conversation } => self.resolve_failed(&conversation, words),
            Asked::List { conversation, .. } => self.list_failed(&conversation, words),
            // History is a convenience; the question is not lost with it.
            Asked::Exchange { query } => {
                self.odd(format!("the exchange was not written down: {words}"));
                self.start_query(now, *query, false);
            }
            Asked::Terminalize | Asked::Rescue | Asked::Repair { .. } => {
                self.odd(format!("the end of a turn was not written down: {words}"));
            }
            // Conveniences, which not every runtime has.
            Asked::Defaults | Asked::Workspace => {}
            Asked::Agents(listing) => self.no_agents(*listing, code, words),
            // What the queue said of it has to do.
            Asked::Dispatch {
                command,
                conversation,
                id,
            } => self.ask_person(now, command, conversation, &id, &Value::Null),
            Asked::Clear {
                command,
                conversation,
                aim,
            } => self.clear_failed(now, command, &conversation, aim, code, words),
            // Its generation may be another one by now.
            Asked::Migrate {
                command,
                conversation,
            } => {
                self.refuse(command, code, words);
                self.resolve(now, &conversation);
            }
            asked => {
                if let Some(command) = asked.command() {
                    self.refuse(command, code, words);
                }
            }
        }
    }

    fn on_deadline(&mut self, now: Moment) {
        for (id, asked) in self.pending.expire(now) {
            if self.late.len() >= LATE {
                self.late.pop_front();
            }
            self.late.push_back(id);
            self.on_refused(now, asked, RefusalCode::TimedOut, session::NO_ANSWER);
        }
        self.expire_queries(now);
        self.expire_tools(now);
        self.expire_dispatches(now);
        self.watch(now);
    }

    fn link_down(&mut self, reason: &CloseReason) {
        let was_ready = self.session.is_ready();
        for (_, asked) in self.pending.drain() {
            if let Some(command) = asked.command() {
                self.finish(command, CommandOutcome::LinkLost);
            }
        }
        self.cut_pictures();
        self.cut_chats();
        self.cut_queries();
        self.cut_host();
        self.session_down(was_ready, reason);
    }
}

impl Driver for Omi {
    fn handle(&mut self, now: Moment, input: Input) {
        // Whatever comes first: a failure waits no longer than for the log that explains it.
        if let Some(line) = self.session.unexplained.take() {
            if let Input::Log(log) = &input {
                self.session.log = decode::mask(log, self.secret.as_ref());
            }
            self.on_line(now, &line);
            self.session.log.clear();
        }
        match input {
            Input::LinkUp { .. } => self.link_up(now),
            Input::LinkDown { reason } => self.link_down(&reason),
            Input::Frame(frame) => self.on_frame(now, &frame),
            Input::Command { id, command } => self.on_command(now, id, command),
            Input::ToolFinished { call, result } => self.on_tool_finished(call, result),
            Input::SecretRenewed(secret) => self.renew_secret(now, secret),
            Input::Deadline => self.on_deadline(now),
            Input::UploadChunk { transfer, bytes } => self.on_picture_bytes(transfer, &bytes),
            Input::UploadEnd { transfer, .. } => self.on_picture_end(now, transfer),
            Input::TransferFailed { transfer, reason } => self.on_picture_lost(transfer, &reason),
            // There is no HTTP beside a process, its files are here already, and it knows no ping.
            Input::HttpReply(_)
            | Input::TransferDone { .. }
            | Input::PersonActed
            | Input::Log(_) => {}
        }
    }

    fn poll(&mut self) -> Option<Output> {
        self.out.pop_front()
    }

    fn deadline(&self) -> Option<Moment> {
        [
            self.pending.deadline(),
            self.session.deadline(),
            self.queries.deadline(self.session.lease()),
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

    fn farewell(&mut self, _now: Moment) -> Vec<Frame> {
        match self.session.is_ready() {
            true => self.last_words(),
            false => Vec::new(),
        }
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
