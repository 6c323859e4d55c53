//! Calls of tools and the todo list (spec section "Tool events"; readings P14, P23, P24). Calls are
//! told apart by their ids; their output is never sent.

use super::Pheby;
use super::frames::ToolEvent;
use crate::domain::{
    ConversationId, Expiry, Moment, RunEvent, RunId, TimelineEvent, Todo, ToolCall, ToolCallId,
    ToolStatus, Topic,
};
use crate::protocol::tools;
use crate::text::SafeText;

/// The tool that asks questions. Its request shows the same words with a way to answer.
const CLARIFY: &str = "clarify";

impl Pheby {
    pub(super) fn on_tool_event(&mut self, now: Moment, frame: ToolEvent) {
        if frame.conversation_id.is_empty() || frame.tool_call_id.is_empty() {
            return self.odd("tool.event without its ids");
        }
        let conversation = ConversationId::from(frame.conversation_id.as_str());
        self.work(&conversation);
        let call = self.note_tool(now, &conversation, &frame);
        match call.status {
            ToolStatus::Running | ToolStatus::Completed => {}
            ToolStatus::Failed | ToolStatus::Cancelled => {
                let why = if frame.error.starts_with("BLOCKED") {
                    Expiry::TimedOut
                } else {
                    Expiry::Gone
                };
                self.expire_decisions_of_tool(&conversation, &call.id, why);
            }
        }
        let todos = self.apply_todos(&conversation, &frame);
        if is_shown(&frame) {
            self.say(Topic::Run(RunEvent::ToolChanged {
                conversation: conversation.clone(),
                tool: Box::new(call),
            }));
        }
        if let Some(todos) = todos {
            self.say(Topic::Timeline(TimelineEvent::TodosReplaced {
                conversation,
                todos,
            }));
        }
    }

    /// The tools of a snapshot, and the todo list when one of them writes it.
    pub(super) fn snapshot_tools(
        &mut self,
        now: Moment,
        conversation: &ConversationId,
        frames: Vec<ToolEvent>,
    ) -> (Vec<ToolCall>, Option<Vec<Todo>>) {
        let mut calls = Vec::new();
        let mut todos = None;
        for frame in frames.iter().filter(|frame| !frame.tool_call_id.is_empty()) {
            let call = self.note_tool(now, conversation, frame);
            if let Some(list) = self.apply_todos(conversation, frame) {
                todos = Some(list);
            }
            if is_shown(frame) {
                calls.push(call);
            }
        }
        (calls, todos)
    }

    fn apply_todos(
        &mut self,
        conversation: &ConversationId,
        frame: &ToolEvent,
    ) -> Option<Vec<Todo>> {
        if frame.tool_name != "todo" {
            return None;
        }
        let list = tools::todos(self.runs.todos(conversation), &frame.args_redacted)?;
        self.runs.keep_todos(conversation, list.clone());
        Some(list)
    }

    /// Remembers which calls run, and makes the call.
    fn note_tool(
        &mut self,
        now: Moment,
        conversation: &ConversationId,
        frame: &ToolEvent,
    ) -> ToolCall {
        let id = ToolCallId::from(frame.tool_call_id.as_str());
        let mut call = ToolCall::new(id.clone(), SafeText::label(&frame.tool_name));
        call.run = frame.run_id.as_deref().map(RunId::from);
        call.status = match frame.status.as_str() {
            "running" => ToolStatus::Running,
            "failed" => ToolStatus::Failed,
            "cancelled" | "canceled" => ToolStatus::Cancelled,
            _ => ToolStatus::Completed,
        };
        if call.status == ToolStatus::Running {
            call.started = Some(now);
        }
        call.preview = tools::preview(&frame.tool_name, &frame.args_redacted);
        call.arguments = tools::readable(&frame.args_redacted);
        call.error = tools::error_text(&frame.error);
        call.duration_ms = tools::time_taken(frame.duration_ms, call.status, &frame.error);
        self.runs
            .note_call(conversation, &call, frame.tool_name == CLARIFY);
        call
    }
}

/// A question shows as a decision; its call shows only when it failed.
fn is_shown(frame: &ToolEvent) -> bool {
    frame.tool_name != CLARIFY || frame.status == "failed"
}
