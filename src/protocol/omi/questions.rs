//! Questions of newer runtimes for the person: may a command run, which of these, how is it meant.
//! The run waits for an answer without a limit, so every question finds a place on the screen, and
//! one with choices can be left without an answer.

use super::{Asked, Omi, word};
use crate::domain::{
    Answer, AnswerWay, Choice, CommandId, ConversationId, Decision, DecisionEvent, DecisionId,
    DecisionLife, Grant, Moment, Question, RefusalCode, Topic,
};
use crate::protocol::decode::CHOICE_LIMIT;
use crate::text::SafeText;
use serde_json::{Map, Value, json};

/// The choice of ours that leaves a question without an answer.
const LEAVE: &str = "trialogue:leave";

impl Omi {
    pub(super) fn on_elicitation(&mut self, now: Moment, line: &Map<String, Value>) {
        let dispatch = word(line, "dispatchId");
        if dispatch.is_empty() {
            return self.odd("a question without an id");
        }
        let place = self
            .queries
            .place(line)
            .map(|(conversation, run)| (conversation, Some(run)))
            .or_else(|| {
                let conversation = self.of_session(word(line, "sessionId"));
                conversation
                    .or_else(|| self.newest_chat())
                    .map(|id| (id, None))
            });
        let Some((conversation, run)) = place else {
            return self.odd("a question without its place");
        };
        let is_permission = word(line, "mode") == "permission"
            || matches!(word(line, "channel"), "permission" | "acp_permission");
        let mut choices: Vec<Choice> = line
            .get("options")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_object)
            .take(CHOICE_LIMIT)
            .filter(|option| !word(option, "optionId").is_empty())
            .map(|option| choice(option, is_permission, word(line, "recommendedDefault")))
            .collect();
        let takes_free_text = line.get("allowsFreeText").and_then(Value::as_bool) == Some(true);
        // Where the answer is only written, the field for it comes first.
        let is_only_written = choices.is_empty() && takes_free_text && !is_permission;
        let has_refusal = choices.iter().any(|choice| choice.grant == Grant::Deny);
        if !has_refusal && !is_only_written {
            choices.push(Choice {
                value: LEAVE.to_owned(),
                label: if is_permission {
                    "Refuse".into()
                } else {
                    "No answer".into()
                },
                grant: if is_permission {
                    Grant::Deny
                } else {
                    Grant::Answer
                },
                is_current: false,
            });
        }
        let question = if is_permission {
            approval(line)
        } else {
            Question::Clarification {
                question: SafeText::prose(&asked_words(line)),
                takes_free_text,
            }
        };
        let id = DecisionId::from(dispatch);
        let decision = Decision {
            id: id.clone(),
            conversation,
            run,
            tool: None,
            question,
            choices,
            way: AnswerWay::Direct,
            life: DecisionLife::Open,
            asked_at: now,
            deadline: None,
            was_asked_for: false,
        };
        self.host.questions.insert(id, decision.clone());
        self.say(Topic::Decision(DecisionEvent::Opened(Box::new(decision))));
    }

    pub(super) fn of_session(&self, session: &str) -> Option<ConversationId> {
        self.chats
            .all
            .iter()
            .find(|(_, chat)| !session.is_empty() && chat.session.as_deref() == Some(session))
            .map(|(id, _)| id.clone())
    }

    /// Settled: by our answer, or elsewhere. Its line names the question and no request.
    pub(super) fn on_elicitation_resolved(&mut self, line: &Map<String, Value>) {
        let decision = DecisionId::from(word(line, "dispatchId"));
        let asked = self.pending.take_first(
            |asked| matches!(asked, Asked::Elicit { decision: of, .. } if *of == decision),
        );
        let command = asked.and_then(|asked| asked.command());
        if self.host.questions.remove(&decision).is_some() {
            self.say(Topic::Decision(DecisionEvent::Resolved {
                decision,
                choice: None,
                command,
            }));
        }
        if let Some(command) = command {
            self.done(command);
        }
    }

    pub(super) fn answer_question(
        &mut self,
        now: Moment,
        command: CommandId,
        decision: &DecisionId,
        answer: Answer,
    ) {
        if self.answer_dispatch(now, command, decision, &answer) {
            return;
        }
        if !self.host.questions.contains_key(decision) {
            return self.refuse(
                command,
                RefusalCode::NotFound,
                "The runtime no longer waits for this answer.",
            );
        }
        let mut line = json!({
            "type": "resolve_elicitation",
            "dispatchId": decision.as_str(),
            "decision": "answer",
        });
        match answer {
            Answer::Choice { value, .. } if value == LEAVE => line["decision"] = json!("cancel"),
            Answer::Choice { value, reason } => {
                line["optionId"] = json!(value);
                if let Some(reason) = reason {
                    line["text"] = json!(reason);
                }
            }
            Answer::Text(text) => line["text"] = json!(text),
        }
        let decision = decision.clone();
        self.ask(now, line, Asked::Elicit { command, decision });
    }
}

/// A permission: the command as it would run, and the words around it.
fn approval(line: &Map<String, Value>) -> Question {
    let (subject, words) = (word(line, "subject"), asked_words(line));
    let (command, description) = match subject {
        "" => (words.as_str(), String::new()),
        subject => (subject, words.clone()),
    };
    Question::Approval {
        command: SafeText::command(command),
        description: SafeText::prose(&description),
        may_be_cut: false,
        takes_reason: false,
    }
}

/// What is asked, and where it applies.
fn asked_words(line: &Map<String, Value>) -> String {
    let prompt = match word(line, "prompt") {
        "" => word(line, "title"),
        prompt => prompt,
    };
    match word(line, "context") {
        "" => prompt.to_owned(),
        context => format!("{prompt}\n\n{context}"),
    }
}

pub(super) fn choice(
    option: &Map<String, Value>,
    is_permission: bool,
    recommended: &str,
) -> Choice {
    let value = word(option, "optionId").to_owned();
    let effect = match word(option, "effect") {
        "" | "choice" => value.as_str(),
        effect => effect,
    };
    let grant = match effect {
        _ if !is_permission => Grant::Answer,
        "allow_once" | "once" => Grant::Once,
        "session" => Grant::Session,
        "allow_always" | "always" => Grant::Always,
        "reject_once" | "reject_always" | "reject" | "deny" => Grant::Deny,
        _ => Grant::Unknown,
    };
    let label = match word(option, "label") {
        "" => value.as_str(),
        label => label,
    };
    Choice {
        label: SafeText::label(label),
        grant,
        is_current: !is_permission && !recommended.is_empty() && recommended == value,
        value,
    }
}
