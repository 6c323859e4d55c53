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
    // A desktop that opens files, for those that look for one.
    let tools = home.path().join("bin");
    std::fs::create_dir(&tools).unwrap();
    let opener = tools.join("xdg-open");
    std::fs::write(&opener, "#!/bin/sh\n").unwrap();
    std::fs::set_permissions(&opener, std::fs::Permissions::from_mode(0o700)).unwrap();
    let path = std::env::var("PATH").unwrap_or_default();
    let path = format!("{}:{path}", tools.display());
    let mut hands = Hands::start(
        kind,
        home.path(),
        &["demo", "--set", "speed=300"],
        &[("EDITOR", editor.to_str().unwrap()), ("PATH", &path)],
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
    folding_and_todos(&hands);
    files_and_deleting(&hands);
    screen_keys(&hands);
    suspending(&hands);
    // Last, as it leaves.
    hands.press("ctrl-d");
    assert_eq!(hands.pty.wait_exit(), 0, "{kind:?}");
}

/// Alt+1…9, Alt+↑/↓, Alt+U.
fn accounts_and_conversations(hands: &Hands) {
    hands.insist("alt-1", "iris@demo");
    hands.insist("alt-2", "pheby@demo").at("Welcome");
    hands.press("alt-down").at("harbor 2.8");
    hands.press("alt-up").at("Welcome");
    // Whether something is unread depends on how quickly the accounts came.
    let before = hands.pty.screen();
    hands.press("alt-u");
    hands.pty.wait_until("the next unread", |screen| {
        screen.contains("Nothing is unread") || screen.lines().next() != before.lines().next()
    });
    hands.insist("alt-2", "pheby@demo");
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
    hands.press("y").see("lipboard");
    hands.press("/").see("words to look for");
    hands.press("esc").gone("words to look for");
    // Searching, and walking over what was found.
    hands.press("/").see("words to look for");
    hands.write("ran dry").see("ran dry Service");
    hands.press("enter").gone("Search in");
    // There is one match, so there is nothing on either side of it.
    hands.press("n").see("the oldest match");
    hands.press("N").see("the newest match");
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
}

/// The beginnings of the rows of the entry that is selected.
fn selected(screen: &str) -> String {
    screen
        .lines()
        .filter_map(|line| line.split_once('▌'))
        // What is said in the corner lies over the right part of rows.
        .map(|(_, text)| text.chars().take(30).collect::<String>())
        .collect::<Vec<_>>()
        .join("\n")
}

/// Waits until another entry than this is selected; its rows.
fn other_entry(hands: &Hands, than: &str) -> String {
    let screen = hands.pty.wait_until("another entry", |screen| {
        let now = selected(screen);
        !now.is_empty() && now != than
    });
    selected(&screen)
}

/// Selects the newest entry with one of these in it, from the newest upwards. A tall entry may be
/// there in part.
fn select(hands: &Hands, texts: &[&str]) {
    hands.press("tab").see("j down");
    hands.press("G");
    let mut entry = other_entry(hands, "");
    for _ in 0..12 {
        if texts.iter().any(|text| entry.contains(text)) {
            return;
        }
        hands.press("k");
        entry = other_entry(hands, &entry);
    }
    panic!("no entry with {texts:?}:\n{}", hands.pty.screen());
}

/// Says a word that the agent knows and waits for the end of what it does.
fn play(hands: &Hands, word: &str, end: &str) {
    hands.write(word);
    hands.press("enter");
    hands.see(end);
    hands
        .pty
        .wait_until("the end of the run", |screen| !is_running(screen));
}

/// Enter on an entry, Ctrl+O, Ctrl+X t.
fn folding_and_todos(hands: &Hands) {
    let wait = |is_folded: bool| {
        hands.pty.wait_until("folding", |screen| {
            let mut lines = screen.lines();
            is_folded == lines.any(|line| line.contains("▸") && line.contains("tool calls"))
        });
    };
    play(hands, "tools", "a yanked 0.4.3");
    select(hands, &["tool calls"]);
    wait(true);
    hands.press("enter");
    wait(false);
    hands.press("enter");
    wait(true);
    hands.press("esc").gone("j down");
    hands.press("ctrl-o");
    wait(false);
    hands.press("ctrl-o");
    wait(true);
    hands.press("ctrl-end");
    hands.write("todo");
    hands.press("enter").see("ead how sessions are");
    hands
        .pty
        .wait_until("the end of the run", |screen| !is_running(screen));
    // The strip has one line; the whole list names the last of them too.
    hands.press("ctrl-x t").see("Delete the old code");
    hands.press("ctrl-x t").gone("Delete the old code");
}

/// s, o and d in the timeline, where the server knows them.
fn files_and_deleting(hands: &Hands) {
    hands.insist("alt-1", "iris@demo");
    play(hands, "file", "pool-fix.patch");
    hands.press("tab").see("j down");
    hands.press("G");
    let row = |screen: &str| screen.lines().position(|line| line.contains('▌'));
    let screen = hands
        .pty
        .wait_until("a selected entry", |screen| row(screen).is_some());
    let newest = row(&screen);
    hands.press("k");
    hands.pty.wait_until("the entry above", |screen| {
        row(screen) < newest && row(screen).is_some()
    });
    hands.press("j");
    hands
        .pty
        .wait_until("the newest entry", |screen| row(screen) == newest);
    hands.press("esc").gone("j down");
    // A multiplexer may show half of a frame, and then the entry beside it was chosen.
    for beside in ["", "k", "j", "k", "j", ""] {
        select(hands, &["501 B", "latency.png", "▀▀▀▀▀▀"]);
        if !beside.is_empty() {
            hands.press(beside);
        }
        hands.press("s");
        let screen = hands.pty.wait_until("an answer to s", |screen| {
            screen.contains("Saved") || screen.contains("no file on this")
        });
        if screen.contains("Saved") {
            break;
        }
        hands.press("esc").gone("j down");
        hands.gone("no file on this");
    }
    hands.see("Saved");
    hands.press("o");
    hands.pty.wait_until("an opened file", |screen| {
        screen.contains("Opened ") || screen.contains("Files of this conversation")
    });
    hands.press("esc").gone("Files of this conversation");
    hands.press("esc").gone("j down");
    select(hands, &["file"]);
    hands.press("d").see("Delete this message?");
    hands.press("esc").gone("Delete this message?");
    hands.press("esc").gone("j down");
    // And where it does not.
    hands.insist("alt-2", "pheby@demo");
    hands.press("tab").see("j down");
    hands.press("G d").see("Delete the message: ");
    hands.press("esc").gone("j down");
}

/// Ctrl+L.
fn screen_keys(hands: &Hands) {
    hands.press("ctrl-l").see("pheby@demo");
}

/// Ctrl+Z, and the way back.
fn suspending(hands: &Hands) {
    hands.write("kept");
    hands.press("ctrl-z");
    // tmux lets what it started itself go on at once.
    if hands.kind != Kind::Tmux {
        let id = hands.pty.id();
        let deadline = std::time::Instant::now() + super::support::pty::PATIENCE;
        let stat = format!("/proc/{id}/stat");
        while !std::fs::read_to_string(&stat)
            .unwrap_or_default()
            .contains(") T")
        {
            assert!(std::time::Instant::now() < deadline, "it is not stopped");
            std::thread::yield_now();
        }
        let status = std::process::Command::new("kill")
            .args(["-CONT", &id.to_string()])
            .status()
            .unwrap();
        assert!(status.success());
    }
    hands.write("!").see("kept!");
    hands.press("ctrl-c").gone("kept!");
}
