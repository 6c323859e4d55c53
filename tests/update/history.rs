//! Pages, snapshots, windows.

use crate::desk::*;
use trialogue::app::conversation;
use trialogue::app::screen::viewport::Anchor;
use trialogue::domain::*;
use trialogue::text::SafeText;

fn user(remote: &str, text: &str) -> IncomingMessage {
    said(remote, Author::User, text)
}

fn agent(remote: &str, text: &str) -> IncomingMessage {
    said(remote, Author::Assistant, text)
}

fn keys(desk: &Desk) -> Vec<MessageKey> {
    desk.here()
        .timeline
        .entries
        .iter()
        .map(|entry| entry.key)
        .collect()
}

#[test]
fn a_snapshot_matches_live_rows_and_keeps_their_keys() {
    let mut desk = Desk::new();
    desk.send("hello");
    let command = desk.sending("hello");
    desk.outcome(command, CommandOutcome::Done(Reply::Nothing));
    desk.live(patched("draft-1", "hi th"));
    desk.live(ended("draft-1", Some("hi there")));
    let before = keys(&desk);
    desk.topic(
        Provenance::Snapshot,
        shot(snapshot(vec![
            user("m1", "hello"),
            agent("m2", "hi there\n"),
        ])),
    );
    assert_eq!(desk.lines(), ["you: hello [accepted]", "agent: hi there\n"]);
    assert_eq!(keys(&desk), before);
}

#[test]
fn what_history_never_carries_stays_at_its_place() {
    let mut desk = Desk::new();
    desk.topic(
        Provenance::Snapshot,
        shot(snapshot(vec![user("m1", "build"), agent("m2", "built")])),
    );
    desk.live(tool("t1", "terminal", ToolStatus::Completed));
    let notice = IncomingMessage {
        sort: MessageSort::Notice,
        ..agent("n1", "restarting")
    };
    desk.live(upserted(notice));
    desk.live(ended("d2", Some("again")));
    desk.topic(
        Provenance::Snapshot,
        shot(snapshot(vec![
            user("m1", "build"),
            agent("m2", "built"),
            agent("m3", "again"),
        ])),
    );
    assert_eq!(
        desk.lines(),
        [
            "you: build",
            "agent: built",
            "tool terminal completed",
            "agent: restarting",
            "agent: again"
        ]
    );
}

#[test]
fn what_history_had_and_lost_goes_but_not_what_was_only_seen_live() {
    let mut desk = Desk::new();
    desk.topic(
        Provenance::Snapshot,
        shot(snapshot(vec![
            user("m1", "a"),
            agent("m2", "b"),
            user("m3", "c"),
        ])),
    );
    desk.live(ended("d9", Some("a command's reply")));
    desk.topic(
        Provenance::Snapshot,
        shot(snapshot(vec![user("m1", "a"), agent("m2", "b")])),
    );
    assert_eq!(
        desk.lines(),
        ["you: a", "agent: b", "agent: a command's reply"]
    );
}

#[test]
fn a_cut_answer_becomes_the_row_that_history_kept_of_it() {
    let mut desk = Desk::new();
    desk.live(started("r1", None));
    desk.live(patched("draft-1", "The answer is fo"));
    desk.disconnect();
    desk.connect();
    desk.topic(
        Provenance::Snapshot,
        shot(snapshot(vec![
            user("m1", "?"),
            agent("m2", "The answer is forty-two"),
        ])),
    );
    assert_eq!(desk.lines(), ["you: ?", "agent: The answer is forty-two"]);
    assert!(desk.here().run.is_none());
}

#[test]
fn a_cut_answer_whose_run_ends_before_history_comes_becomes_its_row_too() {
    let mut desk = Desk::new();
    desk.live(started("r1", None));
    desk.live(patched("draft-1", "The answer is fo"));
    desk.disconnect();
    desk.pass(1_000);
    desk.connect();
    desk.live(finished("r1", RunOutcome::Completed));
    desk.topic(
        Provenance::Snapshot,
        shot(snapshot(vec![
            user("m1", "?"),
            agent("m2", "The answer is forty-two"),
        ])),
    );
    assert_eq!(desk.lines(), ["you: ?", "agent: The answer is forty-two"]);
    assert_eq!(desk.stored("main"), desk.lines());
}

#[test]
fn a_cut_answer_that_history_dropped_stays_marked_as_cut() {
    let mut desk = Desk::new();
    desk.live(started("r1", None));
    desk.live(patched("draft-1", "The answer is fo"));
    desk.disconnect();
    desk.connect();
    let mut after = snapshot(vec![user("m1", "?")]);
    after.lost_runs = true;
    desk.topic(Provenance::Snapshot, shot(after));
    assert_eq!(
        desk.lines(),
        ["you: ?", "agent: The answer is fo (cut)", "run lost"]
    );
}

#[test]
fn a_run_that_still_goes_on_keeps_its_draft_and_place() {
    let mut desk = Desk::new();
    desk.live(started("r1", None));
    desk.live(patched("draft-1", "The answer"));
    let before = keys(&desk);
    desk.disconnect();
    desk.connect();
    let mut after = snapshot(Vec::new());
    after.run = Some(("r1".into(), None));
    after.draft = Some(IncomingMessage {
        is_streaming: true,
        run: Some("r1".into()),
        ..agent("draft-1", "The answer is forty")
    });
    desk.topic(Provenance::Snapshot, shot(after));
    assert_eq!(desk.lines(), ["agent: The answer is forty …"]);
    assert_eq!(keys(&desk), before);
    assert!(desk.here().run.is_some());
}

#[test]
fn a_page_that_does_not_join_on_leaves_a_gap_that_fills_on_sight() {
    let mut desk = Desk::new();
    desk.topic(
        Provenance::Snapshot,
        shot(snapshot(vec![user("m1", "old")])),
    );
    let mut newer = snapshot(vec![agent("m9", "new")]);
    newer.page.older = Some("m9".into());
    desk.topic(Provenance::Snapshot, shot(newer));
    assert_eq!(desk.lines(), ["you: old", "gap", "agent: new"]);
    desk.commands.clear();
    let all = keys(&desk);
    desk.drawn(|facts| {
        facts.first_seen = all.first().copied();
        facts.last_seen = all.last().copied();
    });
    let asked = desk.take_commands();
    assert!(matches!(
        asked.as_slice(),
        [Command::Conversation(ConversationCommand::LoadOlder { before, .. })] if *before == "m9".into()
    ));
    desk.topic(
        Provenance::History,
        Topic::Timeline(TimelineEvent::Page(Box::new(HistoryPage {
            before: Some("m9".into()),
            ..page(vec![user("m1", "old"), agent("m5", "between")], None)
        }))),
    );
    assert_eq!(desk.lines(), ["you: old", "agent: between", "agent: new"]);
    assert_eq!(
        desk.stored("main"),
        ["you: old", "agent: between", "agent: new"]
    );
}

#[test]
fn older_pages_come_before_and_keep_the_readers_line() {
    let mut desk = Desk::new();
    let mut newest = snapshot(vec![user("m5", "five")]);
    newest.page.older = Some("m5".into());
    desk.topic(Provenance::Snapshot, shot(newest));
    let anchor = Anchor::Top {
        key: keys(&desk)[0],
        row: 0,
    };
    desk.here_mut().viewport.anchor = anchor;
    desk.commands.clear();
    desk.drawn(|facts| facts.is_short_above = true);
    assert_eq!(desk.take_commands().len(), 1);
    // Asking again while the page is on its way asks nothing.
    desk.drawn(|facts| facts.is_short_above = true);
    assert!(desk.take_commands().is_empty());
    desk.topic(
        Provenance::History,
        Topic::Timeline(TimelineEvent::Page(Box::new(HistoryPage {
            before: Some("m5".into()),
            ..page(vec![user("m3", "three"), agent("m4", "four")], None)
        }))),
    );
    assert_eq!(desk.lines(), ["you: three", "agent: four", "you: five"]);
    assert_eq!(desk.here().viewport.anchor, anchor);
    let (three, newer) = (
        &desk.here().timeline.entries[0],
        &desk.here().timeline.entries[1],
    );
    assert!(three.order < newer.order);
    assert_eq!(desk.here().timeline.older_token, None);
}

#[test]
fn a_conversation_that_nobody_has_open_is_written_and_read_when_it_is_opened() {
    let mut desk = Desk::new();
    let store = desk.store.clone();
    desk.live(upserted_in("side", agent("m1", "news")));
    // Another start on the same store: nothing of it is in memory.
    let mut desk = Desk::on(store, 2);
    desk.connect();
    desk.live(upserted_in("side", agent("m2", "more news")));
    assert!(
        desk.state.accounts[0].conversations[&id("side")]
            .timeline
            .entries
            .is_empty()
    );
    assert_eq!(desk.stored("side"), ["agent: news", "agent: more news"]);
    desk.focus("side");
    assert_eq!(desk.lines(), ["agent: news", "agent: more news"]);
}

#[test]
fn history_that_comes_when_the_person_has_moved_on_is_no_news() {
    let mut desk = Desk::new();
    desk.focus("side");
    desk.focus("main");
    let history = HistoryPage {
        conversation: id("side"),
        ..page(vec![user("m1", "old"), agent("m2", "older than you")], None)
    };
    desk.topic(
        Provenance::History,
        Topic::Timeline(TimelineEvent::Page(Box::new(history))),
    );
    let unread = |desk: &Desk| {
        let side = &desk.state.accounts[0].conversations[&id("side")];
        side.unread.clone()
    };
    assert_eq!(unread(&desk), Unread::None);
    desk.live(upserted_in("side", agent("m3", "news")));
    assert_eq!(unread(&desk), Unread::Count(1));
}

#[test]
fn an_own_message_keeps_its_ticks_when_it_is_replayed_into_a_conversation_that_is_not_open() {
    let mut desk = Desk::new();
    desk.focus("side");
    desk.send("mine");
    let command = desk.sending("mine");
    let told = said("u1", Author::User, "mine");
    desk.live(upserted_in(
        "side",
        IncomingMessage {
            command: Some(command),
            ..told.clone()
        },
    ));
    desk.outcome(command, CommandOutcome::Done(Reply::Nothing));
    desk.live(Topic::Timeline(TimelineEvent::WasRead {
        conversation: id("side"),
        remote: Some("u1".into()),
        command: Some(command),
    }));
    assert_eq!(desk.lines(), ["you: mine [read]"]);
    let mut later = Desk::on(desk.store.clone(), 2);
    later.connect();
    let replayed = Provenance::Replayed {
        cursor: "1".into(),
        was_announced: false,
    };
    later.topic(replayed, upserted_in("side", told));
    later.focus("side");
    assert_eq!(later.lines(), ["you: mine [read]"]);
    assert_eq!(later.stored("side"), ["you: mine [read]"]);
}

#[test]
fn replayed_messages_that_are_known_are_not_shown_twice_even_when_only_the_store_knows_them() {
    let mut desk = Desk::new();
    for i in 0..400 {
        desk.live(upserted(agent(&format!("m{i}"), &format!("text {i}"))));
    }
    let store = desk.store.clone();
    let mut desk = Desk::on(store, 2);
    desk.connect();
    desk.focus("main");
    assert!(desk.here().timeline.has_older);
    let replayed = |cursor: &str| Provenance::Replayed {
        cursor: cursor.into(),
        was_announced: false,
    };
    desk.topic(replayed("1"), upserted(agent("m3", "text 3")));
    desk.topic(replayed("2"), upserted(agent("m400", "text 400")));
    desk.live(upserted(agent("m401", "text 401")));
    let lines = desk.lines();
    assert_eq!(
        &lines[lines.len() - 3..],
        ["agent: text 399", "agent: text 400", "agent: text 401"]
    );
    assert_eq!(desk.stored("main").len(), 402);
}

#[test]
fn a_streamed_text_is_written_at_most_once_a_second_and_at_its_end() {
    let mut desk = Desk::new();
    desk.live(started("r1", None));
    desk.live(patched("d1", "a"));
    assert_eq!(desk.stored("main"), ["agent: a …"]);
    desk.live(patched("d1", "ab"));
    desk.live(patched("d1", "abc"));
    assert_eq!(desk.stored("main"), ["agent: a …"]);
    assert_eq!(desk.lines(), ["agent: abc …"]);
    desk.pass(1000);
    assert_eq!(desk.stored("main"), ["agent: abc …"]);
    desk.live(ended("d1", Some("abcd")));
    assert_eq!(desk.stored("main"), ["agent: abcd"]);
}

#[test]
fn a_reader_above_is_not_moved_and_sees_how_much_is_new() {
    let mut desk = Desk::new();
    desk.live(upserted(agent("m1", "one")));
    let anchor = Anchor::Top {
        key: keys(&desk)[0],
        row: 0,
    };
    desk.here_mut().viewport.anchor = anchor;
    desk.live(upserted(agent("m2", "two")));
    desk.live(upserted(agent("m2", "two, edited")));
    desk.live(upserted(agent("m3", "three")));
    assert_eq!(desk.here().viewport.anchor, anchor);
    assert_eq!(desk.here().viewport.new_below, 2);
}

#[test]
fn a_long_window_is_shortened_around_the_reader_and_read_again_on_the_way_back() {
    let mut desk = Desk::new();
    for i in 0..1500 {
        desk.live(upserted(agent(&format!("m{i}"), &format!("text {i}"))));
    }
    assert!(desk.here().timeline.entries.len() <= 901);
    assert!(desk.here().timeline.has_older);
    let effects = conversation::jump(
        &mut desk.state,
        desk.now,
        &account_id(),
        &id("main"),
        Place::Oldest,
    );
    desk.finish(effects);
    assert_eq!(desk.lines()[0], "agent: text 0");
    assert!(desk.here().timeline.has_newer);
    // Live messages do not break into the old part.
    desk.live(upserted(agent("m1500", "text 1500")));
    assert!(!desk.lines().contains(&"agent: text 1500".to_owned()));
    let effects = conversation::jump(
        &mut desk.state,
        desk.now,
        &account_id(),
        &id("main"),
        Place::Newest,
    );
    desk.finish(effects);
    assert_eq!(desk.lines().last().unwrap(), "agent: text 1500");
    assert_eq!(desk.here().viewport.anchor, Anchor::Newest);
    assert_eq!(desk.stored("main").len(), 1501);
}

#[test]
fn what_was_missed_is_stored_though_the_reader_is_far_above() {
    let mut desk = Desk::new();
    for i in 0..1500 {
        desk.live(upserted(agent(&format!("m{i}"), &format!("text {i}"))));
    }
    let effects = conversation::jump(
        &mut desk.state,
        desk.now,
        &account_id(),
        &id("main"),
        Place::Oldest,
    );
    desk.finish(effects);
    let anchor = Anchor::Top {
        key: keys(&desk)[3],
        row: 0,
    };
    desk.here_mut().viewport.anchor = anchor;
    let mut missed = snapshot(vec![
        agent("m1499", "text 1499"),
        agent("m1500", "while the line was down"),
    ]);
    missed.page.older = Some("m1499".into());
    desk.topic(Provenance::Snapshot, shot(missed));
    assert_eq!(desk.stored("main").len(), 1501);
    assert_eq!(
        desk.stored("main").last().unwrap(),
        "agent: while the line was down"
    );
    // The reader's line stays, and so does the bound of the window.
    assert_eq!(desk.here().viewport.anchor, anchor);
    assert_eq!(desk.lines()[3], "agent: text 3");
    assert!(desk.here().timeline.entries.len() <= 901);
    assert!(desk.here().timeline.has_newer);
}

#[test]
fn scrolling_reads_the_store_before_the_server_is_asked() {
    let mut desk = Desk::new();
    for i in 0..500 {
        desk.live(upserted(agent(&format!("m{i}"), &format!("text {i}"))));
    }
    let store = desk.store.clone();
    let mut desk = Desk::on(store, 2);
    desk.connect();
    desk.focus("main");
    desk.commands.clear();
    assert_eq!(desk.lines().len(), 200);
    desk.drawn(|facts| facts.is_short_above = true);
    assert_eq!(desk.lines().len(), 400);
    assert!(desk.commands.is_empty());
    desk.drawn(|facts| facts.is_short_above = true);
    assert_eq!(desk.lines().len(), 500);
    assert!(!desk.here().timeline.has_older);
}

#[test]
fn a_search_hit_before_the_local_history_is_loaded_page_by_page() {
    let mut desk = Desk::new();
    let mut newest = snapshot(vec![user("m9", "nine")]);
    newest.page.older = Some("m9".into());
    desk.topic(Provenance::Snapshot, shot(newest));
    desk.commands.clear();
    let effects = conversation::jump(
        &mut desk.state,
        desk.now,
        &account_id(),
        &id("main"),
        Place::Remote("m5".into()),
    );
    desk.finish(effects);
    for (before, rows, older) in [
        (
            "m9",
            vec![user("m7", "seven"), user("m8", "eight")],
            Some("m7"),
        ),
        (
            "m7",
            vec![user("m5", "five"), user("m6", "six")],
            Some("m5"),
        ),
    ] {
        let asked = desk.commands.pop().unwrap();
        assert!(matches!(
            &asked.1,
            Command::Conversation(ConversationCommand::LoadOlder { before: token, .. })
                if *token == before.into()
        ));
        desk.topic(
            Provenance::History,
            Topic::Timeline(TimelineEvent::Page(Box::new(HistoryPage {
                before: Some(before.into()),
                ..page(rows, older)
            }))),
        );
        desk.outcome(asked.0, CommandOutcome::Done(Reply::Nothing));
    }
    assert_eq!(
        desk.here().viewport.anchor,
        Anchor::Show {
            key: keys(&desk)[0]
        }
    );
    assert_eq!(desk.lines()[0], "you: five");
}

#[test]
fn a_deleted_message_stays_deleted_and_a_cleared_conversation_is_empty() {
    let mut desk = Desk::new();
    desk.live(upserted(agent("m1", "one")));
    desk.live(upserted(agent("m2", "two")));
    desk.live(Topic::Timeline(TimelineEvent::Deleted {
        conversation: id("main"),
        remotes: vec!["m1".into()],
    }));
    desk.live(upserted(agent("m1", "one")));
    assert_eq!(desk.lines(), ["1 deleted", "agent: two"]);
    assert_eq!(desk.stored("main"), ["1 deleted", "agent: two"]);
    desk.live(Topic::Timeline(TimelineEvent::Cleared {
        conversation: id("main"),
    }));
    assert!(desk.lines().is_empty());
    assert!(desk.stored("main").is_empty());
}

#[test]
fn many_rows_between_two_neighbours_find_room() {
    let mut desk = Desk::new();
    desk.topic(
        Provenance::Snapshot,
        shot(snapshot(vec![user("m0", "first"), user("m9999", "last")])),
    );
    // One after the other at the same place, each in a page of its own.
    for i in 1..60 {
        let mut rows = vec![user("m0", "first")];
        rows.extend((1..=i).map(|n| user(&format!("m{n}"), &format!("row {n}"))));
        rows.push(user("m9999", "last"));
        desk.topic(Provenance::Snapshot, shot(snapshot(rows)));
    }
    assert_eq!(desk.lines().len(), 61);
    let orders: Vec<i64> = desk
        .here()
        .timeline
        .entries
        .iter()
        .map(|e| e.order)
        .collect();
    assert!(
        orders.windows(2).all(|pair| pair[0] < pair[1]),
        "{orders:?}"
    );
    assert_eq!(desk.stored("main"), desk.lines());
}

#[test]
fn a_message_that_the_server_took_up_later_is_not_shown_twice() {
    let mut desk = Desk::new();
    desk.topic(
        Provenance::Snapshot,
        shot(snapshot(vec![user("m1", "first"), agent("m2", "one")])),
    );
    desk.send("second");
    let command = desk.sending("second");
    desk.outcome(command, CommandOutcome::Done(Reply::Nothing));
    // It was under way while the server spoke unasked: the two sides saw different orders.
    desk.live(ended("d1", Some("unasked")));
    desk.topic(
        Provenance::Snapshot,
        shot(snapshot(vec![
            user("m1", "first"),
            agent("m2", "one"),
            agent("m3", "unasked"),
            user("m4", "second"),
            agent("m5", "two"),
        ])),
    );
    let expected = [
        "you: first",
        "agent: one",
        "agent: unasked",
        "you: second [accepted]",
        "agent: two",
    ];
    assert_eq!(desk.lines(), expected);
    assert_eq!(desk.stored("main"), expected);
}

/// A program that sends and ends before it learns what the server calls the message, and one that
/// is open beside it.
fn sender_and_reader() -> (Desk, Desk) {
    let mut reader = Desk::new();
    let mut sender = Desk::on(reader.store.clone(), 2);
    sender.connect();
    for (command, _) in std::mem::take(&mut sender.commands) {
        sender.outcome(command, CommandOutcome::Done(Reply::Nothing));
    }
    sender.send("hello");
    let command = sender.sending("hello");
    sender.outcome(command, CommandOutcome::Done(Reply::Nothing));
    sender.live(patched("draft-1", "hi th"));
    sender.pass(1_500);
    reader.pass(1_000);
    (sender, reader)
}

#[test]
fn what_a_program_sent_and_another_one_is_told_stands_once() {
    let (sender, mut reader) = sender_and_reader();
    reader.live(patched("draft-1", "hi th"));
    reader.live(ended("draft-1", Some("hi there")));
    let told = snapshot(vec![user("m1", "hello"), agent("m2", "hi there")]);
    reader.topic(Provenance::Snapshot, shot(told));
    assert_eq!(reader.lines(), ["you: hello", "agent: hi there"]);
    let expected = ["you: hello [accepted]", "agent: hi there"];
    assert_eq!(reader.stored("main"), expected);
    let later = Desk::on(sender.store.clone(), 3);
    assert_eq!(later.lines(), expected);
}

#[test]
fn an_answer_that_only_the_sender_heard_goes_into_the_row_of_history() {
    let (sender, mut reader) = sender_and_reader();
    let told = || snapshot(vec![user("m1", "hello"), agent("m2", "hi there")]);
    reader.pass(1_000);
    reader.topic(Provenance::Snapshot, shot(told()));
    let mut later = Desk::on(sender.store.clone(), 3);
    later.connect();
    later.topic(Provenance::Snapshot, shot(told()));
    let expected = ["you: hello [accepted]", "agent: hi there"];
    assert_eq!(later.lines(), expected);
    assert_eq!(later.stored("main"), expected);
}

#[test]
fn a_message_that_gets_its_name_twice_stays() {
    let mut desk = Desk::new();
    desk.live(patched("m1", "a"));
    desk.topic(
        Provenance::Snapshot,
        shot(snapshot(vec![said("h0", Author::Assistant, "a")])),
    );
    for _ in 0..2 {
        desk.live(Topic::Timeline(TimelineEvent::Rekeyed {
            conversation: id("main"),
            from: "m1".into(),
            to: "m2".into(),
        }));
        assert_eq!(desk.lines(), ["agent: a"]);
    }
}

#[test]
fn what_history_lost_goes_though_another_row_is_found_out_of_order() {
    let mut desk = Desk::new();
    desk.live(patched("m0", "abc"));
    desk.live(patched("m1", "abc"));
    let before = snapshot(vec![agent("h3", "three"), agent("h4", "four")]);
    desk.topic(Provenance::Snapshot, shot(before));
    let mut after = snapshot(vec![agent("h0", "abc"), agent("h3", "three")]);
    after.page.older = Some(PageToken::new("h0"));
    desk.topic(Provenance::Snapshot, shot(after));
    assert_eq!(
        desk.lines(),
        ["agent: abc", "agent: three", "agent: abc (cut)"],
        "the fourth was deleted meanwhile"
    );
}

#[test]
fn what_was_missed_stands_before_the_answer_that_came_while_it_was_caught_up_on() {
    // The window is whole, or not there at all, or there are older entries than it holds.
    for case in 0..3 {
        let mut desk = Desk::new();
        if case == 2 {
            let messages = (0..300)
                .map(|n| said(&format!("old{n}"), Author::Assistant, "old"))
                .collect();
            desk.live(shot(snapshot(messages)));
            desk.focus("side");
            desk = Desk::on(desk.store.clone(), 2);
            desk.focus("main");
        }
        desk.disconnect();
        if case == 1 {
            desk.focus("side");
            desk = Desk::on(desk.store.clone(), 2);
        }
        desk.pass(60_000);
        desk.live(Topic::Link(LinkEvent::Changed(LinkState::Syncing)));
        let sent = desk.now.wall_ms - 30_000;
        // It streams before the replay is through.
        desk.live(started("r1", None));
        desk.live(patched("a2", "Half an ans"));
        for (remote, author, text) in [
            ("u1", Author::User, "from another device"),
            ("a1", Author::Assistant, "an answer to that"),
        ] {
            desk.missed(upserted(IncomingMessage {
                sent_at_ms: Some(sent),
                ..said(remote, author, text)
            }));
        }
        desk.live(ended("a2", Some("Half an answer.")));
        let ends = |lines: Vec<String>| lines[lines.len() - 3..].to_vec();
        let wanted = [
            "you: from another device",
            "agent: an answer to that",
            "agent: Half an answer.",
        ];
        assert_eq!(ends(desk.stored("main")), wanted, "stored, case {case}");
        desk.focus("main");
        assert_eq!(ends(desk.lines()), wanted, "shown, case {case}");
    }
}

#[test]
fn what_was_missed_of_a_conversation_out_of_sight_keeps_its_order() {
    let mut desk = Desk::new();
    desk.send("mine");
    let command = desk.sending("mine");
    desk.outcome(command, CommandOutcome::LinkLost);
    desk.focus("side");
    let mut desk = Desk::on(desk.store.clone(), 2);
    desk.pass(60_000);
    desk.live(Topic::Link(LinkEvent::Changed(LinkState::Syncing)));
    let sent = desk.now.wall_ms - 30_000;
    desk.live(patched("a2", "After the call"));
    let words = |remote: &str, author, text: &str, at: i64| {
        upserted(IncomingMessage {
            sent_at_ms: Some(at),
            ..said(remote, author, text)
        })
    };
    desk.missed(words("u1", Author::User, "mine", sent));
    let mut call = ToolCall::new("u1/0/terminal".into(), SafeText::label("terminal"));
    call.status = ToolStatus::Completed;
    let call = RunEvent::ToolMissed {
        conversation: id("main"),
        tool: Box::new(call),
        after: Some("u1".into()),
        at_ms: Some(sent),
    };
    desk.missed(Topic::Run(call));
    let before = words("a1", Author::Assistant, "Before the call", sent + 1);
    desk.missed(before);
    desk.live(ended("a2", Some("After the call.")));
    let wanted = [
        "you: mine [accepted]",
        "tool terminal completed",
        "agent: Before the call",
        "agent: After the call.",
    ];
    assert_eq!(desk.stored("main"), wanted);
    desk.focus("main");
    assert_eq!(desk.lines(), wanted);
}

#[test]
fn what_an_earlier_start_saw_live_stands_behind_what_it_missed() {
    let mut desk = Desk::new();
    desk.focus("side");
    desk.live(upserted(IncomingMessage {
        sent_at_ms: Some(desk.now.wall_ms - 60_000),
        ..said("a1", Author::Assistant, "long before")
    }));
    desk.live(upserted(IncomingMessage {
        sent_at_ms: Some(desk.now.wall_ms),
        ..said("a3", Author::Assistant, "seen live while catching up")
    }));
    // Killed before the replay was through.
    let mut desk = Desk::on(desk.store.clone(), 2);
    for (remote, author, text) in [
        ("u2", Author::User, "from another device"),
        ("a2", Author::Assistant, "its answer"),
    ] {
        let sent_at_ms = Some(desk.now.wall_ms - 30_000);
        desk.missed(upserted(IncomingMessage {
            sent_at_ms,
            ..said(remote, author, text)
        }));
    }
    let mut call = ToolCall::new("a2/0/terminal".into(), "terminal".into());
    call.status = ToolStatus::Completed;
    let call = RunEvent::ToolMissed {
        conversation: id("main"),
        tool: Box::new(call),
        after: Some("a2".into()),
        at_ms: None,
    };
    desk.missed(Topic::Run(call));
    let wanted = [
        "agent: long before",
        "you: from another device",
        "agent: its answer",
        "tool terminal completed",
        "agent: seen live while catching up",
    ];
    assert_eq!(desk.stored("main"), wanted);
    desk.focus("main");
    assert_eq!(desk.lines(), wanted);
}

#[test]
fn an_answer_that_was_cut_stands_behind_what_was_missed_before_it() {
    let mut desk = Desk::new();
    desk.live(started("r1", None));
    desk.live(patched("a2", "After the question"));
    // Killed before its end, and before what came earlier was caught up on.
    let mut desk = Desk::on(desk.store.clone(), 2);
    desk.connect();
    let now = desk.now.wall_ms;
    for (remote, text, ago) in [
        ("a1", "Before the question.", 20_000),
        ("a2", "After the question.", 10_000),
    ] {
        desk.missed(upserted(IncomingMessage {
            sent_at_ms: Some(now - ago),
            ..said(remote, Author::Assistant, text)
        }));
    }
    let wanted = ["agent: Before the question.", "agent: After the question."];
    assert_eq!(desk.lines(), wanted);
    assert_eq!(desk.stored("main"), wanted);
}

#[test]
fn any_number_of_missed_messages_stands_before_the_answer_that_streams() {
    for is_open in [true, false] {
        let mut desk = Desk::new();
        if !is_open {
            desk.focus("side");
            desk = Desk::on(desk.store.clone(), 2);
        }
        desk.pass(60_000);
        desk.live(Topic::Link(LinkEvent::Changed(LinkState::Syncing)));
        let sent = desk.now.wall_ms - 30_000;
        desk.live(started("r1", None));
        desk.live(patched("z", "Half an ans"));
        let mut wanted = Vec::new();
        for n in 0..60 {
            // In the order of the cursor, whatever their times say.
            let message = IncomingMessage {
                sent_at_ms: Some(sent - n % 7),
                ..said(&format!("a{n}"), Author::Assistant, &format!("missed {n}"))
            };
            desk.missed(upserted(message));
            let mut call = ToolCall::new(format!("a{n}/0/terminal").into(), "terminal".into());
            call.status = ToolStatus::Completed;
            let call = RunEvent::ToolMissed {
                conversation: id("main"),
                tool: Box::new(call),
                after: Some(format!("a{n}").into()),
                at_ms: Some(sent),
            };
            desk.missed(Topic::Run(call));
            wanted.push(format!("agent: missed {n}"));
            wanted.push("tool terminal completed".to_owned());
        }
        desk.live(ended("z", Some("Half an answer.")));
        wanted.push("agent: Half an answer.".to_owned());
        assert_eq!(desk.stored("main"), wanted, "open: {is_open}");
        desk.focus("main");
        assert_eq!(desk.lines(), wanted, "open: {is_open}");
    }
}

#[test]
fn the_answer_to_a_message_stands_below_it_though_our_clock_is_ahead() {
    let mut desk = Desk::new();
    desk.send("mine");
    desk.focus("side");
    desk.disconnect();
    desk.live(Topic::Link(LinkEvent::Changed(LinkState::Syncing)));
    let sent_at_ms = Some(desk.now.wall_ms - 300_000);
    desk.missed(upserted(IncomingMessage {
        sent_at_ms,
        ..said("a1", Author::Assistant, "its answer")
    }));
    let lines = desk.stored("main");
    assert_eq!(lines.last().map(String::as_str), Some("agent: its answer"));
}

#[test]
fn a_missed_call_stands_behind_the_words_before_it_though_the_person_wrote_on() {
    for is_open in [true, false] {
        let mut desk = Desk::new();
        desk.send("first");
        let command = desk.sending("first");
        desk.outcome(command, CommandOutcome::LinkLost);
        desk.send("second");
        let command = desk.sending("second");
        desk.outcome(command, CommandOutcome::LinkLost);
        if !is_open {
            desk.focus("side");
            desk = Desk::on(desk.store.clone(), 2);
        }
        desk.live(Topic::Link(LinkEvent::Changed(LinkState::Syncing)));
        let sent = desk.now.wall_ms;
        for (n, (remote, author, text)) in [
            ("u1", Author::User, "first"),
            ("a1", Author::Assistant, "Before the call."),
            ("u2", Author::User, "second"),
        ]
        .into_iter()
        .enumerate()
        {
            let message = IncomingMessage {
                sent_at_ms: Some(sent + n as i64),
                ..said(remote, author, text)
            };
            desk.missed(upserted(message));
        }
        let mut call = ToolCall::new("u2/1/terminal".into(), "terminal".into());
        call.status = ToolStatus::Completed;
        let call = RunEvent::ToolMissed {
            conversation: id("main"),
            tool: Box::new(call),
            after: Some("u2".into()),
            at_ms: None,
        };
        desk.missed(Topic::Run(call));
        let wanted = [
            "you: first [accepted]",
            "you: second [accepted]",
            "agent: Before the call.",
            "tool terminal completed",
        ];
        assert_eq!(desk.stored("main"), wanted, "open: {is_open}");
        desk.focus("main");
        assert_eq!(desk.lines(), wanted, "open: {is_open}");
    }
}
