//! Pages of history merged into the window of a timeline.
//!
//! # How a page finds its place
//! 1. Each row of the page is matched with an entry: by remote id; then, for what was only seen
//!    live, by author and text in order; then, for a text that was cut, by its beginning; then by
//!    author and text wherever it stands, and it moves to where the server has it: two sides of a
//!    slow line can see the order of what happens at once differently.
//! 2. An authoritative page removes user and assistant messages within its range that history
//!    confirmed before and does not have any more. What was only seen live stays at its place.
//! 3. Rows without an entry are inserted after the row before them, and before whatever came in
//!    here later than they were sent.
//! 4. A message that another run of the program wrote down as well, before history gave it an id,
//!    is a double of an entry that a row was matched with, and goes.
//! 5. A page that does not join on to older entries leaves a gap, which knows how to be filled.

use super::timeline::{Merger, Slot, may_have_arrived, same_text};
use crate::domain::{
    Author, Delivery, Entry, EntryBody, HistoryPage, IncomingMessage, Message, MessageKey,
    MessageSort, PageToken, ToolStatus,
};

/// What became of a page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PageFit {
    Merged,
    /// The page reaches further back than the window, which must grow first.
    WantsOlder,
}

/// The most entries a window grows to for a page.
pub(super) const LARGEST_WINDOW: usize = 6_000;

/// Merges a page. `may_grow` says that the store can still be asked for older entries.
pub fn merge_page(merger: &mut Merger<'_>, page: &HistoryPage, may_grow: bool) -> PageFit {
    let region = match &page.before {
        None => 0..merger.timeline.entries.len(),
        Some(token) => match gap_index(merger, token) {
            Some(gap) => 0..gap,
            None => 0..merger.timeline.entries.len(),
        },
    };
    let gap = page.before.as_ref().and_then(|token| {
        let index = gap_index(merger, token)?;
        merger.timeline.entries.get(index).map(|entry| entry.key)
    });
    let is_start_page = page.before.is_some() && gap.is_none();
    let (matches, strays) = align(merger, page, region.clone());
    let wants_older = merger.timeline.has_older
        && may_grow
        && !is_start_page
        && merger.timeline.entries.len() < LARGEST_WINDOW.min(200 + page.messages.len() * 12)
        && matches.first().is_some_and(Option::is_none);
    if wants_older {
        return PageFit::WantsOlder;
    }
    let first_match = matches.iter().flatten().next().copied();
    if page.is_authoritative && !is_start_page {
        // Where a stray stands says nothing about where the page begins.
        let first_placed = (0..matches.len())
            .filter(|row| !strays.contains(row))
            .find_map(|row| matches[row]);
        drop_missing(merger, page, &matches, first_placed.or(first_match));
    }
    // From here on entries are named by key, because places move.
    let anchors: Vec<Option<MessageKey>> = matches;
    for (row, anchor) in page.messages.iter().zip(&anchors) {
        if let Some(key) = anchor
            && let Some(slot) = merger.timeline.find_key(*key)
        {
            merger.confirm(slot, row.clone());
        }
    }
    for row in strays {
        settle_stray(merger, &anchors, row);
    }
    drop_doubles(merger, page, &anchors);
    let inserted_first = insert_missing(merger, page, &anchors, gap, is_start_page);
    let start = first_match.or(inserted_first);
    settle_tokens(
        merger,
        page,
        gap,
        first_match,
        inserted_first,
        start,
        is_start_page,
    );
    PageFit::Merged
}

fn gap_index(merger: &Merger<'_>, token: &PageToken) -> Option<usize> {
    merger
        .timeline
        .entries
        .iter()
        .position(|entry| matches!(&entry.body, EntryBody::Gap { token: known } if known == token))
}

/// Moves an entry that stood out of order behind the row before it, or before the row after it.
fn settle_stray(merger: &mut Merger<'_>, anchors: &[Option<MessageKey>], row: usize) {
    let Some(key) = anchors[row] else { return };
    let before = anchors[..row].iter().rev().flatten().next();
    let after = anchors[row + 1..].iter().flatten().next();
    let place = match (before, after) {
        (Some(before), _) => merger.timeline.index_of(*before).map(|index| index + 1),
        (None, Some(after)) => merger.timeline.index_of(*after),
        (None, None) => None,
    };
    if let Some(place) = place {
        merger.move_to(key, place);
    }
}

/// For each row the entry that is the same message, and the rows whose entry stands out of order.
fn align(
    merger: &Merger<'_>,
    page: &HistoryPage,
    region: std::ops::Range<usize>,
) -> (Vec<Option<MessageKey>>, Vec<usize>) {
    let entries = &merger.timeline.entries;
    let tail = &merger.timeline.tail;
    let mut taken = vec![false; entries.len()];
    let mut places: Vec<Option<usize>> = vec![None; page.messages.len()];
    let mut keys: Vec<Option<MessageKey>> = vec![None; page.messages.len()];
    for (i, row) in page.messages.iter().enumerate() {
        let Some(remote) = &row.remote else { continue };
        match merger.timeline.find_remote(remote) {
            Some(Slot::Window(index)) => {
                taken[index] = true;
                places[i] = Some(index);
                keys[i] = entries.get(index).map(|entry| entry.key);
            }
            Some(Slot::Tail(index)) => keys[i] = tail.get(index).map(|entry| entry.key),
            None => {}
        }
    }
    for by in [By::Text, By::Beginning] {
        for i in 0..page.messages.len() {
            if keys[i].is_some() {
                continue;
            }
            let row = &page.messages[i];
            let from = places[..i]
                .iter()
                .flatten()
                .max()
                .map_or(region.start, |at| at + 1);
            let to = places[i + 1..]
                .iter()
                .flatten()
                .min()
                .copied()
                .unwrap_or(region.end)
                .min(region.end);
            let found = (from..to).find(|&at| {
                !taken[at]
                    && entries[at].message().is_some_and(|message| {
                        can_be(message, row, page.is_authoritative) && by.matches(message, row)
                    })
            });
            if let Some(at) = found {
                taken[at] = true;
                places[i] = Some(at);
                keys[i] = Some(entries[at].key);
            }
        }
    }
    let mut strays = Vec::new();
    for (i, row) in page.messages.iter().enumerate() {
        if keys[i].is_some() || row.text.trim().is_empty() {
            continue;
        }
        let found = region.clone().find(|&at| {
            !taken[at]
                && entries[at].message().is_some_and(|message| {
                    !message.is_streaming
                        && can_be(message, row, page.is_authoritative)
                        && By::Text.matches(message, row)
                })
        });
        if let Some(at) = found {
            taken[at] = true;
            keys[i] = Some(entries[at].key);
            strays.push(i);
        }
    }
    (keys, strays)
}

/// Ways to see that an entry and a row are the same message.
enum By {
    Text,
    /// One text begins with the other, for what was cut or is still growing.
    Beginning,
}

impl By {
    fn matches(&self, message: &Message, row: &IncomingMessage) -> bool {
        match self {
            Self::Text => same_text(message.body.raw(), &row.text),
            Self::Beginning => {
                let (mine, theirs) = (message.body.raw().trim(), row.text.trim());
                message.author != Author::User
                    && (message.is_streaming || message.is_interrupted)
                    && !mine.is_empty()
                    && !theirs.is_empty()
                    && (theirs.starts_with(mine) || mine.starts_with(theirs))
            }
        }
    }
}

/// Whether an entry may be matched with a row by its text: history never gave it an id.
fn can_be(message: &Message, row: &IncomingMessage, is_authoritative: bool) -> bool {
    let is_free = if is_authoritative {
        message.is_seen_live_only || message.remote.is_none()
    } else {
        message.remote.is_none() && message.delivery.is_some()
    };
    is_free
        && message.author == row.author
        && message.sort == MessageSort::Ordinary
        && !matches!(
            message.delivery,
            Some(Delivery::Queued | Delivery::Failed(_))
        )
}

/// Removes what history had and has no more.
fn drop_missing(
    merger: &mut Merger<'_>,
    page: &HistoryPage,
    matches: &[Option<MessageKey>],
    first_match: Option<MessageKey>,
) {
    let start = if page.older.is_none() {
        Some(0)
    } else {
        first_match.and_then(|key| merger.timeline.index_of(key))
    };
    let Some(start) = start else { return };
    let end = page
        .before
        .as_ref()
        .and_then(|token| gap_index(merger, token))
        .unwrap_or(merger.timeline.entries.len());
    let matched: std::collections::BTreeSet<MessageKey> =
        matches.iter().flatten().copied().collect();
    let gone: Vec<MessageKey> = merger.timeline.entries[start.min(end)..end]
        .iter()
        .filter(|entry| match &entry.body {
            EntryBody::Message(message) => {
                !matched.contains(&entry.key)
                    && !message.is_seen_live_only
                    && !message.is_streaming
                    && message.sort == MessageSort::Ordinary
                    && matches!(message.author, Author::User | Author::Assistant)
                    && matches!(
                        message.delivery,
                        None | Some(Delivery::Accepted | Delivery::Read)
                    )
            }
            // Within the range of the page nothing is missing any more.
            EntryBody::Gap { .. } => true,
            EntryBody::Tool(_) | EntryBody::RunEnded { .. } | EntryBody::Deleted { .. } => false,
        })
        .map(|entry| entry.key)
        .collect();
    for key in gone {
        if let Some(slot) = merger.timeline.find_key(key) {
            merger.remove(slot);
        }
    }
}

/// Removes entries that are a second copy of one that a row was matched with. Several runs of the
/// program can write the same message: one as it sends or receives it, another as the server tells
/// it. The copy that came first has no id of history, and no row of its own.
fn drop_doubles(merger: &mut Merger<'_>, page: &HistoryPage, anchors: &[Option<MessageKey>]) {
    let matched: std::collections::BTreeSet<MessageKey> =
        anchors.iter().flatten().copied().collect();
    let mut doubles: Vec<(MessageKey, MessageKey)> = Vec::new();
    let copies = merger.timeline.entries.iter().filter(|entry| {
        !matched.contains(&entry.key)
            && entry
                .message()
                .is_some_and(|message| is_without_row(message, page.is_authoritative))
    });
    for entry in copies {
        let Some(copy) = entry.message() else {
            continue;
        };
        let original = page.messages.iter().zip(anchors).find_map(|(row, anchor)| {
            let of = merger.timeline.entry((*anchor)?)?.message()?;
            let is_taken = doubles.iter().any(|(_, taken)| *taken == of.key);
            (!is_taken && is_double(copy, of, row)).then_some(of.key)
        });
        if let Some(original) = original {
            doubles.push((entry.key, original));
        }
    }
    for (key, original) in doubles {
        let Some(slot) = merger.timeline.find_key(key) else {
            continue;
        };
        let copy = merger.timeline.at(slot).and_then(Entry::message).cloned();
        merger.remove(slot);
        let own = copy.filter(|copy| copy.delivery.is_some());
        if let Some(own) = own
            && let Some(slot) = merger.timeline.find_key(original)
            && let Some(message) = merger.timeline.at_mut(slot).and_then(Entry::message_mut)
        {
            message.delivery = Some(Delivery::Accepted);
            message.command = message.command.or(own.command);
            merger.changes.written.insert(original);
            merger.changes.proven.push(key);
        }
    }
}

/// Whether history never gave this message an id, though the server may have it.
fn is_without_row(message: &Message, is_authoritative: bool) -> bool {
    message.sort == MessageSort::Ordinary
        && match message.author {
            Author::User => message.remote.is_none() && may_have_arrived(message.delivery.as_ref()),
            Author::Assistant => {
                is_authoritative
                    && message.is_seen_live_only
                    && message.delivery.is_none()
                    && !message.body.raw().trim().is_empty()
            }
            Author::System | Author::Automation => false,
        }
}

/// Whether `copy` is the message `original`, written down a second time. The original came in here
/// after it: an equal text that stood here before is another message.
fn is_double(copy: &Message, original: &Message, row: &IncomingMessage) -> bool {
    let is_other_run = copy.run.is_some() && original.run.is_some() && copy.run != original.run;
    original.author == copy.author
        && original.delivery.is_none()
        && original.seen_at_ms > copy.seen_at_ms
        && !is_other_run
        && (By::Text.matches(copy, row) || By::Beginning.matches(copy, row))
}

/// Inserts the rows that have no entry, in runs between the rows that have one. Returns the first
/// inserted entry.
fn insert_missing(
    merger: &mut Merger<'_>,
    page: &HistoryPage,
    anchors: &[Option<MessageKey>],
    gap: Option<MessageKey>,
    is_start_page: bool,
) -> Option<MessageKey> {
    let mut first = None;
    let mut i = 0;
    while i < anchors.len() {
        if anchors[i].is_some() {
            i += 1;
            continue;
        }
        let run_end = (i..anchors.len())
            .find(|&j| anchors[j].is_some())
            .unwrap_or(anchors.len());
        let before = anchors[..i].iter().rev().flatten().next().copied();
        let after = anchors[run_end..].iter().flatten().next().copied();
        let mut lowest = before
            .and_then(|key| merger.timeline.index_of(key))
            .map_or(0, |index| index + 1);
        let highest = after
            .or(gap)
            .and_then(|key| merger.timeline.index_of(key))
            .unwrap_or_else(|| {
                if is_start_page && before.is_none() {
                    0
                } else {
                    end_of_settled(merger)
                }
            });
        if before.is_none() {
            // Nothing is known of what stands before the page: its rows join on to what follows.
            lowest = if after.is_some() || gap.is_some() || is_start_page {
                highest
            } else {
                after_confirmed(merger, highest)
            };
        }
        let rows: Vec<IncomingMessage> = page.messages[i..run_end].to_vec();
        first = first.or(insert_run(merger, rows, lowest, highest.max(lowest)));
        i = run_end;
    }
    first
}

/// Inserts rows between two places, each before what came in here later than it was sent.
fn insert_run(
    merger: &mut Merger<'_>,
    rows: Vec<IncomingMessage>,
    lowest: usize,
    highest: usize,
) -> Option<MessageKey> {
    let mut first = None;
    let mut lowest = lowest;
    let mut highest = highest;
    let mut waiting: Vec<Entry> = Vec::new();
    let mut at = None;
    for row in rows {
        let sent = row.sent_at_ms;
        let entry = merger.make(row, true);
        let place = match sent {
            Some(sent) => (lowest..highest)
                .find(|&i| {
                    let other = &merger.timeline.entries[i];
                    let other_ms = other
                        .message()
                        .and_then(|message| message.sent_at_ms)
                        .unwrap_or(other.seen_at_ms);
                    other_ms > sent
                })
                .unwrap_or(highest),
            None => highest,
        };
        first = first.or(Some(entry.key));
        if at.is_some_and(|at| at != place) {
            let before = at.unwrap_or(place);
            let count = waiting.len();
            merger.insert(before, std::mem::take(&mut waiting));
            lowest = place.max(before) + count;
            highest += count;
            at = Some(place + count);
        } else {
            at = Some(place);
        }
        waiting.push(entry);
    }
    if let Some(at) = at {
        merger.insert(at, waiting);
    }
    first
}

/// The end of the window without what is still under way: own messages that the server has not
/// confirmed, the growing answer, running tools.
fn end_of_settled(merger: &Merger<'_>) -> usize {
    let entries = &merger.timeline.entries;
    entries
        .iter()
        .rposition(|entry| match &entry.body {
            EntryBody::Message(message) => {
                !message.is_streaming && message.delivery != Some(Delivery::InFlight)
            }
            EntryBody::Tool(tool) => tool.status != ToolStatus::Running,
            EntryBody::RunEnded { .. } | EntryBody::Gap { .. } | EntryBody::Deleted { .. } => true,
        })
        .map_or(0, |index| index + 1)
}

/// The place after the last entry that history confirmed.
fn after_confirmed(merger: &Merger<'_>, limit: usize) -> usize {
    merger.timeline.entries[..limit.min(merger.timeline.entries.len())]
        .iter()
        .rposition(|entry| {
            entry
                .message()
                .is_none_or(|message| !message.is_seen_live_only)
                && !matches!(entry.body, EntryBody::Tool(_) | EntryBody::RunEnded { .. })
        })
        .map_or(0, |index| index + 1)
}

/// Says where older messages begin now: before the window, or in a gap inside it.
fn settle_tokens(
    merger: &mut Merger<'_>,
    page: &HistoryPage,
    gap: Option<MessageKey>,
    first_match: Option<MessageKey>,
    inserted_first: Option<MessageKey>,
    start: Option<MessageKey>,
    is_start_page: bool,
) {
    if is_start_page {
        merger.timeline.older_token = page.older.clone();
        return;
    }
    // What stands before the first row of the page is older; when no row was known, nothing says
    // that the page joins on to it.
    let first_row_is_known = first_match.is_some()
        && inserted_first.is_none_or(|inserted| {
            let place = |key| merger.timeline.index_of(key);
            place(inserted) > first_match.and_then(place)
        });
    let top = [first_match, inserted_first]
        .into_iter()
        .flatten()
        .filter_map(|key| merger.timeline.index_of(key))
        .min();
    let has_history_before = top.is_some_and(|top| {
        merger.timeline.has_older
            || merger.timeline.entries[..top].iter().any(|entry| {
                entry
                    .message()
                    .is_some_and(|message| !message.is_seen_live_only)
            })
    });
    if let Some(gap) = gap
        && let Some(slot) = merger.timeline.find_key(gap)
    {
        // A filled gap closes; a smaller one may open before the page.
        merger.remove(slot);
    }
    if start.is_none() {
        // An empty page.
        if merger.timeline.entries.is_empty() && !merger.timeline.has_older {
            merger.timeline.older_token = page.older.clone();
        }
        return;
    }
    if !has_history_before {
        merger.timeline.older_token = page.older.clone();
        return;
    }
    let joins = first_row_is_known || first_match.is_some();
    if !joins && let (Some(token), Some(top)) = (page.older.clone(), top) {
        let key = MessageKey(merger.ids.mint());
        let entry = Entry {
            key,
            order: 0,
            seen_at_ms: merger.now.wall_ms,
            body: EntryBody::Gap { token },
        };
        let top = start
            .and_then(|key| merger.timeline.index_of(key))
            .unwrap_or(top);
        merger.insert(top, vec![entry]);
    }
}
