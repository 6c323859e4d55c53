//! The log of decisions: one JSON object a line, in a file of its own, because it exists nowhere
//! else and must outlive the cache. Lines are only ever added.

use crate::domain::AuditRecord;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};

/// What the file is called beside the database.
pub const FILE_NAME: &str = "decisions.jsonl";

/// Bytes of one line that are read.
const LINE: u64 = 4 << 20;

/// One line, as it is read back.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct AuditLine {
    /// Version of this shape.
    pub v: u32,
    /// Wall milliseconds.
    pub at_ms: i64,
    pub account: String,
    pub conversation: String,
    pub conversation_name: String,
    pub decision: String,
    /// "approval", "clarification", "picker".
    pub kind: String,
    pub question: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// "here", "elsewhere", "expired", "uncertain".
    pub by: String,
}

impl From<&AuditRecord> for AuditLine {
    fn from(record: &AuditRecord) -> Self {
        Self {
            v: 1,
            at_ms: record.at_ms,
            account: record.account.as_str().to_owned(),
            conversation: record.conversation.as_str().to_owned(),
            conversation_name: record.conversation_name.as_str().to_owned(),
            decision: record.decision.as_str().to_owned(),
            kind: record.kind.to_owned(),
            question: record.question.as_str().to_owned(),
            answer: record.answer.clone(),
            reason: record.reason.clone(),
            by: record.by.to_owned(),
        }
    }
}

/// Where lines are added.
pub(super) struct Log {
    path: PathBuf,
}

impl Log {
    pub fn new(path: PathBuf) -> Self {
        Self { path }
    }

    /// Adds lines and waits until they are on disk.
    pub fn add(&self, records: &[AuditRecord]) -> std::io::Result<()> {
        use std::os::unix::fs::OpenOptionsExt;
        let mut lines = Vec::new();
        for record in records {
            serde_json::to_writer(&mut lines, &AuditLine::from(record))?;
            lines.push(b'\n');
        }
        let mut file: File = std::fs::OpenOptions::new()
            .append(true)
            .create(true)
            .mode(0o600)
            .open(&self.path)?;
        // One write, so that lines of two processes do not mix.
        file.write_all(&lines)?;
        file.sync_data()
    }
}

/// Reads all lines, oldest first; what cannot be read is counted, not fatal. A missing file is an
/// empty log.
pub fn read(path: &Path) -> std::io::Result<(Vec<AuditLine>, usize)> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Ok((Vec::new(), 0));
        }
        Err(error) => return Err(error),
    };
    let mut reader = BufReader::new(file);
    let (mut lines, mut unreadable) = (Vec::new(), 0);
    let mut line = Vec::new();
    loop {
        line.clear();
        if reader.by_ref().take(LINE).read_until(b'\n', &mut line)? == 0 {
            return Ok((lines, unreadable));
        }
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        match serde_json::from_slice(&line) {
            Ok(parsed) => lines.push(parsed),
            Err(_) => unreadable += 1,
        }
    }
}
