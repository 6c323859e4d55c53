//! The contract of the store, held against a file and against memory; then what only a file can
//! suffer: migrations, kills, damage, other programs.
#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::sync::mpsc::channel;
use trialogue::domain::*;
use trialogue::store::{self, Handle, StoreError, StoreOptions, audit, fixture, lock, pages};
use trialogue::text::SafeText;

fn account() -> AccountId {
    AccountId::from("home")
}

fn conversation() -> ConversationId {
    ConversationId::from("talk")
}

fn on_file(folder: &Path) -> (Handle, StartFacts) {
    store::open(folder.join("store.db"), StoreOptions::default()).unwrap()
}

/// Runs a test on a store in a file and on one in memory.
fn on_both(test: impl Fn(&Handle)) {
    let folder = tempfile::tempdir().unwrap();
    let (on_disk, _) = on_file(folder.path());
    test(&on_disk);
    on_disk.close();
    let (in_memory, _) = store::memory().unwrap();
    test(&in_memory);
}

fn commit(store: &Handle, writes: Vec<Write>) -> Vec<Committed> {
    store.commit_now(writes, Durability::Normal).unwrap()
}

fn message(key: u64, order: i64, author: Author, text: &str) -> Message {
    Message {
        key: MessageKey(key),
        order,
        remote: Some(RemoteId::new(format!("r{key}"))),
        author,
        sort: MessageSort::Ordinary,
        body: Body::new(text),
        reasoning: Body::default(),
        reasoned_ms: None,
        attachments: Vec::new(),
        reply_to: None,
        sent_at_ms: Some(order.saturating_add(1_000_000)),
        seen_at_ms: order.saturating_add(2_000_000),
        run: None,
        delivery: None,
        command: None,
        footer: Footer::default(),
        is_streaming: false,
        is_interrupted: false,
        is_seen_live_only: false,
    }
}

fn entry_of(message: Message) -> Entry {
    Entry {
        key: message.key,
        order: message.order,
        seen_at_ms: message.seen_at_ms,
        body: EntryBody::Message(Box::new(message)),
    }
}

fn put(entry: Entry) -> Write {
    Write::Entry {
        account: account(),
        conversation: conversation(),
        entry: Box::new(entry),
    }
}

fn say(key: u64, order: i64, author: Author, text: &str) -> Write {
    put(entry_of(message(key, order, author, text)))
}

fn listed(name: &'static str) -> Write {
    Write::Conversation {
        account: account(),
        conversation: conversation(),
        info: Box::new(ConversationInfo {
            name: SafeText::from(name),
            ..ConversationInfo::default()
        }),
    }
}

fn start(store: &Handle) -> StartFacts {
    match store.look_now(Lookup::Start).unwrap() {
        Found::Start(facts) => *facts,
        other => panic!("{other:?}"),
    }
}

fn stored(store: &Handle) -> StoredConversation {
    start(store)
        .conversations
        .into_iter()
        .find(|stored| stored.conversation == conversation())
        .unwrap()
}

fn window(store: &Handle, around: Place, before: usize, after: usize) -> (Vec<Entry>, bool, bool) {
    match store
        .look_now(Lookup::Window {
            account: account(),
            conversation: conversation(),
            around,
            before,
            after,
        })
        .unwrap()
    {
        Found::Window {
            entries,
            has_older,
            has_newer,
            ..
        } => (entries, has_older, has_newer),
        other => panic!("{other:?}"),
    }
}

fn all(store: &Handle) -> Vec<Entry> {
    window(store, Place::Oldest, 0, 1000).0
}

/// "key@order:text" of every entry.
fn summary(entries: &[Entry]) -> Vec<String> {
    entries
        .iter()
        .map(|entry| match &entry.body {
            EntryBody::Message(message) => {
                format!("{}@{}:{}", entry.key.0, entry.order, message.body.text())
            }
            EntryBody::Tool(tool) => format!("{}@{}:tool {}", entry.key.0, entry.order, tool.name),
            EntryBody::RunEnded { .. } => format!("{}@{}:end", entry.key.0, entry.order),
            EntryBody::Gap { .. } => format!("{}@{}:gap", entry.key.0, entry.order),
            EntryBody::Deleted { count } => {
                format!("{}@{}:{count} deleted", entry.key.0, entry.order)
            }
        })
        .collect()
}

fn search(store: &Handle, query: &str) -> Vec<String> {
    match store
        .look_now(Lookup::Search {
            query: query.to_owned(),
            account: None,
            conversation: None,
            limit: 100,
            skip: 0,
        })
        .unwrap()
    {
        Found::Search { hits, .. } => hits
            .into_iter()
            .map(|(_, hit)| hit.snippet.as_str().to_owned())
            .collect(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_message_comes_back_with_everything_on_it() {
    on_both(|store| {
        let full = Message {
            remote: Some(RemoteId::from("remote")),
            author: Author::Automation,
            sort: MessageSort::Notice,
            body: Body::new("text\u{1b}[31m with an escape"),
            reasoning: Body::new("because"),
            reasoned_ms: None,
            attachments: vec![AttachmentId::from("a1"), AttachmentId::from("a2")],
            reply_to: Some(RemoteId::from("before")),
            sent_at_ms: None,
            run: Some(RunId::from("run")),
            delivery: Some(Delivery::Failed(Refusal::new(RefusalCode::TooLarge, "no"))),
            command: Some(CommandId(u64::MAX)),
            footer: Footer {
                model: Some(SafeText::from("gpt")),
                tokens_in: Some(1),
                tokens_out: Some(2),
                tokens_cached: Some(3),
                tokens: Some(4),
                context_percent: Some(41),
                directory: Some(SafeText::from("~/proj")),
                latency_ms: Some(6200),
                cost_micro_usd: Some(12_000),
            },
            is_streaming: true,
            is_interrupted: true,
            is_seen_live_only: true,
            ..message(u64::MAX - 3, -5, Author::User, "")
        };
        commit(store, vec![put(entry_of(full.clone()))]);
        assert_eq!(all(store), vec![entry_of(full)]);
    });
}

#[test]
fn tools_ends_of_runs_and_gaps_come_back() {
    on_both(|store| {
        let tool = ToolCall {
            run: Some(RunId::from("run")),
            status: ToolStatus::Failed,
            preview: SafeText::from("cargo build"),
            arguments: SafeText::from("{\n  \"a\": 1\n}"),
            note: SafeText::from("half"),
            output: SafeText::from("line\nline"),
            error: SafeText::from("exit 1"),
            emoji: SafeText::from("🔧"),
            duration_ms: Some(1200),
            started: Some(Moment {
                mono_ms: 7,
                wall_ms: 9,
            }),
            ..ToolCall::new(ToolCallId::from("call"), SafeText::from("terminal"))
        };
        let bodies = [
            EntryBody::Tool(Box::new(tool)),
            EntryBody::RunEnded {
                run: RunId::from("run"),
                outcome: RunOutcome::Failed {
                    error: SafeText::from("boom"),
                    hint: SafeText::from("try again"),
                    details: SafeText::from("E42 at line 7"),
                },
            },
            EntryBody::Gap {
                token: PageToken::from("page"),
            },
        ];
        let entries: Vec<Entry> = bodies
            .into_iter()
            .zip(1..)
            .map(|(body, number)| Entry {
                key: MessageKey(number),
                order: number.cast_signed() * ORDER_STEP,
                seen_at_ms: 5,
                body,
            })
            .collect();
        commit(store, entries.iter().cloned().map(put).collect());
        assert_eq!(all(store), entries);
    });
}

#[test]
fn the_same_remote_id_replaces_and_keeps_key_and_order() {
    on_both(|store| {
        commit(store, vec![say(1, 10, Author::Assistant, "draft")]);
        let mut later = message(7, 99, Author::Assistant, "final");
        later.remote = Some(RemoteId::from("r1"));
        let committed = commit(store, vec![put(entry_of(later))]);
        assert_eq!(summary(&all(store)), ["1@10:final"]);
        assert_eq!(committed[0].new_messages, Vec::<RemoteId>::new());
    });
}

#[test]
fn an_echo_that_came_before_its_acknowledgement_is_one_message_afterwards() {
    on_both(|store| {
        let mut own = message(1, 10, Author::User, "hello");
        own.remote = None;
        own.delivery = Some(Delivery::InFlight);
        let mut echo = message(2, 20, Author::User, "hello");
        echo.remote = Some(RemoteId::from("server"));
        commit(store, vec![put(entry_of(own.clone())), put(entry_of(echo))]);
        own.remote = Some(RemoteId::from("server"));
        own.delivery = Some(Delivery::Accepted);
        commit(store, vec![put(entry_of(own.clone()))]);
        assert_eq!(all(store), vec![entry_of(own)]);
    });
}

#[test]
fn a_message_that_another_program_tells_is_the_one_that_was_sent_from_here() {
    on_both(|store| {
        let mut own = message(1, 10, Author::User, "hello");
        own.remote = None;
        own.delivery = Some(Delivery::Uncertain);
        own.command = Some(CommandId(5));
        let unsent = OutboxRecord {
            text: "hello".to_owned(),
            ..outbox_record(1, 1)
        };
        let sent = vec![put(entry_of(own.clone())), Write::Outbox(Box::new(unsent))];
        commit(store, sent);
        let told = message(7, 20, Author::User, " hello\n");
        commit(store, vec![put(entry_of(told.clone()))]);
        own.remote = told.remote.clone();
        own.delivery = Some(Delivery::Accepted);
        own.body = told.body.clone();
        own.sent_at_ms = told.sent_at_ms;
        assert_eq!(all(store), vec![entry_of(own.clone())]);
        assert_eq!(start(store).outbox, [], "nothing waits for it any more");
        // Who told it writes it again, and its sender, who never learned the id.
        commit(store, vec![put(entry_of(told))]);
        assert_eq!(all(store), vec![entry_of(own.clone())]);
        let mut late = own.clone();
        late.remote = None;
        commit(store, vec![put(entry_of(late))]);
        assert_eq!(all(store), vec![entry_of(own)]);
    });
}

#[test]
fn an_equal_text_from_another_time_is_another_message() {
    on_both(|store| {
        let mut own = message(1, 10, Author::User, "yes");
        own.remote = None;
        own.delivery = Some(Delivery::Accepted);
        commit(store, vec![put(entry_of(own))]);
        let mut told = message(2, 20, Author::User, "yes");
        told.sent_at_ms = Some(5_000_000_000);
        told.seen_at_ms = 5_000_000_000;
        commit(store, vec![put(entry_of(told))]);
        assert_eq!(summary(&all(store)), ["1@10:yes", "2@20:yes"]);
    });
}

#[test]
fn the_same_call_replaces_the_tool() {
    on_both(|store| {
        let tool = |key: u64, order: i64, name: &'static str| {
            put(Entry {
                key: MessageKey(key),
                order,
                seen_at_ms: 0,
                body: EntryBody::Tool(Box::new(ToolCall::new(
                    ToolCallId::from("call"),
                    SafeText::from(name),
                ))),
            })
        };
        commit(store, vec![tool(1, 10, "one"), tool(2, 20, "two")]);
        assert_eq!(summary(&all(store)), ["1@10:tool two"]);
    });
}

#[test]
fn a_deleted_message_does_not_come_back() {
    on_both(|store| {
        commit(
            store,
            vec![
                say(1, 10, Author::Assistant, "secret plans"),
                say(2, 20, Author::Assistant, "other"),
                Write::MessagesDeleted {
                    account: account(),
                    conversation: conversation(),
                    remotes: vec![RemoteId::from("r1"), RemoteId::from("never seen")],
                },
            ],
        );
        let mut unseen = message(3, 30, Author::Assistant, "late");
        unseen.remote = Some(RemoteId::from("never seen"));
        let committed = commit(
            store,
            vec![
                say(1, 90, Author::Assistant, "secret plans"),
                put(entry_of(unseen)),
            ],
        );
        assert_eq!(summary(&all(store)), ["2@20:other"]);
        assert_eq!(committed[0].new_messages, Vec::<RemoteId>::new());
        assert_eq!(search(store, "secret"), Vec::<String>::new());
    });
}

#[test]
fn a_new_remote_id_is_followed_by_everything_that_names_it() {
    on_both(|store| {
        let mut reply = message(2, 20, Author::User, "yes");
        reply.reply_to = Some(RemoteId::from("r1"));
        commit(
            store,
            vec![
                listed("talk"),
                say(1, 10, Author::Assistant, "draft"),
                put(entry_of(reply)),
                Write::Read {
                    account: account(),
                    conversation: conversation(),
                    mark: ReadMark {
                        order: 10,
                        remote: Some(RemoteId::from("r1")),
                        at_ms: 1,
                    },
                },
                Write::Draft {
                    account: account(),
                    conversation: conversation(),
                    draft: Some(Box::new(DraftRecord {
                        text: "and".to_owned(),
                        reply_to: Some(RemoteId::from("r1")),
                        ..DraftRecord::default()
                    })),
                },
                Write::Rekeyed {
                    account: account(),
                    conversation: conversation(),
                    from: RemoteId::from("r1"),
                    to: RemoteId::from("history"),
                },
            ],
        );
        let to = Some(RemoteId::from("history"));
        let entries = all(store);
        assert_eq!(entries[0].message().unwrap().remote, to);
        assert_eq!(entries[1].message().unwrap().reply_to, to);
        assert_eq!(stored(store).read.remote, to);
        assert_eq!(stored(store).draft.unwrap().reply_to, to);
    });
}

#[test]
fn a_new_remote_id_that_is_here_already_makes_one_message_of_two() {
    on_both(|store| {
        let mut history = message(2, 20, Author::Assistant, "the whole answer");
        history.remote = Some(RemoteId::from("history"));
        commit(
            store,
            vec![
                say(1, 10, Author::Assistant, "the wh"),
                put(entry_of(history)),
                Write::Rekeyed {
                    account: account(),
                    conversation: conversation(),
                    from: RemoteId::from("r1"),
                    to: RemoteId::from("history"),
                },
            ],
        );
        assert_eq!(summary(&all(store)), ["1@10:the whole answer"]);
        assert_eq!(search(store, "whole answer").len(), 1);
    });
}

/// An entry of another program: its keys have other bits at the front.
fn of_other_program(mut entry: Entry) -> Entry {
    let key = MessageKey(entry.key.0 | 7 << 32);
    entry.key = key;
    if let Some(message) = entry.message_mut() {
        message.key = key;
    }
    entry
}

fn end_of(run: &'static str, key: u64, order: i64, outcome: RunOutcome) -> Entry {
    Entry {
        key: MessageKey(key),
        order,
        seen_at_ms: 1_000,
        body: EntryBody::RunEnded {
            run: RunId::from(run),
            outcome,
        },
    }
}

#[test]
fn the_end_of_a_run_that_two_programs_saw_stands_once() {
    let check = |first: &'static str, second: &'static str, between: bool, ends: usize| {
        on_both(|store| {
            let mut writes = vec![put(end_of(first, 1, 10, RunOutcome::Completed))];
            if between {
                writes.push(say(2, 15, Author::User, "and once more"));
            }
            let seen = end_of(second, 1, 20, RunOutcome::Completed);
            writes.push(put(of_other_program(seen)));
            commit(store, writes);
            let found = all(store);
            let count = found
                .iter()
                .filter(|entry| matches!(entry.body, EntryBody::RunEnded { .. }))
                .count();
            assert_eq!(count, ends, "{first} {second} {between}: {found:?}");
        });
    };
    check("run", "run", false, 1);
    check("run", "run", true, 1);
    // Each program named the run itself.
    check("turn-a-1", "turn-b-1", false, 1);
    check("turn-a-1", "turn-b-2", true, 2);
    on_both(|store| {
        let ends = vec![
            put(end_of("turn-a-1", 1, 10, RunOutcome::Completed)),
            put(end_of("turn-a-2", 2, 20, RunOutcome::Completed)),
            put(of_other_program(end_of(
                "turn-b-3",
                3,
                30,
                RunOutcome::Cancelled,
            ))),
        ];
        commit(store, ends);
        assert_eq!(
            all(store).len(),
            3,
            "one program saw two, and another a third"
        );
    });
}

#[test]
fn a_message_that_came_in_under_an_older_id_is_the_one_that_history_has() {
    let live = |key: u64, text: &str| {
        let mut message = message(key, 10, Author::Assistant, text);
        message.remote = Some(RemoteId::from("draft"));
        message.is_seen_live_only = true;
        entry_of(message)
    };
    let rekeyed = |from: &'static str, to: &'static str| Write::Rekeyed {
        account: account(),
        conversation: conversation(),
        from: RemoteId::from(from),
        to: RemoteId::from(to),
    };
    let remotes = |store: &Handle| -> Vec<String> {
        let all = all(store);
        let remote = |entry: &Entry| entry.message()?.remote.clone();
        all.iter()
            .filter_map(remote)
            .map(|remote| remote.as_str().to_owned())
            .collect()
    };
    on_both(|store| {
        commit(
            store,
            vec![put(live(1, "the answer")), rekeyed("draft", "history")],
        );
        // The other program, and the one that wrote it first.
        for late in [of_other_program(live(2, "the ans")), live(1, "the answer")] {
            commit(store, vec![put(late)]);
            assert_eq!(summary(&all(store)), ["1@10:the answer"]);
            assert_eq!(remotes(store), ["history"]);
        }
        commit(store, vec![rekeyed("history", "newer")]);
        commit(store, vec![put(of_other_program(live(3, "the answer")))]);
        assert_eq!(remotes(store), ["newer"]);
        // A server that gives an id again means another message.
        commit(store, vec![put(of_other_program(live(4, "quite another")))]);
        assert_eq!(remotes(store), ["newer", "draft"]);
    });
}

#[test]
fn entries_move_only_when_they_are_told_to() {
    on_both(|store| {
        commit(
            store,
            vec![
                say(1, 10, Author::User, "one"),
                say(2, 20, Author::User, "two"),
                say(1, 30, Author::User, "one"),
                Write::Orders {
                    account: account(),
                    conversation: conversation(),
                    orders: vec![(MessageKey(2), 5), (MessageKey(9), 7)],
                },
            ],
        );
        assert_eq!(summary(&all(store)), ["2@5:two", "1@10:one"]);
    });
}

#[test]
fn entries_are_dropped_by_key_without_a_tombstone() {
    on_both(|store| {
        commit(
            store,
            vec![
                say(1, 10, Author::Assistant, "one"),
                Write::EntriesGone {
                    account: account(),
                    conversation: conversation(),
                    keys: vec![MessageKey(1)],
                },
            ],
        );
        assert_eq!(all(store), Vec::new());
        commit(store, vec![say(1, 10, Author::Assistant, "again")]);
        assert_eq!(summary(&all(store)), ["1@10:again"]);
    });
}

#[test]
fn windows_are_cut_around_any_place() {
    on_both(|store| {
        commit(
            store,
            (1..=9)
                .map(|n| say(n, n.cast_signed() * 10, Author::Assistant, "x"))
                .collect(),
        );
        let check = |around: Place, before, after, orders: &[i64], older, newer| {
            let (entries, has_older, has_newer) = window(store, around.clone(), before, after);
            let found: Vec<i64> = entries.iter().map(|entry| entry.order).collect();
            assert_eq!(
                (found.as_slice(), has_older, has_newer),
                (orders, older, newer),
                "{around:?}"
            );
        };
        check(Place::Newest, 3, 0, &[70, 80, 90], true, false);
        check(Place::Oldest, 0, 2, &[10, 20], false, true);
        check(Place::Order(50), 1, 1, &[40, 50, 60], true, true);
        check(Place::Order(55), 1, 1, &[50, 60], true, true);
        check(Place::Order(10), 5, 0, &[10], false, true);
        check(
            Place::Remote(RemoteId::from("r3")),
            9,
            1,
            &[10, 20, 30, 40],
            false,
            true,
        );
        check(
            Place::Remote(RemoteId::from("nobody")),
            9,
            9,
            &[],
            false,
            false,
        );
        check(Place::Time(1_000_035), 0, 1, &[40, 50], true, true);
        check(Place::Time(9_000_000), 1, 1, &[90], true, false);
        check(Place::Time(i64::MIN), 1, 1, &[10, 20], false, true);
        check(
            Place::Newest,
            100,
            100,
            &[10, 20, 30, 40, 50, 60, 70, 80, 90],
            false,
            false,
        );
    });
}

#[test]
fn a_conversation_that_is_not_known_is_empty() {
    on_both(|store| {
        assert_eq!(
            window(store, Place::Newest, 9, 9),
            (Vec::new(), false, false)
        )
    });
}

#[test]
fn unread_counts_what_others_said_above_the_mark() {
    on_both(|store| {
        let mut commentary = message(4, 40, Author::Assistant, "looking …");
        commentary.sort = MessageSort::Commentary;
        let committed = commit(
            store,
            vec![
                listed("talk"),
                say(1, 10, Author::User, "q"),
                say(2, 20, Author::Assistant, "a"),
                say(3, 30, Author::Automation, "b"),
                put(entry_of(commentary)),
            ],
        );
        assert_eq!(
            committed,
            vec![Committed {
                account: account(),
                conversation: conversation(),
                new_messages: vec![RemoteId::from("r2"), RemoteId::from("r3")],
                unread: Unread::Count(2),
                newest_order: 40,
                last_activity_ms: 1_000_040,
            }]
        );
        let read = |order| Write::Read {
            account: account(),
            conversation: conversation(),
            mark: ReadMark {
                order,
                remote: None,
                at_ms: order,
            },
        };
        assert_eq!(commit(store, vec![read(20)])[0].unread, Unread::Count(1));
        assert_eq!(commit(store, vec![read(40)])[0].unread, Unread::None);
        // A mark never moves back.
        assert_eq!(commit(store, vec![read(10)])[0].unread, Unread::None);
        assert_eq!(stored(store).read.order, 40);
        assert_eq!(stored(store).unread, Unread::None);
    });
}

#[test]
fn a_conversation_without_messages_here_keeps_when_it_was_read() {
    on_both(|store| {
        let read = |at_ms| Write::Read {
            account: account(),
            conversation: conversation(),
            mark: ReadMark {
                order: 0,
                remote: None,
                at_ms,
            },
        };
        commit(store, vec![listed("talk"), read(5_000)]);
        assert_eq!(stored(store).read.at_ms, 5_000);
        commit(store, vec![read(4_000)]);
        assert_eq!(stored(store).read.at_ms, 5_000, "never back");
    });
}

#[test]
fn the_same_batch_twice_is_the_same_as_once() {
    on_both(|store| {
        let batch = || {
            vec![
                listed("talk"),
                say(1, 10, Author::Assistant, "one"),
                say(2, 20, Author::User, "two"),
            ]
        };
        commit(store, batch());
        let before = (all(store), start(store));
        let committed = commit(store, batch());
        assert_eq!((all(store), start(store)), before);
        assert_eq!(committed[0].new_messages, Vec::<RemoteId>::new());
    });
}

#[test]
fn the_directory_keeps_what_the_person_set() {
    on_both(|store| {
        let info = ConversationInfo {
            kind: ConversationKind::Thread,
            parent: Some(ConversationId::from("up")),
            name: SafeText::from("name"),
            name_is_derived: true,
            is_favorite: true,
            is_automation: true,
            is_archived: true,
            last_activity_ms: Some(77),
            appearance: Appearance {
                color: Some((1, 2, 3)),
                icon: Some(vec![9, 8].into()),
            },
        };
        let settings = LocalSettings {
            is_muted: true,
            is_pinned: true,
            is_left: true,
        };
        commit(
            store,
            vec![
                listed("old"),
                Write::LocalSettings {
                    account: account(),
                    conversation: conversation(),
                    settings: settings.clone(),
                },
                Write::OlderToken {
                    account: account(),
                    conversation: conversation(),
                    token: Some(PageToken::from("page")),
                },
                Write::Conversation {
                    account: account(),
                    conversation: conversation(),
                    info: Box::new(info.clone()),
                },
            ],
        );
        let found = stored(store);
        assert_eq!(
            (found.info, found.settings, found.older_token),
            (info, settings, Some(PageToken::from("page")))
        );
    });
}

#[test]
fn a_conversation_left_out_of_the_directory_is_hidden_until_it_is_named_again() {
    on_both(|store| {
        commit(
            store,
            vec![listed("talk"), say(1, 10, Author::Assistant, "words")],
        );
        let directory = |conversations| Write::DirectoryIs {
            account: account(),
            conversations,
        };
        commit(store, vec![directory(Vec::new())]);
        assert_eq!(start(store).conversations, Vec::new());
        assert_eq!(search(store, "words"), Vec::<String>::new());
        commit(store, vec![directory(vec![conversation()])]);
        assert_eq!(stored(store).newest_order, 10);
        assert_eq!(search(store, "words"), ["words"]);
    });
}

fn outbox_record(key: u64, position: i64) -> OutboxRecord {
    OutboxRecord {
        key: MessageKey(key),
        account: account(),
        conversation: conversation(),
        text: "on its way".to_owned(),
        files: vec![OutgoingFile {
            transfer: TransferId(4),
            path: "/tmp/ä b".into(),
            name: "b".to_owned(),
            media_type: "text/plain".to_owned(),
            kind: AttachmentKind::Voice,
            size: 3,
            uploaded: Some(AttachmentId::from("up")),
        }],
        reply_to: Some(RemoteId::from("r1")),
        auto_thread: true,
        delivery: Delivery::Uncertain,
        created_ms: 5,
        instance: u64::MAX,
        position,
    }
}

fn draft_record() -> DraftRecord {
    DraftRecord {
        text: "not done".to_owned(),
        caret: 3,
        folded: std::iter::once(0..3).collect(),
        reply_to: Some(RemoteId::from("r1")),
        files: vec!["/tmp/x".into()],
        saved_ms: 8,
    }
}

fn unsent_writes() -> Vec<Write> {
    vec![
        listed("talk"),
        Write::Outbox(Box::new(outbox_record(2, 2))),
        Write::Outbox(Box::new(outbox_record(1, 1))),
        Write::Draft {
            account: account(),
            conversation: conversation(),
            draft: Some(Box::new(draft_record())),
        },
    ]
}

#[test]
fn what_was_not_sent_outlives_its_conversation() {
    on_both(|store| {
        commit(store, unsent_writes());
        commit(
            store,
            vec![
                say(1, 10, Author::Assistant, "gone"),
                Write::ConversationGone {
                    account: account(),
                    conversation: conversation(),
                },
            ],
        );
        assert_eq!(start(store).conversations, Vec::new());
        assert_eq!(
            start(store).outbox,
            vec![outbox_record(1, 1), outbox_record(2, 2)]
        );
        commit(
            store,
            vec![listed("back"), Write::OutboxGone { key: MessageKey(1) }],
        );
        assert_eq!(stored(store).draft, Some(draft_record()));
        assert_eq!(start(store).outbox, vec![outbox_record(2, 2)]);
        assert_eq!(all(store), Vec::new());
        commit(
            store,
            vec![Write::Draft {
                account: account(),
                conversation: conversation(),
                draft: None,
            }],
        );
        assert_eq!(stored(store).draft, None);
    });
}

#[test]
fn clearing_drops_entries_and_what_comes_next_is_unread() {
    on_both(|store| {
        commit(
            store,
            vec![
                listed("talk"),
                say(1, 100, Author::Assistant, "old"),
                Write::Read {
                    account: account(),
                    conversation: conversation(),
                    mark: ReadMark {
                        order: 100,
                        remote: None,
                        at_ms: 1,
                    },
                },
                Write::Cleared {
                    account: account(),
                    conversation: conversation(),
                },
            ],
        );
        assert_eq!(all(store), Vec::new());
        let committed = commit(store, vec![say(2, 10, Author::Assistant, "new")]);
        assert_eq!(committed[0].unread, Unread::Count(1));
    });
}

#[test]
fn attachments_come_back_without_their_transfers() {
    on_both(|store| {
        let attachment = |id: &str, state| Attachment {
            id: AttachmentId::from(id),
            message: Some(RemoteId::from("r1")),
            direction: Direction::Out,
            name: SafeText::from("plan.pdf"),
            media_type: SafeText::from("application/pdf"),
            kind: AttachmentKind::Document,
            size: Some(12),
            may_preview: true,
            expires_at_ms: Some(99),
            source: AttachmentSource::HttpPath("/attachments/1".to_owned()),
            state,
        };
        let transfer = TransferId(3);
        let states = [
            AttachmentState::Present {
                path: "/cache/x".into(),
            },
            AttachmentState::Transferring { transfer, done: 5 },
            AttachmentState::Gone,
        ];
        let kept = |states: &[AttachmentState]| -> Vec<Attachment> {
            states
                .iter()
                .zip(["a", "b", "c"])
                .map(|(state, id)| attachment(id, state.clone()))
                .collect()
        };
        let writes = kept(&states)
            .into_iter()
            .map(|attachment| Write::Attachment {
                account: account(),
                conversation: conversation(),
                attachment: Box::new(attachment),
            })
            .collect();
        commit(store, writes);
        let of = || match store
            .look_now(Lookup::Attachments {
                account: account(),
                conversation: conversation(),
            })
            .unwrap()
        {
            Found::Attachments { attachments, .. } => attachments,
            other => panic!("{other:?}"),
        };
        let mut expected = states.clone();
        expected[1] = AttachmentState::Offered;
        assert_eq!(of(), kept(&expected));
        commit(
            store,
            vec![Write::AttachmentGone {
                account: account(),
                attachment: AttachmentId::from("b"),
            }],
        );
        assert_eq!(of().len(), 2);
        commit(
            store,
            vec![Write::MessagesDeleted {
                account: account(),
                conversation: conversation(),
                remotes: vec![RemoteId::from("r1")],
            }],
        );
        assert_eq!(of(), Vec::new());
    });
}

#[test]
fn inputs_are_found_newest_first_and_once() {
    on_both(|store| {
        let input = |place: &str, text: &str, at_ms| Write::Input {
            account: account(),
            conversation: ConversationId::from(place),
            text: text.to_owned(),
            at_ms,
        };
        commit(
            store,
            vec![
                input("a", "first", 1),
                input("b", "Second", 2),
                input("a", "third", 3),
                input("a", "first", 4),
                input("a", "  ", 5),
            ],
        );
        let find = |place: Option<&str>, containing: &str| match store
            .look_now(Lookup::Inputs {
                account: None,
                conversation: place.map(ConversationId::from),
                containing: containing.to_owned(),
                limit: 10,
            })
            .unwrap()
        {
            Found::Inputs { texts, .. } => texts,
            other => panic!("{other:?}"),
        };
        assert_eq!(find(None, ""), ["first", "third", "Second"]);
        assert_eq!(find(Some("a"), ""), ["first", "third"]);
        assert_eq!(find(None, "SEC"), ["Second"]);
    });
}

#[test]
fn facts_answers_and_the_state_of_the_screen_come_back() {
    on_both(|store| {
        let fact = |name: &str, value: Option<&str>| Write::Fact {
            account: account(),
            name: name.to_owned(),
            value: value.map(str::to_owned),
        };
        let answering = |decision: &str, answer| Write::Answering {
            account: account(),
            decision: DecisionId::from(decision),
            conversation: conversation(),
            answer,
            command: CommandId(1),
        };
        let choice = Answer::Choice {
            value: "deny".to_owned(),
            reason: Some("no".to_owned()),
        };
        commit(
            store,
            vec![
                fact("cursor", Some("1")),
                fact("cursor", Some("2")),
                fact("gone", Some("x")),
                fact("gone", None),
                answering("d1", choice.clone()),
                answering("d2", Answer::Text("text".to_owned())),
                Write::AnswerGone {
                    account: account(),
                    decision: DecisionId::from("d2"),
                },
                Write::Ui {
                    name: "width".to_owned(),
                    value: "20".to_owned(),
                },
            ],
        );
        let facts = start(store);
        assert_eq!(
            facts.facts,
            vec![(account(), "cursor".to_owned(), "2".to_owned())]
        );
        assert_eq!(
            facts.answering,
            vec![(account(), DecisionId::from("d1"), conversation(), choice)]
        );
        assert_eq!(facts.ui, vec![("width".to_owned(), "20".to_owned())]);
    });
}

#[test]
fn nothing_of_a_removed_account_stays() {
    on_both(|store| {
        commit(store, unsent_writes());
        commit(
            store,
            vec![
                say(1, 10, Author::Assistant, "words"),
                Write::AccountGone { account: account() },
            ],
        );
        assert_eq!(start(store), StartFacts::default());
        assert_eq!(search(store, "words"), Vec::<String>::new());
    });
}

#[test]
fn search_finds_pieces_short_words_and_other_scripts() {
    on_both(|store| {
        commit(
            store,
            vec![
                say(1, 10, Author::User, "The linker says: ld returned 1"),
                say(2, 20, Author::Assistant, "Größe of the BUILD folder"),
                say(3, 30, Author::Assistant, "再起動してください ok"),
                say(4, 40, Author::Assistant, "100% \"quoted\" AND OR * done"),
            ],
        );
        let check = |query: &str, numbers: &[usize]| {
            let texts = search(store, query);
            let found: Vec<usize> = texts
                .iter()
                .map(|text| {
                    ["linker", "Größe", "再起動", "100%"]
                        .iter()
                        .position(|start| text.contains(start))
                        .unwrap()
                        + 1
                })
                .collect();
            assert_eq!(found, numbers, "{query}");
        };
        check("link", &[1]);
        check("inke", &[1]);
        check("build", &[2]);
        check("grosse", &[]);
        check("große", &[2]);
        check("GRÖSSE", &[]);
        check("größe", &[2]);
        check("the", &[2, 1]);
        check("the folder", &[2]);
        check("ld", &[2, 1]);
        check("linker ld", &[1]);
        check("再起動", &[3]);
        check("起動", &[3]);
        check("動", &[3]);
        check("%", &[4]);
        check("\"quoted\" and", &[4]);
        check("*", &[4]);
        check("", &[]);
        check("-", &[]);
        check("NEAR(a b) ^ :", &[]);
    });
}

#[test]
fn a_term_is_found_only_where_its_pieces_follow_each_other() {
    on_both(|store| {
        commit(
            store,
            vec![
                say(1, 10, Author::User, "abcd bcde"),
                say(2, 20, Author::User, "an abcde here"),
                say(
                    3,
                    30,
                    Author::User,
                    "fn main() { let x = foo::<T>(&mut y)?; }",
                ),
                say(4, 40, Author::User, "Crème Brûlée, CRE\u{300}ME"),
                say(5, 50, Author::User, "関数を呼び出してください"),
            ],
        );
        assert_eq!(search(store, "abcde"), ["an abcde here"]);
        assert_eq!(search(store, "foo::<t>(&mut").len(), 1);
        assert_eq!(search(store, "\"{ let x\"").len(), 1);
        assert_eq!(search(store, "\"let  x\"").len(), 0);
        assert_eq!(search(store, "呼び出して").len(), 1);
        assert_eq!(search(store, "creme brulee").len(), 1);
        assert_eq!(search(store, "crème").len(), 1);
        let long = "fn main() { let x = foo::<T>(&mut y)?; }";
        assert_eq!(search(store, &format!("\"{long}\"")).len(), 1);
        assert_eq!(search(store, &format!("\"{long}}}\"")).len(), 0);
    });
}

#[test]
fn messages_of_one_time_are_kept_found_and_in_order() {
    on_both(|store| {
        let count = 3000;
        let writes = (1..=count)
            .map(|number| {
                let text = format!("same time {number}.");
                let mut message =
                    message(number, i64::try_from(number).unwrap(), Author::User, &text);
                message.sent_at_ms = Some(1_700_000_000_000);
                put(entry_of(message))
            })
            .collect();
        commit(store, writes);
        let kept = pages::pages(store, account(), conversation());
        let kept: usize = kept.map(|page| page.unwrap().len()).sum();
        assert_eq!(kept, 3000);
        assert_eq!(search(store, "\"time 1.\"").len(), 1);
        assert_eq!(search(store, "\"time 2999.\"").len(), 1);
        let (entries, ..) = window(store, Place::Time(1_700_000_000_000), 0, 1);
        assert_eq!(summary(&entries)[0], "1@1:same time 1.");
    });
}

/// A file as the first schema wrote it.
fn old_file(path: &std::path::Path) {
    let old = rusqlite::Connection::open(path).unwrap();
    old.execute_batch(include_str!("../src/store/migrations/001_init.sql"))
        .unwrap();
    old.execute_batch("PRAGMA user_version = 1; INSERT INTO conversation (id, account, ident) VALUES (7, 'home', 'talk')")
        .unwrap();
    let texts = [
        (0, "at no time"),
        (0, "at no time either"),
        (1_700_000_000_000_i64, "Größe of the build folder"),
        (1_700_000_000_000, "再起動してください ok"),
        (1_700_000_000_001, "let x = foo::<T>();"),
        (1_700_000_500_000, "the newest"),
    ];
    for (number, (at_ms, text)) in texts.iter().enumerate() {
        let number = i64::try_from(number).unwrap();
        old.execute(
            "INSERT INTO entry (id, conversation, key, ord, kind, seen_at_ms, sent_at_ms, remote,
                                author, is_indexed, text, rest)
             VALUES ((?1 << 20) + ?2, 7, ?2, ?2 * 10, 0, ?1, ?1, 'r' || ?2, 1, 1, ?3, '{}')",
            (at_ms, number, text),
        )
        .unwrap();
    }
    // A tool call, in whose text nobody looks.
    old.execute_batch(
        "INSERT INTO entry (id, conversation, key, ord, kind, seen_at_ms, call, rest)
         VALUES ((1700000000002 << 20), 7, 99, 45, 1, 1700000000002, 'c1', '{\"name\":\"bash\"}');
         INSERT INTO entry (id, conversation, key, ord, kind, seen_at_ms, rest)
         VALUES ((1700000000003 << 20), 7, 100, 46, 2, 1700000000003,
                 '{\"run\":\"r1\",\"outcome\":\"completed\"}'),
                ((1700000000004 << 20), 7, 101, 46, 2, 1700000000004,
                 '{\"run\":\"r1\",\"outcome\":\"completed\"}');
         INSERT INTO entry_words (rowid, text) SELECT id, text FROM entry WHERE is_indexed = 1;
         INSERT INTO entry_grams (rowid, text) SELECT id, text FROM entry WHERE is_indexed = 1;",
    )
    .unwrap();
}

#[test]
fn a_file_of_the_first_schema_is_brought_up_to_date() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    old_file(&path);
    let (store, _) = on_file(folder.path());
    assert!(store.health().read_only.is_none());
    // The end of the run that two programs had written down is there once.
    assert_eq!(all(&store).len(), 8);
    let found = |query: &str| search(&store, query);
    assert_eq!(found("grö"), ["Größe of the build folder"]);
    assert_eq!(found("起動して"), ["再起動してください ok"]);
    assert_eq!(found("foo::<t>"), ["let x = foo::<T>();"]);
    assert_eq!(found("ok"), ["再起動してください ok"]);
    assert_eq!(found("no time"), ["at no time either", "at no time"]);
    assert_eq!(
        found("the"),
        [
            "the newest",
            "Größe of the build folder",
            "at no time either"
        ]
    );
    let (at, ..) = window(&store, Place::Time(1_700_000_500_000), 0, 1);
    assert_eq!(summary(&at)[0], "5@50:the newest");
    // What is written and taken away afterwards keeps the tables whole.
    commit(
        &store,
        vec![put(entry_of(message(5, 50, Author::User, "changed words")))],
    );
    assert_eq!(search(&store, "newest"), Vec::<String>::new());
    assert_eq!(search(&store, "changed"), ["changed words"]);
    store.close();
    let file = rusqlite::Connection::open(&path).unwrap();
    for table in ["entry_words", "entry_grams"] {
        file.execute_batch(&format!(
            "INSERT INTO {table} ({table}, rank) VALUES ('integrity-check', 0)"
        ))
        .unwrap();
    }
    let verdict: String = file
        .pragma_query_value(None, "integrity_check", |row| row.get(0))
        .unwrap();
    assert_eq!(verdict, "ok");
}

#[test]
fn a_file_of_the_first_schema_is_searched_without_being_changed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    old_file(&path);
    let options = StoreOptions {
        read_only: true,
        ..StoreOptions::default()
    };
    let (store, _) = store::open(&path, options).unwrap();
    assert_eq!(search(&store, "起動して"), ["再起動してください ok"]);
    assert_eq!(search(&store, "ok"), ["再起動してください ok"]);
}

#[test]
fn search_pages_newest_first_within_a_scope() {
    on_both(|store| {
        fixture::fill(store, &account(), &conversation(), 50).unwrap();
        fixture::fill(store, &AccountId::from("other"), &conversation(), 50).unwrap();
        let page = |account: Option<AccountId>, skip| match store
            .look_now(Lookup::Search {
                query: "#".to_owned(),
                account,
                conversation: None,
                limit: 30,
                skip,
            })
            .unwrap()
        {
            Found::Search { hits, has_more, .. } => (hits, has_more),
            other => panic!("{other:?}"),
        };
        let (first, has_more) = page(Some(account()), 0);
        assert_eq!((first.len(), has_more), (30, true));
        assert_eq!(first[0].1.remote, Some(RemoteId::from("m50")));
        let (second, has_more) = page(Some(account()), 30);
        assert_eq!((second.len(), has_more), (20, false));
        assert_eq!(second[19].1.remote, Some(RemoteId::from("m1")));
        assert_eq!(page(None, 90).0.len(), 10);
    });
}

#[test]
fn a_streaming_text_is_found_once_it_is_final() {
    on_both(|store| {
        let mut growing = message(1, 10, Author::Assistant, "unique thing");
        growing.is_streaming = true;
        commit(store, vec![put(entry_of(growing.clone()))]);
        assert_eq!(search(store, "unique"), Vec::<String>::new());
        growing.is_streaming = false;
        commit(store, vec![put(entry_of(growing.clone()))]);
        assert_eq!(search(store, "unique"), ["unique thing"]);
        growing.body = Body::new("another thing");
        commit(store, vec![put(entry_of(growing))]);
        assert_eq!(search(store, "unique"), Vec::<String>::new());
        assert_eq!(search(store, "another"), ["another thing"]);
    });
}

#[test]
fn hostile_times_and_orders_do_no_harm() {
    on_both(|store| {
        let mut strange = message(1, i64::MAX, Author::Assistant, "from the future");
        strange.sent_at_ms = Some(i64::MAX);
        let mut early = message(2, i64::MIN, Author::Assistant, "from the past");
        early.sent_at_ms = Some(i64::MIN);
        commit(store, vec![put(entry_of(strange)), put(entry_of(early))]);
        assert_eq!(search(store, "from the").len(), 2);
        assert_eq!(window(store, Place::Order(0), 5, 5).0.len(), 2);
    });
}

#[test]
fn jobs_are_answered_in_order_and_after_closing_with_a_refusal() {
    on_both(|store| {
        let (reply, answers) = channel();
        for number in 0..500_u64 {
            let reply = reply.clone();
            store.commit(
                vec![say(number, number.cast_signed(), Author::Assistant, "x")],
                Durability::Normal,
                Box::new(move |result| reply.send((number, result.is_ok())).unwrap()),
            );
        }
        assert_eq!(window(store, Place::Newest, 1, 0).0[0].order, 499);
        drop(reply);
        let heard: Vec<_> = answers.into_iter().collect();
        assert_eq!(heard, (0..500).map(|n| (n, true)).collect::<Vec<_>>());
        assert!(!store.is_behind());
    });
    let (store, _) = store::memory().unwrap();
    store.close();
    assert_eq!(
        store.commit_now(Vec::new(), Durability::Full),
        Err(StoreError::Closed)
    );
    assert_eq!(store.look_now(Lookup::Start), Err(StoreError::Closed));
    store.close();
}

#[test]
fn a_long_conversation_costs_a_screen() {
    let folder = tempfile::tempdir().unwrap();
    let (store, _) = on_file(folder.path());
    let count = 40_000;
    fixture::fill(&store, &account(), &conversation(), count).unwrap();
    let (newest, has_older, _) = window(&store, Place::Newest, 50, 0);
    assert_eq!((newest.len(), has_older), (50, true));
    assert_eq!(newest[49], fixture::entry(count));
    let (middle, ..) = window(&store, Place::Remote(RemoteId::from("m20000")), 25, 25);
    assert_eq!((middle.len(), &middle[25]), (51, &fixture::entry(20_000)));
    assert_eq!(search(&store, "#33333").len(), 1);
    assert_eq!(stored(&store).unread, Unread::Count(1000));
    let total: usize = pages::pages(&store, account(), conversation())
        .map(|page| page.unwrap().len())
        .sum();
    assert_eq!(total, 40_000);
}

#[test]
fn pages_bring_entries_of_the_same_order_once() {
    on_both(|store| {
        let writes = (0..2000_u64)
            .map(|n| say(n, (n / 3).cast_signed(), Author::User, "x"))
            .collect();
        commit(store, writes);
        let keys: Vec<u64> = pages::pages(store, account(), conversation())
            .flat_map(|page| page.unwrap())
            .map(|entry| entry.key.0)
            .collect();
        assert_eq!(keys, (0..2000).collect::<Vec<_>>());
    });
}

#[test]
fn all_hits_of_a_search_come_in_pages() {
    on_both(|store| {
        fixture::fill(store, &account(), &conversation(), 1200).unwrap();
        let pages: Vec<usize> = pages::search(store, "#1".to_owned(), None, None)
            .map(|page| page.unwrap().len())
            .collect();
        // #1, #10 to #19, #100 to #199, #1000 to #1200.
        assert_eq!(pages.iter().sum::<usize>(), 1 + 10 + 100 + 201);
        let newest = pages::newest(store, account(), conversation(), 3).unwrap();
        assert_eq!(newest, [1198, 1199, 1200].map(fixture::entry));
    });
}

#[test]
fn a_conversation_is_found_by_what_a_person_calls_it() {
    on_both(|store| {
        let named = |id: &str, name: &'static str| Write::Conversation {
            account: account(),
            conversation: ConversationId::from(id),
            info: Box::new(ConversationInfo {
                name: SafeText::from(name),
                ..ConversationInfo::default()
            }),
        };
        commit(
            store,
            vec![
                named("c1", "#Research"),
                named("c2", "research log"),
                named("research", "other"),
                named("c4", "build"),
            ],
        );
        let facts = start(store);
        let check = |text: &str, wanted: &[&str]| {
            let found: Vec<_> = pages::named(&facts.conversations, None, text)
                .into_iter()
                .map(|stored| stored.conversation.as_str())
                .collect();
            assert_eq!(found, wanted, "{text}");
        };
        check("research", &["research"]);
        check("Research", &["c1"]);
        check("#research", &["c1"]);
        check("rese", &["c1", "c2"]);
        check("nothing", &[]);
        check("#", &[]);
    });
}

// What only a file can suffer.

#[test]
fn everything_is_there_after_a_restart_and_private() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join("data");
    let (store, facts) = on_file(&home);
    assert_eq!(facts, StartFacts::default());
    assert!(store.health().is_wal && store.health().read_only.is_none());
    commit(&store, unsent_writes());
    commit(&store, vec![say(1, 10, Author::Assistant, "kept")]);
    let before = start(&store);
    for file in std::fs::read_dir(&home).unwrap() {
        let file = file.unwrap();
        let mode = file.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{:?}", file.path());
    }
    let mode = std::fs::metadata(&home).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    store.close();
    let (store, facts) = on_file(&home);
    assert_eq!(facts, before);
    assert_eq!(summary(&all(&store)), ["1@10:kept"]);
}

/// Copies the files of an open store as a kill would leave them.
fn copy_as_killed(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for file in std::fs::read_dir(from).unwrap() {
        let file = file.unwrap();
        std::fs::copy(file.path(), to.join(file.file_name())).unwrap();
    }
}

#[test]
fn a_kill_between_two_commits_leaves_whole_batches() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join("home");
    let (store, _) = on_file(&home);
    for number in 1..=20_u64 {
        let order = number.cast_signed() * 10;
        let cursor = Write::Fact {
            account: account(),
            name: "cursor".to_owned(),
            value: Some(number.to_string()),
        };
        commit(
            &store,
            vec![
                say(number * 2, order, Author::User, "question"),
                say(number * 2 + 1, order + 1, Author::Assistant, "answer"),
                cursor,
            ],
        );
        let copy = folder.path().join(format!("kill-{number}"));
        copy_as_killed(&home, &copy);
        let (revived, facts) = on_file(&copy);
        assert_eq!(facts.facts[0].2, number.to_string());
        assert_eq!(all(&revived), all(&store));
        revived.close();
    }
}

#[test]
fn a_failing_batch_changes_nothing_and_takes_no_other_with_it() {
    // No write is wrong enough to fail by itself, so another program removes a table.
    let folder = tempfile::tempdir().unwrap();
    let (store, _) = on_file(folder.path());
    commit(&store, vec![listed("talk")]);
    rusqlite::Connection::open(folder.path().join("store.db"))
        .unwrap()
        .execute_batch("DROP TABLE ui")
        .unwrap();
    let (reply, answers) = channel();
    let bad = vec![
        say(1, 10, Author::Assistant, "half"),
        Write::Ui {
            name: "x".to_owned(),
            value: "y".to_owned(),
        },
    ];
    let good = vec![say(2, 20, Author::Assistant, "whole")];
    for writes in [bad, good] {
        let reply = reply.clone();
        store.commit(
            writes,
            Durability::Full,
            Box::new(move |result| reply.send(result).unwrap()),
        );
    }
    let results: Vec<_> = answers.into_iter().take(2).collect();
    assert!(matches!(&results[0], Err(StoreError::CommitFailed(_))));
    assert!(results[1].is_ok());
    assert_eq!(summary(&all(&store)), ["2@20:whole"]);
}

#[test]
fn a_damaged_file_is_set_aside_and_unsent_words_come_over() {
    let folder = tempfile::tempdir().unwrap();
    let (store, _) = on_file(folder.path());
    commit(&store, unsent_writes());
    store.close();
    let path = folder.path().join("store.db");
    std::fs::write(&path, b"this is no database, however long it may be").unwrap();
    let (store, facts) = on_file(folder.path());
    assert_eq!(facts.outbox, vec![outbox_record(1, 1), outbox_record(2, 2)]);
    assert_eq!(store.health().notices.len(), 1);
    assert!(folder.path().join("store.db.damaged-1").exists());
    // The draft waits for its conversation.
    commit(&store, vec![listed("talk")]);
    assert_eq!(stored(&store).draft, Some(draft_record()));
}

#[test]
fn damage_in_the_middle_is_found_at_work_and_mended_at_the_next_start() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let (store, _) = on_file(folder.path());
    fixture::fill(&store, &account(), &conversation(), 5000).unwrap();
    commit(&store, unsent_writes());
    store.close();
    let mut bytes = std::fs::read(&path).unwrap();
    let pages = bytes.len() / 4096;
    for page in pages / 3..pages {
        bytes[page * 4096..page * 4096 + 64].fill(0xee);
    }
    std::fs::write(&path, &bytes).unwrap();
    if let Ok((store, _)) = store::open(&path, StoreOptions::default()) {
        // Somewhere on the way through everything the damage shows.
        let _ = pages::pages(&store, account(), conversation()).count();
        let _ = fixture::fill(&store, &account(), &conversation(), 5000);
        let _ = store.look_now(Lookup::Search {
            query: "openssl".to_owned(),
            account: None,
            conversation: None,
            limit: 10_000,
            skip: 0,
        });
        store.close();
    }
    let (store, _) = store::open(&path, StoreOptions::default()).unwrap();
    assert!(store.health().read_only.is_none());
    assert_eq!(start(&store).outbox.len(), 2);
    commit(
        &store,
        vec![listed("talk"), say(1, 10, Author::User, "on we go")],
    );
    assert_eq!(search(&store, "on we").len(), 1);
}

#[test]
fn a_file_of_a_newer_version_is_only_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let (store, _) = on_file(folder.path());
    commit(
        &store,
        vec![listed("talk"), say(1, 10, Author::User, "old words")],
    );
    store.close();
    rusqlite::Connection::open(&path)
        .unwrap()
        .pragma_update(None, "user_version", 99)
        .unwrap();
    let (store, facts) = on_file(folder.path());
    assert_eq!(facts.conversations.len(), 1);
    assert!(store.health().read_only.is_some());
    assert_eq!(summary(&all(&store)), ["1@10:old words"]);
    assert!(matches!(
        store.commit_now(vec![listed("new")], Durability::Normal),
        Err(StoreError::ReadOnly(_))
    ));
}

#[test]
fn two_programs_write_the_same_store() {
    let folder = tempfile::tempdir().unwrap();
    let (one, _) = on_file(folder.path());
    let (two, _) = on_file(folder.path());
    for number in 0..20_u64 {
        commit(
            &one,
            vec![say(number * 2, number.cast_signed(), Author::User, "one")],
        );
        commit(
            &two,
            vec![say(
                number * 2 + 1,
                number.cast_signed(),
                Author::User,
                "two",
            )],
        );
    }
    assert_eq!(all(&one).len(), 40);
    assert_eq!(all(&two), all(&one));
}

#[test]
fn a_full_disk_fails_the_commit_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let options = StoreOptions {
        max_bytes: Some(1 << 20),
        ..StoreOptions::default()
    };
    let (store, _) = store::open(&path, options).unwrap();
    commit(
        &store,
        vec![listed("talk"), say(1, 10, Author::User, "before")],
    );
    let long = "no room for this ".repeat(100_000);
    assert_eq!(
        store.commit_now(vec![say(2, 20, Author::User, &long)], Durability::Full),
        Err(StoreError::DiskFull)
    );
    assert_eq!(summary(&all(&store)), ["1@10:before"]);
    store.close();
    let (store, _) = store::open(&path, StoreOptions::default()).unwrap();
    commit(&store, vec![say(2, 20, Author::User, &long)]);
    assert_eq!(all(&store).len(), 2);
}

#[test]
fn what_found_no_room_is_written_before_anything_later() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let options = StoreOptions {
        max_bytes: Some(1 << 20),
        ..StoreOptions::default()
    };
    let (store, _) = store::open(&path, options).unwrap();
    let cursor = |value: &str| Write::Fact {
        account: account(),
        name: "cursor".to_owned(),
        value: Some(value.to_owned()),
    };
    commit(&store, vec![listed("talk"), cursor("1")]);
    let long = "no room for this ".repeat(100_000);
    let full = store.commit_now(
        vec![say(1, 10, Author::User, &long), cursor("2")],
        Durability::Full,
    );
    assert_eq!(full, Err(StoreError::DiskFull));
    // The next one has room, but must not be stored as if the one before it were.
    let next = store.commit_now(
        vec![say(2, 20, Author::User, "small"), cursor("3")],
        Durability::Full,
    );
    assert_eq!(next, Err(StoreError::DiskFull));
    let cursor_of = |store: &Handle| match store.look_now(Lookup::Start) {
        Ok(Found::Start(facts)) => facts.facts[0].2.clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!(cursor_of(&store), "1");
    assert!(all(&store).is_empty());
}

#[test]
fn a_draft_is_kept_where_a_long_message_finds_no_room() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let options = StoreOptions {
        max_bytes: Some(1 << 20),
        ..StoreOptions::default()
    };
    let (store, _) = store::open(&path, options).unwrap();
    commit(&store, vec![listed("talk")]);
    let long = "no room for this ".repeat(100_000);
    let draft = Write::Draft {
        account: account(),
        conversation: conversation(),
        draft: Some(Box::new(DraftRecord {
            text: "half a thought".to_owned(),
            ..DraftRecord::default()
        })),
    };
    let full = store.commit_now(vec![say(1, 10, Author::User, &long)], Durability::Full);
    assert_eq!(full, Err(StoreError::DiskFull));
    let _ = store.commit_now(vec![draft], Durability::Full);
    store.close();
    let (_, facts) = store::open(&path, StoreOptions::default()).unwrap();
    let kept = facts.conversations[0].draft.as_ref();
    assert_eq!(
        kept.map(|draft| draft.text.as_str()),
        Some("half a thought")
    );
}

#[test]
fn a_call_that_is_renamed_keeps_its_place_and_all_that_is_known_of_it() {
    let (store, _) = store::memory().unwrap();
    let call = |key: u64, order: i64, id: &'static str, preview: &str, status| {
        let mut call = ToolCall::new(id.into(), SafeText::label("terminal"));
        call.preview = SafeText::label(preview);
        call.status = status;
        put(Entry {
            key: MessageKey(key),
            order,
            seen_at_ms: order,
            body: EntryBody::Tool(Box::new(call)),
        })
    };
    let renamed = |from: &'static str, to: &'static str| Write::CallRekeyed {
        account: account(),
        conversation: conversation(),
        from: from.into(),
        to: to.into(),
    };
    commit(
        &store,
        vec![
            listed("talk"),
            call(1, 10, "turn/1", "make all", ToolStatus::Running),
            say(2, 20, Author::Assistant, "working"),
            call(3, 30, "a1/0/terminal", "", ToolStatus::Failed),
            call(4, 40, "turn/2", "make test", ToolStatus::Running),
        ],
    );
    commit(
        &store,
        vec![
            renamed("turn/1", "a1/0/terminal"),
            renamed("turn/2", "a1/1/terminal"),
            renamed("never/seen", "a1/2/terminal"),
        ],
    );
    let calls: Vec<_> = all(&store)
        .into_iter()
        .filter_map(|entry| match entry.body {
            EntryBody::Tool(call) => Some((
                entry.order,
                call.id.as_str().to_owned(),
                call.preview.as_str().to_owned(),
                call.status,
            )),
            _ => None,
        })
        .collect();
    let row =
        |order, id: &str, preview: &str, status| (order, id.to_owned(), preview.to_owned(), status);
    assert_eq!(
        calls,
        vec![
            row(10, "a1/0/terminal", "make all", ToolStatus::Failed),
            row(40, "a1/1/terminal", "make test", ToolStatus::Running),
        ]
    );
}

#[test]
fn a_dropped_message_goes_whole_where_a_long_one_finds_no_room() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let options = StoreOptions {
        max_bytes: Some(1 << 20),
        ..StoreOptions::default()
    };
    let (store, _) = store::open(&path, options).unwrap();
    commit(
        &store,
        vec![
            listed("talk"),
            say(1, 10, Author::User, "never mind"),
            Write::Outbox(Box::new(outbox_record(1, 1))),
        ],
    );
    let gone = vec![
        Write::EntriesGone {
            account: account(),
            conversation: conversation(),
            keys: vec![MessageKey(1)],
        },
        Write::OutboxGone { key: MessageKey(1) },
        say(
            2,
            20,
            Author::Assistant,
            &"no room for this ".repeat(100_000),
        ),
    ];
    let full = store.commit_now(gone, Durability::Full);
    assert_eq!(full, Err(StoreError::DiskFull));
    assert!(start(&store).outbox.is_empty());
    assert!(all(&store).is_empty());
}

#[test]
fn the_log_of_decisions_is_a_file_of_its_own() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let (store, _) = on_file(folder.path());
    let record = |answer: Option<&str>| AuditRecord {
        at_ms: 5,
        account: account(),
        conversation: conversation(),
        conversation_name: SafeText::from("talk"),
        decision: DecisionId::from("d"),
        kind: "approval",
        question: SafeText::from("rm -rf /\nreally"),
        answer: answer.map(str::to_owned),
        reason: None,
        by: "here",
    };
    for answer in [Some("deny"), None] {
        commit(&store, vec![Write::Audit(Box::new(record(answer)))]);
    }
    let path = folder.path().join(audit::FILE_NAME);
    let mode = std::fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let (lines, unreadable) = audit::read(&path).unwrap();
    assert_eq!(unreadable, 0);
    assert_eq!(
        lines,
        vec![
            audit::AuditLine::from(&record(Some("deny"))),
            audit::AuditLine::from(&record(None)),
        ]
    );
    std::fs::write(&path, b"{broken\n").unwrap();
    assert_eq!(audit::read(&path).unwrap(), (Vec::new(), 1));
}

#[test]
fn the_lock_of_a_profile_names_its_holder() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lock");
    let held = lock::acquire(&path).unwrap();
    match lock::acquire(&path) {
        Err(lock::LockError::Held { pid }) => assert_eq!(pid, Some(std::process::id())),
        other => panic!("{other:?}"),
    }
    drop(held);
    lock::acquire(&path).unwrap();
}
