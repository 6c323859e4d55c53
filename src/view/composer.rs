//! The composer: its edge names the target, then what hangs on the draft, then the text with the
//! real cursor in it. It grows with the text to a third of the screen.

use super::canvas::{Canvas, Row};
use super::hints;
use super::item::{Scene, message};
use super::sidebar::place_name;
use super::theme::Role;
use super::words;
use crate::app::Action;
use crate::app::screen::composer::Shown;
use crate::app::screen::drawer;
use crate::app::screen::{Pane, Target};
use crate::domain::{Author, ConversationKind, LinkState, Run};
use crate::text::width;
use ratatui::layout::Rect;
use std::ops::Range;

/// What the composer will draw, worked out before its rectangle is known.
pub(crate) struct Plan {
    shown: Shown,
    chips: Vec<Row>,
    text_rows: u16,
    /// Rows in all.
    pub height: u16,
}

/// Cells before the text: the prompt.
const PROMPT: u16 = 2;

/// Cells of a row of the draft in a composer so wide; motions by row need it.
pub(crate) fn text_columns(columns: u16) -> u16 {
    columns.saturating_sub(PROMPT + 1)
}

/// Plans the composer for a width.
pub(crate) fn plan(scene: &Scene<'_>, columns: u16, screen_rows: u16) -> Plan {
    let composer = &scene.conversation.composer;
    let shown = composer.shown(usize::from(text_columns(columns)));
    let most = (screen_rows / 3).max(1);
    let text_rows = u16::try_from(shown.rows.len())
        .unwrap_or(u16::MAX)
        .min(most);
    let chips = chips(scene);
    let height = 1 + text_rows + u16::try_from(chips.len()).unwrap_or(0);
    Plan {
        shown,
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
                    .and(words::gist(message.body.text()), Role::Quote)
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
    let top = (plan.shown.caret_row + 1).saturating_sub(rows);
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
    if scene.conversation.composer.text().is_empty() {
        let hint = placeholder(scene, usize::from(text.width));
        canvas.put_cut(text.x, y, &hint, text.width, Role::Placeholder);
    }
    for (line, range) in plan.shown.rows.iter().skip(top).take(rows).enumerate() {
        let y = y + u16::try_from(line).unwrap_or(0);
        draft_row(canvas, &plan.shown, range.clone(), text, y);
    }
    if let Some(hint) = drawer::arguments_hint(scene.state)
        && has_focus
        && plan.shown.rows.len() == 1
    {
        let x = text.x + u16::try_from(plan.shown.caret_column).unwrap_or(0);
        canvas.put_cut(
            x,
            y,
            hint.as_str(),
            text.right().saturating_sub(x),
            Role::Placeholder,
        );
    }
    if rows < plan.shown.rows.len() {
        canvas.scrollbar(
            area.right().saturating_sub(1),
            text,
            plan.shown.rows.len(),
            top,
            Role::Muted,
        );
    }
    has_focus.then(|| {
        let row = u16::try_from(plan.shown.caret_row - top).unwrap_or(0);
        let caret = u16::try_from(plan.shown.caret_column).unwrap_or(0);
        let column = (text.x + caret).min(area.right().saturating_sub(1));
        (column, y + row)
    })
}

/// One row of the draft: chips boxed, the selection marked.
fn draft_row(canvas: &mut Canvas<'_>, shown: &Shown, row: Range<usize>, area: Rect, y: u16) {
    let mut cuts = vec![row.start, row.end];
    for piece in &shown.pieces {
        cuts.extend([piece.shown.start, piece.shown.end]);
    }
    if let Some(selection) = &shown.selection {
        cuts.extend([selection.start, selection.end]);
    }
    cuts.retain(|cut| row.start <= *cut && *cut <= row.end);
    cuts.sort_unstable();
    cuts.dedup();
    let mut x = area.x;
    for pair in cuts.windows(2) {
        let part = pair[0]..pair[1];
        let is_selected = shown
            .selection
            .as_ref()
            .is_some_and(|selection| selection.contains(&part.start));
        let piece = shown
            .pieces
            .iter()
            .find(|piece| piece.shown.contains(&part.start));
        let role = match piece {
            _ if is_selected => Role::Marked,
            Some(piece) if piece.is_chip => Role::Chip,
            Some(_) => Role::Removed,
            None => Role::Input,
        };
        let text = shown.text.get(part).unwrap_or_default();
        x = canvas.put(x, y, text, area.right().saturating_sub(x), role);
    }
}

/// The line over the composer: where the text will go, and how long it may still be.
fn edge(canvas: &mut Canvas<'_>, scene: &Scene<'_>, area: Rect, has_focus: bool) {
    let role = if has_focus {
        Role::BorderFocused
    } else {
        Role::Border
    };
    canvas.rule(area, area.y, role);
    // While nothing is written, the line below says where it would go.
    if !scene.conversation.composer.is_empty() {
        let name = format!(
            " {} {} {} ",
            place_name(scene, scene.id),
            scene.glyphs.dot,
            scene.account.account.label
        );
        let name_role = if has_focus { Role::Title } else { Role::Muted };
        let room = area.width.saturating_sub(PROMPT + 1);
        canvas.put_cut(area.x + PROMPT, area.y, &name, room, name_role);
    }
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

/// What stands in an empty composer; where the room is small, only what matters now.
fn placeholder(scene: &Scene<'_>, cells: usize) -> String {
    let place = place_name(scene, scene.id);
    let account = &scene.account.account;
    if scene.state.only_reads {
        let whole = "only reads here; write in the other trialogue, or close it";
        return if width(whole) > cells {
            "only reads"
        } else {
            whole
        }
        .to_owned();
    }
    let id = &account.id;
    if crate::app::decisions::asking(scene.state, id, scene.id).is_some() {
        let way = hints::way_to(scene.state, Action::OpenDecision);
        let whole = format!("answer the question in {place}; {way} shows what can be chosen");
        return if width(&whole) > cells {
            "answer the question".to_owned()
        } else {
            whole
        };
    }
    let more = if matches!(account.link, LinkState::NeedsLogin(_)) {
        "; it is sent once you are signed in"
    } else if !matches!(account.link, LinkState::Ready | LinkState::Syncing) {
        "; it is sent once the account is connected"
    } else if scene
        .conversation
        .run
        .as_ref()
        .is_some_and(Run::is_in_the_way)
        && !account.capabilities.queues_messages.is_yes()
    {
        "; it waits until the agent has finished"
    } else if scene.state.settings.auto_thread
        && scene.conversation.info.kind == ConversationKind::Default
        && account.capabilities.auto_thread.is_yes()
    {
        "; it opens a thread of its own"
    } else {
        ""
    };
    let whole = format!("message {place}{more}");
    match more.strip_prefix("; ") {
        Some(short) if width(&whole) > cells => short.to_owned(),
        _ => whole,
    }
}
