//! A moment is handed in by the shell and never read: pure rooms have no clock.

use std::time::Duration;

/// A point in time: monotonic for deadlines, wall clock for display and for the store.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Hash)]
pub struct Moment {
    /// Milliseconds since the program started; never goes back.
    pub mono_ms: u64,
    /// Milliseconds since 1970-01-01 UTC; may jump.
    pub wall_ms: i64,
}

impl Moment {
    /// The moment `duration` later, on both clocks.
    pub fn after(self, duration: Duration) -> Self {
        let ms = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX / 4);
        Self {
            mono_ms: self.mono_ms.saturating_add(ms),
            wall_ms: self
                .wall_ms
                .saturating_add(i64::try_from(ms).unwrap_or(i64::MAX / 4)),
        }
    }

    /// How long ago `earlier` was by the wall clock, which also knows what was before the program
    /// started; zero when it lies in the future.
    pub fn ago(self, earlier: Moment) -> Duration {
        let ms = self.wall_ms.saturating_sub(earlier.wall_ms).max(0);
        Duration::from_millis(ms.unsigned_abs())
    }

    /// How long ago `earlier` was, on the monotonic clock; zero when it lies in the future.
    pub fn since(self, earlier: Moment) -> Duration {
        Duration::from_millis(self.mono_ms.saturating_sub(earlier.mono_ms))
    }
}
