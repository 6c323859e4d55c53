//! Thousands of bad days: a person at the program, a gateway of each kind, and between them a line
//! that is cut, freezes, lags and doubles, a program that is killed between any two writes, and a
//! gateway that restarts with or without its memory. All in virtual time from a seed.
//!
//! In the end, with the line well again, it is checked that every message of the server is there
//! exactly once, every message of the person's own is in exactly one known state, every draft is
//! whole, and no mark of progress is ahead of what is stored.
//!
//! `cargo test --test faults` plays a few hundred days. More: `TRIALOGUE_FAULT_SEEDS=10000`; one
//! again, with a log of everything that happened: `TRIALOGUE_FAULT_SEED=4711`.
#![allow(clippy::unwrap_used)]

#[path = "faults/check.rs"]
mod check;
#[path = "faults/client.rs"]
mod client;
#[path = "faults/counts.rs"]
mod counts;
#[path = "faults/person.rs"]
mod person;
#[path = "support/random.rs"]
mod random;
#[path = "faults/scenes.rs"]
mod scenes;
#[path = "faults/wire.rs"]
mod wire;
#[path = "faults/world.rs"]
mod world;

use std::panic::{AssertUnwindSafe, catch_unwind};
use trialogue::domain::Moment;
use world::World;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Pheby,
    Iris,
    Omi,
}

/// A moment so many milliseconds after the start.
pub fn moment(epoch: u64, now: u64) -> Moment {
    Moment {
        mono_ms: now,
        wall_ms: i64::try_from(epoch + now).unwrap(),
    }
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// Plays so many days, and tells of the ones that went wrong.
fn days(kind: Kind, usual: u64) {
    if let Some(seed) = number("TRIALOGUE_FAULT_SEED") {
        let mut world = World::new(kind, seed);
        world.is_loud = true;
        world.day();
        return;
    }
    let first = number("TRIALOGUE_FAULT_FIRST").unwrap_or(1);
    let count = number("TRIALOGUE_FAULT_SEEDS").unwrap_or(usual);
    let start = std::time::Instant::now();
    let mut failed = Vec::new();
    let mut totals = world::Totals::default();
    for seed in first..first + count {
        let played = catch_unwind(AssertUnwindSafe(|| {
            let mut world = World::new(kind, seed);
            world.day();
            world.totals
        }));
        match played {
            Ok(of) => totals.add(&of),
            Err(panic) => {
                let words = panic
                    .downcast_ref::<String>()
                    .map(String::as_str)
                    .or_else(|| panic.downcast_ref::<&str>().copied())
                    .unwrap_or("it broke off")
                    .to_owned();
                failed.push((seed, words));
                if failed.len() >= 20 {
                    break;
                }
            }
        }
    }
    eprintln!(
        "{kind:?}: {count} days from seed {first} in {:.1} s, {totals:?}",
        start.elapsed().as_secs_f64()
    );
    let report: Vec<String> = failed
        .iter()
        .map(|(seed, words)| format!("TRIALOGUE_FAULT_SEED={seed}: {words}"))
        .collect();
    assert!(
        report.is_empty(),
        "{kind:?}: {} of {count} days went wrong\n{}",
        report.len(),
        report.join("\n\n")
    );
}

#[test]
fn no_bad_day_with_pheby_loses_or_doubles_anything() {
    days(Kind::Pheby, 150);
}

#[test]
fn no_bad_day_with_iris_loses_or_doubles_anything() {
    days(Kind::Iris, 100);
}

#[test]
fn no_bad_day_with_omi_loses_or_doubles_anything() {
    days(Kind::Omi, 100);
}
