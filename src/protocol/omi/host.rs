//! What the runtime asks of its host: tools of the person's own, storing in a cloud that is not
//! here, questions for the person. Every request is answered, and with an exact echo, because the
//! runtime drops an answer that differs and waits.

use super::{Asked, Omi, word};
use crate::config::account::ToolConfig;
use crate::domain::{
    Answer, AnswerWay, Choice, CommandId, ConversationId, Decision, DecisionEvent, DecisionId,
    DecisionLife, Expiry, Grant, Moment, Question, RefusalCode, RunId, Topic,
};
use crate::protocol::Output;
use crate::protocol::decode::{CHOICE_LIMIT, bounded};
use crate::protocol::tools;
use crate::text::SafeText;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// The runtime waits two minutes for a tool; the person has a little less.
const TOOL_PATIENCE: Duration = Duration::from_secs(110);
/// Bytes of a result.
const RESULT_LIMIT: usize = 1_000_000 / 4;
/// Fields of a tool request that come back unchanged.
const ECHO: [&str; 11] = [
    "invocationId",
    "ownerId",
    "sessionId",
    "runId",
    "attemptId",
    "profileGeneration",
    "manifestVersion",
    "manifestDigest",
    "daemonBootEpoch",
    "executionGeneration",
    "inputHash",
];

/// A tool request that waits for the person or for the tool.
#[derive(Debug)]
struct Wanted {
    echo: Value,
    name: String,
    input: String,
    until: Moment,
    run: Option<RunId>,
}

/// What is owed to the runtime.
#[derive(Debug, Default)]
pub(super) struct Host {
    /// Requests that wait for the person.
    asking: BTreeMap<DecisionId, Wanted>,
    /// Tools that run.
    running: BTreeMap<u64, Wanted>,
    /// Questions of the runtime, with their runs.
    questions: BTreeMap<DecisionId, Option<RunId>>,
    calls: u64,
    /// Requests that were seen; none is ever carried out twice.
    seen: BTreeSet<String>,
}

impl Host {
    pub(super) fn deadline(&self) -> Option<Moment> {
        self.asking.values().map(|wanted| wanted.until).min()
    }
}

impl Omi {
    pub(super) fn on_tool_wanted(&mut self, now: Moment, line: &Map<String, Value>) {
        let mut echo = json!({"type": "authorized_tool_execution_result"});
        for key in ECHO {
            echo[key] = line.get(key).cloned().unwrap_or(Value::Null);
        }
        for key in ["requestId", "clientId"] {
            if let Some(id) = line.get(key) {
                echo[key] = id.clone();
            }
        }
        let invocation = word(line, "invocationId").to_owned();
        if !self.host.seen.insert(invocation.clone()) {
            return;
        }
        let name = word(line, "toolName").to_owned();
        let place = self.queries.place(line);
        let wanted = Wanted {
            echo,
            input: line.get("input").map_or("{}".to_owned(), Value::to_string),
            until: now.after(TOOL_PATIENCE),
            run: place.as_ref().map(|(_, run)| run.clone()),
            name,
        };
        let is_ours = self
            .endpoint
            .tools
            .get(&wanted.name)
            .is_some_and(|ToolConfig { command }| !command.is_empty());
        if !is_ours {
            return self.fail_tool(
                &wanted.echo,
                "unsupported_swift_executor",
                "not available in this terminal",
            );
        }
        if word(line, "effectClass") == "read_only" {
            return self.run_tool(wanted);
        }
        let Some((conversation, run)) = place else {
            return self.fail_tool(
                &wanted.echo,
                "user_denied",
                "nobody could be asked for this run",
            );
        };
        let empty = Map::new();
        let input = line
            .get("input")
            .and_then(Value::as_object)
            .unwrap_or(&empty);
        let command = format!("{}\n{}", wanted.name, tools::readable(input).as_str());
        let id = DecisionId::from(format!("tool-{invocation}"));
        let choice = |value: &str, label: &str, grant| Choice {
            value: value.to_owned(),
            label: SafeText::label(label),
            grant,
            is_current: false,
        };
        self.say(Topic::Decision(DecisionEvent::Opened(Box::new(Decision {
            id: id.clone(),
            conversation,
            run: Some(run),
            tool: None,
            question: Question::Approval {
                command: SafeText::command(&command),
                description: "The agent wants to run one of your own tools.".into(),
                may_be_cut: false,
                takes_reason: false,
            },
            choices: vec![
                choice("once", "Run it once", Grant::Once),
                choice("deny", "Refuse", Grant::Deny),
            ],
            way: AnswerWay::Direct,
            life: DecisionLife::Open,
            asked_at: now,
            deadline: Some(wanted.until),
            was_asked_for: false,
        }))));
        self.host.asking.insert(id, wanted);
    }

    fn run_tool(&mut self, wanted: Wanted) {
        self.host.calls += 1;
        let call = self.host.calls;
        self.out.push_back(Output::RunTool {
            call,
            name: wanted.name.clone(),
            input: wanted.input.clone(),
            deadline: TOOL_PATIENCE,
        });
        self.host.running.insert(call, wanted);
    }

    pub(super) fn on_tool_finished(&mut self, call: u64, result: Result<String, String>) {
        let Some(wanted) = self.host.running.remove(&call) else {
            return;
        };
        match result {
            Ok(text) => self.answer_tool(&wanted.echo, "succeeded", &bounded(&text, RESULT_LIMIT)),
            Err(words) => self.fail_tool(&wanted.echo, "tool_failed", &words),
        }
    }

    fn fail_tool(&mut self, echo: &Value, code: &str, message: &str) {
        let result = json!({"ok": false, "error": {"code": code, "message": message}});
        self.answer_tool(echo, "failed", &result.to_string());
    }

    fn answer_tool(&mut self, echo: &Value, outcome: &str, result: &str) {
        let mut line = echo.clone();
        line["protocolVersion"] = json!(super::session::VERSION);
        line["outcome"] = json!(outcome);
        line["result"] = json!(result);
        self.write(line);
    }

    /// There is no cloud behind a terminal. The codes park a row at once, so it is not asked again
    /// and again, and nothing is said to be stored that is not.
    pub(super) fn on_backend_wanted(&mut self, kind: &str, line: &Map<String, Value>) {
        let (keys, code): (&[&str], &str) = match kind {
            "journal_backend_sync" => (
                &[
                    "turnId",
                    "conversationId",
                    "conversationGeneration",
                    "attemptCount",
                    "deliveryGeneration",
                    "payloadHash",
                ],
                "backend_sync_http_4xx",
            ),
            "journal_backend_delete" => (
                &[
                    "operationId",
                    "conversationId",
                    "conversationGeneration",
                    "attemptCount",
                    "deliveryGeneration",
                    "payloadHash",
                ],
                "backend_delete_http_4xx",
            ),
            "journal_backend_reconcile" => (&["reconcileId", "conversationId", "pageCursor"], ""),
            _ => (
                &["continuityKey", "deliveryGeneration", "payloadHash"],
                "deferral_http_4xx",
            ),
        };
        let mut answer = json!({
            "type": format!("{kind}_result"),
            "protocolVersion": super::session::VERSION,
            "ok": code.is_empty(),
        });
        for key in ["requestId", "clientId", "ownerId"].iter().chain(keys) {
            answer[*key] = line.get(*key).cloned().unwrap_or(Value::Null);
        }
        if code.is_empty() {
            answer["turns"] = json!([]);
            answer["nextCursor"] = Value::Null;
            answer["hasMore"] = json!(false);
        } else {
            answer["errorCode"] = json!(code);
        }
        self.write(answer);
    }

    /// A newer runtime asks the person.
    pub(super) fn on_elicitation(&mut self, now: Moment, line: &Map<String, Value>) {
        let dispatch = word(line, "dispatchId");
        let place = self
            .queries
            .place(line)
            .map(|(conversation, run)| (conversation, Some(run)))
            .or_else(|| {
                self.of_session(word(line, "sessionId"))
                    .map(|id| (id, None))
            });
        let (false, Some((conversation, run))) = (dispatch.is_empty(), place) else {
            return self.odd("a question without its place");
        };
        let options = line.get("options").and_then(Value::as_array);
        let is_permission = word(line, "channel") == "permission";
        let choices: Vec<Choice> = options
            .into_iter()
            .flatten()
            .filter_map(Value::as_object)
            .take(CHOICE_LIMIT)
            .map(|option| {
                let value = word(option, "optionId").to_owned();
                let grant = match value.as_str() {
                    _ if !is_permission => Grant::Answer,
                    "once" | "allow_once" => Grant::Once,
                    "session" => Grant::Session,
                    "always" | "allow_always" => Grant::Always,
                    "deny" | "reject" | "reject_once" => Grant::Deny,
                    _ => Grant::Unknown,
                };
                let label = match word(option, "label") {
                    "" => &value,
                    label => label,
                };
                Choice {
                    label: SafeText::label(label),
                    grant,
                    is_current: false,
                    value: value.clone(),
                }
            })
            .collect();
        let takes_free_text = line.get("allowsFreeText").and_then(Value::as_bool) == Some(true);
        let question = if is_permission {
            Question::Approval {
                command: SafeText::command(word(line, "subject")),
                description: SafeText::prose(word(line, "prompt")),
                may_be_cut: false,
                takes_reason: false,
            }
        } else {
            Question::Clarification {
                question: SafeText::prose(word(line, "prompt")),
                takes_free_text,
            }
        };
        let id = DecisionId::from(dispatch);
        self.host.questions.insert(id.clone(), run.clone());
        self.say(Topic::Decision(DecisionEvent::Opened(Box::new(Decision {
            id,
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
        }))));
    }

    fn of_session(&self, session: &str) -> Option<ConversationId> {
        self.chats
            .all
            .iter()
            .find(|(_, chat)| !session.is_empty() && chat.session.as_deref() == Some(session))
            .map(|(id, _)| id.clone())
    }

    pub(super) fn on_elicitation_resolved(&mut self, line: &Map<String, Value>) {
        let decision = DecisionId::from(word(line, "dispatchId"));
        let asked = self.pending.take(word(line, "requestId"));
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

    pub(super) fn answer(
        &mut self,
        now: Moment,
        command: CommandId,
        decision: &DecisionId,
        answer: Answer,
    ) {
        if let Some(wanted) = self.host.asking.remove(decision) {
            let runs = matches!(&answer, Answer::Choice { value, .. } if value == "once");
            self.say(Topic::Decision(DecisionEvent::Resolved {
                decision: decision.clone(),
                choice: Some(if runs { "Run it once" } else { "Refuse" }.into()),
                command: Some(command),
            }));
            if runs {
                self.run_tool(wanted);
            } else {
                self.fail_tool(&wanted.echo, "user_denied", "the person refused");
            }
            return self.done(command);
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
            Answer::Choice { value, reason } => {
                line["optionId"] = json!(value);
                if let Some(reason) = reason {
                    line["text"] = json!(reason);
                }
            }
            Answer::Text(text) => line["text"] = json!(text),
        }
        self.ask(now, line, Asked::Elicit { command });
    }

    /// Requests whose time is over are answered, so that the agent goes on.
    pub(super) fn expire_questions(&mut self, now: Moment) {
        let due: Vec<DecisionId> = self
            .host
            .asking
            .iter()
            .filter(|(_, wanted)| wanted.until.mono_ms <= now.mono_ms)
            .map(|(id, _)| id.clone())
            .collect();
        for decision in due {
            if let Some(wanted) = self.host.asking.remove(&decision) {
                self.fail_tool(&wanted.echo, "user_timeout", "the person did not answer");
                self.say(Topic::Decision(DecisionEvent::Expired {
                    decision,
                    why: Expiry::TimedOut,
                }));
            }
        }
    }

    /// A run ended: nobody waits for these answers any more.
    pub(super) fn expire_questions_of(&mut self, run: &RunId) {
        self.expire_where(Expiry::RunEnded, |of| of == Some(run));
    }

    pub(super) fn cut_host(&mut self) {
        self.host.running.clear();
        self.expire_where(Expiry::ServerRestarted, |_| true);
    }

    fn expire_where(&mut self, why: Expiry, matches: impl Fn(Option<&RunId>) -> bool) {
        let asking = self
            .host
            .asking
            .iter()
            .filter(|(_, wanted)| matches(wanted.run.as_ref()));
        let questions = self
            .host
            .questions
            .iter()
            .filter(|(_, run)| matches(run.as_ref()));
        let gone: Vec<DecisionId> = asking
            .map(|(id, _)| id.clone())
            .chain(questions.map(|(id, _)| id.clone()))
            .collect();
        for decision in gone {
            self.host.asking.remove(&decision);
            self.host.questions.remove(&decision);
            self.say(Topic::Decision(DecisionEvent::Expired { decision, why }));
        }
    }
}
