//! Answers to decisions, from here and from other devices (readings I36, I44). An approval is
//! answered by the gateway's own commands, a question by a message, a picker by its id.

use super::asking::spoken;
use super::decisions::{Kind, Open};
use super::frames::Request;
use super::{Asked, Iris, lanes::Address};
use crate::domain::{
    Answer, CommandId, CommandOutcome, ConversationId, DecisionEvent, DecisionId, Expiry, Moment,
    Refusal, RefusalCode, RunPhase, Topic,
};
use crate::text::SafeText;

impl Iris {
    pub(super) fn answer(
        &mut self,
        now: Moment,
        command: CommandId,
        decision: DecisionId,
        answer: Answer,
    ) {
        let Some(open) = self.decisions.open.get(&decision) else {
            self.refuse(
                command,
                RefusalCode::NotFound,
                "This decision is no longer open: it was answered elsewhere, its time ran out, \
                 or its run went on.",
            );
            return self.say(Topic::Decision(DecisionEvent::Expired {
                decision,
                why: Expiry::Gone,
            }));
        };
        let conversation = open.decision.conversation.clone();
        if open.kind == Kind::Picker {
            let Answer::Choice { value, .. } = answer else {
                return self.refuse(
                    command,
                    RefusalCode::BadRequest,
                    "A picker is answered by one of its choices, not by a text.",
                );
            };
            let wire = open.wire.clone();
            let label = open
                .label(&value)
                .unwrap_or_else(|| SafeText::label(&value));
            let label = label.as_str().to_owned();
            let address = self.lanes.address(&conversation);
            let request = Request::PickerSelect {
                picker_id: &wire,
                value: &value,
            };
            let asked = Asked::Pick {
                command,
                decision,
                conversation,
                label,
            };
            self.ask(now, "picker.select", &address, request, asked);
            return;
        }
        let text = match answer {
            Answer::Choice { value, reason } => {
                let reason = reason.as_deref().map(str::trim).unwrap_or_default();
                if value == "/deny" && !reason.is_empty() {
                    format!("/deny {reason}")
                } else {
                    value
                }
            }
            Answer::Text(text) => text,
        };
        if text.trim().is_empty() {
            return self.refuse(
                command,
                RefusalCode::LocalLimit,
                "An answer needs words. Type some, or choose one of the answers.",
            );
        }
        let activity = self.lanes.activity(&conversation);
        let address: Address = self.lanes.address(&conversation);
        let request = Request::MessageSend {
            text: &text,
            reply_to: None,
            media_refs: &[],
            auto_thread: false,
        };
        let asked = Asked::Send {
            command,
            conversation,
            text: text.clone(),
            activity,
            decision: Some(decision),
            may_open_thread: false,
        };
        self.ask(now, "message.send", &address, request, asked);
    }

    /// The gateway took our answer.
    pub(super) fn answered(&mut self, decision: DecisionId, text: &str, command: CommandId) {
        let Some(open) = self.decisions.open.remove(&decision) else {
            return;
        };
        let choice = open.label(text).unwrap_or_else(|| spoken(text));
        self.say(Topic::Decision(DecisionEvent::Resolved {
            decision,
            choice: Some(choice),
            command: Some(command),
        }));
        self.go_on(&open.decision.conversation);
    }

    /// A message of the person was seen in the lane: it may be the answer, from another device.
    /// True when it was.
    pub(super) fn on_answer_seen(&mut self, conversation: &ConversationId, text: &str) -> bool {
        let is_slash = text.starts_with('/');
        let is_approval = text.starts_with("/approve") || text.starts_with("/deny");
        let gone = self.take_open(|open| {
            open.is_in(conversation)
                && match open.kind {
                    Kind::Approval => is_approval,
                    Kind::Clarification => !is_slash,
                    Kind::Picker => false,
                }
        });
        let is_answer = !gone.is_empty();
        for (decision, open) in gone {
            let choice = open.label(text).unwrap_or_else(|| spoken(text));
            if open.held.is_none() {
                self.say(Topic::Decision(DecisionEvent::Resolved {
                    decision,
                    choice: Some(choice),
                    command: None,
                }));
            }
            self.go_on(conversation);
        }
        is_answer
    }

    /// The agent goes on; typing paused while it waited, and comes again soon.
    fn go_on(&mut self, conversation: &ConversationId) {
        self.lanes.lane(conversation).is_off = false;
        self.change_phase(conversation, RunPhase::Working);
    }

    fn take_open(&mut self, matches: impl Fn(&Open) -> bool) -> Vec<(DecisionId, Open)> {
        let ids: Vec<DecisionId> = self
            .decisions
            .open
            .iter()
            .filter(|(_, open)| matches(open))
            .map(|(id, _)| id.clone())
            .collect();
        ids.into_iter()
            .filter_map(|id| self.decisions.open.remove(&id).map(|open| (id, open)))
            .collect()
    }

    /// The reply to a picked value came as a message of its lane.
    pub(super) fn picked(&mut self, conversation: &ConversationId) {
        let asked = self.pending.take_first(
            |asked| matches!(asked, Asked::Pick { conversation: of, .. } if of == conversation),
        );
        if let Some(Asked::Pick {
            command,
            decision,
            label,
            ..
        }) = asked
        {
            self.decisions.open.remove(&decision);
            self.say(Topic::Decision(DecisionEvent::Resolved {
                decision,
                choice: Some(SafeText::label(&label)),
                command: Some(command),
            }));
            self.done(command);
        }
    }

    /// A gateway that was restarted forgot the picker and says nothing.
    pub(super) fn pick_unanswered(&mut self, command: CommandId, decision: DecisionId) {
        self.decisions.open.remove(&decision);
        self.finish(
            command,
            CommandOutcome::Refused(Refusal::new(
                RefusalCode::TimedOut,
                "The gateway did not react. It was restarted, perhaps, and forgot the question; \
                 type the command again.",
            )),
        );
        self.say(Topic::Decision(DecisionEvent::Expired {
            decision,
            why: Expiry::TimedOut,
        }));
    }

    pub(super) fn pick_refused(&mut self, decision: DecisionId) {
        self.decisions.open.remove(&decision);
        self.say(Topic::Decision(DecisionEvent::Expired {
            decision,
            why: Expiry::Gone,
        }));
    }
}
