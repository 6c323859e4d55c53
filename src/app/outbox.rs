//! Messages on their way out.
//!
//! # The way of a message
//! `send` takes the draft into a row of the outbox. When nothing is in its way, the row is written
//! as in flight, together with its entry in the timeline, and the command leaves only after that
//! write; else it is written as queued and waits. From the queue rows go one by one, in order, when
//! the account is ready and no run is active (unless the server queues by itself). Slash commands
//! and answers to a waiting question do not wait.
//!
//! The outcome makes a row accepted (it is gone from the outbox), failed, queued again, or
//! uncertain. An uncertain row is never sent by itself: an echo, history or the person decides. How
//! outcomes and proofs come in is in `delivery`.

mod queue;

pub(super) use queue::back_to_queue;
pub use queue::{discard, move_down, move_up, queue, resend, send_now, take_back};

use super::commands::is_held_back;
use super::effect::{Effect, TransferFile};
use super::state::{Hold, Pending, Redraw, State};
use super::timeline::{Merger, set_order};
use super::{conversation, drafts, media, slash, windows};
use crate::domain::{
    AccountId, Attachment, AttachmentId, AttachmentKind, AttachmentSource, AttachmentState, Author,
    Body, ChatCommand, Command, CommandId, ConversationId, Delivery, Direction, Entry, EntryBody,
    Message, MessageKey, MessageSort, Moment, OutboxRecord, OutgoingFile, Run, Severity,
    TransferId, Write,
};
use crate::text::SafeText;

pub use super::delivery::{give_up, key_of, on_outcome, proven};

/// Distance between positions in the queue.
const POSITION_STEP: i64 = 1 << 20;

/// How a message is sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SendMode {
    /// At once when nothing is in its way, else in its turn.
    Ordinary,
    /// At once, whatever runs.
    Now,
    /// After the active run, even where the server would take it; without a run, when the person
    /// lets it go.
    Hold,
}

/// Sends the draft of a conversation. It stays where it is when something speaks against it.
pub fn send(
    state: &mut State,
    now: Moment,
    account: &AccountId,
    conversation: &ConversationId,
    mode: SendMode,
) -> Vec<Effect> {
    if is_held_back(state) {
        return Vec::new();
    }
    let Some(of) = state.account(account) else {
        return Vec::new();
    };
    let Some(here) = of.conversations.get(conversation) else {
        return Vec::new();
    };
    if let Some(reason) = refusal(of, here) {
        state.say(Severity::Warning, reason);
        return Vec::new();
    }
    let text = here.composer.text().to_owned();
    let literal = slash::literal(&text);
    let is_slash = text.starts_with('/') && literal.is_none();
    let reply_to = here
        .composer
        .reply_to
        .clone()
        .filter(|_| of.account.capabilities.reply_to.is_yes());
    let auto_thread = state.settings.auto_thread
        && of.account.capabilities.auto_thread.is_yes()
        && here.info.kind == crate::domain::ConversationKind::Default;
    let drafted: Vec<_> = here
        .composer
        .files
        .iter()
        .filter_map(|file| Some((file.path.clone(), file.facts.clone()?)))
        .collect();
    let files: Vec<OutgoingFile> = drafted
        .into_iter()
        .map(|(path, facts)| OutgoingFile {
            transfer: TransferId(state.ids.mint()),
            path,
            name: facts.name,
            media_type: facts.media_type,
            kind: facts.kind,
            size: facts.size,
            uploaded: None,
        })
        .collect();
    let key = MessageKey(state.ids.mint());
    let instance = state.ids.instance;
    let mut sent_text = literal.unwrap_or(&text).to_owned();
    if sent_text.trim().is_empty() {
        // Files on their own need words on some servers; their names are the plainest ones.
        let names: Vec<&str> = files.iter().map(|file| file.name.as_str()).collect();
        sent_text = names.join(", ");
    }
    let Some(of) = state.account_mut(account) else {
        return Vec::new();
    };
    // Places follow the clock, so that what several runs of the program queued stays in the order
    // in which it was written.
    let last = of.outbox.iter().map(|row| row.position).max().unwrap_or(0);
    let position = (last + POSITION_STEP).max(now.wall_ms.saturating_mul(POSITION_STEP));
    of.outbox.push(OutboxRecord {
        key,
        account: account.clone(),
        conversation: conversation.clone(),
        text: sent_text,
        files,
        reply_to,
        auto_thread,
        delivery: Delivery::Queued,
        created_ms: now.wall_ms,
        instance,
        position,
    });
    if let Some(here) = of.conversations.get_mut(conversation) {
        here.composer.take();
        here.composer.remember_input(&text);
        here.composer.reply_to = None;
        here.composer.files.clear();
        drafts::forget(here);
        here.unread_line = None;
    }
    state.write_fully(Write::Draft {
        account: account.clone(),
        conversation: conversation.clone(),
        draft: None,
    });
    if !text.trim().is_empty() {
        state.write(Write::Input {
            account: account.clone(),
            conversation: conversation.clone(),
            text,
            at_ms: now.wall_ms,
        });
    }
    state.redraw(Redraw::Now);
    let mut effects = to_newest(state, now, account, conversation);
    if may_go(state, account, conversation, key, mode, is_slash) {
        effects.extend(dispatch(state, now, account, key));
        return effects;
    }
    if mode == SendMode::Hold {
        hold(state, account, conversation, key);
    }
    write_row(state, account, key);
    effects.push(state.commit(Vec::new()));
    effects
}

/// Why nothing can be sent from this draft, in words for the person.
fn refusal(of: &super::state::AccountState, here: &super::state::Conversation) -> Option<String> {
    let capabilities = &of.account.capabilities;
    let composer = &here.composer;
    if here.info.is_automation {
        return Some("This conversation only receives; nothing can be sent to it.".to_owned());
    }
    if composer.text().trim().is_empty() && composer.files.is_empty() {
        return Some("There is nothing to send yet.".to_owned());
    }
    if let Some(limit) = capabilities.text_limit {
        let characters = composer.text().chars().count();
        if characters > limit {
            return Some(format!(
                "The text is {} characters over the limit of {limit}; it was not sent.",
                characters - limit
            ));
        }
    }
    if composer.files.is_empty() {
        return None;
    }
    if let Some(reason) = capabilities.upload.refusal() {
        return Some(format!("Files cannot be sent here: {reason}."));
    }
    let limits = &capabilities.attachment_limits;
    if limits.count > 0 && composer.files.len() > limits.count {
        return Some(format!(
            "At most {} files go with one message; there are {}.",
            limits.count,
            composer.files.len()
        ));
    }
    let mut pictures = 0;
    for file in &composer.files {
        let Some(facts) = &file.facts else {
            return Some(format!("{} is still being looked at.", file.path.display()));
        };
        if let Some(bytes) = limits.bytes
            && facts.size > bytes
        {
            return Some(format!(
                "{} has {} bytes; at most {bytes} can be sent.",
                facts.name, facts.size
            ));
        }
        pictures += usize::from(facts.kind == AttachmentKind::Image);
    }
    match limits.pictures {
        Some(most) if pictures > most => Some(format!(
            "At most {most} pictures go with one message; there are {pictures}."
        )),
        _ => None,
    }
}

/// Shows the end of the conversation, where what is sent appears.
fn to_newest(
    state: &mut State,
    now: Moment,
    account: &AccountId,
    conversation: &ConversationId,
) -> Vec<Effect> {
    let Some(here) = state.conversation_mut(account, conversation) else {
        return Vec::new();
    };
    here.viewport.new_below = 0;
    here.viewport.delta = 0;
    here.viewport.selected = None;
    if here.timeline.is_loaded && !here.timeline.has_newer {
        here.viewport.anchor = super::screen::viewport::Anchor::Newest;
        return Vec::new();
    }
    if !here.timeline.is_loaded {
        return Vec::new();
    }
    windows::jump(
        state,
        now,
        account,
        conversation,
        crate::domain::Place::Newest,
    )
}

/// Whether a row can leave now.
fn may_go(
    state: &State,
    account: &AccountId,
    conversation: &ConversationId,
    key: MessageKey,
    mode: SendMode,
    is_slash: bool,
) -> bool {
    let Some(of) = state.account(account).filter(|of| of.is_ready()) else {
        return false;
    };
    let Some(here) = of.conversations.get(conversation) else {
        return false;
    };
    if mode == SendMode::Hold {
        return false;
    }
    let is_answer = of.decisions.iter().any(|decision| {
        decision.conversation == *conversation
            && decision.life.is_open()
            && decision.way != crate::domain::AnswerWay::Direct
    });
    if mode == SendMode::Now || is_slash || is_answer {
        return true;
    }
    let is_run_in_the_way = here.run.as_ref().is_some_and(Run::is_in_the_way)
        && !of.account.capabilities.queues_messages.is_yes();
    let is_first = of
        .outbox
        .iter()
        .filter(|row| row.conversation == *conversation && row.key != key)
        .all(|row| match &row.delivery {
            // One after the other, so that a refusal of the first does not let the second overtake.
            Delivery::Queued => match of.held.get(&row.key) {
                Some(Hold::ForPerson | Hold::ForRun) => true,
                Some(Hold::Until(_)) | None => false,
            },
            Delivery::InFlight => row.instance != state.ids.instance,
            Delivery::Accepted | Delivery::Read | Delivery::Uncertain | Delivery::Failed(_) => true,
        });
    !is_run_in_the_way && is_first
}

/// Keeps a row back until the run ended, or, without one, until the person lets it go.
fn hold(state: &mut State, account: &AccountId, conversation: &ConversationId, key: MessageKey) {
    let Some(of) = state.account_mut(account) else {
        return;
    };
    let has_run = of
        .conversations
        .get(conversation)
        .is_some_and(|here| here.run.is_some());
    let hold = if has_run {
        Hold::ForRun
    } else {
        Hold::ForPerson
    };
    of.held.insert(key, hold);
}

/// Has the row written as it is now.
pub(super) fn write_row(state: &mut State, account: &AccountId, key: MessageKey) {
    let row = state
        .account(account)
        .and_then(|of| of.outbox.iter().find(|row| row.key == key))
        .cloned();
    if let Some(row) = row {
        state.write_fully(Write::Outbox(Box::new(row)));
    }
}

/// Lets the next row of a conversation go, when nothing is in its way.
pub fn release(
    state: &mut State,
    now: Moment,
    account: &AccountId,
    conversation: &ConversationId,
) -> Vec<Effect> {
    if state.store_fails {
        // Nothing leaves by itself while the disk does not take down that it did.
        return Vec::new();
    }
    let instance = state.ids.instance;
    let Some(of) = state.account_mut(account) else {
        return Vec::new();
    };
    let is_asking = of.pending.values().any(
        |pending| matches!(pending, Pending::Open { conversation: asked } if asked == conversation),
    );
    if is_asking {
        // What the server is about to say decides.
        return Vec::new();
    }
    let has_run = of
        .conversations
        .get(conversation)
        .is_some_and(|here| here.run.is_some());
    if !has_run {
        let here: Vec<MessageKey> = of
            .outbox
            .iter()
            .filter(|row| row.conversation == *conversation)
            .map(|row| row.key)
            .collect();
        of.held
            .retain(|key, hold| *hold != Hold::ForRun || !here.contains(key));
    }
    let is_slowed = of.outbox.iter().any(|row| {
        row.conversation == *conversation
            && row.delivery == Delivery::Queued
            && matches!(of.held.get(&row.key), Some(Hold::Until(_)))
    });
    if is_slowed {
        return Vec::new();
    }
    let next = of
        .outbox
        .iter()
        .filter(|row| {
            row.conversation == *conversation
                && row.delivery == Delivery::Queued
                && row.instance == instance
                && !of.held.contains_key(&row.key)
        })
        .min_by_key(|row| row.position)
        .map(|row| row.key);
    match next {
        Some(key) if may_go_next(state, account, conversation) => {
            dispatch(state, now, account, key)
        }
        _ => Vec::new(),
    }
}

/// When the next row goes whose server asked to slow down.
pub fn next_slowed(state: &State) -> Option<Moment> {
    let holds = state.accounts.iter().flat_map(|of| of.held.values());
    holds
        .filter_map(|hold| match hold {
            Hold::Until(at) => Some(*at),
            Hold::ForPerson | Hold::ForRun => None,
        })
        .min_by_key(|at| at.mono_ms)
}

/// Lets rows go that have waited as long as their server asked.
pub fn release_slowed(state: &mut State, now: Moment) -> Vec<Effect> {
    let mut due = Vec::new();
    for of in &mut state.accounts {
        let id = of.account.id.clone();
        let rows = &of.outbox;
        of.held.retain(|key, hold| {
            let has_come = matches!(hold, Hold::Until(at) if at.mono_ms <= now.mono_ms);
            if has_come && let Some(row) = rows.iter().find(|row| row.key == *key) {
                due.push((id.clone(), row.conversation.clone()));
            }
            !has_come
        });
    }
    let mut effects = Vec::new();
    for (account, conversation) in due {
        effects.extend(release(state, now, &account, &conversation));
    }
    effects
}

/// Whether the first row of the queue can leave.
fn may_go_next(state: &State, account: &AccountId, conversation: &ConversationId) -> bool {
    let Some(of) = state.account(account).filter(|of| of.is_ready()) else {
        return false;
    };
    let Some(here) = of.conversations.get(conversation) else {
        return false;
    };
    let has_flight = of.outbox.iter().any(|row| {
        row.conversation == *conversation
            && row.delivery == Delivery::InFlight
            && row.instance == state.ids.instance
    });
    let is_run_in_the_way = here.run.as_ref().is_some_and(Run::is_in_the_way)
        && !of.account.capabilities.queues_messages.is_yes();
    !has_flight && !is_run_in_the_way
}

/// Lets rows of every conversation of an account go.
pub fn release_all(state: &mut State, now: Moment, account: &AccountId) -> Vec<Effect> {
    let Some(of) = state.account(account) else {
        return Vec::new();
    };
    let mut conversations: Vec<ConversationId> = of
        .outbox
        .iter()
        .filter(|row| row.delivery == Delivery::Queued)
        .map(|row| row.conversation.clone())
        .collect();
    conversations.sort();
    conversations.dedup();
    conversations
        .iter()
        .flat_map(|conversation| release(state, now, account, conversation))
        .collect()
}

/// Writes a row as in flight, with its entry, and lets its command leave after that.
pub(super) fn dispatch(
    state: &mut State,
    now: Moment,
    account: &AccountId,
    key: MessageKey,
) -> Vec<Effect> {
    // The screen that writes sends it.
    if state.only_reads {
        return Vec::new();
    }
    let command = CommandId(state.ids.mint());
    let State { accounts, ids, .. } = &mut *state;
    let Some(of) = accounts.iter_mut().find(|of| of.account.id == *account) else {
        return Vec::new();
    };
    let Some(row) = of.outbox.iter_mut().find(|row| row.key == key) else {
        return Vec::new();
    };
    row.delivery = Delivery::InFlight;
    for file in &mut row.files {
        // Bytes of an earlier try are not looked for again under the old transfer.
        if file.uploaded.is_none() {
            file.transfer = TransferId(ids.mint());
        }
    }
    of.held.remove(&key);
    let row = row.clone();
    let conversation = row.conversation.clone();
    of.pending.insert(
        command,
        Pending::Send {
            conversation: conversation.clone(),
            key,
        },
    );
    let effort = of
        .conversations
        .get(&conversation)
        .and_then(|here| here.effort.as_ref())
        .and_then(|effort| effort.level.clone());
    let attachments = local_files(state, account, &conversation, &row);
    conversation::merging(state, now, account, &conversation, |merger| {
        place(merger, &row, command, attachments);
    });
    write_row(state, account, key);
    let mut then: Vec<Effect> = row
        .files
        .iter()
        .filter(|file| file.uploaded.is_none())
        .map(|file| Effect::OpenTransfer {
            transfer: file.transfer,
            account: account.clone(),
            file: TransferFile::Upload {
                path: file.path.clone(),
                size: file.size,
            },
        })
        .collect();
    then.push(Effect::Command {
        account: account.clone(),
        id: command,
        command: Command::Chat(ChatCommand::Send {
            conversation,
            text: row.text,
            files: row.files,
            reply_to: row.reply_to,
            auto_thread: row.auto_thread,
            effort,
        }),
    });
    state.redraw(Redraw::Now);
    if state.store_fails || state.read_only.is_some() {
        // The person was told that nothing is kept and sent anyway.
        let mut effects = vec![state.commit(Vec::new())];
        effects.extend(then);
        return effects;
    }
    vec![state.commit(then)]
}

/// The files of a row as attachments of its message.
fn local_files(
    state: &mut State,
    account: &AccountId,
    conversation: &ConversationId,
    row: &OutboxRecord,
) -> Vec<AttachmentId> {
    let mut ids = Vec::new();
    for (place, file) in row.files.iter().enumerate() {
        let id = media::local_id(row.key, place);
        let attachment = Attachment {
            id: id.clone(),
            message: None,
            direction: Direction::Out,
            name: SafeText::label(&file.name),
            media_type: SafeText::label(&file.media_type),
            kind: file.kind,
            size: Some(file.size),
            may_preview: file.kind == AttachmentKind::Image,
            expires_at_ms: None,
            source: AttachmentSource::LocalFile(file.path.clone()),
            state: if file.uploaded.is_some() {
                AttachmentState::Present {
                    path: file.path.clone(),
                }
            } else {
                AttachmentState::Queued {
                    transfer: file.transfer,
                }
            },
        };
        if let Some(of) = state.account_mut(account) {
            of.attachments.insert(id.clone(), attachment.clone());
        }
        state.write(Write::Attachment {
            account: account.clone(),
            conversation: conversation.clone(),
            attachment: Box::new(attachment),
        });
        ids.push(id);
    }
    ids
}

/// Puts the message of a row at the end of the timeline, in flight.
fn place(
    merger: &mut Merger<'_>,
    row: &OutboxRecord,
    command: CommandId,
    attachments: Vec<AttachmentId>,
) {
    if let Some(slot) = merger.timeline.find_key(row.key) {
        if let Some(message) = merger.timeline.at_mut(slot).and_then(Entry::message_mut) {
            message.delivery = Some(Delivery::InFlight);
            message.command = Some(command);
            message.sent_at_ms = Some(merger.now.wall_ms);
        }
        merger.changes.written.insert(row.key);
        merger.move_to_end(row.key);
        return;
    }
    let message = Message {
        key: row.key,
        order: 0,
        remote: None,
        author: Author::User,
        sort: MessageSort::Ordinary,
        body: Body::new(&row.text),
        reasoning: Body::default(),
        reasoned_ms: None,
        attachments,
        reply_to: row.reply_to.clone(),
        sent_at_ms: Some(merger.now.wall_ms),
        seen_at_ms: merger.now.wall_ms,
        run: None,
        delivery: Some(Delivery::InFlight),
        command: Some(command),
        footer: Default::default(),
        is_streaming: false,
        is_interrupted: false,
        is_seen_live_only: true,
    };
    let mut entry = Entry {
        key: row.key,
        order: 0,
        seen_at_ms: merger.now.wall_ms,
        body: EntryBody::Message(Box::new(message)),
    };
    set_order(&mut entry, 0);
    merger.append(entry);
}

// What the person does with rows
