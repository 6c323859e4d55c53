//! With what, and how, a conversation is carried out: adapter, model and folder (pinned in the
//! runtime), mode and effort (kept here and said with every query).

use super::{Asked, Omi, number, word};
use crate::domain::{
    CommandId, ConversationId, Effort, ModelCatalog, ModelChoice, ModelsEvent, Moment, Profile,
    RefusalCode, Scope, Severity, SyncEvent, Topic,
};
use crate::protocol::decode::notice;
use crate::text::SafeText;
use serde_json::{Map, Value, json};

/// How hard a model thinks, in the runtime's words.
const EFFORTS: [&str; 2] = ["adaptive", "fast"];
/// The fact that holds the models that were set before, newest first.
const MODELS: &str = "models";
/// So many of them.
const MODELS_KEPT: usize = 8;

/// With what a session is carried out, as the runtime said it.
#[derive(Clone, Debug)]
pub(super) struct Pinned {
    pub(super) generation: u64,
    pub(super) adapter: String,
    pub(super) model: Option<String>,
    pub(super) directory: String,
}

/// The models that were set before, from what was kept.
pub(super) fn recent_models(facts: &std::collections::BTreeMap<String, String>) -> Vec<String> {
    facts
        .get(MODELS)
        .and_then(|kept| serde_json::from_str(kept).ok())
        .unwrap_or_default()
}

pub(super) fn pinned(profile: &Map<String, Value>) -> Pinned {
    Pinned {
        generation: number(profile, "profileGeneration").unwrap_or(1),
        adapter: word(profile, "adapterId").to_owned(),
        model: profile
            .get("modelProfile")
            .and_then(Value::as_str)
            .map(str::to_owned),
        directory: word(profile, "workingDirectory").to_owned(),
    }
}

impl Omi {
    /// With what a new session begins. None when no adapter is registered: then the runtime
    /// decides, and says what is missing.
    pub(super) fn creation_profile(&self) -> Option<Value> {
        let adapters = &self.session.adapters;
        let adapter = self
            .endpoint
            .adapter
            .as_ref()
            .filter(|name| adapters.contains(name))
            .or_else(|| adapters.first())?;
        Some(json!({
            "adapterId": adapter,
            "modelProfile": self.endpoint.model,
            "workingDirectory": self.directory,
        }))
    }

    /// Profile, mode and effort of a conversation, as they are.
    pub(super) fn say_settings(&mut self, id: &ConversationId) {
        let Some(chat) = self.chats.all.get(id) else {
            return;
        };
        let (acts, level) = (chat.acts, chat.effort.clone());
        let profile = chat.profile.as_ref().map(|pinned| Profile {
            adapter: SafeText::label(&pinned.adapter),
            model: pinned.model.as_deref().map(SafeText::label),
            directory: SafeText::label(&pinned.directory),
            adapters: labels(&self.session.adapters),
            models: labels(&self.chats.models),
        });
        if let Some(profile) = profile {
            self.say(Topic::Models(ModelsEvent::ProfileChanged {
                conversation: id.clone(),
                profile,
            }));
        }
        self.say(Topic::Models(ModelsEvent::AutoApproveChanged {
            conversation: id.clone(),
            on: acts,
        }));
        self.say(Topic::Models(ModelsEvent::EffortChanged {
            effort: Effort {
                level,
                enabled: true,
                supported: EFFORTS.map(str::to_owned).to_vec(),
            },
            scope: Scope::Conversation(id.clone()),
        }));
    }

    pub(super) fn set_mode(&mut self, id: CommandId, conversation: &ConversationId, on: bool) {
        let Some(chat) = self.chats.all.get_mut(conversation) else {
            return self.unknown(id);
        };
        chat.acts = on;
        self.say(Topic::Models(ModelsEvent::AutoApproveChanged {
            conversation: conversation.clone(),
            on,
        }));
        self.keep(conversation);
        self.done(id);
    }

    pub(super) fn set_effort(&mut self, id: CommandId, level: String, scope: Scope) {
        let chosen: Vec<ConversationId> = match scope {
            Scope::Conversation(conversation) => vec![conversation],
            Scope::Account => self.chats.all.keys().cloned().collect(),
        };
        for conversation in chosen {
            if let Some(chat) = self.chats.all.get_mut(&conversation) {
                chat.effort = Some(level.clone());
                self.keep(&conversation);
                self.say_settings(&conversation);
            }
        }
        self.done(id);
    }

    pub(super) fn load_catalog(&mut self, id: CommandId) {
        self.say(Topic::Models(ModelsEvent::CatalogLoaded {
            conversation: None,
            catalog: Box::new(ModelCatalog {
                efforts: EFFORTS.map(str::to_owned).to_vec(),
                ..ModelCatalog::default()
            }),
        }));
        self.done(id);
    }

    pub(super) fn set_model(
        &mut self,
        now: Moment,
        id: CommandId,
        choice: ModelChoice,
        scope: Scope,
    ) {
        match scope {
            Scope::Conversation(conversation) => {
                self.set_profile(now, id, conversation, None, Some(choice.model), None);
            }
            Scope::Account => self.refuse(
                id,
                RefusalCode::Unsupported,
                "Omi has a model for each conversation; for new ones it stands in the configuration.",
            ),
        }
    }

    pub(super) fn set_profile(
        &mut self,
        now: Moment,
        id: CommandId,
        conversation: ConversationId,
        adapter: Option<String>,
        model: Option<String>,
        directory: Option<String>,
    ) {
        if self.queries.is_active(&conversation) {
            return self.refuse(
                id,
                RefusalCode::RunActive,
                "The agent still works in this conversation; stop it first.",
            );
        }
        let Some(chat) = self.chats.all.get(&conversation) else {
            return self.unknown(id);
        };
        let (Some(session), Some(old)) = (&chat.session, &chat.profile) else {
            return self.refuse(
                id,
                RefusalCode::NotFound,
                "Open the conversation first: its profile is not known yet.",
            );
        };
        // Models belong to their adapter: another one begins with its own.
        let kept = match &adapter {
            Some(adapter) if *adapter != old.adapter => self
                .endpoint
                .model
                .as_ref()
                .filter(|_| self.endpoint.adapter.as_ref() == Some(adapter)),
            _ => old.model.as_ref(),
        };
        let line = json!({
            "type": "migrate_session_execution_profile",
            "sessionId": session,
            "expectedProfileGeneration": old.generation,
            "adapterId": adapter.as_ref().unwrap_or(&old.adapter),
            "modelProfile": model.as_ref().or(kept).filter(|model| !model.is_empty()),
            "workingDirectory": directory.as_ref().unwrap_or(&old.directory),
            "reason": "user_requested",
        });
        self.ask(
            now,
            line,
            Asked::Migrate {
                command: id,
                conversation,
            },
        );
    }

    pub(super) fn on_migrated(&mut self, line: &Map<String, Value>) {
        let Some(Asked::Migrate {
            command,
            conversation,
        }) = self.pending.take(word(line, "requestId"))
        else {
            return self.unasked(line, "a change of profile");
        };
        let new = line.get("profile").and_then(Value::as_object).map(pinned);
        let old = match self.chats.all.get_mut(&conversation) {
            Some(chat) => std::mem::replace(&mut chat.profile, new.clone()),
            None => None,
        };
        if let (Some(old), Some(new)) = (old, new) {
            let (title, words) = what_changed(&old, &new);
            self.tell(notice(
                Severity::Info,
                Some(conversation.clone()),
                &title,
                words,
            ));
        }
        let model = self
            .chats
            .all
            .get(&conversation)
            .and_then(|chat| chat.profile.as_ref()?.model.clone());
        if let Some(model) = model {
            self.remember_model(&model);
        }
        self.say_settings(&conversation);
        self.done(command);
    }

    /// A model that was set is offered again.
    fn remember_model(&mut self, model: &str) {
        let models = &mut self.chats.models;
        models.retain(|known| known != model);
        models.insert(0, model.to_owned());
        models.truncate(MODELS_KEPT);
        let value = json!(models).to_string();
        self.say(Topic::Sync(SyncEvent::Kept {
            name: MODELS.to_owned(),
            value: Some(value),
        }));
    }
}

/// What another profile changes, for the person. Another adapter, model or folder begins a session
/// of its own in the agent.
fn what_changed(old: &Pinned, new: &Pinned) -> (String, &'static str) {
    let model = || new.model.as_deref().unwrap_or("its own model").to_owned();
    let title = if new.adapter != old.adapter {
        format!(
            "This conversation goes on with {}, {}",
            new.adapter,
            model()
        )
    } else if new.directory != old.directory {
        format!("This conversation goes on in {}", new.directory)
    } else {
        format!("This conversation goes on with {}", model())
    };
    let words = "The history stays. The agent begins a fresh session and may no longer remember \
                 what was said before; the runtime tells it the newest part.";
    (title, words)
}

fn labels(names: &[String]) -> Vec<SafeText> {
    names.iter().map(|name| SafeText::label(name)).collect()
}
