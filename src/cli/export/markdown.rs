//! A conversation as Markdown: a heading for each message, its text as it is, calls of tools with
//! their output in fences that the output cannot close.

use super::super::{record, words};
use super::{Files, Format, Head};
use crate::domain::{Author, Entry, EntryBody, Message, MessageSort, ToolCall};
use crate::text::size_words;
use std::io::{self, Write};

#[derive(Default)]
pub struct Markdown {
    day: String,
}

impl Format for Markdown {
    fn begin(&mut self, out: &mut dyn Write, head: &Head<'_>) -> io::Result<()> {
        writeln!(out, "# {}\n", inline(head.name.as_str()))?;
        writeln!(
            out,
            "*{} · exported {}*",
            inline(head.account.as_str()),
            words::iso_time(head.at_ms)
        )
    }

    fn entry(&mut self, out: &mut dyn Write, entry: &Entry, files: &Files) -> io::Result<()> {
        match &entry.body {
            EntryBody::Message(message) => self.message(out, message, files),
            EntryBody::Tool(tool) => call(out, tool),
            EntryBody::RunEnded { outcome, .. } => {
                writeln!(out, "\n*{}*", inline(&record::outcome_words(outcome)))
            }
            EntryBody::Gap { .. } => {
                writeln!(out, "\n*… messages that are on the server only …*")
            }
            // Nothing of them is kept.
            EntryBody::Deleted { .. } => Ok(()),
        }
    }

    fn end(&mut self, _out: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }
}

impl Markdown {
    fn message(&mut self, out: &mut dyn Write, message: &Message, files: &Files) -> io::Result<()> {
        let text = message.body.text().as_str().trim_end();
        if message.sort == MessageSort::Notice || message.author == Author::System {
            return writeln!(out, "\n{}", quote(text));
        }
        let at = words::time(message.sent_at_ms.unwrap_or(message.seen_at_ms));
        let (day, minute) = at.split_once(' ').unwrap_or((&at, ""));
        if day != self.day {
            writeln!(out, "\n## {day}")?;
            day.clone_into(&mut self.day);
        }
        let mut facts = vec![
            record::author_word(message.author).to_owned(),
            minute.to_owned(),
        ];
        if let Some(model) = &message.footer.model {
            facts.push(inline(model.as_str()));
        }
        if let Some(note) = record::delivery_note(message) {
            facts.push(note.to_owned());
        }
        if message.is_interrupted {
            facts.push("cut off".to_owned());
        }
        writeln!(out, "\n### {}", facts.join(" · "))?;
        let reasoning = message.reasoning.text().as_str().trim_end();
        if !reasoning.is_empty() {
            writeln!(out, "\n{}", quote(reasoning))?;
        }
        if !text.is_empty() {
            writeln!(out, "\n{text}")?;
            if has_open_fence(text) {
                // What follows must not become part of a code block that was cut off.
                writeln!(out, "{}", fence(text))?;
            }
        }
        for file in message.attachments.iter().filter_map(|id| files.get(id)) {
            let size = file.size.map(|size| format!(", {}", size_words(size)));
            writeln!(
                out,
                "\n+ {} ({}{})",
                inline(file.name.as_str()),
                inline(file.media_type.as_str()),
                size.unwrap_or_default()
            )?;
        }
        Ok(())
    }
}

fn call(out: &mut dyn Write, tool: &ToolCall) -> io::Result<()> {
    writeln!(out, "\n- {}", inline(&record::tool_line(tool)))?;
    for text in [tool.arguments.as_str(), tool.output.as_str()] {
        let text = text.trim_end();
        if !text.is_empty() {
            let fence = fence(text);
            writeln!(out, "\n  {fence}")?;
            for line in text.lines() {
                writeln!(out, "  {line}")?;
            }
            writeln!(out, "  {fence}")?;
        }
    }
    Ok(())
}

/// A fence longer than any in the text.
fn fence(text: &str) -> String {
    let mut longest = 0;
    let mut run = 0;
    for c in text.chars() {
        run = if c == '`' { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    "`".repeat((longest + 1).max(3))
}

/// Whether the last code block of a text is open at its end.
fn has_open_fence(text: &str) -> bool {
    let mut open: Option<usize> = None;
    for line in text.lines() {
        let line = line.trim_start();
        let ticks = line.chars().take_while(|c| *c == '`').count();
        match open {
            None if ticks >= 3 => open = Some(ticks),
            Some(length) if ticks >= length && line.trim_end().len() == ticks => open = None,
            _ => {}
        }
    }
    open.is_some()
}

fn quote(text: &str) -> String {
    text.lines()
        .map(|line| format!("> {line}").trim_end().to_owned())
        .collect::<Vec<_>>()
        .join("\n")
}

/// Text in a line of ours: nothing in it is markup.
fn inline(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' => out.push(' '),
            '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '#' | '|' | '~' | '&' => {
                out.push('\\');
                out.push(c);
            }
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_cannot_close_its_fence_and_a_cut_block_does_not_run_on() {
        assert_eq!(fence("a ``` b ```` c"), "`````");
        assert_eq!(fence("plain"), "```");
        assert!(has_open_fence("x\n```rust\nlet a"));
        assert!(!has_open_fence("x\n```rust\nlet a\n```"));
        assert!(has_open_fence("````\n```"));
    }
}
