//! A popup as numbered lines, with what may be typed now.

use crate::app::screen::decision::{row_words, rows as decision_rows};
use crate::app::screen::overlay::{DecisionPopup, Overlay};
use crate::app::screen::rows;
use crate::app::state::State;
use crate::domain::Question;
use std::fmt::Write as _;

/// Rows of a list that are told at once.
const MOST: usize = 40;

/// A popup in words.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Page {
    pub text: String,
    /// Rows that a number may choose.
    pub rows: usize,
}

/// The popup on top; none when none is open or it has nothing to say yet.
pub fn page(state: &State) -> Option<Page> {
    let overlay = state.screen.overlays.last()?;
    let page = match overlay {
        Overlay::Decision(popup) => decision(state, popup)?,
        Overlay::Confirm(confirm) => Page {
            text: format!(
                "{}\n{}\nType yes to do it ({}), or an empty line to leave.\n",
                confirm.title, confirm.text, confirm.yes
            ),
            rows: 0,
        },
        Overlay::Prompt(prompt) => {
            let error = prompt
                .error
                .as_ref()
                .map_or_else(String::new, |error| format!("{error}\n"));
            Page {
                text: format!(
                    "{error}{}. {}\nType it, or an empty line to leave.\n",
                    prompt.title, prompt.hint
                ),
                rows: 0,
            }
        }
        Overlay::Document { title, body, .. } => Page {
            text: format!("{title}\n{body}\n"),
            rows: 0,
        },
        Overlay::Account { account, .. } => {
            let of = state.account(account)?;
            let who = of
                .account
                .identity
                .as_ref()
                .map_or_else(String::new, |who| {
                    format!(", {} {}", who.server, who.version)
                });
            Page {
                text: format!("{}{who}\n", of.account.label),
                rows: 0,
            }
        }
        Overlay::Help { .. } => Page {
            text: "Type .help for what can be typed here.\n".to_owned(),
            rows: 0,
        },
        Overlay::Wizard(wizard) if wizard.kind.is_some() => Page {
            text: "Accounts are added with `trialogue account add`.\n".to_owned(),
            rows: 0,
        },
        _ => list(state, overlay),
    };
    Some(page)
}

fn list(state: &State, overlay: &Overlay) -> Page {
    let rows = rows::rows(state, overlay);
    let mut text = format!("{}:\n", title(overlay));
    for (n, row) in rows.iter().take(MOST).enumerate() {
        let current = if row.is_current { " (now)" } else { "" };
        let detail = match row.detail.as_str() {
            "" => String::new(),
            detail => format!(", {detail}"),
        };
        let _ = writeln!(text, "{} {}{detail}{current}", n + 1, row.label);
    }
    if rows.len() > MOST {
        let _ = writeln!(text, "and {} more", rows.len() - MOST);
    }
    let has_filter = filter(overlay).is_some();
    text.push_str(match (rows.is_empty(), has_filter) {
        (true, true) => "Nothing there. Type words to look for, or an empty line to leave.\n",
        (true, false) => "Nothing there. An empty line leaves.\n",
        (false, true) => "Type a number, words to narrow the list, or an empty line to leave.\n",
        (false, false) => "Type a number, or an empty line to leave.\n",
    });
    Page {
        text,
        rows: rows.len().min(MOST),
    }
}

/// The line that narrows a list.
fn filter(overlay: &Overlay) -> Option<&str> {
    match overlay {
        Overlay::Switcher { filter, .. }
        | Overlay::Palette { filter, .. }
        | Overlay::Models { filter, .. }
        | Overlay::Inspector { filter, .. }
        | Overlay::Inputs { filter, .. }
        | Overlay::Choices { filter, .. } => Some(&filter.text),
        Overlay::Search(popup) => Some(&popup.query.text),
        _ => None,
    }
}

fn title(overlay: &Overlay) -> &str {
    match overlay {
        Overlay::Attention { .. } => "Waiting for you",
        Overlay::Switcher { .. } => "Conversations",
        Overlay::Palette { .. } => "Everything",
        Overlay::Models { .. } => "Models",
        Overlay::Effort { .. } => "Reasoning effort",
        Overlay::Search(_) => "Found",
        Overlay::Media { .. } => "Files of this conversation",
        Overlay::Queue { .. } => "Waiting to be sent",
        Overlay::EntryMenu { .. } => "What to do with it",
        Overlay::Inspector { .. } => "Frames, newest first",
        Overlay::Theme { .. } => "Themes",
        Overlay::Wizard(_) => "Kinds of accounts",
        Overlay::Welcome { .. } => "Welcome",
        Overlay::Inputs { .. } => "Earlier inputs",
        Overlay::Functions { .. } => "What it offers besides",
        Overlay::Choices { title, .. } => title.as_str(),
        Overlay::Links { .. } => "Links",
        Overlay::CodeBlocks { .. } => "Code blocks",
        Overlay::Profile { .. } => "How this conversation is carried out",
        Overlay::Decision(_)
        | Overlay::Help { .. }
        | Overlay::Confirm(_)
        | Overlay::Prompt(_)
        | Overlay::Document { .. }
        | Overlay::Account { .. } => "",
    }
}

fn decision(state: &State, popup: &DecisionPopup) -> Option<Page> {
    let account = state.account(&popup.account)?;
    let decision = account
        .decisions
        .iter()
        .find(|decision| decision.id == popup.decision)?;
    if popup.typing.is_some() {
        let text = match decision.question {
            Question::Approval { .. } => "Why? Type a reason for the agent, or an empty line.\n",
            _ => "Type your answer.\n",
        };
        return Some(Page {
            text: text.to_owned(),
            rows: 0,
        });
    }
    let mut text = format!("? {}\n", super::place_name(account, &decision.conversation));
    match &decision.question {
        Question::Approval {
            command,
            description,
            may_be_cut,
            ..
        } => {
            if !description.is_empty() {
                let _ = writeln!(text, "The agent wants to: {description}");
            }
            let lines = command.as_str().lines().count();
            let _ = writeln!(text, "The whole command, {lines} lines:");
            for line in command.as_str().lines() {
                let _ = writeln!(text, "  {line}");
            }
            if *may_be_cut {
                text.push_str("It may have been cut: there can be more than this.\n");
            }
        }
        Question::Clarification { question, .. } => {
            let _ = writeln!(text, "{question}");
        }
        Question::Picker { title } => {
            let _ = writeln!(text, "{title}");
        }
    }
    let rows = decision_rows(decision);
    for (n, row) in rows.iter().enumerate() {
        let (label, grants) = row_words(decision, *row);
        let grants = if grants.is_empty() {
            String::new()
        } else {
            format!(": {grants}")
        };
        let _ = writeln!(text, "{} {label}{grants}", n + 1);
    }
    if popup.always_asked {
        let _ = writeln!(
            text,
            "This grants more than this one command. Type {} again to do it, or an empty line to leave.",
            popup.selected + 1
        );
    } else {
        text.push_str("Type a number, or an empty line to leave it open.\n");
    }
    Some(Page {
        text,
        rows: rows.len(),
    })
}
