//! What was said last, what arrives, and pipes that close.

use super::*;

#[test]
fn the_last_messages_come_from_the_server_or_from_what_is_kept() {
    let profile = Profile::new("iris", &["speed=400"]);
    let lines = json_lines(&profile.says(&["tail", "support", "-n", "5", "--json"]));
    let messages: Vec<&Value> = lines
        .iter()
        .filter(|line| line["event"] == "message")
        .collect();
    assert_eq!(messages.len(), 5);
    assert!(messages.iter().all(|message| message["account"] == "here"));
    let more = profile.says(&["tail", "support", "-n", "120", "--json"]);
    let count = json_lines(&more)
        .iter()
        .filter(|line| line["event"] == "message")
        .count();
    assert_eq!(count, 120);
    let kept = profile.says(&["tail", "support", "-n", "5", "--json", "--offline"]);
    assert_eq!(json_lines(&kept).len(), lines.len());
    let words = profile.says(&["tail", "support", "-n", "1"]);
    assert!(
        words.contains("agent: ") || words.contains("you: "),
        "{words}"
    );
}

#[test]
fn the_beginning_of_a_name_is_enough_for_every_command() {
    let profile = Profile::new("iris", &["speed=400"]);
    profile.says(&["send", "-c", "Suppo", "hello"]);
    profile.says(&["tail", "suppo", "-n", "1"]);
    profile.says(&["export", "#suppo", "--offline"]);
    // Two conversations that begin alike are both named, and nothing is sent.
    let names: Vec<String> = json_lines(&profile.says(&["list", "--json"]))
        .iter()
        .map(|line| line["name"].as_str().unwrap().to_lowercase())
        .collect();
    let first = |name: &String| name.chars().next();
    let alike = names
        .iter()
        .find(|name| {
            names
                .iter()
                .filter(|other| first(other) == first(name))
                .count()
                > 1
        })
        .unwrap();
    let begin = first(alike).unwrap().to_string();
    for arguments in [
        &["send", "-c", &begin, "hello"][..],
        &["tail", &begin],
        &["tail", &begin, "--offline"],
    ] {
        let output = profile.run(arguments);
        let said = text(&output.stderr).to_lowercase();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains("several") && said.contains(alike), "{said}");
    }
}

#[test]
fn an_answer_that_another_client_asked_for_is_heard() {
    for protocol in ["pheby", "iris"] {
        let profile = Profile::new(protocol, &["speed=400"]);
        let mut listening = profile.start(&["listen", "--json"]);
        listening.line(|line| line.contains("\"state\":\"ready\""));
        // Another device: its own folders, the same server.
        let other = tempfile::tempdir().unwrap();
        add_account(other.path(), "here", profile.served.gateway(protocol));
        let sent = command(other.path(), &["send", "--no-keyring", "plain"])
            .env("TRIALOGUE_SECRET_HERE", &profile.secret)
            .output()
            .unwrap();
        assert!(sent.status.success(), "{}", text(&sent.stderr));
        let answer = listening.line(|line| {
            line.contains("\"event\":\"message\"") && line.contains("\"author\":\"assistant\"")
        });
        let answer: Value = serde_json::from_str(&answer).unwrap();
        assert_eq!(
            (&answer["v"], &answer["account"]),
            (&1.into(), &"here".into())
        );
        assert!(answer["conversation"].as_str().is_some(), "{answer}");
        assert!(
            answer["text"].as_str().unwrap().contains("scripted agent"),
            "{answer}"
        );
        listening.signal("INT");
        assert_eq!(listening.exit_code(), Some(130), "{protocol}");
    }
}

#[test]
fn following_a_conversation_goes_on_with_what_arrives() {
    let profile = Profile::new("pheby", &["speed=400"]);
    let events = json_lines(&profile.says(&["send", "--json", "plain"]));
    let place = events
        .iter()
        .find(|event| event["event"] == "conversation")
        .unwrap();
    let id = place["id"].as_str().unwrap();
    let mut following = profile.start(&["tail", id, "-n", "1", "-f", "--json"]);
    following.line(|line| line.contains("scripted agent"));
    profile.says(&["send", "-c", id, "table"]);
    following.line(|line| {
        line.contains("\"event\":\"message\"") && line.contains("\"author\":\"assistant\"")
    });
    following.signal("TERM");
    assert_eq!(following.exit_code(), Some(143));
}

#[test]
fn a_reader_that_has_seen_enough_is_no_failure() {
    let profile = Profile::new("pheby", &["speed=400"]);
    for arguments in [
        &["export", "support"][..],
        &["tail", "support", "-n", "400"],
        &["list"],
        &["search", "a"],
        &["keys"],
        &["account", "list"],
        &["demo", "--set", "help"],
        &["send", "long"],
    ] {
        let mut child = profile
            .command(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // Both pipes close before anything was read.
        drop(child.stdout.take());
        drop(child.stderr.take());
        assert_eq!(child.wait().unwrap().code(), Some(0), "{arguments:?}");
    }
}

/// `println!` panics when its reader is gone; commands print with `say!` and `complain!`.
#[test]
fn no_command_prints_in_a_way_that_a_closed_pipe_breaks() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/cli");
    let mut folders = vec![folder];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            for (at, line) in std::fs::read_to_string(&path)
                .unwrap_or_default()
                .lines()
                .enumerate()
            {
                let is_printing = ["print!(", "println!(", "eprint!(", "eprintln!("]
                    .iter()
                    .any(|name| {
                        line.match_indices(name).any(|(start, _)| {
                            !line[..start].ends_with(|c: char| c.is_alphanumeric() || c == '_')
                        })
                    });
                assert!(!is_printing, "{}:{}: {line}", path.display(), at + 1);
            }
        }
    }
}

#[test]
fn a_message_from_standard_input_with_a_file_gets_its_answer() {
    use std::io::Write;
    for protocol in ["pheby", "iris"] {
        let profile = Profile::new(protocol, &["speed=400"]);
        let file = profile.home.path().join("notes.txt");
        std::fs::write(&file, "some notes\n").unwrap();
        let mut child = profile
            .command(&["send", "--json", "--attach", file.to_str().unwrap()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(b"upload\n").unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{protocol}");
        let said = text(&output.stdout);
        assert!(said.contains("notes.txt"), "{protocol}: {said}");
        let missing = profile.run(&["send", "x", "--attach", "is-not-there.txt"]);
        assert_eq!(missing.status.code(), Some(2), "{}", text(&missing.stderr));
    }
}

#[test]
fn an_interrupt_stops_the_run() {
    let profile = Profile::new("pheby", &["speed=400"]);
    let mut sending = profile.start(&["send", "--json", "slow"]);
    let place = sending.line(|line| line.contains("\"event\":\"conversation\""));
    let place: Value = serde_json::from_str(&place).unwrap();
    sending.line(|line| line.contains("\"event\":\"text\""));
    sending.signal("INT");
    assert_eq!(sending.exit_code(), Some(130));
    let id = place["id"].as_str().unwrap();
    let after = profile.says(&["tail", id, "--json"]);
    assert!(
        json_lines(&after)
            .iter()
            .any(|line| line["outcome"] == "cancelled" || line["interrupted"] == true),
        "{after}"
    );
}

#[test]
fn listening_ends_when_nobody_will_ever_be_heard() {
    let profile = Profile::new("iris", &[]);
    let output = profile
        .command(&["listen", "--json"])
        .env("TRIALOGUE_SECRET_HERE", "wrong")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(4));
    let last = json_lines(&text(&output.stdout)).pop().unwrap();
    assert_eq!(last["state"], "refused", "{last}");
}

#[test]
fn an_account_without_a_secret_says_so_and_ends() {
    let profile = Profile::new("pheby", &["speed=400"]);
    let printed = profile.says(&["--print-paths"]);
    let folder = printed
        .lines()
        .find_map(|line| line.strip_prefix("secrets"));
    std::fs::remove_dir_all(folder.unwrap().trim()).unwrap();
    for arguments in [
        &["send", "-a", "here", "hello"][..],
        &["tail", "-a", "here", "Welcome"],
        &["export", "-a", "here", "Welcome"],
        &["listen", "-a", "here"],
    ] {
        let output = profile
            .command(arguments)
            .env_remove("TRIALOGUE_SECRET_HERE")
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(4), "{arguments:?}");
        // What a link is at is a line of what is listened to.
        let said = text(&[output.stdout, output.stderr].concat());
        assert!(
            said.contains("no secret was found"),
            "{arguments:?}: {said}"
        );
    }
}

#[test]
fn a_message_that_was_given_up_stands_once_beside_a_reader() {
    let profile = Profile::new("pheby", &["speed=400"]);
    let events = json_lines(&profile.says(&["send", "--json", "plain"]));
    let place = events
        .iter()
        .find(|event| event["event"] == "conversation")
        .unwrap();
    let id = place["id"].as_str().unwrap();
    let mut beside = profile.start(&["tail", id, "-n", "1", "-f", "--json"]);
    beside.line(|line| line.contains("\"event\":\"message\""));
    let output = profile.run(&["send", "-c", id, "--timeout", "1", "silence: number one"]);
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
    beside.line(|line| line.contains("\"event\":\"finished\""));
    let said = profile.says(&["tail", id, "--json"]);
    for said in [said, profile.says(&["tail", id, "--json", "--offline"])] {
        let own = json_lines(&said)
            .iter()
            .filter(|line| line["text"] == "silence: number one")
            .count();
        assert_eq!(own, 1, "{said}");
    }
    beside.signal("TERM");
}

#[test]
fn what_was_fetched_or_printed_is_not_unread() {
    for protocol in ["pheby", "iris"] {
        let profile = Profile::new(protocol, &["speed=400"]);
        let unread = |name: &str| -> Value {
            let lines = json_lines(&profile.says(&["list", "--json"]));
            let named = |line: &&Value| line["name"].as_str().is_some_and(|n| n.starts_with(name));
            let line = lines.iter().find(named);
            line.unwrap_or_else(|| panic!("{lines:?}"))["unread"].clone()
        };
        profile.says(&["tail", "Support", "-n", "60"]);
        assert_eq!(unread("Support"), 0, "{protocol}: fetched");
        profile.says(&["send", "-c", "Support", "plain"]);
        assert_eq!(unread("Support"), 0, "{protocol}: printed");
        // What another device was answered was not read here.
        let other = tempfile::tempdir().unwrap();
        add_account(other.path(), "here", profile.served.gateway(protocol));
        let mut sent = command(
            other.path(),
            &["send", "--no-keyring", "-c", "Support", "plain"],
        );
        sent.env("TRIALOGUE_SECRET_HERE", &profile.secret);
        assert!(sent.output().unwrap().status.success());
        profile.says(&["tail", "Support", "-n", "5"]);
        assert_ne!(unread("Support"), 0, "{protocol}: new");
    }
}
