//! The terminal's answers, for a command without a screen: raw mode, one write, and a wait with a
//! deadline.

use crate::input::TerminalEvent;
use crate::input::parser::{Parser, ParserOptions};
use crate::runtime::abilities::{self, Abilities};
use crate::runtime::desktop::Place;
use crate::runtime::terminal;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{OptionalActions, tcgetattr, tcsetattr};
use std::io::Write;
use std::time::{Duration, Instant};

/// Answers that come after the last one, because a multiplexer let it overtake, are waited for so
/// long.
const LATE: Duration = Duration::from_millis(60);

/// Asks the terminal; none when there is none. Waits a second at most, longer over SSH.
pub fn ask_terminal(place: Place) -> Option<Abilities> {
    let tty = terminal::open_tty().ok()?;
    let original = tcgetattr(&tty).ok()?;
    let mut raw = original.clone();
    raw.make_raw();
    tcsetattr(&tty, OptionalActions::Flush, &raw).ok()?;
    let term = std::env::var("TERM").unwrap_or_default();
    // Flags are asked for with those on that the chat would switch on, and taken off again.
    let questions = format!("\x1b[>1u{}\x1b[<u", abilities::questions(place, &term));
    let mut found = Abilities::default();
    if (&tty).write_all(questions.as_bytes()).is_ok() {
        let patience = Duration::from_millis(if place.over_ssh { 2_000 } else { 1_000 });
        let start = Instant::now();
        let mut until = start + patience;
        let mut parser = Parser::new(ParserOptions::remote());
        let mut buffer = [0_u8; 4096];
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            let timeout = Timespec {
                tv_sec: i64::try_from(left.as_secs()).unwrap_or(0),
                tv_nsec: i64::from(left.subsec_nanos()),
            };
            let mut fds = [PollFd::new(&tty, PollFlags::IN)];
            match poll(&mut fds, Some(&timeout)) {
                Ok(0) => break,
                Ok(_) => {}
                Err(rustix::io::Errno::INTR) => continue,
                Err(_) => break,
            }
            let Ok(n) = rustix::io::read(&tty, &mut buffer[..]) else {
                break;
            };
            if n == 0 {
                break;
            }
            let now = u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX);
            for event in parser.feed(now, &buffer[..n]) {
                if let TerminalEvent::Reply(reply) = event {
                    found.learn(&reply);
                }
            }
            if found.answered {
                until = until.min(Instant::now() + LATE);
            }
        }
    }
    // What still comes must not be typed into the shell.
    let _ = tcsetattr(&tty, OptionalActions::Flush, &original);
    Some(found)
}
