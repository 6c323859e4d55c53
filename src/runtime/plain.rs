//! The front of `--plain`: lines in, lines out, no cursor addressing, no colour. It works on the same
//! state as the screen; what the screen shows as a popup is told as a numbered list, and a number
//! chooses.
//!
//! A line that begins with a dot is for this front, one with a slash goes the way of the screen's
//! composer (its own commands and the server's), everything else is a message. While a list or a
//! question is open, the line answers it. A backslash at the end of a line goes on with the next.

use super::engine::Engine;
use crate::app::event::Signal;
use crate::app::keymap::Keymap;
use crate::app::screen::overlay::Overlay;
use crate::app::screen::viewport::{Anchor, LayoutFacts};
use crate::app::screen::{Target, decision, popups};
use crate::app::{Action, Effect, Event, accounts, actions};
use crate::input::{Modifiers, MouseButton, MouseEvent, MouseKind};
use crate::view::plain::{Narrator, Page, link_word, page, plural};
use std::io::{BufRead, IsTerminal};
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

/// Lines that may wait before a conversation is there.
const HELD: usize = 100;
/// The longest line that is taken, in bytes.
const LONGEST: usize = 1 << 20;
/// After the end of the input, nothing may have happened for so long.
const QUIET: Duration = Duration::from_millis(1_500);
/// Lines are read once every account is there or refused, or after so long: what is typed ahead,
/// or comes through a pipe, must not go elsewhere because one account was slower.
const SETTLED: Duration = Duration::from_secs(5);

/// The exit code when the input ended while a decision waits.
const NEEDS_DECISION: i32 = 5;

const HELP: &str = "\
Everything you type is a message, but for lines that begin with a dot or a slash.
.list       conversations, numbered; .go 3 goes to the third, .go name to one by name
.a          what waits for you, to read and answer
.older      what was said before
.stop       stop the run
.status     where you are, and how the accounts stand
.leave      leave a list or a question without choosing (an empty line does it too)
.quit       quit
..text      a message that begins with a dot
/files, /queue, /model, /effort, /search words, /attach path, /new name, /doctor and
the commands of the server work as in the full screen; what they list is numbered.
A backslash at the end of a line goes on with the next line.
";

/// Runs it to the end; the exit code.
pub async fn run(engine: Engine) -> std::io::Result<i32> {
    let (lines_out, lines) = mpsc::channel(16);
    std::thread::Builder::new()
        .name("lines".to_owned())
        .spawn(move || read_lines(&lines_out))?;
    Front {
        engine,
        narrator: Narrator::default(),
        held: Vec::new(),
        open: String::new(),
        page: None,
        has_ended: false,
        is_settled: false,
        last_news: tokio::time::Instant::now(),
        exit: None,
        rings: std::io::stdout().is_terminal(),
    }
    .run(lines)
    .await
}

/// Reads standard input; its end ends the channel.
fn read_lines(out: &mpsc::Sender<String>) {
    let mut input = std::io::stdin().lock();
    loop {
        let mut bytes = Vec::new();
        let mut limited = std::io::Read::take(&mut input, LONGEST as u64);
        match limited.read_until(b'\n', &mut bytes) {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        let line = String::from_utf8_lossy(&bytes);
        let line = line.trim_end_matches(['\n', '\r']).to_owned();
        if out.blocking_send(line).is_err() {
            return;
        }
    }
}

struct Front {
    engine: Engine,
    narrator: Narrator,
    /// Messages that wait for a conversation.
    held: Vec<String>,
    /// Lines that end in a backslash.
    open: String,
    /// The popup as it was told.
    page: Option<Page>,
    /// The input has ended.
    has_ended: bool,
    /// Lines are taken.
    is_settled: bool,
    /// When something was told last.
    last_news: tokio::time::Instant,
    exit: Option<i32>,
    rings: bool,
}

impl Front {
    async fn run(mut self, mut lines: mpsc::Receiver<String>) -> std::io::Result<i32> {
        let mut hangup = signal(SignalKind::hangup())?;
        let mut terminate = signal(SignalKind::terminate())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        // Clicks stand for choosing a row.
        self.engine.state.settings.mouse = true;
        // Words must name no key that is not there.
        self.engine.state.keymap = Keymap::without_keys();
        self.engine.state.screen.columns = 80;
        self.engine.state.screen.rows = 24;
        self.say("trialogue, plain. Type .help for help.\n").await?;
        self.engine.connect_all();
        let settled = tokio::time::Instant::now() + SETTLED;
        while self.exit.is_none() {
            self.is_settled |= self.has_settled();
            let quiet = self.last_news + QUIET;
            tokio::select! {
                biased;
                _ = hangup.recv() => self.leave(129),
                _ = terminate.recv() => self.leave(143),
                _ = interrupt.recv() => self.leave(130),
                line = lines.recv(), if !self.has_ended && self.is_settled => match line {
                    Some(line) => self.line(&line),
                    None => self.has_ended = true,
                },
                happening = self.engine.wait() => self.engine.take(happening),
                () = tokio::time::sleep_until(settled), if !self.is_settled => self.is_settled = true,
                () = tokio::time::sleep_until(quiet), if self.has_ended => self.end(),
            }
            while let Some(next) = self.engine.try_next() {
                self.engine.take(next);
            }
            self.engine.flush();
            self.effects();
            self.tell().await?;
        }
        match self.exit {
            Some(code) if code > 128 => self.engine.shut_down_at_once().await,
            _ => self.engine.shut_down().await,
        }
        Ok(self.exit.unwrap_or(0))
    }

    fn leave(&mut self, code: i32) {
        self.engine.apply(Event::Signal(Signal::Terminate));
        self.exit = Some(code);
    }

    /// The input has ended and it was quiet for a while: leaves, when nothing is on its way. What
    /// only an answer could go on with is left as it is, and the exit code says so.
    fn end(&mut self) {
        self.last_news = tokio::time::Instant::now();
        let state = &self.engine.state;
        let is_waiting = !crate::app::decisions::waiting(state).is_empty();
        let is_running = state
            .accounts
            .iter()
            .flat_map(|of| of.conversations.values())
            .any(|here| here.run.is_some());
        let is_sending =
            !self.held.is_empty() || state.accounts.iter().any(|of| !of.outbox.is_empty());
        if is_waiting && (is_running || is_sending) {
            self.perform(Action::Quit);
            self.exit = Some(NEEDS_DECISION);
        } else if !is_running && !is_sending {
            self.perform(Action::Quit);
        }
    }

    /// Every account is there, or it is known that it is not.
    fn has_settled(&self) -> bool {
        use crate::domain::LinkState;
        self.engine
            .state
            .accounts
            .iter()
            .all(|of| match of.account.link {
                LinkState::Ready => !of.conversations.is_empty(),
                LinkState::Waiting { .. }
                | LinkState::Refused { .. }
                | LinkState::NeedsLogin(_) => true,
                LinkState::Off | LinkState::Connecting | LinkState::Syncing => false,
            })
    }

    fn perform(&mut self, action: Action) {
        self.engine
            .perform(|state, now| actions::perform(state, now, action));
    }

    fn effects(&mut self) {
        for effect in self.engine.take_front_effects() {
            match effect {
                Effect::Quit { code } => self.exit = Some(self.exit.unwrap_or(code)),
                Effect::Doctor => {
                    let text = "Run `trialogue doctor` in another shell.".into();
                    self.engine
                        .apply(Event::Shell(crate::app::event::ShellReply::Diagnosed(text)));
                }
                _ => {}
            }
        }
        // Messages that were typed before a conversation was there.
        if self.engine.state.focus.is_some() {
            for text in std::mem::take(&mut self.held) {
                self.send(&text);
            }
        }
    }

    async fn tell(&mut self) -> std::io::Result<()> {
        let mut text = self.narrator.news(&self.engine.state);
        let page = page(&self.engine.state);
        if page != self.page {
            if let Some(page) = &page {
                text.push_str(&page.text);
            }
            self.page = page;
        }
        if text.is_empty() {
            return Ok(());
        }
        self.last_news = tokio::time::Instant::now();
        self.say(&text).await?;
        self.seen();
        Ok(())
    }

    /// Everything was told to its end: what is read counts as read, and a decision may be answered.
    fn seen(&mut self) {
        let Some((account, conversation)) = self.engine.state.focus.clone() else {
            return;
        };
        self.engine.apply(Event::Layout(Box::new(LayoutFacts {
            account,
            conversation,
            anchor: Anchor::Newest,
            resolved: 0,
            revealed: None,
            rows: 24,
            columns: 80,
            is_short_above: false,
            is_short_below: false,
            first_seen: None,
            last_seen: None,
            is_at_newest: true,
            decision_end_seen: true,
            composer_columns: 80,
            overlay_scroll_max: None,
        })));
    }

    async fn say(&self, text: &str) -> std::io::Result<()> {
        let mut out = tokio::io::stdout();
        out.write_all(text.as_bytes()).await?;
        if self.rings && text.contains("\n! ") {
            out.write_all(b"\x07").await?;
        }
        out.flush().await
    }

    fn line(&mut self, line: &str) {
        if let Some(start) = line.strip_suffix('\\') {
            self.open.push_str(start);
            self.open.push('\n');
            return;
        }
        let line = format!("{}{line}", std::mem::take(&mut self.open));
        self.engine
            .perform(|state, now| accounts::attend(state, now).into_iter().collect());
        if let Some(rest) = line.strip_prefix('.')
            && !rest.starts_with('.')
            && !rest.is_empty()
        {
            self.command(rest);
        } else if !self.engine.state.screen.overlays.is_empty() {
            self.answer(line.trim());
        } else if !line.trim().is_empty() {
            let text = line.strip_prefix('.').unwrap_or(&line);
            if self.engine.state.focus.is_some() {
                self.send(text);
            } else if self.held.len() < HELD {
                self.held.push(text.to_owned());
            }
        }
    }

    /// A line of the composer.
    fn send(&mut self, text: &str) {
        self.narrator.typed(text);
        let text = text.to_owned();
        self.engine.perform(|state, now| {
            if let Some((account, id)) = state.focus.clone()
                && let Some(here) = state.conversation_mut(&account, &id)
            {
                here.composer.put(&text, text.len());
            }
            actions::perform(state, now, Action::Send)
        });
    }

    fn command(&mut self, line: &str) {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        let rest = rest.trim();
        match word {
            "help" | "h" => self.note(HELP),
            "quit" | "q" => self.perform(Action::Quit),
            "list" | "l" => {
                self.perform(Action::Switcher);
                self.page = None;
            }
            "go" | "g" => {
                self.perform(Action::Switcher);
                self.answer(rest);
                // A name narrows the list; when one is left, that is meant.
                match page(&self.engine.state).map(|page| page.rows) {
                    Some(1) => self.answer("1"),
                    Some(0) => {
                        self.perform(Action::Escape);
                        self.note("No conversation fits; .list lists them.\n");
                    }
                    _ => {}
                }
                self.page = None;
            }
            "a" => self.perform(Action::OpenDecision),
            "older" | "o" => {
                let text = self.narrator.older(&self.engine.state);
                if text.is_empty() {
                    self.ask_older();
                    self.note("Nothing older is here yet; say .older again in a moment.\n");
                } else {
                    self.note(&text);
                }
            }
            "stop" => self.perform(Action::StopRun),
            "leave" => self.perform(Action::Escape),
            "status" | "s" => {
                let text = self.status();
                self.note(&text);
            }
            _ => self.note("That is no command here; .help lists them. A message that begins with a dot is written with two.\n"),
        }
    }

    /// A word of this front itself; it is told with the next news.
    fn note(&mut self, text: &str) {
        // Written at once: the answer to a command comes before everything else.
        use std::io::Write;
        let mut out = std::io::stdout().lock();
        let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    }

    fn ask_older(&mut self) {
        let Some((account, conversation)) = self.engine.state.focus.clone() else {
            return;
        };
        self.engine.apply(Event::Layout(Box::new(LayoutFacts {
            account,
            conversation,
            anchor: Anchor::Newest,
            resolved: 0,
            revealed: None,
            rows: 24,
            columns: 80,
            is_short_above: true,
            is_short_below: false,
            first_seen: None,
            last_seen: None,
            is_at_newest: true,
            decision_end_seen: false,
            composer_columns: 80,
            overlay_scroll_max: None,
        })));
    }

    fn status(&self) -> String {
        let state = &self.engine.state;
        let mut text = match state.focused() {
            Some((account, id, here)) => format!(
                "You are in {}. {}\n",
                crate::view::plain::place_name(account, id),
                if here.run.is_some() {
                    "The agent is at work."
                } else {
                    "Nothing runs here."
                }
            ),
            None => "No conversation is chosen.\n".to_owned(),
        };
        for of in &state.accounts {
            let link = link_word(of);
            let count = plural(of.conversations.len(), "conversation");
            text.push_str(&format!("{}: {link}, {count}\n", of.account.label));
        }
        text.push_str(&match crate::app::decisions::waiting(state).len() {
            0 => "Nothing waits for you.\n".to_owned(),
            1 => "1 decision waits for you.\n".to_owned(),
            waiting => format!("{waiting} decisions wait for you.\n"),
        });
        text
    }

    /// The line answers the popup on top.
    fn answer(&mut self, line: &str) {
        if let Some(Overlay::Decision(_)) = self.engine.state.screen.overlays.last() {
            self.decide(line);
            return;
        }
        if line.is_empty() {
            self.perform(Action::Escape);
            return;
        }
        let rows = page(&self.engine.state).map_or(0, |page| page.rows);
        match self.engine.state.screen.overlays.last() {
            Some(Overlay::Confirm(_)) => {
                if line.eq_ignore_ascii_case("yes") || line.eq_ignore_ascii_case("y") {
                    self.click(Target::OverlayButton(1));
                } else {
                    self.perform(Action::Escape);
                }
            }
            Some(Overlay::Prompt(_)) => {
                self.type_line(line);
                self.perform(Action::Accept);
            }
            Some(Overlay::Document { .. } | Overlay::Account { .. } | Overlay::Help { .. }) => {
                self.perform(Action::Escape);
            }
            Some(Overlay::Wizard(wizard)) if wizard.kind.is_some() => self.perform(Action::Escape),
            _ => match line.parse::<usize>() {
                Ok(number) if (1..=rows).contains(&number) => {
                    self.click(Target::OverlayRow(number - 1));
                }
                Ok(_) => self.note("There is no such number.\n"),
                Err(_) => {
                    self.type_line(line);
                    self.page = None;
                }
            },
        }
    }

    /// Puts a text in place of what stands in the line of the popup.
    fn type_line(&mut self, text: &str) {
        self.perform(Action::MoveLineEnd);
        self.perform(Action::KillToLineStart);
        let text = text.to_owned();
        self.engine
            .perform(|state, _| popups::insert(state, &text).unwrap_or_default());
    }

    fn click(&mut self, target: Target) {
        self.engine.apply(Event::Pointer {
            mouse: MouseEvent {
                kind: MouseKind::Down(MouseButton::Left),
                column: 0,
                row: 0,
                modifiers: Modifiers::default(),
            },
            target,
        });
    }

    fn decide(&mut self, line: &str) {
        let now = self.engine.surroundings().clock.now();
        let Some(popup) = decision::top(&self.engine.state) else {
            return;
        };
        // What was typed before the question was there must not answer it.
        let is_reason = popup.typing.is_some() && !line.is_empty();
        if !decision::is_armed(popup, now) && !is_reason {
            self.note("That was typed before you could read the question. Type it again.\n");
            return;
        }
        if popup.typing.is_some() {
            if !line.is_empty() {
                self.type_line(line);
            }
            self.perform(Action::Accept);
            return;
        }
        if line.is_empty() {
            self.perform(Action::Escape);
            return;
        }
        let rows = page(&self.engine.state).map_or(0, |page| page.rows);
        match line.parse::<usize>() {
            Ok(number) if (1..=rows).contains(&number) => {
                if let Some(Overlay::Decision(popup)) = self.engine.state.screen.overlays.last_mut()
                {
                    if popup.selected != number - 1 {
                        popup.always_asked = false;
                    }
                    popup.selected = number - 1;
                }
                self.perform(Action::Accept);
            }
            _ => self.note("Type one of the numbers, or an empty line to leave it open.\n"),
        }
    }
}
