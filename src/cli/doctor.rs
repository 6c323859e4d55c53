//! `trialogue doctor`: one page on this place and every account; the exit code says whether all is
//! well.

use super::args::Global;
use super::{BAD_ADDRESS, Exit, Failure, chat};
use crate::config::account::{AccountConfig, EndpointPlace};
use crate::config::paths::Paths;
use crate::runtime::desktop::Place;
use crate::runtime::doctor::{self, Finding, Health, Report, Section};
use crate::runtime::engine::Surroundings;
use crate::runtime::setup::{self, CheckFailure};
use std::io::IsTerminal;
use std::sync::Arc;

/// How the reason begins when another process has the runtime open.
const IN_USE: &str = "Another trialogue";

/// Runs it.
pub fn run(global: &Global, offline: bool) -> Result<Exit, Failure> {
    let paths = Paths::find(global.config_dir.as_deref(), global.data_dir.as_deref())
        .map_err(|error| Failure::usage(error.to_string()))?;
    let place = Place::detect();
    let is_terminal = std::io::stdout().is_terminal() && std::io::stdin().is_terminal();
    let terminal = is_terminal.then(|| doctor::ask_terminal(place)).flatten();
    let colours = doctor::colours(chat::depth(global.color));
    let mut facts = doctor::gather(place, &paths, terminal, colours);
    let around = Arc::new(Surroundings::new(paths, global.no_keyring));
    facts.keyring = setup::keyring_status(&around).err();
    let mut report = Report {
        sections: doctor::judge(&facts),
    };
    report.sections.push(accounts(&around, offline)?);
    say!("{}", report.plain().trim_end());
    Ok(match report.health() {
        Health::Good | Health::Limited => Exit::Done,
        Health::Bad => Exit::RunFailed,
    })
}

/// What to look at, by the kind of account and the reason.
fn hint(config: &AccountConfig, failure: &CheckFailure) -> String {
    let name = &config.name;
    let is_program = matches!(config.endpoint.place(), EndpointPlace::Process(_));
    let why = failure.text().as_str();
    let is_about_the_secret = ["secret", "token", "sign-in"]
        .iter()
        .any(|word| why.contains(word));
    match failure {
        CheckFailure::NoConnection(_) if is_program && why.starts_with(IN_USE) => {
            "Leave the chat or the command that has it open, then ask again.".to_owned()
        }
        CheckFailure::NoConnection(_) if is_program => format!(
            "Does its program run when you start it yourself? `command` and `environment` of \
             {name} are in config.toml."
        ),
        CheckFailure::NoConnection(_) => no_connection(name, why),
        CheckFailure::Refused(_) if why.starts_with(BAD_ADDRESS) => {
            format!("Correct `url` of {name} in config.toml.")
        }
        // The words say where it came from; another place would be asked in vain.
        CheckFailure::Refused(_) if why.contains("from where it came") => {
            format!("When it is right there: trialogue account test {name}")
        }
        CheckFailure::Refused(_) if why.contains("looks like a") => {
            format!("Correct `kind` or `url` of {name} in config.toml.")
        }
        CheckFailure::Refused(_) if !is_program && is_about_the_secret => {
            format!("trialogue account login {name}")
        }
        CheckFailure::Refused(_) => {
            format!("When that is done: trialogue account test {name}")
        }
    }
}

/// What to look at when no link came up, by what is said of it.
fn no_connection(name: &str, why: &str) -> String {
    let has = |part: &str| why.contains(part);
    if why.starts_with("The proxy") {
        format!(
            "Correct the variable or setting in brackets. `proxy = \"\"` in the table of {name}, or \
             its host in NO_PROXY, goes without a proxy."
        )
    } else if has("answered 429") {
        format!("Wait a minute without trying, then: trialogue account test {name}")
    } else if has("certificate") {
        format!(
            "Your own authority: `ca_file` of {name} in config.toml. Else ask who runs the server."
        )
    } else if has("No address was found") {
        format!(
            "Is the host in `url` of {name} spelled right, and does this machine have a network?"
        )
    } else if has("Nothing listens") {
        format!("Start the server, or correct the port in `url` of {name} in config.toml.")
    } else if has("answered 404") || has("not a WebSocket server") || has("speak TLS") {
        format!("Correct `url` of {name} in config.toml.")
    } else if has("answered 5") {
        "The web server in front answers; start the gateway behind it, or look into its log."
            .to_owned()
    } else {
        "Does the server run, and can this machine reach it?".to_owned()
    }
}

/// Every account is connected to, all at once.
fn accounts(around: &Arc<Surroundings>, offline: bool) -> Result<Section, Failure> {
    // A configuration that cannot be read was reported with the files.
    let accounts = match crate::config::file::load(&around.paths.config_file()) {
        Ok(config) => config.accounts,
        Err(_) => Vec::new(),
    };
    let mut findings = Vec::new();
    if accounts.is_empty() {
        findings.push(Finding::good(
            "accounts",
            "none yet; `trialogue account add` adds one, `trialogue demo` needs none",
        ));
    }
    let runtime = chat::runtime()?;
    let mut checks = tokio::task::JoinSet::new();
    for (place, config) in accounts.into_iter().enumerate() {
        let around = Arc::clone(around);
        checks.spawn_on(
            async move {
                let name = config.name.clone();
                if config.is_disabled {
                    return (place, vec![Finding::good(&name, "switched off")]);
                }
                let (asked, near) = (config.clone(), Arc::clone(&around));
                let source =
                    tokio::task::spawn_blocking(move || setup::secret_source(&asked, &near)).await;
                let secret = match source {
                    Ok(Ok(words)) => words.map(|words| Finding::good("  its secret", words)),
                    Ok(Err(why)) => Some(Finding::bad(
                        "  its secret",
                        why,
                        format!("trialogue account login {name}"),
                    )),
                    Err(_) => None,
                };
                let mut found = vec![if offline {
                    Finding::good(&name, "not asked (--offline)")
                } else {
                    match setup::check(&config, None, &around).await {
                        Ok(words) => Finding::good(&name, words.as_str()),
                        Err(failure) => Finding::bad(
                            &name,
                            match (&failure, config.endpoint.place()) {
                                (CheckFailure::Refused(why), _) => format!("refused: {why}"),
                                (CheckFailure::NoConnection(why), place) => {
                                    format!("no connection to {place}: {why}")
                                }
                            },
                            hint(&config, &failure),
                        ),
                    }
                }];
                found.extend(secret);
                (place, found)
            },
            runtime.handle(),
        );
    }
    let mut checked = runtime.block_on(checks.join_all());
    checked.sort_by_key(|(place, _)| *place);
    findings.extend(checked.into_iter().flat_map(|(_, found)| found));
    runtime.shutdown_timeout(std::time::Duration::from_millis(300));
    Ok(Section {
        title: "Accounts".to_owned(),
        findings,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_way_to_fail_has_a_hint_of_its_own() {
        let check = |why: &str, part: &str| {
            let hint = no_connection("home", why);
            assert!(hint.contains(part), "{why}: {hint}");
        };
        check(
            "The server answered 429 instead of opening",
            "Wait a minute",
        );
        check(
            "The certificate of a was signed by nobody",
            "`ca_file` of home",
        );
        check(
            "The proxy http://b:9 (HTTPS_PROXY) did not open",
            "NO_PROXY",
        );
        check("Nothing listens at a:1. Check", "Start the server");
        check("No address was found for a: no", "spelled right");
        check(
            "The server answered 404 instead of opening",
            "Correct `url`",
        );
        check("The server answered 502 instead of opening", "behind it");
        check("a:1 did not answer.", "reach it");
    }
}
