//! An account as the program sees it: who it is, how its link is, what it can do.

use super::capability::Capabilities;
use super::ids::AccountId;
use super::moment::Moment;
use crate::text::SafeText;

/// What is known of an account besides its conversations.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Account {
    pub id: AccountId,
    /// What the sidebar shows: "name" or "name@host".
    pub label: SafeText,
    pub link: LinkState,
    /// What the server said of itself.
    pub identity: Option<Identity>,
    pub capabilities: Capabilities,
    /// Says that the server works but not well; none when it is well.
    pub health: Option<SafeText>,
    /// When the last frame came in; none before the first.
    pub last_frame: Option<Moment>,
    /// The server owes an answer and nothing came since then; none while the link lives.
    pub silent_since: Option<Moment>,
    /// Round trip of the last heartbeat.
    pub latency_ms: Option<u64>,
}

/// What the server said of itself.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Identity {
    pub server: SafeText,
    pub version: SafeText,
}

/// Where the link of an account stands.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum LinkState {
    /// Switched off, or not begun.
    #[default]
    Off,
    /// Dialling, or the handshake is not done.
    Connecting,
    /// Connected; missed frames are still coming in.
    Syncing,
    /// Commands may be sent.
    Ready,
    /// Lost; the next attempt is at `until`.
    Waiting { until: Moment, reason: SafeText },
    /// Not tried again by itself.
    Refused { reason: SafeText },
    /// The person must sign in somewhere first.
    NeedsLogin(LoginNeed),
}

/// What the person must do to sign in.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LoginNeed {
    /// Opened on a key only, never by itself.
    pub url: Option<SafeText>,
    pub methods: Vec<LoginMethod>,
    pub hint: SafeText,
}

/// One way to sign in.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LoginMethod {
    pub name: SafeText,
    /// A command line or the name of a variable, to be typed by the person.
    pub detail: SafeText,
}
