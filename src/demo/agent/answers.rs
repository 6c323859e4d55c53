//! What a person's answer, or the lack of one, does to a play. What is asked, and when, is known
//! where the steps are laid out.

use super::{Answer, Beat, Cue, Play, Question, Reply};
use serde_json::{Value, json};

impl Play {
    /// A person answered what is open. False when nothing is.
    pub fn answer(&mut self, now: u64, reply: &Reply) -> bool {
        let Some((question, _)) = self.open.take() else {
            return false;
        };
        self.clock = now;
        let (value, reason) = match reply {
            Reply::Choice { value, reason } => (value.clone(), reason.clone().unwrap_or_default()),
            Reply::Text(text) => (text.clone(), String::new()),
        };
        let mut words = vec![value.to_lowercase()];
        match &question {
            Question::Approval { description, .. } => {
                let is_denied = value == "deny";
                words.push(if is_denied { "denied" } else { "approved" }.into());
                if value == "session" || value == "always" {
                    self.context.approved.push(description.clone());
                }
            }
            Question::Clarify { choices, .. } => {
                if !choices.iter().any(|c| c.eq_ignore_ascii_case(&value)) {
                    words.push("other".into());
                }
            }
            Question::Host { .. } => {
                let is_ok = serde_json::from_str::<Value>(&value)
                    .ok()
                    .and_then(|result| result.get("ok").and_then(Value::as_bool))
                    .unwrap_or(true);
                words.push(if is_ok { "approved" } else { "denied" }.into());
            }
            Question::Picker => {}
        }
        self.answer = Answer {
            words,
            value,
            reason,
        };
        self.close(&question, Some(reply));
        true
    }

    /// Nobody is asked: the answer stands already when the question comes.
    pub fn answer_at_once(&mut self, now: u64, reply: &Reply) {
        self.pass_ask();
        self.answer(now, reply);
    }

    /// A gateway that has no host for its tools says so.
    pub fn refuse_host_tool(&mut self, now: u64) {
        let refusal = json!({"ok": false, "error": {"code": "unsupported", "message": "no host has this tool"}});
        self.answer_at_once(now, &Reply::Text(refusal.to_string()));
    }

    /// Opens the question that comes next, so that it can be answered in the same moment.
    fn pass_ask(&mut self) {
        if let Some((distance, Cue::Ask { question, timeout })) = self.cues.front().cloned() {
            self.clock += distance;
            self.cues.pop_front();
            self.open = Some((question, self.clock + timeout));
        }
    }

    /// Ends the tool that carried a question, by the answer or by the lack of one.
    pub(super) fn close(&mut self, question: &Question, reply: Option<&Reply>) {
        match question {
            Question::Approval {
                call,
                output,
                milliseconds,
                ..
            } => {
                let (milliseconds, output, error) = match reply {
                    None => (
                        0,
                        String::new(),
                        Some("BLOCKED: the approval timed out. Do NOT retry this command; go on without it or ask the user.".to_owned()),
                    ),
                    Some(Reply::Choice { value, reason }) if value == "deny" => (
                        0,
                        String::new(),
                        Some(match reason {
                            Some(reason) if !reason.is_empty() => format!("BLOCKED: the user denied this command: {reason}. Do NOT retry it."),
                            _ => "BLOCKED: the user denied this command. Do NOT retry it.".to_owned(),
                        }),
                    ),
                    Some(_) => (*milliseconds, output.clone(), None),
                };
                self.cues.push_back((
                    milliseconds,
                    Cue::Beat(Beat::ToolEnded {
                        call: call.clone(),
                        name: "terminal".into(),
                        milliseconds,
                        output,
                        error,
                    }),
                ));
            }
            Question::Clarify { call, .. } => self.cues.push_back((
                5,
                Cue::Beat(Beat::ToolEnded {
                    call: call.clone(),
                    name: "clarify".into(),
                    milliseconds: 5,
                    output: json!({"user_response": self.answer.value}).to_string(),
                    error: reply.is_none().then(|| "the question timed out".to_owned()),
                }),
            )),
            Question::Host { call, name } => {
                let error = match reply {
                    None => Some("swift_tool_timeout".to_owned()),
                    Some(_) if self.answer.words.iter().any(|word| word == "denied") => {
                        Some(self.answer.value.clone())
                    }
                    Some(_) => None,
                };
                let ended = Beat::ToolEnded {
                    call: call.clone(),
                    name: name.clone(),
                    milliseconds: 0,
                    output: self.answer.value.clone(),
                    error,
                };
                self.beat(0, ended);
            }
            Question::Picker => self.fill(),
        }
    }
}
