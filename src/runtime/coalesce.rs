//! Frames that wait to be decoded. A newer frame takes the place of a waiting one that it makes
//! obsolete, undecoded, so that a flood of cumulative updates costs one decoding. Pure.
//!
//! Order is kept where it can be seen: a frame without a key (final texts, tools, decisions,
//! everything the driver could not tell at a glance) may belong to any conversation, so nothing
//! that comes after one takes the place of what stood before it.

use crate::link::Frame;
use crate::protocol::ReplaceKey;
use std::collections::{HashMap, VecDeque};

/// Frames that may wait.
pub const FRAMES_AT_MOST: usize = 1_024;
/// Their bytes.
pub const BYTES_AT_MOST: usize = 16 * 1024 * 1024;
/// Those that are pieces of a file. None of them makes another obsolete, so nothing is gained by
/// reading ahead.
pub const FILE_BYTES_AT_MOST: usize = 1024 * 1024;

/// The waiting frames of one link, oldest first.
#[derive(Debug, Default)]
pub struct Waiting {
    frames: VecDeque<Frame>,
    bytes: usize,
    file_bytes: usize,
    /// Number of the frame at the front; numbers only grow.
    front: u64,
    /// Frames that may still be replaced, by key.
    replaceable: HashMap<ReplaceKey, u64>,
    replaced: u64,
}

impl Waiting {
    /// Takes a frame in, with the key the driver gave it.
    pub fn push(&mut self, frame: Frame, key: Option<ReplaceKey>) {
        let Some(key) = key else {
            self.replaceable.clear();
            self.append(frame);
            return;
        };
        let number = self.front + self.frames.len() as u64;
        let standing = self.replaceable.get(&key).copied();
        if let Some(standing) = standing
            && let Some(index) = standing.checked_sub(self.front)
            && let Some(old) = usize::try_from(index)
                .ok()
                .and_then(|index| self.frames.get_mut(index))
        {
            self.bytes = self.bytes - old.len() + frame.len();
            self.file_bytes = self.file_bytes - bytes_of_file(old) + bytes_of_file(&frame);
            *old = frame;
            self.replaced += 1;
            return;
        }
        self.replaceable.insert(key, number);
        self.append(frame);
    }

    fn append(&mut self, frame: Frame) {
        self.bytes += frame.len();
        self.file_bytes += bytes_of_file(&frame);
        self.frames.push_back(frame);
    }

    /// The oldest frame.
    pub fn pop(&mut self) -> Option<Frame> {
        let frame = self.frames.pop_front()?;
        self.replaceable.retain(|_, number| *number != self.front);
        self.front += 1;
        self.bytes -= frame.len();
        self.file_bytes -= bytes_of_file(&frame);
        Some(frame)
    }

    /// Whether a newer frame may still take the place of every one that waits.
    pub fn may_all_be_replaced(&self) -> bool {
        !self.frames.is_empty() && self.replaceable.len() == self.frames.len()
    }

    /// No more is taken; the socket has to wait.
    pub fn is_full(&self) -> bool {
        self.frames.len() >= FRAMES_AT_MOST
            || self.bytes >= BYTES_AT_MOST
            || self.file_bytes >= FILE_BYTES_AT_MOST
    }

    pub fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    pub fn len(&self) -> usize {
        self.frames.len()
    }

    /// How many frames never had to be decoded.
    pub fn replaced(&self) -> u64 {
        self.replaced
    }
}

fn bytes_of_file(frame: &Frame) -> usize {
    match frame {
        Frame::Text(_) => 0,
        Frame::Binary(bytes) => bytes.len(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// Pushes words like "a1": the letter is the key, a capital letter has none.
    fn check(pushed: &str, left: &str) {
        let mut waiting = Waiting::default();
        for word in pushed.split_whitespace() {
            let letter = word.chars().next().unwrap();
            let key = letter
                .is_lowercase()
                .then(|| ReplaceKey(letter.to_string()));
            waiting.push(Frame::text(word), key);
        }
        let mut got = Vec::new();
        while let Some(frame) = waiting.pop() {
            got.push(frame.as_text().unwrap().to_owned());
        }
        assert_eq!(got.join(" "), left, "{pushed}");
        assert_eq!(waiting.bytes, 0);
    }

    #[test]
    fn a_newer_update_takes_the_place_of_a_waiting_one() {
        check("a1 a2 a3", "a3");
        check("a1 b1 a2 b2", "a2 b2");
    }

    #[test]
    fn nothing_moves_across_a_frame_without_a_key() {
        check("a1 T a2 a3", "a1 T a3");
        check("T a1 a2 U b1 a3 b2", "T a2 U b2 a3");
    }

    #[test]
    fn what_was_taken_out_is_not_replaced_any_more() {
        let mut waiting = Waiting::default();
        let key = || Some(ReplaceKey("a".into()));
        waiting.push(Frame::text("a1"), key());
        waiting.push(Frame::text("b1"), Some(ReplaceKey("b".into())));
        assert_eq!(waiting.pop(), Some(Frame::text("a1")));
        waiting.push(Frame::text("a2"), key());
        assert_eq!(waiting.pop(), Some(Frame::text("b1")));
        assert_eq!(waiting.pop(), Some(Frame::text("a2")));
    }

    #[test]
    fn a_frame_that_stays_as_it_is_is_noticed() {
        let mut waiting = Waiting::default();
        let key = |name: &str| Some(ReplaceKey(name.into()));
        assert!(!waiting.may_all_be_replaced());
        waiting.push(Frame::text("a1"), key("a"));
        waiting.push(Frame::text("b1"), key("b"));
        assert!(waiting.may_all_be_replaced());
        waiting.pop();
        assert!(waiting.may_all_be_replaced());
        waiting.push(Frame::text("final"), None);
        assert!(!waiting.may_all_be_replaced());
    }

    #[test]
    fn a_flood_of_one_message_stays_one_frame() {
        let mut waiting = Waiting::default();
        for number in 0..5_000 {
            waiting.push(
                Frame::text("x".repeat(number)),
                Some(ReplaceKey("a".into())),
            );
            assert!(!waiting.is_full());
        }
        assert_eq!((waiting.len(), waiting.replaced()), (1, 4_999));
    }

    #[test]
    fn frames_and_bytes_are_limited() {
        let mut waiting = Waiting::default();
        for _ in 0..FRAMES_AT_MOST {
            assert!(!waiting.is_full());
            waiting.push(Frame::text("x"), None);
        }
        assert!(waiting.is_full());
        let mut waiting = Waiting::default();
        waiting.push(Frame::text("x".repeat(BYTES_AT_MOST)), None);
        assert!(waiting.is_full());
        let mut waiting = Waiting::default();
        waiting.push(Frame::Binary(vec![0; FILE_BYTES_AT_MOST].into()), None);
        assert!(waiting.is_full());
        waiting.pop();
        assert!(!waiting.is_full());
    }
}
