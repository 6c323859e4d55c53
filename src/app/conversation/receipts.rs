//! Words of the server on our own messages: what their ids are, that they were read.

use super::super::outbox;
use super::super::state::State;
use super::super::timeline::Merger;
use super::merging;
use crate::domain::{
    AccountId, CommandId, ConversationId, Delivery, Entry, MessageKey, Moment, RemoteId,
};

pub(in crate::app) fn own_by_command(
    merger: &Merger<'_>,
    command: CommandId,
) -> Option<MessageKey> {
    merger
        .timeline
        .all()
        .rev()
        .filter_map(Entry::message)
        .find(|message| message.delivery.is_some() && message.command == Some(command))
        .map(|message| message.key)
}

pub(in crate::app) fn acknowledged(
    state: &mut State,
    now: Moment,
    account: &AccountId,
    id: &ConversationId,
    command: CommandId,
    remote: Option<RemoteId>,
) {
    let by_pending = outbox::key_of(state, account, command);
    let key = merging(state, now, account, id, |merger| {
        let key = own_by_command(merger, command).or(by_pending)?;
        merger.timeline.find_key(key)?;
        if let Some(remote) = &remote
            && let Some(other) = merger.timeline.find_remote(remote)
            && merger
                .timeline
                .at(other)
                .is_some_and(|entry| entry.key != key)
        {
            // Its echo came before, unrecognised.
            merger.remove(other);
        }
        let slot = merger.timeline.find_key(key)?;
        let message = merger.timeline.at_mut(slot).and_then(Entry::message_mut)?;
        let before = message.clone();
        if remote.is_some() {
            message.remote = remote;
        }
        if message.delivery != Some(Delivery::Read) {
            message.delivery = Some(Delivery::Accepted);
        }
        if *message != before {
            merger.changes.written.insert(key);
            merger.changes.is_visible = true;
        }
        Some(key)
    })
    .flatten();
    if let Some(key) = key.or(by_pending) {
        outbox::proven(state, account, key);
    }
}

pub(in crate::app) fn was_read(
    state: &mut State,
    now: Moment,
    account: &AccountId,
    id: &ConversationId,
    remote: Option<RemoteId>,
    command: Option<CommandId>,
) {
    let by_pending = command.and_then(|command| outbox::key_of(state, account, command));
    let key = merging(state, now, account, id, |merger| {
        let timeline = &*merger.timeline;
        let by_remote = remote
            .as_ref()
            .and_then(|remote| timeline.message(remote))
            .map(|message| message.key);
        // A receipt may come before the echo that names the message: then it is the oldest of ours
        // that has no id yet.
        let unnamed = || {
            timeline
                .all()
                .filter_map(Entry::message)
                .find(|message| {
                    message.remote.is_none()
                        && matches!(
                            message.delivery,
                            Some(Delivery::InFlight | Delivery::Accepted)
                        )
                })
                .map(|message| message.key)
        };
        let key = command
            .and_then(|command| own_by_command(merger, command))
            .or(by_pending)
            .or(by_remote)
            .or_else(|| remote.as_ref().and_then(|_| unnamed()))?;
        let slot = merger.timeline.find_key(key)?;
        let message = merger.timeline.at_mut(slot).and_then(Entry::message_mut)?;
        message.delivery.as_ref()?;
        if message.remote.is_none() {
            message.remote = remote;
        }
        if message.delivery != Some(Delivery::Read) {
            message.delivery = Some(Delivery::Read);
            merger.changes.written.insert(key);
            merger.changes.is_visible = true;
        }
        Some(key)
    })
    .flatten();
    if let Some(key) = key.or(by_pending) {
        outbox::proven(state, account, key);
    }
}
