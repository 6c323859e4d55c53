//! The sidebar: what waits for the person, accounts with their state, conversations under them.

use super::canvas::{Canvas, Row};
use super::glyphs::Glyphs;
use super::item::Scene;
use super::picture::Pictures;
use super::theme::{Depth, LEAST_CONTRAST, Role};
use super::words;
use crate::app::screen::{Pane, SidebarRow, Target};
use crate::app::state::{AccountState, Conversation, State};
use crate::domain::{ConversationId, ConversationKind, LinkState, Unread};
use crate::text::mixes_scripts;
use ratatui::layout::Rect;
use ratatui::style::Color;

/// The mark before a conversation: its kind, by shape.
pub(crate) fn mark(conversation: &Conversation, g: &'static Glyphs) -> &'static str {
    let info = &conversation.info;
    if info.is_automation {
        g.automation
    } else if info.is_favorite || conversation.settings.is_pinned {
        g.favorite
    } else {
        match info.kind {
            ConversationKind::Default | ConversationKind::Channel => g.channel,
            ConversationKind::Thread => g.thread,
            ConversationKind::Session => g.session,
        }
    }
}

/// The name of a conversation with the mark that names are written with.
pub(crate) fn place_name(scene: &Scene<'_>, id: &ConversationId) -> String {
    scene
        .account
        .conversations
        .get(id)
        .map_or_else(|| "a conversation".to_owned(), full_name)
}

/// The name of a conversation for sentences: `#name` for a channel.
pub(crate) fn full_name(conversation: &Conversation) -> String {
    let name = conversation.info.name.as_str();
    let name = if name.is_empty() { "unnamed" } else { name };
    match conversation.info.kind {
        ConversationKind::Default | ConversationKind::Channel => format!("#{name}"),
        ConversationKind::Thread | ConversationKind::Session => name.to_owned(),
    }
}

/// The mark of a link, by shape, and its word.
pub(crate) fn link_mark(
    account: &AccountState,
    state: &State,
    g: &'static Glyphs,
) -> (&'static str, Role, String) {
    if state.play.as_ref().is_some_and(|play| play.is_over) {
        return (g.off, Role::Muted, "replay over".to_owned());
    }
    match &account.account.link {
        LinkState::Off => (g.off, Role::Muted, "off".to_owned()),
        LinkState::Connecting => (g.connecting, Role::Warning, "connecting".to_owned()),
        LinkState::Syncing | LinkState::Ready if account.account.silent_since.is_some() => {
            let ms = silence_ms(account, state).unwrap_or(0);
            let word = format!("no answer for {}", words::age(ms));
            (g.silent, Role::Warning, word)
        }
        LinkState::Syncing => (g.connecting, Role::Info, "catching up".to_owned()),
        LinkState::Ready => match &account.account.health {
            Some(health) => (g.ready, Role::Warning, health.to_string()),
            None => (g.ready, Role::Good, "online".to_owned()),
        },
        LinkState::Waiting { until, .. } => {
            let ms = until.mono_ms.saturating_sub(state.now.mono_ms);
            let word = format!("offline, again in {}", words::age(ms.div_ceil(1000) * 1000));
            (g.waiting, Role::Warning, word)
        }
        LinkState::Refused { .. } => (g.refused, Role::Danger, "refused".to_owned()),
        LinkState::NeedsLogin(_) => (g.login, Role::Waiting, "sign in".to_owned()),
    }
}

/// For how long a server that was asked for a sign of life has given none.
pub(crate) fn silence_ms(account: &AccountState, state: &State) -> Option<u64> {
    let since = account.account.silent_since?;
    Some(state.now.mono_ms.saturating_sub(since.mono_ms))
}

/// Draws the sidebar.
pub(crate) fn draw(
    canvas: &mut Canvas<'_>,
    state: &State,
    rows: &[SidebarRow],
    area: Rect,
    is_over: bool,
    pictures: Option<&Pictures>,
) {
    canvas.fill(area, Role::Panel);
    let edge = area.right().saturating_sub(1);
    let line = canvas.glyphs.vertical;
    let has_focus = state.screen.pane == Pane::Sidebar && state.screen.overlays.is_empty();
    let border = if has_focus {
        Role::BorderFocused
    } else {
        Role::Border
    };
    for y in area.top()..area.bottom() {
        canvas.put(edge, y, line, 1, border);
    }
    canvas.hits.add(
        Rect {
            x: edge,
            width: 1,
            ..area
        },
        Target::SidebarEdge,
    );
    let inner = Rect {
        width: area.width.saturating_sub(1),
        ..area
    };
    if is_over {
        canvas.hits.add(inner, Target::Nothing);
    }
    let lines = spaced(rows, usize::from(inner.height));
    let height = usize::from(inner.height);
    let selected = lines
        .iter()
        .position(|row| row.is_some() && state.screen.sidebar.selected.as_ref() == *row);
    let mut top = state
        .screen
        .sidebar
        .scroll
        .min(lines.len().saturating_sub(height));
    if has_focus && let Some(at) = selected {
        top = top.min(at).max((at + 1).saturating_sub(height));
    }
    for (line, row) in lines.iter().skip(top).take(height).enumerate() {
        let y = inner.y + u16::try_from(line).unwrap_or(0);
        let is_selected = has_focus && selected == Some(top + line);
        if let Some(row) = row {
            draw_row(canvas, state, row, inner, y, is_selected);
            if let Some(pictures) = pictures {
                icon(canvas, state, row, inner, y, pictures);
            }
        }
    }
    canvas.scrollbar(edge, inner, lines.len(), top, Role::Muted);
}

/// The rows with a blank before each account, where there is room for them.
fn spaced(rows: &[SidebarRow], height: usize) -> Vec<Option<&SidebarRow>> {
    let is_account = |row: &&SidebarRow| matches!(row, SidebarRow::Account(_));
    let blanks = rows.iter().skip(1).filter(is_account).count();
    let has_room = rows.len() + blanks <= height;
    let mut lines = Vec::with_capacity(rows.len() + blanks);
    for (at, row) in rows.iter().enumerate() {
        if has_room && at > 0 && is_account(&row) {
            lines.push(None);
        }
        lines.push(Some(row));
    }
    lines
}

fn draw_row(
    canvas: &mut Canvas<'_>,
    state: &State,
    row: &SidebarRow,
    area: Rect,
    y: u16,
    is_selected: bool,
) {
    let g = canvas.glyphs;
    let is_shown = match row {
        SidebarRow::Conversation(account, conversation) => state
            .focus
            .as_ref()
            .is_some_and(|(a, c)| a == account && c == conversation),
        _ => false,
    };
    let line = Rect {
        y,
        height: 1,
        ..area
    };
    if is_shown {
        canvas.fill(line, Role::Selected);
    } else if is_selected {
        canvas.tint(line, Role::Selected);
    }
    if is_selected {
        canvas.put(area.x, y, g.selection, 1, Role::SelectionMark);
    }
    let drawn = match row {
        SidebarRow::Attention => {
            let waiting = state
                .accounts
                .iter()
                .flat_map(|account| &account.decisions)
                .filter(|decision| decision.life.is_pending())
                .count();
            Row::of(
                format!("{} {waiting} waiting for you", g.decision),
                Role::Waiting,
            )
            .indented(1)
        }
        SidebarRow::Account(id) => match state.account(id) {
            Some(account) => account_row(state, account, g),
            None => return,
        },
        SidebarRow::Conversation(account, id) => {
            let found = state
                .account(account)
                .and_then(|account| Some((account, account.conversations.get(id)?)));
            match found {
                Some((account, conversation)) => {
                    conversation_row(state, account, id, conversation, g, is_shown)
                }
                None => return,
            }
        }
        SidebarRow::Archive(id) => {
            let is_open = state.screen.sidebar.archive_open.contains(id);
            let mark = if is_open { g.open } else { g.folded };
            Row::of(format!("{mark} archived"), Role::Muted).indented(2)
        }
    };
    let mut drawn = drawn.hits(Target::SidebarRow(row.clone()));
    drawn.right = std::mem::take(&mut drawn.right);
    let inner = Rect {
        width: area.width.saturating_sub(1),
        ..area
    };
    canvas.row(inner, y, &drawn);
    recolor(canvas, state, row, inner, y);
}

fn account_row(state: &State, account: &AccountState, g: &'static Glyphs) -> Row {
    let (mark, role, _) = link_mark(account, state, g);
    let is_folded = state.screen.sidebar.folded.contains(&account.account.id);
    let mut row = Row::default().indented(1);
    if is_folded {
        row = row.and(format!("{} ", g.folded), Role::Muted);
    }
    row = row.and(account.account.label.as_str(), Role::Title);
    let unsent = account.outbox.len();
    if unsent > 0 {
        row = row.right(format!("{}{unsent} ", g.queued), Role::Muted);
    }
    row.right(mark, role)
}

fn conversation_row(
    state: &State,
    account: &AccountState,
    id: &ConversationId,
    conversation: &Conversation,
    g: &'static Glyphs,
    is_shown: bool,
) -> Row {
    let info = &conversation.info;
    let is_thread = info.parent.is_some();
    let is_muted = conversation.settings.is_muted;
    let has_unread = conversation.unread != Unread::None && !is_muted;
    let name = if info.name.is_empty() {
        "unnamed"
    } else {
        info.name.as_str()
    };
    let name_role = if has_unread {
        Role::Strong
    } else if is_muted || (info.is_archived && !is_shown) {
        Role::Muted
    } else {
        Role::Text
    };
    let mut row = Row::default()
        .indented(if is_thread { 4 } else { 2 })
        .and(format!("{} ", mark(conversation, g)), Role::Muted);
    // Before the name: behind a long one it would be cut.
    if mixes_scripts(name) {
        row = row.and(format!("{} ", g.lookalike), Role::Warning);
    }
    row = row.and(name, name_role);
    if info.kind == ConversationKind::Default {
        row = row.and(format!(" {}", g.home), Role::Muted);
    }
    let is_waiting = account
        .decisions
        .iter()
        .any(|decision| decision.conversation == *id && decision.life.is_pending());
    if !conversation.composer.is_empty() && !is_shown {
        row = row.right(" ~", Role::Muted);
    }
    if conversation.auto_approve {
        row = row.right(" !!", Role::Danger);
    }
    if is_waiting {
        row = row.right(format!(" {}", g.decision), Role::Waiting);
    } else if conversation.run.is_some() {
        let mark = if state.settings.reduced_motion {
            g.active
        } else {
            g.spin(state.screen.spinner_frame)
        };
        row = row.right(format!(" {mark}"), Role::Running);
    }
    match conversation.unread {
        Unread::None => row,
        _ if is_muted => row.right(format!(" {}", g.muted), Role::Muted),
        Unread::Some => row.right(format!(" {}", g.ready), Role::Unread),
        Unread::Count(0) => row,
        Unread::Count(n) if n > 999 => row.right(" 999+", Role::Unread),
        Unread::Count(n) => row.right(format!(" {n}"), Role::Unread),
    }
}

/// A conversation's icon stands where its mark would, where the terminal draws real pictures.
fn icon(
    canvas: &mut Canvas<'_>,
    state: &State,
    row: &SidebarRow,
    area: Rect,
    y: u16,
    pictures: &Pictures,
) {
    let SidebarRow::Conversation(account, id) = row else {
        return;
    };
    let Some(info) = state
        .account(account)
        .and_then(|of| of.conversations.get(id))
        .map(|conversation| &conversation.info)
    else {
        return;
    };
    let Some(icon) = pictures.icon(account, id, info) else {
        return;
    };
    let indent = if info.parent.is_some() { 4 } else { 2 };
    // One cell before the mark is free, and a blank stays behind it.
    let spot = Rect {
        x: area.x + indent - 1,
        width: 2.min(area.width.saturating_sub(indent)),
        ..area
    };
    icon.put_row(canvas, spot, y, 0);
}

/// A conversation's own colour goes on its mark, an account's on its name's first cell.
fn recolor(canvas: &mut Canvas<'_>, state: &State, row: &SidebarRow, area: Rect, y: u16) {
    if canvas.theme.depth < Depth::Indexed {
        return;
    }
    let SidebarRow::Conversation(account, id) = row else {
        return;
    };
    let conversation = state
        .account(account)
        .and_then(|account| account.conversations.get(id));
    let Some(conversation) = conversation else {
        return;
    };
    if let Some((r, g, b)) = conversation.info.appearance.color {
        let indent = if conversation.info.parent.is_some() {
            4
        } else {
            2
        };
        let x = area.x + indent;
        if x < area.right() {
            use super::color::{Rgb, legible, nearest_index};
            let is_true = canvas.theme.depth == Depth::TrueColor;
            let show = |color: Rgb| {
                if is_true {
                    color.color()
                } else {
                    Color::Indexed(nearest_index(color))
                }
            };
            // Whoever chose it did not know the ground it stands on here.
            let cell = &mut canvas.buffer[(x, y)];
            let wish = Rgb(r, g, b);
            let shown = match cell.bg {
                Color::Rgb(r, g, b) => legible(wish, &[Rgb(r, g, b)], LEAST_CONTRAST, show),
                _ => show(wish),
            };
            cell.set_fg(shown);
        }
    }
}
