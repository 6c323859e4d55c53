//! The attacks of the table on the whole program, in a terminal model: an agent that misbehaves over
//! a real connection, and a terminal that answers what nobody asked. Numbers are rows of the table.
#![allow(clippy::unwrap_used)]

mod support;

use std::num::NonZeroU16;
use std::path::Path;
use support::pty::{Pty, contains, program};
use support::served::{Served, add_account};

/// What a terminal was asked to do besides showing text.
#[derive(Default)]
struct Orders {
    titles: Vec<String>,
    copies: usize,
    others: Vec<&'static str>,
}

impl vt100::Callbacks for Orders {
    fn set_window_title(&mut self, _: &mut vt100::Screen, title: &[u8]) {
        self.titles
            .push(String::from_utf8_lossy(title).into_owned());
    }
    fn copy_to_clipboard(&mut self, _: &mut vt100::Screen, _: &[u8], _: &[u8]) {
        self.copies += 1;
    }
    fn paste_from_clipboard(&mut self, _: &mut vt100::Screen, _: &[u8]) {
        self.others.push("the clipboard was asked for");
    }
    fn resize(&mut self, _: &mut vt100::Screen, _: (u16, u16)) {
        self.others.push("the window was resized");
    }
    fn set_window_icon_name(&mut self, _: &mut vt100::Screen, name: &[u8]) {
        self.titles.push(String::from_utf8_lossy(name).into_owned());
    }
}

fn chat(home: &Path, served: &Served, protocol: &str) -> Pty {
    let log = home.join("log.txt").display().to_string();
    let mut command = program(home, &["--no-keyring", "--log", &log]);
    command.env("TRIALOGUE_SECRET_HERE", &served.gateway(protocol).secret);
    command.env("RUST_LOG", "trace");
    Pty::start(command, 120, 40)
}

fn end(pty: &mut Pty) {
    let status = std::process::Command::new("kill")
        .args(["-TERM", &pty.id().to_string()])
        .status()
        .unwrap();
    assert!(status.success());
    assert_eq!(pty.wait_exit(), 143);
}

fn misbehaves(protocol: &str) {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let served = Served::start(home, "127.0.0.1:0", &["speed=800"]);
    add_account(home, "here", served.gateway(protocol));
    let mut pty = chat(home, &served, protocol);
    pty.wait_for("online");
    pty.send("hostile\r");
    pty.wait_for("Nothing of it may work");
    pty.wait_for("Alt+A");
    pty.keep_sending("\x1ba", "the popup", |screen| screen.contains("hs |"));
    // S-30, S-32, S-33: the second line of the command is there to be read.
    pty.wait_for("rm -rf ~/.ssh");
    let raw = pty.raw();
    end(&mut pty);

    let size = |n| NonZeroU16::new(n).unwrap();
    let mut terminal = vt100::Parser::new_with_callbacks(size(40), size(120), 0, Orders::default());
    terminal.process(&raw);
    let orders = terminal.callbacks();
    // S-04, S-07, S-08
    assert!(
        orders.titles.iter().all(|title| !title.contains("owned")),
        "{:?}",
        orders.titles
    );
    assert_eq!(orders.copies, 0, "something was copied");
    assert_eq!(orders.others, Vec::<&str>::new());
    let never: &[(&str, &[u8])] = &[
        ("S-03: an 8-bit CSI", "\u{9b}".as_bytes()),
        ("S-06: a question for capabilities", b"\x1bP+q"),
        ("S-11: a script as a link", b"]8;;javascript"),
        ("S-11: a file as a link", b"]8;;file:"),
        ("S-11: an option as a link", b"]8;;ssh:"),
        ("S-21: a direction override", "\u{202e}".as_bytes()),
        ("S-21: an isolate", "\u{2066}".as_bytes()),
        ("an invisible character", "\u{200b}".as_bytes()),
        ("a tag letter", "\u{e0068}".as_bytes()),
        ("hidden text", b"\x1b[8m"),
    ];
    for (what, bytes) in never {
        assert!(
            !contains(&raw, bytes),
            "{protocol}: {what} reached the terminal"
        );
    }
    // S-49: the log is one record a line, without orders.
    let log = std::fs::read(home.join("log.txt")).unwrap();
    assert!(!log.contains(&0x1b), "an escape byte is in the log");
    for line in String::from_utf8(log).unwrap().lines() {
        assert!(line.starts_with("20"), "not a record: {line:?}");
    }
}

#[test]
fn an_agent_of_pheby_that_misbehaves_is_text_and_nothing_else() {
    misbehaves("pheby");
}

#[test]
fn an_agent_of_iris_that_misbehaves_is_text_and_nothing_else() {
    misbehaves("iris");
}

#[test]
fn s_59_what_a_terminal_answers_unasked_is_not_typed() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let served = Served::start(home, "127.0.0.1:0", &["speed=800"]);
    add_account(home, "here", served.gateway("pheby"));
    let mut pty = chat(home, &served, "pheby");
    pty.wait_for("online");
    let answers: &[&[u8]] = &[
        b"\x1b]11;rgb:1212/3434/5656\x07",
        b"\x1b]52;c;ZXZpbA==\x1b\\",
        b"\x1b[?2026;2$y",
        b"\x1b[?997;1n",
        b"\x1bP1$r0m\x1b\\",
        b"\x1b_Gi=31;EINVAL\x1b\\",
        b"\x1b[<0;0;0M",
        b"\x1b[<999999;999999;999999M",
        b"\x1b[?62;22c",
        b"\x1b[I\x1b[O",
    ];
    for answer in answers {
        pty.send(answer);
    }
    pty.send("still here");
    let screen = pty.wait_for("still here");
    for typed in ["rgb:", "ZXZp", "2026;2", "997;1", "1$r", "EINVAL", "999999"] {
        assert!(!screen.contains(typed), "{typed:?} was typed:\n{screen}");
    }
    // A paste that never ends is ended by time, and keys are keys again.
    pty.send("\x1b[200~ and pasted");
    pty.wait_for("and pasted");
    pty.send("!");
    pty.wait_for("and pasted!");
    end(&mut pty);
}
