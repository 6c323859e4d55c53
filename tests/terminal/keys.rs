//! Every row of the key table, in a terminal that sends keys as they always were, in one that speaks
//! the kitty protocol, and inside tmux. One program for each, so the rows come one after another.

use super::hands::{Hands, Kind, has_tmux};
use std::os::unix::fs::PermissionsExt;

#[test]
fn every_key_of_the_table_works_in_an_old_terminal() {
    all_rows(Kind::Old);
}

#[test]
fn every_key_of_the_table_works_with_the_kitty_protocol() {
    all_rows(Kind::Kitty);
}

#[test]
fn every_key_of_the_table_works_inside_tmux() {
    if has_tmux("every_key_of_the_table_works_inside_tmux") {
        all_rows(Kind::Tmux);
    }
}

fn all_rows(kind: Kind) {
    let home = tempfile::tempdir().unwrap();
    // An editor that says that it was there.
    let editor = home.path().join("editor");
    std::fs::write(&editor, "#!/bin/sh\nprintf 'from the editor' > \"$1\"\n").unwrap();
    std::fs::set_permissions(&editor, std::fs::Permissions::from_mode(0o700)).unwrap();
    let mut hands = Hands::start(
        kind,
        home.path(),
        &["demo", "--set", "speed=300"],
        &[("EDITOR", editor.to_str().unwrap())],
    );
    hands.pty.wait_until("three accounts online", |screen| {
        screen.matches('●').count() >= 4
    });
    accounts_and_conversations(&hands);
    writing(&hands);
    stopping(&hands);
    popups(&hands);
    leader(&hands);
    timeline(&hands);
    editor_and_history(&hands);
    screen_keys(&hands);
    // Last, as it leaves.
    hands.press("ctrl-d");
    assert_eq!(hands.pty.wait_exit(), 0, "{kind:?}");
}

/// Alt+1…9, Alt+↑/↓, Alt+U.
fn accounts_and_conversations(hands: &Hands) {
    hands.press("alt-1").at("iris@demo");
    hands.press("alt-2").at("pheby@demo").at("Welcome");
    hands.press("alt-down").at("harbor 2.8");
    hands.press("alt-up").at("Welcome");
    // Whether something is unread depends on how quickly the accounts came.
    let before = hands.pty.screen();
    hands.press("alt-u");
    hands.pty.wait_until("the next unread", |screen| {
        screen.contains("Nothing is unread") || screen.lines().next() != before.lines().next()
    });
    hands.press("alt-2").at("pheby@demo");
}

/// Enter, the ways to a new line, Ctrl+C on a draft, the keys of a shell.
fn writing(hands: &Hands) {
    hands.write("one");
    hands.press("alt-enter").write("two");
    hands.press("ctrl-j").write("three\\");
    hands.press("enter").gone("three\\").write("four");
    if hands.kind == Kind::Kitty {
        hands.press("shift-enter").write("five");
    }
    assert!(
        !hands.pty.screen().contains("You wrote"),
        "a new line sent the draft"
    );
    hands.press("ctrl-c").gone("four");
    hands.press("up").see("four");
    hands.press("ctrl-c").gone("four");
    hands.press("ctrl-_").see("four");
    hands.press("ctrl-c").gone("four");
    // Line editing.
    hands.write("alpha beta gamma");
    hands.press("ctrl-w").gone("gamma");
    hands.press("ctrl-a alt-d").gone("alpha").see("beta");
    hands.press("ctrl-y").see("alpha beta");
    hands.press("alt-b alt-f ctrl-k").gone("beta");
    hands.press("ctrl-u").gone("alpha");
    hands.write("bc");
    hands.press("ctrl-b ctrl-b").write("a").see("abc");
    hands.press("ctrl-f ctrl-f").write("d").see("abcd");
    hands.press("alt-b").write("0").see("0abcd");
    hands.press("ctrl-e").write("9").see("0abcd9");
    hands.press("ctrl-u").gone("0abcd9");
    hands.write("plain");
    hands.press("enter").see("You wrote:");
}

/// Something turns.
fn is_running(screen: &str) -> bool {
    screen.contains(|c| "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏".contains(c))
}

/// Esc and Ctrl+C with a run.
fn stopping(hands: &Hands) {
    let stopped = |screen: &str| {
        let is_stopped = |line: &&str| line.trim_end().ends_with(" stopped");
        screen.lines().filter(is_stopped).count()
    };
    hands.write("slow");
    hands.press("enter").see("This comes slowly");
    hands.press("esc").see("Esc again stops");
    hands.press("esc");
    hands
        .pty
        .wait_until("the end of the run", |screen| stopped(screen) == 1);
    hands.press("ctrl-l");
    hands.write("slow");
    hands.press("enter");
    hands.pty.wait_until("a run", is_running);
    hands.press("ctrl-c");
    hands
        .pty
        .wait_until("the end of the run", |screen| !is_running(screen));
    hands.press("x").press("backspace");
}

/// Ctrl+P, Ctrl+N, F1.
fn popups(hands: &Hands) {
    for (keys, words) in [
        ("ctrl-p", "what do you want to do?"),
        ("ctrl-n", "name of a conversation"),
        ("f1", "part of a key or of what it does"),
    ] {
        hands.press(keys).see(words);
        hands.press("esc").gone(words);
    }
}

/// Ctrl+X and what follows it.
fn leader(hands: &Hands) {
    // What can follow is shown.
    const SHOWN: &str = "draft in the editor";
    hands.press("ctrl-x").see(SHOWN);
    hands.press("esc").gone(SHOWN);
    for (key, words) in [
        ("s", "words to look for"),
        ("S", "words to look for"),
        ("m", "name of a model"),
        ("r", "Reasoning effort"),
        ("n", "New conversation"),
        ("i", "part of a frame or an account"),
        ("g", "Go to a date"),
        ("?", "part of a key or of what it does"),
    ] {
        hands.press("ctrl-x").see(SHOWN);
        hands.press(key).gone(SHOWN).see(words);
        hands.press("esc").gone(words);
    }
    hands.press("ctrl-x a").see("Nothing waits for you");
    hands.press("ctrl-x q").see("Nothing waits to be sent here");
    // Act mode or auto-approve is asked about.
    hands
        .press("ctrl-x y")
        .see("Switch on")
        .press("esc")
        .gone("Switch on");
    // The sidebar, and only the conversation.
    for key in ["b", "z"] {
        hands.press("ctrl-x").press(key).gone("omi@demo");
        hands.press("ctrl-x").press(key).see("omi@demo");
    }
    hands.press("ctrl-x t");
    hands.press("ctrl-x t");
}

/// Tab, Shift+Tab, PageUp, Shift+↑, Ctrl+End, and the keys of the timeline.
fn timeline(hands: &Hands) {
    hands.write("long");
    hands.press("enter");
    hands.pty.wait_until("a run", is_running);
    hands
        .pty
        .wait_until("the end of the run", |screen| !is_running(screen));
    for up in ["pageup", "shift-up"] {
        hands.press(up).see("newest");
        hands.press("ctrl-end").gone("newest");
    }
    hands.press("pageup").see("newest");
    hands.press("pagedown").gone("newest");
    hands.press("tab").see("j down");
    hands.press("g").see("the beginning of this");
    hands.press("G").gone("the beginning of this");
    hands.press("k j");
    hands.press("y").see("lipboard");
    hands.press("/").see("words to look for");
    hands.press("esc").gone("words to look for");
    // Searching, and walking over what was found.
    hands.press("/").see("words to look for");
    hands.write("ran dry").see("**Service");
    hands.press("enter").gone("Search in");
    hands.press("n N");
    // This protocol has no replies, so the message is quoted.
    hands.press("r").see("**nine** sessions");
}

/// Ctrl+R, Ctrl+G, Ctrl+O.
fn editor_and_history(hands: &Hands) {
    hands.press("ctrl-g").see("from the editor");
    hands.press("ctrl-c").gone("from the editor");
    hands.press("ctrl-x e").see("from the editor");
    hands.press("ctrl-c").gone("from the editor");
    hands.press("ctrl-r").see("part of an earlier input");
    hands.press("esc").gone("part of an earlier input");
    hands.press("ctrl-o");
    hands.press("ctrl-o");
}

/// Ctrl+L.
fn screen_keys(hands: &Hands) {
    hands.press("ctrl-l").see("pheby@demo");
}
