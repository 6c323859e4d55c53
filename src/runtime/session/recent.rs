//! What passed over the link lately, kept as it was and masked only when somebody wants to see it:
//! masking costs as much as decoding. Bounded in lines and bytes; how the link began stays, so that
//! what is saved can be played.

use crate::domain::Moment;
use crate::link::Frame;
use crate::protocol::Driver;
use crate::runtime::recording::{frame_value, timed};
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
    Frame { outgoing: bool, frame: Frame },
}

impl Passed {
    fn len(&self) -> usize {
        match self {
            Self::Up => 0,
            Self::Down(words) | Self::Command(words) => words.len(),
            Self::Frame { frame, .. } => frame.len(),
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
        let is_small = self.beginning.iter().map(|(_, of)| of.len()).sum::<usize>() < BYTES / 4;
        if self.beginning.len() < BEGINNING && is_small {
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

    /// Frames with their times and directions, oldest first.
    pub fn frames(&self) -> impl Iterator<Item = (Moment, bool, &Frame)> {
        self.beginning
            .iter()
            .chain(&self.latest)
            .filter_map(|(at, passed)| match passed {
                Passed::Frame { outgoing, frame } => Some((*at, *outgoing, frame)),
                _ => None,
            })
    }

    /// Everything as lines of a recording, masked.
    pub fn lines(&self, account: &str, driver: &dyn Driver) -> Vec<(u64, String)> {
        let mut lines = Vec::with_capacity(self.beginning.len() + self.latest.len());
        let mut put = |(at, passed): &(Moment, Passed)| {
            let value = match passed {
                Passed::Up => json!({"account": account, "up": true}),
                Passed::Down(how) => json!({"account": account, "down": how}),
                Passed::Command(words) => json!({"account": account, "command": words}),
                Passed::Frame { outgoing, frame } => {
                    frame_value(account, *outgoing, &driver.redact(frame))
                }
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
            let outgoing = false;
            recent.add(at(number), Passed::Frame { outgoing, frame });
        }
        let texts: Vec<&str> = recent
            .frames()
            .filter_map(|(_, _, f)| f.as_text())
            .collect();
        assert_eq!(texts.len(), BEGINNING - 1 + LINES);
        assert_eq!((texts[0], texts[texts.len() - 1]), ("1", "4999"));
        recent.add(at(6_000), Passed::Up);
        assert_eq!(recent.frames().count(), 0);
    }
}
