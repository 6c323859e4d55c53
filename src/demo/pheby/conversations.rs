//! Conversations of the Pheby server: the list, the snapshot with pages of history, and the
//! changes that everyone hears of.

use super::super::engine::{ConnectionId, Desk, civil, iso};
use super::super::files::File;
use super::super::scenario::{Side, TodoItem};
use super::Pheby;
use super::runs::Run;
use serde_json::{Value, json};

/// The name of a conversation that has none yet.
pub(super) const UNNAMED: &str = "New chat";

#[derive(Debug)]
pub(super) struct Conversation {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) session_id: Option<String>,
    pub(super) last_active: Option<u64>,
    pub(super) messages: Vec<Stored>,
    pub(super) run: Option<Run>,
    /// A run that a restart cut.
    pub(super) lost: Option<super::super::agent::Play>,
    /// A message whose run has not been accepted yet.
    pub(super) pending: Option<super::runs::Sent>,
    /// Last event of each tool of the latest run.
    pub(super) tools: Vec<Value>,
    pub(super) model: Option<(String, String)>,
    /// The effort of this conversation; the inner none is the provider's own.
    pub(super) effort: Option<Option<String>>,
    pub(super) is_yolo: bool,
    pub(super) approved: Vec<String>,
    pub(super) todo: Vec<TodoItem>,
}

/// A message of the transcript.
#[derive(Clone, Debug)]
pub(super) struct Stored {
    pub(super) id: String,
    pub(super) role: &'static str,
    pub(super) text: String,
    pub(super) wall: u64,
}

impl Conversation {
    pub(super) fn new(id: String, name: &str) -> Self {
        Self {
            id,
            name: name.to_owned(),
            session_id: None,
            last_active: None,
            messages: Vec::new(),
            run: None,
            lost: None,
            pending: None,
            tools: Vec::new(),
            model: None,
            effort: None,
            is_yolo: false,
            approved: Vec::new(),
            todo: Vec::new(),
        }
    }

    /// Adds a message to the transcript.
    pub(super) fn store(&mut self, id: String, role: &'static str, text: &str, wall: u64) {
        self.messages.push(Stored {
            id,
            role,
            text: text.to_owned(),
            wall,
        });
        self.last_active = Some(self.last_active.unwrap_or(0).max(wall));
    }
}

/// The id Hermes gives a session started at that moment.
fn session_id(wall: u64, hex: &str) -> String {
    let (year, month, day, hour, minute, second) = civil(wall);
    format!("{year:04}{month:02}{day:02}_{hour:02}{minute:02}{second:02}_{hex}")
}

impl Pheby {
    /// The conversations the server starts with.
    pub(super) fn load_presets(&mut self) {
        let presets: Vec<_> = self.setup.library.presets(Side::Pheby).cloned().collect();
        let words = self.setup.library.words();
        for preset in presets {
            if preset.kind == "automation" || preset.archived {
                continue;
            }
            let id = Desk::stable(&preset.key, 32);
            let mut conversation = Conversation::new(id.clone(), &preset.name);
            for laid_out in preset.laid_out(&words) {
                // The transcript knows two roles; what the gateway says is not in it.
                let role = match laid_out.past.role.as_str() {
                    "user" => "user",
                    "assistant" => "assistant",
                    _ => continue,
                };
                let wall = self.desk.wall().saturating_sub(laid_out.ago);
                let message = format!("m{}", conversation.messages.len() + 1);
                conversation.store(message.clone(), role, &laid_out.text, wall);
                for name in &laid_out.past.files {
                    if let Some(file) = File::sample(name) {
                        let direction = if role == "user" {
                            "inbound"
                        } else {
                            "outbound"
                        };
                        let known = Desk::stable(&format!("{message}/{name}/{id}"), 32);
                        let hangs_on = Some(message.clone());
                        self.register(known, &id, file, direction, hangs_on, wall);
                    }
                }
            }
            let hex = self.desk.hex(8);
            conversation.session_id = conversation.last_active.map(|wall| session_id(wall, &hex));
            self.conversations.push(conversation);
        }
    }

    pub(super) fn conversation_request(
        &mut self,
        connection: ConnectionId,
        kind: &str,
        request: &Value,
    ) {
        match kind {
            "conversation.list" => self.list(connection, request),
            "conversation.create" => self.create(connection, request),
            "conversation.open" => self.open(connection, request),
            "conversation.rename" => self.rename(connection, request),
            "conversation.delete" => self.delete(connection, request),
            _ => self.unknown_type(connection, kind, request),
        }
    }

    fn list(&mut self, connection: ConnectionId, request: &Value) {
        let rows: Vec<Value> = self
            .conversations
            .iter()
            .map(|c| {
                json!({
                    "conversation_id": c.id,
                    "name": c.name,
                    "session_id": c.session_id,
                    "last_active": c.last_active.map(iso),
                    "source": "hermes",
                })
            })
            .collect();
        let frame = json!({"type": "conversation.snapshot", "conversations": rows});
        self.reply(connection, request, frame);
    }

    fn create(&mut self, connection: ConnectionId, request: &Value) {
        let name = match request.get("name") {
            None | Some(Value::Null) => UNNAMED.to_owned(),
            Some(Value::String(name)) if name.trim().is_empty() => UNNAMED.to_owned(),
            Some(Value::String(name)) => name.trim().to_owned(),
            Some(_) => {
                return self.error(connection, request, "bad_request", "name must be a string");
            }
        };
        let id = self.desk.hex(32);
        self.conversations
            .push(Conversation::new(id.clone(), &name));
        let created = json!({"type": "conversation.created", "conversation_id": id, "name": name});
        self.reply(connection, request, created);
        self.broadcast(
            &json!({"type": "conversation.updated", "conversation_id": id, "name": name}),
        );
    }

    fn open(&mut self, connection: ConnectionId, request: &Value) {
        let Some(index) = self.named(connection, request) else {
            return;
        };
        let (max, usual) = self.readings.page;
        let limit = match request.get("limit") {
            None | Some(Value::Null) => usual,
            Some(value) => match value.as_u64() {
                Some(limit) if limit > 0 => (limit as usize).min(max),
                _ => {
                    let message = "limit must be a positive integer";
                    return self.error(connection, request, "bad_request", message);
                }
            },
        };
        let conversation = &self.conversations[index];
        let end = match request.get("before_message_id").filter(|v| !v.is_null()) {
            None => conversation.messages.len(),
            Some(before) => {
                let found = conversation
                    .messages
                    .iter()
                    .position(|m| Some(m.id.as_str()) == before.as_str());
                match found {
                    Some(position) => position,
                    None if self.readings.forgives_unknown_cursor => conversation.messages.len(),
                    None => {
                        let message = "Unknown before_message_id";
                        return self.error(connection, request, "bad_request", message);
                    }
                }
            }
        };
        let start = end.saturating_sub(limit);
        let messages: Vec<Value> = conversation.messages[start..end]
            .iter()
            .map(|m| {
                let ts = (!self.readings.without_times).then(|| iso(m.wall));
                json!({"message_id": m.id, "role": m.role, "text": m.text, "ts": ts})
            })
            .collect();
        let tools = if self.readings.forgets_tools && conversation.run.is_none() {
            Vec::new()
        } else {
            conversation.tools.clone()
        };
        let (run, approvals, clarifications) = match &conversation.run {
            Some(run) => run.snapshot(&conversation.id),
            None => (Value::Null, Vec::new(), Vec::new()),
        };
        let frame = json!({
            "type": "conversation.history",
            "conversation_id": conversation.id,
            "messages": messages,
            "has_more": start > 0,
            "attachments": self.unexpired(&conversation.id),
            "run": run,
            "tools": tools,
            "approvals": approvals,
            "clarifications": clarifications,
        });
        self.reply(connection, request, frame);
    }

    fn rename(&mut self, connection: ConnectionId, request: &Value) {
        let Some(index) = self.named(connection, request) else {
            return;
        };
        let name = request.get("name").and_then(Value::as_str).unwrap_or("");
        if name.trim().is_empty() {
            return self.error(connection, request, "bad_request", "A name is needed");
        }
        let name = name.trim().to_owned();
        self.conversations[index].name = name.clone();
        let id = self.conversations[index].id.clone();
        let frame = json!({"type": "conversation.renamed", "conversation_id": id, "name": name});
        self.reply(connection, request, frame.clone());
        self.broadcast(&frame);
    }

    fn delete(&mut self, connection: ConnectionId, request: &Value) {
        let Some(index) = self.named(connection, request) else {
            return;
        };
        let id = self.conversations.remove(index).id;
        let frame = json!({"type": "conversation.deleted", "conversation_id": id});
        self.reply(connection, request, frame.clone());
        if !self.readings.deletes_silently {
            self.broadcast_but(Some(connection), &frame);
        }
    }

    /// Gives a conversation another name and tells everyone.
    pub(super) fn retitle(&mut self, index: usize, name: &str) {
        self.conversations[index].name = name.to_owned();
        let frame = json!({
            "type": "conversation.updated",
            "conversation_id": self.conversations[index].id,
            "name": name,
        });
        self.broadcast(&frame);
    }

    /// A session exists from the first message on.
    pub(super) fn ensure_session(&mut self, index: usize) {
        if self.conversations[index].session_id.is_none() {
            let hex = self.desk.hex(8);
            let id = session_id(self.desk.wall(), &hex);
            self.conversations[index].session_id = Some(id);
        }
    }
}
