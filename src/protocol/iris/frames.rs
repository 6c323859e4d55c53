//! The frames of the Iris wire protocol, version 1, in the order and spelling of its schema
//! (`iris.schema.json`). Reading is tolerant: a missing or misshapen field falls back, because the
//! parts decide what they need. Must not decide anything.

use crate::protocol::decode::{Oddity, list, object, optional_text, payload, soft, text, texts};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The version this driver speaks.
pub(super) const VERSION: u64 = 1;

/// What the client sends.
#[derive(Serialize)]
pub(super) struct Outgoing<'a> {
    pub(super) v: u64,
    pub(super) id: u64,
    #[serde(rename = "type")]
    pub(super) name: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) chat_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) thread_id: Option<&'a str>,
    pub(super) payload: Request<'a>,
}

/// App → server payloads.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Request<'a> {
    Hello {
        token: &'a str,
        device_id: &'a str,
        device_name: &'a str,
        caps: Caps,
    },
    MessageSend {
        text: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        reply_to: Option<&'a str>,
        #[serde(skip_serializing_if = "<[&str]>::is_empty")]
        media_refs: &'a [&'a str],
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        auto_thread: bool,
    },
    MediaUploadStart {
        media_ref: &'a str,
        kind: &'a str,
        mime: &'a str,
        size: u64,
        filename: &'a str,
    },
    MediaUploadEnd {
        media_ref: &'a str,
        sha256: &'a str,
    },
    MediaPull {
        media_id: &'a str,
    },
    ChannelCreate {
        name: &'a str,
        kind: &'a str,
        parent_chat_id: Option<&'a str>,
    },
    ChannelRename {
        name: &'a str,
    },
    /// `channel.favorite` and `channel.set_automation`.
    Switch {
        on: bool,
    },
    /// Both are always sent: an absent field clears what it names.
    ChannelIcon {
        icon: Option<&'a str>,
        color: Option<&'a str>,
    },
    /// `channel.set_default`, `channel.delete`, `channel.list` and `commands.catalog`.
    Empty {},
    Search {
        query: &'a str,
        scope: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        chat_id: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        thread_id: Option<&'a str>,
        limit: usize,
    },
    Sync {
        cursor: i64,
    },
    History {
        #[serde(skip_serializing_if = "Option::is_none")]
        before_message_id: Option<&'a str>,
        limit: u32,
    },
    MessageDelete {
        message_ids: &'a [&'a str],
    },
    PickerSelect {
        picker_id: &'a str,
        value: &'a str,
    },
    Ping {
        ts: i64,
    },
}

#[derive(Serialize)]
pub(super) struct Caps {
    pub(super) min_protocol: u64,
    pub(super) media: bool,
    pub(super) push: &'static str,
}

/// One frame of the server.
#[derive(Debug)]
pub(super) struct Incoming {
    pub(super) id: Option<u64>,
    pub(super) chat_id: Option<String>,
    pub(super) thread_id: Option<String>,
    /// Only on frames that sync replays.
    pub(super) cursor: Option<i64>,
    pub(super) event: Event,
}

/// Server → app.
#[derive(Debug)]
pub(super) enum Event {
    HelloAck(Box<HelloAck>),
    Message(Box<Message>),
    MessageStart(MessageStart),
    MessageUpdate(MessageUpdate),
    MessageStop(Box<MessageStop>),
    MessageDeleted(MessageIds),
    Commentary(MessageUpdate),
    ToolStart(ToolStart),
    ToolProgress(ToolProgress),
    ToolEnd(ToolEnd),
    TodoUpdate(TodoUpdate),
    Typing {
        on: bool,
    },
    Notification(Notification),
    ChannelList(ChannelList),
    /// `channel.created` and `channel.renamed`.
    Channel(Box<Channel>),
    ChannelDeleted {
        chat_id: String,
    },
    SearchResults(SearchResults),
    MediaOffer(MediaRef),
    ReadReceipt(MessageId),
    Status {
        state: String,
    },
    Error(ErrorBody),
    Pong,
    SyncDone {
        cursor: Option<i64>,
    },
    History(Box<History>),
    MediaPullEnd {
        ok: bool,
    },
    MediaUploadAck(UploadAck),
    CommandsCatalog(Catalog),
    /// `picker.choice`, and the planned pickers where a gateway sends them already.
    Picker(Picker),
    /// Planned, and nothing to do.
    Planned,
    Unknown(String),
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct HelloAck {
    #[serde(deserialize_with = "soft")]
    pub(super) server_caps: ServerCaps,
    #[serde(deserialize_with = "soft")]
    pub(super) last_pushed_cursor: i64,
    #[serde(deserialize_with = "list")]
    pub(super) channels: Vec<Channel>,
    #[serde(deserialize_with = "text")]
    pub(super) server_version: String,
}

/// What is missing counts as there: only false takes a function away.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ServerCaps {
    #[serde(deserialize_with = "soft")]
    pub(super) reasoning: Option<bool>,
    #[serde(deserialize_with = "soft")]
    pub(super) media: Option<bool>,
    #[serde(deserialize_with = "soft")]
    pub(super) search: Option<bool>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Channel {
    #[serde(deserialize_with = "text")]
    pub(super) chat_id: String,
    #[serde(deserialize_with = "text")]
    pub(super) name: String,
    #[serde(deserialize_with = "text")]
    pub(super) kind: String,
    #[serde(deserialize_with = "optional_text")]
    pub(super) parent_chat_id: Option<String>,
    #[serde(deserialize_with = "soft")]
    pub(super) is_default: Option<bool>,
    #[serde(deserialize_with = "soft")]
    pub(super) archived: bool,
    #[serde(deserialize_with = "soft")]
    pub(super) auto: bool,
    #[serde(deserialize_with = "soft")]
    pub(super) favorite: bool,
    #[serde(deserialize_with = "optional_text")]
    pub(super) icon: Option<String>,
    #[serde(deserialize_with = "optional_text")]
    pub(super) color: Option<String>,
    #[serde(deserialize_with = "soft")]
    pub(super) automation: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ChannelList {
    #[serde(deserialize_with = "list")]
    pub(super) channels: Vec<Channel>,
}

/// `message`, and an entry of `history`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Message {
    #[serde(deserialize_with = "text")]
    pub(super) message_id: String,
    #[serde(deserialize_with = "text")]
    pub(super) role: String,
    #[serde(deserialize_with = "text")]
    pub(super) text: String,
    #[serde(deserialize_with = "optional_text")]
    pub(super) reasoning: Option<String>,
    #[serde(deserialize_with = "list")]
    pub(super) media: Vec<MediaRef>,
    #[serde(deserialize_with = "optional_text")]
    pub(super) reply_to: Option<String>,
    #[serde(deserialize_with = "optional_text")]
    pub(super) model: Option<String>,
    #[serde(deserialize_with = "soft")]
    pub(super) tokens: Option<u64>,
    #[serde(deserialize_with = "soft")]
    pub(super) runtime: Runtime,
    #[serde(deserialize_with = "soft")]
    pub(super) ts: Option<i64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct MessageStop {
    #[serde(deserialize_with = "text")]
    pub(super) message_id: String,
    #[serde(deserialize_with = "text")]
    pub(super) final_text: String,
    #[serde(deserialize_with = "optional_text")]
    pub(super) reasoning: Option<String>,
    #[serde(deserialize_with = "optional_text")]
    pub(super) model: Option<String>,
    #[serde(deserialize_with = "soft")]
    pub(super) tokens: Option<u64>,
    #[serde(deserialize_with = "soft")]
    pub(super) runtime: Runtime,
    #[serde(deserialize_with = "soft")]
    pub(super) ts: Option<i64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Runtime {
    #[serde(deserialize_with = "optional_text")]
    pub(super) model: Option<String>,
    #[serde(deserialize_with = "soft")]
    pub(super) context_pct: Option<f64>,
    #[serde(deserialize_with = "optional_text")]
    pub(super) cwd: Option<String>,
    #[serde(deserialize_with = "soft")]
    pub(super) latency: Option<f64>,
    #[serde(deserialize_with = "soft")]
    pub(super) cost: Option<f64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct MessageId {
    #[serde(deserialize_with = "text")]
    pub(super) message_id: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct MessageStart {
    #[serde(deserialize_with = "text")]
    pub(super) message_id: String,
    #[serde(deserialize_with = "text")]
    pub(super) role: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct MessageIds {
    #[serde(deserialize_with = "texts")]
    pub(super) message_ids: Vec<String>,
}

/// `message.update` and `commentary`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct MessageUpdate {
    #[serde(deserialize_with = "text")]
    pub(super) message_id: String,
    #[serde(deserialize_with = "text")]
    pub(super) text: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ToolStart {
    #[serde(deserialize_with = "soft")]
    pub(super) index: i64,
    #[serde(deserialize_with = "text")]
    pub(super) name: String,
    #[serde(deserialize_with = "text")]
    pub(super) preview: String,
    #[serde(deserialize_with = "soft")]
    pub(super) args: Map<String, Value>,
    #[serde(deserialize_with = "text")]
    pub(super) emoji: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ToolProgress {
    #[serde(deserialize_with = "soft")]
    pub(super) index: i64,
    #[serde(deserialize_with = "text")]
    pub(super) name: String,
    #[serde(deserialize_with = "text")]
    pub(super) note: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ToolEnd {
    #[serde(deserialize_with = "soft")]
    pub(super) index: i64,
    #[serde(deserialize_with = "text")]
    pub(super) name: String,
    #[serde(deserialize_with = "soft")]
    pub(super) ok: Option<bool>,
    /// Seconds.
    #[serde(deserialize_with = "soft")]
    pub(super) duration: Option<f64>,
    #[serde(deserialize_with = "text")]
    pub(super) output_preview: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct TodoUpdate {
    #[serde(deserialize_with = "soft")]
    pub(super) todos: Vec<Value>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Notification {
    #[serde(deserialize_with = "text")]
    pub(super) kind: String,
    #[serde(deserialize_with = "text")]
    pub(super) title: String,
    #[serde(deserialize_with = "text")]
    pub(super) body: String,
    #[serde(deserialize_with = "soft")]
    pub(super) ts: Option<i64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct SearchResults {
    #[serde(deserialize_with = "text")]
    pub(super) query: String,
    #[serde(deserialize_with = "list")]
    pub(super) hits: Vec<Hit>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Hit {
    #[serde(deserialize_with = "text")]
    pub(super) message_id: String,
    #[serde(deserialize_with = "optional_text")]
    pub(super) chat_id: Option<String>,
    #[serde(deserialize_with = "optional_text")]
    pub(super) thread_id: Option<String>,
    #[serde(deserialize_with = "text")]
    pub(super) role: String,
    #[serde(deserialize_with = "text")]
    pub(super) snippet: String,
    #[serde(deserialize_with = "soft")]
    pub(super) ts: Option<i64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct MediaRef {
    #[serde(deserialize_with = "text")]
    pub(super) media_id: String,
    #[serde(deserialize_with = "text")]
    pub(super) kind: String,
    #[serde(deserialize_with = "text")]
    pub(super) mime: String,
    #[serde(deserialize_with = "soft")]
    pub(super) size: Option<u64>,
    #[serde(deserialize_with = "text")]
    pub(super) filename: String,
    #[serde(deserialize_with = "optional_text")]
    pub(super) message_id: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ErrorBody {
    #[serde(deserialize_with = "text")]
    pub(super) code: String,
    #[serde(deserialize_with = "text")]
    pub(super) message: String,
    /// It has the form in which a Pheby server says no.
    #[serde(skip)]
    pub(super) is_of_pheby: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct History {
    #[serde(deserialize_with = "list")]
    pub(super) messages: Vec<Message>,
    #[serde(deserialize_with = "soft")]
    pub(super) has_more: bool,
    #[serde(deserialize_with = "optional_text")]
    pub(super) oldest_message_id: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct UploadAck {
    #[serde(deserialize_with = "soft")]
    pub(super) ok: bool,
    #[serde(deserialize_with = "optional_text")]
    pub(super) media_ref: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Catalog {
    #[serde(deserialize_with = "list")]
    pub(super) commands: Vec<CatalogEntry>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct CatalogEntry {
    #[serde(deserialize_with = "text")]
    pub(super) name: String,
    #[serde(deserialize_with = "text")]
    pub(super) description: String,
    #[serde(deserialize_with = "text")]
    pub(super) args_hint: String,
    #[serde(deserialize_with = "text")]
    pub(super) category: String,
    #[serde(deserialize_with = "texts")]
    pub(super) aliases: Vec<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Picker {
    #[serde(deserialize_with = "text")]
    pub(super) picker_id: String,
    #[serde(deserialize_with = "text")]
    pub(super) title: String,
    #[serde(deserialize_with = "list")]
    pub(super) choices: Vec<PickerChoice>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct PickerChoice {
    #[serde(deserialize_with = "text")]
    pub(super) value: String,
    #[serde(deserialize_with = "text")]
    pub(super) label: String,
    #[serde(deserialize_with = "soft")]
    pub(super) is_current: bool,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Fields {
    #[serde(deserialize_with = "soft")]
    on: bool,
    #[serde(deserialize_with = "soft")]
    ok: bool,
    #[serde(deserialize_with = "text")]
    state: String,
    #[serde(deserialize_with = "text")]
    chat_id: String,
    #[serde(deserialize_with = "soft")]
    cursor: Option<i64>,
}

/// Reads one frame.
/// Pheby has no payload: what is wrong stands beside the type.
fn has_error_of_pheby(map: &Map<String, Value>) -> bool {
    !map.contains_key("v") && (map.contains_key("code") || map.contains_key("error"))
}

pub(super) fn decode(frame: &str) -> Result<Incoming, Oddity> {
    let mut map = object(frame)?;
    let Some(Value::String(name)) = map.remove("type") else {
        return Err(Oddity::new("a frame without a type"));
    };
    let word = |map: &Map<String, Value>, key: &str| match map.get(key) {
        Some(Value::String(text)) if !text.is_empty() => Some(text.clone()),
        Some(Value::Number(number)) => Some(number.to_string()),
        _ => None,
    };
    let id = match map.get("id") {
        Some(Value::Number(number)) => number.as_u64(),
        Some(Value::String(text)) => text.parse().ok(),
        _ => None,
    };
    let cursor = map.get("cursor").and_then(Value::as_i64);
    let (chat_id, thread_id) = (word(&map, "chat_id"), word(&map, "thread_id"));
    let body = match map.remove("payload") {
        Some(Value::Object(body)) => body,
        _ => Map::new(),
    };
    let what = name.as_str();
    let fields = |body: Map<String, Value>| payload::<Fields>(what, body);
    let event = match what {
        "hello.ack" => Event::HelloAck(Box::new(payload(what, body)?)),
        "message" => Event::Message(Box::new(payload(what, body)?)),
        "message.start" => Event::MessageStart(payload(what, body)?),
        // A text that cannot be read must not open a message that nobody will end.
        "message.update"
            if body.contains_key("message_id")
                && !body.get("text").is_some_and(Value::is_string) =>
        {
            return Err(Oddity::new("message.update without a text"));
        }
        "message.update" => Event::MessageUpdate(payload(what, body)?),
        "message.stop" => Event::MessageStop(Box::new(payload(what, body)?)),
        "message.deleted" => Event::MessageDeleted(payload(what, body)?),
        "commentary" => Event::Commentary(payload(what, body)?),
        "tool.start" => Event::ToolStart(payload(what, body)?),
        "tool.progress" => Event::ToolProgress(payload(what, body)?),
        "tool.end" => Event::ToolEnd(payload(what, body)?),
        "todo.update" => Event::TodoUpdate(payload(what, body)?),
        "typing" => Event::Typing {
            on: fields(body)?.on,
        },
        "agent.busy" => Event::Typing { on: true },
        "agent.idle" => Event::Typing { on: false },
        "notification" => Event::Notification(payload(what, body)?),
        "channel.list" => Event::ChannelList(payload(what, body)?),
        "channel.created" | "channel.renamed" => Event::Channel(Box::new(payload(what, body)?)),
        "channel.deleted" => Event::ChannelDeleted {
            chat_id: fields(body)?.chat_id,
        },
        "search.results" => Event::SearchResults(payload(what, body)?),
        "media.offer" => Event::MediaOffer(payload(what, body)?),
        "read.receipt" => Event::ReadReceipt(payload(what, body)?),
        "status" => Event::Status {
            state: fields(body)?.state,
        },
        "error" if body.is_empty() && has_error_of_pheby(&map) => Event::Error(ErrorBody {
            is_of_pheby: true,
            ..ErrorBody::default()
        }),
        "error" => Event::Error(payload(what, body)?),
        "pong" => Event::Pong,
        "sync.done" => Event::SyncDone {
            cursor: fields(body)?.cursor,
        },
        "history" => Event::History(Box::new(payload(what, body)?)),
        "media.pull.end" => Event::MediaPullEnd {
            ok: fields(body)?.ok,
        },
        "media.upload.ack" => Event::MediaUploadAck(payload(what, body)?),
        "commands.catalog" => Event::CommandsCatalog(payload(what, body)?),
        "commands.complete" => Event::Planned,
        "picker.choice" => Event::Picker(payload(what, body)?),
        _ if what.starts_with("picker.") && body.contains_key("picker_id") => {
            Event::Picker(payload(what, body)?)
        }
        "picker.model" | "picker.clarify" | "picker.approval" | "picker.confirm" => Event::Planned,
        _ => Event::Unknown(name),
    };
    Ok(Incoming {
        id,
        chat_id,
        thread_id,
        cursor,
        event,
    })
}
