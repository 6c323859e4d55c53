//! Attachments: from the offer to the file on this machine and what is done with it then, and the
//! progress of uploads. Bytes never come by here.

mod hang;

pub(super) use hang::{learn, on_snapshot};

use super::effect::{Effect, OpenTarget, TransferFile};
use super::event::TransferProgress;
use super::state::{Pending, Redraw, State};
use super::{commands, conversation};
use crate::domain::{
    AccountId, Attachment, AttachmentEvent, AttachmentId, AttachmentSource, AttachmentState,
    Command, CommandOutcome, Direction, MessageKey, Moment, RefusalCode, Severity, TransferCommand,
    TransferId,
};
use crate::text::SafeText;
use hang::{gone, hang, keep};
use std::path::PathBuf;

pub use super::state::MediaThen;

/// The most bytes of a file whose size nobody said.
const UNKNOWN_SIZE: u64 = 2 << 30;
/// Pictures up to this size are shown without being asked for.
const PREVIEW: u64 = 8 << 20;
/// How ids of files on their way out begin.
const LOCAL: &str = "local:";

/// The id of a file of our own message before the server gave it one.
pub fn local_id(key: MessageKey, place: usize) -> AttachmentId {
    AttachmentId::new(format!("{LOCAL}{}:{place}", key.0))
}

/// Whether an id is one of `local_id`.
pub fn is_local(id: &AttachmentId) -> bool {
    id.as_str().starts_with(LOCAL)
}

/// Brings an attachment here, and does this with it then. What is here already is taken at once.
pub fn fetch(
    state: &mut State,
    now: Moment,
    account: &AccountId,
    id: &AttachmentId,
    then: MediaThen,
) -> Vec<Effect> {
    let transfer = TransferId(state.ids.mint());
    let Some(of) = state.account_mut(account) else {
        return Vec::new();
    };
    let is_ready = of.is_ready();
    let refusal = of.account.capabilities.download.refusal();
    let Some(attachment) = of.attachments.get_mut(id) else {
        return Vec::new();
    };
    if let (AttachmentSource::LocalFile(path), false) = (
        &attachment.source,
        matches!(attachment.state, AttachmentState::Present { .. }),
    ) && attachment.direction == Direction::In
    {
        attachment.state = AttachmentState::Present { path: path.clone() };
    }
    match &attachment.state {
        AttachmentState::Present { path } => {
            let path = path.clone();
            let name = attachment.name.clone();
            state.redraw(Redraw::Now);
            return act(then, path, name);
        }
        AttachmentState::Queued { .. } | AttachmentState::Transferring { .. } => {
            if !is_local(id) && then != MediaThen::Show {
                of.wanted.insert(id.clone(), then);
            }
            return Vec::new();
        }
        AttachmentState::Gone => {
            state.say(Severity::Warning, "The server no longer has this file.");
            return Vec::new();
        }
        AttachmentState::Offered | AttachmentState::Failed { .. } => {}
    }
    if attachment
        .expires_at_ms
        .is_some_and(|expires| expires <= now.wall_ms)
    {
        attachment.state = AttachmentState::Gone;
        state.say(Severity::Warning, "This file has expired on the server.");
        return Vec::new();
    }
    if let Some(reason) = refusal {
        state.say(
            Severity::Warning,
            format!("Files cannot be loaded here: {reason}."),
        );
        return Vec::new();
    }
    if !is_ready {
        state.say(
            Severity::Warning,
            "The file cannot be loaded: the account is not connected.",
        );
        return Vec::new();
    }
    let announced = attachment.size;
    let limit = announced.unwrap_or(UNKNOWN_SIZE);
    let name = attachment.name.clone();
    attachment.state = AttachmentState::Queued { transfer };
    let wanted = attachment.clone();
    of.wanted.insert(id.clone(), then);
    state.redraw(Redraw::Now);
    let mut effects = vec![Effect::OpenTransfer {
        transfer,
        account: account.clone(),
        file: TransferFile::Download {
            name,
            limit,
            announced,
        },
    }];
    effects.extend(commands::issue(
        state,
        account,
        Command::Transfer(TransferCommand::Fetch {
            attachment: Box::new(wanted),
            transfer,
        }),
        Pending::Fetch {
            attachment: id.clone(),
            transfer,
            then_open: then == MediaThen::Open,
        },
    ));
    effects
}

/// Brings an attachment into the download folder.
pub fn save(state: &mut State, now: Moment, account: &AccountId, id: &AttachmentId) -> Vec<Effect> {
    fetch(state, now, account, id, MediaThen::Save)
}

fn act(then: MediaThen, path: PathBuf, name: SafeText) -> Vec<Effect> {
    match then {
        MediaThen::Show => Vec::new(),
        MediaThen::Open => vec![Effect::OpenExternal(OpenTarget::File { path, name })],
        MediaThen::Save => vec![Effect::SaveFile { from: path, name }],
    }
}

/// Calls a transfer off.
pub fn cancel(
    state: &mut State,
    _now: Moment,
    account: &AccountId,
    id: &AttachmentId,
) -> Vec<Effect> {
    let Some(of) = state.account_mut(account) else {
        return Vec::new();
    };
    let Some(attachment) = of.attachments.get(id) else {
        return Vec::new();
    };
    let transfer = match attachment.state {
        AttachmentState::Queued { transfer } | AttachmentState::Transferring { transfer, .. } => {
            transfer
        }
        _ => return Vec::new(),
    };
    of.wanted.remove(id);
    let mut effects = commands::issue(
        state,
        account,
        Command::Transfer(TransferCommand::Cancel { transfer }),
        Pending::Other("Not cancelled"),
    );
    effects.push(Effect::CancelTransfer { transfer });
    effects
}

/// Takes one event about attachments.
pub fn on_event(
    state: &mut State,
    now: Moment,
    account: &AccountId,
    event: AttachmentEvent,
) -> Vec<Effect> {
    match event {
        AttachmentEvent::Added {
            conversation,
            attachment,
        } => {
            conversation::ensure(state, account, &conversation);
            let id = attachment.id.clone();
            let is_picture = attachment.may_preview
                && attachment.direction == Direction::In
                && attachment.size.is_some_and(|size| size <= PREVIEW);
            learn(state, account, &conversation, (*attachment).clone());
            hang(state, now, account, &conversation, &attachment);
            super::runs::seen(
                state,
                now,
                account,
                &conversation,
                attachment.direction == Direction::In,
            );
            state.redraw_for(account, &conversation);
            if is_picture && state.shows(account, &conversation) && !state.settings.over_ssh {
                return fetch(state, now, account, &id, MediaThen::Show);
            }
            Vec::new()
        }
        AttachmentEvent::Gone { attachment } => {
            gone(state, account, &attachment);
            Vec::new()
        }
        AttachmentEvent::TransferBegan { transfer } => {
            let began = by_transfer(state, transfer).map(|(_, attachment)| {
                attachment.state = AttachmentState::Transferring { transfer, done: 0 };
            });
            if began.is_some() {
                state.redraw(Redraw::Paced);
            }
            Vec::new()
        }
    }
}

fn by_transfer(state: &mut State, transfer: TransferId) -> Option<(AccountId, &mut Attachment)> {
    state.accounts.iter_mut().find_map(|of| {
        let account = of.account.id.clone();
        of.attachments
            .values_mut()
            .find(|attachment| match attachment.state {
                AttachmentState::Queued { transfer: t }
                | AttachmentState::Transferring { transfer: t, .. } => t == transfer,
                _ => false,
            })
            .map(|attachment| (account, attachment))
    })
}

/// Takes what the shell says of a transfer.
pub fn on_progress(
    state: &mut State,
    transfer: TransferId,
    progress: TransferProgress,
) -> Vec<Effect> {
    let Some((account, attachment)) = by_transfer(state, transfer) else {
        return Vec::new();
    };
    let id = attachment.id.clone();
    // A file of our own from another device is loaded like any other.
    let is_upload = is_local(&id);
    match progress {
        TransferProgress::Moved { done, total } => {
            attachment.state = AttachmentState::Transferring { transfer, done };
            attachment.size = attachment.size.or(total);
            state.redraw(Redraw::Paced);
            Vec::new()
        }
        // The server's word on the message ends an upload.
        TransferProgress::Finished { .. } | TransferProgress::Failed { .. } if is_upload => {
            Vec::new()
        }
        TransferProgress::Cancelled if is_upload => Vec::new(),
        TransferProgress::Finished { path } => {
            attachment.state = AttachmentState::Present { path: path.clone() };
            let name = attachment.name.clone();
            let then = state
                .account_mut(&account)
                .and_then(|of| of.wanted.remove(&id))
                .unwrap_or_default();
            keep(state, &account, &id);
            state.redraw(Redraw::Now);
            act(then, path, name)
        }
        TransferProgress::Failed { reason } => {
            let name = attachment.name.clone();
            attachment.state = AttachmentState::Failed {
                reason: reason.clone(),
            };
            failed(state, &account, &id, &name, &reason);
            Vec::new()
        }
        TransferProgress::Cancelled => {
            attachment.state = AttachmentState::Offered;
            if let Some(of) = state.account_mut(&account) {
                of.wanted.remove(&id);
            }
            state.redraw(Redraw::Now);
            Vec::new()
        }
    }
}

fn failed(
    state: &mut State,
    account: &AccountId,
    id: &AttachmentId,
    name: &SafeText,
    reason: &SafeText,
) {
    let wanted = state
        .account_mut(account)
        .and_then(|of| of.wanted.remove(id));
    // A picture that nobody asked for fails without a word.
    if wanted.is_some_and(|then| then != MediaThen::Show) {
        state.say(
            Severity::Error,
            format!("{name} could not be loaded: {reason}"),
        );
    }
    state.redraw(Redraw::Now);
}

/// Takes the end of a fetch. Success comes with the file itself.
pub(super) fn on_outcome(
    state: &mut State,
    account: &AccountId,
    id: &AttachmentId,
    transfer: TransferId,
    outcome: CommandOutcome,
) -> Vec<Effect> {
    let refusal = match outcome {
        CommandOutcome::Done(_) => return Vec::new(),
        CommandOutcome::Refused(refusal) => Some(refusal),
        CommandOutcome::LinkLost | CommandOutcome::NotSent => None,
    };
    let Some(of) = state.account_mut(account) else {
        return Vec::new();
    };
    let Some(attachment) = of.attachments.get_mut(id) else {
        return Vec::new();
    };
    let is_this = match attachment.state {
        AttachmentState::Queued { transfer: t }
        | AttachmentState::Transferring { transfer: t, .. } => t == transfer,
        _ => false,
    };
    if !is_this {
        return Vec::new();
    }
    let name = attachment.name.clone();
    let reason = match refusal {
        Some(refusal) if refusal.code == RefusalCode::NotFound => {
            attachment.state = AttachmentState::Gone;
            keep(state, account, id);
            refusal.text
        }
        Some(refusal) if refusal.code == RefusalCode::Cancelled => {
            attachment.state = AttachmentState::Offered;
            of.wanted.remove(id);
            state.redraw(Redraw::Now);
            return Vec::new();
        }
        Some(refusal) => {
            attachment.state = AttachmentState::Failed {
                reason: refusal.text.clone(),
            };
            refusal.text
        }
        None => {
            let reason = SafeText::from("the connection broke");
            attachment.state = AttachmentState::Failed {
                reason: reason.clone(),
            };
            reason
        }
    };
    failed(state, account, id, &name, &reason);
    vec![Effect::CancelTransfer { transfer }]
}

/// The message that carries these uploads was decided.
pub(super) fn uploads_ended(state: &mut State, account: &AccountId, key: MessageKey, ok: bool) {
    let Some(of) = state.account_mut(account) else {
        return;
    };
    let prefix = format!("{LOCAL}{}:", key.0);
    for attachment in of.attachments.values_mut() {
        if !attachment.id.as_str().starts_with(&prefix) {
            continue;
        }
        let is_moving = matches!(
            attachment.state,
            AttachmentState::Queued { .. } | AttachmentState::Transferring { .. }
        );
        if !is_moving {
            continue;
        }
        attachment.state = match (&attachment.source, ok) {
            (AttachmentSource::LocalFile(path), true) => {
                AttachmentState::Present { path: path.clone() }
            }
            _ => AttachmentState::Failed {
                reason: SafeText::from("not sent"),
            },
        };
    }
}
