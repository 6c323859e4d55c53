//! Where everything lives. The XDG variables are honoured wherever they are set, on every system;
//! a data folder that was named holds everything that is kept, so that a profile can be moved,
//! tried and thrown away as one.

use std::path::{Path, PathBuf};

/// The folder of ours inside the system's folders.
const NAME: &str = "trialogue";

/// The folders of one profile. None of them needs to exist.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Paths {
    /// `config.toml`, `keys.toml`, `themes/`. May hold where a secret is found, never a secret.
    pub config: PathBuf,
    /// History, drafts, the log of decisions; secrets where there is no keyring.
    pub data: PathBuf,
    /// Logs, crash reports, recordings.
    pub state: PathBuf,
    /// Can be deleted at any time: fetched files.
    pub cache: PathBuf,
    /// Goes with the login.
    pub runtime: PathBuf,
    /// Where saved files go.
    pub downloads: PathBuf,
}

/// No folder can be found.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("no home folder is known; set HOME, or name folders with --config-dir and --data-dir")]
pub struct NoHome;

impl Paths {
    /// The folders of this person. Folders that were named on the command line win over the
    /// `TRIALOGUE_` variables, these over XDG's, these over what the system has by custom.
    pub fn find(config: Option<&Path>, data: Option<&Path>) -> Result<Self, NoHome> {
        Self::find_with(config, data, &|name| {
            std::env::var_os(name).map(PathBuf::from)
        })
    }

    /// All folders inside one, for profiles that are thrown away.
    pub fn inside(root: &Path) -> Self {
        let data = root.join("data");
        Self {
            config: root.join("config"),
            state: data.join("state"),
            cache: data.join("cache"),
            runtime: data.join("run"),
            downloads: root.join("downloads"),
            data,
        }
    }

    fn find_with(
        config: Option<&Path>,
        data: Option<&Path>,
        env: &dyn Fn(&str) -> Option<PathBuf>,
    ) -> Result<Self, NoHome> {
        let named = |flag: Option<&Path>, variable: &str| {
            flag.map(Path::to_owned)
                .or_else(|| env(variable))
                .filter(|path| !path.as_os_str().is_empty())
        };
        // XDG: a relative path is not valid and counts as not set.
        let xdg = |variable: &str| env(variable).filter(|path| path.is_absolute());
        let ours = |variable: &str| xdg(variable).map(|path| path.join(NAME));
        let system = directories::ProjectDirs::from("", "", NAME);
        let of_system = |pick: fn(&directories::ProjectDirs) -> &Path| {
            system.as_ref().map(|dirs| pick(dirs).to_owned())
        };
        let config = named(config, "TRIALOGUE_CONFIG_DIR")
            .or_else(|| ours("XDG_CONFIG_HOME"))
            .or_else(|| of_system(directories::ProjectDirs::config_dir))
            .ok_or(NoHome)?;
        let downloads = xdg("XDG_DOWNLOAD_DIR")
            .or_else(|| {
                let user = directories::UserDirs::new()?;
                let home = user.home_dir().join("Downloads");
                Some(user.download_dir().map_or(home, Path::to_owned))
            })
            .unwrap_or_else(|| PathBuf::from("."));
        if let Some(data) = named(data, "TRIALOGUE_DATA_DIR") {
            return Ok(Self {
                config,
                state: data.join("state"),
                cache: data.join("cache"),
                runtime: data.join("run"),
                data,
                downloads,
            });
        }
        let data = ours("XDG_DATA_HOME")
            .or_else(|| of_system(directories::ProjectDirs::data_dir))
            .ok_or(NoHome)?;
        let state = ours("XDG_STATE_HOME")
            .or_else(|| {
                let dirs = system.as_ref()?;
                dirs.state_dir().map(Path::to_owned)
            })
            .unwrap_or_else(|| data.join("state"));
        Ok(Self {
            cache: ours("XDG_CACHE_HOME")
                .or_else(|| of_system(directories::ProjectDirs::cache_dir))
                .unwrap_or_else(|| data.join("cache")),
            runtime: ours("XDG_RUNTIME_DIR").unwrap_or_else(|| state.join("run")),
            config,
            data,
            state,
            downloads,
        })
    }

    /// Settings and accounts.
    pub fn config_file(&self) -> PathBuf {
        self.config.join("config.toml")
    }

    /// The person's key bindings.
    pub fn keys_file(&self) -> PathBuf {
        self.config.join("keys.toml")
    }

    /// The person's themes.
    pub fn themes_dir(&self) -> PathBuf {
        self.config.join("themes")
    }

    /// The database.
    pub fn store_file(&self) -> PathBuf {
        self.data.join("history.db")
    }

    /// The log of decisions.
    pub fn decisions_file(&self) -> PathBuf {
        self.data.join("decisions.jsonl")
    }

    /// Secrets, where there is no keyring.
    pub fn secrets_dir(&self) -> PathBuf {
        self.data.join("secrets")
    }

    /// Held by the screen of this profile.
    pub fn lock_file(&self) -> PathBuf {
        self.data.join("screen.lock")
    }

    /// All of them with their names, for `--print-paths` and `doctor`.
    pub fn list(&self) -> Vec<(&'static str, PathBuf)> {
        vec![
            ("config", self.config_file()),
            ("keys", self.keys_file()),
            ("themes", self.themes_dir()),
            ("data", self.data.clone()),
            ("history", self.store_file()),
            ("decisions", self.decisions_file()),
            ("secrets", self.secrets_dir()),
            ("state", self.state.clone()),
            ("cache", self.cache.clone()),
            ("runtime", self.runtime.clone()),
            ("downloads", self.downloads.clone()),
        ]
    }
}

/// Makes a folder that nobody else can read, with the folders above it.
pub fn make_private(folder: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)
}

/// The home folder.
pub fn home() -> Option<PathBuf> {
    directories::BaseDirs::new().map(|dirs| dirs.home_dir().to_owned())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn find(config: Option<&str>, data: Option<&str>, env: &[(&str, &str)]) -> Paths {
        let lookup = |name: &str| {
            env.iter()
                .find(|(known, _)| *known == name)
                .map(|(_, value)| PathBuf::from(value))
        };
        Paths::find_with(config.map(Path::new), data.map(Path::new), &lookup).unwrap()
    }

    const XDG: &[(&str, &str)] = &[
        ("XDG_CONFIG_HOME", "/x/config"),
        ("XDG_DATA_HOME", "/x/data"),
        ("XDG_STATE_HOME", "/x/state"),
        ("XDG_CACHE_HOME", "/x/cache"),
        ("XDG_RUNTIME_DIR", "/x/run"),
        ("XDG_DOWNLOAD_DIR", "/x/down"),
    ];

    #[test]
    fn xdg_variables_are_honoured() {
        let paths = find(None, None, XDG);
        assert_eq!(
            paths.config_file(),
            Path::new("/x/config/trialogue/config.toml")
        );
        assert_eq!(
            paths.store_file(),
            Path::new("/x/data/trialogue/history.db")
        );
        assert_eq!(paths.state, Path::new("/x/state/trialogue"));
        assert_eq!(paths.cache, Path::new("/x/cache/trialogue"));
        assert_eq!(paths.runtime, Path::new("/x/run/trialogue"));
        assert_eq!(paths.downloads, Path::new("/x/down"));
    }

    #[test]
    fn a_named_data_folder_holds_everything_that_is_kept() {
        let mut env = XDG.to_vec();
        env.push(("TRIALOGUE_DATA_DIR", "/from/env"));
        let paths = find(Some("/my/config"), None, &env);
        assert_eq!(paths.config, Path::new("/my/config"));
        assert_eq!(paths.cache, Path::new("/from/env/cache"));
        let paths = find(None, Some("/flag"), &env);
        assert_eq!(paths.state, Path::new("/flag/state"));
    }

    #[test]
    fn a_relative_xdg_folder_counts_as_not_set() {
        let paths = find(None, Some("/d"), &[("XDG_CONFIG_HOME", "relative")]);
        assert!(!paths.config.starts_with("relative"));
    }
}
