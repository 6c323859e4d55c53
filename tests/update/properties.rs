//! Rules that hold for any script of events.

use crate::desk::*;
use proptest::prelude::*;
use trialogue::domain::*;

/// A small world of ids, so that events meet.
fn topics() -> impl Strategy<Value = (Provenance, Topic)> {
    let remote = || (0..5u8).prop_map(|n| format!("m{n}"));
    let text =
        || (0..6u8).prop_map(|n| ["", "a", "ab", "abc", "other", "ab\n"][n as usize].to_owned());
    let author = prop_oneof![Just(Author::User), Just(Author::Assistant)];
    let message = (remote(), author, text(), any::<bool>()).prop_map(
        |(remote, author, text, is_streaming)| IncomingMessage {
            is_streaming: is_streaming && author == Author::Assistant,
            ..said(&remote, author, &text)
        },
    );
    let run = || (0..3u8).prop_map(|n| format!("r{n}"));
    let place = prop_oneof![Just("main"), Just("side")];
    let status = prop_oneof![
        Just(ToolStatus::Running),
        Just(ToolStatus::Completed),
        Just(ToolStatus::Failed)
    ];
    let outcome = prop_oneof![
        Just(RunOutcome::Completed),
        Just(RunOutcome::Cancelled),
        Just(RunOutcome::Lost)
    ];
    let rows = prop::collection::vec(
        (0..8u8, any::<bool>(), text()).prop_map(|(n, is_user, text)| {
            let author = if is_user {
                Author::User
            } else {
                Author::Assistant
            };
            said(&format!("h{n}"), author, &text)
        }),
        0..6,
    )
    .prop_map(|mut rows| {
        rows.sort_by(|a, b| a.remote.cmp(&b.remote));
        rows.dedup_by(|a, b| a.remote == b.remote);
        rows
    });
    let live = |topic: Topic| (Provenance::Live, topic);
    prop_oneof![
        4 => (place, message, 0..3u8).prop_map(|(place, message, how)| {
            let provenance = match how {
                0 => Provenance::Live,
                1 => Provenance::Replayed { cursor: "1".into(), was_announced: false },
                _ => Provenance::History,
            };
            (provenance, upserted_in(place, message))
        }),
        3 => (remote(), text()).prop_map(move |(remote, text)| live(patched(&remote, &text))),
        3 => (remote(), prop::option::of(text())).prop_map(move |(remote, text)| {
            live(ended(&remote, text.as_deref()))
        }),
        2 => run().prop_map(move |run| live(started(&run, None))),
        2 => (run(), outcome).prop_map(move |(run, outcome)| live(finished(&run, outcome))),
        2 => (0..3u8, status).prop_map(move |(n, status)| {
            live(tool(&format!("t{n}"), "tool", status))
        }),
        1 => (0..3u8, 0..3u8).prop_map(move |(a, b)| live(Topic::Run(RunEvent::ToolRekeyed {
            conversation: id("main"),
            from: format!("t{a}").into(),
            to: format!("t{b}").into(),
        }))),
        1 => (remote(), remote()).prop_map(move |(from, to)| {
            live(Topic::Timeline(TimelineEvent::Rekeyed {
                conversation: id("main"),
                from: from.into(),
                to: to.into(),
            }))
        }),
        1 => remote().prop_map(move |remote| live(Topic::Timeline(TimelineEvent::Deleted {
            conversation: id("main"),
            remotes: vec![remote.into()],
        }))),
        3 => (rows, any::<bool>(), any::<bool>()).prop_map(|(rows, has_older, runs)| {
            let mut taken = snapshot(rows);
            if has_older {
                taken.page.older = taken.page.messages.first()
                    .and_then(|row| row.remote.as_ref())
                    .map(|remote| PageToken::new(remote.as_str()));
            }
            if runs {
                taken.run = Some(("r1".into(), None));
            }
            (Provenance::Snapshot, shot(taken))
        }),
        1 => any::<bool>().prop_map(move |on| live(Topic::Timeline(TimelineEvent::Typing {
            conversation: id("main"),
            on,
        }))),
        1 => (0..2u8).prop_map(move |n| live(asked(approval(&format!("a{n}"))))),
        1 => (0..2u8).prop_map(move |n| live(Topic::Decision(DecisionEvent::Expired {
            decision: format!("a{n}").into(),
            why: Expiry::Gone,
        }))),
        1 => Just(live(Topic::Link(LinkEvent::Changed(LinkState::Connecting)))),
        1 => Just(live(Topic::Link(LinkEvent::Changed(LinkState::Ready)))),
    ]
}

fn sound(desk: &Desk) {
    for conversation in desk.work().conversations.values() {
        let timeline = &conversation.timeline;
        let orders: Vec<i64> = timeline.entries.iter().map(|entry| entry.order).collect();
        assert!(
            orders.windows(2).all(|pair| pair[0] < pair[1]),
            "{orders:?}"
        );
        let mut keys: Vec<_> = timeline.all().map(|entry| entry.key).collect();
        let count = keys.len();
        keys.sort();
        keys.dedup();
        assert_eq!(keys.len(), count, "a key twice");
        let mut remotes: Vec<_> = timeline
            .all()
            .filter_map(|entry| entry.message()?.remote.clone())
            .collect();
        let count = remotes.len();
        remotes.sort();
        remotes.dedup();
        assert_eq!(remotes.len(), count, "a message twice");
        for entry in &timeline.entries {
            if let Some(message) = entry.message() {
                assert_eq!((message.key, message.order), (entry.key, entry.order));
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn no_order_of_events_breaks_the_timeline_and_the_store_agrees(
        events in prop::collection::vec(topics(), 0..24),
    ) {
        let mut desk = Desk::new();
        for (provenance, topic) in events {
            desk.topic(provenance, topic);
            sound(&desk);
        }
        // What grows is written a second later.
        desk.pass(1000);
        desk.pass(1000);
        prop_assert_eq!(desk.stored("main"), desk.lines());
        prop_assert_eq!(
            desk.stored("side").len(),
            desk.work().conversations[&id("side")].timeline.entries.len()
        );
    }

    #[test]
    fn every_event_twice_is_the_same_as_once(
        events in prop::collection::vec(topics(), 0..16),
    ) {
        let mut once = Desk::new();
        let mut twice = Desk::new();
        for (provenance, topic) in events {
            once.topic(provenance.clone(), topic.clone());
            twice.topic(provenance.clone(), topic.clone());
            twice.topic(provenance, topic);
        }
        prop_assert_eq!(once.lines(), twice.lines());
        prop_assert_eq!(once.here().run.is_some(), twice.here().run.is_some());
        prop_assert_eq!(once.work().decisions.len(), twice.work().decisions.len());
    }

    #[test]
    fn a_snapshot_after_live_shows_what_the_snapshot_alone_shows(
        texts in prop::collection::vec((any::<bool>(), "[a-c]{1,3}"), 0..8),
        seen in 0..8usize,
    ) {
        // Some of it was seen live under draft ids, the rest was missed.
        let rows: Vec<IncomingMessage> = texts
            .iter()
            .enumerate()
            .map(|(n, (is_user, text))| {
                let author = if *is_user { Author::User } else { Author::Assistant };
                said(&format!("h{n}"), author, text)
            })
            .collect();
        let mut alone = Desk::new();
        alone.topic(Provenance::Snapshot, shot(snapshot(rows.clone())));
        let mut after = Desk::new();
        for (n, row) in rows.iter().take(seen).enumerate() {
            after.live(upserted(IncomingMessage {
                remote: Some(format!("draft-{n}").into()),
                ..row.clone()
            }));
        }
        after.topic(Provenance::Snapshot, shot(snapshot(rows)));
        prop_assert_eq!(alone.lines(), after.lines());
        prop_assert_eq!(after.stored("main"), after.lines());
    }
}
