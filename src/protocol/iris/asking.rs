//! The texts that gateways ask with, read as questions and choices. Only reads; decides nothing.

use crate::domain::{Choice, Grant, Question};
use crate::protocol::decode::CHOICE_LIMIT;
use crate::text::{SafeText, unmarked};

/// Gateways cut the command of an approval about here.
const CUT_AT: usize = 190;

/// What an answer says, in words.
pub(super) fn spoken(text: &str) -> SafeText {
    SafeText::prose(match text {
        "/approve" => "once",
        "/approve session" => "session",
        "/approve always" => "always",
        _ if text.starts_with("/deny") => "deny",
        _ => text,
    })
}

/// The command in the fence and the reason behind it.
pub(super) fn approval(text: &str) -> Question {
    let mut command = Vec::new();
    let mut in_fence = false;
    let mut had_fence = false;
    let mut reason = String::new();
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            in_fence = !in_fence && !had_fence;
            had_fence = true;
        } else if in_fence {
            command.push(line);
        } else if let Some(rest) = line.trim().strip_prefix("Reason:") {
            reason = rest.trim().to_owned();
        }
    }
    let command = if command.is_empty() {
        text.to_owned()
    } else {
        command.join("\n")
    };
    let may_be_cut =
        command.chars().count() >= CUT_AT || command.ends_with('…') || command.ends_with("...");
    Question::Approval {
        command: SafeText::command(&command),
        description: SafeText::prose(&unmarked(&reason)),
        may_be_cut,
        takes_reason: true,
    }
}

/// The question and its numbered choices.
pub(super) fn clarification(text: &str) -> (Question, Vec<Choice>) {
    let mut question = Vec::new();
    let mut choices: Vec<Choice> = Vec::new();
    for line in text.lines() {
        let trimmed = line.trim();
        let digits = trimmed.bytes().take_while(u8::is_ascii_digit).count();
        let label = trimmed[digits..].strip_prefix(". ").map(str::trim);
        match label {
            Some(label)
                if trimmed[..digits].parse() == Ok(choices.len() + 1)
                    && choices.len() < CHOICE_LIMIT =>
            {
                choices.push(Choice {
                    value: label.to_owned(),
                    label: SafeText::prose(&unmarked(label)),
                    grant: Grant::Answer,
                    is_current: false,
                });
            }
            _ if choices.is_empty() => question.push(line),
            _ => {}
        }
    }
    // How to answer is said by the popup.
    let is_manual =
        |line: &mut &str| line.trim().is_empty() || line.trim_start().starts_with("Reply with ");
    while question.len() > 1 && question.pop_if(is_manual).is_some() {}
    let question = question.join("\n");
    let question = question.trim().trim_start_matches('❓').trim();
    (
        Question::Clarification {
            question: SafeText::prose(&unmarked(question)),
            takes_free_text: true,
        },
        choices,
    )
}
