//! `trialogue account …`.

use super::args::{
    Account, AccountAdd, AccountKind, Global, NetworkAccount, ProcessAccount, SecretSource,
};
use super::{Exit, Failure, chat, exit_of_refusal};
use crate::config::account::{
    AccountConfig, Endpoint, EndpointKind, EndpointPlace, Make, NetworkEndpoint, ProcessEndpoint,
};
use crate::config::file;
use crate::domain::{AccountId, Durability, Secret, Write, io_words};
use crate::runtime::engine::Surroundings;
use crate::runtime::setup::{self, CheckFailure};
use crate::store::lock::LockError;
use crate::store::{self, StoreError, StoreOptions};
use std::io::{self, BufRead, IsTerminal, Read, Write as _};
use std::sync::Arc;

/// Runs it.
pub fn run(global: &Global, verb: &Account) -> Result<Exit, Failure> {
    let profile = chat::open_profile(global)?;
    let around = Surroundings::new(profile.paths.clone(), global.no_keyring);
    let around = Arc::new(around);
    match verb {
        Account::Add(add) => run_add(&profile, &around, add),
        Account::List { json } => list(&profile, *json),
        Account::Test { name } => test(&profile, &around, name),
        Account::Login { name, secret } => login(&profile, &around, name, secret),
        Account::Remove { name, with_history } => remove(&profile, &around, name, *with_history),
    }
}

fn find<'p>(profile: &'p chat::Profile, name: &str) -> Result<&'p AccountConfig, Failure> {
    profile
        .accounts
        .iter()
        .map(|account| &account.config)
        .find(|config| config.name == name)
        .ok_or_else(|| {
            let names: Vec<&str> = profile
                .accounts
                .iter()
                .map(|account| account.config.name.as_str())
                .collect();
            Failure::usage(format!(
                "there is no account {name:?}; there are: {}",
                if names.is_empty() {
                    "none".to_owned()
                } else {
                    names.join(", ")
                }
            ))
        })
}

fn run_add(
    profile: &chat::Profile,
    around: &Arc<Surroundings>,
    add: &AccountAdd,
) -> Result<Exit, Failure> {
    let (config, source, check) = match &add.kind {
        AccountKind::Iris(network) => (
            network_config(network, Endpoint::Iris)?,
            &network.secret,
            !network.no_check,
        ),
        AccountKind::Pheby(network) => (
            network_config(network, Endpoint::Pheby)?,
            &network.secret,
            !network.no_check,
        ),
        AccountKind::Omi(process) => (
            process_config(process, Endpoint::Omi)?,
            &process.secret,
            !process.no_check,
        ),
    };
    if config.name.trim().is_empty() || config.name.chars().any(char::is_control) {
        return Err(Failure::usage(
            "the name of an account must be a plain word",
        ));
    }
    if profile
        .accounts
        .iter()
        .any(|account| account.config.name == config.name)
    {
        return Err(Failure::usage(format!(
            "there is already an account {:?}; remove it first or choose another name",
            config.name
        )));
    }
    let wants_secret = matches!(config.endpoint.place(), EndpointPlace::Network(_));
    let secret = match read_secret(source, &config.name, wants_secret)? {
        Some(secret) => Some(secret),
        None if !wants_secret || config.secret_command.is_some() => None,
        None => return Err(Failure::usage("a secret is needed; nothing was given")),
    };
    if check {
        if io::stderr().is_terminal() {
            complain!("{}", waits_for(&config));
        }
        let found = chat::runtime()?.block_on(setup::check(&config, secret.clone(), around));
        match found {
            Ok(text) => say!("{}: {text}", config.name),
            Err(failure) => {
                let mut failed = check_failed(
                    &config.name,
                    &failure,
                    "nothing was saved; with --no-check it is saved all the same",
                );
                failed.text = setup::of_unsaved(
                    &failed.text,
                    "Give the command again with the right one.",
                    "Check what stands behind `--`",
                );
                return Err(failed);
            }
        }
    }
    let place = setup::add(&config, secret, around).map_err(Failure::usage)?;
    say!(
        "added {} to {}",
        config.name,
        around.paths.config_file().display()
    );
    if let Some(place) = place {
        say!("the secret is {place}");
    }
    if let Err(LockError::Held { .. }) = store::lock::acquire(around.paths.lock_file()) {
        say!("the chat that is open has it from its next start on");
    }
    Ok(Exit::Done)
}

/// What a check is about to do, for a person who waits.
fn waits_for(config: &AccountConfig) -> String {
    let most = setup::CHECK.as_secs();
    match config.endpoint.place() {
        EndpointPlace::Network(network) => {
            format!(
                "connecting to {}; it may take {most} s at most …",
                network.url
            )
        }
        EndpointPlace::Process(process) => format!(
            "starting {} and waiting for it to answer as a runtime; {most} s at most …",
            process.command.join(" ")
        ),
    }
}

fn check_failed(name: &str, failure: &CheckFailure, hint: &str) -> Failure {
    let exit = match failure {
        CheckFailure::NoConnection(_) => Exit::NoConnection,
        CheckFailure::Refused(why) => exit_of_refusal(why.as_str()),
    };
    let hint = if hint.is_empty() {
        String::new()
    } else {
        format!(" ({hint})")
    };
    Failure {
        exit,
        text: format!("{name}: {}{hint}", failure.text()),
    }
}

fn network_config(
    account: &NetworkAccount,
    endpoint: fn(NetworkEndpoint) -> Endpoint,
) -> Result<AccountConfig, Failure> {
    let kind = EndpointKind::named(endpoint(NetworkEndpoint::default()).kind());
    let default_path = match kind.map(|kind| kind.make) {
        Some(Make::Network { default_path, .. }) => default_path,
        Some(Make::Process { .. }) | None => None,
    };
    let url = file::address(&account.url, default_path).map_err(Failure::usage)?;
    let mut config = AccountConfig::new(
        &account.name,
        endpoint(NetworkEndpoint {
            url,
            ca_file: account.ca_file.clone(),
            allow_plain: account.allow_plain,
            proxy: None,
        }),
    );
    config.secret_command = command_of(&account.secret)?;
    Ok(config)
}

fn process_config(
    account: &ProcessAccount,
    endpoint: fn(ProcessEndpoint) -> Endpoint,
) -> Result<AccountConfig, Failure> {
    let environment = account
        .environment
        .iter()
        .map(|pair| {
            pair.split_once('=')
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .ok_or_else(|| Failure::usage(format!("--env {pair}: expected NAME=VALUE")))
        })
        .collect::<Result<_, _>>()?;
    let mut config = AccountConfig::new(
        &account.name,
        endpoint(ProcessEndpoint {
            command: account.command.clone(),
            environment,
            directory: account.directory.clone(),
            owner: account.owner.clone(),
            adapter: account.adapter.clone(),
            model: account.model.clone(),
            ..ProcessEndpoint::default()
        }),
    );
    config.secret_command = command_of(&account.secret)?;
    Ok(config)
}

/// The command as an argument list: it is split as a shell would at spaces and quotes, and no shell
/// ever sees it.
fn command_of(source: &SecretSource) -> Result<Option<Vec<String>>, Failure> {
    let Some(line) = &source.secret_command else {
        return Ok(None);
    };
    let words = file::words(line)
        .ok_or_else(|| Failure::usage("--secret-command: a quote is not closed"))?;
    if words.is_empty() {
        return Err(Failure::usage("--secret-command: the command is empty"));
    }
    Ok(Some(words))
}

fn read_secret(source: &SecretSource, name: &str, wanted: bool) -> Result<Option<Secret>, Failure> {
    if source.secret_command.is_some() {
        return Ok(None);
    }
    if source.secret_stdin {
        let mut text = String::new();
        io::stdin()
            .take(64 * 1024)
            .read_to_string(&mut text)
            .map_err(|error| {
                Failure::usage(format!(
                    "the secret could not be read: {}",
                    io_words(&error)
                ))
            })?;
        return Ok(non_empty(text));
    }
    if !wanted {
        return Ok(None);
    }
    let variable = crate::runtime::secrets::variable(name);
    if let Ok(text) = std::env::var(&variable) {
        return Ok(non_empty(text));
    }
    if !io::stdin().is_terminal() {
        return Err(Failure::usage(format!(
            "standard input is no terminal, so the secret of {name} cannot be asked for; give it \
             with --secret-stdin or --secret-command, or in {variable}"
        )));
    }
    let _ = write!(io::stderr(), "Secret of {name}: ").and_then(|()| io::stderr().flush());
    let hidden = Hidden::new();
    let mut text = String::new();
    let read = io::stdin().lock().read_line(&mut text);
    drop(hidden);
    complain!("");
    read.map_err(|error| {
        Failure::usage(format!(
            "the secret could not be read: {}",
            io_words(&error)
        ))
    })?;
    Ok(non_empty(text))
}

fn non_empty(text: String) -> Option<Secret> {
    let trimmed = text.trim();
    (!trimmed.is_empty()).then(|| Secret::new(trimmed.to_owned()))
}

/// Echo off while it lives.
struct Hidden(Option<rustix::termios::Termios>);

impl Hidden {
    fn new() -> Self {
        let stdin = io::stdin();
        let Ok(original) = rustix::termios::tcgetattr(&stdin) else {
            return Self(None);
        };
        let mut quiet = original.clone();
        quiet.local_modes -= rustix::termios::LocalModes::ECHO;
        let _ = rustix::termios::tcsetattr(&stdin, rustix::termios::OptionalActions::Flush, &quiet);
        Self(Some(original))
    }
}

impl Drop for Hidden {
    fn drop(&mut self) {
        if let Some(original) = &self.0 {
            let _ = rustix::termios::tcsetattr(
                io::stdin(),
                rustix::termios::OptionalActions::Now,
                original,
            );
        }
    }
}

fn list(profile: &chat::Profile, json: bool) -> Result<Exit, Failure> {
    if json {
        for account in &profile.accounts {
            say!(
                "{}",
                serde_json::json!({
                    "v": super::json::VERSION,
                    "event": "account",
                    "name": account.config.name,
                    "kind": account.config.endpoint.kind(),
                    "place": account.config.endpoint.place().to_string(),
                    "enabled": !account.config.is_disabled,
                })
            );
        }
        return Ok(Exit::Done);
    }
    if profile.accounts.is_empty() {
        say!("no account yet; add one with `trialogue account add`, or try `trialogue demo`");
    }
    let widest = profile
        .accounts
        .iter()
        .map(|account| account.config.name.len())
        .max()
        .unwrap_or(0);
    for account in &profile.accounts {
        let config = &account.config;
        let off = if config.is_disabled {
            "  (switched off)"
        } else {
            ""
        };
        say!(
            "{:widest$}  {:6} {}{off}",
            config.name,
            config.endpoint.kind(),
            config.endpoint.place()
        );
    }
    Ok(Exit::Done)
}

fn test(profile: &chat::Profile, around: &Arc<Surroundings>, name: &str) -> Result<Exit, Failure> {
    let config = find(profile, name)?;
    match chat::runtime()?.block_on(setup::check(config, None, around)) {
        Ok(text) => {
            say!("{name}: {text}");
            Ok(Exit::Done)
        }
        Err(failure) => Err(check_failed(name, &failure, "")),
    }
}

fn login(
    profile: &chat::Profile,
    around: &Arc<Surroundings>,
    name: &str,
    source: &SecretSource,
) -> Result<Exit, Failure> {
    let config = find(profile, name)?;
    let Some(secret) = read_secret(source, name, true)? else {
        return Err(Failure::usage("nothing was given; the old secret stays"));
    };
    match chat::runtime()?.block_on(setup::check(config, Some(secret.clone()), around)) {
        Ok(text) => say!("{name}: {text}"),
        Err(failure) => return Err(check_failed(name, &failure, "the old secret stays")),
    }
    let place = setup::keep_secret(name, &secret, around).map_err(Failure::usage)?;
    say!("the secret is {place}");
    Ok(Exit::Done)
}

fn remove(
    profile: &chat::Profile,
    around: &Arc<Surroundings>,
    name: &str,
    with_history: bool,
) -> Result<Exit, Failure> {
    find(profile, name)?;
    setup::remove_account(name, around).map_err(Failure::usage)?;
    say!("removed {name} and its secret");
    if with_history {
        forget_history(profile, name)?;
        say!("its history is gone too");
    }
    Ok(Exit::Done)
}

/// Drops everything the store has of an account.
fn forget_history(profile: &chat::Profile, name: &str) -> Result<(), Failure> {
    let failed = |error: StoreError| Failure::usage(error.to_string());
    let (store, _) =
        store::open(profile.paths.store_file(), StoreOptions::default()).map_err(failed)?;
    let writes = vec![Write::AccountGone {
        account: AccountId::new(name),
    }];
    store.commit_now(writes, Durability::Full).map_err(failed)?;
    store.close();
    Ok(())
}
