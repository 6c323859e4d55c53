//! Files of the Iris gateway: offers, pulls and uploads over binary frames.

use super::super::engine::{ConnectionId, GatewayOutput};
use super::super::files::{Content, File, sha256_hex};
use super::{Address, Asker, BytesLayout, Iris, PullFault};
use crate::link::Frame;
use serde_json::{Value, json};

/// Bytes in one binary frame of a pull.
const PIECE: usize = 128 * 1024;

/// A file the gateway has.
#[derive(Debug)]
pub(super) struct Stored {
    file: File,
}

/// A pull that waits or runs.
#[derive(Debug)]
pub(super) struct Pull {
    id: Value,
    media_id: String,
    content: Content,
    /// Bytes sent so far; none before the first.
    at: u64,
    end: u64,
    is_ok: bool,
    due: u64,
}

/// An upload that runs.
#[derive(Debug)]
pub(super) struct Upload {
    media_ref: String,
    mime: String,
    filename: String,
    size: u64,
    bytes: Vec<u8>,
}

/// Files as frames describe them, and as the agent sees them.
pub(super) type Claimed = (Vec<Value>, Vec<(String, u64)>);

fn media_ref(id: &str, file: &File) -> Value {
    json!({
        "media_id": id,
        "kind": file.kind(),
        "mime": file.mime,
        "size": file.content.len(),
        "filename": file.name,
    })
}

impl Iris {
    /// Takes a file in and describes it.
    pub(super) fn keep(&mut self, id: String, file: File) -> Value {
        let described = media_ref(&id, &file);
        self.media.insert(id, Stored { file });
        described
    }

    /// The agent made a file.
    pub(super) fn offer(&mut self, address: &Address, file: File, message: Option<&str>) {
        let id = format!("m_{}", self.desk.hex(16));
        let mut described = self.keep(id, file);
        if let Some(message) = message {
            described["message_id"] = json!(message);
            if let Some(logged) = self.log.iter_mut().find(|logged| logged.id == message) {
                let mut plain = described.clone();
                if let Some(fields) = plain.as_object_mut() {
                    fields.remove("message_id");
                }
                logged.media.push(plain);
            }
        }
        self.publish(Some(address), "media.offer", described, None);
    }

    /// Files a message names; names and sizes for the agent. None if one is unknown.
    pub(super) fn claim(&self, refs: &[String]) -> Option<Claimed> {
        let mut described = Vec::new();
        let mut files = Vec::new();
        for id in refs {
            let stored = self.media.get(id)?;
            described.push(media_ref(id, &stored.file));
            files.push((stored.file.name.clone(), stored.file.content.len()));
        }
        Some((described, files))
    }

    pub(super) fn media_request(&mut self, asker: &Asker, kind: &str, payload: &Value) {
        match kind {
            "media.pull" => self.pull(asker, payload),
            "media.upload.start" => self.start_upload(asker, payload),
            "media.upload.end" => self.end_upload(asker, payload),
            _ => self.error(asker, "unsupported", &format!("Unknown frame type {kind}")),
        }
    }

    fn pull(&mut self, asker: &Asker, payload: &Value) {
        let id = payload
            .get("media_id")
            .and_then(Value::as_str)
            .unwrap_or("");
        let Some(stored) = self.media.get(id) else {
            if self.readings.unknown_media_is_error {
                return self.error(asker, "not_found", "No such media");
            }
            return self.answer(asker, None, "media.pull.end", json!({"ok": false}));
        };
        let size = stored.file.content.len();
        let (content, end, is_ok) = match self.readings.pull {
            PullFault::None => (stored.file.content.clone(), size, true),
            PullFault::Short => (stored.file.content.clone(), size / 2, true),
            PullFault::Failed => (stored.file.content.clone(), size / 2, false),
            PullFault::Corrupt => (Content::Pattern(size), size, true),
        };
        let pull = Pull {
            id: asker.id.clone(),
            media_id: id.to_owned(),
            content,
            at: 0,
            end,
            is_ok,
            due: self.desk.now,
        };
        if let Some(client) = self.clients.get_mut(&asker.connection) {
            client.pulls.push_back(pull);
        }
    }

    pub(super) fn next_pull(&self) -> Option<(u64, ConnectionId)> {
        self.clients
            .iter()
            .filter_map(|(id, client)| Some((client.pulls.front()?.due, *id)))
            .min()
    }

    /// Pulls that could not go on in this call go on in the next one.
    pub(super) fn delay_pulls(&mut self) {
        let now = self.desk.now;
        for client in self.clients.values_mut() {
            if let Some(pull) = client.pulls.front_mut() {
                pull.due = pull.due.max(now + 1);
            }
        }
    }

    /// Sends the next piece of the pull at the head of a connection's line.
    pub(super) fn step_pull(&mut self, connection: ConnectionId) {
        let now = self.desk.now;
        let layout = self.readings.bytes;
        let offers = self.readings.offers_before_bytes;
        let Some(pull) = self
            .clients
            .get_mut(&connection)
            .and_then(|client| client.pulls.front_mut())
        else {
            return;
        };
        let id = pull.id.clone();
        if pull.at == 0 && offers {
            let media_id = pull.media_id.clone();
            if let Some(stored) = self.media.get(&media_id) {
                let described = media_ref(&media_id, &stored.file);
                let mut frame = self.envelope(None, "media.offer", described);
                frame["id"] = id.clone();
                self.send(connection, &frame);
            }
        }
        let Some(pull) = self
            .clients
            .get_mut(&connection)
            .and_then(|client| client.pulls.front_mut())
        else {
            return;
        };
        let piece = PIECE.min((pull.end - pull.at) as usize);
        if piece > 0 {
            let mut bytes = match layout {
                BytesLayout::Bare => Vec::new(),
                BytesLayout::RequestId => (id.as_u64().unwrap_or(0) as u32).to_be_bytes().to_vec(),
                BytesLayout::MediaId => {
                    let mut head = vec![pull.media_id.len() as u8];
                    head.extend(pull.media_id.bytes());
                    head
                }
                BytesLayout::JsonLine => {
                    format!("{{\"media_id\":\"{}\"}}\n", pull.media_id).into_bytes()
                }
            };
            bytes.extend_from_slice(&pull.content.read(pull.at, piece));
            pull.at += piece as u64;
            pull.due = now + 1;
            self.desk.out.push(GatewayOutput::Send {
                connection,
                frame: Frame::Binary(bytes.into()),
            });
            return;
        }
        let is_ok = pull.is_ok;
        if let Some(client) = self.clients.get_mut(&connection) {
            client.pulls.pop_front();
            if let Some(next) = client.pulls.front_mut() {
                next.due = now;
            }
        }
        let asker = Asker { connection, id };
        self.answer(&asker, None, "media.pull.end", json!({"ok": is_ok}));
    }

    fn start_upload(&mut self, asker: &Asker, payload: &Value) {
        let text = |key: &str| {
            payload
                .get(key)
                .and_then(Value::as_str)
                .unwrap_or("")
                .to_owned()
        };
        let size = payload.get("size").and_then(Value::as_u64).unwrap_or(0);
        let media_ref = text("media_ref");
        if media_ref.is_empty() {
            return self.error(asker, "unsupported", "media_ref is needed");
        }
        if size > self.readings.max_upload {
            let message = format!("At most {} bytes", self.readings.max_upload);
            return self.error(asker, "media_too_large", &message);
        }
        let upload = Upload {
            media_ref,
            mime: text("mime"),
            filename: text("filename"),
            size,
            bytes: Vec::new(),
        };
        if let Some(client) = self.clients.get_mut(&asker.connection) {
            client.uploads.push(upload);
        }
    }

    /// Bytes belong to the upload started last.
    pub(super) fn upload_bytes(&mut self, connection: ConnectionId, bytes: &[u8]) {
        if let Some(upload) = self
            .clients
            .get_mut(&connection)
            .and_then(|client| client.uploads.last_mut())
        {
            // What goes beyond the announced size can only end badly; it needs no place.
            let room = (upload.size as usize + 1).saturating_sub(upload.bytes.len());
            upload
                .bytes
                .extend_from_slice(&bytes[..bytes.len().min(room)]);
        }
    }

    fn end_upload(&mut self, asker: &Asker, payload: &Value) {
        let media_ref = payload
            .get("media_ref")
            .and_then(Value::as_str)
            .unwrap_or("")
            .to_owned();
        let found = self.clients.get_mut(&asker.connection).and_then(|client| {
            let place = client
                .uploads
                .iter()
                .position(|upload| upload.media_ref == media_ref)?;
            Some(client.uploads.remove(place))
        });
        let refused = json!({"ok": false, "media_ref": media_ref});
        let Some(upload) = found else {
            return self.answer(asker, None, "media.upload.ack", refused);
        };
        let sha256 = payload.get("sha256").and_then(Value::as_str).unwrap_or("");
        let is_whole = upload.bytes.len() as u64 == upload.size
            && sha256_hex(&upload.bytes).eq_ignore_ascii_case(sha256);
        if !is_whole {
            if self.readings.bad_hash_is_ack {
                return self.answer(asker, None, "media.upload.ack", refused);
            }
            return self.error(asker, "internal", "Size or hash does not match");
        }
        let id = if self.readings.renames_refs {
            format!("m_{}", self.desk.hex(16))
        } else {
            media_ref
        };
        let name = upload.filename.rsplit(['/', '\\']).next().unwrap_or("file");
        let file = File {
            name: name.to_owned(),
            mime: upload.mime,
            content: Content::Bytes(upload.bytes.into()),
        };
        self.keep(id.clone(), file);
        let acknowledged = json!({"ok": true, "media_ref": id});
        self.answer(asker, None, "media.upload.ack", acknowledged);
    }
}
