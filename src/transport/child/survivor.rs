//! A runtime that outlived this program: one that was killed cannot stop its child, and a child
//! that ignores the end of its input goes on. The process is written down beside the lock, by its
//! number and its start time, and stopped before the next one is started. Only who holds the lock
//! may call these.

use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long it has to go after it was asked.
const ASKED: Duration = Duration::from_secs(1);
const LOOK: Duration = Duration::from_millis(20);

fn file(lock: &Path) -> PathBuf {
    lock.with_file_name("runtime")
}

/// Writes down the process that was just started.
pub(super) async fn note(lock: &Path, id: u32) {
    let path = file(lock);
    let written = tokio::task::spawn_blocking(move || match started_at(id) {
        Some(since) => {
            use std::io::Write;
            let mut options = std::fs::File::options();
            options.write(true).create(true).truncate(true);
            #[cfg(unix)]
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
            writeln!(options.open(path)?, "{id} {since}")
        }
        None => Ok(()),
    });
    if let Ok(Err(error)) = written.await {
        tracing::warn!(%error, "the runtime could not be written down");
    }
}

/// Stops the process that was written down, if it still runs.
pub(super) async fn stop(lock: &Path) {
    let path = file(lock);
    let found = tokio::task::spawn_blocking(move || {
        let text = std::fs::read_to_string(&path).ok()?;
        let _ = std::fs::remove_file(&path);
        let (id, since) = text.trim().split_once(' ')?;
        let id: u32 = id.parse().ok()?;
        lives(id, since).then(|| (id, since.to_owned()))
    });
    let Ok(Some((id, since))) = found.await else {
        return;
    };
    tracing::warn!(
        id,
        "a runtime of an earlier run is still there and is stopped"
    );
    signal(id, Sign::End);
    let until = tokio::time::Instant::now() + ASKED;
    while lives(id, &since) {
        if tokio::time::Instant::now() >= until {
            signal(id, Sign::Kill);
            return;
        }
        tokio::time::sleep(LOOK).await;
    }
    // What it started may not have gone with it.
    signal(id, Sign::Kill);
}

/// Whether this very process is there: its number alone may be another one's by now.
fn lives(id: u32, since: &str) -> bool {
    started_at(id).is_some_and(|now| now == since)
}

enum Sign {
    End,
    Kill,
}

/// A runtime leads a group of its own, so its number names the group.
#[cfg(unix)]
fn signal(id: u32, sign: Sign) {
    let group = i32::try_from(id)
        .ok()
        .and_then(rustix::process::Pid::from_raw);
    if let Some(group) = group {
        let sign = match sign {
            Sign::End => rustix::process::Signal::TERM,
            Sign::Kill => rustix::process::Signal::KILL,
        };
        // Fails when nobody is left, which is what is wanted.
        let _ = rustix::process::kill_process_group(group, sign);
    }
}

#[cfg(not(unix))]
fn signal(_: u32, sign: Sign) {
    match sign {
        Sign::End | Sign::Kill => {}
    }
}

/// When a process started, as the system writes it; none when there is no such process or it is
/// only waited for.
#[cfg(target_os = "linux")]
fn started_at(id: u32) -> Option<String> {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    // The name in parentheses may hold anything; the fields behind it are numbers and a letter.
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_whitespace();
    if matches!(fields.next(), Some("Z" | "X")) {
        return None;
    }
    fields.nth(18).map(str::to_owned)
}

#[cfg(all(unix, not(target_os = "linux")))]
fn started_at(id: u32) -> Option<String> {
    let output = std::process::Command::new("ps")
        .args(["-o", "lstart=", "-p", &id.to_string()])
        .stdin(std::process::Stdio::null())
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

#[cfg(not(unix))]
fn started_at(_: u32) -> Option<String> {
    None
}

#[cfg(all(test, target_os = "linux"))]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::os::unix::process::CommandExt;

    fn sleeper() -> std::process::Child {
        std::process::Command::new("sh")
            .args(["-c", "trap '' TERM; while :; do sleep 1; done"])
            .process_group(0)
            .spawn()
            .unwrap()
    }

    #[tokio::test]
    async fn a_runtime_of_an_earlier_run_is_stopped_at_the_next_start() {
        let folder = tempfile::tempdir().unwrap();
        let lock = folder.path().join("lock");
        let mut child = sleeper();
        note(&lock, child.id()).await;
        stop(&lock).await;
        assert!(!child.wait().unwrap().success());
        assert!(!file(&lock).exists());
    }

    #[tokio::test]
    async fn a_process_that_only_has_the_number_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let lock = folder.path().join("lock");
        let mut child = sleeper();
        std::fs::write(file(&lock), format!("{} 1\n", child.id())).unwrap();
        stop(&lock).await;
        assert!(child.try_wait().unwrap().is_none());
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
