//! The rows of the conversation switcher: all conversations of all accounts, those the person was
//! in last first, and by fit once something is typed.

use super::rows::{ListRow, Then, conversation_name, filtered};
use crate::app::state::State;
use crate::domain::Unread;
use crate::text::SafeText;
use std::cmp::Reverse;

/// The rows for a filter.
pub fn rows(state: &State, filter: &str) -> Vec<ListRow> {
    let mut places = Vec::new();
    for account in &state.accounts {
        for (id, conversation) in &account.conversations {
            let pair = (account.account.id.clone(), id.clone());
            let is_here = state.focus.as_ref() == Some(&pair);
            let visited = state.visited.iter().rposition(|other| *other == pair);
            let unread = match conversation.unread {
                Unread::None => String::new(),
                Unread::Some => "new · ".to_owned(),
                Unread::Count(n) => format!("{n} new · "),
            };
            let waits = account
                .decisions
                .iter()
                .any(|d| d.conversation == *id && d.life.is_open());
            let mut row = ListRow::new(
                SafeText::label(&conversation_name(account, id)),
                Then::Focus(pair.0, pair.1),
            )
            .with_detail(format!(
                "{}{unread}{}",
                if waits { "waits for you · " } else { "" },
                account.account.label
            ));
            row.is_current = is_here;
            row.at_ms = conversation.info.last_activity_ms;
            // Of names that fit alike, those of the account on screen come first.
            let is_far = !filter.trim().is_empty()
                && state
                    .focus
                    .as_ref()
                    .is_some_and(|(here, _)| *here != account.account.id);
            let key = (
                is_far,
                // Where one is already is the last place to go.
                is_here,
                Reverse(visited),
                conversation.info.is_archived,
                Reverse(conversation.info.last_activity_ms),
            );
            places.push((key, row));
        }
    }
    places.sort_by_key(|(key, _)| *key);
    let rows = places.into_iter().map(|(_, row)| row).collect();
    by_name_or_account(filter, rows)
}

/// The rows whose name fits, then those that fit together with the name of their account.
fn by_name_or_account(filter: &str, rows: Vec<ListRow>) -> Vec<ListRow> {
    let mut found = filtered(filter, rows.clone());
    if filter.trim().is_empty() {
        return found;
    }
    let whole = |row: &ListRow| match &row.then {
        Then::Focus(account, _) => format!("{} {}", account.as_str(), row.label),
        _ => row.label.to_string(),
    };
    let texts: Vec<String> = rows.iter().map(whole).collect();
    let known = |row: &ListRow, found: &[ListRow]| found.iter().any(|it| it.then == row.then);
    for fit in super::fuzzy::rank(filter, texts.iter().map(String::as_str)) {
        if let Some(row) = rows.get(fit.index)
            && !known(row, &found)
        {
            found.push(row.clone());
        }
    }
    found
}
