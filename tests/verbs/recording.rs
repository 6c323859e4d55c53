//! Recordings: made in the real interface, played in the real interface.

use super::support::pty::{Pty, program};
use super::*;

/// Runs the program in a terminal and leaves it with a signal.
fn in_terminal(profile: &Profile, arguments: &[&str], act: impl FnOnce(&mut Pty)) {
    let mut command = program(
        profile.home.path(),
        &[arguments, &["--no-keyring"]].concat(),
    );
    command.env("TRIALOGUE_SECRET_HERE", &profile.secret);
    let mut pty = Pty::start(command, 120, 40);
    act(&mut pty);
    let _ = Command::new("kill")
        .args(["-TERM", &pty.id().to_string()])
        .stderr(Stdio::null())
        .status();
    // It may have left by itself.
    assert!(matches!(pty.wait_exit(), 0 | 143));
}

#[test]
fn a_session_is_recorded_and_played_again_without_its_server() {
    for protocol in ["pheby", "iris", "omi"] {
        let mut profile = Profile::new(protocol, &["speed=400"]);
        let file = profile.home.path().join("session.jsonl");
        let path = file.to_str().unwrap().to_owned();
        in_terminal(&profile, &["record", &path], |pty| {
            pty.wait_for("online");
            pty.send("plain\r");
            pty.wait_for("Say help to see the list here.");
            // Leaving is in the recording; who plays it stays.
            pty.send("\x04");
        });
        let text = read(&file);
        assert!(
            profile.secret.is_empty() || !text.contains(&profile.secret),
            "a secret is in the recording"
        );
        for part in [
            "\"key\":\"enter\"",
            "\"in\":",
            "\"out\":",
            "\"up\":true",
            "\"command\":\"send ",
        ] {
            assert!(text.contains(part), "{protocol}: {part} is missing");
        }
        profile.served.kill();
        // In folders of its own, as the one who got the report has it.
        let other = tempfile::tempdir().unwrap();
        for speed in ["4", "max"] {
            let mut pty = Pty::start(
                program(other.path(), &["replay", &path, "--speed", speed]),
                120,
                40,
            );
            pty.wait_for("Say help to see the list here.");
            pty.wait_for("The recording is over");
            let status = Command::new("kill")
                .args(["-TERM", &pty.id().to_string()])
                .status()
                .unwrap();
            assert!(status.success());
            assert_eq!(pty.wait_exit(), 143);
        }
        assert!(
            !other.path().join("data").exists() && !other.path().join("config").exists(),
            "the replay wrote into the person's folders"
        );
    }
}

#[test]
fn a_recording_that_is_there_is_not_written_over() {
    let profile = Profile::new("pheby", &["speed=400"]);
    let file = profile.home.path().join("session.jsonl");
    std::fs::write(&file, "mine").unwrap();
    let path = file.to_str().unwrap();
    let refused = profile.run(&["record", path]);
    assert_eq!(refused.status.code(), Some(2));
    let words = text(&refused.stderr);
    assert!(
        words.contains("is there already") && words.contains("--force"),
        "{words}"
    );
    assert_eq!(read(&file), "mine");
}

#[test]
fn what_is_typed_during_a_replay_goes_nowhere_and_its_end_is_shown() {
    let profile = Profile::new("pheby", &["speed=400"]);
    let file = profile.home.path().join("session.jsonl");
    let path = file.to_str().unwrap().to_owned();
    in_terminal(&profile, &["record", &path], |pty| {
        pty.wait_for("Welcome");
    });
    let mut pty = Pty::start(
        program(profile.home.path(), &["replay", &path, "--speed", "max"]),
        120,
        40,
    );
    pty.wait_for("REPLAY over");
    assert!(!pty.screen().contains("online"), "{}", pty.screen());
    pty.send("typed words");
    pty.wait_for("goes nowhere");
    assert!(!pty.screen().contains("typed words"), "{}", pty.screen());
    pty.send("\x04");
    assert_eq!(pty.wait_exit(), 0);
}

#[test]
fn a_recording_is_played_step_by_step() {
    let profile = Profile::new("pheby", &["speed=400"]);
    let file = profile.home.path().join("session.jsonl");
    let path = file.to_str().unwrap().to_owned();
    in_terminal(&profile, &["record", &path], |pty| {
        pty.wait_for("Welcome");
    });
    in_terminal(&profile, &["replay", &path, "--step"], |pty| {
        pty.wait_until("a first frame", |screen| !screen.trim().is_empty());
        assert!(!pty.screen().contains("Welcome"));
        pty.keep_sending("\x1b[18~", "a step", |screen| screen.contains("Step "));
        pty.keep_sending("\x1b[18~", "the welcome", |screen| {
            screen.contains("Welcome")
        });
    });
}

#[test]
fn a_recording_becomes_a_transcript() {
    for protocol in ["pheby", "iris"] {
        let profile = Profile::new(protocol, &["speed=400"]);
        let file = profile.home.path().join("session.jsonl");
        let path = file.to_str().unwrap().to_owned();
        in_terminal(&profile, &["record", &path], |pty| {
            pty.wait_for("online");
            pty.send("plain\r");
            pty.wait_for("Say help to see the list here.");
        });
        let transcript = profile.says(&["replay", &path, "--transcript"]);
        let lines: Vec<&str> = transcript.lines().collect();
        assert!(
            lines[0].starts_with("# Recorded by trialogue"),
            "{protocol}"
        );
        for start in ["up", "< {", "> {", "! send ", "! open "] {
            assert!(
                lines.iter().any(|line| line.starts_with(start)),
                "{protocol}: nothing begins with {start:?}:\n{transcript}"
            );
        }
        assert!(!transcript.contains(&profile.secret));
        let kept = std::env::var_os("TRIALOGUE_KEEP_TRANSCRIPTS");
        if let Some(folder) = kept {
            let name = format!("{protocol}.txt");
            std::fs::write(Path::new(&folder).join(name), &transcript).unwrap();
        }
    }
}

#[test]
fn the_inspector_shows_what_passed_before_it_was_opened_and_saves_it() {
    let profile = Profile::new("pheby", &["speed=400"]);
    let mut saved = None;
    in_terminal(&profile, &[], |pty| {
        pty.wait_for("Welcome");
        pty.send("\x18i");
        pty.wait_for("conversation.list");
        assert!(!pty.screen().contains(&profile.secret));
        pty.send("\t");
        pty.wait_for("Saved as");
        let folder = profile.home.path().join("data/state/recordings");
        saved = std::fs::read_dir(folder)
            .unwrap()
            .next()
            .map(|file| file.unwrap().path());
    });
    let saved = saved.unwrap();
    assert!(!read(&saved).contains(&profile.secret));
    // What was saved plays like any other recording.
    let mut pty = Pty::start(
        program(
            profile.home.path(),
            &["replay", saved.to_str().unwrap(), "--speed", "max"],
        ),
        120,
        40,
    );
    pty.wait_for("Welcome");
    pty.send("\x04");
    assert_eq!(pty.wait_exit(), 0);
}

#[test]
fn what_is_no_recording_is_refused_with_a_reason() {
    let profile = Profile::new("pheby", &[]);
    let file = profile.home.path().join("notes.txt");
    std::fs::write(&file, "hello\n").unwrap();
    for name in ["notes.txt", "is-not-there"] {
        let output = profile.run(&["replay", name]);
        assert_eq!(output.status.code(), Some(2));
        assert!(
            text(&output.stderr).contains(name),
            "{}",
            text(&output.stderr)
        );
    }
}
