//! What the store says: what it found, what a batch changed, what it could not write.

use super::effect::Effect;
use super::event::StoreReply;
use super::screen::{choose, search};
use super::state::{Hold, Pending, Redraw, State};
use super::{attention, outbox, start, windows};
use crate::domain::{
    AccountId, Attachment, AttachmentState, CommandId, ConversationId, Delivery, Found, Lookup,
    MessageKey, Moment, Severity, StartFacts,
};
use crate::text::SafeText;

/// How long after a failed commit the store is asked to try again.
const RETRY: std::time::Duration = std::time::Duration::from_secs(5);

/// Takes one reply.
pub fn on_reply(state: &mut State, now: Moment, reply: StoreReply) -> Vec<Effect> {
    match reply {
        StoreReply::Found(found) => on_found(state, now, found),
        StoreReply::Committed(batch) => {
            let mut effects: Vec<Effect> = batch
                .into_iter()
                .flat_map(|committed| attention::on_committed(state, committed))
                .collect();
            effects.extend(attention::on_commit_answered(state, true));
            effects.extend(store_works(state, now));
            effects
        }
        StoreReply::LookupFailed { lookup, reason } => lookup_failed(state, now, *lookup, &reason),
        StoreReply::CommitFailed { reason, commands } => {
            let mut effects = attention::on_commit_answered(state, false);
            effects.extend(commit_failed(state, now, &reason, &commands));
            effects
        }
    }
}

fn on_found(state: &mut State, now: Moment, found: Found) -> Vec<Effect> {
    match found {
        Found::Start(facts) => start::restore(state, now, *facts),
        Found::Window {
            account,
            conversation,
            around,
            entries,
            has_older,
            has_newer,
        } => windows::on_found(
            state,
            now,
            &account,
            &conversation,
            &around,
            entries,
            has_older,
            has_newer,
        ),
        Found::Search {
            query,
            hits,
            has_more,
        } => {
            search::on_found(state, &query, hits, has_more);
            Vec::new()
        }
        Found::Inputs { containing, texts } => {
            choose::on_inputs(state, &containing, texts);
            Vec::new()
        }
        Found::Attachments {
            account,
            conversation: _,
            attachments,
        } => {
            learn(state, &account, attachments);
            Vec::new()
        }
    }
}

fn learn(state: &mut State, account: &AccountId, attachments: Vec<Attachment>) {
    let Some(of) = state.account_mut(account) else {
        return;
    };
    for mut attachment in attachments {
        if matches!(
            attachment.state,
            AttachmentState::Queued { .. } | AttachmentState::Transferring { .. }
        ) {
            // That transfer ended with the program that began it.
            attachment.state = AttachmentState::Offered;
        }
        of.attachments
            .entry(attachment.id.clone())
            .or_insert(attachment);
    }
    state.redraw(Redraw::Now);
}

/// The store could not read. What waits for the answer goes on without it.
fn lookup_failed(state: &mut State, now: Moment, lookup: Lookup, reason: &SafeText) -> Vec<Effect> {
    state.say(
        Severity::Error,
        format!("The local history could not be read: {reason}."),
    );
    match lookup {
        Lookup::Start => start::restore(state, now, StartFacts::default()),
        Lookup::Window {
            account,
            conversation,
            around,
            ..
        } => windows::on_found(
            state,
            now,
            &account,
            &conversation,
            &around,
            Vec::new(),
            false,
            false,
        ),
        Lookup::Search { query, .. } => {
            search::on_found(state, &query, Vec::new(), false);
            Vec::new()
        }
        Lookup::Inputs { .. } | Lookup::Attachments { .. } => Vec::new(),
    }
}

/// The store took a batch. If it failed before, it has by now written what it could not, and what
/// waited for that goes.
fn store_works(state: &mut State, now: Moment) -> Vec<Effect> {
    if !state.store_fails {
        return Vec::new();
    }
    state.store_fails = false;
    state.store_retry = None;
    state.say(Severity::Done, "Everything is being saved again.");
    let accounts: Vec<AccountId> = state
        .accounts
        .iter()
        .map(|of| of.account.id.clone())
        .collect();
    accounts
        .iter()
        .flat_map(|account| outbox::release_all(state, now, account))
        .collect()
}

/// The store refused a batch. What should have left after it stays queued until the person sends
/// it anyway.
fn commit_failed(
    state: &mut State,
    now: Moment,
    reason: &SafeText,
    commands: &[CommandId],
) -> Vec<Effect> {
    // A screen that only reads has said so already.
    let is_first = !state.store_fails && state.read_only.is_none();
    state.store_fails = true;
    state.store_retry = Some(now.after(RETRY));
    let mut held: Vec<(AccountId, ConversationId, MessageKey)> = Vec::new();
    for of in &mut state.accounts {
        for command in commands {
            match of.pending.remove(command) {
                Some(Pending::Send { conversation, key }) => {
                    if let Some(row) = of.outbox.iter_mut().find(|row| row.key == key) {
                        row.delivery = Delivery::Queued;
                    }
                    of.held.insert(key, Hold::ForPerson);
                    held.push((of.account.id.clone(), conversation, key));
                }
                Some(Pending::Answer { decision }) => {
                    // The answer may leave without a trace on disk only if the person says so.
                    for known in &mut of.decisions {
                        if known.id == decision && known.life.is_pending() {
                            known.life = crate::domain::DecisionLife::Open;
                        }
                    }
                }
                Some(_) | None => {}
            }
        }
    }
    for (account, conversation, key) in &held {
        outbox::back_to_queue(state, now, account, conversation, *key);
    }
    if !held.is_empty() {
        state.say(
            Severity::Error,
            format!(
                "Not sent, because it could not be saved first ({reason}). It waits in the queue; send it from there if it may leave unsaved."
            ),
        );
    } else if is_first {
        state.say(
            Severity::Error,
            format!("What comes in is not being saved: {reason}."),
        );
    }
    Vec::new()
}
