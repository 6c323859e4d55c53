//! A recording of a link: one line for each frame, as the driver redacted it, in the form in which
//! transcripts are tested, so that a person's report becomes a test by being copied.
//!
//! `up` and `down …` are the ends of links, `< …` came from the server, `> …` went to it, `+ 120ms` is
//! the time between, `<bytes …` and `>bytes …` are binary frames by their length only. A thread of
//! its own writes; when the disk is slower than the link, frames are left out and counted.

use crate::link::{CloseReason, Frame, LinkFailure};
use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::time::Duration;

/// Frames that may wait for the disk.
const WAITING: usize = 1_024;
/// Written out at least so often.
const FLUSH: Duration = Duration::from_secs(1);

/// A recording in the making. Dropping it ends the file.
#[derive(Debug)]
pub struct Tap {
    lines: SyncSender<String>,
    last_ms: Option<u64>,
    left_out: u64,
}

impl Tap {
    /// Begins a file, readable by its owner only. An older one is replaced.
    pub fn create(path: &Path) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true);
        #[cfg(unix)]
        {
            use std::os::unix::fs::OpenOptionsExt;
            options.mode(0o600);
        }
        let file = options.open(path)?;
        let (lines, written) = sync_channel(WAITING);
        std::thread::Builder::new()
            .name("recording".into())
            .spawn(move || write(file, &written))?;
        let mut tap = Self {
            lines,
            last_ms: None,
            left_out: 0,
        };
        tap.line(format!(
            "# recorded by {} {}",
            env!("CARGO_PKG_NAME"),
            env!("CARGO_PKG_VERSION")
        ));
        Ok(tap)
    }

    /// A link stands.
    pub fn up(&mut self, now_ms: u64) {
        self.pass_time(now_ms);
        self.line("up".into());
    }

    /// The link is over.
    pub fn down(&mut self, now_ms: u64, reason: &CloseReason) {
        self.pass_time(now_ms);
        self.line(format!("down {}", ending(reason)));
    }

    /// One redacted frame.
    pub fn frame(&mut self, now_ms: u64, outgoing: bool, frame: &Frame) {
        self.pass_time(now_ms);
        let sign = if outgoing { '>' } else { '<' };
        self.line(match frame {
            // A frame with a line break in it is still one line.
            Frame::Text(_) => format!(
                "{sign} {}",
                frame
                    .as_text()
                    .unwrap_or_default()
                    .replace(['\n', '\r'], " ")
            ),
            Frame::Binary(bytes) => format!("{sign}bytes {}", bytes.len()),
        });
    }

    fn pass_time(&mut self, now_ms: u64) {
        let passed = now_ms.saturating_sub(self.last_ms.unwrap_or(now_ms));
        self.last_ms = Some(now_ms);
        if passed > 0 {
            self.line(format!("+ {passed}ms"));
        }
    }

    fn line(&mut self, line: String) {
        if self.left_out > 0 {
            let note = format!("# {} lines were left out", self.left_out);
            if self.lines.try_send(note).is_ok() {
                self.left_out = 0;
            }
        }
        match self.lines.try_send(line) {
            Ok(()) => {}
            Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => self.left_out += 1,
        }
    }
}

fn ending(reason: &CloseReason) -> String {
    match reason {
        CloseReason::Ours => "ours".into(),
        CloseReason::Peer { code, .. } => match code {
            Some(code) => format!("peer {code}"),
            None => "peer".into(),
        },
        CloseReason::HttpStatus { status } => format!("http {status}"),
        CloseReason::Silent => "silent".into(),
        CloseReason::Exited { code, .. } => match code {
            Some(code) => format!("exited {code}"),
            None => "exited".into(),
        },
        CloseReason::Failed { kind, .. } => match kind {
            LinkFailure::BadAddress => "address",
            LinkFailure::NameNotFound => "name",
            LinkFailure::ConnectionRefused => "refused",
            LinkFailure::Unreachable => "unreachable",
            LinkFailure::TimedOut => "timed-out",
            LinkFailure::Tls => "tls",
            LinkFailure::Proxy => "proxy",
            LinkFailure::Protocol => "protocol",
            LinkFailure::TooLarge => "too-large",
            LinkFailure::Broken => "broken",
            LinkFailure::CannotStart => "start",
            LinkFailure::Locked => "locked",
        }
        .into(),
    }
}

fn write(file: File, lines: &Receiver<String>) {
    use std::sync::mpsc::RecvTimeoutError;
    let mut file = BufWriter::new(file);
    loop {
        match lines.recv_timeout(FLUSH) {
            // A disk that is full ends the recording, not the conversation.
            Ok(line) => {
                if writeln!(file, "{line}").is_err() {
                    return;
                }
            }
            Err(RecvTimeoutError::Timeout) => {
                let _ = file.flush();
            }
            Err(RecvTimeoutError::Disconnected) => {
                let _ = file.flush();
                return;
            }
        }
    }
}
