//! `trialogue config` and `--print-paths`: what is set, whether it is well, and what can be set.

use super::args::{Config, Global};
use super::words::Lines;
use super::{Exit, Failure, chat};
use crate::app::keymap::Keymap;
use crate::config::paths::Paths;
use crate::config::{file, theme};
use crate::view::theme::{Depth, Theme, ThemeProblems};
use std::path::Path;

/// Runs it.
pub fn run(global: &Global, config: &Config) -> Result<Exit, Failure> {
    match config {
        Config::Check => check(&paths(global)?),
        Config::Example => {
            say!("{}", file::example().trim_end());
            Ok(Exit::Done)
        }
        Config::Schema => {
            say!("{}", file::schema().trim_end());
            Ok(Exit::Done)
        }
    }
}

fn paths(global: &Global) -> Result<Paths, Failure> {
    Paths::find(global.config_dir.as_deref(), global.data_dir.as_deref())
        .map_err(|error| Failure::usage(error.to_string()))
}

/// `trialogue --print-paths`
pub fn print_paths(global: &Global) -> Result<Exit, Failure> {
    let paths = paths(global)?;
    let mut out = Lines::default();
    for (name, path) in [
        ("config", paths.config_file()),
        ("keys", paths.keys_file()),
        ("themes", paths.themes_dir()),
        ("history", paths.store_file()),
        ("decisions", paths.decisions_file()),
        ("secrets", paths.secrets_dir()),
        ("state", paths.state.clone()),
        ("cache", paths.cache.clone()),
        ("downloads", paths.downloads.clone()),
    ] {
        out.put(&format!("{name:10} {}", path.display()));
    }
    Ok(Exit::Done)
}

/// What is wrong with a theme of the person's, a line for each thing.
pub fn theme_complaints(path: &Path, problems: &ThemeProblems) -> Vec<String> {
    let place = |line: Option<usize>| match line {
        Some(line) => format!("{}:{line}", path.display()),
        None => path.display().to_string(),
    };
    let complaints = problems.0.iter();
    complaints
        .map(|problem| format!("{}: {}", place(problem.line), problem.what))
        .collect()
}

/// What is wrong goes to standard error, a line for each thing, with file and line.
fn check(paths: &Paths) -> Result<Exit, Failure> {
    let mut complaints = Vec::new();
    let mut out = Lines::default();
    let mut report = |path: &Path, is_there: bool, found: Vec<String>, good: String| {
        if found.is_empty() {
            let words = if is_there {
                good
            } else {
                "not there; the defaults hold".to_owned()
            };
            out.put(&format!("{}: {words}", path.display()));
        }
        complaints.extend(found);
    };
    let path = paths.config_file();
    let (config, mut found) = match file::load(&path) {
        Ok(config) => {
            let found = config.complaints.clone();
            (config, found)
        }
        Err(errors) => (file::Config::default(), errors.0),
    };
    found.extend(file::unknown_theme(&path, &chat::themes(paths)));
    found.sort_by_key(|wrong| wrong.line);
    let found = found.iter().map(ToString::to_string).collect();
    let accounts = config.accounts.len();
    let good = format!(
        "no faults, {accounts} account{}",
        if accounts == 1 { "" } else { "s" }
    );
    report(&path, path.exists(), found, good);
    let path = paths.keys_file();
    let scheme = config.settings.keys.as_deref().and_then(Keymap::scheme);
    let (_, found) = chat::overrides(paths, scheme.unwrap_or_default());
    report(&path, path.exists(), found, "no faults".to_owned());
    for file in theme::themes(&paths.themes_dir()) {
        let found = match Theme::parse(&file.text, Depth::TrueColor) {
            Ok(_) => Vec::new(),
            Err(problems) => theme_complaints(&file.path, &problems),
        };
        report(&file.path, true, found, "no faults".to_owned());
    }
    for warning in config.warnings.iter().chain(&complaints) {
        complain!("{warning}");
    }
    Ok(if complaints.is_empty() {
        Exit::Done
    } else {
        Exit::Usage
    })
}
