//! What can be typed after `trialogue`.

use crate::runtime::recording::stage::Speed;
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

/// What `--help` and the manual page end with.
const AFTER: &str =
    "Exit codes: 0 done or answered, 1 the run failed, 2 usage, bad configuration or \
no terminal, 3 no connection, 4 refused, 5 a decision is needed, 129 hangup, 130 interrupted, \
143 terminated.

Environment: TRIALOGUE_CONFIG_DIR, TRIALOGUE_DATA_DIR, TRIALOGUE_SECRET_<NAME> (the secret of an \
account), NO_COLOR, HTTPS_PROXY, ALL_PROXY, NO_PROXY, RUST_LOG (with --log).

Examples:
  trialogue demo
  trialogue account add pheby vps https://vps.example.org
  git diff | trialogue send -a vps -c 'Project X' --json
  trialogue export 'Project X' -o project.html";

/// The terminal client for your agents.
///
/// Without a command it opens the chat. Accounts are added with `trialogue account add`; to try
/// it without any server, run `trialogue demo`.
#[derive(Debug, Parser)]
#[command(name = "trialogue", version = super::version(), long_version = super::long_version(), max_term_width = 100, disable_help_subcommand = true, after_long_help = AFTER)]
pub struct Cli {
    #[command(flatten)]
    pub global: Global,
    /// Print where everything lies
    #[arg(long)]
    pub print_paths: bool,
    #[command(subcommand)]
    pub verb: Option<Verb>,
}

/// `trialogue config …`
#[derive(Debug, Subcommand)]
pub enum Config {
    /// Say what is wrong in config.toml, keys.toml and your themes, with lines; exits with 2 then
    Check,
    /// Print a commented example of config.toml with every setting and its default
    Example,
    /// Print the JSON schema of config.toml
    Schema,
}

/// Understood by every command.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Options of every command")]
pub struct Global {
    /// Folder of config.toml, keys.toml and your themes
    #[arg(long, global = true, value_name = "DIR", env = "TRIALOGUE_CONFIG_DIR")]
    pub config_dir: Option<PathBuf>,
    /// Folder of the history, drafts and everything else that is kept
    #[arg(long, global = true, value_name = "DIR", env = "TRIALOGUE_DATA_DIR")]
    pub data_dir: Option<PathBuf>,
    /// Do not ask the desktop's keyring for secrets
    #[arg(long, global = true)]
    pub no_keyring: bool,
    /// Keep nothing on disk
    #[arg(long, global = true)]
    pub no_cache: bool,
    /// Theme by name (see `trialogue themes`)
    #[arg(long, global = true, value_name = "NAME", value_hint = clap::ValueHint::Other)]
    pub theme: Option<String>,
    /// When to use colour
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub color: ColorChoice,
    /// Draw with ASCII characters only
    #[arg(long, global = true)]
    pub ascii: bool,
    /// Leave the mouse to the terminal
    #[arg(long, global = true)]
    pub no_mouse: bool,
    /// Chat in appended lines: for screen readers, dumb terminals and serial lines
    #[arg(long, global = true)]
    pub plain: bool,
    /// Nothing turns or moves by itself
    #[arg(long, global = true)]
    pub reduced_motion: bool,
    /// Write a log to this file (level by RUST_LOG; secrets are never in it)
    #[arg(long, global = true, value_name = "FILE")]
    pub log: Option<PathBuf>,
}

/// When colour is used.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub enum ColorChoice {
    /// As much as the terminal can; none with NO_COLOR
    #[default]
    Auto,
    Always,
    Never,
    /// Force 24-bit colour
    Truecolor,
    /// Force 256 colours
    #[value(name = "256")]
    Indexed,
    /// Force the 16 colours of the terminal's own palette
    #[value(name = "16")]
    Ansi,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Try everything without a server: accounts on built-in gateways
    Demo(Demo),
    /// Add, list, test, sign in to and remove accounts
    #[command(subcommand)]
    Account(Account),
    /// Send a message and print the answer
    Send(Send),
    /// List the conversations that are known here
    List(List),
    /// Search the history that is kept here
    Search(Search),
    /// Write a conversation to a file
    Export(Export),
    /// Print the last messages of a conversation
    Tail(Tail),
    /// Print what arrives, until it is interrupted
    Listen(Listen),
    /// Chat as usual and write everything that happens into a file, for a report
    Record(Record),
    /// Play a recording into the real interface; nothing is sent anywhere
    Replay(Replay),
    /// Print the log of every decision that was answered or came to nothing; what waits is in the chat
    Decisions {
        /// Print JSON, one a line
        #[arg(long)]
        json: bool,
    },
    /// Look at terminal, clipboard, pictures, secrets, files and every account, with hints
    Doctor {
        /// Do not connect to the accounts
        #[arg(long)]
        offline: bool,
    },
    /// List the themes
    Themes,
    /// List every key and what it does, with your own keys.toml
    Keys,
    /// Print completions for a shell
    Completions { shell: clap_complete::Shell },
    /// Print a manual page: of the program, of a command, config or keys
    Man {
        page: Option<String>,
        /// Write all pages below this folder of manuals instead: man1, man5, man7 in it
        #[arg(long, value_name = "DIR", conflicts_with = "page")]
        dir: Option<PathBuf>,
    },
    /// Check the configuration, or print an example or its JSON schema
    #[command(subcommand)]
    Config(Config),
    /// Switch off everything a killed program may have left on in this terminal
    ResetTerminal,
}

/// `trialogue list`
#[derive(Debug, Args)]
pub struct List {
    /// Only of this account
    #[arg(short, long, value_name = "ACCOUNT", value_hint = clap::ValueHint::Other)]
    pub account: Option<String>,
    /// Print JSON, one a line
    #[arg(long)]
    pub json: bool,
}

/// `trialogue search`
#[derive(Debug, Args)]
pub struct Search {
    /// What to look for
    pub text: String,
    /// Only in this account
    #[arg(short, long, value_name = "ACCOUNT", value_hint = clap::ValueHint::Other)]
    pub account: Option<String>,
    /// Only in this conversation, by name, its beginning or id
    #[arg(short, long, value_name = "CONVERSATION", value_hint = clap::ValueHint::Other)]
    pub conversation: Option<String>,
    /// At most so many
    #[arg(long, default_value_t = 50)]
    pub limit: usize,
    /// Print JSON, one a line
    #[arg(long)]
    pub json: bool,
}

/// `trialogue export`
#[derive(Debug, Args)]
pub struct Export {
    /// The conversation by name, its beginning or id
    pub conversation: String,
    /// The account; may be left out when there is only one
    #[arg(short, long, value_name = "ACCOUNT", value_hint = clap::ValueHint::Other)]
    pub account: Option<String>,
    /// Without it the ending of the file's name decides, else md
    #[arg(short, long, value_name = "FORMAT")]
    pub format: Option<ExportFormat>,
    /// Write to this file, readable by you only, instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Write over a file that is there
    #[arg(long, requires = "output")]
    pub force: bool,
    /// Take what is kept here and fetch nothing
    #[arg(long)]
    pub offline: bool,
}

/// How a conversation is written down.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum ExportFormat {
    /// Markdown
    Md,
    /// One JSON document, an entry a line
    Json,
    /// One HTML file that needs nothing else, dark or light
    Html,
}

/// `trialogue tail`
#[derive(Debug, Args)]
pub struct Tail {
    /// The conversation by name, its beginning or id
    pub conversation: String,
    /// The account; may be left out when there is only one
    #[arg(short, long, value_name = "ACCOUNT", value_hint = clap::ValueHint::Other)]
    pub account: Option<String>,
    /// So many messages
    #[arg(
        short = 'n',
        long = "lines",
        value_name = "COUNT",
        default_value_t = 10
    )]
    pub lines: usize,
    /// Go on with what arrives
    #[arg(short, long)]
    pub follow: bool,
    /// Print JSON, one a line
    #[arg(long)]
    pub json: bool,
    /// Take what is kept here and fetch nothing
    #[arg(long, conflicts_with = "follow")]
    pub offline: bool,
}

/// `trialogue listen`
#[derive(Debug, Args)]
pub struct Listen {
    /// Only this account
    #[arg(short, long, value_name = "ACCOUNT", value_hint = clap::ValueHint::Other)]
    pub account: Option<String>,
    /// Only this conversation, by name, its beginning or id
    #[arg(short, long, value_name = "CONVERSATION", value_hint = clap::ValueHint::Other)]
    pub conversation: Option<String>,
    /// Print JSON, one a line
    #[arg(long)]
    pub json: bool,
    /// Print texts as they grow too
    #[arg(long)]
    pub stream: bool,
    /// End after so many complete messages
    #[arg(short = 'n', long, value_name = "COUNT")]
    pub count: Option<usize>,
}

/// `trialogue record`
#[derive(Debug, Args)]
pub struct Record {
    /// The file; frames are in it with secrets masked, and the keys that were pressed
    pub file: PathBuf,
    /// Write over a file that is there
    #[arg(long)]
    pub force: bool,
    /// Leave the keys out
    #[arg(long)]
    pub no_keys: bool,
    /// Record the demo
    #[arg(long)]
    pub demo: bool,
}

/// `trialogue replay`
#[derive(Debug, Args)]
pub struct Replay {
    /// A file that `trialogue record`, or the inspector, wrote
    pub file: PathBuf,
    /// So many times as fast as it was, or max
    #[arg(long, value_name = "TIMES", default_value = "1", value_parser = speed)]
    pub speed: Speed,
    /// Wait at every line: F7 plays one more, F6 goes on or stops
    #[arg(long)]
    pub step: bool,
    /// Leave the recorded keys out
    #[arg(long)]
    pub no_keys: bool,
    /// Print a driver's transcript instead, the form in which drivers are tested
    #[arg(long, conflicts_with_all = ["step", "no_keys"])]
    pub transcript: bool,
    /// The account of the transcript; may be left out when there is only one
    #[arg(short, long, value_name = "ACCOUNT", value_hint = clap::ValueHint::Other, requires = "transcript")]
    pub account: Option<String>,
}

fn speed(text: &str) -> Result<Speed, String> {
    match text.parse::<f64>() {
        Ok(times) if times > 0.0 && times.is_finite() => Ok(Speed::Times(times)),
        _ if text == "max" => Ok(Speed::Most),
        _ => Err("a number above 0, or max".to_owned()),
    }
}

/// `trialogue demo`
#[derive(Debug, Default, Args)]
pub struct Demo {
    /// Only the gateways, on this address (127.0.0.1:0 picks ports): one JSON line for each
    #[arg(long, value_name = "ADDR")]
    pub serve: Option<std::net::SocketAddr>,
    /// A folder in which the served Pheby gateway keeps its conversations and files, or the Omi
    /// runtime its own, so that they are there again after a restart (made when it is missing)
    #[arg(long, value_name = "DIR", requires = "serve")]
    pub state: Option<std::path::PathBuf>,
    /// Only the Omi runtime, on standard input and output
    #[arg(long, conflicts_with = "serve")]
    pub runtime: bool,
    /// An option of the gateways, such as speed=300 (may be repeated); help lists them
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub options: Vec<String>,
    /// A scenario file of your own (may be repeated)
    #[arg(long = "scenario", value_name = "FILE")]
    pub scenarios: Vec<std::path::PathBuf>,
}

/// `trialogue account …`
#[derive(Debug, Subcommand)]
pub enum Account {
    /// Add an account; the secret is asked for
    Add(AccountAdd),
    /// List the accounts
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Connect, say what was found, and leave again
    Test { name: String },
    /// Give an account a new secret
    Login {
        name: String,
        #[command(flatten)]
        secret: SecretSource,
    },
    /// Remove an account and its secret; its history stays until the data folder is emptied
    Remove {
        name: String,
        /// Remove its history too
        #[arg(long)]
        with_history: bool,
    },
}

/// `trialogue account add …`
#[derive(Debug, Args)]
pub struct AccountAdd {
    #[command(subcommand)]
    pub kind: AccountKind,
}

/// Which protocol is spoken.
#[derive(Debug, Subcommand)]
pub enum AccountKind {
    /// An Iris gateway: a host name, or an http(s) or ws(s) address
    Iris(NetworkAccount),
    /// A Pheby server: a host name, or an http(s) or ws(s) address; without a path /ws is meant
    Pheby(NetworkAccount),
    /// An Omi runtime on this machine: trialogue account add omi NAME -- COMMAND…
    Omi(ProcessAccount),
}

/// An account on the network.
#[derive(Debug, Args)]
pub struct NetworkAccount {
    /// Your name for it
    pub name: String,
    /// Where it is
    pub url: String,
    #[command(flatten)]
    pub secret: SecretSource,
    /// A file with further certificate authorities (PEM)
    #[arg(long, value_name = "FILE")]
    pub ca_file: Option<PathBuf>,
    /// Allow an unencrypted connection to another machine
    #[arg(long)]
    pub allow_plain: bool,
    /// Save without connecting first
    #[arg(long)]
    pub no_check: bool,
}

/// An account that is a program.
#[derive(Debug, Args)]
pub struct ProcessAccount {
    /// Your name for it
    pub name: String,
    /// Working directory of new conversations (default: where trialogue is started)
    #[arg(long, value_name = "DIR")]
    pub directory: Option<PathBuf>,
    /// The owner's id that belongs to the token
    #[arg(long)]
    pub owner: Option<String>,
    /// Adapter of new conversations
    #[arg(long)]
    pub adapter: Option<String>,
    /// Model of new conversations
    #[arg(long)]
    pub model: Option<String>,
    /// An environment variable for the program (may be repeated)
    #[arg(long = "env", value_name = "NAME=VALUE")]
    pub environment: Vec<String>,
    #[command(flatten)]
    pub secret: SecretSource,
    /// Save without starting it first
    #[arg(long)]
    pub no_check: bool,
    /// The program and its arguments
    #[arg(last = true, required = true)]
    pub command: Vec<String>,
}

/// Where a secret comes from; it is never an argument.
#[derive(Clone, Debug, Default, Args)]
pub struct SecretSource {
    /// Read the secret from standard input
    #[arg(long)]
    pub secret_stdin: bool,
    /// A command that prints the secret on its first line; it is run whenever the secret is needed
    #[arg(long, value_name = "CMD", conflicts_with = "secret_stdin")]
    pub secret_command: Option<String>,
}

/// `trialogue send`
#[derive(Debug, Args)]
pub struct Send {
    /// The message; without it, it is read from standard input
    pub text: Option<String>,
    /// The account; may be left out when there is only one
    #[arg(short, long, value_name = "ACCOUNT", value_hint = clap::ValueHint::Other)]
    pub account: Option<String>,
    /// The conversation by name, its beginning or id
    #[arg(short, long, value_name = "CONVERSATION", value_hint = clap::ValueHint::Other)]
    pub conversation: Option<String>,
    /// Begin a new conversation, with this title if one is given (--new=TITLE)
    #[arg(
        long,
        value_name = "TITLE",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "",
        conflicts_with = "conversation"
    )]
    pub new: Option<String>,
    /// Attach a file (may be repeated)
    #[arg(long, value_name = "FILE")]
    pub attach: Vec<PathBuf>,
    /// Print events as JSON, one a line
    #[arg(long)]
    pub json: bool,
    /// What to do when the agent asks for an approval while it works on this message; what waited
    /// before is answered in the chat
    #[arg(long, value_name = "WHAT", default_value = "fail")]
    pub on_approval: OnApproval,
    /// Give up after so many seconds without a sign of life
    #[arg(long, value_name = "SECONDS", default_value_t = 600)]
    pub timeout: u64,
}

/// What `send` does with an approval.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub enum OnApproval {
    /// Refuse it and go on
    Deny,
    /// Allow it this once
    Once,
    /// Give no answer and exit with 5; an Omi run ends with it
    #[default]
    Fail,
}
