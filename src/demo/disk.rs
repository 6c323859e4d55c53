//! A folder in which a gateway keeps what outlives it, as a real server does on its disk: one JSON
//! file for each gateway and its uploads beside it. A change is on the disk before anybody hears of
//! it, and a file is either the old or the new one, whenever the process dies.

use super::engine::{Gateway, Kept};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The disk of one gateway.
#[derive(Debug)]
pub(super) struct Disk {
    book: PathBuf,
    files: PathBuf,
    /// What was written last.
    revision: Option<u64>,
}

impl Disk {
    /// The part of the folder that belongs to a gateway of this name; makes the folder. None for a
    /// gateway that keeps nothing.
    pub(super) fn open(
        folder: &Path,
        name: &str,
        gateway: &dyn Gateway,
    ) -> io::Result<Option<Self>> {
        if gateway.revision().is_none() {
            return Ok(None);
        }
        let files = folder.join(format!("{name}-files"));
        std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&files)?;
        Ok(Some(Self {
            book: folder.join(format!("{name}.json")),
            files,
            revision: None,
        }))
    }

    /// What an earlier gateway left here.
    pub(super) fn read(&self) -> io::Result<Option<Kept>> {
        let text = match std::fs::read(&self.book) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let book = serde_json::from_slice(&text)?;
        let mut files = Vec::new();
        for entry in std::fs::read_dir(&self.files)? {
            let entry = entry?;
            if let Ok(id) = entry.file_name().into_string() {
                files.push((id, std::fs::read(entry.path())?.into()));
            }
        }
        Ok(Some(Kept { book, files }))
    }

    /// What the gateway keeps, if it changed since it was last asked.
    pub(super) fn change(&mut self, engine: &dyn Gateway) -> Option<Kept> {
        let revision = engine.revision();
        if revision.is_none() || revision == self.revision {
            return None;
        }
        self.revision = revision;
        Some(engine.kept())
    }

    pub(super) async fn write(&self, kept: Kept) -> io::Result<()> {
        let (book, files) = (self.book.clone(), self.files.clone());
        tokio::task::spawn_blocking(move || write(&book, &files, &kept))
            .await
            .map_err(io::Error::other)?
    }
}

fn write(book: &Path, files: &Path, kept: &Kept) -> io::Result<()> {
    for (id, bytes) in &kept.files {
        let path = files.join(id);
        if !path.exists() {
            replace(&path, bytes)?;
        }
    }
    replace(book, kept.book.to_string().as_bytes())
}

/// Puts a whole file in the place of the old one.
fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let fresh = path.with_extension("new");
    let mut file = std::fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&fresh)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    std::fs::rename(&fresh, path)
}
