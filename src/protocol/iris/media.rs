//! Files over binary frames between the JSON ones: one pull and one upload at a time, matched by
//! order (readings I2 to I10). Bytes pass through and are never kept.

use super::frames::{MediaRef, Request};
use super::lanes::Address;
use super::refusals::timed_out;
use super::{Asked, Iris};
use crate::domain::{
    Attachment, AttachmentEvent, AttachmentId, AttachmentKind, AttachmentSource, AttachmentState,
    CommandId, CommandOutcome, ConversationId, Direction, Moment, OutgoingFile, Refusal,
    RefusalCode, RemoteId, Topic, TransferId,
};
use crate::protocol::{Output, TransferFailure};
use crate::text::SafeText;
use bytes::Bytes;
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// Bytes of a file that are asked for, and sent, at a time.
pub(super) const CHUNK: usize = 256 * 1024;
/// A transfer that stands still for so long is given up.
pub(super) const STILL: Duration = Duration::from_secs(30);

/// A message and its files.
#[derive(Debug)]
pub(super) struct OutgoingMessage {
    pub(super) command: CommandId,
    pub(super) conversation: ConversationId,
    pub(super) text: String,
    pub(super) files: Vec<OutgoingFile>,
    pub(super) reply_to: Option<RemoteId>,
    pub(super) auto_thread: bool,
}

#[derive(Debug)]
struct Pull {
    command: CommandId,
    attachment: AttachmentId,
    transfer: TransferId,
    size: Option<u64>,
    came: u64,
    /// The id of the request.
    id: u64,
    /// Given up here; its bytes still come and are left out.
    is_dropped: bool,
    until: Moment,
}

#[derive(Debug)]
pub(super) struct Upload {
    pub(super) message: OutgoingMessage,
    pub(super) transfer: TransferId,
    pub(super) media_ref: String,
    pub(super) size: u64,
    pub(super) sent: u64,
    pub(super) start_id: u64,
    pub(super) end_id: Option<u64>,
    pub(super) until: Moment,
}

/// Transfers that run and that wait.
#[derive(Debug, Default)]
pub(super) struct Media {
    pull: Option<Pull>,
    pulls: VecDeque<(CommandId, AttachmentId, TransferId, Option<u64>)>,
    pub(super) upload: Option<Upload>,
    pub(super) uploads: VecDeque<OutgoingMessage>,
    /// Pulls whose bytes came, and are being written to the disk.
    storing: BTreeMap<TransferId, CommandId>,
}

impl Media {
    pub(super) fn deadline(&self) -> Option<Moment> {
        let pull = self.pull.as_ref().map(|pull| pull.until);
        let upload = self.upload.as_ref().map(|upload| upload.until);
        [pull, upload]
            .into_iter()
            .flatten()
            .min_by_key(|moment| moment.mono_ms)
    }
}

impl Iris {
    pub(super) fn on_media_offer(
        &mut self,
        id: Option<u64>,
        lane: ConversationId,
        offer: &MediaRef,
    ) {
        // A header before the bytes of a pull says nothing new.
        if id.is_some() && self.media.pull.as_ref().map(|pull| pull.id) == id {
            return;
        }
        let Some(attachment) = attachment(offer, false) else {
            return self.odd("media.offer without an id");
        };
        self.say(Topic::Attachment(AttachmentEvent::Added {
            conversation: lane,
            attachment: Box::new(attachment),
        }));
    }

    pub(super) fn fetch(
        &mut self,
        now: Moment,
        command: CommandId,
        attachment: Attachment,
        transfer: TransferId,
    ) {
        self.media
            .pulls
            .push_back((command, attachment.id, transfer, attachment.size));
        self.next_pull(now);
    }

    fn next_pull(&mut self, now: Moment) {
        if self.media.pull.is_some() || self.session.is_down() {
            return;
        }
        let Some((command, attachment, transfer, size)) = self.media.pulls.pop_front() else {
            return;
        };
        let request = Request::MediaPull {
            media_id: attachment.as_str(),
        };
        let id = self.ask(now, "media.pull", &Address::default(), request, Asked::Pull);
        self.media.pull = Some(Pull {
            command,
            attachment,
            transfer,
            size,
            came: 0,
            id,
            is_dropped: false,
            until: now.after(STILL),
        });
        self.say(Topic::Attachment(AttachmentEvent::TransferBegan {
            transfer,
        }));
    }

    pub(super) fn on_bytes(&mut self, now: Moment, bytes: Bytes) {
        let Some(pull) = &mut self.media.pull else {
            return self.odd(format!("{} bytes that nobody asked for", bytes.len()));
        };
        pull.until = now.after(STILL);
        if pull.is_dropped {
            return;
        }
        pull.came += u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        let transfer = pull.transfer;
        if pull.size.is_some_and(|size| pull.came > size) {
            let refusal = Refusal::new(
                RefusalCode::TooLarge,
                "More bytes came than the gateway had announced, so the file was not kept.",
            );
            return self.drop_pull(refusal);
        }
        self.out
            .push_back(Output::DownloadChunk { transfer, bytes });
    }

    /// Gives the running pull up; its end is still awaited, because bytes come in order.
    fn drop_pull(&mut self, refusal: Refusal) {
        if let Some(pull) = &mut self.media.pull
            && !pull.is_dropped
        {
            pull.is_dropped = true;
            let (command, transfer) = (pull.command, pull.transfer);
            self.out.push_back(Output::DownloadEnd {
                transfer,
                ok: false,
            });
            self.finish(command, CommandOutcome::Refused(refusal));
        }
    }

    pub(super) fn on_pull_end(&mut self, now: Moment, id: Option<u64>, ok: bool) {
        // Pulls are answered in their order; an id that is not the running one's is an old one's.
        let is_ours = |pull: &Pull| id.is_none_or(|id| id == pull.id);
        let Some(pull) = self.media.pull.take_if(|pull| is_ours(pull)) else {
            return;
        };
        self.pending.take(&pull.id.to_string());
        if !pull.is_dropped {
            let Pull {
                command, transfer, ..
            } = pull;
            let is_short = pull.size.is_some_and(|size| pull.came != size);
            self.out.push_back(Output::DownloadEnd {
                transfer,
                ok: ok && !is_short,
            });
            if !ok {
                self.say(Topic::Attachment(AttachmentEvent::Gone {
                    attachment: pull.attachment,
                }));
                self.refuse(
                    command,
                    RefusalCode::NotFound,
                    "The gateway no longer has this file. Ask the agent to send it again.",
                );
            } else if is_short {
                self.refuse(
                    command,
                    RefusalCode::ServerFailed,
                    format!(
                        "The file came incomplete: {} of {} bytes. It was not kept; try again.",
                        pull.came,
                        pull.size.unwrap_or_default()
                    ),
                );
            } else {
                self.media.storing.insert(transfer, command);
            }
        }
        self.next_pull(now);
    }

    pub(super) fn pull_refused(&mut self, now: Moment, refusal: Refusal) {
        if let Some(pull) = self.media.pull.take()
            && !pull.is_dropped
        {
            self.out.push_back(Output::DownloadEnd {
                transfer: pull.transfer,
                ok: false,
            });
            if refusal.code == RefusalCode::NotFound {
                self.say(Topic::Attachment(AttachmentEvent::Gone {
                    attachment: pull.attachment,
                }));
            }
            self.finish(pull.command, CommandOutcome::Refused(refusal));
        }
        self.next_pull(now);
    }

    pub(super) fn on_transfer_done(&mut self, transfer: TransferId, _size: u64) {
        if let Some(command) = self.media.storing.remove(&transfer) {
            self.done(command);
        }
    }

    pub(super) fn on_transfer_failed(
        &mut self,
        now: Moment,
        transfer: TransferId,
        reason: TransferFailure,
    ) {
        let refusal = match reason {
            TransferFailure::Cancelled => {
                Refusal::new(RefusalCode::Cancelled, "The transfer was stopped.")
            }
            TransferFailure::TooLarge => Refusal::new(
                RefusalCode::TooLarge,
                "More bytes came than were announced, so the file was not kept.",
            ),
            TransferFailure::LocalFile(detail) => Refusal::new(
                RefusalCode::LocalFile,
                format!("The file here could not be used: {detail}."),
            ),
            TransferFailure::Network(detail) => Refusal::new(
                RefusalCode::ServerFailed,
                format!("The transfer broke off: {detail}. Try again."),
            ),
        };
        if let Some(command) = self.media.storing.remove(&transfer) {
            return self.finish(command, CommandOutcome::Refused(refusal));
        }
        if self
            .media
            .pull
            .as_ref()
            .is_some_and(|pull| pull.transfer == transfer)
        {
            return self.drop_pull(refusal);
        }
        if self
            .media
            .upload
            .as_ref()
            .is_some_and(|upload| upload.transfer == transfer)
        {
            self.upload_refused(now, refusal);
        }
    }

    pub(super) fn cancel_transfer(
        &mut self,
        now: Moment,
        command: CommandId,
        transfer: TransferId,
    ) {
        let refusal = Refusal::new(RefusalCode::Cancelled, "The transfer was stopped.");
        let waits = self
            .media
            .pulls
            .iter()
            .position(|(_, _, of, _)| *of == transfer);
        if let Some((ended, ..)) = waits.and_then(|at| self.media.pulls.remove(at)) {
            self.finish(ended, CommandOutcome::Refused(refusal));
        } else if self
            .media
            .pull
            .as_ref()
            .is_some_and(|pull| pull.transfer == transfer)
        {
            self.drop_pull(refusal);
        } else if self
            .media
            .upload
            .as_ref()
            .is_some_and(|upload| upload.transfer == transfer)
        {
            self.out.push_back(Output::CancelTransfer { transfer });
            self.upload_refused(now, refusal);
        } else {
            let carries = |message: &OutgoingMessage| {
                message.files.iter().any(|file| file.transfer == transfer)
            };
            let waits = self.media.uploads.iter().position(carries);
            match waits.and_then(|at| self.media.uploads.remove(at)) {
                Some(message) => self.finish(message.command, CommandOutcome::Refused(refusal)),
                None => {
                    return self.refuse(
                        command,
                        RefusalCode::NotFound,
                        "This transfer has ended already.",
                    );
                }
            }
        }
        self.done(command);
    }

    /// Gives up what stands still.
    pub(super) fn watch_media(&mut self, now: Moment) {
        if self
            .media
            .pull
            .as_ref()
            .is_some_and(|pull| pull.until.mono_ms <= now.mono_ms)
        {
            self.drop_pull(timed_out());
            self.media.pull = None;
            self.next_pull(now);
        }
        if self
            .media
            .upload
            .as_ref()
            .is_some_and(|upload| upload.until.mono_ms <= now.mono_ms)
        {
            self.upload_refused(now, timed_out());
        }
    }

    /// The link is gone, and the transfers on it. A message whose files were on their way was not
    /// sent; files that the gateway has already were told one by one.
    pub(super) fn drop_transfers(&mut self) {
        if let Some(pull) = self.media.pull.take()
            && !pull.is_dropped
        {
            self.out.push_back(Output::DownloadEnd {
                transfer: pull.transfer,
                ok: false,
            });
            self.finish(pull.command, CommandOutcome::LinkLost);
        }
        for (command, ..) in std::mem::take(&mut self.media.pulls) {
            self.finish(command, CommandOutcome::NotSent);
        }
        if let Some(upload) = self.media.upload.take() {
            self.out.push_back(Output::CancelTransfer {
                transfer: upload.transfer,
            });
            self.finish(upload.message.command, CommandOutcome::NotSent);
        }
        for message in std::mem::take(&mut self.media.uploads) {
            self.finish(message.command, CommandOutcome::NotSent);
        }
    }
}

pub(super) fn changed() -> Refusal {
    Refusal::new(
        RefusalCode::LocalFile,
        "The file changed while it was sent. The message was not sent; attach it again.",
    )
}

/// An attachment as the program knows it; none without an id.
pub(super) fn attachment(media: &MediaRef, is_ours: bool) -> Option<Attachment> {
    if media.media_id.is_empty() {
        return None;
    }
    let kind = match media.kind.as_str() {
        "image" => AttachmentKind::Image,
        "audio" => AttachmentKind::Audio,
        "voice" => AttachmentKind::Voice,
        "video" => AttachmentKind::Video,
        _ => AttachmentKind::Document,
    };
    Some(Attachment {
        id: AttachmentId::from(media.media_id.as_str()),
        message: media.message_id.as_deref().map(RemoteId::from),
        direction: if is_ours {
            Direction::Out
        } else {
            Direction::In
        },
        name: SafeText::label(if media.filename.is_empty() {
            "file"
        } else {
            &media.filename
        }),
        media_type: SafeText::label(&media.mime),
        kind,
        size: media.size,
        may_preview: kind == AttachmentKind::Image,
        expires_at_ms: None,
        source: AttachmentSource::Pull,
        state: AttachmentState::Offered,
    })
}
