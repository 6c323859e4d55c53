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
    pty.send("work\r");
    pty.send(format!("{}\r", gateway.url));
    // A wrong secret is told from a right one before anything is saved.
    pty.send("wrong\r");
    pty.wait_for("[ Connect and see ]");
    pty.send("\r");
    pty.wait_until("the refusal", |screen| {
        !screen.contains("Connecting") && screen.contains("secret")
    });
    let config = home.path().join("config/config.toml");
    assert!(!config.exists(), "a wrong secret was saved");
    pty.send("\x1b[A\x15");
    pty.wait_gone("*****");
    pty.send(format!("{}\r", gateway.secret));
    pty.wait_for("[ Connect and see ]");
    pty.send("\r");
    pty.wait_for("connected to");
    pty.wait_for("[ Save ]");
    pty.send("\r");
    // The form is gone, its words say where the secret is, and one can write.
    pty.wait_for("work was added");
    pty.wait_gone("[ Save ]");
    pty.wait_for("online");
    pty.send("plain\r");
    pty.wait_for("You wrote:");
    let written = std::fs::read_to_string(config).unwrap();
    assert!(!written.contains(&gateway.secret), "{written}");
    pty.send("\x04");
    assert_eq!(pty.wait_exit(), 0);
}
