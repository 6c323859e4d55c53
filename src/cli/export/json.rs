//! A conversation as one JSON document: a head, then its entries, one on a line, each as
//! `tail --json` prints it (see [`super::super::json`]).

use super::super::{json, record};
use super::{Files, Format, Head};
use crate::domain::Entry;
use std::io::{self, Write};

#[derive(Default)]
pub struct Json {
    has_entries: bool,
}

impl Format for Json {
    fn begin(&mut self, out: &mut dyn Write, head: &Head<'_>) -> io::Result<()> {
        let value = |text: &str| serde_json::Value::from(text).to_string();
        write!(
            out,
            "{{\"v\":{},\"account\":{},\"conversation\":{},\"name\":{},\"exported_at_ms\":{},\"entries\":[",
            json::VERSION,
            value(head.account.as_str()),
            value(head.conversation.as_str()),
            value(head.name.as_str()),
            head.at_ms,
        )
    }

    fn entry(&mut self, out: &mut dyn Write, entry: &Entry, files: &Files) -> io::Result<()> {
        let comma = if self.has_entries { "," } else { "" };
        self.has_entries = true;
        write!(out, "{comma}\n{}", record::value(entry, files))
    }

    fn end(&mut self, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(b"\n]}\n")
    }
}
