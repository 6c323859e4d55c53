//! Entries of the timeline as rows. Each file turns one kind of entry into a `Card`; what a card
//! depends on beyond its own entry (day line, header, fold) is worked out in `Lead` before, so that
//! a card can be kept as long as its fingerprint stays the same.

pub(crate) mod attachment;
pub(crate) mod decision;
pub(crate) mod gap;
pub(crate) mod message;
pub(crate) mod notice;
pub(crate) mod reasoning;
pub(crate) mod tool;

use super::canvas::Row;
use super::glyphs::Glyphs;
use super::picture::Pictures;
use super::words;
use crate::app::screen::viewport::tool_group;
use crate::app::state::{AccountState, Conversation, State};
use crate::domain::{
    AttachmentId, Author, ConversationId, Entry, EntryBody, MessageKey, MessageSort,
};
use crate::render::Options;
use std::cell::RefCell;
use std::ops::Range;

/// One part of a card.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Segment {
    Rows(Vec<Row>),
    /// The laid-out body of the message, so far from the left edge.
    Body {
        indent: u16,
        is_dim: bool,
    },
    /// Its laid-out reasoning.
    Reasoning {
        indent: u16,
    },
    /// A picture, so many rows high.
    Picture(AttachmentId, u16),
}

/// An entry ready to be drawn.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Card {
    pub segments: Vec<Segment>,
    /// A rail beside the entry's own rows, after the lead.
    pub has_rail: bool,
    /// Rows of the lead (blank, day line), which no rail and no selection covers.
    pub lead: u32,
    pub is_streaming: bool,
}

/// The state as the items see it.
#[derive(Clone)]
pub(crate) struct Scene<'a> {
    pub state: &'a State,
    pub account: &'a AccountState,
    pub id: &'a ConversationId,
    pub conversation: &'a Conversation,
    pub glyphs: &'static Glyphs,
    /// Columns of text.
    pub columns: u16,
    /// None where the terminal cannot show any.
    pub pictures: Option<&'a Pictures>,
    /// The group of tool calls that was looked for last: the next entry is mostly in it too.
    pub group: RefCell<Range<usize>>,
}

/// Who speaks in an entry; neighbours with the same speaker share a header.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub(crate) enum Speaker {
    You,
    Agent,
    System,
    Automation,
    /// Notices and the like, which have no header.
    Nobody,
}

/// What stands before an entry because of its neighbours.
#[derive(Clone, PartialEq, Eq, Debug, Hash)]
pub(crate) struct Lead {
    pub day: Option<String>,
    /// Nothing was said before it.
    pub is_start: bool,
    pub is_unread: bool,
    pub has_header: bool,
    pub has_blank: bool,
    pub speaker: Speaker,
    pub is_open: bool,
    /// The group of tool calls that this entry begins or is part of.
    pub group: Option<(usize, usize)>,
}

impl Scene<'_> {
    /// The entries of the window.
    pub(crate) fn entries(&self) -> &[Entry] {
        &self.conversation.timeline.entries
    }

    /// Whether the fold of an entry is open.
    pub(crate) fn is_open(&self, key: MessageKey) -> bool {
        self.state.settings.unfold_all != self.conversation.toggled.contains(&key)
    }

    /// The group of tool calls around an entry.
    pub(crate) fn group(&self, index: usize) -> Option<Range<usize>> {
        let mut last = self.group.borrow_mut();
        if !last.contains(&index) {
            *last = tool_group(self.entries(), index)?;
        }
        Some(last.clone())
    }

    /// How text is laid out in so many columns.
    pub(crate) fn reading(&self, columns: u16) -> Options {
        Options {
            ascii: self.state.settings.ascii,
            wrap_code: self.state.settings.wrap_code,
            code_shift: self.conversation.viewport.code_shift,
            ..Options::new(columns)
        }
    }

    /// The clock of the person.
    pub(crate) fn clock(&self, wall_ms: i64) -> String {
        words::clock(wall_ms, self.state.settings.utc_offset_minutes)
    }

    fn day(&self, wall_ms: i64) -> i64 {
        words::day(wall_ms, self.state.settings.utc_offset_minutes)
    }

    /// What stands before an entry.
    pub(crate) fn lead(&self, index: usize) -> Option<Lead> {
        let entry = self.entries().get(index)?;
        let before = index.checked_sub(1).and_then(|at| self.entries().get(at));
        let speaker = speaker(entry);
        let day = self.day(at_ms(entry));
        let timeline = &self.conversation.timeline;
        let is_new_day = match before {
            Some(before) => self.day(at_ms(before)) != day,
            None => !timeline.has_older && timeline.older_token.is_none(),
        };
        // What the person wrote is not news, wherever they wrote it.
        let is_own = |entry: &Entry| {
            entry
                .message()
                .is_some_and(|message| message.author == Author::User)
        };
        let is_unread = self.conversation.unread_line.is_some_and(|line| {
            entry.order > line
                && !is_own(entry)
                && self
                    .entries()
                    .get(..index)
                    .unwrap_or_default()
                    .iter()
                    .rev()
                    .find(|before| !is_own(before))
                    .is_none_or(|before| before.order <= line)
        });
        let is_tool = |entry: &Entry| matches!(entry.body, EntryBody::Tool(_));
        let group = self.group(index);
        let is_inside = group.as_ref().is_some_and(|group| group.start < index);
        let has_header = speaker != Speaker::Nobody
            && !is_inside
            && (is_new_day
                || is_unread
                || before.is_none_or(|before| {
                    self::speaker(before) != speaker
                        || (speaker == Speaker::You && !is_same_minute(before, entry))
                }));
        let is_open = match &group {
            Some(group) => self
                .entries()
                .get(group.start)
                .is_some_and(|first| self.is_open(first.key)),
            None => self.is_open(entry.key),
        };
        // What the agent thought stands together with what it did.
        let joins = before.is_some_and(|before| is_tool(before) && thinks(entry));
        let has_blank = !is_inside && (before.is_some() || is_new_day) && (has_header || !joins);
        Some(Lead {
            day: is_new_day.then(|| words::day_name(day, self.day(self.state.now.wall_ms))),
            is_start: before.is_none() && is_new_day && timeline.is_loaded,
            is_unread,
            has_header,
            has_blank,
            speaker,
            is_open,
            group: group.map(|group| (group.start, group.end)),
        })
    }

    /// The card of an entry.
    pub(crate) fn card(&self, index: usize, lead: &Lead) -> Card {
        let Some(entry) = self.entries().get(index) else {
            return Card::default();
        };
        let mut card = match &entry.body {
            EntryBody::Message(message) => message::card(self, entry, message, lead),
            EntryBody::Tool(call) => tool::card(self, index, entry, call, lead),
            EntryBody::RunEnded { outcome, .. } => {
                notice::run_ended(self, entry, outcome, lead.is_open)
            }
            EntryBody::Gap { .. } => gap::card(self, entry),
            EntryBody::Deleted { count } => notice::deleted(self, *count),
        };
        let rows = notice::lead_rows(self, lead);
        card.lead = u32::try_from(rows.len()).unwrap_or(0);
        if !rows.is_empty() {
            card.segments.insert(0, Segment::Rows(rows));
        }
        card
    }
}

fn thinks(entry: &Entry) -> bool {
    entry
        .message()
        .is_some_and(|message| !message.reasoning.is_empty())
}

fn is_same_minute(a: &Entry, b: &Entry) -> bool {
    at_ms(a).div_euclid(60_000) == at_ms(b).div_euclid(60_000)
}

/// When an entry is dated.
pub(crate) fn at_ms(entry: &Entry) -> i64 {
    entry
        .message()
        .and_then(|message| message.sent_at_ms)
        .unwrap_or(entry.seen_at_ms)
}

/// Who speaks in an entry.
pub(crate) fn speaker(entry: &Entry) -> Speaker {
    match &entry.body {
        EntryBody::Message(message) => match (message.sort, message.author) {
            (MessageSort::Notice | MessageSort::Aside, _) => Speaker::Nobody,
            (_, Author::User) => Speaker::You,
            (_, Author::Assistant) => Speaker::Agent,
            (_, Author::System) => Speaker::System,
            (_, Author::Automation) => Speaker::Automation,
        },
        EntryBody::Tool(_) => Speaker::Agent,
        EntryBody::RunEnded { .. } | EntryBody::Gap { .. } | EntryBody::Deleted { .. } => {
            Speaker::Nobody
        }
    }
}
