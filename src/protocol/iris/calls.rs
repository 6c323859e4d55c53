//! Calls of tools, and todos (readings I14, I33, I38). A call is told apart by its index while it
//! runs; when it ends it gets an id that a replay of the same frame finds again.
//!
//! `tool.end` carries neither a message id nor a time. Live, the id is made of the message that
//! ended before it in the lane, its index and its name. A replay may lack that message, because it
//! was deleted in between, so what ended live since the stored cursor is remembered by its content,
//! also over a restart: the first replayed call of the same content is the first one seen. What was
//! seen to begin and not to end is remembered over a restart too: the first end of its index and
//! name is its end.

use super::Iris;
use super::frames::{ToolEnd, ToolProgress, ToolStart};
use super::running::{Begun, Call};
use super::turns::Sign;
use crate::domain::{
    ConversationId, Moment, RunEvent, RunId, SyncEvent, TimelineEvent, ToolCall, ToolCallId,
    ToolStatus, Topic,
};
use crate::protocol::decode::{TOOL_TEXT_LIMIT, bounded};
use crate::protocol::tools;
use crate::text::SafeText;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

/// The tool that asks questions. The question shows as a decision.
const CLARIFY: &str = "clarify";
/// The facts that keep the calls of a lane begin so.
pub(super) const CALLS: &str = "calls.";
/// The facts that keep what began in a lane begin so.
pub(super) const BEGUN: &str = "begun.";

impl Iris {
    pub(super) fn on_tool_start(
        &mut self,
        now: Moment,
        conversation: ConversationId,
        tool: ToolStart,
    ) {
        self.on_output(&conversation);
        // The index counts from 0 within a turn.
        let sign = if tool.index == 0 {
            Sign::Beginning
        } else {
            Sign::Amid
        };
        let run = self.begin_turn(now, &conversation, sign);
        let id = self.new_call(now, &conversation, run.as_ref(), tool.index, &tool.name);
        let mut call = ToolCall::new(id, SafeText::label(&tool.name));
        call.run = run;
        call.preview = if tool.preview.trim().is_empty() {
            tools::preview(&tool.name, &tool.args)
        } else {
            SafeText::label(&tool.preview)
        };
        call.arguments = tools::readable(&tool.args);
        call.emoji = SafeText::glyph(&tool.emoji);
        call.started = Some(now);
        // Before the call itself: a program that is killed in between knows more, not less.
        self.keep_begun(&conversation);
        if tool.name != CLARIFY {
            self.tell_tool(&conversation, call);
        }
    }

    /// A stand-in for the id that the call gets when it ends.
    fn new_call(
        &mut self,
        now: Moment,
        conversation: &ConversationId,
        run: Option<&RunId>,
        index: i64,
        name: &str,
    ) -> ToolCallId {
        let link = self.session.link;
        // Once everything missed is here, another call of this index is over.
        if !self.session.is_syncing() {
            let lane = self.lanes.lane(conversation);
            let left = lane.forget_begun(|call| call.index == index);
            self.tell_left(conversation, left);
        }
        let lane = self.lanes.lane(conversation);
        lane.tool_count += 1;
        let run = run.map_or("turn", RunId::as_str);
        let id = ToolCallId::from(format!("{run}/{}", lane.tool_count));
        lane.tools.insert(index, id.clone());
        lane.remember_begun(Begun {
            index,
            name: name.to_owned(),
            id: id.clone(),
            link,
            at_ms: now.wall_ms,
        });
        id
    }

    pub(super) fn on_tool_progress(
        &mut self,
        now: Moment,
        conversation: ConversationId,
        tool: &ToolProgress,
    ) {
        if self.is_replay() {
            return;
        }
        self.resume_call(&conversation, tool.index);
        let link = self.session.link;
        let lane = self.lanes.lane(&conversation);
        let was_seen = lane.tools.contains_key(&tool.index);
        let known = lane.runs_on(tool.index, &tool.name, link);
        lane.is_doubtful &= known.is_none();
        let sign = if was_seen { Sign::Typing } else { Sign::Amid };
        let run = self.begin_turn(now, &conversation, sign);
        let id = known.unwrap_or_else(|| {
            self.new_call(now, &conversation, run.as_ref(), tool.index, &tool.name)
        });
        let mut call = ToolCall::new(id, SafeText::label(&tool.name));
        call.run = run;
        call.note = SafeText::label(&tool.note);
        self.keep_begun(&conversation);
        if tool.name != CLARIFY {
            self.tell_tool(&conversation, call);
        }
    }

    pub(super) fn on_tool_end(
        &mut self,
        now: Moment,
        conversation: ConversationId,
        tool: &ToolEnd,
    ) {
        self.resume_call(&conversation, tool.index);
        let lane = self.lanes.lane(&conversation);
        lane.activity += 1;
        let run = lane.turn.as_ref().map(|turn| turn.run.clone());
        let repeated = self.repeated_call(&conversation, tool);
        let is_new = repeated.is_none();
        let (is_replay, link) = (self.is_replay(), self.session.link);
        let lane = self.lanes.lane(&conversation);
        let begun = match is_new {
            true if is_replay => lane.take_begun_before(link, tool.index, &tool.name),
            true => lane.take_begun(tool.index, &tool.name),
            false => None,
        };
        let has_begun_here = begun.as_ref().is_some_and(|call| call.link != 0);
        if !has_begun_here && !is_replay {
            self.settle_owner(&conversation, Sign::Amid);
        }
        // A call of an earlier start of the program knows its run.
        let run = run.filter(|_| begun.is_none() || has_begun_here);
        let (id, from) = match repeated {
            Some(known) => known,
            None => {
                let from = begun.map(|call| call.id);
                (self.ended_call(&conversation, tool, from.clone()), from)
            }
        };
        // Before the call itself: a program that is killed in between knows more, not less.
        if !is_replay {
            self.keep_calls(&conversation);
        }
        let is_failed = tool.ok == Some(false);
        // What a replay repeats is older than what waits for an answer.
        if is_new {
            self.on_output(&conversation);
        } else {
            self.on_repeat(&conversation);
        }
        if tool.name == CLARIFY && !is_failed {
            return self.check_turn(now, &conversation);
        }
        if let Some(from) = from {
            self.say(Topic::Run(RunEvent::ToolRekeyed {
                conversation: conversation.clone(),
                from,
                to: id.clone(),
            }));
        }
        let mut call = ToolCall::new(id, SafeText::label(&tool.name));
        call.run = run;
        call.status = if is_failed {
            ToolStatus::Failed
        } else {
            ToolStatus::Completed
        };
        if is_failed {
            call.error = tools::error_text(&tool.output_preview);
        } else {
            call.output = SafeText::prose(&bounded(&tool.output_preview, TOOL_TEXT_LIMIT));
        }
        let stated_ms = tool.duration.map(|seconds| seconds * 1_000.0);
        call.duration_ms = tools::time_taken(stated_ms, call.status, call.error.as_str());
        if self.is_replay() {
            let lane = self.lanes.lane(&conversation);
            let (after, at_ms) = (lane.anchor.clone(), lane.last_ts);
            self.say(Topic::Run(RunEvent::ToolMissed {
                conversation,
                tool: Box::new(call),
                after,
                at_ms,
            }));
            return;
        }
        self.tell_tool(&conversation, call);
        self.touch(now, &conversation, None);
        self.check_turn(now, &conversation);
    }

    /// The id of a call that a replay repeats, and the one under which an earlier start of the
    /// program may still have it.
    fn repeated_call(
        &mut self,
        conversation: &ConversationId,
        tool: &ToolEnd,
    ) -> Option<(ToolCallId, Option<ToolCallId>)> {
        if !self.is_replay() {
            return None;
        }
        let lane = self.lanes.lane(conversation);
        let print = print(tool);
        let seen = lane
            .calls
            .iter_mut()
            .find(|call| !call.is_covered && call.print == print)?;
        seen.is_covered = true;
        lane.has_new_calls = true;
        let from = seen.from.clone().filter(|_| seen.link == 0);
        let id = seen.id.clone();
        if let Some(from) = &from {
            lane.forget_begun(|call| call.id == *from);
        }
        Some((id, from))
    }

    /// The id of a call whose end is news, live and replayed the same.
    fn ended_call(
        &mut self,
        conversation: &ConversationId,
        tool: &ToolEnd,
        from: Option<ToolCallId>,
    ) -> ToolCallId {
        let (is_replay, link) = (self.is_replay(), self.session.link);
        let lane = self.lanes.lane(conversation);
        let id = lane.new_end_id(tool.index, &tool.name);
        lane.remember_call(Call {
            id: id.clone(),
            print: print(tool),
            from,
            link,
            is_covered: is_replay,
        });
        id
    }

    /// Keeps what a replay after a restart has to recognise, beside the calls themselves.
    pub(super) fn keep_calls(&mut self, conversation: &ConversationId) {
        let lane = self.lanes.lane(conversation);
        if std::mem::take(&mut lane.has_new_calls) {
            let value = lane.kept_calls();
            self.say(Topic::Sync(SyncEvent::Kept {
                name: format!("{CALLS}{}", conversation.as_str()),
                value,
            }));
        }
        // Behind it: a kill in between leaves a call in both, not in neither.
        self.keep_begun(conversation);
    }

    /// Keeps which calls run, for an end that comes after a restart.
    pub(super) fn keep_begun(&mut self, conversation: &ConversationId) {
        let lane = self.lanes.lane(conversation);
        if !std::mem::take(&mut lane.has_new_begun) {
            return;
        }
        let value = lane.kept_begun();
        self.say(Topic::Sync(SyncEvent::Kept {
            name: format!("{BEGUN}{}", conversation.as_str()),
            value,
        }));
    }

    /// The cursor moved: what was seen up to it is not replayed again.
    pub(super) fn keep_all_calls(&mut self) {
        let changed: Vec<ConversationId> = self
            .lanes
            .lanes
            .iter()
            .filter(|(_, lane)| lane.has_new_calls || lane.has_new_begun)
            .map(|(id, _)| id.clone())
            .collect();
        for conversation in changed {
            self.keep_calls(&conversation);
        }
    }

    /// The replay is over: what earlier links showed and it did not repeat is not repeated any
    /// more.
    pub(super) fn cover_calls(&mut self) {
        let link = self.session.link;
        let mut ended = Vec::new();
        for (conversation, lane) in &mut self.lanes.lanes {
            for call in &mut lane.calls {
                if call.link < link && !call.is_covered {
                    call.is_covered = true;
                    lane.has_new_calls = true;
                    // A kill may have kept the end of it from the store.
                    let from = call.from.take_if(|_| call.link == 0);
                    ended.extend(from.map(|from| (conversation.clone(), from)));
                }
            }
        }
        for (conversation, from) in ended {
            self.tell_left(&conversation, vec![from]);
        }
    }

    pub(super) fn tell_tool(&mut self, conversation: &ConversationId, tool: ToolCall) {
        self.say(Topic::Run(RunEvent::ToolChanged {
            conversation: conversation.clone(),
            tool: Box::new(tool),
        }));
    }

    /// The whole list of a lane; the last one wins.
    pub(super) fn on_todos(&mut self, conversation: ConversationId, todos: Vec<Value>) {
        let mut arguments = Map::new();
        arguments.insert("todos".to_owned(), Value::Array(todos));
        if let Some(todos) = tools::todos(&[], &arguments) {
            let link = self.session.link;
            self.lanes.lane(&conversation).todos_of = (!todos.is_empty()).then_some(link);
            self.say(Topic::Timeline(TimelineEvent::TodosReplaced {
                conversation,
                todos,
            }));
        }
    }

    /// The lists that stand come right after hello; one that did not has ended meanwhile.
    pub(super) fn drop_ended_todos(&mut self) {
        let link = self.session.link;
        let ended: Vec<ConversationId> = self
            .lanes
            .lanes
            .iter_mut()
            .filter_map(|(id, lane)| lane.todos_of.take_if(|of| *of != link).map(|_| id.clone()))
            .collect();
        for conversation in ended {
            self.say(Topic::Timeline(TimelineEvent::TodosReplaced {
                conversation,
                todos: Vec::new(),
            }));
        }
    }
}

/// What the end of a call says, in short.
fn print(tool: &ToolEnd) -> String {
    let mut hasher = Sha256::new();
    hasher.update(format!(
        "{}\n{}\n{:?}\n{:?}\n{}",
        tool.index, tool.name, tool.ok, tool.duration, tool.output_preview
    ));
    let digest = hasher.finalize();
    digest[..8]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}
