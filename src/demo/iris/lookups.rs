//! Looking back in the Iris gateway: history pages, search, deletion of messages.

use super::{Address, Asker, Iris};
use serde_json::{Value, json};

/// A message that ended.
#[derive(Clone, Debug)]
pub(super) struct Logged {
    pub(super) address: Address,
    pub(super) id: String,
    pub(super) role: String,
    pub(super) text: String,
    pub(super) reasoning: Option<String>,
    pub(super) model: Option<String>,
    pub(super) tokens: Option<u64>,
    pub(super) runtime: Option<Value>,
    pub(super) ts: u64,
    pub(super) media: Vec<Value>,
}

impl Logged {
    pub(super) fn new(address: Address, id: String, role: &str, text: &str, ts: u64) -> Self {
        Self {
            address,
            id,
            role: role.to_owned(),
            text: text.to_owned(),
            reasoning: None,
            model: None,
            tokens: None,
            runtime: None,
            ts,
            media: Vec::new(),
        }
    }

    /// As the payload of `message` or an entry of `history`.
    pub(super) fn payload(&self) -> Value {
        let mut payload = json!({
            "message_id": self.id,
            "role": self.role,
            "text": self.text,
            "ts": self.ts,
        });
        if let Some(reasoning) = &self.reasoning {
            payload["reasoning"] = json!(reasoning);
        }
        if let Some(model) = &self.model {
            payload["model"] = json!(model);
        }
        if let Some(tokens) = &self.tokens {
            payload["tokens"] = json!(tokens);
        }
        if let Some(runtime) = &self.runtime {
            payload["runtime"] = runtime.clone();
        }
        if !self.media.is_empty() {
            payload["media"] = json!(self.media);
        }
        payload
    }
}

impl Iris {
    pub(super) fn history(&mut self, asker: &Asker, request: &Value, payload: &Value) {
        let Some(address) = self.address(request) else {
            return self.error(asker, "not_found", "No such channel");
        };
        let limit = payload.get("limit").and_then(Value::as_u64).unwrap_or(50);
        let limit = limit.clamp(1, 200) as usize;
        let all_roles = self.readings.history_has_all_roles;
        let lane: Vec<&Logged> = self
            .log
            .iter()
            .filter(|logged| logged.address == address)
            .filter(|logged| all_roles || logged.role != "system")
            .collect();
        let end = match payload.get("before_message_id").and_then(Value::as_str) {
            None => lane.len(),
            Some(before) => match lane.iter().position(|logged| logged.id == before) {
                Some(position) => position,
                None if self.readings.forgives_unknown_cursor => lane.len(),
                None => return self.error(asker, "not_found", "No such message"),
            },
        };
        let start = end.saturating_sub(limit);
        let mut messages: Vec<Value> = lane[start..end]
            .iter()
            .map(|logged| {
                let mut payload = logged.payload();
                if !all_roles && logged.role == "cron" {
                    payload["role"] = json!("assistant");
                }
                payload
            })
            .collect();
        let oldest = messages
            .first()
            .map(|message| message["message_id"].clone());
        if self.readings.history_newest_first {
            messages.reverse();
        }
        let mut page = json!({"messages": messages, "has_more": start > 0});
        if let Some(oldest) = oldest {
            page["oldest_message_id"] = oldest;
        }
        self.answer(asker, Some(&address), "history", page);
    }

    pub(super) fn search(&mut self, asker: &Asker, request: &Value, payload: &Value) {
        let text = |key: &str| payload.get(key).and_then(Value::as_str);
        let query = text("query").unwrap_or("").to_owned();
        let scope = text("scope").unwrap_or("all").to_owned();
        let limit = payload.get("limit").and_then(Value::as_u64).unwrap_or(20);
        let within = if scope == "chat" {
            // The chat may be named in the payload or by the envelope.
            let named = payload.get("chat_id").or(payload.get("thread_id"));
            let found = self.address(if named.is_some() { payload } else { request });
            match found {
                Some(address) => Some(address),
                None => return self.error(asker, "not_found", "No such channel"),
            }
        } else {
            None
        };
        let needle = query.to_lowercase();
        let hits: Vec<Value> = self
            .log
            .iter()
            .rev()
            .filter(|logged| within.as_ref().is_none_or(|a| *a == logged.address))
            .filter(|logged| !needle.is_empty() && logged.text.to_lowercase().contains(&needle))
            .take(limit.clamp(1, 200) as usize)
            .map(|logged| {
                json!({
                    "message_id": logged.id,
                    "chat_id": logged.address.chat,
                    "thread_id": logged.address.thread,
                    "role": logged.role,
                    "snippet": snippet(&logged.text, &needle),
                    "ts": logged.ts,
                })
            })
            .collect();
        let results = json!({"query": query, "scope": scope, "hits": hits});
        self.answer(asker, None, "search.results", results);
    }

    pub(super) fn message_delete(&mut self, asker: &Asker, request: &Value, payload: &Value) {
        let Some(address) = self.address(request) else {
            return self.error(asker, "not_found", "No such channel");
        };
        let ids: Vec<String> = payload
            .get("message_ids")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(|id| id.as_str().map(str::to_owned))
            .collect();
        self.log.retain(|logged| !ids.contains(&logged.id));
        self.outbox.retain(|parked| {
            parked.frame["payload"]["message_id"]
                .as_str()
                .is_none_or(|id| !ids.iter().any(|gone| gone == id))
        });
        let deleted = json!({"message_ids": ids});
        self.publish(Some(&address), "message.deleted", deleted, Some(asker));
    }
}

/// The words around the first place a query stands at.
fn snippet(text: &str, needle: &str) -> String {
    let characters: Vec<char> = text.chars().collect();
    let lower: Vec<char> = text.chars().flat_map(|c| c.to_lowercase().next()).collect();
    let sought: Vec<char> = needle.chars().collect();
    let at = lower
        .windows(sought.len().max(1))
        .position(|window| window == sought.as_slice())
        .unwrap_or(0);
    let from = at.saturating_sub(40);
    let to = (at + sought.len() + 60).min(characters.len());
    let mut snippet: String = characters[from.min(to)..to]
        .iter()
        .map(|c| if c.is_whitespace() { ' ' } else { *c })
        .collect();
    if from > 0 {
        snippet.insert(0, '…');
    }
    if to < characters.len() {
        snippet.push('…');
    }
    snippet
}

#[cfg(test)]
mod tests {
    use super::snippet;

    #[test]
    fn a_snippet_shows_the_hit_with_what_stands_around_it() {
        let text = format!("{}Needle\n{}", "x ".repeat(100), "y".repeat(100));
        let snippet = snippet(&text, "needle");
        assert!(snippet.starts_with('…') && snippet.ends_with('…'));
        assert!(snippet.contains("Needle yyy"));
    }
}
