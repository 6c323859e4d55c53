//! A message out, its answer in. The exchange is written into the journal, the query asked, its
//! lines shown as they come, and its end written into the journal. One query of a conversation at
//! a time. An `error` is not always the end: the key stays known for a while, further text opens
//! the answer again, and a `result` wins.

use super::{Asked, Omi, failure_words, number, word};
use crate::domain::{
    CommandId, CommandOutcome, ConversationId, Footer, Moment, OutgoingFile, Part, RefusalCode,
    RemoteId, RunEvent, RunId, RunOutcome, RunPhase, TextPatch, TimelineEvent, Topic,
};
use crate::protocol::decode::{TEXT_LIMIT, bounded};
use crate::text::SafeText;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// How long a failed query may still come back to life.
const AFTERLIFE: Duration = Duration::from_secs(10);
/// How long an end is awaited after the wish to stop.
const STOP_PATIENCE: Duration = Duration::from_secs(30);
/// Parts of one answer.
const PART_LIMIT: usize = 200;
/// Longest line that every runtime takes.
const LINE_LIMIT: usize = 1_000_000;

/// A message that is about to be asked.
#[derive(Debug)]
pub(super) struct Planned {
    pub(super) command: CommandId,
    pub(super) conversation: ConversationId,
    text: String,
    attachments: Vec<Value>,
    effort: Option<String>,
    user_turn: String,
    answer_turn: String,
}

/// How a query stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Life {
    Running,
    /// An error came; forgotten at this moment.
    Failed {
        until: Moment,
    },
}

/// A query that was asked.
#[derive(Debug)]
pub(super) struct Query {
    pub(super) conversation: ConversationId,
    /// What the program knows the run by.
    pub(super) run: RunId,
    command: CommandId,
    answer_turn: String,
    is_journaled: bool,
    /// The line as it went out, for the one repetition without a refused field.
    line: Value,
    run_id: String,
    attempt: String,
    /// The text in its parts: what comes after a tool stands below it.
    parts: Vec<String>,
    /// A tool began since the last text.
    is_split: bool,
    has_worked: bool,
    model: Option<String>,
    started: Moment,
    life: Life,
    /// Signs of life were promised.
    is_leased: bool,
    /// When to give up waiting for the end that was asked for.
    stop_until: Option<Moment>,
    /// The runtime found nothing to stop; the next sign of the query is told to stop again.
    stop_missed: bool,
    pub(super) tools: Vec<(String, String)>,
}

/// All queries.
#[derive(Debug, Default)]
pub(super) struct Queries {
    all: BTreeMap<String, Query>,
    /// Turns that were written by this life of the program.
    ours: BTreeSet<String>,
    /// Fields of a query that this process refuses.
    refused: Vec<String>,
}

impl Queries {
    pub(super) fn knows(&self, id: &str) -> bool {
        self.all.contains_key(id)
    }

    pub(super) fn get_mut(&mut self, id: &str) -> Option<&mut Query> {
        self.all.get_mut(id)
    }

    pub(super) fn is_active(&self, conversation: &ConversationId) -> bool {
        self.active(conversation).is_some()
    }

    fn active(&self, conversation: &ConversationId) -> Option<&String> {
        self.all
            .iter()
            .find(|(_, query)| query.conversation == *conversation && query.life == Life::Running)
            .map(|(id, _)| id)
    }

    pub(super) fn is_ours(&self, turn: &str) -> bool {
        self.ours.contains(turn)
    }

    /// The parts so far of an answer that is being written, under their ids.
    pub(super) fn written(&self, turn: &str) -> Option<(Vec<(RemoteId, String)>, RunId)> {
        let query = self.all.values().find(|query| query.answer_turn == turn)?;
        let parts = query
            .parts
            .iter()
            .enumerate()
            .map(|(at, text)| (query.part_id(at), text.clone()))
            .collect();
        Some((parts, query.run.clone()))
    }

    /// The query of a line: by its key, else by its run.
    fn of_line(&self, line: &Map<String, Value>) -> Option<String> {
        let id = word(line, "requestId");
        if self.all.contains_key(id) {
            return Some(id.to_owned());
        }
        let run = word(line, "runId");
        self.all
            .iter()
            .find(|(_, query)| !run.is_empty() && query.run_id == run)
            .map(|(id, _)| id.clone())
    }

    /// Conversation and run behind a line of the runtime.
    pub(super) fn place(&self, line: &Map<String, Value>) -> Option<(ConversationId, RunId)> {
        let id = self.of_line(line)?;
        let query = self.all.get(&id)?;
        Some((query.conversation.clone(), query.run.clone()))
    }

    pub(super) fn are_leased(&self) -> bool {
        self.all
            .values()
            .any(|query| query.is_leased && query.life == Life::Running)
    }

    pub(super) fn deadline(&self) -> Option<Moment> {
        self.all
            .values()
            .filter_map(|query| match query.life {
                Life::Failed { until } => Some(until),
                Life::Running => query.stop_until,
            })
            .min()
    }
}

impl Query {
    pub(super) fn answer_turn(&self) -> &str {
        &self.answer_turn
    }

    /// The first part has the id that the journal knows; the others live until history is read.
    fn part_id(&self, at: usize) -> RemoteId {
        match at {
            0 => RemoteId::from(self.answer_turn.as_str()),
            more => RemoteId::from(format!("{}/{more}", self.answer_turn)),
        }
    }

    /// The whole text so far.
    fn text(&self) -> String {
        self.parts.concat()
    }

    pub(super) fn split(&mut self) {
        self.is_split = true;
    }
}

impl Omi {
    pub(super) fn send(
        &mut self,
        now: Moment,
        command: CommandId,
        conversation: ConversationId,
        text: String,
        files: &[OutgoingFile],
        effort: Option<String>,
    ) {
        if text.len() > LINE_LIMIT {
            return self.refuse(
                command,
                RefusalCode::LocalLimit,
                "The message is longer than a runtime takes (a megabyte). Put it into a file and \
                 attach that.",
            );
        }
        let is_recording = self.pending.any(
            |asked| matches!(asked, Asked::Exchange { query } if query.conversation == conversation),
        );
        if is_recording || self.queries.is_active(&conversation) {
            return self.refuse(
                command,
                RefusalCode::RunActive,
                "The agent still works on the message before; it takes one at a time.",
            );
        }
        let attachments = files
            .iter()
            .map(|file| {
                json!({
                    "attachmentId": format!("file-{}", self.ids.mint()),
                    "displayName": file.name,
                    "mimeType": file.media_type,
                    "sizeBytes": file.size,
                    "uri": super::tools::file_uri(&file.path),
                })
            })
            .collect();
        let planned = Planned {
            command,
            conversation,
            text,
            attachments,
            effort,
            user_turn: format!("turn-{}", self.ids.mint()),
            answer_turn: format!("turn-{}", self.ids.mint()),
        };
        self.with_session(now, planned);
    }

    pub(super) fn record_exchange(&mut self, now: Moment, planned: Planned) {
        let origin = self
            .chats
            .all
            .get(&planned.conversation)
            .map_or("task_chat", |chat| chat.origin());
        let turn = |id: &str, role: &str, status: &str, content: &str, at_ms: i64| {
            json!({
                "turnId": id, "role": role, "origin": origin, "status": status,
                "content": content, "contentBlocks": [], "resources": [],
                "metadataJson": "{}", "createdAtMs": at_ms,
            })
        };
        let mut line = json!({
            "type": "journal_record_exchange",
            "turns": [
                turn(&planned.user_turn, "user", "completed", &planned.text, now.wall_ms),
                turn(&planned.answer_turn, "assistant", "streaming", "", now.wall_ms + 1),
            ],
        });
        self.put_surface(&mut line, &planned.conversation);
        self.queries.ours.insert(planned.user_turn.clone());
        self.queries.ours.insert(planned.answer_turn.clone());
        let query = Box::new(planned);
        self.ask(now, line, Asked::Exchange { query });
    }

    /// Asks the question itself.
    pub(super) fn start_query(&mut self, now: Moment, planned: Planned, is_journaled: bool) {
        let command = planned.command;
        let Some(chat) = self.chats.all.get(&planned.conversation) else {
            return self.refuse(command, RefusalCode::NotFound, "The conversation is gone.");
        };
        let effort = planned
            .effort
            .as_deref()
            .or(chat.effort.as_deref())
            .unwrap_or("adaptive");
        let mut line = json!({
            "type": "query",
            "sessionId": chat.session,
            "surfaceKind": chat.surface().0,
            "prompt": planned.text,
            "mode": if chat.acts { "act" } else { "ask" },
            "reasoningEffort": effort,
        });
        if is_journaled {
            line["producingTurnId"] = json!(planned.answer_turn);
        }
        if !planned.attachments.is_empty() {
            line["attachments"] = json!(planned.attachments);
        }
        let id = self.ids.mint();
        let run = RunId::from(id.as_str());
        self.say(Topic::Timeline(TimelineEvent::Acknowledged {
            conversation: planned.conversation.clone(),
            command,
            remote: Some(RemoteId::from(planned.user_turn.as_str())),
        }));
        self.say(Topic::Run(RunEvent::Started {
            conversation: planned.conversation.clone(),
            run: run.clone(),
            command: Some(command),
            is_stated: true,
        }));
        self.touch(now, &planned.conversation);
        let query = Query {
            conversation: planned.conversation,
            run,
            command,
            answer_turn: planned.answer_turn,
            is_journaled,
            line: line.clone(),
            run_id: String::new(),
            attempt: String::new(),
            parts: Vec::new(),
            is_split: false,
            has_worked: false,
            model: None,
            started: now,
            life: Life::Running,
            is_leased: false,
            stop_until: None,
            stop_missed: false,
            tools: Vec::new(),
        };
        self.queries.all.insert(id.clone(), query);
        self.write_query(line, &id);
        self.done(command);
    }

    fn write_query(&mut self, mut line: Value, id: &str) {
        if let Some(fields) = line.as_object_mut() {
            for field in &self.queries.refused {
                fields.remove(field);
            }
        }
        self.envelope(&mut line, id);
        self.write(line);
    }

    pub(super) fn cancel_run(
        &mut self,
        now: Moment,
        command: CommandId,
        conversation: &ConversationId,
    ) {
        let Some(id) = self.queries.active(conversation).cloned() else {
            return self.refuse(
                command,
                RefusalCode::NotFound,
                "Nothing runs in this conversation, so there is nothing to stop.",
            );
        };
        self.interrupt(&id);
        if let Some(query) = self.queries.all.get_mut(&id) {
            query.stop_until = Some(now.after(STOP_PATIENCE));
            let run = query.run.clone();
            self.say(Topic::Run(RunEvent::PhaseChanged {
                conversation: conversation.clone(),
                run,
                phase: RunPhase::Cancelling,
            }));
        }
        self.done(command);
    }

    fn interrupt(&mut self, id: &str) {
        let mut line = json!({"type": "interrupt"});
        self.envelope(&mut line, id);
        self.write(line);
    }

    pub(super) fn on_cancel_ack(&mut self, line: &Map<String, Value>) {
        let accepted = line.get("accepted").and_then(Value::as_bool) == Some(true);
        if let Some(query) = self
            .queries
            .of_line(line)
            .and_then(|id| self.queries.all.get_mut(&id))
        {
            query.stop_missed = !accepted;
        }
    }

    pub(super) fn on_streamed(&mut self, now: Moment, kind: &str, line: &Map<String, Value>) {
        let Some(id) = self.queries.of_line(line) else {
            // The tail of something that ended here.
            return;
        };
        let Some(query) = self.queries.all.get_mut(&id) else {
            return;
        };
        if query.run_id.is_empty() {
            query.run_id = word(line, "runId").to_owned();
        }
        let conversation = query.conversation.clone();
        if std::mem::take(&mut query.stop_missed) && query.stop_until.is_some() {
            self.interrupt(&id);
        }
        let Some(query) = self.queries.all.get_mut(&id) else {
            return;
        };
        let attempt = word(line, "attemptId");
        let is_new_attempt =
            !attempt.is_empty() && !query.attempt.is_empty() && query.attempt != attempt;
        if !attempt.is_empty() {
            query.attempt = attempt.to_owned();
        }
        // Text of an attempt that broke off may come again.
        if is_new_attempt {
            self.drop_parts(&id);
        }
        let Some(query) = self.queries.all.get_mut(&id) else {
            return;
        };
        if kind == "turn_activity" {
            query.is_leased = true;
            self.say(Topic::Run(RunEvent::Active { conversation }));
            return;
        }
        if kind == "model_used" {
            query.model = Some(word(line, "model").to_owned());
            return;
        }
        // Stopped here at once, whatever still comes.
        let is_stopping = query.stop_until.is_some();
        if is_stopping && matches!(kind, "text_delta" | "thinking_delta") {
            return;
        }
        self.wake(&id, is_stopping);
        match kind {
            "text_delta" => self.on_text(&id, line),
            "thinking_delta" => self.on_thinking(&id, line),
            _ => self.on_tool_line(now, &id, kind, line),
        }
    }

    /// Something of the run was seen: it works, or works again.
    fn wake(&mut self, id: &str, is_stopping: bool) {
        let Some(query) = self.queries.all.get_mut(id) else {
            return;
        };
        let (conversation, run, command) =
            (query.conversation.clone(), query.run.clone(), query.command);
        if query.life != Life::Running {
            query.life = Life::Running;
            query.has_worked = false;
            self.say(Topic::Run(RunEvent::Started {
                conversation: conversation.clone(),
                run: run.clone(),
                command: Some(command),
                is_stated: true,
            }));
        }
        if let Some(query) = self.queries.all.get_mut(id)
            && !std::mem::replace(&mut query.has_worked, true)
            && !is_stopping
        {
            self.say(Topic::Run(RunEvent::PhaseChanged {
                conversation,
                run,
                phase: RunPhase::Working,
            }));
        }
    }

    /// Takes what an attempt wrote off the screen.
    fn drop_parts(&mut self, id: &str) {
        let Some(query) = self.queries.all.get_mut(id) else {
            return;
        };
        let remotes: Vec<RemoteId> = (0..query.parts.len()).map(|at| query.part_id(at)).collect();
        query.parts.clear();
        query.is_split = false;
        let conversation = query.conversation.clone();
        if !remotes.is_empty() {
            self.say(Topic::Timeline(TimelineEvent::Deleted {
                conversation,
                remotes,
            }));
        }
    }

    fn on_text(&mut self, id: &str, line: &Map<String, Value>) {
        let Some(query) = self.queries.all.get_mut(id) else {
            return;
        };
        let text = word(line, "text");
        let length: usize = query.parts.iter().map(String::len).sum();
        if text.is_empty() || length + text.len() > TEXT_LIMIT {
            return;
        }
        let begins = query.parts.is_empty()
            || (std::mem::take(&mut query.is_split) && query.parts.len() < PART_LIMIT);
        if begins {
            query.parts.push(String::new());
        }
        let at = query.parts.len().saturating_sub(1);
        if let Some(part) = query.parts.last_mut() {
            part.push_str(text);
        }
        let patch = if begins {
            TextPatch::Replace(text.to_owned())
        } else {
            TextPatch::Append(text.to_owned())
        };
        let event = TimelineEvent::Patched {
            conversation: query.conversation.clone(),
            remote: query.part_id(at),
            run: Some(query.run.clone()),
            part: Part::Body,
            patch,
        };
        self.say(Topic::Timeline(event));
        // An answer that comes shows that the sign-in works.
        self.on_auth_success();
    }

    fn on_thinking(&mut self, id: &str, line: &Map<String, Value>) {
        let Some(query) = self.queries.all.get(id) else {
            return;
        };
        let event = TimelineEvent::Patched {
            conversation: query.conversation.clone(),
            remote: query.part_id(0),
            run: Some(query.run.clone()),
            part: Part::Reasoning,
            patch: TextPatch::Append(bounded(word(line, "text"), TEXT_LIMIT)),
        };
        self.say(Topic::Timeline(event));
    }

    pub(super) fn on_result(&mut self, now: Moment, line: &Map<String, Value>) {
        let Some(id) = self.queries.of_line(line) else {
            return;
        };
        let Some(mut query) = self.queries.all.remove(&id) else {
            return;
        };
        for (key, field) in [("runId", 0), ("attemptId", 1)] {
            let value = word(line, key);
            if !value.is_empty() {
                match field {
                    0 => query.run_id = value.to_owned(),
                    _ => query.attempt = value.to_owned(),
                }
            }
        }
        let failed = line.get("failure").is_some_and(Value::is_object);
        let outcome = match word(line, "terminalStatus") {
            "succeeded" | "completed" => RunOutcome::Completed,
            "" if !failed => RunOutcome::Completed,
            "cancelled" | "canceled" => RunOutcome::Cancelled,
            _ => failure(line),
        };
        let said = bounded(word(line, "text"), TEXT_LIMIT);
        let text = match outcome {
            RunOutcome::Completed if !said.is_empty() => said,
            _ if said.len() > query.text().len() => said,
            _ => query.text(),
        };
        let attachments = self.artifacts_of(&query, line);
        let cost = line.get("costUsd").and_then(Value::as_f64);
        let footer = Footer {
            model: query.model.as_deref().map(SafeText::label),
            tokens_in: number(line, "inputTokens"),
            tokens_out: number(line, "outputTokens"),
            tokens_cached: number(line, "cacheReadTokens").filter(|count| *count > 0),
            latency_ms: u64::try_from(now.since(query.started).as_millis()).ok(),
            cost_micro_usd: cost
                .filter(|cost| *cost > 0.0)
                .map(|cost| (cost * 1_000_000.0).round() as u64),
            ..Footer::default()
        };
        self.end(now, query, text, footer, outcome);
        for event in attachments {
            self.say(event);
        }
    }

    /// The end of a query, on the screen and in the journal.
    fn end(
        &mut self,
        now: Moment,
        query: Query,
        text: String,
        footer: Footer,
        outcome: RunOutcome,
    ) {
        let conversation = query.conversation.clone();
        self.end_tools(&query, &outcome);
        self.expire_questions_of(&query.run);
        let is_interrupted = outcome != RunOutcome::Completed;
        let same = |a: &str, b: &str| a.split_whitespace().eq(b.split_whitespace());
        // The parts stay where they are when they are all of the text; else the whole replaces them.
        if query.parts.len() > 1 && same(&query.parts.join("\n"), &text) {
            let last = query.parts.len() - 1;
            for (at, part) in query.parts.iter().enumerate() {
                self.say(Topic::Timeline(TimelineEvent::Ended {
                    conversation: conversation.clone(),
                    remote: query.part_id(at),
                    text: Some(part.trim().to_owned()),
                    reasoning: None,
                    footer: if at == last {
                        footer.clone()
                    } else {
                        Footer::default()
                    },
                    sent_at_ms: Some(now.wall_ms),
                    is_interrupted: is_interrupted && at == last,
                }));
            }
        } else if !text.is_empty() {
            let others: Vec<RemoteId> =
                (1..query.parts.len()).map(|at| query.part_id(at)).collect();
            if !others.is_empty() {
                self.say(Topic::Timeline(TimelineEvent::Deleted {
                    conversation: conversation.clone(),
                    remotes: others,
                }));
            }
            if query.parts.is_empty() {
                self.say(Topic::Timeline(TimelineEvent::Patched {
                    conversation: conversation.clone(),
                    remote: query.part_id(0),
                    run: Some(query.run.clone()),
                    part: Part::Body,
                    patch: TextPatch::Replace(text.clone()),
                }));
            }
            self.say(Topic::Timeline(TimelineEvent::Ended {
                conversation: conversation.clone(),
                remote: query.part_id(0),
                text: Some(text.clone()),
                reasoning: None,
                footer,
                sent_at_ms: Some(now.wall_ms),
                is_interrupted,
            }));
        }
        if query.life == Life::Running || outcome == RunOutcome::Completed {
            self.say(Topic::Run(RunEvent::Finished {
                conversation: conversation.clone(),
                run: query.run.clone(),
                outcome,
            }));
        }
        self.touch(now, &conversation);
        if !query.is_journaled {
            return;
        }
        if query.run_id.is_empty() || query.attempt.is_empty() {
            return self.ask_repair(now, &conversation, &[query.answer_turn]);
        }
        let mut line = json!({
            "type": "journal_terminalize_turn",
            "terminalization": {
                "turnId": query.answer_turn,
                "producingRunId": query.run_id,
                "producingAttemptId": query.attempt,
                "disposition": "accept",
                "content": text,
            },
        });
        self.put_surface(&mut line, &conversation);
        self.ask(now, line, Asked::Terminalize);
    }

    pub(super) fn on_query_error(&mut self, now: Moment, line: &Map<String, Value>) {
        let id = word(line, "requestId").to_owned();
        let message = word(line, "message");
        if let Some(field) = message
            .split_once("query_wire_field_not_allowed:")
            .map(|(_, rest)| rest.trim().to_owned())
            && !self.queries.refused.contains(&field)
            && let Some(query) = self.queries.all.remove(&id)
        {
            // An older runtime: once more without the field, and never with it again.
            self.queries.refused.push(field);
            let again = self.ids.mint();
            let outgoing = query.line.clone();
            self.queries.all.insert(again.clone(), query);
            return self.write_query(outgoing, &again);
        }
        let Some(query) = self.queries.all.get_mut(&id) else {
            return;
        };
        let was_running = query.life == Life::Running;
        query.life = Life::Failed {
            until: now.after(AFTERLIFE),
        };
        if !was_running {
            return;
        }
        let (conversation, run) = (query.conversation.clone(), query.run.clone());
        self.say(Topic::Run(RunEvent::Finished {
            conversation,
            run,
            outcome: failure(line),
        }));
    }

    pub(super) fn expire_queries(&mut self, now: Moment) {
        let due: Vec<String> = self
            .queries
            .all
            .iter()
            .filter(|(_, query)| match query.life {
                Life::Failed { until } => until.mono_ms <= now.mono_ms,
                Life::Running => query
                    .stop_until
                    .is_some_and(|until| until.mono_ms <= now.mono_ms),
            })
            .map(|(id, _)| id.clone())
            .collect();
        for id in due {
            if let Some(query) = self.queries.all.remove(&id) {
                let text = query.text();
                self.end(now, query, text, Footer::default(), RunOutcome::Cancelled);
            }
        }
    }

    /// The process is gone and its runs with it. Nothing is sent a second time by itself.
    pub(super) fn cut_queries(&mut self) {
        self.queries.refused.clear();
        for (_, query) in std::mem::take(&mut self.queries.all) {
            self.end_tools(&query, &RunOutcome::Lost);
            for at in 0..query.parts.len() {
                self.say(Topic::Timeline(TimelineEvent::Ended {
                    conversation: query.conversation.clone(),
                    remote: query.part_id(at),
                    text: None,
                    reasoning: None,
                    footer: Footer::default(),
                    sent_at_ms: None,
                    is_interrupted: at + 1 == query.parts.len(),
                }));
            }
            if query.life == Life::Running {
                self.say(Topic::Run(RunEvent::Finished {
                    conversation: query.conversation,
                    run: query.run,
                    outcome: RunOutcome::Lost,
                }));
            }
        }
    }

    /// What a document of the runtime's own functions shows.
    pub(super) fn invoke(&mut self, now: Moment, id: CommandId, function: &str, argument: &str) {
        if !self
            .session
            .control_tools
            .iter()
            .any(|tool| tool == function)
        {
            return self.refuse(
                id,
                RefusalCode::Unsupported,
                "This runtime has no such function.",
            );
        }
        let input = match function {
            "get_agent_run" => json!({"runId": argument.trim()}),
            _ => json!({}),
        };
        let line = json!({"type": "direct_control_tool", "name": function, "input": input});
        let title = function.replace('_', " ");
        self.ask(now, line, Asked::Control { command: id, title });
    }

    pub(super) fn on_control_result(&mut self, line: &Map<String, Value>) {
        let Some(Asked::Control { command, title }) = self.pending.take(word(line, "requestId"))
        else {
            return self.odd("a result of a function that nobody asked for");
        };
        let result = word(line, "result");
        let pretty = serde_json::from_str::<Value>(result)
            .and_then(|value| serde_json::to_string_pretty(&value))
            .unwrap_or_else(|_| result.to_owned());
        let body = SafeText::prose(&format!("```json\n{}\n```", bounded(&pretty, 64 * 1024)));
        self.finish(
            command,
            CommandOutcome::Done(crate::domain::Reply::Document {
                title: SafeText::label(&title),
                body,
            }),
        );
    }
}

/// A failure with what the person can do about it.
fn failure(line: &Map<String, Value>) -> RunOutcome {
    let code = line
        .get("failure")
        .and_then(Value::as_object)
        .map_or("", |failure| word(failure, "failureCode"));
    let hint = match code {
        "cancelled" => return RunOutcome::Cancelled,
        "authentication" => "Sign in again with the agent's own program, then send it again.",
        "quota_exceeded" => "A limit is reached; try again later.",
        "invalid_request" => "Change the message before you send it again.",
        "timeout" | "transport_interruption" => "Send the message again.",
        "adapter_unavailable" | "adapter_incompatible" => {
            "Choose another adapter with the profile of the conversation."
        }
        "bridge_start_failed" | "provider_setup_needed" => {
            "Set the adapter up in the environment of the account, then connect again."
        }
        "stale_owner" => "Connect again: the runtime runs for another owner.",
        "policy_denied" => "The runtime does not allow this.",
        _ => "Look at what was done before you send the message again.",
    };
    RunOutcome::Failed {
        error: SafeText::prose(&failure_words(line)),
        hint: hint.into(),
    }
}
