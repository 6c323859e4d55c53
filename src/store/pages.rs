//! Reading a whole conversation in pages, for export, without ever holding more than one.

use super::{Handle, StoreError};
use crate::domain::{AccountId, ConversationId, Entry, Found, Lookup, Place};

/// Entries in one page.
const PAGE: usize = 500;

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
