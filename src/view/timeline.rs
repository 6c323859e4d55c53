//! The timeline: cards of the entries in sight, kept in a memo, and their rows in the buffer.

use super::canvas::Canvas;
use super::fingerprint::fingerprint;
use super::item::{Card, Scene, Segment, attachment};
use super::layout::{Rows, Sight, Start, solve, text_columns};
use super::picture::{PictureSource, PictureWish};
use super::prose::{Prose, put_row};
use super::selection::{self, Collected};
use super::theme::Role;
use crate::app::screen::Target;
use crate::app::screen::viewport::{Anchor, LayoutFacts};
use crate::domain::{AccountId, MessageKey};
use crate::render::{Colours, Job};
use ratatui::layout::Rect;
use std::collections::HashMap;

/// Cards that are kept at most; more than any screen shows.
const KEPT_CARDS: usize = 512;

/// What was laid out before. Only a memo: emptied, the next frame is the same.
#[derive(Debug, Default)]
pub(crate) struct Cards {
    kept: HashMap<MessageKey, Kept>,
    clock: u64,
}

#[derive(Debug)]
struct Kept {
    key: MessageKey,
    fingerprint: u64,
    card: Card,
    rows: u32,
    body: Prose,
    reasoning: Prose,
    used: u64,
}

impl Cards {
    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        self.kept.clear();
    }

    /// Begins a frame: what was not used for long goes, when there is much.
    fn begin(&mut self) {
        self.clock += 1;
        if self.kept.len() > KEPT_CARDS {
            let oldest = self.clock.saturating_sub(8);
            self.kept.retain(|_, kept| kept.used >= oldest);
        }
    }
}

/// The entries of a scene, laid out on demand.
struct Entries<'a, 'b> {
    scene: &'a Scene<'b>,
    cards: &'a mut Cards,
    colours: &'a Colours,
}

impl Rows for Entries<'_, '_> {
    fn len(&self) -> usize {
        self.scene.entries().len()
    }

    fn rows(&mut self, index: usize) -> u32 {
        let scene = self.scene;
        let (Some(entry), Some(lead)) = (scene.entries().get(index), scene.lead(index)) else {
            return 0;
        };
        let fingerprint = fingerprint(scene, index, entry, &lead);
        let clock = self.cards.clock;
        let kept = self
            .cards
            .kept
            .entry(entry.key)
            .or_insert_with(|| Kept::new(entry.key));
        if kept.used == clock && kept.fingerprint == fingerprint {
            return kept.rows;
        }
        kept.used = clock;
        if kept.fingerprint != fingerprint || kept.rows == 0 {
            kept.card = scene.card(index, &lead);
            kept.fingerprint = fingerprint;
        }
        let mut rows = 0;
        for segment in &kept.card.segments {
            rows += match segment {
                Segment::Rows(rows) => rows.len(),
                Segment::Body { indent, .. } => {
                    if let Some(message) = entry.message() {
                        kept.body.update_body(
                            &message.body,
                            &scene.reading(scene.columns.saturating_sub(*indent)),
                            self.colours,
                            message.is_streaming,
                        );
                    }
                    kept.body.len()
                }
                Segment::Reasoning { indent } => {
                    if let Some(message) = entry.message() {
                        kept.reasoning.update_body(
                            &message.reasoning,
                            &scene.reading(scene.columns.saturating_sub(*indent)),
                            self.colours,
                            message.is_streaming,
                        );
                    }
                    kept.reasoning.len()
                }
                Segment::Picture(_, rows) => usize::from(*rows),
            };
        }
        kept.rows = u32::try_from(rows).unwrap_or(u32::MAX);
        kept.rows
    }
}

/// Draws the timeline and says what was found, and which code in sight could have colours.
pub(crate) fn draw(
    canvas: &mut Canvas<'_>,
    scene: &Scene<'_>,
    cards: &mut Cards,
    colours: &Colours,
    area: Rect,
    account: &AccountId,
) -> (LayoutFacts, Vec<Job>) {
    cards.begin();
    let viewport = &scene.conversation.viewport;
    let timeline = &scene.conversation.timeline;
    let position = |key: MessageKey| scene.entries().iter().position(|entry| entry.key == key);
    let start = match viewport.anchor {
        Anchor::Newest => Start::Bottom,
        Anchor::Top { key, row } => {
            position(key).map_or(Start::Bottom, |index| Start::Top { index, row })
        }
        Anchor::Show { key } => position(key).map_or(Start::Bottom, |index| Start::Show { index }),
    };
    let reveal = viewport.reveal.and_then(position);
    let mut entries = Entries {
        scene,
        cards,
        colours,
    };
    let sight = solve(&mut entries, area.height, start, viewport.delta, reveal);
    let span = scene
        .state
        .screen
        .selection
        .and_then(|selection| selection::span(&selection, scene.entries()));
    paint(canvas, scene, cards, area, &sight, span);
    if scene.entries().is_empty() {
        nothing(canvas, scene, area);
    }
    let wants = wants(scene, cards, &sight);

    let is_at_newest = sight.is_at_end && !timeline.has_newer;
    let anchor = match scene.entries().get(sight.index) {
        Some(entry) if !is_at_newest => Anchor::Top {
            key: entry.key,
            row: sight.row,
        },
        _ => Anchor::Newest,
    };
    let key_at = |index: usize| scene.entries().get(index).map(|entry| entry.key);
    let facts = LayoutFacts {
        account: account.clone(),
        conversation: scene.id.clone(),
        anchor,
        resolved: viewport.delta,
        revealed: viewport.reveal,
        rows: area.height,
        columns: area.width,
        is_short_above: sight.index < 6,
        is_short_below: timeline.has_newer
            && sight
                .shown
                .last()
                .is_none_or(|(index, ..)| index + 6 >= scene.entries().len()),
        first_seen: sight.shown.first().and_then(|(index, ..)| key_at(*index)),
        last_seen: sight.shown.last().and_then(|(index, ..)| key_at(*index)),
        is_at_newest,
        decision_end_seen: false,
        composer_columns: 0,
        overlay_scroll_max: None,
    };
    (facts, wants)
}

/// The pictures in sight that have to be decoded first.
pub(crate) fn wishes(scene: &Scene<'_>, facts: &LayoutFacts) -> Vec<PictureWish> {
    let (Some(pictures), Some(first), Some(last)) =
        (scene.pictures, facts.first_seen, facts.last_seen)
    else {
        return Vec::new();
    };
    let account = &scene.account.account.id;
    let mut wishes = Vec::new();
    let from = scene
        .entries()
        .iter()
        .skip_while(|entry| entry.key != first);
    for entry in from {
        for id in entry
            .message()
            .into_iter()
            .flat_map(|message| &message.attachments)
        {
            if let Some(path) = attachment::shown(scene, id)
                && let Some((columns, rows)) = pictures.wanted(account, id, scene.columns)
            {
                wishes.push(PictureWish {
                    account: account.clone(),
                    attachment: id.clone(),
                    source: PictureSource::File(path.to_owned()),
                    columns,
                    rows,
                });
            }
        }
        if entry.key == last {
            break;
        }
    }
    wishes
}

/// What an empty timeline says.
fn nothing(canvas: &mut Canvas<'_>, scene: &Scene<'_>, area: Rect) {
    let timeline = &scene.conversation.timeline;
    let word = if !timeline.is_loaded || timeline.is_loading_older {
        "Reading what was said here"
    } else if scene.conversation.info.is_automation {
        "Nothing has come in here yet."
    } else {
        "Nothing was said here yet. Write the first message below."
    };
    canvas.put_middle(area, area.y + area.height / 2, word, Role::Muted);
}

/// The code in sight that could have colours.
fn wants(scene: &Scene<'_>, cards: &Cards, sight: &Sight) -> Vec<Job> {
    sight
        .shown
        .iter()
        .filter_map(|(index, ..)| cards.kept.get(&scene.entries().get(*index)?.key))
        .flat_map(|kept| {
            kept.card
                .segments
                .iter()
                .map(move |segment| (kept, segment))
        })
        .flat_map(|(kept, segment)| match segment {
            Segment::Rows(_) | Segment::Picture(..) => Vec::new(),
            Segment::Body { .. } => kept.body.wants(),
            Segment::Reasoning { .. } => kept.reasoning.wants(),
        })
        .collect()
}

fn paint(
    canvas: &mut Canvas<'_>,
    scene: &Scene<'_>,
    cards: &Cards,
    area: Rect,
    sight: &Sight,
    span: Option<selection::Span>,
) {
    let mut y = area.y + sight.blank;
    let selected = scene.conversation.viewport.selected;
    let text = if canvas.is_bare {
        area
    } else {
        Rect {
            x: area.x + 2,
            width: text_columns(area),
            ..area
        }
    };
    for (index, first, shown) in &sight.shown {
        let Some(entry) = scene.entries().get(*index) else {
            continue;
        };
        let Some(kept) = cards.kept.get(&entry.key) else {
            continue;
        };
        let is_selected = selected == Some(entry.key);
        // The columns beside the text each stand for where its rows begin.
        for x in area.x..=text.x {
            let beside = Rect {
                x,
                y,
                width: if x < text.x { 1 } else { area.right() - text.x },
                height: *shown,
            };
            let target = Target::Entry {
                key: entry.key,
                row: u16::try_from(*first).unwrap_or(u16::MAX),
                column: 0,
            };
            canvas.hits.add(beside, target);
        }
        for row in *first..first + u32::from(*shown) {
            if row >= kept.card.lead && !canvas.is_bare {
                if is_selected {
                    let whole = Rect::new(area.x, y, text.width + 3, 1);
                    canvas.fill(whole.intersection(area), Role::SelectedEntry);
                    canvas.put(area.x, y, canvas.glyphs.selection, 1, Role::SelectionMark);
                } else if kept.card.has_rail {
                    canvas.put(area.x, y, canvas.glyphs.rail, 1, Role::YouRail);
                }
            }
            let end = paint_row(canvas, scene, kept, row, text, y);
            if row >= kept.card.lead {
                if let Some(words) = &scene.state.screen.marked {
                    mark_words(canvas, text, y, words.as_str());
                }
                if let Some((start, end)) = span.and_then(|span| span.cells(*index, row)) {
                    let start = text.x.saturating_add(start).min(text.right());
                    let end = text.x.saturating_add(end).min(text.right());
                    canvas.tint(Rect::new(start, y, end - start, 1), Role::Marked);
                }
            }
            if kept.card.is_streaming
                && row + 1 == kept.body_end()
                && let Some(x) = end
            {
                let caret = canvas.glyphs.caret;
                canvas.put(x, y, caret, text.right().saturating_sub(x), Role::Accent);
            }
            y += 1;
        }
    }
}

impl Kept {
    fn new(key: MessageKey) -> Self {
        Self {
            key,
            fingerprint: 0,
            card: Card::default(),
            rows: 0,
            body: Prose::default(),
            reasoning: Prose::default(),
            used: 0,
        }
    }

    /// The row after the last one of the body; zero without a body.
    fn body_end(&self) -> u32 {
        let mut at = 0;
        let mut end = 0;
        for segment in &self.card.segments {
            at += self.len_of(segment);
            if matches!(segment, Segment::Body { .. }) {
                end = at;
            }
        }
        u32::try_from(end).unwrap_or(0)
    }

    fn len_of(&self, segment: &Segment) -> usize {
        match segment {
            Segment::Rows(rows) => rows.len(),
            Segment::Body { .. } => self.body.len(),
            Segment::Reasoning { .. } => self.reasoning.len(),
            Segment::Picture(_, rows) => usize::from(*rows),
        }
    }
}

/// Puts one row of a card and returns the column after its text.
fn paint_row(
    canvas: &mut Canvas<'_>,
    scene: &Scene<'_>,
    kept: &Kept,
    row: u32,
    text: Rect,
    y: u16,
) -> Option<u16> {
    let mut at = usize::try_from(row).ok()?;
    for segment in &kept.card.segments {
        let len = kept.len_of(segment);
        if at >= len {
            at -= len;
            continue;
        }
        return match segment {
            Segment::Rows(rows) => {
                canvas.row(text, y, &rows[at]);
                None
            }
            Segment::Body { indent, is_dim } => {
                let area = inset(text, *indent);
                let end = put_row(canvas, area, y, kept.body.row(at)?, *is_dim);
                if let Some(index) = kept.body.code_at(at)
                    && !canvas.is_bare
                {
                    copy_mark(canvas, area, y, kept.key, index);
                }
                Some(end)
            }
            Segment::Reasoning { indent } => {
                let area = inset(text, *indent);
                let rail = canvas.glyphs.vertical;
                canvas.put(text.x, y, rail, 1, Role::QuoteRail);
                Some(put_row(canvas, area, y, kept.reasoning.row(at)?, true))
            }
            Segment::Picture(id, _) => {
                let account = &scene.account.account.id;
                let picture = scene.pictures?.find(account, id, scene.columns)?;
                picture.put_row(canvas, text, y, u16::try_from(at).unwrap_or(0));
                None
            }
        };
    }
    None
}

fn inset(area: Rect, indent: u16) -> Rect {
    Rect {
        x: area.x + indent.min(area.width),
        width: area.width.saturating_sub(indent),
        ..area
    }
}

/// Marks what is looked for in a row that was drawn.
fn mark_words(canvas: &mut Canvas<'_>, area: Rect, y: u16, words: &str) {
    let mut line = String::new();
    // Where each cell's text begins in the line.
    let mut cells = Vec::new();
    for x in area.left()..area.right() {
        let Some(cell) = canvas.buffer.cell((x, y)) else {
            return;
        };
        cells.push((line.len(), x));
        line.push_str(&cell.symbol().to_lowercase());
    }
    for word in words.to_lowercase().split_whitespace() {
        for (start, found) in line.match_indices(word) {
            let end = start + found.len();
            for (at, x) in &cells {
                if (start..end).contains(at) {
                    canvas.tint(Rect::new(*x, y, 1, 1), Role::Marked);
                }
            }
        }
    }
}

/// What the mouse selected, as text.
pub(crate) fn selected(scene: &Scene<'_>, cards: &mut Cards, colours: &Colours) -> Option<String> {
    let selection = scene.state.screen.selection?;
    let span = selection::span(&selection, scene.entries())?;
    let mut collected = Collected::new(scene.columns);
    for index in span.first.0..=span.last.0 {
        let mut entries = Entries {
            scene,
            cards,
            colours,
        };
        let rows = entries.rows(index);
        let Some(kept) = cards.kept.get(&scene.entries().get(index)?.key) else {
            continue;
        };
        for row in kept.card.lead..rows {
            if let Some(cells) = span.cells(index, row) {
                collect_row(&mut collected, kept, row, cells);
            }
        }
    }
    collected.finish()
}

fn collect_row(collected: &mut Collected, kept: &Kept, row: u32, cells: (u16, u16)) {
    let Ok(mut at) = usize::try_from(row) else {
        return;
    };
    for segment in &kept.card.segments {
        let len = kept.len_of(segment);
        if at >= len {
            at -= len;
            continue;
        }
        let (prose, indent) = match segment {
            Segment::Rows(rows) => return collected.plain(&rows[at], cells),
            Segment::Body { indent, .. } => (&kept.body, *indent),
            Segment::Reasoning { indent } => (&kept.reasoning, *indent),
            Segment::Picture(..) => return,
        };
        if let Some(row) = prose.row(at) {
            collected.laid(row, indent, cells);
        }
        return;
    }
}

/// A word in the frame of a block of code that copies it.
fn copy_mark(canvas: &mut Canvas<'_>, area: Rect, y: u16, key: MessageKey, index: usize) {
    let word = " copy ";
    let wide = 6;
    if area.width < 30 {
        return;
    }
    let x = area.right() - wide - 2;
    canvas.put(x, y, word, wide, Role::Muted);
    canvas
        .hits
        .add(Rect::new(x, y, wide, 1), Target::CodeCopy(key, index));
}
