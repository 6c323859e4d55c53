//! Starting, leaving, and what another run of the program left behind.

use crate::desk::*;
use trialogue::app::event::Signal;
use trialogue::app::state::{AccountState, Ids};
use trialogue::app::{Effect, Event};
use trialogue::domain::*;
use trialogue::text::SafeText;

#[test]
fn the_last_conversation_is_on_screen_before_any_network() {
    let mut desk = Desk::new();
    desk.focus("side");
    desk.live(upserted_in("side", said("m1", Author::Assistant, "hello")));
    let desk = Desk::on(desk.store.clone(), 2);
    assert_eq!(desk.state.focus, Some((account_id(), id("side"))));
    assert_eq!(desk.lines(), ["agent: hello"]);
    assert!(desk.commands.is_empty());
}

#[test]
fn the_first_account_is_waited_for_though_a_later_one_is_quicker() {
    let (store, _) = trialogue::store::memory().unwrap();
    let mut desk = Desk::on(store, 1);
    let slow = AccountState::new("slow".into(), SafeText::label("slow"));
    desk.state.accounts.insert(0, slow);
    desk.state.accounts[0].account.link = LinkState::Connecting;
    desk.connect();
    desk.live(Topic::Directory(DirectoryEvent::Replaced(vec![(
        id("main"),
        ConversationInfo::default(),
    )])));
    assert_eq!(desk.state.focus, None);
    let refused = LinkState::Refused {
        reason: SafeText::label("wrong secret"),
    };
    desk.event(Event::Account {
        account: "slow".into(),
        event: Box::new(AccountEvent {
            provenance: Provenance::Live,
            topic: Topic::Link(LinkEvent::Changed(refused)),
        }),
    });
    assert_eq!(desk.state.focus, Some((account_id(), id("main"))));
}

#[test]
fn a_draft_is_written_within_a_second_and_comes_back() {
    let mut desk = Desk::new();
    desk.here_mut().composer.insert("half a thought");
    desk.event(Event::Terminal(trialogue::input::TerminalEvent::Focus(
        true,
    )));
    desk.pass(1000);
    let desk = Desk::on(desk.store.clone(), 2);
    assert_eq!(desk.here().composer.text(), "half a thought");
}

#[test]
fn a_draft_is_written_when_the_conversation_is_left_and_when_the_program_ends() {
    let mut desk = Desk::new();
    desk.here_mut().composer.insert("for main");
    desk.focus("side");
    desk.here_mut().composer.insert("for side");
    desk.event(Event::Signal(Signal::Terminate));
    assert!(matches!(
        desk.effects.last(),
        Some(Effect::Quit { code: 143 })
    ));
    let mut desk = Desk::on(desk.store.clone(), 2);
    assert_eq!(desk.here().composer.text(), "for side");
    desk.focus("main");
    assert_eq!(desk.here().composer.text(), "for main");
}

#[test]
fn what_was_in_flight_when_the_program_died_is_uncertain_and_what_waited_still_waits() {
    let mut desk = Desk::new();
    desk.send("sent?");
    desk.live(started("r1", None));
    desk.send("waiting");
    let mut later = Desk::on(desk.store.clone(), 2);
    later.now = START.after(std::time::Duration::from_secs(200));
    let deliveries = |desk: &Desk| -> Vec<(String, Delivery)> {
        desk.work()
            .outbox
            .iter()
            .map(|row| (row.text.clone(), row.delivery.clone()))
            .collect()
    };
    assert_eq!(
        deliveries(&later),
        [
            ("sent?".to_owned(), Delivery::Uncertain),
            ("waiting".to_owned(), Delivery::Queued)
        ]
    );
    later.connect();
    assert!(later.sent().is_empty());
    // When nobody can be about to send it any more, it is ours.
    later.pass(1);
    let open = later.commands[0].0;
    later.outcome(open, CommandOutcome::Done(Reply::Nothing));
    assert_eq!(later.sent(), ["waiting"]);
}

#[test]
fn after_a_reconnect_what_is_shown_is_opened_again_and_so_is_what_was_under_way() {
    let mut desk = Desk::new();
    desk.focus("side");
    desk.live(started("r1", None));
    desk.disconnect();
    desk.commands.clear();
    desk.connect();
    let opened: Vec<ConversationId> = desk
        .take_commands()
        .into_iter()
        .filter_map(|command| match command {
            Command::Conversation(ConversationCommand::Open { conversation }) => Some(conversation),
            _ => None,
        })
        .collect();
    assert_eq!(opened, [id("side"), id("main")]);
}

#[test]
fn a_conversation_that_is_deleted_while_open_is_left() {
    let mut desk = Desk::new();
    desk.focus("side");
    desk.live(Topic::Directory(DirectoryEvent::Removed {
        conversation: id("side"),
    }));
    assert_eq!(desk.state.focus, Some((account_id(), id("main"))));
    assert_eq!(desk.toasts(), ["side was deleted."]);
    desk.live(Topic::Directory(DirectoryEvent::Replaced(Vec::new())));
    assert_eq!(desk.state.focus, None);
}

#[test]
fn threads_go_with_their_channel() {
    let mut desk = Desk::new();
    desk.live(Topic::Directory(DirectoryEvent::Upserted {
        conversation: id("thread"),
        info: ConversationInfo {
            parent: Some(id("side")),
            ..ConversationInfo::default()
        },
    }));
    desk.live(Topic::Directory(DirectoryEvent::Removed {
        conversation: id("side"),
    }));
    let left: Vec<_> = desk.work().conversations.keys().cloned().collect();
    assert_eq!(left, [id("main")]);
}

#[test]
fn an_uncertain_answer_of_an_earlier_run_is_settled_by_the_snapshot() {
    let mut desk = Desk::new();
    desk.live(asked(approval("a1")));
    let effects = trialogue::app::decisions::answer(
        &mut desk.state,
        desk.now,
        &account_id(),
        &"a1".into(),
        Answer::Text("yes".to_owned()),
    );
    desk.finish(effects);
    let mut desk = Desk::on(desk.store.clone(), 2);
    assert_eq!(desk.work().unproven.len(), 1);
    desk.connect();
    let mut listed = snapshot(Vec::new());
    listed.decisions.push(approval("a1"));
    desk.topic(Provenance::Snapshot, shot(listed));
    assert!(desk.work().unproven.is_empty());
    assert!(desk.work().decisions[0].life.is_open());
    let desk = Desk::on(desk.store.clone(), 3);
    assert!(desk.work().unproven.is_empty());
}

#[test]
fn what_was_under_way_in_an_earlier_run_of_the_program_is_shown_as_it_stands_now() {
    let mut desk = Desk::new();
    desk.send("sent?");
    desk.live(started("r1", None));
    desk.live(patched("d1", "half an ans"));
    let mut desk = Desk::on(desk.store.clone(), 2);
    assert_eq!(
        desk.lines(),
        ["you: sent? [uncertain]", "agent: half an ans (cut)"]
    );
    desk.connect();
    // The run goes on, and its text with it.
    let mut after = snapshot(vec![said("m1", Author::User, "sent?")]);
    after.run = Some(("r1".into(), None));
    after.draft = Some(IncomingMessage {
        is_streaming: true,
        ..said("d1", Author::Assistant, "half an ans")
    });
    desk.topic(Provenance::Snapshot, shot(after));
    assert_eq!(
        desk.lines(),
        ["you: sent? [accepted]", "agent: half an ans …"]
    );
}

#[test]
fn a_store_that_cannot_be_read_does_not_keep_anybody_waiting() {
    let mut desk = Desk::new();
    desk.focus("side");
    for lookup in [
        Lookup::Start,
        Lookup::Window {
            account: account_id(),
            conversation: id("side"),
            around: Place::Newest,
            before: 200,
            after: 0,
        },
    ] {
        desk.state.is_loading = true;
        desk.here_mut().timeline.is_loaded = false;
        desk.event(Event::Store(
            trialogue::app::event::StoreReply::LookupFailed {
                lookup: Box::new(lookup),
                reason: "it is broken".into(),
            },
        ));
    }
    assert!(desk.here().timeline.is_loaded);
    desk.live(upserted_in("side", said("m1", Author::Assistant, "hello")));
    assert_eq!(desk.lines(), ["agent: hello"]);
}

#[test]
fn a_message_that_another_run_sent_meanwhile_is_not_waited_for() {
    let mut one = Desk::new();
    one.live(started("r1", None));
    one.send("theirs");
    let mut two = Desk::on(one.store.clone(), 2);
    assert_eq!(two.queued(), ["theirs"]);
    let key = one.work().outbox[0].key;
    one.store
        .commit_now(vec![Write::OutboxGone { key }], Durability::Full)
        .unwrap();
    two.pass(121_000);
    assert!(two.queued().is_empty());
}

#[test]
fn a_slow_store_is_asked_once_for_what_another_run_left() {
    let mut one = Desk::new();
    one.live(started("r1", None));
    one.send("theirs");
    let mut two = Desk::on(one.store.clone(), 2);
    two.now = START.after(std::time::Duration::from_secs(121));
    let asks = |desk: &mut Desk| {
        trialogue::app::update::update(&mut desk.state, desk.now, Event::Deadline)
            .contains(&Effect::Look(Lookup::Start))
    };
    assert!(asks(&mut two));
    assert!(!asks(&mut two));
}

#[test]
fn a_message_that_arrived_does_not_come_back_from_an_old_look_into_the_store() {
    let mut desk = Desk::new();
    desk.send("hello");
    let old = desk.store.look_now(Lookup::Start).unwrap();
    let command = desk.sending("hello");
    desk.outcome(command, CommandOutcome::Done(Reply::Nothing));
    assert!(desk.work().outbox.is_empty());
    desk.event(Event::Store(trialogue::app::event::StoreReply::Found(old)));
    assert!(desk.work().outbox.is_empty());
}

#[test]
fn a_message_that_arrived_while_the_disk_was_full_does_not_come_back_from_it() {
    let mut one = Desk::new();
    one.live(started("r1", None));
    one.send("theirs");
    let mut two = Desk::on(one.store.clone(), 2);
    two.store_is_full = true;
    two.now = START.after(std::time::Duration::from_secs(121));
    // The disk says that another run may still send it, and goes on saying so.
    let old = two.store.look_now(Lookup::Start).unwrap();
    two.event(Event::Store(trialogue::app::event::StoreReply::Found(
        old.clone(),
    )));
    assert_eq!(two.work().outbox.len(), 1);
    assert_eq!(two.work().outbox[0].instance, two.state.ids.instance);
    assert!(two.state.store_fails);
    two.state.accounts[0].outbox.clear();
    two.event(Event::Store(trialogue::app::event::StoreReply::Found(old)));
    assert!(two.work().outbox.is_empty());
}

#[test]
fn a_draft_is_written_in_time_when_another_alarm_was_due_at_that_moment() {
    let mut desk = Desk::new();
    desk.live(started("r1", None));
    let due = desk.state.wake.unwrap();
    // A key comes at the very moment at which the shell is about to ring for the spinner.
    desk.now = due;
    desk.event(Event::Terminal(trialogue::input::TerminalEvent::Paste(
        "half a thought".to_owned(),
    )));
    desk.live(finished("r1", RunOutcome::Completed));
    desk.event(Event::Deadline);
    let next = trialogue::app::update::flush(&mut desk.state);
    let _ = next;
    let wake = desk.state.wake.unwrap();
    assert!(wake.mono_ms > due.mono_ms);
    desk.now = wake;
    desk.event(Event::Deadline);
    let desk = Desk::on(desk.store.clone(), 2);
    assert_eq!(desk.here().composer.text(), "half a thought");
}

#[test]
fn what_another_screen_left_in_the_queue_is_ours_at_once_and_a_command_may_still_send_its_own() {
    let instance = |is_screen| Ids::from_random(0x1234_5678_9abc_def0, is_screen).instance;
    assert!(Ids::is_screen(instance(true)) && !Ids::is_screen(instance(false)));
    for is_screen in [true, false] {
        let mut desk = Desk::new();
        desk.disconnect();
        desk.state.ids.instance = instance(is_screen);
        desk.send("written offline");
        let mut later = Desk::on(desk.store.clone(), 2);
        later.connect();
        let open = later.commands[0].0;
        later.outcome(open, CommandOutcome::Done(Reply::Nothing));
        assert_eq!(later.sent().len(), usize::from(is_screen));
        later.pass(120_001);
        assert_eq!(later.sent(), ["written offline"]);
    }
}

#[test]
fn a_screen_that_only_reads_leaves_the_messages_of_the_other_one_alone() {
    let mut desk = Desk::new();
    desk.send("in flight");
    desk.live(started("r1", None));
    desk.send("queued");
    let (empty, _) = trialogue::store::memory().unwrap();
    let mut reader = Desk::on(empty, 2);
    reader.store = desk.store.clone();
    reader.state.read_only = Some("another screen writes".into());
    let found = reader.store.look_now(Lookup::Start).unwrap();
    reader.event(Event::Store(trialogue::app::event::StoreReply::Found(
        found,
    )));
    let deliveries: Vec<&Delivery> = reader
        .work()
        .outbox
        .iter()
        .map(|row| &row.delivery)
        .collect();
    assert_eq!(deliveries, [&Delivery::InFlight, &Delivery::Queued]);
    reader.pass(200_000);
    reader.connect();
    assert!(reader.sent().is_empty());
}

#[test]
fn nothing_leaves_from_a_screen_that_only_reads() {
    use trialogue::app::{Action, actions, decisions, screen};
    let mut desk = Desk::new();
    desk.live(started("r1", None));
    desk.state.only_reads = true;
    desk.state.read_only = Some("another trialogue is open on this profile (process 7)".into());
    desk.live(asked(approval("a1")));
    let before = desk.lines();
    let why = "Nothing leaves from this screen: another trialogue is open on this profile \
               (process 7). Answer and write there, or close that one and start this one again.";
    let (account, now) = (account_id(), desk.now);

    desk.here_mut().composer.insert("/approve");
    let effects = actions::perform(&mut desk.state, now, Action::Send);
    desk.finish(effects);
    assert_eq!(desk.here().composer.text(), "/approve");
    assert_eq!(desk.toasts(), [why]);

    let once = Answer::Choice {
        value: "once".to_owned(),
        reason: None,
    };
    let effects = decisions::answer(&mut desk.state, now, &account, &"a1".into(), once);
    desk.finish(effects);
    let effects = screen::decision::open(&mut desk.state, now, &account, &"a1".into());
    desk.finish(effects);
    assert!(desk.state.screen.overlays.is_empty());
    for action in [
        Action::SendNow,
        Action::HoldSend,
        Action::OpenDecision,
        Action::NewConversation,
        Action::RenameConversation,
        Action::ToggleFavorite,
        Action::SignIn,
        Action::AttachFile,
        Action::StopRun,
    ] {
        let effects = actions::perform(&mut desk.state, now, action);
        desk.finish(effects);
    }
    assert!(desk.commands.is_empty(), "{:?}", desk.commands);
    assert!(desk.state.screen.overlays.is_empty());
    assert_eq!(desk.work().decisions[0].life, DecisionLife::Open);
    assert_eq!(desk.lines(), before);
    // Reading goes on: what is older is asked for, and what is found is opened.
    let effects = actions::perform(&mut desk.state, now, Action::RefreshDirectory);
    desk.finish(effects);
    assert_eq!(desk.commands.len(), 1);
    let effects = actions::perform(&mut desk.state, now, Action::SearchEverywhere);
    desk.finish(effects);
    assert_eq!(desk.state.screen.overlays.len(), 1);
}
