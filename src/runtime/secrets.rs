//! Where the secret of an account comes from, and where it is kept. A ladder: the desktop's keyring
//! (asked on a thread of its own and given up on for good after three seconds, because a service
//! that holds the name but does not answer would hang for ever), the command of the account, the
//! environment, a private file. What is found says from which rung it came, and what is kept says
//! where it went; nothing moves to a worse place in silence.
//!
//! Everything here waits; it must not run on the loop.

use crate::config::account::AccountConfig;
use crate::domain::Secret;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

mod command;
mod file;

pub use file::file_name;

/// How long the keyring may take.
const KEYRING_LIMIT: Duration = Duration::from_secs(3);
/// How long the command of an account may take: somebody may have to type into a dialog.
const COMMAND_LIMIT: Duration = Duration::from_secs(60);

/// The keyring did not answer once in this run of the program, so it is not asked again.
static KEYRING_IS_SILENT: AtomicBool = AtomicBool::new(false);

/// Why a secret could not be read or kept.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SecretError {
    /// The command of the account gave no secret; what is below it on the ladder is not asked, as
    /// an old secret there would only confuse.
    #[error("the secret command `{program}` {reason}")]
    Command { program: String, reason: String },
    /// The file may be read by others; its secret counts as known to them.
    #[error("{path} can be read by others; run chmod 600 on it, or better, take a new secret")]
    TooOpen { path: PathBuf },
    /// The file could not be read or written.
    #[error("{path}: {reason}")]
    File { path: PathBuf, reason: String },
}

/// From which rung a secret came.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Source {
    Keyring,
    Command(String),
    Environment(String),
    File(PathBuf),
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Keyring => f.write_str("the keyring"),
            Self::Command(program) => write!(f, "the command `{program}`"),
            Self::Environment(variable) => write!(f, "the variable {variable}"),
            Self::File(path) => write!(f, "the file {}", path.display()),
        }
    }
}

/// A secret with its source.
#[derive(Clone, Debug)]
pub struct Found {
    pub secret: Secret,
    pub source: Source,
    /// Why the keyring was passed over; none when it simply had nothing.
    pub passed_over: Option<String>,
}

/// One request to a keyring. Without the feature no keyring reads what is in it.
#[cfg_attr(not(feature = "secret-service"), allow(dead_code))]
#[derive(Clone, Debug)]
enum Request {
    Read,
    Write(Secret),
    Delete,
}

/// A keyring: none when it has nothing under that name.
type Keyring = Arc<dyn Fn(&str, &str, Request) -> Result<Option<Secret>, String> + Send + Sync>;

/// Reads a variable.
type Environment = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// The ladder of one profile.
#[derive(Clone)]
pub struct Ladder {
    folder: PathBuf,
    /// What the entries of this profile are filed under.
    service: String,
    keyring: Option<Keyring>,
    keyring_limit: Duration,
    command_limit: Duration,
    environment: Environment,
    is_silent: &'static AtomicBool,
}

impl fmt::Debug for Ladder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ladder")
            .field("folder", &self.folder)
            .field("service", &self.service)
            .field("keyring", &self.keyring.is_some())
            .finish_non_exhaustive()
    }
}

impl Ladder {
    /// The ladder with its files in `folder`.
    pub fn new(folder: PathBuf, asks_keyring: bool) -> Self {
        Self {
            service: service_of(&folder),
            folder,
            keyring: system_keyring().filter(|_| asks_keyring),
            keyring_limit: KEYRING_LIMIT,
            command_limit: COMMAND_LIMIT,
            environment: Arc::new(|name| std::env::var(name).ok()),
            is_silent: &KEYRING_IS_SILENT,
        }
    }

    /// The secret of an account; none when no rung has one.
    pub fn find(&self, account: &AccountConfig) -> Result<Option<Found>, SecretError> {
        let (kept, passed_over) = match self.ask(&account.name, Request::Read) {
            Ok(kept) => (kept, None),
            Err(reason) => (None, Some(reason)),
        };
        let found = |secret, source| {
            Ok(Some(Found {
                secret,
                source,
                passed_over: passed_over.clone(),
            }))
        };
        if let Some(secret) = kept {
            return found(secret, Source::Keyring);
        }
        if let Some(words) = &account.secret_command {
            let secret = command::run(words, self.command_limit)?;
            let program = words.first().cloned().unwrap_or_default();
            return found(secret, Source::Command(program));
        }
        let variable = variable(&account.name);
        if let Some(text) = (self.environment)(&variable).filter(|text| !text.is_empty()) {
            return found(Secret::new(text), Source::Environment(variable));
        }
        let path = self.path(&account.name);
        match file::read(&path)? {
            Some(secret) => found(secret, Source::File(path)),
            None => Ok(None),
        }
    }

    /// Keeps a secret in the best place there is; says where.
    pub fn keep(&self, name: &str, secret: &Secret) -> Result<String, SecretError> {
        let path = self.path(name);
        let written = match &self.keyring {
            Some(_) => self.ask(name, Request::Write(secret.clone())).map(|_| ()),
            None => Err("the keyring is not used".to_owned()),
        };
        match written {
            Ok(()) => {
                // An older copy must not outlive the secret.
                file::remove(&path)?;
                Ok("kept in the keyring".to_owned())
            }
            Err(reason) => {
                file::write(&path, secret)?;
                Ok(format!(
                    "kept in the file {}, which only you can read: {reason}",
                    path.display()
                ))
            }
        }
    }

    /// Forgets a secret everywhere it was kept.
    pub fn forget(&self, name: &str) -> Result<(), SecretError> {
        if let Err(reason) = self.ask(name, Request::Delete) {
            tracing::warn!(
                reason,
                "the keyring may still hold the secret of an account"
            );
        }
        file::remove(&self.path(name))
    }

    /// Whether the keyring can be used; the words why not.
    pub fn keyring_status(&self) -> Result<(), String> {
        match &self.keyring {
            Some(_) => self.ask("nobody", Request::Read).map(|_| ()),
            None => Err("the keyring is not used".to_owned()),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(file_name(name))
    }

    /// Asks the keyring, if it is used and was never silent.
    fn ask(&self, name: &str, request: Request) -> Result<Option<Secret>, String> {
        const SILENT: &str = "the keyring did not answer within the time it has";
        let Some(keyring) = &self.keyring else {
            return Ok(None);
        };
        if self.is_silent.load(Ordering::Relaxed) {
            return Err(SILENT.to_owned());
        }
        let (reply, answer) = channel();
        let (keyring, service) = (Arc::clone(keyring), self.service.clone());
        let name = name.to_owned();
        // A plain thread, which stays behind when it hangs: nothing can end it.
        std::thread::Builder::new()
            .name("keyring".to_owned())
            .spawn(move || {
                // After the limit nobody listens any more.
                let _ = reply.send(keyring(&service, &name, request));
            })
            .map_err(|error| crate::domain::io_words(&error))?;
        match answer.recv_timeout(self.keyring_limit) {
            Ok(result) => result,
            Err(RecvTimeoutError::Timeout) => {
                self.is_silent.store(true, Ordering::Relaxed);
                Err(SILENT.to_owned())
            }
            Err(RecvTimeoutError::Disconnected) => Err("the keyring failed".to_owned()),
        }
    }
}

/// The variables of our environment that hold secrets. No program that is started from here inherits
/// them.
pub fn variables() -> Vec<std::ffi::OsString> {
    std::env::vars_os()
        .map(|(name, _)| name)
        .filter(|name| name.to_string_lossy().starts_with("TRIALOGUE_SECRET"))
        .collect()
}

/// Lets no crash leave the memory of this process on disk.
pub fn keep_out_of_core_files() {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Core);
    let none = rustix::process::Rlimit {
        current: Some(0),
        ..limit
    };
    if let Err(error) = rustix::process::setrlimit(rustix::process::Resource::Core, none) {
        tracing::warn!(%error, "core files could not be switched off");
    }
}

/// The variable that may hold the secret of an account: upper case, everything but letters and
/// digits of ASCII as `_`.
pub fn variable(name: &str) -> String {
    let name: String = name
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() {
                c.to_ascii_uppercase()
            } else {
                '_'
            }
        })
        .collect();
    format!("TRIALOGUE_SECRET_{name}")
}

/// Profiles in folders of their own must not see each other's entries.
fn service_of(folder: &Path) -> String {
    match folder.parent() {
        Some(data) if data.file_name().is_some_and(|name| name != "trialogue") => {
            format!("trialogue {}", data.display())
        }
        _ => "trialogue".to_owned(),
    }
}

#[cfg(feature = "secret-service")]
fn system_keyring() -> Option<Keyring> {
    use keyring::{Entry, Error};
    use zeroize::Zeroize;
    Some(Arc::new(|service, name, request| {
        let words = |error: Error| match error {
            Error::NoDefaultStore => "there is no keyring here".to_owned(),
            // Its text may quote what was stored.
            Error::BadEncoding(mut bytes) => {
                bytes.zeroize();
                "the keyring holds something that is no text".to_owned()
            }
            error => format!("the keyring failed: {error}"),
        };
        let entry = Entry::new(service, name).map_err(words)?;
        let result = match request {
            Request::Read => entry.get_password().map(|text| Some(Secret::new(text))),
            Request::Write(secret) => entry.set_password(secret.expose()).map(|()| None),
            Request::Delete => entry.delete_credential().map(|()| None),
        };
        match result {
            Err(Error::NoEntry) => Ok(None),
            result => result.map_err(words),
        }
    }))
}

#[cfg(not(feature = "secret-service"))]
fn system_keyring() -> Option<Keyring> {
    None
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::config::account::{Endpoint, NetworkEndpoint};
    use std::os::unix::fs::PermissionsExt;
    use std::sync::Mutex;

    fn account(command: Option<&[&str]>) -> AccountConfig {
        let mut account = AccountConfig::new("my home", Endpoint::Iris(NetworkEndpoint::default()));
        account.secret_command =
            command.map(|words| words.iter().map(|word| (*word).to_owned()).collect());
        account
    }

    fn ladder(folder: &Path, keyring: Option<Keyring>, variables: &[(&str, &str)]) -> Ladder {
        let variables: Vec<(String, String)> = variables
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        Ladder {
            folder: folder.join("secrets"),
            service: "test".to_owned(),
            keyring,
            keyring_limit: Duration::from_secs(20),
            command_limit: Duration::from_secs(20),
            environment: Arc::new(move |name| {
                let found = variables.iter().find(|(known, _)| known == name)?;
                Some(found.1.clone())
            }),
            is_silent: Box::leak(Box::new(AtomicBool::new(false))),
        }
    }

    /// A keyring in memory.
    fn working(entries: &[(&str, &str)]) -> Keyring {
        let entries: Mutex<Vec<(String, String)>> = Mutex::new(
            entries
                .iter()
                .map(|(name, secret)| ((*name).to_owned(), (*secret).to_owned()))
                .collect(),
        );
        Arc::new(move |_, name, request| {
            let mut entries = entries.lock().unwrap();
            match request {
                Request::Read => Ok(entries
                    .iter()
                    .find(|(known, _)| known == name)
                    .map(|(_, secret)| Secret::new(secret.clone()))),
                Request::Write(secret) => {
                    entries.push((name.to_owned(), secret.expose().to_owned()));
                    Ok(None)
                }
                Request::Delete => {
                    entries.retain(|(known, _)| known != name);
                    Ok(None)
                }
            }
        })
    }

    fn source(ladder: &Ladder, account: &AccountConfig) -> Option<(String, Source)> {
        let found = ladder.find(account).unwrap()?;
        Some((found.secret.expose().to_owned(), found.source))
    }

    const VARIABLE: (&str, &str) = ("TRIALOGUE_SECRET_MY_HOME", "from-env");

    #[test]
    fn the_first_rung_that_has_it_wins() {
        let folder = tempfile::tempdir().unwrap();
        let command = account(Some(&["printf", "from-command\\nsecond line\\n"]));
        let full = ladder(
            folder.path(),
            Some(working(&[("my home", "from-keyring")])),
            &[VARIABLE],
        );
        assert_eq!(
            source(&full, &command),
            Some(("from-keyring".to_owned(), Source::Keyring))
        );
        let empty = ladder(folder.path(), Some(working(&[])), &[VARIABLE]);
        assert_eq!(
            source(&empty, &command),
            Some((
                "from-command".to_owned(),
                Source::Command("printf".to_owned())
            ))
        );
        assert_eq!(
            source(&empty, &account(None)),
            Some((
                "from-env".to_owned(),
                Source::Environment(VARIABLE.0.to_owned())
            ))
        );
        let bare = ladder(folder.path(), None, &[]);
        assert_eq!(source(&bare, &account(None)), None);
        let place = bare
            .keep("my home", &Secret::new("from-file".to_owned()))
            .unwrap();
        assert!(place.starts_with("kept in the file "));
        let path = folder.path().join("secrets/my%20home");
        assert_eq!(
            source(&bare, &account(None)),
            Some(("from-file".to_owned(), Source::File(path)))
        );
    }

    #[test]
    fn a_silent_keyring_is_asked_once_and_passed_over_aloud() {
        let folder = tempfile::tempdir().unwrap();
        let (_never, waits) = channel::<()>();
        let waits = Mutex::new(waits);
        let hung: Keyring = Arc::new(move |_, _, _| {
            let _ = waits.lock().unwrap().recv();
            Ok(None)
        });
        let mut ladder = ladder(folder.path(), Some(hung), &[VARIABLE]);
        ladder.keyring_limit = Duration::from_millis(1);
        for _ in 0..2 {
            let found = ladder.find(&account(None)).unwrap().unwrap();
            assert_eq!(found.secret.expose(), "from-env");
            assert!(found.passed_over.unwrap().contains("did not answer"));
            // The second time it is not even asked: this would wait long.
            ladder.keyring_limit = Duration::from_secs(600);
        }
        let place = ladder
            .keep("my home", &Secret::new("x".to_owned()))
            .unwrap();
        assert!(place.contains("did not answer"), "{place}");
    }

    #[test]
    fn keeping_in_the_keyring_removes_an_old_file_and_forgetting_removes_all() {
        let folder = tempfile::tempdir().unwrap();
        let bare = ladder(folder.path(), None, &[]);
        bare.keep("my home", &Secret::new("old".to_owned()))
            .unwrap();
        let full = ladder(folder.path(), Some(working(&[])), &[]);
        assert_eq!(
            full.keep("my home", &Secret::new("new".to_owned()))
                .unwrap(),
            "kept in the keyring"
        );
        assert_eq!(source(&bare, &account(None)), None);
        assert_eq!(
            source(&full, &account(None)),
            Some(("new".to_owned(), Source::Keyring))
        );
        full.forget("my home").unwrap();
        assert_eq!(source(&full, &account(None)), None);
    }

    #[test]
    fn files_are_private_from_the_start_and_others_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let ladder = ladder(folder.path(), None, &[]);
        for text in ["first", "second"] {
            ladder
                .keep("my home", &Secret::new(text.to_owned()))
                .unwrap();
        }
        let inside = folder.path().join("secrets");
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&inside), 0o700);
        let path = inside.join("my%20home");
        assert_eq!(mode(&path), 0o600);
        assert_eq!(std::fs::read_dir(&inside).unwrap().count(), 1);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
        assert_eq!(
            ladder.find(&account(None)).unwrap_err(),
            SecretError::TooOpen { path }
        );
    }

    #[test]
    fn a_command_that_fails_says_so_and_nothing_else_is_taken() {
        let folder = tempfile::tempdir().unwrap();
        let ladder = ladder(folder.path(), None, &[VARIABLE]);
        let check = |words: &[&str], part: &str| {
            let error = ladder.find(&account(Some(words))).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        };
        check(
            &["sh", "-c", "echo no such entry >&2; exit 3"],
            "no such entry",
        );
        check(&["true"], "printed nothing");
        check(&["/nowhere/at/all"], "could not be started");
    }

    #[test]
    fn a_command_that_hangs_is_ended() {
        let error = command::run(
            &[
                "sh".to_owned(),
                "-c".to_owned(),
                "cat /dev/zero | cat >/dev/null".to_owned(),
            ],
            Duration::from_millis(10),
        )
        .unwrap_err();
        assert!(error.to_string().contains("in time"), "{error}");
    }

    #[test]
    fn the_debug_text_holds_no_secret() {
        let found = Found {
            secret: Secret::new("hunter2".to_owned()),
            source: Source::Keyring,
            passed_over: None,
        };
        assert!(
            !format!("{found:?} {:?}", Request::Write(found.secret.clone())).contains("hunter2")
        );
    }

    #[test]
    fn variables_and_services_are_named_by_rule() {
        assert_eq!(variable("iris@home-2"), "TRIALOGUE_SECRET_IRIS_HOME_2");
        assert_eq!(variable("größe"), "TRIALOGUE_SECRET_GR__E");
        assert_eq!(
            service_of(Path::new("/home/me/.local/share/trialogue/secrets")),
            "trialogue"
        );
        assert_eq!(service_of(Path::new("/srv/x/secrets")), "trialogue /srv/x");
    }
}
