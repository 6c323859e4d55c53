//! Stopping a run: the active one, or the one that is about to begin; and what ends with the program.

use crate::app::commands::{is_held_back, issue};
use crate::app::effect::Effect;
use crate::app::state::{Pending, State};
use crate::app::{conversation, decisions};
use crate::domain::{
    AccountId, ChatCommand, Command, CommandId, ConversationId, Moment, RunId, RunOutcome,
    Severity, ToolStatus,
};

/// The command with which a message of this conversation is on its way, when no answer to it came
/// yet.
fn on_its_way(state: &State, account: &AccountId, id: &ConversationId) -> Option<CommandId> {
    let pending = &state.account(account)?.pending;
    pending.iter().rev().find_map(|(command, pending)| {
        let is_ours = matches!(pending, Pending::Send { conversation, .. } if conversation == id);
        is_ours.then_some(*command)
    })
}

/// The runs that end with this program, because their runtime does.
pub fn dying(state: &State) -> Vec<(AccountId, ConversationId, RunId)> {
    let of_ours = state.accounts.iter().filter(|of| of.ends_with_us);
    of_ours
        .flat_map(|of| {
            let running = of.conversations.iter().filter_map(|(id, here)| {
                let run = here.run.as_ref()?;
                Some((of.account.id.clone(), id.clone(), run.id.clone()))
            });
            running.collect::<Vec<_>>()
        })
        .collect()
}

/// Writes down as stopped what ends with this program: nobody hears of its end any more.
pub fn end_with_us(state: &mut State, now: Moment) {
    for (account, id, run) in dying(state) {
        conversation::merging(state, now, &account, &id, |merger| {
            merger.end_streaming(None, true);
            merger.end_tools(None, ToolStatus::Cancelled);
            merger.run_ended(&run, RunOutcome::Cancelled);
        });
        if let Some(of) = state.conversation_mut(&account, &id) {
            of.run = None;
            of.ended_run = Some(run);
        }
    }
    let of_ours = state.accounts.iter().filter(|of| of.ends_with_us);
    let accounts: Vec<AccountId> = of_ours.map(|of| of.account.id.clone()).collect();
    for account in accounts {
        decisions::end_with_us(state, now, &account);
    }
}

/// Whether there is something to stop: a run, or a message on its way whose run comes with the
/// answer.
pub fn can_stop(state: &State, account: &AccountId, id: &ConversationId) -> bool {
    let Some(of) = state.conversation(account, id) else {
        return false;
    };
    let early = on_its_way(state, account, id);
    of.run.is_some() || (early.is_some() && of.stop_early != early)
}

/// Stops the run, or the one that is about to begin.
pub fn stop(
    state: &mut State,
    now: Moment,
    account: &AccountId,
    id: &ConversationId,
) -> Vec<Effect> {
    if is_held_back(state) {
        return Vec::new();
    }
    let refusal = state
        .account(account)
        .and_then(|of| of.account.capabilities.cancel_run.refusal());
    if let Some(reason) = refusal {
        state.say(
            Severity::Warning,
            format!("The run cannot be stopped: {reason}."),
        );
        return Vec::new();
    }
    let early = on_its_way(state, account, id);
    let Some(of) = state.conversation_mut(account, id) else {
        return Vec::new();
    };
    let Some(run) = &mut of.run else {
        of.stop_early = early;
        if early.is_some() {
            state.say(Severity::Info, "It is stopped as soon as it has begun.");
        }
        return Vec::new();
    };
    run.stop(now);
    let run = run.id.clone();
    issue(
        state,
        account,
        Command::Chat(ChatCommand::CancelRun {
            conversation: id.clone(),
            run: Some(run),
        }),
        Pending::Stop {
            conversation: id.clone(),
        },
    )
}

/// Stops a run that was given up before it began.
pub(super) fn stop_early(
    state: &mut State,
    now: Moment,
    account: &AccountId,
    id: &ConversationId,
) -> Vec<Effect> {
    let Some(of) = state.conversation_mut(account, id) else {
        return Vec::new();
    };
    let begun = of.run.as_ref().and_then(|run| run.command);
    if begun.is_none() || begun != of.stop_early {
        return Vec::new();
    }
    of.stop_early = None;
    stop(state, now, account, id)
}
