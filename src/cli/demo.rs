//! `trialogue demo`: the built-in gateways and a throw-away profile on them.

use super::args::{Demo, Global};
use super::{Exit, Failure, chat};
use crate::config::paths::Paths;
use crate::demo::DemoOptions;
use crate::domain::io_words;
use crate::runtime::recording::Recorder;

/// Runs it.
pub fn run(global: &Global, demo: &Demo) -> Result<Exit, Failure> {
    run_recorded(global, demo, None)
}

/// Runs it; the chat on the demo gateways is recorded.
pub fn run_recorded(
    global: &Global,
    demo: &Demo,
    recorder: Option<Recorder>,
) -> Result<Exit, Failure> {
    if demo.options.iter().any(|pair| pair == "help") {
        say!("{}", DemoOptions::help().trim_end());
        return Ok(Exit::Done);
    }
    let options = options(demo)?;
    if demo.runtime {
        return run_runtime(&options);
    }
    if let Some(address) = demo.serve {
        return serve(address, options);
    }
    play(global, options, &settings_again(demo), recorder)
}

/// What was said on the command line, for the runtime, which is a process of its own.
fn settings_again(demo: &Demo) -> Vec<String> {
    let here = std::env::current_dir().unwrap_or_default();
    let pairs = demo
        .options
        .iter()
        .flat_map(|pair| ["--set".to_owned(), pair.clone()]);
    let files = demo.scenarios.iter().flat_map(|file| {
        let path = here.join(file);
        ["--scenario".to_owned(), path.to_string_lossy().into_owned()]
    });
    pairs.chain(files).collect()
}

/// What `--set` and `--scenario` say.
fn options(demo: &Demo) -> Result<DemoOptions, Failure> {
    let mut options = DemoOptions {
        state: demo.state.clone(),
        ..DemoOptions::default()
    };
    for pair in &demo.options {
        let (key, value) = pair
            .split_once('=')
            .ok_or_else(|| Failure::usage(format!("--set {pair}: expected KEY=VALUE")))?;
        options
            .set(key, value)
            .map_err(|problem| Failure::usage(format!("--set {pair}: {problem}")))?;
    }
    for file in &demo.scenarios {
        let name = file.display().to_string();
        let text = std::fs::read_to_string(file)
            .map_err(|error| Failure::usage(format!("{name}: {}", io_words(&error))))?;
        options
            .add_scenario(&name, &text)
            .map_err(|problem| Failure::usage(problem.to_string()))?;
    }
    Ok(options)
}

/// The Omi runtime on standard input and output. It ends with the exit code a runtime would have.
fn run_runtime(options: &DemoOptions) -> Result<Exit, Failure> {
    let runtime = chat::runtime()?;
    let (input, output) = (tokio::io::stdin(), tokio::io::stdout());
    let code = runtime
        .block_on(crate::demo::runtime(input, output, options.runtime()))
        .map_err(|error| Failure::usage(format!("the runtime ended: {}", io_words(&error))))?;
    // The thread that reads standard input cannot be ended in another way.
    std::process::exit(i32::from(code))
}

/// Only the gateways, until the program is stopped.
fn serve(address: std::net::SocketAddr, options: DemoOptions) -> Result<Exit, Failure> {
    chat::runtime()?.block_on(async move {
        let served = crate::demo::serve(address, options)
            .await
            .map_err(|error| Failure {
                exit: Exit::NoConnection,
                text: format!(
                    "the gateways could not be started on {address}: {}",
                    io_words(&error)
                ),
            })?;
        for gateway in &served.gateways {
            let line = serde_json::json!({
                "protocol": gateway.protocol,
                "url": gateway.url,
                "secret": gateway.secret,
            });
            say!("{line}");
        }
        let mut terminate =
            tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())
                .map_err(|error| Failure::usage(error.to_string()))?;
        tokio::select! {
            _ = tokio::signal::ctrl_c() => Ok(Exit::Done),
            _ = terminate.recv() => Ok(Exit::Done),
            end = served.wait() => end.map(|()| Exit::Done).map_err(|error| Failure {
                exit: Exit::RunFailed,
                text: format!("the gateways cannot go on: {}", io_words(&error)),
            }),
        }
    })
}

/// The chat on gateways of its own; nothing of the person's own folders is touched.
fn play(
    global: &Global,
    options: DemoOptions,
    settings: &[String],
    recorder: Option<Recorder>,
) -> Result<Exit, Failure> {
    let folder = Folder::new()?;
    let paths = Paths::inside(&folder.0);
    let runtime = chat::runtime()?;
    let served = runtime
        .block_on(crate::demo::serve(([127, 0, 0, 1], 0).into(), options))
        .map_err(|error| Failure {
            exit: Exit::NoConnection,
            text: format!(
                "the demo gateways could not be started: {}",
                io_words(&error)
            ),
        })?;
    // Without /proc the name it was started with has to do.
    let program = std::env::current_exe()
        .ok()
        .or_else(|| std::env::args_os().next().map(Into::into))
        .ok_or_else(|| Failure::usage("the program's own path is not known"))?;
    let accounts = chat::demo_accounts(&served, &program, settings);
    chat::run_with(
        &runtime,
        global,
        chat::Profile {
            recorder,
            ..chat::Profile::throwaway(paths, accounts)
        },
    )
}

/// A folder that goes with the program: the demo's, or that of a recording that is played.
pub(super) struct Folder(pub std::path::PathBuf);

impl Folder {
    pub fn new() -> Result<Self, Failure> {
        use std::os::unix::fs::DirBuilderExt;
        let mut random = [0_u8; 8];
        getrandom::fill(&mut random).map_err(|error| Failure::usage(error.to_string()))?;
        let name: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
        let path = std::env::temp_dir().join(format!("trialogue-demo-{name}"));
        std::fs::DirBuilder::new()
            .mode(0o700)
            .create(&path)
            .map_err(|error| Failure::usage(format!("{}: {}", path.display(), io_words(&error))))?;
        Ok(Self(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
