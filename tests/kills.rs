//! The real program is killed with SIGKILL at random moments, against the demo gateways in another
//! process, and started again on the same profile, over and over. In the end every message is there
//! once, here and on the server, and every draft came back.
//!
//! A few rounds by default; `TRIALOGUE_KILL_ROUNDS=500 cargo test --test kills` for many, and
//! `TRIALOGUE_KILL_SEED` for other moments.
#![allow(clippy::unwrap_used)]

mod support;

use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;
use support::pty::{Pty, program};
use support::served::{Gateway, Served, add_account};
use tokio_tungstenite::tungstenite::{self, Message};
use trialogue::domain::{Author, Delivery, Entry, Found, Lookup, MessageSort, OutboxRecord, Place};
use trialogue::store::{self, StoreOptions};

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

/// SplitMix64.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) % end
    }
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

fn start(home: &Path, gateway: &Gateway) -> Pty {
    let mut command = program(home, &["--no-keyring"]);
    command.env("TRIALOGUE_SECRET_HERE", &gateway.secret);
    Pty::start(command, 100, 30)
}

/// The transcript of the conversation as the server has it, asked past the client.
fn truth(gateway: &Gateway, name: &str) -> Vec<(Author, String)> {
    let (mut socket, _) = tungstenite::connect(&gateway.url).unwrap();
    let mut ask = |request: Value| -> Value {
        socket.send(Message::text(request.to_string())).unwrap();
        loop {
            if let Message::Text(text) = socket.read().unwrap() {
                let value: Value = serde_json::from_str(&text).unwrap();
                if value["request_id"] == request["request_id"] {
                    return value;
                }
            }
        }
    };
    let hello = json!({"type": "hello", "protocol_version": 1, "secret": gateway.secret,
        "client": "truth", "request_id": "1"});
    assert_eq!(ask(hello)["type"], "ready");
    let list = ask(json!({"type": "conversation.list", "request_id": "2"}));
    let id = list["conversations"]
        .as_array()
        .unwrap()
        .iter()
        .find(|row| row["name"] == name)
        .map(|row| row["conversation_id"].clone())
        .unwrap();
    let history = ask(json!({"type": "conversation.open", "conversation_id": id,
        "limit": 500, "request_id": "3"}));
    history["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| {
            let author = if row["role"] == "user" {
                Author::User
            } else {
                Author::Assistant
            };
            (author, row["text"].as_str().unwrap().trim().to_owned())
        })
        .collect()
}

/// What the profile holds: messages of that conversation, oldest first, and the outbox.
fn kept(home: &Path, name: &str) -> (Vec<(Author, String)>, Vec<OutboxRecord>) {
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
            around: Place::Newest,
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
    store.close();
    (rows, facts.outbox)
}

#[test]
fn killed_at_any_moment_nothing_is_lost_or_doubled() {
    let rounds = number("TRIALOGUE_KILL_ROUNDS", 4);
    let seed = number("TRIALOGUE_KILL_SEED", 1);
    let mut random = Random(seed);
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let served = Served::start(home, "127.0.0.1:0", &["speed=600"]);
    let gateway = served.gateway("pheby").clone();
    add_account(home, "here", &gateway);
    // Texts that were sent, and whether they had time to get onto the disk.
    let mut sent: BTreeMap<String, bool> = BTreeMap::new();
    let mut draft: Option<String> = None;
    for round in 0..rounds {
        let mut pty = start(home, &gateway);
        pty.wait_for("Welcome");
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
            let text = format!("plain k{round}k");
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
    let mut pty = start(home, &gateway);
    pty.wait_for("online");
    let mut before = Vec::new();
    for _ in 0..60 {
        until_then(1_500);
        let now = truth(&gateway, "Welcome");
        if now == before {
            break;
        }
        before = now;
    }
    signal(&pty, "TERM");
    assert_eq!(pty.wait_exit(), 143);

    let theirs = truth(&gateway, "Welcome");
    let (ours, outbox) = kept(home, "Welcome");
    for row in &outbox {
        assert!(
            matches!(
                row.delivery,
                Delivery::Uncertain | Delivery::Queued | Delivery::Failed(_)
            ),
            "seed {seed}: {row:?}"
        );
    }
    for (text, had_time) in &sent {
        let mine = (Author::User, text.clone());
        let there = theirs.iter().filter(|row| **row == mine).count();
        let here = ours.iter().filter(|row| **row == mine).count();
        let waits = outbox.iter().filter(|row| row.text.trim() == text).count();
        assert!(there <= 1, "seed {seed}: {text} arrived {there} times");
        // The server says at most 500 messages at once; older ones are only here.
        let is_known = there + here + waits > 0;
        assert!(is_known || !had_time, "seed {seed}: {text} is lost");
        assert!(
            here <= 1 && waits <= 1,
            "seed {seed}: {text} {here} times here"
        );
        assert!(here == 0 || waits == 0, "seed {seed}: {text} in two states");
    }
    // Everything that the server says stands here once, and in its order.
    let first = ours
        .iter()
        .position(|row| Some(row) == theirs.first())
        .unwrap_or(0);
    let mut at = first;
    for row in &theirs {
        let found = ours[at..].iter().position(|mine| mine == row);
        match found {
            Some(place) => at += place + 1,
            None => panic!("seed {seed}: {row:?} is missing here, or out of order"),
        }
    }
    let mut counts: BTreeMap<&(Author, String), usize> = BTreeMap::new();
    for row in &ours {
        *counts.entry(row).or_default() += 1;
    }
    for (row, count) in counts {
        let there = theirs.iter().filter(|of| *of == row).count();
        assert!(
            count <= there.max(1),
            "seed {seed}: {row:?} stands here {count} times, there {there} times"
        );
    }
    eprintln!(
        "{rounds} rounds from seed {seed}: {} messages sent, {} on the server, {} kept, {} in the outbox",
        sent.len(),
        theirs.len(),
        ours.len(),
        outbox.len()
    );
}
