//! How long to wait before the next attempt. Pure: the seed and the age of the last link are handed
//! in, nothing sleeps here.

use std::time::Duration;

/// The first delay.
const FIRST: Duration = Duration::from_secs(1);
/// No delay is longer.
const LONGEST: Duration = Duration::from_secs(60);
/// A link that stood this long wipes out the failures before it.
const GOOD_WHILE: Duration = Duration::from_secs(20);
/// After so many short delays in a row, "soon" is no longer believed.
const SOON_AT_MOST: u32 = 5;

/// Delays that grow, with jitter, so that many clients of a restarted server do not come at once.
#[derive(Clone, Debug)]
pub struct Backoff {
    failures: u32,
    soon: u32,
    random: u64,
}

impl Backoff {
    /// Delays whose jitter follows from the seed.
    pub fn new(seed: u64) -> Self {
        Self {
            failures: 0,
            soon: 0,
            random: seed | 1,
        }
    }

    /// The next delay: between half and the whole of 1, 2, 4 … 60 seconds.
    pub fn grown(&mut self) -> Duration {
        let whole = FIRST.saturating_mul(1 << self.failures.min(6)).min(LONGEST);
        self.failures = self.failures.saturating_add(1);
        self.between(whole / 2, whole)
    }

    /// A short delay for a server that said it comes back at once: 0.5 to 1.5 s. When it does not
    /// come back, the delays grow after all.
    pub fn soon(&mut self) -> Duration {
        self.soon = self.soon.saturating_add(1);
        if self.soon > SOON_AT_MOST {
            return self.grown();
        }
        self.between(Duration::from_millis(500), Duration::from_millis(1500))
    }

    /// A delay that is not shorter than `least`, with jitter on top.
    pub fn not_before(&mut self, least: Duration) -> Duration {
        let grown = self.grown();
        least
            + self
                .between(Duration::ZERO, Duration::from_secs(1))
                .min(grown)
    }

    /// A link that came to stand and lived this long has ended.
    pub fn link_lived(&mut self, age: Duration) {
        if age >= GOOD_WHILE {
            self.reset();
        }
    }

    /// The next failure is the first again.
    pub fn reset(&mut self) {
        self.failures = 0;
        self.soon = 0;
    }

    fn between(&mut self, low: Duration, high: Duration) -> Duration {
        // xorshift64: good enough to spread clients apart.
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        let span = u64::try_from((high - low).as_millis()).unwrap_or(0) + 1;
        low + Duration::from_millis(self.random % span)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_grow_to_a_minute_and_stay_there() {
        let mut backoff = Backoff::new(7);
        for whole in [1, 2, 4, 8, 16, 32, 60, 60, 60] {
            let delay = backoff.grown();
            let whole = Duration::from_secs(whole);
            assert!(
                delay >= whole / 2 && delay <= whole,
                "{delay:?} of {whole:?}"
            );
        }
    }

    #[test]
    fn a_short_link_does_not_forgive_and_a_long_one_does() {
        let mut backoff = Backoff::new(3);
        for _ in 0..6 {
            backoff.grown();
        }
        backoff.link_lived(Duration::from_secs(5));
        assert!(backoff.grown() >= Duration::from_secs(30));
        backoff.link_lived(Duration::from_secs(21));
        assert!(backoff.grown() <= Duration::from_secs(1));
    }

    #[test]
    fn two_clients_do_not_come_at_the_same_time() {
        let delays = |seed| {
            let mut backoff = Backoff::new(seed);
            (0..6).map(|_| backoff.grown()).collect::<Vec<_>>()
        };
        assert_ne!(delays(1 << 20), delays(1 << 30));
        assert_eq!(delays(5), delays(5));
    }

    #[test]
    fn a_server_that_does_not_come_back_soon_is_asked_less_often() {
        let mut backoff = Backoff::new(11);
        for _ in 0..5 {
            assert!(backoff.soon() <= Duration::from_millis(1500));
        }
        for _ in 0..6 {
            backoff.soon();
        }
        assert!(backoff.soon() >= Duration::from_secs(30));
    }

    #[test]
    fn a_lockout_is_waited_out() {
        let mut backoff = Backoff::new(2);
        assert!(backoff.not_before(Duration::from_secs(60)) >= Duration::from_secs(60));
    }
}
