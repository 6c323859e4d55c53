//! Conversations. The runtime knows them as surfaces and lists none, so their names, modes and
//! efforts are facts kept here; a surface is resolved when it is first needed in a process. One
//! that was deleted leaves a mark, so that it is not found again among the runtime's sessions.

use super::clearing::Aim;
use super::journal::Listing;
use super::profile::{Pinned, pinned, recent_models};
use super::queries::{Planned, part_id};
use super::{Asked, Omi, word};
use crate::domain::{
    AccountEvent, CommandId, CommandOutcome, ConversationCommand, ConversationId, ConversationInfo,
    ConversationKind, DirectoryEvent, IncomingMessage, Moment, Provenance, RefusalCode, Reply,
    SyncEvent, Topic,
};
use crate::protocol::decode::CONVERSATION_LIMIT;
use crate::text::SafeText;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// Facts of conversations begin with this.
const FACT: &str = "chat:";
/// The conversation of the desktop app.
const MAIN: &str = "default";
/// Answers of one conversation whose parts are remembered.
const PARTED: usize = 50;

/// One conversation.
#[derive(Debug, Default)]
pub(super) struct Chat {
    name: String,
    at_ms: Option<i64>,
    /// Acts without asking; else it only reads.
    pub(super) acts: bool,
    pub(super) effort: Option<String>,
    pub(super) is_main: bool,
    /// The session in the process that runs.
    pub(super) session: Option<String>,
    pub(super) profile: Option<Pinned>,
    /// The message that waits for the session.
    pub(super) waiting: Option<Box<Planned>>,
    /// Commands that end when the history is here.
    pub(super) opening: Vec<CommandId>,
    /// Commands that empty or delete it, waiting for its generation.
    pub(super) clearing: Vec<(CommandId, Aim)>,
    /// Documents about it, waiting for the session.
    pub(super) asking: Vec<CommandId>,
    /// The newest answers with tools between their parts: their turns, and how long each part is.
    parted: Vec<(String, Vec<usize>)>,
    pub(super) journal: super::journal::Journal,
}

/// All conversations.
#[derive(Debug, Default)]
pub(super) struct Chats {
    pub(super) all: BTreeMap<ConversationId, Chat>,
    /// Conversations that were deleted here.
    gone: BTreeSet<ConversationId>,
    /// Models that were set before, newest first.
    pub(super) models: Vec<String>,
}

impl Chats {
    /// What was kept at earlier times.
    pub(super) fn from_facts(with_main: bool, facts: &BTreeMap<String, String>) -> Self {
        let mut gone = BTreeSet::new();
        let mut all: BTreeMap<ConversationId, Chat> = facts
            .iter()
            .filter_map(|(name, value)| {
                let id = name.strip_prefix(FACT)?;
                let kept: Map<String, Value> = serde_json::from_str(value).ok()?;
                if kept.get("gone").and_then(Value::as_bool) == Some(true) {
                    gone.insert(ConversationId::from(id));
                    return None;
                }
                let parted = kept.get("parts").cloned().unwrap_or_default();
                let mut chat = Chat {
                    name: word(&kept, "name").to_owned(),
                    at_ms: kept.get("at").and_then(Value::as_i64),
                    acts: kept.get("acts").and_then(Value::as_bool).unwrap_or(false),
                    effort: kept
                        .get("effort")
                        .and_then(Value::as_str)
                        .map(str::to_owned),
                    parted: serde_json::from_value(parted).unwrap_or_default(),
                    ..Chat::default()
                };
                chat.journal.kept = kept.get("high").and_then(Value::as_u64).unwrap_or(0);
                chat.journal.was_lost = kept.get("lost").and_then(Value::as_bool) == Some(true);
                Some((ConversationId::from(id), chat))
            })
            .take(CONVERSATION_LIMIT)
            .collect();
        if with_main {
            let main = all.entry(ConversationId::from(MAIN)).or_default();
            main.is_main = true;
            if main.name.is_empty() {
                main.name = "Main chat".to_owned();
            }
        }
        Self {
            all,
            gone,
            models: recent_models(facts),
        }
    }

    /// Whether a conversation found in the runtime is new here.
    pub(super) fn is_unknown(&self, id: &ConversationId) -> bool {
        !self.all.contains_key(id) && !self.gone.contains(id)
    }

    /// The conversation that was used last.
    pub(super) fn newest(&self) -> Option<ConversationId> {
        self.all
            .iter()
            .max_by_key(|(_, chat)| chat.at_ms)
            .map(|(id, _)| id.clone())
    }

    /// The conversation behind the identity in a line.
    pub(super) fn of_surface(&self, line: &Map<String, Value>) -> Option<ConversationId> {
        let id = ConversationId::from(word(line, "externalRefId"));
        let chat = self.all.get(&id)?;
        let (kind, ref_kind) = chat.surface();
        (word(line, "surfaceKind") == kind && word(line, "externalRefKind") == ref_kind)
            .then_some(id)
    }
}

impl Chat {
    /// Local surfaces are never sent to a cloud.
    pub(super) fn surface(&self) -> (&'static str, &'static str) {
        if self.is_main {
            ("main_chat", "chat")
        } else {
            ("task_chat", "task")
        }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn origin(&self) -> &'static str {
        if self.is_main {
            "typed_chat"
        } else {
            "task_chat"
        }
    }

    /// The messages of a turn: an answer comes apart where it was apart on the screen.
    pub(super) fn split(&self, turn: &str, message: IncomingMessage) -> Vec<IncomingMessage> {
        let lengths = self.parted.iter().find(|(parted, _)| parted == turn);
        let Some(pieces) = lengths.and_then(|(_, lengths)| pieces(&message.text, lengths)) else {
            return vec![message];
        };
        let last = pieces.len() - 1;
        pieces
            .into_iter()
            .enumerate()
            // A part that was only thought about is kept here alone.
            .filter(|(_, text)| !text.is_empty())
            .map(|(at, text)| IncomingMessage {
                remote: Some(part_id(turn, at)),
                text: text.to_owned(),
                is_interrupted: message.is_interrupted && at == last,
                ..message.clone()
            })
            .collect()
    }

    fn info(&self) -> ConversationInfo {
        ConversationInfo {
            kind: if self.is_main {
                ConversationKind::Default
            } else {
                ConversationKind::Session
            },
            name: SafeText::label(&self.name),
            last_activity_ms: self.at_ms,
            ..ConversationInfo::default()
        }
    }
}

/// Cuts a text into pieces of these lengths; what is between them is white space. None when they
/// are not the lengths of this text. A last piece that was only begun has the rest.
fn pieces<'a>(text: &'a str, lengths: &[usize]) -> Option<Vec<&'a str>> {
    let mut rest = text.trim();
    let mut pieces = Vec::with_capacity(lengths.len());
    for length in lengths {
        pieces.push(rest.get(..*length)?);
        rest = rest.get(*length..)?.trim_start();
    }
    if let (Some(0), Some(last)) = (lengths.last(), pieces.last_mut()) {
        *last = std::mem::take(&mut rest);
    }
    (rest.is_empty() && pieces.len() > 1).then_some(pieces)
}

impl Omi {
    /// Says the whole list. A new account begins with one conversation.
    pub(super) fn list_chats(&mut self) {
        if self.chats.all.is_empty() {
            let id = ConversationId::from(format!("chat-{}", self.ids.mint()));
            let chat = Chat {
                name: "First conversation".to_owned(),
                ..Chat::default()
            };
            self.chats.all.insert(id.clone(), chat);
            self.keep(&id);
        }
        let rows = self
            .chats
            .all
            .iter()
            .map(|(id, chat)| (id.clone(), chat.info()))
            .collect();
        self.tell(AccountEvent {
            provenance: Provenance::Snapshot,
            topic: Topic::Directory(DirectoryEvent::Replaced(rows)),
        });
    }

    /// Writes down what is known of a conversation, or that it is gone.
    pub(super) fn keep(&mut self, id: &ConversationId) {
        let value = match self.chats.all.get(id) {
            Some(chat) => {
                let mut kept = json!({
                    "name": chat.name, "at": chat.at_ms, "acts": chat.acts, "effort": chat.effort,
                });
                if !chat.parted.is_empty() {
                    kept["parts"] = json!(chat.parted);
                }
                // Where a journal ends before this, its runtime lost it.
                let high = chat.journal.known.max(chat.journal.kept);
                if high > 0 {
                    kept["high"] = json!(high);
                }
                if chat.journal.was_lost {
                    kept["lost"] = json!(true);
                }
                kept
            }
            None => json!({"gone": true}),
        };
        let value = Some(value.to_string());
        self.say(Topic::Sync(SyncEvent::Kept {
            name: format!("{FACT}{}", id.as_str()),
            value,
        }));
    }

    pub(super) fn touch(&mut self, now: Moment, id: &ConversationId) {
        if let Some(chat) = self.chats.all.get_mut(id) {
            chat.at_ms = Some(now.wall_ms);
            self.say(Topic::Directory(DirectoryEvent::Touched {
                conversation: id.clone(),
                at_ms: now.wall_ms,
            }));
            self.keep(id);
        }
    }

    /// Remembers where an answer came apart. Written down with the next change of the conversation.
    pub(super) fn note_parts(&mut self, id: &ConversationId, turn: &str, parts: &[String]) {
        if let Some(chat) = self.chats.all.get_mut(id) {
            let lengths = parts.iter().map(|part| part.trim().len()).collect();
            chat.parted.retain(|(parted, _)| parted != turn);
            chat.parted.push((turn.to_owned(), lengths));
            let extra = chat.parted.len().saturating_sub(PARTED);
            chat.parted.drain(..extra);
        }
    }

    /// Its text is one again.
    pub(super) fn forget_parts(&mut self, id: &ConversationId, turn: &str) {
        let Some(chat) = self.chats.all.get_mut(id) else {
            return;
        };
        let before = chat.parted.len();
        chat.parted.retain(|(parted, _)| parted != turn);
        if chat.parted.len() < before {
            self.keep(id);
        }
    }

    pub(super) fn newest_chat(&self) -> Option<ConversationId> {
        self.chats.newest()
    }

    /// Takes in a conversation that was found in the runtime.
    pub(super) fn adopt(&mut self, id: ConversationId, name: &str) {
        // Without a time of its own: what was read long ago elsewhere is not unread here.
        let chat = Chat {
            name: name.to_owned(),
            ..Chat::default()
        };
        let info = chat.info();
        self.chats.all.insert(id.clone(), chat);
        self.keep(&id);
        self.say(Topic::Directory(DirectoryEvent::Upserted {
            conversation: id,
            info,
        }));
    }

    /// Takes a conversation off the list, with whatever waited for it.
    pub(super) fn forget(&mut self, conversation: &ConversationId) {
        let Some(chat) = self.chats.all.remove(conversation) else {
            return;
        };
        let waiting = chat
            .opening
            .into_iter()
            .chain(chat.asking)
            .chain(chat.clearing.into_iter().map(|(command, _)| command))
            .chain(chat.waiting.map(|planned| planned.command));
        for command in waiting {
            self.refuse(
                command,
                RefusalCode::Cancelled,
                "The conversation was deleted.",
            );
        }
        self.chats.gone.insert(conversation.clone());
        self.keep(conversation);
        self.say(Topic::Directory(DirectoryEvent::Removed {
            conversation: conversation.clone(),
        }));
    }

    /// The three parts of the identity of a conversation, put into a line.
    pub(super) fn put_surface(&self, line: &mut Value, id: &ConversationId) {
        let (kind, ref_kind) = self
            .chats
            .all
            .get(id)
            .map_or(("task_chat", "task"), Chat::surface);
        line["surfaceKind"] = json!(kind);
        line["externalRefKind"] = json!(ref_kind);
        line["externalRefId"] = json!(id.as_str());
    }

    /// Asks for the session of a conversation, once.
    pub(super) fn resolve(&mut self, now: Moment, id: &ConversationId) {
        if self
            .pending
            .any(|asked| matches!(asked, Asked::Resolve { conversation } if conversation == id))
        {
            return;
        }
        let Some(chat) = self.chats.all.get(id) else {
            return;
        };
        let mut line = json!({"type": "resolve_surface_session", "title": chat.name});
        self.put_surface(&mut line, id);
        if let Some(profile) = self.creation_profile() {
            line["creationProfile"] = profile;
        }
        let conversation = id.clone();
        self.ask(now, line, Asked::Resolve { conversation });
    }

    pub(super) fn on_resolved(&mut self, now: Moment, line: &Map<String, Value>) {
        let Some(Asked::Resolve { conversation }) = self.pending.take(word(line, "requestId"))
        else {
            return self.unasked(line, "a session");
        };
        let session = word(line, "sessionId").to_owned();
        let Some(chat) = self.chats.all.get_mut(&conversation) else {
            return;
        };
        if session.is_empty() {
            return self.resolve_failed(&conversation, "The runtime named no session.");
        }
        chat.session = Some(session);
        chat.profile = line.get("profile").and_then(Value::as_object).map(pinned);
        let waiting = chat.waiting.take();
        let asking = std::mem::take(&mut chat.asking);
        let lists = !chat.opening.is_empty();
        self.say_settings(&conversation);
        self.say_workspace(now, &conversation);
        if lists {
            self.list_turns(now, &conversation, Listing::Page);
        }
        self.go_on_clearing(now, &conversation);
        for command in asking {
            self.ask_snapshot(now, command, &conversation);
        }
        if let Some(planned) = waiting {
            self.record_exchange(now, *planned);
        }
    }

    pub(super) fn resolve_failed(&mut self, conversation: &ConversationId, words: &str) {
        let Some(chat) = self.chats.all.get_mut(conversation) else {
            return;
        };
        let mut commands = std::mem::take(&mut chat.opening);
        commands.append(&mut chat.asking);
        commands.extend(chat.waiting.take().map(|planned| planned.command));
        for command in commands {
            self.refuse(
                command,
                RefusalCode::ServerFailed,
                format!("The runtime could not open the conversation: {words}"),
            );
        }
        self.clearing_failed(conversation, words);
    }

    /// Sends a message as soon as there is a session.
    pub(super) fn with_session(&mut self, now: Moment, planned: Planned) {
        let id = planned.conversation.clone();
        match self.chats.all.get_mut(&id) {
            Some(chat) if chat.session.is_some() => self.record_exchange(now, planned),
            Some(chat) if chat.waiting.is_none() => {
                chat.waiting = Some(Box::new(planned));
                self.resolve(now, &id);
            }
            Some(_) => self.refuse(
                planned.command,
                RefusalCode::RunActive,
                "A message of this conversation is on its way already.",
            ),
            None => self.refuse(
                planned.command,
                RefusalCode::NotFound,
                "This conversation is not there any more.",
            ),
        }
    }

    pub(super) fn on_conversation_command(
        &mut self,
        now: Moment,
        id: CommandId,
        command: ConversationCommand,
    ) {
        match command {
            ConversationCommand::Refresh => {
                self.list_chats();
                self.done(id);
            }
            ConversationCommand::Create { name, parent: None } => {
                let conversation = ConversationId::from(format!("chat-{}", self.ids.mint()));
                let chat = Chat {
                    name: name.unwrap_or_else(|| "New conversation".to_owned()),
                    at_ms: Some(now.wall_ms),
                    ..Chat::default()
                };
                let info = chat.info();
                self.chats.all.insert(conversation.clone(), chat);
                self.say(Topic::Directory(DirectoryEvent::Upserted {
                    conversation: conversation.clone(),
                    info,
                }));
                self.keep(&conversation);
                self.finish(id, CommandOutcome::Done(Reply::Created(conversation)));
            }
            ConversationCommand::Rename { conversation, name } => {
                let Some(chat) = self.chats.all.get_mut(&conversation) else {
                    return self.unknown(id);
                };
                chat.name = name.clone();
                self.say(Topic::Directory(DirectoryEvent::Renamed {
                    conversation: conversation.clone(),
                    name: SafeText::label(&name),
                }));
                self.keep(&conversation);
                self.done(id);
            }
            ConversationCommand::Delete { conversation } => {
                self.clear(now, id, &conversation, Aim::Delete);
            }
            ConversationCommand::Clear { conversation } => {
                self.clear(now, id, &conversation, Aim::Empty);
            }
            ConversationCommand::Open { conversation } => {
                let Some(chat) = self.chats.all.get_mut(&conversation) else {
                    return self.unknown(id);
                };
                chat.opening.push(id);
                if chat.session.is_some() {
                    self.say_settings(&conversation);
                    self.list_turns(now, &conversation, Listing::Page);
                } else {
                    self.resolve(now, &conversation);
                }
            }
            ConversationCommand::LoadOlder { .. } => self.done(id),
            ConversationCommand::Create {
                parent: Some(_), ..
            }
            | ConversationCommand::SetDefault { .. }
            | ConversationCommand::SetFavorite { .. }
            | ConversationCommand::SetAppearance { .. }
            | ConversationCommand::SetAutomation { .. } => {
                self.refuse(id, RefusalCode::Unsupported, "Omi does not have this");
            }
        }
    }

    pub(super) fn unknown(&mut self, command: CommandId) {
        self.refuse(
            command,
            RefusalCode::NotFound,
            "This conversation is not there any more.",
        );
    }

    /// The process is gone, and its sessions with it.
    pub(super) fn cut_chats(&mut self) {
        let mut opening = Vec::new();
        let mut waiting = Vec::new();
        for chat in self.chats.all.values_mut() {
            chat.session = None;
            chat.profile = None;
            chat.journal.is_read = false;
            opening.append(&mut chat.opening);
            opening.append(&mut chat.asking);
            opening.extend(chat.clearing.drain(..).map(|(command, _)| command));
            waiting.extend(chat.waiting.take().map(|planned| planned.command));
        }
        for command in opening {
            self.finish(command, CommandOutcome::LinkLost);
        }
        for command in waiting {
            self.finish(command, CommandOutcome::NotSent);
        }
    }
}
