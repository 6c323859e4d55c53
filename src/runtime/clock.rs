//! The one place that reads the clocks and makes [`Moment`]s of them.

use crate::domain::Moment;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::time::Instant;

/// The program's clock; copies agree with each other.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    started: Instant,
}

impl Clock {
    /// Starts at zero.
    pub fn start() -> Self {
        Self {
            started: Instant::now(),
        }
    }

    /// Now, on both clocks.
    pub fn now(&self) -> Moment {
        Moment {
            mono_ms: u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX),
            wall_ms: wall_ms(),
        }
    }

    /// Milliseconds since the start at an instant.
    pub fn millis_at(&self, at: std::time::Instant) -> u64 {
        let since = Instant::from_std(at).saturating_duration_since(self.started);
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    }

    /// The instant a timer has to wait for.
    pub fn instant(&self, moment: Moment) -> Instant {
        // A deadline far away must not overflow the platform's clock.
        let far = Duration::from_secs(30 * 24 * 3600);
        self.started + Duration::from_millis(moment.mono_ms).min(self.started.elapsed() + far)
    }
}

fn wall_ms() -> i64 {
    match SystemTime::now().duration_since(UNIX_EPOCH) {
        Ok(since) => i64::try_from(since.as_millis()).unwrap_or(i64::MAX),
        Err(before) => -i64::try_from(before.duration().as_millis()).unwrap_or(i64::MAX),
    }
}

/// Notices that the machine slept or its clock was set: the wall clock ran ahead of the monotonic
/// one, or a timer came much too late (the process was stopped).
#[derive(Debug)]
pub struct JumpWatch {
    last: Moment,
}

/// How often the watch wants to be asked.
pub const JUMP_TICK: Duration = Duration::from_secs(5);
/// A smaller difference is the clock being corrected, or a busy machine.
const JUMP: u64 = 5_000;

impl JumpWatch {
    /// Watches from now on.
    pub fn new(now: Moment) -> Self {
        Self { last: now }
    }

    /// When it wants to be asked again.
    pub fn next_tick(&self) -> Moment {
        self.last.after(JUMP_TICK)
    }

    /// Whether time jumped since it was asked last.
    pub fn has_jumped(&mut self, now: Moment) -> bool {
        let mono = now.mono_ms.saturating_sub(self.last.mono_ms);
        let wall = now.wall_ms.saturating_sub(self.last.wall_ms);
        self.last = now;
        let ahead = u64::try_from(wall).unwrap_or(0).saturating_sub(mono);
        let tick = u64::try_from(JUMP_TICK.as_millis()).unwrap_or(u64::MAX);
        ahead > JUMP || mono > tick + JUMP
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(mono_ms: u64, wall_ms: i64) -> Moment {
        Moment { mono_ms, wall_ms }
    }

    #[test]
    fn sleep_and_standstill_are_jumps_and_corrections_are_not() {
        let after = |mono, wall| JumpWatch::new(at(1_000, 50_000)).has_jumped(at(mono, wall));
        assert!(!after(6_000, 55_000));
        assert!(
            !after(6_000, 57_000),
            "the clock was corrected by two seconds"
        );
        assert!(!after(6_000, 20_000), "the clock was set back");
        assert!(after(6_000, 50_000 + 8 * 3_600_000), "the machine slept");
        assert!(
            after(61_000, 110_000),
            "the process was stopped for a minute"
        );
    }
}
