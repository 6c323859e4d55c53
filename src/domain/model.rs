//! Models, reasoning effort and the execution profile of a conversation.

use super::ids::ConversationId;
use crate::text::SafeText;

/// For what a choice of model or effort holds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Scope {
    /// For every conversation without a choice of its own.
    Account,
    /// For this one.
    Conversation(ConversationId),
}

/// What the server offers.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ModelCatalog {
    pub providers: Vec<Provider>,
    pub current: Option<ModelChoice>,
    /// Efforts in the server's order; empty when it names none.
    pub efforts: Vec<String>,
}

/// One source of models.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Provider {
    pub slug: String,
    pub name: SafeText,
    pub is_current: bool,
    pub models: Vec<String>,
    /// May be larger than the list.
    pub total_models: u64,
}

/// A model, named as the server names it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ModelChoice {
    pub model: String,
    pub provider: Option<String>,
}

/// How hard the model thinks.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Effort {
    /// None means the provider's default.
    pub level: Option<String>,
    /// False means that thinking is off.
    pub enabled: bool,
    /// What may be set; empty when unknown.
    pub supported: Vec<String>,
}

/// With what, and where, a conversation is carried out.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Profile {
    pub adapter: SafeText,
    pub model: Option<SafeText>,
    pub directory: SafeText,
    /// Adapters that may be chosen.
    pub adapters: Vec<SafeText>,
    /// Models that were set before, newest first.
    pub models: Vec<SafeText>,
}
