//! Files of the Pheby server: uploads and downloads over HTTP, claims by `chat.send`, retention.

use super::super::engine::{HttpAnswer, HttpCall, iso};
use super::super::files::{Content, File};
use super::{Download, Pheby};
use serde_json::{Value, json};

/// Largest upload.
const MAX_UPLOAD: usize = 64 * 1024 * 1024;
/// Files of one message.
const MAX_FILES: usize = 10;

#[derive(Debug)]
pub(super) struct Attachment {
    pub(super) id: String,
    pub(super) conversation: String,
    pub(super) file: File,
    pub(super) direction: &'static str,
    /// The message it hangs on; an upload has none until it is sent.
    pub(super) message: Option<String>,
    pub(super) created: u64,
    pub(super) expires: Option<u64>,
}

impl Attachment {
    fn describe(&self) -> Value {
        let kind = self.file.kind();
        json!({
            "attachment_id": self.id,
            "filename": self.file.name,
            "mime_type": self.file.mime,
            "size": self.file.content.len(),
            "kind": kind,
            "inline_image": kind == "image" && self.file.mime != "image/svg+xml",
            "direction": self.direction,
            "conversation_id": self.conversation,
            "message_id": self.message,
            "created_at": iso(self.created),
            "expires_at": self.expires.map(iso),
            "download_path": format!("/attachments/{}", self.id),
        })
    }
}

impl Pheby {
    /// Takes a file in.
    pub(super) fn register(
        &mut self,
        id: String,
        conversation: &str,
        file: File,
        direction: &'static str,
        message: Option<String>,
        created: u64,
    ) {
        let expires = self.readings.retention.map(|keep| created + keep);
        self.attachments.insert(
            id.clone(),
            Attachment {
                id: id.clone(),
                conversation: conversation.to_owned(),
                file,
                direction,
                message,
                created,
                expires,
            },
        );
    }

    /// What a snapshot lists: sent or offered, and not too old.
    pub(super) fn unexpired(&self, conversation: &str) -> Vec<Value> {
        let wall = self.desk.wall();
        let mut known: Vec<&Attachment> = self
            .attachments
            .values()
            .filter(|a| a.conversation == conversation)
            .filter(|a| a.direction == "outbound" || a.message.is_some())
            .filter(|a| a.expires.is_none_or(|at| at > wall))
            .collect();
        known.sort_by_key(|a| (a.created, a.id.clone()));
        known.into_iter().map(Attachment::describe).collect()
    }

    /// The agent made a file.
    pub(super) fn offer(&mut self, index: usize, file: File) {
        let conversation = self.conversations[index].id.clone();
        let draft = self.current_draft(index);
        let wall = self.desk.wall();
        let id = self.desk.hex(32);
        self.register(id.clone(), &conversation, file, "outbound", draft, wall);
        self.announce(&id);
    }

    fn announce(&mut self, id: &str) {
        let Some(attachment) = self.attachments.get(id) else {
            return;
        };
        let frame = json!({
            "type": "attachment.added",
            "conversation_id": attachment.conversation,
            "attachment": attachment.describe(),
            "ts": self.desk.timestamp(),
        });
        self.broadcast(&frame);
    }

    /// Files on a draft hang on the message of the transcript from now on.
    pub(super) fn anchor(&mut self, draft: &str, message: &str) {
        for attachment in self.attachments.values_mut() {
            if attachment.message.as_deref() == Some(draft) {
                attachment.message = Some(message.to_owned());
            }
        }
    }

    /// The uploads a message names, or why it may not have them.
    pub(super) fn claimable(&self, index: usize, request: &Value) -> Result<Vec<String>, String> {
        let ids = match request.get("attachment_ids") {
            None | Some(Value::Null) => return Ok(Vec::new()),
            Some(Value::Array(ids)) => ids,
            Some(_) => return Err("attachment_ids must be a list".into()),
        };
        if ids.len() > MAX_FILES {
            return Err(format!("At most {MAX_FILES} attachments"));
        }
        let conversation = &self.conversations[index].id;
        let wall = self.desk.wall();
        let mut claimed: Vec<String> = Vec::new();
        for id in ids {
            let id = id.as_str().unwrap_or_default();
            let is_free = self.attachments.get(id).is_some_and(|a| {
                a.direction == "inbound"
                    && a.message.is_none()
                    && &a.conversation == conversation
                    && a.expires.is_none_or(|at| at > wall)
            });
            if !is_free || claimed.iter().any(|known| known == id) {
                return Err("Unknown, used or foreign attachment".into());
            }
            claimed.push(id.to_owned());
        }
        Ok(claimed)
    }

    /// Hangs uploads on a message; names and sizes for the agent.
    pub(super) fn claim(&mut self, ids: &[String], message: &str) -> Vec<(String, u64)> {
        let mut files = Vec::new();
        for id in ids {
            if let Some(attachment) = self.attachments.get_mut(id) {
                attachment.message = Some(message.to_owned());
                files.push((attachment.file.name.clone(), attachment.file.content.len()));
            }
            self.announce(id);
        }
        files
    }

    pub(super) fn http_call(&mut self, call: &HttpCall) -> HttpAnswer {
        let secret = &self.setup.secret;
        let is_known = match (&call.authorization, &call.secret_header) {
            (Some(given), _) => {
                given == &format!("Bearer {secret}") || given == &format!("ApiKey {secret}")
            }
            (None, Some(given)) => given == secret,
            (None, None) => false,
        };
        if !is_known {
            return self.http_error(401, "unauthorized", "Missing or wrong credentials");
        }
        match (call.method.as_str(), call.path.strip_prefix("/attachments")) {
            ("POST", Some("")) => self.upload(call),
            ("GET", Some(rest)) => self.download(rest.trim_start_matches('/')),
            _ => self.http_error(404, "not_found", "Not found"),
        }
    }

    fn http_error(&self, status: u16, code: &str, message: &str) -> HttpAnswer {
        if self.readings.plain_http_errors {
            return HttpAnswer {
                status,
                headers: vec![("content-type".into(), "text/plain".into())],
                body: Content::Bytes(message.to_owned().into()),
                cut_at: None,
            };
        }
        HttpAnswer::json(status, json!({"error": {"code": code, "message": message}}))
    }

    fn upload(&mut self, call: &HttpCall) -> HttpAnswer {
        let query = |name: &str| {
            call.query
                .iter()
                .find(|(key, _)| key == name)
                .map(|(_, value)| value.clone())
        };
        let conversation = query("conversation_id").unwrap_or_default();
        if !self.conversations.iter().any(|c| c.id == conversation) {
            return self.http_error(400, "bad_request", "Bad conversation_id");
        }
        if call.body.is_empty() {
            return self.http_error(400, "bad_request", "Empty body");
        }
        if call.body.len() > MAX_UPLOAD {
            return self.http_error(413, "too_large", "At most 64 MiB");
        }
        let name = query("filename").unwrap_or_else(|| "file".into());
        let name = name.rsplit(['/', '\\']).next().unwrap_or("file").to_owned();
        let mime = call
            .content_type
            .clone()
            .unwrap_or_else(|| "application/octet-stream".into());
        let file = File {
            name,
            mime: mime.split(';').next().unwrap_or(&mime).trim().to_owned(),
            content: Content::Bytes(call.body.clone()),
        };
        let wall = self.desk.wall();
        let id = self.desk.hex(32);
        self.register(id.clone(), &conversation, file, "inbound", None, wall);
        let described = self.attachments.get(&id).map(Attachment::describe);
        HttpAnswer::json(201, json!({"attachment": described}))
    }

    fn download(&mut self, id: &str) -> HttpAnswer {
        let wall = self.desk.wall();
        let found = self
            .attachments
            .get(id)
            .filter(|a| a.expires.is_none_or(|at| at > wall));
        let Some(attachment) = found else {
            return self.http_error(404, "not_found", "Attachment unavailable");
        };
        let name: String = attachment
            .file
            .name
            .chars()
            .map(|c| {
                if c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_') {
                    c
                } else {
                    '_'
                }
            })
            .collect();
        let content = attachment.file.content.clone();
        let (body, cut_at) = match self.readings.download {
            Download::Whole => (content, None),
            Download::Short(at) => (content, Some(at)),
            Download::Corrupt => (Content::Pattern(content.len()), None),
        };
        HttpAnswer {
            status: 200,
            headers: vec![
                ("content-type".into(), attachment.file.mime.clone()),
                (
                    "content-disposition".into(),
                    format!("attachment; filename=\"{name}\""),
                ),
            ],
            body,
            cut_at,
        }
    }
}
