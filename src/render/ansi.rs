//! Text that is not Markdown: plain text, and what tools print with colours in it.

use super::Options;
use super::flow::{Flow, Prefix, Style};
use super::links::find_address;
use super::row::{Emphasis, Role, Row, Tint};
use crate::text::SafeText;

/// Lays out plain text: lines stay lines, long ones are wrapped, addresses become links.
pub fn plain(text: &str, options: &Options) -> Vec<Row> {
    let text = SafeText::prose(text);
    let mut rows = Vec::new();
    for line in lines(text.as_str()) {
        let mut flow = Flow::default();
        flow.push(line, &Style::default());
        flow_rows(flow, options, &mut rows);
    }
    rows
}

/// Lays out what a tool printed. Colours and emphasis, asked for by the usual sequences, become
/// styles; every other sequence stays visible as text and does nothing. Takes the text as it came
/// or cleaned already, where the escape character is its picture.
pub fn ansi(text: &str, options: &Options) -> Vec<Row> {
    let text = SafeText::prose(text);
    let mut rows = Vec::new();
    let mut look = Look::default();
    for line in lines(text.as_str()) {
        let mut flow = Flow::default();
        let mut rest = line;
        while let Some(at) = rest.find(ESCAPE) {
            flow.push(&rest[..at], &look.style());
            rest = &rest[at..];
            match look.take(&rest[ESCAPE.len_utf8()..]) {
                Some(len) => rest = &rest[ESCAPE.len_utf8() + len..],
                None => {
                    let (escape, behind) = rest.split_at(ESCAPE.len_utf8());
                    flow.push(escape, &look.style());
                    rest = behind;
                }
            }
        }
        flow.push(rest, &look.style());
        flow_rows(flow, options, &mut rows);
    }
    rows
}

/// The picture that cleaning puts for the escape character.
const ESCAPE: char = '\u{241b}';

/// The lines of a text; a line feed at the end begins none.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.strip_suffix('\n').unwrap_or(text).split('\n')
}

fn flow_rows(mut flow: Flow, options: &Options, rows: &mut Vec<Row>) {
    let mut at = 0;
    while let Some(range) = find_address(flow.text(), at) {
        at = range.end;
        flow.link(range);
    }
    flow.rows(&mut Prefix::default(), options.cells(), rows);
}

/// How the text looks that comes next.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Look {
    foreground: Tint,
    background: Tint,
    emphasis: Emphasis,
}

impl Look {
    fn style(self) -> Style {
        let is_tinted = self.foreground != Tint::Default || self.background != Tint::Default;
        Style {
            role: if is_tinted {
                Role::Tinted {
                    foreground: self.foreground,
                    background: self.background,
                }
            } else {
                Role::Text
            },
            emphasis: self.emphasis,
            link: None,
        }
    }

    /// Takes a colour sequence without its escape character; gives its length when it is one.
    fn take(&mut self, text: &str) -> Option<usize> {
        /// No honest sequence is longer.
        const LONGEST: usize = 64;
        let parameters = text.strip_prefix('[')?;
        let end = parameters
            .bytes()
            .take(LONGEST)
            .position(|b| !matches!(b, b'0'..=b'9' | b';' | b':'))?;
        if parameters.as_bytes()[end] != b'm' {
            return None;
        }
        let mut numbers = parameters[..end]
            .split([';', ':'])
            .map(|n| n.parse::<u16>().unwrap_or(0));
        while let Some(number) = numbers.next() {
            self.apply(number, &mut numbers);
        }
        Some(1 + end + 1)
    }

    fn apply(&mut self, number: u16, more: &mut impl Iterator<Item = u16>) {
        let add = |look: &mut Self, e: Emphasis| look.emphasis = look.emphasis.with(e);
        let drop = |look: &mut Self, e: Emphasis| look.emphasis = look.emphasis.without(e);
        match number {
            0 => *self = Self::default(),
            1 => add(self, Emphasis::BOLD),
            2 => add(self, Emphasis::DIM),
            3 => add(self, Emphasis::ITALIC),
            4 | 21 => add(self, Emphasis::UNDERLINE),
            7 => add(self, Emphasis::REVERSE),
            9 => add(self, Emphasis::STRIKE),
            22 => drop(self, Emphasis::BOLD.with(Emphasis::DIM)),
            23 => drop(self, Emphasis::ITALIC),
            24 => drop(self, Emphasis::UNDERLINE),
            27 => drop(self, Emphasis::REVERSE),
            29 => drop(self, Emphasis::STRIKE),
            30..=37 => self.foreground = palette(number - 30),
            38 => self.foreground = extended(more).unwrap_or(self.foreground),
            39 => self.foreground = Tint::Default,
            40..=47 => self.background = palette(number - 40),
            48 => self.background = extended(more).unwrap_or(self.background),
            49 => self.background = Tint::Default,
            90..=97 => self.foreground = palette(number - 90 + 8),
            100..=107 => self.background = palette(number - 100 + 8),
            // Blinking, hiding, fonts and frames: nobody misses them, and hidden text is a trap.
            _ => {}
        }
    }
}

fn palette(index: u16) -> Tint {
    Tint::Palette(u8::try_from(index).unwrap_or(7))
}

fn extended(more: &mut impl Iterator<Item = u16>) -> Option<Tint> {
    let byte = |n: Option<u16>| n.and_then(|n| u8::try_from(n).ok());
    match more.next()? {
        5 => Some(Tint::Palette(byte(more.next())?)),
        2 => Some(Tint::Rgb(
            byte(more.next())?,
            byte(more.next())?,
            byte(more.next())?,
        )),
        _ => None,
    }
}
