//! Messages out, and the life of runs (spec sections "Chat & streaming", "Tool events"; readings P5,
//! P6, P8 to P12, P23, P27). What the server says in messages is in `messages`.

mod messages;

use super::frames::{ActiveRun, Request, RunFrame};
use super::{Asked, Pheby};
use crate::domain::{
    CommandId, ConversationId, Footer, Moment, RefusalCode, RemoteId, RunEvent, RunId, RunOutcome,
    RunPhase, TimelineEvent, Todo, ToolCall, ToolCallId, ToolStatus, Topic,
};
use crate::protocol::decode::shown;
use crate::text::SafeText;
use std::collections::{BTreeMap, VecDeque};

/// Ended messages of a conversation that are remembered, so that late updates are ignored.
const ENDED_LIMIT: usize = 64;
/// Sends without an answer in time that are remembered.
const LATE_LIMIT: usize = 32;

/// The message that a run writes at the moment.
#[derive(Debug)]
struct Draft {
    id: RemoteId,
    /// Something of it was said already.
    is_shown: bool,
}

/// An active run.
#[derive(Debug)]
struct Active {
    run: RunId,
    command: Option<CommandId>,
    phase: RunPhase,
    draft: Option<Draft>,
    /// The last message that was completed; files without a message follow it.
    last_message: Option<RemoteId>,
    /// Calls that began and did not end, in their order.
    running_tools: Vec<ToolCallId>,
    /// The call that asks the person.
    asking_tool: Option<ToolCallId>,
    /// A notice and its text. A provider that fails says the same as notice and as answer.
    notices: Vec<(RemoteId, String)>,
    answers: Vec<String>,
}

impl Active {
    fn new(run: RunId, command: Option<CommandId>) -> Self {
        Self {
            run,
            command,
            phase: RunPhase::Accepted,
            draft: None,
            last_message: None,
            running_tools: Vec::new(),
            asking_tool: None,
            notices: Vec::new(),
            answers: Vec::new(),
        }
    }
}

/// Runs of all conversations.
#[derive(Debug, Default)]
pub(super) struct Runs {
    active: BTreeMap<ConversationId, Active>,
    /// Drafts of messages without a run.
    loose: BTreeMap<ConversationId, Draft>,
    ended: BTreeMap<ConversationId, VecDeque<RemoteId>>,
    todos: BTreeMap<ConversationId, Vec<Todo>>,
    /// Requests of sends that were given up, and may still be accepted.
    late: VecDeque<(String, CommandId, ConversationId)>,
}

impl Runs {
    /// Whether the open draft of a conversation has no text yet.
    pub(super) fn has_textless_draft(&self, conversation: &ConversationId) -> bool {
        self.active
            .get(conversation)
            .and_then(|active| active.draft.as_ref())
            .is_some_and(|draft| !draft.is_shown)
    }

    /// Whether this is the open draft, and without text.
    pub(super) fn is_textless(&self, conversation: &ConversationId, message: &str) -> bool {
        self.active
            .get(conversation)
            .and_then(|active| active.draft.as_ref())
            .is_some_and(|draft| !draft.is_shown && draft.id.as_str() == message)
    }

    pub(super) fn active(&self, conversation: &ConversationId) -> Option<&RunId> {
        self.active.get(conversation).map(|active| &active.run)
    }

    pub(super) fn last_message(&self, conversation: &ConversationId) -> Option<RemoteId> {
        let active = self.active.get(conversation)?;
        active.last_message.clone()
    }

    /// The only call that runs; none when there are several.
    pub(super) fn only_running_tool(&self, conversation: &ConversationId) -> Option<ToolCallId> {
        match self.active.get(conversation)?.running_tools.as_slice() {
            [tool] => Some(tool.clone()),
            _ => None,
        }
    }

    /// Notes that a call of the active run began or ended.
    pub(super) fn note_call(&mut self, conversation: &ConversationId, call: &ToolCall, asks: bool) {
        let Some(active) = self.active.get_mut(conversation) else {
            return;
        };
        active.running_tools.retain(|known| *known != call.id);
        let is_running = call.status == ToolStatus::Running;
        if asks {
            active.asking_tool = is_running.then(|| call.id.clone());
        } else if is_running {
            active.running_tools.push(call.id.clone());
        }
    }

    pub(super) fn todos(&self, conversation: &ConversationId) -> &[Todo] {
        self.todos.get(conversation).map_or(&[][..], Vec::as_slice)
    }

    pub(super) fn keep_todos(&mut self, conversation: &ConversationId, todos: Vec<Todo>) {
        self.todos.insert(conversation.clone(), todos);
    }

    /// The call that asks the person something.
    pub(super) fn asking_tool(&self, conversation: &ConversationId) -> Option<ToolCallId> {
        self.active.get(conversation)?.asking_tool.clone()
    }

    pub(super) fn set_phase(&mut self, conversation: &ConversationId, phase: RunPhase) {
        if let Some(active) = self.active.get_mut(conversation) {
            active.phase = phase;
        }
    }

    /// Takes over what a snapshot says of the run.
    pub(super) fn adopt(&mut self, conversation: &ConversationId, run: Option<&ActiveRun>) {
        let Some(wire) = run else {
            self.active.remove(conversation);
            self.loose.remove(conversation);
            return;
        };
        let id = RunId::from(wire.run_id.as_str());
        let draft = wire.message_id.as_deref().map(RemoteId::from);
        let text = !shown(&wire.text).is_empty();
        match self
            .active
            .get_mut(conversation)
            .filter(|active| active.run == id)
        {
            Some(active) => {
                if let Some(draft) = active.draft.as_mut().filter(|_| text) {
                    draft.is_shown |=
                        Some(&draft.id) == wire.message_id.as_deref().map(RemoteId::from).as_ref();
                }
            }
            None => {
                let mut active = Active::new(id, None);
                active.draft = draft.map(|id| Draft { id, is_shown: text });
                self.active.insert(conversation.clone(), active);
            }
        }
    }

    pub(super) fn forget(&mut self, conversation: &ConversationId) {
        self.active.remove(conversation);
        self.loose.remove(conversation);
        self.ended.remove(conversation);
        self.todos.remove(conversation);
    }

    /// The link is gone; ids of requests die with it.
    pub(super) fn cut(&mut self) {
        self.active.clear();
        self.loose.clear();
        self.late.clear();
    }

    pub(super) fn conversations(&self) -> Vec<(ConversationId, RunId)> {
        self.active
            .iter()
            .map(|(conversation, active)| (conversation.clone(), active.run.clone()))
            .collect()
    }

    pub(super) fn remember_late(
        &mut self,
        id: String,
        command: CommandId,
        conversation: ConversationId,
    ) {
        if self.late.len() >= LATE_LIMIT {
            self.late.pop_front();
        }
        self.late.push_back((id, command, conversation));
    }

    pub(super) fn take_late(&mut self, id: &str) -> Option<(CommandId, ConversationId)> {
        let at = self.late.iter().position(|(known, ..)| known == id)?;
        self.late
            .remove(at)
            .map(|(_, command, conversation)| (command, conversation))
    }

    fn has_ended(&self, conversation: &ConversationId, message: &RemoteId) -> bool {
        self.ended
            .get(conversation)
            .is_some_and(|ended| ended.contains(message))
    }

    fn end(&mut self, conversation: &ConversationId, message: RemoteId) {
        let ended = self.ended.entry(conversation.clone()).or_default();
        if ended.contains(&message) {
            return;
        }
        if ended.len() >= ENDED_LIMIT {
            ended.pop_front();
        }
        ended.push_back(message);
    }

    /// The draft with this id; made, in its run or loose, when it was not begun.
    fn draft(&mut self, conversation: &ConversationId, id: &RemoteId) -> &mut Draft {
        let fresh = || Draft {
            id: id.clone(),
            is_shown: false,
        };
        let slot = match self.active.get_mut(conversation) {
            Some(active) => active.draft.get_or_insert_with(fresh),
            None => self.loose.entry(conversation.clone()).or_insert_with(fresh),
        };
        if slot.id != *id {
            *slot = fresh();
        }
        slot
    }

    /// Takes the draft with this id off.
    fn close_draft(&mut self, conversation: &ConversationId, id: &RemoteId) -> Option<Draft> {
        if let Some(active) = self.active.get_mut(conversation)
            && let Some(draft) = active.draft.take_if(|draft| draft.id == *id)
        {
            return Some(draft);
        }
        match self.loose.get(conversation) {
            Some(draft) if draft.id == *id => self.loose.remove(conversation),
            _ => None,
        }
    }
}

impl Pheby {
    pub(super) fn write_message(
        &mut self,
        now: Moment,
        command: CommandId,
        conversation: ConversationId,
        text: &str,
        attachments: &[&str],
    ) {
        let request = Request::ChatSend {
            conversation_id: conversation.as_str(),
            text,
            attachment_ids: attachments,
        };
        let asked = Asked::Send {
            command,
            conversation: conversation.clone(),
        };
        self.ask(now, &request, asked);
    }

    pub(super) fn cancel_run(
        &mut self,
        now: Moment,
        command: CommandId,
        conversation: ConversationId,
        run: Option<RunId>,
    ) {
        let Some(run) = run.or_else(|| self.runs.active(&conversation).cloned()) else {
            return self.refuse(
                command,
                RefusalCode::NotFound,
                "Nothing runs in this conversation, so there is nothing to stop.",
            );
        };
        let request = Request::RunCancel {
            conversation_id: conversation.as_str(),
            run_id: run.as_str(),
        };
        let asked = Asked::Cancel {
            command,
            conversation: conversation.clone(),
            run: run.clone(),
        };
        self.ask(now, &request, asked);
        if self.runs.active(&conversation) == Some(&run) {
            self.change_phase(&conversation, RunPhase::Cancelling);
        }
    }

    /// Says the phase of the active run when it is another one.
    pub(super) fn change_phase(&mut self, conversation: &ConversationId, phase: RunPhase) {
        let Some(active) = self.runs.active.get_mut(conversation) else {
            return;
        };
        // Only its end ends the wish to stop it.
        if active.phase == phase || active.phase == RunPhase::Cancelling {
            return;
        }
        active.phase = phase.clone();
        let run = active.run.clone();
        self.say(Topic::Run(RunEvent::PhaseChanged {
            conversation: conversation.clone(),
            run,
            phase,
        }));
    }

    /// Text or a tool was seen.
    pub(super) fn work(&mut self, conversation: &ConversationId) {
        if self.decisions.has_open(conversation) {
            return;
        }
        self.change_phase(conversation, RunPhase::Working);
    }

    pub(super) fn on_run_accepted(&mut self, now: Moment, id: Option<String>, frame: RunFrame) {
        if frame.conversation_id.is_empty() || frame.run_id.is_empty() {
            return self.odd("run.accepted without its ids");
        }
        let conversation = ConversationId::from(frame.conversation_id.as_str());
        let run = RunId::from(frame.run_id.as_str());
        let mut late = false;
        let command = id.and_then(|id| match self.pending.get(&id) {
            Some(Asked::Send { .. }) => self.pending.take(&id).and_then(|asked| match asked {
                Asked::Send { command, .. } => Some(command),
                _ => None,
            }),
            Some(_) => None,
            None => self.runs.take_late(&id).map(|(command, _)| {
                late = true;
                command
            }),
        });
        let is_known = self.runs.active(&conversation) == Some(&run);
        if let Some(command) = command {
            self.say(Topic::Timeline(TimelineEvent::Acknowledged {
                conversation: conversation.clone(),
                command,
                remote: None,
            }));
        }
        match self.runs.active.get_mut(&conversation).filter(|_| is_known) {
            // Said twice: once to everybody and once to the sender.
            Some(active) => active.command = active.command.or(command),
            None => {
                let active = Active::new(run.clone(), command);
                self.runs.active.insert(conversation.clone(), active);
                self.say(Topic::Run(RunEvent::Started {
                    conversation: conversation.clone(),
                    run,
                    command,
                    is_stated: true,
                }));
                self.touch(now, &conversation, None);
            }
        }
        match command {
            Some(command) if !late => self.done(command),
            Some(_) => {}
            None if !is_known => self.look_again(now, &conversation),
            None => {}
        }
    }

    pub(super) fn on_run_finished(&mut self, now: Moment, id: Option<String>, frame: RunFrame) {
        if frame.conversation_id.is_empty() {
            return self.odd("run.finished without a conversation");
        }
        let conversation = ConversationId::from(frame.conversation_id.as_str());
        let run = match (frame.run_id.as_str(), self.runs.active(&conversation)) {
            ("", Some(active)) => active.clone(),
            ("", None) => return self.odd("run.finished without a run"),
            (run, _) => RunId::from(run),
        };
        let outcome = outcome(&frame);
        let mut was_ours = false;
        if self.runs.active(&conversation) == Some(&run)
            && let Some(active) = self.runs.active.remove(&conversation)
        {
            was_ours = active.command.is_some();
            if let Some(draft) = active.draft.filter(|draft| draft.is_shown) {
                self.runs.end(&conversation, draft.id.clone());
                self.say(Topic::Timeline(TimelineEvent::Ended {
                    conversation: conversation.clone(),
                    remote: draft.id,
                    text: None,
                    reasoning: None,
                    footer: Footer::default(),
                    sent_at_ms: Some(now.wall_ms),
                    is_interrupted: outcome != RunOutcome::Completed,
                }));
            }
            // No event ends them (readings P12): the run was their last chance to say so.
            let status = match outcome {
                RunOutcome::Cancelled => ToolStatus::Cancelled,
                RunOutcome::Failed { .. } | RunOutcome::Lost => ToolStatus::Failed,
                RunOutcome::Completed => ToolStatus::Completed,
            };
            for tool in active.running_tools {
                let mut call = ToolCall::new(tool, SafeText::default());
                call.run = Some(run.clone());
                call.status = status;
                self.say(Topic::Run(RunEvent::ToolChanged {
                    conversation: conversation.clone(),
                    tool: Box::new(call),
                }));
            }
        }
        self.expire_decisions_of_run(&conversation, &run);
        self.say(Topic::Run(RunEvent::Finished {
            conversation: conversation.clone(),
            run: run.clone(),
            outcome,
        }));
        // The answer to a cancel is this event, mostly without the id of the request.
        let asked = id.and_then(|id| self.pending.take(&id)).or_else(|| {
            self.pending.take_first(|asked| {
                matches!(asked, Asked::Cancel { conversation: of, run: known, .. }
                    if *of == conversation && *known == run)
            })
        });
        for command in asked.iter().flat_map(Asked::commands) {
            self.done(command);
        }
        self.touch(now, &conversation, None);
        if !was_ours {
            self.look_again(now, &conversation);
        }
    }
}

fn outcome(frame: &RunFrame) -> RunOutcome {
    match frame.status.as_str() {
        "completed" => RunOutcome::Completed,
        "cancelled" | "canceled" => RunOutcome::Cancelled,
        "failed" => RunOutcome::Failed {
            error: if frame.error.trim().is_empty() {
                "The run failed; the server did not say why.".into()
            } else {
                SafeText::prose(&crate::text::truncate(frame.error.trim(), 2_000))
            },
            hint: "Send the message again, or choose another model.".into(),
            details: SafeText::default(),
        },
        other => RunOutcome::Failed {
            error: SafeText::prose(&format!("The run ended as \"{other}\".")),
            hint: "Look at what was done before you send the message again.".into(),
            details: SafeText::default(),
        },
    }
}
