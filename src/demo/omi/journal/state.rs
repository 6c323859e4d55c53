//! What the runtime keeps on its disk: conversations with their revisions, sessions, ended
//! runs, and what was answered in the queue.

use super::super::Session;
use super::{Conversation, Omi, Surface};
use serde_json::{Value, json};

impl Omi {
    /// What stands on the disk.
    pub(in super::super) fn state(&self) -> Value {
        let conversations: Vec<Value> = self
            .conversations
            .iter()
            .map(|c| {
                json!({
                    "id": c.id, "kind": c.surface.kind, "refKind": c.surface.ref_kind,
                    "refId": c.surface.ref_id, "owner": c.owner, "generation": c.generation,
                    "base": c.base, "seq": c.seq, "revisions": c.revisions,
                })
            })
            .collect();
        let sessions: Vec<Value> = self
            .sessions
            .iter()
            .map(|s| {
                json!({
                    "id": s.id, "conversation": s.conversation, "title": s.title,
                    "generation": s.generation, "adapter": s.adapter, "model": s.model,
                    "directory": s.directory, "updated": s.updated,
                })
            })
            .collect();
        json!({"version": 1, "conversations": conversations, "sessions": sessions, "ended": self.ended,
            "answered": self.answered})
    }

    /// Takes back what stood on the disk. False when it cannot be read.
    pub fn restore(&mut self, state: &Value) -> bool {
        let text = |value: &Value, key: &str| value[key].as_str().map(str::to_owned);
        let conversations: Option<Vec<Conversation>> = state["conversations"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|c| {
                Some(Conversation {
                    id: text(c, "id")?,
                    surface: Surface {
                        kind: text(c, "kind")?,
                        ref_kind: text(c, "refKind")?,
                        ref_id: text(c, "refId")?,
                    },
                    owner: text(c, "owner"),
                    generation: c["generation"].as_u64()?,
                    base: c["base"].as_u64()?,
                    seq: c["seq"].as_u64()?,
                    revisions: c["revisions"].as_array()?.clone(),
                })
            })
            .collect();
        let sessions: Option<Vec<Session>> = state["sessions"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|s| {
                Some(Session {
                    id: text(s, "id")?,
                    conversation: text(s, "conversation")?,
                    title: text(s, "title")?,
                    generation: s["generation"].as_u64()?,
                    adapter: text(s, "adapter")?,
                    model: text(s, "model"),
                    directory: text(s, "directory")?,
                    updated: s["updated"].as_u64()?,
                })
            })
            .collect();
        match (state["version"].as_u64(), conversations, sessions) {
            (Some(1), Some(conversations), Some(sessions)) => {
                self.conversations = conversations;
                self.sessions = sessions;
                let kept = |name: &str| {
                    let kept = state[name].as_object().into_iter().flatten();
                    kept.map(|(key, value)| (key.clone(), value.clone()))
                        .collect()
                };
                self.ended = kept("ended");
                self.answered = kept("answered");
                true
            }
            _ => false,
        }
    }
}
