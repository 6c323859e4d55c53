//! The facts that are judged. Reads the environment, files and programs, so it runs off the loop.

use crate::app::state::PictureChoice;
use crate::config::paths::Paths;
use crate::runtime::abilities::Abilities;
use crate::runtime::desktop::Place;
use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Variables that matter.
const VARIABLES: &[&str] = &[
    "TERM",
    "COLORTERM",
    "NO_COLOR",
    "LC_ALL",
    "LC_CTYPE",
    "LANG",
    "VISUAL",
    "EDITOR",
    "MOSH_CONNECTION",
    "STY",
];
/// How long tmux may take to answer.
const TMUX_LIMIT: Duration = Duration::from_secs(2);

/// Everything that is judged.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Facts {
    pub place: Place,
    /// Variables that are set and not empty.
    pub environment: BTreeMap<&'static str, String>,
    /// How pictures are to be drawn, by the configuration.
    pub pictures: PictureChoice,
    /// None: no terminal was there to be asked.
    pub terminal: Option<Abilities>,
    /// Columns and rows.
    pub size: Option<(u16, u16)>,
    /// None: not in tmux. Its options by name, when it answered.
    pub tmux: Option<Tmux>,
    pub clipboard: Clipboard,
    /// Why the keyring cannot be used; none when it can.
    pub keyring: Option<String>,
    pub folders: Vec<FolderFact>,
    /// What is wrong with configuration, keys and themes.
    pub file_problems: Vec<String>,
    /// A colour depth was forced.
    pub colours: String,
}

/// tmux, as it answered.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Tmux {
    pub version: String,
    pub options: BTreeMap<&'static str, String>,
}

/// Programs of the clipboard that were found.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Clipboard {
    pub programs: Vec<&'static str>,
}

/// A folder or file of ours.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FolderFact {
    pub name: &'static str,
    pub path: PathBuf,
    /// None: it is not there.
    pub mode: Option<u32>,
    pub is_ours: bool,
    pub can_write: bool,
}

/// What tmux is asked, in one go.
const TMUX_OPTIONS: &[&str] = &[
    "version",
    "client_termname",
    "client_termfeatures",
    "set-clipboard",
    "allow-passthrough",
    "extended-keys",
    "focus-events",
    "escape-time",
    "default-terminal",
];

/// Looks at everything but the accounts and the keyring.
pub fn gather(place: Place, paths: &Paths, terminal: Option<Abilities>, colours: &str) -> Facts {
    let environment: BTreeMap<&'static str, String> = VARIABLES
        .iter()
        .filter_map(|name| {
            let value = std::env::var(name).ok().filter(|value| !value.is_empty())?;
            Some((*name, value))
        })
        .collect();
    Facts {
        place,
        environment,
        pictures: pictures(paths),
        terminal,
        size: crate::runtime::terminal::open_tty()
            .is_ok()
            .then(crate::runtime::terminal::size),
        tmux: place.in_tmux.then(tmux),
        clipboard: Clipboard {
            programs: ["wl-copy", "xclip", "xsel", "pbcopy", "tmux"]
                .into_iter()
                .filter(|program| is_on_path(program))
                .collect(),
        },
        keyring: None,
        folders: folders(paths),
        file_problems: file_problems(paths),
        colours: colours.to_owned(),
    }
}

fn pictures(paths: &Paths) -> PictureChoice {
    // What is wrong with the file is told with the files.
    crate::config::file::load(&paths.config_file())
        .ok()
        .and_then(|config| config.settings.pictures)
        .map_or(PictureChoice::Auto, |name| PictureChoice::named(&name))
}

fn tmux() -> Tmux {
    let format = TMUX_OPTIONS
        .iter()
        .map(|name| format!("#{{{name}}}"))
        .collect::<Vec<_>>()
        .join("\t");
    let Some(answer) = run(&["tmux", "display-message", "-p", &format]) else {
        return Tmux::default();
    };
    let mut options: BTreeMap<&'static str, String> = TMUX_OPTIONS
        .iter()
        .copied()
        .zip(answer.trim_end().split('\t').map(str::to_owned))
        .collect();
    Tmux {
        version: options.remove("version").unwrap_or_default(),
        options,
    }
}

/// What a program prints; none when it fails or takes too long.
fn run(command: &[&str]) -> Option<String> {
    let (program, arguments) = command.split_first()?;
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let until = Instant::now() + TMUX_LIMIT;
    loop {
        match child.try_wait().ok()? {
            Some(status) if status.success() => break,
            Some(_) => return None,
            None if Instant::now() < until => std::thread::sleep(Duration::from_millis(5)),
            None => {
                let _ = child.kill();
                let _ = child.wait();
                return None;
            }
        }
    }
    let mut text = String::new();
    std::io::Read::read_to_string(&mut child.stdout.take()?, &mut text).ok()?;
    Some(text)
}

fn is_on_path(program: &str) -> bool {
    std::env::var_os("PATH").is_some_and(|path| {
        std::env::split_paths(&path).any(|folder| {
            std::fs::metadata(folder.join(program))
                .is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
        })
    })
}

fn folders(paths: &Paths) -> Vec<FolderFact> {
    use std::os::unix::fs::MetadataExt;
    let me = rustix::process::geteuid().as_raw();
    paths
        .list()
        .into_iter()
        .map(|(name, path)| {
            let metadata = std::fs::metadata(&path).ok();
            let can_write = rustix::fs::access(
                existing(&path).unwrap_or(&path),
                rustix::fs::Access::WRITE_OK,
            )
            .is_ok();
            FolderFact {
                name,
                mode: metadata.as_ref().map(|found| found.mode() & 0o777),
                is_ours: metadata.as_ref().is_none_or(|found| found.uid() == me),
                can_write,
                path,
            }
        })
        .collect()
}

/// The path or the nearest folder above it that exists.
fn existing(path: &std::path::Path) -> Option<&std::path::Path> {
    path.ancestors().find(|path| path.exists())
}

fn file_problems(paths: &Paths) -> Vec<String> {
    let mut problems = Vec::new();
    match crate::config::file::load(&paths.config_file()) {
        Ok(config) => {
            problems.extend(config.complaints.iter().map(ToString::to_string));
            problems.extend(config.warnings);
        }
        Err(errors) => problems.push(errors.to_string()),
    }
    match crate::config::keys::load(&paths.keys_file()) {
        Ok(file) => problems.extend(file.complaints.iter().map(ToString::to_string)),
        Err(errors) => problems.push(errors.to_string()),
    }
    let shipped = crate::view::theme::SHIPPED.iter().map(|(name, _)| *name);
    let mut names: Vec<String> = shipped.map(str::to_owned).collect();
    for file in crate::config::theme::themes(&paths.themes_dir()) {
        let depth = crate::view::theme::Depth::TrueColor;
        if let Err(found) = crate::view::theme::Theme::parse(&file.text, depth) {
            problems.push(format!("{}: {found}", file.path.display()));
        }
        names.push(file.name);
    }
    let unknown = crate::config::file::unknown_theme(&paths.config_file(), &names);
    problems.extend(unknown.as_ref().map(ToString::to_string));
    problems
}
