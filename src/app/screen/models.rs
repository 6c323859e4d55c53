//! The rows of the popups about models, reasoning effort and the profile of a conversation.

use super::overlay::Overlay;
use super::rows::{ListRow, Then, filtered};
use crate::app::state::State;
use crate::domain::{AccountId, ConversationId, ModelChoice};
use crate::text::SafeText;

/// Every model of every provider that fits the filter.
pub(super) fn models(
    state: &State,
    account: &AccountId,
    conversation: &ConversationId,
    filter: &str,
) -> Vec<ListRow> {
    let Some(of) = state.account(account) else {
        return Vec::new();
    };
    let catalog = state
        .screen
        .overlays
        .iter()
        .rev()
        .find_map(|overlay| match overlay {
            Overlay::Models {
                catalog: Some(catalog),
                ..
            } => Some(catalog.as_ref()),
            _ => None,
        })
        .unwrap_or(&of.models);
    let current = of
        .conversations
        .get(conversation)
        .and_then(|c| c.model.as_ref())
        .or(of.model.as_ref())
        .or(catalog.current.as_ref());
    let mut rows = Vec::new();
    for provider in &catalog.providers {
        for model in &provider.models {
            let choice = ModelChoice {
                model: model.clone(),
                provider: Some(provider.slug.clone()),
            };
            let is_current = current.is_some_and(|current| {
                current.model == *model
                    && current
                        .provider
                        .as_ref()
                        .is_none_or(|slug| *slug == provider.slug)
            });
            rows.push(ListRow {
                is_current,
                ..ListRow::new(SafeText::label(model), Then::Model(choice))
                    .with_detail(&provider.name)
            });
        }
        let listed = u64::try_from(provider.models.len()).unwrap_or(u64::MAX);
        if provider.total_models > listed {
            rows.push(ListRow {
                is_refused: true,
                ..ListRow::new(
                    SafeText::label(&format!(
                        "{}: {} more on the server",
                        provider.name,
                        provider.total_models - listed
                    )),
                    Then::Nothing,
                )
            });
        }
    }
    let mut rows = filtered(filter, rows);
    if of.account.capabilities.models_free_text.is_yes() {
        rows.push(ListRow::new("Another model…".into(), Then::ModelFreeText));
    }
    rows
}

/// The efforts that may be set.
pub(super) fn efforts(
    state: &State,
    account: &AccountId,
    conversation: &ConversationId,
) -> Vec<ListRow> {
    let Some(of) = state.account(account) else {
        return Vec::new();
    };
    let effort = of
        .conversations
        .get(conversation)
        .and_then(|c| c.effort.as_ref())
        .or(of.effort.as_ref());
    let mut levels: Vec<String> = effort.map_or_else(Vec::new, |e| e.supported.clone());
    for level in &of.models.efforts {
        if !levels.contains(level) {
            levels.push(level.clone());
        }
    }
    if levels.is_empty() {
        levels = ["none", "minimal", "low", "medium", "high", "xhigh"]
            .map(str::to_owned)
            .to_vec();
    }
    levels
        .into_iter()
        .map(|level| ListRow {
            is_current: effort.is_some_and(|effort| match &effort.level {
                Some(current) => effort.enabled && *current == level,
                None => !effort.enabled && level == "none",
            }),
            ..ListRow::new(SafeText::label(&level), Then::Effort(level.clone()))
        })
        .collect()
}

/// Adapters, model and folder of a conversation.
pub(super) fn profile(
    state: &State,
    account: &AccountId,
    conversation: &ConversationId,
) -> Vec<ListRow> {
    let profile = state
        .account(account)
        .and_then(|of| of.conversations.get(conversation))
        .and_then(|of| of.profile.clone())
        .unwrap_or_default();
    let mut rows: Vec<ListRow> = profile
        .adapters
        .iter()
        .map(|adapter| ListRow {
            is_current: *adapter == profile.adapter,
            ..ListRow::new(adapter.clone(), Then::Adapter(adapter.to_string()))
                .with_detail("adapter")
        })
        .collect();
    rows.extend(profile.models.iter().map(|model| {
        ListRow {
            is_current: profile.model.as_ref() == Some(model),
            ..ListRow::new(model.clone(), Then::ProfileModel(model.to_string()))
                .with_detail("model used before")
        }
    }));
    rows.push(
        ListRow::new("Model…".into(), Then::ModelFreeText)
            .with_detail(profile.model.as_ref().map_or("", SafeText::as_str)),
    );
    rows.push(
        ListRow::new("Working folder…".into(), Then::ProfileDirectory)
            .with_detail(&profile.directory),
    );
    rows
}
