//! The line between a client and a gateway, with everything that can go wrong on it. What is on its
//! way has a moment of arrival; a cut loses what is on its way, as a broken socket does.

use super::random::Random;
use std::collections::VecDeque;
use trialogue::demo::engine::ConnectionId;
use trialogue::link::{CloseReason, Frame};
use trialogue::protocol::Driver;
use trialogue::runtime::coalesce::Waiting;

/// What comes down the line.
#[derive(Debug)]
pub enum Down {
    Frame(Frame),
    End(CloseReason),
}

/// Faults of the frames themselves; only of those that a newer one makes obsolete.
#[derive(Clone, Copy, Default, Debug)]
pub struct Mischief {
    /// Percent of replaceable frames that come twice.
    pub doubles: u64,
    /// Percent of replaceable frames that change places with the one of the same key before it.
    pub swaps: u64,
}

#[derive(Default)]
pub struct Wire {
    pub connection: Option<ConnectionId>,
    up: VecDeque<(u64, Frame)>,
    down: VecDeque<(u64, Down)>,
    /// Read and not decoded yet.
    pub waiting: Waiting,
    /// The end of the link, behind the frames that wait.
    pub ending: Option<CloseReason>,
    /// Milliseconds from end to end, least and most.
    pub latency: (u64, u64),
    /// Nothing passes any more and nobody says so.
    pub is_half_open: bool,
    /// Nothing is read before this moment.
    pub stalled_until: u64,
    /// Bytes in both directions until the line breaks; the frame over the limit is lost.
    pub budget: Option<u64>,
    pub mischief: Mischief,
}

impl Wire {
    /// A line of this latency that leads nowhere yet.
    pub fn new(latency: (u64, u64)) -> Self {
        Self {
            latency,
            ..Self::default()
        }
    }

    /// A fresh line to the same place.
    pub fn renew(&mut self, connection: ConnectionId) {
        *self = Self {
            connection: Some(connection),
            latency: self.latency,
            stalled_until: self.stalled_until,
            mischief: self.mischief,
            ..Self::default()
        };
    }

    /// Everything on the way is lost.
    pub fn break_off(&mut self) -> Option<ConnectionId> {
        let connection = self.connection.take();
        self.up.clear();
        self.down.clear();
        self.waiting = Waiting::default();
        self.ending = None;
        self.is_half_open = false;
        self.budget = None;
        connection
    }

    fn arrival(&self, now: u64, last: Option<u64>, random: &mut Random) -> u64 {
        let at = now + random.between(self.latency.0, self.latency.1.max(self.latency.0));
        at.max(last.unwrap_or(0))
    }

    /// Takes from the budget; true when the line breaks with this frame.
    fn breaks(&mut self, frame: &Frame) -> bool {
        let Some(left) = self.budget else {
            return false;
        };
        let size = frame.len() as u64 + 8;
        self.budget = left.checked_sub(size);
        self.budget.is_none()
    }

    /// A frame for the gateway; true when the line breaks with it.
    pub fn send_up(&mut self, now: u64, frame: Frame, random: &mut Random) -> bool {
        if self.breaks(&frame) {
            return true;
        }
        if !self.is_half_open {
            let at = self.arrival(now, self.up.back().map(|(at, _)| *at), random);
            self.up.push_back((at, frame));
        }
        false
    }

    /// Something for the client; true when the line breaks with it.
    pub fn send_down(&mut self, now: u64, down: Down, random: &mut Random) -> bool {
        if let Down::Frame(frame) = &down
            && self.breaks(frame)
        {
            return true;
        }
        if !self.is_half_open {
            let at = self.arrival(now, self.down.back().map(|(at, _)| *at), random);
            self.down.push_back((at, down));
        }
        false
    }

    pub fn take_up(&mut self, now: u64) -> Option<Frame> {
        if self.up.front()?.0 > now {
            return None;
        }
        self.up.pop_front().map(|(_, frame)| frame)
    }

    /// Reads what has arrived, as the account task does: as much as may wait.
    pub fn read(&mut self, now: u64, driver: &dyn Driver, random: &mut Random) {
        if self.stalled_until > now {
            return;
        }
        let mut last: Option<Frame> = None;
        while !self.waiting.is_full() && self.ending.is_none() {
            if self.down.front().is_none_or(|(at, _)| *at > now) {
                return;
            }
            match self.down.pop_front() {
                Some((_, Down::Frame(frame))) => {
                    let key = driver.glance(&frame);
                    if key.is_some() {
                        if random.chance(self.mischief.doubles) {
                            self.waiting.push(frame.clone(), key.clone());
                        }
                        if let Some(before) = last.take()
                            && driver.glance(&before) == key
                            && random.chance(self.mischief.swaps)
                        {
                            self.waiting.push(frame.clone(), key.clone());
                            self.waiting.push(before, key.clone());
                        }
                        last = Some(frame.clone());
                    } else {
                        last = None;
                    }
                    self.waiting.push(frame, key);
                }
                Some((_, Down::End(reason))) => self.ending = Some(reason),
                None => return,
            }
        }
    }

    /// When the next frame reaches the gateway.
    pub fn due_up(&self) -> Option<u64> {
        self.up.front().map(|(at, _)| *at)
    }

    /// When the client has something to read or to decode.
    pub fn due_down(&self) -> Option<u64> {
        if !self.waiting.is_empty() || self.ending.is_some() {
            return Some(0);
        }
        self.down
            .front()
            .map(|(at, _)| (*at).max(self.stalled_until))
    }
}
