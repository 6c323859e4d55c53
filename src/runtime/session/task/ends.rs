//! The ends of a link: ours, the peer's, and when the next one is dialled.

use super::super::SessionEvent;
use super::super::recent::Passed;
use super::{Closing, Task};
use crate::domain::LinkState;
use crate::link::{CloseReason, Frame};
use crate::protocol::{Input, Retry};
use crate::runtime::coalesce::Waiting;
use crate::runtime::recording::ending;
use crate::text::SafeText;

impl Task {
    /// Ends the link, or the attempt, because we want it so.
    pub(super) fn hang_up(&mut self) {
        let had_link = self.links.standing.is_some();
        let last = self.farewell();
        self.links.leave_quietly(last);
        self.forget_link();
        if had_link {
            self.record_down(&CloseReason::Ours);
            self.feed(Input::LinkDown {
                reason: CloseReason::Ours,
            });
        }
    }

    /// What the driver still writes on a link that we end.
    pub(super) fn farewell(&mut self) -> Vec<Frame> {
        if self.links.standing.is_none() {
            return Vec::new();
        }
        let frames = self.driver.farewell(self.clock.now());
        for frame in &frames {
            self.tap(true, frame);
        }
        frames
    }

    pub(super) fn record_down(&mut self, reason: &CloseReason) {
        let words = reason.words();
        tracing::info!(account = ?self.account, ?words, "link down");
        let now = self.clock.now();
        if let Some(recorder) = &self.recording {
            recorder.down(now, self.account.as_str(), reason);
        }
        self.recent.add(now, Passed::Down(ending(reason)));
    }

    pub(super) fn forget_link(&mut self) {
        self.waiting = Waiting::default();
        self.ending = None;
        self.outgoing.clear();
        self.outgoing_bytes = 0;
    }

    pub(super) fn on_link_ended(&mut self, reason: CloseReason) {
        // Asked before the driver forgets what it knew of this link.
        let retry = self.driver.retry(&reason);
        let words = reason.words();
        self.record_down(&reason);
        self.links.ended();
        self.forget_link();
        self.feed(Input::LinkDown { reason });
        self.plan(retry, &words);
    }

    pub(super) fn plan(&mut self, retry: Retry, words: &str) {
        tracing::debug!(account = ?self.account, ?retry, "next attempt");
        match self.links.plan(retry) {
            Some(delay) => self.pending.push_back(SessionEvent::Waits {
                until: self.clock.now().after(delay),
                reason: SafeText::prose(words),
            }),
            None => match self.state {
                LinkState::Refused { .. } | LinkState::NeedsLogin(_) => {}
                // The driver had nothing to say; the person must not see an old state.
                LinkState::Off
                | LinkState::Connecting
                | LinkState::Syncing
                | LinkState::Ready
                | LinkState::Waiting { .. } => self.tell_link(LinkState::Refused {
                    reason: SafeText::prose(words),
                }),
            },
        }
    }

    pub(super) fn close(&mut self, closing: Closing) {
        if self.links.standing.is_none() {
            return;
        }
        let mut last: Vec<Frame> = self.outgoing.drain(..).collect();
        last.extend(self.farewell());
        last.extend(closing.last);
        self.links.leave(last, closing.grace);
        self.forget_link();
        let reason = CloseReason::Ours;
        let words = closing.why.unwrap_or_else(|| reason.words());
        self.record_down(&reason);
        self.feed(Input::LinkDown { reason });
        self.plan(closing.retry, &words);
    }
}
