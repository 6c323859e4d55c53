//! How turns end: terminal states, repair of what was left open, clearing.

use super::{Omi, is_over};
use serde_json::{Value, json};

impl Omi {
    pub(super) fn terminalize(&mut self, index: usize, request: &Value) -> Result<(), String> {
        let how = request
            .get("terminalization")
            .cloned()
            .unwrap_or(Value::Null);
        let mut turn = self.known(index, &how["turnId"])?;
        let run = how["producingRunId"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        let accepts =
            match how["disposition"].as_str() {
                Some("accept") => true,
                Some("discard") if how.get("content").is_none() => false,
                Some("discard") => return Err("A discarded turn carries no content".into()),
                _ => return Err(
                    "Journal terminalization requires an explicit accept or discard disposition"
                        .into(),
                ),
            };
        let Some(ended) = self.ended.get(&run).cloned() else {
            return Err("Journal terminalization requires a terminal run".into());
        };
        if turn["producingRunId"]
            .as_str()
            .is_some_and(|bound| bound != run)
        {
            return Err("Journal turn belongs to another run".into());
        }
        turn["producingRunId"] = json!(run);
        turn["producingAttemptId"] = how["producingAttemptId"].clone();
        turn["status"] = json!(if ended["status"] == "succeeded" && accepts {
            "completed"
        } else {
            "failed"
        });
        turn["completedAtMs"] = json!(self.desk.wall());
        if accepts {
            turn["content"] = how
                .get("content")
                .cloned()
                .unwrap_or(ended["finalText"].clone());
        } else {
            turn["content"] = json!("");
        }
        for (from, to) in [
            ("replaceContentBlocks", "contentBlocks"),
            ("replaceResources", "resources"),
        ] {
            if let Some(value) = how.get(from) {
                turn[to] = value.clone();
            }
        }
        let turn = self.write(index, turn);
        let operation = if self.is_rust() {
            "terminalize"
        } else {
            "update"
        };
        self.done(
            index,
            request,
            operation,
            std::slice::from_ref(&turn),
            Value::Null,
        );
        self.tell(index, &[turn]);
        Ok(())
    }

    pub(super) fn repair(&mut self, index: usize, request: &Value) -> Result<(), String> {
        let ids = request
            .get("turnIds")
            .and_then(Value::as_array)
            .cloned()
            .unwrap_or_default();
        let mut turns = Vec::new();
        for id in &ids {
            let mut turn = self.known(index, id)?;
            let is_open = !turn["status"].as_str().is_some_and(is_over);
            let is_running = self
                .runs
                .iter()
                .any(|run| Some(run.id.as_str()) == turn["producingRunId"].as_str());
            if is_open && !is_running {
                turn["status"] = json!("failed");
                turn["completedAtMs"] = json!(self.desk.wall());
                turns.push(self.write(index, turn));
            }
        }
        self.done(index, request, "repair", &turns, Value::Null);
        self.tell(index, &turns);
        Ok(())
    }

    pub(super) fn clear(&mut self, index: usize, request: &Value) -> Result<(), String> {
        let expected = request.get("expectedGeneration").and_then(Value::as_u64);
        let is_needed = !self.is_rust() || expected.is_some();
        if is_needed && expected != Some(self.conversations[index].generation) {
            return Err("journal generation is stale".into());
        }
        let conversation = &mut self.conversations[index];
        let cleared = conversation.newest().len();
        conversation.generation += 1;
        conversation.base = conversation.seq;
        conversation.revisions.clear();
        let deletes = request
            .get("deleteBackend")
            .and_then(Value::as_bool)
            .unwrap_or(true);
        let is_backend = !conversation.surface.is_local();
        self.is_dirty = true;
        let mut extra = json!({"clearedCount": cleared});
        if deletes && is_backend && self.readings.syncs && !self.is_rust() {
            let operation = self.id("del");
            extra["backendDeleteOperationId"] = json!(operation);
            self.done(index, request, "clear", &[], extra);
            let line = json!({
                "type": "journal_backend_delete",
                "operationId": operation,
                "targetKind": "messages",
                "targetId": null,
            });
            self.owe(index, &operation, line);
            return Ok(());
        }
        self.done(index, request, "clear", &[], extra);
        Ok(())
    }
}
