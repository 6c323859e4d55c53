//! One frame: the state is drawn, painted as bytes, and handed to the writer; what the drawing still
//! wants (colours of code, pictures) is asked for.
//!
//! Draws nothing while the terminal has not taken the last frame, or belongs to somebody else.

use super::{Screen, ScreenOptions};
use crate::app::Event;
use crate::app::event::ShellReply;
use crate::paint::{self, LinkSpan};
use crate::runtime::engine::Inner;
use crate::view;
use crate::view::theme::Theme;

impl Screen {
    pub(super) fn draw_if_due(&mut self) {
        if self.reader.is_none() {
            return;
        }
        let Some(due) = self.pace.due() else {
            if !self.extra.is_empty() && self.writer.is_idle() {
                let _ = self.writer.write(std::mem::take(&mut self.extra));
            }
            return;
        };
        if due > self.clock.now() || !self.writer.is_idle() {
            return;
        }
        self.draw();
    }

    pub(super) fn draw(&mut self) {
        let name = &self.engine.state.settings.theme;
        if self.asked_theme != *name {
            self.asked_theme.clone_from(name);
            self.theme = pick_theme(name, &self.options);
        }
        for coloured in self.colourist.take() {
            self.memo.coloured(coloured);
        }
        let mut bytes = Vec::new();
        for mut made in self.pictures.take() {
            // What cells refer to has to be there before them.
            bytes.append(&mut made.transmission);
            self.memo.picture(&made.wish, made.picture);
        }
        if self.pictures.is_full() {
            bytes.append(&mut self.pictures.farewell());
            self.pictures.forget();
            self.memo.forget_pictures();
        }
        self.buffer.reset();
        let drawn = view::draw(
            &self.engine.state,
            &mut self.memo,
            &self.theme,
            &mut self.buffer,
        );
        let links: Vec<LinkSpan> = drawn
            .links
            .into_iter()
            .map(|link| LinkSpan {
                row: link.row,
                column: link.column,
                width: link.width,
                target: link.target,
            })
            .collect();
        let graphics = drawn
            .graphics
            .into_iter()
            .map(|graphic| paint::Graphic {
                column: graphic.column,
                row: graphic.row,
                columns: graphic.columns,
                rows: graphic.rows,
                parts: graphic.parts,
            })
            .collect();
        bytes.append(
            &mut self
                .painter
                .paint_with(&self.buffer, &links, graphics, drawn.cursor),
        );
        bytes.append(&mut self.extra);
        self.pace.drawn(self.clock.now(), bytes.len());
        let _ = self.writer.write(bytes);
        self.hits = drawn.hits;
        for job in drawn.wants {
            let inner = self.engine.inner();
            self.colourist.colour(job, move || {
                let _ = inner.blocking_send(Inner::Shell(Box::new(ShellReply::Highlighted)));
            });
        }
        for wish in drawn.pictures {
            let inner = self.engine.inner();
            self.pictures.paint(wish, move || {
                let _ = inner.blocking_send(Inner::Shell(Box::new(ShellReply::PictureReady)));
            });
        }
        if let Some(facts) = drawn.facts {
            self.engine.apply(Event::Layout(Box::new(facts)));
        }
    }
}

/// A theme that ships, else a file of the person's, else the dark one.
pub(super) fn pick_theme(name: &str, options: &ScreenOptions) -> Theme {
    let mut theme = Theme::named(name, options.depth)
        .or_else(|| {
            let file = crate::config::theme::find(&options.themes_dir, name)?;
            Some(Theme::parse_with_faults(&file.text, options.depth))
        })
        .or_else(|| Theme::named("dark", options.depth))
        .expect("the dark theme ships and a test parses it");
    // Known by the name it was asked for, so that it is not looked for again with every frame.
    name.clone_into(&mut theme.name);
    theme
}
