//! Models, reasoning effort and auto-approve of the Pheby server, for a conversation or for all.

use super::super::engine::ConnectionId;
use super::Pheby;
use serde_json::{Value, json};

/// The efforts that may be set.
const EFFORTS: [&str; 8] = [
    "none", "minimal", "low", "medium", "high", "xhigh", "max", "ultra",
];

/// What the server offers and what holds for all conversations.
#[derive(Debug)]
pub(super) struct Models {
    /// Slug, name, models that are listed, and how many there are in all.
    providers: Vec<(&'static str, &'static str, Vec<&'static str>, u64)>,
    provider: String,
    model: String,
    effort: Option<String>,
}

impl Models {
    pub(super) fn new() -> Self {
        Self {
            providers: vec![
                (
                    "openrouter",
                    "OpenRouter",
                    vec![
                        "z-ai/glm-5.3-flash",
                        "anthropic/claude-sonnet-4",
                        "openai/gpt-5.4",
                        "openai/gpt-5.4-mini",
                        "google/gemini-3-pro",
                        "deepseek/deepseek-v4",
                        "qwen/qwen3-coder-480b",
                        "mistralai/devstral-2",
                    ],
                    42,
                ),
                (
                    "anthropic",
                    "Anthropic",
                    vec!["claude-sonnet-4", "claude-opus-4.5", "claude-haiku-4.5"],
                    3,
                ),
                (
                    "custom:workstation",
                    "Workstation (llama.cpp)",
                    vec!["qwen3-coder-30b-q5", "gpt-oss-20b"],
                    2,
                ),
                ("nous", "Nous Portal", vec![], 0),
            ],
            provider: "openrouter".into(),
            model: "z-ai/glm-5.3-flash".into(),
            effort: None,
        }
    }

    /// Provider, model and effort for all conversations.
    pub(super) fn chosen(&self) -> (&str, &str, Option<&str>) {
        (&self.provider, &self.model, self.effort.as_deref())
    }

    pub(super) fn choose(&mut self, provider: &str, model: &str, effort: Option<String>) {
        self.provider = provider.to_owned();
        self.model = model.to_owned();
        self.effort = effort;
    }

    fn provider_of(&self, model: &str) -> Option<&'static str> {
        self.providers
            .iter()
            .find(|(_, _, models, _)| models.contains(&model))
            .map(|(slug, ..)| *slug)
    }
}

impl Pheby {
    pub(super) fn settings_request(
        &mut self,
        connection: ConnectionId,
        kind: &str,
        request: &Value,
    ) {
        if !matches!(
            kind,
            "models.list"
                | "models.current"
                | "model.set"
                | "reasoning.current"
                | "reasoning.set"
                | "yolo.current"
                | "yolo.set"
        ) {
            return self.unknown_type(connection, kind, request);
        }
        // A conversation is optional except for auto-approve; one that is named must exist.
        let names = request
            .get("conversation_id")
            .is_some_and(|id| !id.is_null());
        let conversation = if names || kind.starts_with("yolo") {
            match self.named(connection, request) {
                Some(index) => Some(index),
                None => return,
            }
        } else {
            None
        };
        match kind {
            "models.list" => self.list_models(connection, conversation, request),
            "models.current" => self.current_model(connection, conversation, request),
            "model.set" => self.set_model(connection, conversation, request),
            "reasoning.current" => self.current_effort(connection, conversation, request),
            "reasoning.set" => self.set_effort(connection, conversation, request),
            _ => self.yolo(connection, kind, conversation, request),
        }
    }

    fn model_of(&self, conversation: Option<usize>) -> (String, String) {
        conversation
            .and_then(|index| self.conversations[index].model.clone())
            .unwrap_or_else(|| (self.models.provider.clone(), self.models.model.clone()))
    }

    /// Adds the scope, and the conversation where there is one.
    fn scoped(&self, conversation: Option<usize>, mut frame: Value) -> Value {
        frame["scope"] = json!("global");
        if let Some(index) = conversation {
            frame["scope"] = json!("conversation");
            frame["conversation_id"] = json!(self.conversations[index].id);
        }
        frame
    }

    fn list_models(
        &mut self,
        connection: ConnectionId,
        conversation: Option<usize>,
        request: &Value,
    ) {
        let (provider, model) = self.model_of(conversation);
        let providers: Vec<Value> = self
            .models
            .providers
            .iter()
            .map(|(slug, name, models, total)| {
                json!({
                    "slug": slug,
                    "name": name,
                    "is_current": *slug == provider,
                    "models": models,
                    "total_models": total,
                })
            })
            .collect();
        let frame = json!({
            "type": "models.snapshot",
            "providers": providers,
            "current_model": model,
            "current_provider": provider,
            "supported_reasoning_efforts": &EFFORTS[1..],
            "ts": self.desk.timestamp(),
        });
        let frame = self.scoped(conversation, frame);
        self.reply(connection, request, frame);
    }

    fn current_model(
        &mut self,
        connection: ConnectionId,
        conversation: Option<usize>,
        request: &Value,
    ) {
        let (provider, model) = self.model_of(conversation);
        let frame = json!({
            "type": "model.current",
            "model": model,
            "provider": provider,
            "ts": self.desk.timestamp(),
        });
        let frame = self.scoped(conversation, frame);
        self.reply(connection, request, frame);
    }

    fn set_model(
        &mut self,
        connection: ConnectionId,
        conversation: Option<usize>,
        request: &Value,
    ) {
        let model = request.get("model").and_then(Value::as_str).unwrap_or("");
        if model.is_empty() {
            return self.error(connection, request, "bad_request", "model is needed");
        }
        let provider = match request.get("provider").and_then(Value::as_str) {
            Some(slug) => self
                .models
                .providers
                .iter()
                .find(|(known, ..)| *known == slug)
                .map(|(slug, ..)| *slug),
            None => self.models.provider_of(model),
        };
        let Some(provider) = provider else {
            let message = "Unknown model or provider";
            return self.error(connection, request, "bad_request", message);
        };
        match conversation {
            Some(index) => {
                self.conversations[index].model = Some((provider.to_owned(), model.to_owned()));
            }
            None => {
                self.models.provider = provider.to_owned();
                self.models.model = model.to_owned();
            }
        }
        let frame = json!({"type": "model.changed", "model": model, "provider": provider});
        let frame = self.scoped(conversation, frame);
        self.reply(connection, request, frame.clone());
        self.broadcast(&frame);
    }

    fn current_effort(
        &mut self,
        connection: ConnectionId,
        conversation: Option<usize>,
        request: &Value,
    ) {
        let effort = conversation
            .and_then(|index| self.conversations[index].effort.clone())
            .unwrap_or_else(|| self.models.effort.clone());
        let frame = json!({
            "type": "reasoning.snapshot",
            "effort": effort,
            "enabled": effort.as_deref() != Some("none"),
            "supported_efforts": EFFORTS,
            "ts": self.desk.timestamp(),
        });
        let frame = self.scoped(conversation, frame);
        self.reply(connection, request, frame);
    }

    fn set_effort(
        &mut self,
        connection: ConnectionId,
        conversation: Option<usize>,
        request: &Value,
    ) {
        let effort = request.get("effort").and_then(Value::as_str).unwrap_or("");
        if !EFFORTS.contains(&effort) {
            return self.error(connection, request, "bad_request", "Unknown effort");
        }
        match conversation {
            Some(index) => self.conversations[index].effort = Some(Some(effort.to_owned())),
            None => self.models.effort = Some(effort.to_owned()),
        }
        let frame = json!({"type": "reasoning.changed", "effort": effort});
        let frame = self.scoped(conversation, frame);
        self.reply(connection, request, frame.clone());
        if !self.readings.reasons_silently {
            self.broadcast_but(Some(connection), &frame);
        }
    }

    fn yolo(
        &mut self,
        connection: ConnectionId,
        kind: &str,
        conversation: Option<usize>,
        request: &Value,
    ) {
        let Some(index) = conversation else { return };
        if kind == "yolo.set" {
            let Some(on) = request.get("enabled").and_then(Value::as_bool) else {
                let message = "enabled must be a boolean";
                return self.error(connection, request, "bad_request", message);
            };
            self.conversations[index].is_yolo = on;
            self.follow_yolo(index);
        }
        let enabled = self.conversations[index].is_yolo;
        let kind = if kind == "yolo.set" {
            "yolo.changed"
        } else {
            "yolo.snapshot"
        };
        let frame = self.scoped(conversation, json!({"type": kind, "enabled": enabled}));
        self.reply(connection, request, frame.clone());
        if kind == "yolo.changed" {
            self.broadcast(&frame);
        }
    }
}
