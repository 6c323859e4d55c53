//! The store against a list in memory: whatever is written in whatever order, both say the same.
#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use trialogue::domain::*;
use trialogue::store::{self, Handle, fixture};

/// What the store must behave like: a list, a set of deleted ids, and a mark.
#[derive(Default)]
struct Model {
    rows: Vec<Row>,
    deleted: Vec<u8>,
    read: i64,
}

#[derive(Clone, PartialEq, Debug)]
struct Row {
    key: u64,
    order: i64,
    remote: Option<u8>,
    is_own: bool,
    text: u8,
}

#[derive(Clone, Debug)]
enum Step {
    Put(Row),
    Drop(u64),
    Delete(u8),
    Rekey(u8, u8),
    Move(u64, i64),
    Read(i64),
    Clear,
}

impl Model {
    fn apply(&mut self, step: &Step) {
        match step {
            Step::Put(new) => self.put(new.clone()),
            Step::Drop(key) => self.rows.retain(|row| row.key != *key),
            Step::Delete(remote) => self.delete(*remote),
            Step::Rekey(from, to) => self.rekey(*from, *to),
            Step::Move(key, order) => {
                for row in self.rows.iter_mut().filter(|row| row.key == *key) {
                    row.order = *order;
                }
            }
            Step::Read(order) => self.read = self.read.max(*order),
            Step::Clear => {
                self.rows.clear();
                self.read = 0;
            }
        }
    }

    fn put(&mut self, new: Row) {
        if new
            .remote
            .is_some_and(|remote| self.deleted.contains(&remote))
        {
            return;
        }
        let by_key = self.rows.iter().position(|row| row.key == new.key);
        let by_remote = self
            .rows
            .iter()
            .position(|row| new.remote.is_some() && row.remote == new.remote);
        match by_key.or(by_remote) {
            Some(at) => {
                // A message keeps its place, and never loses its id again.
                let (key, order) = (self.rows[at].key, self.rows[at].order);
                let remote = new.remote.or(self.rows[at].remote);
                self.rows[at] = Row {
                    key,
                    order,
                    remote,
                    ..new
                };
                if let Some(other) = by_remote.filter(|other| *other != at) {
                    self.rows.remove(other);
                }
            }
            None => self.rows.push(new),
        }
    }

    fn delete(&mut self, remote: u8) {
        self.deleted.push(remote);
        self.rows.retain(|row| row.remote != Some(remote));
    }

    fn rekey(&mut self, from: u8, to: u8) {
        if from == to {
            return;
        }
        if self.deleted.contains(&from) {
            return self.delete(to);
        }
        if self.deleted.contains(&to) {
            return self.delete(from);
        }
        let at = |rows: &[Row], remote| rows.iter().position(|row| row.remote == Some(remote));
        let Some(old) = at(&self.rows, from) else {
            return;
        };
        match at(&self.rows, to) {
            Some(new) => {
                let (key, order) = (self.rows[old].key, self.rows[old].order);
                self.rows[old] = Row {
                    key,
                    order,
                    ..self.rows[new].clone()
                };
                self.rows.remove(new);
            }
            None => self.rows[old].remote = Some(to),
        }
    }

    fn rows(&self) -> Vec<Row> {
        let mut rows = self.rows.clone();
        rows.sort_by_key(|row| (row.order, row.key));
        rows
    }

    fn unread(&self) -> Unread {
        let count = self
            .rows
            .iter()
            .filter(|row| !row.is_own && row.order > self.read)
            .count();
        match count {
            0 => Unread::None,
            count => Unread::Count(count.try_into().unwrap()),
        }
    }
}

fn remote(number: u8) -> RemoteId {
    RemoteId::new(format!("r{number}"))
}

fn write(step: &Step) -> Write {
    let (account, conversation) = (AccountId::from("a"), ConversationId::from("c"));
    match step {
        Step::Put(row) => {
            let mut entry = fixture::entry(1);
            entry.key = MessageKey(row.key);
            entry.order = row.order;
            let message = entry.message_mut().unwrap();
            message.key = MessageKey(row.key);
            message.order = row.order;
            message.remote = row.remote.map(remote);
            message.author = if row.is_own {
                Author::User
            } else {
                Author::Assistant
            };
            message.body = Body::new(&format!("text{}end", row.text));
            Write::Entry {
                account,
                conversation,
                entry: Box::new(entry),
            }
        }
        Step::Drop(key) => Write::EntriesGone {
            account,
            conversation,
            keys: vec![MessageKey(*key)],
        },
        Step::Delete(number) => Write::MessagesDeleted {
            account,
            conversation,
            remotes: vec![remote(*number)],
        },
        Step::Rekey(from, to) => Write::Rekeyed {
            account,
            conversation,
            from: remote(*from),
            to: remote(*to),
        },
        Step::Move(key, order) => Write::Orders {
            account,
            conversation,
            orders: vec![(MessageKey(*key), *order)],
        },
        Step::Read(order) => Write::Read {
            account,
            conversation,
            mark: ReadMark {
                order: *order,
                ..ReadMark::default()
            },
        },
        Step::Clear => Write::Cleared {
            account,
            conversation,
        },
    }
}

fn rows(store: &Handle) -> Vec<Row> {
    let found = store
        .look_now(Lookup::Window {
            account: AccountId::from("a"),
            conversation: ConversationId::from("c"),
            around: Place::Newest,
            before: 1000,
            after: 0,
        })
        .unwrap();
    let Found::Window { entries, .. } = found else {
        panic!("{found:?}");
    };
    let number = |text: &str| text.trim_matches(|c: char| !c.is_ascii_digit()).parse();
    entries
        .iter()
        .map(|entry| {
            let message = entry.message().unwrap();
            Row {
                key: entry.key.0,
                order: entry.order,
                remote: message
                    .remote
                    .as_ref()
                    .map(|remote| number(remote.as_str()).unwrap()),
                is_own: message.author == Author::User,
                text: number(message.body.text().as_str()).unwrap(),
            }
        })
        .collect()
}

/// How many messages the full-text index finds for a text.
fn found(store: &Handle, text: u8) -> usize {
    let found = store
        .look_now(Lookup::Search {
            query: format!("text{text}end"),
            account: None,
            conversation: None,
            limit: 1000,
            skip: 0,
        })
        .unwrap();
    match found {
        Found::Search { hits, .. } => hits.len(),
        other => panic!("{other:?}"),
    }
}

fn step() -> impl Strategy<Value = Step> {
    let key = 0..6_u64;
    let order = -3..9_i64;
    prop_oneof![
        6 => (key.clone(), order.clone(), prop::option::of(0..5_u8), any::<bool>(), 0..4_u8)
            .prop_map(|(key, order, remote, is_own, text)| {
                Step::Put(Row { key, order, remote, is_own, text })
            }),
        1 => key.clone().prop_map(Step::Drop),
        1 => (0..5_u8).prop_map(Step::Delete),
        3 => (0..5_u8, 0..5_u8).prop_map(|(from, to)| Step::Rekey(from, to)),
        1 => (key, order.clone()).prop_map(|(key, order)| Step::Move(key, order)),
        1 => order.prop_map(Step::Read),
        1 => Just(Step::Clear),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_store_is_a_list_with_rules(steps in prop::collection::vec(step(), 1..40), split in 1..6_usize) {
        let (store, _) = store::memory().unwrap();
        let mut model = Model::default();
        for batch in steps.chunks(split) {
            let committed = store
                .commit_now(batch.iter().map(write).collect(), Durability::Normal)
                .unwrap();
            for step in batch {
                model.apply(step);
            }
            prop_assert_eq!(rows(&store), model.rows());
            prop_assert_eq!(&committed[0].unread, &model.unread());
        }
        for text in 0..4 {
            let known = model.rows.iter().filter(|row| row.text == text).count();
            prop_assert_eq!(found(&store, text), known);
        }
    }
}
