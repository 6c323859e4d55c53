//! Cutting standard output into lines, and the end of standard error that is kept for the words.

use bytes::{Bytes, BytesMut};
use std::collections::VecDeque;

/// Longest line of standard output; a longer one is left out and reading goes on behind it.
pub(super) const LINE_LIMIT: usize = 16 * 1024 * 1024;
/// What is kept of standard error.
const TAIL: usize = 8 * 1024;

/// A line break in the middle of a character cannot happen, broken bytes can: they are replaced.
pub(super) fn utf8(bytes: Bytes) -> Bytes {
    match std::str::from_utf8(&bytes) {
        Ok(_) => bytes,
        Err(_) => Bytes::from(String::from_utf8_lossy(&bytes).into_owned()),
    }
}

pub(super) enum Line {
    Whole(Bytes),
    /// It had this many bytes and was not kept.
    TooLong(usize),
}

/// Cuts bytes into lines, without looking at any byte twice.
#[derive(Default)]
pub(super) struct Lines {
    rest: BytesMut,
    /// So many bytes at the front of `rest` hold no line break.
    searched: usize,
    /// Bytes of a too long line that were thrown away so far.
    skipped: usize,
}

impl Lines {
    pub(super) fn take(&mut self, more: &mut BytesMut) {
        if self.rest.is_empty() {
            self.rest = more.split();
        } else {
            self.rest.extend_from_slice(&more.split());
        }
    }

    pub(super) fn next(&mut self) -> Option<Line> {
        loop {
            let found = self.rest[self.searched..]
                .iter()
                .position(|byte| *byte == b'\n');
            let Some(found) = found else {
                self.searched = self.rest.len();
                if self.rest.len() > LINE_LIMIT {
                    self.skipped += self.rest.len();
                    self.rest.clear();
                    self.searched = 0;
                }
                return None;
            };
            let mut line = self.rest.split_to(self.searched + found + 1);
            self.searched = 0;
            if self.skipped > 0 || line.len() > LINE_LIMIT {
                let size = self.skipped + line.len();
                self.skipped = 0;
                return Some(Line::TooLong(size));
            }
            line.truncate(line.len() - 1);
            if line.ends_with(b"\r") {
                line.truncate(line.len() - 1);
            }
            if !line.iter().all(u8::is_ascii_whitespace) {
                return Some(Line::Whole(line.freeze()));
            }
        }
    }
}

/// The last bytes of standard error.
#[derive(Default)]
pub(super) struct Tail(VecDeque<u8>);

impl Tail {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.0.extend(bytes);
        let over = self.0.len().saturating_sub(TAIL);
        self.0.drain(..over);
    }

    pub(super) fn text(&self) -> String {
        let (front, back) = self.0.as_slices();
        let text = String::from_utf8_lossy(&[front, back].concat()).into_owned();
        // The first line was probably cut.
        match text.split_once('\n') {
            Some((_, rest)) if self.0.len() == TAIL => rest.to_owned(),
            _ => text,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_cut_wherever_the_bytes_come_apart() {
        let mut lines = Lines::default();
        let mut got = Vec::new();
        for piece in ["{\"a\"", ":1}\r\n\n  \n{\"b\":", "2}\n{\"c\"", ":3}\n"] {
            lines.take(&mut BytesMut::from(piece));
            while let Some(Line::Whole(line)) = lines.next() {
                got.push(String::from_utf8(line.to_vec()).unwrap());
            }
        }
        assert_eq!(got, ["{\"a\":1}", "{\"b\":2}", "{\"c\":3}"]);
    }

    #[test]
    fn a_line_that_is_too_long_is_left_out_and_the_next_one_is_not() {
        let mut lines = Lines::default();
        let mut left_out = 0;
        let mut whole = 0;
        let block = "x".repeat(1024 * 1024);
        for _ in 0..20 {
            lines.take(&mut BytesMut::from(block.as_str()));
            assert!(lines.next().is_none());
        }
        lines.take(&mut BytesMut::from("y\nnext\n"));
        while let Some(line) = lines.next() {
            match line {
                Line::Whole(line) => {
                    assert_eq!(line.as_ref(), b"next");
                    whole += 1;
                }
                Line::TooLong(size) => left_out = size,
            }
        }
        assert_eq!((whole, left_out), (1, 20 * 1024 * 1024 + 2));
    }
}
