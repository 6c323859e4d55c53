//! Runs. The protocol states none, so they are inferred (readings I34, I35, I37, I38): a turn begins
//! with the first `typing on`, `message.start` or `tool.start` after the last one ended, and ends
//! when no message and no tool is open, no decision of it waits, and typing is off, or did not come
//! again for 5 s. A wrong guess blocks nothing: the gateway queues.
//!
//! # Whose turn it is
//! A gateway works on the messages of a lane in the order in which it took them, from whatever
//! device they came; the echo or the receipt shows that order. So a turn that begins belongs to the
//! first message that no turn has answered, those among them that were missed (`missed`). Right after a link came to stand a turn may be going on
//! that nobody here saw begin: then `typing on` alone decides nothing, since it comes every 2 s all
//! the time, and the first frame that only a beginning or only the middle of a turn has does.
//!
//! # Turns that were given up
//! What was open when the link broke and gave no sign after it is reported as lost. When the same
//! message, the same call, or the lane without a new message goes on all the same, that is taken
//! back. When the lane works on without them and then rests, they were cut, and that stands.

use super::decisions::LONGEST_WAIT_MS;
use super::lanes::{Lost, Turn};
use super::{Asked, Iris};
use crate::domain::{
    CommandId, ConversationId, Footer, Moment, RemoteId, RunEvent, RunId, RunOutcome, RunPhase,
    TimelineEvent, ToolCall, ToolCallId, ToolStatus, Topic,
};
use crate::text::SafeText;
use std::time::Duration;

/// A typing mark that is not renewed goes out.
const TYPING: Duration = Duration::from_secs(5);
/// A turn that goes on while a link comes to stand shows it within so long.
const QUIET: Duration = Duration::from_millis(2_500);
/// After a reconnect a turn that still runs shows it within so long; typing comes every 2 s.
const GRACE: Duration = Duration::from_secs(6);
/// The same for a turn that the gateway cut by a restart: it takes it up at once, or not at all.
const RESTART_GRACE: Duration = Duration::from_millis(2_500);
/// What is still open so long after typing ended does not end any more.
const LOST: Duration = Duration::from_secs(10);
/// What a lane does so long after its turn was given up is another turn, unless a frame names
/// something that was open in it.
const RETURN: Duration = Duration::from_secs(120);
/// A message that waits when a turn ends is answered by the next one within so long, or was
/// answered by the one that ended.
const NEXT: Duration = Duration::from_secs(6);

/// What a frame says of the turn that it belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Sign {
    /// Somebody works.
    Typing,
    /// Something begins.
    Beginning,
    /// Something goes on of which nobody here saw the beginning.
    Amid,
}

impl Iris {
    /// The run of a lane that does something, begun when there is none. A replay begins none.
    pub(super) fn begin_turn(
        &mut self,
        now: Moment,
        conversation: &ConversationId,
        sign: Sign,
    ) -> Option<RunId> {
        if self.is_replay() {
            let lane = self.lanes.lane(conversation);
            return lane.turn.as_ref().map(|turn| turn.run.clone());
        }
        let lane = self.lanes.lane(conversation);
        // A gateway that restarted goes on with its turn at once or not at all, and what begins now
        // is for a message that came after it.
        let was_doubtful = match sign {
            Sign::Typing => false,
            Sign::Beginning | Sign::Amid => std::mem::take(&mut lane.is_doubtful),
        };
        let is_over = sign == Sign::Beginning
            && was_doubtful
            && lane.turn.as_ref().is_some_and(|turn| turn.is_cut)
            && (!lane.waiting.is_empty() || lane.last_command.is_some());
        if is_over {
            self.abandon_turn(now, conversation);
        }
        let lane = self.lanes.lane(conversation);
        lane.activity += 1;
        lane.grace_until = None;
        lane.hold_until = None;
        lane.idle_until = None;
        lane.is_off = false;
        let goes_on = lane.turn.is_none()
            && lane.waiting.is_empty()
            && lane.last_command.is_none()
            && lane
                .lost
                .as_ref()
                .is_some_and(|lost| now.since(lost.at) < RETURN);
        if goes_on {
            self.resume(conversation);
        }
        if let Some(turn) = &self.lanes.lane(conversation).turn {
            let run = turn.run.clone();
            self.settle_owner(conversation, sign);
            return Some(run);
        }
        let was_quiet = self.was_quiet(now);
        let lane = self.lanes.lane(conversation);
        lane.lost = None;
        if was_quiet && !lane.is_known {
            lane.missed.forget();
        }
        let is_sure = was_quiet || lane.is_known;
        let was_guessed = lane.missed.take();
        let (command, candidate) = match sign {
            _ if was_guessed => (None, None),
            Sign::Typing if !is_sure => (None, lane.next_message()),
            Sign::Amid if !is_sure => (None, None),
            Sign::Typing | Sign::Beginning | Sign::Amid => (lane.next_message(), None),
        };
        Some(self.start_turn(conversation, command, candidate))
    }

    fn start_turn(
        &mut self,
        conversation: &ConversationId,
        command: Option<CommandId>,
        candidate: Option<CommandId>,
    ) -> RunId {
        let run = RunId::from(self.mint_name("turn"));
        let lane = self.lanes.lane(conversation);
        lane.tool_count = 0;
        lane.turn = Some(Turn {
            run: run.clone(),
            command,
            candidate,
            is_stopping: false,
            is_cut: false,
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
        run
    }

    /// Whether the link stands so long that what went on before would have shown itself.
    pub(super) fn was_quiet(&self, now: Moment) -> bool {
        self.session
            .ready_at
            .is_some_and(|at| now.since(at) >= QUIET)
    }

    /// Decides whether the turn that goes on is the one of our message, as soon as that shows.
    pub(super) fn settle_owner(&mut self, conversation: &ConversationId, sign: Sign) {
        let lane = self.lanes.lane(conversation);
        let Some(turn) = &mut lane.turn else {
            return;
        };
        if sign == Sign::Typing {
            return;
        }
        let Some(command) = turn.candidate.take() else {
            return;
        };
        if sign == Sign::Amid {
            lane.waiting.push_front(Some(command));
            return;
        }
        turn.command = Some(command);
        let run = turn.run.clone();
        self.say(Topic::Run(RunEvent::Owned {
            conversation: conversation.clone(),
            run,
            command,
        }));
    }

    /// A decision of the replay waits, so a turn does.
    pub(super) fn begin_waiting_turn(&mut self, conversation: &ConversationId) -> RunId {
        match &self.lanes.lane(conversation).turn {
            Some(turn) => turn.run.clone(),
            None => self.start_turn(conversation, None, None),
        }
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
            self.begin_turn(now, &conversation, Sign::Typing);
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
        if lane.is_off && !self.session.is_syncing() {
            self.end_left_open(conversation);
        }
        let lane = self.lanes.lane(conversation);
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
        // It ended without a word: then it was what it seemed to be.
        self.settle_owner(conversation, Sign::Beginning);
        // The replay may still say how calls of an earlier link ended.
        let since = match self.session.is_syncing() {
            true => self.session.link,
            false => 0,
        };
        let lane = self.lanes.lane(conversation);
        let Some(turn) = lane.turn.take() else {
            return;
        };
        lane.is_known = true;
        let left = lane.forget_begun(|call| call.link >= since);
        lane.stale = lane.waiting.len();
        let is_awaited = lane.stale > 0 || !lane.missed.is_empty();
        lane.idle_until = is_awaited.then(|| now.after(NEXT));
        let outcome = match &turn.failure {
            Some(error) => failed(error),
            None if turn.is_stopping => RunOutcome::Cancelled,
            None if turn.is_cut => {
                lane.lost = Some(Lost::of(now, turn.clone()));
                restarted()
            }
            None => RunOutcome::Completed,
        };
        self.tell_left(conversation, left);
        self.finish_turn(conversation, turn.run, outcome);
        self.ask_for_message(now, conversation, turn.command);
    }

    /// The gateway said that it restarts: what ends from now on was cut.
    pub(super) fn cut_turns(&mut self) {
        for lane in self.lanes.lanes.values_mut() {
            if let Some(turn) = &mut lane.turn {
                turn.is_cut = true;
            }
        }
    }

    /// The turn that seemed to be the one of a message is over, and neither echo nor receipt came:
    /// it may as well have been another turn, so the server is asked what it has.
    fn ask_for_message(
        &mut self,
        now: Moment,
        conversation: &ConversationId,
        command: Option<CommandId>,
    ) {
        let is_open = self
            .pending
            .any(|asked| matches!(asked, Asked::Send { command: of, .. } if Some(*of) == command));
        let is_asked = self.pending.any(|asked| {
            matches!(asked, Asked::History { conversation: of, before: None, .. }
                if of == conversation)
        });
        if is_open && !is_asked {
            self.load_history(now, conversation.clone(), None, Vec::new());
        }
    }

    fn finish_turn(&mut self, conversation: &ConversationId, run: RunId, outcome: RunOutcome) {
        self.decisions.forget_pickers(conversation, &run);
        self.say(Topic::Run(RunEvent::Finished {
            conversation: conversation.clone(),
            run,
            outcome,
        }));
    }

    /// The replay is over: turns from before the cut show a sign of life soon, or are over.
    pub(super) fn resume_turns(&mut self, now: Moment) {
        let link = self.session.link;
        for lane in self.lanes.lanes.values_mut() {
            if lane.turn.is_none() && !lane.begun_before(link).is_empty() {
                lane.left_until = Some(now.after(GRACE));
            }
            if let Some(turn) = &lane.turn {
                let grace = if turn.is_cut { RESTART_GRACE } else { GRACE };
                lane.grace_until = Some(now.after(grace));
                lane.is_doubtful = turn.is_cut;
            }
        }
    }

    /// The gateway lost its state: no turn from before goes on, and no message waits for one.
    pub(super) fn forget_turns(&mut self, now: Moment) {
        let conversations: Vec<ConversationId> = self.lanes.lanes.keys().cloned().collect();
        for conversation in conversations {
            self.abandon_turn(now, &conversation);
            let lane = self.lanes.lane(&conversation);
            lane.forget_messages();
            let left = lane.forget_begun(|_| true);
            self.tell_left(&conversation, left);
        }
    }

    /// An answer arrived: a turn of which nothing was seen yet gets the whole time from now on.
    pub(super) fn renew_grace(&mut self, now: Moment, conversation: &ConversationId) {
        let lane = self.lanes.lane(conversation);
        if lane.grace_until.is_some() {
            lane.grace_until = Some(now.after(GRACE));
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
            .filter(|(_, lane)| lane.deadlines().any(is_due))
            .map(|(id, _)| id.clone())
            .collect();
        for conversation in quiet {
            if is_due(self.lanes.lane(&conversation).idle_until) {
                self.lanes.lane(&conversation).drop_answered();
            }
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
                    self.abandon_turn(now, &conversation);
                }
            }
            if is_due(self.lanes.lane(&conversation).left_until) {
                let link = self.session.link;
                let lane = self.lanes.lane(&conversation);
                lane.left_until = None;
                // Their ends may come all the same: nobody types while somebody is asked. No
                // gateway asks for longer than that.
                if lane.turn.is_none() {
                    let longest = now.wall_ms - LONGEST_WAIT_MS;
                    let mut left = lane.forget_begun(|call| call.at_ms < longest);
                    left.extend(lane.begun_before(link));
                    self.tell_left(&conversation, left);
                }
            }
            if is_due(self.lanes.lane(&conversation).grace_until) {
                self.lanes.lane(&conversation).grace_until = None;
                // Typing pauses while somebody is asked; once that is over it must show itself.
                if self.decisions.keeps_turn(&conversation) {
                    self.lanes.lane(&conversation).grace_until = Some(now.after(GRACE));
                } else {
                    self.abandon_turn(now, &conversation);
                }
            }
            self.check_turn(now, &conversation);
        }
    }

    /// What was open before the link was lost is not going on.
    fn abandon_turn(&mut self, now: Moment, conversation: &ConversationId) {
        let lane = self.lanes.lane(conversation);
        let open = std::mem::take(&mut lane.open);
        let tools = std::mem::take(&mut lane.tools);
        let Some(turn) = lane.turn.take() else {
            return;
        };
        let was_cut = turn.is_cut || !open.is_empty() || !turn.has_answer;
        if was_cut {
            lane.lost = Some(Lost {
                open: open.clone(),
                tools: tools.clone(),
                ..Lost::of(now, turn.clone())
            });
        }
        let calls: Vec<ToolCallId> = tools.into_values().collect();
        self.tell_cut(conversation, open.into_iter().collect(), calls.clone());
        let link = self.session.link;
        let lane = self.lanes.lane(conversation);
        let mut left = match turn.is_cut {
            true => lane.forget_begun(|_| true),
            false => lane.begun_before(link),
        };
        left.retain(|id| !calls.contains(id));
        self.tell_left(conversation, left);
        let outcome = match was_cut {
            true if turn.is_cut => restarted(),
            true => RunOutcome::Lost,
            false => RunOutcome::Completed,
        };
        self.finish_turn(conversation, turn.run, outcome);
    }

    /// Nobody works any more, so what an earlier link left open, and of which this one heard nothing,
    /// came to no end.
    fn end_left_open(&mut self, conversation: &ConversationId) {
        let link = self.session.link;
        let (messages, calls) = self.lanes.lane(conversation).take_left_open(link);
        self.tell_cut(conversation, messages, calls);
    }

    /// Calls that an earlier link saw begin ended unseen, if at all.
    pub(super) fn tell_left(&mut self, conversation: &ConversationId, left: Vec<ToolCallId>) {
        self.keep_begun(conversation);
        for tool in left {
            self.say(Topic::Run(RunEvent::ToolLost {
                conversation: conversation.clone(),
                tool,
            }));
        }
    }

    fn tell_cut(
        &mut self,
        conversation: &ConversationId,
        messages: Vec<RemoteId>,
        calls: Vec<ToolCallId>,
    ) {
        for remote in messages {
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
        for id in calls {
            let mut call = ToolCall::new(id, SafeText::default());
            call.status = ToolStatus::Cancelled;
            self.tell_tool(conversation, call);
        }
    }

    /// Takes back that a turn was lost, when this message was open in it.
    pub(super) fn resume_message(&mut self, conversation: &ConversationId, message: &RemoteId) {
        let lane = self.lanes.lane(conversation);
        let is_of_it = lane
            .lost
            .as_ref()
            .is_some_and(|lost| lost.open.contains(message));
        if is_of_it && lane.turn.is_none() {
            self.resume(conversation);
        }
    }

    /// Takes back that a turn was lost, when this call ran in it.
    pub(super) fn resume_call(&mut self, conversation: &ConversationId, index: i64) {
        let lane = self.lanes.lane(conversation);
        let is_of_it = lane
            .lost
            .as_ref()
            .is_some_and(|lost| lost.tools.contains_key(&index));
        if is_of_it && lane.turn.is_none() {
            self.resume(conversation);
        }
    }

    fn resume(&mut self, conversation: &ConversationId) {
        let lane = self.lanes.lane(conversation);
        let Some(lost) = lane.lost.take() else {
            return;
        };
        let run = lost.turn.run.clone();
        let tools: Vec<_> = lost.tools.values().cloned().collect();
        lane.open = lost.open;
        lane.tools = lost.tools;
        lane.turn = Some(Turn {
            is_cut: false,
            ..lost.turn
        });
        self.say(Topic::Run(RunEvent::Resumed {
            conversation: conversation.clone(),
            run,
            tools,
        }));
        self.change_phase(conversation, RunPhase::Working);
    }
}

fn restarted() -> RunOutcome {
    RunOutcome::Failed {
        error: "The gateway restarted while this run was going on.".into(),
        hint: "What it had written stays above. Send the message again if the answer is missing."
            .into(),
        details: SafeText::default(),
    }
}

fn failed(error: &str) -> RunOutcome {
    RunOutcome::Failed {
        error: if error.trim().is_empty() {
            "The run failed; the gateway did not say why.".into()
        } else {
            SafeText::prose(&crate::text::truncate(error.trim(), 2_000))
        },
        hint: "Send the message again; if it stays, look into the gateway's log.".into(),
        details: SafeText::default(),
    }
}
