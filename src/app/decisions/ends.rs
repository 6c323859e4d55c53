//! How decisions end: outcomes of answers, the end of a run, snapshots; each with a line in the log.

use super::super::effect::Effect;
use super::super::state::{Redraw, State};
use super::{close_popup, find, find_mut, opened, set_phase, words_of};
use crate::domain::{
    AccountId, Answer, AuditRecord, CommandId, CommandOutcome, ConversationId, Decision,
    DecisionId, DecisionLife, Expiry, Moment, Provenance, Question, RefusalCode, RunId, Severity,
    Write,
};
use crate::text::SafeText;

pub(in crate::app) fn resolved(
    state: &mut State,
    now: Moment,
    account: &AccountId,
    id: &DecisionId,
    choice: Option<SafeText>,
    command: Option<CommandId>,
) {
    let Some(decision) = find(state, account, id) else {
        return;
    };
    if !decision.life.is_pending() {
        return;
    }
    let (by_us, answer) = match &decision.life {
        DecisionLife::Answering {
            command: ours,
            answer,
        } => (command == Some(*ours), Some(answer.clone())),
        _ => (false, None),
    };
    let answer = answer.filter(|_| by_us);
    let words = choice
        .clone()
        .or_else(|| answer.as_ref().map(|answer| words_of(decision, answer)));
    end(
        state,
        now,
        account,
        id,
        DecisionLife::Resolved {
            choice: words,
            by_us,
            at: now,
        },
        answer,
        if by_us { "here" } else { "elsewhere" },
    );
}

pub(in crate::app) fn expired(
    state: &mut State,
    now: Moment,
    account: &AccountId,
    id: &DecisionId,
    why: Expiry,
) {
    let Some(decision) = find(state, account, id) else {
        return;
    };
    if !decision.life.is_pending() {
        return;
    }
    end(
        state,
        now,
        account,
        id,
        DecisionLife::Expired { why, at: now },
        None,
        "expired",
    );
}

/// Ends a decision: its popup closes with a word, the log gets a line.
pub(in crate::app) fn end(
    state: &mut State,
    now: Moment,
    account: &AccountId,
    id: &DecisionId,
    life: DecisionLife,
    answer: Option<Answer>,
    by: &'static str,
) {
    let Some(decision) = find_mut(state, account, id) else {
        return;
    };
    decision.life = life;
    let decision = decision.clone();
    let was_open = close_popup(state, account, id);
    let conversation_name = state
        .conversation(account, &decision.conversation)
        .map(|here| here.info.name.clone())
        .unwrap_or_default();
    let (kind, question) = match &decision.question {
        Question::Approval { command, .. } => ("approval", command.clone()),
        Question::Clarification { question, .. } => ("clarification", question.clone()),
        Question::Picker { title } => ("picker", title.clone()),
    };
    let known = match &decision.life {
        DecisionLife::Resolved { choice, .. } => {
            choice.as_ref().map(|choice| choice.as_str().to_owned())
        }
        _ => None,
    };
    let (value, reason) = match answer {
        Some(Answer::Choice { value, reason }) => (Some(value), reason),
        Some(Answer::Text(text)) => (Some(text), None),
        None => (known, None),
    };
    state.write_fully(Write::Audit(Box::new(AuditRecord {
        at_ms: now.wall_ms,
        account: account.clone(),
        conversation: decision.conversation.clone(),
        conversation_name,
        decision: id.clone(),
        kind,
        question,
        answer: value,
        reason,
        by,
    })));
    state.write_fully(Write::AnswerGone {
        account: account.clone(),
        decision: id.clone(),
    });
    if was_open {
        state.screen.popup_gone = Some(now);
        state.say(Severity::Info, farewell(&decision.life));
    }
    set_phase(state, account, &decision.conversation);
    state.redraw(Redraw::Now);
}

/// Why a popup closed by itself.
pub(in crate::app) fn farewell(life: &DecisionLife) -> String {
    match life {
        DecisionLife::Resolved {
            choice: Some(choice),
            by_us: false,
            ..
        } => format!("Answered elsewhere: {choice}."),
        DecisionLife::Resolved { by_us: false, .. } => "Answered elsewhere.".to_owned(),
        DecisionLife::Expired { why, .. } => match why {
            Expiry::Gone => "Nobody waits for this answer any more.",
            Expiry::RunEnded => "The run ended; it no longer waits for this answer.",
            Expiry::TimedOut => "The time for this answer ran out.",
            Expiry::ServerRestarted => {
                "Nobody waits for this answer any more: there was a restart."
            }
        }
        .to_owned(),
        DecisionLife::Resolved { .. }
        | DecisionLife::Open
        | DecisionLife::Answering { .. }
        | DecisionLife::Uncertain { .. } => "Answered.".to_owned(),
    }
}

/// Takes the end of an answer.
pub(in crate::app) fn on_outcome(
    state: &mut State,
    now: Moment,
    account: &AccountId,
    id: &DecisionId,
    outcome: CommandOutcome,
) -> Vec<Effect> {
    let Some(decision) = find(state, account, id) else {
        return Vec::new();
    };
    let DecisionLife::Answering { answer, .. } = decision.life.clone() else {
        return Vec::new();
    };
    match outcome {
        CommandOutcome::Done(_) => {
            let choice = Some(words_of(decision, &answer));
            end(
                state,
                now,
                account,
                id,
                DecisionLife::Resolved {
                    choice,
                    by_us: true,
                    at: now,
                },
                Some(answer),
                "here",
            );
        }
        CommandOutcome::Refused(refusal) => match refusal.code {
            RefusalCode::NotFound => {
                state.say(Severity::Warning, "Nobody waits for this answer any more.");
                expired(state, now, account, id, Expiry::Gone);
            }
            RefusalCode::TimedOut => {
                set_life(state, account, id, DecisionLife::Uncertain { answer })
            }
            _ => {
                state.say(
                    Severity::Error,
                    format!("The answer was not taken: {}", refusal.text),
                );
                reopen(state, account, id);
            }
        },
        CommandOutcome::LinkLost => {
            set_life(state, account, id, DecisionLife::Uncertain { answer });
        }
        CommandOutcome::NotSent => {
            state.say(
                Severity::Warning,
                "The answer was not sent: the connection broke before.",
            );
            reopen(state, account, id);
        }
    }
    Vec::new()
}

pub(in crate::app) fn set_life(
    state: &mut State,
    account: &AccountId,
    id: &DecisionId,
    life: DecisionLife,
) {
    if let Some(decision) = find_mut(state, account, id) {
        decision.life = life;
    }
    state.redraw(Redraw::Now);
}

pub(in crate::app) fn reopen(state: &mut State, account: &AccountId, id: &DecisionId) {
    set_life(state, account, id, DecisionLife::Open);
    state.write_fully(Write::AnswerGone {
        account: account.clone(),
        decision: id.clone(),
    });
    if let Some(conversation) =
        find(state, account, id).map(|decision| decision.conversation.clone())
    {
        set_phase(state, account, &conversation);
    }
}

/// The end of a run takes what it asked with it.
pub(in crate::app) fn run_ended(
    state: &mut State,
    now: Moment,
    account: &AccountId,
    conversation: &ConversationId,
    run: &RunId,
) -> Vec<Effect> {
    let over = ids(state, account, |decision| {
        decision.conversation == *conversation && decision.run.as_ref() == Some(run)
    });
    for id in over {
        // An answer on its way hears from the server itself.
        let is_answering = find(state, account, &id)
            .is_some_and(|decision| matches!(decision.life, DecisionLife::Answering { .. }));
        if !is_answering {
            expired(state, now, account, &id, Expiry::RunEnded);
        }
    }
    Vec::new()
}

/// The runtime that asked ends with this program. An answer on its way has its own record.
pub(in crate::app) fn end_with_us(state: &mut State, now: Moment, account: &AccountId) {
    let open = ids(state, account, |decision| decision.life.is_open());
    for id in open {
        expired(state, now, account, &id, Expiry::RunEnded);
    }
}

pub(in crate::app) fn ids(
    state: &State,
    account: &AccountId,
    holds: impl Fn(&Decision) -> bool,
) -> Vec<DecisionId> {
    state
        .account(account)
        .into_iter()
        .flat_map(|of| &of.decisions)
        .filter(|decision| decision.life.is_pending() && holds(decision))
        .map(|decision| decision.id.clone())
        .collect()
}

/// Takes the server's list of what is open in a conversation: nothing else is.
pub(in crate::app) fn on_snapshot(
    state: &mut State,
    now: Moment,
    account: &AccountId,
    conversation: &ConversationId,
    listed: Vec<Decision>,
    lost_runs: bool,
) -> Vec<Effect> {
    let missing = ids(state, account, |decision| {
        decision.conversation == *conversation
            && !listed.iter().any(|other| other.id == decision.id)
    });
    for id in missing {
        let Some(decision) = find(state, account, &id) else {
            continue;
        };
        match decision.life.clone() {
            // The server took the answer, or somebody else's.
            DecisionLife::Uncertain { answer } => {
                let choice = Some(words_of(decision, &answer));
                end(
                    state,
                    now,
                    account,
                    &id,
                    DecisionLife::Resolved {
                        choice,
                        by_us: false,
                        at: now,
                    },
                    Some(answer),
                    "uncertain",
                );
            }
            DecisionLife::Open => {
                let why = if lost_runs {
                    Expiry::ServerRestarted
                } else {
                    Expiry::Gone
                };
                expired(state, now, account, &id, why);
            }
            DecisionLife::Answering { .. }
            | DecisionLife::Resolved { .. }
            | DecisionLife::Expired { .. } => {}
        }
    }
    settle_unproven(state, now, account, conversation, &listed);
    let mut effects = Vec::new();
    for decision in listed {
        effects.extend(opened(state, account, &Provenance::Snapshot, decision));
    }
    effects
}

/// Answers of an earlier run of the program: a decision that is not listed any more was answered.
pub(in crate::app) fn settle_unproven(
    state: &mut State,
    now: Moment,
    account: &AccountId,
    conversation: &ConversationId,
    listed: &[Decision],
) {
    let Some(of) = state.account_mut(account) else {
        return;
    };
    let (here, rest): (Vec<_>, Vec<_>) = std::mem::take(&mut of.unproven)
        .into_iter()
        .partition(|(_, home, _)| home == conversation);
    of.unproven = rest;
    let conversation_name = of
        .conversations
        .get(conversation)
        .map(|here| here.info.name.clone())
        .unwrap_or_default();
    for (decision, _, answer) in here {
        if !listed.iter().any(|other| other.id == decision) {
            let (answer, reason) = match answer {
                Answer::Choice { value, reason } => (value, reason),
                Answer::Text(text) => (text, None),
            };
            state.write_fully(Write::Audit(Box::new(AuditRecord {
                at_ms: now.wall_ms,
                account: account.clone(),
                conversation: conversation.clone(),
                conversation_name: conversation_name.clone(),
                decision: decision.clone(),
                kind: "decision",
                question: SafeText::default(),
                answer: Some(answer),
                reason,
                by: "uncertain",
            })));
        }
        state.write_fully(Write::AnswerGone {
            account: account.clone(),
            decision,
        });
    }
}

/// The conversation is gone, and what it asked with it.
pub(in crate::app) fn conversation_gone(
    state: &mut State,
    now: Moment,
    account: &AccountId,
    conversation: &ConversationId,
) {
    for id in ids(state, account, |decision| {
        decision.conversation == *conversation
    }) {
        expired(state, now, account, &id, Expiry::Gone);
    }
}
