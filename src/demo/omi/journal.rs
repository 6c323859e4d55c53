//! The journal of the Omi runtime: turns as revisions and exchanges; `ends` holds terminal states,
//! repair and clearing, `backend` what it asks of a host with a cloud,
//! `state` what it keeps on its disk.

mod backend;
mod ends;
mod state;

use super::super::engine::Desk;
use super::super::files::sha256_hex;
use super::super::scenario::Side;
use super::{Omi, Session};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// How long a claim on a backend row holds before it is asked for again.
pub(super) const LEASE: u64 = 30_000;
/// Turns in one answer.
const PAGE: u64 = 100;
/// Surfaces whose journal never leaves the machine.
const LOCAL: [&str; 3] = ["onboarding", "task_chat", "workstream"];
/// Where a turn may say it comes from.
const ORIGINS: [&str; 10] = [
    "typed_chat",
    "floating_chat",
    "realtime_voice",
    "agent_runtime",
    "notification",
    "tool_runtime",
    "task_chat",
    "workstream",
    "swift_backfill",
    "legacy",
];

/// The identity of a conversation for its host.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Surface {
    pub(super) kind: String,
    pub(super) ref_kind: String,
    pub(super) ref_id: String,
}

impl Surface {
    /// The surface a request names, all three parts of it.
    pub(super) fn of(request: &Value) -> Option<Self> {
        let text = |key: &str| {
            request
                .get(key)
                .and_then(Value::as_str)
                .filter(|text| !text.trim().is_empty())
                .map(str::to_owned)
        };
        Some(Self {
            kind: text("surfaceKind")?,
            ref_kind: text("externalRefKind")?,
            ref_id: text("externalRefId")?,
        })
    }

    fn is_local(&self) -> bool {
        LOCAL.contains(&self.kind.as_str())
    }
}

#[derive(Clone, Debug)]
pub(super) struct Conversation {
    pub(super) id: String,
    pub(super) surface: Surface,
    /// None for what was there before any owner.
    pub(super) owner: Option<String>,
    generation: u64,
    base: u64,
    seq: u64,
    revisions: Vec<Value>,
}

impl Conversation {
    fn new(id: String, surface: Surface, owner: Option<String>) -> Self {
        Self {
            id,
            surface,
            owner,
            generation: 1,
            base: 0,
            seq: 0,
            revisions: Vec::new(),
        }
    }

    /// The newest revision of a turn.
    pub(super) fn turn(&self, id: &str) -> Option<&Value> {
        self.revisions
            .iter()
            .rev()
            .find(|turn| turn["turnId"] == id)
    }

    /// Newest revisions in the order they are shown.
    pub(super) fn newest(&self) -> Vec<&Value> {
        let mut last: BTreeMap<&str, &Value> = BTreeMap::new();
        for turn in &self.revisions {
            last.insert(turn["turnId"].as_str().unwrap_or_default(), turn);
        }
        let mut newest: Vec<&Value> = last.into_values().collect();
        newest.sort_by_key(|turn| (turn["createdAtMs"].as_u64(), turn["turnSeq"].as_u64()));
        newest
    }

    pub(super) fn is_empty(&self) -> bool {
        self.revisions.is_empty()
    }
}

/// A turn before it is written.
fn projection(conversation: &Conversation, input: &Value, now: u64) -> Value {
    let id = input["turnId"].as_str().unwrap_or_default();
    let content = input.get("content").and_then(Value::as_str).unwrap_or("");
    let status = input
        .get("status")
        .and_then(Value::as_str)
        .unwrap_or("completed");
    let created = input
        .get("createdAtMs")
        .and_then(Value::as_u64)
        .unwrap_or(now);
    json!({
        "conversationId": conversation.id,
        "turnId": id,
        "producerId": input.get("producerId").cloned().unwrap_or(json!(format!("turn:{id}"))),
        "role": input.get("role").cloned().unwrap_or(json!("user")),
        "surfaceKind": conversation.surface.kind,
        "content": content,
        "origin": input.get("origin").cloned().unwrap_or(json!("typed_chat")),
        "status": status,
        "contentBlocks": input.get("contentBlocks").cloned().unwrap_or(json!([])),
        "resources": input.get("resources").cloned().unwrap_or(json!([])),
        "producingRunId": null,
        "producingAttemptId": null,
        "remoteId": null,
        "createdAtMs": created,
        "completedAtMs": if is_over(status) { json!(created) } else { Value::Null },
        "metadataJson": input.get("metadataJson").cloned().unwrap_or(json!("{}")),
    })
}

fn is_over(status: &str) -> bool {
    status == "completed" || status == "failed"
}

/// What is wrong with a turn a host wants written.
fn complaint(input: &Value) -> Option<String> {
    for field in ["delivery", "producingRunId", "producingAttemptId"] {
        if input.get(field).is_some() {
            return Some(format!("Journal {field} is kernel-owned"));
        }
    }
    let origin = input
        .get("origin")
        .and_then(Value::as_str)
        .unwrap_or("typed_chat");
    if !ORIGINS.contains(&origin) {
        return Some(format!("Unknown journal origin: {origin}"));
    }
    let metadata = input
        .get("metadataJson")
        .and_then(Value::as_str)
        .unwrap_or("{}");
    let is_object = serde_json::from_str::<Value>(metadata).is_ok_and(|value| value.is_object());
    if !is_object {
        return Some("Journal metadataJson must hold a JSON object".to_owned());
    }
    let blocks = input.get("contentBlocks").and_then(Value::as_array);
    for block in blocks.into_iter().flatten() {
        for key in ["id", "type"] {
            if block
                .get(key)
                .and_then(Value::as_str)
                .is_none_or(str::is_empty)
            {
                return Some(format!("Journal content block requires {key}"));
            }
        }
    }
    None
}

impl Omi {
    /// Sessions and turns that exist at the first start.
    pub(super) fn load_presets(&mut self) {
        let presets: Vec<_> = self.setup.library.presets(Side::Omi).cloned().collect();
        let words = self.setup.library.words();
        for preset in presets {
            if preset.kind == "automation" || preset.archived {
                continue;
            }
            let surface = if preset.kind == "default" {
                Surface {
                    kind: "main_chat".into(),
                    ref_kind: "chat".into(),
                    ref_id: "default".into(),
                }
            } else {
                Surface {
                    kind: "task_chat".into(),
                    ref_kind: "task".into(),
                    ref_id: format!("demo-{}", preset.key),
                }
            };
            let id = format!("conv_{}", Desk::stable(&preset.key, 12));
            let mut conversation = Conversation::new(id.clone(), surface, None);
            let mut updated = 0;
            for (index, laid_out) in preset.laid_out(&words).into_iter().enumerate() {
                updated = self.desk.wall().saturating_sub(laid_out.ago);
                let role = if laid_out.past.role == "user" {
                    "user"
                } else {
                    "assistant"
                };
                let input = json!({
                    "turnId": format!("turn_{}_{index}", Desk::stable(&preset.key, 6)),
                    "role": role,
                    "origin": "legacy",
                    "content": laid_out.text,
                    "createdAtMs": updated,
                });
                let turn = projection(&conversation, &input, updated);
                write(&mut conversation, turn, updated);
            }
            self.conversations.push(conversation);
            self.sessions.push(Session {
                id: format!("ses_{}", Desk::stable(&preset.key, 12)),
                conversation: id,
                title: preset.name.clone(),
                generation: 1,
                adapter: "acp".into(),
                model: Some("claude-sonnet-4-6".into()),
                directory: "/home/you/src/harbor".into(),
                updated,
            });
        }
        if self.is_rust() {
            self.sessions.clear();
        }
    }

    /// The conversation of a surface, made if need be.
    pub(super) fn conversation(&mut self, surface: &Surface) -> usize {
        let owner = self.owner.clone();
        let found = self.conversations.iter().position(|conversation| {
            conversation.surface == *surface
                && (conversation.owner.is_none() || conversation.owner == owner)
        });
        match found {
            Some(index) => {
                if self.conversations[index].owner.is_none() {
                    self.conversations[index].owner = owner;
                    self.is_dirty = true;
                }
                index
            }
            None => {
                let id = self.id("conv");
                self.conversations
                    .push(Conversation::new(id, surface.clone(), owner));
                self.is_dirty = true;
                self.conversations.len() - 1
            }
        }
    }

    pub(super) fn journal_request(&mut self, kind: &str, request: &Value) {
        let Some(surface) = Surface::of(request) else {
            return self.refuse(request, "invalid_request", "A surface is required");
        };
        let index = self.conversation(&surface);
        let done = match kind {
            "journal_list_turns" => self.list(index, request),
            "journal_record_turn" => self.record(index, request, "record"),
            "journal_record_exchange" => self.record(index, request, "record_exchange"),
            "journal_import_remote_turn" => self.import(index, request),
            "journal_update_turn" => self.update(index, request),
            "journal_terminalize_turn" => self.terminalize(index, request),
            "journal_repair_turns" => self.repair(index, request),
            "journal_clear_turns" => self.clear(index, request),
            _ => return self.log(&format!("Unknown message type: {kind}")),
        };
        if let Err(message) = done {
            self.refuse(request, "invalid_request", &message);
        }
    }

    fn done(
        &mut self,
        index: usize,
        request: &Value,
        operation: &str,
        turns: &[Value],
        extra: Value,
    ) {
        let conversation = &self.conversations[index];
        let mut line = json!({
            "type": "journal_operation_result",
            "operation": operation,
            "conversationId": conversation.id,
            "surfaceKind": conversation.surface.kind,
            "externalRefKind": conversation.surface.ref_kind,
            "externalRefId": conversation.surface.ref_id,
            "turns": turns,
            "clearedCount": 0,
            "highWaterTurnSeq": conversation.seq,
            "generationBaseTurnSeq": conversation.base,
            "conversationGeneration": conversation.generation,
        });
        if operation != "list" && operation != "clear" {
            if let Some(turn) = turns.first() {
                line["turn"] = turn.clone();
            }
        } else if self.is_rust() {
            line["turn"] = Value::Null;
        }
        for (key, value) in extra.as_object().into_iter().flatten() {
            line[key] = value.clone();
        }
        self.reply(request, line);
    }

    /// Writes a revision; what is written wakes the host up afterwards.
    fn write(&mut self, index: usize, turn: Value) -> Value {
        let wall = self.desk.wall();
        self.is_dirty = true;
        write(&mut self.conversations[index], turn, wall)
    }

    fn tell(&mut self, index: usize, turns: &[Value]) {
        for turn in turns {
            let conversation = &self.conversations[index];
            let line = json!({
                "type": "journal_turn_changed",
                "ownerId": self.owner,
                "conversationGeneration": conversation.generation,
                "generationBaseTurnSeq": conversation.base,
                "surfaceKind": conversation.surface.kind,
                "externalRefKind": conversation.surface.ref_kind,
                "externalRefId": conversation.surface.ref_id,
                "turn": turn,
            });
            self.put(line);
            self.sync(index, turn);
        }
    }

    fn list(&mut self, index: usize, request: &Value) -> Result<(), String> {
        let limit = match request.get("limit").filter(|value| !value.is_null()) {
            None => PAGE,
            Some(value) => match value.as_i64() {
                Some(limit) if limit > 0 => (limit as u64).min(PAGE),
                _ => return Err("Journal list limit must be positive".into()),
            },
        };
        let after = request
            .get("afterTurnSeq")
            .and_then(Value::as_u64)
            .unwrap_or(0);
        let is_rust = self.is_rust();
        let conversation = &self.conversations[index];
        let mut rows: Vec<&Value> = if is_rust {
            conversation.newest()
        } else {
            conversation.revisions.iter().collect()
        };
        rows.sort_by_key(|turn| turn["turnSeq"].as_u64());
        let page: Vec<Value> = rows
            .into_iter()
            .filter(|turn| turn["turnSeq"].as_u64().is_some_and(|seq| seq > after))
            .take(limit as usize)
            .cloned()
            .collect();
        self.done(index, request, "list", &page, Value::Null);
        self.reconcile(index);
        Ok(())
    }

    fn record(&mut self, index: usize, request: &Value, operation: &str) -> Result<(), String> {
        let inputs: Vec<Value> = if operation == "record" {
            vec![request.get("turn").cloned().unwrap_or(Value::Null)]
        } else {
            request
                .get("turns")
                .and_then(Value::as_array)
                .cloned()
                .unwrap_or_default()
        };
        let roles: Vec<&str> = inputs
            .iter()
            .map(|turn| turn["role"].as_str().unwrap_or(""))
            .collect();
        let is_exchange = matches!(
            roles.as_slice(),
            ["user"] | ["assistant"] | ["user", "assistant"]
        );
        if !is_exchange {
            return Err("Journal exchange takes a user turn and an assistant turn".into());
        }
        let mut turns = Vec::new();
        let mut fresh = Vec::new();
        for mut input in inputs {
            if let Some(complaint) = complaint(&input) {
                return Err(complaint);
            }
            if input["turnId"]
                .as_str()
                .is_none_or(|id| id.trim().is_empty())
            {
                input["turnId"] = json!(self.id("turn"));
            }
            let now = self.desk.wall();
            let turn = projection(&self.conversations[index], &input, now);
            let id = turn["turnId"].as_str().unwrap_or_default();
            match self.conversations[index].turn(id).cloned() {
                Some(known)
                    if known["content"] == turn["content"] && known["role"] == turn["role"] =>
                {
                    turns.push(known);
                }
                Some(_) => return Err(format!("Journal turn {id} exists with other content")),
                None => {
                    let written = self.write(index, turn);
                    fresh.push(written.clone());
                    turns.push(written);
                }
            }
        }
        let extra = if fresh.is_empty() {
            json!({"duplicate": true})
        } else {
            Value::Null
        };
        self.done(index, request, operation, &turns, extra);
        self.tell(index, &fresh);
        Ok(())
    }

    fn import(&mut self, index: usize, request: &Value) -> Result<(), String> {
        let mut input = request.get("turn").cloned().unwrap_or(Value::Null);
        let Some(remote) = input["remoteId"].as_str().map(str::to_owned) else {
            return Err("Remote journal turn requires remoteId".into());
        };
        input["turnId"] = json!(format!("remote_{remote}"));
        input["origin"] = json!("legacy");
        let now = self.desk.wall();
        let mut turn = projection(&self.conversations[index], &input, now);
        turn["remoteId"] = json!(remote);
        let turn = self.write(index, turn);
        self.done(
            index,
            request,
            "import_remote",
            std::slice::from_ref(&turn),
            Value::Null,
        );
        self.tell(index, &[turn]);
        Ok(())
    }

    fn known(&self, index: usize, id: &Value) -> Result<Value, String> {
        let id = id.as_str().unwrap_or_default();
        self.conversations[index]
            .turn(id)
            .cloned()
            .ok_or_else(|| format!("Journal turn not found: {id}"))
    }

    fn update(&mut self, index: usize, request: &Value) -> Result<(), String> {
        let update = request.get("update").cloned().unwrap_or(Value::Null);
        if let Some(complaint) = complaint(&update) {
            return Err(complaint);
        }
        let mut turn = self.known(index, &update["turnId"])?;
        let status = update.get("status").and_then(Value::as_str);
        if status.is_some_and(is_over) && !turn["producingRunId"].is_null() {
            return Err("Journal turn is bound to a run; terminalize it".into());
        }
        if turn["status"].as_str().is_some_and(is_over) && status.is_some_and(|s| !is_over(s)) {
            return Err("Journal turn status never goes back".into());
        }
        for key in [
            "content",
            "status",
            "contentBlocks",
            "resources",
            "metadataJson",
        ] {
            if let Some(value) = update.get(key) {
                turn[key] = value.clone();
            }
        }
        if status.is_some_and(is_over) {
            turn["completedAtMs"] = json!(self.desk.wall());
        }
        let turn = self.write(index, turn);
        self.done(
            index,
            request,
            "update",
            std::slice::from_ref(&turn),
            Value::Null,
        );
        self.tell(index, &[turn]);
        Ok(())
    }

    /// Binds a turn to the run that writes it: a revision nobody is told of.
    pub(super) fn bind(&mut self, conversation: &str, turn: &str, run: &str, attempt: &str) {
        let Some(index) = self.conversations.iter().position(|c| c.id == conversation) else {
            return;
        };
        if let Some(mut turn) = self.conversations[index].turn(turn).cloned() {
            turn["producingRunId"] = json!(run);
            turn["producingAttemptId"] = json!(attempt);
            self.write(index, turn);
        }
    }

    /// A turn the runtime writes by itself.
    pub(super) fn append(&mut self, index: usize, content: &str, origin: &str) {
        self.append_at(index, content, origin, self.desk.wall());
    }

    /// The same, said at another time.
    pub(super) fn append_at(&mut self, index: usize, content: &str, origin: &str, at: u64) {
        let input = json!({
            "turnId": self.id("turn"),
            "role": "assistant",
            "origin": origin,
            "content": content,
            "createdAtMs": at,
        });
        let now = self.desk.wall();
        let turn = projection(&self.conversations[index], &input, now);
        let turn = self.write(index, turn);
        self.tell(index, &[turn]);
    }
}

/// Adds a revision with the next number.
fn write(conversation: &mut Conversation, mut turn: Value, wall: u64) -> Value {
    conversation.seq += 1;
    turn["turnSeq"] = json!(conversation.seq);
    turn["updatedAtMs"] = json!(wall);
    let payload = format!("{}{}{}", turn["role"], turn["content"], turn["status"]);
    turn["payloadHash"] = json!(format!("sha256:{}", sha256_hex(payload.as_bytes())));
    conversation.revisions.push(turn.clone());
    turn
}
