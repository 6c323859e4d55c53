//! Files in both directions over HTTP (spec section "Attachments"; readings P21, P25, P26, P28).
//! Requests are described and done by the shell, which adds the secret; bytes never come here.

use super::Pheby;
use super::frames::{self, AttachmentAdded, Uploaded};
use super::refusals::{self, FILE_LIMIT, FRAME_LIMIT, TEXT_LIMIT, UPLOAD_LIMIT};
use crate::domain::{
    Attachment, AttachmentEvent, AttachmentId, AttachmentKind, AttachmentSource, AttachmentState,
    CommandId, CommandOutcome, ConversationId, Direction, Moment, OutgoingFile, RefusalCode,
    RemoteId, Reply, TimelineEvent, Topic, TransferId,
};
use crate::link::{HttpBody, HttpMethod, HttpReply, HttpRequest, HttpSink};
use crate::protocol::decode::instant;
use crate::protocol::{Output, TransferFailure};
use crate::text::{SafeText, size_words};
use std::collections::{BTreeMap, VecDeque};

/// The most that is taken of a file whose size the server does not say.
const UNKNOWN_SIZE_LIMIT: u64 = 1024 * 1024 * 1024;
/// Bytes of a reply that are read.
const REPLY_LIMIT: usize = 64 * 1024;
/// Files whose message is remembered until the server names it.
const SENT_LIMIT: usize = 64;

/// A message whose files are on their way.
#[derive(Debug)]
struct Outgoing {
    command: CommandId,
    conversation: ConversationId,
    text: String,
    files: Vec<OutgoingFile>,
}

/// A file on its way to us.
#[derive(Debug)]
struct Fetch {
    command: CommandId,
    attachment: AttachmentId,
    size: Option<u64>,
}

/// Transfers, and files that were sent.
#[derive(Debug, Default)]
pub(super) struct Files {
    /// By the transfer that runs.
    uploads: BTreeMap<TransferId, Outgoing>,
    fetches: BTreeMap<TransferId, Fetch>,
    /// Files of our own messages, whose ids the server names with the files only.
    sent: VecDeque<(AttachmentId, CommandId)>,
}

impl Pheby {
    /// Sends a message, its files first.
    pub(super) fn send(
        &mut self,
        now: Moment,
        command: CommandId,
        conversation: ConversationId,
        text: String,
        files: Vec<OutgoingFile>,
    ) {
        if let Some(words) = fault(&text, &files) {
            return self.refuse(command, RefusalCode::LocalLimit, words);
        }
        let outgoing = Outgoing {
            command,
            conversation,
            text,
            files,
        };
        self.go_on(now, outgoing);
    }

    /// Uploads the next file, or writes the message when all are there.
    fn go_on(&mut self, now: Moment, outgoing: Outgoing) {
        let Some(file) = outgoing.files.iter().find(|file| file.uploaded.is_none()) else {
            let ids: Vec<AttachmentId> = outgoing
                .files
                .iter()
                .filter_map(|file| file.uploaded.clone())
                .collect();
            let wire: Vec<&str> = ids.iter().map(AttachmentId::as_str).collect();
            self.write_message(
                now,
                outgoing.command,
                outgoing.conversation,
                &outgoing.text,
                &wire,
            );
            for id in ids {
                if self.files.sent.len() >= SENT_LIMIT {
                    self.files.sent.pop_front();
                }
                self.files.sent.push_back((id, outgoing.command));
            }
            return;
        };
        let media_type = if file.media_type.is_empty() {
            "application/octet-stream".to_owned()
        } else {
            file.media_type.clone()
        };
        self.out.push_back(Output::Http(HttpRequest {
            transfer: file.transfer,
            method: HttpMethod::Post,
            path: "/attachments".to_owned(),
            query: vec![
                (
                    "conversation_id".to_owned(),
                    outgoing.conversation.as_str().to_owned(),
                ),
                ("filename".to_owned(), base_name(&file.name)),
            ],
            content_type: Some(media_type),
            body: HttpBody::File(file.transfer),
            sink: HttpSink::Memory { max: REPLY_LIMIT },
        }));
        self.files.uploads.insert(file.transfer, outgoing);
    }

    /// The link is gone: what was not written yet is not sent. Files that the server has already
    /// were told one by one, so they are not uploaded again.
    pub(super) fn drop_unsent_messages(&mut self) {
        for (transfer, outgoing) in std::mem::take(&mut self.files.uploads) {
            self.out.push_back(Output::CancelTransfer { transfer });
            self.finish(outgoing.command, CommandOutcome::NotSent);
        }
        self.files.sent.clear();
    }

    pub(super) fn fetch(
        &mut self,
        now: Moment,
        command: CommandId,
        attachment: Attachment,
        transfer: TransferId,
    ) {
        let AttachmentSource::HttpPath(path) = &attachment.source else {
            return self.refuse(
                command,
                RefusalCode::NotFound,
                "The server did not say where this file can be had. Reload the conversation.",
            );
        };
        if attachment.expires_at_ms.is_some_and(|at| at <= now.wall_ms) {
            self.refuse(
                command,
                RefusalCode::NotFound,
                "The server kept this file for a limited time, which is over. Ask the agent to \
                 send it again.",
            );
            return self.say(Topic::Attachment(AttachmentEvent::Gone {
                attachment: attachment.id,
            }));
        }
        if !is_own_path(path) {
            self.odd("a download path that leads elsewhere");
            return self.refuse(
                command,
                RefusalCode::ServerFailed,
                "The server named an address for this file that is not its own. It is not \
                 followed, because the secret would go along.",
            );
        }
        let (path, query) = split_query(path);
        self.out.push_back(Output::Http(HttpRequest {
            transfer,
            method: HttpMethod::Get,
            path,
            query,
            content_type: None,
            body: HttpBody::None,
            sink: HttpSink::File {
                max: attachment.size.unwrap_or(UNKNOWN_SIZE_LIMIT),
            },
        }));
        let fetch = Fetch {
            command,
            attachment: attachment.id,
            size: attachment.size,
        };
        self.files.fetches.insert(transfer, fetch);
    }

    pub(super) fn cancel_transfer(&mut self, command: CommandId, transfer: TransferId) {
        let ended = self
            .files
            .uploads
            .remove(&transfer)
            .map(|outgoing| outgoing.command)
            .or_else(|| {
                self.files
                    .fetches
                    .remove(&transfer)
                    .map(|fetch| fetch.command)
            });
        match ended {
            Some(ended) => {
                self.out.push_back(Output::CancelTransfer { transfer });
                self.refuse(ended, RefusalCode::Cancelled, "The transfer was stopped.");
                self.done(command);
            }
            None => self.refuse(
                command,
                RefusalCode::NotFound,
                "This transfer has ended already.",
            ),
        }
    }

    pub(super) fn on_http_reply(&mut self, now: Moment, reply: &HttpReply) {
        let is_success = (200..300).contains(&reply.status);
        if let Some(mut outgoing) = self.files.uploads.remove(&reply.transfer) {
            if !is_success {
                let refusal = refusals::http(reply, true);
                return self.finish(outgoing.command, CommandOutcome::Refused(refusal));
            }
            let id = serde_json::from_slice::<Uploaded>(&reply.body)
                .map(|body| body.attachment.attachment_id)
                .unwrap_or_default();
            if id.is_empty() {
                self.odd("an upload without an id in its reply");
                return self.refuse(
                    outgoing.command,
                    RefusalCode::ServerFailed,
                    "The server took the file and did not say under which id. Try again.",
                );
            }
            let id = AttachmentId::from(id);
            for file in &mut outgoing.files {
                if file.transfer == reply.transfer {
                    file.uploaded = Some(id.clone());
                }
            }
            self.finish(
                outgoing.command,
                CommandOutcome::Done(Reply::Uploaded {
                    transfer: reply.transfer,
                    attachment: id,
                }),
            );
            return self.go_on(now, outgoing);
        }
        // With success the bytes are still on their way to the disk; `TransferDone` ends it.
        if !is_success && let Some(fetch) = self.files.fetches.remove(&reply.transfer) {
            if matches!(reply.status, 404 | 410) {
                self.say(Topic::Attachment(AttachmentEvent::Gone {
                    attachment: fetch.attachment.clone(),
                }));
            }
            let refusal = refusals::http(reply, false);
            self.finish(fetch.command, CommandOutcome::Refused(refusal));
        }
    }

    pub(super) fn on_transfer_done(&mut self, transfer: TransferId, size: u64) {
        let Some(fetch) = self.files.fetches.remove(&transfer) else {
            return;
        };
        match fetch.size {
            Some(expected) if expected != size => self.refuse(
                fetch.command,
                RefusalCode::ServerFailed,
                format!(
                    "The file came incomplete: {size} of {expected} bytes. It was not kept; try \
                     again."
                ),
            ),
            _ => self.done(fetch.command),
        }
    }

    pub(super) fn on_transfer_failed(&mut self, transfer: TransferId, reason: TransferFailure) {
        let is_upload = self.files.uploads.contains_key(&transfer);
        let command = self
            .files
            .uploads
            .remove(&transfer)
            .map(|outgoing| outgoing.command)
            .or_else(|| {
                self.files
                    .fetches
                    .remove(&transfer)
                    .map(|fetch| fetch.command)
            });
        let Some(command) = command else {
            return;
        };
        let (code, words) = match reason {
            TransferFailure::Cancelled => (
                RefusalCode::Cancelled,
                "The transfer was stopped.".to_owned(),
            ),
            TransferFailure::TooLarge => (
                RefusalCode::TooLarge,
                "More bytes came than the server had announced, so the file was not kept."
                    .to_owned(),
            ),
            TransferFailure::LocalFile(detail) => (
                RefusalCode::LocalFile,
                format!("The file here could not be used: {detail}."),
            ),
            TransferFailure::Network(detail) if is_upload => (
                RefusalCode::ServerFailed,
                format!("The upload broke off: {detail}. The message was not sent; try again."),
            ),
            TransferFailure::Network(detail) => (
                RefusalCode::ServerFailed,
                format!("The download broke off: {detail}. Try again."),
            ),
        };
        self.refuse(command, code, words);
    }

    pub(super) fn on_attachment_added(&mut self, now: Moment, frame: AttachmentAdded) {
        let mut wire = frame.attachment;
        let conversation = if frame.conversation_id.is_empty() {
            wire.conversation_id.take().unwrap_or_default()
        } else {
            frame.conversation_id
        };
        let Some(mut attachment) = attachment(now, &wire) else {
            return self.odd("attachment.added without an id");
        };
        if conversation.is_empty() {
            return self.odd("attachment.added without a conversation");
        }
        let conversation = ConversationId::from(conversation);
        if attachment.direction == Direction::In && attachment.message.is_none() {
            attachment.message = self.runs.last_message(&conversation);
        }
        let sent = self
            .files
            .sent
            .iter()
            .position(|(id, _)| *id == attachment.id);
        if let Some((_, command)) = sent.and_then(|at| self.files.sent.remove(at))
            && let Some(remote) = attachment.message.clone()
        {
            // The only place where the server names the message it made of ours.
            self.say(Topic::Timeline(TimelineEvent::Acknowledged {
                conversation: conversation.clone(),
                command,
                remote: Some(remote),
            }));
        }
        self.say(Topic::Attachment(AttachmentEvent::Added {
            conversation,
            attachment: Box::new(attachment),
        }));
    }
}

/// What is wrong with a message before anything is sent; none when nothing is.
fn fault(text: &str, files: &[OutgoingFile]) -> Option<String> {
    if text.trim().is_empty() {
        return Some(if files.is_empty() {
            "There is nothing to send.".to_owned()
        } else {
            "Pheby takes files only with some words. Write a short caption.".to_owned()
        });
    }
    let characters = text.chars().count();
    if characters > TEXT_LIMIT || text.len() * 2 > FRAME_LIMIT {
        return Some(format!(
            "The message has {characters} characters, the server takes {TEXT_LIMIT}. Shorten it, \
             or attach the text as a file."
        ));
    }
    if files.len() > FILE_LIMIT {
        return Some(format!(
            "{} files are attached, the server takes {FILE_LIMIT} with one message. Send the \
             others with another one.",
            files.len()
        ));
    }
    let file = files
        .iter()
        .find(|file| file.size > UPLOAD_LIMIT || file.size == 0)?;
    Some(if file.size == 0 {
        format!(
            "{} is empty, and the server takes no empty files.",
            file.name
        )
    } else {
        format!(
            "{} ({}) is larger than the {} that the server takes. Make it smaller, or hand it over \
             in another way.",
            file.name,
            size_words(file.size),
            size_words(UPLOAD_LIMIT)
        )
    })
}

/// The file's own name; folders stay private.
fn base_name(name: &str) -> String {
    let name = name.rsplit(['/', '\\']).next().unwrap_or(name);
    if name.is_empty() {
        "file".to_owned()
    } else {
        name.to_owned()
    }
}

/// Whether a path stays on the account's own origin.
fn is_own_path(path: &str) -> bool {
    path.starts_with('/')
        && !path.starts_with("//")
        && path
            .bytes()
            .all(|byte| byte.is_ascii_graphic() && byte != b'\\' && byte != b'#')
        && !path.split(['/', '?']).any(|part| part == "..")
}

/// Takes a query off a path.
fn split_query(path: &str) -> (String, Vec<(String, String)>) {
    match path.split_once('?') {
        None => (path.to_owned(), Vec::new()),
        Some((path, query)) => {
            let pairs = query
                .split('&')
                .filter(|pair| !pair.is_empty())
                .map(|pair| {
                    let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
                    (unescape(key), unescape(value))
                })
                .collect();
            (path.to_owned(), pairs)
        }
    }
}

/// Undoes percent-encoding, as the shell will encode again.
fn unescape(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let digits = text.get(at + 1..at + 3);
        match (
            bytes[at],
            digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()),
        ) {
            (b'%', Some(byte)) => {
                out.push(byte);
                at += 3;
            }
            (byte, _) => {
                out.push(byte);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// An attachment as the program knows it; none without an id.
pub(super) fn attachment(now: Moment, wire: &frames::Attachment) -> Option<Attachment> {
    if wire.attachment_id.is_empty() {
        return None;
    }
    let kind = match wire.kind.as_str() {
        "image" => AttachmentKind::Image,
        "voice" => AttachmentKind::Voice,
        "video" => AttachmentKind::Video,
        "audio" => AttachmentKind::Audio,
        _ => AttachmentKind::Document,
    };
    let expires_at_ms = wire.expires_at.as_deref().and_then(instant);
    let is_gone = expires_at_ms.is_some_and(|at| at <= now.wall_ms);
    let path = if wire.download_path.is_empty() {
        format!("/attachments/{}", wire.attachment_id)
    } else {
        wire.download_path.clone()
    };
    Some(Attachment {
        id: AttachmentId::from(wire.attachment_id.as_str()),
        message: wire.message_id.as_deref().map(RemoteId::from),
        direction: if wire.direction == "inbound" {
            Direction::Out
        } else {
            Direction::In
        },
        name: SafeText::label(&wire.filename),
        media_type: SafeText::label(&wire.mime_type),
        kind,
        size: wire.size,
        may_preview: wire.inline_image && kind == AttachmentKind::Image,
        expires_at_ms,
        source: AttachmentSource::HttpPath(path),
        state: if is_gone {
            AttachmentState::Gone
        } else {
            AttachmentState::Offered
        },
    })
}
