//! The default command, and what other commands need to open a profile: configuration, store,
//! engine.

use super::args::{ColorChoice, Demo, Global};
use super::{Exit, Failure};
use crate::app::State;
use crate::app::keymap::{Keymap, Override};
use crate::app::screen::Toast;
use crate::app::state::{AccountField, AccountKind, Ids, PictureChoice, Play, Settings};
use crate::config::account::{AccountConfig, Endpoint, NetworkEndpoint, ProcessEndpoint};
use crate::config::file::{self, Config};
use crate::config::keys;
use crate::config::paths::Paths;
use crate::domain::{AccountId, Moment, Secret, Severity, io_words, nearest};
use crate::runtime::clock::Clock;
use crate::runtime::desktop::Place;
use crate::runtime::engine::{Engine, Surroundings};
use crate::runtime::recording::Recorder;
use crate::runtime::recording::stage::Stage;
use crate::runtime::screen::{Left, Screen, ScreenOptions};
use crate::runtime::terminal;
use crate::runtime::zone::utc_offset_minutes;
use crate::store::lock::LockError;
use crate::store::{self, StoreOptions};
use crate::text::SafeText;
use crate::view::theme::{Depth, Theme};
use std::io::IsTerminal;
use std::path::Path;

/// An account and, for the demo only, the secret that is kept nowhere.
#[derive(Clone, Debug)]
pub struct ProfileAccount {
    pub config: AccountConfig,
    pub secret: Option<Secret>,
}

/// Where everything of one run of the program lives.
#[derive(Clone, Debug)]
pub struct Profile {
    pub paths: Paths,
    pub config: Config,
    pub accounts: Vec<ProfileAccount>,
    /// Goes with the program: the demo's.
    pub is_throwaway: bool,
    pub recorder: Option<Recorder>,
    pub stage: Option<Stage>,
}

/// Why a file that is no TOML is not passed over: which accounts there are is not guessed.
const UNREADABLE: &str = "Mend that line, then start again; `trialogue config check` looks at it.";

impl Profile {
    /// One that goes with the program, without settings.
    pub fn throwaway(paths: Paths, accounts: Vec<ProfileAccount>) -> Self {
        Self {
            paths,
            config: Config::default(),
            accounts,
            is_throwaway: true,
            recorder: None,
            stage: None,
        }
    }
}

/// Reads the configuration of the person. A line that is wrong is told and passed over.
pub fn open_profile(global: &Global) -> Result<Profile, Failure> {
    let paths = Paths::find(global.config_dir.as_deref(), global.data_dir.as_deref())
        .map_err(|error| Failure::usage(error.to_string()))?;
    let mut config = file::load(&paths.config_file())
        .map_err(|error| Failure::usage(format!("{error}\n{UNREADABLE}")))?;
    if let Some(theme) = &config.settings.theme {
        let names = themes(&paths);
        if !names.contains(theme) {
            config.settings.theme = None;
            let unknown = file::unknown_theme(&paths.config_file(), &names);
            config.complaints.extend(unknown);
        }
    }
    for complaint in &config.complaints {
        complain!("trialogue: {complaint}");
    }
    for warning in &config.warnings {
        complain!("trialogue: {warning}");
    }
    let accounts = config
        .accounts
        .iter()
        .map(|config| ProfileAccount {
            config: config.clone(),
            secret: None,
        })
        .collect();
    Ok(Profile {
        paths,
        config,
        accounts,
        is_throwaway: false,
        recorder: None,
        stage: None,
    })
}

/// The chat of the person.
pub fn run(global: &Global) -> Result<Exit, Failure> {
    let profile = open_profile(global)?;
    let runtime = runtime()?;
    run_with(&runtime, global, profile)
}

/// The threads everything runs on: one for the network is enough, and workers come on demand.
pub fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .max_blocking_threads(16)
        .enable_all()
        .build()
        .map_err(|error| {
            Failure::usage(format!(
                "the program could not start its threads: {}",
                io_words(&error)
            ))
        })
}

/// The accounts of the demo, on the gateways that were just started.
pub fn demo_accounts(
    served: &crate::demo::Served,
    program: &Path,
    settings: &[String],
) -> Vec<ProfileAccount> {
    let mut accounts: Vec<ProfileAccount> = served
        .gateways
        .iter()
        .filter_map(|gateway| {
            let endpoint = NetworkEndpoint {
                url: gateway.url.clone(),
                ..NetworkEndpoint::default()
            };
            let endpoint = match gateway.protocol {
                "pheby" => Endpoint::Pheby(endpoint),
                "iris" => Endpoint::Iris(endpoint),
                _ => return None,
            };
            Some(ProfileAccount {
                config: AccountConfig::new(&format!("{}@demo", gateway.protocol), endpoint),
                secret: Some(Secret::new(gateway.secret.clone())),
            })
        })
        .collect();
    let mut command = vec![
        program.to_string_lossy().into_owned(),
        "demo".to_owned(),
        "--runtime".to_owned(),
    ];
    command.extend_from_slice(settings);
    let endpoint = ProcessEndpoint {
        command,
        ..ProcessEndpoint::default()
    };
    // The Rust runtime works for nobody without a token.
    let wants_token = settings.iter().any(|setting| setting == "omi.flavour=rust");
    accounts.push(ProfileAccount {
        config: AccountConfig::new("omi@demo", Endpoint::Omi(endpoint)),
        secret: wants_token.then(|| Secret::new("demo".to_owned())),
    });
    accounts.retain(|account| crate::protocol::speaks(&account.config.endpoint));
    accounts
}

/// An engine over the profile's store, with its accounts, not yet connected.
pub fn engine(global: &Global, profile: Profile, is_screen: bool) -> Result<Engine, Failure> {
    let place = Place::detect();
    let clock = Clock::start();
    let mut read_only = None;
    let mut lock = None;
    if is_screen && !global.no_cache {
        let _ = crate::config::paths::make_private(&profile.paths.data);
        match store::lock::acquire(profile.paths.lock_file()) {
            Ok(held) => lock = Some(held),
            Err(error @ LockError::Held { .. }) => {
                read_only = Some(SafeText::label(&error.to_string()));
            }
            // Some file systems know no locks; one screen works there as well.
            Err(error) => complain!("trialogue: {error}"),
        }
    }
    let options = StoreOptions {
        read_only: read_only.is_some(),
        before_upgrade: Some(|count| {
            complain!("Making the local store smaller, once: {count} messages …");
        }),
        ..StoreOptions::default()
    };
    let (handle, facts) = if global.no_cache {
        store::memory()
    } else {
        store::open(profile.paths.store_file(), options)
    }
    .or_else(|error| {
        complain!("trialogue: {error}; nothing is kept on disk this time");
        store::memory()
    })
    .map_err(|error| Failure::usage(error.to_string()))?;
    let settings = settings(global, &profile.config, place);
    // Without a lock there may be a second screen.
    let ids = ids(lock.is_some())?;
    let mut state = State::new(ids, settings, clock.now());
    state.takes_over = is_screen;
    state.kinds = kinds();
    state.themes = themes(&profile.paths);
    if let Some(scheme) = profile
        .config
        .settings
        .keys
        .as_deref()
        .and_then(Keymap::scheme)
    {
        state.keymap = scheme;
    }
    if is_screen {
        let (keymap, wrong_keys) = overrides(&profile.paths, state.keymap.clone());
        state.keymap = keymap;
        let wrong_theme = theme_faults(&profile.paths, &state.settings.theme);
        for complaint in wrong_keys.iter().chain(&wrong_theme) {
            complain!("trialogue: {complaint}");
        }
        let wrong_lines = profile.config.complaints.iter().map(ToString::to_string);
        let all: Vec<String> = wrong_lines.chain(wrong_keys).chain(wrong_theme).collect();
        state.screen.toasts.extend(toast_of(&all, clock.now()));
    }
    state.play = profile.stage.as_ref().map(|stage| Play {
        speed: SafeText::label(&stage.speed_words()),
        is_over: false,
    });
    state.only_reads = read_only.is_some();
    state.read_only = read_only.or_else(|| handle.health().read_only.clone());
    for notice in &handle.health().notices {
        let until = clock.now().after(std::time::Duration::from_secs(15));
        state.screen.toasts.push(Toast {
            text: notice.clone(),
            severity: Severity::Warning,
            until,
        });
    }
    let mut paths = profile.paths.clone();
    if let Some(downloads) = &profile.config.settings.downloads {
        paths.downloads = crate::runtime::files::expand_home(&downloads.to_string_lossy());
    }
    let around = Surroundings {
        paths,
        place,
        clock,
        working_directory: std::env::current_dir().unwrap_or_else(|_| "/".into()),
        no_keyring: global.no_keyring,
        recorder: profile.recorder,
        stage: profile.stage,
        is_throwaway: profile.is_throwaway,
    };
    let mut engine = Engine::new(state, handle, around, lock);
    for account in profile.accounts {
        let id = AccountId::new(&account.config.name);
        if let Some(secret) = account.secret {
            engine.know_secret(&id, secret);
        }
        engine.add_account(account.config);
    }
    engine.restore(facts);
    Ok(engine)
}

/// The same for commands without a screen.
pub fn headless_engine(global: &Global, profile: Profile) -> Result<Engine, Failure> {
    engine(global, profile, false)
}

/// What the wizard can add.
fn kinds() -> Vec<AccountKind> {
    crate::protocol::kinds()
        .map(|kind| AccountKind {
            name: kind.name.to_owned(),
            title: SafeText::from(kind.title),
            hint: SafeText::from(kind.hint),
            fields: kind
                .fields
                .iter()
                .map(|field| AccountField {
                    name: field.name.to_owned(),
                    title: SafeText::from(field.title),
                    hint: SafeText::from(field.hint),
                    is_secret: field.is_secret,
                    is_required: field.is_required,
                })
                .collect(),
        })
        .collect()
}

/// The names of the themes that ship and of the person's own.
pub fn themes(paths: &Paths) -> Vec<String> {
    let shipped = crate::view::theme::SHIPPED.iter().map(|(name, _)| *name);
    let mut names: Vec<String> = shipped.map(str::to_owned).collect();
    for file in crate::config::theme::themes(&paths.themes_dir()) {
        if !names.contains(&file.name) {
            names.push(file.name);
        }
    }
    names
}

/// What is wrong with the theme, when it is a file of the person's.
fn theme_faults(paths: &Paths, name: &str) -> Vec<String> {
    if Theme::named(name, Depth::TrueColor).is_some() {
        return Vec::new();
    }
    let Some(file) = crate::config::theme::find(&paths.themes_dir(), name) else {
        return Vec::new();
    };
    match Theme::parse(&file.text, Depth::TrueColor) {
        Ok(_) => Vec::new(),
        Err(problems) => super::config::theme_complaints(&file.path, &problems),
    }
}

/// Lines of the settings that were passed over, for a screen that hides standard error.
fn toast_of(complaints: &[String], now: Moment) -> Option<Toast> {
    // The folder is the same for all, and known.
    let first = complaints.first()?.rsplit_once('/');
    let first = first.map_or(complaints[0].as_str(), |(_, rest)| rest);
    let more = match complaints.len() - 1 {
        0 => String::new(),
        more => format!(" And {more} more."),
    };
    Some(Toast {
        text: SafeText::label(&format!(
            "Passed over: {first}{more} `trialogue config check` says it again."
        )),
        severity: Severity::Warning,
        until: now.after(std::time::Duration::from_secs(15)),
    })
}

/// The keymap with the person's file over it, and what is wrong with that file.
pub fn overrides(paths: &Paths, keymap: Keymap) -> (Keymap, Vec<String>) {
    let file = match keys::load(&paths.keys_file()) {
        Ok(file) => file,
        Err(errors) => return (keymap, vec![errors.to_string()]),
    };
    let overrides: Vec<Override> = file
        .lines
        .into_iter()
        .map(|line| Override {
            context: line.context,
            keys: line.keys,
            action: line.action,
            place: line.place,
        })
        .collect();
    let (keymap, wrong_names) = keymap.with_overrides(&overrides);
    let wrong_lines = file.complaints.iter().map(ToString::to_string);
    (keymap, wrong_lines.chain(wrong_names).collect())
}

/// Ids with a random base, so that two running programs never mint the same.
fn ids(is_screen: bool) -> Result<Ids, Failure> {
    let mut bytes = [0_u8; 8];
    getrandom::fill(&mut bytes)
        .map_err(|error| Failure::usage(format!("no random numbers: {error}")))?;
    let random = u64::from_le_bytes(bytes);
    Ok(Ids::from_random(random, is_screen))
}

fn settings(global: &Global, config: &Config, place: Place) -> Settings {
    let mut settings = Settings {
        over_ssh: place.over_ssh,
        utc_offset_minutes: utc_offset_minutes(),
        ..Settings::default()
    };
    let set = &config.settings;
    if let Some(theme) = &set.theme {
        settings.theme.clone_from(theme);
    }
    for (value, target) in [
        (set.mouse, &mut settings.mouse),
        (set.ascii, &mut settings.ascii),
        (set.reduced_motion, &mut settings.reduced_motion),
        (set.bell, &mut settings.bell),
        (set.notify, &mut settings.notify),
        (set.hide_content, &mut settings.hide_content),
        (set.unfold_all, &mut settings.unfold_all),
        (set.wrap_code, &mut settings.wrap_code),
        (set.auto_thread, &mut settings.auto_thread),
        (set.show_model, &mut settings.show_model),
        (set.show_context, &mut settings.show_context),
        (set.show_directory, &mut settings.show_directory),
        (set.show_latency, &mut settings.show_latency),
        (set.show_cost, &mut settings.show_cost),
        (set.over_ssh, &mut settings.over_ssh),
    ] {
        if let Some(value) = value {
            *target = value;
        }
    }

    if let Some(name) = &set.pictures {
        settings.pictures = PictureChoice::named(name);
    }
    if let Some(theme) = &global.theme {
        settings.theme.clone_from(theme);
    }
    settings.ascii |= global.ascii || !is_utf8();
    settings.mouse &= !global.no_mouse;
    settings.reduced_motion |= global.reduced_motion;
    settings
}

/// Whether the locale says that the terminal shows UTF-8.
fn is_utf8() -> bool {
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
        .iter()
        .filter_map(|name| std::env::var(name).ok())
        .find(|value| !value.is_empty());
    // Without any locale most terminals of today show UTF-8 all the same.
    locale.is_none_or(|value| {
        let value = value.to_ascii_lowercase();
        value.contains("utf-8") || value.contains("utf8")
    })
}

/// How many colours are used.
pub fn depth(choice: ColorChoice) -> Depth {
    let env = |name: &str| std::env::var(name).unwrap_or_default();
    match choice {
        ColorChoice::Never => Depth::Mono,
        ColorChoice::Truecolor => Depth::TrueColor,
        ColorChoice::Indexed => Depth::Indexed,
        ColorChoice::Ansi => Depth::Ansi,
        ColorChoice::Auto if !env("NO_COLOR").is_empty() => Depth::Mono,
        ColorChoice::Auto | ColorChoice::Always => {
            let (colorterm, term) = (env("COLORTERM"), env("TERM"));
            let program = env("TERM_PROGRAM");
            if colorterm.contains("truecolor")
                || colorterm.contains("24bit")
                || term.ends_with("-direct")
                || matches!(
                    term.as_str(),
                    "xterm-kitty" | "alacritty" | "foot" | "xterm-ghostty" | "wezterm"
                )
                || matches!(
                    program.as_str(),
                    "iTerm.app" | "WezTerm" | "ghostty" | "vscode"
                )
            {
                Depth::TrueColor
            } else if term.contains("256color")
                || term.starts_with("tmux")
                || term.starts_with("screen")
            {
                Depth::Indexed
            } else {
                Depth::Ansi
            }
        }
    }
}

/// The chat with a profile, line by line.
fn plain(
    runtime: &tokio::runtime::Runtime,
    global: &Global,
    profile: Profile,
) -> Result<Exit, Failure> {
    let code = runtime.block_on(async {
        let engine = engine(global, profile, true)?;
        match crate::runtime::plain::run(engine).await {
            // A reader that has seen enough is no failure.
            Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(0),
            other => other
                .map_err(|error| Failure::usage(format!("the lines failed: {}", io_words(&error)))),
        }
    })?;
    Ok(match code {
        0 => Exit::Done,
        code => Exit::Code(u8::try_from(code).unwrap_or(1)),
    })
}

/// The chat with a profile.
pub fn run_with(
    runtime: &tokio::runtime::Runtime,
    global: &Global,
    profile: Profile,
) -> Result<Exit, Failure> {
    if global.plain {
        return plain(runtime, global, profile);
    }
    if !std::io::stdout().is_terminal() || std::env::var("TERM").is_ok_and(|term| term == "dumb") {
        return Err(Failure::usage(
            "the full screen needs a terminal; `trialogue --plain` chats in lines, and `trialogue send` is for scripts",
        ));
    }
    if let Some(name) = global.theme.as_deref() {
        let names = themes(&profile.paths);
        if !names.iter().any(|known| known == name) {
            let meant = nearest(name, names.iter().map(String::as_str))
                .map_or_else(String::new, |name| format!("; did you mean `{name}`?"));
            return Err(Failure::usage(format!(
                "there is no theme `{name}`; `trialogue themes` lists them{meant}"
            )));
        }
    }
    let options = ScreenOptions {
        depth: depth(global.color),
        mouse: !global.no_mouse && profile.config.mouse(),
        theme_is_fixed: global.theme.is_some() || profile.config.has_theme(),
        themes_dir: profile.paths.themes_dir(),
        set_title: !Place::detect().in_tmux,
    };
    terminal::install_panic_hook(profile.paths.state.clone());
    let code = runtime.block_on(async {
        let engine = engine(global, profile, true)?;
        let screen = Screen::start(engine, options).map_err(|error| {
            Failure::usage(format!(
                "the terminal could not be set up: {}",
                io_words(&error)
            ))
        })?;
        screen
            .run()
            .await
            .map_err(|error| Failure::usage(format!("the terminal failed: {}", io_words(&error))))
    });
    terminal::restore();
    match code? {
        Left::Code(0) => Ok(Exit::Done),
        Left::Code(code) => Ok(Exit::Code(u8::try_from(code).unwrap_or(1))),
        Left::Demo => super::demo::run(global, &Demo::default()),
    }
}
