//! Runs `transcripts/<protocol>/*.txt` against the drivers. One rule a file; its head names the
//! rule, and the readings of the specification that it covers (`# reads: P5 P6`).
//!
//! A line without a sign is an input: `up`, `down peer 1001`, `< {frame of the server}`,
//! `! command`, `+ 27s` (time passes), `http 3 201 {body}` and so on (`support/driver_lab.rs`). The
//! lines that begin with `>` (frames of ours) and `=` (everything else) are what comes of it.
//! `@ secret none` and the like at the top set the driver up. `#1` stands for the id of the first
//! request. With `TRANSCRIPTS=rewrite` in the environment the expected lines are written anew.

#![allow(clippy::unwrap_used)]

#[path = "support/driver_lab.rs"]
#[allow(dead_code)]
mod driver_lab;

use driver_lab::{Lab, LabSetup, perform};
use std::path::{Path, PathBuf};

fn folder(kind: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/transcripts")
        .join(kind)
}

fn files(kind: &str) -> Vec<(String, String)> {
    let mut files: Vec<(String, String)> = std::fs::read_dir(folder(kind))
        .into_iter()
        .flatten()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|end| end == "txt"))
        .map(|path| {
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            (name, std::fs::read_to_string(&path).unwrap())
        })
        .collect();
    files.sort();
    files
}

fn is_expectation(line: &str) -> bool {
    line.starts_with('>') || line.starts_with('=') || line.starts_with("    ")
}

/// The transcript as the driver plays it now.
fn play(kind: &str, text: &str) -> String {
    let mut setup = LabSetup::new(kind);
    let mut lab: Option<Lab> = None;
    let mut out = String::new();
    for line in text.lines() {
        if is_expectation(line) {
            continue;
        }
        out.push_str(line);
        out.push('\n');
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(setting) = line.strip_prefix("@ ") {
            assert!(lab.is_none(), "settings come first");
            let (name, value) = setting.split_once(' ').unwrap();
            match name {
                "secret" => setup.secret = (value != "none").then(|| value.to_owned()),
                "fact" => {
                    let (name, value) = value.split_once('=').unwrap();
                    setup.facts.insert(name.to_owned(), value.to_owned());
                }
                _ => {
                    setup.settings.insert(name.to_owned(), value.to_owned());
                }
            }
            continue;
        }
        let lab = lab.get_or_insert_with(|| Lab::new(&setup));
        for line in perform(lab, line) {
            out.push_str(&line);
            out.push('\n');
        }
    }
    out
}

/// Plays every transcript of a protocol and compares it line by line.
fn check(kind: &str) {
    let rewrites = std::env::var("TRANSCRIPTS").is_ok_and(|value| value == "rewrite");
    let files = files(kind);
    assert!(!files.is_empty(), "no transcripts for {kind}");
    let mut failures = Vec::new();
    for (name, text) in files {
        let played = match std::panic::catch_unwind(|| play(kind, &text)) {
            Ok(played) => played,
            Err(_) => {
                failures.push(format!("{kind}/{name}: broke off"));
                continue;
            }
        };
        if played == text {
            continue;
        }
        if rewrites {
            std::fs::write(folder(kind).join(format!("{name}.txt")), played).unwrap();
            continue;
        }
        let at = text
            .lines()
            .zip(played.lines())
            .take_while(|(a, b)| a == b)
            .count();
        failures.push(format!(
            "{kind}/{name}, line {}:\n  expected {}\n  came     {}",
            at + 1,
            text.lines().nth(at).unwrap_or("the end"),
            played.lines().nth(at).unwrap_or("the end"),
        ));
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Every frame type, by direction, and every reading has a transcript.
fn covers(kind: &str, from_server: &[&str], from_client: &[&str], readings: &[&str]) {
    let all: String = files(kind).into_iter().map(|(_, text)| text).collect();
    let types = |sign: &str| -> Vec<String> {
        all.lines()
            .filter_map(|line| line.strip_prefix(sign))
            .filter_map(|json| serde_json::from_str::<serde_json::Value>(json).ok())
            .filter_map(|value| value["type"].as_str().map(str::to_owned))
            .collect()
    };
    let (seen, said) = (types("< "), types("> "));
    let read: Vec<&str> = all
        .lines()
        .filter_map(|line| line.strip_prefix("# reads:"))
        .flat_map(str::split_whitespace)
        .collect();
    let missing: Vec<&&str> = from_server
        .iter()
        .filter(|name| !seen.iter().any(|seen| seen == **name))
        .chain(
            from_client
                .iter()
                .filter(|name| !said.iter().any(|said| said == **name)),
        )
        .chain(readings.iter().filter(|name| !read.contains(*name)))
        .collect();
    assert!(missing.is_empty(), "{kind}: no transcript for {missing:?}");
}

#[test]
fn omi_follows_its_transcripts() {
    check("omi");
}

#[test]
fn pheby_follows_its_transcripts() {
    check("pheby");
}

#[test]
fn pheby_transcripts_cover_every_frame_and_reading() {
    covers(
        "pheby",
        &[
            "ready",
            "pong",
            "error",
            "conversation.snapshot",
            "conversation.created",
            "conversation.updated",
            "conversation.history",
            "conversation.renamed",
            "conversation.deleted",
            "run.accepted",
            "message.start",
            "message.delta",
            "message.complete",
            "run.finished",
            "tool.event",
            "approval.request",
            "approval.resolved",
            "clarify.request",
            "clarify.resolved",
            "yolo.snapshot",
            "yolo.changed",
            "models.snapshot",
            "model.current",
            "model.changed",
            "reasoning.snapshot",
            "reasoning.changed",
            "attachment.added",
        ],
        &[
            "hello",
            "ping",
            "conversation.list",
            "conversation.create",
            "conversation.open",
            "conversation.rename",
            "conversation.delete",
            "chat.send",
            "run.cancel",
            "approval.respond",
            "clarify.respond",
            "yolo.current",
            "yolo.set",
            "models.list",
            "models.current",
            "model.set",
            "reasoning.current",
            "reasoning.set",
        ],
        &[
            "P1", "P4", "P5", "P6", "P7", "P8", "P9", "P10", "P11", "P12", "P13", "P14", "P15",
            "P16", "P17", "P18", "P19", "P20", "P22", "P23", "P25", "P26", "P27", "P28",
        ],
    );
}

#[test]
fn every_error_code_of_pheby_has_a_transcript() {
    let all: String = files("pheby").into_iter().map(|(_, text)| text).collect();
    for code in [
        "unauthorized",
        "auth_timeout",
        "version_mismatch",
        "bad_request",
        "invalid_json",
        "unknown_type",
        "not_found",
        "conversation_not_found",
        "approval_not_found",
        "clarify_not_found",
        "too_large",
        "rate_limited",
        "run_active",
        "internal_error",
        "not_implemented",
    ] {
        assert!(
            all.contains(&format!("\"code\":\"{code}\"")),
            "no transcript for {code}"
        );
    }
}

#[test]
fn iris_follows_its_transcripts() {
    check("iris");
}

#[test]
fn iris_transcripts_cover_every_frame_and_reading() {
    covers(
        "iris",
        &[
            "hello.ack",
            "message",
            "message.start",
            "message.update",
            "message.stop",
            "message.deleted",
            "commentary",
            "tool.start",
            "tool.progress",
            "tool.end",
            "todo.update",
            "typing",
            "notification",
            "channel.list",
            "channel.created",
            "channel.renamed",
            "channel.deleted",
            "search.results",
            "media.offer",
            "read.receipt",
            "status",
            "error",
            "pong",
            "sync.done",
            "history",
            "media.pull.end",
            "media.upload.ack",
            "commands.catalog",
            "picker.choice",
            "picker.model",
            "picker.clarify",
            "picker.approval",
            "picker.confirm",
            "commands.complete",
            "agent.busy",
            "agent.idle",
        ],
        &[
            "hello",
            "message.send",
            "media.upload.start",
            "media.upload.end",
            "media.pull",
            "channel.create",
            "channel.rename",
            "channel.set_default",
            "channel.favorite",
            "channel.icon",
            "channel.set_automation",
            "channel.delete",
            "channel.list",
            "commands.catalog",
            "search",
            "sync",
            "history",
            "message.delete",
            "picker.select",
            "ping",
        ],
        &[
            "I3", "I4", "I6", "I7", "I8", "I9", "I10", "I11", "I12", "I13", "I14", "I15", "I16",
            "I17", "I18", "I20", "I21", "I23", "I24", "I27", "I29", "I30", "I31", "I32", "I33",
            "I34", "I36", "I37", "I38", "I39", "I42", "I43", "I46",
        ],
    );
}
