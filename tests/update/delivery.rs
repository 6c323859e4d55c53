//! Messages on their way out.

use crate::desk::*;
use trialogue::app::event::Signal;
use trialogue::app::outbox::{self, SendMode};
use trialogue::app::{Effect, Event};
use trialogue::domain::*;

fn done() -> CommandOutcome {
    CommandOutcome::Done(Reply::Nothing)
}

fn refused(code: RefusalCode, text: &str) -> CommandOutcome {
    CommandOutcome::Refused(Refusal::new(code, text))
}

#[test]
fn a_message_is_on_disk_as_in_flight_before_its_command_leaves() {
    let mut desk = Desk::new();
    desk.here_mut().composer.insert("hello");
    let effects = outbox::send(
        &mut desk.state,
        desk.now,
        &account_id(),
        &id("main"),
        SendMode::Ordinary,
    );
    let [
        Effect::Commit {
            writes,
            durability,
            then,
        },
    ] = effects.as_slice()
    else {
        panic!("{effects:?}");
    };
    assert_eq!(*durability, Durability::Full);
    assert!(
        writes
            .iter()
            .any(|write| matches!(write, Write::Outbox(row) if row.delivery == Delivery::InFlight))
    );
    assert!(
        writes
            .iter()
            .any(|write| matches!(write, Write::Draft { draft: None, .. }))
    );
    assert!(matches!(then.as_slice(), [Effect::Command { .. }]));
}

#[test]
fn the_servers_yes_makes_it_accepted_and_empties_the_outbox() {
    let mut desk = Desk::new();
    desk.send("hello");
    assert_eq!(desk.lines(), ["you: hello [in flight]"]);
    let command = desk.sending("hello");
    desk.outcome(command, done());
    assert_eq!(desk.lines(), ["you: hello [accepted]"]);
    assert!(desk.work().outbox.is_empty());
    assert_eq!(desk.stored("main"), ["you: hello [accepted]"]);
}

#[test]
fn an_echo_by_any_reading_stays_one_bubble() {
    // With our command, with the remote id from the acknowledgement, by text alone, before and
    // after the outcome.
    let echo = |command| IncomingMessage {
        command,
        ..said("m1", Author::User, "hello")
    };
    for order in 0..4 {
        let mut desk = Desk::new();
        desk.send("hello");
        let command = desk.sending("hello");
        let acknowledged = Topic::Timeline(TimelineEvent::Acknowledged {
            conversation: id("main"),
            command,
            remote: Some("m1".into()),
        });
        match order {
            0 => {
                desk.live(upserted(echo(Some(command))));
                desk.outcome(command, done());
            }
            1 => {
                desk.outcome(command, done());
                desk.live(acknowledged);
                desk.live(upserted(echo(None)));
            }
            2 => {
                desk.live(upserted(echo(None)));
                desk.live(acknowledged);
                desk.outcome(command, done());
            }
            _ => {
                desk.live(upserted(echo(None)));
                desk.live(upserted(echo(None)));
                desk.outcome(command, done());
            }
        }
        assert_eq!(desk.lines(), ["you: hello [accepted]"], "order {order}");
        assert_eq!(
            desk.stored("main"),
            ["you: hello [accepted]"],
            "order {order}"
        );
        assert!(desk.work().outbox.is_empty());
    }
}

#[test]
fn the_same_text_twice_is_two_bubbles_each_with_its_echo() {
    let mut desk = Desk::new();
    desk.send("ok");
    let first = desk.sending("ok");
    desk.outcome(first, done());
    desk.send("ok");
    let second = desk.sending("ok");
    desk.outcome(second, done());
    desk.live(upserted(said("m1", Author::User, "ok")));
    desk.live(upserted(said("m2", Author::User, "ok")));
    assert_eq!(desk.lines(), ["you: ok [accepted]", "you: ok [accepted]"]);
}

#[test]
fn a_message_during_a_run_waits_and_goes_when_it_ends() {
    let mut desk = Desk::new();
    desk.live(started("r1", None));
    desk.send("later");
    assert_eq!(desk.queued(), ["later"]);
    assert!(desk.sent().is_empty());
    assert!(desk.lines().is_empty());
    desk.live(finished("r1", RunOutcome::Cancelled));
    assert_eq!(desk.sent(), ["later"]);
    assert_eq!(desk.lines(), ["run cancelled", "you: later [in flight]"]);
}

#[test]
fn queued_messages_go_one_by_one_in_order() {
    let mut desk = Desk::offline();
    desk.send("one");
    desk.send("two");
    assert_eq!(desk.queued(), ["one", "two"]);
    desk.connect();
    // The conversation is asked for first; its answer lets the queue go.
    assert!(desk.sent().is_empty());
    desk.topic(Provenance::Snapshot, shot(snapshot(Vec::new())));
    let (open, _) = desk.commands[0].clone();
    desk.outcome(open, done());
    assert_eq!(desk.sent(), ["one"]);
    let one = desk.sending("one");
    desk.outcome(one, done());
    assert_eq!(desk.sent(), ["one", "two"]);
}

#[test]
fn slash_commands_and_send_now_do_not_wait() {
    let mut desk = Desk::new();
    desk.live(started("r1", None));
    desk.send("/status");
    desk.send_as("now", SendMode::Now);
    assert_eq!(desk.sent(), ["/status", "now"]);
}

#[test]
fn a_server_that_queues_itself_gets_the_text_at_once_unless_it_is_held() {
    let mut desk = Desk::new();
    desk.state.accounts[0].account.capabilities.queues_messages = Support::Yes;
    desk.live(started("r1", None));
    desk.send("at once");
    assert_eq!(desk.sent(), ["at once"]);
    let first = desk.sending("at once");
    desk.outcome(first, done());
    desk.send_as("held", SendMode::Hold);
    assert_eq!(desk.queued(), ["held"]);
    desk.live(finished("r1", RunOutcome::Completed));
    assert_eq!(desk.sent(), ["at once", "held"]);
}

#[test]
fn a_text_refused_because_of_a_run_goes_back_to_the_head_and_leaves_after_it() {
    let mut desk = Desk::new();
    desk.send("first");
    desk.live(started("r9", None));
    desk.send("second");
    let first = desk.sending("first");
    desk.outcome(first, refused(RefusalCode::RunActive, "busy"));
    assert_eq!(desk.queued(), ["first", "second"]);
    assert!(desk.lines().is_empty());
    desk.live(finished("r9", RunOutcome::Completed));
    assert_eq!(desk.sent(), ["first", "first"]);
}

#[test]
fn a_server_that_asks_to_slow_down_gets_the_text_a_little_later_and_nothing_before_it() {
    let slow = || refused(RefusalCode::RateLimited, "slow down");
    let mut desk = Desk::new();
    desk.send("first");
    desk.send("second");
    let first = desk.sending("first");
    desk.outcome(first, slow());
    assert_eq!(desk.queued(), ["first", "second"]);
    assert!(
        desk.toasts()
            .contains(&"The server asks to slow down. Your message waits and goes in 5 s.")
    );
    desk.send("third");
    desk.pass(4_999);
    assert_eq!(desk.sent(), ["first"]);
    desk.pass(1);
    assert_eq!(desk.sent(), ["first", "first"]);
    let first = desk.sending("first");
    desk.outcome(first, done());
    assert_eq!(desk.sent(), ["first", "first", "second"]);
}

#[test]
fn a_server_that_asks_to_slow_down_for_ever_fails_the_text() {
    let mut desk = Desk::new();
    desk.send("again");
    for ms in [5_000, 10_000, 20_000, 40_000] {
        let command = desk.sending("again");
        desk.outcome(command, refused(RefusalCode::RateLimited, "slow down"));
        desk.pass(ms);
    }
    assert_eq!(desk.sent().len(), 5);
    let last = desk.sending("again");
    desk.outcome(last, refused(RefusalCode::RateLimited, "slow down"));
    desk.pass(600_000);
    assert_eq!(desk.sent().len(), 5);
    assert_eq!(desk.lines(), ["you: again [failed: slow down]"]);
}

#[test]
fn after_work_of_the_servers_own_the_refused_text_waits_for_the_person() {
    let mut desk = Desk::new();
    desk.disconnect();
    desk.connect();
    desk.commands.clear();
    // It comes so soon after the reconnect, and nobody asked for it.
    desk.live(started("resumed", None));
    desk.send_as("mine", SendMode::Now);
    let mine = desk.sending("mine");
    desk.outcome(mine, refused(RefusalCode::RunActive, "busy"));
    desk.live(finished("resumed", RunOutcome::Completed));
    assert_eq!(desk.queued(), ["mine"]);
    let key = desk.work().outbox[0].key;
    let effects = outbox::send_now(&mut desk.state, desk.now, &account_id(), key);
    desk.finish(effects);
    assert_eq!(desk.sent(), ["mine", "mine"]);
}

#[test]
fn a_lost_link_makes_it_uncertain_and_nothing_sends_it_again_by_itself() {
    let mut desk = Desk::new();
    desk.send("hello");
    let command = desk.sending("hello");
    desk.disconnect();
    desk.outcome(command, CommandOutcome::LinkLost);
    assert_eq!(desk.lines(), ["you: hello [uncertain]"]);
    desk.commands.clear();
    desk.connect();
    desk.pass(600_000);
    assert!(desk.sent().is_empty());
    assert_eq!(desk.stored("main"), ["you: hello [uncertain]"]);
}

#[test]
fn history_proves_an_uncertain_message() {
    let mut desk = Desk::new();
    desk.send("hello");
    let command = desk.sending("hello");
    desk.disconnect();
    desk.outcome(command, CommandOutcome::LinkLost);
    desk.connect();
    desk.topic(
        Provenance::Snapshot,
        shot(snapshot(vec![
            said("h1", Author::User, "hello"),
            said("h2", Author::Assistant, "hi"),
        ])),
    );
    assert_eq!(desk.lines(), ["you: hello [accepted]", "agent: hi"]);
    assert!(desk.work().outbox.is_empty());
}

#[test]
fn history_without_it_leaves_it_to_the_person() {
    let mut desk = Desk::new();
    desk.send("hello");
    let command = desk.sending("hello");
    desk.disconnect();
    desk.outcome(command, CommandOutcome::LinkLost);
    desk.connect();
    desk.commands.clear();
    desk.topic(Provenance::Snapshot, shot(snapshot(Vec::new())));
    assert_eq!(desk.lines(), ["you: hello [uncertain]"]);
    assert!(desk.sent().is_empty());
    let key = desk.work().outbox[0].key;
    let effects = outbox::resend(&mut desk.state, desk.now, &account_id(), key);
    desk.finish(effects);
    // The open command is still without an outcome here, so it goes right away or in its turn.
    assert_eq!(desk.sent(), ["hello"]);
    assert_eq!(desk.lines(), ["you: hello [in flight]"]);
}

#[test]
fn what_was_never_sent_goes_back_into_the_queue() {
    let mut desk = Desk::new();
    desk.send("hello");
    let command = desk.sending("hello");
    desk.disconnect();
    desk.outcome(command, CommandOutcome::NotSent);
    assert!(desk.lines().is_empty());
    assert_eq!(desk.queued(), ["hello"]);
    assert!(desk.stored("main").is_empty());
}

#[test]
fn a_refusal_keeps_the_text_and_says_why() {
    let mut desk = Desk::new();
    desk.send("hello");
    let command = desk.sending("hello");
    desk.outcome(command, refused(RefusalCode::BadRequest, "no such thing"));
    assert_eq!(desk.lines(), ["you: hello [failed: no such thing]"]);
    assert!(desk.toasts()[0].contains("no such thing"));
    let key = desk.work().outbox[0].key;
    let effects = outbox::take_back(&mut desk.state, desk.now, &account_id(), key);
    desk.finish(effects);
    assert_eq!(desk.here().composer.text(), "hello");
    assert!(desk.lines().is_empty());
    assert!(desk.work().outbox.is_empty());
}

#[test]
fn taking_back_does_not_overwrite_what_is_being_typed() {
    let mut desk = Desk::offline();
    desk.send("first");
    desk.here_mut().composer.insert("second");
    let key = desk.work().outbox[0].key;
    let effects = outbox::take_back(&mut desk.state, desk.now, &account_id(), key);
    desk.finish(effects);
    assert_eq!(desk.here().composer.text(), "first\nsecond");
}

#[test]
fn a_proof_that_comes_before_the_outcome_is_not_undone_by_it() {
    for outcome in [
        CommandOutcome::LinkLost,
        CommandOutcome::NotSent,
        refused(RefusalCode::ServerFailed, "late"),
    ] {
        let mut desk = Desk::new();
        desk.send("hello");
        let command = desk.sending("hello");
        desk.live(upserted(said("m1", Author::User, "hello")));
        desk.outcome(command, outcome);
        assert_eq!(desk.lines(), ["you: hello [accepted]"]);
        assert!(desk.work().outbox.is_empty());
    }
}

#[test]
fn limits_are_checked_before_anything_leaves_and_keep_the_draft() {
    let mut desk = Desk::new();
    let long = "x".repeat(101);
    desk.send(&long);
    assert!(desk.commands.is_empty());
    assert_eq!(desk.here().composer.text(), long);
    assert!(desk.toasts()[0].contains("1 characters over the limit of 100"));
    desk.here_mut().composer.take();
    desk.send("  \n ");
    assert!(desk.commands.is_empty());
    desk.here_mut().info.is_automation = true;
    desk.send("hello");
    assert!(desk.commands.is_empty());
}

#[test]
fn a_receipt_marks_it_read_even_when_it_comes_before_the_echo() {
    let mut desk = Desk::new();
    desk.send("hello");
    let command = desk.sending("hello");
    desk.live(Topic::Timeline(TimelineEvent::WasRead {
        conversation: id("main"),
        remote: Some("m1".into()),
        command: None,
    }));
    desk.live(upserted(said("m1", Author::User, "hello")));
    desk.outcome(command, done());
    assert_eq!(desk.lines(), ["you: hello [read]"]);
}

#[test]
fn an_uploaded_file_is_not_uploaded_again() {
    let mut desk = Desk::new();
    attach(&mut desk, "notes.md", 10);
    desk.send("see file");
    let files = |desk: &Desk| match &desk.commands.last().unwrap().1 {
        Command::Chat(ChatCommand::Send { files, .. }) => files.clone(),
        other => panic!("{other:?}"),
    };
    let first = files(&desk);
    assert!(matches!(
        desk.effects.last(),
        Some(Effect::OpenTransfer { transfer, .. }) if *transfer == first[0].transfer
    ));
    let command = desk.sending("see file");
    desk.outcome(
        command,
        CommandOutcome::Done(Reply::Uploaded {
            transfer: first[0].transfer,
            attachment: "up1".into(),
        }),
    );
    desk.outcome(command, refused(RefusalCode::ServerFailed, "try again"));
    desk.effects.clear();
    let key = desk.work().outbox[0].key;
    let effects = outbox::resend(&mut desk.state, desk.now, &account_id(), key);
    desk.finish(effects);
    assert_eq!(files(&desk)[0].uploaded, Some("up1".into()));
    assert!(desk.effects.is_empty());
}

#[test]
fn too_many_or_too_large_files_are_refused_here() {
    let mut desk = Desk::new();
    for name in ["a", "b", "c"] {
        attach(&mut desk, name, 10);
    }
    desk.send("three");
    assert!(desk.toasts()[0].contains("At most 2 files"));
    desk.here_mut().composer.files.clear();
    attach(&mut desk, "large", 1001);
    desk.send("");
    assert!(desk.commands.is_empty());
}

#[test]
fn without_a_store_the_text_waits_until_the_person_sends_it_anyway() {
    let mut desk = Desk::new();
    desk.store_is_full = true;
    desk.send("hello");
    assert!(desk.sent().is_empty());
    assert_eq!(desk.queued(), ["hello"]);
    assert!(
        desk.toasts()
            .iter()
            .any(|toast| toast.contains("the disk is full"))
    );
    let key = desk.work().outbox[0].key;
    let effects = outbox::send_now(&mut desk.state, desk.now, &account_id(), key);
    desk.finish(effects);
    assert_eq!(desk.sent(), ["hello"]);
}

#[test]
fn the_queue_can_be_reordered() {
    let mut desk = Desk::offline();
    desk.send("one");
    desk.send("two");
    desk.send("three");
    let key = desk.work().outbox[2].key;
    let effects = outbox::move_up(&mut desk.state, desk.now, &account_id(), key);
    desk.finish(effects);
    assert_eq!(desk.queued(), ["one", "three", "two"]);
    let effects = outbox::move_down(&mut desk.state, desk.now, &account_id(), key);
    desk.finish(effects);
    assert_eq!(desk.queued(), ["one", "two", "three"]);
}

#[test]
fn two_slashes_send_one_as_text() {
    let mut desk = Desk::new();
    desk.send("//etc/hosts");
    assert_eq!(desk.sent(), ["/etc/hosts"]);
}

pub fn attach(desk: &mut Desk, name: &str, size: u64) {
    let file = trialogue::app::screen::composer::DraftFile {
        path: format!("/tmp/{name}").into(),
        facts: Some(trialogue::app::event::FileFacts {
            path: format!("/tmp/{name}").into(),
            name: name.to_owned(),
            size,
            media_type: "text/plain".to_owned(),
            kind: AttachmentKind::Document,
        }),
    };
    desk.here_mut().composer.files.push(file);
}

#[test]
fn a_message_that_opened_a_thread_stands_there_and_the_person_goes_along() {
    let mut desk = Desk::new();
    desk.send("a topic of its own");
    let command = desk.sending("a topic of its own");
    let mut echo = said("u1", Author::User, "a topic of its own");
    echo.command = Some(command);
    desk.live(upserted_in("thread", echo));
    desk.outcome(command, CommandOutcome::Done(Reply::Created(id("thread"))));
    let shown = desk.state.focus.clone().unwrap();
    assert_eq!(shown.1, id("thread"));
    assert_eq!(desk.lines(), ["you: a topic of its own [accepted]"]);
    assert_eq!(desk.stored("thread"), desk.lines());
    assert!(desk.stored("main").is_empty());
    assert!(desk.work().outbox.is_empty());
}

#[test]
fn who_writes_on_stays_when_a_message_opens_a_thread() {
    let mut desk = Desk::new();
    desk.send("a topic of its own");
    let command = desk.sending("a topic of its own");
    desk.here_mut().composer.insert("and an");
    desk.outcome(command, CommandOutcome::Done(Reply::Created(id("thread"))));
    assert_eq!(desk.state.focus.clone().unwrap().1, id("main"));
    assert!(desk.lines().is_empty());
}

#[test]
fn nothing_leaves_by_itself_while_the_disk_is_full_and_all_goes_once_there_is_room() {
    let mut desk = Desk::offline();
    desk.send("waits for the line");
    assert_eq!(desk.queued(), ["waits for the line"]);
    desk.store_is_full = true;
    desk.here_mut().composer.insert("a draft");
    desk.event(Event::Signal(Signal::Terminate));
    assert!(desk.state.store_fails);
    desk.connect();
    for (command, _) in std::mem::take(&mut desk.commands) {
        desk.outcome(command, CommandOutcome::Done(Reply::Nothing));
    }
    assert!(desk.sent().is_empty());
    desk.store_is_full = false;
    desk.pass(5_000);
    assert!(!desk.state.store_fails);
    assert_eq!(desk.sent(), ["waits for the line"]);
}

#[test]
fn a_message_dropped_while_the_disk_is_full_does_not_come_back_with_the_window() {
    let mut desk = Desk::new();
    desk.send("not this one");
    let key = desk.work().outbox[0].key;
    let mut desk = Desk::on(desk.store.clone(), 2);
    // Its window is not in memory when it goes.
    desk.focus("side");
    desk.store_is_full = true;
    let effects = outbox::discard(&mut desk.state, desk.now, &account_id(), key);
    desk.finish(effects);
    desk.focus("main");
    assert!(desk.lines().is_empty(), "{:?}", desk.lines());
    assert_eq!(desk.stored("main").len(), 1, "the disk could not be told");
}

#[test]
fn a_message_that_went_back_into_the_queue_stays_in_sight_once_it_is_sent() {
    let mut desk = Desk::new();
    desk.send("hello");
    let command = desk.sending("hello");
    desk.outcome(command, refused(RefusalCode::RateLimited, "slow down"));
    desk.take_commands();
    desk.pass(5_000);
    let command = desk.sending("hello");
    desk.outcome(command, done());
    // The window is forgotten and read again.
    desk.here_mut().timeline.is_loaded = false;
    desk.here_mut().timeline.entries.clear();
    desk.focus("side");
    desk.focus("main");
    assert_eq!(desk.lines(), ["you: hello [accepted]"]);
}
