//! Pickers, and approvals and questions that come as a notification beside a message (readings
//! I36, I44). An approval is answered by the gateway's own commands, as far as its catalogue lists
//! them, a question by a message; both travel as ordinary messages.

use super::asking::{approval, clarification};
use super::frames::{Notification, Picker};
use super::lanes::Lanes;
use super::{Asked, Iris};
use crate::domain::{
    AccountEvent, AnswerWay, Choice, ConversationId, Decision, DecisionEvent, DecisionId,
    DecisionLife, Expiry, Grant, IncomingMessage, MessageSort, Moment, Notice, NoticeKind,
    Provenance, Question, RunId, RunPhase, Severity, SyncEvent, TimelineEvent, Topic,
};
use crate::protocol::decode::{CHOICE_LIMIT, asked_at, shown};
use crate::text::{SafeText, unmarked};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

/// Notifications and pickers that are remembered.
const SEEN_LIMIT: usize = 256;
/// A picker so soon after a slash command of ours answers it.
const ASKED_FOR: Duration = Duration::from_secs(15);

/// The text before a question ends at most so long after it.
const LEADS_UP_MS: i64 = 1_000;
/// No gateway waits longer for an answer.
pub(super) const LONGEST_WAIT_MS: i64 = 3_600_000;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Approval,
    Clarification,
    Picker,
}

#[derive(Debug)]
pub(super) struct Open {
    pub(super) decision: Decision,
    pub(super) kind: Kind,
    /// The picker's id.
    pub(super) wire: String,
    /// The text that asks, as a message shows it.
    pub(super) body: String,
    /// Out of a replay that is not over, also one that was cut; not said yet, because something
    /// may follow it.
    pub(super) held: Option<Provenance>,
    /// The link it came over.
    link: u64,
    /// The run that went on when our own command asked for this picker: it is none of its steps.
    apart_from: Option<RunId>,
}

impl Open {
    pub(super) fn is_in(&self, conversation: &ConversationId) -> bool {
        self.decision.conversation == *conversation
    }

    pub(super) fn label(&self, value: &str) -> Option<SafeText> {
        let choice = self
            .decision
            .choices
            .iter()
            .find(|choice| choice.value == value)?;
        Some(choice.label.clone())
    }
}

/// All open decisions.
#[derive(Debug, Default)]
pub(super) struct Decisions {
    pub(super) open: BTreeMap<DecisionId, Open>,
    seen: VecDeque<String>,
}

impl Decisions {
    /// Whether a decision keeps the turn of a lane from ending. A picker outside a turn does not:
    /// nobody works while it is open.
    pub(super) fn keeps_turn(&self, conversation: &ConversationId) -> bool {
        self.open.values().any(|open| {
            open.is_in(conversation) && (open.kind != Kind::Picker || open.decision.run.is_some())
        })
    }

    /// The run that offered them is over; who is told so closes them.
    pub(super) fn forget_pickers(&mut self, conversation: &ConversationId, run: &RunId) {
        self.open.retain(|_, open| {
            !open.is_in(conversation)
                || open.kind != Kind::Picker
                || open.decision.run.as_ref() != Some(run)
        });
    }

    /// Whether this text is the one that a decision of the lane asks with.
    pub(super) fn is_asked_by(&self, conversation: &ConversationId, text: &str) -> bool {
        self.open
            .values()
            .any(|open| open.is_in(conversation) && open.body == text)
    }

    pub(super) fn forget(&mut self, conversation: &ConversationId) {
        self.open.retain(|_, open| !open.is_in(conversation));
    }

    /// True the first time.
    fn is_new(&mut self, what: String) -> bool {
        if self.seen.contains(&what) {
            return false;
        }
        if self.seen.len() >= SEEN_LIMIT {
            self.seen.pop_front();
        }
        self.seen.push_back(what);
        true
    }
}

impl Iris {
    pub(super) fn on_notification(
        &mut self,
        now: Moment,
        lane: ConversationId,
        notification: Notification,
    ) {
        let Notification {
            kind,
            title,
            body,
            ts,
        } = notification;
        let key = format!("{kind}\n{title}\n{body}\n{}", ts.unwrap_or_default());
        if !self.decisions.is_new(key) {
            return;
        }
        match (&mut self.provenance, ts) {
            // What rang while the link stood does not ring again after a restart of ours.
            (Provenance::Replayed { was_announced, .. }, Some(ts)) => {
                *was_announced |= ts <= self.session.announced_ts;
            }
            (Provenance::Live, Some(ts)) if ts > self.session.announced_ts => {
                self.session.announced_ts = ts;
                self.say(Topic::Sync(SyncEvent::Kept {
                    name: "announced_ts".to_owned(),
                    value: Some(ts.to_string()),
                }));
            }
            _ => {}
        }
        match kind.as_str() {
            "approval" => self.on_asked(now, lane, Kind::Approval, &body, ts),
            "clarify" => self.on_asked(now, lane, Kind::Clarification, &body, ts),
            _ => {
                let is_ours = kind.starts_with("channel_");
                self.say(Topic::Notice(Notice {
                    severity: Severity::Info,
                    kind: if is_ours {
                        NoticeKind::Plain
                    } else {
                        NoticeKind::Announcement
                    },
                    conversation: Some(lane),
                    title: SafeText::label(&title),
                    body: SafeText::prose(&body),
                }));
            }
        }
    }

    /// The message that repeats the notification belongs to the decision, so it steps back.
    fn on_asked(
        &mut self,
        now: Moment,
        lane: ConversationId,
        kind: Kind,
        body: &str,
        ts: Option<i64>,
    ) {
        let text = shown(body);
        let twin = self
            .lanes
            .lane(&lane)
            .last_system
            .take_if(|(_, known, _)| *known == text);
        let name = match &twin {
            Some((remote, ..)) => remote.as_str().to_owned(),
            None => format!("{} {}", lane.as_str(), ts.unwrap_or(now.wall_ms)),
        };
        if let Some((remote, _, sent_at_ms)) = twin {
            self.say(Topic::Timeline(TimelineEvent::Upserted {
                conversation: lane.clone(),
                message: Box::new(IncomingMessage {
                    remote: Some(remote),
                    author: crate::domain::Author::System,
                    sort: MessageSort::Aside,
                    text: text.clone(),
                    sent_at_ms,
                    ..IncomingMessage::default()
                }),
            }));
        }
        let (id, question, choices) = match kind {
            Kind::Approval => (
                format!("approval {name}"),
                approval(&text),
                self.approval_choices(&text),
            ),
            Kind::Clarification | Kind::Picker => {
                let (question, choices) = clarification(&text);
                (format!("clarify {name}"), question, choices)
            }
        };
        let way = if kind == Kind::Approval && choices.is_empty() {
            AnswerWay::Composer
        } else {
            AnswerWay::Reply
        };
        let run = self
            .lanes
            .lane(&lane)
            .turn
            .as_ref()
            .map(|turn| turn.run.clone());
        let decision = Decision {
            id: DecisionId::from(id),
            conversation: lane,
            run,
            tool: None,
            question,
            choices,
            way,
            life: DecisionLife::Open,
            asked_at: asked_at(now, ts.filter(|_| self.is_replay())),
            deadline: None,
            was_asked_for: false,
        };
        self.open_decision(decision, kind, String::new(), text);
    }

    fn open_decision(&mut self, decision: Decision, kind: Kind, wire: String, body: String) {
        let conversation = decision.conversation.clone();
        let held = self.is_replay().then(|| self.provenance.clone());
        let is_held = held.is_some();
        let open = Open {
            decision: decision.clone(),
            kind,
            wire,
            body,
            held,
            link: self.session.link,
            apart_from: self
                .lanes
                .lane(&conversation)
                .turn
                .as_ref()
                .filter(|_| decision.was_asked_for)
                .map(|turn| turn.run.clone()),
        };
        let waits = decision.run.is_some() || kind != Kind::Picker;
        self.decisions.open.insert(decision.id.clone(), open);
        if is_held {
            return;
        }
        self.say(Topic::Decision(DecisionEvent::Opened(Box::new(decision))));
        if waits {
            self.change_phase(&conversation, RunPhase::WaitingForDecision);
        }
    }

    /// A gateway that restarted, or lost its state, does not know any more what it had asked; the
    /// replay would say so when somebody still waits. What was asked too long ago is over as well.
    pub(super) fn drop_dead_decisions(&mut self, now: Moment) {
        let has_forgotten = std::mem::take(&mut self.session.has_forgotten);
        self.expire(Expiry::ServerRestarted, |lanes, open| {
            let lane = lanes.lanes.get(&open.decision.conversation);
            let turn = lane.and_then(|lane| lane.turn.as_ref());
            let is_cut = turn.is_some_and(|turn| turn.is_cut);
            open.held.is_none() && (has_forgotten || is_cut)
        });
        self.expire(Expiry::TimedOut, |_, open| {
            let ago = now.wall_ms - open.decision.asked_at.wall_ms;
            open.kind != Kind::Picker && ago >= LONGEST_WAIT_MS
        });
    }

    /// What waited when the link was lost may not wait any more, and a gateway that was killed says
    /// nothing of it. Whether it still knows the conversation shows in its history.
    pub(super) fn ask_for_waiting(&mut self, now: Moment) {
        let link = self.session.link;
        let waiting: BTreeSet<ConversationId> = self
            .decisions
            .open
            .values()
            .filter(|open| open.link != link)
            .map(|open| open.decision.conversation.clone())
            .collect();
        for conversation in waiting {
            let of = self.lanes.lane(&conversation);
            of.proof = of.spoken.clone();
            if of.proof.is_some() {
                self.load_history(now, conversation, None, Vec::new());
            }
        }
    }

    /// The gateway does not have the last words of a lane any more, so nobody waits there.
    pub(super) fn forget_decisions(&mut self, conversation: &ConversationId) {
        let link = self.session.link;
        self.expire(Expiry::ServerRestarted, |_, open| {
            open.is_in(conversation) && open.link != link
        });
    }

    /// Ends decisions that nobody waits for. Those that were not said yet go without a word.
    fn expire(&mut self, why: Expiry, is_dead: impl Fn(&Lanes, &Open) -> bool) {
        let dead: Vec<DecisionId> = self
            .decisions
            .open
            .iter()
            .filter(|(_, open)| is_dead(&self.lanes, open))
            .map(|(id, _)| id.clone())
            .collect();
        for decision in dead {
            let open = self.decisions.open.remove(&decision);
            if open.is_some_and(|open| open.held.is_none()) {
                self.say(Topic::Decision(DecisionEvent::Expired { decision, why }));
            }
        }
    }

    /// The replay is over: what nothing followed is open, also what was answered when the link was
    /// lost, since the answer would have come back.
    pub(super) fn open_replayed_decisions(&mut self, now: Moment) {
        // Who asks waits, although nothing else of the turn was seen.
        let asking: Vec<ConversationId> = self
            .decisions
            .open
            .values()
            .filter(|open| {
                let ago = now.wall_ms - open.decision.asked_at.wall_ms;
                open.held.is_some() && open.kind != Kind::Picker && ago < LONGEST_WAIT_MS
            })
            .map(|open| open.decision.conversation.clone())
            .collect();
        for conversation in asking {
            let run = self.begin_waiting_turn(&conversation);
            for open in self.decisions.open.values_mut() {
                if open.is_in(&conversation) && open.kind != Kind::Picker {
                    open.decision.run.get_or_insert_with(|| run.clone());
                }
            }
            self.change_phase(&conversation, RunPhase::WaitingForDecision);
        }
        let open: Vec<(Provenance, Decision)> = self
            .decisions
            .open
            .values_mut()
            .map(|open| {
                let provenance = open.held.take().unwrap_or(Provenance::Snapshot);
                (provenance, open.decision.clone())
            })
            .collect();
        for (provenance, decision) in open {
            self.tell(AccountEvent {
                provenance,
                topic: Topic::Decision(DecisionEvent::Opened(Box::new(decision))),
            });
        }
    }

    /// The choices that the gateway's own commands offer: those that the catalogue lists, and of
    /// them those that the text names when it names any.
    fn approval_choices(&self, text: &str) -> Vec<Choice> {
        let commands = &self.directory.commands;
        let Some(hint) = commands.get("/approve") else {
            return Vec::new();
        };
        let names_any = text.contains("`/approve");
        let offered = |command: &str, word: &str| {
            if names_any {
                text.contains(&format!("`{command}`"))
            } else {
                word.is_empty() || hint.contains(word)
            }
        };
        let mut choices = Vec::new();
        let mut add = |value: &str, label: &'static str, grant| {
            choices.push(Choice {
                value: value.to_owned(),
                label: label.into(),
                grant,
                is_current: false,
            });
        };
        if offered("/approve", "") {
            add("/approve", "once", Grant::Once);
        }
        if offered("/approve session", "session") {
            add("/approve session", "session", Grant::Session);
        }
        if offered("/approve always", "always") {
            add("/approve always", "always", Grant::Always);
        }
        if commands.contains_key("/deny") {
            add("/deny", "deny", Grant::Deny);
        }
        choices
    }

    pub(super) fn on_picker(&mut self, now: Moment, lane: ConversationId, picker: Picker) {
        if picker.picker_id.is_empty() {
            return self.odd("a picker without an id");
        }
        if !self
            .decisions
            .is_new(format!("picker\n{}", picker.picker_id))
        {
            return;
        }
        let choices = picker
            .choices
            .into_iter()
            .take(CHOICE_LIMIT)
            .map(|choice| Choice {
                label: if choice.label.is_empty() {
                    SafeText::label(&choice.value)
                } else {
                    SafeText::label(&unmarked(&choice.label))
                },
                value: choice.value,
                grant: Grant::Answer,
                is_current: choice.is_current,
            })
            .collect();
        let was_asked_for = !self.is_replay()
            && self
                .lanes
                .lane(&lane)
                .slash_at
                .take()
                .is_some_and(|at| now.since(at) <= ASKED_FOR);
        let of = self.lanes.lane(&lane);
        // A picker that nobody here asked for is a step of the turn that goes on.
        let run = of
            .turn
            .as_ref()
            .filter(|_| !was_asked_for)
            .map(|turn| turn.run.clone());
        // Pickers carry no time; what came before them does.
        let ts = of.last_ts;
        let decision = Decision {
            id: DecisionId::from(format!("picker {}", picker.picker_id)),
            conversation: lane,
            run,
            tool: None,
            question: Question::Picker {
                title: SafeText::prose(&unmarked(&picker.title)),
            },
            choices,
            way: AnswerWay::Direct,
            life: DecisionLife::Open,
            asked_at: asked_at(now, ts.filter(|_| self.is_replay())),
            deadline: None,
            was_asked_for,
        };
        self.open_decision(decision, Kind::Picker, picker.picker_id, String::new());
    }

    /// The agent went on: what it waited for is over, whoever answered it.
    pub(super) fn on_output(&mut self, conversation: &ConversationId) {
        self.pass(conversation, |_| true);
    }

    /// A replay repeats something that was seen before, so it is older than what waited then; what
    /// this replay asked before it is over all the same.
    pub(super) fn on_repeat(&mut self, conversation: &ConversationId) {
        let link = self.session.link;
        self.pass(conversation, |open| {
            open.held.is_some() && open.link == link
        });
    }

    /// The same for a text of a replay that ended. One that leads up to a question may come right
    /// behind it.
    pub(super) fn on_text_ended(
        &mut self,
        conversation: &ConversationId,
        ts: Option<i64>,
        is_repeat: bool,
    ) {
        let link = self.session.link;
        self.pass(conversation, |open| {
            let is_meant = !is_repeat || (open.held.is_some() && open.link == link);
            is_meant && ts.is_none_or(|ts| ts - open.decision.asked_at.wall_ms > LEADS_UP_MS)
        });
    }

    /// A message of its own came in a lane: it is what a picker there led to, here or elsewhere.
    pub(super) fn pass_pickers(&mut self, conversation: &ConversationId) {
        self.pass(conversation, |open| open.kind == Kind::Picker);
    }

    /// Ends decisions that something followed. Our own answer that is on its way ends its own.
    fn pass(&mut self, conversation: &ConversationId, is_meant: impl Fn(&Open) -> bool) {
        let run = self
            .lanes
            .lane(conversation)
            .turn
            .as_ref()
            .map(|turn| turn.run.clone());
        let gone: Vec<DecisionId> = self
            .decisions
            .open
            .iter()
            .filter(|(id, open)| {
                let is_apart = open.apart_from.is_some() && open.apart_from == run;
                let is_answering = self.pending.any(|asked| match asked {
                    Asked::Send { decision, .. } => decision.as_ref() == Some(*id),
                    Asked::Pick { decision, .. } => decision == *id,
                    _ => false,
                });
                open.is_in(conversation) && is_meant(open) && !is_apart && !is_answering
            })
            .map(|(id, _)| id.clone())
            .collect();
        for decision in gone {
            let open = self.decisions.open.remove(&decision);
            if open.is_some_and(|open| open.held.is_none()) {
                self.say(Topic::Decision(DecisionEvent::Expired {
                    decision,
                    why: Expiry::Gone,
                }));
            }
        }
    }
}
