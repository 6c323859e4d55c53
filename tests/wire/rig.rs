//! A driver that does what its script says, a session around it, and servers to talk to.

use bytes::Bytes;
use futures_util::{SinkExt, StreamExt};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use trialogue::app::effect::TransferFile;
use trialogue::app::event::TransferProgress;
use trialogue::domain::{
    AccountEvent, AccountId, Command, CommandId, LinkEvent, LinkState, Moment, Notice, Secret,
    Topic, TransferId,
};
use trialogue::link::{CloseReason, Frame, HttpRequest};
use trialogue::protocol::{Driver, Input, Output, ReplaceKey, Retry};
use trialogue::runtime::clock::Clock;
use trialogue::runtime::session::{
    Place, SessionEvent, SessionHandle, SessionInput, SessionSetup, spawn,
};
use trialogue::text::SafeText;
use trialogue::transport::dial::{Limits, ProxyRule, Target};

/// Only a fault takes this long.
pub const DEADLINE: Duration = Duration::from_secs(30);

/// What the scripted driver was told, for the test to look at.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Told {
    Up(u64),
    Down(CloseReason),
    Frame(String),
    Bytes(usize),
    Http(u16, String),
    Done(u64, u8),
    Failed(String),
    Chunk(String),
    End(u64),
    Tool(Result<String, String>),
    Secret(String),
}

/// What a test makes the driver put out, when a command comes.
pub type Orders = Arc<Mutex<VecDeque<Output>>>;

/// Says nothing of its own: a notice for each frame, orders for each command.
struct Scripted {
    told: mpsc::UnboundedSender<Told>,
    orders: Orders,
    out: VecDeque<Output>,
    retry: Retry,
}

impl Driver for Scripted {
    fn handle(&mut self, _: Moment, input: Input) {
        let told = match input {
            Input::LinkUp { generation } => Told::Up(generation),
            Input::LinkDown { reason } => Told::Down(reason),
            Input::Frame(Frame::Text(bytes)) => {
                let text = String::from_utf8(bytes.to_vec()).unwrap();
                assert_ne!(text, "panic", "as the script wants it");
                let start: String = text.chars().take(40).collect();
                self.say(&start);
                if let Some(last) = text.strip_prefix("close ") {
                    self.out.push_back(Output::Close {
                        last: Some(Frame::text(last)),
                        grace: Duration::from_secs(1),
                        retry: Retry::Never,
                    });
                }
                Told::Frame(text)
            }
            Input::Frame(Frame::Binary(bytes)) => Told::Bytes(bytes.len()),
            Input::Command { .. } => {
                self.out.extend(self.orders.lock().unwrap().drain(..));
                return;
            }
            Input::HttpReply(reply) => Told::Http(
                reply.status,
                String::from_utf8_lossy(&reply.body).into_owned(),
            ),
            Input::TransferDone { size, sha256, .. } => Told::Done(size, sha256[0]),
            Input::TransferFailed { reason, .. } => Told::Failed(format!("{reason:?}")),
            Input::UploadChunk { transfer, bytes } => {
                let text = String::from_utf8(bytes.to_vec()).unwrap();
                self.out.push_back(Output::Frame(Frame::Binary(bytes)));
                self.out.push_back(Output::WantBytes { transfer, max: 4 });
                Told::Chunk(text)
            }
            Input::UploadEnd { size, .. } => Told::End(size),
            Input::ToolFinished { result, .. } => Told::Tool(result),
            Input::SecretRenewed(secret) => Told::Secret(secret.expose().to_owned()),
            Input::Deadline | Input::PersonActed | Input::Log(_) => return,
        };
        let _ = self.told.send(told);
    }

    fn poll(&mut self) -> Option<Output> {
        self.out.pop_front()
    }

    fn deadline(&self) -> Option<Moment> {
        None
    }

    /// A frame like `update 17 …` makes an older `update` obsolete.
    fn glance(&self, frame: &Frame) -> Option<ReplaceKey> {
        let text = frame.as_text()?;
        text.starts_with("update ")
            .then(|| ReplaceKey("update".into()))
    }

    fn redact(&self, frame: &Frame) -> Frame {
        match frame.as_text() {
            Some(text) => Frame::text(text.replace("s3cret", "***")),
            None => frame.clone(),
        }
    }

    fn retry(&self, reason: &CloseReason) -> Retry {
        match reason {
            CloseReason::HttpStatus { status: 401 | 403 } => Retry::Never,
            _ => self.retry,
        }
    }
}

impl Scripted {
    fn say(&mut self, text: &str) {
        self.out
            .push_back(Output::Event(Box::new(AccountEvent::live(Topic::Notice(
                Notice {
                    body: SafeText::prose(text),
                    ..Notice::default()
                },
            )))));
    }
}

/// A session under test.
pub struct Rig {
    pub handle: SessionHandle,
    pub events: mpsc::Receiver<(AccountId, SessionEvent)>,
    pub told: mpsc::UnboundedReceiver<Told>,
    orders: Orders,
    pub cache: tempfile::TempDir,
}

/// Short limits, so that a hanging server is noticed soon.
pub fn quick() -> Limits {
    Limits {
        connect: Duration::from_secs(10),
        tls: Duration::from_secs(10),
        upgrade: Duration::from_secs(10),
        send: Duration::from_secs(10),
        ping_after: Duration::from_secs(10),
        answer: Duration::from_secs(10),
    }
}

pub fn target(port: u16) -> Target {
    Target {
        url: format!("ws://127.0.0.1:{port}/ws"),
        ca_file: None,
        allow_plain: false,
        proxy: ProxyRule::Environment,
        limits: quick(),
    }
}

impl Rig {
    pub fn new(place: Place) -> Self {
        Self::with(place, Retry::Backoff, 1_024)
    }

    pub fn with(place: Place, retry: Retry, room: usize) -> Self {
        let (told_sender, told) = mpsc::unbounded_channel();
        let (event_sender, events) = mpsc::channel(room);
        let orders = Orders::default();
        let cache = tempfile::tempdir().unwrap();
        let tools = BTreeMap::from([(
            "shout".to_owned(),
            ["sh", "-c", "read x; echo \"[$x]\""]
                .map(str::to_owned)
                .to_vec(),
        )]);
        let setup = SessionSetup {
            account: "work".into(),
            place,
            driver: Box::new(Scripted {
                told: told_sender,
                orders: orders.clone(),
                out: VecDeque::new(),
                retry,
            }),
            secret: Some(Secret::new("s3cret".into())),
            secrets: Arc::new(|| Ok(Some(Secret::new("renewed".into())))),
            tools,
            cache: cache.path().to_owned(),
            clock: Clock::start(),
            seed: 7,
            recording: None,
            origin: Default::default(),
        };
        Self {
            handle: spawn(setup, event_sender),
            events,
            told,
            orders,
            cache,
        }
    }

    /// A session that is told to connect.
    pub fn connected(target: Target) -> Self {
        let rig = Self::new(Place::Network(target));
        rig.connect();
        rig
    }

    pub fn connect(&self) {
        self.handle.try_send(SessionInput::Connect).unwrap();
    }

    /// Makes the driver put these out.
    pub fn order(&self, outputs: impl IntoIterator<Item = Output>) {
        self.orders.lock().unwrap().extend(outputs);
        self.handle
            .try_send(SessionInput::Command {
                id: CommandId(1),
                command: Command::LoadCatalog,
            })
            .unwrap();
    }

    /// Adds orders for a command that was sent already.
    pub fn order_quietly(&self, outputs: impl IntoIterator<Item = Output>) {
        self.orders.lock().unwrap().extend(outputs);
    }

    pub fn request(&self, request: HttpRequest) {
        self.order([Output::Http(request)]);
    }

    pub fn open(&self, file: TransferFile) -> TransferId {
        let transfer = TransferId(1);
        self.handle
            .try_send(SessionInput::OpenTransfer { transfer, file })
            .unwrap();
        transfer
    }

    pub async fn told(&mut self) -> Told {
        timeout(DEADLINE, self.told.recv())
            .await
            .expect("the driver is told in time")
            .expect("the session lives")
    }

    /// Waits until the driver is told something that fits.
    pub async fn told_that<T>(&mut self, mut fits: impl FnMut(Told) -> Option<T>) -> T {
        loop {
            if let Some(found) = fits(self.told().await) {
                return found;
            }
        }
    }

    pub async fn down(&mut self) -> CloseReason {
        self.told_that(|told| match told {
            Told::Down(reason) => Some(reason),
            _ => None,
        })
        .await
    }

    pub async fn event(&mut self) -> SessionEvent {
        timeout(DEADLINE, self.events.recv())
            .await
            .expect("an event comes in time")
            .expect("the session lives")
            .1
    }

    pub async fn event_that<T>(&mut self, mut fits: impl FnMut(SessionEvent) -> Option<T>) -> T {
        loop {
            if let Some(found) = fits(self.event().await) {
                return found;
            }
        }
    }

    /// The words with which the session waits for the next attempt.
    pub async fn waits(&mut self) -> String {
        self.event_that(|event| match event {
            SessionEvent::Waits { reason, .. } => Some(reason.to_string()),
            _ => None,
        })
        .await
    }

    /// The words with which the session gave up.
    pub async fn refused(&mut self) -> String {
        self.event_that(|event| match link_state(&event) {
            Some(LinkState::Refused { reason }) => Some(reason.to_string()),
            _ => None,
        })
        .await
    }

    /// The end of the transfer, and the largest progress before it.
    pub async fn transfer_end(&mut self) -> (TransferProgress, u64) {
        let mut most = 0;
        self.event_that(|event| match event {
            SessionEvent::Transfer {
                progress: TransferProgress::Moved { done, .. },
                ..
            } => {
                most = most.max(done);
                None
            }
            SessionEvent::Transfer { progress, .. } => Some((progress, most)),
            _ => None,
        })
        .await
    }

    pub fn files(&self) -> Vec<std::path::PathBuf> {
        std::fs::read_dir(self.cache.path())
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect()
    }

    /// A request that was called off ends in its own time, and its file with it.
    pub async fn files_go(&self) {
        let gone = async {
            while !self.files().is_empty() {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(DEADLINE, gone).await.unwrap();
    }
}

pub fn link_state(event: &SessionEvent) -> Option<LinkState> {
    match event {
        SessionEvent::Account(event) => match &event.topic {
            Topic::Link(LinkEvent::Changed(state)) => Some(state.clone()),
            _ => None,
        },
        _ => None,
    }
}

/// The text of a notice of the scripted driver.
pub fn notice(event: &SessionEvent) -> Option<String> {
    match event {
        SessionEvent::Account(event) => match &event.topic {
            Topic::Notice(notice) => Some(notice.body.to_string()),
            _ => None,
        },
        _ => None,
    }
}

/// A server that listens.
pub struct Server {
    pub listener: TcpListener,
    pub port: u16,
}

pub type Socket = WebSocketStream<TcpStream>;

impl Server {
    pub async fn start() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        Self { listener, port }
    }

    /// The next connection, untouched.
    pub async fn raw(&self) -> TcpStream {
        timeout(DEADLINE, self.listener.accept())
            .await
            .expect("a client comes in time")
            .unwrap()
            .0
    }

    /// The next connection as a WebSocket.
    pub async fn socket(&self) -> Socket {
        let opened = tokio_tungstenite::accept_async(self.raw().await);
        timeout(DEADLINE, opened)
            .await
            .expect("the upgrade comes in time")
            .unwrap()
    }
}

pub async fn send(socket: &mut Socket, text: impl Into<String>) {
    timeout(DEADLINE, socket.send(Message::Text(text.into().into())))
        .await
        .expect("the client takes it in time")
        .unwrap();
}

/// The next text the client sends.
pub async fn receive(socket: &mut Socket) -> String {
    next_that(socket, |message| match message {
        Message::Text(text) => Some(text.to_string()),
        _ => None,
    })
    .await
}

/// The next bytes the client sends.
pub async fn receive_bytes(socket: &mut Socket) -> Bytes {
    next_that(socket, |message| match message {
        Message::Binary(bytes) => Some(bytes),
        _ => None,
    })
    .await
}

async fn next_that<T>(socket: &mut Socket, fits: impl Fn(Message) -> Option<T>) -> T {
    let search = async {
        loop {
            let message = socket.next().await.expect("the client is there").unwrap();
            if let Some(found) = fits(message) {
                return found;
            }
        }
    };
    // Over the whole search: pings keep coming.
    timeout(DEADLINE, search).await.expect("it comes in time")
}
