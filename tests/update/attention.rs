//! What rings, what counts, what is read.

use crate::desk::*;
use trialogue::app::effect::LinkChange;
use trialogue::app::event::StoreReply;
use trialogue::app::{Effect, Event};
use trialogue::domain::*;
use trialogue::input::{Chord, TerminalEvent};

fn agent(remote: &str, text: &str) -> IncomingMessage {
    said(remote, Author::Assistant, text)
}

fn rung(desk: &mut Desk) -> usize {
    let count = desk
        .effects
        .iter()
        .filter(|effect| matches!(effect, Effect::Notify { .. }))
        .count();
    desk.effects.clear();
    count
}

fn look_away(desk: &mut Desk) {
    desk.event(Event::Terminal(TerminalEvent::Focus(false)));
}

fn unread(desk: &Desk, conversation: &str) -> Unread {
    desk.work().conversations[&id(conversation)].unread.clone()
}

#[test]
fn a_new_message_elsewhere_counts_and_rings_once() {
    let mut desk = Desk::new();
    desk.live(upserted_in("side", agent("m1", "news")));
    assert_eq!(unread(&desk, "side"), Unread::Count(1));
    assert_eq!(rung(&mut desk), 1);
    desk.live(upserted_in("side", agent("m1", "news")));
    desk.topic(
        Provenance::Replayed {
            cursor: "1".into(),
            was_announced: true,
        },
        upserted_in("side", agent("m1", "news")),
    );
    assert_eq!(unread(&desk, "side"), Unread::Count(1));
    assert_eq!(rung(&mut desk), 0);
}

#[test]
fn what_is_on_screen_in_a_focused_terminal_does_not_ring_and_is_read() {
    let mut desk = Desk::new();
    desk.live(upserted(agent("m1", "news")));
    assert_eq!(rung(&mut desk), 0);
    assert_eq!(unread(&desk, "main"), Unread::None);
    desk.drawn(|_| {});
    look_away(&mut desk);
    desk.live(upserted(agent("m2", "more")));
    assert_eq!(rung(&mut desk), 1);
    assert_eq!(unread(&desk, "main"), Unread::Count(1));
    assert!(desk.here().unread_line.is_some());
    // Back again, with the end in sight: read.
    desk.event(Event::Terminal(TerminalEvent::Focus(true)));
    desk.drawn(|_| {});
    assert_eq!(unread(&desk, "main"), Unread::None);
}

#[test]
fn history_never_rings() {
    let mut desk = Desk::new();
    look_away(&mut desk);
    desk.topic(
        Provenance::Snapshot,
        shot(snapshot(vec![agent("m1", "old")])),
    );
    assert_eq!(rung(&mut desk), 0);
}

#[test]
fn a_replay_rings_once_for_all_that_was_missed() {
    let mut desk = Desk::new();
    look_away(&mut desk);
    for n in 0..3 {
        desk.topic(
            Provenance::Replayed {
                cursor: "1".into(),
                was_announced: false,
            },
            upserted_in("side", agent(&format!("m{n}"), "missed")),
        );
    }
    assert_eq!(rung(&mut desk), 0);
    desk.live(Topic::Sync(SyncEvent::Done));
    assert_eq!(rung(&mut desk), 1);
    assert_eq!(unread(&desk, "side"), Unread::Count(3));
}

fn replay(desk: &mut Desk, remotes: &[&str]) {
    for remote in remotes {
        desk.topic(
            Provenance::Replayed {
                cursor: "1".into(),
                was_announced: false,
            },
            upserted_in("side", agent(remote, "words")),
        );
    }
}

#[test]
fn what_an_earlier_run_of_the_program_had_is_not_told_as_missed() {
    let mut desk = Desk::new();
    desk.live(upserted_in("side", agent("m1", "words")));
    desk.live(upserted_in("side", agent("m2", "words")));
    // Quit and started again, where the server repeats what was already seen live.
    let mut desk = Desk::on(desk.store.clone(), 2);
    look_away(&mut desk);
    replay(&mut desk, &["m1", "m2"]);
    desk.live(Topic::Sync(SyncEvent::Done));
    assert_eq!(rung(&mut desk), 0);
    assert_eq!(desk.toasts(), Vec::<&str>::new());
    // Once more, and now there is something that was missed.
    let mut desk = Desk::on(desk.store.clone(), 3);
    look_away(&mut desk);
    replay(&mut desk, &["m1", "m2", "m3"]);
    desk.live(Topic::Sync(SyncEvent::Done));
    assert_eq!(rung(&mut desk), 1);
    assert_eq!(desk.toasts(), ["work: 1 new while away"]);
    // The next replay of the same says nothing.
    replay(&mut desk, &["m1", "m2", "m3"]);
    desk.live(Topic::Sync(SyncEvent::Done));
    assert_eq!(rung(&mut desk), 0);
}

#[test]
fn what_was_missed_is_told_when_the_store_has_all_of_it() {
    let mut desk = Desk::new();
    look_away(&mut desk);
    // The message and the end of its replay come in one batch.
    let missed = AccountEvent {
        provenance: Provenance::Replayed {
            cursor: "1".into(),
            was_announced: false,
        },
        topic: upserted_in("side", agent("m1", "words")),
    };
    let mut effects = Vec::new();
    for event in [missed, AccountEvent::live(Topic::Sync(SyncEvent::Done))] {
        effects.extend(trialogue::app::update::update(
            &mut desk.state,
            desk.now,
            Event::Account {
                account: account_id(),
                event: Box::new(event),
            },
        ));
    }
    assert!(effects.is_empty());
    assert_eq!(desk.toasts(), Vec::<&str>::new());
    // The disk is full at first; the store tells what it kept with its next answer.
    desk.store_is_full = true;
    desk.finish(effects);
    assert_eq!(rung(&mut desk), 0);
    desk.state.write(Write::Ui {
        name: "any".to_owned(),
        value: String::new(),
    });
    trialogue::app::update::flush(&mut desk.state);
    desk.event(Event::Store(StoreReply::Committed(vec![Committed {
        account: account_id(),
        conversation: id("side"),
        new_messages: vec!["m1".into()],
        unread: Unread::Count(1),
        newest_order: 1,
        last_activity_ms: 0,
    }])));
    assert_eq!(rung(&mut desk), 1);
    assert!(desk.toasts().contains(&"work: 1 new while away"));
}

#[test]
fn a_server_that_lost_its_state_is_told_of_and_what_was_read_stays() {
    let mut desk = Desk::new();
    desk.live(upserted_in("main", agent("m1", "kept")));
    let before = desk.lines();
    desk.live(Topic::Sync(SyncEvent::ServerLostState));
    assert!(
        desk.toasts()
            .iter()
            .any(|toast| toast.contains("began anew") && toast.contains("stays here"))
    );
    assert_eq!(desk.lines(), before);
}

/// What the sidebar knows: name, archived, kept here only.
fn known(desk: &Desk) -> Vec<(String, bool, bool)> {
    let of = desk.state.account(&account_id()).unwrap();
    let mut known: Vec<_> = of
        .conversations
        .iter()
        .map(|(id, here)| {
            let (is_archived, is_left) = (here.info.is_archived, here.settings.is_left);
            (id.as_str().to_owned(), is_archived, is_left)
        })
        .collect();
    known.sort();
    known
}

fn link(desk: &mut Desk, link: LinkState) {
    desk.live(Topic::Link(LinkEvent::Changed(link)));
}

fn named(desk: &mut Desk, names: &[&str]) {
    let list = names
        .iter()
        .map(|name| (id(name), ConversationInfo::default()))
        .collect();
    desk.live(Topic::Directory(DirectoryEvent::Replaced(list)));
}

#[test]
fn conversations_that_a_server_lost_with_its_state_stay_archived() {
    let mut desk = Desk::new();
    desk.live(upserted_in("side", agent("m1", "worth keeping")));
    link(&mut desk, LinkState::Syncing);
    named(&mut desk, &["main"]);
    desk.live(Topic::Sync(SyncEvent::ServerLostState));
    link(&mut desk, LinkState::Ready);
    let kept = [
        ("main".to_owned(), false, false),
        ("side".to_owned(), true, true),
    ];
    assert_eq!(known(&desk), kept);
    // The list that is loaded anew, later links and a new start change nothing of it.
    named(&mut desk, &["main"]);
    link(&mut desk, LinkState::Syncing);
    named(&mut desk, &["main"]);
    link(&mut desk, LinkState::Ready);
    assert_eq!(known(&desk), kept);
    let mut later = Desk::on(desk.store.clone(), 2);
    assert_eq!(known(&later), kept);
    // The server knows it again.
    named(&mut later, &["main", "side"]);
    assert_eq!(
        known(&later),
        [
            ("main".to_owned(), false, false),
            ("side".to_owned(), false, false)
        ]
    );
}

#[test]
fn a_conversation_that_was_deleted_while_away_goes_when_everything_missed_is_here() {
    let mut desk = Desk::new();
    link(&mut desk, LinkState::Syncing);
    named(&mut desk, &["main"]);
    link(&mut desk, LinkState::Ready);
    assert_eq!(known(&desk), [("main".to_owned(), false, false)]);
    assert_eq!(
        known(&Desk::on(desk.store.clone(), 2)),
        [("main".to_owned(), false, false)]
    );
}

#[test]
fn a_muted_conversation_is_silent() {
    let mut desk = Desk::new();
    desk.state
        .conversation_mut(&account_id(), &id("side"))
        .unwrap()
        .settings
        .is_muted = true;
    desk.live(upserted_in("side", agent("m1", "news")));
    assert_eq!(rung(&mut desk), 0);
}

#[test]
fn the_end_of_a_run_rings_and_not_each_of_its_messages() {
    let mut desk = Desk::new();
    look_away(&mut desk);
    desk.live(started("r1", None));
    desk.live(ended("d1", Some("first I look")));
    desk.live(ended("d2", Some("then I am done")));
    assert_eq!(rung(&mut desk), 0);
    desk.live(finished("r1", RunOutcome::Completed));
    assert_eq!(rung(&mut desk), 1);
}

#[test]
fn content_can_be_kept_out_of_notifications() {
    let mut desk = Desk::new();
    desk.state.settings.hide_content = true;
    desk.live(upserted_in("side", agent("m1", "the launch code is 0000")));
    assert!(desk.effects.iter().all(|effect| match effect {
        Effect::Notify { body, .. } => !body.as_str().contains("0000"),
        _ => true,
    }));
    assert_eq!(rung(&mut desk), 1);
}

#[test]
fn an_answer_that_was_read_while_it_grew_is_read_after_a_restart_too() {
    let mut desk = Desk::new();
    let ts = desk.now.wall_ms + 9_000;
    let mut answer = agent("m1", "gro");
    answer.is_streaming = true;
    desk.live(upserted(answer));
    desk.drawn(|_| {});
    desk.pass(9_000);
    let mut answer = agent("m1", "grown");
    answer.sent_at_ms = Some(ts);
    desk.live(upserted(answer));
    desk.live(Topic::Directory(DirectoryEvent::Touched {
        conversation: id("main"),
        at_ms: ts,
    }));
    desk.drawn(|_| {});
    desk.pass(60_000);
    assert_eq!(unread(&desk, "main"), Unread::None);
    let later = Desk::on(desk.store.clone(), 2);
    assert_eq!(unread(&later, "main"), Unread::None);
}

#[test]
fn later_activity_than_the_last_reading_is_a_dot() {
    let mut desk = Desk::new();
    let touched = Topic::Directory(DirectoryEvent::Touched {
        conversation: id("side"),
        at_ms: START.wall_ms + 1000,
    });
    desk.live(touched.clone());
    assert_eq!(unread(&desk, "side"), Unread::Some);
    desk.focus("side");
    desk.drawn(|_| {});
    assert_eq!(unread(&desk, "side"), Unread::None);
    desk.live(touched);
    assert_eq!(unread(&desk, "side"), Unread::None);
}

#[test]
fn a_cursor_is_written_in_the_same_transaction_as_the_messages_before_it() {
    let mut desk = Desk::new();
    let mut effects = Vec::new();
    for topic in [
        upserted_in("side", agent("m1", "missed")),
        Topic::Sync(SyncEvent::Kept {
            name: "cursor".to_owned(),
            value: Some("7".to_owned()),
        }),
    ] {
        effects.extend(trialogue::app::update::update(
            &mut desk.state,
            desk.now,
            Event::Account {
                account: account_id(),
                event: Box::new(AccountEvent::live(topic)),
            },
        ));
    }
    assert!(effects.is_empty());
    let flushed = trialogue::app::update::flush(&mut desk.state);
    let commits: Vec<_> = flushed
        .iter()
        .filter_map(|effect| match effect {
            Effect::Commit {
                writes, durability, ..
            } => Some((writes, durability)),
            _ => None,
        })
        .collect();
    let [(writes, Durability::Full)] = commits.as_slice() else {
        panic!("{commits:?}");
    };
    let place = |is_it: fn(&Write) -> bool| writes.iter().position(is_it).unwrap();
    assert!(
        place(|write| matches!(write, Write::Entry { .. }))
            < place(|write| matches!(write, Write::Fact { .. }))
    );
}

#[test]
fn an_idle_program_wants_nothing() {
    let mut desk = Desk::new();
    desk.live(Topic::Link(LinkEvent::Heard {
        latency_ms: Some(12),
    }));
    let effects = trialogue::app::update::flush(&mut desk.state);
    assert!(effects.is_empty(), "{effects:?}");
    assert_eq!(trialogue::app::deadlines::next(&desk.state), None);
}

#[test]
fn the_title_counts_what_waits_and_what_is_unread() {
    let mut desk = Desk::new();
    desk.live(upserted_in("side", agent("m1", "news")));
    desk.live(asked(approval("a1")));
    assert_eq!(
        trialogue::app::attention::title(&desk.state).as_str(),
        "!1 (1) main · work - trialogue"
    );
}

#[test]
fn the_driver_is_told_that_the_person_acts_once_a_second_and_only_where_there_is_a_link() {
    let told = |desk: &mut Desk| {
        let key = TerminalEvent::Key(Chord::parse("x").unwrap());
        desk.event(Event::Terminal(key));
        let told = Effect::Link {
            account: account_id(),
            change: LinkChange::Attend,
        };
        std::mem::take(&mut desk.effects).contains(&told)
    };
    let mut desk = Desk::new();
    assert!(told(&mut desk));
    desk.pass(500);
    assert!(!told(&mut desk));
    desk.pass(500);
    assert!(told(&mut desk));
    // Looking away and coming back is no work with the account.
    desk.pass(5_000);
    look_away(&mut desk);
    assert!(desk.effects.is_empty(), "{:?}", desk.effects);
    desk.disconnect();
    assert!(!told(&mut desk));
}

#[test]
fn a_silence_is_counted_by_the_second_until_something_comes() {
    let mut desk = Desk::new();
    let silent = |desk: &mut Desk| {
        let since = desk.now;
        desk.pass(8_000);
        desk.live(Topic::Link(LinkEvent::Silent { since }));
        assert_eq!(desk.work().account.silent_since, Some(since));
        let next = trialogue::app::deadlines::next(&desk.state).unwrap();
        assert!(next.mono_ms - desk.now.mono_ms <= 1_000);
    };
    silent(&mut desk);
    desk.live(Topic::Link(LinkEvent::Heard { latency_ms: None }));
    assert_eq!(desk.work().account.silent_since, None);
    assert_eq!(trialogue::app::deadlines::next(&desk.state), None);
    // The end of the link is another thing to say.
    silent(&mut desk);
    desk.disconnect();
    assert_eq!(desk.work().account.silent_since, None);
}

#[test]
fn what_a_new_device_is_told_first_is_read_already() {
    let mut desk = Desk::new();
    let provenance = || Provenance::Replayed {
        cursor: "1".into(),
        was_announced: true,
    };
    desk.topic(
        provenance(),
        upserted_in("side", agent("m1", "from last week")),
    );
    desk.live(Topic::Sync(SyncEvent::ReadingBegan));
    desk.live(Topic::Sync(SyncEvent::Done));
    assert_eq!(unread(&desk, "side"), Unread::None);
    desk.live(upserted_in("side", agent("m2", "from now")));
    assert_eq!(unread(&desk, "side"), Unread::Count(1));
    let desk = Desk::on(desk.store.clone(), 2);
    assert_eq!(unread(&desk, "side"), Unread::Count(1));
}
