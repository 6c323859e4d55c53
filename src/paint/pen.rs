//! Attributes as the terminal has them set, and the shortest way to others.

use super::cell::{SEEN_ON_BLANKS, Shown};
use super::colour::Colour;
use ratatui::style::Modifier;
use std::sync::Arc;

/// What the terminal's pen is set to.
#[derive(Clone, Debug, Default)]
pub(super) struct Pen {
    /// None before anything is known.
    looks: Option<Looks>,
    link: Option<Arc<str>>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Looks {
    foreground: Colour,
    background: Colour,
    modifier: Modifier,
}

impl Looks {
    const PLAIN: Self = Self {
        foreground: Colour::DEFAULT,
        background: Colour::DEFAULT,
        modifier: Modifier::empty(),
    };

    /// Whether a blank comes out in this background and without marks.
    fn shows_blank(self, background: Colour) -> bool {
        self.background == background && !self.modifier.intersects(SEEN_ON_BLANKS)
    }

    fn of(cell: &Shown) -> Self {
        Self {
            foreground: cell.foreground,
            background: cell.background,
            modifier: cell.modifier,
        }
    }
}

impl Pen {
    /// Whether writing this cell needs nothing set.
    pub fn is_set_to(&self, cell: &Shown) -> bool {
        self.link == cell.link
            && self.looks.is_some_and(|looks| {
                if cell.is_blank() {
                    looks.shows_blank(cell.background)
                } else {
                    looks == Looks::of(cell)
                }
            })
    }

    /// Sets what a cell wants.
    pub fn set(&mut self, cell: &Shown, out: &mut String) {
        if cell.is_blank() {
            self.set_blank(cell.background, out);
            return;
        }
        if self.link != cell.link {
            self.set_link(cell.link.clone(), out);
        }
        self.set_looks(Looks::of(cell), out);
    }

    /// Sets what a blank or erased cell has: this background, nothing that shows on blanks. The rest
    /// stays for the letters that follow.
    pub fn set_blank(&mut self, background: Colour, out: &mut String) {
        self.end_link(out);
        match self.looks {
            Some(looks) if looks.shows_blank(background) => {}
            looks => {
                let looks = looks.unwrap_or(Looks::PLAIN);
                let wanted = Looks {
                    background,
                    modifier: looks.modifier - SEEN_ON_BLANKS,
                    ..looks
                };
                self.set_looks(wanted, out);
            }
        }
    }

    /// Ends a link: none stays open from one frame to the next.
    pub fn end_link(&mut self, out: &mut String) {
        if self.link.is_some() {
            self.set_link(None, out);
        }
    }

    fn set_link(&mut self, link: Option<Arc<str>>, out: &mut String) {
        match &link {
            Some(target) => {
                // The same id binds the parts of a link that is wrapped.
                let id = target
                    .bytes()
                    .fold(5381u32, |id, b| id.wrapping_mul(33) ^ u32::from(b));
                out.push_str(&format!("\x1b]8;id={id:x};{target}\x1b\\"));
            }
            None => out.push_str("\x1b]8;;\x1b\\"),
        }
        self.link = link;
    }

    fn set_looks(&mut self, wanted: Looks, out: &mut String) {
        if self.looks == Some(wanted) {
            return;
        }
        let mut anew = vec![0];
        add(Looks::PLAIN, wanted, &mut anew);
        let parameters = match self.looks {
            None => anew,
            Some(now) => {
                let mut step = Vec::new();
                remove(now, wanted, &mut step);
                add(now, wanted, &mut step);
                if length(&step) <= length(&anew) {
                    step
                } else {
                    anew
                }
            }
        };
        out.push_str("\x1b[");
        if parameters != [0] {
            for (number, parameter) in parameters.iter().enumerate() {
                if number > 0 {
                    out.push(';');
                }
                out.push_str(&parameter.to_string());
            }
        }
        out.push('m');
        self.looks = Some(wanted);
    }
}

const MODIFIERS: [(Modifier, u32); 9] = [
    (Modifier::BOLD, 1),
    (Modifier::DIM, 2),
    (Modifier::ITALIC, 3),
    (Modifier::UNDERLINED, 4),
    (Modifier::SLOW_BLINK, 5),
    (Modifier::RAPID_BLINK, 6),
    (Modifier::REVERSED, 7),
    (Modifier::HIDDEN, 8),
    (Modifier::CROSSED_OUT, 9),
];

/// Takes away what is not wanted. Bold and dim, and the two kinds of blinking, only go together.
fn remove(now: Looks, wanted: Looks, parameters: &mut Vec<u32>) {
    let gone = now.modifier - wanted.modifier;
    for (group, off) in groups() {
        if gone.intersects(group) {
            parameters.push(off);
        }
    }
}

fn groups() -> [(Modifier, u32); 7] {
    [
        (Modifier::BOLD | Modifier::DIM, 22),
        (Modifier::ITALIC, 23),
        (Modifier::UNDERLINED, 24),
        (Modifier::SLOW_BLINK | Modifier::RAPID_BLINK, 25),
        (Modifier::REVERSED, 27),
        (Modifier::HIDDEN, 28),
        (Modifier::CROSSED_OUT, 29),
    ]
}

fn add(now: Looks, wanted: Looks, parameters: &mut Vec<u32>) {
    let gone = now.modifier - wanted.modifier;
    let mut kept = now.modifier;
    for (group, _) in groups() {
        if gone.intersects(group) {
            kept -= group;
        }
    }
    for (modifier, on) in MODIFIERS {
        if (wanted.modifier - kept).contains(modifier) {
            parameters.push(on);
        }
    }
    if now.foreground != wanted.foreground {
        wanted.foreground.push(30, parameters);
    }
    if now.background != wanted.background {
        wanted.background.push(40, parameters);
    }
}

fn length(parameters: &[u32]) -> usize {
    parameters.iter().map(|p| 1 + p.to_string().len()).sum()
}

/// A target as a terminal may be told it: an address of a kind that only shows something, in
/// visible ASCII, of bounded length. None for any other.
pub(super) fn link_target(target: &Arc<str>) -> Option<Arc<str>> {
    const LONGEST: usize = 2000;
    let scheme = target.split(':').next()?.to_ascii_lowercase();
    if !matches!(scheme.as_str(), "http" | "https" | "mailto") || target.len() > LONGEST {
        return None;
    }
    if target.bytes().all(|b| (0x21..0x7f).contains(&b)) {
        return Some(target.clone());
    }
    if target.chars().any(|c| c.is_control() || c == ' ') {
        return None;
    }
    let mut encoded = String::with_capacity(target.len() * 2);
    for byte in target.bytes() {
        match byte {
            0x21..0x7f => encoded.push(char::from(byte)),
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    Some(encoded.into())
}
