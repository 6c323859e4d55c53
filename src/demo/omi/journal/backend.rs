//! What the journal asks of a host with a cloud, and what becomes of its answers.

use super::super::super::files::sha256_hex;
use super::super::Owed;
use super::{LEASE, Omi, is_over};
use serde_json::{Value, json};

impl Omi {
    /// Asks the host for something of its backend, and again until it is answered.
    pub(super) fn owe(&mut self, index: usize, key: &str, mut line: Value) {
        let conversation = &self.conversations[index];
        let fields = json!({
            "ownerId": self.owner,
            "conversationId": conversation.id,
            "conversationGeneration": conversation.generation,
            "attemptCount": 1,
            "deliveryGeneration": 1,
            "clientId": "kernel-journal",
            "requestId": format!("journal-{key}"),
        });
        for (name, value) in fields.as_object().into_iter().flatten() {
            if line.get(name).is_none() {
                line[name] = value.clone();
            }
        }
        line["payloadHash"] = json!(format!(
            "sha256:{}",
            sha256_hex(line.to_string().as_bytes())
        ));
        let again = Some(self.desk.now + LEASE);
        self.put(line.clone());
        let owed = Owed {
            line,
            again,
            attempts: 1,
        };
        self.owed.insert(key.to_owned(), owed);
    }

    /// A finished turn of a backend surface wants to be stored.
    pub(super) fn sync(&mut self, index: usize, turn: &Value) {
        let is_local = self.conversations[index].surface.is_local();
        let is_final = turn["status"].as_str().is_some_and(is_over);
        if is_local || !is_final || !self.readings.syncs || self.is_rust() {
            return;
        }
        let id = turn["turnId"].as_str().unwrap_or_default().to_owned();
        let line = json!({
            "type": "journal_backend_sync",
            "turnId": id,
            "clientMessageId": id,
            "journalRevision": turn["turnSeq"],
            "text": turn["content"],
            "sender": if turn["role"] == "user" { "human" } else { "ai" },
            "appId": null,
            "sessionId": null,
            "metadata": null,
            "messageSource": "desktop_chat",
        });
        self.owe(index, &format!("sync-{id}"), line);
    }

    /// Main chats are compared with the backend, once at a time.
    pub(in super::super) fn reconcile(&mut self, index: usize) {
        let conversation = &self.conversations[index];
        if conversation.surface.kind != "main_chat" || !self.readings.reconciles || self.is_rust() {
            return;
        }
        let key = format!("reconcile-{}", conversation.id);
        if self.owed.contains_key(&key) {
            return;
        }
        let line = json!({
            "type": "journal_backend_reconcile",
            "requestId": format!("journal-{key}"),
            "clientId": "kernel-journal",
            "ownerId": self.owner,
            "reconcileId": key,
            "conversationId": conversation.id,
            "surfaceKind": conversation.surface.kind,
            "externalRefKind": conversation.surface.ref_kind,
            "externalRefId": conversation.surface.ref_id,
            "targetKind": "messages",
            "targetId": null,
            "frontierRemoteId": null,
            "pageCursor": null,
            "pageLimit": 50,
        });
        self.put(line.clone());
        let owed = Owed {
            line,
            again: None,
            attempts: 1,
        };
        self.owed.insert(key, owed);
    }

    pub(in super::super) fn reconcile_all(&mut self) {
        for index in 0..self.conversations.len() {
            if self.conversations[index].owner == self.owner && self.owner.is_some() {
                self.reconcile(index);
            }
        }
    }

    /// Answers count only when they echo what was asked; others are a line on standard error.
    pub(in super::super) fn backend_answered(&mut self, answer: &Value) {
        let echoed = [
            "requestId",
            "clientId",
            "ownerId",
            "turnId",
            "operationId",
            "reconcileId",
            "conversationId",
            "conversationGeneration",
            "attemptCount",
            "deliveryGeneration",
            "payloadHash",
            "pageCursor",
        ];
        let found = self
            .owed
            .iter()
            .find(|(_, owed)| {
                let line = &owed.line;
                let is_same_kind = answer["type"]
                    .as_str()
                    .and_then(|kind| kind.strip_suffix("_result"))
                    == line["type"].as_str();
                is_same_kind
                    && echoed
                        .iter()
                        .all(|key| line.get(*key).is_none() || line.get(*key) == answer.get(*key))
            })
            .map(|(key, owed)| (key.clone(), owed.line.clone()));
        let Some((key, line)) = found else {
            return self.log("Ignored a journal answer that matches no claim");
        };
        let is_ok = answer.get("ok").and_then(Value::as_bool).unwrap_or(false);
        let code = answer
            .get("errorCode")
            .and_then(Value::as_str)
            .unwrap_or("");
        let is_retryable = matches!(
            code,
            "backend_sync_failed"
                | "backend_delete_failed"
                | "backend_sync_http_retryable"
                | "network_unavailable"
                | "timeout"
                | "connection_lost"
        );
        let attempts = self.owed.get(&key).map_or(0, |owed| owed.attempts);
        if !is_ok && is_retryable && attempts < 5 {
            let again = Some(self.desk.now + (1_000 << attempts.min(6)));
            if let Some(owed) = self.owed.get_mut(&key) {
                owed.again = again;
            }
            return;
        }
        self.owed.remove(&key);
        if let (true, Some(remote), Some(id)) = (
            is_ok,
            answer.get("remoteId").and_then(Value::as_str),
            line.get("turnId").and_then(Value::as_str),
        ) {
            for conversation in &mut self.conversations {
                for turn in &mut conversation.revisions {
                    if turn["turnId"] == id {
                        turn["remoteId"] = json!(remote);
                    }
                }
            }
        }
    }
}
