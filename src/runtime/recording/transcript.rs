//! A recording of one account as a transcript, the form in which drivers are tested: what came in
//! and what was asked, the time between, and the frames that went out. Ids that our side made get
//! the short form that transcripts have for them, so the test does not depend on chance.

use super::read::{Recording, What};
use serde_json::Value;
use std::fmt::Write;

/// Time that is not worth a line.
const UNSEEN_MS: u64 = 5;

/// The transcript of an account.
pub fn transcript(recording: &Recording, account: &str) -> String {
    let (seed, facts) = recording.session(account).unwrap_or_default();
    let mut out = format!("# Recorded by trialogue {}.\n", recording.head.version);
    for (name, value) in &facts {
        let _ = writeln!(out, "@ fact {name}={value}");
    }
    let ids = Ids::new(&seed);
    let mut last_ms = None;
    for line in &recording.lines {
        let text = match &line.what {
            What::Up { account: of } if of == account => "up".to_owned(),
            What::Down { account: of, how } if of == account => format!("down {how}"),
            What::Frame {
                account: of,
                outgoing,
                text,
            } if of == account => {
                let sign = if *outgoing { '>' } else { '<' };
                format!("{sign} {}", ids.shorten(text).replace(['\n', '\r'], " "))
            }
            What::Bytes {
                account: of,
                outgoing,
                length,
            } if of == account => {
                let whose = if *outgoing { "ours" } else { "theirs" };
                format!("# a binary frame of {whose}, {length} bytes")
            }
            What::Command { account: of, words } if of == account => {
                format!("! {}", ids.shorten(words))
            }
            What::LeftOut(count) => format!("# {count} lines are missing here"),
            _ => continue,
        };
        let passed = line.at_ms.saturating_sub(last_ms.unwrap_or(line.at_ms));
        last_ms = Some(line.at_ms);
        if passed > UNSEEN_MS && !text.starts_with('>') {
            let _ = writeln!(out, "+ {passed}ms");
        }
        out.push_str(&text);
        out.push('\n');
    }
    out
}

/// Ids that come out of the seed of a session.
struct Ids {
    /// What ids that are texts begin with.
    prefix: String,
    /// What ids that are numbers begin with.
    base: u64,
}

impl Ids {
    fn new(seed: &[u8; 16]) -> Self {
        let prefix: String = seed[..6].iter().map(|byte| format!("{byte:02x}")).collect();
        let part = seed[..4]
            .iter()
            .fold(0_u64, |number, byte| (number << 8) | u64::from(*byte));
        Self {
            prefix: format!("{prefix}-"),
            base: part << 20,
        }
    }

    fn shorten(&self, text: &str) -> String {
        let text = text.replace(&self.prefix, "#");
        if self.base == 0 {
            return text;
        }
        match serde_json::from_str::<Value>(&text) {
            Ok(value) if self.has_number(&value) => self.with_small_numbers(&text),
            _ => text,
        }
    }

    fn is_ours(&self, number: u64) -> bool {
        number > self.base && number < self.base + (1 << 20)
    }

    fn has_number(&self, value: &Value) -> bool {
        match value {
            Value::Number(number) => number.as_u64().is_some_and(|number| self.is_ours(number)),
            Value::Array(values) => values.iter().any(|value| self.has_number(value)),
            Value::Object(fields) => fields.values().any(|value| self.has_number(value)),
            _ => false,
        }
    }

    /// The text with our numbers made small; everything else stays byte by byte.
    fn with_small_numbers(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut digits = String::new();
        for c in text.chars().chain(['\0']) {
            if c.is_ascii_digit() {
                digits.push(c);
                continue;
            }
            match digits.parse::<u64>() {
                Ok(number) if self.is_ours(number) => {
                    let _ = write!(out, "{}", number - self.base);
                }
                _ => out.push_str(&digits),
            }
            digits.clear();
            if c != '\0' {
                out.push(c);
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_ours_get_short_and_everything_else_stays() {
        let mut seed = [0; 16];
        seed[..6].copy_from_slice(&[0xab, 0xcd, 0, 1, 2, 3]);
        let ids = Ids::new(&seed);
        let number = ids.base + 7;
        assert_eq!(
            ids.shorten(&format!(
                r#"{{"id":{number},"at":1767225600000,"r":"abcd00010203-12"}}"#
            )),
            r##"{"id":7,"at":1767225600000,"r":"#12"}"##
        );
    }
}
