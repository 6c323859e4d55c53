//! The agent's list of things to do: always the whole list, the last one wins.

use crate::text::SafeText;

/// Where one entry stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum TodoStatus {
    #[default]
    Pending,
    InProgress,
    Completed,
    Cancelled,
}

/// One entry.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Todo {
    /// The agent's id of it; used to merge partial updates, never shown.
    pub id: String,
    pub content: SafeText,
    pub status: TodoStatus,
}
