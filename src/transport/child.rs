//! A runtime as a child process: JSON lines over its standard streams.
//!
//! Three tasks stand apart, so that no stream can block another: one reads standard output, one
//! writes standard input, one reads standard error, of which the tail is kept for the words at the
//! end. A fourth waits for the process and tells how it ended. The process leads a group of its
//! own; the group is killed on every way out, also when the link is dropped, so that tools the
//! runtime started do not outlive it.

mod lines;
mod survivor;

use super::{Arrivals, Ends, Link, Orders, Outgoing, failed, link};
use crate::domain::io_words;
use crate::link::{ChildSpec, CloseReason, Frame, LinkFailure};
use bytes::BytesMut;
use lines::{Line, Lines, Tail, utf8};
use process_wrap::tokio::{ChildWrapper, CommandWrap};
use std::fmt;
use std::fs::File;
use std::io;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{ChildStdin, Command};
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

/// One line must be taken within this time.
const SEND: Duration = Duration::from_secs(30);
/// A runtime that reads at all takes the line that stops it within this time.
const STOP: Duration = Duration::from_millis(200);
/// After the end of the process its last lines may still be in the pipe.
const LAST_LINES: Duration = Duration::from_millis(500);
/// Between asking the group to end and making it.
const TERM_TO_KILL: Duration = Duration::from_millis(300);
/// A process that closed its output should be gone soon.
const AFTER_OUTPUT: Duration = Duration::from_secs(2);

/// Starts the process and the link to it.
pub async fn start(spec: &ChildSpec) -> Result<Link, CloseReason> {
    prepare_folders(spec)?;
    let lock = match &spec.lock {
        Some(path) => Some(take_lock(path)?),
        None => None,
    };
    if let Some(path) = &spec.lock {
        survivor::stop(path).await;
    }
    let mut child = spawn(spec)?;
    if let (Some(path), Some(id)) = (&spec.lock, child.id()) {
        survivor::note(path, id).await;
    }
    let (Some(stdin), Some(stdout), Some(stderr)) = (
        child.stdin().take(),
        child.stdout().take(),
        child.stderr().take(),
    ) else {
        let _ = child.start_kill();
        return Err(failed(
            LinkFailure::CannotStart,
            "The runtime was started without its standard streams.",
        ));
    };
    let (mut link, ends) = link();
    let Ends {
        arrivals,
        outgoing,
        probes: _,
    } = ends;
    let tail = Arc::new(Mutex::new(Tail::default()));
    let (ended, endings) = mpsc::channel(1);
    let (output_done, output_end) = oneshot::channel();
    let (errors_done, errors_end) = oneshot::channel();
    let reader = tokio::spawn(read_lines(
        stdout,
        arrivals.clone(),
        tail.clone(),
        output_done,
    ));
    let errors = tokio::spawn(read_tail(stderr, tail.clone(), errors_done));
    let writer = tokio::spawn(write(stdin, outgoing, spec.stop_line.clone(), ended));
    let log = Log(tail.clone());
    let supervisor = tokio::spawn(supervise(
        Group { child, _lock: lock },
        arrivals,
        tail,
        endings,
        output_end,
        errors_end,
    ));
    link.tasks.0.extend([supervisor, reader, errors, writer]);
    link.log = Some(log);
    Ok(link)
}

/// What a process wrote last on standard error, to be read while it runs.
pub(super) struct Log(Arc<Mutex<Tail>>);

impl fmt::Debug for Log {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Log(..)")
    }
}

impl Log {
    pub(super) fn text(&self) -> String {
        self.0.lock().map(|tail| tail.text()).unwrap_or_default()
    }
}

fn cannot_start(what: String) -> CloseReason {
    failed(LinkFailure::CannotStart, what)
}

fn prepare_folders(spec: &ChildSpec) -> Result<(), CloseReason> {
    for folder in &spec.folders {
        private_folder(folder).map_err(|error| {
            cannot_start(format!(
                "The folder {} cannot be made: {}",
                folder.display(),
                io_words(&error)
            ))
        })?;
    }
    Ok(())
}

/// Makes a folder that only its owner can read.
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

fn take_lock(path: &Path) -> Result<File, CloseReason> {
    use std::io::{Read, Seek, Write};
    let wrong = |error: io::Error| {
        cannot_start(format!(
            "The lock {} cannot be used: {}",
            path.display(),
            io_words(&error)
        ))
    };
    let mut options = File::options();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path).map_err(wrong)?;
    match file.try_lock() {
        Ok(()) => {
            // Only for the words another program shows.
            let _ = file.set_len(0);
            let _ = file.rewind();
            let _ = write!(file, "{}", std::process::id());
            Ok(file)
        }
        Err(std::fs::TryLockError::WouldBlock) => {
            let mut holder = String::new();
            let _ = file.read_to_string(&mut holder);
            let holder = match holder.trim() {
                "" => String::new(),
                pid => format!(" (process {pid})"),
            };
            Err(failed(
                LinkFailure::Locked,
                format!(
                    "Another trialogue{holder} uses this runtime already. Close it there, or add a \
                     second account."
                ),
            ))
        }
        Err(std::fs::TryLockError::Error(error)) => Err(wrong(error)),
    }
}

fn spawn(spec: &ChildSpec) -> Result<Box<dyn ChildWrapper>, CloseReason> {
    let Some((program, arguments)) = spec.command.split_first() else {
        return Err(cannot_start(
            "No command is set for this runtime. Set `command` of the account.".into(),
        ));
    };
    let mut command = Command::new(program);
    command
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    for (name, _) in std::env::vars_os() {
        let Some(text) = name.to_str() else { continue };
        // The secrets of other accounts are none of its business.
        if text.starts_with("TRIALOGUE_SECRET")
            || spec.removed.iter().any(|pattern| matches(pattern, text))
        {
            command.env_remove(&name);
        }
    }
    command.envs(&spec.environment);
    if let Some(directory) = &spec.directory {
        command.current_dir(directory);
    }
    let mut wrap = CommandWrap::from(command);
    #[cfg(unix)]
    wrap.wrap(process_wrap::tokio::ProcessGroup::leader());
    wrap.wrap(process_wrap::tokio::KillOnDrop);
    wrap.spawn().map_err(|error| {
        let hint = match error.kind() {
            io::ErrorKind::NotFound => match &spec.directory {
                Some(directory) if !directory.is_dir() => {
                    format!("the folder {} does not exist", directory.display())
                }
                _ => "it was not found. Check `command` of the account".into(),
            },
            io::ErrorKind::PermissionDenied => "it may not be run".into(),
            _ => io_words(&error),
        };
        cannot_start(format!("{program} could not be started: {hint}."))
    })
}

/// Whether a variable is meant by a name, or by a beginning with a `*` behind it.
fn matches(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(beginning) => name.starts_with(beginning),
        None => name == pattern,
    }
}

/// The process and everything it started.
struct Group {
    child: Box<dyn ChildWrapper>,
    /// Free again when the group is gone.
    _lock: Option<File>,
}

impl Group {
    fn kill(&mut self) {
        // Fails only when nobody is left, which is what is wanted.
        let _ = self.child.start_kill();
    }

    #[cfg(unix)]
    fn ask_to_end(&self) {
        let _ = self.child.signal(rustix::process::Signal::TERM.as_raw());
    }

    #[cfg(not(unix))]
    fn ask_to_end(&self) {}

    /// Waits for the process itself. The wrapper's own wait would stay until the last member of
    /// the group is gone, on a thread that holds up the end of the program.
    async fn wait(&mut self) -> io::Result<ExitStatus> {
        self.child.inner_mut().wait().await
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}

/// What the writer tells the supervisor.
enum WriterEnd {
    Failed(String),
    Closing(Duration),
}

async fn supervise(
    mut group: Group,
    arrivals: Arrivals,
    tail: Arc<Mutex<Tail>>,
    mut endings: mpsc::Receiver<WriterEnd>,
    mut output_end: oneshot::Receiver<()>,
    errors_end: oneshot::Receiver<()>,
) {
    let mut is_output_open = true;
    let mut is_ours = false;
    let mut failure = None;
    let status = tokio::select! {
            status = group.wait() => status,
            _ = &mut output_end => {
                is_output_open = false;
                match timeout(AFTER_OUTPUT, group.wait()).await {
                    Ok(status) => status,
                    Err(_) => {
                        failure = Some("The runtime closed its output but did not end.".to_owned());
                        end(&mut group, Duration::ZERO).await
                    }
                }
            }
            Some(ending) = endings.recv() => match ending {
                WriterEnd::Closing(grace) => {
                    is_ours = true;
                    end(&mut group, grace).await
                }
                WriterEnd::Failed(what) => {
                    // It may be dying and the pipe only the first sign of it.
                    match timeout(AFTER_OUTPUT, group.wait()).await {
                        Ok(status) => status,
                        Err(_) => {
                            failure = Some(what);
                            end(&mut group, Duration::ZERO).await
                        }
                    }
                }
            },
    };
    group.kill();
    // A grandchild may hold the pipes open for ever.
    let last_lines = async {
        if is_output_open {
            let _ = output_end.await;
        }
        let _ = errors_end.await;
    };
    let _ = timeout(LAST_LINES, last_lines).await;
    let stderr_tail = tail.lock().map(|tail| tail.text()).unwrap_or_default();
    drop(group);
    let reason = match (is_ours, failure, status) {
        (true, _, _) => CloseReason::Ours,
        (false, Some(what), _) => failed(LinkFailure::Broken, what),
        (false, None, Ok(status)) => CloseReason::Exited {
            code: status.code(),
            signal: signal_of(status),
            stderr_tail,
        },
        (false, None, Err(error)) => failed(
            LinkFailure::Broken,
            format!(
                "The runtime could not be watched any longer: {}",
                io_words(&error)
            ),
        ),
    };
    arrivals.down(reason).await;
}

#[cfg(unix)]
fn signal_of(status: ExitStatus) -> Option<i32> {
    std::os::unix::process::ExitStatusExt::signal(&status)
}

#[cfg(not(unix))]
fn signal_of(_: ExitStatus) -> Option<i32> {
    None
}

/// Waits for the process to go by itself, then asks the group, then makes it.
async fn end(group: &mut Group, grace: Duration) -> io::Result<ExitStatus> {
    if let Ok(status) = timeout(grace, group.wait()).await {
        return status;
    }
    group.ask_to_end();
    if let Ok(status) = timeout(TERM_TO_KILL, group.wait()).await {
        return status;
    }
    group.kill();
    group.wait().await
}

async fn read_lines(
    mut stdout: impl AsyncRead + Unpin,
    arrivals: Arrivals,
    tail: Arc<Mutex<Tail>>,
    done: oneshot::Sender<()>,
) {
    let mut lines = Lines::default();
    let mut buffer = BytesMut::with_capacity(64 * 1024);
    'reading: loop {
        buffer.reserve(64 * 1024);
        match stdout.read_buf(&mut buffer).await {
            Ok(0) | Err(_) => break,
            Ok(_) => {}
        }
        lines.take(&mut buffer);
        while let Some(line) = lines.next() {
            match line {
                Line::Whole(bytes) => {
                    if !arrivals.frame(Frame::Text(utf8(bytes))).await {
                        break 'reading;
                    }
                }
                Line::TooLong(size) => {
                    tracing::warn!(
                        size,
                        "a line on standard output is too long and was left out"
                    );
                    if let Ok(mut tail) = tail.lock() {
                        tail.push(
                            format!("(a line of {size} bytes on standard output was left out)\n")
                                .as_bytes(),
                        );
                    }
                }
            }
        }
    }
    let _ = done.send(());
}

async fn read_tail(
    mut stderr: impl AsyncRead + Unpin,
    tail: Arc<Mutex<Tail>>,
    done: oneshot::Sender<()>,
) {
    let mut buffer = vec![0; 4 * 1024];
    while let Ok(count) = stderr.read(&mut buffer).await {
        if count == 0 {
            break;
        }
        if let Ok(mut tail) = tail.lock() {
            tail.push(&buffer[..count]);
        }
    }
    let _ = done.send(());
}

async fn write(
    mut stdin: ChildStdin,
    mut outgoing: Orders,
    stop_line: Option<String>,
    ended: mpsc::Sender<WriterEnd>,
) {
    while let Some(next) = outgoing.recv().await {
        let end = match next {
            Outgoing::Frame(Frame::Text(bytes)) => {
                match timeout(SEND, write_line(&mut stdin, &bytes)).await {
                    Ok(Ok(())) => continue,
                    Ok(Err(error)) => WriterEnd::Failed(format!(
                        "The runtime takes no input any more: {}",
                        io_words(&error)
                    )),
                    Err(_) => {
                        WriterEnd::Failed("The runtime took nothing of what was sent to it.".into())
                    }
                }
            }
            // A line is text; no driver of a child writes bytes.
            Outgoing::Frame(Frame::Binary(_)) => continue,
            Outgoing::Close { grace } => {
                if let Some(line) = &stop_line {
                    let _ = timeout(grace.min(STOP), write_line(&mut stdin, line.as_bytes())).await;
                }
                WriterEnd::Closing(grace)
            }
        };
        // Closed before the supervisor is told: the end of its input is a sign for the runtime.
        drop(stdin);
        let _ = ended.send(end).await;
        return;
    }
}

async fn write_line(stdin: &mut ChildStdin, line: &[u8]) -> io::Result<()> {
    // A runtime may lose a line that comes in pieces while it writes itself.
    let mut whole = Vec::with_capacity(line.len() + 1);
    whole.extend_from_slice(line);
    whole.push(b'\n');
    stdin.write_all(&whole).await?;
    stdin.flush().await
}

#[cfg(all(test, unix))]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::transport::Arrival;

    fn shell(script: &str) -> ChildSpec {
        ChildSpec {
            command: vec!["sh".into(), "-c".into(), script.into()],
            ..ChildSpec::default()
        }
    }

    async fn lines_until_end(link: &mut Link) -> (Vec<String>, CloseReason) {
        let mut lines = Vec::new();
        loop {
            match timeout(Duration::from_secs(20), link.next()).await.unwrap() {
                Arrival::Frame(frame) => lines.push(frame.as_text().unwrap().to_owned()),
                Arrival::Down(reason) => return (lines, reason),
            }
        }
    }

    #[tokio::test]
    async fn lines_go_both_ways_and_the_exit_is_told_with_the_last_words() {
        let script = r#"read a; echo "got $a"; echo "[agent] it broke" >&2; exit 3"#;
        let mut link = start(&shell(script)).await.unwrap();
        link.try_send(Frame::text("{\"x\":1}")).unwrap();
        let (lines, reason) = lines_until_end(&mut link).await;
        assert_eq!(lines, ["got {\"x\":1}"]);
        assert_eq!(
            reason.words(),
            "The runtime ended with code 3: [agent] it broke"
        );
    }

    #[tokio::test]
    async fn a_line_is_written_in_one_piece() {
        // The runtime takes one read only, and says how much of the line came with it.
        let script = "dd bs=65536 count=1 2>/dev/null | wc -c";
        let mut link = start(&shell(script)).await.unwrap();
        let text = "x".repeat(4_000);
        link.try_send(Frame::text(text)).unwrap();
        let (lines, _) = lines_until_end(&mut link).await;
        assert_eq!(lines.first().map(|line| line.trim()), Some("4001"));
    }

    #[tokio::test]
    async fn a_runtime_that_only_talks_to_standard_error_is_not_blocked() {
        let script = "i=0; while [ $i -lt 3000 ]; do echo 'a line of the log that is long enough to \
                      fill a pipe after a while' >&2; i=$((i+1)); done; echo done";
        let mut link = start(&shell(script)).await.unwrap();
        let (lines, reason) = lines_until_end(&mut link).await;
        assert_eq!(lines, ["done"]);
        assert!(matches!(reason, CloseReason::Exited { code: Some(0), .. }));
    }

    #[tokio::test]
    async fn the_stop_line_is_written_and_the_runtime_may_go_by_itself() {
        let mut spec = shell(r#"while read a; do [ "$a" = stop ] && exit 0; done"#);
        spec.stop_line = Some("stop".into());
        let link = start(&spec).await.unwrap();
        let reason = link.close(Vec::new(), Duration::from_secs(20)).await;
        assert_eq!(reason, CloseReason::Ours);
    }

    #[tokio::test]
    async fn a_group_that_will_not_go_is_killed_with_what_it_started() {
        // The grandchild holds the pipe open and ignores being asked.
        let script = "trap '' TERM; (trap '' TERM; echo $$; while :; do sleep 1; done) & echo up; \
                      while :; do sleep 1; done";
        let mut link = start(&shell(script)).await.unwrap();
        assert!(matches!(link.next().await, Arrival::Frame(_)));
        let reason = link.close(Vec::new(), Duration::from_millis(10)).await;
        assert_eq!(reason, CloseReason::Ours);
    }

    #[tokio::test]
    async fn what_cannot_be_started_is_said() {
        let missing = ChildSpec {
            command: vec!["/no/such/program".into()],
            ..ChildSpec::default()
        };
        let words = start(&missing).await.unwrap_err().words();
        assert!(
            words.contains("/no/such/program") && words.contains("not found"),
            "{words}"
        );
        let empty = start(&ChildSpec::default()).await.unwrap_err();
        assert!(matches!(
            empty,
            CloseReason::Failed {
                kind: LinkFailure::CannotStart,
                ..
            }
        ));
    }

    #[tokio::test]
    async fn two_programs_do_not_share_one_runtime() {
        let folder = tempfile::tempdir().unwrap();
        let mut spec = shell("read a");
        spec.folders = vec![folder.path().join("state")];
        spec.lock = Some(folder.path().join("state/lock"));
        let first = start(&spec).await.unwrap();
        let second = start(&spec).await.unwrap_err();
        assert!(matches!(
            second,
            CloseReason::Failed {
                kind: LinkFailure::Locked,
                ..
            }
        ));
        first.close(Vec::new(), Duration::from_secs(20)).await;
        assert!(start(&spec).await.is_ok());
    }

    #[test]
    fn removed_variables_are_named_whole_or_by_their_beginning() {
        assert!(matches("OMI_BYOK_*", "OMI_BYOK_OPENAI"));
        assert!(matches("ANTHROPIC_API_KEY", "ANTHROPIC_API_KEY"));
        assert!(!matches("ANTHROPIC_API_KEY", "ANTHROPIC_API_KEY_2"));
    }
}
