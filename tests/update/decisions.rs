//! Decisions.

use crate::desk::*;
use trialogue::app::Effect;
use trialogue::app::decisions::{answer, waiting, waiting_here};
use trialogue::app::screen::overlay::Overlay;
use trialogue::domain::*;
use trialogue::text::SafeText;

fn deny() -> Answer {
    Answer::Choice {
        value: "deny".to_owned(),
        reason: Some("not today".to_owned()),
    }
}

fn life(desk: &Desk) -> &DecisionLife {
    &desk.work().decisions[0].life
}

fn answered(desk: &mut Desk) -> CommandId {
    let effects = answer(
        &mut desk.state,
        desk.now,
        &account_id(),
        &"a1".into(),
        deny(),
    );
    desk.finish(effects);
    desk.commands.last().unwrap().0
}

fn audited(effects: &[Effect]) -> Vec<&AuditRecord> {
    effects
        .iter()
        .filter_map(|effect| match effect {
            Effect::Commit { writes, .. } => Some(writes),
            _ => None,
        })
        .flatten()
        .filter_map(|write| match write {
            Write::Audit(record) => Some(record.as_ref()),
            _ => None,
        })
        .collect()
}

#[test]
fn it_arrives_without_taking_the_keys() {
    let mut desk = Desk::new();
    desk.here_mut().composer.insert("typing");
    desk.live(started("r1", None));
    desk.live(asked(approval("a1")));
    assert!(desk.state.screen.overlays.is_empty());
    assert_eq!(desk.here().composer.text(), "typing");
    assert_eq!(waiting_here(&desk.state).len(), 1);
    assert_eq!(
        desk.here().run.as_ref().unwrap().phase,
        RunPhase::WaitingForDecision
    );
}

#[test]
fn a_picker_that_was_asked_for_opens_at_once_unless_something_is_being_typed() {
    let picker = || Decision {
        was_asked_for: true,
        question: Question::Picker {
            title: "model".into(),
        },
        ..approval("p1")
    };
    let mut desk = Desk::new();
    desk.live(asked(picker()));
    assert!(matches!(
        desk.state.screen.overlays.as_slice(),
        [Overlay::Decision(popup)] if popup.decision == "p1".into()
    ));
    let mut desk = Desk::new();
    desk.here_mut().composer.insert("typing");
    desk.live(asked(picker()));
    assert!(desk.state.screen.overlays.is_empty());
    // Nor does one from a replay.
    let mut desk = Desk::new();
    desk.topic(
        Provenance::Replayed {
            cursor: "1".into(),
            was_announced: true,
        },
        asked(picker()),
    );
    assert!(desk.state.screen.overlays.is_empty());
}

#[test]
fn a_question_that_is_asked_for_again_opens_again() {
    let question = || Decision {
        was_asked_for: true,
        ..approval("a1")
    };
    let popups = |desk: &Desk| desk.state.screen.overlays.len();
    // It stands there already, and nobody had asked for it.
    let mut desk = Desk::new();
    desk.live(asked(approval("a1")));
    assert_eq!(popups(&desk), 0);
    desk.live(asked(question()));
    assert_eq!(popups(&desk), 1);
    // It ended here, and the server says that it waits.
    let mut desk = Desk::new();
    desk.live(asked(approval("a1")));
    desk.live(Topic::Decision(DecisionEvent::Expired {
        decision: "a1".into(),
        why: Expiry::ServerRestarted,
    }));
    desk.live(asked(approval("a1")));
    assert!(!life(&desk).is_open());
    desk.live(asked(question()));
    assert!(life(&desk).is_open());
    assert_eq!(popups(&desk), 1);
    // An answer on its way is not disturbed.
    let mut desk = Desk::new();
    desk.live(asked(approval("a1")));
    answered(&mut desk);
    desk.live(asked(question()));
    assert!(matches!(life(&desk), DecisionLife::Answering { .. }));
    assert_eq!(popups(&desk), 0);
}

#[test]
fn an_answer_is_on_disk_before_it_leaves() {
    let mut desk = Desk::new();
    desk.live(asked(approval("a1")));
    let effects = answer(
        &mut desk.state,
        desk.now,
        &account_id(),
        &"a1".into(),
        deny(),
    );
    let [
        Effect::Commit {
            writes,
            durability: Durability::Full,
            then,
        },
    ] = effects.as_slice()
    else {
        panic!("{effects:?}");
    };
    assert!(
        writes
            .iter()
            .any(|write| matches!(write, Write::Answering { .. }))
    );
    assert!(matches!(
        then.as_slice(),
        [Effect::Command {
            command: Command::Answer { .. },
            ..
        }]
    ));
    // The same key again does not answer twice.
    let again = answer(
        &mut desk.state,
        desk.now,
        &account_id(),
        &"a1".into(),
        deny(),
    );
    assert!(again.is_empty());
}

#[test]
fn our_answer_is_resolved_once_whichever_word_of_it_comes_first() {
    for outcome_first in [true, false] {
        let mut desk = Desk::new();
        desk.live(asked(approval("a1")));
        let command = answered(&mut desk);
        let resolved = Topic::Decision(DecisionEvent::Resolved {
            decision: "a1".into(),
            choice: Some("deny".into()),
            command: Some(command),
        });
        let done = CommandOutcome::Done(Reply::Nothing);
        if outcome_first {
            desk.outcome(command, done);
            desk.live(resolved);
        } else {
            desk.live(resolved);
            desk.outcome(command, done);
        }
        assert!(matches!(
            life(&desk),
            DecisionLife::Resolved { by_us: true, .. }
        ));
        assert!(waiting(&desk.state).is_empty());
    }
}

#[test]
fn answered_elsewhere_closes_the_popup_and_says_what() {
    let mut desk = Desk::new();
    desk.live(asked(approval("a1")));
    trialogue::app::decisions::open_popup(&mut desk.state, &account_id(), &"a1".into());
    desk.live(Topic::Decision(DecisionEvent::Resolved {
        decision: "a1".into(),
        choice: Some("once".into()),
        command: None,
    }));
    assert!(desk.state.screen.overlays.is_empty());
    assert_eq!(desk.toasts(), ["Answered elsewhere: once."]);
    assert!(matches!(
        life(&desk),
        DecisionLife::Resolved { by_us: false, .. }
    ));
}

#[test]
fn a_popup_begins_on_deny() {
    let mut desk = Desk::new();
    desk.live(asked(approval("a1")));
    trialogue::app::decisions::open_popup(&mut desk.state, &account_id(), &"a1".into());
    assert!(matches!(
        desk.state.screen.overlays.as_slice(),
        [Overlay::Decision(popup)] if popup.selected == 1
    ));
}

#[test]
fn the_end_of_its_run_takes_it_along() {
    let mut desk = Desk::new();
    desk.live(started("r1", None));
    desk.live(asked(approval("a1")));
    desk.live(finished("r1", RunOutcome::Cancelled));
    assert!(matches!(
        life(&desk),
        DecisionLife::Expired {
            why: Expiry::RunEnded,
            ..
        }
    ));
    assert!(waiting(&desk.state).is_empty());
}

#[test]
fn a_lost_link_leaves_the_answer_uncertain_and_the_snapshot_decides() {
    for is_listed in [true, false] {
        let mut desk = Desk::new();
        desk.live(asked(approval("a1")));
        let command = answered(&mut desk);
        desk.disconnect();
        desk.outcome(command, CommandOutcome::LinkLost);
        assert!(matches!(life(&desk), DecisionLife::Uncertain { .. }));
        desk.connect();
        let mut after = snapshot(Vec::new());
        if is_listed {
            after.decisions.push(approval("a1"));
        }
        desk.topic(Provenance::Snapshot, shot(after));
        if is_listed {
            assert!(life(&desk).is_open());
        } else {
            assert!(matches!(
                life(&desk),
                DecisionLife::Resolved { by_us: false, .. }
            ));
        }
    }
}

#[test]
fn a_refused_answer_opens_it_again_and_an_unknown_one_expires() {
    let mut desk = Desk::new();
    desk.live(asked(approval("a1")));
    let command = answered(&mut desk);
    desk.outcome(
        command,
        CommandOutcome::Refused(Refusal::new(RefusalCode::ServerFailed, "oops")),
    );
    assert!(life(&desk).is_open());
    let command = answered(&mut desk);
    desk.outcome(
        command,
        CommandOutcome::Refused(Refusal::new(RefusalCode::NotFound, "gone")),
    );
    assert!(matches!(
        life(&desk),
        DecisionLife::Expired {
            why: Expiry::Gone,
            ..
        }
    ));
}

#[test]
fn every_end_has_a_line_in_the_audit_log() {
    let mut desk = Desk::new();
    desk.live(asked(approval("a1")));
    let command = answered(&mut desk);
    let effects = trialogue::app::update::update(
        &mut desk.state,
        desk.now,
        trialogue::app::Event::Account {
            account: account_id(),
            event: Box::new(AccountEvent::live(Topic::Outcome {
                command,
                outcome: CommandOutcome::Done(Reply::Nothing),
            })),
        },
    );
    let mut all = effects;
    all.extend(trialogue::app::update::flush(&mut desk.state));
    let lines = audited(&all);
    assert_eq!(lines.len(), 1);
    assert_eq!(lines[0].by, "here");
    assert_eq!(lines[0].answer.as_deref(), Some("deny"));
    assert_eq!(lines[0].reason.as_deref(), Some("not today"));
    assert_eq!(lines[0].question.as_str(), "rm -rf build");
}

#[test]
fn without_a_connection_nothing_is_answered_and_it_stays_open() {
    let mut desk = Desk::new();
    desk.live(asked(approval("a1")));
    desk.disconnect();
    let effects = answer(
        &mut desk.state,
        desk.now,
        &account_id(),
        &"a1".into(),
        deny(),
    );
    desk.finish(effects);
    assert!(life(&desk).is_open());
    assert!(desk.toasts()[0].starts_with("Not answered"));
}

#[test]
fn the_oldest_waits_first_over_all_conversations() {
    let mut desk = Desk::new();
    let later = Decision {
        asked_at: START.after(std::time::Duration::from_secs(9)),
        ..approval("b")
    };
    desk.live(asked(later));
    desk.live(asked(approval("c")));
    let ids: Vec<_> = waiting(&desk.state).into_iter().map(|(_, id)| id).collect();
    assert_eq!(ids, [DecisionId::from("c"), DecisionId::from("b")]);
}

#[test]
fn what_is_typed_below_a_question_answers_it() {
    use trialogue::app::{Action, actions};
    let question = |takes_free_text| Decision {
        question: Question::Clarification {
            question: SafeText::label("Which branch?"),
            takes_free_text,
        },
        choices: Vec::new(),
        ..approval("a1")
    };
    let type_and_send = |desk: &mut Desk| {
        desk.here_mut().composer.insert("the one of Tuesday");
        let effects = actions::perform(&mut desk.state, desk.now, Action::Send);
        desk.finish(effects);
    };
    let mut desk = Desk::new();
    desk.live(started("r1", None));
    desk.live(asked(question(true)));
    // What is sent just then was meant for something else.
    type_and_send(&mut desk);
    assert!(desk.commands.is_empty());
    assert_eq!(
        desk.toasts(),
        ["Not sent: the agent has just asked something. The same key answers it now."]
    );
    desk.pass(1_100);
    let effects = actions::perform(&mut desk.state, desk.now, Action::Send);
    desk.finish(effects);
    let Some((_, Command::Answer { answer, .. })) = desk.commands.last() else {
        panic!("{:?}", desk.commands);
    };
    assert_eq!(*answer, Answer::Text("the one of Tuesday".to_owned()));
    assert!(desk.here().composer.is_empty());
    assert!(desk.queued().is_empty());
    // While the answer is on its way, what is typed waits as always.
    type_and_send(&mut desk);
    assert_eq!(desk.queued(), ["the one of Tuesday"]);

    // Without a connection the words stay where they are.
    let mut desk = Desk::new();
    desk.live(asked(question(true)));
    desk.pass(1_100);
    desk.disconnect();
    type_and_send(&mut desk);
    assert_eq!(desk.here().composer.text(), "the one of Tuesday");
    assert!(desk.queued().is_empty());

    // A question that only takes its own choices is no place for words.
    let mut desk = Desk::new();
    desk.live(started("r1", None));
    desk.live(asked(question(false)));
    desk.pass(1_100);
    type_and_send(&mut desk);
    assert_eq!(desk.queued(), ["the one of Tuesday"]);
}
