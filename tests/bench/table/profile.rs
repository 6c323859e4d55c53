//! Profiles with a long history, made once and kept under the target folder.

use std::path::{Path, PathBuf};
use trialogue::domain::*;
use trialogue::store::{self, StoreOptions, fixture};

/// Stands in the last message of every history, which has code in several languages, so that the
/// highlighter is at work from the first frame on.
pub const LAST: &str = "The last message.";

const CODE: &str = "Some code first.\n\n```rust\nfn main() {\n    println!(\"hi\"); // a note\n}\n```\n\n```python\ndef f(x):\n    return x + 1\n```\n\n```json\n{\"a\": [1, 2.5, null]}\n```\n\n";

/// A home folder whose store holds this many messages, in an account without a network.
pub fn made(count: u64) -> PathBuf {
    let home = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("table-{count}"));
    let store_file = home.join("data/history.db");
    if !store_file.exists() {
        // A run that was stopped in the middle must not leave half a history behind.
        let making = home.with_extension("making");
        let _ = std::fs::remove_dir_all(&making);
        fill(&making, count);
        let _ = std::fs::remove_dir_all(&home);
        std::fs::rename(&making, &home).expect("the history is put in its place");
    }
    // One that an older version made is brought up to date now, not when it is measured.
    let (store, _) = store::open(&store_file, StoreOptions::default()).expect("the history");
    store.close();
    // A port that nobody listens on: it was free a moment ago.
    let port = std::net::TcpListener::bind("127.0.0.1:0")
        .and_then(|listener| listener.local_addr())
        .expect("a port")
        .port();
    connect(&home, &format!("ws://127.0.0.1:{port}/gateway"));
    home
}

/// A fresh home folder with this many messages and an account on this address.
pub fn fresh(folder: &Path, count: u64, url: &str) {
    fill(folder, count);
    connect(folder, url);
}

fn connect(home: &Path, url: &str) {
    std::fs::create_dir_all(home.join("config")).expect("a folder");
    let config = format!("[[account]]\nname = \"home\"\nkind = \"iris\"\nurl = \"{url}\"\n");
    std::fs::write(home.join("config/config.toml"), config).expect("a configuration");
}

fn fill(home: &Path, count: u64) {
    std::fs::create_dir_all(home.join("data")).expect("a folder");
    let (store, _) =
        store::open(home.join("data/history.db"), StoreOptions::default()).expect("a store");
    let (account, conversation) = (AccountId::from("home"), ConversationId::from("long"));
    fixture::fill(&store, &account, &conversation, count - 1).expect("messages");
    let mut last = fixture::entry(count);
    if let Some(message) = last.message_mut() {
        message.body = Body::new(&format!("{CODE}{LAST}"));
    }
    let write = Write::Entry {
        account,
        conversation,
        entry: Box::new(last),
    };
    store
        .commit_now(vec![write], Durability::Full)
        .expect("a message");
    store.close();
}
