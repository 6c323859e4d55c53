//! Files of a server: their names, sizes, types, and where they are said to be.

use super::server::{Pheby, Reply, Server, attachment};
use super::support::pty::{Pty, program};
use super::support::served::{Served, add_account};
use super::words::wait_for_file;
use super::{Inert, at, end};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Saves every file of the newest message.
const SAVE: &str = "\ts";

fn offering(attachments: Vec<Value>, files: BTreeMap<String, Reply>) -> Server {
    Pheby {
        attachments: attachments.into(),
        ..Pheby::default()
    }
    .start(files)
}

/// Every file below a folder.
fn below(folder: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            all.extend(below(&path));
        } else {
            all.push(path);
        }
    }
    all.sort();
    all
}

#[test]
fn s_38_a_name_of_a_server_stays_in_the_folder_and_replaces_nothing() {
    let long = format!("{}.txt", "l".repeat(300));
    let names = [
        "../../x",
        "/abs/x",
        "..",
        ".",
        "",
        "a/b",
        "a\\b",
        "C:x",
        "CON",
        "x\0",
        &long,
        "trailing. ",
        ".bashrc",
        "-rf",
        "evil\u{202e}gpj.exe",
        "\x1b[2J",
    ];
    let home = tempfile::tempdir().unwrap();
    let down = home.path().join("down");
    std::fs::create_dir(&down).unwrap();
    std::fs::write(down.join("x"), "mine").unwrap();
    let mut files = BTreeMap::new();
    let mut offers = Vec::new();
    for (at, name) in names.iter().enumerate() {
        files.insert(format!("/attachments/e{at}"), Reply::file(b"text"));
        offers.push(attachment(&format!("e{at}"), name, json!({})));
    }
    let server = offering(offers, files);
    let mut pty = at(home.path(), "pheby", &server, 60);
    pty.wait_for("Here I am.");
    pty.send(SAVE);
    let is_whole = |path: &PathBuf| std::fs::metadata(path).is_ok_and(|facts| facts.len() == 4);
    pty.wait_until("all of them to be there", |_| {
        below(&down).iter().filter(|path| is_whole(path)).count() > names.len()
    });
    let saved = below(&down);
    assert_eq!(saved.len(), names.len() + 1, "{saved:?}");
    for path in &saved {
        assert_eq!(path.parent(), Some(down.as_path()), "{path:?}");
        let name = path.file_name().unwrap().to_str().unwrap();
        assert!(!name.starts_with(['.', '-', ' ']), "{name:?}");
        assert!(!name.ends_with(['.', ' ']) && name.len() <= 210, "{name:?}");
        assert!(
            !name.chars().any(|c| c.is_control() || c == '\u{202e}'),
            "{name:?}"
        );
        if name != "x" {
            let mode = std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
            assert_eq!(mode, 0o600, "{name:?}");
            assert_eq!(std::fs::read(path).unwrap(), b"text", "{name:?}");
        }
    }
    assert_eq!(std::fs::read(down.join("x")).unwrap(), b"mine");
    assert!(
        down.join("x (1)").exists() && down.join("x (2)").exists(),
        "{saved:?}"
    );
    assert!(!home.path().join("x").exists() && !Path::new("/abs/x").exists());
    pty.raw().assert_inert(120, 60);
    end(&mut pty);
}

#[test]
fn s_40_more_bytes_than_announced_are_not_kept() {
    let mut files = BTreeMap::new();
    files.insert("/attachments/more".to_owned(), Reply::file(&[b'x'; 10_000]));
    files.insert(
        "/attachments/endless".to_owned(),
        Reply::Endless(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec()),
    );
    files.insert("/attachments/less".to_owned(), Reply::file(b"short"));
    for (id, size, words) in [
        ("more", json!(10), "not kept"),
        ("endless", json!(10), "not kept"),
        ("less", json!(100), "incomplete"),
    ] {
        let home = tempfile::tempdir().unwrap();
        let offers = vec![attachment(id, "file.txt", json!({"size": size}))];
        let server = offering(offers, files.clone());
        let mut pty = at(home.path(), "pheby", &server, 40);
        pty.wait_for("file.txt");
        pty.send(SAVE);
        pty.wait_for(words);
        end(&mut pty);
        assert_eq!(below(&home.path().join("down")), Vec::<PathBuf>::new());
        let left = below(&home.path().join("data/cache"));
        assert_eq!(left, Vec::<PathBuf>::new(), "something is left of {id}");
    }
}

#[test]
fn s_40_a_size_that_is_no_size_costs_neither_the_file_nor_the_message() {
    for size in [
        json!(-1),
        json!(9_223_372_036_854_775_808_u64),
        json!("many"),
        json!(1e300),
    ] {
        let home = tempfile::tempdir().unwrap();
        let mut files = BTreeMap::new();
        files.insert("/attachments/e".to_owned(), Reply::file(b"text"));
        let offers = vec![attachment("e", "file.txt", json!({"size": size}))];
        let server = offering(offers, files);
        let mut pty = at(home.path(), "pheby", &server, 40);
        pty.wait_for("Here I am.");
        pty.wait_for("file.txt");
        end(&mut pty);
    }
}

/// The head of a PNG of so many pixels; what should follow does not.
fn vast_png(side: u32) -> Vec<u8> {
    let mut bytes = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
    bytes.extend(side.to_be_bytes());
    bytes.extend(side.to_be_bytes());
    bytes.extend([8, 6, 0, 0, 0]);
    bytes.extend([0; 64]);
    bytes
}

#[test]
fn s_41_a_picture_that_is_none_is_a_line_of_text() {
    let bomb = vast_png(60_000);
    let page = b"<html><script>alert(1)</script></html>".to_vec();
    let mut files = BTreeMap::new();
    let mut offers = Vec::new();
    for (id, body) in [("bomb", &bomb), ("page", &page)] {
        files.insert(format!("/attachments/{id}"), Reply::file(body));
        let facts = json!({"mime_type": "image/png", "kind": "image", "inline_image": true,
            "size": body.len()});
        offers.push(attachment(id, &format!("{id}.png"), facts));
    }
    let home = tempfile::tempdir().unwrap();
    let server = offering(offers, files);
    let mut pty = at(home.path(), "pheby", &server, 40);
    pty.wait_for("bomb.png");
    pty.wait_for("page.png");
    // A file that is saved was also loaded to be shown.
    pty.send(SAVE);
    wait_for_file(&pty, &home.path().join("down/bomb.png"));
    wait_for_file(&pty, &home.path().join("down/page.png"));
    pty.keep_sending("\x1b", "the composer", |screen| {
        screen.contains("Enter send")
    });
    pty.send("awake");
    let screen = pty.wait_for("› awake");
    assert!(
        screen.contains("bomb.png") && screen.contains("page.png"),
        "{screen}"
    );
    pty.raw().assert_inert(120, 40);
    end(&mut pty);
}

#[test]
fn s_42_a_file_that_is_not_what_was_announced_is_not_kept() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let served = Served::start(home, "127.0.0.1:0", &["speed=800", "iris.pull=short"]);
    add_account(home, "here", served.gateway("iris"));
    let mut command = program(home, &["--no-keyring"]);
    command.env("TRIALOGUE_SECRET_HERE", &served.gateway("iris").secret);
    command.env("XDG_DOWNLOAD_DIR", home.join("down"));
    let mut pty = Pty::start(command, 120, 40);
    pty.wait_for("online");
    pty.send("file\r");
    pty.wait_for("latency.csv");
    pty.send("\t");
    pty.keep_sending("s", "the word about it", |screen| {
        screen.contains("incomplete")
    });
    end(&mut pty);
    let kept = below(&home.join("down"));
    assert!(
        !kept.iter().any(|path| path.ends_with("latency.csv")),
        "{kept:?}"
    );
}

#[test]
fn s_43_the_secret_goes_to_its_own_server_only() {
    let elsewhere = TcpListener::bind("127.0.0.1:0").unwrap();
    elsewhere.set_nonblocking(true).unwrap();
    let there = elsewhere.local_addr().unwrap();
    for path in [
        format!("http://{there}/x"),
        format!("//{there}/x"),
        format!("https://{there}/x"),
        format!("/\\{there}/x"),
        format!("@{there}/x"),
        "/redirected".to_owned(),
    ] {
        let mut files = BTreeMap::new();
        let target = format!("http://{there}/x");
        files.insert("/redirected".to_owned(), Reply::redirect(&target));
        let home = tempfile::tempdir().unwrap();
        let facts = json!({"download_path": path});
        let server = offering(vec![attachment("e", "file.txt", facts)], files);
        let mut pty = at(home.path(), "pheby", &server, 40);
        pty.wait_for("file.txt");
        pty.send(SAVE);
        if path == "/redirected" {
            let head = server.asked("/redirected");
            assert!(head.contains("open sesame"), "{head}");
        }
        pty.wait_until("a word about it", |screen| {
            screen.contains('✗') || screen.contains("not ")
        });
        end(&mut pty);
        let came = elsewhere.accept();
        assert!(came.is_err(), "{path}: somebody else was asked");
        assert_eq!(below(&home.path().join("down")), Vec::<PathBuf>::new());
        assert!(server.requests().len() <= 1, "{:?}", server.requests());
    }
}
