//! The demo gateways behind real sockets and the real clock: one loopback listener, on which each
//! gateway has a path for WebSockets, and Pheby its `/attachments`.
//!
//! One task keeps each engine and alone touches it. Connections talk to it through bounded
//! queues; it waits for a slow reader a bounded time and then cuts it, so memory stays bounded.

use super::disk::Disk;
use super::engine::{ConnectionId, Gateway, GatewayOutput, HttpAnswer, HttpCall, Kept};
use super::files::Content;
use super::options::DemoOptions;
use super::{iris, pheby};
use crate::link::Frame;
use bytes::Bytes;
use futures_util::{SinkExt, StreamExt};
use http_body_util::{BodyExt, Limited};
use hyper::body::{Body, Incoming};
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use std::collections::HashMap;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role, WebSocketConfig};

/// Frames that may wait for one client.
const CLIENT_QUEUE: usize = 256;
/// Calls that may wait for an engine.
const ENGINE_QUEUE: usize = 256;
/// How long an engine waits for a client that does not read.
const SLOW_CLIENT: Duration = Duration::from_secs(20);
/// Protocol pings, as the servers send them.
const HEARTBEAT: Duration = Duration::from_secs(30);
/// Largest WebSocket message taken in; the engines have smaller limits and say so.
const MAX_MESSAGE: usize = 32 * 1024 * 1024;
/// Largest upload over HTTP, one byte above what is allowed so that the engine can say so.
const MAX_UPLOAD: usize = 64 * 1024 * 1024 + 1;
/// Piece of a download.
const PIECE: usize = 64 * 1024;

/// Where a gateway is to be found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ServedGateway {
    pub protocol: &'static str,
    pub url: String,
    pub secret: String,
}

/// Running gateways; dropping it ends them and every connection.
#[derive(Debug)]
pub struct Served {
    pub gateways: Vec<ServedGateway>,
    pub address: SocketAddr,
    tasks: Vec<JoinHandle<std::io::Result<()>>>,
}

impl Served {
    /// The gateway of that protocol.
    pub fn gateway(&self, protocol: &str) -> Option<&ServedGateway> {
        self.gateways.iter().find(|g| g.protocol == protocol)
    }

    /// Waits for ever, or until one of them cannot go on; the error says why.
    pub async fn wait(mut self) -> std::io::Result<()> {
        let tasks = std::mem::take(&mut self.tasks);
        let ends = tasks.into_iter().map(|task| {
            Box::pin(async move {
                match task.await {
                    Ok(end) => end,
                    Err(broken) => Err(std::io::Error::other(broken)),
                }
            })
        });
        futures_util::future::select_all(ends).await.0
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
    }
}

/// Starts the gateways on that address; port 0 takes a free one. Must run inside a tokio runtime.
pub async fn serve(address: SocketAddr, options: DemoOptions) -> std::io::Result<Served> {
    let listener = TcpListener::bind(address).await?;
    let address = listener.local_addr()?;
    let mut setup = options.setup;
    if !options.is_fixed_in_time {
        let since = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        setup.epoch = since.as_millis() as u64;
        // Ids of one start must not meet those of the next in a client's memory.
        setup.seed ^= setup.epoch;
    }
    let mut keepers = Vec::new();
    let mut tasks = Vec::new();
    let mut gateways = Vec::new();
    let engines: Vec<(&'static str, &'static str, Box<dyn Gateway>)> = vec![
        (
            "iris",
            "/iris",
            Box::new(iris::Iris::new(setup.clone(), options.iris)),
        ),
        (
            "pheby",
            "/ws",
            Box::new(pheby::Pheby::new(setup.clone(), options.pheby)),
        ),
    ];
    for (protocol, path, mut engine) in engines {
        let disk = match &options.state {
            Some(folder) => reopen(folder, protocol, engine.as_mut()).await?,
            None => None,
        };
        let (calls, inbox) = mpsc::channel(ENGINE_QUEUE);
        tasks.push(tokio::spawn(keep(engine, disk, inbox)));
        keepers.push(Door { path, calls });
        gateways.push(ServedGateway {
            protocol,
            url: format!("ws://{address}{path}"),
            secret: setup.secret.clone(),
        });
    }
    let doors: Arc<[Door]> = keepers.into();
    tasks.push(tokio::spawn(async move {
        let mut connections = tokio::task::JoinSet::new();
        loop {
            tokio::select! {
                accepted = listener.accept() => match accepted {
                    Ok((stream, peer)) => {
                        connections.spawn(welcome(stream, peer, doors.clone()));
                    }
                    // Out of file handles or the like: later may be better.
                    Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
                },
                Some(_) = connections.join_next(), if !connections.is_empty() => {}
            }
        }
    }));
    Ok(Served {
        gateways,
        address,
        tasks,
    })
}

/// Lets a gateway go on with what an earlier one left in the folder.
async fn reopen(
    folder: &std::path::Path,
    protocol: &str,
    engine: &mut dyn Gateway,
) -> std::io::Result<Option<Disk>> {
    let Some(mut disk) = Disk::open(folder, protocol, engine)? else {
        return Ok(None);
    };
    if let Some(kept) = disk.read()? {
        engine.restore(&kept).map_err(|problem| {
            std::io::Error::other(format!("what is kept for {protocol} is damaged: {problem}"))
        })?;
    }
    if let Some(kept) = disk.change(engine) {
        disk.write(kept).await?;
    }
    Ok(Some(disk))
}

/// The way to one engine.
struct Door {
    path: &'static str,
    calls: mpsc::Sender<Call>,
}

/// What connections ask of an engine's keeper.
enum Call {
    Connect {
        peer: String,
        client: mpsc::Sender<ToClient>,
        answer: oneshot::Sender<Result<ConnectionId, u16>>,
    },
    Frame {
        connection: ConnectionId,
        frame: Frame,
    },
    Disconnect {
        connection: ConnectionId,
    },
    Http {
        call: HttpCall,
        answer: oneshot::Sender<HttpAnswer>,
    },
}

enum ToClient {
    Frame(Frame),
    Close { code: u16, reason: String },
    Cut,
}

/// What has to be on the disk before anybody hears of it.
fn changed<'a>(disk: &'a mut Option<Disk>, engine: &dyn Gateway) -> Option<(&'a mut Disk, Kept)> {
    let disk = disk.as_mut()?;
    let kept = disk.change(engine)?;
    Some((disk, kept))
}

/// Owns an engine: turns calls and the passing of time into outputs for the clients. Ends early only
/// when what must be kept cannot be written.
async fn keep(
    mut engine: Box<dyn Gateway>,
    mut disk: Option<Disk>,
    mut inbox: mpsc::Receiver<Call>,
) -> std::io::Result<()> {
    let start = Instant::now();
    let now = |start: Instant| start.elapsed().as_millis() as u64;
    let mut clients: HashMap<ConnectionId, mpsc::Sender<ToClient>> = HashMap::new();
    loop {
        let pause = engine
            .due()
            .map(|due| Duration::from_millis(due.saturating_sub(now(start))));
        let call = tokio::select! {
            call = inbox.recv() => match call {
                Some(call) => Some(call),
                None => return Ok(()),
            },
            () = tokio::time::sleep(pause.unwrap_or(Duration::from_secs(3600))) => None,
        };
        let due = engine.advance(now(start));
        if let Some((disk, kept)) = changed(&mut disk, engine.as_ref()) {
            disk.write(kept).await?;
        }
        pass_on(&mut engine, &mut clients, due).await;
        let outputs = match call {
            None => Vec::new(),
            Some(Call::Connect {
                peer,
                client,
                answer,
            }) => {
                let (connection, outputs) = engine.connect(&peer);
                let refusal = outputs.iter().find_map(|output| match output {
                    GatewayOutput::Refuse { status, .. } => Some(*status),
                    _ => None,
                });
                let verdict = match refusal {
                    Some(status) => Err(status),
                    None => {
                        clients.insert(connection, client);
                        Ok(connection)
                    }
                };
                if answer.send(verdict).is_err() {
                    clients.remove(&connection);
                    engine.disconnect(connection);
                }
                outputs
            }
            Some(Call::Frame { connection, frame }) => engine.frame(connection, &frame),
            Some(Call::Disconnect { connection }) => {
                clients.remove(&connection);
                engine.disconnect(connection)
            }
            Some(Call::Http { call, answer }) => {
                // A caller that went away needs no answer.
                let reply = engine.http(&call);
                if let Some((disk, kept)) = changed(&mut disk, engine.as_ref()) {
                    disk.write(kept).await?;
                }
                let _ = answer.send(reply);
                Vec::new()
            }
        };
        if let Some((disk, kept)) = changed(&mut disk, engine.as_ref()) {
            disk.write(kept).await?;
        }
        pass_on(&mut engine, &mut clients, outputs).await;
    }
}

async fn pass_on(
    engine: &mut Box<dyn Gateway>,
    clients: &mut HashMap<ConnectionId, mpsc::Sender<ToClient>>,
    outputs: Vec<GatewayOutput>,
) {
    let mut lost = Vec::new();
    for output in outputs {
        let (connection, message) = match output {
            GatewayOutput::Send { connection, frame } => (connection, ToClient::Frame(frame)),
            GatewayOutput::Close {
                connection,
                code,
                reason,
            } => (connection, ToClient::Close { code, reason }),
            GatewayOutput::Cut { connection } => (connection, ToClient::Cut),
            GatewayOutput::Refuse { .. } | GatewayOutput::Log { .. } => continue,
        };
        let Some(client) = clients.get(&connection) else {
            continue;
        };
        let is_last = !matches!(message, ToClient::Frame(_));
        let sent = client.send_timeout(message, SLOW_CLIENT).await;
        if is_last || sent.is_err() {
            clients.remove(&connection);
            lost.push(connection);
        }
    }
    for connection in lost {
        // What a gone client leaves behind may tell the others something.
        let outputs = engine.disconnect(connection);
        Box::pin(pass_on(engine, clients, outputs)).await;
    }
}

async fn welcome(stream: TcpStream, peer: SocketAddr, doors: Arc<[Door]>) {
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

/// A body that is read piece by piece, and may break off.
struct ContentBody {
    content: Content,
    at: u64,
    cut_at: Option<u64>,
}

impl ContentBody {
    fn new(content: Content, cut_at: Option<u64>) -> Self {
        Self {
            content,
            at: 0,
            cut_at,
        }
    }
}

impl Body for ContentBody {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<hyper::body::Frame<Bytes>, std::io::Error>>> {
        let piece = match self.cut_at {
            Some(cut) if self.at >= cut => {
                return Poll::Ready(Some(Err(std::io::ErrorKind::ConnectionAborted.into())));
            }
            Some(cut) => PIECE.min((cut - self.at) as usize),
            None => PIECE,
        };
        let bytes = self.content.read(self.at, piece);
        if bytes.is_empty() {
            return Poll::Ready(None);
        }
        self.at += bytes.len() as u64;
        Poll::Ready(Some(Ok(hyper::body::Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        self.cut_at.is_none() && self.at >= self.content.len()
    }

    fn size_hint(&self) -> hyper::body::SizeHint {
        hyper::body::SizeHint::with_exact(self.content.len() - self.at)
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
