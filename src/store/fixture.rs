//! Fills a store with made-up history, for benchmarks and tests. The same numbers give the same
//! history.

use super::{Handle, StoreError};
use crate::domain::{
    AccountId, Author, Body, ConversationId, ConversationInfo, ConversationKind, Durability, Entry,
    EntryBody, Footer, Message, MessageKey, MessageSort, ORDER_STEP, RemoteId, Write,
};
use crate::text::SafeText;

/// Entries in one commit.
const BATCH: u64 = 4000;
/// When the made-up history begins: 2024-01-01, in wall milliseconds.
const BEGIN_MS: i64 = 1_704_067_200_000;

const WORDS: &[&str] = &[
    "build",
    "the",
    "crate",
    "fails",
    "with",
    "linker",
    "error",
    "because",
    "openssl",
    "is",
    "missing",
    "on",
    "server",
    "retry",
    "after",
    "update",
    "größe",
    "日本語",
    "patch",
    "manifest",
    "and",
    "run",
    "tests",
    "again",
    "timeout",
    "socket",
    "`cargo check`",
    "**bold**",
    "see",
    "log",
];

/// Writes `count` messages of person and agent, a minute apart, into one conversation. Each text
/// holds its number as `#n`.
pub fn fill(
    store: &Handle,
    account: &AccountId,
    conversation: &ConversationId,
    count: u64,
) -> Result<(), StoreError> {
    let info = ConversationInfo {
        kind: ConversationKind::Session,
        name: SafeText::label(conversation.as_str()),
        ..ConversationInfo::default()
    };
    let mut writes = vec![Write::Conversation {
        account: account.clone(),
        conversation: conversation.clone(),
        info: Box::new(info),
    }];
    for number in 1..=count {
        writes.push(Write::Entry {
            account: account.clone(),
            conversation: conversation.clone(),
            entry: Box::new(entry(number)),
        });
        if number.is_multiple_of(BATCH) {
            store.commit_now(std::mem::take(&mut writes), Durability::Normal)?;
        }
    }
    store.commit_now(writes, Durability::Normal)?;
    Ok(())
}

/// The entry with this number: key, order and remote id follow from it.
pub fn entry(number: u64) -> Entry {
    let order = i64::try_from(number)
        .unwrap_or(i64::MAX / ORDER_STEP)
        .saturating_mul(ORDER_STEP);
    let at_ms = BEGIN_MS.saturating_add(i64::try_from(number).unwrap_or_default() * 60_000);
    let author = if number % 2 == 1 {
        Author::User
    } else {
        Author::Assistant
    };
    let message = Message {
        key: MessageKey(number),
        order,
        remote: Some(RemoteId::new(format!("m{number}"))),
        author,
        sort: MessageSort::Ordinary,
        body: Body::new(&text(number)),
        reasoning: Body::default(),
        reasoned_ms: None,
        attachments: Vec::new(),
        reply_to: None,
        sent_at_ms: Some(at_ms),
        seen_at_ms: at_ms,
        run: None,
        delivery: None,
        command: None,
        footer: Footer::default(),
        is_streaming: false,
        is_interrupted: false,
        is_seen_live_only: false,
    };
    Entry {
        key: message.key,
        order,
        seen_at_ms: at_ms,
        body: EntryBody::Message(Box::new(message)),
    }
}

fn text(number: u64) -> String {
    let mut text = format!("#{number}");
    // A small generator, so that neighbours differ in words and length.
    let mut state = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut draw = |below: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % below
    };
    for _ in 0..8 + draw(40) {
        let index = usize::try_from(draw(WORDS.len() as u64)).unwrap_or_default();
        text.push(' ');
        text.push_str(WORDS[index]);
    }
    text
}
