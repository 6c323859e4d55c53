//! Words of a server: messages, names, links, glyphs.

use super::server::{Pheby, iris, message};
use super::support::pty::Pty;
use super::{Inert, at, end};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

/// A history of these texts.
fn saying(texts: &[&str]) -> Pheby {
    let texts = texts.iter().enumerate();
    let messages: Vec<Value> = texts
        .map(|(at, text)| message(&format!("m{at}"), text))
        .collect();
    Pheby {
        messages: messages.into(),
        ..Pheby::default()
    }
}

#[test]
fn no_text_of_a_server_is_an_order() {
    let zalgo = format!("S-24 a{}b", "\u{301}".repeat(300));
    let texts = [
        "S-01 a\x1b[2Jb",
        "S-02 \x1b[1;1HFAKE STATUS",
        "S-03 a\u{9b}2Jb",
        "S-04 \x1b]0;owned\x07 \u{9d}0;owned\u{9c} \x1b]2;owned\x1b\\",
        "S-05 \x1b[21t\x1b[>q\x1b[6n\x1b[c",
        "S-06 \x1bP$q m\x1b\\ \x1bP+q 524742\x1b\\ \x1bP$qm\x1b\\ \x1bP+q524742\x1b\\",
        "S-07 \x1b]52;c;ZXZpbA==\x07",
        "S-08 \x1b]52;c;?\x07",
        "S-09 \x1b]8;;https://evil.example\x1b\\https://bank.example\x1b]8;;\x1b\\",
        "S-13 \x1b_Gf=100,t=f;L2V0Yy9wYXNzd2Q=\x1b\\ \x1b^pm\x1b\\ \x1bXsos\x1b\\ \x1bktitle\x1b\\",
        "S-14 \x1bPtmux;\x1b\x1b]52;c;eA==\x07\x1b\\ \x1bPq#0;2;0;0;0~~@@vv\x1b\\",
        "S-16 ends in an escape \x1b",
        "S-16 ends in a sequence \x1b[",
        "S-16 ends in a command \x1b]52;",
        "S-16 what follows is whole",
        "S-18 rm -rf ~\rls      and abc\x08\x08\x08xyz\x7f",
        "S-19 a\tb\u{b}c\u{c}d\u{85}e\u{2028}f",
        "S-20 before\0after",
        "S-21 invoice\u{202e}fdp.exe\u{2066}\u{2069}\u{200b}\u{e0068}",
        &zalgo,
        "All was said.",
    ];
    let home = tempfile::tempdir().unwrap();
    let server = saying(&texts).start(BTreeMap::new());
    let mut pty = at(home.path(), "pheby", &server, 120);
    let screen = pty.wait_for("All was said.");
    for part in [
        "a␛[2Jb",
        "␛[1;1HFAKE STATUS",
        "S-16 what follows is whole",
        "rm -rf ~",
        "abc␈␈␈xyz␡",
        "before␀after",
    ] {
        assert!(
            screen.contains(part),
            "{part:?} is not to be seen:\n{screen}"
        );
    }
    assert!(!screen.starts_with("FAKE"), "{screen}");
    assert!(screen.contains("● online"), "{screen}");
    let raw = pty.raw();
    raw.assert_inert(120, 120);
    let marks = String::from_utf8_lossy(&raw).matches('\u{301}').count();
    assert!(marks < 100, "S-24: {marks} marks");
    end(&mut pty);
}

#[test]
fn s_22_s_26_names_are_one_line_and_lookalikes_are_marked() {
    let home = tempfile::tempdir().unwrap();
    let server = Pheby {
        name: format!("\u{430}lerts\n\x1b[2J\u{202e}{}", "n".repeat(10_000)),
        ..Pheby::default()
    }
    .start(BTreeMap::new());
    let mut pty = at(home.path(), "pheby", &server, 40);
    let screen = pty.wait_for("Here I am.");
    let named: Vec<&str> = screen
        .lines()
        .filter(|line| line.contains("nnnn"))
        .collect();
    // The sidebar, the title, the edge of the composer, and the hint in it.
    assert!((1..=4).contains(&named.len()), "{screen}");
    for line in screen.lines() {
        assert!(line.chars().count() <= 120, "{line}");
    }
    assert!(screen.contains("lerts␊␛[2J"), "{screen}");
    // The mark of a name in two scripts.
    assert!(screen.contains('≠'), "{screen}");
    pty.raw().assert_inert(120, 40);
    end(&mut pty);
}

#[test]
fn s_25_wide_clusters_leave_the_edges_where_they_are_also_when_drawn_anew() {
    // The model knows no families and no sequences of emoji; those are tried in `hostile`.
    let clusters = ["🇩🇪", "配", "각", "e\u{301}"];
    let texts: Vec<String> = clusters
        .iter()
        .map(|cluster| format!("{} {}", "w".repeat(60), cluster.repeat(30)))
        .collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let home = tempfile::tempdir().unwrap();
    let server = saying(&texts).start(BTreeMap::new());
    let mut pty = at(home.path(), "pheby", &server, 40);
    pty.wait_for("각각각");
    let edges = |pty: &Pty| -> usize {
        pty.with_screen(|screen| {
            (0..40)
                .filter_map(|row| screen.cell(row, 25))
                .filter(|cell| cell.contents() == "│")
                .count()
        })
    };
    assert_eq!(edges(&pty), 40, "{}", pty.screen());
    let written = pty.raw().len();
    pty.send("\x0c");
    pty.wait_written("all of it again", "각각각".as_bytes(), written);
    pty.send("x");
    pty.wait_for("› x");
    assert_eq!(edges(&pty), 40, "{}", pty.screen());
    end(&mut pty);
}

#[test]
fn s_27_a_glyph_of_a_tool_is_one_picture() {
    let home = tempfile::tempdir().unwrap();
    let server = iris("Home");
    let mut pty = at(home.path(), "iris", &server, 40);
    pty.wait_for("Here I am.");
    for (index, emoji) in ["🔧".repeat(2_000), "\x1b[2J\x1b]0;owned\x07".to_owned()]
        .iter()
        .enumerate()
    {
        server.say(
            &json!({"v": 1, "type": "tool.start", "chat_id": "d", "payload":
            {"index": index, "name": "read_file\n\x1b[2J", "preview": "a.py", "emoji": emoji,
             "args": {"path": "a.py"}}}),
        );
    }
    let screen = pty.wait_for("read_file");
    let most = screen.lines().map(|line| line.matches('🔧').count()).max();
    assert!(most.unwrap_or(0) <= 1, "{screen}");
    assert!(screen.contains("Here I am."), "{screen}");
    pty.raw().assert_inert(120, 40);
    end(&mut pty);
}

#[test]
fn s_29_markdown_without_end_stays_in_its_message_and_keys_still_work() {
    let row = |cell: &str| format!("|{}\n", format!("{cell}|").repeat(200));
    let table = row("h") + &row("-") + &row("cell").repeat(300);
    let nested: String = (0..600).map(|n| " ".repeat(n * 2) + "- x\n").collect();
    let nested: String = nested.chars().take(64_000).collect();
    let texts = [
        "```rust\nfn never_closed() {}",
        &table,
        &nested,
        &"> ".repeat(20_000),
        &"[a](".repeat(15_000),
        "| a |\n|---|\n| not closed",
        "The last one is plain.",
    ];
    let home = tempfile::tempdir().unwrap();
    let server = saying(&texts).start(BTreeMap::new());
    let mut pty = at(home.path(), "pheby", &server, 40);
    pty.wait_for("The last one is plain.");
    for page in 0..8 {
        pty.send("\x1b[5~");
        let word = format!("k{page}");
        pty.send(&word);
        pty.wait_for(&format!("› {word}"));
        pty.send("\x15");
        pty.wait_gone(&format!("› {word}"));
    }
    pty.raw().assert_inert(120, 40);
    end(&mut pty);
}

/// Puts a browser into the folder's own `bin` that notes how many arguments it got, and which.
pub fn browser(home: &Path) {
    let bin = home.join("bin");
    std::fs::create_dir_all(&bin).unwrap();
    let note = home.join("opened").display().to_string();
    let script =
        format!("#!/bin/sh\nprintf '%s\\n' \"$#\" \"$@\" > {note}.new\nmv {note}.new {note}\n");
    for name in ["xdg-open", "gio", "open", "wslview"] {
        let path = bin.join(name);
        std::fs::write(&path, &script).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o700)).unwrap();
    }
}

pub fn wait_for_file(pty: &Pty, path: &Path) {
    let end = Instant::now() + Duration::from_secs(20);
    while !path.exists() {
        assert!(
            Instant::now() < end,
            "{} never came:\n{}",
            path.display(),
            pty.screen()
        );
        std::thread::park_timeout(Duration::from_millis(20));
    }
}

/// The program with that browser, on a server that says this.
fn with_browser(home: &Path, text: &str) -> Pty {
    browser(home);
    let server = saying(&[text]).start(BTreeMap::new());
    at(home, "pheby", &server, 40)
}

#[test]
fn s_10_s_12_a_link_shows_where_it_leads_and_is_one_argument_of_the_browser() {
    let target = "https://evil.example/;touch${IFS}owned;$(id)&calc";
    let home = tempfile::tempdir().unwrap();
    let text = format!("[https://bank.example](<{target}>)");
    let mut pty = with_browser(home.path(), &text);
    pty.wait_for("bank.example");
    pty.wait_for("https://evil.example/;touch");
    pty.send("\to");
    // What is opened stands there once more before it is.
    let note = home.path().join("opened");
    pty.wait_until("a question or the browser", |screen| {
        note.exists() || screen.contains("Open")
    });
    if !note.exists() {
        assert!(pty.screen().contains("evil.example"));
        pty.send("\x1b[C\r");
    }
    wait_for_file(&pty, &note);
    let opened = std::fs::read_to_string(&note).unwrap();
    let lines: Vec<&str> = opened.lines().collect();
    assert_eq!(lines[0], "1", "{opened}");
    assert!(
        lines[1].starts_with("https://evil.example/;touch"),
        "{opened}"
    );
    assert_eq!(lines.len(), 2, "{opened}");
    assert!(!home.path().join("owned").exists());
    end(&mut pty);
}

#[test]
fn s_11_other_schemes_are_never_opened() {
    let home = tempfile::tempdir().unwrap();
    let text = "[a](javascript:alert(1)) [b](file:///etc/passwd) [c](ssh://-oProxyCommand=x)";
    let mut pty = with_browser(home.path(), text);
    pty.wait_for("ProxyCommand");
    pty.send("\to");
    pty.wait_for("Esc write");
    pty.keep_sending("\x1b", "the composer", |screen| {
        screen.contains("Enter send")
    });
    pty.send("awake");
    pty.wait_for("› awake");
    assert!(!home.path().join("opened").exists());
    pty.raw().assert_inert(120, 40);
    end(&mut pty);
}
