//! Complaints of the field about drawing, input and environment, tried in the real program.

use super::hands::{Hands, Kind};
use super::support::pty::contains;
use base64::Engine as _;
use std::process::Command;
use std::time::{Duration, Instant};

fn start(environment: &[(&str, &str)]) -> (tempfile::TempDir, Hands) {
    let home = tempfile::tempdir().unwrap();
    let arguments = ["demo", "--set", "speed=300", "--no-keyring"];
    let hands = Hands::start(Kind::Old, home.path(), &arguments, environment);
    hands.pty.wait_until("three accounts online", |screen| {
        screen.matches('●').count() >= 4
    });
    hands.press("alt-2").at("pheby@demo");
    (home, hands)
}

/// Waits for a run and for its end, unless it is over already.
fn over(hands: &Hands) {
    let turns = |screen: &str| screen.contains(|c| "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏".contains(c));
    hands.pty.wait_until("a run or an answer", |screen| {
        turns(screen) || screen.contains("You wrote:")
    });
    hands
        .pty
        .wait_until("the end of the run", |screen| !turns(screen));
}

#[test]
fn row_18_nothing_is_erased_as_a_whole_while_an_answer_streams() {
    let (_home, hands) = start(&[]);
    let before = hands.pty.raw().len();
    hands.write("long");
    hands.press("enter");
    over(&hands);
    let raw = hands.pty.raw();
    for erase in [&b"\x1b[2J"[..], b"\x1b[3J", b"\x1b[J", b"\x1b[0J"] {
        assert!(!contains(&raw[before..], erase), "{erase:?}");
    }
}

#[test]
fn row_23_the_wheel_scrolls_and_leaves_the_composer_alone() {
    let (_home, hands) = start(&[]);
    hands.write("a draft");
    for _ in 0..10 {
        hands.pty.send("\x1b[<64;60;10M");
    }
    hands.see("a draft");
    // A key that was sent after the wheel is there, so the wheel was taken.
    hands.write("!").see("a draft!");
}

#[test]
fn row_31_the_real_cursor_stands_at_the_caret() {
    let (_home, hands) = start(&[]);
    hands.write("漢字ab");
    hands.press("left");
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        let (cursor, hidden, caret) = hands.pty.with_screen(|screen| {
            let (rows, columns) = screen.size();
            let caret = (0..rows.get())
                .flat_map(|row| (0..columns.get()).map(move |column| (row, column)))
                .find(|(row, column)| {
                    screen
                        .cell(*row, *column)
                        .is_some_and(|cell| cell.contents() == "漢")
                })
                // Two wide characters and one letter before it.
                .map(|(row, column)| (row, column + 5));
            (screen.cursor_position(), screen.hide_cursor(), caret)
        });
        if caret == Some(cursor) && !hidden {
            break;
        }
        assert!(Instant::now() < deadline, "{cursor:?} {hidden} {caret:?}");
        std::thread::yield_now();
    }
}

#[test]
fn row_37_a_stopped_program_gives_the_terminal_back_and_takes_it_again() {
    let (_home, hands) = start(&[]);
    hands.write("kept");
    let before = hands.pty.raw().len();
    hands.press("ctrl-z");
    hands
        .pty
        .wait_written("the end of the alternate screen", b"\x1b[?1049l", before);
    let stat = format!("/proc/{}/stat", hands.pty.id());
    let deadline = Instant::now() + Duration::from_secs(20);
    while !std::fs::read_to_string(&stat)
        .unwrap_or_default()
        .contains(") T")
    {
        assert!(Instant::now() < deadline, "it is not stopped");
        std::thread::yield_now();
    }
    let raw = hands.pty.raw();
    for undo in [
        "\x1b[?2004l",
        "\x1b[?1000l",
        "\x1b[?1004l",
        "\x1b[<u",
        "\x1b[?25h",
    ] {
        assert!(contains(&raw[before..], undo.as_bytes()), "{undo:?}");
    }
    let stopped = raw.len();
    let status = Command::new("kill")
        .args(["-CONT", &hands.pty.id().to_string()])
        .status()
        .unwrap();
    assert!(status.success());
    hands
        .pty
        .wait_written("the alternate screen again", b"\x1b[?1049h", stopped);
    hands.write("!").see("kept!");
}

#[test]
fn row_39_what_is_copied_over_ssh_is_the_source_and_not_what_is_drawn() {
    let (_home, hands) = start(&[("SSH_TTY", "/dev/pts/9")]);
    hands.write("plain");
    hands.press("enter").see("You wrote:");
    over(&hands);
    let before = hands.pty.raw().len();
    hands.press("tab").see("j down");
    hands.press("G y").see("not confirmed");
    let raw = hands.pty.raw();
    let text = String::from_utf8_lossy(&raw[before..]).into_owned();
    let sent = text.split("\x1b]52;c;").nth(1).unwrap();
    let sent = sent.split('\x1b').next().unwrap();
    let copied = base64::engine::general_purpose::STANDARD
        .decode(sent)
        .unwrap();
    let copied = String::from_utf8(copied).unwrap();
    // One line of the source, drawn as several.
    assert!(
        copied.contains("Hello! I am the **scripted agent** of the demo. I do not think, but I play: every word of the list in *Welcome* shows another thing"),
        "{copied}"
    );
}
