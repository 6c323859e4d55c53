//! A run of another message beside ours: what it says is held back, and counts as the answer to
//! ours only when no run of our own comes behind it.

use super::report::{Report, Tracker};
use crate::domain::{
    Author, ConversationId, MessageSort, Part, RemoteId, RunId, TextPatch, TimelineEvent,
};
use std::time::{Duration, Instant};

/// Our run begins so soon after the one before it.
const NEXT_RUN: Duration = Duration::from_secs(7);

/// What is known of it.
#[derive(Debug, Default)]
pub(super) struct Beside {
    /// The run, while it goes on.
    run: Option<RunId>,
    /// It may still turn out to be the one of our message: nothing but its beginning was seen.
    is_guess: bool,
    /// When the last one ended.
    ended: Option<Instant>,
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

    pub(super) fn end(&mut self, run: &RunId) {
        if self.run.take_if(|known| known == run).is_some() {
            self.ended = Some(Instant::now());
        }
    }

    /// How long until no run of our own comes any more; none as long as one may.
    pub(super) fn left(&self) -> Option<Duration> {
        self.ended
            .map(|ended| NEXT_RUN.saturating_sub(ended.elapsed()))
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
                self.works();
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
