//! Approvals, clarifications and auto-approve (spec sections "Approvals", "Clarifications",
//! "Auto-approve"; readings P12, P22). Choices go out as they came in; none is invented.

use super::frames::{
    ApprovalRequest, ApprovalResolved, ClarifyRequest, ClarifyResolved, Request, YoloFrame,
};
use super::{Asked, Pheby};
use crate::domain::{
    Answer, AnswerWay, Choice, CommandId, ConversationId, Decision, DecisionEvent, DecisionId,
    DecisionLife, Expiry, Grant, ModelsEvent, Moment, Question, RefusalCode, RunId, RunPhase,
    ToolCallId, Topic,
};
use crate::protocol::decode::{CHOICE_LIMIT, asked_at, instant};
use crate::text::SafeText;
use std::collections::BTreeMap;

/// An open decision, as far as its answer and its end need it.
#[derive(Debug)]
struct Open {
    conversation: ConversationId,
    run: Option<RunId>,
    tool: Option<ToolCallId>,
    is_approval: bool,
    /// The id on the wire.
    wire: String,
}

/// All open decisions.
#[derive(Debug, Default)]
pub(super) struct Decisions {
    open: BTreeMap<DecisionId, Open>,
}

impl Decisions {
    pub(super) fn has_open(&self, conversation: &ConversationId) -> bool {
        self.open
            .values()
            .any(|open| open.conversation == *conversation)
    }

    pub(super) fn conversation(&self, decision: &DecisionId) -> Option<ConversationId> {
        self.open
            .get(decision)
            .map(|open| open.conversation.clone())
    }

    pub(super) fn conversations(&self) -> Vec<ConversationId> {
        self.open
            .values()
            .map(|open| open.conversation.clone())
            .collect()
    }

    pub(super) fn forget(&mut self, conversation: &ConversationId) {
        self.open
            .retain(|_, open| open.conversation != *conversation);
    }
}

/// Approvals and clarifications have ids of their own each, which may be equal.
fn approval_id(wire: &str) -> DecisionId {
    DecisionId::from(format!("approval {wire}"))
}

fn clarify_id(wire: &str) -> DecisionId {
    DecisionId::from(format!("clarify {wire}"))
}

impl Pheby {
    pub(super) fn on_approval_request(&mut self, now: Moment, frame: ApprovalRequest) {
        if frame.approval_id.is_empty() || frame.conversation_id.is_empty() {
            return self.odd("approval.request without its ids");
        }
        let conversation = ConversationId::from(frame.conversation_id.as_str());
        let decision = self.approval(now, &conversation, frame);
        self.open_decision(decision);
    }

    pub(super) fn on_clarify_request(&mut self, now: Moment, frame: ClarifyRequest) {
        if frame.clarify_id.is_empty() || frame.conversation_id.is_empty() {
            return self.odd("clarify.request without its ids");
        }
        let conversation = ConversationId::from(frame.conversation_id.as_str());
        let decision = self.clarification(now, &conversation, frame);
        self.open_decision(decision);
    }

    fn open_decision(&mut self, decision: Decision) {
        let conversation = decision.conversation.clone();
        self.say(Topic::Decision(DecisionEvent::Opened(Box::new(decision))));
        self.change_phase(&conversation, RunPhase::WaitingForDecision);
    }

    /// The open decisions of a snapshot; others of this conversation are not open any more.
    pub(super) fn adopt_decisions(
        &mut self,
        now: Moment,
        conversation: &ConversationId,
        run: Option<&RunId>,
        approvals: Vec<ApprovalRequest>,
        clarifications: Vec<ClarifyRequest>,
    ) -> Vec<Decision> {
        self.decisions.forget(conversation);
        let mut decisions = Vec::new();
        for frame in approvals {
            if !frame.approval_id.is_empty() {
                let asked = asked_at(now, frame.ts.as_deref().and_then(instant));
                decisions.push(self.approval(asked, conversation, frame));
            }
        }
        for frame in clarifications {
            if !frame.clarify_id.is_empty() {
                let asked = asked_at(now, frame.ts.as_deref().and_then(instant));
                decisions.push(self.clarification(asked, conversation, frame));
            }
        }
        for decision in &mut decisions {
            decision.run = decision.run.take().or_else(|| run.cloned());
        }
        decisions
    }

    fn approval(
        &mut self,
        asked_at: Moment,
        conversation: &ConversationId,
        frame: ApprovalRequest,
    ) -> Decision {
        if frame.choices.is_empty() {
            self.odd("approval.request without choices");
        }
        let choices = frame
            .choices
            .into_iter()
            .take(CHOICE_LIMIT)
            .map(|value| Choice {
                label: SafeText::label(&value),
                grant: grant(&value),
                value,
                is_current: false,
            })
            .collect::<Vec<_>>();
        let takes_reason = choices.iter().any(|choice| choice.grant == Grant::Deny);
        let question = Question::Approval {
            command: SafeText::command(&frame.command),
            description: SafeText::prose(&frame.description),
            may_be_cut: false,
            takes_reason,
        };
        let id = approval_id(&frame.approval_id);
        let wire = frame.approval_id;
        self.decision(
            asked_at,
            conversation,
            (id, wire, true),
            frame.run_id,
            question,
            choices,
        )
    }

    fn clarification(
        &mut self,
        asked_at: Moment,
        conversation: &ConversationId,
        frame: ClarifyRequest,
    ) -> Decision {
        let choices = frame
            .choices
            .into_iter()
            .take(CHOICE_LIMIT)
            .map(|value| Choice {
                label: SafeText::prose(&value),
                value,
                grant: Grant::Answer,
                is_current: false,
            })
            .collect();
        // The spec: always offer free text, whatever `allow_free_text` says.
        let question = Question::Clarification {
            question: SafeText::prose(&frame.question),
            takes_free_text: true,
        };
        let id = clarify_id(&frame.clarify_id);
        let wire = frame.clarify_id;
        self.decision(
            asked_at,
            conversation,
            (id, wire, false),
            frame.run_id,
            question,
            choices,
        )
    }

    fn decision(
        &mut self,
        asked_at: Moment,
        conversation: &ConversationId,
        (id, wire, is_approval): (DecisionId, String, bool),
        run: Option<String>,
        question: Question,
        choices: Vec<Choice>,
    ) -> Decision {
        let run = run
            .map(RunId::from)
            .or_else(|| self.runs.active(conversation).cloned());
        let tool = if is_approval {
            self.runs.only_running_tool(conversation)
        } else {
            self.runs.asking_tool(conversation)
        };
        self.decisions.open.insert(
            id.clone(),
            Open {
                conversation: conversation.clone(),
                run: run.clone(),
                tool: tool.clone(),
                is_approval,
                wire,
            },
        );
        Decision {
            id,
            conversation: conversation.clone(),
            run,
            tool,
            question,
            choices,
            way: AnswerWay::Direct,
            life: DecisionLife::Open,
            asked_at,
            deadline: None,
            was_asked_for: false,
        }
    }

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
                 or its run ended.",
            );
            return self.say(Topic::Decision(DecisionEvent::Expired {
                decision,
                why: Expiry::Gone,
            }));
        };
        let wire = open.wire.clone();
        if open.is_approval {
            let Answer::Choice { value, reason } = answer else {
                return self.refuse(
                    command,
                    RefusalCode::BadRequest,
                    "An approval is answered by one of its choices, not by a text.",
                );
            };
            let reason = reason
                .as_deref()
                .map(str::trim)
                .filter(|reason| !reason.is_empty());
            let request = Request::ApprovalRespond {
                approval_id: &wire,
                choice: &value,
                // The spec takes a reason with a refusal only.
                reason: reason.filter(|_| grant(&value) == Grant::Deny),
            };
            self.ask(now, &request, Asked::Approve { command, decision });
        } else {
            let text = match answer {
                Answer::Choice { value, .. } => value,
                Answer::Text(text) => text,
            };
            if text.trim().is_empty() {
                return self.refuse(
                    command,
                    RefusalCode::LocalLimit,
                    "An answer needs words. Type some, or choose one of the answers.",
                );
            }
            let request = Request::ClarifyRespond {
                clarify_id: &wire,
                response: &text,
            };
            let asked = Asked::Clarify {
                command,
                decision,
                text: text.clone(),
            };
            self.ask(now, &request, asked);
        }
    }

    pub(super) fn on_approval_resolved(&mut self, id: Option<String>, frame: ApprovalResolved) {
        if frame.approval_id.is_empty() {
            return self.odd("approval.resolved without an id");
        }
        let decision = approval_id(&frame.approval_id);
        let asked = id.and_then(|id| self.take_answer(&id, &decision));
        let choice = frame.choice.as_deref().map(SafeText::label);
        self.close_decision(decision, choice, asked, frame.accepted);
    }

    pub(super) fn on_clarify_resolved(&mut self, id: Option<String>, frame: ClarifyResolved) {
        if frame.clarify_id.is_empty() {
            return self.odd("clarify.resolved without an id");
        }
        let decision = clarify_id(&frame.clarify_id);
        let asked = id.and_then(|id| self.take_answer(&id, &decision));
        let choice = match (&asked, frame.response) {
            (Some(Asked::Clarify { text, .. }), None) => Some(SafeText::prose(text)),
            (_, response) => response.as_deref().map(SafeText::prose),
        };
        self.close_decision(decision, choice, asked, frame.accepted);
    }

    /// The request of ours with this id, when it answers this decision.
    fn take_answer(&mut self, id: &str, decision: &DecisionId) -> Option<Asked> {
        match self.pending.get(id) {
            Some(Asked::Approve { decision: of, .. } | Asked::Clarify { decision: of, .. })
                if of == decision =>
            {
                self.pending.take(id)
            }
            _ => None,
        }
    }

    fn close_decision(
        &mut self,
        decision: DecisionId,
        choice: Option<SafeText>,
        asked: Option<Asked>,
        accepted: Option<bool>,
    ) {
        let command = asked
            .as_ref()
            .and_then(|asked| asked.commands().first().copied());
        let open = self.decisions.open.remove(&decision);
        if accepted == Some(false) {
            self.say(Topic::Decision(DecisionEvent::Expired {
                decision,
                why: Expiry::Gone,
            }));
            if let Some(command) = command {
                self.refuse(
                    command,
                    RefusalCode::NotFound,
                    "The server did not take the answer; the decision is no longer open.",
                );
            }
        } else {
            self.say(Topic::Decision(DecisionEvent::Resolved {
                decision,
                choice,
                command,
            }));
            if let Some(command) = command {
                self.done(command);
            }
        }
        if let Some(open) = open {
            self.resume(&open.conversation);
        }
    }

    /// The run goes on when nothing waits for the person any more.
    fn resume(&mut self, conversation: &ConversationId) {
        if !self.decisions.has_open(conversation) {
            self.change_phase(conversation, RunPhase::Working);
        }
    }

    pub(super) fn on_answer_refused(&mut self, decision: &DecisionId, code: &str) {
        if !matches!(code, "approval_not_found" | "clarify_not_found") {
            return;
        }
        let open = self.decisions.open.remove(decision);
        self.say(Topic::Decision(DecisionEvent::Expired {
            decision: decision.clone(),
            why: Expiry::Gone,
        }));
        if let Some(open) = open {
            self.resume(&open.conversation);
        }
    }

    /// An open decision goes with its run, without an event.
    pub(super) fn expire_decisions_of_run(&mut self, conversation: &ConversationId, run: &RunId) {
        let gone = self.take_open(|open| {
            open.conversation == *conversation && open.run.as_ref().is_none_or(|of| of == run)
        });
        for decision in gone {
            self.say(Topic::Decision(DecisionEvent::Expired {
                decision,
                why: Expiry::RunEnded,
            }));
        }
    }

    /// A call that failed or was stopped no longer waits. An answer of ours that is on its way
    /// gets its own reply.
    pub(super) fn expire_decisions_of_tool(
        &mut self,
        conversation: &ConversationId,
        tool: &ToolCallId,
        why: Expiry,
    ) {
        let answering: Vec<DecisionId> = self
            .decisions
            .open
            .keys()
            .filter(|id| {
                self.pending.any(|asked| {
                    matches!(asked, Asked::Approve { decision, .. } | Asked::Clarify { decision, .. }
                        if decision == *id)
                })
            })
            .cloned()
            .collect();
        let mut gone: Vec<DecisionId> = self
            .decisions
            .open
            .iter()
            .filter(|(id, open)| open.tool.as_ref() == Some(tool) && !answering.contains(id))
            .map(|(id, _)| id.clone())
            .collect();
        // With several calls at once the decision does not know its own; a blocked call is the
        // one whose approval ran out, and they are asked one after the other.
        if gone.is_empty() && why == Expiry::TimedOut {
            gone = self
                .decisions
                .open
                .iter()
                .filter(|(id, open)| {
                    open.conversation == *conversation
                        && open.is_approval
                        && open.tool.is_none()
                        && !answering.contains(id)
                })
                .map(|(id, _)| id.clone())
                .take(1)
                .collect();
        }
        for decision in gone {
            self.decisions.open.remove(&decision);
            self.say(Topic::Decision(DecisionEvent::Expired { decision, why }));
            self.resume(conversation);
        }
    }

    fn take_open(&mut self, matches: impl Fn(&Open) -> bool) -> Vec<DecisionId> {
        let gone: Vec<DecisionId> = self
            .decisions
            .open
            .iter()
            .filter(|(_, open)| matches(open))
            .map(|(id, _)| id.clone())
            .collect();
        for decision in &gone {
            self.decisions.open.remove(decision);
        }
        gone
    }

    pub(super) fn set_yolo(
        &mut self,
        now: Moment,
        command: CommandId,
        conversation: ConversationId,
        on: bool,
    ) {
        let request = Request::YoloSet {
            conversation_id: conversation.as_str(),
            enabled: on,
        };
        let asked = Asked::Yolo {
            command: Some(command),
            conversation: conversation.clone(),
        };
        self.ask(now, &request, asked);
    }

    pub(super) fn on_yolo(&mut self, id: Option<String>, frame: YoloFrame) {
        let asked = id.and_then(|id| self.pending.take(&id));
        let conversation = match (&asked, frame.conversation_id) {
            (_, Some(id)) => ConversationId::from(id),
            (Some(Asked::Yolo { conversation, .. }), None) => conversation.clone(),
            _ => return self.odd("auto-approve of no conversation"),
        };
        match frame.enabled {
            Some(on) => self.say(Topic::Models(ModelsEvent::AutoApproveChanged {
                conversation,
                on,
            })),
            None => self.odd("auto-approve neither on nor off"),
        }
        for command in asked.iter().flat_map(Asked::commands) {
            self.done(command);
        }
    }
}

/// What a choice of an approval grants, by the values of the spec.
fn grant(value: &str) -> Grant {
    match value {
        "once" => Grant::Once,
        "session" => Grant::Session,
        "always" => Grant::Always,
        "deny" => Grant::Deny,
        _ => Grant::Unknown,
    }
}
