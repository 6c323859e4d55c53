//! A run: the agent at work on one message, from acceptance to its end.

use super::ids::{CommandId, RunId};
use super::moment::Moment;
use crate::text::SafeText;

/// Where a run stands.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum RunPhase {
    /// Taken by the server; nothing seen of it yet.
    #[default]
    Accepted,
    /// Text or tools are coming.
    Working,
    /// A decision is open.
    WaitingForDecision,
    /// We asked it to stop.
    Cancelling,
    /// We asked it to stop, and nothing came of it in time. It is no longer waited for.
    StopUnconfirmed,
}

/// How a run ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RunOutcome {
    Completed,
    Cancelled,
    /// With the server's words, and what the person can do.
    Failed {
        error: SafeText,
        hint: SafeText,
        /// What the server says of it for whoever looks into it; empty when it says nothing.
        details: SafeText,
    },
    /// It vanished: the server restarted or no longer knows it.
    Lost,
}

/// An active run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Run {
    pub id: RunId,
    pub phase: RunPhase,
    /// The server says when it begins and ends; otherwise the driver inferred it.
    pub is_stated: bool,
    /// The command of ours that began it; none when it began elsewhere.
    pub command: Option<CommandId>,
    pub started: Moment,
    pub last_activity: Moment,
    /// Since when it was asked to stop.
    pub stopping_since: Option<Moment>,
}

impl Run {
    /// Whether messages wait for its end.
    pub fn is_in_the_way(&self) -> bool {
        self.phase != RunPhase::StopUnconfirmed
    }

    /// It is asked to stop.
    pub fn stop(&mut self, now: Moment) {
        self.phase = RunPhase::Cancelling;
        self.stopping_since = Some(now);
    }
}
