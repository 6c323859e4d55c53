//! Decisions: they open, are answered here or elsewhere, run out, and are never answered twice.
//!
//! An answer is on disk before its first byte leaves. When the link breaks before the server says
//! anything, the decision is uncertain: the next snapshot lists it (open again) or does not (it was
//! answered). How each one ended goes into the audit log.

use super::effect::Effect;
use super::screen::overlay::{DecisionPopup, Overlay};
use super::state::{Pending, Redraw, State};
use super::{attention, conversation};
use crate::domain::{
    AccountId, Answer, AnswerWay, AuditRecord, Command, CommandId, CommandOutcome, ConversationId,
    Decision, DecisionEvent, DecisionId, DecisionLife, Expiry, Moment, Provenance, Question,
    RefusalCode, RunId, RunPhase, Severity, Write,
};
use crate::text::SafeText;

/// Ended decisions kept for the screen.
const KEPT: usize = 50;

/// Every decision that waits for the person, over all accounts, oldest first.
pub fn waiting(state: &State) -> Vec<(AccountId, DecisionId)> {
    let mut waiting: Vec<(Moment, AccountId, DecisionId)> = state
        .accounts
        .iter()
        .flat_map(|of| {
            of.decisions
                .iter()
                .filter(|decision| waits(decision))
                .map(|decision| {
                    (
                        decision.asked_at,
                        of.account.id.clone(),
                        decision.id.clone(),
                    )
                })
        })
        .collect();
    waiting.sort();
    waiting
        .into_iter()
        .map(|(_, account, decision)| (account, decision))
        .collect()
}

/// Those of the conversation on screen, oldest first.
pub fn waiting_here(state: &State) -> Vec<(AccountId, DecisionId)> {
    let Some((account, conversation)) = &state.focus else {
        return Vec::new();
    };
    waiting(state)
        .into_iter()
        .filter(|(a, id)| {
            a == account
                && state.account(a).is_some_and(|of| {
                    of.decisions.iter().any(|decision| {
                        decision.id == *id && decision.conversation == *conversation
                    })
                })
        })
        .collect()
}

fn waits(decision: &Decision) -> bool {
    matches!(
        decision.life,
        DecisionLife::Open | DecisionLife::Uncertain { .. }
    )
}

/// The decision with this id.
pub fn find<'a>(state: &'a State, account: &AccountId, id: &DecisionId) -> Option<&'a Decision> {
    state
        .account(account)?
        .decisions
        .iter()
        .find(|decision| decision.id == *id)
}

fn find_mut<'a>(
    state: &'a mut State,
    account: &AccountId,
    id: &DecisionId,
) -> Option<&'a mut Decision> {
    state
        .account_mut(account)?
        .decisions
        .iter_mut()
        .find(|decision| decision.id == *id)
}

/// Answers a decision. Its popup closes; the bar shows what becomes of it.
pub fn answer(
    state: &mut State,
    now: Moment,
    account: &AccountId,
    id: &DecisionId,
    answer: Answer,
) -> Vec<Effect> {
    let _ = now;
    let Some(of) = state.account(account) else {
        return Vec::new();
    };
    let is_ready = of.is_ready();
    let Some(decision) = find(state, account, id) else {
        return Vec::new();
    };
    if !waits(decision) {
        return Vec::new();
    }
    if decision.way == AnswerWay::Composer {
        state.say(Severity::Info, "This one is answered by writing a message.");
        return Vec::new();
    }
    if !is_ready {
        state.say(
            Severity::Warning,
            "Not answered: the account is not connected. It can still be answered once it is.",
        );
        return Vec::new();
    }
    let conversation = decision.conversation.clone();
    let command = CommandId(state.ids.mint());
    if let Some(decision) = find_mut(state, account, id) {
        decision.life = DecisionLife::Answering {
            command,
            answer: answer.clone(),
        };
    }
    if let Some(of) = state.account_mut(account) {
        of.pending.insert(
            command,
            Pending::Answer {
                decision: id.clone(),
            },
        );
    }
    close_popup(state, account, id);
    state.write_fully(Write::Answering {
        account: account.clone(),
        decision: id.clone(),
        conversation: conversation.clone(),
        answer: answer.clone(),
        command,
    });
    state.redraw(Redraw::Now);
    vec![state.commit(vec![Effect::Command {
        account: account.clone(),
        id: command,
        command: Command::Answer {
            decision: id.clone(),
            conversation,
            answer,
        },
    }])]
}

/// Takes one event about decisions.
pub fn on_event(
    state: &mut State,
    now: Moment,
    account: &AccountId,
    provenance: &Provenance,
    event: DecisionEvent,
) -> Vec<Effect> {
    match event {
        DecisionEvent::Opened(decision) => opened(state, account, provenance, *decision),
        DecisionEvent::Resolved {
            decision,
            choice,
            command,
        } => {
            resolved(state, now, account, &decision, choice, command);
            Vec::new()
        }
        DecisionEvent::Expired { decision, why } => {
            expired(state, now, account, &decision, why);
            Vec::new()
        }
    }
}

fn opened(
    state: &mut State,
    account: &AccountId,
    provenance: &Provenance,
    decision: Decision,
) -> Vec<Effect> {
    conversation::ensure(state, account, &decision.conversation);
    let is_snapshot = *provenance == Provenance::Snapshot;
    if let Some(known) = find_mut(state, account, &decision.id) {
        let reopens = match &known.life {
            DecisionLife::Open | DecisionLife::Answering { .. } => false,
            DecisionLife::Uncertain { .. } => is_snapshot || *provenance == Provenance::Live,
            // What ended stays ended, unless the server lists it as open.
            DecisionLife::Resolved { .. } | DecisionLife::Expired { .. } => is_snapshot,
        };
        let life = if reopens {
            DecisionLife::Open
        } else {
            known.life.clone()
        };
        let asked_at = known.asked_at;
        let was_pending = known.life.is_pending();
        let conversation = decision.conversation.clone();
        if was_pending || reopens {
            *known = Decision {
                life,
                asked_at,
                ..decision
            };
            set_phase(state, account, &conversation);
            state.redraw(Redraw::Now);
        }
        return Vec::new();
    }
    let conversation = decision.conversation.clone();
    let id = decision.id.clone();
    let was_asked_for = decision.was_asked_for;
    if let Some(of) = state.account_mut(account) {
        of.unproven.retain(|(known, _, _)| *known != id);
        of.decisions.push(decision.clone());
        let ended = of
            .decisions
            .iter()
            .filter(|decision| !decision.life.is_pending())
            .count();
        let mut extra = ended.saturating_sub(KEPT);
        of.decisions.retain(|decision| {
            let drop = extra > 0 && !decision.life.is_pending();
            extra -= usize::from(drop);
            !drop
        });
    }
    set_phase(state, account, &conversation);
    state.redraw(Redraw::Now);
    if !decision.life.is_open() {
        return Vec::new();
    }
    let is_live = *provenance == Provenance::Live;
    let is_composer_empty = state
        .conversation(account, &conversation)
        .is_some_and(|here| here.composer.is_empty());
    if is_live
        && was_asked_for
        && is_composer_empty
        && state.screen.overlays.is_empty()
        && state.shows(account, &conversation)
    {
        // It answers the person's own command, so it may take the keys.
        open_popup(state, account, &id);
        return Vec::new();
    }
    let may_ring = matches!(
        provenance,
        Provenance::Live
            | Provenance::Replayed {
                was_announced: false,
                ..
            }
    );
    if may_ring {
        attention::decision_opened(state, account, &decision)
    } else {
        Vec::new()
    }
}

/// Opens the popup of a decision on top of everything.
pub fn open_popup(state: &mut State, account: &AccountId, id: &DecisionId) {
    let Some(decision) = find(state, account, id) else {
        return;
    };
    let selected = super::screen::decision::first_focus(decision);
    close_popup(state, account, id);
    state.screen.overlays.push(Overlay::Decision(DecisionPopup {
        account: account.clone(),
        decision: id.clone(),
        painted: None,
        selected,
        scroll: 0,
        end_seen: false,
        always_asked: false,
        typing: None,
    }));
    state.redraw(Redraw::Now);
}

/// Closes the popup of a decision; true when it was open.
fn close_popup(state: &mut State, account: &AccountId, id: &DecisionId) -> bool {
    let before = state.screen.overlays.len();
    state.screen.overlays.retain(|overlay| {
        !matches!(overlay, Overlay::Decision(popup) if popup.account == *account && popup.decision == *id)
    });
    before != state.screen.overlays.len()
}

/// The run waits while something is open, and works on when nothing is.
fn set_phase(state: &mut State, account: &AccountId, id: &ConversationId) {
    let Some(of) = state.account_mut(account) else {
        return;
    };
    let waits = of.decisions.iter().any(|decision| {
        decision.conversation == *id && decision.life.is_open() && !decision.was_asked_for
    });
    let Some(run) = of
        .conversations
        .get_mut(id)
        .and_then(|here| here.run.as_mut())
    else {
        return;
    };
    run.phase = match (&run.phase, waits) {
        (RunPhase::Cancelling, _) => RunPhase::Cancelling,
        (_, true) => RunPhase::WaitingForDecision,
        (RunPhase::WaitingForDecision, false) => RunPhase::Working,
        (phase, false) => phase.clone(),
    };
}

fn resolved(
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

/// What an answer looks like on the screen.
fn words_of(decision: &Decision, answer: &Answer) -> SafeText {
    match answer {
        Answer::Choice { value, .. } => decision
            .choices
            .iter()
            .find(|choice| choice.value == *value)
            .map_or_else(|| SafeText::label(value), |choice| choice.label.clone()),
        Answer::Text(text) => SafeText::label(text),
    }
}

fn expired(state: &mut State, now: Moment, account: &AccountId, id: &DecisionId, why: Expiry) {
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
fn end(
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
        state.say(Severity::Info, farewell(&decision.life));
    }
    set_phase(state, account, &decision.conversation);
    state.redraw(Redraw::Now);
}

/// Why a popup closed by itself.
fn farewell(life: &DecisionLife) -> String {
    match life {
        DecisionLife::Resolved {
            choice: Some(choice),
            by_us: false,
            ..
        } => format!("Answered elsewhere: {choice}."),
        DecisionLife::Resolved { by_us: false, .. } => "Answered elsewhere.".to_owned(),
        DecisionLife::Expired { why, .. } => match why {
            Expiry::Gone => "The server no longer waits for this answer.",
            Expiry::RunEnded => "The run ended; it no longer waits for this answer.",
            Expiry::TimedOut => "The time for this answer ran out.",
            Expiry::ServerRestarted => "The server restarted and no longer waits for this answer.",
        }
        .to_owned(),
        DecisionLife::Resolved { .. }
        | DecisionLife::Open
        | DecisionLife::Answering { .. }
        | DecisionLife::Uncertain { .. } => "Answered.".to_owned(),
    }
}

/// Takes the end of an answer.
pub(super) fn on_outcome(
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
                state.say(
                    Severity::Warning,
                    "The server no longer waits for this answer.",
                );
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

fn set_life(state: &mut State, account: &AccountId, id: &DecisionId, life: DecisionLife) {
    if let Some(decision) = find_mut(state, account, id) {
        decision.life = life;
    }
    state.redraw(Redraw::Now);
}

fn reopen(state: &mut State, account: &AccountId, id: &DecisionId) {
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
pub(super) fn run_ended(
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

fn ids(state: &State, account: &AccountId, holds: impl Fn(&Decision) -> bool) -> Vec<DecisionId> {
    state
        .account(account)
        .into_iter()
        .flat_map(|of| &of.decisions)
        .filter(|decision| decision.life.is_pending() && holds(decision))
        .map(|decision| decision.id.clone())
        .collect()
}

/// Takes the server's list of what is open in a conversation: nothing else is.
pub(super) fn on_snapshot(
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
fn settle_unproven(
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
pub(super) fn conversation_gone(
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
