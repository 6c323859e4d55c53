//! Where a timeline is scrolled to. A viewport is anchored by an entry and a row in it, never by an
//! absolute line, so that history above, streaming below and another width do not move it.

use crate::domain::{AccountId, ConversationId, Entry, EntryBody, MessageKey};
use std::ops::Range;

/// What stays in place.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Anchor {
    /// The last row is at the bottom; new text moves the rest up.
    #[default]
    Newest,
    /// Row `row` of this entry is the first one on screen.
    Top { key: MessageKey, row: u32 },
    /// The whole entry should be in sight (a jump); the view turns it into `Top`.
    Show { key: MessageKey },
}

/// The viewport of one conversation.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Viewport {
    pub anchor: Anchor,
    /// Rows to move at the next draw: negative is towards older.
    pub delta: i32,
    /// The selection cursor.
    pub selected: Option<MessageKey>,
    /// This entry has to be in sight: the next draw moves as little as needed. A move of the
    /// selection sets it, the facts of that draw take it off.
    pub reveal: Option<MessageKey>,
    /// Entries that came below while the reader is above.
    pub new_below: u32,
    /// Cells that cut lines of code are shifted to the left.
    pub code_shift: u16,
}

/// What the view found while it drew, for the state. Facts alone never cause a redraw.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LayoutFacts {
    pub account: AccountId,
    pub conversation: ConversationId,
    /// The anchor after the delta was resolved.
    pub anchor: Anchor,
    /// The delta that was resolved, to be taken off.
    pub resolved: i32,
    /// The entry that was brought into sight; `Viewport::reveal` is taken off when it is this one.
    pub revealed: Option<MessageKey>,
    /// Rows of the timeline pane.
    pub rows: u16,
    pub columns: u16,
    /// The window ends above before the screen is full.
    pub is_short_above: bool,
    /// The window ends below before the screen is full.
    pub is_short_below: bool,
    /// First and last entry that can be seen.
    pub first_seen: Option<MessageKey>,
    pub last_seen: Option<MessageKey>,
    /// The end of the newest entry is in sight.
    pub is_at_newest: bool,
    /// The decision popup was painted: its end was in sight.
    pub decision_end_seen: bool,
    /// Rows of the composer's text area, for motions by row.
    pub composer_columns: u16,
    /// How far the text of the open popup can be scrolled, where one was drawn.
    pub overlay_scroll_max: Option<u16>,
}

/// The calls of tools around an entry that are drawn as one group: neighbours in the timeline. The
/// fold of the first one folds the group; while it is folded only the first one has rows, so a
/// selection passes over the others. None for an entry that is not a tool.
pub fn tool_group(entries: &[Entry], index: usize) -> Option<Range<usize>> {
    let is_tool = |entry: &Entry| matches!(entry.body, EntryBody::Tool(_));
    if !entries.get(index).is_some_and(is_tool) {
        return None;
    }
    let before = entries[..index]
        .iter()
        .rev()
        .take_while(|entry| is_tool(entry))
        .count();
    let after = entries[index..]
        .iter()
        .take_while(|entry| is_tool(entry))
        .count();
    Some(index - before..index + after)
}
