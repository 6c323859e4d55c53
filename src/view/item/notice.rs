//! Lines between messages: day, unread, words of the server, how a run ended.

use super::{Card, Lead, Scene, Segment, message::fold_row, message::speaker_row};
use crate::domain::{Entry, Message, RunOutcome};
use crate::text::width;
use crate::view::canvas::{Row, wrap};
use crate::view::theme::Role;
use crate::view::words;

/// Blank, day line and unread line before an entry.
pub(crate) fn lead_rows(scene: &Scene<'_>, lead: &Lead) -> Vec<Row> {
    let mut rows = Vec::new();
    if lead.has_blank {
        rows.push(Row::blank());
    }
    if lead.is_start {
        let word = "the beginning of this conversation";
        let room = usize::from(scene.columns).saturating_sub(width(word));
        rows.push(Row::of(" ".repeat(room / 2), Role::Muted).and(word, Role::Muted));
        rows.push(Row::blank());
    }
    if let Some(day) = &lead.day {
        rows.push(ruled(scene, day, Role::Day));
        rows.push(Row::blank());
    }
    if lead.is_unread {
        rows.push(ruled(scene, "new", Role::UnreadLine));
        rows.push(Row::blank());
    }
    rows
}

/// A word in the middle of a line across.
pub(crate) fn ruled(scene: &Scene<'_>, word: &str, role: Role) -> Row {
    let columns = usize::from(scene.columns);
    let left = columns.saturating_sub(width(word) + 2) / 2;
    let right = columns.saturating_sub(left + width(word) + 2);
    let line = |n: usize| scene.glyphs.horizontal.repeat(n);
    let rule = if role == Role::UnreadLine {
        role
    } else {
        Role::Border
    };
    Row::of(line(left), rule)
        .and(format!(" {word} "), role)
        .and(line(right), rule)
}

/// A word of the server on its own state.
pub(crate) fn notice(scene: &Scene<'_>, message: &Message) -> Card {
    let columns = usize::from(scene.columns).saturating_sub(2);
    let rows = wrap(message.body.text().as_str().trim_end(), columns)
        .into_iter()
        .enumerate()
        .map(|(at, line)| {
            let mark = if at == 0 { scene.glyphs.dot } else { " " };
            Row::of(format!("{mark} "), Role::Info).and(line, Role::Muted)
        })
        .collect();
    Card {
        segments: vec![Segment::Rows(rows)],
        is_streaming: false,
        ..Card::default()
    }
}

/// A row that nobody typed and nobody reads first.
pub(crate) fn aside(scene: &Scene<'_>, entry: &Entry, message: &Message, is_open: bool) -> Card {
    let row = fold_row(scene, entry, is_open)
        .and("aside  ", Role::Muted)
        .and(words::gist(message.body.text()), Role::Muted);
    let mut segments = vec![Segment::Rows(vec![row])];
    if is_open {
        segments.push(Segment::Body {
            indent: 2,
            is_dim: true,
        });
    }
    Card {
        segments,
        ..Card::default()
    }
}

/// How a run ended, where that is worth a line.
pub(crate) fn run_ended(
    scene: &Scene<'_>,
    entry: &Entry,
    outcome: &RunOutcome,
    is_open: bool,
) -> Card {
    let g = scene.glyphs;
    let (mark, text, hint, role) = match outcome {
        RunOutcome::Completed => (
            g.check,
            "finished without an answer".to_owned(),
            String::new(),
            Role::Muted,
        ),
        RunOutcome::Cancelled => (
            g.cancelled,
            "stopped".to_owned(),
            String::new(),
            Role::Muted,
        ),
        RunOutcome::Failed { error, hint, .. } => (
            g.cross,
            format!("The run failed: {error}"),
            hint.to_string(),
            Role::Danger,
        ),
        RunOutcome::Lost => (
            g.uncertain,
            "The run was lost: whoever carried it out no longer knows it. What it had written stays above."
                .to_owned(),
            "Send the message again if the answer is missing.".to_owned(),
            Role::Warning,
        ),
    };
    let columns = usize::from(scene.columns).saturating_sub(width(mark) + 1);
    let mut rows: Vec<Row> = wrap(&text, columns)
        .into_iter()
        .enumerate()
        .map(|(at, line)| {
            let mark = if at == 0 { mark } else { " " };
            Row::of(format!("{mark} "), role).and(line, role)
        })
        .collect();
    if !hint.is_empty() {
        rows.extend(
            wrap(&hint, columns)
                .into_iter()
                .map(|line| Row::of("  ", Role::Muted).and(line, Role::Muted)),
        );
    }
    if let RunOutcome::Failed { details, .. } = outcome
        && !details.is_empty()
    {
        rows.push(fold_row(scene, entry, is_open).and("details", Role::Muted));
        if is_open {
            rows.extend(
                wrap(details.as_str(), columns)
                    .into_iter()
                    .map(|line| Row::of("  ", Role::Muted).and(line, Role::ToolText)),
            );
        }
    }
    Card {
        segments: vec![Segment::Rows(rows)],
        ..Card::default()
    }
}

/// Where messages were deleted.
pub(crate) fn deleted(scene: &Scene<'_>, count: u32) -> Card {
    let words = match count {
        0 | 1 => "message deleted".to_owned(),
        count => format!("{count} messages deleted"),
    };
    let row = Row::of(format!("{} {words}", scene.glyphs.cancelled), Role::Muted);
    Card {
        segments: vec![Segment::Rows(vec![row])],
        ..Card::default()
    }
}

/// The header of a group of tool calls that opens the agent's part.
pub(crate) fn agent_header(scene: &Scene<'_>, lead: &Lead, at_ms: i64) -> Option<Row> {
    lead.has_header
        .then(|| speaker_row(scene, lead.speaker, at_ms))
}
