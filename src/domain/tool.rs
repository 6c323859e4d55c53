//! One call of a tool by the agent, as far as it can be seen from outside.

use super::ids::{RunId, ToolCallId};
use super::moment::Moment;
use crate::text::SafeText;

/// Where a call stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ToolStatus {
    #[default]
    Running,
    /// It ended; whether it did what was wanted only its output tells.
    Completed,
    Failed,
    Cancelled,
}

/// A call with everything known of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ToolCall {
    pub id: ToolCallId,
    pub run: Option<RunId>,
    pub name: SafeText,
    pub status: ToolStatus,
    /// One line: what it works on.
    pub preview: SafeText,
    /// The arguments as readable text, bounded.
    pub arguments: SafeText,
    /// Latest note on its progress.
    pub note: SafeText,
    /// What came out, bounded; may hold ANSI colour codes that `text` made harmless.
    pub output: SafeText,
    pub error: SafeText,
    /// One picture character of at most two cells; empty when none was sent.
    pub emoji: SafeText,
    pub duration_ms: Option<u64>,
    pub started: Option<Moment>,
}

impl ToolCall {
    /// A call of which only id and name are known.
    pub fn new(id: ToolCallId, name: SafeText) -> Self {
        Self {
            id,
            run: None,
            name,
            status: ToolStatus::Running,
            preview: SafeText::default(),
            arguments: SafeText::default(),
            note: SafeText::default(),
            output: SafeText::default(),
            error: SafeText::default(),
            emoji: SafeText::default(),
            duration_ms: None,
            started: None,
        }
    }

    /// Takes over what a newer report says and keeps what it leaves out. A call that ended does
    /// not run again.
    pub fn merge(&mut self, newer: ToolCall) {
        if self.status == ToolStatus::Running || newer.status != ToolStatus::Running {
            self.status = newer.status;
        }
        fn take(old: &mut SafeText, new: SafeText) {
            if !new.is_empty() {
                *old = new;
            }
        }
        take(&mut self.name, newer.name);
        take(&mut self.preview, newer.preview);
        take(&mut self.arguments, newer.arguments);
        take(&mut self.note, newer.note);
        take(&mut self.output, newer.output);
        take(&mut self.error, newer.error);
        take(&mut self.emoji, newer.emoji);
        self.run = newer.run.or(self.run.take());
        self.duration_ms = newer.duration_ms.or(self.duration_ms);
        self.started = self.started.or(newer.started);
    }
}
