//! What becomes of a message that left: outcomes of its command, and proofs that the server has it.

use super::conversation::{self, merging};
use super::effect::Effect;
use super::outbox::{back_to_queue, release, write_row};
use super::state::{AccountState, Hold, Pending, Redraw, State};
use super::{media, windows};
use crate::domain::{
    AccountId, AttachmentState, CommandId, CommandOutcome, ConversationId, Delivery, Entry,
    MessageKey, Moment, RefusalCode, Reply, Severity, Write,
};
use std::time::Duration;

/// How long a message waits at first whose server asks to slow down.
const SLOW: Duration = Duration::from_secs(5);
/// How often it waits.
const SLOWED: u8 = 4;

/// The message that a command sends, while the command has no outcome.
pub fn key_of(state: &State, account: &AccountId, command: CommandId) -> Option<MessageKey> {
    match state.account(account)?.pending.get(&command)? {
        Pending::Send { key, .. } => Some(*key),
        _ => None,
    }
}

/// Takes the end of a send, or a stage of it.
pub fn on_outcome(
    state: &mut State,
    now: Moment,
    account: &AccountId,
    conversation: &ConversationId,
    key: MessageKey,
    outcome: CommandOutcome,
) -> Vec<Effect> {
    match outcome {
        CommandOutcome::Done(Reply::Uploaded {
            transfer,
            attachment,
        }) => {
            uploaded(state, account, key, transfer, attachment);
            Vec::new()
        }
        CommandOutcome::Done(Reply::Created(thread)) if thread != *conversation => {
            follow(state, now, account, conversation, &thread, key)
        }
        CommandOutcome::Done(_) => {
            set_delivery(state, now, account, conversation, key, Delivery::Accepted);
            proven(state, account, key);
            state.redraw(Redraw::Now);
            release(state, now, account, conversation)
        }
        CommandOutcome::Refused(refusal) => match refusal.code {
            RefusalCode::RunActive => run_is_active(state, now, account, conversation, key),
            RefusalCode::RateLimited if may_wait(state, account, key) => {
                slow_down(state, now, account, conversation, key);
                Vec::new()
            }
            // The request may have arrived; only its answer is missing.
            RefusalCode::TimedOut => uncertain(state, now, account, conversation, key),
            _ => {
                if !set_row(state, account, key, Delivery::Failed(refusal.clone())) {
                    // An echo proved it before; the refusal is about something else.
                    return Vec::new();
                }
                if state.shows(account, conversation) {
                    state.say(Severity::Error, format!("Not sent: {}", refusal.text));
                }
                set_delivery(
                    state,
                    now,
                    account,
                    conversation,
                    key,
                    Delivery::Failed(refusal),
                );
                media::uploads_ended(state, account, key, false);
                state.redraw(Redraw::Now);
                release(state, now, account, conversation)
            }
        },
        CommandOutcome::LinkLost => uncertain(state, now, account, conversation, key),
        CommandOutcome::NotSent => {
            // A row that was proven or taken back meanwhile has nothing to go back to.
            if set_row(state, account, key, Delivery::Queued) {
                back_to_queue(state, now, account, conversation, key);
            }
            Vec::new()
        }
    }
}

/// The message opened a thread and stands there: it leaves the conversation it was written in, and
/// the person goes along unless they write on.
fn follow(
    state: &mut State,
    now: Moment,
    account: &AccountId,
    conversation: &ConversationId,
    thread: &ConversationId,
    key: MessageKey,
) -> Vec<Effect> {
    let moved = merging(state, now, account, conversation, |merger| {
        let slot = merger.timeline.find_key(key)?;
        let message = merger.timeline.at(slot).and_then(Entry::message)?;
        let command = message.command;
        let delivery = message.delivery.clone();
        merger.remove(slot);
        Some((command?, delivery))
    })
    .flatten();
    conversation::ensure(state, account, thread);
    merging(state, now, account, thread, |merger| {
        let (command, delivery) = moved?;
        let there = merger
            .timeline
            .all()
            .filter_map(Entry::message)
            .find(|message| message.command == Some(command))?
            .key;
        let slot = merger.timeline.find_key(there)?;
        let message = merger.timeline.at_mut(slot).and_then(Entry::message_mut)?;
        if message.delivery.is_none() {
            message.delivery = match delivery {
                Some(Delivery::Read) => delivery,
                _ => Some(Delivery::Accepted),
            };
            merger.changes.written.insert(there);
            merger.changes.is_visible = true;
        }
        Some(())
    });
    proven(state, account, key);
    state.redraw(Redraw::Now);
    let writes_on = state
        .conversation(account, conversation)
        .is_some_and(|here| !here.composer.is_empty());
    let mut effects = release(state, now, account, conversation);
    if state.shows(account, conversation) && !writes_on && state.screen.overlays.is_empty() {
        effects.extend(windows::focus(state, now, account, thread));
    }
    effects
}

fn uploaded(
    state: &mut State,
    account: &AccountId,
    key: MessageKey,
    transfer: crate::domain::TransferId,
    attachment: crate::domain::AttachmentId,
) {
    let Some(of) = state.account_mut(account) else {
        return;
    };
    let Some(row) = of.outbox.iter_mut().find(|row| row.key == key) else {
        return;
    };
    let Some(place) = row.files.iter().position(|file| file.transfer == transfer) else {
        return;
    };
    if let Some(file) = row.files.get_mut(place) {
        file.uploaded = Some(attachment);
        if let Some(local) = of.attachments.get_mut(&media::local_id(key, place)) {
            local.state = AttachmentState::Present {
                path: file.path.clone(),
            };
        }
    }
    write_row(state, account, key);
    state.redraw(Redraw::Paced);
}

/// Changes the delivery of a row; false when there is no such row.
fn set_row(state: &mut State, account: &AccountId, key: MessageKey, delivery: Delivery) -> bool {
    let Some(of) = state.account_mut(account) else {
        return false;
    };
    let Some(row) = of.outbox.iter_mut().find(|row| row.key == key) else {
        return false;
    };
    row.delivery = delivery;
    write_row(state, account, key);
    true
}

/// Changes the delivery of a message in the timeline. What is read stays read.
fn set_delivery(
    state: &mut State,
    now: Moment,
    account: &AccountId,
    conversation: &ConversationId,
    key: MessageKey,
    delivery: Delivery,
) {
    merging(state, now, account, conversation, |merger| {
        let slot = merger.timeline.find_key(key)?;
        let message = merger.timeline.at_mut(slot).and_then(Entry::message_mut)?;
        if message.delivery != Some(Delivery::Read) && message.delivery.as_ref() != Some(&delivery)
        {
            message.delivery = Some(delivery);
            merger.changes.written.insert(key);
            merger.changes.is_visible = true;
        }
        Some(())
    });
}

/// Nobody knows whether it arrived. An echo or history may prove it; nothing is sent by itself.
fn uncertain(
    state: &mut State,
    now: Moment,
    account: &AccountId,
    conversation: &ConversationId,
    key: MessageKey,
) -> Vec<Effect> {
    if !set_row(state, account, key, Delivery::Uncertain) {
        // The proof came before the loss of the link.
        return Vec::new();
    }
    set_delivery(state, now, account, conversation, key, Delivery::Uncertain);
    media::uploads_ended(state, account, key, false);
    state.redraw(Redraw::Now);
    Vec::new()
}

/// Nobody waits for the outcome of a message any more, because this run of the program ends. What
/// waits here is dropped, since nobody asks for it later; what is on its way is uncertain. Returns
/// what it was left as; none when its row is done.
pub fn give_up(
    state: &mut State,
    now: Moment,
    account: &AccountId,
    key: MessageKey,
) -> (Option<Delivery>, Vec<Effect>) {
    let Some(row) = state
        .account(account)
        .and_then(|of| of.outbox.iter().find(|row| row.key == key))
    else {
        return (None, Vec::new());
    };
    let (was, conversation) = (row.delivery.clone(), row.conversation.clone());
    match was {
        Delivery::Queued => {
            let effects = super::outbox::discard(state, now, account, key);
            (Some(Delivery::Queued), effects)
        }
        Delivery::InFlight => {
            let mut effects = uncertain(state, now, account, &conversation, key);
            effects.push(state.commit(Vec::new()));
            (Some(Delivery::Uncertain), effects)
        }
        Delivery::Accepted | Delivery::Read | Delivery::Uncertain | Delivery::Failed(_) => {
            (Some(was), Vec::new())
        }
    }
}

/// Another run is active: the message goes back to the head of the queue. After a run of ours or of
/// another device it goes by itself; after work the server took up by itself, the person decides.
fn run_is_active(
    state: &mut State,
    now: Moment,
    account: &AccountId,
    conversation: &ConversationId,
    key: MessageKey,
) -> Vec<Effect> {
    let Some(of) = state.account_mut(account) else {
        return Vec::new();
    };
    let first = first_of_others(of, conversation, key);
    let (has_run, is_foreign) =
        of.conversations
            .get_mut(conversation)
            .map_or((false, false), |here| {
                if here.run.is_none() {
                    // Something runs that was not reported; the server's snapshot says what.
                    here.is_open = false;
                }
                (here.run.is_some(), here.run_is_foreign)
            });
    if let Some(row) = of.outbox.iter_mut().find(|row| row.key == key) {
        row.position = row.position.min(first - 1);
        row.delivery = Delivery::Queued;
    }
    let refusals = of.busy_refusals.entry(key).or_insert(0);
    *refusals += 1;
    // A server that says "busy" without a run would be asked for ever.
    let is_foreign = is_foreign || (!has_run && *refusals > 2);
    if is_foreign {
        of.held.insert(key, Hold::ForPerson);
    } else {
        of.held.insert(key, Hold::ForRun);
    }
    of.outbox.sort_by_key(|row| row.position);
    back_to_queue(state, now, account, conversation, key);
    let place = state.place_of(account, conversation);
    if is_foreign {
        state.say(
            Severity::Warning,
            format!(
                "The agent in {place} is at work of its own. Your message waits in the queue until \
                 you send it."
            ),
        );
    } else {
        state.say(
            Severity::Info,
            format!("The agent in {place} is busy. Your message waits and goes when it is done."),
        );
    }
    if has_run {
        Vec::new()
    } else {
        windows::open_on_server(state, account, conversation)
    }
}

/// A server that asks to slow down again and again is not asked for ever.
fn may_wait(state: &State, account: &AccountId, key: MessageKey) -> bool {
    state.account(account).is_some_and(|of| {
        of.outbox.iter().any(|row| row.key == key)
            && of
                .busy_refusals
                .get(&key)
                .is_none_or(|times| *times < SLOWED)
    })
}

/// The message waits and goes by itself, each time after twice as long.
fn slow_down(
    state: &mut State,
    now: Moment,
    account: &AccountId,
    conversation: &ConversationId,
    key: MessageKey,
) {
    let Some(of) = state.account_mut(account) else {
        return;
    };
    let times = of.busy_refusals.entry(key).or_insert(0);
    let wait = SLOW * 2_u32.pow(u32::from(*times));
    *times += 1;
    of.held.insert(key, Hold::Until(now.after(wait)));
    let first = first_of_others(of, conversation, key);
    if let Some(row) = of.outbox.iter_mut().find(|row| row.key == key) {
        row.position = row.position.min(first - 1);
        row.delivery = Delivery::Queued;
    }
    of.outbox.sort_by_key(|row| row.position);
    back_to_queue(state, now, account, conversation, key);
    let words = format!(
        "The server asks to slow down. Your message waits and goes in {} s.",
        wait.as_secs()
    );
    state.say(Severity::Info, words);
}

/// The server has this message: its row is done.
pub fn proven(state: &mut State, account: &AccountId, key: MessageKey) {
    let Some(of) = state.account_mut(account) else {
        return;
    };
    let Some(index) = of.outbox.iter().position(|row| row.key == key) else {
        return;
    };
    // What still waits here cannot have arrived; an equal text is a coincidence.
    if of
        .outbox
        .get(index)
        .is_some_and(|row| row.delivery == Delivery::Queued)
    {
        return;
    }
    of.outbox.remove(index);
    of.held.remove(&key);
    of.busy_refusals.remove(&key);
    media::uploads_ended(state, account, key, true);
    state.write_fully(Write::OutboxGone { key });
    state.redraw(Redraw::Now);
}

/// The first place in the queue of a conversation, of all messages but this one.
fn first_of_others(of: &AccountState, conversation: &ConversationId, key: MessageKey) -> i64 {
    of.outbox
        .iter()
        .filter(|row| row.conversation == *conversation && row.key != key)
        .map(|row| row.position)
        .min()
        .unwrap_or(1)
}
