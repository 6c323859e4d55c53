//! A conversation as one HTML file that needs nothing else: style inside, dark and light as the
//! reader's system has it, no script, nothing fetched.

use super::super::{record, words};
use super::{Files, Format, Head};
use crate::domain::{
    Attachment, AttachmentState, Author, Entry, EntryBody, Message, MessageSort, ToolCall,
    ToolStatus,
};
use crate::render::{escape_html, html, html_of_output};
use crate::text::size_words;
use base64::Engine as _;
use std::io::{self, Read, Write};

/// A larger picture is named and not put in.
const LARGEST_PICTURE: u64 = 3_000_000;

#[derive(Default)]
pub struct Html {
    day: String,
    /// Who wrote the last message, and in which minute.
    last: Option<(Author, String)>,
}

const STYLE: &str = include_str!("style.css");

impl Format for Html {
    fn begin(&mut self, out: &mut dyn Write, head: &Head<'_>) -> io::Result<()> {
        let (name, account) = (
            escape_html(head.name.as_str()),
            escape_html(head.account.as_str()),
        );
        writeln!(
            out,
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'\">\n\
             <meta name=\"referrer\" content=\"no-referrer\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n\
             <title>{name}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<header><h1>{name}</h1>\n\
             <p>{account} · exported {}</p></header>\n<main>",
            words::iso_time(head.at_ms)
        )
    }

    fn entry(&mut self, out: &mut dyn Write, entry: &Entry, files: &Files) -> io::Result<()> {
        match &entry.body {
            EntryBody::Message(message) => self.message(out, message, files),
            EntryBody::Tool(tool) => call(out, tool),
            EntryBody::RunEnded { outcome, .. } => writeln!(
                out,
                "<p class=\"note\">{}</p>",
                escape_html(&record::outcome_words(outcome))
            ),
            EntryBody::Gap { .. } => writeln!(
                out,
                "<p class=\"note\">… messages that are on the server only …</p>"
            ),
            // Nothing of them is kept.
            EntryBody::Deleted { .. } => Ok(()),
        }
    }

    fn end(&mut self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "</main>\n</body>\n</html>")
    }
}

impl Html {
    fn message(&mut self, out: &mut dyn Write, message: &Message, files: &Files) -> io::Result<()> {
        let text = message.body.text().as_str();
        if message.sort == MessageSort::Notice || message.author == Author::System {
            return writeln!(out, "<div class=\"note\">{}</div>", html(text));
        }
        let at_ms = message.sent_at_ms.unwrap_or(message.seen_at_ms);
        let at = words::time(at_ms);
        let (day, minute) = at.split_once(' ').unwrap_or((&at, ""));
        if day != self.day {
            writeln!(out, "<h2><span>{}</span></h2>", long_day(at_ms, day))?;
            day.clone_into(&mut self.day);
            self.last = None;
        }
        let who = match message.author {
            Author::User => "user",
            Author::Assistant | Author::System => "agent",
            Author::Automation => "automation",
        };
        let mut facts = Vec::new();
        facts.extend(message.footer.model.as_ref().map(|model| model.as_str()));
        facts.extend(record::delivery_note(message));
        facts.extend(message.is_interrupted.then_some("cut off"));
        // What goes on in the same minute needs no second head.
        let now = (message.author, minute.to_owned());
        let goes_on = facts.is_empty() && self.last.as_ref() == Some(&now);
        self.last = Some(now);
        let more = if goes_on { " more" } else { "" };
        writeln!(out, "<article class=\"{who}{more}\">")?;
        if !goes_on {
            write!(
                out,
                "<p class=\"head\"><b>{}</b> <time datetime=\"{}\">{minute}</time>",
                record::author_word(message.author),
                words::iso_time(at_ms)
            )?;
            for fact in facts {
                write!(out, " · {}", escape_html(fact))?;
            }
            writeln!(out, "</p>")?;
        }
        if !message.reasoning.is_empty() {
            writeln!(
                out,
                "<details class=\"thought\"><summary>reasoning</summary>{}</details>",
                html(message.reasoning.text().as_str())
            )?;
        }
        write!(out, "{}", html(text))?;
        for file in message.attachments.iter().filter_map(|id| files.get(id)) {
            let size = file.size.map(|size| format!(", {}", size_words(size)));
            writeln!(
                out,
                "<p class=\"file\">{} <span>({}{})</span></p>",
                escape_html(file.name.as_str()),
                escape_html(file.media_type.as_str()),
                size.unwrap_or_default()
            )?;
            if let Some((kind, bytes)) = picture(file) {
                let data = base64::engine::general_purpose::STANDARD.encode(bytes);
                writeln!(
                    out,
                    "<img alt=\"{}\" src=\"data:{kind};base64,{data}\">",
                    escape_html(file.name.as_str())
                )?;
            }
        }
        writeln!(out, "</article>")
    }
}

/// A day as a person says it.
fn long_day(at_ms: i64, day: &str) -> String {
    jiff::Timestamp::from_millisecond(at_ms)
        .map(|at| {
            let at = at.to_zoned_datetime(jiff::tz::TimeZone::system());
            at.strftime("%A, %-d %B %Y").to_string()
        })
        .unwrap_or_else(|_| day.to_owned())
}

/// The bytes of a picture that lies here, by what they are and not by what they are called. Only
/// kinds that hold nothing but a picture.
fn picture(file: &Attachment) -> Option<(&'static str, Vec<u8>)> {
    let AttachmentState::Present { path } = &file.state else {
        return None;
    };
    let mut bytes = Vec::new();
    std::fs::File::open(path)
        .ok()?
        .take(LARGEST_PICTURE + 1)
        .read_to_end(&mut bytes)
        .ok()?;
    if bytes.len() as u64 > LARGEST_PICTURE {
        return None;
    }
    let kind = infer::get(&bytes)?.mime_type();
    matches!(
        kind,
        "image/png" | "image/jpeg" | "image/gif" | "image/webp"
    )
    .then_some((kind, bytes))
}

fn call(out: &mut dyn Write, tool: &ToolCall) -> io::Result<()> {
    let failed = if tool.status == ToolStatus::Failed {
        " failed"
    } else {
        ""
    };
    write!(
        out,
        "<details class=\"tool{failed}\"><summary>{}</summary>",
        escape_html(&record::tool_line(tool))
    )?;
    for text in [tool.arguments.as_str(), tool.output.as_str()] {
        if !text.is_empty() {
            write!(out, "<pre>{}</pre>", html_of_output(text))?;
        }
    }
    writeln!(out, "</details>")
}
