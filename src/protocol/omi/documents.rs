//! Answers of a runtime as documents that read well, written as Markdown.

use super::agents::time;
use super::profile::Pinned;
use super::word;
use crate::domain::Moment;
use crate::protocol::decode::{TOOL_TEXT_LIMIT, bounded};
use crate::text::{size_words, truncate};
use serde_json::{Map, Value};
use std::fmt::Write as _;

/// Rows of one list.
const ROWS: usize = 500;
/// What is shown of a text inside a row.
const CELL: usize = 600;

/// A snapshot of the context: what runs, what is remembered, what may be used.
pub(super) fn of_context(
    snapshot: &Map<String, Value>,
    defaults: Option<&Pinned>,
    now: Moment,
) -> String {
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
            let title = first(row, &["title", "toolName", "runId"]);
            let end = first(row, &["finalText", "errorMessage"]);
            let _ = write!(body, "- **{title}** {}", state(word(row, "status")));
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
            let payload = match source.get("payload") {
                Some(Value::Object(fields)) => summary(fields, now),
                Some(other) => other.to_string(),
                None => String::new(),
            };
            let _ = writeln!(
                body,
                "- **{}** {}: {}",
                word(source, "source"),
                word(source, "outcome"),
                truncate(&payload, 400)
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

/// One run of an agent: what it was asked, how it ended, what it said and made.
pub(super) fn of_run(value: &Value, now: Moment) -> String {
    let empty = Map::new();
    let whole = value.as_object().unwrap_or(&empty);
    let part = |name: &str| whole.get(name).and_then(Value::as_object);
    let (run, session) = (part("run").unwrap_or(whole), part("session"));
    let mut body = String::new();
    let asked = super::agents::prompt(run).trim();
    let title = match session.map_or("", |session| first(session, &["title", "displayName"])) {
        "" => first(run, &["title"]),
        title => title,
    };
    if !title.is_empty() {
        let _ = writeln!(body, "**{}**\n", inline(title));
    }
    let mut facts = vec![state(first(run, &["status", "terminalStatus"])).to_owned()];
    let began = time(run, &["startedAtMs", "startedAt", "createdAtMs"]);
    let ended = time(run, &["completedAtMs", "completedAt"]);
    if let Some(began) = began {
        facts.push(format!("began {}", ago(began, now)));
    }
    if let (Some(began), Some(ended)) = (began, ended) {
        facts.push(format!("took {}", duration(ended.saturating_sub(began))));
    }
    let model = first(run, &["requestedModelId", "model"]);
    if !model.is_empty() {
        facts.push(inline(model));
    }
    let cost = run.get("usage").and_then(|usage| usage.get("costUsd"));
    if let Some(cost) = cost.and_then(Value::as_f64).filter(|cost| *cost > 0.0) {
        facts.push(format!("${cost:.3}"));
    }
    facts.retain(|fact| !fact.is_empty());
    let _ = writeln!(body, "{}\n", facts.join(" · "));
    if !asked.is_empty() && asked != title {
        let _ = writeln!(body, "> {}\n", truncate(&one_line(asked), CELL));
    }
    let said = match first(run, &["finalText", "text"]) {
        "" => first(whole, &["text", "finalText"]),
        said => said,
    };
    if !said.is_empty() {
        let _ = writeln!(body, "{}\n", bounded(said.trim(), TOOL_TEXT_LIMIT));
    }
    let error = first(run, &["errorMessage", "errorCode"]);
    if !error.is_empty() {
        let _ = writeln!(body, "**It failed:** {}\n", inline(error));
    }
    for (title, key, names) in [
        ("What tools did", "toolInvocations", ["toolName", "name"]),
        ("Files", "artifacts", ["displayName", "uri"]),
    ] {
        let rows = objects(whole.get(key));
        if rows.is_empty() {
            continue;
        }
        let _ = writeln!(body, "## {title}\n");
        for row in rows {
            let more = match first(row, &["status"]) {
                "" => inline(first(row, &["uri"])),
                status => state(status).to_owned(),
            };
            let _ = writeln!(body, "- **{}** {more}", inline(first(row, &names)));
        }
        body.push('\n');
    }
    let id = word(run, "runId");
    if !id.is_empty() {
        let _ = writeln!(body, "`{}`", inline(id).replace('`', ""));
    }
    body
}

/// What became of stopping a run.
pub(super) fn of_stop(value: &Value) -> String {
    let said = |path: &str| value.pointer(path).and_then(Value::as_bool);
    let accepted = said("/cancellation/accepted").or_else(|| said("/cancelled"));
    let status = value.pointer("/run/status").and_then(Value::as_str);
    match (accepted, status) {
        (Some(false), Some(status)) => format!("There was nothing to stop: {}.", state(status)),
        (Some(false), None) => "There was nothing to stop: it is over.".to_owned(),
        (_, Some(status)) if is_over(status) => format!("It is over: {}.", state(status)),
        _ => "It was told to stop.".to_owned(),
    }
}

/// A tool output as it was, whole or as much as the runtime gives at once.
pub(super) fn of_output(value: &Value) -> String {
    let text = match value.get("output") {
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
        None => value.to_string(),
    };
    let mut body = format!(
        "```text\n{}\n```\n",
        bounded(text.trim_end(), TOOL_TEXT_LIMIT).replace("```", "` ` `")
    );
    if value.get("truncated").and_then(Value::as_bool) == Some(true) {
        body.push_str("\nThe runtime gives no more of it at once.\n");
    }
    body
}

/// The answer of a control tool, whatever it holds.
pub(super) fn of_value(value: &Value, now: Moment) -> String {
    let mut body = String::new();
    let Value::Object(fields) = value else {
        rows(&mut body, value, 0, now);
        return body;
    };
    for (name, value) in fields.iter().filter(|(name, value)| says(name, value)) {
        let title = human(name);
        match value {
            Value::Array(items) if items.is_empty() => {
                let _ = writeln!(body, "**{title}:** none\n");
            }
            Value::Array(_) | Value::Object(_) => {
                let _ = writeln!(body, "**{title}**\n");
                rows(&mut body, value, 0, now);
                body.push('\n');
            }
            plain => {
                let _ = writeln!(body, "**{title}:** {}\n", cell(name, plain, now));
            }
        }
    }
    body
}

fn rows(out: &mut String, value: &Value, depth: usize, now: Moment) {
    let pad = "  ".repeat(depth.min(6));
    match value {
        Value::Object(fields) => {
            for (name, value) in fields.iter().filter(|(name, value)| says(name, value)) {
                let title = human(name);
                match value {
                    // Deeper than this nobody reads; it is shown as it came.
                    Value::Array(_) | Value::Object(_) if depth < 6 => {
                        let _ = writeln!(out, "{pad}- **{title}**");
                        rows(out, value, depth + 1, now);
                    }
                    plain => {
                        let _ = writeln!(out, "{pad}- **{title}:** {}", cell(name, plain, now));
                    }
                }
            }
        }
        Value::Array(items) => {
            for item in items.iter().take(ROWS) {
                let row = match item {
                    Value::Object(fields) => summary(fields, now),
                    other => cell("", other, now),
                };
                let _ = writeln!(out, "{pad}- {row}");
            }
        }
        plain => {
            let _ = writeln!(out, "{pad}{}", cell("", plain, now));
        }
    }
}

/// One row of a list: its title first, then what else it says.
fn summary(fields: &Map<String, Value>, now: Moment) -> String {
    let title = first(
        fields,
        &["title", "displayName", "name", "objective", "text"],
    );
    let rest: Vec<String> = fields
        .iter()
        .filter(|(name, value)| says(name, value) && (title.is_empty() || *value != title))
        .map(|(name, value)| {
            let (name, said) = (human(name).to_lowercase(), cell(name, value, now));
            match name.as_str() {
                "status" | "state" => said,
                _ => format!("{name} {said}"),
            }
        })
        .collect();
    let rest = rest.join(" · ");
    match title {
        "" => rest,
        title => format!("**{}** {rest}", inline(title)),
    }
}

/// Whether a field says something to a person.
fn says(name: &str, value: &Value) -> bool {
    let is_empty = match value {
        Value::Null => true,
        Value::String(text) => text.trim().is_empty(),
        Value::Object(fields) => fields.is_empty(),
        _ => false,
    };
    let is_machinery = name.ends_with("Hash")
        || name.ends_with("Digest")
        || matches!(
            name,
            "ok" | "ownerId"
                | "clientId"
                | "requestId"
                | "idempotencyKey"
                | "toolResultEnvelope"
                | "routeDecision"
                | "attemptCount"
        );
    !is_empty && !is_machinery
}

/// The name of a field in words: `lastActivityAtMs` is "Last activity".
pub(super) fn human(name: &str) -> String {
    let plain = [
        "AtMs", "_at_ms", "UntilMs", "At", "_at", "Ms", "_ms", "Bytes",
    ]
    .iter()
    .find_map(|end| name.strip_suffix(end).filter(|rest| !rest.is_empty()))
    .unwrap_or(name);
    let mut words = String::new();
    for c in plain.chars().take(80) {
        match c {
            '_' | '-' => words.push(' '),
            c if words.is_empty() => words.extend(c.to_uppercase()),
            c if c.is_uppercase() => {
                words.push(' ');
                words.extend(c.to_lowercase());
            }
            c => words.push(c),
        }
    }
    words
}

/// The value of a field in words.
fn cell(name: &str, value: &Value, now: Moment) -> String {
    let ms = value.as_f64().filter(|n| *n >= 0.0).map(|n| n as i64);
    match (value, ms) {
        (_, Some(ms)) if name.ends_with("AtMs") || name.ends_with("UntilMs") => ago(ms, now),
        (_, Some(ms)) if name.ends_with("Ms") => duration(ms),
        (_, Some(bytes)) if name.ends_with("Bytes") => size_words(bytes.unsigned_abs()),
        (Value::Bool(true), _) => "yes".to_owned(),
        (Value::Bool(false), _) => "no".to_owned(),
        (Value::String(text), _) if matches!(name, "status" | "state" | "terminalStatus") => {
            inline(state(text))
        }
        (Value::String(text), _) if name.ends_with("Id") => {
            format!("`{}`", inline(text).replace('`', ""))
        }
        (Value::String(text), _) => inline(text),
        (Value::Null, _) => "–".to_owned(),
        (other, _) => truncate(&other.to_string(), CELL).to_string(),
    }
}

fn inline(text: &str) -> String {
    truncate(&one_line(text), CELL).to_string()
}

/// Whether a run in this state has ended.
pub(super) fn is_over(status: &str) -> bool {
    matches!(
        status,
        "succeeded"
            | "completed"
            | "done"
            | "failed"
            | "cancelled"
            | "canceled"
            | "timed_out"
            | "orphaned"
            | "interrupted"
            | "expired"
            | "archived"
            | "closed"
    )
}

/// A state in words; one that is not known is shown as it came.
pub(super) fn state(status: &str) -> &str {
    match status {
        "queued" | "pending" | "created" | "accepted" => "waits for its turn",
        "starting" => "starts",
        "running" | "active" | "streaming" | "in_progress" => "works",
        "waiting"
        | "waiting_input"
        | "waiting_for_input"
        | "waiting_approval"
        | "waiting_for_approval"
        | "blocked" => "waits for you",
        "cancelling" | "canceling" => "is being stopped",
        "succeeded" | "completed" | "done" => "done",
        "failed" => "failed",
        "cancelled" | "canceled" | "interrupted" => "stopped",
        "timed_out" => "took too long",
        "outcome_unknown" => "ended in an unknown way",
        "orphaned" => "lost when the runtime was started anew",
        other => other,
    }
}

/// How long ago something was, or in how long it will be.
fn ago(ms: i64, now: Moment) -> String {
    match now.wall_ms.saturating_sub(ms) {
        ..-999 => format!("in {}", duration(ms.saturating_sub(now.wall_ms))),
        -999..1_000 => "just now".to_owned(),
        past => format!("{} ago", duration(past)),
    }
}

fn duration(ms: i64) -> String {
    let seconds = ms.max(0) / 1_000;
    match seconds {
        0 => format!("{} ms", ms.max(0)),
        1..120 => format!("{seconds} s"),
        120..7_200 => format!("{} min", seconds / 60),
        7_200..172_800 => format!("{} h", seconds / 3_600),
        _ => format!("{} days", seconds / 86_400),
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

pub(super) fn first<'a>(fields: &'a Map<String, Value>, keys: &[&str]) -> &'a str {
    keys.iter()
        .map(|key| word(fields, key))
        .find(|text| !text.is_empty())
        .unwrap_or_default()
}

pub(super) fn objects(value: Option<&Value>) -> Vec<&Map<String, Value>> {
    value
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_object)
        .take(ROWS)
        .collect()
}
