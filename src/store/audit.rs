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

/// Two programs of one profile may be told the end of a decision within this.
const SAME_END_MS: i64 = 60_000;

/// The lines without those of programs that only saw a decision end which another program of this
/// profile answered.
pub fn once(lines: Vec<AuditLine>) -> Vec<AuditLine> {
    let is_same = |a: &AuditLine, b: &AuditLine| {
        a.account == b.account
            && a.conversation == b.conversation
            && a.decision == b.decision
            && (a.at_ms - b.at_ms).abs() <= SAME_END_MS
    };
    let answered: Vec<AuditLine> = lines
        .iter()
        .filter(|line| line.by == "here")
        .cloned()
        .collect();
    let mut seen: Vec<AuditLine> = Vec::new();
    lines
        .into_iter()
        .filter(|line| {
            if line.by == "here" {
                return true;
            }
            let is_double = answered.iter().any(|other| is_same(other, line))
                || seen
                    .iter()
                    .any(|other| other.by == line.by && is_same(other, line));
            if !is_double {
                seen.push(line.clone());
            }
            !is_double
        })
        .collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_that_another_program_only_saw_is_one_line() {
        let line = |at_ms, decision: &str, by: &str| AuditLine {
            at_ms,
            decision: decision.to_owned(),
            by: by.to_owned(),
            ..AuditLine::default()
        };
        let all = vec![
            line(1, "a", "elsewhere"),
            line(2, "a", "here"),
            line(3, "b", "elsewhere"),
            line(4, "b", "elsewhere"),
            line(900_000, "a", "elsewhere"),
        ];
        let kept = vec![all[1].clone(), all[2].clone(), all[4].clone()];
        assert_eq!(once(all), kept);
    }
}
