//! What can be asked of a runtime by name: lists of sessions and runs, agents in the background, what
//! waits for the person, and what the agent knows. The answers are shown as documents, which
//! `documents` writes.

use super::{Asked, Omi, documents, word};
use crate::domain::{
    CommandId, CommandOutcome, ConversationId, Moment, RefusalCode, Reply, ServerFunction,
};
use crate::protocol::decode::{bounded, short};
use crate::text::SafeText;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

/// Bytes of a document.
const DOCUMENT: usize = 256 * 1024;
/// Conversations that are taken in from the runtime at once.
const FOUND: usize = 200;
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
    (
        "get_agent_run",
        "Omi: one run of the agent",
        "id of the run",
    ),
    (
        "cancel_agent_run",
        "Omi: stop a run in the background",
        "id of the run",
    ),
    (
        "spawn_agent",
        "Omi: start an agent in the background",
        "what it has to do",
    ),
    (
        "send_agent_message",
        "Omi: follow-up to an agent in the background",
        "id of the session, then the message",
    ),
    (
        "inspect_agent_artifacts",
        "Omi: files of this conversation",
        "id of a run; nothing for this conversation",
    ),
    (
        "read_tool_output",
        "Omi: a tool output that was cut",
        "id of the artifact",
    ),
    ("list_desktop_action_queue", "Omi: what waits for you", ""),
    ("get_desktop_open_loops", "Omi: open loops", ""),
    ("build_desktop_awareness_snapshot", "Omi: what goes on", ""),
];

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

impl Omi {
    pub(super) fn invoke(
        &mut self,
        now: Moment,
        id: CommandId,
        function: &str,
        conversation: Option<&ConversationId>,
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
        let input = match self.input_of(function, conversation, argument) {
            Ok(input) => input,
            Err(words) => return self.refuse(id, RefusalCode::BadRequest, words),
        };
        let line = json!({"type": "direct_control_tool", "name": function, "input": input});
        let function = function.to_owned();
        self.ask(
            now,
            line,
            Asked::Control {
                command: id,
                function,
            },
        );
    }

    /// The input of a control tool. The lists of its fields are closed.
    fn input_of(
        &self,
        function: &str,
        conversation: Option<&ConversationId>,
        argument: &str,
    ) -> Result<Value, &'static str> {
        let needed = |words| match argument {
            "" => Err(words),
            argument => Ok(argument),
        };
        Ok(match function {
            "get_agent_run" | "cancel_agent_run" => {
                json!({"runId": needed("Type the id of the run; the sessions show it.")?})
            }
            "spawn_agent" => {
                let objective = needed("Type what the agent has to do.")?;
                json!({"objective": objective, "cwd": self.directory})
            }
            "send_agent_message" => {
                let (session, prompt) = argument
                    .split_once(char::is_whitespace)
                    .ok_or("Type the id of the session, then the message.")?;
                json!({"sessionId": session, "prompt": prompt.trim()})
            }
            "read_tool_output" => {
                json!({"artifactId": needed("Type the id of the artifact.")?})
            }
            "inspect_agent_artifacts" if argument.is_empty() => {
                let session = conversation
                    .and_then(|id| self.chats.all.get(id))
                    .and_then(|chat| chat.session.as_ref())
                    .ok_or("Open the conversation first, or type the id of a run.")?;
                json!({"sessionId": session})
            }
            "inspect_agent_artifacts" => json!({"runId": argument}),
            _ => json!({}),
        })
    }

    pub(super) fn on_control_result(&mut self, line: &Map<String, Value>) {
        let result = word(line, "result");
        let value = serde_json::from_str::<Value>(result)
            .unwrap_or_else(|_| Value::String(result.to_owned()));
        match self.pending.take(word(line, "requestId")) {
            Some(Asked::Control { command, function }) => self.show(command, &function, &value),
            Some(Asked::Lost) => self.adopt_found(&value),
            _ => self.unasked(line, "a result of a function"),
        }
    }

    fn show(&mut self, command: CommandId, function: &str, value: &Value) {
        if value.get("ok").and_then(Value::as_bool) == Some(false) {
            let words = value
                .pointer("/error/message")
                .and_then(Value::as_str)
                .unwrap_or("The runtime did not say why.");
            return self.refuse(command, RefusalCode::ServerFailed, words);
        }
        let title = TOOLS
            .iter()
            .find(|(name, ..)| *name == function)
            .map_or(function, |(_, title, _)| title);
        self.show_document(command, title, &documents::of_value(value));
    }

    fn show_document(&mut self, command: CommandId, title: &str, body: &str) {
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

    /// Looks for conversations that this program no longer knows: its store may be a new one.
    pub(super) fn look_for_lost(&mut self, now: Moment) {
        let name = "list_agent_sessions";
        if self.session.control_tools.iter().any(|tool| tool == name) {
            let input = json!({"surfaceKind": "task_chat", "limit": FOUND});
            let line = json!({"type": "direct_control_tool", "name": name, "input": input});
            self.ask(now, line, Asked::Lost);
        }
    }

    fn adopt_found(&mut self, value: &Value) {
        let found: Vec<(ConversationId, String)> = value
            .get("sessions")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_object)
            .take(FOUND)
            // Some runtimes put the session of a row into a field of its own.
            .map(|row| row.get("session").and_then(Value::as_object).unwrap_or(row))
            .filter(|row| {
                word(row, "surfaceKind") == "task_chat" && word(row, "externalRefKind") == "task"
            })
            .filter_map(|row| {
                let id = word(row, "externalRefId");
                let name = match word(row, "title").trim() {
                    "" => "Conversation",
                    name => name,
                };
                (!id.is_empty()).then(|| (ConversationId::from(id), short(name)))
            })
            .collect();
        for (id, name) in found {
            if self.chats.is_unknown(&id) {
                self.adopt(id, &name);
            }
        }
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

    pub(super) fn on_context_snapshot(&mut self, line: &Map<String, Value>) {
        let Some(Asked::Snapshot { command }) = self.pending.take(word(line, "requestId")) else {
            return self.unasked(line, "a context");
        };
        let empty = Map::new();
        let snapshot = line
            .get("snapshot")
            .and_then(Value::as_object)
            .unwrap_or(&empty);
        let body = documents::of_context(snapshot, self.session.defaults.as_ref());
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
