//! The real program in a pseudo terminal, with a terminal model that answers what it is asked.

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};
use std::io::{Read, Write};
use std::num::NonZeroU16;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

/// How long anything may take before a test fails.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// What the program wrote so far.
pub struct Model {
    pub screen: vt100::Parser,
    pub raw: Vec<u8>,
    is_closed: bool,
}

/// What the terminal says of itself when it is asked. Device attributes are always answered.
#[derive(Clone, Debug, Default)]
pub struct Answers {
    /// The kitty keyboard protocol.
    pub kitty_keys: bool,
    /// The kitty graphics protocol.
    pub kitty_graphics: bool,
    pub sixel: bool,
    pub sync: bool,
    pub version: Option<&'static str>,
    /// Width and height of a cell in pixels.
    pub cell: Option<(u16, u16)>,
    /// As in an answer to OSC 11.
    pub background: Option<&'static str>,
}

impl Answers {
    /// Questions with their answers, the device attributes last.
    fn all(&self) -> Vec<(&'static str, String)> {
        let mut all = Vec::new();
        if self.kitty_keys {
            all.push(("\x1b[?u", "\x1b[?1u".to_owned()));
        }
        if self.sync {
            all.push(("\x1b[?2026$p", "\x1b[?2026;2$y".to_owned()));
        }
        if let Some(background) = self.background {
            all.push(("\x1b]11;?", format!("\x1b]11;{background}\x1b\\")));
        }
        if let Some(version) = self.version {
            all.push(("\x1b[>0q", format!("\x1bP>|{version}\x1b\\")));
        }
        if let Some((width, height)) = self.cell {
            all.push(("\x1b[16t", format!("\x1b[6;{height};{width}t")));
        }
        if self.kitty_graphics {
            all.push(("\x1b_Gi=31", "\x1b_Gi=31;OK\x1b\\".to_owned()));
        }
        let attributes = if self.sixel { "62;4;22" } else { "62;22" };
        all.push(("\x1b[c", format!("\x1b[?{attributes}c")));
        all
    }
}

/// A running program on a terminal.
pub struct Pty {
    model: Arc<(Mutex<Model>, Condvar)>,
    writer: Arc<Mutex<Box<dyn Write + Send>>>,
    child: Box<dyn Child + Send + Sync>,
    master: Box<dyn MasterPty + Send>,
}

/// The command line of the program under test with folders of its own.
pub fn program(home: &Path, arguments: &[&str]) -> CommandBuilder {
    let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_trialogue"));
    command.args(arguments);
    command.env_clear();
    for name in ["PATH", "RUST_BACKTRACE", "LLVM_PROFILE_FILE"] {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    command.env("HOME", home);
    command.env("TERM", "xterm-256color");
    command.env("LANG", "C.UTF-8");
    command.env("TRIALOGUE_CONFIG_DIR", home.join("config"));
    command.env("TRIALOGUE_DATA_DIR", home.join("data"));
    command.cwd(home);
    command
}

impl Pty {
    /// Starts a command on a terminal of this size that answers as little as there is.
    pub fn start(command: CommandBuilder, columns: u16, rows: u16) -> Self {
        Self::start_on(Answers::default(), command, columns, rows)
    }

    /// Starts a command on a terminal of this size that gives these answers.
    pub fn start_on(answers: Answers, command: CommandBuilder, columns: u16, rows: u16) -> Self {
        let size = PtySize {
            rows,
            cols: columns,
            pixel_width: 0,
            pixel_height: 0,
        };
        let pair = native_pty_system()
            .openpty(size)
            .expect("a pseudo terminal");
        let child = pair
            .slave
            .spawn_command(command)
            .expect("the program starts");
        drop(pair.slave);
        let mut reader = pair
            .master
            .try_clone_reader()
            .expect("the terminal can be read");
        let writer = Arc::new(Mutex::new(
            pair.master
                .take_writer()
                .expect("the terminal can be written"),
        ));
        let model = Arc::new((
            Mutex::new(Model {
                screen: vt100::Parser::new(at_least_one(rows), at_least_one(columns), 0),
                raw: Vec::new(),
                is_closed: false,
            }),
            Condvar::new(),
        ));
        let (for_reader, for_answers) = (Arc::clone(&model), Arc::clone(&writer));
        std::thread::spawn(move || {
            let mut unanswered = answers.all();
            let mut bytes = [0_u8; 65_536];
            loop {
                let n = reader.read(&mut bytes).unwrap_or(0);
                let mut model = for_reader.0.lock().expect("the model");
                if n == 0 {
                    model.is_closed = true;
                    for_reader.1.notify_all();
                    return;
                }
                model.raw.extend_from_slice(&bytes[..n]);
                model.screen.process(&bytes[..n]);
                for_reader.1.notify_all();
                // A question may be cut by the read, so the end of what came before counts too.
                let start = model.raw.len().saturating_sub(n + 32);
                let recent = model.raw[start..].to_vec();
                drop(model);
                unanswered.retain(|(question, answer)| {
                    let is_asked = contains(&recent, question.as_bytes());
                    if is_asked && let Ok(mut writer) = for_answers.lock() {
                        let _ = writer.write_all(answer.as_bytes());
                    }
                    !is_asked
                });
            }
        });
        Self {
            model,
            writer,
            child,
            master: pair.master,
        }
    }

    /// Types bytes.
    pub fn send(&self, bytes: impl AsRef<[u8]>) {
        let mut writer = self.writer.lock().expect("the writer");
        writer
            .write_all(bytes.as_ref())
            .expect("the terminal takes keys");
        writer.flush().expect("the terminal takes keys");
    }

    /// Waits until the screen satisfies `holds`; the screen's text.
    pub fn wait_until(&self, what: &str, holds: impl Fn(&str) -> bool) -> String {
        let deadline = Instant::now() + PATIENCE;
        let mut model = self.model.0.lock().expect("the model");
        loop {
            let text = model.screen.screen().contents();
            if holds(&text) {
                return text;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            assert!(
                !left.is_zero() && !(model.is_closed),
                "waited for {what}; the screen is:\n{text}"
            );
            model = self
                .model
                .1
                .wait_timeout(model, left.min(Duration::from_millis(500)))
                .expect("the model")
                .0;
        }
    }

    /// Types bytes again and again, a moment apart, until the screen satisfies `holds`.
    pub fn keep_sending(
        &self,
        bytes: impl AsRef<[u8]>,
        what: &str,
        holds: impl Fn(&str) -> bool,
    ) -> String {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let text = self.screen();
            if holds(&text) {
                return text;
            }
            assert!(
                Instant::now() < deadline,
                "waited for {what}; the screen is:\n{text}"
            );
            self.send(bytes.as_ref());
            let model = self.model.0.lock().expect("the model");
            drop(self.model.1.wait_timeout(model, Duration::from_millis(200)));
        }
    }

    /// Waits until the program has written these bytes, after so many others.
    pub fn wait_written(&self, what: &str, part: &[u8], after: usize) {
        let deadline = Instant::now() + PATIENCE;
        let mut model = self.model.0.lock().expect("the model");
        while !contains(model.raw.get(after..).unwrap_or_default(), part) {
            let left = deadline.saturating_duration_since(Instant::now());
            assert!(
                !left.is_zero() && !model.is_closed,
                "waited for {what}; the screen is:\n{}",
                model.screen.screen().contents()
            );
            model = self
                .model
                .1
                .wait_timeout(model, left.min(Duration::from_millis(500)))
                .expect("the model")
                .0;
        }
    }

    /// Waits until a text is on the screen.
    pub fn wait_for(&self, text: &str) -> String {
        self.wait_until(&format!("{text:?}"), |screen| screen.contains(text))
    }

    /// Waits until a text has gone from the screen.
    pub fn wait_gone(&self, text: &str) -> String {
        self.wait_until(&format!("{text:?} to go"), |screen| !screen.contains(text))
    }

    /// What is on the screen.
    pub fn screen(&self) -> String {
        self.model
            .0
            .lock()
            .expect("the model")
            .screen
            .screen()
            .contents()
    }

    /// Looks at the screen itself: its cells and its cursor.
    pub fn with_screen<T>(&self, look: impl FnOnce(&vt100::Screen) -> T) -> T {
        look(self.model.0.lock().expect("the model").screen.screen())
    }

    /// Everything the program wrote.
    pub fn raw(&self) -> Vec<u8> {
        self.model.0.lock().expect("the model").raw.clone()
    }

    /// Another size.
    pub fn resize(&self, columns: u16, rows: u16) {
        self.model
            .0
            .lock()
            .expect("the model")
            .screen
            .screen_mut()
            .set_size(at_least_one(rows), at_least_one(columns));
        let size = PtySize {
            rows,
            cols: columns,
            pixel_width: 0,
            pixel_height: 0,
        };
        self.master
            .resize(size)
            .expect("the terminal changes its size");
    }

    /// The process id.
    pub fn id(&self) -> u32 {
        self.child.process_id().expect("a process id")
    }

    /// Kills it at once.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Waits for its end; the exit code.
    pub fn wait_exit(&mut self) -> u32 {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait().expect("the child can be asked") {
                self.read_to_the_end();
                return status.exit_code();
            }
            assert!(
                Instant::now() < deadline,
                "it does not end; the screen is:\n{}",
                self.screen()
            );
            // Woken by the end of its output, which comes with the end of the program.
            let model = self.model.0.lock().expect("the model");
            drop(self.model.1.wait_timeout(model, Duration::from_millis(50)));
        }
    }
}

impl Pty {
    /// Waits until what the program wrote last is on the screen. Something that it started may still
    /// have the terminal open, so this does not go on for long.
    fn read_to_the_end(&self) {
        let deadline = Instant::now() + Duration::from_secs(2);
        let mut model = self.model.0.lock().expect("the model");
        while !model.is_closed && Instant::now() < deadline {
            model = self
                .model
                .1
                .wait_timeout(model, Duration::from_millis(50))
                .expect("the model")
                .0;
        }
    }
}

impl Drop for Pty {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn at_least_one(cells: u16) -> NonZeroU16 {
    NonZeroU16::new(cells).unwrap_or(NonZeroU16::MIN)
}

/// Whether `bytes` holds `part`.
pub fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}
