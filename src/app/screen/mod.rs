//! What the screen shows besides the conversations' own content: focus, viewports, composers,
//! overlays, toasts. Each file holds a part's state, its keys and its reducer.

pub mod attach;
pub mod choose;
pub mod composer;
pub mod date;
pub mod decision;
pub mod drawer;
pub mod fuzzy;
pub mod help;
pub mod line;
mod models;
pub mod overlay;
pub mod palette;
pub mod popups;
pub mod prompt;
pub mod rows;
pub mod search;
pub mod shown;
pub mod sidebar;
pub mod source;
pub mod switcher;
pub mod viewport;
pub mod wizard;

use crate::domain::{AccountId, AttachmentId, ConversationId, DecisionId, MessageKey, Moment};
use crate::text::SafeText;
use overlay::Overlay;

/// Which part takes the keys when no overlay is open.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Pane {
    #[default]
    Composer,
    Timeline,
    Sidebar,
}

/// A short word that goes by itself.
#[derive(Clone, PartialEq, Debug)]
pub struct Toast {
    pub text: SafeText,
    pub severity: crate::domain::Severity,
    pub until: Moment,
}

/// The screen's own state.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Screen {
    pub pane: Pane,
    pub columns: u16,
    pub rows: u16,
    /// The terminal says it has the focus; none when it never said.
    pub is_focused: Option<bool>,
    /// Top-most last.
    pub overlays: Vec<Overlay>,
    pub toasts: Vec<Toast>,
    /// The files that the toast about saved files speaks of, while it stands.
    pub saved: Vec<std::path::PathBuf>,
    pub sidebar: Sidebar,
    pub is_zen: bool,
    /// The leader key was pressed; the hint line shows what can follow.
    pub leader: bool,
    /// Esc was pressed once while a run is active, at this moment.
    pub stop_asked: Option<Moment>,
    /// Ctrl+C was pressed on an empty composer without a run, at this moment.
    pub quit_asked: Option<Moment>,
    /// The person wanted to leave while something ran that ends with the program, and was told.
    pub leave_asked: Option<Moment>,
    /// When a decision ended under its open popup: a key meant for that must not send a draft.
    pub popup_gone: Option<Moment>,
    /// Whether anything turns on the screen, so that the shell ticks for it.
    pub spinner_frame: u8,
    /// Chords of a sequence that is not complete; `leader` says whether there are any.
    pub pending: Vec<crate::input::Chord>,
    /// The composer is in the normal mode of the vim scheme.
    pub is_normal: bool,
    /// The count typed before a command of the normal mode, and that typed inside it: `2d3w`.
    pub counts: [usize; 2],
    /// Cells of a row of the composer, as the view last drew it; zero before the first frame.
    pub composer_columns: u16,
    /// Rows of the timeline pane at the last frame.
    pub timeline_rows: u16,
    /// What was deleted lately in any composer, newest last.
    pub kills: Vec<String>,
    /// The newest of them is made of whole lines.
    pub kills_lines: bool,
    /// The text that is looked for in the timeline; its matches are marked.
    pub marked: Option<SafeText>,
    /// What the last search found in one conversation; n and N walk over it.
    pub found: Vec<crate::domain::SearchHit>,
    /// Text selected with the mouse inside the timeline.
    pub selection: Option<Selection>,
    /// Plain text without frames and mouse, for copying with the terminal's own means.
    pub is_bare: bool,
    /// The todo strip shows the whole list.
    pub todos_open: bool,
    /// Frames for the inspector, newest last, bounded.
    pub tapped: std::collections::VecDeque<TappedFrame>,
    /// Reasons given with refusals lately, newest first.
    pub reasons: Vec<String>,
    /// The mouse holds the edge of the sidebar.
    pub is_dragging_edge: bool,
}

/// One frame as the inspector shows it; secrets are masked already.
#[derive(Clone, PartialEq, Debug)]
pub struct TappedFrame {
    pub account: AccountId,
    pub outgoing: bool,
    pub at: Moment,
    pub frame: SafeText,
}

/// A cell of an entry of the timeline, counted inside it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Spot {
    pub key: MessageKey,
    pub row: u16,
    pub column: u16,
}

/// Text selected with the mouse. The view knows which text lies between the two cells.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Selection {
    pub from: Spot,
    pub to: Spot,
    /// The button is still held.
    pub is_dragging: bool,
}

/// The sidebar.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Sidebar {
    /// The person's switch; none follows the width of the screen.
    pub is_shown: Option<bool>,
    /// On a narrow screen it lies over the timeline while this is true.
    pub is_over: bool,
    pub columns: Option<u16>,
    /// The row the cursor is on.
    pub selected: Option<SidebarRow>,
    pub scroll: usize,
    /// Accounts that are folded.
    pub folded: Vec<AccountId>,
    /// Accounts whose archived group is open.
    pub archive_open: Vec<AccountId>,
}

/// A row of the sidebar.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SidebarRow {
    Attention,
    Account(AccountId),
    Conversation(AccountId, ConversationId),
    Archive(AccountId),
}

/// What lies under a point of the frame on screen.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Target {
    #[default]
    Nothing,
    SidebarRow(SidebarRow),
    SidebarEdge,
    Entry {
        key: MessageKey,
        row: u16,
        column: u16,
    },
    /// The line that folds and unfolds an entry.
    Fold(MessageKey),
    /// The copy mark of a code block of an entry, counted from zero.
    CodeCopy(MessageKey, usize),
    Link(String),
    Attachment(AttachmentId),
    Decision(DecisionId),
    NewBelow,
    Composer {
        row: u16,
        column: u16,
    },
    TodoStrip,
    ToolStrip,
    Queue,
    /// A row of the open overlay, in the order of its list.
    OverlayRow(usize),
    /// A button of the open overlay.
    OverlayButton(usize),
    OutsideOverlay,
}

/// A colour as people write it: "#88c0d0", "88c0d0", or a name.
pub fn color(text: &str) -> Option<(u8, u8, u8)> {
    let text = text.trim().to_lowercase();
    let named = match text.as_str() {
        "red" => Some((0xbf, 0x61, 0x6a)),
        "orange" => Some((0xd0, 0x87, 0x70)),
        "yellow" => Some((0xeb, 0xcb, 0x8b)),
        "green" => Some((0xa3, 0xbe, 0x8c)),
        "cyan" => Some((0x88, 0xc0, 0xd0)),
        "blue" => Some((0x81, 0xa1, 0xc1)),
        "purple" => Some((0xb4, 0x8e, 0xad)),
        "pink" => Some((0xe5, 0x9a, 0xb8)),
        "grey" | "gray" => Some((0x8f, 0x96, 0xa3)),
        _ => None,
    };
    if named.is_some() {
        return named;
    }
    let digits = text.strip_prefix('#').unwrap_or(&text);
    if digits.len() != 6 || !digits.is_ascii() {
        return None;
    }
    let part = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16).ok();
    Some((part(0)?, part(2)?, part(4)?))
}
