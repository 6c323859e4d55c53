//! The lock of a profile: one screen at a time. The lock is the operating system's and ends with
//! the process, however it ends; the number in the file only says whose it is.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// Held as long as it lives.
#[derive(Debug)]
pub struct ProfileLock {
    _file: File,
}

/// Why the lock was not taken.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Another screen has this profile; look at it there, or start without writing.
    #[error("another trialogue is open on this profile{}", pid.map(|pid| format!(" (process {pid})")).unwrap_or_default())]
    Held { pid: Option<u32> },
    /// The file cannot be made or locked here; going on without the lock is possible.
    #[error("cannot lock {path}: {}", crate::domain::io_words(source))]
    Io {
        path: PathBuf,
        source: std::io::Error,
    },
}

/// Takes the lock of a profile.
pub fn acquire(path: impl AsRef<Path>) -> Result<ProfileLock, LockError> {
    use std::os::unix::fs::OpenOptionsExt;
    let path = path.as_ref();
    let io = |source| LockError::Io {
        path: path.to_owned(),
        source,
    };
    let mut file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(path)
        .map_err(io)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let mut text = String::new();
            // Without a number the message is just shorter.
            let _ = (&file).take(32).read_to_string(&mut text);
            return Err(LockError::Held {
                pid: text.trim().parse().ok(),
            });
        }
        Err(TryLockError::Error(source)) => return Err(io(source)),
    }
    file.set_len(0)
        .and_then(|()| file.seek(SeekFrom::Start(0)))
        .and_then(|_| writeln!(file, "{}", std::process::id()))
        .map_err(io)?;
    Ok(ProfileLock { _file: file })
}
