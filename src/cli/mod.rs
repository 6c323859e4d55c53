//! The command line: dispatch, exit codes, and what is said on standard error.

#[macro_use]
mod words;

mod account;
mod args;
mod chat;
mod config;
mod demo;
mod doctor;
mod export;
mod json;
mod listen;
mod man;
mod pick;
mod read;
mod record;
mod recording;
mod send;

pub use args::{Cli, Global, Verb};

use crate::config::paths::Paths;
use crate::domain::io_words;
use clap::Parser;
use std::fmt;

/// How a run of the program ended; the numbers are documented for scripts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Exit {
    Done,
    RunFailed,
    Usage,
    NoConnection,
    Refused,
    NeedsDecision,
    /// Any other code, as a signal or the screen gave it.
    Code(u8),
}

impl Exit {
    /// The number the shell sees.
    pub fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::RunFailed => 1,
            Self::Usage => 2,
            Self::NoConnection => 3,
            Self::Refused => 4,
            Self::NeedsDecision => 5,
            Self::Code(code) => code,
        }
    }
}

/// How the words of a refusal begin that no server gave: the configuration is wrong.
pub(crate) const BAD_ADDRESS: &str = "The address of this account";
/// The code of a refusal: by a server, or because the account cannot be used as it is configured.
pub(crate) fn exit_of_refusal(why: &str) -> Exit {
    let is_configuration = why.starts_with(BAD_ADDRESS)
        || why.starts_with("No command is set")
        || why.contains(" could not be started: ");
    if is_configuration {
        Exit::Usage
    } else {
        Exit::Refused
    }
}

/// An end with words for the person.
#[derive(Debug)]
pub struct Failure {
    pub exit: Exit,
    pub text: String,
}

impl Failure {
    /// Wrong arguments, bad configuration, or no terminal.
    pub fn usage(text: impl Into<String>) -> Self {
        Self {
            exit: Exit::Usage,
            text: text.into(),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Runs the program with the arguments of this process; the exit code.
pub fn main() -> u8 {
    crate::runtime::secrets::keep_out_of_core_files();
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            let code = if error.use_stderr() {
                Exit::Usage.code()
            } else {
                0
            };
            let _ = error.print();
            return code;
        }
    };
    if let Ok(paths) = Paths::find(
        cli.global.config_dir.as_deref(),
        cli.global.data_dir.as_deref(),
    ) {
        crate::runtime::terminal::install_panic_hook(paths.state);
    }
    // A panic that nobody caught has unwound through the guard of the terminal by now.
    let result = std::panic::catch_unwind(|| dispatch(&cli));
    match result {
        Ok(Ok(exit)) => exit.code(),
        Ok(Err(failure)) => {
            if !failure.text.is_empty() {
                complain!("trialogue: {failure}");
            }
            failure.exit.code()
        }
        Err(_) => {
            crate::runtime::terminal::restore();
            complain!("{}", crate::runtime::terminal::last_crash());
            101
        }
    }
}

fn dispatch(cli: &Cli) -> Result<Exit, Failure> {
    let _log = match &cli.global.log {
        Some(path) => Some(crate::runtime::log::start(path).map_err(|error| {
            Failure::usage(format!("--log {}: {}", path.display(), io_words(&error)))
        })?),
        None => None,
    };
    if cli.print_paths {
        return config::print_paths(&cli.global);
    }
    match &cli.verb {
        None => chat::run(&cli.global),
        Some(Verb::Demo(demo)) => demo::run(&cli.global, demo),
        Some(Verb::Account(verb)) => account::run(&cli.global, verb),
        Some(Verb::Send(send)) => send::run(&cli.global, send),
        Some(Verb::List(list)) => read::list(&cli.global, list),
        Some(Verb::Search(search)) => read::search(&cli.global, search),
        Some(Verb::Export(export)) => export::run(&cli.global, export),
        Some(Verb::Tail(tail)) => listen::tail(&cli.global, tail),
        Some(Verb::Listen(listen)) => listen::listen(&cli.global, listen),
        Some(Verb::Record(record)) => recording::record(&cli.global, record),
        Some(Verb::Replay(replay)) => recording::replay(&cli.global, replay),
        Some(Verb::Decisions { json }) => read::decisions(&cli.global, *json),
        Some(Verb::Doctor { offline }) => doctor::run(&cli.global, *offline),
        Some(Verb::Themes) => read::themes(&cli.global),
        Some(Verb::Keys) => read::keys(&cli.global),
        Some(Verb::Completions { shell }) => read::completions(*shell),
        Some(Verb::Man { page, dir }) => match dir {
            Some(folder) => man::write(folder),
            None => man::print(page.as_deref()),
        },
        Some(Verb::Config(verb)) => config::run(&cli.global, verb),
        Some(Verb::ResetTerminal) => {
            let _ = std::io::Write::write_all(
                &mut std::io::stdout(),
                crate::runtime::terminal::reset().as_bytes(),
            );
            Ok(Exit::Done)
        }
    }
}

/// Version, with commit and date where they are known.
pub fn version() -> &'static str {
    env!("TRIALOGUE_VERSION")
}

/// The same with what was built in and what is spoken.
pub fn long_version() -> &'static str {
    concat!(
        env!("TRIALOGUE_LONG_VERSION"),
        "; speaks Iris 1, Pheby 1, Omi 2"
    )
}
