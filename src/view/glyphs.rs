//! The symbols of the screen, each one cell wide, and the same in ASCII. Every mark differs in
//! shape from its neighbours, so that none needs its colour to be told apart.

/// One set of symbols.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Glyphs {
    pub rail: &'static str,
    pub selection: &'static str,
    pub vertical: &'static str,
    pub horizontal: &'static str,
    pub top_left: &'static str,
    pub top_right: &'static str,
    pub bottom_left: &'static str,
    pub bottom_right: &'static str,
    pub tee_left: &'static str,
    pub tee_right: &'static str,
    pub folded: &'static str,
    pub open: &'static str,
    pub prompt: &'static str,
    pub queued: &'static str,
    pub in_flight: &'static str,
    pub accepted: &'static str,
    pub read: &'static str,
    pub uncertain: &'static str,
    pub failed: &'static str,
    pub ready: &'static str,
    pub connecting: &'static str,
    pub off: &'static str,
    pub waiting: &'static str,
    pub silent: &'static str,
    pub refused: &'static str,
    pub login: &'static str,
    pub favorite: &'static str,
    pub channel: &'static str,
    /// Behind the name of the default conversation.
    pub home: &'static str,
    pub thread: &'static str,
    pub automation: &'static str,
    pub session: &'static str,
    pub decision: &'static str,
    pub muted: &'static str,
    pub done: &'static str,
    pub pending: &'static str,
    pub active: &'static str,
    pub cancelled: &'static str,
    pub cross: &'static str,
    pub check: &'static str,
    pub dot: &'static str,
    pub reply: &'static str,
    pub attachment: &'static str,
    /// A name mixes alphabets that look alike.
    pub lookalike: &'static str,
    pub down: &'static str,
    pub up: &'static str,
    pub ellipsis: &'static str,
    pub bar_full: &'static str,
    pub bar_empty: &'static str,
    pub scroll_thumb: &'static str,
    pub queue: &'static str,
    pub caret: &'static str,
    pub spinner: &'static [&'static str],
}

/// What nearly every terminal of today can show in one cell.
pub const UNICODE: Glyphs = Glyphs {
    rail: "▎",
    selection: "▌",
    vertical: "│",
    horizontal: "─",
    top_left: "╭",
    top_right: "╮",
    bottom_left: "╰",
    bottom_right: "╯",
    tee_left: "├",
    tee_right: "┤",
    folded: "▸",
    open: "▾",
    prompt: "›",
    queued: "○",
    in_flight: "↑",
    accepted: "✓",
    read: "✓✓",
    uncertain: "?",
    failed: "✗",
    ready: "●",
    connecting: "◌",
    off: "○",
    waiting: "◔",
    silent: "◐",
    refused: "✗",
    login: "!",
    favorite: "★",
    channel: "#",
    home: "⌂",
    thread: "└",
    automation: "⚙",
    session: "·",
    decision: "!",
    muted: "-",
    done: "☑",
    pending: "☐",
    active: "▶",
    cancelled: "☒",
    cross: "✗",
    check: "✓",
    dot: "·",
    reply: "↪",
    attachment: "◫",
    lookalike: "≠",
    down: "↓",
    up: "↑",
    ellipsis: "…",
    bar_full: "━",
    bar_empty: "─",
    scroll_thumb: "┃",
    queue: "≡",
    caret: "▍",
    spinner: &["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"],
};

/// For terminals and fonts that know ASCII only.
pub const ASCII: Glyphs = Glyphs {
    rail: "|",
    selection: ">",
    vertical: "|",
    horizontal: "-",
    top_left: "+",
    top_right: "+",
    bottom_left: "+",
    bottom_right: "+",
    tee_left: "+",
    tee_right: "+",
    folded: ">",
    open: "v",
    prompt: ">",
    queued: "o",
    in_flight: "^",
    accepted: "+",
    read: "++",
    uncertain: "?",
    failed: "x",
    ready: "*",
    connecting: "~",
    off: "o",
    waiting: "~",
    silent: "?",
    refused: "x",
    login: "!",
    favorite: "*",
    channel: "#",
    home: "~",
    thread: "`",
    automation: "@",
    session: "-",
    decision: "!",
    muted: "-",
    done: "[x]",
    pending: "[ ]",
    active: "[>]",
    cancelled: "[-]",
    cross: "x",
    check: "+",
    dot: "-",
    reply: ">",
    attachment: "&",
    lookalike: "!=",
    down: "v",
    up: "^",
    ellipsis: "...",
    bar_full: "=",
    bar_empty: "-",
    scroll_thumb: "#",
    queue: "=",
    caret: "_",
    spinner: &["|", "/", "-", "\\"],
};

impl Glyphs {
    /// The set for a terminal.
    pub fn of(ascii: bool) -> &'static Glyphs {
        if ascii { &ASCII } else { &UNICODE }
    }

    /// Whether this is the set for terminals that know ASCII only.
    pub fn is_ascii(&self) -> bool {
        self.ellipsis.is_ascii()
    }

    /// A cluster of our own words in this set, in as many cells.
    pub fn in_words<'a>(&self, cluster: &'a str) -> &'a str {
        match cluster {
            _ if !self.is_ascii() => cluster,
            "…" => ".",
            "·" | "•" | "–" | "—" => "-",
            "×" => "x",
            "“" | "”" => "\"",
            "‘" | "’" => "'",
            "→" => ">",
            "←" => "<",
            _ => cluster,
        }
    }

    /// The spinner at a frame that goes up by one ten times a second at most.
    pub fn spin(&self, frame: u8) -> &'static str {
        let at = usize::from(frame) % self.spinner.len();
        self.spinner[at]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_symbol_of_the_ascii_set_is_anything_else() {
        assert!(format!("{ASCII:?}").is_ascii());
    }

    #[test]
    fn our_words_are_ascii_too_where_that_is_all_there_is() {
        let words = |set: Glyphs, text: &str| -> String {
            crate::text::graphemes(text)
                .map(|c| set.in_words(c))
                .collect()
        };
        let text = "“Model…” × 2 · 漢";
        assert_eq!(words(ASCII, text), "\"Model.\" x 2 - 漢");
        assert_eq!(words(UNICODE, text), text);
    }

    #[test]
    fn the_spinner_turns_in_one_cell() {
        for set in [UNICODE, ASCII] {
            assert!(set.spinner.iter().all(|s| crate::text::width(s) == 1));
        }
    }
}
