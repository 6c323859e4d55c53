//! `trialogue tail` and `trialogue listen`: what was said last, and what arrives.

use super::args::{Global, Listen, Tail};
use super::export::Files;
use super::words::Lines;
use super::{Exit, Failure, chat, json, pick, read, record, words};
use crate::domain::{AccountId, Author, ConversationId, Entry, EntryBody, Question};
use crate::runtime::engine::Engine;
use crate::runtime::oneshot::{self, Amount, Deaf, Listened, Listening, Report};
use crate::store::{Handle, pages};
use std::time::Duration;

/// `trialogue tail`
pub fn tail(global: &Global, tail: &Tail) -> Result<Exit, Failure> {
    let mut out = Lines::default();
    if tail.offline {
        let (store, facts, _) = read::open(global)?;
        let of = pick::stored(
            &facts.conversations,
            tail.account.as_deref(),
            &tail.conversation,
        )?;
        print_last(&mut out, &store, &of.account, &of.conversation, tail)?;
        return Ok(Exit::Done);
    }
    let profile = chat::open_profile(global)?;
    let account = pick::account(&profile, tail.account.as_deref())?;
    pick::with_history(
        global,
        profile,
        &account,
        &tail.conversation,
        Amount::Messages(tail.lines),
        |runtime, engine, id| {
            print_last(&mut out, engine.store(), &account, id, tail)?;
            if !tail.follow || out.is_closed() {
                return Ok(Exit::Done);
            }
            let listening = Listening {
                accounts: vec![account.clone()],
                conversation: Some(id.clone()),
            };
            let mut printer = Printer {
                out,
                json: tail.json,
                stream: false,
                left: None,
                is_place_known: true,
            };
            Ok(follow_until_signal(
                runtime,
                engine,
                &listening,
                &mut printer,
            ))
        },
    )
}

/// `trialogue listen`
pub fn listen(global: &Global, listen: &Listen) -> Result<Exit, Failure> {
    let profile = chat::open_profile(global)?;
    let accounts: Vec<AccountId> = match &listen.account {
        Some(name) => vec![pick::account(&profile, Some(name))?],
        None => profile
            .accounts
            .iter()
            .filter(|account| !account.config.is_disabled)
            .map(|account| AccountId::new(&account.config.name))
            .collect(),
    };
    if accounts.is_empty() {
        return Err(Failure::usage(
            "there is no account yet; add one with `trialogue account add`",
        ));
    }
    let mut printer = Printer {
        out: Lines::default(),
        json: listen.json,
        stream: listen.stream,
        left: listen.count,
        is_place_known: false,
    };
    if let Some(wanted) = &listen.conversation {
        let account = pick::account(&profile, listen.account.as_deref())?;
        return pick::with_history(
            global,
            profile,
            &account,
            wanted,
            Amount::Messages(0),
            |runtime, engine, id| {
                let listening = Listening {
                    accounts: vec![account.clone()],
                    conversation: Some(id.clone()),
                };
                Ok(follow_until_signal(
                    runtime,
                    engine,
                    &listening,
                    &mut printer,
                ))
            },
        );
    }
    let listening = Listening {
        accounts,
        conversation: None,
    };
    let runtime = chat::runtime()?;
    let mut engine = runtime.block_on(async { chat::headless_engine(global, profile) })?;
    let exit = follow_until_signal(&runtime, &mut engine, &listening, &mut printer);
    runtime.block_on(engine.shut_down_at_once());
    runtime.shutdown_timeout(Duration::from_millis(300));
    Ok(exit)
}

fn follow_until_signal(
    runtime: &tokio::runtime::Runtime,
    engine: &mut Engine,
    listening: &Listening,
    printer: &mut Printer,
) -> Exit {
    let deaf = runtime.block_on(oneshot::listen(engine, listening, &mut |heard| {
        printer.print(&heard)
    }));
    match deaf {
        Deaf::Enough => Exit::Done,
        Deaf::Signal(code) => Exit::Code(u8::try_from(code).unwrap_or(130)),
        Deaf::Refused => Exit::Refused,
    }
}

/// Prints the last messages, with what stands between them.
fn print_last(
    out: &mut Lines,
    store: &Handle,
    account: &AccountId,
    conversation: &ConversationId,
    tail: &Tail,
) -> Result<(), Failure> {
    let entries = last(store, account, conversation, tail.lines)?;
    let files: Files = read::files(store, account, conversation)?;
    let name = read::conversation(store, account, conversation)?.info.name;
    for entry in &entries {
        if tail.json {
            let mut value = record::value(entry, &files);
            value["account"] = account.as_str().into();
            value["conversation"] = conversation.as_str().into();
            value["name"] = name.as_str().into();
            out.put(&json::line(value));
        } else if let Some(lines) = record::lines(entry, &files) {
            out.put(&lines);
        }
        if out.is_closed() {
            break;
        }
    }
    Ok(())
}

/// The newest entries that hold so many messages, oldest first.
fn last(
    store: &Handle,
    account: &AccountId,
    conversation: &ConversationId,
    messages: usize,
) -> Result<Vec<Entry>, Failure> {
    if messages == 0 {
        return Ok(Vec::new());
    }
    let is_message = |entry: &&Entry| matches!(entry.body, EntryBody::Message(_));
    let mut count = messages.saturating_mul(2).max(50);
    loop {
        let mut entries = pages::newest(store, account.clone(), conversation.clone(), count)
            .map_err(read::failed)?;
        let found = entries.iter().filter(is_message).count();
        if found >= messages || entries.len() < count {
            let mut surplus = found.saturating_sub(messages);
            let start = entries
                .iter()
                .position(|entry| {
                    let is_message = matches!(entry.body, EntryBody::Message(_));
                    if is_message && surplus > 0 {
                        surplus -= 1;
                        return false;
                    }
                    is_message || found <= messages
                })
                .unwrap_or(0);
            entries.drain(..start);
            return Ok(entries);
        }
        count = count.saturating_mul(4);
    }
}

struct Printer {
    out: Lines,
    json: bool,
    /// Growing texts too, not only complete messages.
    stream: bool,
    /// Messages to go.
    left: Option<usize>,
    /// The person asked for one conversation and need not read its name on every line.
    is_place_known: bool,
}

impl Printer {
    /// Prints one thing; false when that is enough.
    fn print(&mut self, heard: &Listened<'_>) -> bool {
        let is_growth = matches!(heard.report, Report::Text { .. } | Report::Rewritten { .. });
        if is_growth && !self.stream {
            return true;
        }
        if self.json {
            self.out.put(&json::listened(heard));
        } else if let Some(lines) = self.lines(heard) {
            self.out.put(&lines);
        }
        if let (Report::MessageEnded { .. }, Some(left)) = (&heard.report, &mut self.left) {
            *left = left.saturating_sub(1);
        }
        !self.out.is_closed() && self.left != Some(0)
    }

    fn lines(&self, heard: &Listened<'_>) -> Option<String> {
        let place = if self.is_place_known {
            String::new()
        } else {
            let name = match heard.conversation {
                Some(id) if heard.name.is_empty() => format!("/{}", id.as_str()),
                Some(_) => format!("/{}", heard.name),
                None => String::new(),
            };
            format!("{}{name}", heard.account.as_str())
        };
        let now = words::time(jiff::Timestamp::now().as_millisecond());
        let aside = |text: String| {
            let between = if place.is_empty() { "" } else { "  " };
            Some(format!("{now}  {place}{between}{text}"))
        };
        match &heard.report {
            Report::MessageEnded {
                author,
                at_ms,
                text,
                ..
            } => {
                let at = at_ms.map_or(now, words::time);
                Some(record::message_lines(&at, &place, *author, text))
            }
            Report::Text { more, .. } => {
                Some(record::message_lines(&now, &place, Author::Assistant, more))
            }
            Report::Rewritten { text, .. } => {
                Some(record::message_lines(&now, &place, Author::Assistant, text))
            }
            Report::Link(link) => {
                let (state, reason) = json::link_state(link);
                let reason = reason.map(|reason| format!(": {reason}"));
                aside(format!("· {state}{}", reason.unwrap_or_default()))
            }
            Report::Notice { text } => aside(format!("· {text}")),
            Report::Tool(tool) => aside(record::tool_line(tool)),
            Report::Decision(decision) => aside(format!("? {}", question(&decision.question))),
            Report::Resolved { choice, .. } => aside(format!(
                "? answered{}",
                choice
                    .map(|choice| format!(": {choice}"))
                    .unwrap_or_default()
            )),
            Report::Expired { .. } => aside("? it needs no answer any more".to_owned()),
            Report::Attachment { name, .. } => aside(format!("+ {name}")),
            Report::Finished(_)
            | Report::Connected { .. }
            | Report::Conversation { .. }
            | Report::Started { .. }
            | Report::Accepted => None,
        }
    }
}

/// What is asked, for a person.
pub fn question(question: &Question) -> String {
    match question {
        Question::Approval {
            command,
            description,
            ..
        } => format!("approval wanted ({description}):\n{command}"),
        Question::Clarification { question, .. } => question.as_str().to_owned(),
        Question::Picker { title } => title.as_str().to_owned(),
    }
}
