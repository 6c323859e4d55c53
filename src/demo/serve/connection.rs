//! One connection: plain requests, the upgrade to a WebSocket, and frames both ways. It touches no
//! engine; it asks the keeper behind its door.

use super::super::engine::{ConnectionId, HttpCall};
use super::super::files::Content;
use super::body::ContentBody;
use super::{Call, Door, ToClient};
use crate::link::Frame;
use bytes::Bytes;
use futures_util::{SinkExt, StreamExt};
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::sync::{mpsc, oneshot};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role, WebSocketConfig};

/// Frames that may wait for one client.
const CLIENT_QUEUE: usize = 256;
/// Protocol pings, as the servers send them.
const HEARTBEAT: Duration = Duration::from_secs(30);
/// Largest WebSocket message taken in; the engines have smaller limits and say so.
const MAX_MESSAGE: usize = 32 * 1024 * 1024;
/// Largest upload over HTTP, one byte above what is allowed so that the engine can say so.
const MAX_UPLOAD: usize = 64 * 1024 * 1024 + 1;

pub(super) async fn welcome(stream: TcpStream, peer: SocketAddr, doors: Arc<[Door]>) {
    // Small frames must not wait for each other.
    let _ = stream.set_nodelay(true);
    let service = hyper::service::service_fn(move |request| {
        let doors = doors.clone();
        async move { Ok::<_, std::convert::Infallible>(answer(request, peer, &doors).await) }
    });
    // A broken connection is the client's business.
    let _ = hyper::server::conn::http1::Builder::new()
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades()
        .await;
}

async fn answer(
    request: Request<Incoming>,
    peer: SocketAddr,
    doors: &[Door],
) -> Response<ContentBody> {
    let path = request.uri().path();
    if path.starts_with("/attachments") {
        return match doors.iter().find(|door| door.path == "/ws") {
            Some(door) => http(request, door).await,
            None => bare(StatusCode::NOT_FOUND),
        };
    }
    match doors.iter().find(|door| door.path == path) {
        Some(door) => upgrade(request, peer, door).await,
        None => bare(StatusCode::NOT_FOUND),
    }
}

fn bare(status: StatusCode) -> Response<ContentBody> {
    let mut response = Response::new(ContentBody::new(Content::empty(), None));
    *response.status_mut() = status;
    response
}

async fn http(request: Request<Incoming>, door: &Door) -> Response<ContentBody> {
    let header = |name: &str| {
        request
            .headers()
            .get(name)
            .and_then(|value| value.to_str().ok())
            .map(str::to_owned)
    };
    let mut call = HttpCall {
        method: request.method().to_string(),
        path: request.uri().path().to_owned(),
        query: decode_query(request.uri().query().unwrap_or_default()),
        authorization: header("authorization"),
        secret_header: header("x-pheby-secret"),
        content_type: header("content-type"),
        body: Bytes::new(),
    };
    if request.method() == Method::POST {
        match Limited::new(request.into_body(), MAX_UPLOAD)
            .collect()
            .await
        {
            Ok(body) => call.body = body.to_bytes(),
            Err(_) => return bare(StatusCode::PAYLOAD_TOO_LARGE),
        }
    }
    let (answer, reply) = oneshot::channel();
    if door.calls.send(Call::Http { call, answer }).await.is_err() {
        return bare(StatusCode::SERVICE_UNAVAILABLE);
    }
    let Ok(reply) = reply.await else {
        return bare(StatusCode::SERVICE_UNAVAILABLE);
    };
    let mut response = Response::new(ContentBody::new(reply.body, reply.cut_at));
    *response.status_mut() =
        StatusCode::from_u16(reply.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    for (name, value) in reply.headers {
        if let (Ok(name), Ok(value)) = (
            HeaderName::try_from(name.as_str()),
            HeaderValue::try_from(value.as_str()),
        ) {
            response.headers_mut().insert(name, value);
        }
    }
    response
}

fn decode_query(query: &str) -> Vec<(String, String)> {
    query
        .split('&')
        .filter(|part| !part.is_empty())
        .map(|part| {
            let (key, value) = part.split_once('=').unwrap_or((part, ""));
            (decode(key), decode(value))
        })
        .collect()
}

fn decode(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        rest = tail;
        match first {
            b'+' => bytes.push(b' '),
            b'%' => {
                let digits = tail.get(..2).and_then(|d| std::str::from_utf8(d).ok());
                match digits.and_then(|d| u8::from_str_radix(d, 16).ok()) {
                    Some(byte) => {
                        bytes.push(byte);
                        rest = &tail[2..];
                    }
                    None => bytes.push(b'%'),
                }
            }
            other => bytes.push(other),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn accept_key(headers: &HeaderMap) -> Option<String> {
    let asks = headers
        .get("upgrade")?
        .to_str()
        .ok()?
        .eq_ignore_ascii_case("websocket");
    let key = headers.get("sec-websocket-key")?;
    asks.then(|| derive_accept_key(key.as_bytes()))
}

async fn upgrade(
    mut request: Request<Incoming>,
    peer: SocketAddr,
    door: &Door,
) -> Response<ContentBody> {
    let Some(key) = accept_key(request.headers()) else {
        return bare(StatusCode::UPGRADE_REQUIRED);
    };
    let (client, frames) = mpsc::channel(CLIENT_QUEUE);
    let (answer, verdict) = oneshot::channel();
    let call = Call::Connect {
        peer: peer.ip().to_string(),
        client,
        answer,
    };
    if door.calls.send(call).await.is_err() {
        return bare(StatusCode::SERVICE_UNAVAILABLE);
    }
    let connection = match verdict.await {
        Ok(Ok(connection)) => connection,
        Ok(Err(status)) => {
            return bare(StatusCode::from_u16(status).unwrap_or(StatusCode::FORBIDDEN));
        }
        Err(_) => return bare(StatusCode::SERVICE_UNAVAILABLE),
    };
    let calls = door.calls.clone();
    let on_upgrade = hyper::upgrade::on(&mut request);
    tokio::spawn(async move {
        if let Ok(upgraded) = on_upgrade.await {
            let config = WebSocketConfig::default()
                .max_message_size(Some(MAX_MESSAGE))
                .max_frame_size(Some(MAX_MESSAGE));
            let socket = WebSocketStream::from_raw_socket(
                TokioIo::new(upgraded),
                Role::Server,
                Some(config),
            )
            .await;
            talk(socket, connection, frames, &calls).await;
        }
        // The keeper may be gone already; then nothing remembers the connection.
        let _ = calls.send(Call::Disconnect { connection }).await;
    });
    let mut response = bare(StatusCode::SWITCHING_PROTOCOLS);
    let headers = response.headers_mut();
    headers.insert("upgrade", HeaderValue::from_static("websocket"));
    headers.insert("connection", HeaderValue::from_static("Upgrade"));
    if let Ok(value) = HeaderValue::try_from(key) {
        headers.insert("sec-websocket-accept", value);
    }
    response
}

/// Carries frames both ways until one side has enough. Ends when the keeper forgets the client.
async fn talk<S>(
    socket: WebSocketStream<S>,
    connection: ConnectionId,
    mut frames: mpsc::Receiver<ToClient>,
    calls: &mpsc::Sender<Call>,
) where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin,
{
    let (mut sink, mut stream) = socket.split();
    let read = async {
        while let Some(Ok(message)) = stream.next().await {
            let frame = match message {
                Message::Text(text) => Frame::Text(text.into()),
                Message::Binary(bytes) => Frame::Binary(bytes),
                Message::Close(_) => break,
                _ => continue,
            };
            if calls.send(Call::Frame { connection, frame }).await.is_err() {
                break;
            }
        }
    };
    let write = async {
        let mut heartbeat = tokio::time::interval(HEARTBEAT);
        heartbeat.tick().await;
        loop {
            let message = tokio::select! {
                message = frames.recv() => match message {
                    Some(ToClient::Frame(Frame::Text(bytes))) => {
                        match String::from_utf8(bytes.to_vec()) {
                            Ok(text) => Message::text(text),
                            Err(broken) => Message::binary(broken.into_bytes()),
                        }
                    }
                    Some(ToClient::Frame(Frame::Binary(bytes))) => Message::Binary(bytes),
                    Some(ToClient::Close { code, reason }) => {
                        let frame = CloseFrame {
                            code: CloseCode::from(code),
                            reason: reason.into(),
                        };
                        // The peer may have gone first.
                        let _ = sink.send(Message::Close(Some(frame))).await;
                        return true;
                    }
                    Some(ToClient::Cut) | None => return false,
                },
                _ = heartbeat.tick() => Message::Ping(Bytes::new()),
            };
            if sink.send(message).await.is_err() {
                return false;
            }
        }
    };
    tokio::pin!(read);
    let said_goodbye = tokio::select! {
        () = &mut read => false,
        said_goodbye = write => said_goodbye,
    };
    if said_goodbye {
        // The peer's own close frame comes back; without it the last frames could be lost.
        let _ = tokio::time::timeout(Duration::from_secs(2), read).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_is_decoded() {
        assert_eq!(
            decode_query("conversation_id=a1&filename=caf%C3%A9+%26%25.md&x"),
            [
                ("conversation_id".into(), "a1".into()),
                ("filename".into(), "café &%.md".into()),
                ("x".into(), String::new())
            ]
        );
    }
}
