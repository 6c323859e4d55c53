//! The first minutes: the welcome, and an account that is tried out, saved and used at once.

use super::support::pty::{Pty, program};
use super::support::served::Served;

#[test]
fn an_account_is_tried_out_saved_and_there_at_once() {
    let home = tempfile::tempdir().unwrap();
    let served = Served::start(home.path(), "127.0.0.1:0", &["speed=400"]);
    let gateway = served.gateway("pheby");
    let mut pty = Pty::start(program(home.path(), &["--no-keyring"]), 80, 24);
    pty.wait_for("Add an account");
    pty.send("\r");
    pty.wait_for("Pheby server");
    pty.send("\x1b[B\r");
    pty.wait_for("what the sidebar calls it");
    // Keys that come all at once would be a paste.
    let fill = |text: &str, shown: &str| {
        pty.send(text);
        pty.wait_for(shown);
        pty.send("\r");
    };
    fill("work", "work");
    pty.wait_for("› Address");
    fill(&gateway.url, &gateway.url);
    pty.wait_for("› Secret");
    // A wrong secret is told from a right one before anything is saved.
    fill("wrong", "*****");
    pty.wait_for("[ Connect and see ]");
    pty.send("\r");
    pty.wait_until("the refusal", |screen| {
        !screen.contains("Connecting") && screen.contains("secret")
    });
    let config = home.path().join("config/config.toml");
    assert!(!config.exists(), "a wrong secret was saved");
    pty.send("\x1b[A\x15");
    pty.wait_gone("*****");
    fill(&gateway.secret, "***********");
    pty.wait_for("[ Connect and see ]");
    pty.send("\r");
    pty.wait_for("connected to");
    pty.wait_for("[ Save ]");
    pty.send("\r");
    // The form is gone, its words say where the secret is, and one can write.
    pty.wait_for("work was added");
    pty.wait_gone("[ Save ]");
    pty.wait_for("online");
    fill("plain", "plain");
    pty.wait_for("You wrote:");
    let written = std::fs::read_to_string(config).unwrap();
    assert!(!written.contains(&gateway.secret), "{written}");
    pty.send("\x04");
    assert_eq!(pty.wait_exit(), 0);
}
