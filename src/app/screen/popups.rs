//! The stack of popups: opening and closing, and what the keys do in each. What a row of a list
//! does when it is chosen is in `choose`.

use super::overlay::{Confirm, Confirmed, Line, List, Overlay, Prompt};
use super::rows::{self, Then};
use super::{choose, decision, prompt, search, wizard};
use crate::app::keymap::Context;
use crate::app::state::{Redraw, State};
use crate::app::{Action, Effect, outbox};
use crate::domain::{Delivery, Moment};

/// Rows that a page key moves in a list.
const PAGE: usize = 10;

/// Which keys hold while this popup is on top.
pub fn context(overlay: &Overlay) -> Context {
    match overlay {
        Overlay::Decision(popup) if popup.typing.is_some() => Context::Line,
        Overlay::Decision(_) => Context::Decision,
        Overlay::Switcher { .. }
        | Overlay::Palette { .. }
        | Overlay::Models { .. }
        | Overlay::Search(_)
        | Overlay::Help { .. }
        | Overlay::Inspector { .. }
        | Overlay::Inputs { .. }
        | Overlay::Choices { .. } => Context::Filter,
        Overlay::Prompt(_) => Context::Line,
        Overlay::Wizard(wizard) if wizard.kind.is_some() => Context::Line,
        Overlay::Confirm(_) => Context::Confirm,
        Overlay::Document { .. } | Overlay::Account { .. } => Context::Text,
        Overlay::Attention { .. }
        | Overlay::Effort { .. }
        | Overlay::Media { .. }
        | Overlay::Queue { .. }
        | Overlay::EntryMenu { .. }
        | Overlay::Theme { .. }
        | Overlay::Welcome { .. }
        | Overlay::Functions { .. }
        | Overlay::CodeBlocks { .. }
        | Overlay::Links { .. }
        | Overlay::Profile { .. }
        | Overlay::Wizard(_) => Context::List,
    }
}

/// Opens a popup in place of what is open.
pub fn open(state: &mut State, overlay: Overlay) {
    close_all(state);
    push(state, overlay);
}

/// Opens a popup on top of what is open; Esc leads back.
pub fn push(state: &mut State, overlay: Overlay) {
    state.screen.overlays.push(overlay);
    state.redraw(Redraw::Now);
}

/// Closes the popup on top.
pub fn close_top(state: &mut State) {
    if let Some(Overlay::Theme { before, .. }) = state.screen.overlays.pop() {
        state.settings.theme = before;
    }
    state.redraw(Redraw::Now);
}

/// Closes every popup.
pub fn close_all(state: &mut State) {
    while !state.screen.overlays.is_empty() {
        close_top(state);
    }
}

/// Asks a yes-or-no question; no has the focus.
pub fn confirm(state: &mut State, title: &str, text: &str, yes: &str, then: Confirmed) {
    push(
        state,
        Overlay::Confirm(Confirm {
            title: crate::text::SafeText::label(title),
            text: crate::text::SafeText::prose(text),
            yes: crate::text::SafeText::label(yes),
            is_yes_selected: false,
            then,
        }),
    );
}

/// The list of a popup.
pub fn list_mut(overlay: &mut Overlay) -> Option<&mut List> {
    match overlay {
        Overlay::Attention { list }
        | Overlay::Switcher { list, .. }
        | Overlay::Palette { list, .. }
        | Overlay::Models { list, .. }
        | Overlay::Effort { list, .. }
        | Overlay::Media { list, .. }
        | Overlay::Queue { list, .. }
        | Overlay::EntryMenu { list, .. }
        | Overlay::Inspector { list, .. }
        | Overlay::Theme { list, .. }
        | Overlay::Welcome { list }
        | Overlay::Inputs { list, .. }
        | Overlay::Functions { list, .. }
        | Overlay::Choices { list, .. }
        | Overlay::CodeBlocks { list, .. }
        | Overlay::Links { list, .. }
        | Overlay::Profile { list, .. } => Some(list),
        Overlay::Search(popup) => Some(&mut popup.list),
        Overlay::Wizard(wizard) if wizard.kind.is_none() => Some(&mut wizard.list),
        Overlay::Decision(_)
        | Overlay::Help { .. }
        | Overlay::Confirm(_)
        | Overlay::Prompt(_)
        | Overlay::Document { .. }
        | Overlay::Account { .. }
        | Overlay::Wizard(_) => None,
    }
}

/// Puts the cursor of the list on top onto what is set now.
pub fn to_current(state: &mut State) {
    let at = state.screen.overlays.last().and_then(|overlay| {
        rows::rows(state, overlay)
            .iter()
            .position(|row| row.is_current)
    });
    if let Some(at) = at
        && let Some(list) = state.screen.overlays.last_mut().and_then(list_mut)
    {
        list.selected = at;
    }
}

/// The line in which something is typed.
pub fn line_mut(overlay: &mut Overlay) -> Option<&mut Line> {
    match overlay {
        Overlay::Switcher { filter, .. }
        | Overlay::Palette { filter, .. }
        | Overlay::Models { filter, .. }
        | Overlay::Help { filter, .. }
        | Overlay::Inspector { filter, .. }
        | Overlay::Inputs { filter, .. }
        | Overlay::Choices { filter, .. } => Some(filter),
        Overlay::Search(popup) => Some(&mut popup.query),
        Overlay::Prompt(prompt) => Some(&mut prompt.line),
        Overlay::Decision(popup) => popup.typing.as_mut(),
        Overlay::Wizard(wizard) if wizard.kind.is_some() => wizard.fields.get_mut(wizard.focused),
        Overlay::Attention { .. }
        | Overlay::Effort { .. }
        | Overlay::Confirm(_)
        | Overlay::Media { .. }
        | Overlay::Queue { .. }
        | Overlay::EntryMenu { .. }
        | Overlay::Document { .. }
        | Overlay::Account { .. }
        | Overlay::Theme { .. }
        | Overlay::Welcome { .. }
        | Overlay::Functions { .. }
        | Overlay::CodeBlocks { .. }
        | Overlay::Links { .. }
        | Overlay::Profile { .. }
        | Overlay::Wizard(_) => None,
    }
}

/// Takes text typed or pasted; false when the popup has nothing to type in.
pub fn insert(state: &mut State, text: &str) -> Option<Vec<Effect>> {
    let line = state.screen.overlays.last_mut().and_then(line_mut)?;
    line.insert(text);
    Some(changed(state))
}

/// What is done the same whether a popup is open or not; another popup takes the place of this one.
fn holds_everywhere(action: Action, top: &Overlay) -> bool {
    match action {
        Action::Redraw
        | Action::Suspend
        | Action::Quit
        | Action::ToggleMouse
        | Action::Palette
        | Action::Switcher
        | Action::OpenDecision
        | Action::Attention
        | Action::SearchEverywhere
        | Action::SearchHere
        | Action::Models
        | Action::Effort
        | Action::MediaList
        | Action::ShowQueue
        | Action::Inspector => true,
        Action::Help => !matches!(top, Overlay::Help { .. }),
        _ => false,
    }
}

/// Carries out an action in the popup on top; none when it is not for popups.
pub fn perform(state: &mut State, now: Moment, action: Action) -> Option<Vec<Effect>> {
    let top = state.screen.overlays.last()?;
    if holds_everywhere(action, top) {
        return None;
    }
    state.batch.redraw = Redraw::Now;
    Some(match top {
        Overlay::Decision(_) => decision::perform(state, now, action),
        Overlay::Confirm(_) => on_confirm(state, now, action),
        Overlay::Prompt(_) => on_prompt(state, now, action),
        Overlay::Wizard(wizard) if wizard.kind.is_some() => wizard::perform(state, action),
        Overlay::Document { .. } | Overlay::Account { .. } => on_text(state, now, action),
        Overlay::Help { .. } => on_help(state, action),
        Overlay::Attention { .. }
        | Overlay::Switcher { .. }
        | Overlay::Palette { .. }
        | Overlay::Models { .. }
        | Overlay::Effort { .. }
        | Overlay::Search(_)
        | Overlay::Media { .. }
        | Overlay::Queue { .. }
        | Overlay::EntryMenu { .. }
        | Overlay::Inspector { .. }
        | Overlay::Theme { .. }
        | Overlay::Welcome { .. }
        | Overlay::Inputs { .. }
        | Overlay::Functions { .. }
        | Overlay::Choices { .. }
        | Overlay::CodeBlocks { .. }
        | Overlay::Links { .. }
        | Overlay::Profile { .. }
        | Overlay::Wizard(_) => on_list(state, now, action),
    })
}

fn on_list(state: &mut State, now: Moment, action: Action) -> Vec<Effect> {
    let Some(top) = state.screen.overlays.last() else {
        return Vec::new();
    };
    let rows = rows::rows(state, top);
    let last = rows.len().saturating_sub(1);
    let Some(top) = state.screen.overlays.last_mut() else {
        return Vec::new();
    };
    let at = list_mut(top).map_or(0, |list| list.selected.min(last));
    let to = match action {
        Action::Next if at == last => 0,
        Action::Next => at + 1,
        Action::Previous if at == 0 => last,
        Action::Previous => at - 1,
        Action::First | Action::GoOldest => 0,
        Action::Last | Action::GoNewest => last,
        Action::PageUp => at.saturating_sub(PAGE),
        Action::PageDown => (at + PAGE).min(last),
        Action::Escape => {
            close_top(state);
            return Vec::new();
        }
        Action::Accept => {
            let Some(row) = rows.into_iter().nth(at) else {
                return search::ask_servers_if_open(state);
            };
            if row.is_refused {
                if !row.detail.is_empty() {
                    let words = format!("{}: {}", row.label, row.detail);
                    state.say(crate::domain::Severity::Warning, words);
                }
                return Vec::new();
            }
            return choose::choose(state, now, row.then);
        }
        Action::AcceptOther => return other_way(state),
        action => {
            let then = rows.into_iter().nth(at).map(|row| row.then);
            return on_row(state, now, action, then);
        }
    };
    if let Some(list) = list_mut(top) {
        list.selected = to;
    }
    moved(state, &rows, to)
}

/// The cursor of a list is on another row: a theme is shown at once, more hits are fetched.
fn moved(state: &mut State, rows: &[rows::ListRow], to: usize) -> Vec<Effect> {
    if let (Some(Overlay::Theme { .. }), Some(Then::Theme(name))) = (
        state.screen.overlays.last(),
        rows.get(to).map(|row| &row.then),
    ) {
        state.settings.theme.clone_from(name);
    }
    if to + 1 == rows.len() {
        return search::more(state);
    }
    Vec::new()
}

/// Keys that do something with the row under the cursor, or edit the filter.
fn on_row(state: &mut State, now: Moment, action: Action, then: Option<Then>) -> Vec<Effect> {
    match (action, then) {
        (Action::RemoveRow, Some(Then::Queued(account, key))) => {
            outbox::discard(state, now, &account, key)
        }
        (Action::EditRow, Some(Then::Queued(account, key))) => {
            close_all(state);
            outbox::take_back(state, now, &account, key)
        }
        (Action::MoveRowUp, Some(Then::Queued(account, key))) => {
            step_list(state, -1);
            outbox::move_up(state, now, &account, key)
        }
        (Action::MoveRowDown, Some(Then::Queued(account, key))) => {
            step_list(state, 1);
            outbox::move_down(state, now, &account, key)
        }
        (Action::SaveEntry, Some(Then::Attachment(account, attachment))) => {
            crate::app::media::save(state, now, &account, &attachment)
        }
        (Action::RemoveRow, Some(Then::Attachment(account, attachment))) => {
            crate::app::media::cancel(state, now, &account, &attachment)
        }
        (action, _) => {
            let Some(line) = state.screen.overlays.last_mut().and_then(line_mut) else {
                return Vec::new();
            };
            let before = line.text.clone();
            let is_edit = line.edit(action);
            if is_edit && line.text != before {
                return changed(state);
            }
            Vec::new()
        }
    }
}

fn step_list(state: &mut State, step: isize) {
    if let Some(list) = state.screen.overlays.last_mut().and_then(list_mut) {
        list.selected = list.selected.saturating_add_signed(step);
    }
}

/// A filter or query is another one now.
fn changed(state: &mut State) -> Vec<Effect> {
    state.redraw(Redraw::Now);
    if let Some(top) = state.screen.overlays.last_mut() {
        if let Some(list) = list_mut(top) {
            *list = List::default();
        }
        match top {
            Overlay::Help { scroll, .. } => *scroll = 0,
            Overlay::Wizard(wizard) => wizard.result = None,
            Overlay::Prompt(prompt) => prompt.error = None,
            _ => {}
        }
    }
    match state.screen.overlays.last() {
        Some(Overlay::Search(_)) => search::look(state),
        Some(Overlay::Inputs { .. }) => choose::look_for_inputs(state),
        _ => Vec::new(),
    }
}

/// The second meaning of accepting: the wider or the other scope.
fn other_way(state: &mut State) -> Vec<Effect> {
    match state.screen.overlays.last_mut() {
        Some(Overlay::Models { for_all, .. } | Overlay::Effort { for_all, .. }) => {
            *for_all = !*for_all;
            Vec::new()
        }
        Some(Overlay::Inputs { everywhere, .. }) => {
            *everywhere = !*everywhere;
            choose::look_for_inputs(state)
        }
        Some(Overlay::Search(_)) => search::ask_servers(state),
        Some(Overlay::Inspector { .. }) => vec![Effect::SaveFrames],
        _ => Vec::new(),
    }
}

fn on_confirm(state: &mut State, now: Moment, action: Action) -> Vec<Effect> {
    match action {
        Action::Next | Action::Previous => {
            if let Some(Overlay::Confirm(confirm)) = state.screen.overlays.last_mut() {
                confirm.is_yes_selected = !confirm.is_yes_selected;
            }
            Vec::new()
        }
        Action::Accept => {
            let Some(Overlay::Confirm(confirm)) = state.screen.overlays.pop() else {
                return Vec::new();
            };
            if confirm.is_yes_selected {
                prompt::confirmed(state, now, confirm.then)
            } else {
                Vec::new()
            }
        }
        Action::Escape => {
            close_top(state);
            Vec::new()
        }
        _ => Vec::new(),
    }
}

fn on_prompt(state: &mut State, now: Moment, action: Action) -> Vec<Effect> {
    match action {
        Action::Escape => {
            close_top(state);
            Vec::new()
        }
        Action::Accept => {
            let Some(Overlay::Prompt(asked)) = state.screen.overlays.pop() else {
                return Vec::new();
            };
            let Prompt { line, then, .. } = &asked;
            match prompt::entered(state, now, then.clone(), line.text.trim()) {
                Ok(effects) => {
                    // The file is looked at first; what is wrong with it is said in the popup.
                    let looks = |effect: &Effect| {
                        matches!(effect, Effect::InspectFile { .. } | Effect::LoadIcon { .. })
                    };
                    if effects.iter().any(looks) {
                        state.screen.overlays.push(Overlay::Prompt(asked));
                    }
                    effects
                }
                Err(error) => {
                    state.screen.overlays.push(Overlay::Prompt(Prompt {
                        error: Some(crate::text::SafeText::prose(&error)),
                        ..asked
                    }));
                    Vec::new()
                }
            }
        }
        action => {
            if let Some(line) = state.screen.overlays.last_mut().and_then(line_mut) {
                line.edit(action);
            }
            Vec::new()
        }
    }
}

fn scroll_by(scroll: &mut u16, action: Action) -> bool {
    *scroll = match action {
        Action::Next | Action::ScrollDown => scroll.saturating_add(1),
        Action::Previous | Action::ScrollUp => scroll.saturating_sub(1),
        Action::PageDown => scroll.saturating_add(10),
        Action::PageUp => scroll.saturating_sub(10),
        Action::First | Action::GoOldest => 0,
        // The view says how far that really is.
        Action::Last | Action::GoNewest => u16::MAX,
        _ => return false,
    };
    true
}

fn on_text(state: &mut State, now: Moment, action: Action) -> Vec<Effect> {
    let account = match state.screen.overlays.last_mut() {
        Some(Overlay::Document { scroll, body, .. }) => {
            if scroll_by(scroll, action) {
                return Vec::new();
            }
            if action == Action::CopyEntry {
                return vec![Effect::Copy(body.clone())];
            }
            None
        }
        Some(Overlay::Account { scroll, account }) => {
            if scroll_by(scroll, action) {
                return Vec::new();
            }
            Some(account.clone())
        }
        _ => None,
    };
    match (action, account) {
        (Action::Escape | Action::Accept, _) => {
            close_top(state);
            Vec::new()
        }
        (
            Action::Disconnect | Action::RetryNow | Action::SignIn | Action::RemoveAccount,
            Some(account),
        ) => crate::app::actions::on_account(state, now, &account, action),
        _ => Vec::new(),
    }
}

fn on_help(state: &mut State, action: Action) -> Vec<Effect> {
    let Some(Overlay::Help { scroll, filter }) = state.screen.overlays.last_mut() else {
        return Vec::new();
    };
    if matches!(action, Action::Escape | Action::Accept | Action::Help) {
        close_top(state);
    } else if !scroll_by(scroll, action) {
        let before = filter.text.clone();
        if filter.edit(action) && filter.text != before {
            return changed(state);
        }
    }
    Vec::new()
}

/// What choosing a row of the queue does: what waits goes now, what failed goes again.
pub(super) fn send_queued(
    state: &mut State,
    now: Moment,
    account: &crate::domain::AccountId,
    key: crate::domain::MessageKey,
) -> Vec<Effect> {
    let delivery = state
        .account(account)
        .and_then(|of| of.outbox.iter().find(|row| row.key == key))
        .map(|row| row.delivery.clone());
    match delivery {
        Some(Delivery::Failed(_) | Delivery::Uncertain) => outbox::resend(state, now, account, key),
        Some(_) => outbox::send_now(state, now, account, key),
        None => Vec::new(),
    }
}

/// Takes what the view found out about the popup on top.
pub fn on_layout(state: &mut State, scroll_max: Option<u16>) {
    let Some(max) = scroll_max else { return };
    match state.screen.overlays.last_mut() {
        Some(
            Overlay::Document { scroll, .. }
            | Overlay::Account { scroll, .. }
            | Overlay::Help { scroll, .. },
        ) => *scroll = (*scroll).min(max),
        Some(Overlay::Decision(popup)) => popup.scroll = popup.scroll.min(max),
        _ => {}
    }
}
