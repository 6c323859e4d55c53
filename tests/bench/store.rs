//! What a long history costs. Makes a store with a million messages once (under the target folder)
//! and times what a person waits for.
//!
//! `cargo bench --bench store`; `TRIALOGUE_BENCH_MESSAGES` sets another size.
#![allow(clippy::unwrap_used)]

use std::path::PathBuf;
use std::time::{Duration, Instant};
use trialogue::domain::*;
use trialogue::store::{self, Handle, StoreOptions, fixture, pages};

const ROUNDS: u32 = 20;

fn main() {
    let count: u64 = std::env::var("TRIALOGUE_BENCH_MESSAGES")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(1_000_000);
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("store-{count}"));
    let path = folder.join("history.db");
    let (account, conversation) = (AccountId::from("home"), ConversationId::from("long"));
    if !path.exists() {
        let (store, _) = store::open(&path, StoreOptions::default()).unwrap();
        let began = Instant::now();
        fixture::fill(&store, &account, &conversation, count).unwrap();
        store.close();
        report("fill it", began.elapsed());
    }
    let size = std::fs::metadata(&path).unwrap().len();
    println!("{count} messages, {} MiB", size >> 20);

    let began = Instant::now();
    let (store, _) = store::open(&path, StoreOptions::default()).unwrap();
    report("open and read the start", began.elapsed());
    let window = |around: Place, before, after| Lookup::Window {
        account: account.clone(),
        conversation: conversation.clone(),
        around,
        before,
        after,
    };
    let search = |query: &str| Lookup::Search {
        query: query.to_owned(),
        account: None,
        conversation: None,
        limit: 200,
        skip: 0,
    };
    let middle = RemoteId::new(format!("m{}", count / 2));
    time(&store, "the newest screen", &window(Place::Newest, 100, 0));
    time(
        &store,
        "a jump into the middle",
        &window(Place::Remote(middle), 50, 50),
    );
    time(&store, "the oldest screen", &window(Place::Oldest, 0, 100));
    time(&store, "search: a common word", &search("openssl"));
    time(
        &store,
        "search: one message",
        &search(&format!("#{}", count - 7)),
    );
    time(&store, "search: two words", &search("linker manifest"));
    time(&store, "search: nothing", &search("no-such-word"));
    time(&store, "search: two letters", &search("is"));
    for (name, durability) in [
        ("a message, on disk", Durability::Full),
        ("a message", Durability::Normal),
    ] {
        let began = Instant::now();
        for _ in 0..ROUNDS {
            let mut entry = fixture::entry(count);
            if let Some(message) = entry.message_mut() {
                message.is_interrupted ^= true;
            }
            let write = Write::Entry {
                account: account.clone(),
                conversation: conversation.clone(),
                entry: Box::new(entry),
            };
            store.commit_now(vec![write], durability).unwrap();
        }
        report(name, began.elapsed() / ROUNDS);
    }
    let began = Instant::now();
    let all: usize = pages::pages(&store, account.clone(), conversation.clone())
        .map(|page| page.unwrap().len())
        .sum();
    report(&format!("export: read {all}"), began.elapsed());
}

fn time(store: &Handle, name: &str, lookup: &Lookup) {
    let began = Instant::now();
    for _ in 0..ROUNDS {
        store.look_now(lookup.clone()).unwrap();
    }
    report(name, began.elapsed() / ROUNDS);
}

fn report(name: &str, took: Duration) {
    println!("{name:32} {:>10.2} ms", took.as_secs_f64() * 1000.0);
}
