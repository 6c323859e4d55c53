//! What stands in a conversation, in words.

use crate::desk::Desk;
use std::fmt::Write as _;
use trialogue::app::outbox;
use trialogue::app::state::Conversation;
use trialogue::domain::*;

/// Longer texts are cut in the stated scenes.
const LONG: usize = 160;

/// One line, and not too long.
fn short(text: &str) -> String {
    let line = text.trim_end().replace('\n', " ⏎ ");
    let mut out: String = line.chars().take(LONG).collect();
    if line.chars().count() > LONG {
        let _ = write!(out, "… ({} characters)", text.chars().count());
    }
    out
}

pub fn question(decision: &Decision) -> String {
    let mut line = match &decision.question {
        Question::Approval {
            command,
            description,
            ..
        } => format!(
            "{} ({})",
            short(command.as_str()),
            short(description.as_str())
        ),
        Question::Clarification { question, .. } => short(question.as_str()),
        Question::Picker { title } => short(title.as_str()),
    };
    for choice in &decision.choices {
        let _ = write!(line, " [{}]", choice.label);
    }
    if decision.way != AnswerWay::Direct {
        line.push_str(" answered by writing");
    }
    line
}

pub fn entry_line(desk: &Desk, entry: &Entry) -> String {
    match &entry.body {
        EntryBody::Message(message) => message_line(desk, message),
        EntryBody::Tool(tool) => {
            let mut line = format!("tool {}", tool.name);
            if !tool.preview.is_empty() {
                let _ = write!(line, ": {}", short(tool.preview.as_str()));
            }
            let _ = write!(line, " · {:?}", tool.status);
            if let Some(ms) = tool.duration_ms {
                let _ = write!(line, " in {ms} ms");
            }
            for (name, value) in [("output", &tool.output), ("error", &tool.error)] {
                if !value.is_empty() {
                    let _ = write!(line, " · {name}: {}", short(value.as_str()));
                }
            }
            line
        }
        EntryBody::RunEnded { .. } | EntryBody::Gap { .. } | EntryBody::Deleted { .. } => {
            format!("-- {} --", crate::desk::line(entry))
        }
    }
}

fn message_line(desk: &Desk, message: &Message) -> String {
    let mut line = match message.author {
        Author::User => "you",
        Author::Assistant => "agent",
        Author::System => "system",
        Author::Automation => "automation",
    }
    .to_owned();
    if message.sort != MessageSort::Ordinary {
        let _ = write!(line, " ({:?})", message.sort);
    }
    let _ = write!(line, ": {}", short(message.body.text().as_str()));
    if !message.reasoning.is_empty() {
        let _ = write!(
            line,
            " · thought: {}",
            short(message.reasoning.text().as_str())
        );
    }
    for id in &message.attachments {
        match desk.work().attachments.get(id) {
            Some(file) => {
                let state = match &file.state {
                    AttachmentState::Present { .. } => "here".to_owned(),
                    other => format!("{other:?}").to_lowercase(),
                };
                let _ = write!(
                    line,
                    " · file {} {} bytes, {state}",
                    file.name,
                    file.size.unwrap_or_default()
                );
            }
            None => line.push_str(" · file unknown"),
        }
    }
    match &message.delivery {
        None => {}
        Some(Delivery::Failed(refusal)) => {
            let _ = write!(line, " · failed: {}", refusal.text);
        }
        Some(delivery) => {
            let _ = write!(line, " · {}", format!("{delivery:?}").to_lowercase());
        }
    }
    if let Some(model) = &message.footer.model {
        let _ = write!(line, " · {model}");
    }
    if let Some(tokens) = message.footer.tokens {
        let _ = write!(line, " · {tokens} tokens");
    }
    if message.is_streaming {
        line.push_str(" · streaming");
    }
    if message.is_interrupted {
        line.push_str(" · cut");
    }
    line
}

/// What belongs to a conversation and stands beside its timeline.
pub fn beside(desk: &Desk, id: &ConversationId) -> Vec<(&'static str, String)> {
    let of = desk.work();
    let here: &Conversation = &of.conversations[id];
    let todos: Vec<String> = here
        .todos
        .iter()
        .map(|todo| format!("{:?} {}", todo.status, todo.content))
        .collect();
    let waiting: Vec<String> = of
        .decisions
        .iter()
        .filter(|decision| decision.conversation == *id && decision.life.is_open())
        .map(question)
        .collect();
    let queue: Vec<String> = outbox::queue(of, id)
        .into_iter()
        .map(|row| short(&row.text))
        .collect();
    vec![
        ("name", here.info.name.as_str().to_owned()),
        (
            "run",
            here.run
                .as_ref()
                .map(|run| format!("{:?}", run.phase))
                .unwrap_or_default(),
        ),
        ("todos", todos.join(", ")),
        ("waiting", waiting.join(", ")),
        ("queue", queue.join(", ")),
        (
            "model",
            here.model
                .as_ref()
                .map(|choice| choice.model.clone())
                .unwrap_or_default(),
        ),
        (
            "effort",
            here.effort
                .as_ref()
                .map(|effort| effort.level.clone().unwrap_or("default".to_owned()))
                .unwrap_or_default(),
        ),
        (
            "auto-approve",
            if here.auto_approve { "on" } else { "" }.to_owned(),
        ),
    ]
}
