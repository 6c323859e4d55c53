//! The picture of a message. It goes to the agent as its bytes, one a message; every other file
//! goes as its address, because the agent opens files itself. Lines of more than a megabyte are
//! refused by one of the runtimes, so a larger picture goes as its address too.

use super::Omi;
use super::queries::Planned;
use crate::domain::{AttachmentId, Moment};
use crate::domain::{
    AttachmentKind, CommandId, CommandOutcome, OutgoingFile, RefusalCode, Reply, Severity, Topic,
    TransferId,
};
use crate::protocol::decode::notice;
use crate::protocol::{Output, TransferFailure};
use crate::text::size_words;
use base64::Engine as _;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Bytes of a picture that fit into a line every runtime takes.
const PICTURE_LIMIT: u64 = 700_000;
/// Bytes asked for at once.
const PIECE: usize = 256 * 1024;

/// Messages whose picture is being read.
#[derive(Debug, Default)]
pub(super) struct Pictures {
    reading: BTreeMap<TransferId, Reading>,
}

#[derive(Debug)]
struct Reading {
    planned: Planned,
    bytes: Vec<u8>,
}

impl Pictures {
    pub(super) fn is_reading_for(&self, conversation: &crate::domain::ConversationId) -> bool {
        self.reading
            .values()
            .any(|reading| reading.planned.conversation == *conversation)
    }
}

/// Whether the runtimes know the format of this picture.
fn is_known_picture(file: &OutgoingFile) -> bool {
    file.kind == AttachmentKind::Image
        && matches!(
            file.media_type.as_str(),
            "image/png" | "image/jpeg" | "image/gif" | "image/webp"
        )
}

impl Omi {
    /// Sorts the files of a message: the picture whose bytes go along, and the others as what a
    /// query says of them.
    pub(super) fn sort_files<'a>(
        &mut self,
        files: &'a [OutgoingFile],
    ) -> (Option<&'a OutgoingFile>, Vec<Value>) {
        let picture = files
            .iter()
            .find(|file| is_known_picture(file) && file.size <= PICTURE_LIMIT);
        let mut rows = Vec::new();
        for file in files {
            if picture.is_some_and(|picture| std::ptr::eq(picture, file)) {
                continue;
            }
            if is_known_picture(file) && file.size > PICTURE_LIMIT {
                let event = notice(
                    Severity::Info,
                    None,
                    "The agent gets the path of this picture",
                    &format!(
                        "{} is larger than {}, which is more than a message takes. The agent \
                         can open it by its path.",
                        file.name,
                        size_words(PICTURE_LIMIT)
                    ),
                );
                self.tell(event);
            }
            rows.push(json!({
                "attachmentId": format!("file-{}", self.ids.mint()),
                "displayName": file.name,
                "mimeType": file.media_type,
                "sizeBytes": file.size,
                "uri": super::tools::file_uri(&file.path),
            }));
        }
        (picture, rows)
    }

    /// The files stay where they are: nothing of them is on its way any more.
    pub(super) fn files_are_named(&mut self, command: CommandId, files: &[OutgoingFile]) {
        for file in files.iter().filter(|file| file.uploaded.is_none()) {
            self.say_named(command, file.transfer);
            self.out.push_back(Output::CancelTransfer {
                transfer: file.transfer,
            });
        }
    }

    fn say_named(&mut self, command: CommandId, transfer: TransferId) {
        let reply = Reply::Uploaded {
            transfer,
            attachment: AttachmentId::from(format!("file-{}", transfer.0)),
        };
        self.say(Topic::Outcome {
            command,
            outcome: CommandOutcome::Done(reply),
        });
    }

    /// Reads the picture of a message before it is asked.
    pub(super) fn read_picture(&mut self, planned: Planned, transfer: TransferId) {
        let reading = Reading {
            planned,
            bytes: Vec::new(),
        };
        self.pictures.reading.insert(transfer, reading);
        self.out.push_back(Output::WantBytes {
            transfer,
            max: PIECE,
        });
    }

    pub(super) fn on_picture_bytes(&mut self, transfer: TransferId, bytes: &[u8]) {
        let Some(reading) = self.pictures.reading.get_mut(&transfer) else {
            return;
        };
        reading.bytes.extend_from_slice(bytes);
        if reading.bytes.len() as u64 > PICTURE_LIMIT {
            self.out.push_back(Output::CancelTransfer { transfer });
            return self.drop_picture(
                transfer,
                RefusalCode::LocalFile,
                "The picture changed while it was read. Attach it again.",
            );
        }
        self.out.push_back(Output::WantBytes {
            transfer,
            max: PIECE,
        });
    }

    pub(super) fn on_picture_end(&mut self, now: Moment, transfer: TransferId) {
        let Some(mut reading) = self.pictures.reading.remove(&transfer) else {
            return;
        };
        self.say_named(reading.planned.command, transfer);
        reading.planned.picture =
            Some(base64::engine::general_purpose::STANDARD.encode(&reading.bytes));
        self.with_session(now, reading.planned);
    }

    pub(super) fn on_picture_lost(&mut self, transfer: TransferId, reason: &TransferFailure) {
        let (code, words) = match reason {
            TransferFailure::Cancelled => (
                RefusalCode::Cancelled,
                "It was stopped before it was sent.".to_owned(),
            ),
            TransferFailure::TooLarge => (
                RefusalCode::LocalFile,
                "The picture is larger than it was when it was attached.".to_owned(),
            ),
            TransferFailure::LocalFile(words) | TransferFailure::Network(words) => (
                RefusalCode::LocalFile,
                format!("The picture could not be read: {words}."),
            ),
        };
        self.drop_picture(transfer, code, &words);
    }

    fn drop_picture(&mut self, transfer: TransferId, code: RefusalCode, words: &str) {
        if let Some(reading) = self.pictures.reading.remove(&transfer) {
            self.refuse(reading.planned.command, code, words);
        }
    }

    /// Stops the message of a conversation whose picture is still read; true when there was one.
    pub(super) fn stop_reading(&mut self, conversation: &crate::domain::ConversationId) -> bool {
        let found = self
            .pictures
            .reading
            .iter()
            .find(|(_, reading)| reading.planned.conversation == *conversation)
            .map(|(transfer, _)| *transfer);
        let Some(transfer) = found else {
            return false;
        };
        self.out.push_back(Output::CancelTransfer { transfer });
        self.drop_picture(transfer, RefusalCode::Cancelled, super::ends::STOPPED_EARLY);
        true
    }

    /// The process is gone; nothing of these messages has left.
    pub(super) fn cut_pictures(&mut self) {
        for (transfer, reading) in std::mem::take(&mut self.pictures.reading) {
            self.out.push_back(Output::CancelTransfer { transfer });
            self.finish(reading.planned.command, CommandOutcome::NotSent);
        }
    }
}
