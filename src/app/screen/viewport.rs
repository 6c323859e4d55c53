//! Where a timeline is scrolled to. A viewport is anchored by an entry and a row in it, never by an
//! absolute line, so that history above, streaming below and another width do not move it.

use crate::domain::{AccountId, ConversationId, MessageKey};

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
    /// Entries that came below while the reader is above.
    pub new_below: u32,
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
}
