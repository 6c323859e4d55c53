//! `trialogue doctor`: one page on this place and every account; the exit code says whether all is
//! well.

use super::args::Global;
use super::{Exit, Failure, chat};
use crate::config::paths::Paths;
use crate::runtime::clock::Clock;
use crate::runtime::desktop::Place;
use crate::runtime::doctor::{self, Finding, Health, Report, Section};
use crate::runtime::engine::Surroundings;
use crate::runtime::setup::{self, CheckFailure};
use std::io::IsTerminal;
use std::sync::Arc;

/// Runs it.
pub fn run(global: &Global, offline: bool) -> Result<Exit, Failure> {
    let paths = Paths::find(global.config_dir.as_deref(), global.data_dir.as_deref())
        .map_err(|error| Failure::usage(error.to_string()))?;
    let place = Place::detect();
    let is_terminal = std::io::stdout().is_terminal() && std::io::stdin().is_terminal();
    let terminal = is_terminal.then(|| doctor::ask_terminal(place)).flatten();
    let colours = doctor::colours(chat::depth(global.color));
    let mut facts = doctor::gather(place, &paths, terminal, colours);
    let around = Arc::new(Surroundings {
        paths,
        place,
        clock: Clock::start(),
        working_directory: std::env::current_dir().unwrap_or_else(|_| "/".into()),
        no_keyring: global.no_keyring,
        recorder: None,
        stage: None,
        is_throwaway: false,
    });
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
                        Err(CheckFailure::NoConnection(why)) => Finding::bad(
                            &name,
                            format!("no connection to {}: {why}", config.endpoint.place()),
                            "Does the server run, and can this machine reach it?",
                        ),
                        Err(CheckFailure::Refused(why)) => Finding::bad(
                            &name,
                            format!("refused: {why}"),
                            format!("trialogue account login {name}"),
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
