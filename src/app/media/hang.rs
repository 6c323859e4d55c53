//! Which message an attachment belongs to, and what is known of it.

use super::super::conversation;
use super::super::state::{AccountState, Redraw, State};
use super::is_local;
use crate::domain::{
    AccountId, Attachment, AttachmentId, AttachmentSource, AttachmentState, Author, ConversationId,
    Direction, Entry, IncomingMessage, Moment, Write,
};
use std::path::PathBuf;

/// Takes over what is said of an attachment; what happens to its bytes here stays.
pub(in crate::app) fn learn(
    state: &mut State,
    account: &AccountId,
    conversation: &ConversationId,
    mut attachment: Attachment,
) {
    let Some(of) = state.account_mut(account) else {
        return;
    };
    let before = of.attachments.get(&attachment.id);
    if let Some(before) = before {
        let is_active = matches!(
            before.state,
            AttachmentState::Present { .. }
                | AttachmentState::Queued { .. }
                | AttachmentState::Transferring { .. }
        );
        if is_active || attachment.state == AttachmentState::Offered {
            attachment.state = before.state.clone();
        }
        attachment.message = attachment.message.or(before.message.clone());
        if *before == attachment {
            return;
        }
    } else if attachment.direction == Direction::Out
        && let Some(path) = own_file(of, conversation, &attachment)
    {
        // We sent it, so its bytes need not be loaded.
        attachment.state = AttachmentState::Present { path };
    }
    of.attachments
        .insert(attachment.id.clone(), attachment.clone());
    state.write(Write::Attachment {
        account: account.clone(),
        conversation: conversation.clone(),
        attachment: Box::new(attachment),
    });
}

/// The file here that the server now knows as this attachment.
pub(in crate::app) fn own_file(
    of: &AccountState,
    conversation: &ConversationId,
    attachment: &Attachment,
) -> Option<PathBuf> {
    let timeline = &of.conversations.get(conversation)?.timeline;
    timeline
        .all()
        .rev()
        .filter_map(Entry::message)
        .flat_map(|message| &message.attachments)
        .filter(|id| is_local(id))
        .filter_map(|id| of.attachments.get(id))
        .find(|local| local.name == attachment.name)
        .and_then(|local| match &local.source {
            AttachmentSource::LocalFile(path) => Some(path.clone()),
            _ => None,
        })
}

/// Hangs an attachment on its message: the one it names, our own that sent it, the newest answer,
/// or else a message of its own.
pub(in crate::app) fn hang(
    state: &mut State,
    now: Moment,
    account: &AccountId,
    conversation: &ConversationId,
    attachment: &Attachment,
) {
    let Some(of) = state.account(account) else {
        return;
    };
    let locals: Vec<AttachmentId> = of
        .attachments
        .values()
        .filter(|local| is_local(&local.id) && local.name == attachment.name)
        .map(|local| local.id.clone())
        .collect();
    let id = attachment.id.clone();
    conversation::merging(state, now, account, conversation, |merger| {
        let timeline = &*merger.timeline;
        let is_there = timeline
            .all()
            .filter_map(Entry::message)
            .any(|message| message.attachments.contains(&id));
        if is_there {
            return;
        }
        let named = attachment
            .message
            .as_ref()
            .and_then(|remote| timeline.message(remote))
            .map(|message| message.key);
        let newest = || {
            let mut messages = timeline.all().rev().filter_map(Entry::message);
            match attachment.direction {
                Direction::Out => messages
                    .find(|message| message.attachments.iter().any(|id| locals.contains(id)))
                    .map(|message| message.key),
                Direction::In => messages
                    .take(8)
                    .take_while(|message| message.author != Author::User)
                    .find(|message| message.author == Author::Assistant)
                    .map(|message| message.key),
            }
        };
        match named.or_else(newest) {
            Some(key) => {
                let Some(slot) = merger.timeline.find_key(key) else {
                    return;
                };
                let Some(message) = merger.timeline.at_mut(slot).and_then(Entry::message_mut)
                else {
                    return;
                };
                // The server's file takes the place of ours, one for one.
                if let Some(local) = message
                    .attachments
                    .iter()
                    .position(|known| locals.contains(known))
                {
                    message.attachments.remove(local);
                }
                message.attachments.push(id);
                merger.changes.written.insert(key);
                merger.changes.is_visible = true;
            }
            None if attachment.direction == Direction::In => {
                let entry = merger.make(
                    IncomingMessage {
                        remote: attachment.message.clone(),
                        author: Author::Assistant,
                        attachments: vec![attachment.clone()],
                        ..IncomingMessage::default()
                    },
                    false,
                );
                merger.append(entry);
            }
            None => {}
        }
    });
}

pub(in crate::app) fn gone(state: &mut State, account: &AccountId, id: &AttachmentId) {
    let Some(of) = state.account_mut(account) else {
        return;
    };
    let Some(attachment) = of.attachments.get_mut(id) else {
        return;
    };
    if matches!(
        attachment.state,
        AttachmentState::Present { .. } | AttachmentState::Gone
    ) {
        return;
    }
    attachment.state = AttachmentState::Gone;
    of.wanted.remove(id);
    keep(state, account, id);
    state.redraw(Redraw::Paced);
}

/// Has the state of an attachment written, in the conversation whose message it hangs on.
pub(in crate::app) fn keep(state: &mut State, account: &AccountId, id: &AttachmentId) {
    let Some(of) = state.account(account) else {
        return;
    };
    let Some(attachment) = of.attachments.get(id).cloned() else {
        return;
    };
    let home = of.conversations.iter().find_map(|(conversation, here)| {
        here.timeline
            .all()
            .filter_map(Entry::message)
            .any(|message| message.attachments.contains(id))
            .then(|| conversation.clone())
    });
    if let Some(conversation) = home {
        state.write(Write::Attachment {
            account: account.clone(),
            conversation,
            attachment: Box::new(attachment),
        });
    }
}

/// The snapshot lists every file that the server still has.
pub(in crate::app) fn on_snapshot(
    state: &mut State,
    now: Moment,
    account: &AccountId,
    conversation: &ConversationId,
    listed: &[Attachment],
) {
    for attachment in listed {
        hang(state, now, account, conversation, attachment);
    }
    let Some(of) = state.account(account) else {
        return;
    };
    let Some(here) = of.conversations.get(conversation) else {
        return;
    };
    let missing: Vec<AttachmentId> = here
        .timeline
        .all()
        .filter_map(Entry::message)
        .flat_map(|message| &message.attachments)
        .filter(|id| !is_local(id) && !listed.iter().any(|attachment| attachment.id == **id))
        .filter(|id| {
            of.attachments.get(*id).is_some_and(|attachment| {
                attachment.state == AttachmentState::Offered
                    && matches!(attachment.source, AttachmentSource::HttpPath(_))
            })
        })
        .cloned()
        .collect();
    for id in missing {
        gone(state, account, &id);
    }
}
