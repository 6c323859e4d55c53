//! Keys, pastes and the mouse: what was pressed becomes an action by the live keymap, or text for
//! whatever is being written.

use super::actions::{self, context, perform};
use super::keymap::{Context, Resolution};
use super::screen::overlay::Overlay;
use super::screen::viewport::Anchor;
use super::screen::{
    Pane, Selection, SidebarRow, Spot, Target, choose, decision, drawer, popups, rows, source,
};
use super::state::{MediaThen, Redraw, State};
use super::{Action, Effect, media};
use crate::domain::{Moment, Severity};
use crate::input::chord::label;
use crate::input::{Chord, Key, MouseButton, MouseEvent, MouseKind, layout};

/// The highest count of a command in the normal mode.
const MOST_TIMES: usize = 999;
/// Rows that one step of the wheel scrolls.
const WHEEL: i32 = 3;

/// A key was pressed.
pub fn on_key(state: &mut State, now: Moment, chord: Chord) -> Vec<Effect> {
    state.redraw(Redraw::Now);
    let pending = std::mem::take(&mut state.screen.pending);
    state.screen.leader = false;
    if !pending.is_empty() && chord == Chord::plain(Key::Escape) {
        state.screen.counts = [0; 2];
        return Vec::new();
    }
    let context = context(state);
    if let Some(effects) = type_ahead(state, now, context, chord) {
        return effects;
    }
    let mut resolution = state.keymap.resolve(context, &pending, chord);
    if resolution == Resolution::None
        && let Some(latin) = on_latin_key(context, &pending, chord)
    {
        resolution = state.keymap.resolve(context, &pending, latin);
    }
    if matches!(context, Context::Normal | Context::Visual) {
        if let Some(effects) = count(state, &pending, chord, resolution) {
            return effects;
        }
    } else {
        state.screen.counts = [0; 2];
    }
    // A question that is answered by the same key again is forgotten with any other key.
    if resolution != Resolution::Action(Action::ClearOrStopOrQuit) {
        state.screen.quit_asked = None;
    }
    if resolution != Resolution::Action(Action::Escape) {
        state.screen.stop_asked = None;
    }
    match resolution {
        Resolution::Action(action) => {
            let [before, inside] = state.screen.counts;
            state.screen.counts = [times(before, inside), 0];
            let effects = perform(state, now, action);
            state.screen.counts = [0; 2];
            effects
        }
        Resolution::Pending => {
            let [before, inside] = state.screen.counts;
            state.screen.counts = [times(before, inside), 0];
            state.screen.pending = pending;
            state.screen.pending.push(chord);
            state.screen.leader = true;
            Vec::new()
        }
        Resolution::None if !pending.is_empty() => {
            state.screen.counts = [0; 2];
            let mut keys = pending;
            keys.push(chord);
            state.say(Severity::Warning, format!("{} is not bound.", label(&keys)));
            Vec::new()
        }
        Resolution::None if matches!(context, Context::Normal | Context::Visual) => {
            state.screen.counts = [0; 2];
            Vec::new()
        }
        Resolution::None => match chord.typed() {
            Some(c) => typed(state, context, c),
            None => Vec::new(),
        },
    }
}

/// A digit of a count in the normal mode: one that is not bound, or a zero after another digit. What
/// is pending stays so.
fn count(
    state: &mut State,
    pending: &[Chord],
    chord: Chord,
    resolution: Resolution,
) -> Option<Vec<Effect>> {
    let digit = usize::try_from(chord.typed()?.to_digit(10)?).ok()?;
    let typed = &mut state.screen.counts[1];
    if resolution != Resolution::None && !(digit == 0 && *typed > 0) {
        return None;
    }
    if digit == 0 && *typed == 0 {
        return None;
    }
    *typed = (*typed * 10 + digit).min(MOST_TIMES);
    state.screen.pending = pending.to_vec();
    state.screen.leader = !pending.is_empty();
    Some(Vec::new())
}

/// How often a command is carried out: the counts before it and inside it, multiplied; zero when
/// there is none.
fn times(before: usize, inside: usize) -> usize {
    match (before, inside) {
        (0, 0) => 0,
        (before, inside) => (before.max(1) * inside.max(1)).min(MOST_TIMES),
    }
}

/// While the popup of a decision is not armed yet, what was meant for the composer goes there: the
/// person was typing when it came.
fn type_ahead(
    state: &mut State,
    now: Moment,
    context: Context,
    chord: Chord,
) -> Option<Vec<Effect>> {
    if context != Context::Decision || actions::decision_is_armed(state, now) {
        return None;
    }
    let c = chord.typed()?;
    let overlays = std::mem::take(&mut state.screen.overlays);
    let effects = typed(state, Context::Composer, c);
    state.screen.overlays = overlays;
    Some(effects)
}

/// The same chord on a Latin keyboard, where letters are commands: the layout of the person's
/// language must not make j and k dead.
fn on_latin_key(context: Context, pending: &[Chord], chord: Chord) -> Option<Chord> {
    let is_text = matches!(context, Context::Composer | Context::Filter | Context::Line);
    if is_text && pending.is_empty() {
        return None;
    }
    let Key::Char(c) = chord.key else {
        return None;
    };
    Some(Chord::of_char(layout::latin(c)?, chord.modifiers))
}

/// A character that no binding wants.
fn typed(state: &mut State, context: Context, c: char) -> Vec<Effect> {
    let mut buffer = [0; 4];
    let text = c.encode_utf8(&mut buffer);
    match context {
        Context::Composer => {
            if is_read_only(state) {
                state.say(Severity::Warning, "This conversation is read-only.");
                return Vec::new();
            }
            if let Some((account, id)) = state.focus.clone()
                && let Some(of) = state.conversation_mut(&account, &id)
            {
                of.composer.insert(text);
            }
            drawer::refresh(state)
        }
        Context::Filter | Context::Line => popups::insert(state, text).unwrap_or_default(),
        Context::Normal
        | Context::Visual
        | Context::Timeline
        | Context::Sidebar
        | Context::List
        | Context::Text
        | Context::Decision
        | Context::Confirm
        | Context::Global => Vec::new(),
    }
}

fn is_read_only(state: &State) -> bool {
    state
        .focused()
        .is_some_and(|(_, _, conversation)| conversation.info.is_automation)
}

/// Text was pasted. It goes into what is being written, and never sends or answers anything.
pub fn on_paste(state: &mut State, _now: Moment, text: &str) -> Vec<Effect> {
    state.redraw(Redraw::Now);
    state.screen.pending.clear();
    state.screen.leader = false;
    let text = crate::input::paste::clean(text);
    if !state.screen.overlays.is_empty() {
        if let Some(effects) = popups::insert(state, &text) {
            return effects;
        }
        if !matches!(state.screen.overlays.last(), Some(Overlay::Decision(_))) {
            return Vec::new();
        }
    }
    if is_read_only(state) {
        state.say(Severity::Warning, "This conversation is read-only.");
        return Vec::new();
    }
    if state.screen.overlays.is_empty() {
        state.screen.pane = Pane::Composer;
    }
    state.screen.is_normal = false;
    actions::paste(state, &text)
}

/// The mouse did something; `target` is what lies there in the frame on screen.
pub fn on_pointer(
    state: &mut State,
    now: Moment,
    mouse: MouseEvent,
    target: Target,
) -> Vec<Effect> {
    if !state.settings.mouse {
        return Vec::new();
    }
    match mouse.kind {
        MouseKind::Moved => return Vec::new(),
        MouseKind::WheelUp => return wheel(state, now, -WHEEL, &target),
        MouseKind::WheelDown => return wheel(state, now, WHEEL, &target),
        MouseKind::Drag(MouseButton::Left) => return drag(state, mouse, &target),
        MouseKind::Up(MouseButton::Left) => return let_go(state, target),
        MouseKind::Down(MouseButton::Left) => {}
        MouseKind::Down(MouseButton::Right) => return menu(state, now, target),
        MouseKind::Down(MouseButton::Middle) | MouseKind::Drag(_) | MouseKind::Up(_) => {
            return Vec::new();
        }
    }
    state.redraw(Redraw::Now);
    state.screen.selection = None;
    if !state.screen.overlays.is_empty() {
        return on_popup(state, now, target);
    }
    match target {
        Target::SidebarRow(row) => {
            let is_fold = matches!(row, SidebarRow::Account(_) | SidebarRow::Archive(_));
            let was_over = state.screen.sidebar.is_over;
            state.screen.sidebar.selected = Some(row);
            if is_fold {
                state.screen.pane = Pane::Sidebar;
                state.screen.sidebar.is_over = was_over;
                return perform(state, now, Action::ToggleFold);
            }
            state.screen.pane = Pane::Sidebar;
            perform(state, now, Action::Accept)
        }
        Target::SidebarEdge => {
            state.screen.is_dragging_edge = true;
            Vec::new()
        }
        Target::Entry { key, row, column } => {
            select_entry(state, key);
            let spot = Spot { key, row, column };
            state.screen.selection = Some(Selection {
                from: spot,
                to: spot,
                is_dragging: true,
            });
            Vec::new()
        }
        Target::Fold(key) => {
            select_entry(state, key);
            perform(state, now, Action::ToggleFold)
        }
        Target::CodeCopy(key, at) => rows::entry(state, key)
            .and_then(|entry| entry.message())
            .and_then(|message| {
                source::code_blocks(message.body.text().as_str())
                    .into_iter()
                    .nth(at)
            })
            .map(|(_, body)| vec![Effect::Copy(crate::text::SafeText::prose(&body))])
            .unwrap_or_default(),
        Target::Link(link) => {
            choose::ask_link(state, link);
            Vec::new()
        }
        Target::Attachment(id) => match state.focus.clone() {
            Some((account, _)) => media::fetch(state, now, &account, &id, MediaThen::Open),
            None => Vec::new(),
        },
        Target::Decision(id) => match state.focus.clone() {
            Some((account, _)) => decision::open(state, now, &account, &id),
            None => Vec::new(),
        },
        Target::NewBelow => perform(state, now, Action::GoNewest),
        Target::Composer { row, column } => {
            state.screen.pane = Pane::Composer;
            state.screen.sidebar.is_over = false;
            let columns = usize::from(state.screen.composer_columns.max(2));
            if let Some((account, id)) = state.focus.clone()
                && let Some(of) = state.conversation_mut(&account, &id)
            {
                of.composer
                    .go_to_cell(usize::from(row), usize::from(column), columns);
            }
            drawer::refresh(state)
        }
        Target::TodoStrip | Target::ToolStrip => perform(state, now, Action::ShowTodos),
        Target::Queue => perform(state, now, Action::ShowQueue),
        // Rows of the drawer over the composer.
        Target::OverlayRow(row) => {
            drawer::select(state, row);
            drawer::accept(state)
        }
        Target::OverlayButton(_) | Target::OutsideOverlay | Target::Nothing => {
            state.screen.sidebar.is_over = false;
            if state.screen.pane == Pane::Sidebar {
                state.screen.pane = Pane::Composer;
            }
            Vec::new()
        }
    }
}

fn select_entry(state: &mut State, key: crate::domain::MessageKey) {
    state.screen.pane = Pane::Timeline;
    state.screen.sidebar.is_over = false;
    if let Some((account, id)) = state.focus.clone()
        && let Some(of) = state.conversation_mut(&account, &id)
    {
        of.viewport.selected = Some(key);
    }
}

/// A click while a popup is open: a row is chosen, a button pressed, and beside it the popup closes.
/// In the popup of a decision the first click on a row only moves there; answering takes a second.
fn on_popup(state: &mut State, now: Moment, target: Target) -> Vec<Effect> {
    match target {
        Target::OverlayRow(row) => match state.screen.overlays.last_mut() {
            Some(Overlay::Decision(popup)) => {
                if popup.selected == row && popup.typing.is_none() {
                    return perform(state, now, Action::Accept);
                }
                popup.selected = row;
                popup.always_asked = false;
                popup.typing = None;
                Vec::new()
            }
            Some(Overlay::Wizard(wizard)) if wizard.kind.is_some() => {
                wizard.focused = row.min(wizard.fields.len());
                Vec::new()
            }
            Some(top) => match popups::list_mut(top) {
                Some(list) => {
                    list.selected = row;
                    perform(state, now, Action::Accept)
                }
                None => Vec::new(),
            },
            None => Vec::new(),
        },
        Target::OverlayButton(button) => match state.screen.overlays.last_mut() {
            Some(Overlay::Confirm(confirm)) => {
                // The first button is no, the second yes.
                confirm.is_yes_selected = button == 1;
                perform(state, now, Action::Accept)
            }
            Some(Overlay::Wizard(wizard)) => {
                wizard.focused = wizard.fields.len();
                perform(state, now, Action::Accept)
            }
            Some(_) => perform(state, now, Action::Accept),
            None => Vec::new(),
        },
        Target::OutsideOverlay => perform(state, now, Action::Escape),
        _ => Vec::new(),
    }
}

/// The wheel scrolls what lies under it; a popup takes it wherever it points.
fn wheel(state: &mut State, now: Moment, rows: i32, target: &Target) -> Vec<Effect> {
    state.redraw(Redraw::Now);
    if let Some(top) = state.screen.overlays.last() {
        let (up, down) = match top {
            Overlay::Decision(_)
            | Overlay::Document { .. }
            | Overlay::Help { .. }
            | Overlay::Account { .. } => (Action::ScrollUp, Action::ScrollDown),
            _ => (Action::Previous, Action::Next),
        };
        let action = if rows < 0 { up } else { down };
        return (0..rows.abs())
            .flat_map(|_| perform(state, now, action))
            .collect();
    }
    match target {
        Target::SidebarRow(_) | Target::SidebarEdge => {
            let scroll = &mut state.screen.sidebar.scroll;
            *scroll = scroll.saturating_add_signed(rows as isize);
            let most = super::screen::sidebar::rows(state).len();
            let scroll = &mut state.screen.sidebar.scroll;
            *scroll = (*scroll).min(most.saturating_sub(1));
        }
        _ => {
            if let Some((account, id)) = state.focus.clone()
                && let Some(of) = state.conversation_mut(&account, &id)
            {
                // At the bottom there is nothing further down.
                if rows > 0 && of.viewport.anchor == Anchor::Newest && of.viewport.delta == 0 {
                    return Vec::new();
                }
                of.viewport.delta = of.viewport.delta.saturating_add(rows);
                of.viewport.reveal = None;
            }
        }
    }
    Vec::new()
}

fn drag(state: &mut State, mouse: MouseEvent, target: &Target) -> Vec<Effect> {
    if state.screen.is_dragging_edge {
        actions::set_width(state, mouse.column.saturating_add(1));
        state.redraw(Redraw::Now);
        return Vec::new();
    }
    if let (Some(selection), Target::Entry { key, row, column }) =
        (&mut state.screen.selection, target)
        && selection.is_dragging
    {
        selection.to = Spot {
            key: *key,
            row: *row,
            column: *column,
        };
        state.redraw(Redraw::Now);
    }
    Vec::new()
}

/// The button was let go: what was dragged over is copied, a mere click selects nothing.
fn let_go(state: &mut State, _target: Target) -> Vec<Effect> {
    state.redraw(Redraw::Now);
    state.screen.is_dragging_edge = false;
    let Some(selection) = &mut state.screen.selection else {
        return Vec::new();
    };
    selection.is_dragging = false;
    if selection.from == selection.to {
        state.screen.selection = None;
        return Vec::new();
    }
    vec![Effect::CopySelection]
}

fn menu(state: &mut State, now: Moment, target: Target) -> Vec<Effect> {
    state.redraw(Redraw::Now);
    if !state.screen.overlays.is_empty() {
        return Vec::new();
    }
    match target {
        Target::Entry { key, .. } | Target::Fold(key) | Target::CodeCopy(key, _) => {
            select_entry(state, key);
            perform(state, now, Action::EntryMenu)
        }
        _ => Vec::new(),
    }
}
