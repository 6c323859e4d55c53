//! `trialogue export`: a conversation as a file. What is missing here is fetched first; then the
//! store is read page by page, so that a long conversation needs no more memory than a short one.

mod html;
mod json;
mod markdown;

use super::args::{Export, ExportFormat, Global};
use super::{Exit, Failure, chat, pick, read};
use crate::domain::{
    AccountId, Attachment, AttachmentId, ConversationId, Entry, EntryBody, StoredConversation,
    io_words,
};
use crate::runtime::oneshot::Amount;
use crate::store::{Handle, pages};
use crate::text::SafeText;
use std::collections::BTreeMap;
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::Path;

/// What stands at the head of a file.
pub struct Head<'a> {
    pub account: &'a AccountId,
    pub conversation: &'a ConversationId,
    pub name: &'a SafeText,
    /// When it was written, in wall milliseconds.
    pub at_ms: i64,
}

/// The files of a conversation.
pub type Files = BTreeMap<AttachmentId, Attachment>;

/// One way to write a conversation down. Everything it is given was cleaned.
trait Format {
    fn begin(&mut self, out: &mut dyn Write, head: &Head<'_>) -> io::Result<()>;
    fn entry(&mut self, out: &mut dyn Write, entry: &Entry, files: &Files) -> io::Result<()>;
    fn end(&mut self, out: &mut dyn Write) -> io::Result<()>;
}

/// Runs it.
pub fn run(global: &Global, export: &Export) -> Result<Exit, Failure> {
    if let Some(path) = &export.output
        && !export.force
    {
        super::words::refuse_to_replace(path)?;
    }
    let format = format(export)?;
    if export.offline {
        let (store, facts, _) = read::open(global)?;
        let of = pick::stored(
            &facts.conversations,
            export.account.as_deref(),
            &export.conversation,
        )?;
        return write(&store, of, &of.account, format, export);
    }
    let profile = chat::open_profile(global)?;
    let account = pick::account(&profile, export.account.as_deref())?;
    pick::with_history(
        global,
        profile,
        &account,
        &export.conversation,
        Amount::Whole,
        |_, engine, id| {
            let known = read::conversation(engine.store(), &account, id)?;
            write(engine.store(), &known, &account, format, export)
        },
    )
}

fn format(export: &Export) -> Result<ExportFormat, Failure> {
    if let Some(format) = export.format {
        return Ok(format);
    }
    let ending = export
        .output
        .as_deref()
        .and_then(Path::extension)
        .and_then(|ending| ending.to_str());
    match ending {
        // Nothing in such a name says what is in the file.
        None | Some("txt") if export.output.is_some() => {
            complain!("written as Markdown; --format json or html writes another form");
            Ok(ExportFormat::Md)
        }
        None | Some("md" | "markdown" | "txt") => Ok(ExportFormat::Md),
        Some("json") => Ok(ExportFormat::Json),
        Some("html" | "htm") => Ok(ExportFormat::Html),
        Some(other) => Err(Failure::usage(format!(
            "it is not clear from .{other} which format is meant; say it with --format md, json or html"
        ))),
    }
}

fn write(
    store: &Handle,
    known: &StoredConversation,
    account: &AccountId,
    format: ExportFormat,
    export: &Export,
) -> Result<Exit, Failure> {
    let mut format: Box<dyn Format> = match format {
        ExportFormat::Md => Box::new(markdown::Markdown::default()),
        ExportFormat::Json => Box::new(json::Json::default()),
        ExportFormat::Html => Box::new(html::Html::default()),
    };
    let head = Head {
        account,
        conversation: &known.conversation,
        name: &known.info.name,
        at_ms: jiff::Timestamp::now().as_millisecond(),
    };
    let written = match &export.output {
        Some(path) => write_file(store, &head, format.as_mut(), path),
        None => {
            let mut out = BufWriter::new(io::stdout().lock());
            match write_all(store, &head, format.as_mut(), &mut out) {
                // A reader that has seen enough is no failure of ours.
                Err(Wrong::Output(error)) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
                other => other,
            }
        }
    };
    let has_gaps = written.map_err(|wrong| match wrong {
        Wrong::Store(failure) => failure,
        Wrong::Output(error) => Failure::usage(match &export.output {
            Some(path) => format!("{}: {}", path.display(), io_words(&error)),
            None => format!("it could not be written: {}", io_words(&error)),
        }),
    })?;
    if has_gaps {
        complain!("trialogue: some messages are on the server only; the file says where");
    }
    Ok(Exit::Done)
}

enum Wrong {
    Store(Failure),
    Output(io::Error),
}

impl From<io::Error> for Wrong {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

/// Writes beside the file and puts it in its place when it is whole; only its owner may read it.
fn write_file(
    store: &Handle,
    head: &Head<'_>,
    format: &mut dyn Format,
    path: &Path,
) -> Result<bool, Wrong> {
    use std::os::unix::fs::OpenOptionsExt;
    let mut part = path.as_os_str().to_owned();
    part.push(format!(".{}.part", std::process::id()));
    let part = std::path::PathBuf::from(part);
    let file = std::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&part)?;
    let mut out = BufWriter::new(file);
    let written = write_all(store, head, format, &mut out).and_then(|has_gaps| {
        std::fs::rename(&part, path)?;
        Ok(has_gaps)
    });
    if written.is_err() {
        let _ = std::fs::remove_file(&part);
    }
    written
}

/// Writes everything; whether there are gaps.
fn write_all(
    store: &Handle,
    head: &Head<'_>,
    format: &mut dyn Format,
    out: &mut dyn Write,
) -> Result<bool, Wrong> {
    let files = read::files(store, head.account, head.conversation).map_err(Wrong::Store)?;
    let mut has_gaps = false;
    format.begin(out, head)?;
    for page in pages::pages(store, head.account.clone(), head.conversation.clone()) {
        for entry in page.map_err(|error| Wrong::Store(read::failed(error)))? {
            has_gaps |= matches!(entry.body, EntryBody::Gap { .. });
            format.entry(out, &entry, &files)?;
        }
    }
    format.end(out)?;
    out.flush()?;
    Ok(has_gaps)
}
