//! What travels between a driver and the shell: frames kept without a copy, HTTP described and not
//! done, reasons why a link ended. Knows no protocol and no socket.

use crate::domain::TransferId;
use bytes::Bytes;
use std::fmt;

/// One frame: a text or binary message of a WebSocket, or one line of a child process.
#[derive(Clone, PartialEq, Eq)]
pub enum Frame {
    /// UTF-8, checked by the transport; without the line break where lines are frames.
    Text(Bytes),
    Binary(Bytes),
}

impl Frame {
    /// A text frame.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(Bytes::from(text.into()))
    }

    /// The text of a text frame; none for bytes or broken UTF-8.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(bytes) => std::str::from_utf8(bytes).ok(),
            Self::Binary(_) => None,
        }
    }

    /// Size in bytes.
    pub fn len(&self) -> usize {
        match self {
            Self::Text(bytes) | Self::Binary(bytes) => bytes.len(),
        }
    }

    /// Whether it carries nothing.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Frames may hold secrets, so only their kind and size show.
impl fmt::Debug for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(bytes) => write!(f, "Frame::Text({} bytes)", bytes.len()),
            Self::Binary(bytes) => write!(f, "Frame::Binary({} bytes)", bytes.len()),
        }
    }
}

/// Why a link is down, as the transport saw it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CloseReason {
    /// We closed it.
    Ours,
    /// The peer closed it properly.
    Peer { code: Option<u16>, reason: String },
    /// The upgrade was answered with another HTTP status.
    HttpStatus { status: u16 },
    /// The connection could not be made, or broke.
    Failed { kind: LinkFailure, detail: String },
    /// Nothing came in for too long.
    Silent,
    /// The child process ended.
    Exited {
        code: Option<i32>,
        signal: Option<i32>,
        stderr_tail: String,
    },
}

/// What failed, for words and for the rule whether to try again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LinkFailure {
    /// The address is wrong or not allowed (plain `ws://` to another machine).
    BadAddress,
    NameNotFound,
    ConnectionRefused,
    Unreachable,
    TimedOut,
    Tls,
    Proxy,
    /// Not a WebSocket server, or a broken frame.
    Protocol,
    TooLarge,
    /// Broke in the middle.
    Broken,
    /// The program could not be started.
    CannotStart,
    /// Another program of ours holds the lock of this runtime.
    Locked,
}

/// The HTTP method of a described request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HttpMethod {
    Get,
    Post,
}

/// What a request carries.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum HttpBody {
    None,
    /// The file the shell knows under this transfer, streamed.
    File(TransferId),
}

/// Where a successful (2xx) reply's body goes. Bodies of other statuses always go to memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HttpSink {
    /// To the driver, at most so many bytes.
    Memory { max: usize },
    /// Into the file the shell opened under the request's transfer, at most so many bytes.
    File { max: u64 },
}

/// An HTTP request on the account's own origin, described. The shell adds the account's secret as
/// a bearer and refuses redirects to another origin.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HttpRequest {
    pub transfer: TransferId,
    pub method: HttpMethod,
    /// Absolute path on the origin, already percent-encoded; never a full URL.
    pub path: String,
    /// Query parameters, not yet encoded.
    pub query: Vec<(String, String)>,
    pub content_type: Option<String>,
    pub body: HttpBody,
    pub sink: HttpSink,
}

/// How a described request ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HttpReply {
    pub transfer: TransferId,
    pub status: u16,
    /// The body, bounded; empty when it went into a file.
    pub body: Bytes,
}
