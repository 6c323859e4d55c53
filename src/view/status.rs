//! The header over the timeline and the status line under the composer.

use super::canvas::{Canvas, Row};
use super::hints;
use super::item::{Scene, message::footer_parts};
use super::sidebar::{full_name, link_mark, mark};
use super::theme::Role;
use super::words;
use crate::app::replay;
use crate::app::state::{AccountState, State};
use crate::domain::{Delivery, Entry, OutboxRecord};
use crate::text::width;
use ratatui::layout::Rect;

/// A run from which nothing came for this long is said to be quiet.
const QUIET_MS: u64 = 30_000;

/// Draws the header: place and account on the left, modes and link on the right.
pub(crate) fn header(canvas: &mut Canvas<'_>, scene: &Scene<'_>, area: Rect) {
    canvas.fill(area, Role::Bar);
    let g = scene.glyphs;
    let conversation = scene.conversation;
    let parent = conversation
        .info
        .parent
        .as_ref()
        .and_then(|id| scene.account.conversations.get(id));
    let mut row = Row::default().indented(2);
    if conversation.info.is_favorite || conversation.info.is_automation {
        row = row.and(format!("{} ", mark(conversation, g)), Role::BarMuted);
    }
    if let Some(parent) = parent {
        row = row.and(format!("{} / ", full_name(parent)), Role::BarMuted);
    }
    row = row
        .and(full_name(conversation), Role::Title)
        .and(format!("  {}", scene.account.account.label), Role::BarMuted);
    if conversation.settings.is_muted {
        row = row.and("  muted", Role::BarMuted);
    }
    if conversation.auto_approve {
        let label = scene.account.account.capabilities.auto_approve_label;
        let label = if label.is_empty() {
            "auto-approve"
        } else {
            label
        };
        row = row
            .right(format!(" {} ", label.to_uppercase()), Role::Loud)
            .right("  ", Role::BarMuted);
    }
    if let Some(run) = &conversation.run {
        let quiet = scene
            .state
            .now
            .mono_ms
            .saturating_sub(run.last_activity.mono_ms);
        if quiet >= QUIET_MS {
            row = row
                .right(format!("quiet for {}", words::age(quiet)), Role::Warning)
                .right("  ", Role::BarMuted);
        }
    }
    let (mark, role, word) = link_mark(scene.account, scene.state, g);
    row = row
        .right(mark, role)
        .right(format!(" {}", word.replace('\n', " ")), Role::BarMuted);
    let inner = Rect {
        width: area.width.saturating_sub(2),
        ..area
    };
    canvas.row(inner, area.y, &row);
    let info = &conversation.info;
    let account = &scene.account.account.id;
    if let Some(icon) = scene
        .pictures
        .and_then(|pictures| pictures.icon(account, scene.id, info))
    {
        icon.put_row(canvas, Rect { width: 2, ..area }, area.y, 0);
    }
}

/// Draws the status line: what the agent is on the left, hints and what is unsent on the right.
pub(crate) fn status(
    canvas: &mut Canvas<'_>,
    state: &State,
    scene: Option<&Scene<'_>>,
    area: Rect,
) {
    canvas.fill(area, Role::Bar);
    let g = canvas.glyphs;
    let mut row = Row::default().indented(2);
    if let Some(play) = &state.play {
        let words = if play.is_over {
            " REPLAY over ".to_owned()
        } else {
            format!(" REPLAY {} ", play.speed)
        };
        let way_out = if play.is_over {
            replay::way_out(state)
        } else {
            String::new()
        };
        row = row
            .and(words, Role::Loud)
            .and(format!("{way_out}  "), Role::BarMuted);
    }
    if let Some(reason) = &state.read_only {
        row = row.and(format!("read only: {reason}  "), Role::Warning);
    }
    let mut parts = scene.map(facts).unwrap_or_default();
    // That nothing is kept matters more than what the last answer cost.
    let taken: usize = row.pieces.iter().map(|piece| width(&piece.text)).sum();
    while state.read_only.is_some() && !parts.is_empty() {
        let cells: usize = parts.iter().map(|part| width(part) + 3).sum();
        if taken + cells <= usize::from(area.width.saturating_sub(2)) {
            break;
        }
        parts.pop();
    }
    row = row.and(parts.join(&format!(" {} ", g.dot)), Role::BarMuted);
    // What is queued here stands in the strip over the composer.
    let is_in_strip = |of: &AccountState, record: &OutboxRecord| {
        record.delivery == Delivery::Queued
            && scene.is_some_and(|scene| {
                of.account.id == scene.account.account.id && record.conversation == *scene.id
            })
    };
    let unsent: usize = state
        .accounts
        .iter()
        .flat_map(|of| of.outbox.iter().map(move |record| (of, record)))
        .filter(|(of, record)| record.delivery != Delivery::InFlight && !is_in_strip(of, record))
        .count();
    if unsent > 0 {
        row = row
            .right(format!("{} {unsent} unsent", g.queued), Role::Warning)
            .right("  ", Role::BarMuted);
    }
    if state.is_loading {
        row = row.right("reading  ", Role::BarMuted);
    }
    let taken: usize = row
        .pieces
        .iter()
        .chain(&row.right)
        .map(|piece| width(&piece.text))
        .sum();
    let room = usize::from(area.width).saturating_sub(taken + 8);
    let hint = hints::row(state, u16::try_from(room).unwrap_or(0));
    row.right.extend(hint.pieces);
    let inner = Rect {
        width: area.width.saturating_sub(2),
        ..area
    };
    canvas.row(inner, area.y, &row);
}

/// Model, effort and what the newest answer said of itself.
fn facts(scene: &Scene<'_>) -> Vec<String> {
    let settings = &scene.state.settings;
    let newest = scene
        .entries()
        .iter()
        .rev()
        .take(64)
        .filter_map(Entry::message)
        .find(|message| !message.footer.is_empty())
        .map(|message| &message.footer);
    let mut parts = Vec::new();
    if settings.show_model {
        let chosen = scene
            .conversation
            .model
            .as_ref()
            .or(scene.account.model.as_ref())
            .map(|choice| choice.model.clone());
        let profile = scene
            .conversation
            .profile
            .as_ref()
            .and_then(|profile| profile.model.as_ref())
            .map(ToString::to_string);
        let served = newest
            .and_then(|footer| footer.model.as_ref())
            .map(ToString::to_string);
        parts.extend(chosen.or(profile).or(served));
        let effort = scene
            .conversation
            .effort
            .as_ref()
            .or(scene.account.effort.as_ref());
        if let Some(effort) = effort {
            match &effort.level {
                _ if !effort.enabled => parts.push("no thinking".to_owned()),
                Some(level) => parts.push(level.clone()),
                None => {}
            }
        }
    }
    if let Some(footer) = newest {
        let mut footer = footer.clone();
        footer.tokens_in = None;
        footer.tokens_out = None;
        footer.tokens = None;
        footer.tokens_cached = None;
        parts.extend(footer_parts(scene, &footer, false));
    }
    parts
}
