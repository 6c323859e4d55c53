//! The strips over the composer: the run with its tools, the todo list, the queue. Each is one
//! line and gone when empty.

use super::canvas::Row;
use super::item::Scene;
use super::theme::Role;
use super::words;
use crate::app::screen::Target;
use crate::app::state::Hold;
use crate::domain::{Delivery, LinkState, RunPhase, TodoStatus};
use crate::text::width;

/// A run that was silent for so long is offered to be stopped.
const LOST_MS: u64 = 120_000;
/// What is said of a message that another run of the program may still send.
const FOREIGN: &str = "another trialogue may still send it · ";
/// Running tools that are shown at most, when there is room.
const SHOWN_TOOLS: usize = 3;

/// What runs: one line for each tool, or one for the run itself.
pub(crate) fn run_rows(scene: &Scene<'_>, is_roomy: bool, stop_key: &str) -> Vec<Row> {
    let conversation = scene.conversation;
    let state = scene.state;
    let g = scene.glyphs;
    let spin = if state.settings.reduced_motion {
        g.active
    } else {
        g.spin(state.screen.spinner_frame)
    };
    let Some(run) = &conversation.run else {
        let is_typing = conversation
            .typing_until
            .is_some_and(|until| until.mono_ms > state.now.mono_ms);
        return if is_typing {
            vec![
                Row::of(format!("{spin} "), Role::Running)
                    .and("the agent is typing", Role::Muted)
                    .indented(2),
            ]
        } else {
            Vec::new()
        };
    };
    if !scene.account.is_ready() {
        // Nobody knows what it does now, so nothing turns.
        let text = match scene.account.account.link {
            LinkState::NeedsLogin(_) => "it goes on once you are signed in",
            _ => "it was at work when the connection broke",
        };
        return vec![
            Row::of(format!("{} ", g.ellipsis), Role::Muted)
                .and(text, Role::Muted)
                .indented(2)
                .hits(Target::ToolStrip),
        ];
    }
    if run.phase == RunPhase::StopUnconfirmed {
        return vec![
            Row::of(format!("{} ", g.decision), Role::Warning)
                .and(
                    "the stop is not confirmed; messages go out again",
                    Role::Warning,
                )
                .right(stop_key, Role::Key)
                .right(" asks again", Role::Muted)
                .indented(2)
                .hits(Target::ToolStrip),
        ];
    }
    let since = |earlier: crate::domain::Moment| {
        words::stopwatch(u64::try_from(state.now.since(earlier).as_millis()).unwrap_or(0))
    };
    let phase = match run.phase {
        RunPhase::Accepted => Some("taken, not begun yet"),
        RunPhase::Working => None,
        RunPhase::WaitingForDecision => Some("waits for your answer"),
        RunPhase::Cancelling | RunPhase::StopUnconfirmed => Some("stopping"),
    };
    let quiet = u64::try_from(state.now.since(run.last_activity).as_millis()).unwrap_or(0);
    if quiet >= LOST_MS && run.phase != RunPhase::WaitingForDecision {
        return vec![
            Row::of(format!("{} ", g.decision), Role::Warning)
                .and(
                    format!("nothing came for {}; it may be stuck", words::age(quiet)),
                    Role::Warning,
                )
                .right(stop_key, Role::Key)
                .right(" stops it", Role::Muted)
                .indented(2)
                .hits(Target::ToolStrip),
        ];
    }
    let tools = &conversation.running_tools;
    if tools.is_empty() || phase.is_some() {
        return vec![
            Row::of(format!("{spin} "), Role::Running)
                .and(phase.unwrap_or("working"), Role::Muted)
                .right(since(run.started), Role::Muted)
                .indented(2)
                .hits(Target::ToolStrip),
        ];
    }
    let shown = if is_roomy { SHOWN_TOOLS } else { 1 };
    let mut rows: Vec<Row> = tools
        .iter()
        .rev()
        .take(shown)
        .map(|call| {
            let text = if call.note.is_empty() {
                words::first_line(&call.preview)
            } else {
                words::first_line(&call.note)
            };
            Row::of(format!("{spin} "), Role::Running)
                .and(call.name.as_str(), Role::ToolName)
                .and("  ", Role::Muted)
                .and(text, Role::ToolText)
                .right(since(call.started.unwrap_or(run.started)), Role::Muted)
                .indented(2)
                .hits(Target::ToolStrip)
        })
        .collect();
    rows.reverse();
    let hidden = tools.len().saturating_sub(shown);
    if hidden > 0
        && let Some(row) = rows.last_mut()
    {
        row.right.insert(
            0,
            super::canvas::Piece {
                text: format!("+{hidden} more  "),
                role: Role::Muted,
                link: None,
            },
        );
    }
    rows
}

/// The todo list in a line: the entries around the one in progress.
pub(crate) fn todo_row(scene: &Scene<'_>, columns: u16) -> Option<Row> {
    let todos = &scene.conversation.todos;
    if todos.is_empty() {
        return None;
    }
    let is_over =
        |status: TodoStatus| matches!(status, TodoStatus::Completed | TodoStatus::Cancelled);
    let done = todos.iter().filter(|todo| is_over(todo.status)).count();
    // A list that is done goes with its run; its key still shows it.
    if done == todos.len() && scene.conversation.run.is_none() {
        return None;
    }
    let current = todos
        .iter()
        .position(|todo| !is_over(todo.status))
        .unwrap_or(todos.len().saturating_sub(1));
    let g = scene.glyphs;
    let count = format!("{done}/{}", todos.len());
    let room = usize::from(columns).saturating_sub(width(&count) + 6);
    // Begin as early as the current entry still fits whole.
    let cells = |at: usize| width(words::first_line(&todos[at].content)) + width(g.done) + 3;
    let mut first = current;
    let mut used = cells(current);
    while first > 0 && used + cells(first - 1) <= room {
        first -= 1;
        used += cells(first);
    }
    let mut row = Row::default().indented(2);
    if first > 0 {
        row = row.and(format!("{} ", g.ellipsis), Role::Muted);
    }
    for todo in &todos[first..] {
        let (mark, role, text) = todo_mark(scene, todo.status);
        row = row
            .and(format!("{mark} "), role)
            .and(words::first_line(&todo.content), text)
            .and("  ", Role::Muted);
    }
    Some(row.right(count, Role::Muted).hits(Target::TodoStrip))
}

/// The todo list with a row for each entry, as many as there is room for around the current one.
pub(crate) fn todo_rows(scene: &Scene<'_>, most: usize) -> Vec<Row> {
    let todos = &scene.conversation.todos;
    let most = most.max(3);
    let is_over =
        |status: TodoStatus| matches!(status, TodoStatus::Completed | TodoStatus::Cancelled);
    let current = todos
        .iter()
        .position(|todo| !is_over(todo.status))
        .unwrap_or(0);
    let first = current
        .saturating_sub(most / 3)
        .min(todos.len().saturating_sub(most));
    let mut rows: Vec<Row> = todos
        .iter()
        .skip(first)
        .take(most)
        .map(|todo| {
            let (mark, role, text) = todo_mark(scene, todo.status);
            Row::of(format!("{mark} "), role)
                .and(words::first_line(&todo.content), text)
                .indented(2)
                .hits(Target::TodoStrip)
        })
        .collect();
    if let Some(row) = rows.first_mut() {
        let done = todos.iter().filter(|todo| is_over(todo.status)).count();
        let count = format!("{done}/{}", todos.len());
        *row = std::mem::take(row).right(count, Role::Muted);
    }
    rows
}

/// The mark of a todo by its status, its role, and the role of its words.
pub(crate) fn todo_mark(scene: &Scene<'_>, status: TodoStatus) -> (&'static str, Role, Role) {
    let g = scene.glyphs;
    match status {
        TodoStatus::Pending => (g.pending, Role::Muted, Role::Muted),
        TodoStatus::InProgress => (g.active, Role::Running, Role::Text),
        TodoStatus::Completed => (g.done, Role::Good, Role::Muted),
        TodoStatus::Cancelled => (g.cancelled, Role::Muted, Role::Struck),
    }
}

/// What waits for the run to end, in a line.
pub(crate) fn queue_row(scene: &Scene<'_>, key: &str) -> Option<Row> {
    let mut queued =
        scene.account.outbox.iter().filter(|record| {
            record.conversation == *scene.id && record.delivery == Delivery::Queued
        });
    let first = queued.next()?;
    let count = 1 + queued.count();
    let is_foreign = first.instance != scene.state.ids.instance;
    let text = crate::text::SafeText::label(first.text.lines().next().unwrap_or_default());
    let mut row = Row::of(format!("{} ", scene.glyphs.queue), Role::Info)
        .and(format!("{count} queued  "), Role::Info)
        .and(if is_foreign { FOREIGN } else { "" }, Role::Warning)
        .and(slowed(scene).unwrap_or_default(), Role::Warning)
        .and(text.as_str(), Role::Muted)
        .indented(2)
        .hits(Target::Queue);
    if !key.is_empty() {
        row = row.right(key, Role::Key);
    }
    Some(row)
}

/// When the message goes that a server asked to slow down for.
fn slowed(scene: &Scene<'_>) -> Option<String> {
    let outbox = scene.account.outbox.iter();
    let until = outbox
        .filter(|record| record.conversation == *scene.id)
        .find_map(|record| match scene.account.held.get(&record.key) {
            Some(Hold::Until(at)) => Some(at.mono_ms),
            _ => None,
        })?;
    let ms = until.saturating_sub(scene.state.now.mono_ms);
    let left = words::age(ms.div_ceil(1000) * 1000);
    Some(format!("goes in {left}  "))
}
