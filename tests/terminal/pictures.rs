//! Pictures in terminals that answer that they can show them. What such a terminal would draw of it
//! nobody sees here: the sequences are looked at, and the cells they stand on.

use super::hands::{Hands, Kind, has_tmux};
use super::support::pty::{Answers, Pty, contains, program};
use super::support::served::{Served, add_account};

/// A definition of the first colour of a sixel picture.
const SIXEL: &[u8] = b"#0;2;";

/// A chat in which the agent sends a picture, on a terminal with these answers.
fn picture_on(answers: Answers) -> (tempfile::TempDir, Pty) {
    let home = tempfile::tempdir().unwrap();
    let mut command = program(home.path(), &["demo", "--set", "speed=800"]);
    command.env("COLORTERM", "truecolor");
    let pty = Pty::start_on(answers, command, 120, 40);
    pty.wait_until("three accounts online", |screen| {
        screen.matches('●').count() >= 4
    });
    pty.send("\x1b1");
    pty.wait_until("the first account", |screen| {
        screen
            .lines()
            .next()
            .is_some_and(|line| line.contains("iris@demo"))
    });
    pty.send("file\r");
    pty.wait_for("latency.png");
    (home, pty)
}

#[test]
fn a_terminal_without_answers_gets_half_blocks() {
    let (_home, pty) = picture_on(Answers::default());
    pty.wait_for("▀▀▀▀");
    let raw = pty.raw();
    assert!(!contains(&raw, b"a=T,U=1") && !contains(&raw, b"\x1bPq"));
    assert!(!contains(&raw, b"1337;File"));
}

#[test]
fn the_kitty_protocol_keeps_the_picture_and_cells_name_it() {
    let (_home, mut pty) = picture_on(Answers {
        kitty_graphics: true,
        cell: Some((10, 20)),
        ..Answers::default()
    });
    pty.wait_for("\u{10eeee}\u{305}\u{305}");
    let raw = pty.raw();
    let sent = raw.windows(8).position(|part| part == b"a=T,U=1,");
    let placed = "\u{10eeee}".as_bytes();
    let shown = raw.windows(4).position(|part| part == placed);
    assert!(
        sent.is_some() && sent < shown,
        "cells came before their picture"
    );
    // Scrolling moves cells and sends no picture again.
    let before = pty.raw().len();
    pty.send("\x1b[5~");
    pty.wait_for("newest");
    pty.send("\x1b[1;5F");
    pty.wait_gone("newest");
    assert!(!contains(&pty.raw()[before..], b"a=T"));
    // A popup covers it, and it is there again.
    pty.send("\x10");
    pty.wait_for("what do you want to do?");
    pty.send("\x1b");
    pty.wait_gone("what do you want to do?");
    pty.wait_for("\u{10eeee}\u{305}\u{305}");
    // The terminal may forget it at the end.
    pty.send("\x04");
    assert_eq!(pty.wait_exit(), 0);
    assert!(contains(&pty.raw(), b"\x1b_Ga=d,d=I,q=2,i=16\x1b\\"));
}

#[test]
fn sixel_is_drawn_over_cells_and_gives_way_to_popups() {
    let (_home, pty) = picture_on(Answers {
        sixel: true,
        cell: Some((10, 20)),
        ..Answers::default()
    });
    pty.wait_written("a sixel picture", SIXEL, 0);
    pty.wait_gone("▀▀▀▀");
    // While something covers a part of it, the rows it covers are half blocks.
    let before = pty.raw().len();
    pty.send("\x10");
    pty.wait_for("what do you want to do?");
    pty.send("\x1b");
    pty.wait_gone("what do you want to do?");
    pty.wait_gone("▀▀▀▀");
    pty.wait_written("the picture again", SIXEL, before);
}

#[test]
fn iterm_draws_a_strip_for_each_row() {
    let (_home, pty) = picture_on(Answers {
        version: Some("iTerm2 3.5.0"),
        cell: Some((10, 20)),
        ..Answers::default()
    });
    pty.wait_written("strips", b"1337;File=inline=1;", 0);
    pty.wait_gone("▀▀▀▀");
}

#[test]
fn the_way_that_the_person_chose_is_taken_whatever_the_terminal_answers() {
    let cell = Some((10, 20));
    let answers = || Answers {
        kitty_graphics: true,
        cell,
        ..Answers::default()
    };
    let nothing = || Answers {
        cell,
        ..Answers::default()
    };
    let home = tempfile::tempdir().unwrap();
    let served = Served::start(home.path(), "127.0.0.1:0", &["speed=800"]);
    add_account(home.path(), "here", served.gateway("iris"));
    let file = home.path().join("config/config.toml");
    let account = std::fs::read_to_string(&file).unwrap();
    let picture = |way: &str, answers: Answers| {
        std::fs::write(&file, format!("pictures = \"{way}\"\n{account}")).unwrap();
        let mut command = program(home.path(), &["--no-keyring"]);
        command.env("COLORTERM", "truecolor");
        command.env("TRIALOGUE_SECRET_HERE", &served.gateway("iris").secret);
        let pty = Pty::start_on(answers, command, 120, 40);
        pty.wait_for("online");
        pty
    };
    const KITTY: &[u8] = b"a=T,U=1";
    let mut pty = picture("off", answers());
    pty.send("file\r");
    pty.wait_for("report for people who do not read patches");
    assert!(!pty.screen().contains("▀▀▀▀"));
    assert!(!contains(&pty.raw(), KITTY));
    pty.send("\x04");
    pty.wait_exit();
    for (way, bytes) in [
        ("kitty", KITTY),
        ("iterm2", b"1337;File=inline=1;"),
        ("sixel", SIXEL),
    ] {
        // Once where something else was proved, and once where nothing was.
        for answers in [answers(), nothing()] {
            picture(way, answers).wait_written(way, bytes, 0);
        }
    }
    let pty = picture("blocks", answers());
    pty.wait_for("▀▀▀▀");
    assert!(!contains(&pty.raw(), KITTY));
}

#[test]
fn tmux_without_passthrough_gets_half_blocks_and_keeps_its_title() {
    if !has_tmux("tmux_without_passthrough_gets_half_blocks_and_keeps_its_title") {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let hands = Hands::start(
        Kind::Tmux,
        home.path(),
        &["demo", "--set", "speed=800"],
        &[("COLORTERM", "truecolor")],
    );
    hands.pty.wait_until("three accounts online", |screen| {
        screen.matches('●').count() >= 4
    });
    hands.insist("alt-1", "iris@demo");
    hands.write("file");
    hands.press("enter");
    hands.see("▀▀▀▀");
    let title = std::process::Command::new("tmux")
        .arg("-S")
        .arg(home.path().join("tmux.socket"))
        .args(["display-message", "-p", "#{pane_title}"])
        .output()
        .unwrap();
    let title = String::from_utf8_lossy(&title.stdout).into_owned();
    assert!(
        !title.contains("i=31"),
        "a question became the title: {title:?}"
    );
}
