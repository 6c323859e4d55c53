//! The popup of one decision: who asks, the whole text (scrollable, with its line count), and the
//! choices pinned below it with what each one grants.

use super::{Found, field, frame, hints, most_rows, paragraph, top};
use crate::app::screen::Target;
use crate::app::screen::decision::{DecisionRow, is_armed, row_words, rows};
use crate::app::screen::overlay::DecisionPopup;
use crate::app::screen::rows::{conversation_name, short_grant_words};
use crate::app::state::State;
use crate::domain::{AnswerWay, Decision, Grant, Question};
use crate::text::{truncate, width};
use crate::view::canvas::{Canvas, wrap};
use crate::view::item::decision::{kind, standing};
use crate::view::theme::Role;
use crate::view::words;
use ratatui::layout::Rect;

/// Lines over the text.
const LEAD_LINES: usize = 3;

pub(super) fn draw(
    canvas: &mut Canvas<'_>,
    state: &State,
    popup: &DecisionPopup,
    area: Rect,
) -> Found {
    let mut found = Found::default();
    let account = state.account(&popup.account);
    let decision = account.and_then(|account| {
        account
            .decisions
            .iter()
            .find(|decision| decision.id == popup.decision)
    });
    let (Some(account), Some(decision)) = (account, decision) else {
        let inner = frame(canvas, area, "Gone", 44, 1);
        let word = "It no longer waits for an answer.";
        canvas.put(inner.x, inner.y, word, inner.width, Role::PopupMuted);
        return found;
    };
    let title = format!(
        "{} {} {} {} {}",
        capital(kind(decision)),
        canvas.glyphs.dot,
        conversation_name(account, &decision.conversation),
        canvas.glyphs.dot,
        account.account.label
    );
    let columns = 92.min(area.width.saturating_sub(8)).max(8);
    let (lead, text) = parts(decision);
    let text_lines = wrap(text, usize::from(columns.saturating_sub(2)));
    let text_lines = if text.is_empty() {
        Vec::new()
    } else {
        text_lines
    };
    let offers = rows(decision);
    let footer = footer(decision, popup, state);
    let footer_lines = wrap(&footer.0, usize::from(columns)).len();

    // What is pinned comes first; the text gets the rest and scrolls. On a small screen the words
    // around the question go before its rows do.
    let typing = u16::from(popup.typing.is_some()) * 2;
    let mut footer_rows = lines(footer_lines) + 1;
    let mut lead_lines = match lead.is_empty() {
        true => Vec::new(),
        false => wrap(lead, usize::from(columns)),
    };
    let most = most_rows(area);
    // The words over the text are cut where text and choices would not fit beside them.
    let others = lines(offers.len()) + lines(text_lines.len()) + footer_rows + typing + 2;
    let room = usize::from(most.saturating_sub(others)).max(LEAD_LINES);
    if lead_lines.len() > room {
        lead_lines.truncate(room);
        if let Some(last) = lead_lines.last_mut() {
            let kept = truncate(last, usize::from(columns.saturating_sub(1)));
            *last = format!("{}{}", kept.trim_end_matches('…'), canvas.glyphs.ellipsis);
        }
    }
    let mut lead_lines = lead_lines.as_slice();
    let needed = lines(offers.len().min(4)) + lines(text_lines.len().min(2)) + 1;
    let pinned = |lead: &[String], footer: u16| {
        lines(lead.len()) + u16::from(!lead.is_empty()) + typing + footer
    };
    if pinned(lead_lines, footer_rows) + needed > most && popup.typing.is_none() {
        lead_lines = &lead_lines[..lead_lines.len().min(1)];
    }
    if pinned(lead_lines, footer_rows) + needed > most {
        footer_rows = 0;
    }
    if pinned(lead_lines, footer_rows) + needed > most {
        lead_lines = &[];
    }
    let pinned = pinned(lead_lines, footer_rows);
    let left = most.saturating_sub(pinned);
    // The text, and under it the row that counts its lines.
    let wanted_text = lines(text_lines.len()) + u16::from(!text_lines.is_empty());
    let least_text = wanted_text.min(3).min(left / 2);
    let offer_rows = lines(offers.len()).min(left - least_text);
    let text_rows = wanted_text.min(left - offer_rows);
    let height = pinned + offer_rows + text_rows;
    let inner = frame(canvas, area, &title, columns, height);
    let mut y = inner.y;
    for line in lead_lines {
        canvas.put(inner.x, y, line, inner.width, Role::Text);
        y += 1;
    }
    y += u16::from(!lead_lines.is_empty());

    let shown = usize::from(text_rows.saturating_sub(1));
    let first = usize::from(popup.scroll).min(text_lines.len().saturating_sub(shown));
    found.decision_end_seen = first + shown >= text_lines.len();
    found.scroll_max = Some(lines(text_lines.len().saturating_sub(shown)));
    if shown > 0 && !text_lines.is_empty() {
        let block = Rect::new(inner.x, y, inner.width, lines(shown.min(text_lines.len())));
        canvas.fill(block, Role::Command);
        for (line, text) in text_lines.iter().skip(first).take(shown).enumerate() {
            let y = y + lines(line);
            canvas.put(
                inner.x + 1,
                y,
                text,
                inner.width.saturating_sub(2),
                Role::Command,
            );
        }
        canvas.scrollbar(
            inner.right(),
            block,
            text_lines.len(),
            first,
            Role::PopupBorder,
        );
        y = block.bottom();
        let total = text.lines().count();
        let count = if text_lines.len() > shown {
            format!(
                "rows {} to {} of {}, {}",
                first + 1,
                (first + shown).min(text_lines.len()),
                text_lines.len(),
                words::plural(total, "line")
            )
        } else {
            words::plural(total, "line")
        };
        let wide = lines(width(&count)).min(inner.width);
        canvas.put(inner.right() - wide, y, &count, wide, Role::PopupMuted);
    }
    y += u16::from(shown > 0 && !text_lines.is_empty());

    let list = Rect {
        y,
        height: offer_rows.min(inner.bottom().saturating_sub(y)),
        ..inner
    };
    let is_live = decision.life.is_open() && is_armed(popup, state.now);
    draw_offers(canvas, decision, &offers, popup, list, is_live);
    y = list.bottom() + 1;
    if let Some(line) = &popup.typing {
        let word = match decision.question {
            Question::Approval { .. } => "reason, or empty",
            Question::Clarification { .. } | Question::Picker { .. } => "your answer",
        };
        let prompt = canvas.glyphs.prompt;
        canvas.put(inner.x, y, prompt, 1, Role::Prompt);
        let value = Rect {
            x: inner.x + 2,
            width: inner.width.saturating_sub(2),
            ..inner
        };
        found.cursor = field(canvas, value, y, line, word, false);
        y += 2;
    }
    if footer_rows > 0 {
        paragraph(canvas, inner, y, &footer.0, footer.1);
    }
    hints(canvas, state, inner);
    found
}

fn draw_offers(
    canvas: &mut Canvas<'_>,
    decision: &Decision,
    offers: &[DecisionRow],
    popup: &DecisionPopup,
    area: Rect,
    is_live: bool,
) {
    let height = usize::from(area.height);
    let first = top(popup.selected, 0, offers.len(), height);
    let named: Vec<_> = offers.iter().map(|row| row_words(decision, *row)).collect();
    let name_width = named.iter().map(|(name, _)| width(name.as_str())).max();
    let room = if named.iter().all(|(_, grants)| grants.is_empty()) {
        area.width.saturating_sub(5)
    } else {
        area.width / 2
    };
    // The mark of what holds now has a column of its own, where something does.
    let has_current = decision.choices.iter().any(|choice| choice.is_current);
    let gutter = if has_current { 3 } else { 2 };
    let name_width = lines(name_width.unwrap_or(0)).min(room).max(6);
    for (at, (name, grants)) in named.iter().enumerate().skip(first).take(height) {
        let y = area.y + lines(at - first);
        let line = Rect {
            y,
            height: 1,
            ..area
        };
        if popup.selected == at {
            canvas.fill(line, Role::Selected);
            let mark = canvas.glyphs.selection;
            canvas.put(area.x, y, mark, 1, Role::SelectionMark);
        }
        let choice = match offers[at] {
            DecisionRow::Choice(at) => decision.choices.get(at),
            DecisionRow::FreeText | DecisionRow::Deny => None,
        };
        let role = match choice.map(|choice| choice.grant) {
            _ if !is_live => Role::Muted,
            Some(Grant::Always) => Role::Danger,
            Some(Grant::Session) => Role::Warning,
            Some(Grant::Answer | Grant::Once | Grant::Deny | Grant::Unknown) | None => Role::Strong,
        };
        canvas.put_cut(area.x + gutter, y, name.as_str(), name_width, role);
        let end = area.x + gutter + name_width;
        if choice.is_some_and(|choice| choice.is_current) {
            canvas.put(area.x + 1, y, canvas.glyphs.check, 1, Role::Good);
        }
        let room = area.right().saturating_sub(end + 2);
        let grants = if width(grants) > usize::from(room) {
            short_grant_words(grants)
        } else {
            grants
        };
        canvas.put_cut(end + 2, y, grants, room, Role::PopupMuted);
        canvas.hits.add(line, Target::OverlayRow(at));
    }
    canvas.scrollbar(area.right(), area, offers.len(), first, Role::PopupMuted);
}

/// What stands over the text, and the text that scrolls.
fn parts(decision: &Decision) -> (&str, &str) {
    match &decision.question {
        Question::Approval {
            command,
            description,
            ..
        } if command.is_empty() => ("", description.as_str()),
        Question::Approval {
            command,
            description,
            ..
        } => (description.as_str(), command.as_str()),
        Question::Clarification { question, .. } => ("", question.as_str()),
        Question::Picker { title } => match title.as_str().trim().split_once('\n') {
            // What does not fit over the text is text itself, which scrolls.
            Some((first, rest)) if rest.lines().count() >= LEAD_LINES => {
                (first, rest.trim_start_matches('\n'))
            }
            _ => (title.as_str().trim(), ""),
        },
    }
}

/// The word below the choices: what happened, or what has to be known before choosing.
fn footer(decision: &Decision, popup: &DecisionPopup, state: &State) -> (String, Role) {
    if let Some(standing) = standing(decision) {
        return (format!("{}.", capital(&standing)), Role::Warning);
    }
    if decision.way == AnswerWay::Composer {
        return (
            "This one is answered by writing in the conversation.".to_owned(),
            Role::Info,
        );
    }
    if popup.always_asked {
        return (
            "Choose it once more to be sure: it approves every command of this pattern, everywhere, for good.".to_owned(),
            Role::Danger,
        );
    }
    if let Question::Approval {
        may_be_cut: true, ..
    } = decision.question
    {
        return (
            "This command may have been cut, so what you approve is not wholly known.".to_owned(),
            Role::Warning,
        );
    }
    let has_marks = matches!(&decision.question, Question::Approval { command, .. }
        if command.has_marks());
    let ms = u64::try_from(state.now.ago(decision.asked_at).as_millis()).unwrap_or(0);
    let mut text = if ms < 5_000 {
        "Asked just now.".to_owned()
    } else {
        format!("Asked {} ago.", words::age(ms))
    };
    if let Some(deadline) = decision.deadline {
        let left = deadline.mono_ms.saturating_sub(state.now.mono_ms);
        text = format!("{text} It expires in {}.", words::age(left));
    }
    if has_marks {
        let warning = "It holds characters that hide or move text; they stand here as marks.";
        return (format!("{warning} {text}"), Role::Warning);
    }
    (text, Role::PopupMuted)
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars
        .next()
        .map(|first| first.to_uppercase().chain(chars).collect())
        .unwrap_or_default()
}

fn lines(n: usize) -> u16 {
    u16::try_from(n).unwrap_or(u16::MAX)
}
