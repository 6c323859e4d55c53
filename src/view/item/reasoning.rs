//! What the agent thought before it answered: folded to one line above the answer.

use super::{Scene, message::fold_row};
use crate::domain::{Entry, Message};
use crate::view::canvas::Row;
use crate::view::theme::Role;
use crate::view::words;

/// The line that stands for the reasoning.
pub(crate) fn fold_line(scene: &Scene<'_>, entry: &Entry, message: &Message, is_open: bool) -> Row {
    let text = message.reasoning.text().as_str();
    let is_thinking = message.is_streaming && message.body.is_empty();
    let row = fold_row(scene, entry, is_open);
    let word = match message.reasoned_ms {
        _ if is_thinking => "thinking".to_owned(),
        Some(ms) if ms >= 1_000 => format!("thought for {}", words::duration(ms)),
        _ => "thought".to_owned(),
    };
    let row = row.and(word, Role::Muted);
    if is_open {
        return row;
    }
    // While it thinks the newest line tells more than the first.
    let peek = if is_thinking {
        text.lines().rev().find(|line| !line.trim().is_empty())
    } else {
        text.lines().find(|line| !line.trim().is_empty())
    };
    match peek {
        Some(peek) => row
            .and("  ", Role::Muted)
            .and(peek.trim().trim_matches(['#', '*', ' ']), Role::Reasoning),
        None => row,
    }
}
