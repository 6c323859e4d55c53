//! The bar over the strips while something here waits for the person. It takes no keys.

use super::canvas::{Piece, Row};
use super::item::{Scene, decision};
use super::theme::Role;
use super::words;
use crate::app::screen::Target;
use crate::app::screen::rows::more_lines;
use crate::domain::{Decision, DecisionLife};
use crate::text::{SafeText, width};

/// The decisions of this conversation that wait, oldest first.
pub(crate) fn waiting_here<'a>(scene: &Scene<'a>) -> impl Iterator<Item = &'a Decision> {
    let id = scene.id;
    scene
        .account
        .decisions
        .iter()
        .filter(move |decision| decision.conversation == *id && decision.life.is_pending())
}

/// The rows of the bar: none when nothing waits.
pub(crate) fn rows(scene: &Scene<'_>, opening_key: &str, is_roomy: bool) -> Vec<Row> {
    let mut waiting = waiting_here(scene);
    let Some(first) = waiting.next() else {
        return Vec::new();
    };
    let more = waiting.count();
    let g = scene.glyphs;
    let target = Target::Decision(first.id.clone());
    let age = scene.state.now.ago(first.asked_at).as_millis();
    let age = words::age(u64::try_from(age).unwrap_or(0));
    let lines = decision::lines(first);
    // With room the second line stands below; without, the first row says how many follow.
    let second = lines.get(1).filter(|_| is_roomy);
    let headline = SafeText::label(lines.first().copied().unwrap_or_default());
    let mut row = Row::of(
        format!(" {} {}", g.decision, decision::kind(first)),
        Role::DecisionBar,
    )
    .and("  ", Role::DecisionBar)
    .and(headline.as_str(), Role::DecisionBar)
    .on(Role::DecisionBar)
    .hits(target);
    if second.is_none() && lines.len() > 1 {
        let hidden = more_lines(lines.len() - 1);
        row = row.right(format!("{hidden}  "), Role::DecisionBar);
    }
    if more > 0 {
        row = row.right(format!("+{more} more  "), Role::DecisionBar);
    }
    row = row.right(format!("{age}  "), Role::DecisionBar);
    let action = match &first.life {
        _ if scene.state.only_reads => "answered in the other trialogue ".to_owned(),
        DecisionLife::Answering { .. } => "answer on its way ".to_owned(),
        DecisionLife::Uncertain { .. } => format!("answer uncertain, {opening_key} "),
        _ => format!("{opening_key} answers "),
    };
    row = row.right(action, Role::DecisionBar);
    let mut rows = vec![row];
    if let Some(second) = second {
        let indent = width(g.decision) + width(decision::kind(first)) + 4;
        let more = lines.len() - 2;
        let mut row = Row::of(SafeText::label(second).as_str(), Role::DecisionBar)
            .on(Role::DecisionBar)
            .hits(Target::Decision(first.id.clone()));
        row.pieces.insert(
            0,
            Piece {
                text: " ".repeat(indent),
                role: Role::DecisionBar,
                link: None,
            },
        );
        if more > 0 {
            row = row.right(
                format!("{} more ", words::plural(more, "line")),
                Role::DecisionBar,
            );
        }
        rows.push(row);
    }
    rows
}
