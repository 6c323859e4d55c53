//! The catalogue of models, the current model and the reasoning effort, each for one conversation
//! or for all (spec sections "Models" and "Reasoning effort"; reading P19).

use super::frames::{ModelFrame, ModelsSnapshot, ReasoningFrame, Request};
use super::{Asked, Pheby};
use crate::domain::{
    CommandId, ConversationId, Effort, ModelCatalog, ModelChoice, ModelsEvent, Moment, Provider,
    Scope, Topic,
};
use crate::text::SafeText;

/// What is remembered for replies that leave it out.
#[derive(Debug, Default)]
pub(super) struct Models {
    /// The efforts of the last snapshot.
    efforts: Vec<String>,
}

fn conversation_of(scope: &Scope) -> Option<&str> {
    match scope {
        Scope::Account => None,
        Scope::Conversation(id) => Some(id.as_str()),
    }
}

impl Pheby {
    /// What a shown conversation is set to.
    pub(super) fn load_settings(&mut self, now: Moment, conversation: &ConversationId) {
        let is_asked = |asked: &Asked| matches!(asked, Asked::Yolo { command: None, conversation: of } if of == conversation);
        if self.pending.any(is_asked) {
            return;
        }
        let id = conversation.as_str();
        let yolo = Asked::Yolo {
            command: None,
            conversation: conversation.clone(),
        };
        self.ask(
            now,
            &Request::YoloCurrent {
                conversation_id: id,
            },
            yolo,
        );
        self.load_current_model(now, conversation);
        self.load_current_effort(now, conversation);
    }

    fn load_current_model(&mut self, now: Moment, conversation: &ConversationId) {
        let request = Request::ModelsCurrent {
            conversation_id: Some(conversation.as_str()),
        };
        let asked = Asked::Current {
            conversation: Some(conversation.clone()),
        };
        self.ask(now, &request, asked);
    }

    fn load_current_effort(&mut self, now: Moment, conversation: &ConversationId) {
        let request = Request::ReasoningCurrent {
            conversation_id: Some(conversation.as_str()),
        };
        let asked = Asked::Current {
            conversation: Some(conversation.clone()),
        };
        self.ask(now, &request, asked);
    }

    /// What holds for the conversations that are shown may be their own or that for all.
    fn load_current_models(&mut self, now: Moment) {
        for conversation in self.directory.opened() {
            self.load_current_model(now, &conversation);
        }
    }

    fn load_current_efforts(&mut self, now: Moment) {
        for conversation in self.directory.opened() {
            self.load_current_effort(now, &conversation);
        }
    }

    pub(super) fn load_models(
        &mut self,
        now: Moment,
        command: CommandId,
        conversation: Option<ConversationId>,
    ) {
        let request = Request::ModelsList {
            conversation_id: conversation.as_ref().map(ConversationId::as_str),
        };
        let asked = Asked::Models {
            command,
            conversation: conversation.clone(),
        };
        self.ask(now, &request, asked);
    }

    pub(super) fn set_model(
        &mut self,
        now: Moment,
        command: CommandId,
        choice: &ModelChoice,
        scope: Scope,
    ) {
        let request = Request::ModelSet {
            model: &choice.model,
            provider: choice.provider.as_deref(),
            conversation_id: conversation_of(&scope),
        };
        let asked = Asked::SetModel {
            command,
            scope: scope.clone(),
        };
        self.ask(now, &request, asked);
    }

    pub(super) fn set_effort(
        &mut self,
        now: Moment,
        command: CommandId,
        level: &str,
        scope: Scope,
    ) {
        let request = Request::ReasoningSet {
            effort: level,
            conversation_id: conversation_of(&scope),
        };
        let asked = Asked::SetEffort {
            command,
            scope: scope.clone(),
        };
        self.ask(now, &request, asked);
    }

    pub(super) fn on_models(&mut self, id: Option<String>, frame: ModelsSnapshot) {
        let asked = match id {
            Some(id) => self.pending.take(&id),
            None => self
                .pending
                .take_first(|asked| matches!(asked, Asked::Models { .. })),
        };
        let conversation = match &asked {
            Some(Asked::Models { conversation, .. }) => conversation.clone(),
            _ => None,
        };
        let current = frame.current_model.map(|model| ModelChoice {
            model,
            provider: frame.current_provider,
        });
        let providers = frame
            .providers
            .into_iter()
            .map(|provider| Provider {
                name: SafeText::label(if provider.name.is_empty() {
                    &provider.slug
                } else {
                    &provider.name
                }),
                slug: provider.slug,
                is_current: provider.is_current,
                total_models: provider
                    .total_models
                    .max(u64::try_from(provider.models.len()).unwrap_or(u64::MAX)),
                models: provider.models,
            })
            .collect();
        self.say(Topic::Models(ModelsEvent::CatalogLoaded {
            conversation,
            catalog: Box::new(ModelCatalog {
                providers,
                current,
                efforts: frame.supported_reasoning_efforts,
            }),
        }));
        for command in asked.iter().flat_map(Asked::commands) {
            self.done(command);
        }
    }

    pub(super) fn on_model(&mut self, now: Moment, id: Option<String>, frame: ModelFrame) {
        let asked = id.and_then(|id| self.pending.take(&id));
        match self.scope(&asked, &frame.scope, frame.conversation_id) {
            Some(_) if frame.model.is_empty() => self.odd("a current model without a name"),
            Some(scope) => {
                let choice = ModelChoice {
                    model: frame.model,
                    provider: frame.provider,
                };
                let is_for_all = scope == Scope::Account && !is_current(&asked);
                self.say(Topic::Models(ModelsEvent::ModelChanged { choice, scope }));
                if is_for_all {
                    self.load_current_models(now);
                }
            }
            // Of some conversation, but it does not say which: ask for those that are shown.
            None => self.load_current_models(now),
        }
        for command in asked.iter().flat_map(Asked::commands) {
            self.done(command);
        }
    }

    pub(super) fn on_reasoning(&mut self, now: Moment, id: Option<String>, frame: ReasoningFrame) {
        let asked = id.and_then(|id| self.pending.take(&id));
        if !frame.supported_efforts.is_empty() {
            self.models.efforts = frame.supported_efforts.clone();
        }
        match self.scope(&asked, &frame.scope, frame.conversation_id) {
            Some(scope) => {
                let enabled =
                    frame.enabled.unwrap_or(true) && frame.effort.as_deref() != Some("none");
                let effort = Effort {
                    level: frame.effort,
                    enabled,
                    supported: self.models.efforts.clone(),
                };
                let is_for_all = scope == Scope::Account && !is_current(&asked);
                self.say(Topic::Models(ModelsEvent::EffortChanged { effort, scope }));
                if is_for_all {
                    self.load_current_efforts(now);
                }
            }
            None => self.load_current_efforts(now),
        }
        for command in asked.iter().flat_map(Asked::commands) {
            self.done(command);
        }
    }

    /// For what a report holds; none when it is for a conversation that is not named.
    fn scope(
        &self,
        asked: &Option<Asked>,
        scope: &str,
        conversation: Option<String>,
    ) -> Option<Scope> {
        if scope == "global" {
            return Some(Scope::Account);
        }
        if let Some(id) = conversation {
            return Some(Scope::Conversation(ConversationId::from(id)));
        }
        match asked {
            Some(Asked::Current {
                conversation: Some(id),
            }) => Some(Scope::Conversation(id.clone())),
            Some(Asked::SetModel { scope, .. } | Asked::SetEffort { scope, .. }) => {
                Some(scope.clone())
            }
            _ if scope.is_empty() => Some(Scope::Account),
            _ => None,
        }
    }
}

/// Whether a report answers our question what holds now.
fn is_current(asked: &Option<Asked>) -> bool {
    matches!(asked, Some(Asked::Current { .. }))
}
