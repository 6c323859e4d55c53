//! What a run asks its host: tools that only the host has, and questions to the person.

use super::super::super::agent::Reply;
use super::super::super::files::sha256_hex;
use super::{Omi, whole};
use serde_json::{Value, json};

impl Omi {
    /// A tool that only the host has.
    pub(super) fn ask_host(
        &mut self,
        index: usize,
        call: &str,
        name: &str,
        args: Value,
        effect: &str,
    ) {
        let is_rust = self.is_rust();
        let input = if args.is_object() { args } else { json!({}) };
        let hash = format!("sha256:{}", sha256_hex(input.to_string().as_bytes()));
        let Some(run) = self.runs.get(index) else {
            return;
        };
        let session = self.sessions.iter().find(|s| s.id == run.session);
        let surface = self
            .conversations
            .iter()
            .find(|c| c.id == run.conversation)
            .map(|c| c.surface.clone());
        let line = json!({
            "type": "authorized_tool_execution",
            "invocationId": call,
            "ownerId": self.owner,
            "sessionId": run.session,
            "runId": run.id,
            "attemptId": run.attempt,
            "profileGeneration": session.map_or(1, |s| s.generation),
            "manifestVersion": 1,
            "manifestDigest": "sha256:2f6a1d0c5b7e4a93",
            "daemonBootEpoch": self.boot,
            "executionGeneration": 1,
            "toolName": name,
            "input": input,
            "inputHash": hash,
            "effectClass": effect,
            "retryPolicy": if effect == "read_only" { "safe_retry" } else { "never_auto_retry" },
            "surfaceKind": surface.as_ref().map_or("main_chat", |s| s.kind.as_str()),
            "externalRefKind": surface.as_ref().map(|s| s.ref_kind.clone()),
            "externalRefId": surface.as_ref().map(|s| s.ref_id.clone()),
            "originatingUserText": run.request["prompt"],
            "precedingAssistantText": if whole(run).is_empty() { Value::Null } else { json!(whole(run)) },
            "runMode": run.request.get("mode").cloned().unwrap_or(json!("act")),
            "chatMode": null,
        });
        let request = run.request.clone();
        if let Some(run) = self.runs.get_mut(index) {
            run.host_tool = Some(line.clone());
        }
        if is_rust {
            // This flavour does not wait: the model is told at once that it was not approved.
            self.reply(&request, line);
            let now = self.desk.now;
            if let Some(run) = self.runs.get_mut(index) {
                run.play.refuse_host_tool(now);
            }
            return;
        }
        let mut line = line;
        line["capabilityRef"] = json!(format!("cap_{}", self.desk.hex(12)));
        self.put(line);
    }

    pub(in super::super) fn host_answered(&mut self, answer: &Value) {
        let echoed = [
            "invocationId",
            "ownerId",
            "sessionId",
            "runId",
            "attemptId",
            "profileGeneration",
            "manifestVersion",
            "manifestDigest",
            "daemonBootEpoch",
            "executionGeneration",
            "inputHash",
        ];
        let found = self.runs.iter().position(|run| {
            run.host_tool
                .as_ref()
                .is_some_and(|line| echoed.iter().all(|key| line.get(*key) == answer.get(*key)))
        });
        let is_rust = self.is_rust();
        let Some(index) = found else {
            if is_rust {
                let message = "authorized tool result identity mismatch";
                return self.refuse(&Value::Null, "invalid_request", message);
            }
            return self.log("Ignored an authorized tool result that matches no invocation");
        };
        let result = answer
            .get("result")
            .and_then(Value::as_str)
            .unwrap_or("")
            .to_owned();
        if is_rust {
            return self.put(json!({
                "type": "authorized_tool_result", "duplicate": false, "result": result,
                "invocationId": answer["invocationId"], "outcome": answer["outcome"],
            }));
        }
        let now = self.desk.now;
        let has_failed = answer["outcome"] != "succeeded";
        let shown = if has_failed && !result.contains("\"ok\":false") {
            json!({"ok": false, "error": {"message": result}}).to_string()
        } else {
            result
        };
        if let Some(run) = self.runs.get_mut(index) {
            run.host_tool = None;
            run.play.answer(now, &Reply::Text(shown));
        }
    }

    /// A question to the person behind the host, where the runtime has such a thing; otherwise it
    /// decides by itself, as older ones do.
    pub(super) fn elicit(
        &mut self,
        index: usize,
        title: &str,
        prompt: &str,
        subject: &str,
        options: Vec<(String, String)>,
        free_text: bool,
    ) {
        let now = self.desk.now;
        let is_approval = title == "Permission needed";
        if !self.readings.asks_the_host || self.is_rust() {
            if let Some(run) = self.runs.get_mut(index) {
                let first = options.first().map_or_else(
                    || "whatever you think best".to_owned(),
                    |(value, _)| value.clone(),
                );
                run.play
                    .answer_at_once(now, &reply_for(is_approval, first, None));
            }
            return;
        }
        let dispatch = self.id("dsp");
        let Some(run) = self.runs.get_mut(index) else {
            return;
        };
        let rows: Vec<Value> = options
            .iter()
            .map(|(value, label)| json!({"optionId": value, "label": label, "effect": effect(is_approval, value)}))
            .collect();
        let line = json!({
            "type": "elicitation_pending",
            "ownerId": self.owner,
            "dispatchId": dispatch,
            "sessionId": run.session,
            "runId": run.id,
            "channel": if is_approval { "acp_permission" } else { "omi_ask_user" },
            "mode": if is_approval { "permission" } else { "question" },
            "adapterId": "acp",
            "title": title,
            "prompt": prompt,
            "subject": if subject.is_empty() { Value::Null } else { json!(subject) },
            "context": null,
            "options": rows,
            "allowsFreeText": free_text,
            "recommendedDefault": null,
            "createdAtMs": self.desk.epoch + now,
        });
        run.dispatch = Some((dispatch, options));
        self.put(line);
    }

    pub(in super::super) fn elicitation_answered(&mut self, answer: &Value) {
        let dispatch = answer["dispatchId"].as_str().unwrap_or_default().to_owned();
        let now = self.desk.now;
        let found = self
            .runs
            .iter()
            .position(|run| run.dispatch.as_ref().is_some_and(|(id, _)| *id == dispatch));
        let Some(index) = found else {
            return self.refuse(answer, "invalid_request", "elicitation is not pending");
        };
        let Some((_, options)) = self.runs[index].dispatch.take() else {
            return;
        };
        let is_approval = options.iter().any(|(value, _)| value == "deny");
        let text = answer
            .get("text")
            .and_then(Value::as_str)
            .map(str::to_owned);
        let option = answer
            .get("optionId")
            .and_then(Value::as_str)
            .map(str::to_owned);
        let (value, reason) = match (answer["decision"].as_str(), option, text) {
            (Some("answer"), Some(option), reason) => (option, reason),
            (Some("answer"), None, Some(text)) => (text, None),
            _ if is_approval => ("deny".to_owned(), None),
            _ => ("(no answer)".to_owned(), None),
        };
        self.runs[index]
            .play
            .answer(now, &reply_for(is_approval, value, reason));
        // It names the question; there is no answer to the request itself.
        let outcome = if answer["decision"] == "answer" {
            "answered"
        } else {
            "cancelled"
        };
        self.put(json!({"type": "elicitation_resolved", "dispatchId": dispatch, "ownerId": self.owner, "outcome": outcome}));
    }
}

pub(super) fn approval_label(choice: &str) -> &'static str {
    match choice {
        "once" => "Allow once",
        "session" => "Allow for this session",
        "always" => "Always allow",
        _ => "Deny",
    }
}

fn reply_for(is_approval: bool, value: String, reason: Option<String>) -> Reply {
    if is_approval {
        Reply::Choice { value, reason }
    } else {
        Reply::Text(value)
    }
}

/// What an option of a permission does.
fn effect(is_approval: bool, value: &str) -> &'static str {
    match value {
        _ if !is_approval => "choice",
        "once" => "allow_once",
        "always" => "allow_always",
        "deny" => "reject_once",
        _ => "choice",
    }
}
