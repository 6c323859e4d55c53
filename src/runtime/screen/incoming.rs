//! What comes from the terminal: keys, pointer, paste, and its answers to what it was asked.
//!
//! What a key means is not known here; the state decides. Only the two keys that steer a recording
//! are taken out before.

use super::Screen;
use crate::app::Event;
use crate::app::replay::{self, Own};
use crate::app::state::PictureChoice;
use crate::domain::Severity;
use crate::input::parser::ParserOptions;
use crate::input::{Chord, Key, Modifiers, MouseKind, TerminalEvent, TerminalReply};
use crate::runtime::input::Bytes;
use crate::runtime::{pictures, terminal};

/// While a recording plays: stop or go on, and one line more.
const PLAY: Chord = plain(Key::F(6));
const STEP: Chord = plain(Key::F(7));
/// Pixels of a cell where the terminal did not say and pictures are asked for all the same.
const USUAL_CELL: (u16, u16) = (10, 20);

const fn plain(key: Key) -> Chord {
    Chord {
        key,
        modifiers: Modifiers {
            ctrl: false,
            alt: false,
            shift: false,
        },
    }
}

impl Screen {
    pub(super) fn take_bytes(&mut self, bytes: Bytes) {
        match bytes {
            Bytes::Read { bytes, at } => {
                let events = self.parser.feed(self.clock.millis_at(at), &bytes);
                self.take_pressed(events);
            }
            Bytes::Played(event) => {
                self.take_terminal(vec![event]);
                self.engine.stay();
            }
            Bytes::Note(words) => self.engine.state.say(Severity::Info, words),
            Bytes::PlayEnded => self.engine.apply(Event::PlayEnded),
            Bytes::Closed => self.leave(129),
        }
    }

    /// What the person did, besides what a recording plays.
    pub(super) fn take_pressed(&mut self, mut events: Vec<TerminalEvent>) {
        #[cfg(debug_assertions)]
        break_if_told(&events);
        if let Some(stage) = &self.engine.surroundings().stage {
            events.retain(|event| match event {
                TerminalEvent::Key(chord) if *chord == PLAY => {
                    stage.pause();
                    false
                }
                TerminalEvent::Key(chord) if *chord == STEP => {
                    stage.step();
                    false
                }
                _ => true,
            });
            for event in events {
                match replay::own(&self.engine.state, &event) {
                    Own::Reads => self.take_terminal(vec![event]),
                    Own::Leaves => self.leave(0),
                    Own::GoesNowhere => self.engine.apply(Event::PlayTyped),
                }
            }
            return;
        }
        self.take_terminal(events);
    }

    fn take_terminal(&mut self, events: Vec<TerminalEvent>) {
        for event in events {
            self.record(&event);
            match event {
                TerminalEvent::Mouse(mouse) => {
                    if matches!(mouse.kind, MouseKind::Moved) {
                        continue;
                    }
                    let target = match mouse.kind {
                        MouseKind::Drag(_) => self.hits.dragged(mouse.column, mouse.row),
                        _ => self.hits.at(mouse.column, mouse.row),
                    };
                    self.engine.apply(Event::Pointer { mouse, target });
                }
                TerminalEvent::Reply(reply) => self.take_reply(reply),
                TerminalEvent::Resize { .. } => self.resize(),
                other => self.engine.apply(Event::Terminal(other)),
            }
        }
    }

    fn record(&self, event: &TerminalEvent) {
        if let Some(recorder) = &self.engine.surroundings().recorder {
            let is_hidden = self.engine.state.asks_for_secret();
            recorder.terminal(self.clock.now(), event, is_hidden);
        }
    }

    fn take_reply(&mut self, reply: TerminalReply) {
        self.abilities.learn(&reply);
        self.plan_pictures();
        match &reply {
            TerminalReply::Mode {
                mode: 2026,
                state: 1 | 2,
            } => {
                self.paint.sync = true;
                self.painter.set_options(self.paint);
            }
            TerminalReply::Version(version) if terminal::repeats(version) => {
                self.paint.repeats = true;
                self.painter.set_options(self.paint);
            }
            TerminalReply::KeyboardFlags(flags) if flags & 1 == 1 => {
                let over_ssh = self.engine.surroundings().place.over_ssh;
                self.parser.set_options(parser_options(over_ssh, true));
            }
            TerminalReply::Background(r, g, b) => {
                let light =
                    u32::from(*r) * 299 + u32::from(*g) * 587 + u32::from(*b) * 114 > 128_000;
                self.follow_background(!light);
            }
            TerminalReply::ThemeIsDark(dark) => self.follow_background(*dark),
            _ => {}
        }
        self.engine
            .apply(Event::Terminal(TerminalEvent::Reply(reply)));
    }

    /// How pictures are drawn from now on.
    pub(super) fn plan_pictures(&mut self) {
        let place = self.engine.surroundings().place;
        let choice = self.engine.state.settings.pictures;
        let is_forced = choice != PictureChoice::Auto;
        let plan = pictures::Plan {
            way: self.abilities.picture_way_chosen(choice, place),
            cell: self
                .abilities
                .cell
                .or_else(|| is_forced.then_some(USUAL_CELL)),
            in_tmux: place.in_tmux,
        };
        if self.pictures.set_plan(plan) {
            self.memo.forget_pictures();
            self.pace.want(true);
        }
    }

    fn follow_background(&mut self, dark: bool) {
        if self.options.theme_is_fixed {
            return;
        }
        let name = if dark { "dark" } else { "light" };
        if self.engine.state.settings.theme != name {
            self.engine.state.settings.theme = name.to_owned();
            self.pace.want(true);
        }
    }
}

/// How the parser reads a terminal here.
pub(super) fn parser_options(over_ssh: bool, is_kitty: bool) -> ParserOptions {
    let options = if over_ssh {
        ParserOptions::remote()
    } else {
        ParserOptions::local()
    };
    ParserOptions {
        is_kitty,
        ..options
    }
}

/// How tests see what a panic leaves behind: where a variable says so, F12 is one. Not in a release.
#[cfg(debug_assertions)]
fn break_if_told(events: &[TerminalEvent]) {
    let key = TerminalEvent::Key(plain(Key::F(12)));
    if events.contains(&key) && std::env::var_os("TRIALOGUE_BREAK").is_some() {
        panic!("a text that nobody may read");
    }
}
