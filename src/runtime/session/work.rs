//! What the account task has others do: HTTP requests, reading and keeping files, tools, the secret.
//! Each worker ends in one [`WorkEnd`] that goes back to the driver.

use super::SessionEvent;
use super::task::Task;
use crate::app::event::TransferProgress;
use crate::domain::{Secret, TransferId, io_words};
use crate::link::{HttpBody, HttpReply, HttpRequest, HttpSink};
use crate::protocol::{Input, TransferFailure};
use crate::runtime::tools;
use crate::runtime::transfers::{AppendError, Download, Kept, Piece, Upload};
use crate::text::SafeText;
use crate::transport::http::{HttpError, Progress, Sink};
use bytes::Bytes;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use tokio::task::{AbortHandle, Id, JoinError, JoinSet};
use tokio::time::Instant;

/// The bar of a transfer moves at most this often.
const PROGRESS_EVERY: Duration = Duration::from_millis(100);
/// Workers report when at least so many bytes moved.
const PROGRESS_BYTES: u64 = 32 * 1024;
/// Pieces of a file wait while more frames than this are not on the wire yet.
const FRAMES_AHEAD: usize = 4;

/// How the work of others ended.
pub(super) enum WorkEnd {
    Http {
        transfer: TransferId,
        result: Result<HttpReply, HttpError>,
        download: Option<Download>,
    },
    Kept {
        transfer: TransferId,
        result: Result<Kept, String>,
    },
    Piece {
        transfer: TransferId,
        upload: Upload,
        result: Result<Piece, String>,
    },
    Tool {
        call: u64,
        result: Result<String, String>,
    },
    Secret(Result<Option<Secret>, String>),
}

/// What a worker was for, in case it panics.
#[derive(Clone, Copy)]
enum Purpose {
    Transfer(TransferId),
    Tool(u64),
    Secret,
}

/// How far a transfer is: bytes, and how many there are.
pub(super) type Moved = (TransferId, u64, Option<u64>);

pub(super) struct Work {
    pub running: JoinSet<WorkEnd>,
    purposes: HashMap<Id, Purpose>,
    requests: HashMap<TransferId, AbortHandle>,
    pub moved: mpsc::Receiver<Moved>,
    moved_sender: mpsc::Sender<Moved>,
    told: HashMap<TransferId, Instant>,
    wants: VecDeque<(TransferId, usize)>,
    is_reading_secret: bool,
}

impl Work {
    pub fn new() -> Self {
        let (moved_sender, moved) = mpsc::channel(64);
        Self {
            running: JoinSet::new(),
            purposes: HashMap::new(),
            requests: HashMap::new(),
            moved,
            moved_sender,
            told: HashMap::new(),
            wants: VecDeque::new(),
            is_reading_secret: false,
        }
    }

    fn spawn(
        &mut self,
        purpose: Purpose,
        work: impl Future<Output = WorkEnd> + Send + 'static,
    ) -> AbortHandle {
        let handle = self.running.spawn(work);
        self.purposes.insert(handle.id(), purpose);
        handle
    }

    fn spawn_blocking(
        &mut self,
        purpose: Purpose,
        work: impl FnOnce() -> WorkEnd + Send + 'static,
    ) {
        let handle = self.running.spawn_blocking(work);
        self.purposes.insert(handle.id(), purpose);
    }

    fn forget(&mut self, transfer: TransferId) {
        self.requests.remove(&transfer);
        self.told.remove(&transfer);
        self.wants.retain(|(wanted, _)| *wanted != transfer);
    }
}

impl Task {
    /// Begins an HTTP request with the files behind it.
    pub(super) fn start_http(&mut self, request: HttpRequest) {
        let transfer = request.transfer;
        let Some(client) = self.http.clone() else {
            let words = "there is no connection to the server".to_owned();
            return self.transfer_failed(transfer, TransferFailure::Network(words));
        };
        let upload = match request.body {
            HttpBody::None => None,
            HttpBody::File(file) => match self.transfers.lend_upload(file) {
                Ok(upload) => Some(upload),
                Err(error) => {
                    return self.transfer_failed(transfer, TransferFailure::LocalFile(error));
                }
            },
        };
        let mut download = match request.sink {
            HttpSink::Memory { .. } => None,
            HttpSink::File { .. } => match self.transfers.lend_download(transfer) {
                Ok(download) => Some(download),
                Err(error) => {
                    return self.transfer_failed(transfer, TransferFailure::LocalFile(error));
                }
            },
        };
        let mut request = request;
        // The person's own limit counts as well as the driver's.
        if let (HttpSink::File { max }, Some(download)) = (&mut request.sink, &download) {
            *max = (*max).min(download.limit());
        }
        let secret = self.secret.clone();
        let progress = progress(transfer, self.work.moved_sender.clone());
        let work = async move {
            let source = upload.as_ref().map(Upload::source).transpose();
            let result = match source {
                Ok(source) => {
                    let sink = download.as_mut().map(|download| download as &mut dyn Sink);
                    client
                        .execute(request, secret, source, sink, progress)
                        .await
                }
                Err(error) => Err(HttpError::LocalFile(error)),
            };
            // A file that changed under way is the reason, whatever the network made of it.
            let result = match upload.as_ref().map(Upload::check_unchanged) {
                Some(Err(error)) => Err(HttpError::LocalFile(error)),
                Some(Ok(())) | None => result,
            };
            WorkEnd::Http {
                transfer,
                result,
                download,
            }
        };
        let handle = self.work.spawn(Purpose::Transfer(transfer), work);
        self.work.requests.insert(transfer, handle);
    }

    /// Ends a transfer because someone wants it so; true when there was one.
    pub(super) fn drop_transfer(&mut self, transfer: TransferId) -> bool {
        let request = self.work.requests.remove(&transfer);
        if let Some(request) = &request {
            request.abort();
        }
        self.work.forget(transfer);
        let was_open = self.transfers.close(transfer);
        let existed = request.is_some() || was_open;
        if existed {
            self.report(transfer, TransferProgress::Cancelled);
        }
        existed
    }

    /// Bytes of the driver for a file.
    pub(super) fn download_chunk(&mut self, transfer: TransferId, bytes: &Bytes) {
        let failure = match self.transfers.append(transfer, bytes) {
            Ok(done) => return self.on_moved((transfer, done, None)),
            // Called off meanwhile; the rest of the bytes still comes.
            Err(AppendError::NotOpen) => return,
            Err(AppendError::TooLarge) => TransferFailure::TooLarge,
            Err(AppendError::LocalFile(error)) => TransferFailure::LocalFile(error),
        };
        self.transfer_failed(transfer, failure);
    }

    /// The driver has given the last byte.
    pub(super) fn download_end(&mut self, transfer: TransferId, ok: bool) {
        if !ok {
            self.work.forget(transfer);
            self.transfers.close(transfer);
            return;
        }
        match self.transfers.lend_download(transfer) {
            Ok(download) => self.keep(transfer, download),
            Err(error) => self.transfer_failed(transfer, TransferFailure::LocalFile(error)),
        }
    }

    fn keep(&mut self, transfer: TransferId, download: Download) {
        self.work
            .spawn_blocking(Purpose::Transfer(transfer), move || WorkEnd::Kept {
                transfer,
                result: download.keep(),
            });
    }

    /// The driver wants the next piece of a file; it gets it when the wire has room.
    pub(super) fn want_bytes(&mut self, transfer: TransferId, max: usize) {
        self.work.wants.push_back((transfer, max));
        self.serve_wants();
    }

    pub(super) fn serve_wants(&mut self) {
        while self.outgoing_len() < FRAMES_AHEAD
            && let Some((transfer, max)) = self.work.wants.pop_front()
        {
            match self.transfers.lend_upload(transfer) {
                Ok(mut upload) => {
                    self.work
                        .spawn_blocking(Purpose::Transfer(transfer), move || {
                            let result = upload.read(max);
                            WorkEnd::Piece {
                                transfer,
                                upload,
                                result,
                            }
                        });
                }
                Err(error) => self.transfer_failed(transfer, TransferFailure::LocalFile(error)),
            }
        }
    }

    pub(super) fn run_tool(&mut self, call: u64, name: &str, input: String, deadline: Duration) {
        let Some(command) = self.tools.get(name).cloned() else {
            let words = format!("The tool {name} is not set up for this account.");
            return self.later(Input::ToolFinished {
                call,
                result: Err(words),
            });
        };
        self.work.spawn(Purpose::Tool(call), async move {
            WorkEnd::Tool {
                call,
                result: tools::run(&command, input, deadline).await,
            }
        });
    }

    /// Reads the secret anew, on a thread of its own: a keyring may hang for ever, and a thread of
    /// the runtime would then hold up the end of the program.
    pub(super) fn read_secret(&mut self) {
        if std::mem::replace(&mut self.work.is_reading_secret, true) {
            return;
        }
        let source = self.secrets.clone();
        let (sender, answer) = oneshot::channel();
        let started = std::thread::Builder::new()
            .name("secret".into())
            .spawn(move || {
                let _ = sender.send(source());
            });
        self.work.spawn(Purpose::Secret, async move {
            WorkEnd::Secret(match started {
                Ok(_) => answer
                    .await
                    .unwrap_or_else(|_| Err("its source failed".into())),
                Err(error) => Err(io_words(&error)),
            })
        });
    }

    pub(super) fn on_work_end(&mut self, end: Result<(Id, WorkEnd), JoinError>) {
        match end {
            Ok((id, end)) => {
                self.work.purposes.remove(&id);
                self.on_finished(end);
            }
            Err(error) => {
                let purpose = self.work.purposes.remove(&error.id());
                if error.is_cancelled() {
                    return;
                }
                let words = "a fault in trialogue ended it".to_owned();
                match purpose {
                    Some(Purpose::Transfer(transfer)) => {
                        self.transfer_failed(transfer, TransferFailure::LocalFile(words));
                    }
                    Some(Purpose::Tool(call)) => self.later(Input::ToolFinished {
                        call,
                        result: Err(words),
                    }),
                    Some(Purpose::Secret) => self.on_secret(Err(words)),
                    None => {}
                }
            }
        }
        self.feed_later();
    }

    fn on_finished(&mut self, end: WorkEnd) {
        match end {
            WorkEnd::Http {
                transfer,
                result,
                download,
            } => self.on_http_end(transfer, result, download),
            WorkEnd::Kept {
                transfer,
                result: Ok(kept),
            } => {
                self.work.forget(transfer);
                self.transfers.close(transfer);
                self.report(transfer, TransferProgress::Finished { path: kept.path });
                self.later(Input::TransferDone {
                    transfer,
                    size: kept.size,
                    sha256: kept.sha256,
                });
            }
            WorkEnd::Kept {
                transfer,
                result: Err(error),
            } => self.transfer_failed(transfer, TransferFailure::LocalFile(error)),
            WorkEnd::Piece {
                transfer,
                upload,
                result,
            } => self.on_piece(transfer, upload, result),
            WorkEnd::Tool { call, result } => self.later(Input::ToolFinished { call, result }),
            WorkEnd::Secret(result) => self.on_secret(result),
        }
    }

    fn on_http_end(
        &mut self,
        transfer: TransferId,
        result: Result<HttpReply, HttpError>,
        download: Option<Download>,
    ) {
        // Called off in the moment it ended.
        if self.work.requests.remove(&transfer).is_none() {
            return;
        }
        match result {
            Ok(reply) => {
                let is_success = (200..300).contains(&reply.status);
                let missing = download.as_ref().and_then(Download::misses);
                if let (true, Some((came, announced))) = (is_success, missing) {
                    let words = format!("it came incomplete, {came} of {announced} bytes");
                    return self.transfer_failed(transfer, TransferFailure::Network(words));
                }
                match download {
                    Some(download) if is_success => self.keep(transfer, download),
                    Some(_) => {
                        self.transfers.close(transfer);
                        let words = format!("The server answered {}.", reply.status);
                        self.report(
                            transfer,
                            TransferProgress::Failed {
                                reason: SafeText::prose(&words),
                            },
                        );
                    }
                    None => {
                        self.work.forget(transfer);
                        self.transfers.close(transfer);
                    }
                }
                self.later(Input::HttpReply(reply));
            }
            Err(error) => {
                let failure = match error {
                    HttpError::TooLarge => TransferFailure::TooLarge,
                    HttpError::LocalFile(words) => TransferFailure::LocalFile(words),
                    HttpError::Network(words) => TransferFailure::Network(words),
                };
                self.transfer_failed(transfer, failure);
            }
        }
    }

    fn on_piece(&mut self, transfer: TransferId, upload: Upload, result: Result<Piece, String>) {
        match result {
            Ok(Piece::Bytes(bytes)) => {
                let (done, total) = (upload.sent(), upload.size());
                self.transfers.give_back(transfer, upload);
                self.on_moved((transfer, done, Some(total)));
                self.later(Input::UploadChunk { transfer, bytes });
            }
            Ok(Piece::End { size, sha256 }) => {
                self.work.forget(transfer);
                self.transfers.close(transfer);
                self.later(Input::UploadEnd {
                    transfer,
                    size,
                    sha256,
                });
            }
            Err(error) => self.transfer_failed(transfer, TransferFailure::LocalFile(error)),
        }
    }

    fn on_secret(&mut self, result: Result<Option<Secret>, String>) {
        self.work.is_reading_secret = false;
        match result {
            Ok(Some(secret)) => {
                self.secret = Some(secret.clone());
                self.later(Input::SecretRenewed(secret));
            }
            // The one it was started with is in no store.
            Ok(None) if self.dials_with_secret => {}
            Ok(None) => self
                .warn("No secret is kept for this account. Give it one, or set `secret_command`."),
            Err(error) => self.warn(&format!(
                "The secret of this account could not be read anew: {error}"
            )),
        }
        self.dial_with_secret();
    }

    /// Reports progress to the person, not too often.
    pub(super) fn on_moved(&mut self, (transfer, done, total): Moved) {
        let now = Instant::now();
        let is_due = self
            .work
            .told
            .get(&transfer)
            .is_none_or(|told| *told + PROGRESS_EVERY <= now);
        if is_due || total == Some(done) {
            self.work.told.insert(transfer, now);
            self.report(transfer, TransferProgress::Moved { done, total });
        }
    }

    fn transfer_failed(&mut self, transfer: TransferId, failure: TransferFailure) {
        self.work.forget(transfer);
        self.transfers.close(transfer);
        let words = match &failure {
            TransferFailure::Cancelled => "It was stopped.".to_owned(),
            TransferFailure::TooLarge => {
                "It is larger than announced or allowed, so it was not kept.".to_owned()
            }
            TransferFailure::LocalFile(words) => format!("The file here: {words}."),
            TransferFailure::Network(words) => format!("The transfer failed: {words}."),
        };
        self.report(
            transfer,
            TransferProgress::Failed {
                reason: SafeText::prose(&words),
            },
        );
        self.later(Input::TransferFailed {
            transfer,
            reason: failure,
        });
    }

    pub(super) fn report(&mut self, transfer: TransferId, progress: TransferProgress) {
        self.push(SessionEvent::Transfer { transfer, progress });
    }
}

/// Counts for the session; what does not fit is left out, the next number says it all.
fn progress(transfer: TransferId, sender: mpsc::Sender<Moved>) -> Progress {
    let told = AtomicU64::new(0);
    Arc::new(move |done, total| {
        if done.saturating_sub(told.load(Ordering::Relaxed)) >= PROGRESS_BYTES
            || total == Some(done)
        {
            told.store(done, Ordering::Relaxed);
            let _ = sender.try_send((transfer, done, total));
        }
    })
}
