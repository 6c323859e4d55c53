//! Tools that the runtime wants its host to run. Every request is answered, and with an exact echo,
//! because the runtime drops an answer that differs and waits for two minutes. What is not among
//! the account's own tools is refused at once; what is runs after the person said yes, or at once
//! when it only reads. No request is carried out twice: a repeated one gets the same answer.

use super::dispatches::{Dispatch, Posed};
use super::{Omi, input_hash, word};
use crate::config::account::ToolConfig;
use crate::domain::{
    Answer, AnswerWay, Choice, CommandId, ConversationId, Decision, DecisionEvent, DecisionId,
    DecisionLife, Expiry, Grant, Moment, Question, RunEvent, RunId, ToolCall, ToolCallId,
    ToolStatus, Topic,
};
use crate::protocol::Output;
use crate::protocol::decode::{TOOL_TEXT_LIMIT, bounded};
use crate::protocol::tools;
use crate::text::SafeText;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// The runtime waits two minutes for a tool; person and tool together have a little less.
const TOOL_PATIENCE: Duration = Duration::from_secs(110);
/// Bytes of a result.
const RESULT_LIMIT: usize = 1_000_000 / 4;
/// Answers that are remembered.
const ANSWERS: usize = 512;
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
    /// One and the same request, however often it comes.
    key: String,
    echo: Value,
    name: String,
    input: Value,
    /// What running it does, as the runtime sorts it.
    effect: String,
    until: Moment,
    place: Option<(ConversationId, RunId)>,
    row: ToolCallId,
    /// The agent has a row of its own for it.
    is_shown: bool,
}

/// An answer that was given.
#[derive(Debug)]
struct Given {
    key: String,
    outcome: &'static str,
    result: String,
}

/// What is owed to the runtime.
#[derive(Debug, Default)]
pub(super) struct Host {
    /// Requests that wait for the person.
    asking: BTreeMap<DecisionId, Wanted>,
    /// Tools that run.
    running: BTreeMap<u64, Wanted>,
    /// Questions of the runtime, as they were asked.
    pub(super) questions: BTreeMap<DecisionId, Decision>,
    /// What waits in the queue of the runtime, as it was listed last.
    pub(super) queue: Vec<Dispatch>,
    /// Those of it that the person is asked.
    pub(super) dispatches: BTreeMap<DecisionId, Posed>,
    calls: u64,
    /// The newest answers, kept over the end of a process: a request that comes again after it is
    /// not carried out again.
    given: VecDeque<Given>,
}

impl Host {
    pub(super) fn deadline(&self) -> Option<Moment> {
        let dispatches = self.dispatches.values().filter_map(|posed| posed.until);
        let asking = self.asking.values().map(|wanted| wanted.until);
        asking.chain(dispatches).min()
    }

    /// Whether the person is asked nothing.
    pub(super) fn is_quiet(&self) -> bool {
        self.asking.is_empty() && self.questions.is_empty() && self.dispatches.is_empty()
    }

    /// A request that is being worked on already takes the newest echo.
    fn takes_again(&mut self, key: &str, echo: &Value) -> bool {
        let mut waiting = self.asking.values_mut().chain(self.running.values_mut());
        match waiting.find(|wanted| wanted.key == key) {
            Some(wanted) => {
                wanted.echo = echo.clone();
                true
            }
            None => false,
        }
    }
}

impl Omi {
    pub(super) fn on_tool_wanted(&mut self, now: Moment, line: &Map<String, Value>) {
        let mut echo = json!({"type": "authorized_tool_execution_result"});
        for key in ECHO.iter().chain(&["requestId", "clientId"]) {
            if let Some(value) = line.get(*key) {
                echo[*key] = value.clone();
            }
        }
        let key = [
            "sessionId",
            "runId",
            "invocationId",
            "toolName",
            "inputHash",
        ]
        .map(|field| word(line, field))
        .join("\n");
        if let Some(given) = self.host.given.iter().find(|given| given.key == key) {
            let (outcome, result) = (given.outcome, given.result.clone());
            return self.answer_tool(&echo, outcome, &result);
        }
        if self.host.takes_again(&key, &echo) {
            return;
        }
        let name = word(line, "toolName").to_owned();
        let place = self.queries.place(line);
        let wanted = Wanted {
            is_shown: self.queries.shows_tool(&place, &name),
            key,
            echo,
            input: line.get("input").cloned().unwrap_or_else(|| json!({})),
            until: now.after(TOOL_PATIENCE),
            place,
            row: ToolCallId::from(format!(
                "host-{}-{}",
                word(line, "runId"),
                word(line, "invocationId")
            )),
            effect: word(line, "effectClass").to_owned(),
            name,
        };
        let is_ours = self
            .endpoint
            .tools
            .get(&wanted.name)
            .is_some_and(|ToolConfig { command }| !command.is_empty());
        if !is_ours {
            return self.fail_tool(
                &wanted,
                "unsupported_swift_executor",
                "not available in this terminal",
            );
        }
        if word(line, "ownerId") != self.session.owner {
            return self.fail_tool(
                &wanted,
                "authorized_execution_owner_mismatch",
                "this is for another owner",
            );
        }
        if !input_hash::fits(&wanted.input, word(line, "inputHash")) {
            return self.fail_tool(
                &wanted,
                "authorized_execution_input_hash_mismatch",
                "the input is not the one that was recorded",
            );
        }
        if wanted.effect == "read_only" {
            return self.run_tool(now, wanted);
        }
        self.ask_for_tool(now, wanted);
    }

    /// Lets the person decide on a tool that changes something.
    fn ask_for_tool(&mut self, now: Moment, wanted: Wanted) {
        let Some((conversation, run)) = wanted.place.clone() else {
            return self.fail_tool(&wanted, "user_denied", "nobody could be asked for this run");
        };
        let empty = Map::new();
        let input = wanted.input.as_object().unwrap_or(&empty);
        let command = format!("{}\n{}", wanted.name, tools::readable(input).as_str());
        let id = DecisionId::from(format!("tool-{}-{}", run.as_str(), wanted.row.as_str()));
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
                description: what_it_does(&wanted.effect).into(),
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

    fn run_tool(&mut self, now: Moment, wanted: Wanted) {
        self.host.calls += 1;
        let call = self.host.calls;
        let left = wanted.until.mono_ms.saturating_sub(now.mono_ms);
        self.out.push_back(Output::RunTool {
            call,
            name: wanted.name.clone(),
            input: wanted.input.to_string(),
            deadline: Duration::from_millis(left),
        });
        let mut row = tool_row(&wanted, ToolStatus::Running);
        row.started = Some(now);
        self.show_row(&wanted, row);
        self.host.running.insert(call, wanted);
    }

    pub(super) fn on_tool_finished(&mut self, call: u64, result: Result<String, String>) {
        let Some(wanted) = self.host.running.remove(&call) else {
            return;
        };
        match result {
            Ok(text) => {
                let text = bounded(&text, RESULT_LIMIT);
                let mut row = tool_row(&wanted, ToolStatus::Completed);
                row.output = SafeText::prose(&bounded(&text, TOOL_TEXT_LIMIT));
                self.show_row(&wanted, row);
                self.give(&wanted, "succeeded", text);
            }
            Err(words) => self.fail_tool(&wanted, "tool_failed", &words),
        }
    }

    fn fail_tool(&mut self, wanted: &Wanted, code: &str, message: &str) {
        let mut row = tool_row(wanted, ToolStatus::Failed);
        row.error = SafeText::prose(message);
        self.show_row(wanted, row);
        let result = json!({"ok": false, "error": {"code": code, "message": message}});
        self.give(wanted, "failed", result.to_string());
    }

    fn show_row(&mut self, wanted: &Wanted, row: ToolCall) {
        if wanted.is_shown {
            return;
        }
        if let Some((conversation, _)) = &wanted.place {
            self.say(Topic::Run(RunEvent::ToolChanged {
                conversation: conversation.clone(),
                tool: Box::new(row),
            }));
        }
    }

    fn give(&mut self, wanted: &Wanted, outcome: &'static str, result: String) {
        self.answer_tool(&wanted.echo, outcome, &result);
        if self.host.given.len() >= ANSWERS {
            self.host.given.pop_front();
        }
        self.host.given.push_back(Given {
            key: wanted.key.clone(),
            outcome,
            result,
        });
    }

    fn answer_tool(&mut self, echo: &Value, outcome: &str, result: &str) {
        let mut line = echo.clone();
        line["protocolVersion"] = json!(super::session::VERSION);
        line["outcome"] = json!(outcome);
        line["result"] = json!(result);
        self.write(line);
    }

    pub(super) fn answer(
        &mut self,
        now: Moment,
        command: CommandId,
        decision: &DecisionId,
        answer: Answer,
    ) {
        let Some(wanted) = self.host.asking.remove(decision) else {
            return self.answer_question(now, command, decision, answer);
        };
        let runs = matches!(&answer, Answer::Choice { value, .. } if value == "once");
        self.say(Topic::Decision(DecisionEvent::Resolved {
            decision: decision.clone(),
            choice: Some(if runs { "Run it once" } else { "Refuse" }.into()),
            command: Some(command),
        }));
        if runs {
            self.run_tool(now, wanted);
        } else {
            self.fail_tool(&wanted, "user_denied", "the person refused");
        }
        self.done(command);
    }

    /// Requests whose time is over are answered, so that the agent goes on.
    pub(super) fn expire_tools(&mut self, now: Moment) {
        let due: Vec<DecisionId> = self
            .host
            .asking
            .iter()
            .filter(|(_, wanted)| wanted.until.mono_ms <= now.mono_ms)
            .map(|(id, _)| id.clone())
            .collect();
        for decision in due {
            if let Some(wanted) = self.host.asking.remove(&decision) {
                self.fail_tool(&wanted, "user_timeout", "the person did not answer");
                self.say(Topic::Decision(DecisionEvent::Expired {
                    decision,
                    why: Expiry::TimedOut,
                }));
            }
        }
    }

    /// A run ended: nobody waits for these answers any more, but each is given.
    pub(super) fn expire_questions_of(&mut self, run: &RunId) {
        self.expire_where(Expiry::RunEnded, |of| of == Some(run));
    }

    pub(super) fn cut_host(&mut self) {
        self.host.running.clear();
        self.expire_where(Expiry::ServerRestarted, |_| true);
        self.cut_dispatches();
    }

    fn expire_where(&mut self, why: Expiry, matches: impl Fn(Option<&RunId>) -> bool) {
        let run_of = |wanted: &Wanted| wanted.place.as_ref().map(|(_, run)| run.clone());
        let asking = self
            .host
            .asking
            .iter()
            .filter(|(_, wanted)| matches(run_of(wanted).as_ref()));
        let questions = self
            .host
            .questions
            .iter()
            .filter(|(_, decision)| matches(decision.run.as_ref()));
        // What was taken out of the queue by the person belongs to no run here.
        let posed = self
            .host
            .dispatches
            .iter()
            .filter(|(_, posed)| posed.run.is_some() && matches(posed.run.as_ref()));
        let gone: Vec<DecisionId> = asking
            .map(|(id, _)| id.clone())
            .chain(questions.map(|(id, _)| id.clone()))
            .chain(posed.map(|(id, _)| id.clone()))
            .collect();
        for decision in gone {
            if let Some(wanted) = self.host.asking.remove(&decision)
                && why == Expiry::RunEnded
            {
                self.fail_tool(
                    &wanted,
                    "run_ended",
                    "the run ended before the person answered",
                );
            }
            self.host.questions.remove(&decision);
            self.host.dispatches.remove(&decision);
            self.say(Topic::Decision(DecisionEvent::Expired { decision, why }));
        }
    }
}

/// What the person is told about a tool that is to run.
fn what_it_does(effect: &str) -> &'static str {
    match effect {
        "idempotent_write" => {
            "The agent wants to run one of your own tools. It changes something; run again it \
             changes nothing more."
        }
        "non_idempotent_write" => {
            "The agent wants to run one of your own tools. It changes something each time it runs."
        }
        _ => "The agent wants to run one of your own tools.",
    }
}

fn tool_row(wanted: &Wanted, status: ToolStatus) -> ToolCall {
    let mut row = ToolCall::new(wanted.row.clone(), SafeText::label(&wanted.name));
    row.run = wanted.place.as_ref().map(|(_, run)| run.clone());
    row.status = status;
    if let Some(input) = wanted.input.as_object() {
        row.preview = tools::preview(&wanted.name, input);
        row.arguments = tools::readable(input);
    }
    row
}
