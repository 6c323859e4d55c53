//! How a query ends: stopped by the person, by its result, by an error, by silence, or with its
//! process. An `error` is not always the end: the key stays known for a while, further text opens
//! the answer again, and a `result` wins. What was stopped here is shown as stopped at once; the
//! runtime's own word on it comes later, may say more, and brings the ids that the journal needs.

use super::queries::{Life, Query};
use super::{Asked, Omi, number, word};
use crate::domain::{
    CommandId, CommandOutcome, ConversationId, Footer, Moment, Part, RefusalCode, RemoteId,
    RunEvent, RunOutcome, TextPatch, TimelineEvent, Topic,
};
use crate::link::Frame;
use crate::protocol::decode::{TEXT_LIMIT, bounded};
use crate::text::SafeText;
use serde_json::{Map, Value, json};
use std::time::Duration;

/// How long a failed query may still come back to life.
const AFTERLIFE: Duration = Duration::from_secs(10);
/// How long the end of a stopped query is awaited: an adapter may first have to start.
const STOP_PATIENCE: Duration = Duration::from_secs(180);
/// A runtime that goes on is told to stop again after this long.
const STOP_AGAIN: Duration = Duration::from_secs(5);

pub(super) const STOPPED_EARLY: &str = "It was stopped before it was sent.";

/// Whether the runtime said that a run ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stated {
    End,
    Nothing,
}

/// Fields without which a query still means the same.
const DISPENSABLE: [&str; 3] = ["surfaceKind", "reasoningEffort", "producingTurnId"];

impl Omi {
    pub(super) fn cancel_run(
        &mut self,
        now: Moment,
        command: CommandId,
        conversation: &ConversationId,
    ) {
        if let Some(id) = self.queries.active(conversation).cloned() {
            self.stop_query(now, &id, RunOutcome::Cancelled);
            return self.done(command);
        }
        if self.stop_before_query(conversation) {
            return self.done(command);
        }
        self.refuse(
            command,
            RefusalCode::NotFound,
            "Nothing runs in this conversation, so there is nothing to stop.",
        );
    }

    /// Stops a message that is on its way and not asked yet; true when there was one.
    fn stop_before_query(&mut self, conversation: &ConversationId) -> bool {
        if self.stop_reading(conversation) {
            return true;
        }
        let waiting = self
            .chats
            .all
            .get_mut(conversation)
            .and_then(|chat| chat.waiting.take());
        if let Some(planned) = waiting {
            self.refuse(planned.command, RefusalCode::Cancelled, STOPPED_EARLY);
            return true;
        }
        // Its exchange is being written down; it is not asked when that is done.
        let recording = self.pending.find_mut(
            |asked| matches!(asked, Asked::Exchange { query } if query.conversation == *conversation),
        );
        match recording {
            Some(Asked::Exchange { query }) => {
                query.is_stopped = true;
                true
            }
            _ => false,
        }
    }

    /// Shows a query as ended and tells the runtime to stop it.
    fn stop_query(&mut self, now: Moment, id: &str, outcome: RunOutcome) {
        self.interrupt(now, id);
        let Some(query) = self.queries.all.get_mut(id) else {
            return;
        };
        query.life = Life::Stopped {
            until: now.after(STOP_PATIENCE),
        };
        let (conversation, run) = (query.conversation.clone(), query.run.clone());
        let parts: Vec<RemoteId> = (0..query.parts.len()).map(|at| query.part_id(at)).collect();
        let tools = std::mem::take(&mut query.tools);
        self.end_tools(&conversation, &run, &tools, &outcome);
        self.expire_questions_of(&run);
        let last = parts.len();
        for (at, remote) in parts.into_iter().enumerate() {
            self.say(Topic::Timeline(TimelineEvent::Ended {
                conversation: conversation.clone(),
                remote,
                text: None,
                reasoning: None,
                footer: Footer::default(),
                sent_at_ms: Some(now.wall_ms),
                is_interrupted: at + 1 == last,
            }));
        }
        self.say(Topic::Run(RunEvent::Finished {
            conversation,
            run,
            outcome,
        }));
    }

    fn interrupt(&mut self, now: Moment, id: &str) {
        let mut line = json!({"type": "interrupt"});
        self.envelope(&mut line, id);
        self.write(line);
        if let Some(query) = self.queries.all.get_mut(id) {
            query.interrupted = Some(now);
            query.stop_missed = false;
        }
    }

    /// A stopped query goes on: it was not there yet when it was to stop, or nobody heard.
    pub(super) fn stop_again(&mut self, now: Moment, id: &str) {
        let is_due = self.queries.all.get(id).is_some_and(|query| {
            query.stop_missed
                || query
                    .interrupted
                    .is_none_or(|at| now.since(at) >= STOP_AGAIN)
        });
        if is_due {
            self.interrupt(now, id);
        }
    }

    pub(super) fn on_cancel_ack(&mut self, now: Moment, line: &Map<String, Value>) {
        let accepted = line.get("accepted").and_then(Value::as_bool) == Some(true);
        if let Some(query) = self
            .queries
            .of_line(line)
            .and_then(|id| self.queries.all.get_mut(&id))
        {
            query.heard = now;
            query.stop_missed = !accepted;
        }
    }

    pub(super) fn on_result(&mut self, now: Moment, line: &Map<String, Value>) {
        let Some(mut query) = self
            .queries
            .of_line(line)
            .and_then(|id| self.queries.take(&id))
        else {
            return;
        };
        let id = word(line, "runId");
        if !id.is_empty() {
            query.run_id = id.to_owned();
        }
        let attempt = word(line, "attemptId");
        if !attempt.is_empty() {
            query.attempt = attempt.to_owned();
        }
        let failed = line.get("failure").is_some_and(Value::is_object);
        let outcome = match word(line, "terminalStatus") {
            "succeeded" | "completed" => RunOutcome::Completed,
            "" if !failed => RunOutcome::Completed,
            "cancelled" | "canceled" => RunOutcome::Cancelled,
            _ => self.failure(line),
        };
        let said = bounded(word(line, "text"), TEXT_LIMIT);
        let text = match outcome {
            RunOutcome::Completed if !said.is_empty() => said,
            _ if said.len() > query.text().len() => said,
            _ => query.text(),
        };
        let shown_at = match query.keeps_parts(&text) {
            true => query.part_id(query.parts.len().saturating_sub(1)),
            false => query.part_id(0),
        };
        let attachments = super::tools::artifacts_of(&query.conversation, &shown_at, line);
        let cost = line.get("costUsd").and_then(Value::as_f64);
        let served = line
            .get("modelsUsed")
            .and_then(Value::as_array)
            .and_then(|models| models.last())
            .and_then(Value::as_str);
        let footer = Footer {
            model: query.model.as_deref().or(served).map(SafeText::label),
            tokens_in: number(line, "inputTokens"),
            tokens_out: number(line, "outputTokens"),
            tokens_cached: number(line, "cacheReadTokens").filter(|count| *count > 0),
            latency_ms: u64::try_from(now.since(query.started).as_millis()).ok(),
            cost_micro_usd: cost
                .filter(|cost| *cost > 0.0)
                .map(|cost| (cost * 1_000_000.0).round() as u64),
            ..Footer::default()
        };
        match &outcome {
            RunOutcome::Completed => self.signed_in(),
            RunOutcome::Failed { .. } => self.sign_in_failed(),
            RunOutcome::Cancelled | RunOutcome::Lost => {}
        }
        self.end(now, query, text, footer, outcome, Stated::End);
        for event in attachments {
            self.say(event);
        }
        self.mend_owner(line);
    }

    /// The end of a query, on the screen and in the journal.
    fn end(
        &mut self,
        now: Moment,
        query: Query,
        text: String,
        footer: Footer,
        outcome: RunOutcome,
        stated: Stated,
    ) {
        let conversation = query.conversation.clone();
        if let Some((command, _)) = &query.owed {
            self.refuse(
                *command,
                RefusalCode::TimedOut,
                "The runtime never said that it got this message.",
            );
        }
        let was_stopped = matches!(query.life, Life::Stopped { .. });
        self.end_tools(&conversation, &query.run, &query.tools, &outcome);
        self.expire_questions_of(&query.run);
        let is_interrupted = outcome != RunOutcome::Completed;
        // What was stopped is shown so already.
        let is_shown = was_stopped && is_interrupted && text == query.text();
        // The parts stay where they are when they are all of the text; else the whole replaces them.
        if is_shown {
            if query.parts.len() > 1 {
                self.note_parts(&conversation, &query.answer_turn, &query.parts);
            }
        } else if query.keeps_parts(&text) {
            let last = query.parts.len() - 1;
            self.note_parts(&conversation, &query.answer_turn, &query.parts);
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
            // Before the parts go: what is deleted must not come again out of what is kept of them.
            self.forget_parts(&conversation, &query.answer_turn);
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
        // A failed one that succeeds after all is said again; a stopped one was stopped.
        if query.life == Life::Running || (outcome == RunOutcome::Completed && !was_stopped) {
            self.say(Topic::Run(RunEvent::Finished {
                conversation: conversation.clone(),
                run: query.run.clone(),
                outcome,
            }));
        }
        self.touch(now, &conversation);
        self.close_turn(now, &query, text, stated);
    }

    /// Writes the end of an answer into the journal. Only a run whose end the runtime has said can be
    /// terminalized; another turn keeps what it said and is repaired.
    fn close_turn(&mut self, now: Moment, query: &Query, text: String, stated: Stated) {
        if !query.is_journaled {
            return;
        }
        let conversation = query.conversation.clone();
        if stated == Stated::Nothing || query.run_id.is_empty() || query.attempt.is_empty() {
            if !text.is_empty() {
                self.rescue(now, &conversation, &query.answer_turn, &text);
            }
            return self.ask_repair(now, &conversation, std::slice::from_ref(&query.answer_turn));
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
        if self.ask_without_field(&id, word(line, "message")) {
            return;
        }
        let outcome = self.failure(line);
        let Some(query) = self.queries.all.get_mut(&id) else {
            return;
        };
        query.heard = now;
        match query.life {
            Life::Running => {
                query.life = Life::Failed {
                    until: now.after(AFTERLIFE),
                };
                let (conversation, run) = (query.conversation.clone(), query.run.clone());
                self.say(Topic::Run(RunEvent::Finished {
                    conversation,
                    run,
                    outcome,
                }));
                self.sign_in_failed();
            }
            // Said twice.
            Life::Failed { .. } => {
                query.life = Life::Failed {
                    until: now.after(AFTERLIFE),
                };
            }
            // Shown as stopped; some runtimes end a stopped query so.
            Life::Stopped { .. } => {
                query.life = Life::Stopped {
                    until: now.after(AFTERLIFE),
                };
            }
        }
        self.mend_owner(line);
    }

    /// An older runtime refuses a field: asks once more without it, and never with it again. True
    /// when it was asked again.
    fn ask_without_field(&mut self, id: &str, message: &str) -> bool {
        let Some((_, field)) = message.split_once("query_wire_field_not_allowed:") else {
            return false;
        };
        let field = field.trim();
        let Some(query) = self.queries.all.get_mut(id) else {
            return false;
        };
        // Without its mode a query acts, and without its files it means something else.
        let is_dispensable =
            DISPENSABLE.contains(&field) || (field == "mode" && query.line["mode"] == json!("act"));
        let had_it = query
            .line
            .as_object_mut()
            .is_some_and(|fields| fields.remove(field).is_some());
        if !is_dispensable || !had_it || query.life != Life::Running {
            return false;
        }
        if field == "producingTurnId" {
            query.is_journaled = false;
        }
        if !self.queries.refused.iter().any(|known| known == field) {
            self.queries.refused.push(field.to_owned());
        }
        let Some(query) = self.queries.take(id) else {
            return false;
        };
        let again = self.ids.mint();
        let line = query.line.clone();
        self.queries.all.insert(again.clone(), query);
        self.write_query(line, &again);
        true
    }

    pub(super) fn expire_queries(&mut self, now: Moment) {
        let is_due = |until: Moment| until.mono_ms <= now.mono_ms;
        let over: Vec<String> = self
            .queries
            .all
            .iter()
            .filter(|(_, query)| match query.life {
                Life::Failed { until } | Life::Stopped { until } => is_due(until),
                Life::Running => false,
            })
            .map(|(id, _)| id.clone())
            .collect();
        for id in over {
            if let Some(query) = self.queries.take(&id) {
                let text = query.text();
                let (footer, outcome) = (Footer::default(), RunOutcome::Cancelled);
                self.end(now, query, text, footer, outcome, Stated::Nothing);
            }
        }
        let Some(lease) = self.session.lease() else {
            return;
        };
        let silent: Vec<String> = self
            .queries
            .all
            .iter()
            .filter(|(_, query)| query.life == Life::Running && now.since(query.heard) >= lease)
            .map(|(id, _)| id.clone())
            .collect();
        if silent.is_empty() {
            return;
        }
        if now.since(self.session.heard) >= lease {
            return self.is_frozen();
        }
        // The runtime lives; only this query does not.
        for id in silent {
            let outcome = RunOutcome::Failed {
                error: "The agent gave no sign of life for a minute, so it was stopped.".into(),
                hint: "Look at what was done before you send it again.".into(),
                details: SafeText::default(),
            };
            self.stop_query(now, &id, outcome);
        }
    }

    /// The process is about to be ended: what is being answered is written down as far as it is
    /// shown, and told to stop. The turns are repaired at the next start, because only the end of a
    /// run can end its turn.
    pub(super) fn last_words(&mut self) -> Vec<Frame> {
        let mut lines = Vec::new();
        for (id, query) in &self.queries.all {
            let text = query.written_text();
            if query.is_journaled && !text.is_empty() {
                let mut line = json!({
                    "type": "journal_update_turn",
                    "update": {"turnId": query.answer_turn, "content": text},
                });
                self.put_surface(&mut line, &query.conversation);
                lines.push((line, None));
            }
            if query.life == Life::Running {
                lines.push((json!({"type": "interrupt"}), Some(id.clone())));
            }
        }
        lines
            .into_iter()
            .map(|(mut line, id)| {
                let id = id.unwrap_or_else(|| self.ids.mint());
                self.envelope(&mut line, &id);
                Frame::text(line.to_string())
            })
            .collect()
    }

    /// The process is gone and its runs with it. Nothing is sent a second time by itself.
    pub(super) fn cut_queries(&mut self) {
        self.queries.refused.clear();
        for (_, query) in std::mem::take(&mut self.queries.all) {
            if let Some((command, _)) = &query.owed {
                self.finish(*command, CommandOutcome::LinkLost);
            }
            if query.is_journaled && !query.parts.is_empty() {
                self.queries
                    .cut
                    .insert(query.answer_turn.clone(), query.written_text());
            }
            if query.parts.len() > 1 {
                self.note_parts(&query.conversation, &query.answer_turn, &query.parts);
            }
            // What was stopped is shown so already; a failed one may not have come to its end.
            if matches!(query.life, Life::Stopped { .. }) {
                continue;
            }
            let outcome = RunOutcome::Lost;
            self.end_tools(&query.conversation, &query.run, &query.tools, &outcome);
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
                    outcome,
                }));
            }
        }
    }
}
