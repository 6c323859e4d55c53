//! `--plain`: lines in and lines out, on all three protocols.

use super::support::served::{Served, add_account, command};
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

/// The program with pipes in place of a terminal.
struct Lines {
    child: Child,
    input: Option<ChildStdin>,
    output: Arc<(Mutex<String>, Condvar)>,
    /// Bytes that were waited for.
    seen: usize,
}

impl Lines {
    fn start(home: &Path) -> Self {
        Self::of(command(home, &["demo", "--plain", "--set", "speed=900"]))
    }

    fn of(mut command: Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        let output = Arc::new((Mutex::new(String::new()), Condvar::new()));
        let (mut stdout, shared) = (child.stdout.take().unwrap(), Arc::clone(&output));
        std::thread::spawn(move || {
            let mut bytes = [0_u8; 4096];
            while let Ok(n @ 1..) = stdout.read(&mut bytes) {
                let mut text = shared.0.lock().unwrap();
                text.push_str(&String::from_utf8_lossy(&bytes[..n]));
                shared.1.notify_all();
            }
            shared.0.lock().unwrap().push_str("\n(ended)\n");
            shared.1.notify_all();
        });
        let input = child.stdin.take();
        Self {
            child,
            input,
            output,
            seen: 0,
        }
    }

    fn write(&mut self, line: &str) -> &mut Self {
        let input = self.input.as_mut().unwrap();
        writeln!(input, "{line}").unwrap();
        input.flush().unwrap();
        self
    }

    /// Waits until a text comes after everything that was waited for before.
    fn see(&mut self, wanted: &str) -> &mut Self {
        let deadline = Instant::now() + Duration::from_secs(30);
        let mut text = self.output.0.lock().unwrap();
        loop {
            if let Some(at) = text[self.seen..].find(wanted) {
                self.seen += at + wanted.len();
                drop(text);
                return self;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            assert!(
                !left.is_zero() && !text.ends_with("(ended)\n"),
                "waited for {wanted:?} after\n{}\n--- in\n{}",
                &text[..self.seen],
                &text[self.seen..]
            );
            text = self.output.1.wait_timeout(text, left).unwrap().0;
        }
    }

    /// Writes a line again and again until a text comes.
    fn insist(&mut self, line: &str, wanted: &str) {
        self.insist_any(line, &[wanted]);
    }

    /// The same for one of several texts; which came.
    fn insist_any(&mut self, line: &str, wanted: &[&str]) -> usize {
        let deadline = Instant::now() + Duration::from_secs(20);
        let mut next = Instant::now();
        loop {
            let text = self.output.0.lock().unwrap();
            let came = wanted
                .iter()
                .position(|wanted| text[self.seen..].contains(wanted));
            if let Some(came) = came {
                drop(text);
                self.see(wanted[came]);
                return came;
            }
            assert!(
                Instant::now() < deadline,
                "{line:?} does not bring one of {wanted:?}:\n{}",
                &text[self.seen..]
            );
            if Instant::now() >= next {
                drop(text);
                self.write(line);
                next = Instant::now() + Duration::from_millis(500);
            } else {
                drop(self.output.1.wait_timeout(text, Duration::from_millis(50)));
            }
        }
    }
}

impl Lines {
    /// Opens the question that comes and refuses by the number of its refusal.
    fn refuse(&mut self) {
        self.see("Type .a to read and answer it.");
        self.write(".a")
            .see("The whole command")
            .see("Type a number");
        let shown = self.output.0.lock().unwrap().clone();
        let question = &shown[shown.rfind("The whole command").unwrap()..];
        let deny = question
            .lines()
            .find(|line| line.to_lowercase().contains("deny"))
            .unwrap();
        let number = deny.split(' ').next().unwrap().to_owned();
        // An answer counts once the question could be read; a reason is asked for where the protocol
        // has room for one.
        if self.insist_any(&number, &["Why?", "answered: "]) == 0 {
            self.write("not now");
        }
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn lines_are_enough_on_every_protocol() {
    let home = tempfile::tempdir().unwrap();
    let mut lines = Lines::start(home.path());
    for account in ["iris@demo", "pheby@demo", "omi@demo"] {
        lines.insist(".status", &format!("{account}: online"));
    }
    for account in ["iris@demo", "pheby@demo", "omi@demo"] {
        // By number: what the list says is what the number chooses.
        lines.write(".list").see("Conversations:");
        let shown = lines.output.0.lock().unwrap().clone();
        let list = &shown[shown.rfind("Conversations:").unwrap()..];
        let rows: Vec<&str> = list.lines().skip(1).collect();
        let row = rows.iter().find(|row| {
            row.contains(account) && (row.contains("Welcome") || row.contains("First"))
        });
        let number = row.unwrap().split(' ').next().unwrap().to_owned();
        lines.write(&number);
        lines.write("plain").see("You wrote:").see("agent: done");
        lines.write("tools").see("tool ").see("agent: done");
        lines.write("approve");
        lines.refuse();
        // Here the second question has no time that runs out.
        if account == "omi@demo" {
            lines.refuse();
        }
        lines.see("agent: done");
        lines.write(".status").see("Nothing waits for you.");
    }
    lines.write(".quit");
    lines.see("(ended)");
    assert!(lines.child.wait().unwrap().success());
    let all = lines.output.0.lock().unwrap().clone();
    assert!(!all.contains('\x1b'), "lines hold no escape sequences");
}

#[test]
fn the_end_of_the_input_ends_the_chat_when_the_answer_is_there() {
    let home = tempfile::tempdir().unwrap();
    let mut lines = Lines::start(home.path());
    // A part of the account's name fits all of its conversations, which are numbered.
    lines.write(".go pheby").write("1").write("plain");
    lines.input = None;
    lines.see("You wrote:").see("(ended)");
    assert!(lines.child.wait().unwrap().success());
}

#[test]
fn a_server_that_gives_no_answer_is_told_in_a_line_and_so_is_the_end_of_it() {
    let home = tempfile::tempdir().unwrap();
    let served = Served::start(home.path(), "127.0.0.1:0", &["speed=900"]);
    add_account(home.path(), "here", served.gateway("pheby"));
    let mut plain = command(home.path(), &["--plain", "--no-keyring"]);
    plain.env("TRIALOGUE_SECRET_HERE", &served.gateway("pheby").secret);
    let mut lines = Lines::of(plain);
    lines.see("here: online").see("== ");
    served.freeze();
    lines.write("plain");
    // A frame that was on its way may come after that line, so the person goes on.
    lines.insist(
        ".status",
        "here: no answer from the server; nothing you write is lost.",
    );
    lines.write(".status").see("here: no answer, ");
    served.thaw();
    lines.see("here: online").see("You wrote:");
    lines.write(".quit").see("(ended)");
}
