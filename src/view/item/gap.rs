//! A hole in the history that the server can fill.

use super::{Card, Scene, Segment, notice::ruled};
use crate::app::screen::Target;
use crate::domain::Entry;
use crate::view::theme::Role;

pub(crate) fn card(scene: &Scene<'_>, entry: &Entry) -> Card {
    let target = Target::Entry {
        key: entry.key,
        row: 0,
        column: 0,
    };
    let row = ruled(scene, "older messages are on the server", Role::Muted).hits(target);
    Card {
        segments: vec![Segment::Rows(vec![row])],
        ..Card::default()
    }
}
