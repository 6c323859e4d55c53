//! Decisions: they open, are answered here or elsewhere, run out, and are never answered twice.
//!
//! An answer is on disk before its first byte leaves. When the link breaks before the server says
//! anything, the decision is uncertain: the next snapshot lists it (open again) or does not (it was
//! answered). How each one ended goes into the audit log.

mod ends;

pub(super) use ends::{conversation_gone, end_with_us, on_outcome, on_snapshot, run_ended};

use super::effect::Effect;
use super::screen::overlay::{DecisionPopup, Line, Overlay};
use super::state::{Pending, Redraw, State};
use super::{attention, commands, conversation};
use crate::domain::{
    AccountId, Answer, AnswerWay, Command, CommandId, ConversationId, Decision, DecisionEvent,
    DecisionId, DecisionLife, Moment, Provenance, Question, RunPhase, Severity, Write,
};
use crate::text::SafeText;
use ends::{expired, resolved};

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

/// The question of a conversation that a message typed there answers: the oldest that waits and takes
/// the person's own words. One that carries files, or with a text for later, is a message.
pub fn asking<'a>(
    state: &'a State,
    account: &AccountId,
    conversation: &ConversationId,
) -> Option<&'a Decision> {
    let of = state.account(account)?;
    let here = of.conversations.get(conversation)?;
    let question = of.decisions.iter().find(|decision| {
        decision.conversation == *conversation
            && decision.life.is_open()
            && decision.way == AnswerWay::Direct
            && matches!(
                decision.question,
                Question::Clarification {
                    takes_free_text: true,
                    ..
                }
            )
    });
    question.filter(|_| here.composer.files.is_empty())
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
    if commands::is_held_back(state) {
        return Vec::new();
    }
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
            // What ended stays ended, unless the server lists it as open, for everybody or for the
            // person who asked.
            DecisionLife::Resolved { .. } | DecisionLife::Expired { .. } => {
                is_snapshot || decision.was_asked_for
            }
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
            let (id, takes_keys) = (
                decision.id.clone(),
                decision.was_asked_for && life.is_open(),
            );
            *known = Decision {
                life,
                asked_at,
                ..decision
            };
            set_phase(state, account, &conversation);
            state.redraw(Redraw::Now);
            if takes_keys
                && *provenance == Provenance::Live
                && may_take_keys(state, account, &conversation)
            {
                open_popup(state, account, &id);
            }
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
    if is_live && was_asked_for && may_take_keys(state, account, &conversation) {
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

/// Whether what answers the person's own command may take the keys: nothing else has them.
fn may_take_keys(state: &State, account: &AccountId, conversation: &ConversationId) -> bool {
    let is_composer_empty = state
        .conversation(account, conversation)
        .is_some_and(|here| here.composer.is_empty());
    is_composer_empty && state.screen.overlays.is_empty() && state.shows(account, conversation)
}

/// Opens the popup of a decision on top of everything.
pub fn open_popup(state: &mut State, account: &AccountId, id: &DecisionId) {
    if state.only_reads {
        return;
    }
    let Some(decision) = find(state, account, id) else {
        return;
    };
    let selected = super::screen::decision::first_focus(decision);
    // Where words are the only answer, they can be typed at once.
    let typing = super::screen::decision::takes_only_words(decision).then(Line::default);
    close_popup(state, account, id);
    state.screen.overlays.push(Overlay::Decision(DecisionPopup {
        account: account.clone(),
        decision: id.clone(),
        painted: None,
        selected,
        scroll: 0,
        end_seen: false,
        always_asked: false,
        typing,
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
pub(super) fn set_phase(state: &mut State, account: &AccountId, id: &ConversationId) {
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
        (RunPhase::Cancelling | RunPhase::StopUnconfirmed, _) => run.phase.clone(),
        (_, true) => RunPhase::WaitingForDecision,
        (RunPhase::WaitingForDecision, false) => RunPhase::Working,
        (phase, false) => phase.clone(),
    };
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
