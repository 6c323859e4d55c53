//! Files on their way to the gateway, one at a time, each before the message it belongs to (readings
//! I5, I8 to I10). Bytes pass through and are never kept.

use super::frames::{Request, UploadAck};
use super::lanes::Address;
use super::media::{CHUNK, OutgoingMessage, STILL, Upload, changed};
use super::{Asked, Iris};
use crate::domain::{
    AttachmentId, AttachmentKind, CommandOutcome, Moment, Refusal, RefusalCode, Reply, TransferId,
};
use crate::link::Frame;
use crate::protocol::Output;
use bytes::Bytes;

impl Iris {
    /// Sends a message, its files first.
    pub(super) fn send(&mut self, now: Moment, message: OutgoingMessage) {
        if message.text.trim().is_empty() && message.files.is_empty() {
            return self.refuse(
                message.command,
                RefusalCode::LocalLimit,
                "There is nothing to send.",
            );
        }
        if message.files.iter().all(|file| file.uploaded.is_some()) {
            return self.send_ready(now, &message);
        }
        self.media.uploads.push_back(message);
        self.next_upload(now);
    }

    fn send_ready(&mut self, now: Moment, message: &OutgoingMessage) {
        let refs: Vec<&str> = message
            .files
            .iter()
            .filter_map(|file| file.uploaded.as_ref().map(AttachmentId::as_str))
            .collect();
        self.write_message(now, message, &refs);
    }

    fn next_upload(&mut self, now: Moment) {
        if self.media.upload.is_some() {
            return;
        }
        let Some(message) = self.media.uploads.pop_front() else {
            return;
        };
        self.upload(now, message);
    }

    /// Uploads the next file of a message, or writes it when all are there.
    fn upload(&mut self, now: Moment, message: OutgoingMessage) {
        let Some(file) = message.files.iter().find(|file| file.uploaded.is_none()) else {
            self.send_ready(now, &message);
            return self.next_upload(now);
        };
        let (transfer, size) = (file.transfer, file.size);
        let media_ref = self.mint_name("up");
        let name = file
            .name
            .rsplit(['/', '\\'])
            .next()
            .unwrap_or("file")
            .to_owned();
        let request = Request::MediaUploadStart {
            media_ref: &media_ref,
            kind: match file.kind {
                AttachmentKind::Image => "image",
                AttachmentKind::Audio => "audio",
                AttachmentKind::Voice => "voice",
                AttachmentKind::Video => "video",
                AttachmentKind::Document => "document",
            },
            mime: if file.media_type.is_empty() {
                "application/octet-stream"
            } else {
                &file.media_type
            },
            size,
            filename: &name,
        };
        let address = Address::default();
        let start_id = self.ask(
            now,
            "media.upload.start",
            &address,
            request,
            Asked::UploadStart,
        );
        self.out.push_back(Output::WantBytes {
            transfer,
            max: CHUNK,
        });
        self.media.upload = Some(Upload {
            message,
            transfer,
            media_ref,
            size,
            sent: 0,
            start_id,
            end_id: None,
            until: now.after(STILL),
        });
    }

    pub(super) fn on_upload_chunk(&mut self, now: Moment, transfer: TransferId, bytes: Bytes) {
        let Some(upload) = self
            .media
            .upload
            .as_mut()
            .filter(|upload| upload.transfer == transfer && upload.end_id.is_none())
        else {
            return;
        };
        upload.sent += u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        upload.until = now.after(STILL);
        if upload.sent > upload.size {
            self.out.push_back(Output::CancelTransfer { transfer });
            return self.upload_refused(now, changed());
        }
        if !bytes.is_empty() {
            self.out.push_back(Output::Frame(Frame::Binary(bytes)));
        }
        self.out.push_back(Output::WantBytes {
            transfer,
            max: CHUNK,
        });
    }

    pub(super) fn on_upload_end(
        &mut self,
        now: Moment,
        transfer: TransferId,
        size: u64,
        sha256: &[u8; 32],
    ) {
        let Some(upload) = self
            .media
            .upload
            .as_ref()
            .filter(|upload| upload.transfer == transfer && upload.end_id.is_none())
        else {
            return;
        };
        if size != upload.size || upload.sent != upload.size {
            return self.upload_refused(now, changed());
        }
        let media_ref = upload.media_ref.clone();
        let hash: String = sha256.iter().map(|byte| format!("{byte:02x}")).collect();
        let request = Request::MediaUploadEnd {
            media_ref: &media_ref,
            sha256: &hash,
        };
        let address = Address::default();
        let id = self.ask(now, "media.upload.end", &address, request, Asked::UploadEnd);
        if let Some(upload) = &mut self.media.upload {
            upload.end_id = Some(id);
            upload.until = now.after(STILL);
        }
    }

    pub(super) fn on_upload_ack(&mut self, now: Moment, id: Option<u64>, ack: UploadAck) {
        let is_ours = |upload: &Upload| {
            upload.end_id.is_some()
                && match id {
                    Some(_) => upload.end_id == id,
                    None => ack.media_ref.as_ref() == Some(&upload.media_ref),
                }
        };
        let Some(mut upload) = self.media.upload.take_if(|upload| is_ours(upload)) else {
            return;
        };
        self.forget_upload_requests(&upload);
        if !ack.ok {
            self.finish(
                upload.message.command,
                CommandOutcome::Refused(Refusal::new(
                    RefusalCode::ServerFailed,
                    "The gateway did not take the file. The message was not sent; try again.",
                )),
            );
            return self.next_upload(now);
        }
        // The ack may name another ref, which is the one that counts.
        let uploaded = AttachmentId::from(ack.media_ref.unwrap_or(upload.media_ref));
        for file in &mut upload.message.files {
            if file.transfer == upload.transfer {
                file.uploaded = Some(uploaded.clone());
            }
        }
        self.finish(
            upload.message.command,
            CommandOutcome::Done(Reply::Uploaded {
                transfer: upload.transfer,
                attachment: uploaded,
            }),
        );
        self.upload(now, upload.message);
    }

    fn forget_upload_requests(&mut self, upload: &Upload) {
        self.pending.take(&upload.start_id.to_string());
        if let Some(id) = upload.end_id {
            self.pending.take(&id.to_string());
        }
    }

    /// The running upload ends without its message being sent.
    pub(super) fn upload_refused(&mut self, now: Moment, refusal: Refusal) {
        if let Some(upload) = self.media.upload.take() {
            self.forget_upload_requests(&upload);
            self.finish(upload.message.command, CommandOutcome::Refused(refusal));
        }
        self.next_upload(now);
    }
}
