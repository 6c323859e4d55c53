//! A server that says whatever a test wants: literal frames over a WebSocket, and files over HTTP,
//! on one port. What the program says to it is written down.

use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};
use tokio_tungstenite::tungstenite::{self, Message};

/// Only a fault takes this long.
const DEADLINE: Duration = Duration::from_secs(20);
/// How often a connection looks for something to say.
const TURN: Duration = Duration::from_millis(5);

/// What is answered to a frame.
pub type Answer = dyn Fn(&Value) -> Vec<String> + Send + Sync;

/// What is answered to a request for a file, byte for byte; without an end it goes on for ever.
#[derive(Clone, Debug)]
pub enum Reply {
    Whole(Vec<u8>),
    Endless(Vec<u8>),
}

impl Reply {
    /// A good answer with this body and length.
    pub fn file(body: &[u8]) -> Self {
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
        let mut all = head.into_bytes();
        all.extend_from_slice(body);
        Self::Whole(all)
    }

    pub fn redirect(target: &str) -> Self {
        let all = format!("HTTP/1.1 302 Found\r\nLocation: {target}\r\nContent-Length: 0\r\n\r\n");
        Self::Whole(all.into_bytes())
    }
}

#[derive(Default)]
struct Book {
    said: Vec<Value>,
    requests: Vec<String>,
    lines: Vec<Sender<Message>>,
}

struct Shared {
    answer: Box<Answer>,
    files: BTreeMap<String, Reply>,
    book: Mutex<Book>,
    changed: Condvar,
}

pub struct Server {
    pub address: SocketAddr,
    shared: Arc<Shared>,
}

impl Server {
    pub fn start(
        answer: impl Fn(&Value) -> Vec<String> + Send + Sync + 'static,
        files: BTreeMap<String, Reply>,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared {
            answer: Box::new(answer),
            files,
            book: Mutex::default(),
            changed: Condvar::new(),
        });
        let all = Arc::clone(&shared);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let shared = Arc::clone(&all);
                std::thread::spawn(move || serve(&shared, stream));
            }
        });
        Self { address, shared }
    }

    pub fn url(&self) -> String {
        format!("ws://{}/ws", self.address)
    }

    /// Says a frame to everybody who listens.
    pub fn say(&self, frame: &Value) {
        self.say_text(&frame.to_string());
    }

    pub fn say_text(&self, text: &str) {
        self.say_message(&Message::text(text));
    }

    pub fn say_bytes(&self, bytes: &[u8]) {
        self.say_message(&Message::binary(bytes.to_vec()));
    }

    fn say_message(&self, message: &Message) {
        let mut book = self.shared.book.lock().unwrap();
        book.lines.retain(|line| line.send(message.clone()).is_ok());
    }

    /// Waits until the program has said a frame that fits.
    pub fn heard(&self, what: &str, fits: impl Fn(&Value) -> bool) -> Value {
        let found = self.wait(what, |book| {
            book.said.iter().find(|frame| fits(frame)).cloned()
        });
        found.unwrap()
    }

    /// Every frame of this type so far.
    pub fn all(&self, kind: &str) -> Vec<Value> {
        let book = self.shared.book.lock().unwrap();
        let of = book.said.iter().filter(|frame| frame["type"] == kind);
        of.cloned().collect()
    }

    /// Waits for a request of a path; its head.
    pub fn asked(&self, path: &str) -> String {
        let start = format!("GET {path} ");
        let of = |book: &Book| {
            let of = book.requests.iter().find(|head| head.starts_with(&start));
            of.cloned()
        };
        self.wait(&start, of).unwrap()
    }

    /// Heads of all requests that were no WebSocket.
    pub fn requests(&self) -> Vec<String> {
        self.shared.book.lock().unwrap().requests.clone()
    }

    fn wait<T>(&self, what: &str, look: impl Fn(&Book) -> Option<T>) -> Option<T> {
        let end = Instant::now() + DEADLINE;
        let mut book = self.shared.book.lock().unwrap();
        loop {
            let found = look(&book);
            if found.is_some() {
                return found;
            }
            let left = end.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "waited for {what}; said: {:?}", book.said);
            book = self.shared.changed.wait_timeout(book, left).unwrap().0;
        }
    }
}

fn serve(shared: &Shared, stream: TcpStream) {
    stream.set_read_timeout(Some(DEADLINE)).unwrap();
    stream.set_write_timeout(Some(DEADLINE)).unwrap();
    let mut start = [0_u8; 7];
    // Enough for the method and the beginning of the path.
    while stream
        .peek(&mut start)
        .is_ok_and(|n| n > 0 && n < start.len())
    {}
    if &start == b"GET /ws" {
        talk(shared, stream);
    } else {
        hand_out(shared, stream);
    }
}

fn talk(shared: &Shared, stream: TcpStream) {
    let Ok(mut socket) = tungstenite::accept(stream) else {
        return;
    };
    let (line, to_say): (Sender<Message>, Receiver<Message>) = channel();
    shared.book.lock().unwrap().lines.push(line);
    socket.get_ref().set_read_timeout(Some(TURN)).unwrap();
    loop {
        let answers = match socket.read() {
            Ok(Message::Text(text)) => {
                let frame: Value = serde_json::from_str(&text).unwrap();
                let answers = (shared.answer)(&frame);
                shared.book.lock().unwrap().said.push(frame);
                shared.changed.notify_all();
                answers
            }
            Ok(_) => Vec::new(),
            Err(tungstenite::Error::Io(error))
                if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) =>
            {
                Vec::new()
            }
            Err(_) => return,
        };
        let answers = answers.into_iter().map(Message::text);
        for message in answers.chain(to_say.try_iter()) {
            if socket.send(message).is_err() {
                return;
            }
        }
    }
}

fn hand_out(shared: &Shared, mut stream: TcpStream) {
    let mut head = Vec::new();
    let mut byte = [0_u8; 1];
    while !head.ends_with(b"\r\n\r\n") && head.len() < 16_384 {
        match stream.read(&mut byte) {
            Ok(1) => head.push(byte[0]),
            _ => return,
        }
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
    shared.book.lock().unwrap().requests.push(head);
    shared.changed.notify_all();
    let reply = shared.files.get(&path).cloned();
    let none = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n";
    match reply.unwrap_or(Reply::Whole(none.to_vec())) {
        Reply::Whole(bytes) => {
            let _ = stream.write_all(&bytes);
        }
        Reply::Endless(head) => {
            let mut sent = stream.write_all(&head);
            let piece = [b'x'; 4_096];
            while sent.is_ok() {
                sent = stream.write_all(b"1000\r\n");
                sent = sent.and_then(|()| stream.write_all(&piece));
                sent = sent.and_then(|()| stream.write_all(b"\r\n"));
            }
        }
    }
}

/// What a server of Pheby says of its one conversation, `c`.
#[derive(Clone, Debug)]
pub struct Pheby {
    pub name: String,
    pub messages: Value,
    pub attachments: Value,
    pub approvals: Value,
    /// What is answered to a decision; the field `request_id` is added.
    pub resolution: Value,
}

impl Default for Pheby {
    fn default() -> Self {
        Self {
            name: "Trial".to_owned(),
            messages: json!([message("m1", "Here I am.")]),
            attachments: json!([]),
            approvals: json!([]),
            resolution: json!({"type": "error", "error":
                {"code": "approval_not_found", "message": "Approval not found"}}),
        }
    }
}

/// A message of the agent in a history.
pub fn message(id: &str, text: &str) -> Value {
    json!({"message_id": id, "role": "assistant", "text": text, "ts": "2026-01-01T00:00:02+00:00"})
}

/// A file of the agent.
pub fn attachment(id: &str, filename: &str, more: Value) -> Value {
    let mut all = json!({"attachment_id": id, "filename": filename, "mime_type": "text/plain",
        "size": 4, "kind": "document", "inline_image": false, "direction": "outbound",
        "message_id": "m1", "expires_at": null, "download_path": format!("/attachments/{id}")});
    for (key, value) in more.as_object().into_iter().flatten() {
        all[key] = value.clone();
    }
    all
}

impl Pheby {
    pub fn start(self, files: BTreeMap<String, Reply>) -> Server {
        Server::start(move |frame| self.answer(frame), files)
    }

    fn answer(&self, frame: &Value) -> Vec<String> {
        let mut answer = match frame["type"].as_str().unwrap_or_default() {
            "hello" => json!({"type": "ready", "protocol_version": 1, "server": "pheby"}),
            "ping" => json!({"type": "pong"}),
            "conversation.list" => json!({"type": "conversation.snapshot", "conversations": [
                {"conversation_id": "c", "name": self.name, "session_id": null,
                 "last_active": "2026-01-01T00:00:00+00:00"}]}),
            "conversation.open" => json!({"type": "conversation.history", "conversation_id": "c",
                "messages": self.messages, "has_more": false, "attachments": self.attachments,
                "run": null, "tools": [], "approvals": self.approvals, "clarifications": []}),
            "yolo.current" => json!({"type": "yolo.snapshot", "enabled": false,
                "scope": "conversation", "conversation_id": "c"}),
            "approval.respond" => self.resolution.clone(),
            "chat.send" => json!({"type": "run.accepted", "conversation_id": "c", "run_id": "r"}),
            _ => json!({"type": "error", "error": {"code": "not_implemented", "message": "no"}}),
        };
        answer["request_id"] = frame["request_id"].clone();
        vec![answer.to_string()]
    }
}

/// A gateway of Iris with one channel, `d`, that names this channel so.
pub fn iris(name: &'static str) -> Server {
    let answer = move |frame: &Value| {
        let (kind, payload) = match frame["type"].as_str().unwrap_or_default() {
            "hello" => (
                "hello.ack",
                json!({"server_caps": {"streaming": true, "reasoning": true, "tools": true,
                    "media": true, "search": true, "push": "none", "pickers": true},
                    "sync_cursor": 0, "last_pushed_cursor": 0, "channels": [{"chat_id": "d",
                    "name": name, "kind": "default", "parent_chat_id": null, "is_default": true,
                    "archived": false}]}),
            ),
            "sync" => ("sync.done", json!({"cursor": 0})),
            "ping" => ("pong", json!({})),
            "commands.catalog" => ("commands.catalog", json!({"commands": []})),
            "history" => (
                "history",
                json!({"messages": [{"message_id": "m1", "role": "assistant",
                    "text": "Here I am.", "ts": 1_767_225_600_000_u64}], "has_more": false,
                    "oldest_message_id": "m1"}),
            ),
            _ => return Vec::new(),
        };
        let mut answer = json!({"v": 1, "id": frame["id"], "type": kind, "payload": payload});
        if frame["chat_id"].is_string() {
            answer["chat_id"] = frame["chat_id"].clone();
        }
        vec![answer.to_string()]
    };
    Server::start(answer, BTreeMap::new())
}
