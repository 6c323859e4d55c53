//! Tool calls as people read them: one line on what a call works on, its arguments as text, and
//! the todo list that some agents keep through a tool. Shared by the drivers whose peers send
//! arguments as JSON.

use super::decode::{TODO_LIMIT, TOOL_TEXT_LIMIT, bounded};
use crate::domain::{Todo, TodoStatus, ToolStatus};
use crate::text::{SafeText, truncate};
use serde_json::{Map, Value};

/// Cells of a preview.
const PREVIEW_WIDTH: usize = 120;

/// One line on what the call works on; empty when the arguments do not say.
pub(crate) fn preview(name: &str, arguments: &Map<String, Value>) -> SafeText {
    let line = if let Some(todos) = arguments.get("todos").and_then(Value::as_array) {
        let verb = match arguments.get("merge").and_then(Value::as_bool) {
            Some(true) => "updating",
            _ => "planning",
        };
        format!(
            "{verb} {} task{}",
            todos.len(),
            if todos.len() == 1 { "" } else { "s" }
        )
    } else {
        [
            "command",
            "cmd",
            "pattern",
            "query",
            "path",
            "file_path",
            "url",
            "code",
            "question",
            "prompt",
            "task",
            "goal",
            "name",
            "text",
        ]
        .iter()
        .find_map(|key| arguments.get(*key).and_then(Value::as_str))
        .or_else(|| arguments.values().find_map(Value::as_str))
        .map(|value| first_line(name, value))
        .unwrap_or_default()
    };
    SafeText::label(&truncate(&line, PREVIEW_WIDTH))
}

fn first_line(_name: &str, value: &str) -> String {
    let mut lines = value.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.next().unwrap_or_default();
    match lines.count() {
        0 => first.to_owned(),
        more => format!("{first} (+{more} line{})", if more == 1 { "" } else { "s" }),
    }
}

/// The arguments as text: a line for each, texts of several lines below their name.
pub(crate) fn readable(arguments: &Map<String, Value>) -> SafeText {
    let mut out = String::new();
    for (key, value) in arguments {
        if !out.is_empty() {
            out.push('\n');
        }
        out.push_str(key);
        match value {
            Value::String(text) if text.contains('\n') => {
                out.push_str(":\n");
                out.push_str(text.trim_end_matches('\n'));
            }
            Value::String(text) => {
                out.push_str(": ");
                out.push_str(text);
            }
            other => {
                out.push_str(": ");
                out.push_str(&other.to_string());
            }
        }
        if out.len() > 4 * TOOL_TEXT_LIMIT {
            break;
        }
    }
    SafeText::prose(&bounded(&out, TOOL_TEXT_LIMIT))
}

/// The first sentence of an error that was written for a model, bounded.
pub(crate) fn error_text(error: &str) -> SafeText {
    SafeText::prose(&bounded(error.trim(), TOOL_TEXT_LIMIT))
}

/// How gateways begin the error of a call that nobody let run.
const NOT_RUN: &str = "BLOCKED";

/// What a call took. One that nobody let run took nothing: what is stated for it is the wait for an
/// answer, or no time at all.
pub(crate) fn time_taken(stated_ms: Option<f64>, status: ToolStatus, error: &str) -> Option<u64> {
    let ms = stated_ms
        .filter(|ms| ms.is_finite() && *ms >= 0.0)
        .map(|ms| ms.round() as u64)?;
    let has_run = match status {
        ToolStatus::Running | ToolStatus::Completed => true,
        ToolStatus::Failed | ToolStatus::Cancelled => {
            ms > 0 && !error.trim_start().starts_with(NOT_RUN)
        }
    };
    has_run.then_some(ms)
}

/// One entry as agents write it in arguments.
fn todo(value: &Value) -> Option<(Todo, bool, bool)> {
    let entry = value.as_object()?;
    let word = |key: &str| match entry.get(key) {
        Some(Value::String(text)) => Some(text.clone()),
        Some(Value::Number(number)) => Some(number.to_string()),
        _ => None,
    };
    let content = word("content").or_else(|| word("text"));
    let status = word("status");
    let parsed = match status.as_deref() {
        Some("in_progress" | "in-progress" | "active") => TodoStatus::InProgress,
        Some("completed" | "done") => TodoStatus::Completed,
        Some("cancelled" | "canceled") => TodoStatus::Cancelled,
        _ => TodoStatus::Pending,
    };
    let (has_content, has_status) = (content.is_some(), status.is_some());
    Some((
        Todo {
            id: word("id").unwrap_or_default(),
            content: SafeText::label(content.as_deref().unwrap_or_default()),
            status: parsed,
        },
        has_content,
        has_status,
    ))
}

/// The list after a call of a todo tool. A merging call carries changes only: entries are found by
/// their id, new ones go to the end. None when the call only reads.
pub(crate) fn todos(known: &[Todo], arguments: &Map<String, Value>) -> Option<Vec<Todo>> {
    let entries = match arguments.get("todos")? {
        Value::Array(entries) => entries.clone(),
        // Some models write the list as a text.
        Value::String(text) => serde_json::from_str(text).ok()?,
        _ => return None,
    };
    let merges = arguments
        .get("merge")
        .and_then(Value::as_bool)
        .unwrap_or(false);
    let mut list = if merges { known.to_vec() } else { Vec::new() };
    for (entry, has_content, has_status) in entries.iter().filter_map(todo).take(TODO_LIMIT) {
        let old = list
            .iter_mut()
            .find(|old| merges && !entry.id.is_empty() && old.id == entry.id);
        match old {
            Some(old) => {
                if has_content {
                    old.content = entry.content;
                }
                if has_status {
                    old.status = entry.status;
                }
            }
            None if has_content => list.push(entry),
            None => {}
        }
    }
    list.truncate(TODO_LIMIT);
    Some(list)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn arguments(json: &str) -> Map<String, Value> {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn a_merging_call_changes_only_what_it_names() {
        let first = todos(
            &[],
            &arguments(r#"{"todos":[{"id":"1","content":"read"},{"id":"2","content":"fix"}]}"#),
        )
        .unwrap();
        let merged = todos(
            &first,
            &arguments(
                r#"{"merge":true,"todos":[{"id":"1","status":"completed"},{"id":3,"content":"ship","status":"in_progress"}]}"#,
            ),
        )
        .unwrap();
        let shown: Vec<(&str, TodoStatus)> = merged
            .iter()
            .map(|todo| (todo.content.as_str(), todo.status))
            .collect();
        assert_eq!(
            shown,
            [
                ("read", TodoStatus::Completed),
                ("fix", TodoStatus::Pending),
                ("ship", TodoStatus::InProgress)
            ]
        );
    }

    #[test]
    fn a_reading_call_changes_nothing() {
        assert_eq!(todos(&[], &arguments("{}")), None);
    }

    #[test]
    fn what_was_not_let_run_took_no_time() {
        use ToolStatus::{Completed, Failed};
        assert_eq!(time_taken(Some(84.4), Completed, ""), Some(84));
        assert_eq!(time_taken(Some(0.0), Completed, ""), Some(0));
        assert_eq!(time_taken(Some(7.0), Failed, "no such file"), Some(7));
        assert_eq!(time_taken(Some(0.0), Failed, "no host has this tool"), None);
        assert_eq!(
            time_taken(Some(60_077.0), Failed, "BLOCKED: timed out"),
            None
        );
        assert_eq!(time_taken(Some(f64::NAN), Completed, ""), None);
        assert_eq!(time_taken(None, Completed, ""), None);
    }

    #[test]
    fn previews_say_what_is_worked_on() {
        let of = |json: &str| preview("x", &arguments(json)).as_str().to_owned();
        assert_eq!(of(r#"{"path":"a.py","content":"x"}"#), "a.py");
        assert_eq!(of(r#"{"command":"set -e\nmake\n"}"#), "set -e (+1 line)");
        assert_eq!(of(r#"{"todos":[{},{}]}"#), "planning 2 tasks");
        assert_eq!(of("{}"), "");
    }
}
