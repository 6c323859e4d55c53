//! `trialogue send`: the answer on standard output, everything about it on standard error.

use super::args::{Global, OnApproval, Send};
use super::{Exit, Failure, chat, exit_of_refusal, json, listen, pick, record};
use crate::config::account::EndpointPlace;
use crate::domain::{AccountId, Question, RemoteId, ToolCall, ToolCallId, ToolStatus, io_words};
use crate::runtime::oneshot::{self, Ended, Report, Request};
use std::collections::BTreeSet;
use std::io::{self, IsTerminal, Read, Write};
use std::os::fd::AsFd;
use std::time::Duration;

/// The longest message read from standard input, in bytes.
const LONGEST_INPUT: u64 = 16 << 20;

/// Runs it.
pub fn run(global: &Global, send: &Send) -> Result<Exit, Failure> {
    let text = match &send.text {
        Some(text) => text.clone(),
        None => read_input()?,
    };
    if text.trim().is_empty() {
        return Err(Failure::usage(
            "there is nothing to send: give the text as an argument or on standard input",
        ));
    }
    let profile = chat::open_profile(global)?;
    let account = pick::account(&profile, send.account.as_deref())?;
    let runtime = chat::runtime()?;
    let request = Request {
        account: account.clone(),
        place: match (&send.new, &send.conversation) {
            (Some(title), _) => oneshot::Place::New(title.clone()),
            (None, Some(wanted)) => oneshot::Place::Known(wanted.clone()),
            (None, None) => oneshot::Place::Usual,
        },
        text,
        files: send.attach.clone(),
        on_approval: match send.on_approval {
            OnApproval::Deny => oneshot::OnApproval::Deny,
            OnApproval::Once => oneshot::OnApproval::Once,
            OnApproval::Fail => oneshot::OnApproval::Fail,
        },
        ends_with_us: is_process(&profile, &account),
        patience: Duration::from_secs(send.timeout.max(1)),
    };
    let mut out = Printer {
        json: send.json,
        stdout_failed: false,
        is_one_stream: is_one_stream(),
        at_line_start: true,
        message: None,
        said: String::new(),
        running: BTreeSet::new(),
    };
    let ended = runtime.block_on(async {
        let engine = chat::headless_engine(global, profile)?;
        Ok::<_, Failure>(oneshot::send(engine, request, &mut |report| out.print(&report)).await)
    })?;
    // Sessions and workers were told to end; nothing of them may hold the exit up.
    runtime.shutdown_timeout(Duration::from_millis(300));
    let (exit, text) = match ended {
        Ended::Answered => (Exit::Done, None),
        Ended::RunFailed(text) => (Exit::RunFailed, Some(text)),
        Ended::NoConnection(text) => (Exit::NoConnection, Some(text)),
        Ended::Refused(text) => (exit_of_refusal(text.as_str()), Some(text)),
        Ended::Unusable(text) => (Exit::Usage, Some(text)),
        Ended::NeedsDecision(text) => (Exit::NeedsDecision, Some(text)),
        Ended::Signal(code) => (Exit::Code(u8::try_from(code).unwrap_or(130)), None),
    };
    out.end_line();
    // A reader that has seen enough is no failure of ours.
    if out.stdout_failed {
        return Ok(Exit::Done);
    }
    match text {
        None => Ok(exit),
        Some(text) => {
            if send.json {
                out.line(&json::error(exit.code(), text.as_str()));
            }
            Err(Failure {
                exit,
                text: format!("{}: {text}", account.as_str()),
            })
        }
    }
}

/// Whether an account is a runtime on this machine that we start ourselves.
fn is_process(profile: &chat::Profile, account: &AccountId) -> bool {
    profile.accounts.iter().any(|of| {
        of.config.name == account.as_str()
            && matches!(of.config.endpoint.place(), EndpointPlace::Process(_))
    })
}

fn read_input() -> Result<String, Failure> {
    if io::stdin().is_terminal() {
        complain!("(type the message, end with Ctrl+D)");
    }
    let mut bytes = Vec::new();
    io::stdin()
        .take(LONGEST_INPUT + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| {
            Failure::usage(format!(
                "standard input could not be read: {}",
                io_words(&error)
            ))
        })?;
    if bytes.len() as u64 > LONGEST_INPUT {
        return Err(Failure::usage(
            "the message on standard input is longer than 16 MiB",
        ));
    }
    let text = String::from_utf8(bytes)
        .map_err(|_| Failure::usage("the message on standard input is not UTF-8 text"))?;
    Ok(text.trim_end_matches('\n').to_owned())
}

struct Printer {
    json: bool,
    stdout_failed: bool,
    /// What goes on beside the answer begins on a line of its own.
    is_one_stream: bool,
    at_line_start: bool,
    /// The message that was printed last.
    message: Option<RemoteId>,
    /// The text of it, or of a notice after it.
    said: String,
    /// Calls whose start was told and whose end was not.
    running: BTreeSet<ToolCallId>,
}

impl Printer {
    fn print(&mut self, report: &Report<'_>) {
        if self.json {
            self.line(&json::report(report));
            return;
        }
        match report {
            Report::Text { message, more } => {
                // Two may grow at once.
                if self.message.as_ref() != Some(*message) {
                    self.end_line();
                    self.message = Some((*message).clone());
                    self.said.clear();
                }
                self.said.push_str(more);
                self.text(more);
            }
            Report::Rewritten { message, text } => {
                self.end_line();
                self.message = Some((*message).clone());
                self.said = (*text).to_owned();
                self.text(text);
            }
            Report::MessageEnded { .. } => self.end_line(),
            Report::Notice { text } => {
                self.said = (*text).to_owned();
                self.aside(&format!("· {text}"));
            }
            Report::Tool(tool) => self.tool(tool),
            Report::Decision(decision) => {
                let words = self.asked(&decision.question);
                self.aside(&format!("? {words}"));
            }
            Report::Attachment { name, .. } => self.aside(&format!("+ file {name}")),
            Report::Conversation { name, .. } => self.aside(&format!("· in {name}")),
            Report::Finished(_)
            | Report::Accepted
            | Report::Connected { .. }
            | Report::Link(_)
            | Report::Started { .. }
            | Report::Resolved { .. }
            | Report::Expired { .. } => {}
        }
    }

    /// What is asked. Some gateways say it as a message first; then the kind of it is enough.
    fn asked(&self, question: &Question) -> String {
        let (text, kind) = match question {
            Question::Approval { command, .. } => (command, "approval wanted, as said above"),
            Question::Clarification { question, .. } => (question, "answer wanted, as said above"),
            Question::Picker { title } => (title, "choice wanted, as said above"),
        };
        if !text.is_empty() && self.said.contains(text.as_str().trim()) {
            kind.to_owned()
        } else {
            listen::question(question)
        }
    }

    /// A call is told when it starts and when it ends, not as it goes on.
    fn tool(&mut self, tool: &ToolCall) {
        let is_news = match tool.status {
            ToolStatus::Running => self.running.insert(tool.id.clone()),
            _ => {
                self.running.remove(&tool.id);
                true
            }
        };
        if is_news {
            self.aside(&record::tool_line(tool));
        }
    }

    fn text(&mut self, text: &str) {
        self.at_line_start = text.ends_with('\n');
        self.write(text);
    }

    fn line(&mut self, line: &str) {
        self.write(line);
        self.write("\n");
    }

    fn end_line(&mut self) {
        if !self.at_line_start && !self.json {
            self.write("\n");
            self.at_line_start = true;
        }
    }

    fn write(&mut self, text: &str) {
        if self.stdout_failed {
            return;
        }
        let mut stdout = io::stdout().lock();
        if stdout
            .write_all(text.as_bytes())
            .and_then(|()| stdout.flush())
            .is_err()
        {
            self.stdout_failed = true;
        }
    }

    fn aside(&mut self, text: &str) {
        if self.is_one_stream {
            self.end_line();
        }
        complain!("{text}");
    }
}

/// Whether the answer and what goes on beside it come to the same place: a terminal, or one file or
/// pipe for both.
fn is_one_stream() -> bool {
    if io::stdout().is_terminal() {
        return true;
    }
    let facts = |stream| rustix::fs::fstat(stream).ok();
    let (out, err) = (io::stdout(), io::stderr());
    match (facts(out.as_fd()), facts(err.as_fd())) {
        (Some(out), Some(err)) => out.st_dev == err.st_dev && out.st_ino == err.st_ino,
        _ => false,
    }
}
