//! The demo gateways in a process of their own, and accounts on them.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

/// One gateway as the program announced it.
#[derive(Clone, Debug)]
pub struct Gateway {
    pub protocol: String,
    pub url: String,
    pub secret: String,
}

/// Running gateways.
pub struct Served {
    child: Child,
    pub gateways: Vec<Gateway>,
}

/// A command of the program with folders of its own, for use without a terminal.
pub fn command(home: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_trialogue"));
    command.args(arguments).env_clear();
    for name in ["PATH", "RUST_BACKTRACE", "LLVM_PROFILE_FILE"] {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    command
        .env("HOME", home)
        .env("LANG", "C.UTF-8")
        .env("TRIALOGUE_CONFIG_DIR", home.join("config"))
        .env("TRIALOGUE_DATA_DIR", home.join("data"))
        .current_dir(home)
        .stdin(Stdio::null());
    command
}

/// Runs a command of the program to its end.
pub fn run(home: &Path, arguments: &[&str]) -> Output {
    command(home, arguments).output().expect("the program runs")
}

impl Served {
    /// Starts `trialogue demo --serve` on this address (port 0 picks one).
    pub fn start(home: &Path, address: &str, options: &[&str]) -> Self {
        Self::start_with(home, address, options, &[])
    }

    /// The same, with further arguments.
    pub fn start_with(home: &Path, address: &str, options: &[&str], more: &[&str]) -> Self {
        let mut arguments = vec!["demo", "--serve", address];
        arguments.extend(more);
        for option in options {
            arguments.extend(["--set", option]);
        }
        let mut child = command(home, &arguments)
            .stdout(Stdio::piped())
            .spawn()
            .expect("the gateways start");
        let stdout = child.stdout.take().expect("its output");
        let gateways = BufReader::new(stdout)
            .lines()
            .map_while(Result::ok)
            .filter_map(|line| {
                let value: serde_json::Value = serde_json::from_str(&line).ok()?;
                let field =
                    |name: &str| value.get(name).and_then(|v| v.as_str()).map(str::to_owned);
                Some(Gateway {
                    protocol: field("protocol")?,
                    url: field("url")?,
                    secret: field("secret")?,
                })
            })
            .take(2)
            .collect();
        Self { child, gateways }
    }

    /// The gateway of one protocol.
    pub fn gateway(&self, protocol: &str) -> &Gateway {
        self.gateways
            .iter()
            .find(|gateway| gateway.protocol == protocol)
            .expect("the gateway is served")
    }

    /// Host and port.
    pub fn address(&self) -> String {
        let url = &self.gateways[0].url;
        let rest = url.trim_start_matches("ws://");
        rest.split('/').next().expect("an address").to_owned()
    }

    /// Stops them where they are: connections stay open and nothing answers.
    pub fn freeze(&self) {
        self.signal("-STOP");
    }

    /// Lets them go on.
    pub fn thaw(&self) {
        self.signal("-CONT");
    }

    fn signal(&self, signal: &str) {
        let status = Command::new("kill")
            .args([signal, &self.child.id().to_string()])
            .status()
            .expect("kill is there");
        assert!(status.success());
    }

    /// Ends them at once, as a crash would.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Adds an account on a gateway.
pub fn add_account(home: &Path, name: &str, gateway: &Gateway) {
    let variable = format!(
        "TRIALOGUE_SECRET_{}",
        name.chars()
            .map(|c| if c.is_ascii_alphanumeric() {
                c.to_ascii_uppercase()
            } else {
                '_'
            })
            .collect::<String>()
    );
    let output = command(
        home,
        &[
            "account",
            "add",
            &gateway.protocol,
            name,
            &gateway.url,
            "--no-keyring",
        ],
    )
    .env(variable, &gateway.secret)
    .output()
    .expect("the program runs");
    assert!(
        output.status.success(),
        "account add: {}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}
