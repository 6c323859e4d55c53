//! When to draw: a key or a final event at once, a growing text paced by the bytes that frames
//! cost, so that a thin line is never flooded and a fast one stays smooth.

use crate::domain::Moment;
use std::time::Duration;

/// Bytes a second that paced frames may take together.
const BUDGET: u64 = 14_000;
const SHORTEST: Duration = Duration::from_millis(16);
/// With 100 ms an answer that streams at its fastest took 284 KB in place of 226 KB, and more of the
/// processor: what scrolls by is written more often.
const LONGEST: Duration = Duration::from_millis(160);

/// What is wanted, and when it may be.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Pace {
    wanted: Wanted,
    /// Before this moment a paced frame waits.
    next: Moment,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Wanted {
    #[default]
    Nothing,
    Paced,
    Now,
}

impl Pace {
    /// Something changed.
    pub fn want(&mut self, now: bool) {
        self.wanted = match (self.wanted, now) {
            (_, true) | (Wanted::Now, _) => Wanted::Now,
            _ => Wanted::Paced,
        };
    }

    /// When the next frame is due; none when nothing changed. A moment in the past means now.
    pub fn due(&self) -> Option<Moment> {
        match self.wanted {
            Wanted::Nothing => None,
            Wanted::Now => Some(Moment::default()),
            Wanted::Paced => Some(self.next),
        }
    }

    /// A frame of so many bytes was drawn.
    pub fn drawn(&mut self, now: Moment, bytes: usize) {
        let wait = Duration::from_millis(bytes as u64 * 1_000 / BUDGET).clamp(SHORTEST, LONGEST);
        self.wanted = Wanted::Nothing;
        self.next = now.after(wait);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(mono_ms: u64) -> Moment {
        Moment {
            mono_ms,
            wall_ms: 0,
        }
    }

    #[test]
    fn a_key_does_not_wait_for_the_pace() {
        let mut pace = Pace::default();
        pace.drawn(at(1_000), 5_000);
        pace.want(false);
        assert_eq!(pace.due().map(|due| due.mono_ms), Some(1_160));
        pace.want(true);
        assert_eq!(pace.due(), Some(Moment::default()));
    }

    #[test]
    fn small_frames_stay_smooth_and_large_ones_wait_longer() {
        let mut pace = Pace::default();
        for (bytes, wait) in [(10, 16), (700, 50), (100_000, 160)] {
            pace.drawn(at(0), bytes);
            pace.want(false);
            assert_eq!(
                pace.due().map(|due| due.mono_ms),
                Some(wait),
                "{bytes} bytes"
            );
        }
    }

    #[test]
    fn nothing_is_due_when_nothing_changed() {
        let mut pace = Pace::default();
        pace.want(false);
        pace.drawn(at(5), 100);
        assert_eq!(pace.due(), None);
    }
}
