//! Notices a link that is dead without having been closed. Any frame is a sign of life; after a
//! quiet while a ping is sent, and after a longer one the link is given up. Sleeping is not
//! silence: when the clock jumped, the link gets one ping and a short while to answer it.

use crate::domain::Moment;
use std::time::Duration;

/// Quiet for so long, a ping is sent.
const QUIET: Duration = Duration::from_secs(27);
/// Silent for so long, the link is dead.
const SILENT: Duration = Duration::from_secs(75);
/// After a jump of the clock the link has so long to answer.
const PROBE: Duration = Duration::from_secs(5);
/// A deadline that comes so much too late means that the machine slept.
const JUMP_MS: u64 = 15_000;

/// What is due.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Beat {
    Nothing,
    Ping,
    Dead,
}

/// The heartbeat of one link.
#[derive(Clone, Debug, Default)]
pub(crate) struct Heartbeat {
    /// None: no link.
    heard: Option<Moment>,
    pinged: Option<Moment>,
    /// A ping sent after a jump must be answered by then.
    probe_until: Option<Moment>,
    /// When a sign of life was last told to the program.
    told: Option<Moment>,
}

impl Heartbeat {
    /// Begins with a link that stands.
    pub(crate) fn start(&mut self, now: Moment) {
        *self = Self {
            heard: Some(now),
            ..Self::default()
        };
    }

    /// The link is gone.
    pub(crate) fn stop(&mut self) {
        *self = Self::default();
    }

    /// A frame came in. True now and then, when that is worth telling.
    pub(crate) fn hear(&mut self, now: Moment) -> bool {
        if self.heard.is_none() {
            return false;
        }
        self.heard = Some(now);
        self.probe_until = None;
        let is_news = self
            .told
            .is_none_or(|told| now.since(told) >= Duration::from_secs(10));
        if is_news {
            self.told = Some(now);
        }
        is_news
    }

    /// The answer to the ping came; the round trip in milliseconds.
    pub(crate) fn answer(&mut self, now: Moment) -> Option<u64> {
        let pinged = self.pinged.take()?;
        self.told = Some(now);
        u64::try_from(now.since(pinged).as_millis()).ok()
    }

    /// What is due at this moment; a ping counts as sent.
    pub(crate) fn beat(&mut self, now: Moment) -> Beat {
        let (Some(heard), Some(deadline)) = (self.heard, self.deadline()) else {
            return Beat::Nothing;
        };
        if now.mono_ms < deadline.mono_ms {
            return Beat::Nothing;
        }
        if self.probe_until.is_some() {
            return Beat::Dead;
        }
        // The wall clock goes on in sleep where the monotonic one may stand still.
        let late = now.mono_ms - deadline.mono_ms;
        let wall_late = now.wall_ms.saturating_sub(deadline.wall_ms);
        if late > JUMP_MS || wall_late > JUMP_MS as i64 {
            self.pinged = Some(now);
            self.probe_until = Some(now.after(PROBE));
            return Beat::Ping;
        }
        if now.since(heard) >= SILENT {
            return Beat::Dead;
        }
        self.pinged = Some(now);
        Beat::Ping
    }

    /// When something is due next.
    pub(crate) fn deadline(&self) -> Option<Moment> {
        let heard = self.heard?;
        if self.probe_until.is_some() {
            return self.probe_until;
        }
        let quiet = heard.after(QUIET);
        match self.pinged {
            // A ping of this quiet while is out: one more halfway, then the end.
            Some(pinged) if pinged.mono_ms >= quiet.mono_ms => {
                let again = pinged.after(QUIET);
                let dead = heard.after(SILENT);
                Some(if again.mono_ms < dead.mono_ms {
                    again
                } else {
                    dead
                })
            }
            _ => Some(quiet),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Moment {
        Moment {
            mono_ms: seconds * 1000,
            wall_ms: (seconds * 1000) as i64,
        }
    }

    #[test]
    fn quiet_means_pings_and_silence_means_dead() {
        let mut heartbeat = Heartbeat::default();
        heartbeat.start(at(0));
        assert_eq!(heartbeat.deadline(), Some(at(27)));
        assert_eq!(heartbeat.beat(at(27)), Beat::Ping);
        assert_eq!(heartbeat.deadline(), Some(at(54)));
        assert_eq!(heartbeat.beat(at(54)), Beat::Ping);
        assert_eq!(heartbeat.deadline(), Some(at(75)));
        assert_eq!(heartbeat.beat(at(75)), Beat::Dead);
    }

    #[test]
    fn after_sleep_one_probe_decides() {
        let mut heartbeat = Heartbeat::default();
        heartbeat.start(at(0));
        assert_eq!(heartbeat.beat(at(8 * 3600)), Beat::Ping);
        assert_eq!(heartbeat.deadline(), Some(at(8 * 3600 + 5)));
        let mut answered = heartbeat.clone();
        answered.hear(at(8 * 3600 + 1));
        assert_eq!(answered.deadline(), Some(at(8 * 3600 + 28)));
        assert_eq!(heartbeat.beat(at(8 * 3600 + 5)), Beat::Dead);
    }

    #[test]
    fn sleep_shows_in_the_wall_clock_alone_too() {
        let mut heartbeat = Heartbeat::default();
        heartbeat.start(at(0));
        let awake = Moment {
            mono_ms: 27_000,
            wall_ms: 9_000_000,
        };
        assert_eq!(heartbeat.beat(awake), Beat::Ping);
        assert_eq!(heartbeat.deadline().map(|m| m.mono_ms), Some(32_000));
    }

    #[test]
    fn the_answer_gives_the_latency() {
        let mut heartbeat = Heartbeat::default();
        heartbeat.start(at(0));
        heartbeat.beat(at(27));
        assert_eq!(heartbeat.answer(at(28)), Some(1000));
        assert_eq!(heartbeat.answer(at(29)), None);
    }
}
