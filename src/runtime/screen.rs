//! The full-screen front: keys in, frames out.
//!
//! One turn: wait for whatever comes first, hand it to the engine, drain what else is there (for a
//! few milliseconds at most), end the batch, carry out what only this front can, and draw when the
//! pace allows it and the terminal took the last frame.

use super::abilities::{self, Abilities};
use super::clock::Clock;
use super::colours::Colourist;
use super::desktop;
use super::doctor::{self, Finding, Report, Section};
use super::engine::{Engine, Inner};
use super::frame::Pace;
use super::input::{Bytes, Reader};
use super::output::Writer;
use super::pictures;
use super::terminal::{self, Modes};
use crate::app::event::{ShellReply, Signal};
use crate::app::state::PictureChoice;
use crate::app::{Effect, Event};
use crate::domain::{LinkState, Moment, Severity};
use crate::input::parser::{Parser, ParserOptions};
use crate::input::{Chord, Key, Modifiers, MouseKind, TerminalEvent, TerminalReply};
use crate::paint::{self, LinkSpan, PaintOptions, Painter};
use crate::text::SafeText;
use crate::view::theme::{Depth, Theme};
use crate::view::{self, HitMap, Memo};
use futures_util::FutureExt;
use jiff::tz::TimeZone;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use std::collections::BTreeMap;
use std::io;
use std::panic::{AssertUnwindSafe, resume_unwind};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::signal::unix::{Signal as UnixSignal, SignalKind, signal};
use tokio::sync::mpsc;

/// How long one batch may take before a key is looked for again.
const BATCH: Duration = Duration::from_millis(4);
/// Pixels of a cell where the terminal did not say and pictures are asked for all the same.
const USUAL_CELL: (u16, u16) = (10, 20);

/// How long a terminal may take to be told that it can drop our pictures.
const FAREWELL: Duration = Duration::from_millis(200);
/// How long writing what is not kept yet may take after a panic.
const RESCUE: Duration = Duration::from_secs(2);
/// Notifications of one account are this far apart.
const NOTIFY_EVERY: Duration = Duration::from_secs(3);
/// While a recording plays: stop or go on, and one line more.
const PLAY: Chord = plain(Key::F(6));
const STEP: Chord = plain(Key::F(7));

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

struct Signals {
    terminate: UnixSignal,
    hangup: UnixSignal,
    interrupt: UnixSignal,
    quit: UnixSignal,
    resized: UnixSignal,
    resumed: UnixSignal,
    stop: UnixSignal,
}

impl Signals {
    fn new() -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            hangup: signal(SignalKind::hangup())?,
            interrupt: signal(SignalKind::interrupt())?,
            quit: signal(SignalKind::quit())?,
            resized: signal(SignalKind::window_change())?,
            resumed: signal(SignalKind::from_raw(libc_sigcont()))?,
            stop: signal(SignalKind::from_raw(libc_sigtstp()))?,
        })
    }
}

fn libc_sigcont() -> i32 {
    rustix::process::Signal::CONT.as_raw()
}

fn libc_sigtstp() -> i32 {
    rustix::process::Signal::TSTP.as_raw()
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
    reader: Option<Reader>,
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
        if let Err(panic) = worked {
            terminal::restore();
            drop(self.reader.take());
            self.engine.apply(Event::Signal(Signal::Terminate));
            let _ = tokio::time::timeout(RESCUE, self.engine.shut_down()).await;
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
        self.engine.shut_down().await;
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
        let frame_due = if self.writer.is_idle() {
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
            _ = signals.quit.recv() => self.leave(131),
            _ = signals.interrupt.recv() => self.leave(130),
            _ = signals.resized.recv() => self.resize(),
            _ = signals.resumed.recv() => {
                self.engine.apply(Event::Signal(Signal::Resumed));
                self.retake();
            }
            _ = signals.stop.recv() => self.suspend(),
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

    fn take_bytes(&mut self, bytes: Bytes) {
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
            Bytes::Closed => self.leave(129),
        }
    }

    /// What the person did, besides what a recording plays.
    fn take_pressed(&mut self, mut events: Vec<TerminalEvent>) {
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
        }
        self.take_terminal(events);
    }

    fn record(&self, event: &TerminalEvent) {
        if let Some(recorder) = &self.engine.surroundings().recorder {
            let is_hidden = self.engine.state.asks_for_secret();
            recorder.terminal(self.clock.now(), event, is_hidden);
        }
    }

    fn take_terminal(&mut self, events: Vec<TerminalEvent>) {
        for event in events {
            self.record(&event);
            match event {
                TerminalEvent::Mouse(mouse) => {
                    if matches!(mouse.kind, MouseKind::Moved) {
                        continue;
                    }
                    let target = self.hits.at(mouse.column, mouse.row);
                    self.engine.apply(Event::Pointer { mouse, target });
                }
                TerminalEvent::Reply(reply) => self.take_reply(reply),
                TerminalEvent::Resize { .. } => self.resize(),
                other => self.engine.apply(Event::Terminal(other)),
            }
        }
    }

    /// How pictures are drawn from now on.
    fn plan_pictures(&mut self) {
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

    async fn front_effects(&mut self) {
        loop {
            let effects = self.engine.take_front_effects();
            if effects.is_empty() {
                return;
            }
            for effect in effects {
                self.front_effect(effect).await;
            }
        }
    }

    async fn front_effect(&mut self, effect: Effect) {
        match effect {
            Effect::Redraw { now } => self.pace.want(now),
            Effect::RedrawAll => {
                self.painter.invalidate();
                self.pace.want(true);
            }
            Effect::Copy(text) => self.copy(text),
            Effect::Notify {
                account,
                title,
                body,
            } => {
                let now = self.clock.now();
                let last = self.notified.get(account.as_str()).copied();
                if last.is_none_or(|last| now.since(last) >= NOTIFY_EVERY) {
                    self.notified.insert(account.as_str().to_owned(), now);
                    let bytes =
                        desktop::notification(&title, &body, self.engine.surroundings().place);
                    self.extra.extend_from_slice(&bytes);
                    self.pace.want(true);
                }
            }
            Effect::Bell => {
                self.extra.push(7);
                self.pace.want(true);
            }
            Effect::Title(text) if self.options.set_title => {
                self.extra.extend_from_slice(&desktop::title(&text));
                self.pace.want(false);
            }
            Effect::Edit {
                account,
                conversation,
                text,
            } => {
                let text = self.edit(&text).await;
                self.engine.apply(Event::Shell(ShellReply::Edited {
                    account,
                    conversation,
                    text,
                }));
            }
            Effect::CopySelection => {
                if let Some(text) = self.selected_text() {
                    self.copy(text);
                }
            }
            Effect::Demo => {
                self.wants_demo = true;
                self.leave(0);
            }
            Effect::Doctor => self.diagnose(),
            Effect::Suspend => self.suspend(),
            Effect::Quit { code } => self.exit = Some(self.exit.unwrap_or(code)),
            _ => {}
        }
    }

    fn copy(&mut self, text: SafeText) {
        let place = self.engine.surroundings().place;
        let dir = self.engine.surroundings().paths.state.clone();
        let copied = if place.in_tmux || place.has_display {
            // Other programs may be asked; that is done on a thread, and the answer is a toast.
            let inner = self.engine.inner();
            tokio::task::spawn_blocking(move || {
                let copied = desktop::copy(&text, place, &dir);
                let reply = ShellReply::Copied {
                    how: SafeText::label(&copied.how),
                    severity: copied.severity,
                };
                let _ = inner.blocking_send(Inner::Shell(Box::new(reply)));
                if let Some(escape) = copied.escape
                    && let Ok(tty) = terminal::open_tty()
                {
                    let _ = io::Write::write_all(&mut &tty, &escape);
                }
            });
            return;
        } else {
            desktop::copy(&text, place, &dir)
        };
        if let Some(escape) = copied.escape {
            self.extra.extend_from_slice(&escape);
            self.pace.want(true);
        }
        self.engine.apply(Event::Shell(ShellReply::Copied {
            how: SafeText::label(&copied.how),
            severity: copied.severity,
        }));
    }

    /// Looks at this place on a thread, as other programs may be asked.
    fn diagnose(&self) {
        let around = self.engine.surroundings().clone();
        let abilities = self.abilities.clone();
        let accounts = self.account_findings();
        let colours = doctor::colours(self.options.depth);
        let ascii = self.engine.state.settings.ascii;
        let inner = self.engine.inner();
        tokio::task::spawn_blocking(move || {
            let mut facts = doctor::gather(around.place, &around.paths, Some(abilities), colours);
            facts.keyring = super::setup::keyring_status(&around).err();
            let mut report = Report {
                sections: doctor::judge(&facts),
            };
            report.sections.push(Section {
                title: "Accounts".to_owned(),
                findings: accounts,
            });
            let page = SafeText::prose(&report.markdown(ascii));
            let _ = inner.blocking_send(Inner::Shell(Box::new(ShellReply::Diagnosed(page))));
        });
    }

    /// How the accounts stand now.
    fn account_findings(&self) -> Vec<Finding> {
        let now = self.clock.now();
        self.engine
            .state
            .accounts
            .iter()
            .map(|of| {
                let name = of.account.label.as_str();
                match &of.account.link {
                    LinkState::Ready => {
                        let who = of.account.identity.as_ref().map_or_else(
                            || "online".to_owned(),
                            |known| format!("online, {} {}", known.server, known.version),
                        );
                        Finding::good(name, who)
                    }
                    LinkState::Off => Finding::good(name, "switched off"),
                    LinkState::Connecting | LinkState::Syncing => Finding::good(name, "connecting"),
                    LinkState::Waiting { until, reason } => Finding::bad(
                        name,
                        reason.as_str(),
                        format!(
                            "It is tried again in {} s; /connect tries now.",
                            until.since(now).as_secs()
                        ),
                    ),
                    LinkState::Refused { reason } => Finding::bad(
                        name,
                        reason.as_str(),
                        "When that is mended, /connect tries again; a new secret goes in on the \
                         account's page (/account), with s.",
                    ),
                    LinkState::NeedsLogin(need) => {
                        Finding::bad(name, need.hint.as_str(), "The account's page says how.")
                    }
                }
            })
            .collect()
    }

    /// The text between the ends of the selection.
    fn selected_text(&mut self) -> Option<SafeText> {
        view::selected_text(
            &self.engine.state,
            &mut self.memo,
            &self.theme,
            self.buffer.area,
        )
        .map(|text| SafeText::prose(&text))
    }

    /// Gives the terminal back and stops the whole group, as a shell expects of Ctrl+Z.
    fn suspend(&mut self) {
        drop(self.reader.take());
        terminal::restore();
        let _ =
            rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::STOP);
        self.retake();
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

    /// The person's editor on a private file; none when it failed or the text is gone.
    async fn edit(&mut self, text: &str) -> Option<String> {
        drop(self.reader.take());
        self.writer.written().await;
        terminal::restore();
        let dir = self.engine.surroundings().paths.state.join("edit");
        let text = text.to_owned();
        let edited = tokio::task::spawn_blocking(move || super::editor::edit(&dir, &text)).await;
        self.retake();
        match edited {
            Ok(Ok(text)) => Some(text),
            Ok(Err(error)) => {
                tracing::warn!(%error, "the editor failed");
                None
            }
            Err(_) => None,
        }
    }

    fn draw_if_due(&mut self) {
        let Some(due) = self.pace.due() else {
            if !self.extra.is_empty() && self.writer.is_idle() {
                let _ = self.writer.write(std::mem::take(&mut self.extra));
            }
            return;
        };
        if due > self.clock.now() || !self.writer.is_idle() || self.reader.is_none() {
            return;
        }
        self.draw();
    }

    fn draw(&mut self) {
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

/// How tests see what a panic leaves behind: where a variable says so, F12 is one. Not in a release.
#[cfg(debug_assertions)]
fn break_if_told(events: &[TerminalEvent]) {
    let key = TerminalEvent::Key(plain(Key::F(12)));
    if events.contains(&key) && std::env::var_os("TRIALOGUE_BREAK").is_some() {
        panic!("a text that nobody may read");
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

/// How the parser reads a terminal here.
fn parser_options(over_ssh: bool, is_kitty: bool) -> ParserOptions {
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

/// A moment of which only the monotonic part counts.
fn moment(mono_ms: u64) -> Moment {
    Moment {
        mono_ms,
        ..Moment::default()
    }
}

/// Minutes east of UTC of the local zone, now.
pub fn utc_offset_minutes() -> i32 {
    let now = jiff::Timestamp::now();
    local_zone().to_offset(now).seconds() / 60
}

/// The zone of this machine. Looking a name up walks through all zones there are, which takes longer
/// than everything else at the start together, so the file of the zone is read where it is known.
fn local_zone() -> TimeZone {
    let file = match std::env::var("TZ") {
        Err(_) => Some(PathBuf::from("/etc/localtime")),
        Ok(name) => {
            let name = name.trim_start_matches(':');
            let is_plain = !name.is_empty()
                && !name.contains("..")
                && name
                    .chars()
                    .all(|c| c.is_ascii_alphanumeric() || matches!(c, '/' | '_' | '-' | '+'));
            is_plain.then(|| Path::new("/usr/share/zoneinfo").join(name.trim_start_matches('/')))
        }
    };
    file.and_then(|file| std::fs::read(file).ok())
        .and_then(|bytes| TimeZone::tzif("", &bytes).ok())
        .unwrap_or_else(TimeZone::system)
}

/// A theme that ships, else a file of the person's, else the dark one.
fn pick_theme(name: &str, options: &ScreenOptions) -> Theme {
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
