//! What several commands print alike: lines that a closed pipe ends, times, sizes.

use super::Failure;
use jiff::tz::TimeZone;
use std::io::{self, Write};
use std::path::Path;

/// Prints lines; a reader that has seen enough ends it without a complaint.
#[derive(Default)]
pub struct Lines(bool);

impl Lines {
    /// Prints one line, at once.
    pub fn put(&mut self, line: &str) {
        if !self.0 {
            let mut stdout = io::stdout().lock();
            self.0 = writeln!(stdout, "{line}")
                .and_then(|()| stdout.flush())
                .is_err();
        }
    }

    /// Nobody reads any more.
    pub fn is_closed(&self) -> bool {
        self.0
    }
}

/// Prints a line; a reader that is gone is no failure.
macro_rules! say {
    ($($words:tt)*) => {
        $crate::cli::words::put(&mut std::io::stdout().lock(), format_args!($($words)*))
    };
}

/// Prints a line on standard error, like `say`.
macro_rules! complain {
    ($($words:tt)*) => {
        $crate::cli::words::put(&mut std::io::stderr().lock(), format_args!($($words)*))
    };
}

/// What `say` and `complain` do.
pub fn put(out: &mut dyn Write, words: std::fmt::Arguments<'_>) {
    let _ = writeln!(out, "{words}").and_then(|()| out.flush());
}

/// A file that is there is not written over unless that was asked for.
pub fn refuse_to_replace(path: &Path) -> Result<(), Failure> {
    match path.symlink_metadata() {
        Ok(_) => Err(Failure::usage(format!(
            "{} is there already and stays as it is; give another name, or --force to write over it",
            path.display()
        ))),
        Err(_) => Ok(()),
    }
}

/// Wall milliseconds as day and minute, where the person is.
pub fn time(at_ms: i64) -> String {
    jiff::Timestamp::from_millisecond(at_ms)
        .map(|at| {
            at.to_zoned_datetime(TimeZone::system())
                .strftime("%Y-%m-%d %H:%M")
                .to_string()
        })
        .unwrap_or_default()
}

/// Wall milliseconds for machines and for the head of a file.
pub fn iso_time(at_ms: i64) -> String {
    jiff::Timestamp::from_millisecond(at_ms)
        .map(|at| at.to_string())
        .unwrap_or_default()
}

/// Milliseconds as seconds.
pub fn seconds(ms: u64) -> String {
    format!("{:.1} s", ms as f64 / 1_000.0)
}
