//! The Omi runtime as a process: lines on standard input and output, the real clock, and a state
//! file, so that a host can start it, kill it and start it again.

use super::super::engine::{Gateway, GatewayOutput, Setup};
use super::{Omi, Readings};
use crate::link::Frame;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::mpsc;

/// Lines that may wait to be handled.
const QUEUE: usize = 64;

/// How the process behaves and where it keeps things.
#[derive(Clone, Debug)]
pub struct RuntimeOptions {
    /// Its `epoch` is set to the real time.
    pub setup: Setup,
    pub readings: Readings,
    /// Holds the state file; none keeps nothing.
    pub state: Option<PathBuf>,
    /// Where files of the agent are written.
    pub artifacts: PathBuf,
}

impl RuntimeOptions {
    /// As the environment of a runtime says: `OMI_AGENT_STATE_DIR` and `OMI_AGENT_ARTIFACTS_DIR`.
    pub fn from_environment(setup: Setup, readings: Readings) -> Self {
        let folder = |name: &str| {
            std::env::var_os(name)
                .filter(|value| !value.is_empty())
                .map(PathBuf::from)
        };
        let state = folder("OMI_AGENT_STATE_DIR");
        let artifacts = folder("OMI_AGENT_ARTIFACTS_DIR")
            .or_else(|| state.as_ref().map(|state| state.join("artifacts")))
            .unwrap_or_else(std::env::temp_dir);
        Self {
            setup,
            readings,
            state,
            artifacts,
        }
    }
}

/// Speaks the runtime side until the input ends or the runtime goes by itself; gives the exit code.
pub async fn runtime<R, W>(input: R, output: W, options: RuntimeOptions) -> std::io::Result<u8>
where
    R: AsyncRead + Unpin + Send + 'static,
    W: AsyncWrite + Unpin,
{
    let mut setup = options.setup;
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    setup.epoch = since.as_millis() as u64;
    // Ids of one start must not meet those of the next.
    setup.seed ^= setup.epoch;
    let file = options.state.map(|folder| folder.join("demo-runtime.json"));
    let mut engine = Omi::new(
        setup,
        options.readings,
        &options.artifacts.to_string_lossy(),
    );
    if let Some(state) = file.as_deref().and_then(read_state)
        && !engine.restore(&state)
    {
        eprintln!("[agent] the state file is of another version; starting anew");
    }
    let start = Instant::now();
    let now = || start.elapsed().as_millis() as u64;
    let mut process = Process {
        output,
        file,
        exit: None,
    };
    let (connection, outputs) = engine.connect("");
    process.carry_out(&mut engine, outputs).await?;
    let mut lines = read_lines(input);
    let mut is_open = true;
    while process.exit.is_none() && is_open {
        let pause = engine
            .due()
            .map(|due| Duration::from_millis(due.saturating_sub(now())))
            .unwrap_or(Duration::from_secs(3600));
        let line = tokio::select! {
            line = lines.recv() => Some(line),
            () = tokio::time::sleep(pause) => None,
        };
        let outputs = engine.advance(now());
        process.carry_out(&mut engine, outputs).await?;
        match line {
            Some(Some(line)) => {
                let outputs = engine.frame(connection, &Frame::Text(line.into()));
                process.carry_out(&mut engine, outputs).await?;
            }
            // Both flavours go when their input ends.
            Some(None) => is_open = false,
            None => {}
        }
    }
    Ok(process.exit.unwrap_or(0))
}

fn read_state(file: &Path) -> Option<serde_json::Value> {
    serde_json::from_slice(&std::fs::read(file).ok()?).ok()
}

/// A task of its own reads, so that a full output never stops the input.
fn read_lines<R>(input: R) -> mpsc::Receiver<Vec<u8>>
where
    R: AsyncRead + Unpin + Send + 'static,
{
    let (sender, receiver) = mpsc::channel(QUEUE);
    tokio::spawn(async move {
        let mut input = BufReader::new(input);
        loop {
            let mut line = Vec::new();
            match input.read_until(b'\n', &mut line).await {
                Ok(0) | Err(_) => return,
                Ok(_) => {}
            }
            while line
                .last()
                .is_some_and(|byte| matches!(byte, b'\n' | b'\r'))
            {
                line.pop();
            }
            if sender.send(line).await.is_err() {
                return;
            }
        }
    });
    receiver
}

struct Process<W> {
    output: W,
    file: Option<PathBuf>,
    exit: Option<u8>,
}

impl<W: AsyncWrite + Unpin> Process<W> {
    async fn carry_out(
        &mut self,
        engine: &mut Omi,
        outputs: Vec<GatewayOutput>,
    ) -> std::io::Result<()> {
        // What a line tells of must stand on the disk before the line is out.
        for (path, content) in engine.take_files() {
            let path = PathBuf::from(path);
            if let Some(folder) = path.parent() {
                std::fs::create_dir_all(folder)?;
            }
            std::fs::write(&path, content.read(0, content.len() as usize))?;
        }
        if let (Some(state), Some(file)) = (engine.changed_state(), &self.file) {
            if let Some(folder) = file.parent() {
                std::fs::create_dir_all(folder)?;
            }
            let fresh = file.with_extension("new");
            std::fs::write(&fresh, state.to_string())?;
            std::fs::rename(&fresh, file)?;
        }
        for output in outputs {
            match output {
                GatewayOutput::Send { frame, .. } => {
                    let mut line = match frame {
                        Frame::Text(bytes) | Frame::Binary(bytes) => bytes.to_vec(),
                    };
                    line.push(b'\n');
                    self.output.write_all(&line).await?;
                }
                GatewayOutput::Log { line, .. } => eprintln!("{line}"),
                GatewayOutput::Close { code, .. } => self.exit = Some(code as u8),
                GatewayOutput::Cut { .. } => self.exit = Some(1),
                GatewayOutput::Refuse { .. } => {}
            }
        }
        self.output.flush().await
    }
}
