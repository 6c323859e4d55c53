//! Runs of the Pheby server: from `chat.send` to `run.finished`, with tools. The agent's beats become
//! frames in `beats`.

mod beats;

use super::super::agent::Play;
use super::super::engine::{ConnectionId, iso};
use super::conversations::UNNAMED;
use super::decisions::Pending;
use super::{MAX_TEXT, Pheby, Timer};
use serde_json::{Value, json};

/// A message that waits for its run.
#[derive(Debug)]
pub(super) struct Sent {
    connection: Option<ConnectionId>,
    request_id: Value,
    play: Play,
}

/// An active run.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) id: String,
    pub(super) play: Play,
    started: u64,
    /// How many messages it has begun.
    drafts: u32,
    /// Whether `message.start` was sent for the newest draft and its text is not complete.
    is_open: bool,
    /// Texts of finished parts of the open draft.
    before: String,
    /// The part that grows.
    text: String,
    /// The agent has ended the growing part.
    has_ended: bool,
    pub(super) pending: Option<Pending>,
    /// Speaks without run frames.
    is_silent: bool,
    todo_calls: Vec<String>,
}

impl Run {
    fn draft(&self) -> String {
        match self.drafts {
            0 | 1 => format!("draft-{}", self.id),
            n => format!("draft-{}-{n}", self.id),
        }
    }

    fn whole(&self) -> String {
        if self.before.is_empty() || self.text.is_empty() {
            format!("{}{}", self.before, self.text)
        } else {
            format!("{}\n\n{}", self.before, self.text)
        }
    }

    /// The run and its open questions as a snapshot shows them.
    pub(super) fn snapshot(&self, conversation: &str) -> (Value, Vec<Value>, Vec<Value>) {
        let run = json!({
            "run_id": self.id,
            "conversation_id": conversation,
            "status": "running",
            "message_id": self.draft(),
            "text": self.whole(),
            "started_at": iso(self.started),
        });
        let of = |is_approval: bool| {
            self.pending
                .iter()
                .filter(|p| p.is_approval == is_approval)
                .map(|p| p.frame.clone())
                .collect()
        };
        let run = if self.is_silent { Value::Null } else { run };
        (run, of(true), of(false))
    }
}

impl Pheby {
    pub(super) fn chat_send(&mut self, connection: ConnectionId, request: &Value) {
        let Some(index) = self.named(connection, request) else {
            return;
        };
        let text = match request.get("text").and_then(Value::as_str) {
            Some(text) if !text.trim().is_empty() => text.to_owned(),
            _ => return self.error(connection, request, "bad_request", "text is needed"),
        };
        if text.chars().count() > MAX_TEXT {
            let message = format!("text is longer than {MAX_TEXT} characters");
            return self.error(connection, request, "too_large", &message);
        }
        let conversation = &self.conversations[index];
        if conversation.run.is_some() || conversation.pending.is_some() {
            let message = "A run is already active in this conversation";
            return self.error(connection, request, "run_active", message);
        }
        let claimed = match self.claimable(index, request) {
            Ok(claimed) => claimed,
            Err(message) => return self.error(connection, request, "bad_request", &message),
        };
        let wall = self.desk.wall();
        let message = self.message_id();
        self.conversations[index].store(message.clone(), "user", &text, wall);
        self.ensure_session(index);
        let files = self.claim(&claimed, &message);
        let Some(scenario) = self.setup.library.pick(&text) else {
            return self.error(connection, request, "internal_error", "No scenario to play");
        };
        if self.readings.names_conversations && self.conversations[index].name == UNNAMED {
            let name: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
            self.retitle(index, &name.chars().take(40).collect::<String>());
        }
        let context = self.context(index, &text, files);
        let delay = if self.readings.accepts_late { 500 } else { 0 };
        let at = self.desk.now + delay;
        self.conversations[index].pending = Some(Sent {
            connection: Some(connection),
            request_id: request.get("request_id").cloned().unwrap_or(Value::Null),
            play: Play::new(scenario, context, at),
        });
        if delay == 0 {
            self.accept(index);
        } else {
            let name = self.conversations[index].name.clone();
            self.retitle(index, &name);
            let conversation = self.conversations[index].id.clone();
            self.timers.push((at, Timer::Accept { conversation }));
        }
    }

    /// The run of a sent message begins.
    pub(super) fn accept(&mut self, index: usize) {
        let Some(sent) = self.conversations[index].pending.take() else {
            return;
        };
        let run = self.begin(index, sent.play, false);
        let conversation = self.conversations[index].id.clone();
        let plain = json!({
            "type": "run.accepted",
            "conversation_id": conversation,
            "run_id": run,
        });
        let mut own = plain.clone();
        if !sent.request_id.is_null() {
            own["request_id"] = sent.request_id;
        }
        if self.readings.accepted_id_for_all {
            self.broadcast(&own);
        } else if let Some(connection) = sent.connection {
            if self.clients.contains_key(&connection) {
                self.send(connection, &own);
            }
            self.broadcast_but(Some(connection), &plain);
        } else {
            self.broadcast(&plain);
        }
        self.start_message(index);
    }

    /// A scenario starts that nobody asked for.
    pub(super) fn start_unsolicited(&mut self, index: usize, word: &str) {
        if self.conversations[index].run.is_some() {
            // One run at a time: it waits for its turn.
            let conversation = self.conversations[index].id.clone();
            let word = word.to_owned();
            let at = self.desk.now + 1000;
            return self
                .timers
                .push((at, Timer::Unsolicited { conversation, word }));
        }
        let Some(scenario) = self.setup.library.by_word(word) else {
            return;
        };
        let context = self.context(index, "", Vec::new());
        let play = Play::new(scenario, context, self.desk.now);
        if self.readings.speaks_without_run {
            self.begin(index, play, true);
            self.start_message(index);
        } else {
            self.conversations[index].pending = Some(Sent {
                connection: None,
                request_id: Value::Null,
                play,
            });
            self.accept(index);
        }
    }

    fn message_id(&mut self) -> String {
        format!("m{}", self.desk.hex(12))
    }

    fn begin(&mut self, index: usize, play: Play, is_silent: bool) -> String {
        let id = self.desk.hex(32);
        let started = self.desk.wall();
        let conversation = &mut self.conversations[index];
        conversation.tools.clear();
        conversation.run = Some(Run {
            id: id.clone(),
            play,
            started,
            drafts: 0,
            is_open: false,
            before: String::new(),
            text: String::new(),
            has_ended: false,
            pending: None,
            is_silent,
            todo_calls: Vec::new(),
        });
        id
    }

    fn start_message(&mut self, index: usize) {
        let Some(run) = &mut self.conversations[index].run else {
            return;
        };
        run.drafts += 1;
        run.is_open = true;
        run.has_ended = false;
        run.before.clear();
        run.text.clear();
        let run_id = (!run.is_silent).then(|| run.id.clone());
        let draft = run.draft();
        let frame = json!({
            "type": "message.start",
            "conversation_id": self.conversations[index].id,
            "run_id": run_id,
            "message_id": draft,
        });
        self.broadcast(&frame);
    }

    /// The open message is whole: everyone gets the final text, the transcript keeps it.
    fn complete_message(&mut self, index: usize) {
        let wall = self.desk.wall();
        let ts = self.desk.timestamp();
        let keeps = self.readings.keeps_draft_ids;
        let fresh = self.message_id();
        let conversation = &mut self.conversations[index];
        let Some(run) = &mut conversation.run else {
            return;
        };
        let (draft, text) = (run.draft(), run.whole());
        if !run.is_open || text.is_empty() {
            return;
        }
        run.is_open = false;
        let id = if keeps { draft.clone() } else { fresh };
        conversation.store(id.clone(), "assistant", &text, wall);
        let frame = json!({
            "type": "message.complete",
            "conversation_id": conversation.id,
            "message_id": draft,
            "text": text,
            "ts": ts,
        });
        self.broadcast(&frame);
        self.anchor(&draft, &id);
    }

    /// A line of the gateway itself; never part of the transcript.
    pub(super) fn notice(&mut self, index: usize, text: &str) {
        let id = format!("n-{}", self.desk.hex(12));
        let frame = json!({
            "type": "message.complete",
            "conversation_id": self.conversations[index].id,
            "message_id": id,
            "text": text,
            "kind": "notice",
            "ts": self.desk.timestamp(),
        });
        self.broadcast(&frame);
    }

    fn finish(&mut self, index: usize, status: &str, error: Option<&str>) {
        let conversation = &mut self.conversations[index];
        let Some(run) = conversation.run.take() else {
            return;
        };
        conversation.approved = run.play.approved().to_vec();
        conversation.last_active = Some(self.desk.wall());
        let mut frame = json!({
            "type": "run.finished",
            "conversation_id": conversation.id,
            "run_id": run.id,
            "status": status,
        });
        if let Some(error) = error {
            frame["error"] = json!(error);
        }
        if !run.is_silent {
            self.broadcast(&frame);
        }
    }

    pub(super) fn run_cancel(&mut self, connection: ConnectionId, request: &Value) {
        let Some(index) = self.named(connection, request) else {
            return;
        };
        let asked = request.get("run_id").and_then(Value::as_str);
        let Some(asked) = asked else {
            return self.error(connection, request, "bad_request", "run_id is needed");
        };
        let conversation = &mut self.conversations[index];
        let is_active = conversation.run.as_ref().is_some_and(|run| run.id == asked);
        if !is_active {
            return self.error(connection, request, "not_found", "No such active run");
        }
        let tools: Vec<(String, String)> = conversation
            .run
            .as_ref()
            .map(|run| run.play.open_tools().to_vec())
            .unwrap_or_default();
        for (call, name) in tools {
            self.tool_event(
                index,
                &call,
                &name,
                json!({"status": "cancelled", "duration_ms": null}),
            );
        }
        if self.readings.completes_cancelled {
            self.complete_message(index);
        }
        self.finish(index, "cancelled", None);
    }

    /// A restart takes the run away; what was written of it stays where the reading says so.
    pub(super) fn lose_run(&mut self, index: usize) {
        let wall = self.desk.wall();
        let id = self.message_id();
        let conversation = &mut self.conversations[index];
        conversation.pending = None;
        if let Some(run) = conversation.run.take() {
            let text = run.whole();
            if run.is_open && !text.is_empty() {
                conversation.store(id, "assistant", &text, wall);
            }
            conversation.lost = Some(run.play);
        }
        conversation.tools.clear();
    }

    /// After a restart: runs go on by themselves, or are forgotten.
    pub(super) fn resume_lost(&mut self) {
        for index in 0..self.conversations.len() {
            if let Some(play) = self.conversations[index].lost.take()
                && self.readings.resumes_after_restart
            {
                self.conversations[index].pending = Some(Sent {
                    connection: None,
                    request_id: Value::Null,
                    play,
                });
                self.accept(index);
            }
        }
    }

    fn tool_event(&mut self, index: usize, call: &str, name: &str, rest: Value) {
        let conversation = &mut self.conversations[index];
        let mut frame = json!({
            "type": "tool.event",
            "conversation_id": conversation.id,
            "tool_call_id": call,
            "tool_name": name,
            "ts": iso(self.desk.epoch + self.desk.now),
        });
        if let Some(run) = conversation.run.as_ref().filter(|run| !run.is_silent) {
            frame["run_id"] = json!(run.id);
        }
        for (key, value) in rest.as_object().into_iter().flatten() {
            frame[key] = value.clone();
        }
        let mut kept = frame.clone();
        if let Some(known) = conversation
            .tools
            .iter_mut()
            .find(|event| event["tool_call_id"] == call)
        {
            *known = kept;
        } else {
            kept["tool_call_id"] = json!(call);
            conversation.tools.push(kept);
        }
        self.broadcast(&frame);
    }

    /// The moment and place of the next beat of any run.
    pub(super) fn next_play(&self) -> Option<(u64, usize)> {
        self.conversations
            .iter()
            .enumerate()
            .filter_map(|(index, c)| Some((c.run.as_ref()?.play.due()?, index)))
            .min()
    }

    /// The newest draft of a conversation's run, for files that hang on it.
    pub(super) fn current_draft(&self, index: usize) -> Option<String> {
        self.conversations[index].run.as_ref().map(Run::draft)
    }

    /// Guarded commands of the active run follow the switch at once.
    pub(super) fn follow_yolo(&mut self, index: usize) {
        let is_yolo = self.conversations[index].is_yolo;
        if let Some(run) = &mut self.conversations[index].run {
            run.play.set_auto_approve(is_yolo);
        }
    }
}

/// Tool arguments without what looks like a secret by its key.
fn redacted(args: &Value) -> Value {
    match args {
        Value::Object(fields) => fields
            .iter()
            .map(|(key, value)| {
                let lower = key.to_lowercase();
                let is_secret = ["secret", "token", "password", "api_key", "authorization"]
                    .iter()
                    .any(|word| lower.contains(word));
                let value = if is_secret {
                    json!("[REDACTED]")
                } else {
                    redacted(value)
                };
                (key.clone(), value)
            })
            .collect::<serde_json::Map<_, _>>()
            .into(),
        Value::Array(items) => items.iter().map(redacted).collect(),
        Value::Null => json!({}),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_taken_out_of_arguments_at_any_depth() {
        let args = json!({"url": "x", "headers": [{"Authorization": "Bearer 1"}], "api_key": "k"});
        assert_eq!(
            redacted(&args),
            json!({"url": "x", "headers": [{"Authorization": "[REDACTED]"}], "api_key": "[REDACTED]"})
        );
    }

    #[test]
    fn a_todo_entry_may_lack_its_words_in_a_merge() {
        let item = super::super::super::scenario::TodoItem {
            id: "1".into(),
            content: None,
            status: "completed".into(),
        };
        assert_eq!(
            super::super::super::agent::todo_json(&item),
            json!({"id": "1", "status": "completed"})
        );
    }
}
