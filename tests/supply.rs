//! What the program is made of: licences that may be given on, and no crate in two versions without
//! a reason. The list of advisories needs the open network: `cargo audit`, as the README says.
#![allow(clippy::unwrap_used)]

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

/// Licences under which a crate may come in.
const LICENCES: &[&str] = &[
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CDLA-Permissive-2.0",
    "ISC",
    "MIT",
    "MPL-2.0",
    "Unicode-3.0",
    "Unicode-DFS-2016",
    "Unlicense",
    "WTFPL",
    "Zlib",
];

/// Crates that are there in several versions, and who holds the older one.
const DUPLICATES: &[(&str, &str)] = &[
    ("base64", "crossterm"),
    ("bit-vec", "fancy-regex of termwiz"),
    ("bitflags", "portable-pty, wezterm-input-types"),
    ("block-buffer", "sha2 0.10"),
    ("cfg_aliases", "nix 0.28"),
    ("cpufeatures", "sha2 0.10"),
    ("crypto-common", "sha2 0.10"),
    ("digest", "sha2 0.10"),
    ("fixedbitset", "termwiz"),
    ("foldhash", "hashbrown 0.15"),
    ("getrandom", "ring; and our own"),
    ("hashbrown", "petgraph"),
    ("linux-raw-sys", "rustix 0.38"),
    ("miniz_oxide", "png"),
    ("nix", "portable-pty, termwiz"),
    ("nom", "terminfo, x509-parser"),
    ("ordered-float", "termwiz"),
    ("rand", "ratatui-image, phf"),
    ("rand_core", "rand 0.8"),
    ("rustix", "rustix 0.38 of ratatui-image"),
    ("sha2", "pest of terminfo"),
    ("syn", "derives of termwiz; asn1-rs"),
    ("synstructure", "asn1-rs"),
    ("thiserror", "termwiz, ratatui-image"),
    ("thiserror-impl", "termwiz, ratatui-image"),
];

/// The crates of a build for this kind of machine.
fn packages() -> Vec<Value> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--locked", "--offline", "--format-version", "1"])
        .args(["--filter-platform", "x86_64-unknown-linux-gnu"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    metadata["packages"].as_array().unwrap().clone()
}

/// Whether an expression can be met with allowed licences.
fn is_allowed(expression: &str) -> bool {
    let expression = expression.replace('/', " OR ");
    let parts = split(&expression, " OR ");
    parts.iter().any(|part| {
        split(part, " AND ").iter().all(|term| {
            let term = term.trim();
            match term
                .strip_prefix('(')
                .and_then(|term| term.strip_suffix(')'))
            {
                Some(inner) => is_allowed(inner),
                None => LICENCES.contains(&term),
            }
        })
    })
}

/// Splits where no parenthesis is open.
fn split<'a>(text: &'a str, by: &str) -> Vec<&'a str> {
    let mut parts = Vec::new();
    let (mut depth, mut from) = (0, 0);
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ if depth == 0 && at >= from && text[at..].starts_with(by) => {
                parts.push(&text[from..at]);
                from = at + by.len();
            }
            _ => {}
        }
    }
    parts.push(&text[from..]);
    parts
}

#[test]
fn every_crate_has_a_licence_that_may_be_given_on() {
    let bad: Vec<String> = packages()
        .iter()
        .filter(|package| !package["license"].as_str().is_some_and(is_allowed))
        .map(|package| format!("{} {}", package["name"], package["license"]))
        .collect();
    assert!(bad.is_empty(), "{bad:#?}");
    assert!(is_allowed("(MIT OR GPL-2.0-only) AND Unicode-3.0"));
    assert!(!is_allowed("GPL-3.0-only") && !is_allowed("MIT AND GPL-2.0-only"));
}

#[test]
fn no_crate_is_there_twice_without_a_reason() {
    let mut versions: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for package in packages() {
        versions
            .entry(package["name"].as_str().unwrap().to_owned())
            .or_default()
            .insert(package["version"].as_str().unwrap().to_owned());
    }
    let twice: BTreeMap<&str, &BTreeSet<String>> = versions
        .iter()
        .filter(|(_, versions)| versions.len() > 1)
        .map(|(name, versions)| (name.as_str(), versions))
        .collect();
    let unknown: Vec<_> = twice
        .iter()
        .filter(|(name, _)| !DUPLICATES.iter().any(|(known, _)| known == *name))
        .collect();
    assert!(unknown.is_empty(), "in several versions: {unknown:#?}");
    let over: Vec<_> = DUPLICATES
        .iter()
        .filter(|(name, _)| !twice.contains_key(name))
        .collect();
    assert!(over.is_empty(), "no longer in several versions: {over:?}");
}

#[test]
fn every_crate_comes_from_the_registry() {
    for package in packages() {
        let source = package["source"].as_str();
        let is_ours = package["name"] == "trialogue";
        assert!(
            is_ours
                || source.is_some_and(|source| source
                    .starts_with("registry+https://github.com/rust-lang/crates.io-index")),
            "{} comes from {source:?}",
            package["name"]
        );
    }
}
