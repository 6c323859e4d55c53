//! The command of an account whose first line of output is its secret.

use super::SecretError;
use crate::domain::Secret;
use crate::text::SafeText;
use rustix::process::{Pid, Signal, kill_process_group};
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;
use zeroize::Zeroize;

/// Bytes of output that are looked at.
const OUTPUT: u64 = 64 << 10;

/// Runs the command and takes the first line of its output.
pub(super) fn run(words: &[String], limit: Duration) -> Result<Secret, SecretError> {
    let program = words.first().cloned().unwrap_or_default();
    let failed = |reason: String| SecretError::Command {
        program: program.clone(),
        reason,
    };
    let mut command = Command::new(&program);
    command
        .args(words.iter().skip(1))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // A group of its own, so that all of it can be ended, and Ctrl+C does not reach it.
        .process_group(0);
    for name in super::variables() {
        command.env_remove(name);
    }
    let mut child = command.spawn().map_err(|error| {
        failed(format!(
            "could not be started: {}",
            crate::domain::io_words(&error)
        ))
    })?;
    let output = drain(child.stdout.take());
    let complaint = drain(child.stderr.take());
    let mut output = match output.recv_timeout(limit) {
        Ok(output) => output,
        Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
            end(&mut child);
            return Err(failed(format!(
                "did not end in time ({} s)",
                limit.as_secs()
            )));
        }
    };
    // Its output has ended, so it is about to end itself; a child of its own may hold standard
    // error open, so that is not waited for long.
    let status = wait(&mut child, limit);
    let secret = first_line(&output);
    output.zeroize();
    match status {
        Some(status) if status.success() => {
            secret.ok_or_else(|| failed("printed nothing".to_owned()))
        }
        Some(status) => {
            let words = complaint
                .recv_timeout(Duration::from_millis(500))
                .unwrap_or_default();
            let words = SafeText::label(String::from_utf8_lossy(&words).trim());
            Err(failed(match words.is_empty() {
                true => format!("failed ({status})"),
                false => format!("failed ({status}): {words}"),
            }))
        }
        None => Err(failed("did not end in time".to_owned())),
    }
}

/// Reads a stream to its end on a thread of its own.
fn drain(stream: Option<impl Read + Send + 'static>) -> Receiver<Vec<u8>> {
    let (reply, answer) = channel();
    let Some(mut stream) = stream else {
        return answer;
    };
    // Without the thread the receiver hears at once that nothing comes.
    let _ = std::thread::Builder::new()
        .name("secret-command".to_owned())
        .spawn(move || {
            let mut bytes = Vec::new();
            // What could be read counts, whatever ended it.
            let _ = stream.by_ref().take(OUTPUT).read_to_end(&mut bytes);
            let _ = reply.send(bytes);
            // The rest is drained, or the program would never end.
            let _ = std::io::copy(&mut stream, &mut std::io::sink());
        });
    answer
}

/// The first line; none when it is empty.
fn first_line(output: &[u8]) -> Option<Secret> {
    let line = output.split(|byte| *byte == b'\n').next()?;
    let text = std::str::from_utf8(line).ok()?.trim();
    (!text.is_empty()).then(|| Secret::new(text.to_owned()))
}

/// Waits for the end, and makes one when it does not come.
fn wait(child: &mut Child, limit: Duration) -> Option<std::process::ExitStatus> {
    let step = Duration::from_millis(10);
    let mut waited = Duration::ZERO;
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Some(status),
            Ok(None) if waited < limit => {
                std::thread::sleep(step);
                waited += step;
            }
            Ok(None) | Err(_) => {
                end(child);
                return None;
            }
        }
    }
}

fn end(child: &mut Child) {
    if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        // It may have ended in this moment.
        let _ = kill_process_group(group, Signal::KILL);
    }
    let _ = child.wait();
}
