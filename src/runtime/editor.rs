//! The person's editor on a draft: a private file with a random name, removed on every way out, no
//! secret in the editor's environment.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::process::{Child, Command};

/// Nobody edits a draft for so long.
const STALE: Duration = Duration::from_secs(7 * 24 * 3600);
/// How long an editor may take to end when it is told to.
const GRACE: Duration = Duration::from_millis(400);

/// Removes the file when it goes out of scope.
struct Temporary(PathBuf);

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Removes what a program that was killed left here; its draft is in the store.
fn sweep(dir: &Path) {
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        let age = entry
            .metadata()
            .and_then(|facts| facts.modified())
            .ok()
            .and_then(|at| at.elapsed().ok());
        if age.is_some_and(|age| age >= STALE) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// An editor that has the terminal.
pub struct Editing {
    program: String,
    child: Child,
    file: Temporary,
}

impl Editing {
    /// Starts the person's editor on `text`, in the folder `dir`, with the terminal of this program.
    pub fn start(dir: &Path, text: &str) -> io::Result<Self> {
        std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(dir)?;
        sweep(dir);
        let mut random = [0_u8; 8];
        getrandom::fill(&mut random).map_err(|error| io::Error::other(error.to_string()))?;
        let name: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
        let file = Temporary(dir.join(format!("draft-{name}.md")));
        OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&file.0)?
            .write_all(text.as_bytes())?;
        let editor = ["VISUAL", "EDITOR"]
            .iter()
            .filter_map(|name| std::env::var(name).ok())
            .find(|value| !value.trim().is_empty())
            .unwrap_or_else(|| "vi".to_owned());
        // `EDITOR="code --wait"` is common; the value is the person's own, split at spaces, no shell.
        let mut words = editor.split_whitespace();
        let program = words.next().unwrap_or("vi").to_owned();
        let mut command = Command::new(&program);
        command.args(words).arg(&file.0);
        for name in super::secrets::variables() {
            command.env_remove(name);
        }
        let child = command.spawn()?;
        Ok(Self {
            program,
            child,
            file,
        })
    }

    /// Waits for the editor; what was saved. May be dropped and asked again.
    pub async fn ended(&mut self) -> io::Result<String> {
        let status = self.child.wait().await?;
        if !status.success() {
            return Err(io::Error::other(format!(
                "{} ended with {status}",
                self.program
            )));
        }
        self.saved()
    }

    /// Ends an editor whose person has gone; what was saved up to then.
    pub async fn stop(mut self) -> io::Result<String> {
        let process = self
            .child
            .id()
            .and_then(|id| i32::try_from(id).ok())
            .and_then(rustix::process::Pid::from_raw);
        if let Some(process) = process {
            let _ = rustix::process::kill_process(process, rustix::process::Signal::TERM);
        }
        if tokio::time::timeout(GRACE, self.child.wait())
            .await
            .is_err()
        {
            let _ = self.child.start_kill();
        }
        self.saved()
    }

    fn saved(&self) -> io::Result<String> {
        let edited = std::fs::read_to_string(&self.file.0)?;
        // Editors end a file with a line break that nobody typed.
        Ok(edited
            .strip_suffix('\n')
            .map(str::to_owned)
            .unwrap_or(edited))
    }
}
