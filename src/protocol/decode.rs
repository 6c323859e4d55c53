//! Reading what peers send, shared by all drivers: JSON that is repaired where peers are known to
//! break it, fields that fall back instead of failing, texts brought into their shown form.
//! Must not know any protocol.

use crate::domain::{
    AccountEvent, Author, ConversationId, MessageSort, Moment, Notice, NoticeKind, Severity, Topic,
};
use crate::text::SafeText;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use std::borrow::Cow;

/// Larger JSON frames are not decoded.
pub(crate) const FRAME_LIMIT: usize = 8 * 1024 * 1024;
/// Bytes of one message that are kept.
pub(crate) const TEXT_LIMIT: usize = 1024 * 1024;
/// Bytes of tool arguments and output that are kept.
pub(crate) const TOOL_TEXT_LIMIT: usize = 16 * 1024;
/// Choices of one decision.
pub(crate) const CHOICE_LIMIT: usize = 64;
/// Conversations of one account.
pub(crate) const CONVERSATION_LIMIT: usize = 5_000;
/// Entries of one todo list.
pub(crate) const TODO_LIMIT: usize = 200;
/// After so many oddities on one link only every hundredth is reported.
const ODDITY_LIMIT: u64 = 50;

/// What a peer did that its protocol does not allow, in words for the log.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Oddity(pub(crate) String);

impl Oddity {
    /// An oddity with these words.
    pub(crate) fn new(words: impl Into<String>) -> Self {
        Self(words.into())
    }
}

/// Counts oddities of a link and lets a flood of them through only thinned.
#[derive(Debug, Default)]
pub(crate) struct Oddities {
    count: u64,
    /// Frame types already reported as unknown.
    unknown: std::collections::BTreeSet<String>,
}

impl Oddities {
    /// The event for one oddity; none when there were too many.
    pub(crate) fn report(&mut self, oddity: Oddity) -> Option<AccountEvent> {
        self.count += 1;
        if self.count > ODDITY_LIMIT && !self.count.is_multiple_of(100) {
            return None;
        }
        Some(AccountEvent::live(Topic::Notice(Notice {
            severity: Severity::Warning,
            kind: NoticeKind::Oddity,
            conversation: None,
            title: SafeText::label("The server sent something unexpected"),
            body: SafeText::prose(&oddity.0),
        })))
    }

    /// The event for a frame type that is not known, the first time it is seen.
    pub(crate) fn unknown_type(&mut self, name: &str) -> Option<AccountEvent> {
        if self.unknown.len() >= 64 || !self.unknown.insert(name.to_owned()) {
            return None;
        }
        self.report(Oddity(format!("unknown frame type {}", short(name))))
    }

    /// Begins a new link.
    pub(crate) fn reset(&mut self) {
        *self = Self::default();
    }
}

/// A notice to the person, not of the oddity kind.
pub(crate) fn notice(
    severity: Severity,
    conversation: Option<ConversationId>,
    title: &str,
    body: &str,
) -> AccountEvent {
    AccountEvent::live(Topic::Notice(Notice {
        severity,
        kind: NoticeKind::Plain,
        conversation,
        title: SafeText::label(title),
        body: SafeText::prose(body),
    }))
}

/// A name for a log line: short and harmless.
pub(crate) fn short(name: &str) -> String {
    SafeText::label(&crate::text::truncate(name, 64))
        .as_str()
        .to_owned()
}

/// Parses one JSON object. Of equal keys the last one wins; a byte order mark and lone surrogate
/// escapes (which JavaScript and Python peers can emit) are repaired, so no message is lost.
pub(crate) fn object(text: &str) -> Result<serde_json::Map<String, Value>, Oddity> {
    object_within(text, FRAME_LIMIT)
}

/// The same where frames may be of another length.
pub(crate) fn object_within(
    text: &str,
    limit: usize,
) -> Result<serde_json::Map<String, Value>, Oddity> {
    if text.len() > limit {
        return Err(Oddity(format!(
            "a frame of {} bytes was left out",
            text.len()
        )));
    }
    let text = text.trim_start_matches('\u{feff}');
    let value = match serde_json::from_str::<Value>(text) {
        Ok(value) => value,
        Err(error) => match repair_surrogates(text) {
            Cow::Owned(repaired) => serde_json::from_str::<Value>(&repaired)
                .map_err(|error| Oddity(format!("not JSON: {error}")))?,
            Cow::Borrowed(_) => return Err(Oddity(format!("not JSON: {error}"))),
        },
    };
    match value {
        Value::Object(map) => Ok(map),
        _ => Err(Oddity::new("a frame that is not a JSON object")),
    }
}

/// Turns the fields of a frame into its type.
pub(crate) fn payload<T: DeserializeOwned>(
    what: &str,
    map: serde_json::Map<String, Value>,
) -> Result<T, Oddity> {
    serde_json::from_value(Value::Object(map)).map_err(|error| Oddity(format!("{what}: {error}")))
}

/// Replaces escapes of halves of surrogate pairs by the escape of U+FFFD.
fn repair_surrogates(text: &str) -> Cow<'_, str> {
    let bytes = text.as_bytes();
    let unit = |at: usize| -> Option<u16> {
        if bytes.get(at) != Some(&b'\\') || bytes.get(at + 1) != Some(&b'u') {
            return None;
        }
        let digits = bytes.get(at + 2..at + 6)?;
        u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
    };
    let mut lone = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at] != b'\\' {
            at += 1;
            continue;
        }
        match unit(at) {
            Some(0xd800..=0xdbff) => {
                if matches!(unit(at + 6), Some(0xdc00..=0xdfff)) {
                    at += 12;
                } else {
                    lone.push(at);
                    at += 6;
                }
            }
            Some(0xdc00..=0xdfff) => {
                lone.push(at);
                at += 6;
            }
            Some(_) => at += 6,
            // Another escape: skip what it escapes, so that `\\ud800` stays the text it is.
            None => at += 2,
        }
    }
    if lone.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    for at in lone {
        out.push_str(&text[from..at]);
        out.push_str("\\ufffd");
        from = at + 6;
    }
    out.push_str(&text[from..]);
    Cow::Owned(out)
}

/// A field of any type that falls back to its default when the peer sent another shape.
pub(crate) fn soft<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned + Default,
{
    let value = Value::deserialize(deserializer)?;
    Ok(serde_json::from_value(value).unwrap_or_default())
}

/// A text; numbers and truth values become text, everything else the empty text.
pub(crate) fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    Ok(as_text(Value::deserialize(deserializer)?).unwrap_or_default())
}

/// A text that may be missing; null and the empty text count as missing.
pub(crate) fn optional_text<'de, D>(deserializer: D) -> Result<Option<String>, D::Error>
where
    D: Deserializer<'de>,
{
    Ok(as_text(Value::deserialize(deserializer)?).filter(|text| !text.is_empty()))
}

fn as_text(value: Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(on) => Some(on.to_string()),
        _ => None,
    }
}

/// A list of which elements that cannot be read are left out.
pub(crate) fn list<'de, D, T>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned,
{
    match Value::deserialize(deserializer)? {
        Value::Array(values) => Ok(values
            .into_iter()
            .filter_map(|value| serde_json::from_value(value).ok())
            .collect()),
        _ => Ok(Vec::new()),
    }
}

/// A list of texts.
pub(crate) fn texts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    match Value::deserialize(deserializer)? {
        Value::Array(values) => Ok(values.into_iter().filter_map(as_text).collect()),
        _ => Ok(Vec::new()),
    }
}

/// Wall milliseconds of a time in RFC 3339 form; a time without a zone is taken as UTC.
pub(crate) fn instant(text: &str) -> Option<i64> {
    let text = text.trim();
    if let Ok(timestamp) = text.parse::<jiff::Timestamp>() {
        return Some(timestamp.as_millisecond());
    }
    let civil: jiff::civil::DateTime = text.parse().ok()?;
    let timestamp = jiff::tz::TimeZone::UTC.to_timestamp(civil).ok()?;
    Some(timestamp.as_millisecond())
}

/// When something was asked that says its own time; a clock that is ahead says nothing.
pub(crate) fn asked_at(now: Moment, ts: Option<i64>) -> Moment {
    let ago = ts.map_or(0, |ts| now.wall_ms.saturating_sub(ts).max(0));
    Moment {
        mono_ms: now.mono_ms.saturating_sub(ago.unsigned_abs()),
        wall_ms: now.wall_ms.saturating_sub(ago),
    }
}

/// A message text as it is shown: outer blank lines gone (segments after a tool begin with two
/// line breaks), the cursor glyph that a gateway may forget at the end of a draft taken off, and
/// no more of it than is kept.
pub(crate) fn shown(text: &str) -> String {
    let text = text.trim_end();
    let text = text.strip_suffix('▉').map_or(text, str::trim_end);
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        if !line.trim().is_empty() || !line.ends_with('\n') {
            break;
        }
        start += line.len();
    }
    bounded(&text[start..], TEXT_LIMIT)
}

/// Rows that nobody typed and that were not meant to be read: a background result handed to the
/// agent, the mark of an interruption, the agent's word for silence.
pub(crate) fn sort(author: Author, text: &str) -> MessageSort {
    let is_aside = match author {
        Author::User => text.starts_with("[IMPORTANT: Background process"),
        Author::Assistant => matches!(text, "Operation interrupted." | "NO_REPLY"),
        Author::System | Author::Automation => false,
    };
    if is_aside {
        MessageSort::Aside
    } else {
        MessageSort::Ordinary
    }
}

/// The start of a text, with a word on what was left out.
pub(crate) fn bounded(text: &str, limit: usize) -> String {
    if text.len() <= limit {
        return text.to_owned();
    }
    let mut end = limit;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}\n… ({} more bytes)", &text[..end], text.len() - end)
}

/// The fields at the start of a JSON object, read up to the first value that is long or a list. An
/// object inside is entered, as if its fields stood outside. Fields behind are not looked at.
pub(crate) fn leading_fields(text: &str) -> Vec<(&str, &str)> {
    const LONG: usize = 160;
    let bytes = text.as_bytes();
    let mut fields = Vec::new();
    let skip = |mut at: usize| {
        while matches!(bytes.get(at), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            at += 1;
        }
        at
    };
    // The inside of a string without escapes that starts at `at`; none when it is long.
    let string = |at: usize| -> Option<(&str, usize)> {
        let limit = bytes.len().min(at + LONG);
        let end = (at..limit).find(|&i| bytes[i] == b'"' || bytes[i] == b'\\')?;
        (bytes[end] == b'"').then(|| (&text[at..end], end + 1))
    };
    let mut at = skip(0);
    if bytes.get(at) != Some(&b'{') {
        return fields;
    }
    at += 1;
    loop {
        at = skip(at);
        if bytes.get(at) != Some(&b'"') {
            return fields;
        }
        let Some((key, after)) = string(at + 1) else {
            return fields;
        };
        at = skip(after);
        if bytes.get(at) != Some(&b':') {
            return fields;
        }
        at = skip(at + 1);
        match bytes.get(at) {
            Some(b'"') => {
                let Some((value, after)) = string(at + 1) else {
                    return fields;
                };
                fields.push((key, value));
                at = after;
            }
            Some(b'0'..=b'9' | b'-' | b't' | b'f' | b'n') => {
                let start = at;
                while matches!(bytes.get(at), Some(b) if !matches!(b, b',' | b'}' | b' ')) {
                    at += 1;
                    if at - start > LONG {
                        return fields;
                    }
                }
                // A number at the end may go on.
                if at == bytes.len() {
                    return fields;
                }
                fields.push((key, &text[start..at]));
            }
            Some(b'{') => {
                at += 1;
                continue;
            }
            _ => return fields,
        }
        at = skip(at);
        if bytes.get(at) != Some(&b',') {
            return fields;
        }
        at += 1;
    }
}

/// The text of a frame with every occurrence of the secret masked.
pub(crate) fn mask(text: &str, secret: Option<&crate::domain::Secret>) -> String {
    let Some(secret) = secret.filter(|secret| secret.expose().len() >= 4) else {
        return text.to_owned();
    };
    let masked = text.replace(secret.expose(), "<secret>");
    // The secret as JSON writes it, where it holds characters that JSON escapes.
    match serde_json::to_string(secret.expose()) {
        Ok(quoted) => masked.replace(quoted.trim_matches('"'), "<secret>"),
        Err(_) => masked,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn lone_surrogates_are_repaired_and_pairs_stay() {
        let map = object(r#"{"a":"x\ud83dy","b":"\ud83d\ude00","c":"\\ud800"}"#).unwrap();
        assert_eq!(map["a"], "x\u{fffd}y");
        assert_eq!(map["b"], "\u{1f600}");
        assert_eq!(map["c"], "\\ud800");
    }

    #[test]
    fn of_equal_keys_the_last_one_wins() {
        assert_eq!(object(r#"{"a":1,"a":2}"#).unwrap()["a"], 2);
    }

    #[test]
    fn a_byte_order_mark_does_no_harm() {
        assert!(object("\u{feff}{}").is_ok());
    }

    #[test]
    fn text_is_shown_without_outer_blank_lines_and_cursor() {
        assert_eq!(shown("\n\nThe workspace ▉"), "The workspace");
        assert_eq!(shown("\n  \n    indented\n\n"), "    indented");
        assert_eq!(shown("\n\n"), "");
        assert_eq!(shown("▉"), "");
    }

    #[test]
    fn leading_fields_end_at_the_first_long_text() {
        let long = "x".repeat(500);
        let frame =
            format!(r#"{{"type":"message.delta","message_id":"d1","text":"{long}","ts":"z"}}"#);
        assert_eq!(
            leading_fields(&frame),
            [("type", "message.delta"), ("message_id", "d1")]
        );
    }

    #[test]
    fn times_with_and_without_zone() {
        assert_eq!(instant("1970-01-01T00:00:01+00:00"), Some(1000));
        assert_eq!(instant("1970-01-01T00:00:01Z"), Some(1000));
        assert_eq!(instant("1970-01-01T00:00:01.250"), Some(1250));
        assert_eq!(instant("soon"), None);
    }
}
