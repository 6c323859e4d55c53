//! Answers of the terminal to what we asked. What is not known here is swallowed.

use super::keys::Parameters;
use super::{Parser, StringKind};
use crate::input::key::{TerminalEvent, TerminalReply};

impl Parser {
    fn reply(&mut self, reply: TerminalReply) {
        self.event(TerminalEvent::Reply(reply));
    }

    /// `CSI ? …`: keyboard flags, attributes, modes, the theme.
    pub(super) fn private_report(
        &mut self,
        parameters: &Parameters,
        intermediates: &[u8],
        last: u8,
    ) {
        match (intermediates, last) {
            (b"", b'u') => self.reply(TerminalReply::KeyboardFlags(parameters.get(0, 0))),
            (b"", b'c') => {
                let attributes = (0..parameters.len())
                    .filter_map(|field| u16::try_from(parameters.get(field, 0)).ok())
                    .collect();
                self.reply(TerminalReply::DeviceAttributes(attributes));
            }
            (b"$", b'y') => {
                if let (Ok(mode), Ok(state)) = (
                    u16::try_from(parameters.get(0, 0)),
                    u8::try_from(parameters.get(1, 0)),
                ) {
                    self.reply(TerminalReply::Mode { mode, state });
                }
            }
            (b"", b'n') if parameters.get(0, 0) == 997 => {
                self.reply(TerminalReply::ThemeIsDark(parameters.get(1, 0) == 1));
            }
            _ => {}
        }
    }

    /// `CSI … t`: sizes in pixels and cells.
    pub(super) fn window_report(&mut self, parameters: &Parameters) {
        let size = |height: usize, width: usize| {
            let height = u16::try_from(parameters.get(height, 0)).ok()?;
            let width = u16::try_from(parameters.get(width, 0)).ok()?;
            (height > 0 && width > 0).then_some((height, width))
        };
        match parameters.get(0, 0) {
            4 => {
                if let Some((height, width)) = size(1, 2) {
                    self.reply(TerminalReply::PixelSize { width, height });
                }
            }
            6 => {
                if let Some((height, width)) = size(1, 2) {
                    self.reply(TerminalReply::CellSize { width, height });
                }
            }
            8 | 48 => {
                if let Some((rows, columns)) = size(1, 2) {
                    self.event(TerminalEvent::Resize { columns, rows });
                }
            }
            _ => {}
        }
    }

    /// A complete OSC, DCS or APC.
    pub(super) fn answer(&mut self, kind: StringKind, bytes: &[u8]) {
        let text = String::from_utf8_lossy(bytes);
        match kind {
            StringKind::Osc => {
                if let Some(colour) = text.strip_prefix("10;").and_then(colour) {
                    self.reply(TerminalReply::Foreground(colour.0, colour.1, colour.2));
                } else if let Some(colour) = text.strip_prefix("11;").and_then(colour) {
                    self.reply(TerminalReply::Background(colour.0, colour.1, colour.2));
                }
            }
            StringKind::Dcs => {
                if let Some(version) = text.strip_prefix(">|") {
                    let version = version.chars().filter(|c| !c.is_control()).collect();
                    self.reply(TerminalReply::Version(version));
                } else if text.contains("$r") || text.contains("+r") {
                    self.reply(TerminalReply::Status(text.into_owned()));
                }
            }
            StringKind::Apc => {
                if let Some((_, answer)) = text.strip_prefix('G').and_then(|t| t.split_once(';')) {
                    self.reply(TerminalReply::KittyGraphics { ok: answer == "OK" });
                }
            }
        }
    }
}

/// "rgb:ffff/8080/0000", with one to four digits each, "rgba:…", or "#ff8000".
fn colour(text: &str) -> Option<(u8, u8, u8)> {
    let parts: Vec<&str> = if let Some(rest) = text.strip_prefix("rgb:") {
        rest.split('/').collect()
    } else if let Some(rest) = text.strip_prefix("rgba:") {
        rest.split('/').take(3).collect()
    } else {
        let rest = text.strip_prefix('#')?;
        if !rest.is_ascii() || rest.is_empty() || rest.len() % 3 != 0 {
            return None;
        }
        let n = rest.len() / 3;
        vec![&rest[..n], &rest[n..2 * n], &rest[2 * n..]]
    };
    let [red, green, blue] = parts[..] else {
        return None;
    };
    Some((part(red)?, part(green)?, part(blue)?))
}

fn part(digits: &str) -> Option<u8> {
    if !(1..=4).contains(&digits.len()) {
        return None;
    }
    let value = u32::from_str_radix(digits, 16).ok()?;
    let most = (1u32 << (4 * digits.len())) - 1;
    u8::try_from(value * 255 / most).ok()
}
