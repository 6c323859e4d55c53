//! `send` where something goes on in the conversation already.

use super::{Profile, json_lines, text};
use crate::support::served::{add_account, command};
use std::time::{Duration, Instant};

/// Another device of the same person.
struct Device(tempfile::TempDir);

impl Device {
    fn new(profile: &Profile, protocol: &str) -> Self {
        let home = tempfile::tempdir().unwrap();
        add_account(home.path(), "here", profile.served.gateway(protocol));
        Self(home)
    }

    fn send(&self, profile: &Profile, arguments: &[&str]) -> std::process::Command {
        let arguments = [&["send", "--no-keyring", "--json"], arguments].concat();
        let mut command = command(self.0.path(), &arguments);
        command.env("TRIALOGUE_SECRET_HERE", &profile.secret);
        command
    }
}

#[test]
fn nothing_is_sent_where_an_agent_waits_for_a_decision() {
    for protocol in ["pheby", "iris"] {
        let profile = Profile::new(protocol, &["speed=400"]);
        let first = profile.run(&["send", "approve"]);
        assert_eq!(first.status.code(), Some(5), "{}", text(&first.stderr));
        let began = Instant::now();
        let second = profile.run(&["send", "plain"]);
        let said = text(&second.stderr);
        assert_eq!(second.status.code(), Some(5), "{protocol}: {said}");
        assert!(said.contains("nothing was sent"), "{protocol}: {said}");
        assert!(began.elapsed() < Duration::from_secs(15), "{protocol}");
    }
}

#[test]
fn the_calls_of_a_run_that_was_queued_before_are_those_of_another_message() {
    let profile = Profile::new("iris", &["speed=300"]);
    let mut first = profile.start(&["send", "--json", "tools"]);
    first.line(|line| line.contains("\"event\":\"tool\""));
    let second = Device::new(&profile, "iris");
    let mut queued = second
        .send(&profile, &["tools"])
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(queued.stdout.take().unwrap()));
    let is_queued = lines
        .by_ref()
        .map_while(Result::ok)
        .any(|line| line.contains("another run is active"));
    assert!(is_queued, "the second message began a run of its own");
    let third = Device::new(&profile, "iris");
    let output = third.send(&profile, &["plain"]).output().unwrap();
    let events = json_lines(&text(&output.stdout));
    assert_eq!(output.status.code(), Some(0), "{events:?}");
    let calls: Vec<_> = events
        .iter()
        .filter(|event| event["event"] == "tool")
        .collect();
    assert!(calls.is_empty(), "{calls:?}");
    let answer = events
        .iter()
        .rfind(|event| event["event"] == "message")
        .unwrap();
    assert!(
        answer["text"].as_str().unwrap().contains("scripted agent"),
        "{answer}"
    );
    drop(lines);
    assert_eq!(first.exit_code(), Some(0));
    let _ = queued.wait();
}

#[test]
fn a_command_of_the_gateway_that_begins_no_run_is_answered() {
    let profile = Profile::new("iris", &["speed=300"]);
    let began = Instant::now();
    let output = profile.run(&["send", "/help"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("/reasoning"));
    assert!(began.elapsed() < Duration::from_secs(30));
    // A command that only a picker answers does not count as one that waits.
    assert_eq!(profile.run(&["send", "/reasoning"]).status.code(), Some(5));
    for message in ["plain", "/help", "plain"] {
        let output = profile.run(&["send", message]);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{message}: {said}");
        assert!(!said.contains("another run"), "{message}: {said}");
    }
}

#[test]
fn a_question_that_the_gateway_says_as_a_message_too_is_printed_once() {
    let profile = Profile::new("iris", &["speed=400"]);
    let out = profile.run(&["send", "--on-approval", "deny", "approve"]);
    let said = format!("{}{}", text(&out.stdout), text(&out.stderr));
    let times = |part: &str| said.matches(part).count();
    assert_eq!(times("Reason: recursive delete"), 1, "{said}");
    assert!(times("? approval wanted, as said above") > 0, "{said}");
    assert_eq!(times("cd /srv/harbor/releases"), 1, "{said}");
}

#[test]
fn what_two_programs_saw_live_is_kept_once() {
    for protocol in ["pheby", "iris"] {
        let profile = Profile::new(protocol, &["speed=100"]);
        let mut listeners: Vec<_> = (0..2)
            .map(|_| profile.start(&["listen", "--json"]))
            .collect();
        for listener in &mut listeners {
            listener.line(|line| line.contains("\"state\":\"ready\""));
        }
        let scenes = ["notice", "empty", "fail", "plain"];
        for scene in scenes {
            let output = profile.run(&["send", "-c", "Welcome", scene]);
            let code = output.status.code();
            let due = i32::from(scene == "fail");
            assert_eq!(
                code,
                Some(due),
                "{protocol} {scene}: {}",
                text(&output.stderr)
            );
        }
        for listener in &mut listeners {
            for _ in scenes {
                listener.line(|line| line.contains("\"event\":\"finished\""));
            }
        }
        for listener in listeners {
            listener.signal("TERM");
            listener.exit_code();
        }
        let kept = ["tail", "-n", "50", "--offline", "--json", "Welcome"];
        let kept = json_lines(&profile.says(&kept));
        let mut texts: Vec<_> = kept
            .iter()
            .filter(|line| line["event"] == "message")
            .map(|line| line["text"].as_str().unwrap().to_owned())
            .collect();
        let count = texts.len();
        texts.sort();
        texts.dedup();
        assert_eq!(texts.len(), count, "{protocol}: {texts:#?}");
        let ends = kept.iter().filter(|line| line["event"] == "finished");
        let failed = ends.filter(|line| line["outcome"] == "failed").count();
        assert_eq!(failed, 1, "{protocol}: {kept:#?}");
    }
}

#[test]
fn a_message_can_begin_a_conversation() {
    for protocol in ["pheby", "iris", "omi"] {
        let profile = Profile::new(protocol, &["speed=400"]);
        let output = profile.run(&["send", "--new=Nightly build", "plain"]);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{protocol}: {said}");
        assert!(
            profile.says(&["list"]).contains("Nightly build"),
            "{protocol}"
        );
        assert_eq!(
            profile.run(&["send", "--new", "plain"]).status.code(),
            Some(0)
        );
        let both = profile.run(&["send", "--new", "-c", "Welcome", "plain"]);
        assert_eq!(both.status.code(), Some(2));
    }
}
