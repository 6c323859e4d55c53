//! The bar over the strips while something here waits for the person. It takes no keys.

use super::canvas::Row;
use super::item::{Scene, decision};
use super::theme::Role;
use super::words;
use crate::app::screen::Target;
use crate::domain::{Decision, DecisionLife};

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
pub(crate) fn rows(scene: &Scene<'_>, opening_key: &str) -> Vec<Row> {
    let mut waiting = waiting_here(scene);
    let Some(first) = waiting.next() else {
        return Vec::new();
    };
    let more = waiting.count();
    let g = scene.glyphs;
    let target = Target::Decision(first.id.clone());
    let age = scene.state.now.since(first.asked_at).as_millis();
    let age = words::age(u64::try_from(age).unwrap_or(0));
    let mut row = Row::of(
        format!(" {} {}", g.decision, decision::kind(first)),
        Role::DecisionBar,
    )
    .and("  ", Role::DecisionBar)
    .and(decision::headline(first), Role::DecisionBar)
    .on(Role::DecisionBar)
    .hits(target);
    if more > 0 {
        row = row.right(format!("+{more} more  "), Role::DecisionBar);
    }
    row = row.right(format!("{age}  "), Role::DecisionBar);
    let action = match &first.life {
        DecisionLife::Answering { .. } => "answer on its way ".to_owned(),
        DecisionLife::Uncertain { .. } => format!("answer uncertain, {opening_key} "),
        _ => format!("{opening_key} answers "),
    };
    row = row.right(action, Role::DecisionBar);
    vec![row]
}
