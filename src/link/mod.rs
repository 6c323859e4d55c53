//! What travels between a driver and the shell: frames kept without a copy, HTTP described and not
//! done, reasons why a link ended. Knows no protocol and no socket.

use crate::domain::TransferId;
use bytes::Bytes;
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

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

    /// The start of a text frame, to tell what it is without reading all of it: some kilobytes, up
    /// to the end of a character.
    pub fn beginning(&self) -> Option<&str> {
        const BYTES: usize = 4096;
        let Self::Text(bytes) = self else {
            return None;
        };
        let start = &bytes[..bytes.len().min(BYTES)];
        match std::str::from_utf8(start) {
            Ok(text) => Some(text),
            Err(error) if error.error_len().is_none() => {
                std::str::from_utf8(&start[..error.valid_up_to()]).ok()
            }
            Err(_) => None,
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

/// How a runtime is started as a child process.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ChildSpec {
    /// Program and arguments; never a shell line.
    pub command: Vec<String>,
    /// Variables that are set, over the inherited ones.
    pub environment: BTreeMap<String, String>,
    /// Variables that are not inherited; a trailing `*` stands for any ending.
    pub removed: Vec<String>,
    /// Where it is started; none means where this program was started.
    pub directory: Option<PathBuf>,
    /// Folders that must exist before, for the owner only.
    pub folders: Vec<PathBuf>,
    /// Held while the process lives, so that no two share their state.
    pub lock: Option<PathBuf>,
    /// The line that asks it to end.
    pub stop_line: Option<String>,
}

impl CloseReason {
    /// A sentence for the person: what happened, and what can be done where that is known.
    pub fn words(&self) -> String {
        match self {
            Self::Ours => "The connection was closed here.".into(),
            Self::Peer { code, reason } => {
                let code = code.map(|code| format!(" ({code})")).unwrap_or_default();
                match reason.trim() {
                    "" => format!("The server closed the connection{code}."),
                    reason => format!("The server closed the connection{code}: {reason}"),
                }
            }
            Self::HttpStatus { status } => format!(
                "The server answered {status} instead of opening the connection: {}.",
                match status {
                    401 | 403 => "it did not accept this account",
                    404 => {
                        "nothing is at this path; the address must end with the path of the \
                         gateway, such as /ws, as whoever runs it names it"
                    }
                    407 => "a proxy wants a name and a password",
                    429 => "too many attempts came from here; it must be left alone for a while",
                    502..=504 => "the gateway behind it does not run or is starting",
                    500..=599 => "it has a fault of its own",
                    300..=399 => "it points elsewhere, which is not followed",
                    _ => "there is probably no gateway at this address",
                }
            ),
            Self::Failed { detail, .. } => detail.clone(),
            Self::Silent => "Nothing came from the server for too long.".into(),
            Self::Exited {
                code,
                signal,
                stderr_tail,
            } => {
                let how = match (code, signal) {
                    (_, Some(signal)) => format!("The runtime was ended by signal {signal}"),
                    (Some(0), None) => "The runtime ended".into(),
                    (Some(code), None) => format!("The runtime ended with code {code}"),
                    (None, None) => "The runtime ended".into(),
                };
                match stderr_tail
                    .lines()
                    .rev()
                    .find(|line| !line.trim().is_empty())
                {
                    Some(line) => format!("{how}: {}", line.trim()),
                    None => format!("{how}."),
                }
            }
        }
    }
}
