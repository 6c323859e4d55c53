//! The state as lines that are only ever appended: for screen readers, terminals without a cursor,
//! and serial lines. Nothing is told twice and nothing is told before it is whole: growing text by
//! complete lines, tools at their start and their end.

mod page;

pub use super::words::plural;
pub use page::{Page, page};

use super::words;
use crate::app::state::{AccountState, Conversation, State};
use crate::domain::{
    AccountId, AttachmentId, Author, ConversationId, DecisionId, DecisionLife, Delivery, Entry,
    EntryBody, Expiry, LinkState, Message, MessageKey, MessageSort, RunId, RunOutcome, Todo,
    TodoStatus, ToolCall, ToolStatus, Unread,
};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// Entries told when a conversation comes on screen.
const RECENT: usize = 6;
/// Entries told at once on request.
const OLDER: usize = 20;

/// What was told of an entry.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Told {
    /// The text that was told.
    text: String,
    is_ended: bool,
    delivery: Option<String>,
    files: Vec<AttachmentId>,
}

/// How the link of an account stands, in a word or two.
pub fn link_word(of: &AccountState) -> &'static str {
    match &of.account.link {
        LinkState::Ready if of.account.silent_since.is_some() => "no answer",
        LinkState::Ready => "online",
        LinkState::Off => "off",
        LinkState::Connecting | LinkState::Syncing => "connecting",
        LinkState::Waiting { .. } => "no connection",
        LinkState::Refused { .. } => "refused",
        LinkState::NeedsLogin(_) => "sign in first",
    }
}

/// Remembers what was told.
#[derive(Clone, Debug, Default)]
pub struct Narrator {
    place: Option<(AccountId, ConversationId)>,
    has_begun: bool,
    told: BTreeMap<MessageKey, Told>,
    /// The order of the oldest entry that was told.
    oldest: Option<i64>,
    run: Option<RunId>,
    todos: Vec<Todo>,
    /// Messages of the conversation that wait here.
    queued: BTreeSet<MessageKey>,
    links: BTreeMap<AccountId, &'static str>,
    decisions: BTreeMap<(AccountId, DecisionId), bool>,
    unread: BTreeMap<(AccountId, ConversationId), u32>,
    toasts: BTreeSet<(u64, String)>,
    selected: Option<MessageKey>,
    /// Messages that the person typed here: the terminal has shown them.
    typed: Vec<String>,
}

impl Narrator {
    /// The person typed this; it is not told again.
    pub fn typed(&mut self, text: &str) {
        self.typed.push(text.trim().to_owned());
        // Only what is not yet in a timeline is of use.
        let extra = self.typed.len().saturating_sub(64);
        self.typed.drain(..extra);
    }

    /// What is new since the last call, as lines; empty when nothing is.
    pub fn news(&mut self, state: &State) -> String {
        let mut out = String::new();
        self.links(state, &mut out);
        self.toasts(state, &mut out);
        self.focus(state, &mut out);
        self.entries(state, &mut out);
        self.run(state, &mut out);
        self.queue(state, &mut out);
        self.decisions(state, &mut out);
        self.elsewhere(state, &mut out);
        out
    }

    /// Entries before those that were told; empty when none are here.
    pub fn older(&mut self, state: &State) -> String {
        let Some((_, _, here)) = state.focused() else {
            return String::new();
        };
        let oldest = self.oldest.unwrap_or(i64::MAX);
        let before: Vec<&Entry> = here
            .timeline
            .entries
            .iter()
            .filter(|entry| entry.order < oldest)
            .collect();
        let from = before.len().saturating_sub(OLDER);
        let mut out = String::new();
        for entry in &before[from..] {
            self.entry(state, entry, &mut out);
        }
        if let Some(first) = before.get(from) {
            self.oldest = Some(first.order);
        }
        out
    }

    fn links(&mut self, state: &State, out: &mut String) {
        for of in &state.accounts {
            let name = &of.account.label;
            let more = match &of.account.link {
                LinkState::Ready if of.account.silent_since.is_some() => {
                    " from the server; nothing you write is lost.".to_owned()
                }
                LinkState::Ready => String::new(),
                // Before the first attempt there is nothing to tell.
                LinkState::Off if !self.links.contains_key(&of.account.id) => continue,
                LinkState::Off => String::new(),
                LinkState::Connecting | LinkState::Syncing => continue,
                LinkState::Waiting { reason, .. } => format!(
                    ": {}. It is tried again.",
                    one(reason.as_str()).trim_end_matches('.')
                ),
                LinkState::Refused { reason } => format!(": {}", one(reason.as_str())),
                LinkState::NeedsLogin(need) => {
                    let url = need
                        .url
                        .as_ref()
                        .map_or_else(String::new, |url| format!(" {url}"));
                    format!(": {}{url}", one(need.hint.as_str()))
                }
            };
            let word = link_word(of);
            if self.links.get(&of.account.id) != Some(&word) {
                self.links.insert(of.account.id.clone(), word);
                let _ = writeln!(out, "{name}: {word}{more}");
            }
        }
    }

    fn toasts(&mut self, state: &State, out: &mut String) {
        let shown: BTreeSet<(u64, String)> = state
            .screen
            .toasts
            .iter()
            .map(|toast| (toast.until.mono_ms, toast.text.to_string()))
            .collect();
        for toast in shown.difference(&self.toasts) {
            let _ = writeln!(out, "note: {}", toast.1);
        }
        self.toasts = shown;
    }

    fn focus(&mut self, state: &State, out: &mut String) {
        if self.place == state.focus {
            return;
        }
        self.place.clone_from(&state.focus);
        self.has_begun = false;
        self.told.clear();
        self.oldest = None;
        self.run = None;
        self.todos.clear();
        self.selected = None;
        if let Some((account, id, here)) = state.focused() {
            let loud = if here.auto_approve {
                format!(
                    " {} is ON here.",
                    account.account.capabilities.auto_approve_label
                )
            } else {
                String::new()
            };
            let _ = writeln!(out, "== {} ==.{loud}", place_name(account, id));
            self.unread
                .remove(&(account.account.id.clone(), id.clone()));
        }
    }

    fn entries(&mut self, state: &State, out: &mut String) {
        let Some((_, _, here)) = state.focused() else {
            return;
        };
        if !here.timeline.is_loaded {
            return;
        }
        let entries: Vec<&Entry> = here
            .timeline
            .entries
            .iter()
            .chain(&here.timeline.tail)
            .collect();
        if !self.has_begun {
            self.has_begun = true;
            let from = entries.len().saturating_sub(RECENT);
            // What stands before counts as known; `older` tells it.
            for entry in &entries[..from] {
                self.told.insert(entry.key, ended());
            }
            self.oldest = entries.get(from).map(|entry| entry.order);
            if entries.is_empty() {
                let _ = writeln!(out, "Nothing was said here yet.");
            } else if from > 0 || here.timeline.has_older {
                let _ = writeln!(out, "(.older tells what was said before)");
            }
        }
        let oldest = *self.oldest.get_or_insert(i64::MIN);
        for entry in entries {
            // History that came in later is told on request only.
            if entry.order < oldest && !self.told.contains_key(&entry.key) {
                continue;
            }
            self.entry(state, entry, out);
        }
        let selected = here.viewport.selected;
        if selected.is_some() && selected != self.selected {
            let entry = selected.and_then(|key| here.timeline.entry(key));
            if let Some(entry) = entry.filter(|entry| entry.order < oldest) {
                self.told.remove(&entry.key);
                let _ = writeln!(out, "found:");
                self.entry(state, entry, out);
            }
        }
        self.selected = selected;
    }

    fn entry(&mut self, state: &State, entry: &Entry, out: &mut String) {
        match &entry.body {
            EntryBody::Message(message) => self.message(state, entry.key, message, out),
            EntryBody::Tool(tool) => self.tool(entry.key, tool, out),
            EntryBody::RunEnded { outcome, .. } => {
                if self.told.insert(entry.key, ended()).is_none() {
                    match outcome {
                        RunOutcome::Completed => {}
                        RunOutcome::Cancelled => out.push_str("agent: stopped.\n"),
                        RunOutcome::Failed {
                            error,
                            hint,
                            details,
                        } => {
                            let _ = writeln!(out, "agent: failed: {error} {hint}");
                            if !details.is_empty() {
                                let _ = writeln!(out, "details: {}", one(details.as_str()));
                            }
                        }
                        RunOutcome::Lost => out.push_str("agent: the run was lost.\n"),
                    }
                }
            }
            EntryBody::Deleted { .. } => {
                if self.told.insert(entry.key, ended()).is_none() {
                    out.push_str("(a message was deleted here)\n");
                }
            }
            EntryBody::Gap { .. } => {
                if self.told.insert(entry.key, ended()).is_none() {
                    out.push_str("(something is missing here)\n");
                }
            }
        }
    }

    fn message(&mut self, state: &State, key: MessageKey, message: &Message, out: &mut String) {
        let text = message.body.text().as_str();
        let is_new = !self.told.contains_key(&key);
        let mut told = self.told.get(&key).cloned().unwrap_or_default();
        let who = match (message.author, message.sort) {
            (_, MessageSort::Notice | MessageSort::Aside) => "notice",
            (Author::User, _) => "you",
            (Author::Assistant, _) => "agent",
            (Author::System, _) => "system",
            (Author::Automation, _) => "automation",
        };
        if is_new && message.author == Author::User {
            let typed = self.typed.iter().position(|typed| *typed == text.trim());
            if let Some(at) = typed {
                self.typed.remove(at);
                told.is_ended = true;
                text.clone_into(&mut told.text);
            }
        }
        if !told.is_ended {
            let whole = if message.is_streaming {
                text.rfind('\n').map_or("", |end| &text[..=end])
            } else {
                text
            };
            match whole.strip_prefix(told.text.as_str()) {
                Some(more) if !more.trim().is_empty() => {
                    say(out, who, more, told.text.is_empty());
                    whole.clone_into(&mut told.text);
                }
                Some(_) => {}
                None if !message.is_streaming => {
                    say(out, &format!("{who} (the text changed)"), text, true);
                    text.clone_into(&mut told.text);
                }
                // It is told once it stands still.
                None => {}
            }
            if !message.is_streaming {
                told.is_ended = true;
                if message.is_interrupted {
                    out.push_str("(the text ends where the run was cut)\n");
                }
            }
        } else if !message.is_streaming && text.trim() != told.text.trim() && !told.text.is_empty()
        {
            say(out, &format!("{who} (changed)"), text, true);
            text.clone_into(&mut told.text);
        }
        let standing = message.delivery.as_ref().and_then(delivery_words);
        if standing != told.delivery {
            if let Some(words) = &standing {
                let _ = writeln!(out, "note: \"{}\": {words}", one(text));
            }
            told.delivery = standing;
        }
        for id in &message.attachments {
            if !told.files.contains(id) {
                told.files.push(id.clone());
                file(state, id, out);
            }
        }
        self.told.insert(key, told);
    }

    fn tool(&mut self, key: MessageKey, tool: &ToolCall, out: &mut String) {
        let known = self.told.get(&key);
        if known.is_none() {
            let _ = writeln!(out, "tool {}: {}", tool.name, one(tool.preview.as_str()));
        }
        let is_ended = tool.status != ToolStatus::Running;
        if is_ended && known.is_none_or(|told| !told.is_ended) {
            let took = tool
                .duration_ms
                .map_or_else(String::new, |ms| format!(" after {}", words::duration(ms)));
            let how = match tool.status {
                ToolStatus::Running | ToolStatus::Completed => "done".to_owned(),
                ToolStatus::Failed if tool.error.is_empty() => "failed".to_owned(),
                ToolStatus::Failed => format!("failed: {}", one(tool.error.as_str())),
                ToolStatus::Cancelled => "stopped".to_owned(),
            };
            let _ = writeln!(out, "tool {}: {how}{took}", tool.name);
        }
        self.told.insert(
            key,
            Told {
                is_ended,
                ..Told::default()
            },
        );
    }

    fn run(&mut self, state: &State, out: &mut String) {
        let Some((_, _, here)) = state.focused() else {
            return;
        };
        let run = here.run.as_ref().map(|run| run.id.clone());
        match (&self.run, &run) {
            (None, Some(_)) => out.push_str("agent: at work\n"),
            (Some(_), None) => out.push_str("agent: done\n"),
            _ => {}
        }
        self.run = run;
        if here.todos != self.todos {
            self.todos.clone_from(&here.todos);
            todos(here, out);
        }
    }

    fn queue(&mut self, state: &State, out: &mut String) {
        let Some((account, id, here)) = state.focused() else {
            return;
        };
        let rows = account
            .outbox
            .iter()
            .filter(|row| row.conversation == *id && row.delivery == Delivery::Queued);
        let mut queued = BTreeSet::new();
        for row in rows {
            queued.insert(row.key);
            if !self.queued.contains(&row.key) {
                let why = if !account.is_ready() {
                    "until there is a connection"
                } else if here.run.is_some() {
                    "until the run is over; /queue lists what waits"
                } else {
                    "for its turn"
                };
                let _ = writeln!(out, "note: \"{}\" waits {why}", one(&row.text));
            }
        }
        self.queued = queued;
    }

    fn decisions(&mut self, state: &State, out: &mut String) {
        for of in &state.accounts {
            for decision in &of.decisions {
                let key = (of.account.id.clone(), decision.id.clone());
                let is_open = decision.life.is_open();
                match (self.decisions.get(&key), is_open) {
                    (None | Some(false), true) => {
                        let what = crate::app::screen::rows::question_line(&decision.question);
                        let place = place_name(of, &decision.conversation);
                        let _ = writeln!(
                            out,
                            "! {place} waits for you: {what}\n! Type .a to read and answer it."
                        );
                        self.decisions.insert(key, true);
                    }
                    (Some(true), false) => {
                        let how = match &decision.life {
                            DecisionLife::Open => continue,
                            DecisionLife::Answering { .. } => continue,
                            DecisionLife::Resolved { choice, by_us, .. } => {
                                let who = if *by_us {
                                    "answered"
                                } else {
                                    "answered elsewhere"
                                };
                                match choice {
                                    Some(choice) => format!("{who}: {choice}"),
                                    None => who.to_owned(),
                                }
                            }
                            DecisionLife::Expired { why, .. } => match why {
                                Expiry::Gone => "it no longer waits",
                                Expiry::RunEnded => "its run has ended",
                                Expiry::TimedOut => "its time ran out",
                                Expiry::ServerRestarted => "it went in a restart",
                            }
                            .to_owned(),
                            DecisionLife::Uncertain { .. } => {
                                "nobody knows whether the answer arrived".to_owned()
                            }
                        };
                        let _ = writeln!(
                            out,
                            "! {}: {how}",
                            crate::app::screen::rows::question_line(&decision.question)
                        );
                        self.decisions.insert(key, false);
                    }
                    _ => {}
                }
            }
        }
    }

    /// What came in other conversations.
    fn elsewhere(&mut self, state: &State, out: &mut String) {
        for of in &state.accounts {
            for (id, conversation) in &of.conversations {
                let key = (of.account.id.clone(), id.clone());
                if state.focus.as_ref() == Some(&key) || conversation.settings.is_muted {
                    continue;
                }
                let count = match conversation.unread {
                    Unread::None => 0,
                    Unread::Some => 1,
                    Unread::Count(count) => count,
                };
                let known = self.unread.insert(key, count);
                if known.is_some_and(|known| known < count) {
                    let _ = writeln!(out, "new in {}", place_name(of, id));
                }
            }
        }
    }
}

/// Something that needs no further word.
fn ended() -> Told {
    Told {
        is_ended: true,
        ..Told::default()
    }
}

/// One line of many.
fn one(text: &str) -> String {
    crate::app::screen::rows::one_line(text).to_string()
}

/// "#build on iris@home".
pub fn place_name(account: &AccountState, id: &ConversationId) -> String {
    format!(
        "{} on {}",
        crate::app::screen::rows::conversation_name(account, id),
        account.account.label
    )
}

/// Text with who says it before its first line.
fn say(out: &mut String, who: &str, text: &str, is_start: bool) {
    let text = text.strip_suffix('\n').unwrap_or(text);
    if is_start {
        // A text of several lines begins on a line of its own, so that tables keep their columns.
        let between = if text.contains('\n') { "\n" } else { " " };
        let _ = write!(out, "{who}:{between}");
    }
    let _ = writeln!(out, "{text}");
}

fn file(state: &State, id: &AttachmentId, out: &mut String) {
    let Some((account, _, _)) = state.focused() else {
        return;
    };
    let Some(attachment) = account.attachments.get(id) else {
        return;
    };
    let size = attachment
        .size
        .map_or_else(String::new, |size| format!(", {}", words::size(size)));
    let _ = writeln!(
        out,
        "file: {} ({}{size}). /files lists the files.",
        attachment.name,
        super::item::attachment::kind(attachment.kind)
    );
}

fn delivery_words(delivery: &Delivery) -> Option<String> {
    match delivery {
        Delivery::Queued => Some("waits to be sent".to_owned()),
        Delivery::Uncertain => Some("nobody knows whether it arrived".to_owned()),
        Delivery::Failed(refusal) => Some(format!("not sent: {}", refusal.text)),
        Delivery::InFlight | Delivery::Accepted | Delivery::Read => None,
    }
}

/// The whole list, as the agent keeps it.
fn todos(here: &Conversation, out: &mut String) {
    if here.todos.is_empty() {
        return;
    }
    let done = here
        .todos
        .iter()
        .filter(|todo| todo.status == TodoStatus::Completed)
        .count();
    let _ = writeln!(out, "todos, {done} of {} done:", here.todos.len());
    for todo in &here.todos {
        let mark = match todo.status {
            TodoStatus::Pending => "open",
            TodoStatus::InProgress => "now",
            TodoStatus::Completed => "done",
            TodoStatus::Cancelled => "dropped",
        };
        let _ = writeln!(out, "  {mark}: {}", one(todo.content.as_str()));
    }
}
