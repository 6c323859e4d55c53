//! The popup of a decision: its rows, when its keys are armed, and what they do.
//!
//! The rules: answer keys are dead until the popup was painted and 400 ms passed; refusing has the
//! first focus; nothing is granted before the end of the command was on screen; what grants more than
//! this one action is asked twice; a refusal offers a line for the reason; refusing is always
//! possible; only values from the list are sent, or free text where it is asked for.

use super::overlay::{DecisionPopup, Line, Overlay};
use super::rows::grant_words;
use crate::app::state::{Redraw, State};
use crate::app::{Action, Effect, commands, decisions};
use crate::domain::{Answer, Choice, Decision, Grant, Moment, Question, Severity};
use crate::text::SafeText;
use std::time::Duration;

/// How long answer keys stay dead after the first paint.
pub const ARMING: Duration = Duration::from_millis(400);
/// Reasons that are remembered.
const REASONS: usize = 12;
/// The name under which they are kept.
pub const KEPT_REASONS: &str = "reasons";
/// Choices that are shown; a list beyond that is none a person can read.
const CHOICES: usize = 64;

/// One row of the popup.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DecisionRow {
    /// A choice by its index.
    Choice(usize),
    /// An answer in one's own words.
    FreeText,
    /// A refusal where the server offered none.
    Deny,
}

/// The rows: the server's choices without repeats, then free text, then a refusal of our own.
pub fn rows(decision: &Decision) -> Vec<DecisionRow> {
    let choices = &decision.choices;
    let mut rows: Vec<DecisionRow> = (0..choices.len())
        .filter(|at| {
            !choices[*at].value.is_empty()
                && !choices[..*at]
                    .iter()
                    .any(|earlier| earlier.value == choices[*at].value)
        })
        .take(CHOICES)
        .map(DecisionRow::Choice)
        .collect();
    match &decision.question {
        Question::Clarification {
            takes_free_text: true,
            ..
        } => rows.push(DecisionRow::FreeText),
        // Nothing to choose from: words are the only answer there is.
        Question::Clarification { .. } if rows.is_empty() => rows.push(DecisionRow::FreeText),
        Question::Approval { .. } => {
            if !choices.iter().any(|choice| choice.grant == Grant::Deny) {
                rows.push(DecisionRow::Deny);
            }
        }
        Question::Clarification { .. } | Question::Picker { .. } => {}
    }
    rows
}

/// Whether free text is all that can be answered.
pub fn takes_only_words(decision: &Decision) -> bool {
    rows(decision) == [DecisionRow::FreeText]
}

/// The row that has the first focus: a refusal, else what is set now, else the first.
pub fn first_focus(decision: &Decision) -> usize {
    let rows = rows(decision);
    let choice = |row: &DecisionRow| match row {
        DecisionRow::Choice(at) => decision.choices.get(*at),
        DecisionRow::FreeText | DecisionRow::Deny => None,
    };
    rows.iter()
        .position(|row| {
            *row == DecisionRow::Deny || choice(row).is_some_and(|c| c.grant == Grant::Deny)
        })
        .or_else(|| {
            rows.iter()
                .position(|row| choice(row).is_some_and(|c| c.is_current))
        })
        .unwrap_or(0)
}

/// What a row says, and what it grants.
pub fn row_words(decision: &Decision, row: DecisionRow) -> (SafeText, &'static str) {
    match row {
        DecisionRow::Choice(at) => match decision.choices.get(at) {
            Some(choice) => (choice_label(choice), choice_grant(decision, choice)),
            None => (SafeText::default(), ""),
        },
        DecisionRow::FreeText => ("In your own words…".into(), ""),
        DecisionRow::Deny => ("Deny".into(), grant_words(Grant::Deny)),
    }
}

fn choice_label(choice: &Choice) -> SafeText {
    if choice.label.as_str().trim().is_empty() {
        SafeText::label(&choice.value)
    } else {
        choice.label.clone()
    }
}

fn choice_grant(decision: &Decision, choice: &Choice) -> &'static str {
    match (&decision.question, choice.grant) {
        (Question::Approval { .. }, Grant::Answer) => grant_words(Grant::Unknown),
        (_, grant) => grant_words(grant),
    }
}

/// Whether answer keys do something yet.
pub fn is_armed(popup: &DecisionPopup, now: Moment) -> bool {
    popup
        .painted
        .is_some_and(|painted| now.since(painted) >= ARMING)
}

/// The open popup, when it is on top.
pub fn top(state: &State) -> Option<&DecisionPopup> {
    match state.screen.overlays.last() {
        Some(Overlay::Decision(popup)) => Some(popup),
        _ => None,
    }
}

fn top_mut(state: &mut State) -> Option<&mut DecisionPopup> {
    match state.screen.overlays.last_mut() {
        Some(Overlay::Decision(popup)) => Some(popup),
        _ => None,
    }
}

/// Whether the line that is open in a popup is the reason of a refusal.
pub fn is_refusing(state: &State, popup: &DecisionPopup) -> bool {
    popup.typing.is_some()
        && decisions::find(state, &popup.account, &popup.decision).is_some_and(|decision| {
            row_is_denial(decision, rows(decision).get(popup.selected).copied())
        })
}

/// Opens a decision: its popup, or the composer of its conversation where writing is the only way
/// to answer it.
pub fn open(
    state: &mut State,
    now: Moment,
    account: &crate::domain::AccountId,
    id: &crate::domain::DecisionId,
) -> Vec<Effect> {
    if commands::is_held_back(state) {
        return Vec::new();
    }
    let Some(decision) = decisions::find(state, account, id) else {
        return Vec::new();
    };
    let conversation = decision.conversation.clone();
    if decision.way == crate::domain::AnswerWay::Composer {
        super::popups::close_all(state);
        let effects = crate::app::conversation::focus(state, now, account, &conversation);
        state.screen.pane = super::Pane::Composer;
        state.say(
            Severity::Info,
            "Answer by writing a message; it does not wait in the queue.",
        );
        return effects;
    }
    super::popups::close_all(state);
    decisions::open_popup(state, account, id);
    Vec::new()
}

/// Carries out an action in the popup.
pub fn perform(state: &mut State, now: Moment, action: Action) -> Vec<Effect> {
    let Some(popup) = top(state) else {
        return Vec::new();
    };
    let Some(decision) = decisions::find(state, &popup.account, &popup.decision).cloned() else {
        super::popups::close_top(state);
        return Vec::new();
    };
    let rows = rows(&decision);
    let selected = popup.selected.min(rows.len().saturating_sub(1));
    let row = rows.get(selected).copied();
    let reasons = state.screen.reasons.clone();
    state.redraw(Redraw::Now);
    let Some(popup) = top_mut(state) else {
        return Vec::new();
    };
    popup.selected = selected;
    let is_armed = is_armed(popup, now);
    if let Some(line) = &mut popup.typing {
        match action {
            Action::Escape if takes_only_words(&decision) => super::popups::close_top(state),
            Action::Escape => popup.typing = None,
            // The press that opened the line, doubled, must not pass over it.
            Action::Accept if line.text.is_empty() && !is_armed => {}
            Action::Accept => return submit(state, now, &decision, row),
            // Recent reasons, as in a shell.
            Action::Previous | Action::Next if row_is_denial(&decision, row) => {
                let at = reasons.iter().position(|reason| *reason == line.text);
                let next = match (action, at) {
                    (Action::Previous, None) => Some(0),
                    (Action::Previous, Some(at)) => Some((at + 1).min(reasons.len() - 1)),
                    (_, Some(at)) => at.checked_sub(1),
                    (_, None) => None,
                };
                *line = Line::new(
                    next.and_then(|at| reasons.get(at).cloned())
                        .unwrap_or_default(),
                );
            }
            action => {
                line.edit(action);
            }
        }
        return Vec::new();
    }
    match action {
        Action::Escape => super::popups::close_top(state),
        Action::Next | Action::Previous => {
            let last = rows.len().saturating_sub(1);
            popup.always_asked = false;
            popup.selected = if action == Action::Next {
                if selected >= last { 0 } else { selected + 1 }
            } else if selected == 0 {
                last
            } else {
                selected - 1
            };
        }
        Action::ScrollUp => popup.scroll = popup.scroll.saturating_sub(1),
        Action::ScrollDown => popup.scroll = popup.scroll.saturating_add(1),
        Action::PageUp => popup.scroll = popup.scroll.saturating_sub(10),
        Action::PageDown => popup.scroll = popup.scroll.saturating_add(10),
        Action::First => popup.scroll = 0,
        // The view says how far that really is.
        Action::Last => popup.scroll = u16::MAX,
        Action::CopyEntry => {
            let text = match &decision.question {
                Question::Approval { command, .. } => command.clone(),
                Question::Clarification { question, .. } => question.clone(),
                Question::Picker { title } => title.clone(),
            };
            return vec![Effect::Copy(text)];
        }
        Action::Accept if is_armed => return accept(state, now, &decision, row),
        _ => {}
    }
    Vec::new()
}

fn row_is_denial(decision: &Decision, row: Option<DecisionRow>) -> bool {
    match row {
        Some(DecisionRow::Deny) => true,
        Some(DecisionRow::Choice(at)) => decision
            .choices
            .get(at)
            .is_some_and(|choice| choice.grant == Grant::Deny),
        Some(DecisionRow::FreeText) | None => false,
    }
}

fn accept(
    state: &mut State,
    now: Moment,
    decision: &Decision,
    row: Option<DecisionRow>,
) -> Vec<Effect> {
    let takes_reason = matches!(
        decision.question,
        Question::Approval {
            takes_reason: true,
            ..
        }
    );
    let Some(row) = row else {
        return Vec::new();
    };
    let Some(popup) = top_mut(state) else {
        return Vec::new();
    };
    if row == DecisionRow::FreeText || (row_is_denial(decision, Some(row)) && takes_reason) {
        popup.typing = Some(Line::default());
        popup.painted = Some(now);
        return Vec::new();
    }
    let is_approval = matches!(decision.question, Question::Approval { .. });
    let grant = match row {
        DecisionRow::Choice(at) => decision.choices.get(at).map(|choice| choice.grant),
        DecisionRow::FreeText | DecisionRow::Deny => None,
    };
    let is_wide = match grant {
        Some(Grant::Always) => true,
        Some(Grant::Unknown | Grant::Answer) => is_approval,
        Some(Grant::Once | Grant::Session | Grant::Deny) | None => false,
    };
    if is_wide && !popup.end_seen {
        state.say(
            Severity::Warning,
            "Read the command to its end first; End goes there.",
        );
        return Vec::new();
    }
    // What grants less goes there by itself, and waits to be pressed again.
    if is_approval && !popup.end_seen && !row_is_denial(decision, Some(row)) {
        popup.scroll = u16::MAX;
        popup.painted = None;
        state.say(
            Severity::Warning,
            "There was more of the command. This is its end; Enter again answers.",
        );
        return Vec::new();
    }
    if is_wide && !popup.always_asked {
        popup.always_asked = true;
        return Vec::new();
    }
    submit(state, now, decision, Some(row))
}

fn submit(
    state: &mut State,
    now: Moment,
    decision: &Decision,
    row: Option<DecisionRow>,
) -> Vec<Effect> {
    let Some(popup) = top(state) else {
        return Vec::new();
    };
    let account = popup.account.clone();
    let typed = popup
        .typing
        .as_ref()
        .map(|line| line.text.trim().to_owned())
        .filter(|text| !text.is_empty());
    let answer = match row {
        Some(DecisionRow::FreeText) => match typed {
            Some(text) => Answer::Text(text),
            None => return Vec::new(),
        },
        Some(DecisionRow::Choice(at)) => match decision.choices.get(at) {
            Some(choice) => Answer::Choice {
                value: choice.value.clone(),
                reason: typed,
            },
            None => return Vec::new(),
        },
        // A refusal that the server did not list; its driver knows how to say no.
        Some(DecisionRow::Deny) => Answer::Choice {
            value: "deny".to_owned(),
            reason: typed,
        },
        None => return Vec::new(),
    };
    if let Answer::Choice {
        reason: Some(reason),
        ..
    } = &answer
    {
        let reason = reason.clone();
        state.screen.reasons.retain(|known| *known != reason);
        state.screen.reasons.insert(0, reason);
        state.screen.reasons.truncate(REASONS);
        let value = state.screen.reasons.join("\n");
        state.write(crate::domain::Write::Ui {
            name: KEPT_REASONS.to_owned(),
            value,
        });
    }
    decisions::answer(state, now, &account, &decision.id, answer)
}
