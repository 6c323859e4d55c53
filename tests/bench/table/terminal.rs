//! A program on a pseudo terminal, with the time at which each piece of its output came.

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};
use std::io::{Read, Write};
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

pub const COLUMNS: u16 = 120;
pub const ROWS: u16 = 40;
const PATIENCE: Duration = Duration::from_secs(60);

type Watch = Box<dyn Fn(&vt100::Screen) -> bool + Send>;

/// What came from the program.
struct Seen {
    screen: vt100::Parser,
    /// When each piece came, and its bytes.
    pieces: Vec<(Instant, usize)>,
    watch: Option<Watch>,
    found: Option<Instant>,
    is_closed: bool,
}

/// A running program.
pub struct Terminal {
    seen: Arc<(Mutex<Seen>, Condvar)>,
    writer: Arc<Mutex<Box<dyn Write + Send>>>,
    child: Box<dyn Child + Send + Sync>,
    master: Box<dyn MasterPty + Send>,
    /// Just before it was started.
    pub started: Instant,
}

/// The program under test on a profile.
pub fn program(home: &Path) -> CommandBuilder {
    let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_trialogue"));
    command.arg("--no-keyring");
    command.env_clear();
    for (name, value) in [
        ("TERM", "xterm-256color"),
        ("LANG", "C.UTF-8"),
        ("TRIALOGUE_SECRET_HOME", "open sesame"),
    ] {
        command.env(name, value);
    }
    command.env("HOME", home);
    command.env("TRIALOGUE_CONFIG_DIR", home.join("config"));
    command.env("TRIALOGUE_DATA_DIR", home.join("data"));
    command.cwd(home);
    command
}

impl Terminal {
    /// Starts a program and watches for the first screen on which something holds.
    pub fn start(
        command: CommandBuilder,
        watch: impl Fn(&vt100::Screen) -> bool + Send + 'static,
    ) -> Self {
        let pair = native_pty_system()
            .openpty(size(COLUMNS, ROWS))
            .expect("a pseudo terminal");
        let mut reader = pair.master.try_clone_reader().expect("its output");
        let writer = Arc::new(Mutex::new(pair.master.take_writer().expect("its input")));
        let seen = Arc::new((
            Mutex::new(Seen {
                screen: parser(COLUMNS, ROWS),
                pieces: Vec::new(),
                watch: Some(Box::new(watch)),
                found: None,
                is_closed: false,
            }),
            Condvar::new(),
        ));
        let (for_reader, answers) = (Arc::clone(&seen), Arc::clone(&writer));
        std::thread::spawn(move || {
            let mut bytes = [0_u8; 65_536];
            loop {
                let count = reader.read(&mut bytes).unwrap_or(0);
                let at = Instant::now();
                let mut seen = for_reader.0.lock().expect("the screen");
                if count == 0 {
                    seen.is_closed = true;
                    for_reader.1.notify_all();
                    return;
                }
                seen.pieces.push((at, count));
                seen.screen.process(&bytes[..count]);
                if seen.found.is_none()
                    && let Some(watch) = &seen.watch
                    && watch(seen.screen.screen())
                {
                    seen.found = Some(at);
                }
                drop(seen);
                for_reader.1.notify_all();
                // What a modern terminal answers.
                for (question, answer) in [
                    (&b"\x1b[c"[..], &b"\x1b[?62;22c"[..]),
                    (b"\x1b[?2026$p", b"\x1b[?2026;2$y"),
                    (b"\x1b[>0q", b"\x1bP>|XTerm(390)\x1b\\"),
                ] {
                    let is_asked = bytes[..count]
                        .windows(question.len())
                        .any(|part| part == question);
                    if is_asked && let Ok(mut writer) = answers.lock() {
                        let _ = writer.write_all(answer);
                    }
                }
            }
        });
        let started = Instant::now();
        let child = pair.slave.spawn_command(command).expect("it starts");
        drop(pair.slave);
        Self {
            seen,
            writer,
            child,
            master: pair.master,
            started,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Seen> {
        self.seen.0.lock().expect("the screen")
    }

    /// Types bytes; just before.
    pub fn send(&self, bytes: &str) -> Instant {
        let mut writer = self.writer.lock().expect("the input");
        let at = Instant::now();
        writer.write_all(bytes.as_bytes()).expect("keys are taken");
        writer.flush().expect("keys are taken");
        at
    }

    /// Watches for something from now on.
    pub fn watch(&self, holds: impl Fn(&vt100::Screen) -> bool + Send + 'static) {
        let mut seen = self.lock();
        seen.found = holds(seen.screen.screen())
            .then(|| seen.pieces.last().map_or_else(Instant::now, |(at, _)| *at));
        seen.watch = Some(Box::new(holds));
    }

    /// When what is watched for came.
    pub fn found(&self, what: &str) -> Instant {
        let deadline = Instant::now() + PATIENCE;
        let mut seen = self.lock();
        loop {
            if let Some(found) = seen.found {
                return found;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            assert!(
                !left.is_zero() && !seen.is_closed,
                "waited for {what}; the screen is:\n{}",
                seen.screen.screen().contents()
            );
            seen = self.seen.1.wait_timeout(seen, left).expect("the screen").0;
        }
    }

    /// Waits until a text is on the screen.
    pub fn wait_for(&self, text: &'static str) -> Instant {
        self.watch(move |screen| screen.contents().contains(text));
        self.found(text)
    }

    /// Waits until nothing came for this long; when the last piece came.
    pub fn quiet(&self, gap: Duration) -> Instant {
        let mut seen = self.lock();
        let deadline = Instant::now() + PATIENCE;
        loop {
            let last = seen.pieces.last().map_or(self.started, |(at, _)| *at);
            let left = gap.saturating_sub(last.elapsed());
            if left.is_zero() || Instant::now() > deadline {
                return last;
            }
            seen = self.seen.1.wait_timeout(seen, left).expect("the screen").0;
        }
    }

    /// What one thing that was done at `from` painted: the end of its first burst of output.
    pub fn painted(&self, from: Instant) -> Instant {
        const GAP: Duration = Duration::from_millis(8);
        let deadline = Instant::now() + PATIENCE;
        let mut seen = self.lock();
        while seen.pieces.last().is_none_or(|(at, _)| *at < from) {
            let left = deadline.saturating_duration_since(Instant::now());
            assert!(!left.is_zero() && !seen.is_closed, "nothing was painted");
            seen = self.seen.1.wait_timeout(seen, left).expect("the screen").0;
        }
        drop(seen);
        self.quiet(Duration::from_millis(60));
        let seen = self.lock();
        let mut end = from;
        for (at, _) in seen.pieces.iter().filter(|(at, _)| *at >= from) {
            if end > from && *at - end > GAP {
                break;
            }
            end = *at;
        }
        end
    }

    /// Bytes that came so far.
    pub fn bytes(&self) -> usize {
        self.lock().pieces.iter().map(|(_, count)| count).sum()
    }

    /// Row and column of the cursor.
    pub fn cursor(&self) -> (u16, u16) {
        self.lock().screen.screen().cursor_position()
    }

    /// Another size; just before.
    pub fn resize(&self, columns: u16, rows: u16) -> Instant {
        self.lock().screen = parser(columns, rows);
        let at = Instant::now();
        self.master.resize(size(columns, rows)).expect("a size");
        at
    }

    pub fn id(&self) -> u32 {
        self.child.process_id().expect("a process id")
    }

    /// Processor time so far, its own and the kernel's for it.
    pub fn cpu(&self) -> Duration {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.id())).expect("its times");
        let fields = stat.rsplit(')').next().unwrap_or_default();
        let ticks: u64 = fields
            .split_whitespace()
            .skip(11)
            .take(2)
            .filter_map(|field| field.parse::<u64>().ok())
            .sum();
        Duration::from_millis(ticks * 10)
    }

    /// The same to the nanosecond, without threads that ended; for what takes only milliseconds.
    pub fn exact_cpu(&self) -> Option<Duration> {
        let mut sum = Duration::ZERO;
        for task in std::fs::read_dir(format!("/proc/{}/task", self.id())).ok()? {
            let stat = std::fs::read_to_string(task.ok()?.path().join("schedstat")).ok()?;
            sum += Duration::from_nanos(stat.split(' ').next()?.parse().ok()?);
        }
        Some(sum)
    }

    /// Resident memory, and its proportional part of what is shared, in KiB.
    pub fn memory(&self) -> (u64, u64) {
        let field = |file: &str, name: &str| {
            let text =
                std::fs::read_to_string(format!("/proc/{}/{file}", self.id())).expect("its memory");
            text.lines()
                .find_map(|line| line.strip_prefix(name))
                .and_then(|rest| rest.split_whitespace().next())
                .and_then(|number| number.parse().ok())
                .unwrap_or(0)
        };
        (field("status", "VmRSS:"), field("smaps_rollup", "Pss:"))
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn parser(columns: u16, rows: u16) -> vt100::Parser {
    let cells = |count: u16| std::num::NonZeroU16::new(count).expect("a size above zero");
    vt100::Parser::new(cells(rows), cells(columns), 0)
}

fn size(cols: u16, rows: u16) -> PtySize {
    PtySize {
        rows,
        cols,
        pixel_width: 0,
        pixel_height: 0,
    }
}
