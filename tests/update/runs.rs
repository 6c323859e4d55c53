//! Runs and tools.

use crate::desk::*;
use trialogue::app::Action;
use trialogue::app::actions::perform;
use trialogue::domain::*;
use trialogue::text::SafeText;

#[test]
fn entries_stand_where_they_first_appeared() {
    let mut desk = Desk::new();
    desk.live(started("r1", None));
    desk.live(patched("d1", ""));
    desk.live(tool("t1", "terminal", ToolStatus::Running));
    // The text before the tool is complete only after the tool began.
    desk.live(ended("d1", Some("I will build it.")));
    desk.live(patched("d2", "\n\nDone"));
    desk.live(tool("t1", "terminal", ToolStatus::Completed));
    desk.live(ended("d2", Some("\n\nDone.")));
    desk.live(finished("r1", RunOutcome::Completed));
    assert_eq!(
        desk.lines(),
        [
            "agent: I will build it.",
            "tool terminal completed",
            "agent: \n\nDone."
        ]
    );
    assert_eq!(desk.stored("main"), desk.lines());
}

#[test]
fn a_run_without_any_answer_says_so_and_leaves_no_empty_bubble() {
    let mut desk = Desk::new();
    desk.live(started("r1", None));
    desk.live(patched("d1", ""));
    desk.live(finished("r1", RunOutcome::Completed));
    desk.live(finished("r1", RunOutcome::Completed));
    assert_eq!(desk.lines(), ["no reply"]);
    assert_eq!(desk.stored("main"), ["no reply"]);
}

#[test]
fn a_cancelled_run_cuts_its_text_and_ends_its_tools() {
    let mut desk = Desk::new();
    desk.live(started("r1", None));
    desk.live(patched("d1", "half an ans"));
    desk.live(tool("t1", "terminal", ToolStatus::Running));
    assert_eq!(desk.here().running_tools.len(), 1);
    desk.live(finished("r1", RunOutcome::Cancelled));
    assert_eq!(
        desk.lines(),
        [
            "agent: half an ans (cut)",
            "tool terminal cancelled",
            "run cancelled"
        ]
    );
    assert!(desk.here().running_tools.is_empty());
    assert!(desk.here().run.is_none());
}

#[test]
fn a_late_partial_text_does_not_undo_the_end() {
    let mut desk = Desk::new();
    desk.live(patched("d1", "The answ"));
    desk.live(ended("d1", Some("The answer")));
    desk.live(patched("d1", "The answe"));
    assert_eq!(desk.lines(), ["agent: The answer"]);
    // But a text that goes on is more than late.
    desk.live(patched("d1", "Something else"));
    assert_eq!(desk.lines(), ["agent: Something else …"]);
}

#[test]
fn what_comes_in_after_a_stop_does_not_make_it_working_again() {
    let mut desk = Desk::new();
    desk.live(started("r1", None));
    desk.live(Topic::Run(RunEvent::PhaseChanged {
        conversation: id("main"),
        run: "r1".into(),
        phase: RunPhase::Cancelling,
    }));
    desk.live(Topic::Run(RunEvent::PhaseChanged {
        conversation: id("main"),
        run: "r1".into(),
        phase: RunPhase::Working,
    }));
    desk.live(patched("d1", "still coming"));
    assert_eq!(
        desk.here().run.as_ref().unwrap().phase,
        RunPhase::Cancelling
    );
}

#[test]
fn a_tool_known_by_a_stand_in_becomes_the_real_one() {
    let mut desk = Desk::new();
    desk.live(tool("tmp", "search", ToolStatus::Running));
    desk.live(Topic::Run(RunEvent::ToolRekeyed {
        conversation: id("main"),
        from: "tmp".into(),
        to: "call1".into(),
    }));
    desk.live(tool("call1", "", ToolStatus::Completed));
    assert_eq!(desk.lines(), ["tool search completed"]);
    assert!(desk.here().running_tools.is_empty());
}

#[test]
fn a_failed_run_says_why_in_its_place() {
    let mut desk = Desk::new();
    desk.live(started("r1", None));
    desk.live(finished(
        "r1",
        RunOutcome::Failed {
            error: "no credit".into(),
            hint: "".into(),
            details: "".into(),
        },
    ));
    assert_eq!(desk.lines(), ["run failed: no credit"]);
}

#[test]
fn typing_goes_out_by_itself() {
    let mut desk = Desk::new();
    desk.live(Topic::Timeline(TimelineEvent::Typing {
        conversation: id("main"),
        on: true,
    }));
    assert!(desk.here().typing_until.is_some());
    desk.pass(4_999);
    assert!(desk.here().typing_until.is_some());
    desk.pass(1);
    assert!(desk.here().typing_until.is_none());
}

#[test]

fn a_run_that_failed_and_goes_on_loses_its_failure() {
    let mut desk = Desk::new();
    desk.live(started("r1", None));
    desk.live(patched("d1", "One "));
    desk.live(finished(
        "r1",
        RunOutcome::Failed {
            error: "too slow".into(),
            hint: "".into(),
            details: "".into(),
        },
    ));
    assert_eq!(desk.lines(), ["agent: One  (cut)", "run failed: too slow"]);
    desk.live(started("r1", None));
    assert!(desk.here().run.is_some());
    desk.live(patched("d1", "One two"));
    desk.live(ended("d1", Some("One two")));
    desk.live(finished("r1", RunOutcome::Completed));
    assert_eq!(desk.lines(), ["agent: One two"]);
    assert_eq!(desk.stored("main"), ["agent: One two"]);
    // A late word on the beginning of a run that ended well changes nothing.
    desk.live(started("r1", None));
    assert!(desk.here().run.is_none());
}

#[test]
fn a_run_that_was_given_up_and_goes_on_is_not_lost() {
    let mut desk = Desk::new();
    desk.live(started("r1", None));
    desk.live(patched("d1", "half"));
    desk.live(tool("t1", "terminal", ToolStatus::Running));
    desk.live(finished("r1", RunOutcome::Lost));
    assert_eq!(
        desk.lines(),
        ["agent: half (cut)", "tool terminal cancelled", "run lost"]
    );
    desk.live(Topic::Run(RunEvent::Resumed {
        conversation: id("main"),
        run: "r1".into(),
        tools: vec!["t1".into()],
    }));
    desk.live(patched("d1", "half and more"));
    assert_eq!(
        desk.lines(),
        ["agent: half and more …", "tool terminal running"]
    );
    assert_eq!(desk.here().running_tools.len(), 1);
    desk.live(tool("t1", "terminal", ToolStatus::Completed));
    desk.live(ended("d1", Some("half and more.")));
    desk.live(finished("r1", RunOutcome::Completed));
    assert_eq!(
        desk.lines(),
        ["agent: half and more.", "tool terminal completed"]
    );
    assert_eq!(desk.stored("main"), desk.lines());
    assert!(desk.here().run.is_none());
}

fn missed(call: &str, after: &str, at_ms: i64) -> Topic {
    let mut tool = ToolCall::new(call.into(), "terminal".into());
    tool.status = ToolStatus::Completed;
    Topic::Run(RunEvent::ToolMissed {
        conversation: id("main"),
        tool: Box::new(tool),
        after: Some(after.into()),
        at_ms: Some(at_ms),
    })
}

#[test]
fn a_missed_call_stands_behind_its_message_with_the_time_of_it() {
    let mut desk = Desk::new();
    desk.live(upserted(said("u1", Author::User, "go")));
    desk.live(upserted(said("a1", Author::Assistant, "done")));
    let replayed = Provenance::Replayed {
        cursor: "9".into(),
        was_announced: false,
    };
    desk.topic(replayed.clone(), missed("t1", "u1", 77));
    desk.topic(replayed.clone(), missed("t2", "u1", 77));
    desk.topic(replayed.clone(), missed("t1", "u1", 77));
    desk.topic(replayed, missed("t3", "a1", 88));
    assert_eq!(
        desk.lines(),
        [
            "you: go",
            "tool terminal completed",
            "tool terminal completed",
            "agent: done",
            "tool terminal completed"
        ]
    );
    assert_eq!(desk.stored("main"), desk.lines());
    let times: Vec<i64> = desk
        .here()
        .timeline
        .entries
        .iter()
        .filter(|entry| entry.message().is_none())
        .map(|entry| entry.seen_at_ms)
        .collect();
    assert_eq!(times, [77, 77, 88]);
}

#[test]
fn the_end_of_a_call_that_an_earlier_link_saw_begin_is_no_second_call() {
    let mut desk = Desk::new();
    desk.live(started("r1", None));
    desk.live(tool("turn/1", "terminal", ToolStatus::Running));
    desk.disconnect();
    desk.pass(2_000);
    desk.connect();
    desk.live(Topic::Run(RunEvent::ToolRekeyed {
        conversation: id("main"),
        from: "turn/1".into(),
        to: "a1/0/terminal".into(),
    }));
    desk.live(tool("a1/0/terminal", "terminal", ToolStatus::Completed));
    assert_eq!(desk.lines(), ["tool terminal completed"]);
    assert_eq!(desk.stored("main"), desk.lines());
}

#[test]
fn what_a_run_before_left_growing_is_cut_when_the_next_one_ends() {
    let mut desk = Desk::new();
    desk.live(started("r1", None));
    let mut growing = said("a1", Author::Assistant, "half of it");
    growing.is_streaming = true;
    growing.run = Some("r1".into());
    desk.live(upserted(growing));
    desk.live(started("r2", None));
    desk.live(finished("r2", RunOutcome::Completed));
    let message = desk.here().timeline.entries[0].message().unwrap().clone();
    assert!(!message.is_streaming && message.is_interrupted);
}

#[test]
fn a_deleted_message_leaves_a_line_and_neighbours_share_it() {
    let mut desk = Desk::new();
    for (remote, text) in [
        ("a1", "one"),
        ("a2", "two"),
        ("a3", "three"),
        ("a4", "four"),
    ] {
        desk.live(upserted(said(remote, Author::Assistant, text)));
    }
    let deleted = |remotes: &[&str]| {
        Topic::Timeline(TimelineEvent::Deleted {
            conversation: id("main"),
            remotes: remotes.iter().map(|remote| (*remote).into()).collect(),
        })
    };
    desk.live(deleted(&["a2"]));
    assert_eq!(
        desk.lines(),
        ["agent: one", "1 deleted", "agent: three", "agent: four"]
    );
    desk.live(deleted(&["a3", "a2", "unknown"]));
    assert_eq!(desk.lines(), ["agent: one", "2 deleted", "agent: four"]);
    assert_eq!(desk.stored("main"), desk.lines());
}

/// Stops the run on screen and gives the command that asked for it.
fn stop(desk: &mut Desk) -> CommandId {
    let effects = perform(&mut desk.state, desk.now, Action::StopRun);
    desk.finish(effects);
    desk.commands.last().unwrap().0
}

#[test]
fn a_stop_that_nobody_confirms_gives_the_composer_back() {
    let mut desk = Desk::new();
    desk.live(started("r1", None));
    let asked = stop(&mut desk);
    desk.outcome(asked, CommandOutcome::Done(Reply::Nothing));
    desk.send("waits for the end");
    desk.pass(9_999);
    assert_eq!(desk.queued(), ["waits for the end"]);
    desk.pass(1);
    assert_eq!(
        desk.here().run.as_ref().unwrap().phase,
        RunPhase::StopUnconfirmed
    );
    assert_eq!(desk.sent(), ["waits for the end"]);
    // It can be asked for again, and the end ends it as ever.
    stop(&mut desk);
    assert_eq!(
        desk.here().run.as_ref().unwrap().phase,
        RunPhase::Cancelling
    );
    desk.live(finished("r1", RunOutcome::Cancelled));
    assert!(desk.here().run.is_none());
}

#[test]
fn a_refused_stop_leaves_a_run_that_works_on() {
    let mut desk = Desk::new();
    desk.live(started("r1", None));
    let asked = stop(&mut desk);
    let refused = |code, text: &str| CommandOutcome::Refused(Refusal::new(code, text));
    desk.outcome(asked, refused(RefusalCode::Busy, "not now"));
    assert_eq!(desk.here().run.as_ref().unwrap().phase, RunPhase::Working);
    assert_eq!(desk.toasts(), ["The run was not stopped: not now"]);
    // A run that the server does not know: what there is, it says on opening.
    let asked = stop(&mut desk);
    desk.outcome(asked, refused(RefusalCode::NotFound, "no such run"));
    assert!(matches!(
        desk.commands.last(),
        Some((_, Command::Conversation(ConversationCommand::Open { .. })))
    ));
}

#[test]
fn a_run_of_a_snapshot_that_asks_waits_though_its_page_waits_for_an_older_one() {
    let mut desk = Desk::new();
    desk.live(upserted(said("m1", Author::User, "long ago")));
    let mut now = snapshot(vec![said("m9", Author::User, "go")]);
    now.page.older = Some("m9".into());
    now.run = Some(("r1".into(), None));
    now.draft = Some(IncomingMessage {
        run: Some("r1".into()),
        is_streaming: true,
        ..said("d1", Author::Assistant, "It is dangerous")
    });
    now.decisions = vec![approval("p1")];
    desk.topic(Provenance::Snapshot, shot(now));
    desk.topic(
        Provenance::Snapshot,
        Topic::Run(RunEvent::PhaseChanged {
            conversation: id("main"),
            run: "r1".into(),
            phase: RunPhase::WaitingForDecision,
        }),
    );
    let phase = |desk: &Desk| desk.here().run.as_ref().map(|run| run.phase.clone());
    assert_eq!(phase(&desk), Some(RunPhase::WaitingForDecision));
    // The older page closes the gap.
    let older = page(
        vec![
            said("m1", Author::User, "long ago"),
            said("m2", Author::Assistant, "an answer"),
        ],
        None,
    );
    desk.topic(
        Provenance::Snapshot,
        Topic::Timeline(TimelineEvent::Page(Box::new(HistoryPage {
            before: Some("m9".into()),
            ..older
        }))),
    );
    assert_eq!(phase(&desk), Some(RunPhase::WaitingForDecision));
}

#[test]
fn a_growing_answer_is_not_cut_by_a_snapshot_that_has_its_run_but_no_text() {
    let mut desk = Desk::new();
    desk.live(started("r1", None));
    desk.live(patched("d1", "half an ans"));
    let mut now = snapshot(vec![]);
    now.run = Some(("r1".into(), None));
    desk.topic(Provenance::Snapshot, shot(now));
    assert_eq!(desk.lines(), ["agent: half an ans …"]);
    desk.live(patched("d1", "half an answer"));
    desk.live(ended("d1", Some("half an answer.")));
    desk.live(finished("r1", RunOutcome::Completed));
    assert_eq!(desk.lines(), ["agent: half an answer."]);
}

#[test]
fn a_stop_before_the_run_has_begun_stops_it_as_it_begins() {
    let mut desk = Desk::new();
    desk.send("go");
    let command = desk.sending("go");
    desk.take_commands();
    let effects = perform(&mut desk.state, desk.now, Action::ClearOrStopOrQuit);
    desk.finish(effects);
    assert!(desk.take_commands().is_empty());
    assert_eq!(desk.toasts(), ["It is stopped as soon as it has begun."]);
    desk.live(started("r1", Some(command)));
    assert_eq!(
        desk.here().run.as_ref().unwrap().phase,
        RunPhase::Cancelling
    );
    let commands = desk.take_commands();
    assert!(
        matches!(
            commands.as_slice(),
            [Command::Chat(ChatCommand::CancelRun { run: Some(run), .. })] if run.as_str() == "r1"
        ),
        "{commands:?}"
    );
    // The next one is not stopped.
    desk.live(finished("r1", RunOutcome::Cancelled));
    desk.outcome(command, CommandOutcome::Done(Reply::Nothing));
    desk.send("again");
    let command = desk.sending("again");
    desk.live(started("r2", Some(command)));
    assert_eq!(desk.here().run.as_ref().unwrap().phase, RunPhase::Accepted);
}

#[test]
fn an_early_stop_is_not_for_the_run_of_somebody_else() {
    let mut desk = Desk::new();
    desk.send("go");
    let effects = perform(&mut desk.state, desk.now, Action::ClearOrStopOrQuit);
    desk.finish(effects);
    desk.live(started("r1", None));
    assert_eq!(desk.here().run.as_ref().unwrap().phase, RunPhase::Accepted);
}

#[test]
fn leaving_says_what_ends_with_the_program_and_writes_down_that_it_did() {
    use trialogue::app::event::Signal;
    use trialogue::app::{Action, Effect, Event, actions};
    let begun = |ends_with_us| {
        let mut desk = Desk::new();
        desk.state.accounts[0].ends_with_us = ends_with_us;
        desk.live(started("r1", None));
        desk.live(patched("m1", "half an ans"));
        desk.live(tool("c1", "Bash", ToolStatus::Running));
        desk.live(asked(approval("a1")));
        desk
    };
    let leaves = |desk: &mut Desk, action| {
        desk.effects.clear();
        let pressed = actions::perform(&mut desk.state, desk.now, action);
        let is_quit = |effect: &Effect| matches!(effect, Effect::Quit { .. });
        pressed.iter().any(is_quit)
    };
    // What goes on without us is left at once.
    assert!(leaves(&mut begun(false), Action::Quit));

    let mut desk = begun(true);
    assert!(!leaves(&mut desk, Action::QuitIfEmpty));
    assert_eq!(
        desk.toasts(),
        [
            "The agent is at work in main (work), and its runtime ends with this program. The \
             same again leaves all the same."
        ]
    );
    assert!(leaves(&mut desk, Action::QuitIfEmpty));

    // So does the other way to leave, from a conversation where nothing runs.
    let mut desk = begun(true);
    desk.focus("side");
    assert!(!leaves(&mut desk, Action::ClearOrStopOrQuit));
    let words = "Press Ctrl+C again to quit; the agent at work in main (work) ends with it.";
    assert_eq!(desk.toasts(), [words]);
    assert!(leaves(&mut desk, Action::ClearOrStopOrQuit));

    // A signal does not ask.
    for ends_with_us in [true, false] {
        let mut desk = begun(ends_with_us);
        desk.event(Event::Signal(Signal::Terminate));
        let has_ended = desk
            .stored("main")
            .iter()
            .any(|line| line == "run cancelled");
        assert_eq!(has_ended, ends_with_us, "{:#?}", desk.stored("main"));
        let is_open = desk.work().decisions[0].life.is_open();
        assert_eq!(is_open, !ends_with_us);
        let tool = desk.here().timeline.all().any(|entry| {
            matches!(&entry.body, EntryBody::Tool(tool) if tool.status == ToolStatus::Running)
        });
        assert_eq!(tool, !ends_with_us);
    }
}

#[test]
fn a_call_that_ends_after_a_restart_is_one_with_what_was_seen_of_it_before() {
    for is_open in [true, false] {
        let mut desk = Desk::new();
        desk.live(started("r1", None));
        let mut call = ToolCall::new("turn/1".into(), SafeText::label("terminal"));
        call.preview = SafeText::label("make all");
        desk.live(Topic::Run(RunEvent::ToolChanged {
            conversation: id("main"),
            tool: Box::new(call),
        }));
        if !is_open {
            desk.focus("side");
        }
        let mut desk = Desk::on(desk.store.clone(), 2);
        desk.connect();
        let rekeyed = RunEvent::ToolRekeyed {
            conversation: id("main"),
            from: "turn/1".into(),
            to: "u1/0/terminal".into(),
        };
        let mut ended = ToolCall::new("u1/0/terminal".into(), SafeText::label("terminal"));
        ended.status = ToolStatus::Failed;
        let missed = RunEvent::ToolMissed {
            conversation: id("main"),
            tool: Box::new(ended),
            after: None,
            at_ms: None,
        };
        for event in [rekeyed, missed] {
            let provenance = Provenance::Replayed {
                cursor: "8".into(),
                was_announced: false,
            };
            desk.topic(provenance, Topic::Run(event));
        }
        assert_eq!(desk.stored("main"), ["tool terminal failed"]);
        desk.focus("main");
        assert_eq!(desk.lines(), ["tool terminal failed"]);
        let kept = desk
            .here()
            .timeline
            .all()
            .find_map(|entry| match &entry.body {
                EntryBody::Tool(call) => Some(call.preview.as_str().to_owned()),
                _ => None,
            });
        assert_eq!(kept.as_deref(), Some("make all"), "open: {is_open}");
    }
}

#[test]
fn a_call_of_an_earlier_start_that_is_lost_ends_unless_it_has_ended() {
    for (status, wanted) in [
        (ToolStatus::Running, "tool terminal cancelled"),
        (ToolStatus::Completed, "tool terminal completed"),
    ] {
        let mut desk = Desk::new();
        desk.live(tool("turn/1", "terminal", status));
        desk.focus("side");
        let mut desk = Desk::on(desk.store.clone(), 2);
        desk.connect();
        desk.live(Topic::Run(RunEvent::ToolLost {
            conversation: id("main"),
            tool: "turn/1".into(),
        }));
        assert_eq!(desk.stored("main"), [wanted]);
        desk.focus("main");
        assert_eq!(desk.lines(), [wanted]);
    }
}
