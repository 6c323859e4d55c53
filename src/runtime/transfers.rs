//! The files behind transfers: downloads that grow under a temporary name and take their place when
//! they are complete and on disk, uploads that are read in pieces and must not change meanwhile.
//!
//! A download lies in the account's cache under its hash, so no name of a server ever becomes a
//! path; only a harmless ending is taken from it, for the program that opens it later.

use crate::app::effect::TransferFile;
use crate::domain::{TransferId, io_words};
use crate::transport::http::{Sink, Source};
use bytes::Bytes;
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Unfinished downloads older than this were left by a program that was killed.
const STALE: Duration = Duration::from_secs(24 * 3600);
const PART: &str = "part";

/// The open files of one account.
#[derive(Debug)]
pub struct Transfers {
    cache: PathBuf,
    open: HashMap<TransferId, Open>,
    was_swept: bool,
}

/// What stands behind a transfer.
#[derive(Debug)]
enum Open {
    Download(Download),
    Upload(Upload),
    /// A worker has it.
    Lent,
    /// It could not be opened; said when it is used.
    Failed(String),
}

impl Transfers {
    /// Downloads come to lie in `cache`.
    pub fn new(cache: PathBuf) -> Self {
        Self {
            cache,
            open: HashMap::new(),
            was_swept: false,
        }
    }

    /// Opens a file under a transfer.
    pub fn open(&mut self, transfer: TransferId, file: TransferFile) -> Result<(), String> {
        let opened = match file {
            TransferFile::Download {
                name,
                limit,
                announced,
            } => {
                if !std::mem::replace(&mut self.was_swept, true) {
                    sweep(&self.cache);
                }
                Download::create(&self.cache, transfer, name.as_str(), limit).map(|mut download| {
                    download.announced = announced;
                    Open::Download(download)
                })
            }
            TransferFile::Upload { path, size } => Upload::open(&path, size).map(Open::Upload),
        };
        match opened {
            Ok(open) => {
                self.open.insert(transfer, open);
                Ok(())
            }
            Err(error) => {
                self.open.insert(transfer, Open::Failed(error.clone()));
                Err(error)
            }
        }
    }

    /// Takes a download out, for a worker.
    pub fn lend_download(&mut self, transfer: TransferId) -> Result<Download, String> {
        match self.open.insert(transfer, Open::Lent) {
            Some(Open::Download(download)) => Ok(download),
            other => Err(self.not_that(transfer, other)),
        }
    }

    /// Takes an upload out, for a worker.
    pub fn lend_upload(&mut self, transfer: TransferId) -> Result<Upload, String> {
        match self.open.insert(transfer, Open::Lent) {
            Some(Open::Upload(upload)) => Ok(upload),
            other => Err(self.not_that(transfer, other)),
        }
    }

    fn not_that(&mut self, transfer: TransferId, found: Option<Open>) -> String {
        match found {
            Some(Open::Failed(error)) => {
                self.open.remove(&transfer);
                error
            }
            Some(other) => {
                self.open.insert(transfer, other);
                "it is used for something else already".into()
            }
            None => {
                self.open.remove(&transfer);
                "it is not open any more".into()
            }
        }
    }

    /// Gives an upload back after a piece was read.
    pub fn give_back(&mut self, transfer: TransferId, upload: Upload) {
        // Cancelled meanwhile: then it is gone.
        if let Some(open @ Open::Lent) = self.open.get_mut(&transfer) {
            *open = Open::Upload(upload);
        }
    }

    /// Adds bytes to a download; gives its size so far.
    pub fn append(&mut self, transfer: TransferId, bytes: &[u8]) -> Result<u64, AppendError> {
        let download = match self.open.get_mut(&transfer) {
            Some(Open::Download(download)) => download,
            Some(Open::Failed(error)) => return Err(AppendError::LocalFile(error.clone())),
            Some(Open::Lent | Open::Upload(_)) | None => return Err(AppendError::NotOpen),
        };
        if download.size + bytes.len() as u64 > download.limit {
            return Err(AppendError::TooLarge);
        }
        download.take(bytes).map_err(AppendError::LocalFile)?;
        Ok(download.size)
    }

    /// Forgets a transfer; an unfinished download is deleted.
    pub fn close(&mut self, transfer: TransferId) -> bool {
        self.open.remove(&transfer).is_some()
    }
}

/// Why bytes were not taken.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum AppendError {
    /// Cancelled, or never opened: the bytes are left out.
    NotOpen,
    TooLarge,
    LocalFile(String),
}

/// A download in the making; deleted when it is dropped unfinished.
#[derive(Debug)]
pub struct Download {
    file: File,
    part: PathBuf,
    folder: PathBuf,
    ending: String,
    size: u64,
    limit: u64,
    announced: Option<u64>,
    hash: Sha256,
    is_kept: bool,
}

/// A complete download.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Kept {
    pub path: PathBuf,
    pub size: u64,
    pub sha256: [u8; 32],
}

impl Download {
    fn create(cache: &Path, transfer: TransferId, name: &str, limit: u64) -> Result<Self, String> {
        let part = cache.join(format!("{:016x}-{}.{PART}", transfer.0, std::process::id()));
        let create = || {
            private_folder(cache)?;
            let mut options = OpenOptions::new();
            options.write(true).create_new(true);
            #[cfg(unix)]
            {
                use std::os::unix::fs::OpenOptionsExt;
                options.mode(0o600);
            }
            options.open(&part)
        };
        let file = create().map_err(|error| {
            format!(
                "a file in {} cannot be made: {}",
                cache.display(),
                io_words(&error)
            )
        })?;
        Ok(Self {
            file,
            part,
            folder: cache.to_owned(),
            ending: ending_of(name),
            size: 0,
            limit,
            announced: None,
            hash: Sha256::new(),
            is_kept: false,
        })
    }

    /// How much came of how much was announced, when that is not the same.
    pub fn misses(&self) -> Option<(u64, u64)> {
        let announced = self.announced?;
        (announced != self.size).then_some((self.size, announced))
    }

    /// At most so many bytes.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// Writes everything to the disk and gives the file its place. Blocks.
    pub fn keep(mut self) -> Result<Kept, String> {
        let sha256: [u8; 32] = std::mem::take(&mut self.hash).finalize().into();
        let hex: String = sha256.iter().map(|byte| format!("{byte:02x}")).collect();
        let path = self.folder.join(format!("{hex}{}", self.ending));
        let put = || {
            self.file.sync_all()?;
            std::fs::rename(&self.part, &path)?;
            // The new name must be on the disk too; not every system lets a folder be opened.
            if let Ok(folder) = File::open(&self.folder) {
                let _ = folder.sync_all();
            }
            Ok::<_, io::Error>(())
        };
        put().map_err(|error| format!("it could not be kept: {}", io_words(&error)))?;
        self.is_kept = true;
        Ok(Kept {
            path,
            size: self.size,
            sha256,
        })
    }
}

impl Sink for Download {
    fn take(&mut self, bytes: &[u8]) -> Result<(), String> {
        self.file
            .write_all(bytes)
            .map_err(|error| format!("it could not be written: {}", io_words(&error)))?;
        self.hash.update(bytes);
        self.size += bytes.len() as u64;
        Ok(())
    }
}

impl Drop for Download {
    fn drop(&mut self) {
        if !self.is_kept {
            let _ = std::fs::remove_file(&self.part);
        }
    }
}

/// A file of the person on its way out.
#[derive(Debug)]
pub struct Upload {
    file: File,
    size: u64,
    modified: Option<SystemTime>,
    sent: u64,
    hash: Sha256,
}

/// What reading the next piece gave.
#[derive(Debug)]
pub enum Piece {
    Bytes(Bytes),
    End { size: u64, sha256: [u8; 32] },
}

impl Upload {
    fn open(path: &Path, size: u64) -> Result<Self, String> {
        let shown = path.display();
        let wrong = |error: io::Error| format!("{shown} cannot be read: {}", io_words(&error));
        // Looked at before it is opened: opening a pipe would wait for a writer.
        if !std::fs::metadata(path).map_err(wrong)?.is_file() {
            return Err(format!("{shown} is not a file"));
        }
        let file = File::open(path).map_err(wrong)?;
        let facts = file.metadata().map_err(wrong)?;
        if !facts.is_file() {
            return Err(format!("{shown} is not a file"));
        }
        if facts.len() != size {
            return Err(format!("{shown} changed since it was attached"));
        }
        Ok(Self {
            file,
            size,
            modified: facts.modified().ok(),
            sent: 0,
            hash: Sha256::new(),
        })
    }

    /// Its size in bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Bytes that were read so far.
    pub fn sent(&self) -> u64 {
        self.sent
    }

    /// The next piece. Blocks.
    pub fn read(&mut self, max: usize) -> Result<Piece, String> {
        let room = usize::try_from(self.size - self.sent).unwrap_or(usize::MAX);
        let mut bytes = vec![0; max.clamp(1, MAX_PIECE).min(room)];
        if bytes.is_empty() {
            self.check_unchanged()?;
            return Ok(Piece::End {
                size: self.size,
                sha256: std::mem::take(&mut self.hash).finalize().into(),
            });
        }
        self.file.read_exact(&mut bytes).map_err(|error| {
            if error.kind() == io::ErrorKind::UnexpectedEof {
                "it became shorter while it was sent".into()
            } else {
                format!("it cannot be read: {}", io_words(&error))
            }
        })?;
        self.hash.update(&bytes);
        self.sent += bytes.len() as u64;
        Ok(Piece::Bytes(bytes.into()))
    }

    /// Fails when the file is not what it was when it was opened.
    pub fn check_unchanged(&self) -> Result<(), String> {
        let facts: Metadata = self
            .file
            .metadata()
            .map_err(|error| format!("it cannot be read: {}", io_words(&error)))?;
        if facts.len() != self.size || facts.modified().ok() != self.modified {
            return Err("it changed while it was sent".into());
        }
        Ok(())
    }

    /// The whole file for a worker that streams it by itself.
    pub fn source(&self) -> Result<Source, String> {
        let wrong = |error: io::Error| format!("it cannot be read: {}", io_words(&error));
        let mut file = self.file.try_clone().map_err(wrong)?;
        file.rewind().map_err(wrong)?;
        Ok(Source {
            file,
            size: self.size,
        })
    }
}

/// A driver that asks for more gets this much.
const MAX_PIECE: usize = 1024 * 1024;

/// Endings that make a system run a file instead of showing it.
const RUNNABLE: &[&str] = &[
    "app", "bat", "cmd", "com", "command", "cpl", "desktop", "exe", "hta", "jar", "js", "lnk",
    "msi", "pif", "ps1", "reg", "scf", "scr", "sh", "terminal", "tool", "url", "vbs", "webloc",
    "wsf",
];

/// The ending of a name, when it is a plain one and opening such a file only shows it.
fn ending_of(name: &str) -> String {
    match name.rsplit_once('.') {
        Some((before, ending))
            if !before.is_empty()
                && (1..=8).contains(&ending.len())
                && ending.bytes().all(|byte| byte.is_ascii_alphanumeric()) =>
        {
            let ending = ending.to_ascii_lowercase();
            if ending == PART || RUNNABLE.contains(&ending.as_str()) {
                String::new()
            } else {
                format!(".{ending}")
            }
        }
        _ => String::new(),
    }
}

fn private_folder(folder: &Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::DirBuilderExt;
        builder.mode(0o700);
    }
    builder.create(folder)
}

/// Deletes what a killed program left. Failures are left to the next time.
fn sweep(cache: &Path) {
    let Ok(entries) = std::fs::read_dir(cache) else {
        return;
    };
    for entry in entries.flatten() {
        let path = entry.path();
        let is_part = path.extension().is_some_and(|ending| ending == PART);
        let is_stale = entry
            .metadata()
            .and_then(|facts| facts.modified())
            .is_ok_and(|at| at.elapsed().is_ok_and(|age| age > STALE));
        if is_part && is_stale {
            let _ = std::fs::remove_file(path);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::text::SafeText;

    const ONE: TransferId = TransferId(1);

    fn download(name: &str, limit: u64) -> TransferFile {
        TransferFile::Download {
            name: SafeText::label(name),
            limit,
            announced: None,
        }
    }

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<_> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_download_takes_its_place_under_its_hash_and_never_under_the_servers_name() {
        let folder = tempfile::tempdir().unwrap();
        for (name, ending) in [
            ("Report.PDF", ".pdf"),
            ("../../.bashrc", ".bashrc"),
            ("a photo.png.desktop", ""),
            ("a/b.sh\u{202e}gpj", ""),
            ("x.verylongending", ""),
            (".png", ""),
        ] {
            let mut transfers = Transfers::new(folder.path().join("cache"));
            transfers.open(ONE, download(name, 10)).unwrap();
            transfers.append(ONE, b"hel").unwrap();
            transfers.append(ONE, b"lo").unwrap();
            let kept = transfers.lend_download(ONE).unwrap().keep().unwrap();
            assert_eq!(kept.size, 5);
            assert_eq!(
                kept.path.parent(),
                Some(folder.path().join("cache").as_path())
            );
            let file = kept.path.file_name().unwrap().to_str().unwrap();
            assert!(file.starts_with("2cf24dba5fb0a30e"), "{file}");
            assert_eq!(&file[64..], ending, "{name}");
            assert_eq!(std::fs::read(&kept.path).unwrap(), b"hello");
        }
    }

    #[test]
    fn what_is_not_finished_leaves_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        let mut transfers = Transfers::new(folder.path().to_owned());
        transfers.open(ONE, download("a.png", 10)).unwrap();
        transfers.append(ONE, b"123").unwrap();
        assert_eq!(names(folder.path()).len(), 1);
        assert!(transfers.close(ONE));
        assert!(names(folder.path()).is_empty());
        assert_eq!(transfers.append(ONE, b"4"), Err(AppendError::NotOpen));
    }

    #[test]
    fn a_limit_is_a_limit() {
        let folder = tempfile::tempdir().unwrap();
        let mut transfers = Transfers::new(folder.path().to_owned());
        transfers.open(ONE, download("a.png", 4)).unwrap();
        assert_eq!(transfers.append(ONE, b"1234"), Ok(4));
        assert_eq!(transfers.append(ONE, b"5"), Err(AppendError::TooLarge));
    }

    #[test]
    fn an_upload_comes_in_pieces_with_its_hash_at_the_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("note.txt");
        std::fs::write(&path, "hello").unwrap();
        let mut transfers = Transfers::new(folder.path().to_owned());
        let file = TransferFile::Upload { path, size: 5 };
        transfers.open(ONE, file).unwrap();
        let mut upload = transfers.lend_upload(ONE).unwrap();
        let mut got = Vec::new();
        loop {
            match upload.read(2).unwrap() {
                Piece::Bytes(bytes) => got.extend_from_slice(&bytes),
                Piece::End { size, sha256 } => {
                    assert_eq!((size, sha256[0]), (5, 0x2c));
                    break;
                }
            }
        }
        assert_eq!(got, b"hello");
    }

    #[test]
    fn a_file_that_changed_since_it_was_attached_is_not_sent() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("note.txt");
        std::fs::write(&path, "hello").unwrap();
        let open = |size| Upload::open(&path, size);
        assert!(open(4).unwrap_err().contains("changed"));
        let mut upload = open(5).unwrap();
        std::fs::write(&path, "hel").unwrap();
        assert!(upload.read(5).unwrap_err().contains("shorter"));
        let mut upload = Upload::open(&path, 3).unwrap();
        assert!(matches!(upload.read(3), Ok(Piece::Bytes(_))));
        std::fs::write(&path, "other").unwrap();
        assert!(upload.read(3).unwrap_err().contains("changed"));
        assert!(
            Upload::open(folder.path(), 0)
                .unwrap_err()
                .contains("not a file")
        );
    }
}
