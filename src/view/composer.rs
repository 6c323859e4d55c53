//! The composer: its edge names the target, then what hangs on the draft, then the text with the
//! real cursor in it. It grows with the text to a third of the screen.

use super::canvas::{Canvas, Row};
use super::item::{Scene, message};
use super::sidebar::place_name;
use super::theme::Role;
use super::words;
use crate::app::screen::{Pane, Target};
use crate::domain::{Author, LinkState};
use crate::text::{graphemes, width};
use ratatui::layout::Rect;
use std::ops::Range;

/// A draft broken into rows, with the place of the caret.
pub(crate) struct Wrapped {
    pub rows: Vec<Range<usize>>,
    pub caret_row: usize,
    pub caret_column: u16,
}

/// Breaks a draft into rows of at most so many cells: after a space where there is one, else inside
/// the word. Nothing is left out, so every byte has its row.
pub(crate) fn wrap_draft(text: &str, caret: usize, columns: u16) -> Wrapped {
    let columns = usize::from(columns.max(2));
    let mut rows: Vec<Range<usize>> = Vec::new();
    let mut start = 0;
    let mut used = 0;
    let mut at = 0;
    let mut after_space: Option<usize> = None;
    for cluster in graphemes(text) {
        if cluster == "\n" || cluster == "\r\n" {
            rows.push(start..at);
            at += cluster.len();
            start = at;
            used = 0;
            after_space = None;
            continue;
        }
        let wide = width(cluster);
        if used + wide > columns && at > start {
            let cut = after_space.filter(|cut| *cut > start).unwrap_or(at);
            rows.push(start..cut);
            start = cut;
            used = width(&text[cut..at]);
            after_space = None;
        }
        used += wide;
        at += cluster.len();
        if cluster == " " {
            after_space = Some(at);
        }
    }
    rows.push(start..text.len());
    let caret_row = rows.iter().rposition(|row| row.start <= caret).unwrap_or(0);
    let row = &rows[caret_row];
    let before = text.get(row.start..caret.min(row.end)).unwrap_or_default();
    let caret_column = u16::try_from(width(before).min(columns)).unwrap_or(0);
    Wrapped {
        rows,
        caret_row,
        caret_column,
    }
}

/// What the composer will draw, worked out before its rectangle is known.
pub(crate) struct Plan {
    wrapped: Wrapped,
    chips: Vec<Row>,
    text_rows: u16,
    /// Rows in all.
    pub height: u16,
}

/// Cells before the text: the prompt.
const PROMPT: u16 = 2;

/// Plans the composer for a width.
pub(crate) fn plan(scene: &Scene<'_>, columns: u16, screen_rows: u16) -> Plan {
    let composer = &scene.conversation.composer;
    let wrapped = wrap_draft(
        composer.text(),
        composer.caret(),
        columns.saturating_sub(PROMPT + 1),
    );
    let most = (screen_rows / 3).max(1);
    let text_rows = u16::try_from(wrapped.rows.len())
        .unwrap_or(u16::MAX)
        .min(most);
    let chips = chips(scene);
    let height = 1 + text_rows + u16::try_from(chips.len()).unwrap_or(0);
    Plan {
        wrapped,
        chips,
        text_rows,
        height,
    }
}

/// What hangs on the draft: the message it answers, and files.
fn chips(scene: &Scene<'_>) -> Vec<Row> {
    let g = scene.glyphs;
    let composer = &scene.conversation.composer;
    let mut rows = Vec::new();
    if let Some(remote) = &composer.reply_to {
        let row = Row::of(format!("{} replying to ", g.reply), Role::Muted).indented(PROMPT);
        rows.push(match message::quoted(scene, remote) {
            Some(message) => {
                let who = match message.author {
                    Author::User => "yourself: ",
                    Author::Assistant => "the agent: ",
                    Author::System => "the system: ",
                    Author::Automation => "the automation: ",
                };
                row.and(who, Role::Muted)
                    .and(words::first_line(message.body.text()), Role::Quote)
            }
            None => row.and("an earlier message", Role::Quote),
        });
    }
    for file in &composer.files {
        let name = file.path.file_name().map_or_else(
            || file.path.to_string_lossy(),
            |name| name.to_string_lossy(),
        );
        let row = Row::of(format!("{} ", g.attachment), Role::Accent)
            .and(crate::text::SafeText::label(&name).as_str(), Role::Strong)
            .indented(PROMPT);
        rows.push(match &file.facts {
            Some(facts) => row.and(
                format!(
                    "  {} {} {}",
                    super::item::attachment::kind(facts.kind),
                    g.dot,
                    words::size(facts.size)
                ),
                Role::Muted,
            ),
            None => row.and(format!("  looking at it{}", g.ellipsis), Role::Muted),
        });
    }
    rows
}

/// Draws the composer and returns where the cursor belongs.
pub(crate) fn draw(
    canvas: &mut Canvas<'_>,
    scene: &Scene<'_>,
    plan: &Plan,
    area: Rect,
) -> Option<(u16, u16)> {
    if area.height == 0 {
        return None;
    }
    let screen = &scene.state.screen;
    let has_focus = screen.pane == Pane::Composer && screen.overlays.is_empty();
    edge(canvas, scene, area, has_focus);
    let mut y = area.y + 1;
    for row in &plan.chips {
        if y >= area.bottom() {
            break;
        }
        canvas.row(area, y, row);
        y += 1;
    }
    if y >= area.bottom() {
        return None;
    }
    if scene.conversation.info.is_automation {
        let row = Row::of(
            "This conversation only receives, so there is nothing to write here.",
            Role::Placeholder,
        )
        .indented(PROMPT);
        canvas.row(area, y, &row);
        return None;
    }
    let prompt = if has_focus { Role::Prompt } else { Role::Muted };
    canvas.put(area.x, y, canvas.glyphs.prompt, 1, prompt);
    let rows = usize::from(plan.text_rows.min(area.bottom() - y));
    let top = (plan.wrapped.caret_row + 1).saturating_sub(rows);
    let text = Rect {
        x: area.x + PROMPT,
        y,
        width: area.width.saturating_sub(PROMPT),
        height: u16::try_from(rows).unwrap_or(1),
    };
    canvas.hits.add(
        text,
        Target::Composer {
            row: u16::try_from(top).unwrap_or(0),
            column: 0,
        },
    );
    let draft = scene.conversation.composer.text();
    if draft.is_empty() {
        let hint = placeholder(scene);
        canvas.put_cut(text.x, y, &hint, text.width, Role::Placeholder);
    }
    for (line, range) in plan.wrapped.rows.iter().skip(top).take(rows).enumerate() {
        let part = draft.get(range.clone()).unwrap_or_default();
        let y = y + u16::try_from(line).unwrap_or(0);
        canvas.put(text.x, y, part, text.width, Role::Input);
    }
    if rows < plan.wrapped.rows.len() {
        canvas.scrollbar(
            area.right().saturating_sub(1),
            text,
            plan.wrapped.rows.len(),
            top,
            Role::Muted,
        );
    }
    has_focus.then(|| {
        let row = u16::try_from(plan.wrapped.caret_row - top).unwrap_or(0);
        let column = (text.x + plan.wrapped.caret_column).min(area.right().saturating_sub(1));
        (column, y + row)
    })
}

/// The line over the composer: where the text will go, and how long it may still be.
fn edge(canvas: &mut Canvas<'_>, scene: &Scene<'_>, area: Rect, has_focus: bool) {
    let role = if has_focus {
        Role::BorderFocused
    } else {
        Role::Border
    };
    canvas.rule(area, area.y, role);
    let name = format!(
        " {} {} {} ",
        place_name(scene, scene.id),
        scene.glyphs.dot,
        scene.account.account.label
    );
    let name_role = if has_focus { Role::Title } else { Role::Muted };
    let room = area.width.saturating_sub(PROMPT + 1);
    canvas.put_cut(area.x + PROMPT, area.y, &name, room, name_role);
    if let Some(limit) = scene.account.account.capabilities.text_limit {
        let length = scene.conversation.composer.text().chars().count();
        if length * 10 >= limit * 8 {
            let word = format!(" {length} / {limit} ");
            let role = if length > limit {
                Role::Danger
            } else {
                Role::Warning
            };
            let wide = u16::try_from(width(&word)).unwrap_or(0);
            if wide + 2 < area.width {
                canvas.put(area.right() - wide - 1, area.y, &word, wide, role);
            }
        }
    }
}

fn placeholder(scene: &Scene<'_>) -> String {
    let place = place_name(scene, scene.id);
    let account = &scene.account.account;
    let more = if !matches!(account.link, LinkState::Ready | LinkState::Syncing) {
        "; it is sent once the account is connected"
    } else if scene.conversation.run.is_some() && !account.capabilities.queues_messages.is_yes() {
        "; it waits until the agent has finished"
    } else {
        ""
    };
    format!("message {place}{more}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(text: &str, columns: u16) -> Vec<&str> {
        wrap_draft(text, 0, columns)
            .rows
            .into_iter()
            .map(|row| &text[row])
            .collect()
    }

    #[test]
    fn a_draft_breaks_after_spaces_and_keeps_every_byte() {
        assert_eq!(rows("one two three", 8), ["one two ", "three"]);
        assert_eq!(rows("abcdef", 3), ["abc", "def"]);
        assert_eq!(rows("a\n\nb", 8), ["a", "", "b"]);
        assert_eq!(rows("", 8), [""]);
    }

    #[test]
    fn the_caret_stands_on_the_cell_of_its_cluster() {
        let at = |text: &str, caret: usize| {
            let wrapped = wrap_draft(text, caret, 8);
            (wrapped.caret_row, wrapped.caret_column)
        };
        assert_eq!(at("漢字ab", 6), (0, 4));
        assert_eq!(at("one two three", 8), (1, 0));
        assert_eq!(at("ab\n", 3), (1, 0));
    }
}
