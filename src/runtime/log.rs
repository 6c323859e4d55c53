//! The log file: asked for with `--log`, readable by its owner only, never on the screen. Records
//! are single lines; what comes from outside is written escaped.

use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use tracing_appender::non_blocking::WorkerGuard;
use tracing_subscriber::EnvFilter;

/// Begins to log; the guard writes the rest out when it goes.
pub fn start(path: &Path) -> io::Result<WorkerGuard> {
    let file = OpenOptions::new()
        .create(true)
        .append(true)
        .mode(0o600)
        .open(path)?;
    let (writer, guard) = tracing_appender::non_blocking(file);
    let filter =
        EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("warn,trialogue=info"));
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(writer)
        .with_ansi(false)
        .finish();
    // A second start in one process keeps the first file.
    let _ = tracing::subscriber::set_global_default(subscriber);
    Ok(guard)
}
