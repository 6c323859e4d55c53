//! The text of a message as laid-out rows: a thin layer over `render`.

use super::canvas::{Row, wrap};
use super::theme::Role;
use crate::domain::Body;

/// A text laid out for a width; remembers what it did last.
#[derive(Debug, Default)]
pub(crate) struct Prose {
    seen: Option<(u32, u16, bool)>,
    rows: Vec<Row>,
}

impl Prose {
    /// Lays out what changed.
    pub(crate) fn update(&mut self, body: &Body, columns: u16, ascii: bool) {
        let wanted = (body.revision(), columns, ascii);
        if self.seen == Some(wanted) {
            return;
        }
        self.seen = Some(wanted);
        self.rows = wrap(body.text().as_str(), usize::from(columns))
            .into_iter()
            .map(|line| Row::of(line, Role::Text))
            .collect();
    }

    /// How many rows it has.
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// One row.
    pub(crate) fn row(&self, at: usize) -> Option<&Row> {
        self.rows.get(at)
    }
}
