//! Cleaning: from text as it came to text that is safe to show. Runs over a text once, copies what
//! is plain in one piece, and can begin anywhere behind a line break or between two plain
//! characters with the same result as from the start.

use super::class::{Class, class, is_pictograph, takes_joiner, takes_variation};
use super::width::{cluster_width, clusters};

/// Where a tab takes the text.
const TAB_STOP: usize = 4;

/// Marks in a row on one character; the rest is taken out.
const MARKS_IN_PROSE: usize = 6;
const MARKS_IN_LABELS: usize = 3;

/// Characters and cells of one cluster. No letter or picture of the world needs more, but some
/// scripts let a cluster grow without end.
const CLUSTER_CHARS: usize = 24;
const CLUSTER_CELLS: usize = 4;

/// Stands where something was taken out.
const MARK: char = '\u{fffd}';

/// Three ways to clean.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Manner {
    /// Line breaks stay; what is hidden leaves one mark.
    Prose,
    /// One line; what is hidden leaves one mark.
    Label,
    /// Line breaks stay; what is hidden is named, nothing is left out.
    Command,
}

/// A place where cleaning can begin again: bytes of the raw text, bytes of the clean text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Resume {
    pub raw: usize,
    pub clean: usize,
    /// Cells between the last line break and here.
    pub column: usize,
    /// Whether anything before was changed by cleaning.
    pub changed: bool,
}

/// Bytes of raw text between two places to begin again.
const RESUME_EVERY: usize = 2048;

/// Cleans a whole text.
pub(super) fn clean(raw: &str, manner: Manner) -> String {
    if is_clean_ascii(raw, manner) {
        return raw.to_owned();
    }
    let mut cleaner = Cleaner::new(raw, manner, String::with_capacity(raw.len()), Resume::START);
    cleaner.run(None);
    cleaner.out
}

/// Cleans `raw` from `from` on, behind the clean text so far; notes places to begin again. True
/// when the text behind `from` or before was changed by cleaning.
pub(super) fn clean_behind(
    out: &mut String,
    raw: &str,
    from: Resume,
    resumes: &mut Vec<Resume>,
) -> bool {
    let mut cleaner = Cleaner::new(raw, Manner::Prose, std::mem::take(out), from);
    cleaner.run(Some(resumes));
    *out = cleaner.out;
    cleaner.changed
}

fn is_clean_ascii(raw: &str, manner: Manner) -> bool {
    raw.bytes()
        .all(|b| (0x20..0x7f).contains(&b) || (b == b'\n' && manner != Manner::Label))
}

impl Resume {
    pub(super) const START: Self = Self {
        raw: 0,
        clean: 0,
        column: 0,
        changed: false,
    };
}

struct Cleaner<'a> {
    raw: &'a str,
    at: usize,
    out: String,
    manner: Manner,
    changed: bool,
    /// Bytes of `out` up to which `column` counts.
    counted: usize,
    column: usize,
    /// Whether the last thing written is the mark of something taken out.
    after_mark: bool,
}

impl<'a> Cleaner<'a> {
    fn new(raw: &'a str, manner: Manner, out: String, from: Resume) -> Self {
        Self {
            raw,
            at: from.raw,
            counted: out.len(),
            column: from.column,
            out,
            manner,
            changed: from.changed,
            after_mark: false,
        }
    }

    fn run(&mut self, mut resumes: Option<&mut Vec<Resume>>) {
        let mut last_resume = self.at;
        while self.at < self.raw.len() {
            if let Some(resumes) = resumes.as_deref_mut()
                && self.at >= last_resume + RESUME_EVERY
                && self.can_resume_here()
            {
                last_resume = self.at;
                resumes.push(Resume {
                    raw: self.at,
                    clean: self.out.len(),
                    column: self.column(),
                    changed: self.changed,
                });
            }
            self.plain_run();
            if let Some(c) = self.raw[self.at..].chars().next() {
                match class(c) {
                    Class::Plain => {}
                    Class::Newline if self.manner != Manner::Label => {
                        self.out.push('\n');
                        self.at += 1;
                        self.counted = self.out.len();
                        self.column = 0;
                        self.after_mark = false;
                    }
                    other => self.special(c, other),
                }
            }
        }
    }

    /// Copies plain characters, at most so many that a place to begin again can be noted in time.
    fn plain_run(&mut self) {
        let start = self.at;
        let limit = start + RESUME_EVERY;
        let bytes = self.raw.as_bytes();
        let mut at = start;
        while at < bytes.len() && at < limit {
            if (0x20..0x7f).contains(&bytes[at]) {
                at += 1;
                continue;
            }
            match self.raw[at..].chars().next() {
                Some(c) if class(c) == Class::Plain => at += c.len_utf8(),
                _ => break,
            }
        }
        if at == start {
            return;
        }
        self.after_mark = false;
        self.out.push_str(&self.raw[start..at]);
        self.at = at;
    }

    /// Between two plain characters, or behind a line break and before a plain one, nothing joins.
    fn can_resume_here(&self) -> bool {
        let is_loose = |c: char| c.is_ascii_graphic() || c == ' ' || super::width::is_ideograph(c);
        self.raw[..self.at]
            .chars()
            .next_back()
            .is_some_and(|c| c == '\n' || is_loose(c))
            && self.raw[self.at..].chars().next().is_some_and(is_loose)
    }

    /// Cells since the last line break.
    fn column(&mut self) -> usize {
        let new = &self.out[self.counted..];
        self.column += super::width(new);
        self.counted = self.out.len();
        self.column
    }

    fn special(&mut self, c: char, class: Class) {
        match class {
            Class::Tab => {
                let cells = match self.manner {
                    Manner::Label => 1,
                    Manner::Prose | Manner::Command => TAB_STOP - self.column() % TAB_STOP,
                };
                self.out.extend(std::iter::repeat_n(' ', cells));
                self.step(c);
            }
            Class::Newline => {
                self.out.push('\u{240a}');
                self.step(c);
            }
            Class::Control if c == '\r' && self.is_line_end() => {
                // A line end of other systems; the line feed behind it does the work.
                self.step(c);
                if self.manner == Manner::Command {
                    self.out.push('\u{240d}');
                }
            }
            Class::Control => {
                let picture = if c == '\u{7f}' {
                    0x2421
                } else {
                    0x2400 + c as u32
                };
                self.out.push(char::from_u32(picture).unwrap_or(MARK));
                self.step(c);
            }
            Class::Separator if self.manner == Manner::Prose => {
                self.out.push('\n');
                self.step(c);
                self.counted = self.out.len();
                self.column = 0;
            }
            Class::Separator | Class::Hidden => self.take_out(c),
            Class::Combining | Class::Variation | Class::Joiner | Class::Tag | Class::Joining => {
                self.joining_run();
            }
            Class::Plain => {}
        }
    }

    fn step(&mut self, c: char) {
        self.at += c.len_utf8();
        self.changed = true;
        self.after_mark = false;
    }

    fn is_line_end(&self) -> bool {
        self.manner != Manner::Label && self.raw[self.at + 1..].starts_with('\n')
    }

    /// Leaves a mark for a character: one for a row of them, or its number in a command.
    fn take_out(&mut self, c: char) {
        self.at += c.len_utf8();
        self.changed = true;
        if self.manner == Manner::Command {
            push_name(&mut self.out, c);
        } else if !self.after_mark {
            self.out.push(MARK);
        }
        self.after_mark = true;
    }

    /// Characters that may join, looked at together with the character they follow.
    fn joining_run(&mut self) {
        let lead = self.out.chars().next_back().filter(|c| *c != '\n');
        let start = self.out.len() - lead.map_or(0, char::len_utf8);
        if self.counted > start {
            // What follows may change how wide the lead is.
            self.column -= super::width(&self.out[start..]).min(self.column);
            self.counted = start;
        }
        let mut previous = lead;
        let mut marks = 0;
        while let Some(c) = self.raw[self.at..].chars().next() {
            let class = class(c);
            let behind = &self.raw[self.at + c.len_utf8()..];
            let keep = match class {
                Class::Joining => Some(c.len_utf8()),
                Class::Combining => {
                    marks += 1;
                    (marks <= self.marks_allowed()).then_some(c.len_utf8())
                }
                Class::Variation => previous
                    .is_some_and(|base| takes_variation(base, c))
                    .then_some(c.len_utf8()),
                // A mark that is one too many is taken out, and leaves nothing to join.
                Class::Joiner => previous
                    .is_some_and(|before| {
                        let after = behind.chars().next().filter(|after| {
                            self::class(*after) != Class::Combining || marks < self.marks_allowed()
                        });
                        joins(before, c, after)
                    })
                    .then_some(c.len_utf8()),
                Class::Tag => flag_name(previous, &self.raw[self.at..]),
                _ => break,
            };
            if class == Class::Joining {
                marks = 0;
            }
            match keep {
                Some(len) => {
                    let kept = &self.raw[self.at..self.at + len];
                    self.out.push_str(kept);
                    self.at += len;
                    self.after_mark = false;
                    previous = kept.chars().next_back();
                }
                None => {
                    self.take_out(c);
                    previous = None;
                }
            }
        }
        if let Some(limited) = limit_clusters(&self.out[start..], self.manner) {
            self.out.truncate(start);
            self.out.push_str(&limited);
            self.changed = true;
        }
    }

    fn marks_allowed(&self) -> usize {
        match self.manner {
            Manner::Prose => MARKS_IN_PROSE,
            Manner::Label | Manner::Command => MARKS_IN_LABELS,
        }
    }
}

/// Names a character that has no picture.
fn push_name(out: &mut String, c: char) {
    use std::fmt::Write;
    // Writing to a string does not fail.
    let _ = write!(out, "\u{27e8}U+{:04X}\u{27e9}", c as u32);
}

/// Whether a joiner stands where it binds or parts something.
fn joins(before: char, joiner: char, after: Option<char>) -> bool {
    let Some(after) = after else {
        return false;
    };
    let letters = takes_joiner(before) && takes_joiner(after);
    let is_picture = |c: char| is_pictograph(c) || c == '\u{fe0f}' || c == '\u{e007f}';
    letters || (joiner == '\u{200d}' && is_picture(before) && is_pictograph(after))
}

/// The length of the tags that name a flag, when they stand behind the black one and end.
fn flag_name(before: Option<char>, tags: &str) -> Option<usize> {
    if before != Some('\u{1f3f4}') {
        return None;
    }
    for (count, (at, c)) in tags.char_indices().enumerate().take(7) {
        match c {
            '\u{e007f}' if count >= 3 => return Some(at + c.len_utf8()),
            '\u{e0030}'..='\u{e0039}' | '\u{e0061}'..='\u{e007a}' => {}
            _ => return None,
        }
    }
    None
}

/// The text with every cluster cut to a size that letters have; none when all have it. A cluster
/// without width would not be drawn at all, so it becomes a mark.
fn limit_clusters(text: &str, manner: Manner) -> Option<String> {
    let fits = |text: &str, width: usize| {
        (1..=CLUSTER_CELLS).contains(&width)
            && (text.len() <= CLUSTER_CHARS || text.chars().count() <= CLUSTER_CHARS)
    };
    if clusters(text).all(|c| fits(c.text, c.width)) {
        return None;
    }
    let mut out = String::with_capacity(text.len());
    for cluster in clusters(text) {
        if fits(cluster.text, cluster.width) {
            out.push_str(cluster.text);
        } else if cluster.width == 0 {
            match manner {
                Manner::Command => cluster.text.chars().for_each(|c| push_name(&mut out, c)),
                Manner::Prose | Manner::Label => out.push(MARK),
            }
        } else {
            let mut part = String::new();
            for c in cluster.text.chars() {
                part.push(c);
                if !fits(&part, cluster_width(&part).max(1)) {
                    part.pop();
                    out.push_str(&part);
                    out.push(MARK);
                    part.clear();
                    part.push(c);
                }
            }
            out.push_str(&part);
        }
    }
    Some(out)
}
