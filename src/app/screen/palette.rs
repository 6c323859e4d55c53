//! The rows of the palette: every action by its title with its keys, then what the server offers
//! besides. What cannot be done here stays in the list and says why.

use super::fuzzy;
use super::rows::{ListRow, Then, chosen};
use crate::app::Action;
use crate::app::actions::places;
use crate::app::state::State;
use crate::domain::{ConversationKind, Support};
use crate::text::SafeText;
use std::cmp::Reverse;

/// The rows for a filter.
pub fn rows(state: &State, filter: &str) -> Vec<ListRow> {
    let mut actions = Action::all().to_vec();
    actions.sort_by_key(|action| place(*action));
    let mut rows: Vec<ListRow> = actions
        .iter()
        .filter(|action| action.is_in_palette())
        .filter(|action| account_number(**action).is_none_or(|n| n <= state.accounts.len()))
        .map(|action| action_row(state, *action))
        .collect();
    if let Some((account, _, _)) = state.focused() {
        for function in &account.account.capabilities.functions {
            rows.push(
                ListRow::new(
                    SafeText::from(function.title),
                    Then::Function(
                        account.account.id.clone(),
                        function.name.clone(),
                        function.argument_hint,
                    ),
                )
                .with_detail(&account.account.label),
            );
        }
    }
    let also = also_called(filter, &rows);
    let mut found = best_first(filter, rows);
    for row in also {
        if !found.iter().any(|known| known.then == row.then) {
            found.push(row);
        }
    }
    found
}

/// The rows whose title fits. Among those in which it stands in the same place, what takes something
/// away comes last: a quick Enter must not lose anything.
fn best_first(filter: &str, rows: Vec<ListRow>) -> Vec<ListRow> {
    let mut fits = fuzzy::rank(filter, rows.iter().map(|row| row.label.as_str()));
    fits.sort_by_key(|fit| {
        let takes_away = match rows.get(fit.index).map(|row| &row.then) {
            Some(Then::Perform(action)) => !filter.trim().is_empty() && action.takes_away(),
            _ => false,
        };
        (Reverse(fit.place), takes_away)
    });
    chosen(fits, rows)
}

/// What people look for most, in this order.
const FIRST: [Action; 22] = [
    Action::Switcher,
    Action::NewConversation,
    Action::SearchHere,
    Action::SearchEverywhere,
    Action::NextUnread,
    Action::OpenDecision,
    Action::Models,
    Action::Effort,
    Action::ToggleAutoApprove,
    Action::Profile,
    Action::StopRun,
    Action::AttachFile,
    Action::AttachClipboard,
    Action::EditExternally,
    Action::HistorySearch,
    Action::GoToDate,
    Action::MediaList,
    Action::Theme,
    Action::ToggleSidebar,
    Action::Zen,
    Action::AddAccount,
    Action::Help,
];

/// Where an action stands while nothing is typed: what one looks for by name first, what the
/// fingers know while writing last.
fn place(action: Action) -> usize {
    use Action::*;
    let first = FIRST.iter().position(|other| *other == action);
    let is_writing = matches!(
        action,
        Send | SelectDraft
            | KillToLineStart
            | KillToLineEnd
            | KillLine
            | Yank
            | YankPrevious
            | Undo
            | Redo
            | HistoryPrevious
            | HistoryNext
            | ScrollUp
            | ScrollDown
            | PageUp
            | PageDown
            | FocusNext
            | FocusPrevious
    );
    match first {
        Some(at) => at,
        None if is_writing => FIRST.len() + 1,
        None => FIRST.len(),
    }
}

/// The rows whose other names begin with every word of the filter. They come behind those whose
/// title fits.
fn also_called(filter: &str, rows: &[ListRow]) -> Vec<ListRow> {
    let filter = filter.to_lowercase();
    if filter.trim().is_empty() {
        return Vec::new();
    }
    rows.iter()
        .filter(|row| match row.then {
            Then::Perform(action) => filter.split_whitespace().all(|word| {
                action
                    .also_called()
                    .split_whitespace()
                    .chain(action.title().to_lowercase().split_whitespace())
                    .any(|name| name.starts_with(word))
            }),
            _ => false,
        })
        .cloned()
        .collect()
}

/// The row of an action.
pub fn action_row(state: &State, action: Action) -> ListRow {
    let mut row = ListRow::new(SafeText::from(action.title()), Then::Perform(action));
    if let Some(n) = account_number(action)
        && let Some(account) = state.accounts.get(n - 1)
    {
        row.label = SafeText::label(&format!("Account {n}: {}", account.account.label));
    }
    // What an account is switched to, and which one, is read before it is done.
    if action == Action::Disconnect
        && let Some(of) = places::target_account(state).and_then(|id| state.account(&id))
    {
        let change = if places::is_off(of) { "on" } else { "off" };
        row = row.with_detail(format!("switches {} {change}", of.account.label));
    }
    if let Some(keys) = state.keymap.hint_anywhere(action) {
        row.keys = SafeText::label(&keys);
    }
    if let Some(reason) = refusal(state, action) {
        row.is_refused = true;
        row.detail = SafeText::label(reason);
    }
    row
}

/// The actions that go to an account, in their order.
const TO_ACCOUNTS: [Action; 9] = [
    Action::FocusAccount1,
    Action::FocusAccount2,
    Action::FocusAccount3,
    Action::FocusAccount4,
    Action::FocusAccount5,
    Action::FocusAccount6,
    Action::FocusAccount7,
    Action::FocusAccount8,
    Action::FocusAccount9,
];

/// Which account an action goes to, counted from one.
pub fn account_number(action: Action) -> Option<usize> {
    let at = TO_ACCOUNTS.iter().position(|other| *other == action)?;
    Some(at + 1)
}

/// The action that goes to an account, counted from one; the first nine have one.
pub fn to_account(number: usize) -> Option<Action> {
    TO_ACCOUNTS.get(number.checked_sub(1)?).copied()
}

/// Why an action cannot be done here and now; none when it can.
pub fn refusal(state: &State, action: Action) -> Option<&'static str> {
    use Action::*;
    let needs_account = matches!(
        action,
        NewConversation
            | NewThread
            | RenameConversation
            | DeleteConversation
            | ClearConversation
            | SetDefault
            | SetColor
            | SetIcon
            | ToggleAutomation
            | ToggleAutoApprove
            | ToggleAutoThread
            | Models
            | Effort
            | Profile
            | StopRun
            | DeleteEntry
            | AttachFile
            | AttachClipboard
            | ServerFunctions
    );
    let writes = needs_account || matches!(action, SignIn | AddAccount | RemoveAccount);
    if writes && state.only_reads {
        return Some("another trialogue is open on this profile, and this one only reads");
    }
    if !needs_account {
        return None;
    }
    // A conversation can be begun where none is yet.
    if action == NewConversation {
        let account = places::target_account(state).and_then(|id| state.account(&id));
        return match account {
            Some(of) => of.account.capabilities.create_conversation.refusal(),
            None => Some("there is no account"),
        };
    }
    let Some((account, id, conversation)) = state.focused() else {
        return Some("there is no conversation on screen");
    };
    let can = &account.account.capabilities;
    let support: &Support = match action {
        NewThread => {
            if conversation.info.kind == ConversationKind::Session && can.create_thread.is_yes() {
                return Some("threads belong to channels");
            }
            &can.create_thread
        }
        RenameConversation => &can.rename_conversation,
        DeleteConversation => {
            if can.delete_conversation.is_yes()
                && conversation.info.kind == ConversationKind::Default
            {
                return Some("the default conversation cannot be deleted");
            }
            &can.delete_conversation
        }
        ClearConversation => &can.clear_conversation,
        SetDefault => {
            if can.set_default.is_yes() {
                let info = &conversation.info;
                match info.kind {
                    ConversationKind::Default => return Some("it is the default already"),
                    ConversationKind::Thread => return Some("a thread cannot be the default"),
                    _ if info.is_automation => {
                        return Some("an automation channel cannot be the default");
                    }
                    ConversationKind::Channel | ConversationKind::Session => {}
                }
            }
            &can.set_default
        }
        SetColor | SetIcon => &can.appearance,
        ToggleAutomation => {
            if can.automation.is_yes() && conversation.info.kind == ConversationKind::Default {
                return Some("the default conversation is there to be written to");
            }
            &can.automation
        }
        ToggleAutoApprove => &can.auto_approve,
        ToggleAutoThread => &can.auto_thread,
        Models if !can.models.is_yes() && can.profile.is_yes() => &can.profile,
        Models => &can.models,
        Effort => &can.effort,
        Profile => &can.profile,
        StopRun => {
            if !crate::app::runs::can_stop(state, &account.account.id, id) {
                return Some("nothing runs here");
            }
            &can.cancel_run
        }
        DeleteEntry => &can.delete_message,
        AttachFile | AttachClipboard => {
            if conversation.info.is_automation {
                return Some("this conversation is read-only");
            }
            &can.upload
        }
        ServerFunctions => {
            return can
                .functions
                .is_empty()
                .then_some("it offers nothing besides");
        }
        _ => return None,
    };
    support.refusal()
}
