//! A decision in words: who asks what, in one line; used by the bar and the lists.

use crate::domain::{Decision, DecisionLife, Expiry, Question};
use crate::view::words;

/// What is asked, in a word.
pub(crate) fn kind(decision: &Decision) -> &'static str {
    match decision.question {
        Question::Approval { .. } => "approval",
        Question::Clarification { .. } => "question",
        Question::Picker { .. } => "choice",
    }
}

/// The first line of what is asked.
pub(crate) fn headline(decision: &Decision) -> &str {
    match &decision.question {
        Question::Approval {
            command,
            description,
            ..
        } => {
            if command.is_empty() {
                words::first_line(description)
            } else {
                command.as_str().lines().next().unwrap_or_default()
            }
        }
        Question::Clarification { question, .. } => words::first_line(question),
        Question::Picker { title } => words::first_line(title),
    }
}

/// How a decision stands, when it is not simply open.
pub(crate) fn standing(decision: &Decision) -> Option<String> {
    match &decision.life {
        DecisionLife::Open => None,
        DecisionLife::Answering { .. } => Some("your answer is on its way".to_owned()),
        DecisionLife::Resolved { choice, by_us, .. } => {
            let what = choice.as_ref().map_or_else(
                || "answered".to_owned(),
                |choice| format!("answered: {choice}"),
            );
            Some(if *by_us {
                what
            } else {
                format!("{what}, elsewhere")
            })
        }
        DecisionLife::Expired { why, .. } => Some(
            match why {
                Expiry::Gone => "expired: the server no longer knows it",
                Expiry::RunEnded => "gone with its run",
                Expiry::TimedOut => "expired: its time ran out",
                Expiry::ServerRestarted => "gone: the server restarted",
            }
            .to_owned(),
        ),
        DecisionLife::Uncertain { .. } => {
            Some("the link broke before the server took your answer".to_owned())
        }
    }
}
