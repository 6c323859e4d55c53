//! Messages that came in while nobody here looked, and how many of them have no answer yet: the
//! turns for them come before the one of ours (reading I37). Only counts; begins no turn.
//!
//! A turn may say several messages, and what says where it began is the footer of each: its time
//! less its latency. A turn that began right with a message, and not right behind another turn, is
//! for that message, so those before it were answered, or failed. Where a gateway leaves the footer
//! out, every message of the agent counts as the answer to one of the person's.

use std::collections::VecDeque;

/// Two footers of one turn differ by no more.
const SAME_TURN_MS: i64 = 250;
/// A turn begins so soon after its message when it need not wait.
const AT_ONCE_MS: i64 = 1_000;
/// Messages that are remembered.
const LIMIT: usize = 64;

/// When something was said, and when its turn began, by the gateway's clock.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Said {
    pub(super) at: Option<i64>,
    pub(super) turn_at: Option<i64>,
}

/// What was missed of a lane.
#[derive(Clone, Debug, Default)]
pub(super) struct Missed {
    /// Messages without an answer, by their times.
    asked: VecDeque<Option<i64>>,
    /// The last message was a command of the gateway's own, and has no reply. Replies come at once;
    /// a picker may stand in place of one.
    is_command_open: bool,
    /// The last answer.
    said: Said,
    /// The message that the turn which goes on seemed to be for.
    taken: Option<Option<i64>>,
}

impl Missed {
    pub(super) fn is_empty(&self) -> bool {
        self.asked.is_empty()
    }

    /// A message of the person.
    pub(super) fn ask(&mut self, text: &str, at: Option<i64>) {
        self.is_command_open = text.starts_with('/');
        if self.is_command_open {
            return;
        }
        if self.asked.len() >= LIMIT {
            self.asked.pop_front();
        }
        self.asked.push_back(at);
    }

    /// A message of the agent that stands by itself: a command's reply, or a whole answer, which
    /// alone says when its turn began.
    pub(super) fn answer_at_once(&mut self, said: Said) {
        let is_reply = std::mem::take(&mut self.is_command_open) && said.turn_at.is_none();
        if !is_reply {
            self.answer(said);
        }
    }

    /// A message of a turn.
    pub(super) fn answer(&mut self, said: Said) {
        if !self.is_of_last_turn(said) {
            match self.begun_with(said) {
                Some(index) => drop(self.asked.drain(..=index)),
                None => drop(self.asked.pop_front()),
            }
        }
        self.said = said;
    }

    /// The message that a turn began right with.
    fn begun_with(&self, said: Said) -> Option<usize> {
        let turn_at = said.turn_at?;
        let is_soon_after = |at: Option<i64>| {
            at.is_some_and(|at| (-SAME_TURN_MS..=AT_ONCE_MS).contains(&(turn_at - at)))
        };
        if is_soon_after(self.said.at) {
            return None;
        }
        self.asked.iter().rposition(|at| is_soon_after(*at))
    }

    /// A turn begins, or goes on, of which nobody here saw the beginning; true when it is one for
    /// a message that was missed.
    pub(super) fn take(&mut self) -> bool {
        self.taken = self.asked.pop_front();
        self.taken.is_some()
    }

    /// A message of the turn that goes on says when that began. When it had said something before,
    /// the message that it seemed to be for still waits.
    pub(super) fn settle(&mut self, said: Said) {
        if self.is_of_last_turn(said)
            && let Some(taken) = self.taken.take()
        {
            self.asked.push_front(taken);
        }
    }

    /// A page of history may say more than the replay did; `is_running` when a turn goes on that is
    /// not one of ours.
    pub(super) fn learn(&mut self, mut page: Self, is_running: bool) {
        if is_running {
            page.take();
        }
        if page.asked.len() >= self.asked.len() {
            page.taken = page.taken.or(self.taken);
            *self = page;
        }
    }

    /// Nothing is going on: whatever was missed was answered, or never will be.
    pub(super) fn forget(&mut self) {
        *self = Self::default();
    }

    fn is_of_last_turn(&self, said: Said) -> bool {
        let apart = said.turn_at.zip(self.said.turn_at);
        apart.is_some_and(|(one, other)| one.abs_diff(other) <= SAME_TURN_MS.unsigned_abs())
    }
}

#[cfg(test)]
mod tests {
    use super::{Missed, Said};

    fn said(turn_at: i64, at: i64) -> Said {
        Said {
            at: Some(at),
            turn_at: Some(turn_at),
        }
    }

    #[test]
    fn what_one_turn_says_in_several_messages_answers_one() {
        let mut missed = Missed::default();
        missed.ask("one", Some(1_000));
        missed.answer(said(1_000, 2_000));
        missed.ask("two", Some(2_500));
        missed.answer(said(1_010, 4_000));
        assert_eq!(missed.asked.len(), 1);
        missed.answer(said(4_010, 9_000));
        assert!(missed.is_empty());
    }

    #[test]
    fn a_reply_to_a_command_answers_no_message() {
        let mut missed = Missed::default();
        missed.ask("one", None);
        missed.ask("/status", None);
        missed.answer_at_once(Said::default());
        assert_eq!(missed.asked.len(), 1);
        missed.answer_at_once(Said::default());
        assert!(missed.is_empty());
    }

    #[test]
    fn a_command_that_only_a_picker_answered_takes_no_answer_from_a_message() {
        let mut missed = Missed::default();
        missed.ask("/reasoning", Some(1_000));
        missed.ask("one", Some(2_000));
        missed.answer_at_once(Said::default());
        assert!(missed.is_empty());
        missed.ask("two", Some(3_000));
        missed.ask("/reasoning", Some(3_500));
        missed.answer_at_once(said(3_000, 4_000));
        assert!(missed.is_empty());
    }

    #[test]
    fn a_turn_that_began_right_with_its_message_leaves_none_before_it() {
        let mut missed = Missed::default();
        missed.ask("that failed without a word", Some(1_000));
        missed.ask("again", Some(60_000));
        missed.answer(said(60_005, 62_000));
        assert!(missed.is_empty());
    }

    #[test]
    fn a_turn_right_behind_another_is_for_the_message_that_waited_longest() {
        let mut missed = Missed::default();
        missed.ask("one", Some(1_000));
        missed.ask("two", Some(2_000));
        missed.answer(said(1_000, 9_000));
        missed.ask("three", Some(8_900));
        missed.answer(said(9_010, 12_000));
        assert_eq!(missed.asked.len(), 1, "the third waits");
    }

    #[test]
    fn a_turn_that_had_spoken_before_was_not_for_the_message_that_waits() {
        let mut missed = Missed::default();
        missed.ask("one", Some(1_000));
        missed.answer(said(1_000, 2_000));
        missed.ask("two", Some(2_500));
        assert!(missed.take());
        missed.settle(said(1_000, 4_000));
        assert!(missed.take(), "the second message still waits");
        missed.settle(said(4_100, 5_000));
        assert!(!missed.take());
    }

    #[test]
    fn a_page_shows_what_the_replay_left_out_and_takes_the_running_turn_off() {
        let mut page = Missed::default();
        page.ask("one", None);
        page.ask("two", None);
        let mut missed = Missed::default();
        missed.learn(page, true);
        assert!(missed.take());
        assert!(!missed.take());
    }
}
