//! What the painter sends, taken by an independent terminal model, shows the buffer.
#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use std::num::NonZeroU16;
use std::sync::Arc;
use trialogue::paint::{Depth, Graphic, LinkSpan, PaintOptions, Painter};

struct Terminal {
    model: vt100::Parser,
    painter: Painter,
    bytes: Vec<u8>,
}

impl Terminal {
    fn new(columns: u16, rows: u16, options: PaintOptions) -> Self {
        let size = |n| NonZeroU16::new(n).unwrap();
        let mut model = vt100::Parser::new(size(rows), size(columns), 0);
        // What the shell left behind.
        model.process(b"\x1b[41mgarbage\r\nmore garbage\x1b[5;5Hhere\x1b[1m");
        Self {
            model,
            painter: Painter::new(columns, rows, options),
            bytes: Vec::new(),
        }
    }

    fn show(&mut self, buffer: &Buffer, cursor: Option<(u16, u16)>) {
        self.bytes = self.painter.paint(buffer, &[], cursor);
        self.model.process(&self.bytes);
    }

    /// The first difference between what is shown and what should be.
    fn difference(&self, buffer: &Buffer, cursor: Option<(u16, u16)>) -> Option<String> {
        let screen = self.model.screen();
        let area = buffer.area;
        for y in 0..area.height {
            let mut x = 0;
            while x < area.width {
                let want = &buffer[(x, y)];
                let cell = screen.cell(y, x).unwrap();
                let mut text = cell.contents();
                if text.is_empty() {
                    text = " ";
                }
                let is_blank = want.symbol() == " "
                    && !want
                        .modifier
                        .intersects(Modifier::UNDERLINED | Modifier::REVERSED);
                let same = text == want.symbol()
                    && cell.bgcolor() == colour(want.bg)
                    && (is_blank
                        || (cell.fgcolor() == colour(want.fg)
                            // The model knows no text that is both.
                            && (want.modifier.contains(Modifier::BOLD | Modifier::DIM)
                                || (cell.bold() == want.modifier.contains(Modifier::BOLD)
                                    && cell.dim() == want.modifier.contains(Modifier::DIM)))
                            && cell.italic() == want.modifier.contains(Modifier::ITALIC)))
                    && cell.underline() == want.modifier.contains(Modifier::UNDERLINED)
                    && cell.inverse() == want.modifier.contains(Modifier::REVERSED);
                if !same {
                    return Some(format!(
                        "at {x},{y}: {text:?} {:?} for {want:?}",
                        cell.fgcolor()
                    ));
                }
                let width = trialogue::text::width(want.symbol()) as u16;
                x += width.max(1);
            }
        }
        let hidden = screen.hide_cursor();
        let place = screen.cursor_position();
        match cursor {
            Some((column, row)) if hidden || place != (row, column) => Some(format!(
                "cursor at {place:?}, hidden {hidden}, wanted {cursor:?}"
            )),
            None if !hidden => Some("cursor is shown".to_owned()),
            _ => None,
        }
    }
}

fn colour(color: Color) -> vt100::Color {
    match color {
        Color::Reset => vt100::Color::Default,
        Color::Indexed(index) => vt100::Color::Idx(index),
        Color::Rgb(r, g, b) => vt100::Color::Rgb(r, g, b),
        Color::Red => vt100::Color::Idx(1),
        Color::LightBlue => vt100::Color::Idx(12),
        other => panic!("{other:?} is not used here"),
    }
}

/// A change of the screen.
#[derive(Clone, Debug)]
enum Change {
    Text {
        x: u16,
        y: u16,
        text: String,
        style: usize,
    },
    /// Rows from `top` on move, in the columns from `left` on.
    Move {
        top: u16,
        bottom: u16,
        left: u16,
        by: i16,
    },
    Clear {
        y: u16,
    },
    Fill {
        y: u16,
        style: usize,
    },
    Invalidate,
}

const COLUMNS: u16 = 43;
const ROWS: u16 = 14;

fn style(index: usize) -> Style {
    [
        Style::new(),
        Style::new().fg(Color::Red),
        Style::new()
            .fg(Color::LightBlue)
            .add_modifier(Modifier::BOLD),
        Style::new().bg(Color::Indexed(236)),
        Style::new()
            .fg(Color::Rgb(1, 2, 3))
            .add_modifier(Modifier::UNDERLINED),
        Style::new().add_modifier(Modifier::REVERSED | Modifier::ITALIC),
        Style::new().add_modifier(Modifier::DIM),
    ][index]
}

fn change() -> impl Strategy<Value = Change> {
    // Clusters whose width the model sees as we do; the others have a test of their own.
    let text = "[a-z ]{0,18}|[a-z 配置日本あ가e\u{301}]{1,14}| {1,30}|─{1,40}";
    prop_oneof![
        6 => (0..COLUMNS, 0..ROWS, text, 0..7usize)
            .prop_map(|(x, y, text, style)| Change::Text { x, y, text, style }),
        3 => (0..ROWS, 0..ROWS, prop_oneof![Just(0), Just(12), 0..COLUMNS], -4..5i16)
            .prop_map(|(a, b, left, by)| Change::Move { top: a.min(b), bottom: a.max(b), left, by }),
        1 => (0..ROWS).prop_map(|y| Change::Clear { y }),
        1 => (0..ROWS, 0..7usize).prop_map(|(y, style)| Change::Fill { y, style }),
        1 => Just(Change::Invalidate),
    ]
}

fn apply(buffer: &mut Buffer, change: &Change) {
    match change {
        Change::Text {
            x,
            y,
            text,
            style: s,
        } => {
            // A wide cluster that is overwritten in part leaves a blank, as the view's canvas does.
            buffer.set_stringn(*x, *y, text, usize::from(COLUMNS - x), style(*s));
        }
        Change::Move {
            top,
            bottom,
            left,
            by,
        } => {
            let old = buffer.clone();
            for y in *top..=*bottom {
                let from = y as i16 + by;
                for x in *left..COLUMNS {
                    let cell = &mut buffer[(x, y)];
                    if from >= *top as i16 && from <= *bottom as i16 {
                        *cell = old[(x, from as u16)].clone();
                    } else {
                        cell.reset();
                    }
                }
            }
        }
        Change::Clear { y } => {
            for x in 0..COLUMNS {
                buffer[(x, *y)].reset();
            }
        }
        Change::Fill { y, style: s } => {
            for x in 0..COLUMNS {
                buffer[(x, *y)].reset();
                buffer[(x, *y)].set_style(style(*s));
            }
        }
        Change::Invalidate => {}
    }
    mend(buffer);
}

/// Cells that a wide cluster covers are blank in its style; one that is cut off is blank as well.
fn mend(buffer: &mut Buffer) {
    for y in 0..ROWS {
        let mut x = 0;
        while x < COLUMNS {
            let width = trialogue::text::width(buffer[(x, y)].symbol()) as u16;
            if width > 1 && x + width > COLUMNS {
                buffer[(x, y)].set_symbol(" ");
            }
            x += width.max(1);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases.max(400), failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn a_terminal_shows_what_was_painted(
        frames in prop::collection::vec((prop::collection::vec(change(), 0..5), prop::option::of((0..COLUMNS, 0..ROWS))), 1..12),
        sync in any::<bool>(),
        scroll in any::<bool>(),
        erases_in_colour in any::<bool>(),
        repeats in any::<bool>(),
    ) {
        let options = PaintOptions { sync, scroll, erases_in_colour, repeats, ..PaintOptions::default() };
        let mut terminal = Terminal::new(COLUMNS, ROWS, options);
        let mut buffer = Buffer::empty(Rect::new(0, 0, COLUMNS, ROWS));
        for (changes, cursor) in &frames {
            for change in changes {
                apply(&mut buffer, change);
                if matches!(change, Change::Invalidate) {
                    terminal.model.process(b"\x1b[7mstray output\x1b[3;3H\x1b[31mmore");
                    terminal.painter.invalidate();
                }
            }
            terminal.show(&buffer, *cursor);
            prop_assert_eq!(terminal.difference(&buffer, *cursor), None, "{:?}", String::from_utf8_lossy(&terminal.bytes));
            prop_assert!(!terminal.bytes.windows(4).any(|w| w == b"\x1b[2J" || w == b"\x1b[3J"));
            let again = terminal.painter.paint(&buffer, &[], *cursor);
            prop_assert_eq!(again, Vec::<u8>::new());
        }
    }
}

/// A chat: sidebar, rule, text that has come so far.
fn chat(lines: &[String], entries: u16) -> Buffer {
    let (columns, rows) = (120, 40);
    let mut buffer = Buffer::empty(Rect::new(0, 0, columns, rows));
    // As in the themes, everything has a background and the sidebar another one.
    let area = buffer.area;
    buffer.set_style(area, Style::new().bg(Color::Indexed(233)));
    buffer.set_style(
        Rect::new(0, 0, 25, rows),
        Style::new().bg(Color::Indexed(234)),
    );
    for y in 0..rows {
        let entry = if y < entries {
            format!("  conversation {y}")
        } else {
            String::new()
        };
        buffer.set_stringn(0, y, &entry, 24, Style::new().fg(Color::Indexed(244)));
        buffer.set_string(24, y, "│", Style::new().fg(Color::Indexed(238)));
    }
    let first = lines.len().saturating_sub(usize::from(rows) - 3);
    for (y, line) in lines[first..].iter().enumerate() {
        buffer.set_stringn(26, y as u16, line, 93, Style::new());
    }
    buffer.set_string(26, rows - 2, "› message", Style::new());
    buffer
}

#[test]
fn text_that_streams_in_costs_little_more_than_itself() {
    let mut terminal = Terminal::new(
        120,
        40,
        PaintOptions {
            sync: true,
            ..PaintOptions::default()
        },
    );
    let mut lines = vec![String::new()];
    let mut sent = 0;
    let mut text = 0;
    terminal.show(&chat(&lines, 10), Some((35, 38)));
    for piece in 0..2000 {
        let word = ["some ", "words of ", "an answer ", "that goes on, "][piece % 4];
        if lines.last().unwrap().len() + word.len() > 90 {
            lines.push(String::new());
        }
        lines.last_mut().unwrap().push_str(word);
        text += word.len();
        let buffer = chat(&lines, 10);
        terminal.show(&buffer, Some((35, 38)));
        sent += terminal.bytes.len();
        if piece % 100 == 0 {
            assert_eq!(terminal.difference(&buffer, Some((35, 38))), None);
        }
    }
    assert!(sent < text * 5, "{sent} bytes for {text}");
}

#[test]
fn a_key_costs_a_few_bytes() {
    let mut terminal = Terminal::new(
        120,
        40,
        PaintOptions {
            sync: true,
            ..PaintOptions::default()
        },
    );
    let mut buffer = chat(&["text".to_owned()], 10);
    terminal.show(&buffer, Some((35, 38)));
    buffer.set_string(35, 38, "x", Style::new());
    terminal.show(&buffer, Some((36, 38)));
    assert_eq!(terminal.difference(&buffer, Some((36, 38))), None);
    assert!(
        terminal.bytes.len() <= 17,
        "{:?}",
        String::from_utf8_lossy(&terminal.bytes)
    );
}

#[test]
fn a_page_that_scrolls_is_moved_and_the_sidebar_mended() {
    let mut terminal = Terminal::new(120, 40, PaintOptions::default());
    let lines: Vec<String> = (0..80)
        .map(|n| {
            format!(
                "line {n} with a good many words that differ from line to line {}",
                n * 7919
            )
        })
        .collect();
    terminal.show(&chat(&lines[..50], 10), None);
    for (count, most) in [(51, 700), (47, 1000), (62, 1900), (80, 2000)] {
        let buffer = chat(&lines[..count], 10);
        terminal.show(&buffer, None);
        assert_eq!(terminal.difference(&buffer, None), None);
        let bytes = terminal.bytes.len();
        assert!(bytes < most, "{bytes} bytes to show {count} lines");
    }
}

#[test]
fn borders_stand_where_they_should_behind_clusters_that_terminals_measure_otherwise() {
    let clusters = [
        "👨‍👩‍👧",
        "🇩🇪",
        "1\u{fe0f}\u{20e3}",
        "❤\u{fe0f}",
        "👍🏽",
        "क्षि",
        "☺",
        "e\u{301}\u{302}",
    ];
    let mut terminal = Terminal::new(20, 10, PaintOptions::default());
    let mut buffer = Buffer::empty(Rect::new(0, 0, 20, 10));
    for (y, cluster) in clusters.iter().enumerate() {
        let width = trialogue::text::width(cluster) as u16;
        for x in [2, 19 - width] {
            buffer.set_string(x, y as u16, cluster, Style::new());
        }
        buffer.set_string(19, y as u16, "│", Style::new());
        buffer.set_string(8, y as u16, "mid", Style::new());
    }
    terminal.show(&buffer, None);
    for change in ["one", "two"] {
        let screen = terminal.model.screen();
        for y in 0..clusters.len() as u16 {
            assert_eq!(
                screen.cell(y, 19).unwrap().contents(),
                "│",
                "row {y} {change}"
            );
            let mid: String = (8..11)
                .map(|x| screen.cell(y, x).unwrap().contents().to_owned())
                .collect();
            assert_eq!(mid, "mid", "row {y} {change}");
        }
        // The cluster goes and nothing of it is left.
        for y in 0..clusters.len() as u16 {
            buffer.set_string(2, y, "      ", Style::new());
        }
        terminal.show(&buffer, None);
    }
    for y in 0..clusters.len() as u16 {
        for x in 0..8 {
            let text = terminal
                .model
                .screen()
                .cell(y, x)
                .unwrap()
                .contents()
                .to_owned();
            assert!(text.trim().is_empty(), "{text:?} at {x},{y}");
        }
    }
}

#[test]
fn a_link_is_open_only_around_its_cells_and_only_to_where_links_may_lead() {
    let mut painter = Painter::new(20, 2, PaintOptions::default());
    let mut buffer = Buffer::empty(Rect::new(0, 0, 20, 2));
    buffer.set_string(0, 0, "see here now", Style::new());
    let link = |row, target: &str| LinkSpan {
        row,
        column: 4,
        width: 4,
        target: Arc::from(target),
    };
    let bytes = painter.paint(&buffer, &[link(0, "https://a.example/ä")], None);
    let text = String::from_utf8(bytes).unwrap();
    let open = text
        .find(";https://a.example/%C3%A4\x1b\\here")
        .expect("link around its text");
    assert!(text[open..].contains("here\x1b]8;;\x1b\\ now"), "{text:?}");
    for target in [
        "javascript:alert(1)",
        "file:///etc/passwd",
        "https://a\x1b\\b",
        "https://a b",
    ] {
        let mut painter = Painter::new(20, 2, PaintOptions::default());
        let bytes = painter.paint(&buffer, &[link(0, target)], None);
        assert!(!bytes.windows(4).any(|w| w == b"\x1b]8;"), "{target}");
    }
    let plain = PaintOptions {
        links: false,
        ..PaintOptions::default()
    };
    let bytes = Painter::new(20, 2, plain).paint(&buffer, &[link(0, "https://a.example")], None);
    assert!(!bytes.windows(4).any(|w| w == b"\x1b]8;"));
}

#[test]
fn no_cell_brings_a_sequence_of_its_own() {
    let mut painter = Painter::new(12, 1, PaintOptions::default());
    let mut buffer = Buffer::empty(Rect::new(0, 0, 12, 1));
    for (x, symbol) in ["\x1b[2J", "\x07", "\u{9b}2J", "\r", "a\u{0}"]
        .iter()
        .enumerate()
    {
        buffer[(x as u16 * 2, 0)].set_symbol(symbol);
    }
    let bytes = painter.paint(&buffer, &[], None);
    let text = String::from_utf8(bytes).unwrap();
    assert!(
        !text.contains("2J") && !text.contains(['\x07', '\u{9b}', '\0']),
        "{text:?}"
    );
}

#[test]
fn without_colours_none_are_sent() {
    let mut buffer = Buffer::empty(Rect::new(0, 0, 12, 1));
    buffer.set_string(
        0,
        0,
        "x",
        Style::new()
            .fg(Color::Rgb(9, 9, 9))
            .bg(Color::Red)
            .add_modifier(Modifier::BOLD),
    );
    for (depth, wanted) in [
        (Depth::Mono, "\x1b[0;1mx"),
        (Depth::Sixteen, "\x1b[0;1;30;41mx"),
        (Depth::Palette, "\x1b[0;1;38;5;232;41mx"),
        (Depth::True, "\x1b[0;1;38;2;9;9;9;41mx"),
    ] {
        let options = PaintOptions {
            colours: depth,
            ..PaintOptions::default()
        };
        let bytes = Painter::new(12, 1, options).paint(&buffer, &[], None);
        let text = String::from_utf8(bytes).unwrap();
        assert!(text.contains(wanted), "{depth:?}: {text:?}");
    }
}

#[test]
fn any_size_is_taken() {
    let mut painter = Painter::new(10, 5, PaintOptions::default());
    for (columns, rows) in [(40, 12), (1, 1), (0, 0), (3, 0), (0, 3), (300, 2), (5, 60)] {
        let mut buffer = Buffer::empty(Rect::new(0, 0, columns, rows));
        if columns > 0 && rows > 0 {
            buffer.set_string(0, 0, "配置 text", Style::new());
        }
        painter.paint(&buffer, &[], Some((columns, rows)));
        painter.paint(&buffer, &[], None);
    }
}

/// A buffer with text and a hole of two rows and four columns at 2,1.
fn with_hole() -> Buffer {
    let mut buffer = Buffer::empty(Rect::new(0, 0, 12, 5));
    for y in 0..5 {
        buffer.set_string(0, y, "abcdefghijkl", Style::default());
    }
    for y in 1..3 {
        for x in 2..6 {
            buffer[(x, y)].reset();
            buffer[(x, y)].set_diff_option(ratatui::buffer::CellDiffOption::Skip);
        }
    }
    buffer
}

#[test]
fn a_picture_is_sent_once_and_again_only_when_something_was_there() {
    let picture: Arc<str> = format!("\x1bP0;1;0q{}\x1b\\", "#0;2;0;0;0~".repeat(9)).into();
    let graphic = || Graphic {
        column: 2,
        row: 1,
        columns: 4,
        rows: 2,
        parts: vec![Arc::clone(&picture)],
    };
    let mut painter = Painter::new(12, 5, PaintOptions::default());
    let mut paint = |buffer: &Buffer, graphics: Vec<Graphic>| {
        String::from_utf8(painter.paint_with(buffer, &[], graphics, None)).unwrap()
    };
    let plain = {
        let mut buffer = with_hole();
        for y in 1..3 {
            buffer.set_string(2, y, "cdef", Style::default());
            for x in 2..6 {
                buffer[(x, y)].set_diff_option(ratatui::buffer::CellDiffOption::None);
            }
        }
        buffer
    };
    let first = paint(&with_hole(), vec![graphic()]);
    assert_eq!(first.matches(&*picture).count(), 1);
    assert_eq!(
        first.matches("\x1b[4X").count(),
        2,
        "its cells are erased before: {first:?}"
    );
    assert_eq!(paint(&with_hole(), vec![graphic()]), "", "nothing changed");
    // Something beside it changes: it stays.
    let mut beside = with_hole();
    beside.set_string(8, 1, "XY", Style::default());
    let change = paint(&beside, vec![graphic()]);
    assert!(
        change.contains("XY") && !change.contains(&*picture),
        "{change:?}"
    );
    // A popup comes over it and goes.
    let covered = paint(&plain, Vec::new());
    assert!(
        covered.contains("cdef") && !covered.contains(&*picture),
        "{covered:?}"
    );
    assert!(paint(&with_hole(), vec![graphic()]).contains(&*picture));
    // It moves down by a row: the row it left is written, and it is sent to its new place.
    let mut moved = plain.clone();
    for y in 2..4 {
        for x in 2..6 {
            moved[(x, y)].reset();
            moved[(x, y)].set_diff_option(ratatui::buffer::CellDiffOption::Skip);
        }
    }
    let lower = Graphic {
        row: 2,
        ..graphic()
    };
    let change = paint(&moved, vec![lower]);
    assert!(
        change.contains("cdef") && change.contains(&*picture),
        "{change:?}"
    );
}

#[test]
fn placeholders_of_a_kept_picture_are_written_in_one_go() {
    let mut buffer = Buffer::empty(Rect::new(0, 0, 8, 1));
    for (x, mark) in ["\u{305}", "\u{30d}", "\u{30e}"].into_iter().enumerate() {
        let cell = &mut buffer[(u16::try_from(x).unwrap(), 0)];
        cell.set_symbol(&format!("\u{10eeee}\u{305}{mark}"));
        cell.set_fg(Color::Indexed(17));
    }
    let mut painter = Painter::new(8, 1, PaintOptions::default());
    let bytes = String::from_utf8(painter.paint(&buffer, &[], None)).unwrap();
    assert!(
        bytes.contains("\u{10eeee}\u{305}\u{305}\u{10eeee}\u{305}\u{30d}\u{10eeee}\u{305}\u{30e}"),
        "{bytes:?}"
    );
    assert!(
        bytes.contains("38;5;17m"),
        "the number goes as a colour: {bytes:?}"
    );
}
