//! How the runtime behaves where there are several ways.

/// Which of the two runtimes it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Flavour {
    TypeScript,
    Rust,
}

/// How the runtime behaves where there are several ways. The numbers are those of the project's
/// list of readings.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Readings {
    pub flavour: Flavour,
    /// O1: deltas carry the whole text so far.
    pub repeats_text: bool,
    /// O2: what `result.text` says.
    pub result_text: ResultText,
    /// O6: turns of backend surfaces are sent for storing.
    pub syncs: bool,
    /// O7: main chats are reconciled.
    pub reconciles: bool,
    /// O8: how a cancellation goes.
    pub cancel: Cancel,
    /// O9: a first attempt breaks off after half of the text.
    pub two_attempts: bool,
    /// O10: oddities around the end of a query.
    pub oddity: Oddity,
    /// O11: how the process starts.
    pub start: Start,
    /// O12: `query.surfaceKind` is refused.
    pub refuses_surface_kind: bool,
    /// Newer than the spec: questions reach the host.
    pub asks_the_host: bool,
    /// Says nothing of its being alive.
    pub without_activity: bool,
    /// The first conversation ever starts with a word of welcome.
    pub greets: bool,
}

impl Default for Readings {
    fn default() -> Self {
        Self {
            flavour: Flavour::TypeScript,
            repeats_text: false,
            result_text: ResultText::Same,
            syncs: true,
            reconciles: true,
            cancel: Cancel::AckFirst,
            two_attempts: false,
            oddity: Oddity::None,
            start: Start::Normal,
            refuses_surface_kind: false,
            asks_the_host: false,
            without_activity: false,
            greets: false,
        }
    }
}

impl Readings {
    /// For people who try things out: a newer runtime that asks and greets.
    pub fn showroom() -> Self {
        Self {
            asks_the_host: true,
            greets: true,
            ..Self::default()
        }
    }
}

/// O2: what `result.text` says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ResultText {
    Same,
    Empty,
    Different,
}

/// O8: how a cancellation goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cancel {
    AckFirst,
    ResultFirst,
    /// The first interrupt finds nothing to cancel, the query goes on.
    RefusesFirst,
    NoAck,
    /// The result has the text so far.
    PartialText,
}

/// O10: oddities around the end of a query.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Oddity {
    None,
    /// An `error` in the middle, and a good `result` all the same.
    ErrorThenResult,
    TwoResults,
    UnknownLines,
    /// Streamed lines carry no ids of the run.
    WithoutIds,
}

/// O11: how the process starts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Start {
    Normal,
    Never,
    /// After so many milliseconds.
    Late(u64),
    OtherVersion,
    NoVersion,
    /// An `error` line, then exit code 1.
    Error,
    /// Exit code 3 without a word.
    Exit,
    /// Lines that are no JSON before the first one that is.
    Noise,
    /// Thousands of lines on standard error.
    Flood,
    FewCapabilities,
}
