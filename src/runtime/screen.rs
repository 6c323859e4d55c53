//! The full-screen front: keys in, frames out.
//!
//! One turn: wait for whatever comes first, hand it to the engine, drain what else is there (for a
//! few milliseconds at most), end the batch, carry out what only this front can, and draw when the
//! pace allows it and the terminal took the last frame.

mod drawing;
mod effects;
mod incoming;
mod signals;

use super::abilities::{self, Abilities};
use super::clock::Clock;
use super::colours::Colourist;
use super::engine::Engine;
use super::frame::Pace;
use super::input::{Bytes, Reader};
use super::output::Writer;
use super::pictures;
use super::terminal::{self, Modes};
use super::zone::utc_offset_minutes;
use crate::app::Event;
use crate::app::event::Signal;
use crate::domain::Moment;
use crate::input::TerminalEvent;
use crate::input::parser::Parser;
use crate::paint::{self, PaintOptions, Painter};
use crate::view::theme::{Depth, Theme};
use crate::view::{HitMap, Memo};
use drawing::pick_theme;
use effects::Edited;
use futures_util::FutureExt;
use incoming::parser_options;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use signals::Signals;
use std::collections::BTreeMap;
use std::io;
use std::panic::{AssertUnwindSafe, resume_unwind};
use std::time::Duration;
use tokio::sync::mpsc;

/// How long one batch may take before a key is looked for again.
const BATCH: Duration = Duration::from_millis(4);

/// How long a terminal may take to be told that it can drop our pictures.
const FAREWELL: Duration = Duration::from_millis(200);
/// How long writing what is not kept yet may take after a panic.
const RESCUE: Duration = Duration::from_secs(2);

/// What the front is started with.
#[derive(Clone, Debug)]
pub struct ScreenOptions {
    pub mouse: bool,
    pub depth: Depth,
    /// Themes by name; the one in the settings is taken, or dark or light by the terminal.
    pub theme_is_fixed: bool,
    /// Where the person's own themes are.
    pub themes_dir: std::path::PathBuf,
    /// The window title is ours to set.
    pub set_title: bool,
}

/// Why the screen ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Left {
    /// The person left, or a signal came; the exit code.
    Code(i32),
    /// The demo is wanted in its place.
    Demo,
}

/// The front.
pub struct Screen {
    engine: Engine,
    options: ScreenOptions,
    modes: Modes,
    paint: PaintOptions,
    painter: Painter,
    writer: Writer,
    /// None while something else has the terminal.
    reader: Option<Reader>,
    edited: Option<Edited>,
    bytes_out: mpsc::Sender<Bytes>,
    bytes_in: mpsc::Receiver<Bytes>,
    parser: Parser,
    memo: Memo,
    abilities: Abilities,
    colourist: Colourist,
    pictures: pictures::Painter,
    theme: Theme,
    /// The name it was picked by; a theme that is not there is looked for once.
    asked_theme: String,
    hits: HitMap,
    pace: Pace,
    buffer: Buffer,
    notified: BTreeMap<String, Moment>,
    /// Bytes to go out with the next frame: bells, notifications, the title.
    extra: Vec<u8>,
    last_wall: Moment,
    clock: Clock,
    exit: Option<i32>,
    wants_demo: bool,
}

impl Screen {
    /// Takes the terminal over.
    pub fn start(engine: Engine, options: ScreenOptions) -> io::Result<Self> {
        let place = engine.surroundings().place;
        let clock = engine.surroundings().clock;
        let modes = Modes {
            mouse: options.mouse,
            mouse_drag: options.mouse && !place.over_ssh,
            in_tmux: place.in_tmux,
        };
        let (columns, rows) = terminal::size();
        terminal::enter(modes)?;
        let (bytes_out, bytes_in) = mpsc::channel(64);
        let reader = Reader::start(bytes_out.clone())?;
        let paint = PaintOptions {
            colours: colours(options.depth),
            erases_in_colour: !place.in_screen,
            ..PaintOptions::default()
        };
        let theme = pick_theme(&engine.state.settings.theme, &options);
        let mut screen = Self {
            paint,
            painter: Painter::new(columns, rows, paint),
            writer: Writer::start()?,
            reader: Some(reader),
            edited: None,
            bytes_out,
            bytes_in,
            parser: Parser::new(parser_options(place.over_ssh, false)),
            memo: Memo::default(),
            abilities: Abilities::default(),
            colourist: Colourist::default(),
            pictures: pictures::Painter::default(),
            asked_theme: engine.state.settings.theme.clone(),
            theme,
            hits: HitMap::default(),
            pace: Pace::default(),
            buffer: Buffer::empty(Rect::new(0, 0, columns, rows)),
            notified: BTreeMap::new(),
            extra: Vec::new(),
            last_wall: clock.now(),
            clock,
            exit: None,
            wants_demo: false,
            engine,
            options,
            modes,
        };
        screen
            .engine
            .apply(Event::Terminal(TerminalEvent::Resize { columns, rows }));
        screen.plan_pictures();
        screen.pace.want(true);
        Ok(screen)
    }

    /// Runs until the person leaves.
    pub async fn run(mut self) -> io::Result<Left> {
        let _guard = terminal::Guard;
        let mut signals = Signals::new()?;
        self.draw();
        // Questions go out once the first frame is there; nothing waits for their answers.
        let place = self.engine.surroundings().place;
        let term = std::env::var("TERM").unwrap_or_default();
        self.extra
            .extend_from_slice(abilities::questions(place, &term).as_bytes());
        self.engine.connect_all();
        if let Some(stage) = &self.engine.surroundings().stage {
            stage.begin(self.bytes_out.clone());
        }
        // The state may be of no use after a panic, but drafts and the outbox are worth a try.
        let worked = AssertUnwindSafe(self.work(&mut signals));
        let worked = worked.catch_unwind().await;
        self.leave_editor().await;
        if let Err(panic) = worked {
            terminal::restore();
            drop(self.reader.take());
            self.engine.apply(Event::Signal(Signal::Terminate));
            let _ = tokio::time::timeout(RESCUE, self.engine.shut_down_at_once()).await;
            resume_unwind(panic);
        }
        let left = if self.wants_demo {
            Left::Demo
        } else {
            Left::Code(self.exit.unwrap_or(0))
        };
        let farewell = self.pictures.farewell();
        if !farewell.is_empty() {
            let _ = self.writer.write(farewell);
            let _ = tokio::time::timeout(FAREWELL, self.writer.written()).await;
        }
        terminal::restore();
        drop(self.reader.take());
        let recorder = self.engine.surroundings().recorder.clone();
        // A person who leaves waits for a runtime that needs a moment; a signal does not.
        match self.exit {
            Some(code) if code > 128 => self.engine.shut_down_at_once().await,
            _ => self.engine.shut_down().await,
        }
        if let Some(recorder) = recorder {
            recorder.finish();
        }
        Ok(left)
    }

    async fn work(&mut self, signals: &mut Signals) {
        while self.exit.is_none() {
            self.turn(signals).await;
            self.drain();
            self.engine.flush();
            self.front_effects().await;
            self.draw_if_due();
            if self.writer.is_gone() {
                self.leave(129);
            }
        }
    }

    async fn turn(&mut self, signals: &mut Signals) {
        let parser_due = self.parser.deadline().map(moment);
        let has_terminal = self.edited.is_none();
        let frame_due = if has_terminal && self.writer.is_idle() {
            self.pace.due()
        } else {
            None
        };
        let timer = [parser_due, frame_due].into_iter().flatten().min();
        let sleep = timer.map(|moment| self.clock.instant(moment));
        tokio::select! {
            biased;
            Some(bytes) = self.bytes_in.recv() => self.take_bytes(bytes),
            _ = signals.terminate.recv() => self.leave(143),
            _ = signals.hangup.recv() => self.leave(129),
            // A key that means them goes to the editor as well, and is meant for it.
            _ = signals.quit.recv() => if has_terminal { self.leave(131) },
            _ = signals.interrupt.recv() => if has_terminal { self.leave(130) },
            _ = signals.resized.recv() => self.resize(),
            _ = signals.resumed.recv() => {
                self.engine.apply(Event::Signal(Signal::Resumed));
                if has_terminal {
                    self.retake();
                }
            }
            _ = signals.stop.recv() => self.suspend(),
            text = ended(&mut self.edited) => self.take_edited(text),
            () = self.writer.written(), if !self.writer.is_idle() => {}
            happening = self.engine.wait() => self.engine.take(happening),
            () = tokio::time::sleep_until(sleep.unwrap_or_else(tokio::time::Instant::now)), if sleep.is_some() => {}
        }
        // What was read in time counts, though it waited in the queue.
        if self.parser.deadline().is_some() {
            while let Ok(bytes) = self.bytes_in.try_recv() {
                self.take_bytes(bytes);
            }
        }
        let now = self.clock.now();
        if self.parser.deadline().is_some_and(|due| due <= now.mono_ms) {
            let events = self.parser.expire(now.mono_ms);
            self.take_pressed(events);
        }
        self.notice_sleep(now);
    }

    /// A wall clock that ran ahead of the monotonic one means that the machine slept.
    fn notice_sleep(&mut self, now: Moment) {
        let wall = now.wall_ms - self.last_wall.wall_ms;
        let mono =
            i64::try_from(now.mono_ms.saturating_sub(self.last_wall.mono_ms)).unwrap_or(i64::MAX);
        if (wall - mono).abs() > 5_000 {
            self.engine.state.settings.utc_offset_minutes = utc_offset_minutes();
            self.engine.apply(Event::Signal(Signal::Woke));
        }
        self.last_wall = now;
    }

    fn drain(&mut self) {
        let start = std::time::Instant::now();
        while start.elapsed() < BATCH {
            if let Ok(bytes) = self.bytes_in.try_recv() {
                self.take_bytes(bytes);
            } else if let Some(happening) = self.engine.try_next() {
                self.engine.take(happening);
            } else {
                break;
            }
        }
    }

    fn resize(&mut self) {
        let (columns, rows) = terminal::size();
        self.painter.resize(columns, rows);
        self.buffer = Buffer::empty(Rect::new(0, 0, columns, rows));
        self.engine
            .apply(Event::Terminal(TerminalEvent::Resize { columns, rows }));
        self.pace.want(true);
    }

    fn leave(&mut self, code: i32) {
        if self.exit.is_none() {
            self.engine.apply(Event::Signal(Signal::Terminate));
            self.exit = Some(code);
        }
    }

    /// Gives the terminal back and stops the whole group, as a shell expects of Ctrl+Z.
    fn suspend(&mut self) {
        let has_terminal = self.edited.is_none();
        if has_terminal {
            drop(self.reader.take());
            terminal::restore();
        }
        let _ =
            rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::STOP);
        if has_terminal {
            self.retake();
        }
    }

    /// Takes the terminal over again after something else had it.
    fn retake(&mut self) {
        if self.reader.is_none() {
            if terminal::enter(self.modes).is_err() {
                self.leave(129);
                return;
            }
            match Reader::start(self.bytes_out.clone()) {
                Ok(reader) => self.reader = Some(reader),
                Err(_) => self.leave(129),
            }
        }
        self.resize();
        self.painter.invalidate();
        // Whoever had the terminal meanwhile may have cleared what it kept for us.
        self.pictures.forget();
        self.memo.forget_pictures();
        self.pace.want(true);
    }
}

/// Waits for the editor that has the terminal; for ever when there is none.
async fn ended(edited: &mut Option<Edited>) -> io::Result<String> {
    match edited {
        Some(edited) => edited.editing.ended().await,
        None => std::future::pending().await,
    }
}

/// The painter's word for a theme's depth.
fn colours(depth: Depth) -> paint::Depth {
    match depth {
        Depth::Mono => paint::Depth::Mono,
        Depth::Ansi => paint::Depth::Sixteen,
        Depth::Indexed => paint::Depth::Palette,
        Depth::TrueColor => paint::Depth::True,
    }
}

/// A moment of which only the monotonic part counts.
fn moment(mono_ms: u64) -> Moment {
    Moment {
        mono_ms,
        ..Moment::default()
    }
}
