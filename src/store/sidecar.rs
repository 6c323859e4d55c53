//! A copy of outbox and drafts beside the database, for the day the database is damaged. It is
//! rewritten whole when one of them changed and the queue of the store ran empty.

use super::unsent::Unsent;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Writes the copy; an older one stays until the new one is complete.
pub(super) fn write(database: &Path, unsent: &Unsent) -> std::io::Result<()> {
    use std::os::unix::fs::OpenOptionsExt;
    let target = path_of(database);
    // Several processes write here; each has a name of its own for the unfinished file.
    let unfinished = target.with_extension(format!("json.{}", std::process::id()));
    let written = std::fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&unfinished)
        .and_then(|mut file| file.write_all(&serde_json::to_vec(unsent)?))
        .and_then(|()| std::fs::rename(&unfinished, &target));
    if written.is_err() {
        let _ = std::fs::remove_file(&unfinished);
    }
    written
}

/// Reads it; none when there is none or it makes no sense.
pub(super) fn read(database: &Path) -> Option<Unsent> {
    let text = std::fs::read(path_of(database)).ok()?;
    serde_json::from_slice(&text).ok()
}

fn path_of(database: &Path) -> PathBuf {
    database.with_file_name("unsent.json")
}
