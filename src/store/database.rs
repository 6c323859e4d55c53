//! Opening a database: files and their modes, pragmas, migrations, and what to do with a file that
//! is damaged, newer than this program, or on a network folder.

use super::{Health, StoreError, StoreOptions, look, sidecar, unsent};
use crate::domain::{StartFacts, io_words};
use crate::text::SafeText;
use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior};
use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A file of this version takes about twice the room.
const LARGE: usize = 1;

/// All schemas in their order; `user_version` says how many of them a file has.
const MIGRATIONS: &[&str] = &[
    include_str!("migrations/001_init.sql"),
    include_str!("migrations/002_small_index.sql"),
    include_str!("migrations/003_left.sql"),
    include_str!("migrations/004_meeting.sql"),
];

/// How long a write waits for another process.
const BUSY: Duration = Duration::from_secs(5);

/// A database ready for work, and what the first frame needs of it.
pub(super) struct Opened {
    pub connection: Connection,
    pub facts: StartFacts,
}

/// Opens the file, mending what can be mended.
pub(super) fn open(path: &Path, options: &StoreOptions) -> Result<(Opened, Health), StoreError> {
    if options.read_only {
        return open_read_only(path, "it was opened for reading");
    }
    make_private(path).map_err(|error| StoreError::Open {
        path: path.to_owned(),
        reason: io_words(&error),
    })?;
    let is_marked = marker(path).exists();
    match try_open(path, is_marked, options) {
        Ok(opened) => {
            if is_marked {
                remove_quietly(&marker(path));
            }
            Ok(opened)
        }
        Err(Trouble::Newer(version)) => open_read_only(
            path,
            &format!(
                "it was written by a newer version (schema {version}, this one knows {})",
                MIGRATIONS.len()
            ),
        ),
        Err(Trouble::Unwritable(reason)) => open_read_only(path, &reason),
        Err(Trouble::Damaged(reason)) => replace_damaged(path, &reason, options),
        Err(Trouble::Other(error)) => Err(StoreError::Open {
            path: path.to_owned(),
            reason: error.to_string(),
        }),
    }
}

/// A database without a file.
pub(super) fn open_memory() -> Result<(Opened, Health), StoreError> {
    let opened = (|| {
        let mut connection = Connection::open_in_memory()?;
        connection.pragma_update(None, "foreign_keys", true)?;
        connection.set_prepared_statement_cache_capacity(128);
        migrate(&mut connection, None)?;
        let facts = look::start(&connection)?;
        Ok(Opened { connection, facts })
    })()
    .map_err(|error: Trouble| StoreError::Open {
        path: PathBuf::from(":memory:"),
        reason: error.to_string(),
    })?;
    Ok((opened, Health::default()))
}

/// Remembers that a file turned out to be damaged, so that the next opening looks closer.
pub(super) fn mark_damaged(path: &Path) {
    if let Err(error) = std::fs::write(marker(path), b"") {
        tracing::warn!(%error, "could not mark the store as damaged");
    }
}

enum Trouble {
    Damaged(String),
    Newer(i64),
    Unwritable(String),
    Other(rusqlite::Error),
}

impl std::fmt::Display for Trouble {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Damaged(reason) | Self::Unwritable(reason) => f.write_str(reason),
            Self::Newer(version) => write!(f, "schema {version} is newer than this program"),
            Self::Other(error) => error.fmt(f),
        }
    }
}

impl From<rusqlite::Error> for Trouble {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
                Self::Damaged(error.to_string())
            }
            Some(ErrorCode::ReadOnly) => Self::Unwritable(error.to_string()),
            _ => Self::Other(error),
        }
    }
}

fn try_open(path: &Path, check: bool, options: &StoreOptions) -> Result<(Opened, Health), Trouble> {
    let wants_wal = !is_on_network(path);
    let (mut connection, is_wal) = match connect(path, wants_wal) {
        Ok(connected) => connected,
        // A network folder that could not be recognised: shared memory fails at the first use.
        Err(error) if wants_wal && is_wal_failure(&error) => connect(path, false)?,
        Err(error) => return Err(error.into()),
    };
    migrate(&mut connection, options.before_upgrade)?;
    if check {
        let verdict: String =
            connection.pragma_query_value(None, "integrity_check", |row| row.get(0))?;
        if verdict != "ok" {
            return Err(Trouble::Damaged(verdict));
        }
    }
    if let Some(bytes) = options.max_bytes {
        let page: i64 = connection.pragma_query_value(None, "page_size", |row| row.get(0))?;
        let pages = i64::try_from(bytes).unwrap_or(i64::MAX) / page.max(1);
        connection.pragma_update_and_check(None, "max_page_count", pages, |_| Ok(()))?;
    }
    let facts = look::start(&connection)?;
    let health = Health {
        read_only: None,
        notices: Vec::new(),
        is_wal,
    };
    Ok((Opened { connection, facts }, health))
}

fn connect(path: &Path, wants_wal: bool) -> rusqlite::Result<(Connection, bool)> {
    let connection = Connection::open_with_flags(
        path,
        OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_CREATE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX,
    )?;
    connection.busy_timeout(BUSY)?;
    connection.set_prepared_statement_cache_capacity(128);
    let wanted = if wants_wal { "WAL" } else { "TRUNCATE" };
    let mode: String =
        connection.pragma_update_and_check(None, "journal_mode", wanted, |row| row.get(0))?;
    let is_wal = mode.eq_ignore_ascii_case("wal");
    connection.pragma_update(None, "foreign_keys", true)?;
    // Negative: KiB.
    connection.pragma_update(None, "cache_size", -16_384)?;
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    if is_wal {
        connection.pragma_update(None, "journal_size_limit", 16 << 20)?;
    }
    // Takes every lock once, so that what does not work here fails here.
    connection.execute_batch("BEGIN IMMEDIATE; COMMIT")?;
    Ok((connection, is_wal))
}

fn migrate(connection: &mut Connection, tell: Option<fn(u64)>) -> Result<(), Trouble> {
    let version: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    let known = MIGRATIONS.len();
    let Ok(done) = usize::try_from(version) else {
        return Err(Trouble::Damaged(format!("schema number {version}")));
    };
    if done > known {
        return Err(Trouble::Newer(version));
    }
    if done == known {
        return Ok(());
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Another process may have migrated while this one waited for the lock.
    let version: i64 = transaction.pragma_query_value(None, "user_version", |row| row.get(0))?;
    let done = usize::try_from(version).unwrap_or_default();
    let becomes_smaller = done == LARGE;
    if becomes_smaller && let Some(tell) = tell {
        let count: i64 =
            transaction.query_row("SELECT count(*) FROM entry", [], |row| row.get(0))?;
        tell(count.unsigned_abs());
    }
    for migration in MIGRATIONS.iter().skip(done) {
        transaction.execute_batch(migration)?;
    }
    if done < known {
        transaction.pragma_update(
            None,
            "user_version",
            i64::try_from(known).unwrap_or_default(),
        )?;
    }
    transaction.commit()?;
    if becomes_smaller {
        // What the old schema took is given back to the disk. Without room for that it stays in
        // the file and is used again.
        if let Err(error) = connection.execute_batch("VACUUM") {
            tracing::warn!(%error, "could not make the store smaller");
        }
    }
    Ok(())
}

fn open_read_only(path: &Path, reason: &str) -> Result<(Opened, Health), StoreError> {
    let connection = Connection::open_with_flags(
        path,
        OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX,
    )
    .and_then(|connection| {
        connection.busy_timeout(BUSY)?;
        connection.set_prepared_statement_cache_capacity(128);
        Ok(connection)
    })
    .map_err(|error| StoreError::Open {
        path: path.to_owned(),
        reason: error.to_string(),
    })?;
    // A newer schema may lack what is asked for; then the screen begins empty.
    let facts = look::start(&connection).unwrap_or_else(|error| {
        tracing::warn!(%error, "could not read the start of a read-only store");
        StartFacts::default()
    });
    let health = Health {
        read_only: Some(SafeText::label(reason)),
        notices: Vec::new(),
        is_wal: false,
    };
    Ok((Opened { connection, facts }, health))
}

/// Sets the damaged file aside, makes a new one, and brings over what was not sent yet.
fn replace_damaged(
    path: &Path,
    reason: &str,
    options: &StoreOptions,
) -> Result<(Opened, Health), StoreError> {
    let open_error = |reason: String| StoreError::Open {
        path: path.to_owned(),
        reason,
    };
    let rescued = rescue(path);
    let aside = set_aside(path).map_err(|error| {
        open_error(format!(
            "it is damaged ({reason}) and could not be set aside: {error}"
        ))
    })?;
    make_private(path).map_err(|error| open_error(io_words(&error)))?;
    let (mut opened, mut health) =
        try_open(path, false, options).map_err(|error| open_error(error.to_string()))?;
    let count = rescued.len();
    if let Err(error) = unsent::restore(&mut opened.connection, rescued) {
        tracing::warn!(%error, "could not bring over what was not sent");
    }
    opened.facts =
        look::start(&opened.connection).map_err(|error| open_error(error.to_string()))?;
    remove_quietly(&marker(path));
    let kept = match count {
        0 => "nothing unsent was found in it".to_owned(),
        count => format!("{count} unsent messages and drafts came over"),
    };
    health.notices.push(SafeText::prose(&format!(
        "The local store was damaged ({reason}). It was set aside as {} and a new one begun; {kept}.",
        aside.display()
    )));
    Ok((opened, health))
}

/// Outbox and drafts, from the damaged file if it gives them, else from the sidecar.
fn rescue(path: &Path) -> unsent::Unsent {
    let from_file = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)
        .and_then(|connection| unsent::read(&connection));
    match from_file {
        Ok(unsent) => unsent,
        Err(_) => sidecar::read(path).unwrap_or_default(),
    }
}

/// Renames the database with its journal files to the first free name.
fn set_aside(path: &Path) -> std::io::Result<PathBuf> {
    let mut number = 1;
    let aside = loop {
        let candidate = with_ending(path, &format!(".damaged-{number}"));
        if !candidate.exists() {
            break candidate;
        }
        number += 1;
    };
    std::fs::rename(path, &aside)?;
    for ending in ["-wal", "-shm", "-journal"] {
        let from = with_ending(path, ending);
        if from.exists() {
            std::fs::rename(from, with_ending(&aside, ending))?;
        }
    }
    Ok(aside)
}

/// Makes the folder 0700 and the file 0600; SQLite gives its other files the mode of the first.
fn make_private(path: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
    if let Some(folder) = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        && !folder.exists()
    {
        std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)?;
    }
    let made = std::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path);
    match made {
        Ok(_) => {}
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            let mode = std::fs::metadata(path)?.permissions().mode();
            if mode & 0o077 != 0 {
                // A read-only file system keeps its mode; that is found out at the first write.
                let _ = std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600));
            }
        }
        // Opened for reading later on, if it can be.
        Err(error)
            if matches!(
                error.kind(),
                ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem
            ) && path.exists() => {}
        Err(error) => return Err(error),
    }
    Ok(())
}

fn is_wal_failure(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(
            ErrorCode::SystemIoFailure
                | ErrorCode::CannotOpen
                | ErrorCode::FileLockingProtocolFailed
                | ErrorCode::NoLargeFileSupport
        )
    )
}

/// WAL needs memory shared between processes, which network file systems do not have.
#[cfg(target_os = "linux")]
fn is_on_network(path: &Path) -> bool {
    /// NFS, SMB, CIFS, SMB2, 9P, AFS, Ceph, and FUSE, behind which sshfs hides.
    const NETWORK: [u32; 8] = [
        0x6969,
        0x517b,
        0xff53_4d42,
        0xfe53_4d42,
        0x0102_1997,
        0x5346_414f,
        0x00c3_6400,
        0x6573_5546,
    ];
    // The kernel's numbers fit 32 bits; the type of the field differs between machines.
    rustix::fs::statfs(path).is_ok_and(|facts| NETWORK.contains(&(facts.f_type as u32)))
}

#[cfg(not(target_os = "linux"))]
fn is_on_network(_path: &Path) -> bool {
    false
}

fn marker(path: &Path) -> PathBuf {
    with_ending(path, ".check")
}

fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::from(path.as_os_str());
    name.push(ending);
    PathBuf::from(name)
}

fn remove_quietly(path: &Path) {
    if let Err(error) = std::fs::remove_file(path)
        && error.kind() != ErrorKind::NotFound
    {
        tracing::warn!(%error, path = %path.display(), "could not remove a file");
    }
}
