//! Lanes: a channel, or a thread of one, is one conversation (readings I21, I22). Knows for each
//! what is open in it. Conversation ids are the channel's or the thread's own id; only this file
//! turns them into addresses and back.

use super::Iris;
use super::calls::{BEGUN, CALLS};
use super::missed::Missed;
use super::running::{Begun, Call};
use crate::domain::{CommandId, ConversationId, Moment, RemoteId, RunId, ToolCallId};
use crate::protocol::Resume;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Ended messages of a lane that are remembered, so that late updates are ignored.
pub(super) const ENDED_LIMIT: usize = 64;
/// Lanes whose last message is kept over a restart.
const ANCHOR_LIMIT: usize = 200;
/// Messages of ours that are remembered.
const SENT_LIMIT: usize = 128;

/// Where a frame goes.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Address {
    pub(super) chat_id: Option<String>,
    pub(super) thread_id: Option<String>,
}

/// A run that was inferred.
#[derive(Clone, Debug)]
pub(super) struct Turn {
    pub(super) run: RunId,
    /// Our message that it answers.
    pub(super) command: Option<CommandId>,
    /// Our message that it answers if it began just now, which does not show yet.
    pub(super) candidate: Option<CommandId>,
    pub(super) is_stopping: bool,
    /// The gateway restarts, so it does not come to its own end.
    pub(super) is_cut: bool,
    pub(super) failure: Option<String>,
    /// An answer came to its end in this turn.
    pub(super) has_answer: bool,
}

/// A turn that was given up, with what was open in it.
#[derive(Clone, Debug)]
pub(super) struct Lost {
    pub(super) turn: Turn,
    pub(super) open: BTreeSet<RemoteId>,
    pub(super) tools: BTreeMap<i64, ToolCallId>,
    pub(super) at: Moment,
}

impl Lost {
    pub(super) fn of(at: Moment, turn: Turn) -> Self {
        Self {
            turn,
            open: BTreeSet::new(),
            tools: BTreeMap::new(),
            at,
        }
    }
}

/// What is going on in a lane.
#[derive(Debug, Default)]
pub(super) struct Lane {
    pub(super) turn: Option<Turn>,
    /// Typing counts until then.
    pub(super) typing_until: Option<Moment>,
    /// Streaming messages, and whether something of each was shown.
    pub(super) open: BTreeSet<RemoteId>,
    /// Those of them that gave no sign yet over the present link.
    pub(super) carried: BTreeSet<RemoteId>,
    pub(super) ended: VecDeque<RemoteId>,
    /// Finished calls that are remembered: a replay repeats them.
    pub(super) calls: VecDeque<Call>,
    /// They differ from what is kept.
    pub(super) has_new_calls: bool,
    /// Calls that have not ended, those of an earlier start of the program among them.
    pub(super) begun: VecDeque<Begun>,
    /// They differ from what is kept.
    pub(super) has_new_begun: bool,
    /// What an earlier link left running shows itself until then.
    pub(super) left_until: Option<Moment>,
    /// Running calls by their index.
    pub(super) tools: BTreeMap<i64, ToolCallId>,
    /// Calls of this turn so far; an index may be used again.
    pub(super) tool_count: u64,
    /// The last message that ended: finished tools are told apart by it.
    pub(super) anchor: Option<RemoteId>,
    /// The last words of a person or the agent here that a history would have.
    pub(super) spoken: Option<RemoteId>,
    /// The same when the link was lost, until the newest page of history was looked through for it.
    pub(super) proof: Option<RemoteId>,
    /// Goes up with everything the agent does.
    pub(super) activity: u64,
    /// After a lost link what was open gets so long to show a sign of life.
    pub(super) grace_until: Option<Moment>,
    /// It does not show yet whether the turn that a restart of the gateway cut goes on.
    pub(super) is_doubtful: bool,
    /// A turn without `typing off` does not end before.
    pub(super) hold_until: Option<Moment>,
    /// The last word on typing was that it is over.
    pub(super) is_off: bool,
    /// The last system message, for the notification that repeats it.
    pub(super) last_system: Option<(RemoteId, String, Option<i64>)>,
    /// Our last slash command, as long as nothing answered it: a picker that follows it was asked
    /// for.
    pub(super) slash_at: Option<Moment>,
    /// Our last message, until a turn begins with it.
    pub(super) last_command: Option<CommandId>,
    /// Messages that no turn has answered yet, in the order in which the gateway took them; none
    /// for those of other devices.
    pub(super) waiting: VecDeque<Option<CommandId>>,
    /// Our messages that were in that line at some time.
    lined_up: VecDeque<CommandId>,
    /// How many of those were there when the last turn ended, and until when one of them would
    /// begin the next.
    pub(super) stale: usize,
    pub(super) idle_until: Option<Moment>,
    /// Messages that were missed and have no answer yet: a turn may be going on for them.
    pub(super) missed: Missed,
    /// A message of another device came in over this link.
    pub(super) has_others: bool,
    /// A turn ended over this link, so the next one is seen to begin.
    pub(super) is_known: bool,
    /// Messages of ours over this link that got no answer in time: a late receipt may be theirs.
    pub(super) unanswered: usize,
    /// The turn that was given up last.
    pub(super) lost: Option<Lost>,
    /// The link over which the list of todos came that stands here.
    pub(super) todos_of: Option<u64>,
    /// Wall milliseconds of the last message that ended, by the gateway's clock.
    pub(super) last_ts: Option<i64>,
}

impl Lane {
    pub(super) fn has_ended(&self, message: &RemoteId) -> bool {
        self.ended.contains(message)
    }

    /// Whether a receipt that does not say whose it is may be that of a message which is not waited
    /// for any more.
    pub(super) fn takes_late_receipt(&mut self) -> bool {
        let is_late = self.unanswered > 0;
        self.unanswered = self.unanswered.saturating_sub(1);
        is_late
    }

    /// A message stands in line for a turn. The same one of ours does so once.
    pub(super) fn line_up(&mut self, command: Option<CommandId>) {
        if let Some(command) = command {
            if self.lined_up.contains(&command) {
                return;
            }
            self.note_line(command);
        }
        if self.waiting.len() >= ENDED_LIMIT {
            self.waiting.pop_front();
        }
        self.waiting.push_back(command);
    }

    fn note_line(&mut self, command: CommandId) {
        if self.lined_up.len() >= ENDED_LIMIT {
            self.lined_up.pop_front();
        }
        self.lined_up.push_back(command);
    }

    /// The message that a turn that begins now is for. One of ours that was neither echoed nor
    /// receipted yet stands behind all others.
    pub(super) fn next_message(&mut self) -> Option<CommandId> {
        match self.waiting.pop_front() {
            Some(command) => {
                self.last_command.take_if(|last| Some(*last) == command);
                command
            }
            None => {
                let command = self.last_command.take()?;
                self.note_line(command);
                Some(command)
            }
        }
    }

    /// No turn began for the messages that waited when the last one ended: it answered them.
    pub(super) fn drop_answered(&mut self) {
        self.idle_until = None;
        self.missed.forget();
        for _ in 0..std::mem::take(&mut self.stale) {
            if let Some(command) = self.waiting.pop_front() {
                self.last_command.take_if(|last| Some(*last) == command);
            }
        }
    }

    /// The gateway knows nothing any more of what was sent here, and of the turn that was given up.
    pub(super) fn forget_messages(&mut self) {
        self.waiting.clear();
        self.stale = 0;
        self.idle_until = None;
        self.last_command = None;
        self.missed.forget();
        self.lost = None;
    }

    /// Everything that happens by itself.
    pub(super) fn deadlines(&self) -> impl Iterator<Item = Option<Moment>> {
        [
            self.typing_until,
            self.grace_until,
            self.hold_until,
            self.idle_until,
            self.left_until,
        ]
        .into_iter()
    }

    /// A message streams. False when that was known.
    pub(super) fn streams(&mut self, message: &RemoteId) -> bool {
        self.carried.remove(message);
        self.open.insert(message.clone())
    }

    /// Takes out what was open over an earlier link and gave no sign over this one.
    pub(super) fn take_left_open(&mut self, link: u64) -> (Vec<RemoteId>, Vec<ToolCallId>) {
        let carried = std::mem::take(&mut self.carried);
        let (left, open) = std::mem::take(&mut self.open)
            .into_iter()
            .partition(|message| carried.contains(message));
        let left: BTreeSet<RemoteId> = left;
        self.open = open;
        let begun = &self.begun;
        let is_of_now =
            |id: &ToolCallId| begun.iter().any(|call| call.id == *id && call.link == link);
        let (tools, calls): (BTreeMap<_, _>, _) = std::mem::take(&mut self.tools)
            .into_iter()
            .partition(|(_, id)| is_of_now(id));
        self.tools = tools;
        (left.into_iter().collect(), calls.into_values().collect())
    }

    pub(super) fn end(&mut self, message: &RemoteId) {
        self.carried.remove(message);
        self.open.remove(message);
        if !self.ended.contains(message) {
            if self.ended.len() >= ENDED_LIMIT {
                self.ended.pop_front();
            }
            self.ended.push_back(message.clone());
        }
        self.anchor = Some(message.clone());
    }
}

/// All lanes.
#[derive(Debug, Default)]
pub(super) struct Lanes {
    pub(super) lanes: BTreeMap<ConversationId, Lane>,
    /// Threads and the channels they belong to.
    parents: BTreeMap<ConversationId, String>,
    pub(super) default: Option<ConversationId>,
    /// Messages of ours by the ids that the server gave them.
    sent: VecDeque<(RemoteId, CommandId)>,
}

impl Lanes {
    /// With the anchors that were kept beside the cursor.
    pub(super) fn new(resume: &Resume) -> Self {
        let mut lanes = Self::default();
        if let Some(text) = resume.facts.get("anchors")
            && let Ok(anchors) = serde_json::from_str::<BTreeMap<String, String>>(text)
        {
            for (lane, message) in anchors {
                lanes.lane(&ConversationId::from(lane)).anchor = Some(RemoteId::from(message));
            }
        }
        for (name, text) in &resume.facts {
            if let Some(lane) = name.strip_prefix(BEGUN) {
                lanes.lane(&ConversationId::from(lane)).restore_begun(text);
            } else if let Some(lane) = name.strip_prefix(CALLS) {
                lanes.lane(&ConversationId::from(lane)).restore_calls(text);
            }
        }
        lanes
    }

    pub(super) fn lane(&mut self, conversation: &ConversationId) -> &mut Lane {
        self.lanes.entry(conversation.clone()).or_default()
    }

    pub(super) fn activity(&self, conversation: &ConversationId) -> u64 {
        self.lanes.get(conversation).map_or(0, |lane| lane.activity)
    }

    pub(super) fn set_parent(&mut self, thread: &ConversationId, channel: Option<&str>) {
        match channel {
            Some(channel) => self.parents.insert(thread.clone(), channel.to_owned()),
            None => self.parents.remove(thread),
        };
    }

    /// The channel of a thread.
    pub(super) fn parent(&self, thread: &ConversationId) -> Option<ConversationId> {
        let parent = self.parents.get(thread)?;
        Some(ConversationId::from(parent.as_str()))
    }

    /// How a conversation is named in requests.
    pub(super) fn address(&self, conversation: &ConversationId) -> Address {
        match self.parents.get(conversation) {
            Some(parent) => Address {
                chat_id: Some(parent.clone()),
                thread_id: Some(conversation.as_str().to_owned()),
            },
            None => Address {
                chat_id: Some(conversation.as_str().to_owned()),
                thread_id: None,
            },
        }
    }

    /// A conversation and the threads of it.
    pub(super) fn with_threads(&self, conversation: &ConversationId) -> Vec<ConversationId> {
        let threads = self
            .parents
            .iter()
            .filter(|(_, parent)| parent.as_str() == conversation.as_str())
            .map(|(thread, _)| thread.clone());
        std::iter::once(conversation.clone())
            .chain(threads)
            .collect()
    }

    pub(super) fn forget(&mut self, conversation: &ConversationId) {
        for gone in self.with_threads(conversation) {
            self.lanes.remove(&gone);
            self.parents.remove(&gone);
        }
    }

    /// The last message of each lane, as one text.
    pub(super) fn anchors(&self) -> String {
        let anchors: BTreeMap<&str, &str> = self
            .lanes
            .iter()
            .filter_map(|(id, lane)| Some((id.as_str(), lane.anchor.as_ref()?.as_str())))
            .take(ANCHOR_LIMIT)
            .collect();
        serde_json::to_string(&anchors).unwrap_or_default()
    }

    /// The link is gone. Turns stay until the replay shows how they went on.
    pub(super) fn cut(&mut self) {
        for lane in self.lanes.values_mut() {
            lane.grace_until = None;
            lane.hold_until = None;
            lane.idle_until = None;
            lane.left_until = None;
            lane.is_doubtful = false;
            lane.slash_at = None;
            lane.is_known = false;
            lane.carried = lane.open.clone();
            lane.has_others = false;
            lane.unanswered = 0;
            if let Some(turn) = &mut lane.turn {
                turn.has_answer = false;
                if let Some(command) = turn.candidate.take() {
                    lane.waiting.push_front(Some(command));
                }
            }
        }
    }

    /// Remembers which message of the server is one of ours.
    pub(super) fn remember_sent(&mut self, message: RemoteId, command: CommandId) {
        if self.sent.len() >= SENT_LIMIT {
            self.sent.pop_front();
        }
        self.sent.push_back((message, command));
    }

    pub(super) fn sent(&self, message: &RemoteId) -> Option<CommandId> {
        self.sent
            .iter()
            .find(|(known, _)| known == message)
            .map(|(_, command)| *command)
    }

    pub(super) fn typing(&self) -> Vec<ConversationId> {
        self.lanes
            .iter()
            .filter(|(_, lane)| lane.typing_until.is_some())
            .map(|(id, _)| id.clone())
            .collect()
    }

    pub(super) fn deadline(&self) -> Option<Moment> {
        self.lanes
            .values()
            .flat_map(Lane::deadlines)
            .flatten()
            .min_by_key(|moment| moment.mono_ms)
    }
}

impl Iris {
    /// The conversation that an envelope names; without a name it is the default one.
    pub(super) fn lane(&mut self, chat: Option<&str>, thread: Option<&str>) -> ConversationId {
        match (chat, thread) {
            (chat, Some(thread)) => {
                let conversation = ConversationId::from(thread);
                if let Some(chat) = chat.filter(|chat| *chat != thread)
                    && !self.lanes.parents.contains_key(&conversation)
                {
                    self.lanes.set_parent(&conversation, Some(chat));
                }
                conversation
            }
            (Some(chat), None) => ConversationId::from(chat),
            (None, None) => self
                .lanes
                .default
                .clone()
                .unwrap_or_else(|| ConversationId::from("default")),
        }
    }
}
