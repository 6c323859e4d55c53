//! The rows of the sidebar in their order, and moving in it. What is shown follows from the state
//! alone, so the view draws exactly the rows that the keys walk over.

use super::{Sidebar, SidebarRow};
use crate::app::state::{AccountState, Conversation, State};
use crate::domain::{ConversationId, ConversationKind};

/// The rows from the top: what waits, then each account with its conversations: favourites, then
/// by last activity, threads under their channel, muted ones at the end, archived ones in a group
/// of their own that is folded.
pub fn rows(state: &State) -> Vec<SidebarRow> {
    let mut rows = Vec::new();
    let waits = state
        .accounts
        .iter()
        .any(|account| account.decisions.iter().any(|d| d.life.is_pending()));
    if waits {
        rows.push(SidebarRow::Attention);
    }
    for account in &state.accounts {
        let id = &account.account.id;
        rows.push(SidebarRow::Account(id.clone()));
        if state.screen.sidebar.folded.contains(id) {
            continue;
        }
        let (shown, archived) = ordered(account);
        let row = |conversation: &ConversationId| {
            SidebarRow::Conversation(id.clone(), conversation.clone())
        };
        rows.extend(shown.iter().map(row));
        if !archived.is_empty() {
            rows.push(SidebarRow::Archive(id.clone()));
            if state.screen.sidebar.archive_open.contains(id) {
                rows.extend(archived.iter().map(row));
            }
        }
    }
    rows
}

/// The conversations of an account in the order of the sidebar; the archived ones apart.
pub fn ordered(account: &AccountState) -> (Vec<ConversationId>, Vec<ConversationId>) {
    let all = &account.conversations;
    let has_parent = |conversation: &Conversation| {
        conversation
            .info
            .parent
            .as_ref()
            .is_some_and(|parent| all.contains_key(parent))
    };
    let mut tops: Vec<(&ConversationId, &Conversation)> =
        all.iter().filter(|(_, c)| !has_parent(c)).collect();
    tops.sort_by_key(|(id, conversation)| place(id, conversation));
    let mut lists = Lists::default();
    for (id, conversation) in tops {
        lists.add(account, id, conversation, false);
    }
    (lists.shown, lists.archived)
}

#[derive(Default)]
struct Lists {
    shown: Vec<ConversationId>,
    archived: Vec<ConversationId>,
    visited: std::collections::BTreeSet<ConversationId>,
}

impl Lists {
    /// Adds a conversation and the threads under it; what stands under an archived one is archived
    /// with it. A server that makes two each other's parent does not make this run for ever.
    fn add(
        &mut self,
        account: &AccountState,
        id: &ConversationId,
        conversation: &Conversation,
        is_under_archived: bool,
    ) {
        if !self.visited.insert(id.clone()) {
            return;
        }
        let is_archived = is_under_archived || conversation.info.is_archived;
        let list = if is_archived {
            &mut self.archived
        } else {
            &mut self.shown
        };
        list.push(id.clone());
        let mut threads: Vec<(&ConversationId, &Conversation)> = account
            .conversations
            .iter()
            .filter(|(_, c)| c.info.parent.as_ref() == Some(id))
            .collect();
        threads.sort_by_key(|(id, conversation)| place(id, conversation));
        for (thread, of) in threads {
            self.add(account, thread, of, is_archived);
        }
    }
}

/// What decides the place among its neighbours.
fn place<'a>(
    id: &'a ConversationId,
    conversation: &Conversation,
) -> (bool, bool, bool, std::cmp::Reverse<i64>, &'a ConversationId) {
    let is_favorite = conversation.info.is_favorite || conversation.settings.is_pinned;
    (
        conversation.settings.is_muted,
        !is_favorite,
        conversation.info.kind != ConversationKind::Default,
        std::cmp::Reverse(conversation.info.last_activity_ms.unwrap_or(0)),
        id,
    )
}

/// The names under which the sidebar's own state is kept.
pub const FOLDED: &str = "folded";
pub const SHOWN: &str = "sidebar";
pub const COLUMNS: &str = "sidebar_columns";

/// Takes over what was kept of the sidebar.
pub fn restore(sidebar: &mut Sidebar, kept: &[(String, String)]) {
    for (name, value) in kept {
        match name.as_str() {
            FOLDED => {
                sidebar.folded = value
                    .lines()
                    .filter(|line| !line.is_empty())
                    .map(crate::domain::AccountId::new)
                    .collect();
            }
            SHOWN => sidebar.is_shown = Some(value != "hidden"),
            COLUMNS => sidebar.columns = value.parse().ok(),
            _ => {}
        }
    }
}

/// The row `steps` away from the cursor, staying inside; without a cursor the conversation on
/// screen counts.
pub fn step(state: &State, steps: isize) -> Option<SidebarRow> {
    let rows = rows(state);
    let last = rows.len().checked_sub(1)?;
    let at = position(state, &rows);
    let to = match at {
        Some(at) => at.saturating_add_signed(steps).min(last),
        None => 0,
    };
    rows.into_iter().nth(to)
}

/// Where the cursor stands, else the conversation on screen.
pub fn position(state: &State, rows: &[SidebarRow]) -> Option<usize> {
    let selected = state.screen.sidebar.selected.as_ref();
    selected
        .and_then(|row| rows.iter().position(|other| other == row))
        .or_else(|| {
            let (account, conversation) = state.focus.as_ref()?;
            rows.iter().position(|row| {
                matches!(row, SidebarRow::Conversation(a, c) if a == account && c == conversation)
            })
        })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::app::state::{Ids, Settings};
    use crate::domain::{AccountId, ConversationInfo, Moment};
    use crate::text::SafeText;

    fn state(rows: &[(&str, Conversation)]) -> State {
        let ids = Ids {
            instance: 1,
            next: 0,
        };
        let mut state = State::new(ids, Settings::default(), Moment::default());
        let mut account = AccountState::new(AccountId::new("a"), SafeText::label("a"));
        for (id, conversation) in rows {
            account
                .conversations
                .insert(ConversationId::new(id), conversation.clone());
        }
        state.accounts.push(account);
        state
    }

    fn conversation(at: i64, change: impl Fn(&mut Conversation)) -> Conversation {
        let mut conversation = Conversation {
            info: ConversationInfo {
                last_activity_ms: Some(at),
                ..ConversationInfo::default()
            },
            ..Conversation::default()
        };
        change(&mut conversation);
        conversation
    }

    fn order(state: &State) -> String {
        rows(state)
            .iter()
            .map(|row| match row {
                SidebarRow::Attention => "!".to_owned(),
                SidebarRow::Account(id) => format!("[{}]", id.as_str()),
                SidebarRow::Conversation(_, id) => id.as_str().to_owned(),
                SidebarRow::Archive(_) => "archive".to_owned(),
            })
            .collect::<Vec<_>>()
            .join(" ")
    }

    #[test]
    fn favourites_first_threads_below_muted_last_archive_folded() {
        let mut state = state(&[
            ("old", conversation(1, |_| {})),
            ("new", conversation(9, |_| {})),
            ("muted", conversation(10, |c| c.settings.is_muted = true)),
            ("star", conversation(0, |c| c.info.is_favorite = true)),
            (
                "thread",
                conversation(2, |c| c.info.parent = Some(ConversationId::new("old"))),
            ),
            ("gone", conversation(11, |c| c.info.is_archived = true)),
            (
                "its",
                conversation(2, |c| c.info.parent = Some(ConversationId::new("gone"))),
            ),
            (
                "past",
                conversation(3, |c| {
                    c.info.parent = Some(ConversationId::new("old"));
                    c.info.is_archived = true;
                }),
            ),
        ]);
        assert_eq!(order(&state), "[a] star new old thread muted archive");
        state.screen.sidebar.archive_open.push(AccountId::new("a"));
        assert_eq!(
            order(&state),
            "[a] star new old thread muted archive gone its past"
        );
        state.screen.sidebar.folded.push(AccountId::new("a"));
        assert_eq!(order(&state), "[a]");
    }

    #[test]
    fn parents_in_a_circle_end() {
        let state = state(&[
            (
                "x",
                conversation(1, |c| c.info.parent = Some(ConversationId::new("y"))),
            ),
            (
                "y",
                conversation(1, |c| c.info.parent = Some(ConversationId::new("x"))),
            ),
        ]);
        // Nobody is at the top, so nobody is shown; what matters is that it ends.
        assert_eq!(order(&state), "[a]");
    }
}
