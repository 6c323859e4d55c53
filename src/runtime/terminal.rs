//! The terminal's modes: entered once, left by one idempotent function from every way out (return,
//! panic, signal, suspend, editor).
//!
//! Order on the way out: what makes the terminal send bytes first (mouse, focus, paste, keyboard
//! flags), then the looks, then the alternate screen, then raw mode, so that nothing is typed into
//! the shell.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock};

/// Whether our modes are on.
static ACTIVE: AtomicBool = AtomicBool::new(false);
/// The terminal as it was before us.
static ORIGINAL: OnceLock<Mutex<Option<rustix::termios::Termios>>> = OnceLock::new();

/// What to switch on besides raw mode and the alternate screen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Modes {
    pub mouse: bool,
    /// Drag reports too; over SSH only wheel and click.
    pub mouse_drag: bool,
    pub in_tmux: bool,
}

/// Bytes that switch everything off; safe to send to a terminal where nothing is on.
pub const LEAVE: &str = concat!(
    "\x1b[?2026l", // an open synchronized update
    "\x1b[?1003l\x1b[?1002l\x1b[?1000l\x1b[?1006l\x1b[?1015l", // mouse
    "\x1b[?1004l", // focus
    "\x1b[?2004l", // paste
    "\x1b[?2031l", // theme reports
    "\x1b[<u",     // keyboard flags
    "\x1b[>4;0m",  // modifyOtherKeys
    "\x1b]8;;\x1b\\", // an open link
    "\x1b[0m\x1b[r", // attributes, margins
    "\x1b[0 q\x1b[?25h", // cursor
);

/// Leaves the alternate screen and gives the title back.
const LEAVE_SCREEN: &str = "\x1b[?1049l\x1b[23;0t";

/// Undoes what a program that was killed left behind, the alternate screen included. The cursor is
/// kept first: a terminal that shows its own screen would else put it where it was long ago.
pub fn reset() -> String {
    format!("{LEAVE}\x1b7{LEAVE_SCREEN}")
}

/// The terminal this program draws on; a file of its own so that closing it harms nobody.
pub fn open_tty() -> io::Result<File> {
    OpenOptions::new().read(true).write(true).open("/dev/tty")
}

/// Switches our modes on.
pub fn enter(modes: Modes) -> io::Result<()> {
    let tty = open_tty()?;
    let slot = ORIGINAL.get_or_init(|| Mutex::new(None));
    let original = rustix::termios::tcgetattr(&tty)?;
    if let Ok(mut slot) = slot.lock() {
        slot.get_or_insert_with(|| original.clone());
    }
    let mut raw = original;
    raw.make_raw();
    // From here on every way out must restore, so the mark is set first.
    ACTIVE.store(true, Ordering::SeqCst);
    rustix::termios::tcsetattr(&tty, rustix::termios::OptionalActions::Now, &raw)?;
    let mut bytes =
        String::from("\x1b[22;0t\x1b[?1049h\x1b[?25l\x1b[?2004h\x1b[?1004h\x1b[>1u\x1b[?2031h");
    if modes.in_tmux {
        bytes.push_str("\x1b[>4;2m");
    }
    bytes.push_str(mouse(modes));
    (&tty).write_all(bytes.as_bytes())?;
    (&tty).flush()
}

/// Bytes for the mouse as asked.
pub fn mouse(modes: Modes) -> &'static str {
    match (modes.mouse, modes.mouse_drag) {
        (true, true) => "\x1b[?1000h\x1b[?1002h\x1b[?1006h",
        (true, false) => "\x1b[?1002l\x1b[?1000h\x1b[?1006h",
        (false, _) => "\x1b[?1003l\x1b[?1002l\x1b[?1000l\x1b[?1006l",
    }
}

/// Whether the terminal that gives this name and version is known to repeat a character on demand.
/// There is no question for that, and one that can't would show garbage; tmux repeats ASCII only.
pub fn repeats(version: &str) -> bool {
    const KNOWN: [&str; 10] = [
        "XTerm", "VTE", "kitty", "foot", "WezTerm", "iTerm2", "ghostty", "Konsole", "contour",
        "mintty",
    ];
    KNOWN.iter().any(|name| {
        version
            .get(..name.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(name))
    })
}

/// Gives the terminal back as it was. May be called from anywhere and any number of times.
pub fn restore() {
    if !ACTIVE.swap(false, Ordering::SeqCst) {
        return;
    }
    let Ok(tty) = open_tty() else { return };
    let _ = (&tty).write_all(LEAVE.as_bytes());
    let _ = (&tty).write_all(LEAVE_SCREEN.as_bytes());
    let _ = (&tty).flush();
    // Answers still on their way must not be typed into the shell, so the input is drained together
    // with the change.
    if let Some(slot) = ORIGINAL.get()
        && let Ok(slot) = slot.try_lock()
        && let Some(original) = slot.as_ref()
    {
        let _ = rustix::termios::tcsetattr(&tty, rustix::termios::OptionalActions::Flush, original);
    }
}

/// Restores the terminal when it goes out of scope.
pub struct Guard;

impl Drop for Guard {
    fn drop(&mut self) {
        restore();
    }
}

/// The size in columns and rows; a terminal that says 0x0 counts as 80x24.
pub fn size() -> (u16, u16) {
    let size = open_tty()
        .ok()
        .and_then(|tty| rustix::termios::tcgetwinsize(&tty).ok());
    match size {
        Some(size) if size.ws_col > 0 && size.ws_row > 0 => (size.ws_col, size.ws_row),
        _ => (80, 24),
    }
}

/// Where the last crash was noted, and at which place in the source.
static CRASH: Mutex<Option<(String, Option<std::path::PathBuf>)>> = Mutex::new(None);

/// Puts a panic hook in place that writes a crash file without any message text and says nothing:
/// most panics are caught by whoever guards a piece of work, and the screen goes on. One that is not
/// caught unwinds through [`Guard`], which restores the terminal, and `last_crash` has the words.
pub fn install_panic_hook(crash_dir: std::path::PathBuf) {
    std::panic::set_hook(Box::new(move |info| {
        let place = info.location().map(ToString::to_string).unwrap_or_default();
        let report = format!(
            "trialogue {}\npanicked at {place}\n\n{}\n",
            env!("CARGO_PKG_VERSION"),
            std::backtrace::Backtrace::force_capture()
        );
        let path = write_private(&crash_dir, "crash.txt", report.as_bytes()).ok();
        tracing::error!(%place, "a panic");
        if let Ok(mut crash) = CRASH.try_lock() {
            *crash = Some((place, path));
        }
    }));
}

/// Words for the last panic, once the terminal is the shell's again.
pub fn last_crash() -> String {
    let crash = CRASH.try_lock().ok().and_then(|mut crash| crash.take());
    let (place, path) = crash.unwrap_or_default();
    let report = path.map_or_else(String::new, |path| {
        format!(
            " A report without any message text is in {}.",
            path.display()
        )
    });
    format!("trialogue failed and had to stop (at {place}). What you wrote is kept.{report}")
}

/// Writes a file that only its owner can read.
pub fn write_private(
    dir: &std::path::Path,
    name: &str,
    bytes: &[u8],
) -> io::Result<std::path::PathBuf> {
    use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(dir)?;
    let path = dir.join(name);
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&path)?;
    file.write_all(bytes)?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::repeats;

    #[test]
    fn only_terminals_known_to_repeat_any_character_are_asked_to() {
        assert!(repeats("XTerm(390)"));
        assert!(repeats("kitty(0.36)"));
        assert!(!repeats("tmux 3.3a"));
        assert!(!repeats(""));
    }
}
