//! A message and the text that grows in it.

use super::attachment::Attachment;
use super::command::Refusal;
use super::ids::{AttachmentId, CommandId, MessageKey, RemoteId, RunId};
use crate::text::{GrowingText, SafeText, common_prefix};

/// Who wrote a message.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Hash)]
pub enum Author {
    /// The person, here or on another device.
    User,
    #[default]
    Assistant,
    System,
    /// A scheduled or triggered output.
    Automation,
}

/// What a message is besides who wrote it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub enum MessageSort {
    #[default]
    Ordinary,
    /// A beat between two steps of a run.
    Commentary,
    /// A word of the server on its own state.
    Notice,
    /// A row that nobody typed and nobody reads first: shown dim and folded.
    Aside,
}

/// Where our own message stands. Messages of others have none.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Delivery {
    /// Written down here, not sent.
    Queued,
    /// Written to the link; no answer yet.
    InFlight,
    Accepted,
    /// The agent has begun to work on it.
    Read,
    /// The link broke before the answer; only history or the person can decide.
    Uncertain,
    Failed(Refusal),
}

/// A change to a text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TextPatch {
    /// The whole text so far.
    Replace(String),
    /// What comes after the text so far.
    Append(String),
}

/// What stands under an answer; every part is optional.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Footer {
    pub model: Option<SafeText>,
    pub tokens_in: Option<u64>,
    pub tokens_out: Option<u64>,
    pub tokens_cached: Option<u64>,
    /// All tokens, where the server does not tell them apart.
    pub tokens: Option<u64>,
    /// 0 to 100.
    pub context_percent: Option<u8>,
    pub directory: Option<SafeText>,
    pub latency_ms: Option<u64>,
    /// Millionths of a US dollar.
    pub cost_micro_usd: Option<u64>,
}

impl Footer {
    /// Whether there is nothing to show.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// A message as a driver reports it: text as it came, not yet cleaned.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct IncomingMessage {
    pub remote: Option<RemoteId>,
    pub author: Author,
    pub sort: MessageSort,
    pub text: String,
    /// None leaves what is known; `Some("")` says that there is none.
    pub reasoning: Option<String>,
    pub attachments: Vec<Attachment>,
    pub reply_to: Option<RemoteId>,
    /// Wall milliseconds.
    pub sent_at_ms: Option<i64>,
    pub run: Option<RunId>,
    pub footer: Footer,
    /// Our own command of which this is the echo, when the driver knows.
    pub command: Option<CommandId>,
    /// More text is to come.
    pub is_streaming: bool,
    /// The text ends where the run was cut.
    pub is_interrupted: bool,
}

/// A text that only this type may change: cleaned for every sink, and able to say how much of it
/// stayed the same.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Body {
    text: GrowingText,
    /// Goes up with every change.
    revision: u32,
    /// Bytes at the start of the cleaned text that each of the last changes left alone, by revision.
    stable: [usize; CHANGES],
}

/// Changes that a body remembers.
const CHANGES: usize = 8;

impl Body {
    /// A body with this text, as it came.
    pub fn new(raw: &str) -> Self {
        let mut body = Self::default();
        body.apply(TextPatch::Replace(raw.to_owned()));
        body
    }

    /// The cleaned text.
    pub fn text(&self) -> &SafeText {
        self.text.clean()
    }

    /// The text as it came, for comparison with history and for raw export only.
    pub fn raw(&self) -> &str {
        self.text.raw()
    }

    /// Goes up with every change.
    pub fn revision(&self) -> u32 {
        self.revision
    }

    /// How many bytes at the start of the cleaned text are as they were at a revision; none when that
    /// is too long ago to know.
    pub fn unchanged_since(&self, revision: u32) -> Option<usize> {
        let count = usize::try_from(self.revision.wrapping_sub(revision)).ok()?;
        if count > CHANGES {
            return None;
        }
        (0..count)
            .map(|back| self.stable[place(self.revision.wrapping_sub(back as u32))])
            .min()
            .or(Some(self.text().as_str().len()))
    }

    /// Whether there is any text.
    pub fn is_empty(&self) -> bool {
        self.text().is_empty()
    }

    /// Applies a change; true when the text is another one now. Only what changed is cleaned.
    pub fn apply(&mut self, patch: TextPatch) -> bool {
        let stable = match patch {
            TextPatch::Append(more) => {
                if more.is_empty() {
                    return false;
                }
                self.text.append(&more)
            }
            TextPatch::Replace(raw) => {
                let common = common_prefix(self.raw(), &raw);
                if common == raw.len() && common == self.raw().len() {
                    return false;
                }
                self.text.replace(raw, common)
            }
        };
        self.revision = self.revision.wrapping_add(1);
        self.stable[place(self.revision)] = stable;
        true
    }
}

/// Where the change that led to a revision is kept.
fn place(revision: u32) -> usize {
    revision as usize % CHANGES
}

/// A message in a timeline.
#[derive(Clone, PartialEq, Debug)]
pub struct Message {
    pub key: MessageKey,
    /// Place in the conversation; the store keeps the same number.
    pub order: i64,
    pub remote: Option<RemoteId>,
    pub author: Author,
    pub sort: MessageSort,
    pub body: Body,
    pub reasoning: Body,
    /// How long it reasoned before the first words of the text, where that was seen.
    pub reasoned_ms: Option<u64>,
    /// Attachments by id; the account holds them.
    pub attachments: Vec<AttachmentId>,
    pub reply_to: Option<RemoteId>,
    pub sent_at_ms: Option<i64>,
    /// When it came in here; sorts and dates what has no time of its own.
    pub seen_at_ms: i64,
    pub run: Option<RunId>,
    /// Only for our own messages.
    pub delivery: Option<Delivery>,
    pub command: Option<CommandId>,
    pub footer: Footer,
    pub is_streaming: bool,
    pub is_interrupted: bool,
    /// History never carries it, so a snapshot does not remove it.
    pub is_seen_live_only: bool,
}
