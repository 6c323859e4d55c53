//! What comes of a message that was sent: its run, what the run says and asks, and how it ends.
//!
//! Events are looked at before the state takes them. Nothing here sends; an answer to a decision is
//! only laid down for the next step.

use super::report::Report;
use super::{Ended, NOT_SENT, OnApproval, OneShot, REASON, Stage};
use crate::domain::{
    AccountEvent, Answer, AttachmentEvent, Author, CommandId, CommandOutcome, Decision,
    DecisionEvent, Delivery, DirectoryEvent, Grant, LinkEvent, LinkState, Question, Refusal,
    RefusalCode, Reply, RunEvent, RunOutcome, TimelineEvent, Topic,
};
use crate::text::SafeText;

impl OneShot<'_> {
    /// Reports what an event says before the state takes it.
    pub(super) fn look_at(&mut self, event: &AccountEvent) {
        match &event.topic {
            Topic::Link(LinkEvent::Changed(LinkState::Refused { reason })) => {
                self.ended = Some(Ended::Refused(reason.clone()));
            }
            Topic::Link(LinkEvent::Changed(LinkState::NeedsLogin(need))) => {
                let mut words = format!("sign in first: {}", need.hint);
                for method in &need.methods {
                    words.push_str(&format!(" {}: {}.", method.name, method.detail));
                }
                if let Some(url) = &need.url {
                    words.push_str(&format!(" {url}"));
                }
                self.ended = Some(Ended::Refused(SafeText::label(&words)));
            }
            Topic::Directory(DirectoryEvent::Replaced(_)) => self.has_directory = true,
            Topic::Outcome { command, outcome } => self.look_at_outcome(*command, outcome),
            // Texts before our run has begun belong to another one.
            Topic::Timeline(event) if self.run.is_some() => self.look_at_timeline(event),
            Topic::Timeline(event) if self.is_sent() && self.is_taken() => {
                if let Some(here) = &self.conversation {
                    self.beside.hear(here, event);
                }
            }
            Topic::Run(event) if self.is_sent() => self.look_at_run(event),
            Topic::Decision(DecisionEvent::Opened(decision)) if self.is_sent() => {
                self.decide(decision)
            }
            Topic::Attachment(AttachmentEvent::Added {
                conversation,
                attachment,
            }) if self.is_here(conversation) && self.run.is_some() => {
                (self.report)(Report::Attachment {
                    name: &attachment.name,
                    size: attachment.size,
                });
            }
            _ => {}
        }
    }

    fn look_at_outcome(&mut self, command: CommandId, outcome: &CommandOutcome) {
        // The message opened a thread, so the answer comes there.
        if let CommandOutcome::Done(Reply::Created(thread)) = outcome
            && self.is_sent()
            && self.command == Some(command)
        {
            self.conversation = Some(thread.clone());
        }
        if let Stage::Creating { command: creating } = self.stage
            && creating == command
        {
            match outcome {
                CommandOutcome::Done(Reply::Created(id)) => {
                    self.conversation = Some(id.clone());
                }
                CommandOutcome::Refused(refusal) => {
                    self.ended = Some(Ended::Refused(refusal.text.clone()));
                }
                _ => {}
            }
        }
    }

    fn look_at_timeline(&mut self, event: &TimelineEvent) {
        let is_ours = match event {
            TimelineEvent::Upserted {
                conversation,
                message,
            } => self.is_here(conversation) && message.author != Author::User,
            TimelineEvent::Patched { conversation, .. }
            | TimelineEvent::Ended { conversation, .. }
            | TimelineEvent::Rekeyed { conversation, .. } => self.is_here(conversation),
            _ => false,
        };
        if is_ours {
            self.tracker.timeline(event, self.report);
        }
    }

    fn look_at_run(&mut self, event: &RunEvent) {
        match event {
            // A run that another message began is not ours, unless the server never says.
            RunEvent::Started {
                conversation,
                run,
                command,
                is_stated,
            } if self.is_here(conversation) => {
                let is_ours = match command {
                    Some(_) => *command == self.command,
                    None => *is_stated,
                };
                if is_ours {
                    self.run = Some(run.clone());
                    self.stage = Stage::Running;
                    (self.report)(Report::Accepted);
                } else if self.run.is_none() {
                    match command {
                        Some(_) => self.beside.begin(run),
                        None => self.beside.begin_unnamed(run),
                    }
                }
            }
            RunEvent::Owned {
                conversation,
                run,
                command,
            } if self.is_here(conversation) && Some(*command) == self.command => {
                self.run = Some(run.clone());
                self.stage = Stage::Running;
                (self.report)(Report::Accepted);
                self.beside.own(run, &mut self.tracker, self.report);
            }
            RunEvent::Resumed {
                conversation, run, ..
            } if self.is_here(conversation) && self.run.is_none() => {
                self.beside.begin(run);
            }
            RunEvent::Finished {
                conversation,
                run,
                outcome,
            } if self.is_here(conversation) && self.run.is_none() => {
                self.beside.end(run, outcome);
            }
            // Calls before our run has begun are those of another one.
            RunEvent::ToolChanged { conversation, tool }
                if self.is_here(conversation) && self.run.is_some() =>
            {
                self.tracker.tool(tool, self.report);
            }
            RunEvent::ToolChanged { conversation, .. } if self.is_here(conversation) => {
                self.beside.works();
            }
            RunEvent::ToolRekeyed { .. } => self.tracker.follow(event),
            RunEvent::Finished {
                conversation,
                run,
                outcome,
            } if self.is_here(conversation) && self.run.as_ref() == Some(run) => {
                (self.report)(Report::Finished(outcome));
                if *outcome == RunOutcome::Lost && self.request.ends_with_us {
                    self.lost = Some(std::time::Instant::now() + REASON);
                    return;
                }
                self.ended = Some(end_of(outcome));
            }
            _ => {}
        }
    }

    fn decide(&mut self, decision: &Decision) {
        if !self.is_here(&decision.conversation) {
            return;
        }
        // Another run asks somebody else; answering for it would let it do what nobody here saw.
        if self.run.is_none() && decision.run.is_some() {
            self.ended = Some(Ended::NeedsDecision(
                if self.is_taken() {
                    "the run that is active in this conversation waits for a decision; answer it \
                     in trialogue. What was sent is there already and comes after it"
                } else {
                    NOT_SENT
                }
                .into(),
            ));
            return;
        }
        (self.report)(Report::Decision(decision));
        let is_approval = matches!(decision.question, Question::Approval { .. });
        let wanted = match self.request.on_approval {
            OnApproval::Deny if is_approval => Some(Grant::Deny),
            OnApproval::Once if is_approval => Some(Grant::Once),
            _ => None,
        };
        let choice =
            wanted.and_then(|grant| decision.choices.iter().find(|choice| choice.grant == grant));
        match choice {
            Some(choice) => {
                let answer = Answer::Choice {
                    value: choice.value.clone(),
                    reason: None,
                };
                // The state knows the decision only after this event was taken.
                self.answers.push((decision.id.clone(), answer));
            }
            None => {
                let words = match (is_approval, self.request.ends_with_us) {
                    _ if wanted.is_some() => {
                        "the agent asked for an approval that cannot be given like this; send it \
                         from trialogue, or without --on-approval to see what it offers"
                    }
                    (true, false) => {
                        "the agent waits for an approval; give it in trialogue, or use \
                         --on-approval"
                    }
                    (true, true) => {
                        "the agent asked for an approval, and its run ended with this command; \
                         send it again with --on-approval once or deny, or from trialogue"
                    }
                    (false, false) => "the agent waits for an answer; give it in trialogue",
                    (false, true) => {
                        "the agent asked something, and its run ended with this command; send it \
                         again from trialogue, where it can be answered"
                    }
                };
                self.ended = Some(Ended::NeedsDecision(words.into()));
            }
        }
    }

    /// Looks where our message stands: refused, uncertain, or without a run that is stated.
    pub(super) fn watch_delivery(&mut self) {
        let (Some(key), Some(account)) =
            (self.key, self.engine.state.account(&self.request.account))
        else {
            return;
        };
        let delivery = account
            .outbox
            .iter()
            .find(|record| record.key == key)
            .map(|record| record.delivery.clone());
        let waits_here = delivery == Some(Delivery::Queued);
        let (is_running, has_decision) = match &self.conversation {
            Some(id) => (
                account
                    .conversations
                    .get(id)
                    .is_some_and(|here| here.run.is_some()),
                account
                    .decisions
                    .iter()
                    .any(|decision| decision.conversation == *id && decision.life.is_open()),
            ),
            None => (false, false),
        };
        if waits_here && has_decision {
            self.give_up();
            self.ended = Some(Ended::NeedsDecision(NOT_SENT.into()));
            return;
        }
        if !waits_here && self.beside.is_certain() && self.run.is_none() && !self.has_said_waiting {
            self.has_said_waiting = true;
            (self.report)(Report::Notice {
                text: "another run is active here; the answer comes after it",
            });
        }
        if waits_here && is_running && !self.has_said_waiting {
            self.has_said_waiting = true;
            (self.report)(Report::Notice {
                text: "another run is active here; the message goes when it has ended",
            });
        }
        match delivery {
            Some(Delivery::Failed(Refusal { code, text })) => {
                self.ended = Some(match code {
                    RefusalCode::LocalLimit | RefusalCode::LocalFile => Ended::Unusable(text),
                    _ => Ended::Refused(text),
                });
            }
            Some(Delivery::Uncertain) => {
                self.ended = Some(Ended::NoConnection(
                    "the connection broke while the message was being sent; it may have arrived. It is kept as uncertain".into(),
                ));
            }
            _ => {}
        }
    }

    /// No run of our own began behind the one that was active.
    pub(super) fn settle_for_other(&mut self) {
        let is_due = self.beside.left().is_some_and(|left| left.is_zero());
        if !is_due || self.run.is_some() || !self.is_taken() {
            return;
        }
        let may_be_ours = self.beside.may_be_ours();
        let has_answer = self.beside.tell(&mut self.tracker, self.report) || may_be_ours;
        let outcome = self.beside.outcome().cloned();
        if !has_answer {
            self.ended = Some(Ended::RunFailed(
                "the run that was active ended, and none began for this message".into(),
            ));
            return;
        }
        let outcome = outcome.unwrap_or(RunOutcome::Completed);
        (self.report)(Report::Finished(&outcome));
        self.ended = Some(end_of(&outcome));
    }
}

/// How a command ends whose run ended so.
fn end_of(outcome: &RunOutcome) -> Ended {
    match outcome {
        RunOutcome::Completed => Ended::Answered,
        RunOutcome::Cancelled => Ended::RunFailed("the run was cancelled".into()),
        RunOutcome::Failed { error, hint, .. } => Ended::RunFailed(with_hint(error, hint)),
        RunOutcome::Lost => Ended::RunFailed("the run was lost".into()),
    }
}

/// Why a run failed, and what can be done about it.
fn with_hint(error: &SafeText, hint: &SafeText) -> SafeText {
    if hint.is_empty() {
        return error.clone();
    }
    let end = if error.as_str().ends_with(['.', '!', '?']) {
        ""
    } else {
        "."
    };
    SafeText::prose(&format!("{error}{end} {hint}"))
}
