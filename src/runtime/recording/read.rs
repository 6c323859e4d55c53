//! Reads a recording. A line that is not understood is passed over and counted: a recording that
//! was cut off, or that a newer version wrote, still plays.

use super::words::read_ending;
use super::{Head, VERSION};
use crate::input::{Chord, Modifiers, MouseButton, MouseEvent, MouseKind, TerminalEvent};
use crate::link::CloseReason;
use serde_json::Value;
use std::collections::BTreeMap;

/// A recording in memory.
#[derive(Clone, Debug, Default)]
pub struct Recording {
    pub head: Head,
    pub lines: Vec<Line>,
    /// Lines that were not understood.
    pub skipped: usize,
}

/// One line.
#[derive(Clone, Debug)]
pub struct Line {
    pub at_ms: u64,
    pub what: What,
}

/// What happened.
#[derive(Clone, Debug)]
pub enum What {
    Sidebar {
        /// By name, in their order.
        accounts: Vec<String>,
        ui: Vec<(String, String)>,
    },
    Session {
        account: String,
        kind: String,
        seed: [u8; 16],
        facts: BTreeMap<String, String>,
    },
    Up {
        account: String,
    },
    Frame {
        account: String,
        outgoing: bool,
        text: String,
    },
    /// A binary frame, of which only the length is known.
    Bytes {
        account: String,
        outgoing: bool,
        length: u64,
    },
    Command {
        account: String,
        words: String,
    },
    Down {
        account: String,
        how: String,
    },
    Terminal(TerminalEvent),
    Hidden,
    LeftOut(u64),
}

impl Recording {
    /// Reads the text of a file.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut lines = text.lines();
        let head = lines
            .next()
            .and_then(|line| serde_json::from_str::<Value>(line).ok())
            .filter(|head| head.get("recording").is_some())
            .ok_or("this is no recording: its first line is not the head of one")?;
        let version = head["recording"].as_u64().unwrap_or_default();
        if version > VERSION {
            return Err(format!(
                "a newer trialogue wrote this recording (format {version}, this one reads {VERSION})"
            ));
        }
        let mut recording = Self {
            head: self::head(&head),
            ..Self::default()
        };
        for line in lines.filter(|line| !line.trim().is_empty()) {
            let value = serde_json::from_str::<Value>(line).ok();
            match value.as_ref().and_then(self::line) {
                Some(line) => recording.lines.push(line),
                None => recording.skipped += 1,
            }
        }
        Ok(recording)
    }

    /// Accounts by name, with their kinds, in their order in the sidebar.
    pub fn accounts(&self) -> Vec<(&str, &str)> {
        let mut accounts: Vec<(&str, &str)> = Vec::new();
        for line in &self.lines {
            if let What::Session { account, kind, .. } = &line.what
                && !accounts.iter().any(|(known, _)| known == account)
            {
                accounts.push((account, kind));
            }
        }
        let order = self.lines.iter().find_map(|line| match &line.what {
            What::Sidebar { accounts, .. } => Some(accounts),
            _ => None,
        });
        if let Some(order) = order {
            accounts.sort_by_key(|(name, _)| {
                let place = order.iter().position(|known| known == name);
                place.unwrap_or(order.len())
            });
        }
        accounts
    }

    /// How the sidebar stood.
    pub fn sidebar(&self) -> &[(String, String)] {
        let found = self.lines.iter().find_map(|line| match &line.what {
            What::Sidebar { ui, .. } => Some(ui.as_slice()),
            _ => None,
        });
        found.unwrap_or_default()
    }

    /// What the driver of an account was built with, the first time.
    pub fn session(&self, account: &str) -> Option<([u8; 16], BTreeMap<String, String>)> {
        self.lines.iter().find_map(|line| match &line.what {
            What::Session {
                account: of,
                seed,
                facts,
                ..
            } if of == account => Some((*seed, facts.clone())),
            _ => None,
        })
    }
}

/// How a link ended.
pub fn close_reason(how: &str) -> CloseReason {
    read_ending(how)
}

fn head(value: &Value) -> Head {
    let number = |name: &str| value[name].as_u64().and_then(|n| u16::try_from(n).ok());
    let focus = value["focus"].as_array().and_then(|pair| {
        Some((
            pair.first()?.as_str()?.to_owned(),
            pair.get(1)?.as_str()?.to_owned(),
        ))
    });
    Head {
        version: value["version"].as_str().unwrap_or_default().to_owned(),
        started_ms: value["started_ms"].as_i64().unwrap_or_default(),
        columns: number("columns").unwrap_or(80),
        rows: number("rows").unwrap_or(24),
        focus,
    }
}

fn line(value: &Value) -> Option<Line> {
    let what = match value.get("account").and_then(Value::as_str) {
        Some(account) => of_account(account.to_owned(), value)?,
        None => of_terminal(value)?,
    };
    Some(Line {
        at_ms: value.get("t").and_then(Value::as_u64).unwrap_or_default(),
        what,
    })
}

fn of_account(account: String, value: &Value) -> Option<What> {
    let text = |name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
    if let Some(kind) = text("kind") {
        return Some(What::Session {
            account,
            kind,
            seed: seed(&text("seed")?)?,
            facts: value
                .get("facts")
                .and_then(Value::as_object)
                .into_iter()
                .flatten()
                .filter_map(|(name, fact)| Some((name.clone(), fact.as_str()?.to_owned())))
                .collect(),
        });
    }
    if value.get("up").is_some() {
        return Some(What::Up { account });
    }
    for (name, outgoing) in [("in", false), ("out", true)] {
        if let Some(text) = text(name) {
            return Some(What::Frame {
                account,
                outgoing,
                text,
            });
        }
        let length = value.get(format!("{name}_bytes")).and_then(Value::as_u64);
        if let Some(length) = length {
            return Some(What::Bytes {
                account,
                outgoing,
                length,
            });
        }
    }
    if let Some(words) = text("command") {
        return Some(What::Command { account, words });
    }
    text("down").map(|how| What::Down { account, how })
}

fn of_terminal(value: &Value) -> Option<What> {
    if let Some(accounts) = value.get("accounts").and_then(Value::as_array) {
        let kept = value.get("sidebar").and_then(Value::as_object);
        return Some(What::Sidebar {
            accounts: accounts
                .iter()
                .filter_map(|name| Some(name.as_str()?.to_owned()))
                .collect(),
            ui: kept
                .into_iter()
                .flatten()
                .filter(|(name, _)| super::SIDEBAR.contains(&name.as_str()))
                .filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())))
                .collect(),
        });
    }
    if value.get("hidden").is_some() {
        return Some(What::Hidden);
    }
    if let Some(count) = value.get("left_out").and_then(Value::as_u64) {
        return Some(What::LeftOut(count));
    }
    let event = if let Some(key) = value.get("key").and_then(Value::as_str) {
        TerminalEvent::Key(Chord::parse(key).ok()?)
    } else if let Some(text) = value.get("paste").and_then(Value::as_str) {
        TerminalEvent::Paste(text.to_owned())
    } else if let Some(on) = value.get("focus").and_then(Value::as_bool) {
        TerminalEvent::Focus(on)
    } else if let Some(size) = value.get("size").and_then(Value::as_array) {
        TerminalEvent::Resize {
            columns: small(size.first()?)?,
            rows: small(size.get(1)?)?,
        }
    } else {
        TerminalEvent::Mouse(mouse(value.get("mouse")?.as_array()?)?)
    };
    Some(What::Terminal(event))
}

fn small(value: &Value) -> Option<u16> {
    u16::try_from(value.as_u64()?).ok()
}

fn mouse(words: &[Value]) -> Option<MouseEvent> {
    let kind = words.first()?.as_str()?;
    let button = |name: &str| match name {
        "middle" => MouseButton::Middle,
        "right" => MouseButton::Right,
        _ => MouseButton::Left,
    };
    let kind = match kind.split_once('-')? {
        ("down", of) => MouseKind::Down(button(of)),
        ("up", of) => MouseKind::Up(button(of)),
        ("drag", of) => MouseKind::Drag(button(of)),
        ("wheel", "up") => MouseKind::WheelUp,
        ("wheel", "down") => MouseKind::WheelDown,
        _ => return None,
    };
    Some(MouseEvent {
        kind,
        column: small(words.get(1)?)?,
        row: small(words.get(2)?)?,
        modifiers: Modifiers::default(),
    })
}

fn seed(hex: &str) -> Option<[u8; 16]> {
    let mut seed = [0; 16];
    if hex.len() != 32 || !hex.is_ascii() {
        return None;
    }
    for (at, byte) in seed.iter_mut().enumerate() {
        *byte = u8::from_str_radix(hex.get(at * 2..at * 2 + 2)?, 16).ok()?;
    }
    Some(seed)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn accounts_keep_the_order_they_had_in_the_sidebar() {
        let session = |name: &str, kind: &str| {
            format!(
                r#"{{"t":1,"account":"{name}","kind":"{kind}","seed":"{}","facts":{{}}}}"#,
                "0".repeat(32)
            )
        };
        let head = r#"{"recording":1}"#;
        let sessions = [
            session("b", "omi"),
            session("a", "iris"),
            session("b", "omi"),
        ]
        .join("\n");
        let recording = Recording::parse(&format!("{head}\n{sessions}")).unwrap();
        // Where nothing says more, as they began.
        assert_eq!(recording.accounts(), [("b", "omi"), ("a", "iris")]);
        let sidebar = super::super::sidebar_line(
            &["off".to_owned(), "a".to_owned(), "b".to_owned()],
            &[
                ("folded".to_owned(), "a".to_owned()),
                ("reasons".to_owned(), "private".to_owned()),
            ],
        );
        assert!(!sidebar.contains("private"), "{sidebar}");
        let recording = Recording::parse(&format!("{head}\n{sidebar}\n{sessions}")).unwrap();
        assert_eq!(recording.skipped, 0);
        assert_eq!(recording.accounts(), [("a", "iris"), ("b", "omi")]);
        assert_eq!(recording.sidebar(), [("folded".to_owned(), "a".to_owned())]);
    }
}
