//! Recordings of a session: what a report of a fault needs. One file of JSON lines, readable by its
//! owner only, with every frame as the driver masks it, and the keys that were pressed. Texts of
//! messages are in it; secrets are not: frames are masked, and what is typed while a form may ask
//! for a secret is left out.
//!
//! # The format, version 1
//! The first line is the head: `recording` (1), `version` of the program, `started_ms` (wall),
//! `columns`, `rows`, `focus` (account and conversation that were on screen, or null). Every other
//! line has `t`, milliseconds since the start, and one of:
//!
//! | fields | meaning |
//! |---|---|
//! | `accounts`, `sidebar` | accounts in their order, and how the sidebar stood |
//! | `account`, `kind`, `seed`, `facts` | an account is about to connect; its driver is built with these |
//! | `account`, `up` | a link stands |
//! | `account`, `in` · `out` | a frame of the server · of ours |
//! | `account`, `in_bytes` · `out_bytes` | a binary frame by its length |
//! | `account`, `command` | what the program asked the driver for, in the words of the transcripts |
//! | `account`, `down` | the link is over, and how |
//! | `key` · `paste` · `focus` · `size` · `mouse` | what the terminal said |
//! | `hidden` | something was typed that is not written down |
//! | `left_out` | so many lines are missing here: the disk was slower than the link |
//!
//! [`Recorder`] writes it, [`read`] reads it, [`stage`] plays it into the real interface, and
//! [`transcript`] makes a driver test of it.

pub mod read;
pub mod stage;
pub mod transcript;
mod words;

pub use words::{command_words, ending};

use crate::app::screen::sidebar::{COLUMNS, FOLDED, SHOWN};
use crate::domain::{Command, ConversationId, Moment};
use crate::input::{MouseButton, MouseEvent, MouseKind, TerminalEvent};
use crate::link::{CloseReason, Frame};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

/// What is kept of a window and says how the sidebar stands.
pub const SIDEBAR: [&str; 3] = [FOLDED, SHOWN, COLUMNS];

/// Version of the format.
pub const VERSION: u64 = 1;
/// Lines that may wait for the disk.
const WAITING: usize = 2_048;
/// Written out at least so often.
const FLUSH: Duration = Duration::from_millis(250);
/// How long the end of a program waits for the disk.
const LAST_FLUSH: Duration = Duration::from_secs(2);

/// What stands at the head of a recording.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Head {
    pub version: String,
    pub started_ms: i64,
    pub columns: u16,
    pub rows: u16,
    pub focus: Option<(String, String)>,
}

impl Head {
    /// The head as a line.
    pub fn line(&self) -> String {
        json!({
            "recording": VERSION, "version": self.version, "started_ms": self.started_ms,
            "columns": self.columns, "rows": self.rows, "focus": self.focus,
        })
        .to_string()
    }
}

enum Job {
    Line(String),
    /// Writes out what came before, then says so.
    Flush(SyncSender<()>),
}

/// A recording in the making. Clones write to the same file; it never waits for the disk.
#[derive(Clone)]
pub struct Recorder {
    jobs: SyncSender<Job>,
    has_keys: bool,
    left_out: Arc<AtomicU64>,
}

impl std::fmt::Debug for Recorder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Recorder").finish_non_exhaustive()
    }
}

impl Recorder {
    /// Begins a file, readable by its owner only. An older one is replaced.
    pub fn create(path: &Path, head: &Head) -> io::Result<Self> {
        let file = private_file(path)?;
        let (jobs, written) = sync_channel(WAITING);
        std::thread::Builder::new()
            .name("recording".into())
            .spawn(move || write(file, &written))?;
        let recorder = Self {
            jobs,
            has_keys: true,
            left_out: Arc::default(),
        };
        recorder.line(head.line());
        Ok(recorder)
    }

    /// The same, but what is typed is left out.
    pub fn without_keys(self) -> Self {
        Self {
            has_keys: false,
            ..self
        }
    }

    /// Accounts in their order, and how the sidebar stood.
    pub fn sidebar(&self, accounts: &[String], ui: &[(String, String)]) {
        self.line(sidebar_line(accounts, ui));
    }

    /// An account is about to connect.
    pub fn session(
        &self,
        at: Moment,
        account: &str,
        kind: &str,
        seed: &[u8; 16],
        facts: &BTreeMap<String, String>,
    ) {
        let seed: String = seed.iter().map(|byte| format!("{byte:02x}")).collect();
        self.put(
            at,
            json!({"account": account, "kind": kind, "seed": seed, "facts": facts}),
        );
    }

    /// A link stands.
    pub fn up(&self, at: Moment, account: &str) {
        self.put(at, json!({"account": account, "up": true}));
    }

    /// The link is over.
    pub fn down(&self, at: Moment, account: &str, reason: &CloseReason) {
        self.put(at, json!({"account": account, "down": ending(reason)}));
    }

    /// One masked frame.
    pub fn frame(&self, at: Moment, account: &str, outgoing: bool, frame: &Frame) {
        self.put(at, frame_value(account, outgoing, frame));
    }

    /// What the driver was asked for.
    pub fn command(&self, at: Moment, account: &str, command: &Command) {
        if let Some(words) = command_words(command) {
            self.put(at, json!({"account": account, "command": words}));
        }
    }

    /// What the terminal said; `is_hidden` while it may be a secret.
    pub fn terminal(&self, at: Moment, event: &TerminalEvent, is_hidden: bool) {
        if self.has_keys
            && let Some(value) = terminal_value(event, is_hidden)
        {
            self.put(at, value);
        }
    }

    /// Writes out what is waiting; at the end of the program.
    pub fn finish(&self) {
        let (done, is_done) = sync_channel(1);
        if self.jobs.send(Job::Flush(done)).is_ok() {
            let _ = is_done.recv_timeout(LAST_FLUSH);
        }
    }

    fn put(&self, at: Moment, value: Value) {
        self.line(timed(at.mono_ms, value));
    }

    fn line(&self, line: String) {
        let left_out = self.left_out.swap(0, Ordering::Relaxed);
        if left_out > 0 {
            let note = json!({"left_out": left_out}).to_string();
            if self.jobs.try_send(Job::Line(note)).is_err() {
                self.left_out.fetch_add(left_out, Ordering::Relaxed);
            }
        }
        if self.jobs.try_send(Job::Line(line)).is_err() {
            self.left_out.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// A new file that only its owner may read.
pub fn private_file(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(path)
}

/// Writes a recording that is complete.
pub fn save(folder: &Path, path: &Path, head: &Head, lines: &[(u64, String)]) -> io::Result<()> {
    crate::config::paths::make_private(folder)?;
    let mut file = BufWriter::new(private_file(path)?);
    writeln!(file, "{}", head.line())?;
    for (_, line) in lines {
        writeln!(file, "{line}")?;
    }
    file.flush()
}

/// A line with its time.
pub fn timed(at_ms: u64, value: Value) -> String {
    let mut line = Map::new();
    line.insert("t".to_owned(), at_ms.into());
    if let Value::Object(fields) = value {
        line.extend(fields);
    }
    Value::Object(line).to_string()
}

/// The line of accounts and sidebar; of what is kept of a window only what says how it looks.
pub fn sidebar_line(accounts: &[String], ui: &[(String, String)]) -> String {
    let kept: BTreeMap<&str, &str> = ui
        .iter()
        .filter(|(name, _)| SIDEBAR.contains(&name.as_str()))
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect();
    timed(0, json!({"accounts": accounts, "sidebar": kept}))
}

/// A masked frame as it stands in a line.
pub fn frame_value(account: &str, outgoing: bool, frame: &Frame) -> Value {
    match frame {
        Frame::Text(_) => {
            let direction = if outgoing { "out" } else { "in" };
            json!({"account": account, direction: frame.as_text().unwrap_or_default()})
        }
        Frame::Binary(bytes) => bytes_value(account, outgoing, bytes.len()),
    }
}

/// Of the piece of a file a line says only how large it was.
pub fn bytes_value(account: &str, outgoing: bool, count: usize) -> Value {
    let direction = if outgoing { "out_bytes" } else { "in_bytes" };
    json!({"account": account, direction: count})
}

fn terminal_value(event: &TerminalEvent, is_hidden: bool) -> Option<Value> {
    Some(match event {
        TerminalEvent::Key(_) | TerminalEvent::Paste(_) if is_hidden => json!({"hidden": true}),
        TerminalEvent::Key(chord) => json!({"key": chord.to_string()}),
        TerminalEvent::Paste(text) => json!({"paste": text}),
        TerminalEvent::Focus(on) => json!({"focus": on}),
        TerminalEvent::Resize { columns, rows } => json!({"size": [columns, rows]}),
        TerminalEvent::Mouse(mouse) => json!({"mouse": mouse_words(mouse)?}),
        // The terminal that plays it gives its own answers.
        TerminalEvent::Reply(_) => return None,
    })
}

fn mouse_words(mouse: &MouseEvent) -> Option<Value> {
    let button = |name: &str, button: MouseButton| match button {
        MouseButton::Left => format!("{name}-left"),
        MouseButton::Middle => format!("{name}-middle"),
        MouseButton::Right => format!("{name}-right"),
    };
    let kind = match mouse.kind {
        MouseKind::Down(of) => button("down", of),
        MouseKind::Up(of) => button("up", of),
        MouseKind::Drag(of) => button("drag", of),
        MouseKind::WheelUp => "wheel-up".to_owned(),
        MouseKind::WheelDown => "wheel-down".to_owned(),
        MouseKind::Moved => return None,
    };
    Some(json!([kind, mouse.column, mouse.row]))
}

fn write(file: File, jobs: &Receiver<Job>) {
    let mut file = BufWriter::new(file);
    loop {
        match jobs.recv_timeout(FLUSH) {
            // A disk that is full ends the recording, not the conversation.
            Ok(Job::Line(line)) => {
                if writeln!(file, "{line}").is_err() {
                    return;
                }
            }
            Ok(Job::Flush(done)) => {
                let _ = file.flush();
                let _ = done.try_send(());
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

/// Accounts and conversations that a recording speaks of, for a profile to play it in.
pub fn focus_of(head: &Head) -> Option<(&str, ConversationId)> {
    let (account, conversation) = head.focus.as_ref()?;
    Some((account, ConversationId::from(conversation.as_str())))
}
