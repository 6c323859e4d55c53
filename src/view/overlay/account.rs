//! An account: how its link is, who it says it is, what it can do, and the way to sign in.

use super::{frame, hints, most_rows};
use crate::app::Action;
use crate::app::state::{AccountState, State};
use crate::domain::{AccountId, HistoryPaging, LinkState, Support};
use crate::text::SafeText;
use crate::view::canvas::{Canvas, Row, wrap};
use crate::view::hints::way_to;
use crate::view::sidebar::link_mark;
use crate::view::theme::Role;
use crate::view::words;
use ratatui::layout::Rect;

pub(super) fn draw(
    canvas: &mut Canvas<'_>,
    state: &State,
    id: &AccountId,
    scroll: u16,
    area: Rect,
) -> Option<u16> {
    let Some(account) = state.account(id) else {
        let inner = frame(canvas, area, "Account", 40, 1);
        canvas.put(
            inner.x,
            inner.y,
            "It was removed.",
            inner.width,
            Role::PopupMuted,
        );
        return None;
    };
    let columns = 84.min(area.width.saturating_sub(8));
    let rows = rows(canvas, state, account, usize::from(columns));
    let height = u16::try_from(rows.len()).unwrap_or(u16::MAX);
    let height = height.min(most_rows(area));
    let inner = frame(
        canvas,
        area,
        account.account.label.as_str(),
        columns,
        height,
    );
    let height = usize::from(inner.height);
    let top = usize::from(scroll).min(rows.len().saturating_sub(height));
    for (line, row) in rows.iter().skip(top).take(height).enumerate() {
        canvas.row(inner, inner.y + u16::try_from(line).unwrap_or(0), row);
    }
    canvas.scrollbar(inner.right() + 1, inner, rows.len(), top, Role::PopupMuted);
    hints(canvas, state, inner);
    u16::try_from(rows.len().saturating_sub(height)).ok()
}

/// Cells of the names of what an account can do.
const NAMES: usize = 22;

fn rows(canvas: &Canvas<'_>, state: &State, account: &AccountState, columns: usize) -> Vec<Row> {
    let g = canvas.glyphs;
    let (mark, role, word) = link_mark(account, state, g);
    let mut rows = vec![
        fact("link", "")
            .and(format!("{mark} "), role)
            .and(word, Role::Text),
    ];
    match &account.account.link {
        LinkState::Waiting { reason, .. } => {
            rows.extend(text_rows(reason.as_str(), columns, Role::Warning));
        }
        LinkState::Refused { reason } => {
            rows.extend(text_rows(reason.as_str(), columns, Role::Warning));
            let next = [
                (Action::SignIn, " signs in with another secret"),
                (Action::RetryNow, " tries again"),
            ];
            for (action, does) in next {
                rows.push(
                    fact("", "")
                        .and(way_to(state, action), Role::Key)
                        .and(does, Role::Text),
                );
            }
        }
        LinkState::NeedsLogin(need) => {
            rows.extend(text_rows(need.hint.as_str(), columns, Role::Warning));
            if let Some(url) = &need.url {
                let url = SafeText::label(url.as_str());
                rows.push(fact("sign in at", "").and(url.as_str(), Role::Link));
            }
            for method in &need.methods {
                rows.push(
                    fact("or with", "")
                        .and(method.name.as_str(), Role::Strong)
                        .and("  ", Role::Text)
                        .and(method.detail.as_str(), Role::Code),
                );
            }
        }
        LinkState::Off | LinkState::Connecting | LinkState::Syncing | LinkState::Ready => {}
    }
    if let Some(health) = &account.account.health {
        rows.push(fact("health", health.as_str()));
    }
    if let Some(identity) = &account.account.identity {
        rows.push(fact(
            "software",
            &format!("{} {}", identity.server, identity.version),
        ));
    }
    if let Some(ms) = account.account.latency_ms {
        rows.push(fact("answers in", &words::duration(ms)));
    }
    if let Some(last) = account.account.last_frame {
        let ms = u64::try_from(state.now.since(last).as_millis()).unwrap_or(0);
        rows.push(fact("last heard", &format!("{} ago", words::age(ms))));
    }
    rows.push(fact("unsent", &account.outbox.len().to_string()));
    if account.oddities > 0 {
        rows.push(fact(
            "not understood",
            &words::plural(usize::try_from(account.oddities).unwrap_or(0), "frame"),
        ));
    }
    rows.push(Row::blank());
    rows.push(Row::of("What it can do", Role::Heading));
    let supports = supports(account);
    // Before the first answer there is nothing to tell one by one.
    let is_unheard = supports
        .iter()
        .all(|(_, support)| matches!(support, Support::Unknown));
    if is_unheard {
        let word = "Not known before it was connected once.";
        rows.push(Row::of(word, Role::PopupMuted).indented(2));
    }
    for (name, support) in supports.into_iter().filter(|_| !is_unheard) {
        let (mark, role, why) = match support {
            Support::Yes => (g.check, Role::Good, ""),
            Support::No(why) => (g.cross, Role::Muted, *why),
            Support::Unknown => (g.uncertain, Role::Muted, "not known yet"),
        };
        let mut lines = wrap(why, columns.saturating_sub(NAMES + 4)).into_iter();
        rows.push(
            Row::of(format!("{mark} "), role)
                .and(format!("{name:<NAMES$}"), Role::Text)
                .and(lines.next().unwrap_or_default(), Role::PopupMuted)
                .indented(2),
        );
        for line in lines {
            let blank = " ".repeat(NAMES + 2);
            rows.push(
                Row::of(blank, Role::Text)
                    .and(line, Role::PopupMuted)
                    .indented(2),
            );
        }
    }
    let history = match account.account.capabilities.history {
        HistoryPaging::None => "kept here only",
        HistoryPaging::OlderThanToken => "comes page by page",
        HistoryPaging::NewerThanToken => "comes whole",
    };
    rows.push(fact("history", history));
    rows
}

fn fact(name: &str, value: &str) -> Row {
    Row::of(format!("{name:<16}"), Role::PopupMuted).and(value, Role::Text)
}

fn text_rows(text: &str, columns: usize, role: Role) -> Vec<Row> {
    wrap(text, columns.saturating_sub(16))
        .into_iter()
        .map(|line| fact("", "").and(line, role))
        .collect()
}

fn supports(account: &AccountState) -> Vec<(&'static str, &Support)> {
    let can = &account.account.capabilities;
    vec![
        ("stop a run", &can.cancel_run),
        ("models", &can.models),
        ("reasoning effort", &can.effort),
        ("show reasoning", &can.reasoning),
        ("show todo lists", &can.todos),
        ("slash commands", &can.slash_catalog),
        ("new conversations", &can.create_conversation),
        ("threads", &can.create_thread),
        ("rename", &can.rename_conversation),
        ("delete conversations", &can.delete_conversation),
        ("delete messages", &can.delete_message),
        ("replies", &can.reply_to),
        ("send files", &can.upload),
        ("receive files", &can.download),
        ("search its history", &can.server_search),
        ("queue messages", &can.queues_messages),
        ("act without asking", &can.auto_approve),
        ("favourites", &can.favorite),
    ]
}
