//! A WebSocket link: upgrade, a reader, a writer, keepalive and the words for every way it can fail.
//!
//! No compression is offered, so a small frame cannot grow. Pings are answered by the library;
//! when nothing was heard for a while the reader asks for a ping itself, and when nothing comes
//! then, the link is over ([`CloseReason::Silent`]), even if the socket looks open.

use super::dial::{Address, Limits, Stream, Target, dial, kind_of};
use super::{Ends, Link, Orders, Outgoing, failed, link, tls};
use crate::domain::io_words;
use crate::link::{CloseReason, Frame, LinkFailure};
use bytes::Bytes;
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt, StreamExt};
use rustls::ClientConfig;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until, timeout};
use tokio_tungstenite::tungstenite::error::ProtocolError;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, WebSocketConfig};
use tokio_tungstenite::tungstenite::{ClientRequestBuilder, Error, Message, Utf8Bytes};
use tokio_tungstenite::{WebSocketStream, client_async_with_config};

/// Largest text frame.
pub const TEXT_LIMIT: usize = 8 * 1024 * 1024;
/// Largest binary frame.
pub const BINARY_LIMIT: usize = 16 * 1024 * 1024;
/// Texts up to here are copied out of the buffer they were read into.
const SMALL: usize = 16 * 1024;

type Socket = WebSocketStream<Box<dyn Stream>>;

/// Dials, does TLS and the upgrade, and starts the link.
pub async fn connect(target: &Target, config: &Arc<ClientConfig>) -> Result<Link, CloseReason> {
    let address = Address::of(target)?;
    let stream = dial(target, &address, config).await?;
    let socket = upgrade(stream, &address, target.limits.upgrade).await?;
    Ok(start(socket, target.limits))
}

async fn upgrade(
    stream: Box<dyn Stream>,
    address: &Address,
    limit: Duration,
) -> Result<Socket, CloseReason> {
    let uri = address.url.as_str().parse().map_err(|error| {
        failed(
            LinkFailure::BadAddress,
            format!("The address is not valid: {error}."),
        )
    })?;
    let request = ClientRequestBuilder::new(uri).with_header(
        "User-Agent",
        concat!(env!("CARGO_PKG_NAME"), "/", env!("CARGO_PKG_VERSION")),
    );
    let config = WebSocketConfig::default()
        .max_message_size(Some(BINARY_LIMIT))
        .max_frame_size(Some(BINARY_LIMIT))
        .read_buffer_size(64 * 1024)
        .write_buffer_size(0);
    match timeout(
        limit,
        client_async_with_config(request, stream, Some(config)),
    )
    .await
    {
        Ok(Ok((socket, _))) => Ok(socket),
        Ok(Err(Error::Http(response))) => Err(CloseReason::HttpStatus {
            status: response.status().as_u16(),
        }),
        Ok(Err(Error::Io(error))) => Err(failed(
            LinkFailure::Broken,
            format!(
                "{} broke off before the WebSocket was open: {}",
                address.host,
                io_words(&error)
            ),
        )),
        Ok(Err(error)) => Err(match end_of(error, &address.host) {
            CloseReason::Failed { detail, .. } => failed(
                LinkFailure::Protocol,
                format!(
                    "{}:{} is not a WebSocket server, or not at this path. {detail}",
                    address.host, address.port
                ),
            ),
            other => other,
        }),
        Err(_) => Err(failed(
            LinkFailure::TimedOut,
            format!(
                "{} accepted the connection but did not open the WebSocket.",
                address.host
            ),
        )),
    }
}

fn start(socket: Socket, limits: Limits) -> Link {
    let (mut link, ends) = link();
    let (sink, stream) = socket.split();
    let Ends {
        arrivals,
        outgoing,
        probes,
    } = ends;
    let (ping, pings) = mpsc::channel(1);
    let (ended, endings) = mpsc::channel(1);
    let reader = Reader {
        stream,
        arrivals,
        probes,
        ping,
        endings,
        limits,
    };
    link.tasks.0.push(tokio::spawn(reader.run()));
    link.tasks.0.push(tokio::spawn(write(
        sink,
        outgoing,
        pings,
        ended,
        limits.send,
    )));
    link
}

/// What the writer tells the reader, which alone says how the link ended.
enum WriterEnd {
    Failed(CloseReason),
    /// We said goodbye; the peer has this long.
    Closing(Duration),
}

struct Reader {
    stream: SplitStream<Socket>,
    arrivals: super::Arrivals,
    probes: mpsc::Receiver<Duration>,
    ping: mpsc::Sender<()>,
    endings: mpsc::Receiver<WriterEnd>,
    limits: Limits,
}

impl Reader {
    async fn run(mut self) {
        let reason = self.read().await;
        self.arrivals.down(reason).await;
    }

    async fn read(&mut self) -> CloseReason {
        let mut heard = Instant::now();
        let mut pinged: Option<Instant> = None;
        let mut probe_end: Option<Instant> = None;
        let mut closing_end: Option<Instant> = None;
        let mut farewell: Option<CloseReason> = None;
        loop {
            // Counted from the ping and not from the last frame: after the process was stopped for
            // a while, the peer still gets its time to answer.
            let silent = pinged.map(|pinged| pinged + self.limits.answer);
            let mut wake = silent.unwrap_or(heard + self.limits.ping_after);
            for end in [probe_end, closing_end].into_iter().flatten() {
                wake = wake.min(end);
            }
            tokio::select! {
                message = self.stream.next() => {
                    pinged = None;
                    probe_end = None;
                    let frame = match message {
                        Some(Ok(Message::Text(text))) => {
                            if text.len() > TEXT_LIMIT {
                                return too_large();
                            }
                            Some(Frame::Text(apart(text)))
                        }
                        Some(Ok(Message::Binary(bytes))) => Some(Frame::Binary(bytes)),
                        Some(Ok(Message::Close(close))) => {
                            farewell = Some(if closing_end.is_some() {
                                CloseReason::Ours
                            } else {
                                peer(close)
                            });
                            // The library answers; the socket ends by itself soon after.
                            closing_end.get_or_insert(Instant::now() + Duration::from_secs(2));
                            None
                        }
                        Some(Ok(_)) => None,
                        Some(Err(error)) => return farewell.unwrap_or_else(|| {
                            if closing_end.is_some() {
                                CloseReason::Ours
                            } else {
                                end_of(error, "The server")
                            }
                        }),
                        None => return farewell.unwrap_or_else(|| peer(None)),
                    };
                    if let Some(frame) = frame
                        && !self.arrivals.frame(frame).await
                    {
                        return CloseReason::Ours;
                    }
                    // Taken after the wait for room: our own slowness is not the peer's silence.
                    heard = Instant::now();
                }
                Some(within) = self.probes.recv() => {
                    probe_end = Some(Instant::now() + within);
                    let _ = self.ping.try_send(());
                }
                Some(end) = self.endings.recv() => match end {
                    WriterEnd::Failed(reason) => return farewell.unwrap_or(reason),
                    WriterEnd::Closing(grace) => {
                        closing_end.get_or_insert(Instant::now() + grace);
                    }
                },
                () = sleep_until(wake) => {
                    let now = Instant::now();
                    if closing_end.is_some_and(|end| end <= now) {
                        return farewell.unwrap_or(CloseReason::Ours);
                    }
                    if [probe_end, silent].into_iter().flatten().any(|end| end <= now) {
                        return CloseReason::Silent;
                    }
                    if pinged.is_none() && heard + self.limits.ping_after <= now {
                        pinged = Some(now);
                        let _ = self.ping.try_send(());
                    }
                }
            }
        }
    }
}

async fn write(
    mut sink: SplitSink<Socket, Message>,
    mut outgoing: Orders,
    mut pings: mpsc::Receiver<()>,
    ended: mpsc::Sender<WriterEnd>,
    limit: Duration,
) {
    loop {
        let message = tokio::select! {
            Some(()) = pings.recv() => Message::Ping(Default::default()),
            next = outgoing.recv() => match next {
                Some(Outgoing::Frame(Frame::Text(bytes))) => match Utf8Bytes::try_from(bytes) {
                    Ok(text) => Message::Text(text),
                    // A driver writes text from strings only.
                    Err(_) => continue,
                },
                Some(Outgoing::Frame(Frame::Binary(bytes))) => Message::Binary(bytes),
                Some(Outgoing::Close { grace }) => {
                    let goodbye = Message::Close(Some(CloseFrame {
                        code: CloseCode::Normal,
                        reason: Utf8Bytes::from_static(""),
                    }));
                    let _ = ended.send(WriterEnd::Closing(grace)).await;
                    let _ = timeout(grace.max(Duration::from_millis(100)), sink.send(goodbye)).await;
                    return;
                }
                None => return,
            },
        };
        let reason = match timeout(limit, sink.send(message)).await {
            Ok(Ok(())) => continue,
            Ok(Err(error)) => end_of(error, "The server"),
            Err(_) => failed(
                LinkFailure::TimedOut,
                "The server took nothing of what was sent to it.",
            ),
        };
        let _ = ended.send(WriterEnd::Failed(reason)).await;
        return;
    }
}

/// A small text for itself, because it would keep all of the buffer it was read into, in which a
/// piece of a file may have come before it.
fn apart(text: Utf8Bytes) -> Bytes {
    if text.len() <= SMALL {
        return Bytes::copy_from_slice(text.as_ref());
    }
    text.into()
}

fn peer(close: Option<CloseFrame>) -> CloseReason {
    match close {
        Some(close) => CloseReason::Peer {
            code: Some(close.code.into()),
            reason: close.reason.as_str().to_owned(),
        },
        None => CloseReason::Peer {
            code: None,
            reason: String::new(),
        },
    }
}

fn too_large() -> CloseReason {
    failed(
        LinkFailure::TooLarge,
        format!(
            "The server sent a frame of more than {} MiB.",
            TEXT_LIMIT / 1024 / 1024
        ),
    )
}

/// What an error of the library means.
fn end_of(error: Error, who: &str) -> CloseReason {
    match error {
        Error::ConnectionClosed | Error::AlreadyClosed => peer(None),
        Error::Protocol(ProtocolError::ResetWithoutClosingHandshake) => failed(
            LinkFailure::Broken,
            format!("{who} ended the connection without a word."),
        ),
        Error::Io(error) => {
            if let Some(inner) = error
                .get_ref()
                .and_then(|e| e.downcast_ref::<rustls::Error>())
            {
                return failed(LinkFailure::Tls, tls::words(inner, who));
            }
            failed(
                kind_of(&error),
                format!("The connection broke: {}.", io_words(&error)),
            )
        }
        Error::Capacity(_) => too_large(),
        Error::Tls(error) => failed(LinkFailure::Tls, format!("TLS failed: {error}")),
        Error::Protocol(ProtocolError::HandshakeIncomplete) => failed(
            LinkFailure::Protocol,
            format!("{who} hung up before it had answered."),
        ),
        Error::Protocol(
            ProtocolError::MissingConnectionUpgradeHeader
            | ProtocolError::MissingUpgradeWebSocketHeader
            | ProtocolError::SecWebSocketAcceptKeyMismatch
            | ProtocolError::WrongHttpVersion,
        ) => failed(
            LinkFailure::Protocol,
            format!("{who} answers, but opens no WebSocket."),
        ),
        Error::Protocol(ProtocolError::HttparseError(_)) => failed(
            LinkFailure::Protocol,
            format!("{who} answers with something that is no HTTP."),
        ),
        other => failed(
            LinkFailure::Protocol,
            format!("{who} broke the rules of WebSocket: {other}."),
        ),
    }
}
