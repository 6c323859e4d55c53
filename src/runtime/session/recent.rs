//! What passed over the link lately, kept as it was and masked only when somebody wants to see it:
//! masking costs as much as decoding. Bounded in lines and bytes; how the link began stays, so that
//! what is saved can be played. Of the pieces of a file only the size is kept.

use crate::domain::Moment;
use crate::link::Frame;
use crate::protocol::Driver;
use crate::runtime::recording::{bytes_value, frame_value, timed};
use bytes::Bytes;
use serde_json::json;
use std::collections::VecDeque;

/// Lines that are kept.
const LINES: usize = 3_000;
/// Their bytes.
const BYTES: usize = 4 * 1024 * 1024;
/// Lines from the beginning of the link that stay.
const BEGINNING: usize = 40;

/// One thing that passed.
#[derive(Clone, Debug)]
pub(super) enum Passed {
    Up,
    Down(String),
    Command(String),
    /// A text frame.
    Text {
        outgoing: bool,
        frame: Frame,
    },
    Bytes {
        outgoing: bool,
        count: usize,
    },
}

impl Passed {
    /// A frame as it is kept: for itself, because a part of a read buffer keeps all of it.
    pub fn frame(outgoing: bool, frame: &Frame) -> Self {
        match frame {
            Frame::Text(text) => Self::Text {
                outgoing,
                frame: Frame::Text(Bytes::copy_from_slice(text)),
            },
            Frame::Binary(bytes) => Self::Bytes {
                outgoing,
                count: bytes.len(),
            },
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::Up | Self::Bytes { .. } => 0,
            Self::Down(words) | Self::Command(words) => words.len(),
            Self::Text { frame, .. } => frame.len(),
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct Recent {
    beginning: Vec<(Moment, Passed)>,
    latest: VecDeque<(Moment, Passed)>,
    bytes: usize,
    /// What fell out between the two.
    left_out: u64,
}

impl Recent {
    pub fn add(&mut self, at: Moment, passed: Passed) {
        if matches!(passed, Passed::Up) {
            *self = Self::default();
        }
        let begun: usize = self.beginning.iter().map(|(_, of)| of.len()).sum();
        let is_small = begun + passed.len() < BYTES / 4;
        if self.beginning.len() < BEGINNING
            && is_small
            && self.latest.is_empty()
            && self.left_out == 0
        {
            self.beginning.push((at, passed));
            return;
        }
        self.bytes += passed.len();
        self.latest.push_back((at, passed));
        while self.latest.len() > LINES || self.bytes > BYTES {
            let Some((_, oldest)) = self.latest.pop_front() else {
                return;
            };
            self.bytes -= oldest.len();
            self.left_out += 1;
        }
    }

    /// Everything with its time, oldest first.
    pub fn all(&self) -> impl Iterator<Item = &(Moment, Passed)> {
        self.beginning.iter().chain(&self.latest)
    }

    /// Everything as lines of a recording, masked.
    pub fn lines(&self, account: &str, driver: &dyn Driver) -> Vec<(u64, String)> {
        let mut lines = Vec::with_capacity(self.beginning.len() + self.latest.len());
        let mut put = |(at, passed): &(Moment, Passed)| {
            let value = match passed {
                Passed::Up => json!({"account": account, "up": true}),
                Passed::Down(how) => json!({"account": account, "down": how}),
                Passed::Command(words) => json!({"account": account, "command": words}),
                Passed::Text { outgoing, frame } => {
                    frame_value(account, *outgoing, &driver.redact(frame))
                }
                Passed::Bytes { outgoing, count } => bytes_value(account, *outgoing, *count),
            };
            lines.push((at.mono_ms, timed(at.mono_ms, value)));
        };
        self.beginning.iter().for_each(&mut put);
        self.latest.iter().for_each(&mut put);
        if self.left_out > 0
            && let Some((at, _)) = self.latest.front()
        {
            let note = timed(at.mono_ms, json!({"left_out": self.left_out}));
            lines.insert(self.beginning.len(), (at.mono_ms, note));
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::BytesMut;

    #[test]
    fn the_beginning_stays_and_the_rest_is_bounded() {
        let mut recent = Recent::default();
        let at = |mono_ms| Moment {
            mono_ms,
            wall_ms: 0,
        };
        recent.add(at(0), Passed::Up);
        for number in 1..5_000_u64 {
            let frame = Frame::text(number.to_string());
            recent.add(at(number), Passed::frame(false, &frame));
        }
        let texts = texts(&recent);
        assert_eq!(texts.len(), BEGINNING - 1 + LINES);
        assert_eq!((texts[0], texts[texts.len() - 1]), ("1", "4999"));
        recent.add(at(6_000), Passed::Up);
        assert_eq!(recent.all().count(), 1);
    }

    fn texts(recent: &Recent) -> Vec<&str> {
        recent
            .all()
            .filter_map(|(_, passed)| match passed {
                Passed::Text { frame, .. } => frame.as_text(),
                _ => None,
            })
            .collect()
    }

    #[test]
    fn nothing_of_a_file_and_of_the_buffer_it_was_read_into_is_kept() {
        let mut recent = Recent::default();
        // What one read brought: a piece of a file, and the text behind it.
        let mut read = BytesMut::from(&[b'x'; 64][..]);
        let text = Frame::Text(read.split_off(60).freeze());
        let piece = Frame::Binary(read.freeze());
        let now = Moment {
            mono_ms: 0,
            wall_ms: 0,
        };
        for frame in [&piece, &text] {
            recent.add(now, Passed::frame(false, frame));
        }
        assert_eq!(texts(&recent), ["xxxx"]);
        let [Frame::Binary(piece), Frame::Text(text)] = [piece, text] else {
            return;
        };
        drop(piece);
        assert!(text.is_unique(), "the text kept here holds the buffer");
    }
}
