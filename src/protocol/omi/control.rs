//! What can be asked of a runtime by name: lists of sessions and runs, agents in the background, what
//! waits for the person, and what the agent knows. What is meant is chosen from a list (`listing`);
//! the answers are shown as documents, which `documents` writes.

use super::dispatches::RESOLVE;
use super::listing::Aim;
use super::{Asked, Omi, documents, word};
use crate::domain::{
    CommandId, CommandOutcome, ConversationId, Moment, RefusalCode, Reply, ServerFunction,
};
use crate::protocol::decode::bounded;
use crate::text::SafeText;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

/// Bytes of a document.
const DOCUMENT: usize = 256 * 1024;
/// Functions that need no control tool.
const CONTEXT: &str = "context";
const FRESH: &str = "fresh_session";

/// A function, its title, and what is typed behind it.
type Row = (&'static str, &'static str, &'static str);

const OWN: [Row; 2] = [
    (CONTEXT, "Omi: what the agent knows", ""),
    (FRESH, "Omi: let the agent forget this session", ""),
];

const TOOLS: [Row; 10] = [
    ("list_agent_sessions", "Omi: sessions of the agent", ""),
    ("get_agent_run", "Omi: one run of the agent", ""),
    ("cancel_agent_run", "Omi: stop a run in the background", ""),
    (
        "spawn_agent",
        "Omi: start an agent in the background",
        "what it has to do",
    ),
    (
        "send_agent_message",
        "Omi: follow-up to an agent in the background",
        "",
    ),
    (
        "inspect_agent_artifacts",
        "Omi: files of this conversation",
        "",
    ),
    ("read_tool_output", "Omi: a tool output that was cut", ""),
    (
        "list_desktop_action_queue",
        "Omi: requests to you in its queue",
        "",
    ),
    ("get_desktop_open_loops", "Omi: open loops", ""),
    ("build_desktop_awareness_snapshot", "Omi: what goes on", ""),
];
/// A field that newer runtimes need for some functions, and older ones refuse.
const ORIGIN: &str = "originSurfaceKind";

/// What this runtime can be asked.
pub(super) fn functions(tools: &[String]) -> Vec<ServerFunction> {
    let offered = TOOLS
        .iter()
        .filter(|(name, ..)| tools.iter().any(|tool| tool == name));
    OWN.iter()
        .chain(offered)
        .map(|(name, title, argument_hint)| ServerFunction {
            name: (*name).to_owned(),
            title,
            argument_hint,
        })
        .collect()
}

/// A control tool that was called.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) command: CommandId,
    /// What the person asked for.
    pub(super) function: String,
    /// The tool that is called for it.
    name: String,
    input: Value,
}

impl Call {
    /// It answers when an agent has answered.
    pub(super) fn is_long(&self) -> bool {
        self.function == "send_agent_message"
    }
}

fn may_want_origin(function: &str) -> bool {
    matches!(function, "send_agent_message" | "spawn_agent")
}

/// Why a tool did nothing.
pub(super) fn reason(value: &Value) -> &str {
    value
        .pointer("/error/message")
        .or_else(|| value.get("error"))
        .and_then(Value::as_str)
        .filter(|words| !words.trim().is_empty())
        .unwrap_or("The runtime did not say why.")
}

impl Omi {
    pub(super) fn invoke(
        &mut self,
        now: Moment,
        id: CommandId,
        function: &str,
        conversation: Option<&ConversationId>,
        subject: Option<&str>,
        argument: &str,
    ) {
        match function {
            CONTEXT => return self.ask_context(now, id, conversation),
            FRESH => return self.begin_afresh(id, conversation),
            _ => {}
        }
        let tools = &self.session.control_tools;
        if !tools.iter().any(|tool| tool == function) {
            return self.refuse(
                id,
                RefusalCode::Unsupported,
                "This runtime has no such function.",
            );
        }
        if function == RESOLVE {
            let chosen = subject.unwrap_or(argument);
            return self.choose_dispatch(now, id, conversation, chosen);
        }
        let is_list = matches!(
            function,
            "list_agent_sessions" | "get_agent_run" | "cancel_agent_run" | "send_agent_message"
        );
        if is_list && subject.is_none() && argument.is_empty() {
            let function = function.to_owned();
            let aim = Aim::Choose {
                command: id,
                function,
            };
            return self.ask_agents(now, aim);
        }
        let input = match self.input_of(function, conversation, subject, argument) {
            Ok(input) => input,
            Err(words) => return self.refuse(id, RefusalCode::BadRequest, words),
        };
        // An output to read is chosen among those that were kept.
        let name = match (function, input.get("artifactId")) {
            ("read_tool_output", None) => "inspect_agent_artifacts",
            _ => function,
        };
        let call = Call {
            command: id,
            function: function.to_owned(),
            name: name.to_owned(),
            input,
        };
        self.call(now, call);
    }

    fn call(&mut self, now: Moment, mut call: Call) {
        if self.session.wants_origin && may_want_origin(&call.function) {
            call.input[ORIGIN] = json!("agent_control");
        }
        let line = json!({
            "type": "direct_control_tool",
            "name": call.name,
            "input": call.input,
        });
        self.ask(now, line, Asked::Control(Box::new(call)));
    }

    /// The input of a control tool. The lists of its fields are closed.
    fn input_of(
        &self,
        function: &str,
        conversation: Option<&ConversationId>,
        subject: Option<&str>,
        argument: &str,
    ) -> Result<Value, &'static str> {
        let chosen = subject.unwrap_or(argument);
        Ok(match function {
            "get_agent_run" | "cancel_agent_run" => json!({"runId": chosen}),
            "spawn_agent" if argument.is_empty() => return Err("Type what the agent has to do."),
            "spawn_agent" => json!({"objective": argument, "cwd": self.directory}),
            "send_agent_message" => match subject {
                Some(_) if argument.is_empty() => return Err("Type the message."),
                Some(session) => json!({"sessionId": session, "prompt": argument}),
                None => return Err("Choose the agent first."),
            },
            "read_tool_output" if !chosen.is_empty() => json!({"artifactId": chosen}),
            "read_tool_output" | "inspect_agent_artifacts" => {
                let session = conversation
                    .and_then(|id| self.chats.all.get(id))
                    .and_then(|chat| chat.session.as_ref())
                    .ok_or("Open the conversation first.")?;
                json!({"sessionId": session})
            }
            _ => json!({}),
        })
    }

    pub(super) fn on_control_result(&mut self, now: Moment, line: &Map<String, Value>) {
        let value = match line.get("result") {
            // The protocol says a text with JSON in it; one that is JSON already is as good.
            Some(Value::String(text)) => serde_json::from_str::<Value>(text)
                .unwrap_or_else(|_| Value::String(text.to_owned())),
            Some(other) => other.clone(),
            None => Value::Null,
        };
        match self.pending.take(word(line, "requestId")) {
            Some(Asked::Control(call)) => self.on_called(now, *call, &value),
            Some(Asked::Agents(listing)) => self.on_agents(now, *listing, &value),
            Some(Asked::Dispatch {
                command,
                conversation,
                id,
            }) => self.ask_person(now, command, conversation, &id, &value),
            Some(Asked::Settle {
                command,
                decision,
                answer,
            }) => self.on_settled(command, &decision, &answer, &value),
            _ => self.unasked(line, "a result of a function"),
        }
    }

    fn on_called(&mut self, now: Moment, call: Call, value: &Value) {
        if value.get("ok").and_then(Value::as_bool) == Some(false) {
            let words = reason(value);
            if words.contains(ORIGIN)
                && may_want_origin(&call.function)
                && !self.session.wants_origin
            {
                self.session.wants_origin = true;
                return self.call(now, call);
            }
            return self.refuse(call.command, RefusalCode::ServerFailed, words);
        }
        let title = TOOLS
            .iter()
            .find(|(name, ..)| *name == call.function)
            .map_or(call.function.as_str(), |(_, title, _)| title);
        let is_queue = matches!(
            call.function.as_str(),
            "list_desktop_action_queue" | "get_desktop_open_loops"
        );
        if is_queue && self.offer_queue(now, call.command, title, value) {
            return;
        }
        let body = match call.function.as_str() {
            "read_tool_output" if call.name != call.function => {
                return self.offer_artifacts(call.command, value);
            }
            "read_tool_output" => documents::of_output(value),
            "get_agent_run" | "send_agent_message" => documents::of_run(value, now),
            "cancel_agent_run" => documents::of_stop(value),
            "spawn_agent" => {
                let objective = call.input["objective"].as_str().unwrap_or_default();
                self.note_started(value, objective);
                "It works in the background and acts without asking. **Omi: one run of the agent** \
                 shows how far it is."
                    .to_owned()
            }
            _ => documents::of_value(value, now),
        };
        self.show_document(call.command, title, &body);
    }

    pub(super) fn show_document(&mut self, command: CommandId, title: &str, body: &str) {
        let body = match body.trim() {
            "" => "Nothing.",
            body => body,
        };
        let reply = Reply::Document {
            title: SafeText::label(title),
            body: SafeText::prose(&bounded(body, DOCUMENT)),
        };
        self.finish(command, CommandOutcome::Done(reply));
    }

    /// The adapter forgets its session; the journal stays. No answer comes.
    fn begin_afresh(&mut self, id: CommandId, conversation: Option<&ConversationId>) {
        let Some(conversation) = conversation.filter(|of| self.chats.all.contains_key(*of)) else {
            return self.unknown(id);
        };
        if self.queries.is_active(conversation) {
            return self.refuse(
                id,
                RefusalCode::RunActive,
                "The agent still works in this conversation; stop it first.",
            );
        }
        let conversation = conversation.clone();
        let mut line = json!({"type": "invalidate_session"});
        self.put_surface(&mut line, &conversation);
        let request = self.ids.mint();
        self.envelope(&mut line, &request);
        self.write(line);
        // One of the runtimes forgets the session itself with it.
        if let Some(chat) = self.chats.all.get_mut(&conversation) {
            chat.session = None;
        }
        self.show_document(
            id,
            "A fresh session",
            "The agent no longer remembers this conversation by itself. The history stays, and the \
             runtime may tell it the newest part of it.",
        );
    }

    /// A session ended in the runtime: the next use of its conversation resolves it anew. The answer
    /// to a request of ours names the session that is gone already.
    pub(super) fn on_invalidated(&mut self, line: &Map<String, Value>) {
        let session = word(line, "sessionId");
        if session.is_empty() || line.get("invalidated") == Some(&Value::Bool(false)) {
            return;
        }
        for chat in self.chats.all.values_mut() {
            if chat.session.as_deref() == Some(session) {
                chat.session = None;
            }
        }
    }

    fn ask_context(&mut self, now: Moment, id: CommandId, conversation: Option<&ConversationId>) {
        let Some((conversation, chat)) =
            conversation.and_then(|id| self.chats.all.get_mut(id).map(|chat| (id, chat)))
        else {
            return self.refuse(
                id,
                RefusalCode::NotFound,
                "Open the conversation first whose context you want to see.",
            );
        };
        if chat.session.is_some() {
            return self.ask_snapshot(now, id, conversation);
        }
        chat.asking.push(id);
        self.resolve(now, conversation);
    }

    pub(super) fn ask_snapshot(
        &mut self,
        now: Moment,
        command: CommandId,
        conversation: &ConversationId,
    ) {
        let Some(chat) = self.chats.all.get(conversation) else {
            return self.unknown(command);
        };
        let line = json!({
            "type": "get_context_snapshot",
            "sessionId": chat.session,
            "surfaceKind": chat.surface().0,
        });
        self.ask(now, line, Asked::Snapshot { command });
    }

    pub(super) fn on_context_snapshot(&mut self, now: Moment, line: &Map<String, Value>) {
        let Some(Asked::Snapshot { command }) = self.pending.take(word(line, "requestId")) else {
            return self.unasked(line, "a context");
        };
        let empty = Map::new();
        let snapshot = line
            .get("snapshot")
            .and_then(Value::as_object)
            .unwrap_or(&empty);
        let body = documents::of_context(snapshot, self.session.defaults.as_ref(), now);
        self.show_document(command, "What the agent knows", &body);
    }

    /// Tells the runtime where the agent is.
    pub(super) fn say_workspace(&mut self, now: Moment, conversation: &ConversationId) {
        let Some(chat) = self.chats.all.get(conversation) else {
            return;
        };
        let (Some(session), Some(profile)) = (&chat.session, &chat.profile) else {
            return;
        };
        let hash = Sha256::digest(profile.directory.as_bytes());
        let revision: String = hash[..8].iter().map(|byte| format!("{byte:02x}")).collect();
        let line = json!({
            "type": "context_source_update",
            "sessionId": session,
            "surfaceKind": chat.surface().0,
            "source": "workspace",
            "sourceRevision": revision,
            "outcome": "available",
            "capturedAtMs": now.wall_ms,
            "payload": {"cwd": profile.directory},
        });
        self.ask(now, line, Asked::Workspace);
    }
}
