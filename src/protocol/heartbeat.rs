//! Notices a link that is dead without having been closed. Any frame is a sign of life; after a
//! quiet while a ping is sent, and after a longer one the link is given up. Somebody who types
//! wants to know sooner: then a ping follows a short quiet, and a ping without an answer is told
//! long before the end. Sleeping is not silence: when the clock jumped, the link gets one ping and
//! a short while to answer it.

use crate::domain::Moment;
use std::time::Duration;

/// Quiet for so long, a ping is sent.
const QUIET: Duration = Duration::from_secs(27);
/// Silent for so long, the link is dead.
const SILENT: Duration = Duration::from_secs(75);
/// While the person acts, a ping follows after so long without a frame. Together with the patience
/// it stays below the ten seconds within which a dead link is to be told.
const CALM: Duration = Duration::from_secs(4);
/// A ping may stay unanswered for so long before that is told.
const PATIENCE: Duration = Duration::from_secs(4);
/// After a jump of the clock the link has so long to answer.
const PROBE: Duration = Duration::from_secs(5);
/// A deadline that comes so much too late means that the machine slept.
const JUMP_MS: u64 = 15_000;

/// What is due.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Beat {
    Nothing,
    Ping,
    /// A ping had no answer; the last frame came in then.
    Silent(Moment),
    Dead,
}

/// The heartbeat of one link.
#[derive(Clone, Debug, Default)]
pub(crate) struct Heartbeat {
    /// None: no link.
    heard: Option<Moment>,
    pinged: Option<Moment>,
    /// The first ping since the last frame.
    asked: Option<Moment>,
    /// The person acts: a ping is due then, unless a frame comes before.
    asks_at: Option<Moment>,
    /// When the person acted last.
    acted: Option<Moment>,
    /// The silence was told.
    is_silent: bool,
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

    /// The person acts, so it matters now whether the link lives.
    pub(crate) fn attend(&mut self, now: Moment) {
        let Some(heard) = self.heard else { return };
        if self.asked.is_some() || self.probe_until.is_some() || self.asks_at.is_some() {
            return;
        }
        self.acted = Some(now);
        let calm = heard.after(CALM);
        self.asks_at = Some(if calm.mono_ms > now.mono_ms {
            calm
        } else {
            now
        });
    }

    /// A frame came in. True when that is worth telling: now and then, and after a silence.
    pub(crate) fn hear(&mut self, now: Moment) -> bool {
        if self.heard.is_none() {
            return false;
        }
        self.heard = Some(now);
        self.probe_until = None;
        self.asked = None;
        // A frame that was on its way when the person acted says little of what comes after it.
        let has_acted = self.acted.is_some_and(|acted| now.since(acted) < CALM);
        self.asks_at = self.asks_at.filter(|_| has_acted).map(|_| now.after(CALM));
        let is_news = std::mem::take(&mut self.is_silent)
            || self
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
            self.probe_until = Some(now.after(PROBE));
            return self.ping(now);
        }
        if now.since(heard) >= SILENT {
            return Beat::Dead;
        }
        if self
            .untold()
            .is_some_and(|until| until.mono_ms <= now.mono_ms)
        {
            self.is_silent = true;
            return Beat::Silent(heard);
        }
        self.ping(now)
    }

    fn ping(&mut self, now: Moment) -> Beat {
        self.pinged = Some(now);
        self.asked.get_or_insert(now);
        self.asks_at = None;
        Beat::Ping
    }

    /// When the silence is to be told.
    fn untold(&self) -> Option<Moment> {
        let asked = self.asked?;
        (!self.is_silent).then(|| asked.after(PATIENCE))
    }

    /// When something is due next.
    pub(crate) fn deadline(&self) -> Option<Moment> {
        let heard = self.heard?;
        if self.probe_until.is_some() {
            return self.probe_until;
        }
        let quiet = heard.after(QUIET);
        let regular = match self.pinged {
            // A ping of this quiet while is out: one more halfway, then the end.
            Some(pinged) if pinged.mono_ms >= quiet.mono_ms => {
                let again = pinged.after(QUIET);
                let dead = heard.after(SILENT);
                if again.mono_ms < dead.mono_ms {
                    again
                } else {
                    dead
                }
            }
            _ => quiet,
        };
        [Some(regular), self.asks_at, self.untold()]
            .into_iter()
            .flatten()
            .min_by_key(|at| at.mono_ms)
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
    fn a_frame_that_was_on_its_way_does_not_end_the_watch_of_somebody_who_just_acted() {
        let mut heartbeat = Heartbeat::default();
        heartbeat.start(at(0));
        heartbeat.attend(at(1));
        heartbeat.hear(at(2));
        assert_eq!(heartbeat.deadline(), Some(at(6)));
        assert_eq!(heartbeat.beat(at(6)), Beat::Ping);
        assert_eq!(heartbeat.beat(at(10)), Beat::Silent(at(2)));
        heartbeat.hear(at(11));
        assert_eq!(heartbeat.deadline(), Some(at(38)), "answered: quiet again");
    }

    #[test]
    fn quiet_means_pings_and_silence_means_dead() {
        let mut heartbeat = Heartbeat::default();
        heartbeat.start(at(0));
        assert_eq!(heartbeat.deadline(), Some(at(27)));
        assert_eq!(heartbeat.beat(at(27)), Beat::Ping);
        assert_eq!(heartbeat.deadline(), Some(at(31)));
        assert_eq!(heartbeat.beat(at(31)), Beat::Silent(at(0)));
        assert_eq!(heartbeat.deadline(), Some(at(54)));
        assert_eq!(heartbeat.beat(at(54)), Beat::Ping);
        assert_eq!(heartbeat.deadline(), Some(at(75)));
        assert_eq!(heartbeat.beat(at(75)), Beat::Dead);
    }

    #[test]
    fn somebody_who_types_learns_of_a_silence_within_ten_seconds() {
        let mut heartbeat = Heartbeat::default();
        heartbeat.start(at(0));
        // A frame came in just before, so this may still be a link that lives.
        heartbeat.attend(at(1));
        assert_eq!(heartbeat.deadline(), Some(at(4)));
        assert_eq!(heartbeat.beat(at(3)), Beat::Nothing);
        assert_eq!(heartbeat.beat(at(4)), Beat::Ping);
        // However much is typed, one question is enough.
        heartbeat.attend(at(6));
        assert_eq!(heartbeat.deadline(), Some(at(8)));
        assert_eq!(heartbeat.beat(at(8)), Beat::Silent(at(0)));
        heartbeat.attend(at(10));
        assert_eq!(heartbeat.deadline(), Some(at(27)));
        // The link is given up no sooner than without all this.
        assert_eq!(heartbeat.beat(at(27)), Beat::Ping);
        assert_eq!(heartbeat.beat(at(54)), Beat::Ping);
        assert_eq!(heartbeat.beat(at(75)), Beat::Dead);
    }

    #[test]
    fn a_long_quiet_is_asked_about_at_the_first_key() {
        let mut heartbeat = Heartbeat::default();
        heartbeat.start(at(0));
        heartbeat.attend(at(20));
        assert_eq!(heartbeat.beat(at(20)), Beat::Ping);
        assert!(heartbeat.hear(at(21)));
        assert_eq!(heartbeat.answer(at(21)), Some(1000));
        assert_eq!(heartbeat.deadline(), Some(at(48)));
    }

    #[test]
    fn a_link_that_talks_is_never_asked() {
        let mut heartbeat = Heartbeat::default();
        heartbeat.start(at(0));
        for second in 1..60 {
            heartbeat.attend(at(second));
            heartbeat.hear(at(second));
            assert_eq!(heartbeat.beat(at(second)), Beat::Nothing);
        }
        heartbeat.hear(at(63));
        assert_eq!(heartbeat.deadline(), Some(at(63 + 27)));
    }

    #[test]
    fn the_end_of_a_silence_is_told_at_once() {
        let mut heartbeat = Heartbeat::default();
        heartbeat.start(at(0));
        heartbeat.attend(at(6));
        assert_eq!(heartbeat.beat(at(6)), Beat::Ping);
        assert!(heartbeat.hear(at(7)), "the first sign of life");
        heartbeat.attend(at(12));
        assert_eq!(heartbeat.beat(at(12)), Beat::Ping);
        assert_eq!(heartbeat.beat(at(16)), Beat::Silent(at(7)));
        assert!(heartbeat.hear(at(16)));
        assert!(!heartbeat.hear(at(17)));
    }

    #[test]
    fn where_there_is_no_link_nothing_is_asked() {
        let mut heartbeat = Heartbeat::default();
        heartbeat.attend(at(1));
        assert_eq!(heartbeat.deadline(), None);
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
