//! A secret is planted, the real program is used with it, and everything it leaves anywhere is
//! searched: files, logs, the crash file, the environment of what it starts, its command line. And
//! whatever it makes is for its owner only, under any umask.
#![allow(clippy::unwrap_used)]

mod support;

use portable_pty::CommandBuilder;
use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use support::pty::{Pty, contains};
use support::served::{Served, command};

const PLANTED: &str = "planted-4b1d-secret-9c77";

/// Every file and folder below, with its bytes.
fn everything(folder: &Path, found: &mut BTreeMap<PathBuf, Vec<u8>>) {
    for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            found.insert(entry.path(), Vec::new());
            everything(&entry.path(), found);
        } else if kind.is_file() {
            // A file may go while we look.
            found.insert(
                entry.path(),
                std::fs::read(entry.path()).unwrap_or_default(),
            );
        }
    }
}

fn assert_not_in(place: &str, bytes: &[u8]) {
    assert!(
        !contains(bytes, PLANTED.as_bytes()),
        "the planted secret is in {place}"
    );
}

/// The program on a terminal, started under this umask.
fn under(umask: &str, home: &Path, arguments: &[&str]) -> Pty {
    let mut command = CommandBuilder::new("sh");
    command.args(["-c", &format!("umask {umask}; exec \"$0\" \"$@\"")]);
    command.arg(env!("CARGO_BIN_EXE_trialogue"));
    command.args(arguments);
    command.env_clear();
    if let Some(path) = std::env::var_os("PATH") {
        command.env("PATH", path);
    }
    command.env("HOME", home);
    command.env("TERM", "xterm-256color");
    command.env("LANG", "C.UTF-8");
    command.env("TRIALOGUE_CONFIG_DIR", home.join("config"));
    command.env("TRIALOGUE_DATA_DIR", home.join("data"));
    command.env("TRIALOGUE_SECRET_HERE", PLANTED);
    command.env("RUST_LOG", "trace");
    command.env("EDITOR", home.join("editor"));
    command.cwd(home);
    Pty::start(command, 120, 40)
}

fn script(path: &Path, text: &str) {
    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o700)).unwrap();
}

/// A profile with an account that has the secret, and a runtime that writes down its environment.
fn profile(home: &Path) -> Served {
    let secret = format!("secret={PLANTED}");
    let served = Served::start(home, "127.0.0.1:0", &["speed=400", &secret]);
    std::fs::create_dir(home.join("config")).unwrap();
    let private = std::fs::Permissions::from_mode(0o700);
    std::fs::set_permissions(home.join("config"), private).unwrap();
    script(
        &home.join("editor"),
        "#!/bin/sh\nenv > \"$HOME/editor.env\"\nls -ld \"$1\" \"$(dirname \"$1\")\" > \"$HOME/editor.modes\"\nprintf '%s' \"$1\" > \"$HOME/editor.path\"\nprintf ' and more' >> \"$1\"\n",
    );
    script(
        &home.join("agent"),
        "#!/bin/sh\nenv > \"$HOME/agent.env\"\nexec cat > /dev/null\n",
    );
    let config = home.join("config/config.toml");
    std::fs::write(
        &config,
        format!(
            "[[account]]\nname = \"here\"\nkind = \"pheby\"\nurl = \"{}\"\n\n[[account]]\nname = \"agent\"\nkind = \"omi\"\ncommand = [\"{}\"]\n",
            served.gateway("pheby").url,
            home.join("agent").display()
        ),
    )
    .unwrap();
    std::fs::set_permissions(config, std::fs::Permissions::from_mode(0o600)).unwrap();
    served
}

fn end(pty: &mut Pty) {
    let status = std::process::Command::new("kill")
        .args(["-TERM", &pty.id().to_string()])
        .status()
        .unwrap();
    assert!(status.success());
    assert_eq!(pty.wait_exit(), 143);
}

fn used_under(umask: &str) {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let _served = profile(home);
    let log = home.join("data/log.txt");
    let log_argument = log.display().to_string();
    std::fs::create_dir(home.join("data")).unwrap();
    std::fs::set_permissions(home.join("data"), std::fs::Permissions::from_mode(0o700)).unwrap();
    let mut pty = under(umask, home, &["--no-keyring", "--log", &log_argument]);
    pty.wait_for("online");
    pty.send("plain\r");
    pty.wait_for("scripted agent");
    pty.send("a draft");
    pty.wait_for("a draft");
    pty.send("\x07");
    pty.wait_for("and more");
    // The draft lay in a folder and a file of its owner's only, and is gone.
    let modes = std::fs::read_to_string(home.join("editor.modes")).unwrap();
    let modes: Vec<&str> = modes.lines().map(|line| &line[..10]).collect();
    assert_eq!(modes, ["drwx------", "-rw-------"]);
    let draft = std::fs::read_to_string(home.join("editor.path")).unwrap();
    assert!(!Path::new(&draft).exists(), "{draft} is still there");
    let process = format!("/proc/{}", pty.id());
    if Path::new(&process).exists() {
        let line = std::fs::read(format!("{process}/cmdline")).unwrap();
        assert_not_in("the command line", &line);
        let limits = std::fs::read_to_string(format!("{process}/limits")).unwrap();
        let core = limits
            .lines()
            .find(|line| line.starts_with("Max core file size"))
            .unwrap();
        assert_eq!(core.split_whitespace().nth(4), Some("0"), "{core}");
    }
    assert_not_in("what the terminal was told", &pty.raw());
    end(&mut pty);

    let sent = command(home, &["send", "--no-keyring", "-a", "here", "plain"])
        .env("TRIALOGUE_SECRET_HERE", PLANTED)
        .output()
        .unwrap();
    assert!(sent.status.success());
    assert_not_in("the output of send", &sent.stdout);
    let refused = command(home, &["send", "--no-keyring", "-a", "here", "plain"])
        .env("TRIALOGUE_SECRET_HERE", format!("{PLANTED}-wrong"))
        .output()
        .unwrap();
    assert_not_in("the words of a refusal", &refused.stderr);

    let mut found = BTreeMap::new();
    everything(home, &mut found);
    for name in ["editor.env", "agent.env"] {
        assert!(
            found.contains_key(&home.join(name)),
            "{name} was not written"
        );
    }
    for file in ["data/log.txt", "data/history.db"] {
        assert!(found.contains_key(&home.join(file)), "{file} is missing");
    }
    for (path, bytes) in &found {
        assert_not_in(&path.display().to_string(), bytes);
    }
    // Whatever the program made is for its owner only.
    for path in found.keys() {
        let is_ours = path.starts_with(home.join("data")) || path.starts_with(home.join("config"));
        let Ok(facts) = std::fs::metadata(path) else {
            continue;
        };
        let mode = facts.permissions().mode() & 0o777;
        assert!(
            !is_ours || mode & 0o077 == 0,
            "{} has mode {mode:o} under umask {umask}",
            path.display()
        );
    }
}

#[test]
fn a_planted_secret_is_found_nowhere_and_files_are_private_under_umask_000() {
    used_under("000");
}

#[test]
fn a_planted_secret_is_found_nowhere_and_files_are_private_under_umask_022() {
    used_under("022");
}

#[test]
fn a_crash_file_says_where_and_nothing_of_what_was_written() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("crashes");
    let before = std::panic::take_hook();
    trialogue::runtime::terminal::install_panic_hook(place.clone());
    let broken = std::panic::catch_unwind(|| panic!("a message text and {PLANTED}"));
    std::panic::set_hook(before);
    assert!(broken.is_err());
    let path = place.join("crash.txt");
    let report = std::fs::read(&path).unwrap();
    assert_not_in("the crash file", &report);
    assert!(!contains(&report, b"a message text"));
    assert!(contains(&report, b"tests/planted.rs"));
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&place), mode(&path)), (0o700, 0o600));
    let words = trialogue::runtime::terminal::last_crash();
    assert!(words.contains(&path.display().to_string()), "{words}");
}
