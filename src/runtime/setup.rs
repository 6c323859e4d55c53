//! From an account's configuration to a session: secret, seed, driver, place. Also what the wizard
//! and the account commands do with one. Reads files and other programs, so everything here runs
//! off the loop.

use super::engine::Surroundings;
use super::secrets::{self, Ladder, Source};
use super::session::{self, Place, SecretPlace, SessionEvent, SessionInput, SessionSetup};
use crate::config::account::{AccountConfig, EndpointPlace};
use crate::config::file;
use crate::domain::{AccountId, LinkEvent, LinkState, Secret, Topic};
use crate::protocol::{self, Resume, Setup};
use crate::text::SafeText;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;

/// How long a check of an account may take.
pub const CHECK: Duration = Duration::from_secs(35);
/// The command as the drivers say it, who do not know the account's name.
const LOGIN: &str = "`trialogue account login`";

fn ladder(around: &Surroundings) -> Ladder {
    Ladder::new(
        around.paths.secrets_dir(),
        !around.no_keyring && !around.is_throwaway,
    )
}

/// Whether the keyring can be used; the words why not. Waits up to three seconds.
pub fn keyring_status(around: &Surroundings) -> Result<(), String> {
    ladder(around).keyring_status()
}

/// From where the secret of an account comes, in words; none when it needs none and has none.
pub fn secret_source(
    config: &AccountConfig,
    around: &Surroundings,
) -> Result<Option<String>, String> {
    match ladder(around).find(config) {
        Ok(Some(found)) => {
            let passed_over = found
                .passed_over
                .map(|why| format!(" (the keyring was passed over: {why})"))
                .unwrap_or_default();
            Ok(Some(format!("from {}{passed_over}", found.source)))
        }
        Ok(None) if matches!(config.endpoint.place(), EndpointPlace::Network(_)) => {
            Err("no secret was found in any place".to_owned())
        }
        Ok(None) => Ok(None),
        Err(error) => Err(error.to_string()),
    }
}

/// Random bytes of the system.
fn random<const N: usize>() -> Result<[u8; N], String> {
    let mut bytes = [0_u8; N];
    getrandom::fill(&mut bytes).map_err(|error| format!("no random numbers: {error}"))?;
    Ok(bytes)
}

/// Everything a session is started with. `known` replaces the stored secret (a check before
/// anything was saved).
pub fn session(
    config: &AccountConfig,
    facts: BTreeMap<String, String>,
    known: Option<Secret>,
    around: &Surroundings,
) -> Result<SessionSetup, SafeText> {
    if !protocol::speaks(&config.endpoint) {
        return Err(SafeText::label(&format!(
            "this version of trialogue has no driver for {} accounts",
            config.endpoint.kind()
        )));
    }
    let wants_secret = matches!(config.endpoint.place(), EndpointPlace::Network(_));
    let ladder = ladder(around);
    let mut secret_place = None;
    let secret = match known {
        Some(secret) => Some(secret),
        None => ladder
            .find(config)
            .map_err(|error| SafeText::label(&error.to_string()))?
            .map(|found| {
                secret_place = Some(SecretPlace {
                    name: found.source.to_string(),
                    takes_login: matches!(found.source, Source::Keyring | Source::File(_)),
                });
                found.secret
            }),
    };
    if wants_secret && secret.is_none() {
        return Err(SafeText::label(&format!(
            "no secret was found; give it with: trialogue account login {}",
            config.name
        )));
    }
    let (seed, facts) = match &around.stage {
        // With these the driver makes the same ids as it did then.
        Some(stage) => stage.session(&AccountId::new(&config.name)),
        None => (
            random::<16>().map_err(|error| SafeText::label(&error))?,
            facts,
        ),
    };
    let setup = Setup {
        secret: secret.clone(),
        resume: Resume { facts },
        seed,
        working_directory: around.working_directory.clone(),
        client_version: env!("CARGO_PKG_VERSION"),
    };
    let tools = match config.endpoint.place() {
        EndpointPlace::Process(endpoint) => endpoint
            .tools
            .iter()
            .map(|(name, tool)| (name.clone(), tool.command.clone()))
            .collect(),
        EndpointPlace::Network(_) => BTreeMap::new(),
    };
    let place = match &around.stage {
        Some(stage) => Place::Recording(stage.seat(&AccountId::new(&config.name))),
        None => Place::of(config, protocol::launch(config, &around.paths.state)),
    };
    let origin = session::Origin {
        kind: config.endpoint.kind().to_owned(),
        secret_place,
        seed: setup.seed,
        facts: setup.resume.facts.clone(),
    };
    let again = config.clone();
    Ok(SessionSetup {
        account: AccountId::new(&config.name),
        place,
        driver: protocol::driver(config, setup),
        secret,
        secrets: Arc::new(move || {
            ladder
                .find(&again)
                .map(|found| found.map(|found| found.secret))
                .map_err(|error| error.to_string())
        }),
        tools,
        cache: around
            .paths
            .cache
            .join("transfers")
            .join(secrets::file_name(&config.name)),
        clock: around.clock,
        seed: u64::from_le_bytes(random::<8>().map_err(|error| SafeText::label(&error))?),
        recording: around.recorder.clone(),
        origin,
    })
}

/// Connects once and says what was found, or why it did not work.
pub async fn check(
    config: &AccountConfig,
    secret: Option<Secret>,
    around: &Arc<Surroundings>,
) -> Result<SafeText, CheckFailure> {
    // A secret that is only tried is not kept yet, and `account login` changes no command.
    let login = (secret.is_none() && config.secret_command.is_none())
        .then(|| format!("`trialogue account login {}`", config.name));
    attempt(config, secret, around)
        .await
        .map_err(|failure| match failure {
            CheckFailure::Refused(why) => {
                CheckFailure::Refused(advice(why.as_str(), login.as_deref()))
            }
            other => other,
        })
}

/// The words of a refusal with the whole command that sets the secret, or without it where it does
/// not help.
fn advice(why: &str, login: Option<&str>) -> SafeText {
    SafeText::prose(&match login {
        Some(login) => why.replace(LOGIN, login),
        None => why
            .replace(&format!(" ({LOGIN}), then connect again"), " and try again")
            .replace(
                &format!(" with {LOGIN}, then connect again"),
                " and try again",
            ),
    })
}

async fn attempt(
    config: &AccountConfig,
    secret: Option<Secret>,
    around: &Arc<Surroundings>,
) -> Result<SafeText, CheckFailure> {
    let (config, around) = (config.clone(), Arc::clone(around));
    let setup = tokio::task::spawn_blocking(move || {
        let facts = protocol::check(&config).facts;
        session(&config, facts, secret, &around)
    })
    .await
    .map_err(|_| CheckFailure::Refused("the check itself failed".into()))?
    .map_err(CheckFailure::Refused)?;
    let (out, mut events) = mpsc::channel(64);
    let handle = session::spawn(setup, out);
    let _ = handle.try_send(SessionInput::Connect);
    let found = tokio::time::timeout(CHECK, async {
        let mut identity = None;
        while let Some((_, event)) = events.recv().await {
            match event {
                SessionEvent::Account(event) => match event.topic {
                    Topic::Link(LinkEvent::IdentityKnown(known)) => identity = Some(known),
                    Topic::Link(LinkEvent::Changed(LinkState::Ready)) => {
                        let what = identity.map_or_else(
                            || "connected".to_owned(),
                            |known| format!("connected to {} {}", known.server, known.version),
                        );
                        return Ok(SafeText::label(what.trim()));
                    }
                    Topic::Link(LinkEvent::Changed(LinkState::Refused { reason })) => {
                        return Err(CheckFailure::Refused(reason));
                    }
                    Topic::Link(LinkEvent::Changed(LinkState::NeedsLogin(need))) => {
                        return Err(CheckFailure::Refused(need.hint));
                    }
                    _ => {}
                },
                SessionEvent::Waits { reason, .. } => {
                    return Err(CheckFailure::NoConnection(reason));
                }
                SessionEvent::Ended { reason } => {
                    return Err(CheckFailure::NoConnection(reason.unwrap_or_default()));
                }
                _ => {}
            }
        }
        Err(CheckFailure::NoConnection(
            "the connection ended without a word".into(),
        ))
    })
    .await
    .unwrap_or_else(|_| {
        Err(CheckFailure::NoConnection(
            "nothing was answered in time".into(),
        ))
    });
    handle.shutdown().await;
    found
}

/// Why a check did not work.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CheckFailure {
    NoConnection(SafeText),
    Refused(SafeText),
}

impl CheckFailure {
    /// The words.
    pub fn text(&self) -> &SafeText {
        match self {
            Self::NoConnection(text) | Self::Refused(text) => text,
        }
    }
}

/// The words of a failure for an account that stands in no file yet: what is to be corrected is not
/// the configuration, but what was just given.
pub fn of_unsaved(words: &str, address: &str, command: &str) -> String {
    words
        .replace("Correct it in the configuration.", address)
        .replace("Check `command` of the account", command)
}

/// The wizard's check.
pub async fn check_fields(
    fields: &[(String, String)],
    secret: Option<Secret>,
    around: &Arc<Surroundings>,
) -> (AccountId, Result<SafeText, SafeText>) {
    let config = match file::account_from_fields(fields) {
        Ok(config) => config,
        Err(error) => {
            return (
                AccountId::new("new"),
                Err(SafeText::label(&error.to_string())),
            );
        }
    };
    let result = check(&config, secret, around).await.map_err(|failure| {
        let words = failure.text().as_str();
        SafeText::prose(&of_unsaved(words, "Correct it here.", "Check it here"))
    });
    (AccountId::new(&config.name), result)
}

/// The wizard's last step: saved, with its secret.
pub fn add_fields(
    fields: &[(String, String)],
    secret: Option<Secret>,
    around: &Surroundings,
) -> Result<(AccountConfig, Option<String>), String> {
    let config = file::account_from_fields(fields).map_err(|error| error.to_string())?;
    let place = add(&config, secret, around)?;
    Ok((config, place))
}

/// Saves an account; where its secret was put, when there is one.
pub fn add(
    config: &AccountConfig,
    secret: Option<Secret>,
    around: &Surroundings,
) -> Result<Option<String>, String> {
    let place = match secret {
        Some(secret) => Some(keep_secret(&config.name, &secret, around)?),
        None => None,
    };
    if !around.is_throwaway {
        file::add_account(&around.paths.config_file(), config)
            .map_err(|error| error.to_string())?;
    }
    Ok(place)
}

/// Keeps a secret in the best place there is; where.
pub fn keep_secret(name: &str, secret: &Secret, around: &Surroundings) -> Result<String, String> {
    ladder(around)
        .keep(name, secret)
        .map_err(|error| error.to_string())
}

/// Forgets an account and its secret everywhere it was kept.
pub fn remove_account(name: &str, around: &Surroundings) -> Result<(), String> {
    ladder(around)
        .forget(name)
        .map_err(|error| error.to_string())?;
    if !around.is_throwaway {
        file::remove_account(&around.paths.config_file(), name)
            .map_err(|error| error.to_string())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_that_is_not_saved_is_corrected_where_it_was_given() {
        let check = |words: &str, wanted: &str| {
            assert_eq!(
                of_unsaved(words, "Correct it here.", "Check it here"),
                wanted
            );
        };
        check(
            "The address is plain. Correct it in the configuration.",
            "The address is plain. Correct it here.",
        );
        check(
            "x could not be started: it was not found. Check `command` of the account.",
            "x could not be started: it was not found. Check it here.",
        );
    }
}
