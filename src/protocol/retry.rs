//! Which ends of a link may be tried again, and when, as data: nothing here sleeps or dials.

use super::io::Retry;
use crate::link::{CloseReason, LinkFailure};
use std::time::Duration;

/// A server that shuts us out counts tries within a minute.
pub(crate) const LOCKOUT: Duration = Duration::from_secs(60);

/// The rule for network links, besides what a protocol knows better.
pub(crate) fn network(reason: &CloseReason) -> Retry {
    match reason {
        CloseReason::Ours | CloseReason::Silent | CloseReason::Exited { .. } => Retry::Backoff,
        // Going away, service restart: the server says that it will be back.
        CloseReason::Peer {
            code: Some(1001 | 1012),
            ..
        } => Retry::Soon,
        CloseReason::Peer { .. } => Retry::Backoff,
        CloseReason::HttpStatus { status } => match status {
            401 | 403 | 407 => Retry::Never,
            500..=599 => Retry::Backoff,
            _ => Retry::NotBefore(LOCKOUT),
        },
        CloseReason::Failed { kind, .. } => match kind {
            LinkFailure::BadAddress | LinkFailure::CannotStart => Retry::Never,
            LinkFailure::Tls | LinkFailure::Protocol | LinkFailure::Locked => {
                Retry::NotBefore(LOCKOUT)
            }
            LinkFailure::NameNotFound
            | LinkFailure::ConnectionRefused
            | LinkFailure::Unreachable
            | LinkFailure::TimedOut
            | LinkFailure::Proxy
            | LinkFailure::TooLarge
            | LinkFailure::Broken => Retry::Backoff,
        },
    }
}

/// Whether the server was reached and turned us away before it said anything.
pub(crate) fn is_turned_away(reason: &CloseReason) -> bool {
    match reason {
        CloseReason::HttpStatus { status } => matches!(status, 403 | 429),
        CloseReason::Peer { .. } => true,
        CloseReason::Failed { kind, .. } => matches!(
            kind,
            LinkFailure::ConnectionRefused | LinkFailure::Broken | LinkFailure::Protocol
        ),
        CloseReason::Ours | CloseReason::Silent | CloseReason::Exited { .. } => false,
    }
}

/// Words for a link that is not tried again by itself; none when the reason says no such thing.
pub(crate) fn refusal_words(reason: &CloseReason) -> Option<String> {
    match reason {
        CloseReason::HttpStatus { status: 401 | 407 } => Some(
            "The server, or a proxy before it, wants another sign-in before it lets anyone \
             connect. Check the address and the secret of this account, then connect again."
                .to_owned(),
        ),
        CloseReason::HttpStatus { status: 403 } => Some(
            "The server does not let this machine connect (HTTP 403). After refused sign-ins \
             that lasts a minute; otherwise check the address. Then connect again."
                .to_owned(),
        ),
        CloseReason::Failed {
            kind: LinkFailure::BadAddress,
            detail,
        } => Some(format!(
            "The address of this account cannot be used: {}. Correct it in the \
             configuration.",
            detail.trim_end().trim_end_matches('.')
        )),
        _ => None,
    }
}
