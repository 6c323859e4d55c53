//! The real program in a pseudo terminal, against the demo gateways in another process.
#![allow(clippy::unwrap_used)]

mod support;

use support::pty::{Pty, contains, program};
use support::served::{Served, add_account};
use trialogue::domain::{AccountId, ConversationId};
use trialogue::store::{self, StoreOptions, fixture};

/// A profile with one account on gateways of its own.
fn profile(protocol: &str, options: &[&str]) -> (tempfile::TempDir, Served) {
    let home = tempfile::tempdir().unwrap();
    let served = Served::start(home.path(), "127.0.0.1:0", options);
    add_account(home.path(), "here", served.gateway(protocol));
    (home, served)
}

fn chat(home: &std::path::Path, served: &Served, protocol: &str) -> Pty {
    let mut command = program(home, &["--no-keyring"]);
    command.env("TRIALOGUE_SECRET_HERE", &served.gateway(protocol).secret);
    Pty::start(command, 120, 40)
}

#[test]
fn a_person_chats_and_the_conversation_is_there_again_before_any_network() {
    let (home, mut served) = profile("pheby", &["speed=400"]);
    let mut pty = chat(home.path(), &served, "pheby");
    pty.wait_for("online");
    pty.wait_for("Welcome");
    pty.send("plain\r");
    pty.wait_for("Say help to see the list here.");
    pty.send("a draft that stays");
    pty.wait_for("a draft that stays");
    signal_to(&pty, "TERM");
    assert_eq!(pty.wait_exit(), 143);

    served.kill();
    let again = chat(home.path(), &served, "pheby");
    again.wait_for("Say help to see the list here.");
    again.wait_for("a draft that stays");
}

#[test]
fn ten_thousand_messages_are_there_while_the_network_is_dead() {
    let home = tempfile::tempdir().unwrap();
    // A port that nobody listens on: it was free a moment ago.
    let port = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    std::fs::create_dir(home.path().join("config")).unwrap();
    std::fs::write(
        home.path().join("config/config.toml"),
        format!(
            "[[account]]\nname = \"home\"\nkind = \"pheby\"\nurl = \"ws://127.0.0.1:{port}/ws\"\n"
        ),
    )
    .unwrap();
    let (store, _) =
        store::open(home.path().join("data/history.db"), StoreOptions::default()).unwrap();
    let (account, conversation) = (AccountId::from("home"), ConversationId::from("long"));
    fixture::fill(&store, &account, &conversation, 10_000).unwrap();
    store.close();
    let mut command = program(home.path(), &["--no-keyring"]);
    command.env("TRIALOGUE_SECRET_HOME", "none");
    if let Some(folder) = std::env::var_os("TRIALOGUE_KEEP_PROFILE") {
        let status = std::process::Command::new("cp")
            .arg("-r")
            .arg(home.path())
            .arg(folder)
            .status()
            .unwrap();
        assert!(status.success());
    }
    let pty = Pty::start(command, 120, 40);
    pty.wait_for("#10000");
    pty.send("typed at once");
    pty.wait_for("typed at once");
    // The dead link shows where it belongs and stops nobody.
    pty.wait_until("the state of the link", |screen| {
        !screen.contains("● online")
    });
    pty.send("\x1b[5~\x1b[5~");
    pty.wait_gone("#10000");
}

#[test]
fn an_approval_takes_no_key_that_was_typed_and_a_refusal_carries_its_reason() {
    let (home, served) = profile("pheby", &["speed=300"]);
    let mut pty = chat(home.path(), &served, "pheby");
    pty.wait_for("online");
    pty.send("approve\r");
    pty.wait_for("Alt+A answers");
    pty.send("yes 1 ");
    pty.wait_for("yes 1");
    assert!(
        !pty.screen().contains("Freed 44 GB"),
        "a typed letter approved something"
    );
    pty.send("\x1ba");
    pty.wait_for("rm -rf --");
    // Before the popup was seen for a moment, its keys do nothing; deny has the focus.
    pty.wait_for("the agent is told no");
    // Deny has the focus. Keys do nothing for a moment after the popup was painted, so Enter is
    // tried until the line for the reason is there.
    pty.keep_sending("\r", "the line for a reason", |screen| {
        screen.contains("Enter deny")
    });
    pty.send("not today\r");
    // What the agent says to a refusal comes after the server took the answer.
    pty.wait_for("I leave the old releases alone");
    signal_to(&pty, "TERM");
    assert_eq!(pty.wait_exit(), 143);
    let decisions = std::fs::read_to_string(home.path().join("data/decisions.jsonl")).unwrap();
    assert!(decisions.contains("not today"), "{decisions}");
}

#[test]
fn a_run_is_stopped_by_esc_esc_and_the_next_message_works() {
    let (home, served) = profile("pheby", &[]);
    let pty = chat(home.path(), &served, "pheby");
    pty.wait_for("online");
    pty.send("slow\r");
    pty.wait_for("This comes slowly");
    pty.send("\x1b");
    pty.wait_for("Esc again stops");
    pty.send("\x1b");
    pty.wait_until("the end of the run", |screen| {
        screen
            .lines()
            .any(|line| line.trim_end().ends_with(" stopped"))
    });
    pty.send("plain\r");
    pty.wait_for("scripted agent");
}

#[test]
fn the_server_dies_in_the_middle_of_an_answer_and_everything_is_found_again_once() {
    let (home, served) = profile("pheby", &["speed=150"]);
    let pty = chat(home.path(), &served, "pheby");
    pty.wait_for("online");
    pty.send("cut\r");
    // The gateway cuts the link by itself and goes on; the client comes back and has the whole.
    pty.wait_until("the link to be lost", |screen| !screen.contains("● online"));
    let screen = pty.wait_until("the link to be back", |screen| screen.contains("● online"));
    let sent = screen
        .lines()
        .filter(|line| line.trim_end().ends_with("▎ cut"))
        .count();
    assert!(sent <= 1, "the message stands there twice:\n{screen}");
}

#[test]
fn a_killed_server_comes_back_with_its_disk_and_everything_is_there_as_it_has_it() {
    let home = tempfile::tempdir().unwrap();
    let disk = home.path().join("disk");
    let keep = ["--state", disk.to_str().unwrap()];
    let mut served = Served::start_with(home.path(), "127.0.0.1:0", &["speed=200"], &keep);
    add_account(home.path(), "here", served.gateway("pheby"));
    let mut pty = chat(home.path(), &served, "pheby");
    pty.wait_for("online");
    pty.send("\x18n");
    pty.wait_for("New conversation");
    pty.send("Killed\r");
    pty.wait_for("message Killed");
    pty.send("approve\r");
    pty.wait_for("Alt+A answers");
    pty.send("\x1ba");
    pty.wait_for("the agent is told no");
    pty.keep_sending("\r", "the line for a reason", |screen| {
        screen.contains("Enter deny")
    });
    pty.send("not today\r");
    pty.wait_for("I leave the old releases alone");
    pty.send("\x1b");
    pty.wait_for("Esc again stops");
    pty.send("\x1b");
    pty.wait_for("stopped");
    pty.send("long\r");
    // A part so long that no frame can pass over it.
    pty.wait_for("trace=");

    // In the middle of the answer.
    served.kill();
    pty.wait_for("offline");
    pty.send("said into the dark\r");
    pty.wait_for("1 queued");
    let address = served.address();
    let _served = Served::start_with(home.path(), &address, &["speed=400"], &keep);
    pty.wait_for("The run was lost");
    // What waited goes out by itself, and is answered.
    pty.wait_for("Say help to see the list here.");
    pty.wait_gone("it waits until the agent has finished");
    signal_to(&pty, "TERM");
    assert_eq!(pty.wait_exit(), 143);

    let book = std::fs::read(disk.join("pheby.json")).unwrap();
    let book: serde_json::Value = serde_json::from_slice(&book).unwrap();
    let there: Vec<(String, String)> = book["conversations"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|conversation| conversation["name"] == "Killed")
        .flat_map(|conversation| conversation["messages"].as_array().unwrap())
        .map(|message| said(message, "role"))
        .collect();
    let exported = support::served::run(
        home.path(),
        &["export", "Killed", "--format", "json", "--offline"],
    );
    let exported: serde_json::Value = serde_json::from_slice(&exported.stdout).unwrap();
    let mut here: Vec<(String, String)> = exported["entries"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|entry| entry["event"] == "message" && entry["author"] != "system")
        .map(|entry| said(entry, "author"))
        .collect();
    // What the server never finished is kept here, once, where it was seen.
    let cut: Vec<_> = here
        .iter()
        .filter(|message| !there.contains(message))
        .cloned()
        .collect();
    assert!(cut.len() <= 2, "{cut:#?}");
    assert!(
        cut.iter()
            .filter(|(_, text)| text.contains("How we found it"))
            .count()
            == 1,
        "{cut:#?}"
    );
    here.retain(|message| there.contains(message));
    assert_eq!(here, there);
    assert!(there.iter().any(|(_, text)| text == "said into the dark"));
}

/// Who said it and what, as the server and an export write it.
fn said(message: &serde_json::Value, who: &str) -> (String, String) {
    let word = |name: &str| message[name].as_str().unwrap().trim().to_owned();
    (word(who), word("text"))
}

#[test]
fn the_terminal_is_given_back_on_every_way_out() {
    for (signal, code) in [("TERM", 143), ("HUP", 129), ("QUIT", 131), ("INT", 130)] {
        let home = tempfile::tempdir().unwrap();
        let mut pty = Pty::start(program(home.path(), &["--no-keyring"]), 80, 24);
        pty.wait_until("a first frame", |screen| !screen.trim().is_empty());
        signal_to(&pty, signal);
        assert_eq!(pty.wait_exit(), code, "{signal}");
        let raw = pty.raw();
        for undo in [
            "\x1b[?1049l",
            "\x1b[?2004l",
            "\x1b[?1000l",
            "\x1b[?1004l",
            "\x1b[<u",
            "\x1b[?25h",
        ] {
            assert!(
                contains(&raw, undo.as_bytes()),
                "{signal}: {undo:?} is missing"
            );
        }
    }
}

#[test]
fn the_screen_survives_every_size() {
    let (home, served) = profile("pheby", &["speed=400"]);
    let pty = chat(home.path(), &served, "pheby");
    pty.wait_for("online");
    for (columns, rows) in [
        (100, 30),
        (40, 12),
        (30, 8),
        (25, 6),
        (20, 5),
        (5, 2),
        (1, 1),
        (60, 18),
        (300, 80),
        (120, 40),
    ] {
        pty.resize(columns, rows);
    }
    pty.send("plain\r");
    pty.wait_for("scripted agent");
}

#[test]
fn what_is_kept_can_be_listed_and_searched_without_a_screen() {
    let home = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| {
        let output = support::served::run(home.path(), arguments);
        (
            output.status.code(),
            String::from_utf8(output.stdout).unwrap(),
        )
    };
    assert_eq!(
        run(&["list"]),
        (Some(0), String::new()),
        "without any history there is nothing to list"
    );
    let (store, _) =
        store::open(home.path().join("data/history.db"), StoreOptions::default()).unwrap();
    fixture::fill(
        &store,
        &AccountId::from("home"),
        &ConversationId::from("long"),
        50,
    )
    .unwrap();
    store.close();
    assert!(run(&["list"]).1.contains("home\tlong"));
    let (code, hits) = run(&["search", "#17", "--json"]);
    assert_eq!(code, Some(0));
    let hit: serde_json::Value = serde_json::from_str(hits.lines().next().unwrap()).unwrap();
    assert!(hit["text"].as_str().unwrap().contains("#17"), "{hit}");
    assert_eq!(run(&["search", "#", "--limit", "3"]).1.lines().count(), 3);
    assert_eq!(run(&["decisions"]), (Some(0), String::new()));
    for arguments in [
        &["themes"][..],
        &["keys"],
        &["completions", "fish"],
        &["man"],
    ] {
        let (code, text) = run(arguments);
        assert!(code == Some(0) && text.len() > 200, "{arguments:?}: {text}");
    }
}

#[test]
fn send_prints_the_answer_and_says_by_its_exit_code_how_it_went() {
    let (home, mut served) = profile("pheby", &["speed=400"]);
    let secret = served.gateway("pheby").secret.clone();
    let send = |secret: &str, arguments: &[&str]| {
        support::served::command(
            home.path(),
            &[&["send", "--no-keyring"], arguments].concat(),
        )
        .env("TRIALOGUE_SECRET_HERE", secret)
        .output()
        .unwrap()
    };
    let answered = send(&secret, &["plain"]);
    let text = String::from_utf8(answered.stdout).unwrap();
    assert!(
        answered.status.success() && text.contains("scripted agent"),
        "{text}"
    );
    assert!(!text.contains('\x1b'), "an escape byte went into a pipe");

    let tools = send(&secret, &["tools"]);
    let asides = String::from_utf8(tools.stderr).unwrap();
    assert!(
        asides.contains('▸') && asides.contains('✓'),
        "tools and status go to standard error, whoever reads it: {asides}"
    );

    let json = send(&secret, &["--json", "tools"]);
    assert!(json.status.success());
    for line in String::from_utf8(json.stdout).unwrap().lines() {
        let value: serde_json::Value = serde_json::from_str(line).unwrap();
        assert_eq!(value["v"], 1, "{line}");
    }

    assert_eq!(send(&secret, &["approve"]).status.code(), Some(5));
    assert_eq!(send("wrong", &["plain"]).status.code(), Some(4));
    served.kill();
    let down = send(&secret, &["plain"]);
    assert_eq!(down.status.code(), Some(3));
    assert_eq!(String::from_utf8(down.stderr).unwrap().lines().count(), 1);
}

/// A profile whose account runs this command as its runtime.
fn runtime_profile(command: &[&str]) -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    std::fs::create_dir(home.path().join("config")).unwrap();
    let command: Vec<String> = command.iter().map(|word| format!("{word:?}")).collect();
    let text = format!(
        "[[account]]\nname = \"here\"\nkind = \"omi\"\ncommand = [{}]\n",
        command.join(", ")
    );
    std::fs::write(home.path().join("config/config.toml"), text).unwrap();
    home
}

/// A runtime that says its first line, writes down who it is, and never goes by itself.
const STUBBORN: &str = r#"trap '' TERM HUP INT
echo $$ >> pids
echo '{"type":"init","protocolVersion":2,"runtimeVersion":"1","agentControlTools":[],"runtimeCapabilities":["journal_import_remote_turn","runtime_adapter_availability"],"runtimeAdapterIds":["acp"]}'
while :; do sleep 1; done"#;

/// The processes that a stubborn runtime wrote down and that still run.
fn living(home: &std::path::Path) -> Vec<String> {
    std::fs::read_to_string(home.join("pids"))
        .unwrap_or_default()
        .lines()
        .filter(|pid| {
            std::fs::read_to_string(format!("/proc/{pid}/stat"))
                .is_ok_and(|stat| !stat.contains(") Z"))
        })
        .map(str::to_owned)
        .collect()
}

#[test]
fn quitting_waits_three_seconds_for_a_runtime_that_will_not_go_and_no_more() {
    let home = runtime_profile(&["sh", "-c", STUBBORN]);
    let mut pty = Pty::start(program(home.path(), &["--no-keyring"]), 120, 40);
    pty.wait_for("online");
    pty.send("/quit");
    pty.wait_for("/quit");
    let asked = std::time::Instant::now();
    pty.send("\r");
    assert_eq!(pty.wait_exit(), 0);
    let took = asked.elapsed();
    assert!(
        (3_000..5_000).contains(&took.as_millis()),
        "it took {took:?}"
    );
    assert!(living(home.path()).is_empty());
}

#[test]
#[cfg(target_os = "linux")]
fn a_runtime_that_outlived_a_killed_program_is_stopped_at_the_next_start() {
    let home = runtime_profile(&["sh", "-c", STUBBORN]);
    let mut pty = Pty::start(program(home.path(), &["--no-keyring"]), 120, 40);
    pty.wait_for("online");
    pty.kill();
    let left = living(home.path());
    assert_eq!(left.len(), 1);
    let again = Pty::start(program(home.path(), &["--no-keyring"]), 120, 40);
    again.wait_for("online");
    let now = living(home.path());
    assert_eq!(now.len(), 1, "the old one and the new one live");
    assert_ne!(now, left);
}

#[test]
fn a_runtime_that_is_killed_in_the_middle_of_an_answer_is_started_again_and_nothing_is_sent_twice()
{
    let home = runtime_profile(&[env!("CARGO_BIN_EXE_trialogue"), "demo", "--runtime"]);
    let pty = Pty::start(program(home.path(), &["--no-keyring"]), 120, 40);
    pty.wait_for("online");
    pty.wait_for("Welcome to the demo");
    pty.send("long\r");
    pty.wait_for("Post-mortem");
    let runtime = find_file(home.path(), "runtime").expect("the process is written down");
    let written = std::fs::read_to_string(&runtime).unwrap();
    let pid = written.split(' ').next().unwrap();
    let status = std::process::Command::new("kill")
        .args(["-9", pid])
        .status();
    assert!(status.unwrap().success());
    pty.wait_for("The run was lost");
    pty.wait_for("online");
    pty.send("plain\r");
    let screen = pty.wait_for("Say help to see the list here.");
    assert_eq!(screen.matches("▎ plain").count(), 1, "{screen}");
    // The question was written down once, and its answer ended.
    let journal =
        find_file(home.path(), "demo-runtime.json").expect("the runtime keeps its journal");
    let journal: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(journal).unwrap()).unwrap();
    let turns: Vec<&serde_json::Value> = journal["conversations"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|conversation| conversation["revisions"].as_array().unwrap())
        .collect();
    let asked = turns
        .iter()
        .filter(|turn| turn["content"] == "long")
        .count();
    assert_eq!(asked, 1);
    let cut = turns.iter().rev().find(|turn| {
        turn["role"] == "assistant" && turn["content"].as_str().unwrap().contains("Post-mortem")
    });
    assert_eq!(cut.unwrap()["status"], "failed");
}

/// A file of this name somewhere in a folder.
fn find_file(folder: &std::path::Path, name: &str) -> Option<std::path::PathBuf> {
    for entry in std::fs::read_dir(folder).ok()?.flatten() {
        let path = entry.path();
        if path.is_dir() {
            if let Some(found) = find_file(&path, name) {
                return Some(found);
            }
        } else if path.file_name().is_some_and(|found| found == name) {
            return Some(path);
        }
    }
    None
}

fn signal_to(pty: &Pty, name: &str) {
    let status = std::process::Command::new("kill")
        .args([&format!("-{name}"), &pty.id().to_string()])
        .status()
        .unwrap();
    assert!(status.success());
}

#[test]
fn send_says_what_became_of_a_run_that_ended_with_it_or_with_its_runtime() {
    let home = runtime_profile(&[
        env!("CARGO_BIN_EXE_trialogue"),
        "demo",
        "--runtime",
        "--set",
        "speed=400",
    ]);
    let send = |arguments: &[&str]| {
        let arguments = [&["send", "--no-keyring"], arguments].concat();
        let output = support::served::command(home.path(), &arguments)
            .output()
            .unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        (output.status.code(), said)
    };
    let (code, said) = send(&["approve"]);
    assert_eq!(code, Some(5), "{said}");
    assert!(
        said.contains("its run ended with this command") && said.contains("--on-approval once"),
        "{said}"
    );
    assert_eq!(send(&["--on-approval", "once", "approve"]).0, Some(0));
    let (code, said) = send(&["cut"]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("JavaScript heap out of memory"), "{said}");
    // What was stopped is written down as that, with the words that had come.
    let journal = find_file(home.path(), "demo-runtime.json").unwrap();
    let journal: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(journal).unwrap()).unwrap();
    let stopped = journal["conversations"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|of| of["revisions"].as_array().unwrap())
        .find(|turn| turn["status"] == "failed")
        .unwrap();
    let words = stopped["content"].as_str().unwrap();
    assert!(words.contains("harbor 2.8.0"), "{words}");
}
