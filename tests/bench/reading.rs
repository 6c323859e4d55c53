//! What reading costs: an answer that grows, from its decoded text to the bytes for the terminal,
//! and the same from scratch.
//!
//! `cargo bench --bench reading`
#![allow(clippy::unwrap_used)]

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use std::time::{Duration, Instant};
use trialogue::domain::{Body, TextPatch};
use trialogue::paint::{PaintOptions, Painter};
use trialogue::render::{Colours, Layout, Options};

#[path = "../markdown/corpus.rs"]
mod corpus;

const COLUMNS: u16 = 120;
const ROWS: u16 = 40;
const STEPS: u32 = 300;

fn main() {
    let answers: String = corpus::ALL
        .iter()
        .filter(|(name, _)| name.starts_with("answer"))
        .map(|(_, source)| format!("{source}\n\n"))
        .collect();
    println!("One update of an answer of n KB, cleaned, laid out, drawn and painted.");
    let mut least = None;
    for kilobytes in [10, 60, 1000] {
        let mut source = String::new();
        while source.len() < kilobytes * 1000 {
            source.push_str(&answers);
        }
        source.truncate(source[..kilobytes * 1000].rfind("\n\n").unwrap() + 2);
        let mut pane = Pane::new();
        let began = Instant::now();
        pane.show(&source);
        let scratch = began.elapsed();
        let mut spent = Duration::ZERO;
        let mut prefix = Duration::ZERO;
        let mut bytes = 0;
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
            bytes += pane.draw();
            spent += began.elapsed();
        }
        let (step, prefix) = (spent / STEPS, prefix / STEPS);
        let against = least.get_or_insert(step);
        println!(
            "{kilobytes:>5} KB: {step:>9.1?} an update ({:.2} times the first, limit 1.5; prefix comparison alone {prefix:.1?}), {} bytes, from scratch {scratch:.1?}",
            step.as_secs_f64() / against.as_secs_f64(),
            bytes / STEPS as usize,
        );
    }
}

struct Pane {
    body: Body,
    layout: Layout,
    painter: Painter,
    buffer: Buffer,
}

impl Pane {
    fn new() -> Self {
        Self {
            body: Body::default(),
            layout: Layout::default(),
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
        let rows = self
            .layout
            .update(self.body.text().as_str(), &options, &Colours::default());
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
