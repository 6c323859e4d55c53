//! Where the program is killed: an account of one kind, and what its server has, asked past the
//! client with literal frames or read from the disk of the runtime.

use crate::Said;
use crate::support::pty::{Pty, program};
use crate::support::served::{Gateway, Served, add_account, command};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use tokio_tungstenite::tungstenite::{self, Message};
use trialogue::domain::Author;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Pheby,
    Iris,
    Omi,
}

pub struct Place {
    kind: Kind,
    home: PathBuf,
    /// Its gateways; a runtime is a child of the program.
    served: Option<Served>,
}

impl Place {
    pub fn new(kind: Kind, home: &Path) -> Self {
        let speed = "speed=600";
        let served = match kind {
            Kind::Pheby | Kind::Iris => Some(Served::start(home, "127.0.0.1:0", &[speed])),
            Kind::Omi => None,
        };
        let place = Self {
            kind,
            home: home.to_owned(),
            served,
        };
        if let Some(gateway) = place.gateway() {
            add_account(home, "here", gateway);
        } else {
            let runtime = env!("CARGO_BIN_EXE_trialogue");
            let words = ["account", "add", "omi", "here", "--no-keyring", "--"];
            let runtime = [runtime, "demo", "--runtime", "--set", speed];
            let mut adding = command(home, &[&words[..], &runtime[..]].concat());
            assert!(adding.output().unwrap().status.success());
        }
        place
    }

    fn gateway(&self) -> Option<&Gateway> {
        let protocol = match self.kind {
            Kind::Pheby => "pheby",
            Kind::Iris => "iris",
            Kind::Omi => return None,
        };
        self.served.as_ref().map(|served| served.gateway(protocol))
    }

    /// The conversation that is on screen after the first start.
    pub fn conversation(&self) -> &'static str {
        match self.kind {
            Kind::Pheby | Kind::Iris => "Welcome",
            Kind::Omi => "First conversation",
        }
    }

    pub fn start(&self) -> Pty {
        let mut command = program(&self.home, &["--no-keyring"]);
        if let Some(gateway) = self.gateway() {
            command.env("TRIALOGUE_SECRET_HERE", &gateway.secret);
        }
        Pty::start(command, 100, 30)
    }

    /// The transcript of the conversation as the server has it.
    pub fn truth(&self) -> Vec<Said> {
        let rows = match (self.kind, self.gateway()) {
            (Kind::Pheby, Some(gateway)) => self.of_pheby(gateway),
            (Kind::Iris, Some(gateway)) => self.of_iris(gateway),
            _ => self.of_omi(),
        };
        rows.iter()
            .filter_map(|row| {
                let author = match row["role"].as_str() {
                    Some("user") => Author::User,
                    Some("assistant") => Author::Assistant,
                    _ => return None,
                };
                let text = row["text"].as_str().or(row["content"].as_str());
                Some((author, text.unwrap_or_default().trim().to_owned()))
            })
            .filter(|(_, text)| !text.is_empty())
            .collect()
    }

    fn of_pheby(&self, gateway: &Gateway) -> Vec<Value> {
        let mut asking = Asking::new(gateway, "request_id");
        let hello = json!({"type": "hello", "protocol_version": 1, "secret": gateway.secret,
            "client": "truth", "request_id": "1"});
        assert_eq!(asking.ask(&hello)["type"], "ready");
        let list = asking.ask(&json!({"type": "conversation.list", "request_id": "2"}));
        let id = named(
            &list["conversations"],
            self.conversation(),
            "conversation_id",
        );
        let history = asking.ask(&json!({"type": "conversation.open", "conversation_id": id,
            "limit": 500, "request_id": "3"}));
        history["messages"].as_array().unwrap().clone()
    }

    fn of_iris(&self, gateway: &Gateway) -> Vec<Value> {
        let mut asking = Asking::new(gateway, "id");
        let hello = json!({"v": 1, "id": 1, "type": "hello", "payload": {"token": gateway.secret,
            "device_id": "truth", "device_name": "truth",
            "caps": {"min_protocol": 1, "media": false, "push": "none"}}});
        let ack = asking.ask(&hello);
        let id = named(&ack["payload"]["channels"], self.conversation(), "chat_id");
        let mut rows: Vec<Value> = Vec::new();
        for page in 2.. {
            let mut payload = json!({"limit": 200});
            if let Some(oldest) = rows.first() {
                payload["before_message_id"] = oldest["message_id"].clone();
            }
            let answer = asking.ask(&json!({"v": 1, "id": page, "type": "history",
                "chat_id": id, "payload": payload}));
            let mut older = answer["payload"]["messages"].as_array().unwrap().clone();
            older.append(&mut rows);
            rows = older;
            if answer["payload"]["has_more"] != true {
                break;
            }
        }
        rows
    }

    /// The newest revision of every turn on the disk of the runtime.
    fn of_omi(&self) -> Vec<Value> {
        let file = self.home.join("data/state/omi/here/demo-runtime.json");
        let state: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
        let sessions = state["sessions"].as_array().unwrap();
        let id = sessions
            .iter()
            .find(|row| row["title"] == self.conversation())
            .map(|row| row["conversation"].clone());
        let conversation = state["conversations"]
            .as_array()
            .unwrap()
            .iter()
            .find(|row| Some(&row["id"]) == id.as_ref())
            .unwrap_or_else(|| panic!("no {} in {sessions:?}", self.conversation()));
        let mut turns: Vec<Value> = Vec::new();
        for revision in conversation["revisions"].as_array().unwrap() {
            match turns
                .iter_mut()
                .find(|turn| turn["turnId"] == revision["turnId"])
            {
                Some(turn) => *turn = revision.clone(),
                None => turns.push(revision.clone()),
            }
        }
        turns.sort_by_key(|turn| (turn["createdAtMs"].as_u64(), turn["turnSeq"].as_u64()));
        turns
    }
}

/// The id of the row with this name.
fn named(rows: &Value, name: &str, id: &str) -> Value {
    let rows = rows.as_array().unwrap();
    let row = rows.iter().find(|row| row["name"] == name);
    row.map(|row| row[id].clone()).unwrap()
}

/// A connection past the client.
struct Asking {
    socket: tungstenite::WebSocket<tungstenite::stream::MaybeTlsStream<std::net::TcpStream>>,
    /// The field that an answer has in common with its request.
    id: &'static str,
}

impl Asking {
    fn new(gateway: &Gateway, id: &'static str) -> Self {
        let (socket, _) = tungstenite::connect(&gateway.url).unwrap();
        Self { socket, id }
    }

    fn ask(&mut self, request: &Value) -> Value {
        self.socket
            .send(Message::text(request.to_string()))
            .unwrap();
        loop {
            if let Message::Text(text) = self.socket.read().unwrap() {
                let value: Value = serde_json::from_str(&text).unwrap();
                if value[self.id] == request[self.id] {
                    return value;
                }
            }
        }
    }
}
