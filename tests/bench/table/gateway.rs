//! A gateway that streams an answer as whole texts so far, 200 a second. It speaks as much of the
//! Iris protocol as that takes, in literal frames.

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::mpsc as std_mpsc;
use std::time::{Duration, Instant};
use tokio::sync::mpsc;
use tokio_tungstenite::tungstenite::Message;
use trialogue::store::fixture;

/// Updates of one answer.
pub const UPDATES: usize = 3_000;
/// Between two of them.
pub const EVERY: Duration = Duration::from_millis(5);
/// What stands in the final text of a message only.
pub fn end(id: &str) -> String {
    format!("The very end of {id}.")
}

/// An answer, cut into the pieces it comes in.
pub struct Answer {
    pub text: String,
    /// As it stands in JSON, without the quotes.
    escaped: String,
    /// Where each piece ends in `escaped`.
    ends: Vec<usize>,
}

impl Answer {
    pub fn new(text: String) -> Self {
        let (mut escaped, mut ends) = (String::new(), Vec::new());
        let mut from = 0;
        for number in 1..=UPDATES {
            let mut to = text.len() * number / UPDATES;
            while !text.is_char_boundary(to) {
                to += 1;
            }
            escaped.push_str(&quoted(&text[from..to]));
            ends.push(escaped.len());
            from = to;
        }
        Self {
            text,
            escaped,
            ends,
        }
    }

    fn update(&self, id: &str, number: usize) -> String {
        frame(
            "message.update",
            id,
            "text",
            &self.escaped[..self.ends[number]],
        )
    }

    fn stop(&self, id: &str) -> String {
        let text = format!("{}{}", self.escaped, quoted(&format!("\n\n{}", end(id))));
        frame("message.stop", id, "final_text", &text)
    }

    /// Every update, as it goes over the wire.
    pub fn frames(&self) -> impl Iterator<Item = String> + '_ {
        (0..UPDATES).map(|number| self.update("a1", number))
    }
}

fn quoted(text: &str) -> String {
    let text = serde_json::to_string(text).expect("a text becomes JSON");
    text[1..text.len() - 1].to_owned()
}

fn frame(kind: &str, id: &str, field: &str, escaped: &str) -> String {
    format!(
        r#"{{"v":1,"type":"{kind}","chat_id":"long","payload":{{"message_id":"{id}","{field}":"{escaped}"}}}}"#
    )
}

/// When what was sent.
pub struct Sent {
    pub began: Instant,
    pub final_text: Instant,
}

/// A gateway on a thread of its own.
pub struct Gateway {
    pub url: String,
    orders: mpsc::Sender<String>,
    sent: std_mpsc::Receiver<Sent>,
}

impl Gateway {
    /// Serves a history of so many messages and streams the answer on demand.
    pub fn start(answer: Arc<Answer>, history: u64) -> Self {
        let (orders, mut wanted) = mpsc::channel::<String>(1);
        let (report, sent) = std_mpsc::channel();
        let (address, bound) = std_mpsc::channel();
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .expect("a runtime");
            runtime.block_on(async move {
                let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
                    .await
                    .expect("a port");
                let _ = address.send(listener.local_addr().expect("an address"));
                while let Ok((stream, _)) = listener.accept().await {
                    let _ = stream.set_nodelay(true);
                    if let Ok(socket) = tokio_tungstenite::accept_async(stream).await {
                        serve(socket, &answer, history, &mut wanted, &report).await;
                    }
                }
            });
        });
        let address = bound.recv().expect("the gateway listens");
        Self {
            url: format!("ws://{address}/gateway"),
            orders,
            sent,
        }
    }

    /// Begins to stream the answer as a message with this id.
    pub fn stream(&self, id: &str) {
        self.orders
            .blocking_send(id.to_owned())
            .expect("the gateway lives");
    }

    /// Waits for the end of the stream.
    pub fn sent(&self) -> Sent {
        self.sent
            .recv_timeout(Duration::from_secs(60))
            .expect("the stream ends")
    }
}

type Socket = tokio_tungstenite::WebSocketStream<tokio::net::TcpStream>;

async fn serve(
    mut socket: Socket,
    answer: &Answer,
    history: u64,
    wanted: &mut mpsc::Receiver<String>,
    report: &std_mpsc::Sender<Sent>,
) {
    let mut ticks = tokio::time::interval(EVERY);
    let mut running: Option<(String, usize, Instant)> = None;
    loop {
        tokio::select! {
            message = socket.next() => match message {
                Some(Ok(Message::Text(text))) => {
                    if let Some(reply) = reply(&text, history)
                        && socket.send(Message::text(reply)).await.is_err()
                    {
                        return;
                    }
                }
                Some(Ok(_)) => {}
                Some(Err(_)) | None => return,
            },
            Some(id) = wanted.recv() => {
                let start = json!({"v": 1, "type": "message.start", "chat_id": "long",
                    "payload": {"message_id": id, "role": "assistant"}});
                if socket.send(Message::text(start.to_string())).await.is_err() {
                    return;
                }
                ticks.reset();
                running = Some((id, 0, Instant::now()));
            }
            _ = ticks.tick(), if running.is_some() => {
                let Some((id, number, began)) = &mut running else { continue };
                if socket.send(Message::text(answer.update(id, *number))).await.is_err() {
                    return;
                }
                *number += 1;
                if *number == UPDATES {
                    let final_text = Instant::now();
                    if socket.send(Message::text(answer.stop(id))).await.is_err() {
                        return;
                    }
                    let _ = report.send(Sent { began: *began, final_text });
                    running = None;
                }
            }
        }
    }
}

fn reply(text: &str, history: u64) -> Option<String> {
    let frame: Value = serde_json::from_str(text).ok()?;
    let kind = frame["type"].as_str()?;
    let answer = |kind: &str, payload: Value| {
        json!({"v": 1, "id": frame["id"], "type": kind, "chat_id": frame["chat_id"], "payload": payload})
            .to_string()
    };
    Some(match kind {
        "hello" => {
            let channels: Vec<Value> = [
                "long",
                "home",
                "research",
                "build log",
                "deploys",
                "mail",
                "notes",
                "garden",
                "taxes",
                "music",
            ]
            .iter()
            .map(|name| {
                json!({"chat_id": name, "name": name, "kind": "channel",
                        "parent_chat_id": null, "is_default": *name == "long", "archived": false})
            })
            .collect();
            answer(
                "hello.ack",
                json!({"server_caps": {"streaming": true}, "sync_cursor": 7,
                    "last_pushed_cursor": 7, "channels": channels}),
            )
        }
        "sync" => answer("sync.done", json!({"cursor": 7})),
        "commands.catalog" => answer("commands.catalog", json!({"commands": []})),
        "ping" => json!({"v": 1, "type": "pong", "payload": frame["payload"]}).to_string(),
        "history" => {
            let is_first = frame["payload"]["before_message_id"].is_null();
            let messages: Vec<Value> = (history.saturating_sub(100) + 1..=history)
                .filter(|_| is_first)
                .map(|number| {
                    let entry = fixture::entry(number);
                    let message = entry.message().expect("a message");
                    let role = if number % 2 == 1 { "user" } else { "assistant" };
                    json!({"message_id": format!("m{number}"), "role": role,
                        "text": message.body.raw(), "ts": message.sent_at_ms})
                })
                .collect();
            answer(
                "history",
                json!({"messages": messages, "has_more": is_first}),
            )
        }
        _ => return None,
    })
}
