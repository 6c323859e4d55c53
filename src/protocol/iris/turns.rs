//! Runs and tools. The protocol states no runs, so they are inferred (readings I34, I35, I37, I38):
//! a turn begins with the first `typing on`, `message.start` or `tool.start` after the last one
//! ended, and ends when no message and no tool is open, no approval or question waits, and typing
//! is off, or did not come again for 5 s. A wrong guess blocks nothing: the gateway queues.

use super::frames::{ToolEnd, ToolProgress, ToolStart};
use super::lanes::Turn;
use super::{Asked, Iris};
use crate::domain::{
    CommandId, ConversationId, Footer, Moment, RunEvent, RunId, RunOutcome, RunPhase,
    TimelineEvent, ToolCall, ToolCallId, ToolStatus, Topic,
};
use crate::protocol::decode::{TOOL_TEXT_LIMIT, bounded};
use crate::protocol::tools;
use crate::text::{SafeText, graphemes, width};
use serde_json::{Map, Value};
use std::time::Duration;

/// A typing mark that is not renewed goes out.
const TYPING: Duration = Duration::from_secs(5);
/// After a reconnect a turn that still runs shows it within so long; typing comes every 2 s.
const GRACE: Duration = Duration::from_secs(6);
/// What is still open so long after typing ended does not end any more.
const LOST: Duration = Duration::from_secs(10);
/// The tool that asks questions. The question shows as a decision.
const CLARIFY: &str = "clarify";

impl Iris {
    /// The run of a lane that does something, begun when there is none. A replay begins none.
    pub(super) fn begin_turn(
        &mut self,
        _now: Moment,
        conversation: &ConversationId,
    ) -> Option<RunId> {
        if self.is_replay() {
            let lane = self.lanes.lane(conversation);
            return lane.turn.as_ref().map(|turn| turn.run.clone());
        }
        let lane = self.lanes.lane(conversation);
        lane.activity += 1;
        lane.grace_until = None;
        lane.hold_until = None;
        lane.is_off = false;
        if let Some(turn) = &lane.turn {
            return Some(turn.run.clone());
        }
        let command = lane.last_command.take();
        let run = RunId::from(self.mint_name("turn"));
        let lane = self.lanes.lane(conversation);
        lane.tool_count = 0;
        lane.turn = Some(Turn {
            run: run.clone(),
            command,
            is_stopping: false,
            failure: None,
            has_answer: false,
        });
        self.say(Topic::Run(RunEvent::Started {
            conversation: conversation.clone(),
            run: run.clone(),
            command,
            is_stated: false,
        }));
        self.change_phase(conversation, RunPhase::Working);
        Some(run)
    }

    pub(super) fn change_phase(&mut self, conversation: &ConversationId, phase: RunPhase) {
        let Some(run) = self
            .lanes
            .lane(conversation)
            .turn
            .as_ref()
            .map(|turn| turn.run.clone())
        else {
            return;
        };
        self.say(Topic::Run(RunEvent::PhaseChanged {
            conversation: conversation.clone(),
            run,
            phase,
        }));
    }

    /// The person wants the turn to end.
    pub(super) fn stop_turn(&mut self, conversation: &ConversationId) {
        if let Some(turn) = &mut self.lanes.lane(conversation).turn {
            turn.is_stopping = true;
            self.change_phase(conversation, RunPhase::Cancelling);
        }
    }

    /// An error of the lane: its turn failed. False when there is none.
    pub(super) fn fail_turn(
        &mut self,
        now: Moment,
        conversation: &ConversationId,
        error: &str,
    ) -> bool {
        let Some(turn) = &mut self.lanes.lane(conversation).turn else {
            return false;
        };
        turn.failure = Some(error.to_owned());
        self.check_turn(now, conversation);
        true
    }

    pub(super) fn on_typing(&mut self, now: Moment, conversation: ConversationId, on: bool) {
        if self.is_replay() {
            return;
        }
        if on {
            self.begin_turn(now, &conversation);
            self.lanes.lane(&conversation).typing_until = Some(now.after(TYPING));
            self.say(Topic::Timeline(TimelineEvent::Typing {
                conversation,
                on: true,
            }));
        } else {
            // Several come in a row at the end of a turn.
            if self.lanes.lane(&conversation).typing_until.is_some() {
                self.typing_off(&conversation);
            }
            self.lanes.lane(&conversation).is_off = true;
            self.check_turn(now, &conversation);
        }
    }

    pub(super) fn typing_off(&mut self, conversation: &ConversationId) {
        self.lanes.lane(conversation).typing_until = None;
        self.say(Topic::Timeline(TimelineEvent::Typing {
            conversation: conversation.clone(),
            on: false,
        }));
    }

    /// Ends the turn of a lane when nothing of it is left.
    pub(super) fn check_turn(&mut self, now: Moment, conversation: &ConversationId) {
        if self.is_replay() || self.decisions.keeps_turn(conversation) {
            return;
        }
        let lane = self.lanes.lane(conversation);
        if lane.typing_until.is_some() || lane.grace_until.is_some() || lane.turn.is_none() {
            return;
        }
        if !lane.open.is_empty() || !lane.tools.is_empty() {
            // Nobody works any more, so their ends were lost on the line.
            if lane.is_off {
                lane.hold_until.get_or_insert(now.after(LOST));
            }
            return;
        }
        // Only `typing off` says that nothing more comes; else it is waited for as long as typing
        // would count.
        if !lane.is_off {
            lane.hold_until.get_or_insert(now.after(TYPING));
            return;
        }
        lane.hold_until = None;
        if let Some(turn) = lane.turn.take() {
            let outcome = match turn.failure {
                Some(error) => failed(&error),
                None if turn.is_stopping => RunOutcome::Cancelled,
                None => RunOutcome::Completed,
            };
            self.finish_turn(conversation, turn.run, outcome);
            self.take_as_arrived(conversation, turn.command);
        }
    }

    /// A message whose turn is over has arrived, although neither echo nor receipt said so.
    fn take_as_arrived(&mut self, conversation: &ConversationId, command: Option<CommandId>) {
        let asked = self.pending.take_first(
            |asked| matches!(asked, Asked::Send { command: of, .. } if Some(*of) == command),
        );
        if let (Some(_), Some(command)) = (asked, command) {
            self.acknowledge(command, conversation, None);
            self.done(command);
        }
    }

    fn finish_turn(&mut self, conversation: &ConversationId, run: RunId, outcome: RunOutcome) {
        self.say(Topic::Run(RunEvent::Finished {
            conversation: conversation.clone(),
            run,
            outcome,
        }));
    }

    /// The replay is over: turns from before the cut show a sign of life soon, or are over.
    pub(super) fn resume_turns(&mut self, now: Moment) {
        for lane in self.lanes.lanes.values_mut() {
            if lane.turn.is_some() {
                lane.grace_until = Some(now.after(GRACE));
            }
        }
    }

    /// Time passed: typing that was not renewed, turns that did not come back.
    pub(super) fn end_quiet_turns(&mut self, now: Moment) {
        let is_due =
            |until: Option<Moment>| until.is_some_and(|until| until.mono_ms <= now.mono_ms);
        let quiet: Vec<ConversationId> = self
            .lanes
            .lanes
            .iter()
            .filter(|(_, lane)| {
                [lane.typing_until, lane.grace_until, lane.hold_until]
                    .into_iter()
                    .any(is_due)
            })
            .map(|(id, _)| id.clone())
            .collect();
        for conversation in quiet {
            if is_due(self.lanes.lane(&conversation).typing_until) {
                self.typing_off(&conversation);
                self.lanes.lane(&conversation).is_off = true;
            }
            if is_due(self.lanes.lane(&conversation).hold_until) {
                let lane = self.lanes.lane(&conversation);
                lane.hold_until = None;
                let is_open = !lane.open.is_empty() || !lane.tools.is_empty();
                let was_off = std::mem::replace(&mut lane.is_off, true);
                if was_off && is_open && !self.decisions.keeps_turn(&conversation) {
                    self.abandon_turn(&conversation);
                }
            }
            if is_due(self.lanes.lane(&conversation).grace_until) {
                self.lanes.lane(&conversation).grace_until = None;
                // Typing pauses while somebody is asked.
                if !self.decisions.keeps_turn(&conversation) {
                    self.abandon_turn(&conversation);
                }
            }
            self.check_turn(now, &conversation);
        }
    }

    /// What was open before the link was lost is not going on.
    fn abandon_turn(&mut self, conversation: &ConversationId) {
        let lane = self.lanes.lane(conversation);
        let open = std::mem::take(&mut lane.open);
        let tools = std::mem::take(&mut lane.tools);
        let Some(turn) = lane.turn.take() else {
            return;
        };
        for message in &open {
            lane.end(message);
        }
        let was_cut = !open.is_empty() || !turn.has_answer;
        for remote in open {
            self.say(Topic::Timeline(TimelineEvent::Ended {
                conversation: conversation.clone(),
                remote,
                text: None,
                reasoning: None,
                footer: Footer::default(),
                sent_at_ms: None,
                is_interrupted: true,
            }));
        }
        for id in tools.into_values() {
            let mut call = ToolCall::new(id, SafeText::default());
            call.status = ToolStatus::Cancelled;
            self.tell_tool(conversation, call);
        }
        let outcome = if was_cut {
            RunOutcome::Lost
        } else {
            RunOutcome::Completed
        };
        self.finish_turn(conversation, turn.run, outcome);
    }

    pub(super) fn on_tool_start(
        &mut self,
        now: Moment,
        conversation: ConversationId,
        tool: ToolStart,
    ) {
        self.on_output(&conversation);
        let run = self.begin_turn(now, &conversation);
        let id = self.new_call(&conversation, run.as_ref(), tool.index);
        let mut call = ToolCall::new(id, SafeText::label(&tool.name));
        call.run = run;
        call.preview = if tool.preview.trim().is_empty() {
            tools::preview(&tool.name, &tool.args)
        } else {
            SafeText::label(&tool.preview)
        };
        call.arguments = tools::readable(&tool.args);
        call.emoji = emoji(&tool.emoji);
        call.started = Some(now);
        if tool.name != CLARIFY {
            self.tell_tool(&conversation, call);
        }
    }

    /// A stand-in for the id that the call gets when it ends.
    fn new_call(
        &mut self,
        conversation: &ConversationId,
        run: Option<&RunId>,
        index: i64,
    ) -> ToolCallId {
        let lane = self.lanes.lane(conversation);
        lane.tool_count += 1;
        let run = run.map_or("turn", RunId::as_str);
        let id = ToolCallId::from(format!("{run}/{}", lane.tool_count));
        lane.tools.insert(index, id.clone());
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
        let run = self.begin_turn(now, &conversation);
        let known = self
            .lanes
            .lane(&conversation)
            .tools
            .get(&tool.index)
            .cloned();
        let id = known.unwrap_or_else(|| self.new_call(&conversation, run.as_ref(), tool.index));
        let mut call = ToolCall::new(id, SafeText::label(&tool.name));
        call.run = run;
        call.note = SafeText::label(&tool.note);
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
        let lane = self.lanes.lane(&conversation);
        lane.activity += 1;
        let stand_in = lane.tools.remove(&tool.index);
        let run = lane.turn.as_ref().map(|turn| turn.run.clone());
        // Live and replayed the same: where it stands between messages, its index and name.
        let anchor = lane
            .anchor
            .as_ref()
            .map_or("start", |anchor| anchor.as_str());
        let id = ToolCallId::from(format!("{anchor}/{}/{}", tool.index, tool.name));
        let is_failed = tool.ok == Some(false);
        // What a replay repeats is older than what waits for an answer.
        if lane.end_tool(&id) || !self.is_replay() {
            self.on_output(&conversation);
        }
        if tool.name == CLARIFY && !is_failed {
            return self.check_turn(now, &conversation);
        }
        if let Some(from) = stand_in {
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
        call.duration_ms = tool
            .duration
            .filter(|seconds| seconds.is_finite() && *seconds >= 0.0)
            .map(|seconds| (seconds * 1_000.0).round() as u64);
        self.tell_tool(&conversation, call);
        self.touch(now, &conversation, None);
        self.check_turn(now, &conversation);
    }

    fn tell_tool(&mut self, conversation: &ConversationId, tool: ToolCall) {
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
            self.say(Topic::Timeline(TimelineEvent::TodosReplaced {
                conversation,
                todos,
            }));
        }
    }
}

/// One picture character of at most two cells.
fn emoji(text: &str) -> SafeText {
    graphemes(text.trim())
        .next()
        .map(SafeText::label)
        .filter(|cluster| width(cluster.as_str()) <= 2)
        .unwrap_or_default()
}

fn failed(error: &str) -> RunOutcome {
    RunOutcome::Failed {
        error: if error.trim().is_empty() {
            "The run failed; the gateway did not say why.".into()
        } else {
            SafeText::prose(&crate::text::truncate(error.trim(), 2_000))
        },
        hint: "Send the message again; if it stays, look into the gateway's log.".into(),
    }
}
