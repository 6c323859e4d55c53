//! The README: every command line in it is one that the program understands.

use clap::Parser;
use trialogue::cli::Cli;

/// The words of a command up to what ends it, with quotes as a shell reads them.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut quote = None;
    for c in line.chars() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some(_), c) => word.push(c),
            (None, '"' | '\'') => quote = Some(c),
            (None, '|' | '>' | '#' | ';' | '&' | ')') => break,
            (None, ' ') => words.extend((!word.is_empty()).then(|| std::mem::take(&mut word))),
            (None, c) => word.push(c),
        }
    }
    words.extend((!word.is_empty()).then_some(word));
    words
}

#[test]
fn every_command_of_the_readme_is_understood() {
    let readme = include_str!("../../README.md");
    let mut is_shell = false;
    let mut count = 0;
    for line in readme.lines() {
        let line = line.trim();
        if line.starts_with("```") {
            is_shell = line == "```sh";
            continue;
        }
        if !is_shell {
            continue;
        }
        for (at, _) in line.match_indices("trialogue ") {
            let before = line[..at].chars().next_back();
            if before.is_some_and(|c| c != ' ') {
                continue;
            }
            // The program behind `--` is the runtime of an account.
            if line[..at].ends_with("-- ") {
                continue;
            }
            let words = words(&line[at..]);
            count += 1;
            if let Err(error) = Cli::try_parse_from(&words) {
                panic!("{line}\n{error}");
            }
        }
    }
    assert!(count > 20, "only {count} commands were found");
}
