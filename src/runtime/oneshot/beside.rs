//! What is said before a run of our own is known. What another run says is held back, and counts as
//! the answer to ours only when no run of our own comes behind it; what is said without any run,
//! as the replies to a gateway's own commands are, when none comes soon; what a run said before it
//! turned out to be ours, as soon as it does.

use super::report::{Report, Tracker};
use crate::domain::{
    Author, ConversationId, MessageSort, Part, RemoteId, RunId, RunOutcome, TextPatch,
    TimelineEvent,
};
use std::time::{Duration, Instant};

/// Our run begins so soon after the one before it.
const NEXT_RUN: Duration = Duration::from_secs(7);
/// A run behind words that were said without one begins so soon after them.
const FIRST_RUN: Duration = Duration::from_secs(5);

/// What is known of it.
#[derive(Debug, Default)]
pub(super) struct Beside {
    /// The run, while it goes on.
    run: Option<RunId>,
    /// It may still turn out to be the one of our message: nothing but its beginning was seen.
    is_guess: bool,
    /// When the last one ended, and how.
    ended: Option<(Instant, RunOutcome)>,
    /// When something was last said that is complete.
    spoken: Option<Instant>,
    /// How much had been heard when the run began.
    before: usize,
    /// The last report of each message that began since the server has ours, in order.
    heard: Vec<(RemoteId, TimelineEvent)>,
}

impl Beside {
    /// Whether a run goes on that is certainly another's.
    pub(super) fn is_certain(&self) -> bool {
        self.run.is_some() && !self.is_guess
    }

    pub(super) fn begin(&mut self, run: &RunId) {
        self.run = Some(run.clone());
        self.is_guess = false;
        self.ended = None;
        self.before = self.heard.len();
    }

    /// One of which it does not show yet whose it is.
    pub(super) fn begin_unnamed(&mut self, run: &RunId) {
        self.begin(run);
        self.is_guess = true;
    }

    /// It does something, and is not ours: that would have been said first.
    pub(super) fn works(&mut self) {
        self.is_guess = false;
    }

    pub(super) fn end(&mut self, run: &RunId, outcome: &RunOutcome) {
        if self.run.take_if(|known| known == run).is_some() {
            self.ended = Some((Instant::now(), outcome.clone()));
        }
    }

    /// Whether the last one may have been ours: nothing but its beginning and its end was seen.
    pub(super) fn may_be_ours(&self) -> bool {
        self.is_guess
    }

    /// How the last one ended, which counts as ours when none came behind it.
    pub(super) fn outcome(&self) -> Option<&RunOutcome> {
        self.ended.as_ref().map(|(_, outcome)| outcome)
    }

    /// How long until no run of our own comes any more; none as long as one may.
    pub(super) fn left(&self) -> Option<Duration> {
        if self.run.is_some() {
            return None;
        }
        let ended = self.ended.as_ref().map(|(ended, _)| (*ended, NEXT_RUN));
        let (since, limit) = ended.or_else(|| Some((self.spoken?, FIRST_RUN)))?;
        Some(limit.saturating_sub(since.elapsed()))
    }

    /// The run turned out to be ours: what it said so far is reported.
    pub(super) fn own(
        &mut self,
        run: &RunId,
        tracker: &mut Tracker,
        report: &mut dyn FnMut(Report<'_>),
    ) {
        if self.run.as_ref() == Some(run) {
            self.heard.drain(..self.before.min(self.heard.len()));
            self.tell(tracker, report);
            self.run = None;
        }
    }

    /// Keeps what was said in the conversation of ours.
    pub(super) fn hear(&mut self, here: &ConversationId, event: &TimelineEvent) {
        match event {
            TimelineEvent::Upserted {
                conversation,
                message,
            } if conversation == here
                && message.author != Author::User
                && message.sort == MessageSort::Ordinary =>
            {
                // A whole message does not say which run it belongs to.
                if message.is_streaming {
                    self.works();
                } else {
                    self.spoken = Some(Instant::now());
                }
                if let Some(remote) = &message.remote {
                    self.heard.retain(|(known, _)| known != remote);
                    self.heard.push((remote.clone(), event.clone()));
                }
            }
            TimelineEvent::Patched {
                conversation,
                remote,
                part: Part::Body,
                patch: TextPatch::Replace(_),
                ..
            }
            | TimelineEvent::Ended {
                conversation,
                remote,
                text: Some(_),
                ..
            } if conversation == here => {
                self.works();
                if let Some((_, last)) = self.heard.iter_mut().find(|(known, _)| known == remote) {
                    *last = event.clone();
                }
            }
            _ => {}
        }
    }

    /// Reports what was said as the answer. False when nothing was.
    pub(super) fn tell(
        &mut self,
        tracker: &mut Tracker,
        report: &mut dyn FnMut(Report<'_>),
    ) -> bool {
        let heard = std::mem::take(&mut self.heard);
        for (_, event) in &heard {
            tracker.timeline(event, report);
        }
        !heard.is_empty()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::domain::IncomingMessage;

    fn says(beside: &mut Beside, remote: &str, text: &str) {
        let here = ConversationId::from("c");
        let event = TimelineEvent::Upserted {
            conversation: here.clone(),
            message: Box::new(IncomingMessage {
                remote: Some(RemoteId::from(remote)),
                author: Author::Assistant,
                text: text.to_owned(),
                ..IncomingMessage::default()
            }),
        };
        beside.hear(&here, &event);
    }

    fn told(tell: impl FnOnce(&mut Tracker, &mut dyn FnMut(Report<'_>))) -> Vec<String> {
        let mut told = Vec::new();
        tell(&mut Tracker::default(), &mut |report| {
            if let Report::Text { more, .. } = report {
                told.push(more.to_owned());
            }
        });
        told
    }

    #[test]
    fn what_a_run_said_before_it_turned_out_to_be_ours_is_reported() {
        let mut beside = Beside::default();
        says(&mut beside, "a1", "Somebody else's.");
        let run = RunId::from("r");
        beside.begin_unnamed(&run);
        says(&mut beside, "a2", "Ours.");
        assert!(!beside.is_certain(), "it may still be ours");
        assert_eq!(
            told(|tracker, report| beside.own(&run, tracker, report)),
            ["Ours."]
        );
        let other = RunId::from("s");
        beside.begin(&other);
        says(&mut beside, "a3", "Not of the run that is ours.");
        let said = told(|tracker, report| beside.own(&run, tracker, report));
        assert!(said.is_empty(), "{said:?}");
    }

    #[test]
    fn what_is_said_without_a_run_is_the_answer_when_no_run_comes_soon() {
        let mut beside = Beside::default();
        assert_eq!(beside.left(), None);
        says(&mut beside, "a1", "Commands: /help");
        assert!(beside.left().unwrap() <= FIRST_RUN);
        let run = RunId::from("r");
        beside.begin_unnamed(&run);
        assert_eq!(beside.left(), None, "it may be the one of our message");
        beside.end(&run, &RunOutcome::Completed);
        assert!(beside.left().unwrap() > FIRST_RUN);
    }
}
