//! Reading for code without a loop: a whole conversation or all hits of a search in pages, without
//! ever holding more than one; the newest entries; a conversation by what a person calls it. All of
//! it waits for the store.

use super::{Handle, StoreError};
use crate::domain::{
    AccountId, ConversationId, Entry, Found, Lookup, Place, SearchHit, StoredConversation,
};

/// Entries in one page.
const PAGE: usize = 500;
/// So many are named where a text means several.
const CANDIDATES: usize = 6;

/// All entries of a conversation, oldest first, page by page.
pub struct Pages<'a> {
    store: &'a Handle,
    account: AccountId,
    conversation: ConversationId,
    next: Option<Place>,
}

/// Begins to read a conversation from its start. Waits for the store with every page.
pub fn pages(store: &Handle, account: AccountId, conversation: ConversationId) -> Pages<'_> {
    Pages {
        store,
        account,
        conversation,
        next: Some(Place::Oldest),
    }
}

impl Iterator for Pages<'_> {
    type Item = Result<Vec<Entry>, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let found = self.store.look_now(Lookup::Window {
                account: self.account.clone(),
                conversation: self.conversation.clone(),
                around: self.next.take()?,
                before: 0,
                after: PAGE,
            });
            let (mut entries, has_newer) = match found {
                Ok(Found::Window {
                    entries, has_newer, ..
                }) => (entries, has_newer),
                Ok(_) => return None,
                Err(error) => return Some(Err(error)),
            };
            if has_newer && let Some(last) = entries.last().map(|entry| entry.order) {
                // Of several entries at the edge there may be a part only; the next window is
                // around them and brings them whole.
                entries.retain(|entry| entry.order != last);
                self.next = Some(Place::Order(last));
            }
            if !entries.is_empty() {
                return Some(Ok(entries));
            }
        }
    }
}

/// The newest entries of a conversation, oldest of them first.
pub fn newest(
    store: &Handle,
    account: AccountId,
    conversation: ConversationId,
    count: usize,
) -> Result<Vec<Entry>, StoreError> {
    let found = store.look_now(Lookup::Window {
        account,
        conversation,
        around: Place::Newest,
        before: count,
        after: 0,
    })?;
    Ok(match found {
        Found::Window { entries, .. } => entries,
        _ => Vec::new(),
    })
}

/// All hits of a search, newest first, page by page.
pub struct Hits<'a> {
    store: &'a Handle,
    query: String,
    account: Option<AccountId>,
    conversation: Option<ConversationId>,
    /// Where the next page begins; none after the last.
    skip: Option<usize>,
}

/// Begins a search; without account or conversation it goes through all of them.
pub fn search(
    store: &Handle,
    query: String,
    account: Option<AccountId>,
    conversation: Option<ConversationId>,
) -> Hits<'_> {
    Hits {
        store,
        query,
        account,
        conversation,
        skip: Some(0),
    }
}

impl Iterator for Hits<'_> {
    type Item = Result<Vec<(AccountId, SearchHit)>, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        let skip = self.skip.take()?;
        let found = self.store.look_now(Lookup::Search {
            query: self.query.clone(),
            account: self.account.clone(),
            conversation: self.conversation.clone(),
            limit: PAGE,
            skip,
        });
        match found {
            Ok(Found::Search { hits, has_more, .. }) => {
                self.skip = has_more.then(|| skip + hits.len());
                (!hits.is_empty()).then_some(Ok(hits))
            }
            Ok(_) => None,
            Err(error) => Some(Err(error)),
        }
    }
}

/// The conversations a person may mean: the one with this id, else those with this name (a leading
/// `#` does not count), else those whose name begins so. Case does not count.
pub fn named<'a>(
    conversations: &'a [StoredConversation],
    account: Option<&AccountId>,
    text: &str,
) -> Vec<&'a StoredConversation> {
    let of_account: Vec<_> = conversations
        .iter()
        .filter(|known| account.is_none_or(|account| known.account == *account))
        .collect();
    meant(&of_account, text, |known| {
        (known.conversation.as_str(), known.info.name.as_str())
    })
}

/// The same among anything that has an id and a name, in this order.
pub fn meant<'a, T: Copy>(
    known: &[T],
    text: &str,
    called: impl Fn(T) -> (&'a str, &'a str),
) -> Vec<T> {
    let bare = |name: &str| name.trim().trim_start_matches('#').to_lowercase();
    let wanted = bare(text);
    let pick = |fits: &dyn Fn(&str, &str) -> bool| -> Vec<T> {
        known
            .iter()
            .copied()
            .filter(|item| {
                let (id, name) = called(*item);
                fits(id, name)
            })
            .collect()
    };
    let by_id = pick(&|id, _| id == text);
    if !by_id.is_empty() || wanted.is_empty() {
        return by_id;
    }
    let by_name = pick(&|_, name| bare(name) == wanted);
    if !by_name.is_empty() {
        return by_name;
    }
    pick(&|_, name| bare(name).starts_with(&wanted))
}

/// Why a text means no conversation, or more than one of these (id and name).
pub fn not_one(text: &str, found: &[(&str, &str)]) -> String {
    if found.is_empty() {
        return format!("there is no conversation {text:?}; `trialogue list` shows them");
    }
    let mut names: Vec<String> = found
        .iter()
        .take(CANDIDATES)
        .map(|(id, name)| format!("{name} (id {id})"))
        .collect();
    if found.len() > CANDIDATES {
        names.push(format!("{} more", found.len() - CANDIDATES));
    }
    format!(
        "several conversations fit {text:?}: {}; write more of the name, or the id",
        names.join(", ")
    )
}
