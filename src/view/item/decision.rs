//! A decision in words: who asks what, in one line; used by the bar and the lists.

use crate::app::screen::rows::question_text;
use crate::domain::{Decision, DecisionLife, Expiry, Question};

/// What is asked, in a word.
pub(crate) fn kind(decision: &Decision) -> &'static str {
    match decision.question {
        Question::Approval { .. } => "approval",
        Question::Clarification { .. } => "question",
        Question::Picker { .. } => "choice",
    }
}

/// The lines of what is asked that have something in them.
pub(crate) fn lines(decision: &Decision) -> Vec<&str> {
    question_text(&decision.question)
        .as_str()
        .lines()
        .map(str::trim_end)
        .filter(|line| !line.is_empty())
        .collect()
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
                Expiry::Gone => "expired: nobody waits for it any more",
                Expiry::RunEnded => "gone with its run",
                Expiry::TimedOut => "expired: its time ran out",
                Expiry::ServerRestarted => "gone in a restart",
            }
            .to_owned(),
        ),
        DecisionLife::Uncertain { .. } => {
            Some("the link broke before your answer was taken".to_owned())
        }
    }
}
