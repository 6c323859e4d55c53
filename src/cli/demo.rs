//! `trialogue demo`: the built-in gateways and a throw-away profile on them.

use super::args::{Demo, Global};
use super::{Exit, Failure, chat};
use crate::config::file::Config;
use crate::config::paths::Paths;
use crate::demo::DemoOptions;

/// Runs it.
pub fn run(global: &Global, demo: &Demo) -> Result<Exit, Failure> {
    let options = options(demo)?;
    if let Some(address) = demo.serve {
        return serve(address, options);
    }
    play(global, options)
}

/// What `--set` says.
fn options(demo: &Demo) -> Result<DemoOptions, Failure> {
    let mut options = DemoOptions::default();
    for pair in &demo.options {
        let (key, value) = pair
            .split_once('=')
            .ok_or_else(|| Failure::usage(format!("--set {pair}: expected KEY=VALUE")))?;
        let bad = |expected: &str| Failure::usage(format!("--set {pair}: expected {expected}"));
        match key {
            "speed" => {
                options.setup.speed = value
                    .parse()
                    .map_err(|_| bad("a number; 100 is the usual pace"))?
            }
            "seed" => options.setup.seed = value.parse().map_err(|_| bad("a number"))?,
            "secret" => options.setup.secret = value.to_owned(),
            _ => return Err(bad("one of speed, seed, secret")),
        }
    }
    Ok(options)
}

/// Only the gateways, until the program is stopped.
fn serve(address: std::net::SocketAddr, options: DemoOptions) -> Result<Exit, Failure> {
    chat::runtime()?.block_on(async move {
        let served = crate::demo::serve(address, options)
            .await
            .map_err(|error| Failure {
                exit: Exit::NoConnection,
                text: format!("the gateways could not listen on {address}: {error}"),
            })?;
        for gateway in &served.gateways {
            let line = serde_json::json!({
                "protocol": gateway.protocol,
                "url": gateway.url,
                "secret": gateway.secret,
            });
            println!("{line}");
        }
        let mut terminate =
            tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())
                .map_err(|error| Failure::usage(error.to_string()))?;
        tokio::select! {
            _ = tokio::signal::ctrl_c() => {}
            _ = terminate.recv() => {}
        }
        Ok(Exit::Done)
    })
}

/// The chat on gateways of its own; nothing of the person's own folders is touched.
fn play(global: &Global, options: DemoOptions) -> Result<Exit, Failure> {
    let folder = Folder::new()?;
    let paths = Paths::inside(&folder.0);
    let runtime = chat::runtime()?;
    let served = runtime
        .block_on(crate::demo::serve(([127, 0, 0, 1], 0).into(), options))
        .map_err(|error| Failure {
            exit: Exit::NoConnection,
            text: format!("the demo gateways could not be started: {error}"),
        })?;
    let program = std::env::current_exe()
        .map_err(|error| Failure::usage(format!("the program's own path is not known: {error}")))?;
    let accounts = chat::demo_accounts(&served, &program);
    chat::run_with(
        &runtime,
        global,
        chat::Profile {
            paths,
            config: Config::default(),
            accounts,
            is_throwaway: true,
        },
    )
}

/// A folder that goes with the demo.
struct Folder(std::path::PathBuf);

impl Folder {
    fn new() -> Result<Self, Failure> {
        use std::os::unix::fs::DirBuilderExt;
        let mut random = [0_u8; 8];
        getrandom::fill(&mut random).map_err(|error| Failure::usage(error.to_string()))?;
        let name: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
        let path = std::env::temp_dir().join(format!("trialogue-demo-{name}"));
        std::fs::DirBuilder::new()
            .mode(0o700)
            .create(&path)
            .map_err(|error| Failure::usage(format!("{}: {error}", path.display())))?;
        Ok(Self(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
