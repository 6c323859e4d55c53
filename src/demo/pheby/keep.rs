//! What the Pheby server has on its disk: conversations with their transcripts and settings, files,
//! and what holds for all conversations. Runs, approvals and questions are only in memory.

use super::super::agent::todo_json;
use super::super::engine::Kept;
use super::super::files::{Content, File};
use super::super::scenario::TodoItem;
use super::Pheby;
use super::attachments::Attachment;
use super::conversations::{Conversation, Stored};
use serde_json::{Value, json};
use std::hash::{DefaultHasher, Hash, Hasher};

impl Pheby {
    /// Another number whenever something on the disk would change.
    pub(super) fn fingerprint(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        for conversation in &self.conversations {
            conversation.id.hash(&mut hasher);
            conversation.name.hash(&mut hasher);
            conversation.session_id.hash(&mut hasher);
            conversation.last_active.hash(&mut hasher);
            // Messages are only added.
            conversation.messages.len().hash(&mut hasher);
            conversation.model.hash(&mut hasher);
            conversation.effort.hash(&mut hasher);
            conversation.is_yolo.hash(&mut hasher);
            conversation.approved.hash(&mut hasher);
            for item in &conversation.todo {
                (&item.id, &item.content, &item.status).hash(&mut hasher);
            }
        }
        for attachment in self.attachments.values() {
            (&attachment.id, &attachment.message).hash(&mut hasher);
        }
        self.models.chosen().hash(&mut hasher);
        hasher.finish()
    }

    /// Everything on the disk.
    pub(super) fn on_disk(&self) -> Kept {
        let conversations: Vec<Value> = self.conversations.iter().map(written).collect();
        let mut files = Vec::new();
        let attachments: Vec<Value> = self
            .attachments
            .values()
            .map(|attachment| {
                let content = match &attachment.file.content {
                    Content::Pattern(size) => json!({"pattern": size}),
                    Content::Bytes(_) if is_sample(&attachment.file) => json!("sample"),
                    Content::Bytes(bytes) => {
                        files.push((attachment.id.clone(), bytes.clone()));
                        json!("file")
                    }
                };
                json!({
                    "id": attachment.id,
                    "conversation": attachment.conversation,
                    "name": attachment.file.name,
                    "mime": attachment.file.mime,
                    "content": content,
                    "direction": attachment.direction,
                    "message": attachment.message,
                    "created": attachment.created,
                    "expires": attachment.expires,
                })
            })
            .collect();
        let (provider, model, effort) = self.models.chosen();
        Kept {
            book: json!({
                "conversations": conversations,
                "attachments": attachments,
                "models": {"provider": provider, "model": model, "effort": effort},
            }),
            files,
        }
    }

    /// Takes the place of what the server starts with. The error says what cannot be read.
    pub(super) fn take_from_disk(&mut self, kept: &Kept) -> Result<(), String> {
        let rows = |name: &str| {
            kept.book[name]
                .as_array()
                .ok_or_else(|| format!("no list of {name}"))
        };
        let conversations: Option<Vec<Conversation>> =
            rows("conversations")?.iter().map(read).collect();
        let attachments: Option<Vec<Attachment>> = rows("attachments")?
            .iter()
            .map(|row| read_attachment(row, kept))
            .collect();
        self.conversations = conversations.ok_or("a conversation is not complete")?;
        self.attachments = attachments
            .ok_or("an attachment is not complete")?
            .into_iter()
            .map(|attachment| (attachment.id.clone(), attachment))
            .collect();
        let models = &kept.book["models"];
        if let (Some(provider), Some(model)) = (text(models, "provider"), text(models, "model")) {
            self.models
                .choose(&provider, &model, text(models, "effort"));
        }
        Ok(())
    }
}

fn is_sample(file: &File) -> bool {
    File::sample(&file.name).is_some_and(|sample| sample.content == file.content)
}

fn text(row: &Value, name: &str) -> Option<String> {
    row[name].as_str().map(str::to_owned)
}

fn written(conversation: &Conversation) -> Value {
    let messages: Vec<Value> = conversation
        .messages
        .iter()
        .map(|message| {
            json!({
                "id": message.id,
                "role": message.role,
                "text": message.text,
                "wall": message.wall,
            })
        })
        .collect();
    json!({
        "id": conversation.id,
        "name": conversation.name,
        "session": conversation.session_id,
        "last_active": conversation.last_active,
        "messages": messages,
        "model": conversation.model,
        "has_effort": conversation.effort.is_some(),
        "effort": conversation.effort.clone().flatten(),
        "is_yolo": conversation.is_yolo,
        "approved": conversation.approved,
        "todo": conversation.todo.iter().map(todo_json).collect::<Vec<_>>(),
    })
}

fn read(row: &Value) -> Option<Conversation> {
    let mut conversation = Conversation::new(text(row, "id")?, row["name"].as_str()?);
    conversation.session_id = text(row, "session");
    for message in row["messages"].as_array()? {
        conversation.messages.push(Stored {
            id: text(message, "id")?,
            role: match message["role"].as_str()? {
                "user" => "user",
                _ => "assistant",
            },
            text: text(message, "text")?,
            wall: message["wall"].as_u64()?,
        });
    }
    conversation.last_active = row["last_active"].as_u64();
    conversation.model = match &row["model"] {
        Value::Array(pair) => Some((
            pair.first()?.as_str()?.to_owned(),
            pair.get(1)?.as_str()?.to_owned(),
        )),
        _ => None,
    };
    conversation.effort = (row["has_effort"] == true).then(|| text(row, "effort"));
    conversation.is_yolo = row["is_yolo"] == true;
    for kind in row["approved"].as_array()? {
        conversation.approved.push(kind.as_str()?.to_owned());
    }
    for item in row["todo"].as_array()? {
        conversation.todo.push(TodoItem {
            id: text(item, "id")?,
            content: text(item, "content"),
            status: text(item, "status")?,
        });
    }
    Some(conversation)
}

fn read_attachment(row: &Value, kept: &Kept) -> Option<Attachment> {
    let (id, name) = (text(row, "id")?, text(row, "name")?);
    let content = match &row["content"] {
        Value::String(how) if how == "sample" => File::sample(&name)?.content,
        Value::String(_) => {
            let (_, bytes) = kept.files.iter().find(|(known, _)| *known == id)?;
            Content::Bytes(bytes.clone())
        }
        other => Content::Pattern(other["pattern"].as_u64()?),
    };
    Some(Attachment {
        id,
        conversation: text(row, "conversation")?,
        file: File {
            name,
            mime: text(row, "mime")?,
            content,
        },
        direction: match row["direction"].as_str()? {
            "inbound" => "inbound",
            _ => "outbound",
        },
        message: text(row, "message"),
        created: row["created"].as_u64()?,
        expires: row["expires"].as_u64(),
    })
}
