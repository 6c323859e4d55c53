//! What leaves the window: clipboard, notifications, the title, links and files opened elsewhere.
//! Everything takes cleaned text and says only what is known of where it went.

use crate::domain::{Severity, io_words};
use crate::text::SafeText;
use base64::Engine as _;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Where this program runs, as far as it matters here.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Place {
    pub over_ssh: bool,
    pub in_tmux: bool,
    pub in_screen: bool,
    pub has_display: bool,
}

impl Place {
    /// Reads the environment.
    pub fn detect() -> Self {
        let has = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let term = std::env::var("TERM").unwrap_or_default();
        Self {
            over_ssh: has("SSH_TTY") || has("SSH_CONNECTION"),
            in_tmux: has("TMUX"),
            in_screen: term.starts_with("screen") && !has("TMUX"),
            has_display: has("DISPLAY") || has("WAYLAND_DISPLAY") || cfg!(target_os = "macos"),
        }
    }
}

/// Bytes of text beyond which terminals drop an OSC 52.
const OSC52_LIMIT: usize = 74_000;

/// How a copy went.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Copied {
    /// Words for the toast.
    pub how: String,
    pub severity: Severity,
    /// Bytes to write to the terminal.
    pub escape: Option<Vec<u8>>,
}

/// Copies by the first way that works: tmux, then the desktop's own clipboard, then the terminal,
/// then a file. Runs other programs, so it is called off the drawing path.
pub fn copy(text: &SafeText, place: Place, fallback_dir: &Path) -> Copied {
    let text = text.as_str();
    let escape = (text.len() <= OSC52_LIMIT && !place.in_screen).then(|| {
        format!(
            "\x1b]52;c;{}\x1b\\",
            base64::engine::general_purpose::STANDARD.encode(text)
        )
        .into_bytes()
    });
    if place.in_tmux && pipe_to(&["tmux", "load-buffer", "-w", "-"], text) {
        return Copied {
            how: "Copied to tmux and sent to the terminal's clipboard (not confirmed).".to_owned(),
            severity: Severity::Info,
            escape: None,
        };
    }
    if place.has_display && !place.over_ssh && native(text) {
        return Copied {
            how: "Copied.".to_owned(),
            severity: Severity::Done,
            escape: None,
        };
    }
    if let Some(escape) = escape {
        return Copied {
            how: "Sent to the terminal's clipboard (not confirmed).".to_owned(),
            severity: Severity::Info,
            escape: Some(escape),
        };
    }
    match super::terminal::write_private(fallback_dir, "copied.txt", text.as_bytes()) {
        Ok(path) => Copied {
            how: format!(
                "Too long for the terminal's clipboard; it is in {}.",
                path.display()
            ),
            severity: Severity::Info,
            escape: None,
        },
        Err(error) => Copied {
            how: format!("Not copied: {}.", io_words(&error)),
            severity: Severity::Error,
            escape: None,
        },
    }
}

#[cfg(feature = "clipboard")]
fn native(text: &str) -> bool {
    use std::sync::{Mutex, OnceLock};
    // On X11 the text lives as long as the object that offered it.
    static CLIPBOARD: OnceLock<Mutex<Option<arboard::Clipboard>>> = OnceLock::new();
    let slot = CLIPBOARD.get_or_init(|| Mutex::new(arboard::Clipboard::new().ok()));
    let Ok(mut slot) = slot.lock() else {
        return false;
    };
    slot.as_mut()
        .is_some_and(|clipboard| clipboard.set_text(text).is_ok())
}

#[cfg(not(feature = "clipboard"))]
fn native(text: &str) -> bool {
    [
        &["wl-copy"][..],
        &["xclip", "-selection", "clipboard"],
        &["pbcopy"],
    ]
    .iter()
    .any(|command| pipe_to(command, text))
}

/// Puts the picture in the desktop's clipboard into a PNG file that only the person can read, in
/// `dir` under `name`; the error is half a sentence for the person. Waits a few seconds for the
/// program that holds the picture, so it is called off the drawing path.
pub fn take_picture(place: Place, dir: &Path, name: &str) -> Result<PathBuf, String> {
    if place.over_ssh {
        return Err(
            "over SSH the clipboard of your own machine cannot be read; copy the file here (scp) and attach it"
                .to_owned(),
        );
    }
    if !place.has_display {
        return Err(
            "there is no desktop here whose clipboard could be read; attach the file instead"
                .to_owned(),
        );
    }
    let png = picture()?;
    super::terminal::write_private(dir, name, &png).map_err(|error| {
        format!(
            "it could not be put into {}: {}",
            dir.display(),
            io_words(&error)
        )
    })
}

/// How long the program that holds the picture may take to hand it over.
#[cfg(feature = "clipboard")]
const PICTURE_WAIT: Duration = Duration::from_secs(8);
/// Bytes of pixels, four for each, beyond which a picture is not taken.
#[cfg(feature = "clipboard")]
const PIXEL_BYTES: usize = 256 << 20;

/// The picture in the clipboard as PNG.
#[cfg(feature = "clipboard")]
fn picture() -> Result<Vec<u8>, String> {
    // The other program may never answer, so it is asked on a thread that can be left behind.
    let (give, taken) = std::sync::mpsc::sync_channel(1);
    std::thread::Builder::new()
        .name("clipboard".to_owned())
        .spawn(move || {
            let picture = arboard::Clipboard::new()
                .and_then(|mut clipboard| clipboard.get_image())
                .map_err(|error| match error {
                    arboard::Error::ContentNotAvailable | arboard::Error::ConversionFailure => {
                        "there is no picture in the clipboard".to_owned()
                    }
                    // Some programs hand their text over whatever they are asked for.
                    arboard::Error::Unknown { description }
                        if description.starts_with("incorrect type") =>
                    {
                        "there is no picture in the clipboard".to_owned()
                    }
                    error => format!("the clipboard could not be read: {error}"),
                })
                .and_then(|image| png(image.width, image.height, &image.bytes));
            let _ = give.send(picture);
        })
        .map_err(|error| io_words(&error))?;
    taken
        .recv_timeout(PICTURE_WAIT)
        .unwrap_or_else(|_| Err("the clipboard does not answer".to_owned()))
}

/// Pixels of red, green, blue and opacity as PNG.
#[cfg(feature = "clipboard")]
fn png(width: usize, height: usize, pixels: &[u8]) -> Result<Vec<u8>, String> {
    use image::ImageEncoder as _;
    let fits = width
        .checked_mul(height)
        .and_then(|count| count.checked_mul(4))
        .is_some_and(|bytes| bytes == pixels.len() && (1..=PIXEL_BYTES).contains(&bytes));
    let (true, Ok(width), Ok(height)) = (fits, u32::try_from(width), u32::try_from(height)) else {
        return Err("the picture in the clipboard is empty or too large".to_owned());
    };
    let mut bytes = Vec::new();
    image::codecs::png::PngEncoder::new(&mut bytes)
        .write_image(pixels, width, height, image::ExtendedColorType::Rgba8)
        .map_err(|error| format!("the picture could not be written as PNG: {error}"))?;
    Ok(bytes)
}

#[cfg(not(feature = "clipboard"))]
fn picture() -> Result<Vec<u8>, String> {
    Err("this build reads no clipboard; attach the file instead".to_owned())
}

/// Gives `text` to a program on its standard input; true when it took it within two seconds.
fn pipe_to(command: &[&str], text: &str) -> bool {
    let Some((program, arguments)) = command.split_first() else {
        return false;
    };
    let mut prepared = Command::new(program);
    for name in super::secrets::variables() {
        prepared.env_remove(name);
    }
    let child = prepared
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let Ok(mut child) = child else { return false };
    let wrote = child
        .stdin
        .take()
        .is_some_and(|mut stdin| stdin.write_all(text.as_bytes()).is_ok());
    let deadline = std::time::Instant::now() + Duration::from_secs(2);
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return wrote && status.success(),
            Ok(None) if std::time::Instant::now() < deadline => {
                std::thread::sleep(Duration::from_millis(5));
            }
            _ => {
                let _ = child.kill();
                return false;
            }
        }
    }
}

/// Bytes that announce something: a notification of the terminal, and the bell.
pub fn notification(title: &SafeText, body: &SafeText, place: Place) -> Vec<u8> {
    // The separators of these sequences must not come out of the text.
    let plain = |text: &SafeText| -> String {
        text.as_str()
            .chars()
            .map(|c| if c == ';' || c.is_control() { ' ' } else { c })
            .take(200)
            .collect()
    };
    let inner = format!("\x1b]777;notify;{};{}\x1b\\", plain(title), plain(body));
    let mut bytes = if place.in_tmux {
        format!("\x1bPtmux;{}\x1b\\", inner.replace('\x1b', "\x1b\x1b")).into_bytes()
    } else {
        inner.into_bytes()
    };
    // Multiplexers watch for the bare bell.
    bytes.push(7);
    bytes
}

/// Bytes that set the window title.
pub fn title(text: &SafeText) -> Vec<u8> {
    let clean: String = text
        .as_str()
        .chars()
        .filter(|c| !c.is_control())
        .take(120)
        .collect();
    format!("\x1b]2;{clean}\x1b\\").into_bytes()
}

/// Why a link is not opened.
pub fn refuse_link(target: &str) -> Option<&'static str> {
    let trimmed = target.trim_start();
    if trimmed != target || target.chars().any(|c| c.is_control() || c.is_whitespace()) {
        return Some("the address holds spaces or control characters");
    }
    let Ok(url) = url::Url::parse(target) else {
        return Some("it is not a complete address");
    };
    if !matches!(url.scheme(), "http" | "https" | "mailto") {
        return Some("only http, https and mailto links are opened");
    }
    None
}

/// Opens a link or file with the system's program: an argument list, no shell, no secret in its
/// environment, not waited for.
pub fn open_external(what: &str) -> Result<(), String> {
    let mut child = start_first(open::commands(what))?;
    // Reaped on a thread, so that no zombie stays.
    let _ = std::thread::Builder::new()
        .name("opener".to_owned())
        .spawn(move || child.wait());
    Ok(())
}

/// Starts the first of some programs that is there.
fn start_first(commands: impl IntoIterator<Item = Command>) -> Result<Child, String> {
    for mut command in commands {
        for name in super::secrets::variables() {
            command.env_remove(name);
        }
        let started = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        match started {
            Ok(child) => return Ok(child),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => {
                return Err(format!(
                    "the program to open it could not be started: {}",
                    io_words(&error)
                ));
            }
        }
    }
    Err("there is no program here that opens things (xdg-open or one like it)".to_owned())
}

/// A name under which a received file may be saved: no folder in it, nothing hidden, nothing a
/// system gives a meaning to.
pub fn clean_file_name(name: &str) -> String {
    let base = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let mut clean: String = base
        .chars()
        .map(|c| {
            if c.is_control() || matches!(c, ':' | '*' | '?' | '"' | '<' | '>' | '|' | '\u{fffd}') {
                '_'
            } else {
                c
            }
        })
        .collect();
    clean = clean
        .trim_start_matches(['.', '-', ' '])
        .trim_end_matches(['.', ' '])
        .to_owned();
    let stem = clean
        .split('.')
        .next()
        .unwrap_or_default()
        .to_ascii_uppercase();
    let is_device = matches!(stem.as_str(), "CON" | "PRN" | "AUX" | "NUL")
        || (stem.len() == 4 && (stem.starts_with("COM") || stem.starts_with("LPT")));
    if clean.is_empty() {
        clean = "file".to_owned();
    } else if is_device {
        clean = format!("_{clean}");
    }
    // Long names are cut in the middle, so that the ending stays.
    if clean.len() > 200 {
        let ending = clean
            .rsplit_once('.')
            .map(|(_, e)| e)
            .filter(|e| e.len() <= 16)
            .map(|e| format!(".{e}"))
            .unwrap_or_default();
        let mut cut = 200 - ending.len();
        while !clean.is_char_boundary(cut) {
            cut -= 1;
        }
        clean = format!("{}{ending}", &clean[..cut]);
    }
    clean
}

/// Copies a finished download into a folder under a clean name, never over another file.
pub fn save_file(from: &Path, dir: &Path, name: &str) -> std::io::Result<PathBuf> {
    use std::os::unix::fs::OpenOptionsExt;
    std::fs::create_dir_all(dir)?;
    let name = clean_file_name(name);
    let (stem, ending) = match name.rsplit_once('.') {
        Some((stem, ending)) if !stem.is_empty() => (stem.to_owned(), format!(".{ending}")),
        _ => (name.clone(), String::new()),
    };
    for n in 0..1_000 {
        let candidate = if n == 0 {
            name.clone()
        } else {
            format!("{stem} ({n}){ending}")
        };
        let path = dir.join(candidate);
        match std::fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)
        {
            Ok(mut file) => {
                let copied = std::fs::File::open(from)
                    .and_then(|mut source| std::io::copy(&mut source, &mut file));
                if let Err(error) = copied {
                    let _ = std::fs::remove_file(&path);
                    return Err(error);
                }
                return Ok(path);
            }
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(std::io::Error::other("too many files of this name"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn of_the_programs_that_open_things_the_first_that_is_there_is_taken() {
        let missing = || Command::new("/nowhere/xdg-open");
        let started = start_first([missing(), Command::new("true")]);
        assert!(started.unwrap().wait().unwrap().success());
        let words = start_first([missing()]).unwrap_err();
        assert!(words.contains("xdg-open or one like it"), "{words}");
    }

    #[test]
    fn file_names_from_outside_never_leave_the_folder() {
        for (name, clean) in [
            ("../../x", "x"),
            ("/abs/x", "x"),
            ("..", "file"),
            (".", "file"),
            ("", "file"),
            ("a/b", "b"),
            ("a\\b", "b"),
            ("C:x", "C_x"),
            ("CON", "_CON"),
            ("x\0", "x_"),
            ("name. ", "name"),
            (".bashrc", "bashrc"),
            ("-rf", "rf"),
            ("report.pdf", "report.pdf"),
        ] {
            assert_eq!(clean_file_name(name), clean, "{name:?}");
        }
        let long = clean_file_name(&format!("{}.tar", "x".repeat(300)));
        assert!(long.len() <= 200 && long.ends_with(".tar"));
    }

    #[test]
    fn a_saved_file_never_replaces_another() {
        let dir = tempfile::tempdir().unwrap();
        let from = dir.path().join("from");
        std::fs::write(&from, "new").unwrap();
        let target = dir.path().join("out");
        let first = save_file(&from, &target, "a.txt").unwrap();
        let second = save_file(&from, &target, "a.txt").unwrap();
        assert_eq!(first.file_name().unwrap(), "a.txt");
        assert_eq!(second.file_name().unwrap(), "a (1).txt");
    }

    #[test]
    fn a_picture_that_cannot_be_pasted_says_why() {
        let dir = tempfile::tempdir().unwrap();
        let far = Place {
            over_ssh: true,
            has_display: true,
            ..Place::default()
        };
        let why = take_picture(far, dir.path(), "a.png").unwrap_err();
        assert!(why.contains("SSH"), "{why}");
        let why = take_picture(Place::default(), dir.path(), "a.png").unwrap_err();
        assert!(why.contains("no desktop"), "{why}");
    }

    #[cfg(feature = "clipboard")]
    #[test]
    fn a_pasted_picture_is_a_png_with_the_same_pixels() {
        let pixels = [255, 0, 0, 255, 0, 0, 255, 128];
        let bytes = png(2, 1, &pixels).unwrap();
        let read = image::load_from_memory(&bytes).unwrap().into_rgba8();
        assert_eq!(
            (read.dimensions(), read.as_raw().as_slice()),
            ((2, 1), &pixels[..])
        );
        for (width, height) in [(0, 0), (3, 1), (usize::MAX, 2)] {
            assert!(png(width, height, &pixels).is_err());
        }
    }

    #[test]
    fn only_harmless_links_are_opened() {
        for link in [
            "https://example.org/x",
            "http://localhost:3000",
            "mailto:a@example.org",
        ] {
            assert_eq!(refuse_link(link), None, "{link}");
        }
        for link in [
            "file:///etc/passwd",
            "javascript:alert(1)",
            "ssh://-oProxyCommand=x",
            "data:text/html,x",
            "FILE:///x",
            " https://x",
            "https://x\ny",
            "-flag",
            "https://x\0y",
        ] {
            assert!(refuse_link(link).is_some(), "{link}");
        }
    }

    #[test]
    fn a_notification_carries_no_control_bytes_of_its_text() {
        let bytes = notification(
            &"a;b".into(),
            &SafeText::prose("x\x1b]0;pwned\x07y"),
            Place::default(),
        );
        let text = String::from_utf8(bytes).unwrap();
        assert_eq!(text.matches('\x1b').count(), 2, "{text:?}");
        assert!(!text.contains("pwned\x07y"));
    }
}
