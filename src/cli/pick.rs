//! Which account and which conversation a command means, and bringing its history here.

use super::args::Global;
use super::{Exit, Failure, chat, exit_of_refusal};
use crate::domain::{AccountId, ConversationId, StoredConversation};
use crate::runtime::engine::Engine;
use crate::runtime::oneshot::{self, Amount, Fetched};
use crate::store::pages;
use std::io::{IsTerminal, Write};
use std::time::Duration;
use tokio::runtime::Runtime;

/// Without a sign of life for so long, a fetch is given up.
const PATIENCE: Duration = Duration::from_secs(60);

/// The account that is meant: the named one, or the only one.
pub fn account(profile: &chat::Profile, wanted: Option<&str>) -> Result<AccountId, Failure> {
    let names: Vec<&str> = profile
        .accounts
        .iter()
        .map(|account| account.config.name.as_str())
        .collect();
    match wanted {
        Some(name) if names.contains(&name) => Ok(AccountId::new(name)),
        Some(name) => Err(Failure::usage(format!(
            "there is no account {name:?}; there are: {}",
            if names.is_empty() {
                "none".to_owned()
            } else {
                names.join(", ")
            }
        ))),
        None => match names.as_slice() {
            [] => Err(Failure::usage(
                "there is no account yet; add one with `trialogue account add`",
            )),
            [one] => Ok(AccountId::new(one)),
            _ => Err(Failure::usage(format!(
                "there are several accounts; choose one with -a: {}",
                names.join(", ")
            ))),
        },
    }
}

/// The conversation that is meant, among those that are kept here.
pub fn stored<'a>(
    conversations: &'a [StoredConversation],
    account: Option<&str>,
    wanted: &str,
) -> Result<&'a StoredConversation, Failure> {
    let account = account.map(AccountId::from);
    match pages::named(conversations, account.as_ref(), wanted).as_slice() {
        [one] => Ok(one),
        found => {
            let found: Vec<_> = found
                .iter()
                .map(|known| (known.conversation.as_str(), known.info.name.as_str()))
                .collect();
            Err(Failure::usage(pages::not_one(wanted, &found)))
        }
    }
}

/// Fetches history of a conversation and hands the engine, still connected, to `then`.
pub fn with_history(
    global: &Global,
    profile: chat::Profile,
    account: &AccountId,
    conversation: &str,
    amount: Amount,
    then: impl FnOnce(&Runtime, &mut Engine, &ConversationId) -> Result<Exit, Failure>,
) -> Result<Exit, Failure> {
    let runtime = chat::runtime()?;
    let mut progress = Progress::new();
    let (mut engine, fetched) = runtime.block_on(async {
        let mut engine = chat::headless_engine(global, profile)?;
        let told = &mut |count| progress.show(count);
        let fetched =
            oneshot::fetch(&mut engine, account, conversation, amount, PATIENCE, told).await;
        Ok::<_, Failure>((engine, fetched))
    })?;
    progress.end();
    let fail = |exit, text: &str| {
        Err(Failure {
            exit,
            text: format!("{}: {text}", account.as_str()),
        })
    };
    let result = match &fetched {
        Fetched::Here(id) => then(&runtime, &mut engine, id),
        Fetched::NoConnection(text) => fail(
            Exit::NoConnection,
            &format!("{text} (--offline takes what is kept here)"),
        ),
        Fetched::Refused(text) => fail(exit_of_refusal(text.as_str()), text.as_str()),
        Fetched::Unusable(text) => fail(Exit::Usage, text.as_str()),
        Fetched::Signal(code) => Ok(Exit::Code(u8::try_from(*code).unwrap_or(130))),
    };
    runtime.block_on(engine.shut_down());
    // Sessions and workers were told to end; nothing of them may hold the exit up.
    runtime.shutdown_timeout(Duration::from_millis(300));
    result
}

/// How far it is, on standard error, for a person who waits there.
struct Progress {
    is_shown: bool,
    count: usize,
}

impl Progress {
    fn new() -> Self {
        Self {
            is_shown: std::io::stderr().is_terminal(),
            count: 0,
        }
    }

    fn show(&mut self, count: usize) {
        if self.is_shown && count >= self.count + 100 {
            self.count = count;
            let mut stderr = std::io::stderr().lock();
            let _ = write!(stderr, "\r{count} messages…");
            let _ = stderr.flush();
        }
    }

    fn end(&self) {
        if self.count > 0 {
            let _ = write!(std::io::stderr().lock(), "\r\x1b[K");
        }
    }
}
