//! The scene of the demo in which the agent misbehaves, on real gateways; what a terminal answers
//! unasked; what a runtime wants done or opened.

use super::support::pty::Pty;
use super::support::served::{Served, add_account, command};
use super::{Inert, end, logged};
use std::path::Path;

fn chat_on(home: &Path, served: &Served, protocol: &str) -> Pty {
    let mut command = logged(home);
    command.env("TRIALOGUE_SECRET_HERE", &served.gateway(protocol).secret);
    Pty::start(command, 120, 40)
}

fn misbehaves(protocol: &str) {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let served = Served::start(home, "127.0.0.1:0", &["speed=800"]);
    add_account(home, "here", served.gateway(protocol));
    let mut pty = chat_on(home, &served, protocol);
    pty.wait_for("online");
    pty.send("hostile\r");
    pty.wait_for("Nothing of it may work");
    pty.wait_for("Alt+A");
    pty.keep_sending("\x1ba", "the popup", |screen| screen.contains("hs |"));
    // S-30, S-32, S-33: the second line of the command is there to be read.
    pty.wait_for("rm -rf ~/.ssh");
    let raw = pty.raw();
    end(&mut pty);
    raw.assert_inert(120, 40);
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
    let mut pty = chat_on(home, &served, "pheby");
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
        b"\x1b[99999999999999999999999999999999;1R",
    ];
    for answer in answers {
        pty.send(answer);
    }
    pty.send("still here");
    let screen = pty.wait_for("still here");
    for typed in ["rgb:", "ZXZp", "2026;2", "997;1", "1$r", "EINVAL", "999999"] {
        assert!(!screen.contains(typed), "{typed:?} was typed:\n{screen}");
    }
    // A string that never ends is ended by time.
    pty.send("\x1b]11;rgb:never/closed");
    pty.keep_sending("!", "a key", |screen| screen.contains("still here!"));
    // A paste that never ends is ended by time, and keys are keys again, also behind a large one.
    pty.send("\x1b[200~ and pasted");
    pty.wait_for("and pasted");
    pty.send("?");
    pty.wait_for("and pasted?");
    pty.send(format!("\x1b[200~{}", "long ".repeat(200_000)));
    pty.wait_for("MB]");
    pty.send("awake");
    pty.wait_for("awake");
    end(&mut pty);
}

/// The demo's runtime as the one account.
fn runtime(home: &Path, more: &[&str]) -> Pty {
    let program = env!("CARGO_BIN_EXE_trialogue");
    let add = [
        "account",
        "add",
        "omi",
        "here",
        "--no-keyring",
        "--",
        program,
    ];
    let words = ["demo", "--runtime", "--set", "speed=800"];
    let added = command(home, &[&add[..], &words[..], more].concat()).output();
    assert!(added.unwrap().status.success());
    let pty = Pty::start(logged(home), 120, 40);
    pty.wait_for("online");
    pty
}

#[test]
fn s_57_a_tool_that_the_account_does_not_name_is_refused() {
    let home = tempfile::tempdir().unwrap();
    let mut pty = runtime(home.path(), &[]);
    pty.send("host\r");
    pty.wait_for("I could not set a reminder on your machine");
    let screen = pty.screen();
    assert!(!screen.contains("The reminder is set"), "{screen}");
    end(&mut pty);
}

/// A scene in which the agent wants a person to sign in at this page.
fn sign_in_at(home: &Path, url: &str) -> String {
    let file = home.join("page.toml");
    let text = format!(
        "word = \"page\"\ntitle = \"page\"\nabout = \"page\"\n\n[[step]]\ndo = \"sign_in\"\nurl = \"{url}\"\nseconds = 6000.0\n"
    );
    std::fs::write(&file, text).unwrap();
    file.display().to_string()
}

/// Lets the page be opened from the account's own, by a browser that notes what it is given.
fn opens(url: &str, shown: &str) -> (tempfile::TempDir, Pty) {
    let home = tempfile::tempdir().unwrap();
    super::words::browser(home.path());
    let scene = sign_in_at(home.path(), url);
    let pty = runtime(home.path(), &["--scenario", &scene]);
    pty.send("page\r");
    pty.wait_for("sign in");
    pty.send("/account\r");
    pty.wait_for("sign in at");
    pty.send("s");
    pty.wait_for(shown);
    (home, pty)
}

#[test]
fn s_58_a_page_to_sign_in_is_opened_on_a_key_and_whole() {
    let long = format!(
        "https://provider.example/oauth?state={}&end=here",
        "x".repeat(400)
    );
    let (home, mut pty) = opens(&long, "Open the page to sign in?");
    let note = home.path().join("opened");
    assert!(!note.exists(), "it was opened without a key");
    pty.send("\x1b[C\r");
    super::words::wait_for_file(&pty, &note);
    let opened = std::fs::read_to_string(&note).unwrap();
    assert!(opened.starts_with(&format!("1\n{long}")), "{opened}");
    assert!(!opened.contains('…'), "{opened}");
    end(&mut pty);
}

#[test]
fn s_58_a_page_that_is_no_page_is_not_opened() {
    let (home, mut pty) = opens("javascript:alert(1)", "Not opened");
    assert!(!home.path().join("opened").exists());
    end(&mut pty);
}
