//! Runs: from acceptance to an end that gets a line when it was not an ordinary one, and the calls
//! of tools in between.

mod stop;

use stop::stop_early;
pub use stop::{can_stop, stop};
pub(super) use stop::{dying, end_with_us};

use super::conversation::{ensure, merging};
use super::effect::Effect;
use super::state::{Redraw, State};
use super::{attention, decisions, outbox};
use crate::domain::{
    AccountId, CommandId, ConversationId, EntryBody, Moment, Provenance, RemoteId, Run, RunEvent,
    RunId, RunOutcome, RunPhase, ToolCall, ToolCallId, ToolStatus, Write,
};
use std::time::Duration;

/// A run that nobody here began, so soon after a reconnect, is the server taking up its own work.
const OWN_WORK: Duration = Duration::from_secs(60);
/// A stop that the server has not confirmed for so long is not waited for.
pub const STOP_WAIT: Duration = Duration::from_secs(10);

/// Takes one event of a run.
pub fn on_event(
    state: &mut State,
    now: Moment,
    account: &AccountId,
    provenance: &Provenance,
    event: RunEvent,
) -> Vec<Effect> {
    match event {
        RunEvent::Started {
            conversation,
            run,
            command,
            is_stated,
        } => {
            ensure(state, account, &conversation);
            started(state, now, account, &conversation, run, command, is_stated);
            stop_early(state, now, account, &conversation)
        }
        RunEvent::PhaseChanged {
            conversation,
            run,
            phase,
        } => {
            phase_changed(state, now, account, &conversation, &run, phase);
            Vec::new()
        }
        RunEvent::Active { conversation } => {
            seen(state, now, account, &conversation, false);
            Vec::new()
        }
        RunEvent::ToolChanged { conversation, tool } => {
            ensure(state, account, &conversation);
            tool_changed(state, now, account, &conversation, *tool);
            Vec::new()
        }
        RunEvent::ToolMissed {
            conversation,
            tool,
            after,
            at_ms,
        } => {
            ensure(state, account, &conversation);
            tool_missed(state, now, account, &conversation, *tool, after, at_ms);
            Vec::new()
        }
        RunEvent::ToolLost { conversation, tool } => {
            tool_lost(state, now, account, &conversation, &tool);
            Vec::new()
        }
        RunEvent::Owned {
            conversation,
            run,
            command,
        } => {
            let of = state.conversation_mut(account, &conversation);
            if let Some(active) = of.and_then(|of| of.run.as_mut())
                && active.id == run
            {
                active.command = Some(command);
            }
            Vec::new()
        }
        RunEvent::Resumed {
            conversation,
            run,
            tools,
        } => {
            resumed(state, now, account, &conversation, run, &tools);
            Vec::new()
        }
        RunEvent::ToolRekeyed {
            conversation,
            from,
            to,
        } => {
            let is_here = merging(state, now, account, &conversation, |merger| {
                merger.rekey_tool(&from, &to)
            });
            if is_here == Some(false) {
                // An earlier start of the program saw it begin.
                state.write(Write::CallRekeyed {
                    account: account.clone(),
                    conversation: conversation.clone(),
                    from: from.clone(),
                    to: to.clone(),
                });
            }
            if let Some(of) = state.conversation_mut(account, &conversation) {
                let has_real = of.running_tools.iter().any(|tool| tool.id == to);
                if has_real {
                    of.running_tools.retain(|tool| tool.id != from);
                }
                for tool in &mut of.running_tools {
                    if tool.id == from {
                        tool.id = to.clone();
                    }
                }
            }
            Vec::new()
        }
        RunEvent::Finished {
            conversation,
            run,
            outcome,
        } => finished(
            state,
            now,
            account,
            &conversation,
            &run,
            outcome,
            *provenance == Provenance::Live,
        ),
    }
}

fn started(
    state: &mut State,
    now: Moment,
    account: &AccountId,
    id: &ConversationId,
    run: RunId,
    command: Option<CommandId>,
    is_stated: bool,
) {
    let has_ended = state
        .conversation(account, id)
        .is_some_and(|here| here.ended_run.as_ref() == Some(&run));
    let goes_on = has_ended
        && merging(state, now, account, id, |merger| merger.run_goes_on(&run)).unwrap_or(false);
    if has_ended && !goes_on {
        return;
    }
    let Some(of) = state.account_mut(account) else {
        return;
    };
    let is_after_reconnect = of.links > 1
        && of
            .ready_since
            .is_some_and(|since| now.since(since) < OWN_WORK);
    let Some(conversation) = of.conversations.get_mut(id) else {
        return;
    };
    if goes_on {
        conversation.ended_run = None;
    }
    if let Some(known) = &mut conversation.run
        && known.id == run
    {
        known.command = known.command.or(command);
        known.last_activity = now;
        return;
    }
    conversation.run = Some(Run {
        id: run,
        phase: RunPhase::Accepted,
        is_stated,
        command,
        started: now,
        last_activity: now,
        stopping_since: None,
    });
    conversation.run_has_answer = false;
    conversation.run_is_foreign = command.is_none() && is_stated && is_after_reconnect;
    conversation.running_tools.clear();
    state.redraw_for(account, id);
}

fn phase_changed(
    state: &mut State,
    now: Moment,
    account: &AccountId,
    id: &ConversationId,
    run: &RunId,
    phase: RunPhase,
) {
    let Some(of) = state.conversation_mut(account, id) else {
        return;
    };
    let Some(active) = of.run.as_mut().filter(|active| active.id == *run) else {
        return;
    };
    active.last_activity = now;
    // What still comes in after our stop does not make it a working run again.
    let is_stopping = active.stopping_since.is_some()
        && matches!(phase, RunPhase::Working | RunPhase::Cancelling);
    if active.phase != phase && !is_stopping {
        if phase == RunPhase::Cancelling {
            active.stop(now);
        } else {
            active.phase = phase;
        }
        state.redraw_for(account, id);
    }
}

/// The stop of a run was refused or never left: it works on.
pub(super) fn not_stopped(state: &mut State, account: &AccountId, id: &ConversationId) {
    if let Some(run) = state
        .conversation_mut(account, id)
        .and_then(|here| here.run.as_mut())
        && run.stopping_since.take().is_some()
    {
        run.phase = RunPhase::Working;
        state.redraw_for(account, id);
    }
}

/// When the next stop has waited long enough for the server's word.
pub(super) fn next_unconfirmed(state: &State) -> Option<Moment> {
    state
        .accounts
        .iter()
        .flat_map(|of| of.conversations.values())
        .filter_map(|here| here.run.as_ref())
        .filter(|run| run.phase == RunPhase::Cancelling)
        .filter_map(|run| Some(run.stopping_since?.after(STOP_WAIT)))
        .min_by_key(|at| at.mono_ms)
}

/// Runs whose stop the server does not confirm are not waited for any more.
pub(super) fn give_up_stops(state: &mut State, now: Moment) -> Vec<Effect> {
    let mut given_up = Vec::new();
    for of in &mut state.accounts {
        for (id, here) in &mut of.conversations {
            if let Some(run) = &mut here.run
                && run.phase == RunPhase::Cancelling
                && run
                    .stopping_since
                    .is_some_and(|since| now.since(since) >= STOP_WAIT)
            {
                run.phase = RunPhase::StopUnconfirmed;
                given_up.push((of.account.id.clone(), id.clone()));
            }
        }
    }
    if !given_up.is_empty() {
        state.redraw(Redraw::Now);
    }
    given_up
        .into_iter()
        .flat_map(|(account, id)| outbox::release(state, now, &account, &id))
        .collect()
}

/// Something of the active run was seen; `has_text` when it said something to the person.
pub(super) fn seen(
    state: &mut State,
    now: Moment,
    account: &AccountId,
    id: &ConversationId,
    has_text: bool,
) {
    let Some(of) = state.conversation_mut(account, id) else {
        return;
    };
    if let Some(run) = &mut of.run {
        run.last_activity = now;
        if run.phase == RunPhase::Accepted {
            run.phase = RunPhase::Working;
        }
        of.run_has_answer |= has_text;
    }
}

/// A call that nobody works on any more ends, if it has not.
fn tool_lost(
    state: &mut State,
    now: Moment,
    account: &AccountId,
    id: &ConversationId,
    call: &ToolCallId,
) {
    let is_here = merging(state, now, account, id, |merger| merger.lose_tool(call));
    match is_here {
        Some(true) => {
            if let Some(of) = state.conversation_mut(account, id) {
                of.running_tools.retain(|running| running.id != *call);
            }
        }
        Some(false) => state.write(Write::CallLost {
            account: account.clone(),
            conversation: id.clone(),
            call: call.clone(),
        }),
        None => {}
    }
}

fn tool_changed(
    state: &mut State,
    now: Moment,
    account: &AccountId,
    id: &ConversationId,
    tool: ToolCall,
) {
    merging(state, now, account, id, |merger| merger.tool(tool.clone()));
    seen(state, now, account, id, false);
    let Some(of) = state.conversation_mut(account, id) else {
        return;
    };
    let merged = of
        .timeline
        .find_tool(&tool.id)
        .and_then(|slot| of.timeline.at(slot))
        .and_then(|entry| match &entry.body {
            EntryBody::Tool(tool) => Some((**tool).clone()),
            _ => None,
        })
        .unwrap_or(tool);
    let place = of
        .running_tools
        .iter()
        .position(|running| running.id == merged.id);
    match (place, merged.status) {
        (Some(place), ToolStatus::Running) => {
            if let Some(running) = of.running_tools.get_mut(place) {
                *running = merged;
            }
        }
        (None, ToolStatus::Running) => of.running_tools.push(merged),
        (Some(place), _) => {
            of.running_tools.remove(place);
        }
        (None, _) => {}
    }
}

/// Puts a missed call where it belongs; one that was seen to begin just ends.
fn tool_missed(
    state: &mut State,
    now: Moment,
    account: &AccountId,
    id: &ConversationId,
    tool: ToolCall,
    after: Option<RemoteId>,
    at_ms: Option<i64>,
) {
    let call = tool.id.clone();
    merging(state, now, account, id, |merger| {
        merger.missed_tool(tool, after.as_ref(), at_ms);
    });
    super::conversation::write_aside(state, account, id);
    if let Some(of) = state.conversation_mut(account, id) {
        of.running_tools.retain(|running| running.id != call);
    }
}

/// A run that was thought to be over goes on: the line about its end goes, its calls run again.
fn resumed(
    state: &mut State,
    now: Moment,
    account: &AccountId,
    id: &ConversationId,
    run: RunId,
    tools: &[ToolCallId],
) {
    ensure(state, account, id);
    merging(state, now, account, id, |merger| {
        merger.take_up(&run, tools);
    });
    let Some(of) = state.conversation_mut(account, id) else {
        return;
    };
    if of.ended_run.as_ref() == Some(&run) {
        of.ended_run = None;
    }
    of.running_tools = of
        .timeline
        .all()
        .filter_map(|entry| match &entry.body {
            EntryBody::Tool(tool) if tools.contains(&tool.id) => Some((**tool).clone()),
            _ => None,
        })
        .collect();
    if of.run.is_none() {
        of.run = Some(Run {
            id: run,
            phase: RunPhase::Working,
            is_stated: false,
            command: None,
            started: now,
            last_activity: now,
            stopping_since: None,
        });
    }
    state.redraw(Redraw::Now);
}

fn finished(
    state: &mut State,
    now: Moment,
    account: &AccountId,
    id: &ConversationId,
    run: &RunId,
    outcome: RunOutcome,
    is_live: bool,
) -> Vec<Effect> {
    let Some(of) = state.conversation_mut(account, id) else {
        return Vec::new();
    };
    if of.ended_run.as_ref() == Some(run) {
        return Vec::new();
    }
    let active = of.run.take_if(|active| active.id == *run);
    of.ended_run = Some(run.clone());
    let has_answer = of.run_has_answer;
    let was_active = active.is_some();
    if active.is_some() {
        of.running_tools.clear();
        of.run_is_foreign = false;
    }
    let is_silent_end = active.as_ref().is_some_and(|active| active.is_stated)
        && outcome == RunOutcome::Completed
        && !has_answer;
    let is_cut = outcome != RunOutcome::Completed;
    let tools = if is_cut {
        ToolStatus::Cancelled
    } else {
        ToolStatus::Completed
    };
    merging(state, now, account, id, |merger| {
        merger.end_streaming(Some(run), is_cut);
        // There is one run at a time, so whatever an earlier one left running is over too.
        if was_active {
            merger.end_streaming(None, true);
        }
        merger.end_tools(if was_active { None } else { Some(run) }, tools);
        if is_cut || is_silent_end {
            merger.run_ended(run, outcome.clone());
        }
    });
    let mut effects = decisions::run_ended(state, now, account, id, run);
    if is_live && active.is_some() {
        effects.extend(attention::run_ended(state, account, id, &outcome));
    }
    state.redraw(Redraw::Now);
    effects.extend(outbox::release(state, now, account, id));
    effects
}

/// Takes the server's word on which run is active.
pub(super) fn on_snapshot(
    state: &mut State,
    now: Moment,
    account: &AccountId,
    id: &ConversationId,
    run: Option<(RunId, Option<i64>)>,
    lost_runs: bool,
) {
    let Some(of) = state.conversation_mut(account, id) else {
        return;
    };
    let before = of.run.take();
    match run {
        Some((run, since_ms)) => {
            let is_same = before.as_ref().is_some_and(|before| before.id == run);
            of.run = match before {
                Some(before) if is_same => Some(before),
                _ => Some(started_at(run, since_ms, now)),
            };
            if !is_same {
                of.run_has_answer = false;
            }
            let tools: Vec<ToolCall> = of
                .timeline
                .all()
                .filter_map(|entry| match &entry.body {
                    EntryBody::Tool(tool) if tool.status == ToolStatus::Running => {
                        Some((**tool).clone())
                    }
                    _ => None,
                })
                .collect();
            of.running_tools = tools;
        }
        None => {
            of.running_tools.clear();
            of.run_is_foreign = false;
            if let Some(before) = before {
                of.ended_run = Some(before.id.clone());
                if lost_runs && of.timeline.is_at_newest() {
                    merging(state, now, account, id, |merger| {
                        merger.run_ended(&before.id, RunOutcome::Lost);
                    });
                }
            }
        }
    }
    decisions::set_phase(state, account, id);
    state.redraw_for(account, id);
}

/// A run that began earlier, as far as that is known.
fn started_at(run: RunId, since_ms: Option<i64>, now: Moment) -> Run {
    let ago = since_ms
        .and_then(|since| u64::try_from(now.wall_ms - since).ok())
        .unwrap_or(0);
    let started = Moment {
        mono_ms: now.mono_ms.saturating_sub(ago),
        wall_ms: since_ms.unwrap_or(now.wall_ms),
    };
    Run {
        id: run,
        phase: RunPhase::Working,
        is_stated: true,
        command: None,
        started,
        last_activity: now,
        stopping_since: None,
    }
}
