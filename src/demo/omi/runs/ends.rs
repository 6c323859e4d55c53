//! How a run ends: with its result and files, with a failure, cancelled; and what runs beside it.

use super::super::super::files::File;
use super::super::super::scenario::Action;
use super::super::{Cancel, Oddity, ResultText};
use super::{Omi, title, whole};
use serde_json::{Value, json};

impl Omi {
    pub(super) fn offer(&mut self, index: usize, name: &str) {
        let Some(file) = File::sample(name) else {
            return;
        };
        let id = self.id("artifact");
        let Some(run) = self.runs.get_mut(index) else {
            return;
        };
        let path = format!("{}/{}/{}", self.artifacts, run.id, file.name);
        run.artifacts.push(json!({
            "artifactId": id,
            "sessionId": run.session,
            "runId": run.id,
            "attemptId": run.attempt,
            "kind": "file",
            "role": "output",
            "uri": format!("file://{path}"),
            "displayName": file.name,
            "mimeType": file.mime,
            "contentHash": null,
            "sizeBytes": file.content.len(),
            "lifecycleState": "active",
            "lifecycleUpdatedAtMs": null,
            "metadata": {},
            "createdAtMs": self.desk.epoch + self.desk.now,
        }));
        self.files.push((path, file.content));
    }

    pub(super) fn succeed(&mut self, index: usize) {
        let Some(run) = self.runs.get(index) else {
            return;
        };
        let text = whole(run);
        let model = self
            .sessions
            .iter()
            .find(|s| s.id == run.session)
            .and_then(|s| s.model.clone())
            .unwrap_or_else(|| "claude-sonnet-4-6".to_owned());
        let shown = match self.readings.result_text {
            ResultText::Same => text.clone(),
            ResultText::Empty => String::new(),
            ResultText::Different => format!("{text}\n\n(revised)"),
        };
        let artifacts = run.artifacts.clone();
        if self.is_rust() {
            let line = json!({"type": "result", "text": shown, "terminalStatus": "succeeded"});
            return self.end(index, "succeeded", &text, line);
        }
        let served = format!("{model}-20260915");
        self.say(
            index,
            json!({"type": "model_used", "model": served, "requestedModel": model}),
        );
        let tokens = (text.chars().count() as u64).div_ceil(4);
        let mut line = json!({
            "type": "result",
            "text": shown,
            "terminalStatus": "succeeded",
            "costUsd": (tokens as f64 * 15.0 + 9_000.0) / 1e6,
            "inputTokens": 1_840 + tokens / 3,
            "outputTokens": tokens,
            "cacheReadTokens": 14_200,
            "cacheWriteTokens": 310,
            "modelsUsed": [served],
            "artifacts": artifacts,
        });
        if !artifacts.is_empty() {
            line["completionDeltaArtifacts"] = json!(artifacts);
        }
        self.end(index, "succeeded", &text, line);
    }

    pub(super) fn fail(&mut self, index: usize, message: &str) {
        let Some(run) = self.runs.get(index) else {
            return;
        };
        let text = whole(run);
        if self.is_rust() {
            let request = run.request.clone();
            self.refuse(&request, "transport_interruption", message);
            self.refuse(
                &request,
                "transport_interruption",
                &format!("provider error: {message}"),
            );
            return self.forget(index, "failed", &text);
        }
        let line = json!({
            "type": "result",
            "text": "",
            "terminalStatus": "failed",
            "failure": {
                "code": "provider_overloaded",
                "failureCode": "transport_interruption",
                "userMessage": message,
                "technicalMessage": format!("acp: session/prompt failed: {message} (attempt {})", run.attempt),
                "source": "adapter_execution",
                "adapterId": "acp",
                "retryable": true,
                "retryDisposition": "next_send",
            },
            "artifacts": [],
        });
        self.end(index, "failed", &text, line);
    }

    /// The last line of a query.
    fn end(&mut self, index: usize, status: &str, text: &str, line: Value) {
        self.say(index, line.clone());
        if self.readings.oddity == Oddity::TwoResults {
            self.say(index, line);
        }
        self.forget(index, status, text);
    }

    fn forget(&mut self, index: usize, status: &str, text: &str) {
        if index >= self.runs.len() {
            return;
        }
        let run = self.runs.remove(index);
        self.is_dirty = true;
        self.ended.insert(
            run.id.clone(),
            json!({"runId": run.id, "sessionId": run.session, "status": status, "finalText": text,
                "startedAtMs": self.desk.epoch + run.started, "completedAtMs": self.desk.wall()}),
        );
        let wall = self.desk.wall();
        if let Some(session) = self.sessions.iter_mut().find(|s| s.id == run.session) {
            session.updated = wall;
        }
        self.start_waiting();
    }

    pub(in super::super) fn interrupt(&mut self, request: &Value) {
        let index = self.runs.iter().position(|run| {
            let by_key = run.request["requestId"] == request["requestId"]
                && run.request["clientId"] == request["clientId"];
            by_key || request.get("runId").is_some_and(|id| *id == json!(run.id))
        });
        let refuses = self.readings.cancel == Cancel::RefusesFirst;
        let Some(index) = index.filter(|index| !(refuses && self.runs[*index].refusals == 0))
        else {
            if let Some(index) = index {
                self.runs[index].refusals += 1;
            }
            return self.reply(request, json!({"type": "cancel_ack", "accepted": false, "dispatchAttempted": false, "adapterAcknowledged": false}));
        };
        let is_rust = self.is_rust();
        let mut ack = json!({"type": "cancel_ack", "accepted": true, "dispatchAttempted": true, "adapterAcknowledged": is_rust});
        if !is_rust {
            let run = &self.runs[index];
            ack["sessionId"] = json!(run.session);
            ack["runId"] = json!(run.id);
            ack["attemptId"] = json!(run.attempt);
        }
        let before = match self.readings.cancel {
            Cancel::ResultFirst => false,
            _ => !is_rust,
        };
        let says_ack = self.readings.cancel != Cancel::NoAck;
        if says_ack && before {
            self.reply(request, ack.clone());
        }
        let open: Vec<(String, String)> = self.runs[index].play.open_tools().to_vec();
        for (call, name) in open {
            self.tool(index, &call, &title(&name), "cancelled", None);
        }
        let text = whole(&self.runs[index]);
        let mut line = json!({"type": "result", "text": "", "terminalStatus": "cancelled"});
        if self.readings.cancel == Cancel::PartialText {
            line["text"] = json!(text);
        }
        if !is_rust {
            line["failure"] = json!({"code": "run_cancelled", "failureCode": "cancelled", "userMessage": "The run was cancelled.", "source": "runtime", "retryable": false});
        }
        self.end(index, "cancelled", &text, line);
        if says_ack && !before {
            self.reply(request, ack);
        }
    }

    /// What ran in the background is written into the journal.
    pub(in super::super) fn speak_in_background(&mut self) {
        let now = self.desk.now;
        let Some(place) = self.background.iter().position(|later| later.at <= now) else {
            return;
        };
        let later = self.background.remove(place);
        let texts: Vec<String> = self
            .setup
            .library
            .by_word(&later.word)
            .into_iter()
            .flat_map(|scenario| scenario.steps.clone())
            .filter_map(|step| match step.action {
                Action::Say { text, .. } => Some(text.trim_end().to_owned()),
                _ => None,
            })
            .collect();
        if let Some(index) = self
            .conversations
            .iter()
            .position(|c| c.id == later.conversation)
        {
            self.append(index, &texts.join("\n\n"), "agent_runtime");
        }
    }

    pub(in super::super) fn active_runs(&self) -> Vec<Value> {
        self.runs
            .iter()
            .map(|run| {
                json!({"runId": run.id, "sessionId": run.session,
                    "status": if run.is_running { "running" } else { "queued" },
                    "startedAtMs": self.desk.epoch + run.started})
            })
            .collect()
    }

    /// Cancels a run by its id. False when it is not running.
    pub(in super::super) fn cancel_run(&mut self, id: &str) -> bool {
        let Some(run) = self.runs.iter().find(|run| run.id == id) else {
            return false;
        };
        let request = run.request.clone();
        self.interrupt(&request);
        true
    }
}
