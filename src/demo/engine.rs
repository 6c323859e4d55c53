//! What every demo gateway is to the outside, sans-IO: connections are numbers, time is handed in,
//! and everything it wants done comes back as data. The same engine runs in virtual time in tests
//! and behind real sockets in `serve`.

use super::files::Content;
use super::scenario::Library;
use crate::link::Frame;
use std::sync::Arc;

/// One connection of a client.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ConnectionId(pub u64);

/// What a gateway wants done.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum GatewayOutput {
    /// A frame for one client.
    Send {
        connection: ConnectionId,
        frame: Frame,
    },
    /// The connection is closed properly.
    Close {
        connection: ConnectionId,
        code: u16,
        reason: String,
    },
    /// The connection breaks without a goodbye.
    Cut { connection: ConnectionId },
    /// A line for standard error, where the gateway is a process.
    Log {
        connection: ConnectionId,
        line: String,
    },
    /// The upgrade is answered with an HTTP status instead.
    Refuse {
        connection: ConnectionId,
        status: u16,
    },
}

/// A request over HTTP, as it came in.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HttpCall {
    /// In capitals.
    pub method: String,
    /// Without the query.
    pub path: String,
    /// Decoded.
    pub query: Vec<(String, String)>,
    /// `Authorization`, if sent.
    pub authorization: Option<String>,
    /// `X-Pheby-Secret`, if sent.
    pub secret_header: Option<String>,
    pub content_type: Option<String>,
    pub body: bytes::Bytes,
}

/// The answer to a request over HTTP.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HttpAnswer {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Content,
    /// The body breaks off after so many bytes.
    pub cut_at: Option<u64>,
}

impl HttpAnswer {
    /// An answer with a JSON body.
    pub fn json(status: u16, body: serde_json::Value) -> Self {
        Self {
            status,
            headers: vec![("content-type".into(), "application/json".into())],
            body: Content::Bytes(body.to_string().into()),
            cut_at: None,
        }
    }
}

/// What a gateway has on its disk.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Kept {
    pub book: serde_json::Value,
    /// Bytes of files by their ids.
    pub files: Vec<(String, bytes::Bytes)>,
}

/// A gateway without sockets or clock. Calls happen at the moment of the last `advance`.
pub trait Gateway: Send {
    /// A client at that address wants in. The outputs may already refuse it.
    fn connect(&mut self, peer: &str) -> (ConnectionId, Vec<GatewayOutput>);
    /// A frame came in.
    fn frame(&mut self, connection: ConnectionId, frame: &Frame) -> Vec<GatewayOutput>;
    /// The connection is gone, whoever ended it.
    fn disconnect(&mut self, connection: ConnectionId) -> Vec<GatewayOutput>;
    /// A request over HTTP.
    fn http(&mut self, call: &HttpCall) -> HttpAnswer;
    /// Time has come this far, in milliseconds since the start.
    fn advance(&mut self, now: u64) -> Vec<GatewayOutput>;
    /// When it next wants to be called; none means only when something comes in.
    fn due(&self) -> Option<u64>;
    /// Another number whenever `kept` changed; none when nothing outlives the gateway.
    fn revision(&self) -> Option<u64> {
        None
    }
    /// What outlives the gateway.
    fn kept(&self) -> Kept {
        Kept::default()
    }
    /// Goes on with what an earlier gateway kept. The error says what cannot be read.
    fn restore(&mut self, _: &Kept) -> Result<(), String> {
        Ok(())
    }
}

/// What all demo gateways are made from.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Same seed, same ids, same run.
    pub seed: u64,
    /// Wall time at the start, in milliseconds since 1970.
    pub epoch: u64,
    /// How fast the agent plays; 100 is the pace of the files.
    pub speed: u32,
    pub library: Arc<Library>,
    /// Secret or token that clients must bring.
    pub secret: String,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            seed: 1,
            // 2026-11-30T09:00:00Z, so that recordings of tests read alike.
            epoch: 1_796_029_200_000,
            speed: 100,
            library: Library::shared(),
            secret: "demo-secret".to_owned(),
        }
    }
}

/// Clock, ids and outbox of a gateway.
#[derive(Debug)]
pub(crate) struct Desk {
    random: u64,
    next_connection: u64,
    pub(crate) now: u64,
    pub(crate) epoch: u64,
    pub(crate) out: Vec<GatewayOutput>,
    /// Nothing leaves before this moment.
    silent_until: u64,
    held: Vec<GatewayOutput>,
}

impl Desk {
    pub(crate) fn new(setup: &Setup, salt: u64) -> Self {
        Self {
            random: setup.seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ salt,
            next_connection: 0,
            now: 0,
            epoch: setup.epoch,
            out: Vec::new(),
            silent_until: 0,
            held: Vec::new(),
        }
    }

    /// Nothing leaves for so many milliseconds.
    pub(crate) fn fall_silent(&mut self, milliseconds: u64) {
        self.silent_until = self.now + milliseconds;
    }

    /// What is to leave now; during a silence it is held back.
    pub(crate) fn release(&mut self) -> Vec<GatewayOutput> {
        let out = self.take();
        if self.now < self.silent_until {
            self.held.extend(out);
            return Vec::new();
        }
        if self.held.is_empty() {
            return out;
        }
        let mut all = std::mem::take(&mut self.held);
        all.extend(out);
        all
    }

    /// When held outputs may leave.
    pub(crate) fn silence_ends(&self) -> Option<u64> {
        (!self.held.is_empty()).then_some(self.silent_until)
    }

    /// Nothing more goes to a connection that is gone.
    pub(crate) fn forget(&mut self, gone: ConnectionId) {
        self.held.retain(
            |output| !matches!(output, GatewayOutput::Send { connection, .. } if *connection == gone),
        );
    }

    pub(crate) fn connection(&mut self) -> ConnectionId {
        self.next_connection += 1;
        ConnectionId(self.next_connection)
    }

    /// SplitMix64: small, seedable, and good enough for ids.
    fn number(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Ids of what exists from the start: the same at every start, so that a client finds again
    /// what it knows.
    pub(crate) fn stable(name: &str, digits: usize) -> String {
        // FNV-1a, run once for each sixteen digits.
        let mut text = String::new();
        let mut hash = 0xCBF2_9CE4_8422_2325_u64;
        while text.len() < digits {
            for byte in name.bytes() {
                hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3);
            }
            text.push_str(&format!("{:016x}", hash ^ (hash >> 29)));
        }
        text.truncate(digits);
        text
    }

    /// So many hexadecimal digits.
    pub(crate) fn hex(&mut self, digits: usize) -> String {
        let mut text = String::with_capacity(digits + 16);
        while text.len() < digits {
            text.push_str(&format!("{:016x}", self.number()));
        }
        text.truncate(digits);
        text
    }

    /// An id in the shape of a UUID.
    pub(crate) fn uuid(&mut self) -> String {
        let hex = self.hex(32);
        format!(
            "{}-{}-4{}-a{}-{}",
            &hex[..8],
            &hex[8..12],
            &hex[13..16],
            &hex[17..20],
            &hex[20..]
        )
    }

    /// Wall time now, in milliseconds since 1970.
    pub(crate) fn wall(&self) -> u64 {
        self.epoch + self.now
    }

    /// Wall time now, as ISO 8601 in UTC.
    pub(crate) fn timestamp(&self) -> String {
        iso(self.wall())
    }

    pub(crate) fn send_text(&mut self, connection: ConnectionId, text: String) {
        self.out.push(GatewayOutput::Send {
            connection,
            frame: Frame::text(text),
        });
    }

    pub(crate) fn close(&mut self, connection: ConnectionId, code: u16, reason: &str) {
        self.out.push(GatewayOutput::Close {
            connection,
            code,
            reason: reason.to_owned(),
        });
    }

    pub(crate) fn take(&mut self) -> Vec<GatewayOutput> {
        std::mem::take(&mut self.out)
    }
}

/// A JSON object as text with some keys in front, as real gateways write them: a reader that looks
/// only at the head of a frame finds its type and ids there.
pub(crate) fn ordered(frame: &serde_json::Value, first: &[&str]) -> String {
    let Some(fields) = frame.as_object() else {
        return frame.to_string();
    };
    let heads = first
        .iter()
        .filter_map(|key| fields.get_key_value(*key))
        .chain(
            fields
                .iter()
                .filter(|(key, _)| !first.contains(&key.as_str())),
        );
    let mut text = String::from("{");
    for (index, (key, value)) in heads.enumerate() {
        if index > 0 {
            text.push(',');
        }
        text.push_str(&serde_json::Value::String(key.clone()).to_string());
        text.push(':');
        if value.is_object() {
            text.push_str(&ordered(value, first));
        } else {
            text.push_str(&value.to_string());
        }
    }
    text.push('}');
    text
}

/// Milliseconds since 1970 as `2026-09-02T18:00:00+00:00`.
pub(crate) fn iso(wall: u64) -> String {
    let (year, month, day, hour, minute, second) = civil(wall);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}+00:00")
}

/// Milliseconds since 1970 as year, month, day, hour, minute and second.
pub(crate) fn civil(wall: u64) -> (i64, u64, u64, u64, u64, u64) {
    let seconds = wall / 1000;
    let (days, of_day) = ((seconds / 86_400) as i64, seconds % 86_400);
    // The usual days-to-date sum, with years that start in March.
    let z = days + 719_468;
    let era = z.div_euclid(146_097);
    let of_era = z.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * of_year + 2) / 153;
    let day = (of_year - (153 * shifted + 2) / 5 + 1) as u64;
    let month = if shifted < 10 {
        shifted + 3
    } else {
        shifted - 9
    } as u64;
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (
        year,
        month,
        day,
        of_day / 3600,
        of_day % 3600 / 60,
        of_day % 60,
    )
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn wall_time_is_written_as_iso_8601() {
        assert_eq!(iso(0), "1970-01-01T00:00:00+00:00");
        assert_eq!(iso(951_782_399_000), "2000-02-28T23:59:59+00:00");
        assert_eq!(iso(951_782_400_000), "2000-02-29T00:00:00+00:00");
        assert_eq!(iso(1_796_029_200_000), "2026-11-30T09:00:00+00:00");
    }

    #[test]
    fn the_same_seed_gives_the_same_ids() {
        let setup = Setup::default();
        let (mut a, mut b) = (Desk::new(&setup, 7), Desk::new(&setup, 7));
        assert_eq!(a.hex(32), b.hex(32));
        assert_ne!(a.hex(32), a.hex(32));
        assert_eq!(a.uuid().len(), 36);
    }
}
