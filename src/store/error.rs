//! What a store can fail with.

use rusqlite::ErrorCode;
use std::path::PathBuf;

/// Why the store did not do something.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum StoreError {
    /// Nothing can be kept; `store::memory` still works.
    #[error("cannot open {path}: {reason}")]
    Open { path: PathBuf, reason: String },
    /// The batch was not written, everything before it is safe. It may be tried again once there
    /// is room.
    #[error("the disk is full: nothing more can be kept until there is room")]
    DiskFull,
    /// The batch was not written, everything before it is safe. It may be tried again.
    #[error("could not write to the local store: {0}")]
    CommitFailed(String),
    /// Nothing can be written as long as the program runs; lookups still work.
    #[error("the local store is read-only: {0}")]
    ReadOnly(String),
    /// The file is damaged; the next start sets it aside and begins a new one.
    #[error("the local store is damaged: {0}; it will be replaced at the next start")]
    Damaged(String),
    /// The answer could not be found; asking again may help.
    #[error("could not read the local store: {0}")]
    LookFailed(String),
    /// The store was closed; nothing can be done any more.
    #[error("the local store is closed")]
    Closed,
}

impl StoreError {
    /// From a failed write.
    pub(super) fn from_write(error: &rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => Self::DiskFull,
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
                Self::Damaged(error.to_string())
            }
            Some(ErrorCode::ReadOnly) => Self::ReadOnly(error.to_string()),
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
                Self::CommitFailed("another program holds it".to_owned())
            }
            _ => Self::CommitFailed(error.to_string()),
        }
    }

    /// From a failed lookup.
    pub(super) fn from_look(error: &rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
                Self::Damaged(error.to_string())
            }
            _ => Self::LookFailed(error.to_string()),
        }
    }
}
