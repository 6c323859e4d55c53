//! Ways out of the real program that are nobody's wish: the terminal is gone, or the program is
//! stopped and goes on.
#![allow(clippy::unwrap_used)]

mod support;

use portable_pty::{PtySize, native_pty_system};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, Instant};
use support::pty::{PATIENCE, Pty, contains, program};

/// As promised.
const GONE: Duration = Duration::from_secs(1);

/// Looks again and again until something is so; how long it took.
fn until(what: &str, limit: Duration, is_so: impl Fn() -> bool) -> Duration {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < limit, "{what} took longer than {limit:?}");
        std::thread::park_timeout(Duration::from_millis(10));
    }
    start.elapsed()
}

fn state_of(process: &str) -> Option<char> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    stat.rsplit(')').next()?.trim().chars().next()
}

/// A profile whose one account is a runtime that does not listen and leaves a note on itself.
fn profile(home: &Path) {
    profile_of(home, "trap '' HUP", "exec cat > /dev/null");
}

fn profile_of(home: &Path, deaf_to: &str, work: &str) {
    let script = home.join("agent");
    std::fs::write(
        &script,
        format!("#!/bin/sh\n{deaf_to}\necho $$ > \"$HOME/agent.pid\"\n{work}\n"),
    )
    .unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o700)).unwrap();
    std::fs::create_dir(home.join("config")).unwrap();
    std::fs::write(
        home.join("config/config.toml"),
        format!(
            "[[account]]\nname = \"agent\"\nkind = \"omi\"\ncommand = [\"{}\"]\n",
            script.display()
        ),
    )
    .unwrap();
}

/// A profile whose one account is the runtime of the demo.
fn talking_profile(home: &Path) {
    let runtime = env!("CARGO_BIN_EXE_trialogue");
    std::fs::create_dir(home.join("config")).unwrap();
    std::fs::write(
        home.join("config/config.toml"),
        format!(
            "[[account]]\nname = \"agent\"\nkind = \"omi\"\ncommand = [\"{runtime}\", \"demo\", \"--runtime\"]\n"
        ),
    )
    .unwrap();
}

#[test]
fn a_lost_terminal_ends_the_program_and_its_runtime() {
    let home = tempfile::tempdir().unwrap();
    profile(home.path());
    loses_its_terminal(home.path());
}

#[test]
fn a_lost_terminal_ends_the_program_though_its_runtime_will_not_go() {
    let home = tempfile::tempdir().unwrap();
    profile_of(
        home.path(),
        "trap '' HUP TERM INT",
        "while :; do sleep 1; done",
    );
    loses_its_terminal(home.path());
}

fn loses_its_terminal(home: &Path) {
    if !Path::new("/proc/self/stat").exists() {
        return;
    }
    let size = PtySize {
        rows: 30,
        cols: 100,
        pixel_width: 0,
        pixel_height: 0,
    };
    let pair = native_pty_system().openpty(size).unwrap();
    let mut child = pair
        .slave
        .spawn_command(program(home, &["--no-keyring"]))
        .unwrap();
    drop(pair.slave);
    let note = home.join("agent.pid");
    until("the start of the runtime", PATIENCE, || {
        std::fs::read_to_string(&note).is_ok_and(|text| text.ends_with('\n'))
    });
    let runtime = std::fs::read_to_string(&note).unwrap().trim().to_owned();
    assert!(state_of(&runtime).is_some());
    // Nobody reads the terminal, and now it is gone.
    drop(pair.master);
    let cell = std::cell::RefCell::new(&mut child);
    let took = until("the end of the program", GONE, || {
        cell.borrow_mut().try_wait().unwrap().is_some()
    });
    until("the end of the runtime", GONE, || {
        matches!(state_of(&runtime), None | Some('Z'))
    });
    eprintln!("gone after {took:?}");
}

#[test]
fn a_panic_gives_the_terminal_back_keeps_the_draft_and_says_where_its_report_is() {
    let home = tempfile::tempdir().unwrap();
    talking_profile(home.path());
    let mut command = program(home.path(), &["--no-keyring"]);
    command.env("TRIALOGUE_BREAK", "1");
    let mut pty = Pty::start(command, 100, 30);
    pty.wait_for("online");
    pty.wait_for("Welcome to the demo");
    pty.send("words of mine");
    pty.wait_for("words of mine");
    let before = pty.raw().len();
    pty.send("\x1b[24~");
    assert_eq!(pty.wait_exit(), 101);
    let last = pty.raw()[before..].to_vec();
    for undo in [
        "\x1b[?1000l",
        "\x1b[?1004l",
        "\x1b[?2004l",
        "\x1b[<u",
        "\x1b[?25h",
        "\x1b[?1049l",
    ] {
        assert!(contains(&last, undo.as_bytes()), "{undo:?} is missing");
    }
    let report = home.path().join("data/state/crash.txt");
    let said = String::from_utf8_lossy(&last).replace(['\r', '\n'], "");
    assert!(said.contains(&report.display().to_string()), "{said}");
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&report), 0o600);
    assert_eq!(mode(report.parent().unwrap()), 0o700);
    let text = std::fs::read(&report).unwrap();
    assert!(contains(&text, b"src/runtime/screen.rs"));
    for secret in ["words of mine", "nobody may read"] {
        assert!(!contains(&text, secret.as_bytes()), "{secret:?} is in it");
        assert!(!contains(&last, secret.as_bytes()), "{secret:?} is said");
    }
    let pty = Pty::start(program(home.path(), &["--no-keyring"]), 100, 30);
    pty.wait_for("words of mine");
}

#[test]
fn the_editor_has_the_terminal_and_a_signal_is_heard_meanwhile() {
    if !Path::new("/proc/self/stat").exists() {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    talking_profile(home.path());
    // An editor that saves something and stays open.
    let editor = home.path().join("editor");
    std::fs::write(
        &editor,
        "#!/bin/sh\nprintf 'half a thought' > \"$1\"\necho $$ > \"$HOME/editor.pid\"\nexec sleep 600\n",
    )
    .unwrap();
    std::fs::set_permissions(&editor, std::fs::Permissions::from_mode(0o700)).unwrap();
    let mut command = program(home.path(), &["--no-keyring"]);
    command.env("EDITOR", editor.to_str().unwrap());
    let mut pty = Pty::start(command, 100, 30);
    pty.wait_for("online");
    let shown = pty.raw().len();
    pty.send("\x07");
    let note = home.path().join("editor.pid");
    until("the start of the editor", PATIENCE, || {
        std::fs::read_to_string(&note).is_ok_and(|text| text.ends_with('\n'))
    });
    let editor = std::fs::read_to_string(&note).unwrap().trim().to_owned();
    assert!(contains(&pty.raw()[shown..], b"\x1b[?1049l"));
    // Ctrl+C as the editor's own affair: its terminal sends it to the whole group.
    let process = pty.id().to_string();
    for signal in ["-INT", "-TERM"] {
        let status = std::process::Command::new("kill")
            .args([signal, &process])
            .status()
            .unwrap();
        assert!(status.success());
    }
    let cell = std::cell::RefCell::new(&mut pty);
    until("the end of the editor", GONE, || {
        matches!(state_of(&editor), None | Some('Z'))
    });
    assert_eq!(cell.borrow_mut().wait_exit(), 143);
    let left = std::fs::read_dir(home.path().join("data/state/edit")).unwrap();
    assert_eq!(left.count(), 0, "the private file is gone");
    let pty = Pty::start(program(home.path(), &["--no-keyring"]), 100, 30);
    pty.wait_for("half a thought");
}

#[test]
fn a_stopped_program_gives_the_terminal_back_and_takes_it_again() {
    if !Path::new("/proc/self/stat").exists() {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    profile(home.path());
    let pty = Pty::start(program(home.path(), &["--no-keyring"]), 100, 30);
    pty.wait_for("agent");
    pty.wait_for("Ctrl+P everything");
    let shown = pty.raw().len();
    pty.send("\x1a");
    let process = pty.id().to_string();
    until("the stop", PATIENCE, || state_of(&process) == Some('T'));
    let raw = pty.raw();
    for undo in [
        "\x1b[?1049l",
        "\x1b[?2004l",
        "\x1b[?1000l",
        "\x1b[<u",
        "\x1b[?25h",
    ] {
        assert!(
            contains(&raw[shown..], undo.as_bytes()),
            "{undo:?} is missing before the stop"
        );
    }
    let stopped = raw.len();
    let status = std::process::Command::new("kill")
        .args(["-CONT", &process])
        .status()
        .unwrap();
    assert!(status.success());
    until("the return", PATIENCE, || {
        let raw = pty.raw();
        contains(&raw[stopped..], b"\x1b[?1049h") && contains(&raw[stopped..], b"Ctrl+P")
    });
    pty.wait_for("Ctrl+P everything");
}

/// What the runtime of the demo keeps on its disk.
fn journal(home: &Path) -> String {
    let path = home.join("data/state/omi/agent/demo-runtime.json");
    std::fs::read_to_string(path).unwrap_or_default()
}

#[test]
fn an_answer_that_is_left_in_its_middle_is_in_the_journal_and_once_on_the_screen() {
    let home = tempfile::tempdir().unwrap();
    talking_profile(home.path());
    let mut pty = Pty::start(program(home.path(), &["--no-keyring"]), 100, 40);
    pty.wait_for("online");
    pty.wait_for("Welcome to the demo");
    pty.send("slow\r");
    pty.wait_for("This comes slowly, so that there is time");
    // What ends with the program is said first.
    pty.send("\x04");
    pty.wait_for("The agent is at work in");
    pty.send("\x04");
    assert_eq!(pty.wait_exit(), 0);
    let said = "This comes slowly, so that there is time";
    assert!(
        journal(home.path()).contains(said),
        "it is lost to the agent"
    );
    let pty = Pty::start(program(home.path(), &["--no-keyring"]), 100, 40);
    pty.wait_for("online");
    pty.wait_for("cut off here");
    let screen = pty.wait_for("stopped");
    assert_eq!(screen.matches(said).count(), 1, "{screen}");
}

#[test]
fn whoever_quits_lets_the_runtime_go_by_itself() {
    let home = tempfile::tempdir().unwrap();
    // It has something to do when its input ends, and takes longer than a lost terminal allows.
    profile_of(
        home.path(),
        "trap 'exit 1' HUP TERM",
        "cat > /dev/null\nsleep 1.2\necho whole > \"$HOME/end\"",
    );
    let mut pty = Pty::start(program(home.path(), &["--no-keyring"]), 100, 30);
    pty.wait_for("Ctrl+P everything");
    let note = home.path().join("agent.pid");
    until("the start of the runtime", PATIENCE, || {
        std::fs::read_to_string(&note).is_ok_and(|text| text.ends_with('\n'))
    });
    pty.send("\x04");
    assert_eq!(pty.wait_exit(), 0);
    let end = std::fs::read_to_string(home.path().join("end")).unwrap_or_default();
    assert_eq!(end, "whole\n");
}
