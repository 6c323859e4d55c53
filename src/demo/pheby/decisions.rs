//! Approvals and questions of the Pheby server: asked by a run, answered by any client.

use super::super::agent::Reply;
use super::super::engine::ConnectionId;
use super::super::scenario::Choice;
use super::Pheby;
use serde_json::{Value, json};

/// What a person is asked, as the frame says it.
#[derive(Debug)]
pub(super) struct Pending {
    pub(super) id: String,
    pub(super) is_approval: bool,
    pub(super) frame: Value,
    /// Labels and values of a picker that is shown as a question.
    labels: Vec<Choice>,
}

impl Pheby {
    pub(super) fn ask(
        &mut self,
        index: usize,
        id: String,
        is_approval: bool,
        mut frame: Value,
        labels: Vec<Choice>,
    ) {
        let ts = self.desk.timestamp();
        let conversation = &mut self.conversations[index];
        frame["session_key"] = json!(format!("agent:main:pheby:dm:{}", conversation.id));
        frame["conversation_id"] = json!(conversation.id);
        frame["ts"] = json!(ts);
        if let Some(run) = &mut conversation.run {
            frame["run_id"] = json!(run.id);
            let mut kept = frame.clone();
            if let Some(fields) = kept.as_object_mut() {
                fields.remove("type");
            }
            run.pending = Some(Pending {
                id,
                is_approval,
                frame: kept,
                labels,
            });
        }
        self.broadcast(&frame);
        self.close_part(index);
    }

    fn asked(&self, id: Option<&str>, is_approval: bool) -> Option<usize> {
        self.conversations.iter().position(|c| {
            c.run
                .as_ref()
                .and_then(|run| run.pending.as_ref())
                .is_some_and(|p| p.is_approval == is_approval && Some(p.id.as_str()) == id)
        })
    }

    pub(super) fn approval_respond(&mut self, connection: ConnectionId, request: &Value) {
        let id = request.get("approval_id").and_then(Value::as_str);
        let Some(choice) = request.get("choice").and_then(Value::as_str) else {
            return self.error(connection, request, "bad_request", "choice is needed");
        };
        let Some(index) = self.asked(id, true) else {
            let message = "Approval not found or expired";
            return self.error(connection, request, "approval_not_found", message);
        };
        let now = self.desk.now;
        let reason = request
            .get("reason")
            .and_then(Value::as_str)
            .map(str::to_owned);
        let Some(run) = &mut self.conversations[index].run else {
            return;
        };
        let is_offered = run.pending.as_ref().is_some_and(|p| {
            p.frame["choices"]
                .as_array()
                .is_some_and(|choices| choices.iter().any(|c| c == choice))
        });
        if !is_offered {
            return self.error(connection, request, "bad_request", "No such choice");
        }
        run.pending = None;
        run.play.answer(
            now,
            &Reply::Choice {
                value: choice.to_owned(),
                reason,
            },
        );
        let mut frame = json!({
            "type": "approval.resolved",
            "approval_id": id,
            "choice": choice,
            "accepted": true,
        });
        if let Some(id) = request.get("request_id").filter(|id| !id.is_null()) {
            frame["request_id"] = id.clone();
        }
        self.broadcast(&frame);
    }

    pub(super) fn clarify_respond(&mut self, connection: ConnectionId, request: &Value) {
        let id = request.get("clarify_id").and_then(Value::as_str);
        let response = request
            .get("response")
            .and_then(Value::as_str)
            .unwrap_or("")
            .to_owned();
        if response.trim().is_empty() {
            return self.error(connection, request, "bad_request", "response is needed");
        }
        let Some(index) = self.asked(id, false) else {
            let message = "Clarification not found or expired";
            return self.error(connection, request, "clarify_not_found", message);
        };
        let now = self.desk.now;
        if let Some(run) = &mut self.conversations[index].run
            && let Some(pending) = run.pending.take()
        {
            let value = pending
                .labels
                .iter()
                .find(|choice| choice.label == response)
                .map_or(response, |choice| choice.value.clone());
            run.play.answer(now, &Reply::Text(value));
        }
        let mut frame = json!({"type": "clarify.resolved", "clarify_id": id, "accepted": true});
        if let Some(id) = request.get("request_id").filter(|id| !id.is_null()) {
            frame["request_id"] = id.clone();
        }
        self.broadcast(&frame);
    }
}
