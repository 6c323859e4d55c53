//! Calls of tools: neighbours are one group, folded to one line; open, each has its arguments and
//! the start of its output.

use super::{Card, Lead, Scene, Segment, message::fold_row, notice::agent_header};
use crate::domain::{Entry, EntryBody, ToolCall, ToolStatus};
use crate::render::{ansi, diff, looks_like_diff};
use crate::view::canvas::{Row, wrap};
use crate::view::theme::Role;
use crate::view::words;
use std::ops::Range;

/// Rows of arguments and of output that an open card shows; the whole is one key away.
const SHOWN_ROWS: usize = 12;

pub(crate) fn card(
    scene: &Scene<'_>,
    index: usize,
    entry: &Entry,
    call: &ToolCall,
    lead: &Lead,
) -> Card {
    let Some((start, end)) = lead.group else {
        return Card::default();
    };
    let mut rows = Vec::new();
    let is_first = index == start;
    let is_alone = end - start == 1;
    if is_first {
        rows.extend(agent_header(scene, lead, entry.seen_at_ms));
    }
    if is_alone {
        rows.push(call_line(fold_row(scene, entry, lead.is_open), scene, call));
        if lead.is_open {
            rows.extend(details(scene, call, 2));
        }
    } else {
        if is_first {
            rows.push(group_line(scene, entry, start..end, lead.is_open));
        }
        if lead.is_open {
            rows.push(call_line(Row::of("  ", Role::Muted), scene, call));
            // In an open group the fold of a member closes its details.
            let is_closed = !is_first && scene.conversation.toggled.contains(&entry.key);
            if !is_closed {
                rows.extend(details(scene, call, 4));
            }
        }
    }
    if rows.is_empty() {
        return Card::default();
    }
    Card {
        segments: vec![Segment::Rows(rows)],
        ..Card::default()
    }
}

/// The calls of a group.
pub(crate) fn calls<'a>(
    scene: &Scene<'a>,
    range: Range<usize>,
) -> impl Iterator<Item = &'a ToolCall> {
    let entries = &scene.conversation.timeline.entries;
    entries
        .get(range)
        .unwrap_or_default()
        .iter()
        .filter_map(|entry| match &entry.body {
            EntryBody::Tool(call) => Some(&**call),
            _ => None,
        })
}

fn group_line(scene: &Scene<'_>, entry: &Entry, range: Range<usize>, is_open: bool) -> Row {
    let mut names: Vec<(&str, usize)> = Vec::new();
    let mut total = 0;
    let (mut failed, mut running) = (0, 0);
    for call in calls(scene, range.clone()) {
        let name = call.name.as_str();
        match names.iter_mut().find(|(known, _)| *known == name) {
            Some((_, count)) => *count += 1,
            None => names.push((name, 1)),
        }
        total += call.duration_ms.unwrap_or(0);
        failed += usize::from(call.status == ToolStatus::Failed);
        running += usize::from(call.status == ToolStatus::Running);
    }
    let mut row =
        fold_row(scene, entry, is_open).and(words::plural(range.len(), "tool call"), Role::Muted);
    let dot = format!(" {} ", scene.glyphs.dot);
    if total > 0 {
        row = row.and(format!("{dot}{}", words::duration(total)), Role::Muted);
    }
    if running > 0 {
        row = row.and(format!("{dot}{running} running"), Role::Running);
    }
    if failed > 0 {
        row = row.and(
            format!("{dot}{} {failed} failed", scene.glyphs.cross),
            Role::Danger,
        );
    }
    if !is_open {
        let names: Vec<String> = names
            .iter()
            .map(|(name, count)| match count {
                1 => (*name).to_owned(),
                _ => format!("{name} ×{count}"),
            })
            .collect();
        row = row
            .and("  ", Role::Muted)
            .and(names.join(", "), Role::ToolName);
    }
    row
}

/// One call in a line.
fn call_line(row: Row, scene: &Scene<'_>, call: &ToolCall) -> Row {
    let (mark, role) = status_mark(scene, call.status);
    let preview = if call.preview.is_empty() {
        words::first_line(&call.arguments)
    } else {
        words::first_line(&call.preview)
    };
    let mut row = row.and(format!("{mark} "), role);
    if !call.emoji.is_empty() && !scene.state.settings.ascii {
        row = row.and(format!("{} ", call.emoji), Role::Text);
    }
    row = row.and(call.name.as_str().replace('\n', " "), Role::ToolName);
    if let Some(ms) = call.duration_ms {
        row = row.right(words::duration(ms), Role::Muted);
    }
    if !preview.is_empty() {
        row = row.and("  ", Role::Muted).and(preview, Role::ToolText);
    }
    row
}

/// The state of a call, by shape.
pub(crate) fn status_mark(scene: &Scene<'_>, status: ToolStatus) -> (&'static str, Role) {
    let g = scene.glyphs;
    match status {
        ToolStatus::Running => (g.active, Role::Running),
        ToolStatus::Completed => (g.check, Role::Good),
        ToolStatus::Failed => (g.cross, Role::Danger),
        ToolStatus::Cancelled => (g.cancelled, Role::Muted),
    }
}

/// Arguments, note, output and error of a call.
fn details(scene: &Scene<'_>, call: &ToolCall, indent: u16) -> Vec<Row> {
    let columns = usize::from(scene.columns.saturating_sub(indent + 2)).max(8);
    let mut rows = Vec::new();
    if call.arguments.as_str() != call.preview.as_str() {
        block(
            &mut rows,
            call.arguments.as_str(),
            columns,
            indent,
            Role::ToolText,
        );
    }
    if call.status == ToolStatus::Running {
        block(&mut rows, call.note.as_str(), columns, indent, Role::Info);
    }
    output(&mut rows, scene, call.output.as_str(), columns, indent);
    block(
        &mut rows,
        call.error.as_str(),
        columns,
        indent,
        Role::Danger,
    );
    rows
}

fn output(rows: &mut Vec<Row>, scene: &Scene<'_>, text: &str, columns: usize, indent: u16) {
    let text = text.trim_end();
    if text.is_empty() {
        return;
    }
    let total = text.lines().count();
    let start = beginning(text, columns);
    let options = scene.reading(u16::try_from(columns).unwrap_or(u16::MAX));
    let laid = if looks_like_diff(text) {
        diff(&start, &options)
    } else {
        ansi(&start, &options)
    };
    let is_cut = laid.len() > SHOWN_ROWS || start.len() < text.len();
    for row in laid.into_iter().take(SHOWN_ROWS) {
        rows.push(Row {
            laid: Some(row),
            ..code_row(String::new(), Role::CodeBlock, indent)
        });
    }
    if is_cut {
        rows.push(more(total, indent));
    }
}

/// As much of a text as the first rows can hold; the rest is not even looked at.
fn beginning(text: &str, columns: usize) -> String {
    let mut start = String::new();
    for line in text.lines().take(SHOWN_ROWS + 1) {
        match line.char_indices().nth(columns * SHOWN_ROWS) {
            Some((at, _)) => start.push_str(&line[..at]),
            None => start.push_str(line),
        }
        start.push('\n');
    }
    start.pop();
    start
}

fn more(total: usize, indent: u16) -> Row {
    let text = format!(
        "{} in all, Enter opens the menu",
        words::plural(total, "line")
    );
    code_row(text, Role::CodeLabel, indent)
}

fn block(rows: &mut Vec<Row>, text: &str, columns: usize, indent: u16, role: Role) {
    let text = text.trim_end();
    if text.is_empty() {
        return;
    }
    let start = beginning(text, columns);
    let lines = wrap(&start, columns);
    let is_cut = lines.len() > SHOWN_ROWS || start.len() < text.len();
    for line in lines.into_iter().take(SHOWN_ROWS) {
        rows.push(code_row(line, role, indent));
    }
    if is_cut {
        rows.push(more(text.lines().count(), indent));
    }
}

fn code_row(text: String, role: Role, indent: u16) -> Row {
    Row::of(format!(" {text}"), role)
        .indented(indent)
        .on(Role::CodeBlock)
}
