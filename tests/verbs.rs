//! The commands without a screen: the real program against the demo gateways in another process.
#![allow(clippy::unwrap_used)]

mod support;

#[path = "verbs/beside.rs"]
mod beside;
#[path = "verbs/config.rs"]
mod config;
#[path = "verbs/export.rs"]
mod export;
#[path = "verbs/listen.rs"]
mod listen;
#[cfg(target_os = "linux")]
#[path = "verbs/memory.rs"]
mod memory;
#[path = "verbs/readme.rs"]
mod readme;
#[path = "verbs/recording.rs"]
mod recording;

use serde_json::Value;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use support::served::{Served, add_account, command};

/// A profile with one account, `here`, on demo gateways or on the demo runtime.
struct Profile {
    home: tempfile::TempDir,
    /// Holds the gateways.
    served: Served,
    secret: String,
}

impl Profile {
    fn new(protocol: &str, options: &[&str]) -> Self {
        let home = tempfile::tempdir().unwrap();
        let served = Served::start(home.path(), "127.0.0.1:0", options);
        let mut secret = String::new();
        if protocol == "omi" {
            let program = env!("CARGO_BIN_EXE_trialogue");
            let mut arguments = vec!["account", "add", "omi", "here", "--", program, "demo"];
            arguments.push("--runtime");
            for option in options {
                arguments.extend(["--set", option]);
            }
            let output = command(home.path(), &arguments).output().unwrap();
            assert!(output.status.success(), "{}", text(&output.stderr));
        } else {
            add_account(home.path(), "here", served.gateway(protocol));
            secret.clone_from(&served.gateway(protocol).secret);
        }
        Self {
            home,
            served,
            secret,
        }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = command(self.home.path(), &[arguments, &["--no-keyring"]].concat());
        command.env("TRIALOGUE_SECRET_HERE", &self.secret);
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// Standard output of a command that goes well.
    fn says(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert!(
            output.status.success(),
            "{arguments:?}: {:?}\n{}",
            output.status,
            text(&output.stderr)
        );
        let said = text(&output.stdout);
        assert!(!said.contains('\x1b'), "an escape byte went into a pipe");
        // Only `send` tells there what goes on beside its answer.
        let asides = text(&output.stderr);
        let is_aside = |line: &str| {
            arguments[0] == "send" && line.starts_with(['·', '▸', '✓', '✗', '–', '?', '+'])
        };
        assert!(asides.lines().all(is_aside), "{arguments:?}: {asides}");
        said
    }

    /// A command that goes on, with its output line by line.
    fn start(&self, arguments: &[&str]) -> Running {
        let mut child = self
            .command(arguments)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        Running { child, lines }
    }
}

struct Running {
    child: Child,
    lines: BufReader<std::process::ChildStdout>,
}

impl Running {
    /// The next line that fits. A program that ends before fails the test.
    fn line(&mut self, fits: impl Fn(&str) -> bool) -> String {
        loop {
            let mut line = String::new();
            let read = self.lines.read_line(&mut line).unwrap();
            assert!(read > 0, "it ended before the line came");
            if fits(&line) {
                return line;
            }
        }
    }

    fn signal(&self, name: &str) {
        let status = Command::new("kill")
            .args([&format!("-{name}"), &self.child.id().to_string()])
            .status()
            .unwrap();
        assert!(status.success());
    }

    fn exit_code(mut self) -> Option<i32> {
        let mut rest = Vec::new();
        let _ = self.lines.read_to_end(&mut rest);
        self.child.wait().unwrap().code()
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Lines of JSON, each with the version of the schema.
fn json_lines(text: &str) -> Vec<Value> {
    text.lines()
        .map(|line| {
            let value: Value = serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}"));
            assert_eq!(value["v"], 1, "{line}");
            value
        })
        .collect()
}

fn read(path: impl AsRef<Path>) -> String {
    std::fs::read_to_string(path).unwrap()
}
