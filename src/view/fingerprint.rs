//! A number over all that the card of an entry depends on, so that a card is kept exactly as long as
//! it would come out the same.

use super::item::{Lead, Scene, message, tool};
use crate::domain::{AttachmentState, Delivery, Entry, EntryBody, Message, RunOutcome};
use std::hash::{DefaultHasher, Hash, Hasher};

/// A number that changes whenever the card of an entry has to be made again.
pub(crate) fn fingerprint(scene: &Scene<'_>, index: usize, entry: &Entry, lead: &Lead) -> u64 {
    let mut hasher = DefaultHasher::new();
    let settings = &scene.state.settings;
    (
        entry.key,
        entry.seen_at_ms,
        lead,
        scene.columns,
        (settings.ascii, settings.wrap_code),
        scene.conversation.viewport.code_shift,
        settings.utc_offset_minutes,
        settings.show_model,
        settings.show_context,
        settings.show_directory,
        settings.show_latency,
        settings.show_cost,
    )
        .hash(&mut hasher);
    match &entry.body {
        EntryBody::Message(message) => hash_message(scene, message, &mut hasher),
        EntryBody::Tool(_) => {
            if let Some((start, end)) = lead.group {
                let range = if index == start {
                    start..end
                } else {
                    // The others only say something of themselves.
                    index..index + 1
                };
                for call in tool::calls(scene, range) {
                    (
                        call.name.as_str(),
                        call.status as u8,
                        call.preview.as_str(),
                        call.duration_ms,
                    )
                        .hash(&mut hasher);
                    if lead.is_open {
                        (
                            call.arguments.as_str(),
                            call.note.as_str(),
                            call.output.as_str(),
                            call.error.as_str(),
                        )
                            .hash(&mut hasher);
                    }
                }
                scene
                    .conversation
                    .toggled
                    .contains(&entry.key)
                    .hash(&mut hasher);
            }
        }
        EntryBody::RunEnded { outcome, .. } => match outcome {
            RunOutcome::Completed => 0_u8.hash(&mut hasher),
            RunOutcome::Cancelled => 1_u8.hash(&mut hasher),
            RunOutcome::Failed {
                error,
                hint,
                details,
            } => {
                (2_u8, error.as_str(), hint.as_str(), details.as_str()).hash(&mut hasher);
            }
            RunOutcome::Lost => 3_u8.hash(&mut hasher),
        },
        EntryBody::Gap { .. } => 4_u8.hash(&mut hasher),
        EntryBody::Deleted { count } => (5_u8, count).hash(&mut hasher),
    }
    hasher.finish()
}

fn hash_message(scene: &Scene<'_>, message: &Message, hasher: &mut DefaultHasher) {
    (
        message.body.revision(),
        message.body.text().as_str().len(),
        (message.reasoning.revision(), message.reasoned_ms),
        message.author,
        message.sort,
        message.sent_at_ms,
        message.is_streaming,
        message.is_interrupted,
        scene.account.is_deleting(message.key),
    )
        .hash(hasher);
    match &message.delivery {
        None => 0_u8.hash(hasher),
        Some(Delivery::Queued) => 1_u8.hash(hasher),
        Some(Delivery::InFlight) => 2_u8.hash(hasher),
        Some(Delivery::Accepted) => 3_u8.hash(hasher),
        Some(Delivery::Read) => 4_u8.hash(hasher),
        Some(Delivery::Uncertain) => 5_u8.hash(hasher),
        Some(Delivery::Failed(refusal)) => (6_u8, refusal.text.as_str()).hash(hasher),
    }
    let footer = &message.footer;
    (
        footer.model.as_ref().map(|text| text.as_str()),
        footer.directory.as_ref().map(|text| text.as_str()),
        [
            footer.tokens_in,
            footer.tokens_out,
            footer.tokens_cached,
            footer.tokens,
            footer.latency_ms,
            footer.cost_micro_usd,
        ],
        footer.context_percent,
    )
        .hash(hasher);
    if let Some(remote) = &message.reply_to {
        let quoted = message::quoted(scene, remote);
        quoted
            .map(|message| (message.key, message.body.revision()))
            .hash(hasher);
    }
    for id in &message.attachments {
        id.hash(hasher);
        let Some(attachment) = scene.account.attachments.get(id) else {
            continue;
        };
        let picture = scene
            .pictures
            .and_then(|pictures| pictures.find(&scene.account.account.id, id, scene.columns));
        picture.map(|picture| picture.rows()).hash(hasher);
        (attachment.name.as_str(), attachment.size).hash(hasher);
        let now = scene.state.now.wall_ms;
        let left = attachment.expires_at_ms.map(|at| at - now);
        (
            left.map(|left| left <= 0),
            left.map(|left| left < 86_400_000),
        )
            .hash(hasher);
        match &attachment.state {
            AttachmentState::Offered => 0_u8.hash(hasher),
            AttachmentState::Queued { .. } => 1_u8.hash(hasher),
            AttachmentState::Transferring { done, .. } => (2_u8, *done).hash(hasher),
            AttachmentState::Present { .. } => 3_u8.hash(hasher),
            AttachmentState::Gone => 4_u8.hash(hasher),
            AttachmentState::Failed { reason } => (5_u8, reason.as_str()).hash(hasher),
        }
    }
}
