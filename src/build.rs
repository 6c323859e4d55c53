//! Says which version this is: commit and date from git, or from the file that `cargo package`
//! leaves in an archive; without either only the number. A development build says that it is one,
//! so that a commit alone builds nothing anew.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=src/build.rs");
    // A file that is not there would count as changed, and build all of us anew each time.
    if Path::new(".cargo_vcs_info.json").exists() {
        println!("cargo::rerun-if-changed=.cargo_vcs_info.json");
    }
    println!("cargo::rerun-if-env-changed=TRIALOGUE_COMMIT");
    let number = std::env::var("CARGO_PKG_VERSION").unwrap_or_default();
    let is_release = std::env::var("PROFILE").is_ok_and(|profile| profile == "release");
    let commit = if is_release {
        named().or_else(git).or_else(archive)
    } else {
        Some("development build".to_owned())
    };
    let version = match commit {
        Some(commit) => format!("{number} ({commit})"),
        None => number,
    };
    let features: Vec<&str> = [
        ("CARGO_FEATURE_IMAGES", "images"),
        ("CARGO_FEATURE_CLIPBOARD", "clipboard"),
        ("CARGO_FEATURE_SECRET_SERVICE", "secret-service"),
    ]
    .iter()
    .filter(|(variable, _)| std::env::var_os(variable).is_some())
    .map(|(_, name)| *name)
    .collect();
    let features = if features.is_empty() {
        "none".to_owned()
    } else {
        features.join(", ")
    };
    let target = std::env::var("TARGET").unwrap_or_default();
    println!("cargo::rustc-env=TRIALOGUE_VERSION={version}");
    println!("cargo::rustc-env=TRIALOGUE_LONG_VERSION={version}, for {target}, with {features}");
}

/// What a packager says.
fn named() -> Option<String> {
    std::env::var("TRIALOGUE_COMMIT")
        .ok()
        .filter(|commit| !commit.is_empty())
}

fn git() -> Option<String> {
    // An archive unpacked inside somebody else's repository must not take that one's commit.
    if !Path::new(".git").exists() {
        return None;
    }
    let run = |arguments: &[&str]| {
        let output = Command::new("git").args(arguments).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        (output.status.success() && !text.trim().is_empty()).then(|| text.trim().to_owned())
    };
    for path in ["HEAD", "logs/HEAD"] {
        if let Some(path) = run(&["rev-parse", "--git-path", path]) {
            println!("cargo::rerun-if-changed={path}");
        }
    }
    run(&["log", "-1", "--format=%h %cs"])
}

/// The file in an archive has the commit, but no date.
fn archive() -> Option<String> {
    let text = std::fs::read_to_string(".cargo_vcs_info.json").ok()?;
    let (_, rest) = text.split_once("\"sha1\"")?;
    let hash = rest.split('"').nth(1)?;
    let is_hash = hash.len() >= 9 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hash.then(|| hash[..9].to_owned())
}
