//! Bytes of every kind at every door: frames of each protocol, terminal input, Markdown, and frames
//! all the way onto the screen. A stable random loop over what the transcripts and recordings hold;
//! no coverage guides it, so it runs on the stable toolchain.
//!
//! `cargo test --test fuzz` runs each target for a moment. `TRIALOGUE_FUZZ_MINUTES=20 cargo test
//! --test fuzz TARGET` runs one for long; `TRIALOGUE_FUZZ_SEED` goes on from another seed. A failure
//! names the seed of its round, which plays that round alone with `TRIALOGUE_FUZZ_ROUND`.
#![allow(clippy::unwrap_used)]

#[path = "fuzz/mutate.rs"]
mod mutate;
#[path = "support/random.rs"]
mod random;
#[path = "fuzz/screen.rs"]
mod screen;

use mutate::{corpus, documents, mutate};
use random::Random;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};
use trialogue::config::account::{AccountConfig, Endpoint, NetworkEndpoint, ProcessEndpoint};
use trialogue::domain::{Moment, Secret};
use trialogue::input::TerminalEvent;
use trialogue::input::parser::{Parser, ParserOptions};
use trialogue::link::{CloseReason, Frame};
use trialogue::protocol::{self, Driver, Input, Output, Resume, Setup};
use trialogue::render::{self, Options};
use trialogue::text::SafeText;

/// Rounds of the short run.
const ROUNDS: u64 = 150;

fn number(name: &str) -> Option<f64> {
    std::env::var(name).ok()?.parse().ok()
}

/// Plays rounds of a target until the time or the number is over.
fn rounds(target: &str, mut play: impl FnMut(&mut Random)) {
    if let Some(round) = number("TRIALOGUE_FUZZ_ROUND") {
        return play(&mut Random::new(round as u64));
    }
    let first = number("TRIALOGUE_FUZZ_SEED").unwrap_or(1.0) as u64;
    let time =
        number("TRIALOGUE_FUZZ_MINUTES").map(|minutes| Duration::from_secs_f64(minutes * 60.0));
    let start = Instant::now();
    let mut round = first;
    loop {
        let is_over = match time {
            Some(time) => start.elapsed() >= time,
            None => round >= first + ROUNDS,
        };
        if is_over {
            break;
        }
        let played = catch_unwind(AssertUnwindSafe(|| play(&mut Random::new(round))));
        assert!(
            played.is_ok(),
            "{target}: TRIALOGUE_FUZZ_ROUND={round} fails"
        );
        round += 1;
    }
    eprintln!(
        "{target}: {} rounds in {:.1} minutes without a failure",
        round - first,
        start.elapsed().as_secs_f64() / 60.0
    );
}

pub fn moment(ms: u64) -> Moment {
    Moment {
        mono_ms: ms,
        wall_ms: 1_796_029_200_000 + i64::try_from(ms).unwrap(),
    }
}

pub fn driver(kind: &str) -> Box<dyn Driver> {
    let network = || NetworkEndpoint {
        url: "ws://127.0.0.1:1/ws".to_owned(),
        ..NetworkEndpoint::default()
    };
    let endpoint = match kind {
        "pheby" => Endpoint::Pheby(network()),
        "iris" => Endpoint::Iris(network()),
        _ => Endpoint::Omi(ProcessEndpoint {
            command: vec!["runtime".to_owned()],
            ..ProcessEndpoint::default()
        }),
    };
    protocol::driver(
        &AccountConfig::new("test", endpoint),
        Setup {
            secret: Some(Secret::new("secret".to_owned())),
            resume: Resume::default(),
            seed: [0; 16],
            working_directory: "/home/ada/project".into(),
            client_version: "0.0.0-test",
        },
    )
}

/// Hands frames to a driver; its words come back. A session of bad frames ends in order.
fn talk(kind: &str, random: &mut Random, mut said: impl FnMut(Output)) {
    let corpus = corpus(kind);
    let mut driver = driver(kind);
    let mut now = 1_000;
    driver.handle(moment(now), Input::LinkUp { generation: 1 });
    // Most days begin with a handshake that is left alone.
    let opening = random.pick(&corpus.sessions).clone();
    let whole = random.below(12) as usize;
    for (at, line) in opening.iter().enumerate().take(40) {
        let text = if at < whole {
            line.clone()
        } else {
            mutate(random, line, &corpus.frames)
        };
        let frame = match random.below(40) {
            0 => Frame::Binary(text.into_bytes().into()),
            _ => Frame::Text(text.into_bytes().into()),
        };
        let _ = driver.glance(&frame);
        let _ = driver.redact(&frame);
        driver.handle(moment(now), Input::Frame(frame));
        let mut outputs = 0;
        while let Some(output) = driver.poll() {
            outputs += 1;
            assert!(outputs < 20_000, "{kind} never ends talking");
            said(output);
        }
        now += random.below(3_000);
        if driver.deadline().is_some_and(|at| at.mono_ms <= now) {
            driver.handle(moment(now), Input::Deadline);
        }
    }
    let reason = CloseReason::Silent;
    let _ = driver.retry(&reason);
    driver.handle(moment(now), Input::LinkDown { reason });
    while let Some(output) = driver.poll() {
        said(output);
    }
}

#[test]
fn frames_of_pheby() {
    rounds("frames_of_pheby", |random| talk("pheby", random, drop));
}

#[test]
fn frames_of_iris() {
    rounds("frames_of_iris", |random| talk("iris", random, drop));
}

#[test]
fn frames_of_omi() {
    rounds("frames_of_omi", |random| talk("omi", random, drop));
}

#[test]
fn terminal_input() {
    let seeds: &[&[u8]] = &[
        b"hello\r",
        b"\x1b[A\x1b[1;5C",
        b"\x1b[200~pasted\ntext\x1b[201~",
        b"\x1b[<0;12;7M",
        b"\x1b[27;5;13~",
        b"\x1b[97;5u",
        b"\x1b]11;rgb:1/2/3\x07",
        b"\x1bP1$r0m\x1b\\",
        b"\x1b_Gi=31;OK\x1b\\",
        b"\x1b[?62;22c",
        b"\x1b[?2026;2$y",
        b"\x1b[I\x1b[O",
        b"\x1bOP",
        "žluťoučký 🐎".as_bytes(),
        b"\xff\xfe\x80\xc3",
        b"\x1b[200~never closed",
    ];
    rounds("terminal_input", |random| {
        let mut parser = Parser::new(match random.below(2) {
            0 => ParserOptions::local(),
            _ => ParserOptions::remote(),
        });
        let mut now = 0;
        for _ in 0..random.below(40) {
            let mut bytes = random.pick(seeds).to_vec();
            for _ in 0..random.below(4) {
                let at = random.below(bytes.len() as u64 + 1) as usize;
                match random.below(3) {
                    0 => bytes.insert(at, random.next() as u8),
                    1 if at < bytes.len() => {
                        bytes.remove(at);
                    }
                    _ => bytes.truncate(at),
                }
            }
            for part in bytes.chunks(1 + random.below(9) as usize) {
                parser.feed(now, part);
                now += random.below(30);
                if parser.deadline().is_some_and(|at| at <= now) {
                    parser.expire(now);
                }
            }
        }
        // Whatever was left open ends by itself, and a key is a key again.
        for _ in 0..8 {
            if let Some(at) = parser.deadline() {
                now = now.max(at);
                parser.expire(now);
            }
        }
        assert_eq!(parser.deadline(), None, "something stays open for ever");
        now += 60_000;
        let events = parser.feed(now, b"x");
        let typed = events.iter().any(|event| match event {
            TerminalEvent::Key(chord) => chord.typed() == Some('x'),
            _ => false,
        });
        assert!(typed, "a key is lost: {events:?}");
    });
}

#[test]
fn markdown_layout() {
    let documents = documents();
    rounds("markdown_layout", |random| {
        let start = Instant::now();
        let source = mutate(random, &random.clone().pick(&documents).clone(), &documents);
        // Below this the program shows a notice instead.
        let width = 16 + random.below(140) as u16;
        let clean = SafeText::prose(&source);
        let options = Options::new(width);
        for rows in [
            render::markdown(clean.as_str(), &options),
            render::plain(clean.as_str(), &options),
            render::diff(clean.as_str(), &options),
            render::ansi(&source, &options),
        ] {
            for row in rows {
                let cells: usize = row
                    .spans
                    .iter()
                    .map(|span| trialogue::text::width(&span.text))
                    .sum();
                assert!(
                    cells <= usize::from(width),
                    "{cells} cells in a width of {width}"
                );
                for span in &row.spans {
                    assert!(
                        !span.text.chars().any(char::is_control),
                        "a control character is laid out"
                    );
                }
            }
        }
        assert!(
            start.elapsed() < Duration::from_secs(20),
            "layout takes for ever"
        );
    });
}

#[test]
fn frames_to_the_screen() {
    rounds("frames_to_the_screen", |random| {
        let kind = *random.pick(&["pheby", "iris", "omi"]);
        let mut person = screen::Screen::new(random);
        let mut events = Vec::new();
        talk(kind, random, |output| {
            if let Output::Event(event) = output {
                events.push(event);
            }
        });
        for event in events {
            person.take(event);
        }
        person.look(random);
    });
}
