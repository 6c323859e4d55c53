//! The attacks of the table on the whole program, in a terminal model: an agent, a server or a
//! terminal that misbehaves, over real connections. The same rows as text alone are in
//! `tests/hostile.rs`; what is said of each row:
//!
//! | row | as text or by itself | the whole program |
//! |---|---|---|
//! | S-01 … S-09, S-13, S-14, S-16 | `hostile::sequences_are_shown_and_do_nothing` | `words::no_text_of_a_server_is_an_order`, `agents` |
//! | S-10 | `hostile::s_10_…` | `words::s_10_s_12_…` |
//! | S-11 | `hostile::s_11_…`, `desktop::only_harmless_links_are_opened` | `agents`, `words::s_11_…` |
//! | S-12 | `desktop::only_harmless_links_are_opened` | `words::s_10_s_12_…` |
//! | S-18, S-19, S-20, S-21, S-24 | `hostile::s_18_…` to `s_24_…` | `words::no_text_of_a_server_is_an_order` |
//! | S-22, S-26 | `hostile::s_22_…`, `s_26_…` | `words::s_22_s_26_…` |
//! | S-25 | `hostile::s_25_…` | `words::s_25_…` |
//! | S-27 | `hostile::s_27_…` | `words::s_27_…` |
//! | S-29 | `hostile::s_29_…` | `words::s_29_…` |
//! | S-30, S-32, S-33 | `hostile::s_32_…`, `keys::deciding` | `decisions::s_30_…`, `s_32_s_33_…` |
//! | S-34 | `keys::deciding` | `end_to_end::an_approval_takes_no_key_…` |
//! | S-35, S-36, S-37 | `keys::deciding`, transcripts | `decisions::s_35_…`, `s_36_…`, `s_37_…` |
//! | S-38 | `desktop::file_names_from_outside_…` | `files::s_38_…` |
//! | S-40, S-41, S-43 | `wire::http` | `files::s_40_…`, `s_41_…`, `s_43_…` |
//! | S-42 (no protocol sends a hash with a file; its size is what can be checked), S-47 | transcripts `pull_bad`, `garbage` | `files::s_42_…`, `frames::s_47_…` |
//! | S-44 | `wire::tls` | `frames::s_44_…` |
//! | S-46 | `decode`, transcripts `garbage`, `surrogates` | `frames::s_46_…` |
//! | S-49, S-50, S-51, S-52, S-53 | `desktop`, `secrets`, `paths` | `agents`, `tests/planted.rs` |
//! | S-55 | nothing is read again while the program runs; each link looks at its files anew: `wire::tls` | as before |
//! | S-57, S-58 | transcripts `own_tool_…`, `sign_in` | `agents::s_57_…`, `s_58_…` |
//! | S-59 | `input::parser` | `agents::s_59_…` |
#![allow(clippy::unwrap_used)]

#[path = "hostile_program/agents.rs"]
mod agents;
#[path = "hostile_program/decisions.rs"]
mod decisions;
#[path = "hostile_program/files.rs"]
mod files;
#[path = "hostile_program/frames.rs"]
mod frames;
#[path = "hostile_program/server.rs"]
mod server;
mod support;
#[path = "hostile_program/words.rs"]
mod words;

use portable_pty::CommandBuilder;
use server::Server;
use std::num::NonZeroU16;
use std::path::Path;
use support::pty::{Pty, contains, program};

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

/// Bytes that no word of a server may become.
const NEVER: &[(&str, &[u8])] = &[
    (
        "S-02: the cursor moved and text put there",
        b"\x1b[1;1HFAKE",
    ),
    ("S-03: an 8-bit CSI", "\u{9b}".as_bytes()),
    ("S-05: a question for the title", b"\x1b[21t"),
    ("S-05: a question for the cursor", b"\x1b[6n"),
    ("S-06: a question for settings", b"\x1bP$q"),
    ("S-06: a question for capabilities", b"\x1bP+q"),
    ("S-07, S-08: the clipboard", b"\x1b]52;"),
    ("S-11: a script as a link", b"]8;;javascript"),
    ("S-11: a file as a link", b"]8;;file:"),
    ("S-11: an option as a link", b"]8;;ssh:"),
    ("S-13: a privacy message", b"\x1b^"),
    ("S-13: a start of string", b"\x1bX"),
    ("S-13: the name of a pane", b"\x1bk"),
    ("S-13: a picture from a file", b"\x1b_Gf=100,t=f"),
    ("S-14: something for the terminal around tmux", b"\x1bPtmux"),
    ("S-14: a picture", b"\x1bPq"),
    ("S-19: a line separator", "\u{2028}".as_bytes()),
    ("S-20: a null", b"\0"),
    ("S-21: a direction override", "\u{202e}".as_bytes()),
    ("S-21: an isolate", "\u{2066}".as_bytes()),
    ("an invisible character", "\u{200b}".as_bytes()),
    ("a tag letter", "\u{e0068}".as_bytes()),
    ("hidden text", b"\x1b[8m"),
];

/// Looks at everything that a program wrote.
trait Inert {
    /// Fails when any of it was an order that a server gave.
    fn assert_inert(&self, columns: u16, rows: u16);
}

impl Inert for [u8] {
    fn assert_inert(&self, columns: u16, rows: u16) {
        let size = |n| NonZeroU16::new(n).unwrap();
        let mut terminal =
            vt100::Parser::new_with_callbacks(size(rows), size(columns), 0, Orders::default());
        terminal.process(self);
        let orders = terminal.callbacks();
        assert!(
            orders.titles.iter().all(|title| !title.contains("owned")),
            "S-04: {:?}",
            orders.titles
        );
        assert_eq!(orders.copies, 0, "S-07: something was copied");
        assert_eq!(orders.others, Vec::<&str>::new());
        for (what, bytes) in NEVER {
            assert!(!contains(self, bytes), "{what} reached the terminal");
        }
    }
}

/// The program with a log, ready to be started.
fn logged(home: &Path) -> CommandBuilder {
    let log = home.join("log.txt").display().to_string();
    let mut command = program(home, &["--no-keyring", "--log", &log]);
    command.env("RUST_LOG", "trace");
    command.env("TRIALOGUE_SECRET_HERE", "open sesame");
    command.env("XDG_DOWNLOAD_DIR", home.join("down"));
    let path = std::env::var("PATH").unwrap_or_default();
    command.env("PATH", format!("{}:{path}", home.join("bin").display()));
    command
}

/// Writes a profile with one account on a server.
fn profile(home: &Path, kind: &str, server: &Server) {
    std::fs::create_dir_all(home.join("config")).unwrap();
    let text = format!(
        "[[account]]\nname = \"here\"\nkind = \"{kind}\"\nurl = \"{}\"\n",
        server.url()
    );
    std::fs::write(home.join("config/config.toml"), text).unwrap();
}

/// The program on such a server, once it is connected.
fn at(home: &Path, kind: &str, server: &Server, rows: u16) -> Pty {
    on(home, kind, server, 120, rows)
}

/// The same on a terminal of another width.
fn on(home: &Path, kind: &str, server: &Server, columns: u16, rows: u16) -> Pty {
    profile(home, kind, server);
    let pty = Pty::start(logged(home), columns, rows);
    pty.wait_for("online");
    pty
}

fn end(pty: &mut Pty) {
    let status = std::process::Command::new("kill")
        .args(["-TERM", &pty.id().to_string()])
        .status()
        .unwrap();
    assert!(status.success());
    assert_eq!(pty.wait_exit(), 143);
}
