//! What one update costs inside the program: from its decoded text to the bytes for the terminal.

use super::corpus;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use std::time::{Duration, Instant};
use trialogue::domain::{Body, TextPatch};
use trialogue::paint::{PaintOptions, Painter};
use trialogue::render::{Colours, Layout, Options};

const COLUMNS: u16 = 120;
const ROWS: u16 = 40;
const STEPS: u32 = 300;

/// A long answer: those of the corpus, over and over, up to so many bytes.
pub fn answer(bytes: usize) -> String {
    let answers: String = corpus::ALL
        .iter()
        .filter(|(name, _)| name.starts_with("answer"))
        .map(|(_, source)| format!("{source}\n\n"))
        .collect();
    let mut source = String::new();
    while source.len() < bytes {
        source.push_str(&answers);
    }
    let mut end = bytes;
    while !source.is_char_boundary(end) {
        end -= 1;
    }
    let end = source[..end].rfind("\n\n").map_or(end, |at| at + 2);
    source.truncate(end);
    source
}

/// Means of one update of an answer.
pub struct Cost {
    /// From decoded text to painted bytes.
    pub update: Duration,
    /// Comparing it with the text before, which is part of the above.
    pub prefix: Duration,
    /// A bare scan of its frame.
    pub scan: Duration,
    /// Copying its text.
    pub copy: Duration,
    pub bytes: usize,
    pub from_scratch: Duration,
}

/// Updates an answer of so many bytes, a few words at a time.
pub fn of(bytes: usize) -> Cost {
    let mut source = answer(bytes);
    let mut pane = Pane::new();
    let began = Instant::now();
    pane.show(&source);
    let from_scratch = began.elapsed();
    let frame =
        serde_json::json!({"type": "message.update", "payload": {"text": source}}).to_string();
    let scan = mean(20, || {
        let _: serde::de::IgnoredAny = serde_json::from_str(&frame).expect("JSON");
    });
    let copy = mean(20, || {
        std::hint::black_box(source.clone());
    });
    let (mut update, mut prefix, mut painted) = (Duration::ZERO, Duration::ZERO, 0);
    for step in 0..STEPS {
        source.push_str(
            ["some ", "words ", "that come\n", "**one** ", "by one. "][step as usize % 5],
        );
        let decoded = source.clone();
        let began = Instant::now();
        let common = trialogue::text::common_prefix(pane.body.raw(), &decoded);
        prefix += began.elapsed();
        assert!(common > 0);
        let began = Instant::now();
        pane.body.apply(TextPatch::Replace(decoded));
        painted += pane.draw();
        update += began.elapsed();
    }
    Cost {
        update: update / STEPS,
        prefix: prefix / STEPS,
        scan,
        copy,
        bytes: painted / STEPS as usize,
        from_scratch,
    }
}

fn mean(times: u32, mut what: impl FnMut()) -> Duration {
    let began = Instant::now();
    for _ in 0..times {
        what();
    }
    began.elapsed() / times
}

struct Pane {
    body: Body,
    layout: Layout,
    /// The revision that was drawn last.
    drawn: u32,
    painter: Painter,
    buffer: Buffer,
}

impl Pane {
    fn new() -> Self {
        Self {
            body: Body::default(),
            layout: Layout::default(),
            drawn: 0,
            painter: Painter::new(COLUMNS, ROWS, PaintOptions::default()),
            buffer: Buffer::empty(Rect::new(0, 0, COLUMNS, ROWS)),
        }
    }

    fn show(&mut self, text: &str) {
        self.body.apply(TextPatch::Replace(text.to_owned()));
        self.draw();
    }

    fn draw(&mut self) -> usize {
        let options = Options::new(COLUMNS - 26);
        let unchanged = self.body.unchanged_since(self.drawn).unwrap_or(0);
        self.drawn = self.body.revision();
        let text = self.body.text().as_str();
        let rows = self
            .layout
            .update_behind(unchanged, text, &options, &Colours::default());
        self.buffer.reset();
        for y in 0..ROWS {
            self.buffer
                .set_string(0, y, "  a conversation", Style::new());
            self.buffer.set_string(25, y, "│", Style::new());
        }
        let first = rows.len().saturating_sub(usize::from(ROWS));
        for (y, row) in rows[first..].iter().enumerate() {
            let mut x = 26;
            for span in &row.spans {
                let room = usize::from(COLUMNS - x);
                x = self
                    .buffer
                    .set_stringn(x, y as u16, &span.text, room, Style::new())
                    .0;
            }
        }
        self.painter.paint(&self.buffer, &[], None).len()
    }
}
