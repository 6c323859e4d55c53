//! The real program is killed with SIGKILL at random moments, against the demo gateways in another
//! process or with the demo runtime as its child, and started again on the same profile, over and
//! over. In the end every message is there once, here and on the server, and every draft came back.
//!
//! A few rounds by default; `TRIALOGUE_KILL_ROUNDS=500 cargo test --test kills iris` for many with
//! one of the three, and `TRIALOGUE_KILL_SEED` for other moments.
#![allow(clippy::unwrap_used)]

#[path = "kills/place.rs"]
mod place;
#[path = "support/random.rs"]
mod random;
mod support;

use place::{Kind, Place};
use random::Random;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;
use support::pty::Pty;
use trialogue::domain::{
    Author, Delivery, Entry, EntryBody, Found, Lookup, MessageSort, OutboxRecord, Place as Around,
    ToolCall, ToolStatus,
};
use trialogue::store::{self, StoreOptions};

/// Who said what.
type Said = (Author, String);

/// Calls of the scene with tools.
const CALLS: usize = 6;
/// A draft is on disk after so long at the latest.
const DRAFT_AGE: u64 = 1_000;
/// A message that was sent so long before the end is on disk.
const SENT_AGE: u64 = 1_000;

fn number(name: &str, usual: u64) -> u64 {
    std::env::var(name)
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(usual)
}

/// Lets a random moment come.
fn until_then(ms: u64) {
    std::thread::park_timeout(Duration::from_millis(ms));
}

fn signal(pty: &Pty, name: &str) {
    let status = std::process::Command::new("kill")
        .args([&format!("-{name}"), &pty.id().to_string()])
        .status()
        .unwrap();
    assert!(status.success());
}

/// What the profile holds: messages of that conversation, oldest first, and the outbox.
fn kept(home: &Path, name: &str) -> (Vec<Said>, Vec<OutboxRecord>, Vec<ToolCall>) {
    let (store, facts) =
        store::open(home.join("data/history.db"), StoreOptions::default()).unwrap();
    let conversation = facts
        .conversations
        .iter()
        .find(|row| row.info.name.as_str() == name)
        .unwrap();
    let found = store
        .look_now(Lookup::Window {
            account: conversation.account.clone(),
            conversation: conversation.conversation.clone(),
            around: Around::Newest,
            before: 20_000,
            after: 0,
        })
        .unwrap();
    let Found::Window { entries, .. } = found else {
        unreachable!()
    };
    let open: Vec<_> = facts.outbox.iter().map(|row| row.key).collect();
    let rows = entries
        .iter()
        .filter_map(Entry::message)
        .filter(|message| {
            message.sort == MessageSort::Ordinary
                && matches!(message.author, Author::User | Author::Assistant)
                && !open.contains(&message.key)
                && !message.body.raw().trim().is_empty()
        })
        .map(|message| (message.author, message.body.raw().trim().to_owned()))
        .collect();
    let calls = entries.into_iter().filter_map(|entry| match entry.body {
        EntryBody::Tool(call) => Some(*call),
        _ => None,
    });
    let calls = calls.collect();
    store.close();
    (rows, facts.outbox, calls)
}

fn of(author: Author, rows: &[Said]) -> Vec<&str> {
    rows.iter()
        .filter(|row| row.0 == author)
        .map(|row| row.1.as_str())
        .collect()
}

/// Everything that the server says stands here once, and in its order.
fn check_order(theirs: &[&str], ours: &[&str]) -> Result<(), String> {
    let Some(first) = theirs.first() else {
        return Ok(());
    };
    // Before that is what the server no longer says.
    let first = ours
        .iter()
        .position(|row| row == first)
        .ok_or(format!("{first:?} is missing here"))?;
    let mut rest = ours[first..].iter();
    for row in theirs {
        if !rest.any(|mine| mine == row) {
            return Err(format!("{row:?} is missing here, or out of order"));
        }
    }
    Ok(())
}

/// What an agent said may stand in several parts here, and is compared joined.
fn check_joined(theirs: &[&str], ours: &[&str]) -> Result<(), String> {
    let bare = |text: &str| text.split_whitespace().collect::<String>();
    let all: String = ours.iter().map(|text| bare(text)).collect();
    for answer in theirs {
        let count = all.matches(&bare(answer)).count();
        let there = theirs.iter().filter(|other| *other == answer).count();
        if count != there {
            return Err(format!(
                "{answer:?} stands {count} times here, {there} there"
            ));
        }
    }
    Ok(())
}

fn check_count(theirs: &[&str], ours: &[&str]) -> Result<(), String> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for row in ours {
        *counts.entry(row).or_default() += 1;
    }
    for (row, count) in counts {
        let there = theirs.iter().filter(|of| **of == row).count();
        if count > there.max(1) {
            return Err(format!("{row:?} stands here {count} times, there {there}"));
        }
    }
    Ok(())
}

fn rounds(kind: Kind) {
    let rounds = number("TRIALOGUE_KILL_ROUNDS", 4);
    let seed = number("TRIALOGUE_KILL_SEED", 1);
    let began = std::time::Instant::now();
    let mut random = Random::new(seed);
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let place = Place::new(kind, home);
    let name = place.conversation();
    // Texts that were sent, and whether they had time to get onto the disk.
    let mut sent: BTreeMap<String, bool> = BTreeMap::new();
    let mut draft: Option<String> = None;
    for round in 0..rounds {
        let mut pty = place.start();
        pty.wait_for(name);
        if random.below(4) > 0 {
            pty.wait_for("online");
        }
        if let Some(draft) = draft.take() {
            pty.wait_for(&draft);
        }
        // Whatever stands there goes.
        pty.send("\x15");
        until_then(random.below(60));
        let delay = random.below(2_500);
        if random.below(3) == 0 {
            let text = format!("draft d{round}d");
            pty.send(&text);
            pty.wait_for(&text);
            until_then(delay);
            draft = (delay > DRAFT_AGE).then_some(text);
        } else {
            // Only one of the three says afterwards what a call was that ran meanwhile.
            let word = match random.below(4) {
                0 if kind == Kind::Iris => "tools",
                _ => "plain",
            };
            let text = format!("{word} k{round}k");
            pty.send(&text);
            pty.wait_for(&text);
            pty.send("\r");
            until_then(delay);
            sent.insert(text, delay > SENT_AGE);
        }
        signal(&pty, "KILL");
        pty.wait_exit();
    }
    // A last time, until all is said.
    let mut pty = place.start();
    pty.wait_for("online");
    let mut before = Vec::new();
    for _ in 0..60 {
        until_then(1_500);
        let now = place.truth();
        if now == before {
            break;
        }
        before = now;
    }
    signal(&pty, "TERM");
    assert_eq!(pty.wait_exit(), 143);

    let theirs = place.truth();
    let (ours, outbox, calls) = kept(home, name);
    for row in &outbox {
        assert!(
            matches!(
                row.delivery,
                Delivery::Uncertain | Delivery::Queued | Delivery::Failed(_)
            ),
            "seed {seed}: {row:?}"
        );
    }
    let said = of(Author::User, &theirs);
    let shown = of(Author::User, &ours);
    for (text, had_time) in &sent {
        let there = said.iter().filter(|row| **row == text.as_str()).count();
        let here = shown.iter().filter(|row| **row == text.as_str()).count();
        let waits = outbox.iter().filter(|row| row.text.trim() == text).count();
        assert!(there <= 1, "seed {seed}: {text} arrived {there} times");
        // A server may say no more than its newest messages; older ones are only here.
        let is_known = there + here + waits > 0;
        assert!(is_known || !had_time, "seed {seed}: {text} is lost");
        assert!(
            here <= 1 && waits <= 1,
            "seed {seed}: {text} {here} times here"
        );
        assert!(here == 0 || waits == 0, "seed {seed}: {text} in two states");
    }
    let (answers, read) = (of(Author::Assistant, &theirs), of(Author::Assistant, &ours));
    let all = |rows: &[Said]| -> Vec<String> { rows.iter().map(|row| row.1.clone()).collect() };
    let (there, here) = (all(&theirs), all(&ours));
    let there: Vec<&str> = there.iter().map(String::as_str).collect();
    let here: Vec<&str> = here.iter().map(String::as_str).collect();
    let checks = match kind {
        Kind::Pheby => vec![check_order(&there, &here), check_count(&there, &here)],
        // A message that waited its turn stands in the log where its turn came, and here where it
        // was said.
        Kind::Iris => vec![
            check_order(&said, &shown),
            check_order(&answers, &read),
            check_count(&there, &here),
        ],
        Kind::Omi => vec![check_order(&said, &shown), check_joined(&answers, &read)],
    };
    let scenes = said.iter().filter(|text| text.starts_with("tools")).count();
    assert!(
        calls.len() <= CALLS * scenes,
        "{kind:?}, seed {seed}: {} calls in {scenes} scenes: {calls:#?}",
        calls.len()
    );
    let open = calls.iter().find(|call| call.status == ToolStatus::Running);
    assert_eq!(open, None, "{kind:?}, seed {seed}: it runs for ever");
    for check in checks {
        check.unwrap_or_else(|what| panic!("{kind:?}, seed {seed}: {what}"));
    }
    eprintln!(
        "{kind:?}: {rounds} rounds from seed {seed} in {:.1} minutes: {} messages sent, {} on the server, {} kept, {} in the outbox",
        began.elapsed().as_secs_f64() / 60.0,
        sent.len(),
        theirs.len(),
        ours.len(),
        outbox.len()
    );
}

#[test]
fn killed_at_any_moment_with_pheby_nothing_is_lost_or_doubled() {
    rounds(Kind::Pheby);
}

#[test]
fn killed_at_any_moment_with_iris_nothing_is_lost_or_doubled() {
    rounds(Kind::Iris);
}

#[test]
fn killed_at_any_moment_with_omi_nothing_is_lost_or_doubled() {
    rounds(Kind::Omi);
}
