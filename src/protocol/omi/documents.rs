//! Answers of a runtime as documents that read well, written as Markdown.

use super::profile::Pinned;
use super::word;
use crate::protocol::decode::{TOOL_TEXT_LIMIT, bounded};
use crate::text::truncate;
use serde_json::{Map, Value};
use std::fmt::Write as _;

/// Rows of one list.
const ROWS: usize = 500;
/// What is shown of a text inside a row.
const CELL: usize = 600;

/// A snapshot of the context: what runs, what is remembered, what may be used.
pub(super) fn of_context(snapshot: &Map<String, Value>, defaults: Option<&Pinned>) -> String {
    let mut body = String::new();
    let list = |key: &str| objects(snapshot.get(key));
    if let Some(plan) = snapshot.get("contextPlan").and_then(Value::as_object) {
        let count = |key: &str| plan.get(key).and_then(Value::as_u64).unwrap_or(0);
        let _ = writeln!(
            body,
            "**History:** {} of {} turns are told to the agent.\n",
            count("retainedTurnCount"),
            count("totalTurnCount")
        );
    }
    for (title, key) in [
        ("Runs now", "activeRuns"),
        ("Runs that ended", "recentCompletedRuns"),
        ("What tools did", "recentOperations"),
    ] {
        let rows = list(key);
        if rows.is_empty() {
            continue;
        }
        let _ = writeln!(body, "## {title}\n");
        for row in rows {
            let title = first(row, &["title", "toolName"]);
            let end = first(row, &["finalText", "errorMessage"]);
            let _ = write!(body, "- **{title}** {}", word(row, "status"));
            if !end.is_empty() {
                let _ = write!(body, ": {}", truncate(&one_line(end), 200));
            }
            let _ = writeln!(body, " `{}`", word(row, "runId"));
        }
        body.push('\n');
    }
    let sources = list("sourceOutcomes");
    if !sources.is_empty() {
        body.push_str("## Sources\n\n");
        for source in sources {
            let payload = source.get("payload").map(Value::to_string);
            let _ = writeln!(
                body,
                "- **{}** {} `{}`",
                word(source, "source"),
                word(source, "outcome"),
                truncate(payload.as_deref().unwrap_or_default(), 400)
            );
        }
        body.push('\n');
    }
    if let Some(can) = snapshot.get("capabilities").and_then(Value::as_object) {
        let tools: Vec<&str> = can
            .get("allowedToolNames")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .take(ROWS)
            .collect();
        let _ = writeln!(
            body,
            "## What it may use\n\nAs {}: {}\n",
            word(can, "executionRole"),
            tools.join(", ")
        );
    }
    let rendered = word(snapshot, "renderedContext").trim();
    if !rendered.is_empty() {
        let _ = writeln!(
            body,
            "## As it is told\n\n```text\n{}\n```\n",
            bounded(rendered, TOOL_TEXT_LIMIT).replace("```", "` ` `")
        );
    }
    if let Some(defaults) = defaults {
        let _ = write!(
            body,
            "**New sessions begin with** {}, {}, in `{}`.",
            defaults.adapter,
            defaults.model.as_deref().unwrap_or("its own model"),
            defaults.directory
        );
    }
    body
}

/// The answer of a control tool, whatever it holds.
pub(super) fn of_value(value: &Value) -> String {
    let mut body = String::new();
    let Value::Object(fields) = value else {
        rows(&mut body, value, 0);
        return body;
    };
    for (name, value) in fields.iter().filter(|(name, _)| *name != "ok") {
        match value {
            Value::Array(items) if items.is_empty() => {
                let _ = writeln!(body, "**{name}:** none\n");
            }
            Value::Array(_) | Value::Object(_) => {
                let _ = writeln!(body, "**{name}**\n");
                rows(&mut body, value, 0);
                body.push('\n');
            }
            plain => {
                let _ = writeln!(body, "**{name}:** {}\n", inline(plain));
            }
        }
    }
    body
}

fn rows(out: &mut String, value: &Value, depth: usize) {
    let pad = "  ".repeat(depth.min(6));
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                match value {
                    // Deeper than this nobody reads; it is shown as it came.
                    Value::Array(_) | Value::Object(_) if depth < 6 => {
                        let _ = writeln!(out, "{pad}- **{name}**");
                        rows(out, value, depth + 1);
                    }
                    plain => {
                        let _ = writeln!(out, "{pad}- **{name}:** {}", inline(plain));
                    }
                }
            }
        }
        Value::Array(items) => {
            for item in items.iter().take(ROWS) {
                let row = match item {
                    Value::Object(fields) => summary(fields),
                    other => inline(other),
                };
                let _ = writeln!(out, "{pad}- {row}");
            }
        }
        plain => {
            let _ = writeln!(out, "{pad}{}", inline(plain));
        }
    }
}

/// One row of a list: its title first, then what else it says.
fn summary(fields: &Map<String, Value>) -> String {
    let title = first(fields, &["title", "displayName", "name", "objective"]);
    let rest: Vec<String> = fields
        .iter()
        .filter(|(name, value)| {
            !value.is_null() && *name != "ownerId" && (title.is_empty() || *value != title)
        })
        .map(|(name, value)| format!("{name} {}", inline(value)))
        .collect();
    let rest = rest.join(" · ");
    match title {
        "" => rest,
        title => format!("**{title}** {rest}"),
    }
}

fn inline(value: &Value) -> String {
    match value {
        Value::String(text) => truncate(&one_line(text), CELL).to_string(),
        Value::Null => "–".to_owned(),
        other => truncate(&other.to_string(), CELL).to_string(),
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn first<'a>(fields: &'a Map<String, Value>, keys: &[&str]) -> &'a str {
    keys.iter()
        .map(|key| word(fields, key))
        .find(|text| !text.is_empty())
        .unwrap_or_default()
}

fn objects(value: Option<&Value>) -> Vec<&Map<String, Value>> {
    value
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_object)
        .take(ROWS)
        .collect()
}
