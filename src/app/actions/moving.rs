//! Moving: panes, scrolling, the selection in the timeline, the cursor in the sidebar, and Esc.

use super::{entries, is_top, places};
use crate::app::screen::overlay::Overlay;
use crate::app::screen::viewport::{Anchor, tool_group};
use crate::app::screen::{Pane, Screen, SidebarRow, decision, drawer, search, sidebar};
use crate::app::state::{Conversation, State};
use crate::app::{Action, Effect};
use crate::app::{conversation, runs};
use crate::domain::{EntryBody, MessageKey, Moment, Place, Severity};
use std::time::Duration;

/// How long a second Esc counts as one.
const AGAIN: Duration = Duration::from_secs(3);
/// Below this width the sidebar lies over the timeline.
const NARROW: u16 = 90;
/// Rows of a page before the first frame.
const ROWS: i32 = 20;

/// Whether the sidebar stands beside the timeline rather than over it.
pub fn sidebar_is_beside(screen: &Screen) -> bool {
    !screen.is_zen
        && !screen.is_bare
        && screen.columns >= NARROW
        && screen.sidebar.is_shown != Some(false)
}

/// Carries out an action.
pub(super) fn perform(state: &mut State, now: Moment, action: Action) -> Vec<Effect> {
    use Action::*;
    let in_sidebar = state.screen.pane == Pane::Sidebar;
    let page = match i32::from(state.screen.timeline_rows) {
        0 => ROWS,
        rows => (rows - 2).max(1),
    };
    match action {
        Escape => escape(state, now),
        FocusNext => focus_pane(state, true),
        FocusPrevious => focus_pane(state, false),
        Next if in_sidebar => in_rows(state, 1),
        Previous if in_sidebar => in_rows(state, -1),
        PageDown if in_sidebar => in_rows(state, 10),
        PageUp if in_sidebar => in_rows(state, -10),
        First if in_sidebar => in_rows(state, isize::MIN / 2),
        Last if in_sidebar => in_rows(state, isize::MAX / 2),
        Accept if in_sidebar => open_row(state, now),
        ScrollUp => scroll(state, -1),
        ScrollDown => scroll(state, 1),
        PageUp => scroll(state, -page),
        PageDown => scroll(state, page),
        GoOldest => jump(state, now, Place::Oldest),
        GoNewest => go_newest(state, now),
        GoUnread => go_unread(state, now),
        SelectNext => select(state, now, 1),
        SelectPrevious => select(state, now, -1),
        SelectFirst => select_first(state, now),
        SelectLast => {
            let effects = go_newest(state, now);
            if let Some(of) = focused(state) {
                of.viewport.selected = visible(of, of.timeline.entries.len(), false);
            }
            effects
        }
        SearchNext => search::step(state, now, true),
        SearchPrevious => search::step(state, now, false),
        _ => Vec::new(),
    }
}

fn focused(state: &mut State) -> Option<&mut Conversation> {
    let (account, id) = state.focus.clone()?;
    state.conversation_mut(&account, &id)
}

/// Esc leads one step out, and at the end asks whether to stop the run.
fn escape(state: &mut State, now: Moment) -> Vec<Effect> {
    if drawer::dismiss(state) {
        return Vec::new();
    }
    if state.screen.selection.take().is_some() {
        return Vec::new();
    }
    if focused(state).is_some_and(|of| of.composer.unselect()) {
        return Vec::new();
    }
    if state.screen.is_bare {
        state.screen.is_bare = false;
        return Vec::new();
    }
    let was_elsewhere = state.screen.pane != Pane::Composer || state.screen.sidebar.is_over;
    let was_selected = focused(state).is_some_and(|of| of.viewport.selected.take().is_some());
    let was_marked = state.screen.marked.take().is_some();
    if was_elsewhere || was_selected || was_marked {
        leave_sidebar(state);
        state.screen.pane = Pane::Composer;
        return Vec::new();
    }
    if focused(state).is_some_and(|of| of.composer.reply_to.take().is_some()) {
        return Vec::new();
    }
    let can_stop = state
        .focus
        .as_ref()
        .is_some_and(|(account, id)| runs::can_stop(state, account, id));
    if !can_stop {
        state.screen.stop_asked = None;
        return Vec::new();
    }
    let is_again = state
        .screen
        .stop_asked
        .is_some_and(|asked| now.since(asked) < AGAIN);
    if is_again {
        state.screen.stop_asked = None;
        return places::stop_run(state, now);
    }
    state.screen.stop_asked = Some(now);
    vec![Effect::Wake(now.after(AGAIN))]
}

fn leave_sidebar(state: &mut State) {
    state.screen.sidebar.is_over = false;
}

fn focus_pane(state: &mut State, is_next: bool) -> Vec<Effect> {
    let order = [Pane::Composer, Pane::Timeline, Pane::Sidebar];
    let at = order
        .iter()
        .position(|pane| *pane == state.screen.pane)
        .unwrap_or(0);
    let step = if is_next { 1 } else { 2 };
    let mut to = order[(at + step) % 3];
    let is_folded_away = state.screen.columns >= NARROW && !sidebar_is_beside(&state.screen);
    if to == Pane::Sidebar && is_folded_away {
        to = order[(at + 2 * step) % 3];
    }
    leave_sidebar(state);
    go_to_pane(state, to);
    Vec::new()
}

/// Gives a pane the keys. A timeline without a selection selects what was seen last; a sidebar that
/// is not there lies over the timeline as long as it has the keys.
pub(super) fn go_to_pane(state: &mut State, to: Pane) {
    state.screen.pane = to;
    match to {
        Pane::Composer => {}
        Pane::Timeline => {
            if let Some(of) = focused(state)
                && of.viewport.selected.is_none()
            {
                let at = match of.viewport.anchor {
                    Anchor::Newest => None,
                    Anchor::Top { key, .. } | Anchor::Show { key } => Some(key),
                };
                of.viewport.selected = at
                    .filter(|key| of.timeline.entries.iter().any(|e| e.key == *key))
                    .or_else(|| visible(of, of.timeline.entries.len(), false));
            }
        }
        Pane::Sidebar => {
            if !sidebar_is_beside(&state.screen) {
                state.screen.sidebar.is_over = true;
            }
            let rows = sidebar::rows(state);
            state.screen.sidebar.selected =
                sidebar::position(state, &rows).and_then(|at| rows.get(at).cloned());
        }
    }
}

fn in_rows(state: &mut State, steps: isize) -> Vec<Effect> {
    state.screen.sidebar.selected = sidebar::step(state, steps);
    Vec::new()
}

/// Opens the row of the sidebar under the cursor.
pub(super) fn open_row(state: &mut State, now: Moment) -> Vec<Effect> {
    match state.screen.sidebar.selected.clone() {
        Some(SidebarRow::Attention) => super::perform(state, now, Action::Attention),
        Some(SidebarRow::Conversation(account, id)) => {
            leave_sidebar(state);
            state.screen.pane = Pane::Composer;
            conversation::focus(state, now, &account, &id)
        }
        Some(SidebarRow::Account(_) | SidebarRow::Archive(_)) => entries::fold_row(state),
        None => Vec::new(),
    }
}

fn scroll(state: &mut State, rows: i32) -> Vec<Effect> {
    if let Some(of) = focused(state) {
        of.viewport.delta = of.viewport.delta.saturating_add(rows);
        of.viewport.reveal = None;
    }
    Vec::new()
}

fn jump(state: &mut State, now: Moment, place: Place) -> Vec<Effect> {
    match state.focus.clone() {
        Some((account, id)) => conversation::jump(state, now, &account, &id, place),
        None => Vec::new(),
    }
}

pub(super) fn go_newest(state: &mut State, now: Moment) -> Vec<Effect> {
    let effects = jump(state, now, Place::Newest);
    if let Some(of) = focused(state) {
        of.viewport.delta = 0;
        of.viewport.reveal = None;
        of.viewport.selected = None;
        if !of.timeline.has_newer {
            of.viewport.anchor = Anchor::Newest;
            of.viewport.new_below = 0;
        }
    }
    effects
}

fn go_unread(state: &mut State, now: Moment) -> Vec<Effect> {
    let Some(of) = focused(state) else {
        return Vec::new();
    };
    let Some(read) = of.unread_line else {
        state.say(Severity::Info, "Everything here has been read.");
        return Vec::new();
    };
    let first = of.timeline.entries.iter().find(|entry| entry.order > read);
    let place = first.map_or(read, |entry| entry.order);
    state.screen.pane = Pane::Timeline;
    jump(state, now, Place::Order(place))
}

fn select_first(state: &mut State, now: Moment) -> Vec<Effect> {
    let Some(of) = focused(state) else {
        return Vec::new();
    };
    if of.timeline.has_older {
        return jump(state, now, Place::Oldest);
    }
    let key = of.timeline.entries.first().map(|entry| entry.key);
    of.viewport.selected = key;
    of.viewport.reveal = key;
    conversation::load_older(state, now)
}

/// Whether an entry is drawn, where folded groups of tools show only their first.
fn is_drawn(of: &Conversation, index: usize, unfold_all: bool) -> bool {
    let entries = &of.timeline.entries;
    match tool_group(entries, index) {
        Some(group) if group.start != index => {
            let first = entries[group.start].key;
            unfold_all != of.toggled.contains(&first)
        }
        _ => true,
    }
}

/// The nearest entry before `end` that is drawn.
fn visible(of: &Conversation, end: usize, unfold_all: bool) -> Option<MessageKey> {
    (0..end)
        .rev()
        .find(|index| is_drawn(of, *index, unfold_all))
        .map(|index| of.timeline.entries[index].key)
}

/// Moves the selection over the entries that are drawn.
fn select(state: &mut State, now: Moment, step: isize) -> Vec<Effect> {
    let unfold_all = state.settings.unfold_all;
    let Some(of) = focused(state) else {
        return Vec::new();
    };
    let count = of.timeline.entries.len();
    let at = of.viewport.selected.and_then(|key| {
        of.timeline
            .entries
            .iter()
            .position(|entry| entry.key == key)
    });
    let to = match at {
        None => (0..count)
            .rev()
            .find(|index| is_drawn(of, *index, unfold_all)),
        Some(at) if step > 0 => (at + 1..count).find(|index| is_drawn(of, *index, unfold_all)),
        Some(at) => (0..at).rev().find(|index| is_drawn(of, *index, unfold_all)),
    };
    let Some(to) = to else {
        // At the edge of the window: more comes in, or the edge itself comes into sight.
        if step < 0 {
            of.viewport.delta = of.viewport.delta.saturating_sub(3);
            return conversation::load_older(state, now);
        }
        of.viewport.delta = of.viewport.delta.saturating_add(3);
        return Vec::new();
    };
    let entry = &of.timeline.entries[to];
    let key = entry.key;
    let is_near_top = to < 3;
    of.viewport.selected = Some(key);
    of.viewport.reveal = Some(key);
    // Near the edge the next ones are asked for, so that the walk does not stop.
    if step < 0 && is_near_top && !matches!(entry.body, EntryBody::Gap { .. }) {
        return conversation::load_older(state, now);
    }
    Vec::new()
}

/// Whether the keys may answer the popup on top now.
pub fn decision_is_armed(state: &State, now: Moment) -> bool {
    is_top(
        state,
        |overlay| matches!(overlay, Overlay::Decision(popup) if decision::is_armed(popup, now)),
    )
}
