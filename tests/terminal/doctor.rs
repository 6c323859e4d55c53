//! `doctor`, as a command in terminals that answer more or less, and as a page in the screen.

use super::hands::{Hands, Kind};
use super::support::pty::{Answers, Pty, program};
use super::support::served::run;

#[test]
fn doctor_says_what_this_terminal_answered() {
    let home = tempfile::tempdir().unwrap();
    let answers = Answers {
        kitty_keys: true,
        kitty_graphics: true,
        sync: true,
        version: Some("kitty(0.35.2)"),
        cell: Some((10, 20)),
        background: Some("rgb:1e1e/1e1e/2e2e"),
        ..Answers::default()
    };
    let command = program(home.path(), &["doctor", "--no-keyring"]);
    let mut pty = Pty::start_on(answers, command, 120, 60);
    assert_eq!(pty.wait_exit(), 0);
    let screen = pty.wait_for("All works");
    for words in [
        "kitty(0.35.2)",
        "#1e1e2e",
        "kitty keyboard protocol",
        "synchronized updates",
        "kitty protocol",
    ] {
        assert!(screen.contains(words), "{words}:\n{screen}");
    }
}

#[test]
fn doctor_fails_where_an_account_cannot_be_reached_and_says_what_to_do() {
    let home = tempfile::tempdir().unwrap();
    let port = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    std::fs::create_dir(home.path().join("config")).unwrap();
    std::fs::write(
        home.path().join("config/config.toml"),
        format!(
            "[[account]]\nname = \"home\"\nkind = \"pheby\"\nurl = \"ws://127.0.0.1:{port}/ws\"\n"
        ),
    )
    .unwrap();
    let output = run(home.path(), &["doctor", "--no-keyring"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("FAIL home"), "{text}");
    assert!(text.contains("-> trialogue account login home"), "{text}");
    assert!(
        !text.contains('\x1b'),
        "no escape sequence goes into a pipe"
    );
}

#[test]
fn the_page_in_the_screen_shows_every_account() {
    let home = tempfile::tempdir().unwrap();
    let hands = Hands::start(
        Kind::Old,
        home.path(),
        &["demo", "--set", "speed=400", "--no-keyring"],
        &[],
    );
    hands.pty.wait_until("three accounts online", |screen| {
        screen.matches('●').count() >= 4
    });
    hands.write("/doctor");
    hands.press("enter").see("What works here").see("Terminal");
    // Its end: the accounts.
    hands.press("G").see("omi@demo online");
    hands.press("esc").gone("What works here");
}
