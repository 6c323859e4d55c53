//! A person's hands on a terminal: keys by their names, encoded as that terminal sends them.

use super::support::pty::{Answers, Pty, program};
use std::path::Path;
use std::process::{Command, Stdio};

/// The terminals that keys are tried in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Sends keys as terminals always did.
    Old,
    /// Speaks the kitty keyboard protocol.
    Kitty,
    /// An old one with tmux in it, as tmux is without any configuration.
    Tmux,
}

/// A terminal with the program in it.
pub struct Hands {
    pub kind: Kind,
    pub pty: Pty,
    _tmux: Option<TmuxServer>,
}

/// A tmux of our own; it ends with the test.
struct TmuxServer(std::path::PathBuf);

impl Drop for TmuxServer {
    fn drop(&mut self) {
        let _ = Command::new("tmux")
            .arg("-S")
            .arg(&self.0)
            .arg("kill-server")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
    }
}

/// Whether tmux is here; says that a test skips when it is not.
pub fn has_tmux(test: &str) -> bool {
    let found = Command::new("tmux")
        .arg("-V")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    if !found {
        eprintln!("skipped: {test} needs tmux, which is not installed");
    }
    found
}

impl Hands {
    /// Starts the program with these arguments in a terminal of this kind.
    pub fn start(
        kind: Kind,
        home: &Path,
        arguments: &[&str],
        environment: &[(&str, &str)],
    ) -> Self {
        let mut command = match kind {
            Kind::Old | Kind::Kitty => program(home, arguments),
            Kind::Tmux => {
                let mut all = vec!["-f", "/dev/null", "-S"];
                let socket = home.join("tmux.socket");
                let socket = socket.to_str().unwrap().to_owned();
                let words = [env!("CARGO_BIN_EXE_trialogue")];
                all.extend([socket.as_str(), "new-session", "--"]);
                all.extend(words);
                all.extend(arguments);
                let mut command = program(home, &[]);
                *command.get_argv_mut() =
                    std::iter::once("tmux").chain(all).map(Into::into).collect();
                command
            }
        };
        for (name, value) in environment {
            command.env(name, value);
        }
        let answers = Answers {
            kitty_keys: kind == Kind::Kitty,
            ..Answers::default()
        };
        Self {
            kind,
            pty: Pty::start_on(answers, command, 120, 40),
            _tmux: (kind == Kind::Tmux).then(|| TmuxServer(home.join("tmux.socket"))),
        }
    }

    /// Presses keys, written with blanks between them.
    pub fn press(&self, keys: &str) -> &Self {
        for key in keys.split(' ') {
            self.pty.send(self.bytes(key));
        }
        self
    }

    fn bytes(&self, key: &str) -> Vec<u8> {
        match self.kind {
            Kind::Kitty => kitty(key),
            // tmux keeps the first for itself.
            Kind::Tmux if key == "ctrl-b" => [old(key), old(key)].concat(),
            Kind::Old | Kind::Tmux => old(key),
        }
    }

    /// Presses a key until the header says that one is there: an account may still be reading what
    /// it has, and leads nowhere then.
    pub fn insist(&self, key: &str, place: &str) -> &Self {
        let is_there = |screen: &str| header(screen).contains(place);
        self.pty.keep_sending(self.bytes(key), place, is_there);
        self
    }

    /// Types text and waits for it to be there.
    pub fn write(&self, text: &str) -> &Self {
        self.pty.send(text);
        self.see(text)
    }

    /// Waits until a text is on the screen.
    pub fn see(&self, text: &str) -> &Self {
        self.pty.wait_for(text);
        self
    }

    /// Waits until a text has gone from the screen.
    pub fn gone(&self, text: &str) -> &Self {
        self.pty.wait_gone(text);
        self
    }

    /// Waits until the header, which says where one is, holds a text.
    pub fn at(&self, place: &str) -> &Self {
        let is_there = |screen: &str| header(screen).contains(place);
        self.pty
            .wait_until(&format!("{place:?} in the header"), is_there);
        self
    }
}

/// The first line, without the sidebar beside it.
fn header(screen: &str) -> &str {
    let first = screen.lines().next().unwrap_or_default();
    first.rsplit('│').next().unwrap_or_default()
}

/// The letter with its modifiers: "ctrl-alt-x".
fn parts(key: &str) -> (bool, bool, bool, &str) {
    let (mut ctrl, mut alt, mut shift, mut rest) = (false, false, false, key);
    loop {
        let (flag, more) = if let Some(more) = rest.strip_prefix("ctrl-") {
            (&mut ctrl, more)
        } else if let Some(more) = rest.strip_prefix("alt-") {
            (&mut alt, more)
        } else if let Some(more) = rest.strip_prefix("shift-") {
            (&mut shift, more)
        } else {
            return (ctrl, alt, shift, rest);
        };
        *flag = true;
        rest = more;
    }
}

/// Keys of which both kinds of terminals send the same: a final letter, or a number and `~`.
fn function_key(name: &str, modifier: u8) -> Option<Vec<u8>> {
    let letter = match name {
        "up" => 'A',
        "down" => 'B',
        "right" => 'C',
        "left" => 'D',
        "home" => 'H',
        "end" => 'F',
        "pageup" | "pagedown" | "delete" => {
            let number = match name {
                "pageup" => 5,
                "pagedown" => 6,
                _ => 3,
            };
            return Some(if modifier == 1 {
                format!("\x1b[{number}~").into_bytes()
            } else {
                format!("\x1b[{number};{modifier}~").into_bytes()
            });
        }
        _ => return None,
    };
    Some(if modifier == 1 {
        format!("\x1b[{letter}").into_bytes()
    } else {
        format!("\x1b[1;{modifier}{letter}").into_bytes()
    })
}

fn modifier(ctrl: bool, alt: bool, shift: bool) -> u8 {
    1 + u8::from(shift) + 2 * u8::from(alt) + 4 * u8::from(ctrl)
}

/// A key as terminals always sent it.
fn old(key: &str) -> Vec<u8> {
    let (ctrl, alt, shift, name) = parts(key);
    if let Some(bytes) = function_key(name, modifier(ctrl, alt, shift)) {
        return bytes;
    }
    let mut bytes = if alt { vec![0x1b] } else { Vec::new() };
    match (name, ctrl, shift) {
        ("enter", ..) => bytes.push(b'\r'),
        ("tab", _, true) => bytes.extend(b"\x1b[Z"),
        ("tab", ..) => bytes.push(b'\t'),
        ("esc", ..) => bytes.push(0x1b),
        ("backspace", ..) => bytes.push(0x7f),
        ("space", ..) => bytes.push(b' '),
        ("f1", ..) => bytes.extend(b"\x1bOP"),
        (letter, true, _) => bytes.push(letter.as_bytes()[0].to_ascii_uppercase() & 0x1f),
        (letter, false, _) => bytes.extend(letter.as_bytes()),
    }
    bytes
}

/// A key as the kitty keyboard protocol sends it with its first flag.
fn kitty(key: &str) -> Vec<u8> {
    let (ctrl, alt, shift, name) = parts(key);
    let modifier = modifier(ctrl, alt, shift);
    if let Some(bytes) = function_key(name, modifier) {
        return bytes;
    }
    let code = |code: u32| {
        if modifier == 1 {
            format!("\x1b[{code}u").into_bytes()
        } else {
            format!("\x1b[{code};{modifier}u").into_bytes()
        }
    };
    match name {
        "esc" => code(27),
        "enter" if modifier > 1 => code(13),
        "tab" if modifier > 1 => code(9),
        "f1" => b"\x1b[P".to_vec(),
        // The key is the minus; the underscore is what Shift makes of it.
        "_" if ctrl => b"\x1b[45;6u".to_vec(),
        letter if (ctrl || alt) && letter.chars().count() == 1 => {
            code(letter.chars().next().unwrap().into())
        }
        _ => old(key),
    }
}
