//! Conversations. The runtime knows them as surfaces and lists none, so their names, modes and
//! efforts are facts kept here; a surface is resolved when it is first needed in a process.

use super::queries::Planned;
use super::{Asked, Omi, number, word};
use crate::domain::{
    AccountEvent, CommandId, CommandOutcome, ConversationCommand, ConversationId, ConversationInfo,
    ConversationKind, DirectoryEvent, Effort, ModelCatalog, ModelChoice, ModelsEvent, Moment,
    Profile, Provenance, RefusalCode, Reply, Scope, SyncEvent, TimelineEvent, Topic,
};
use crate::protocol::decode::CONVERSATION_LIMIT;
use crate::text::SafeText;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// Facts of conversations begin with this.
const FACT: &str = "chat:";
/// The conversation of the desktop app.
const MAIN: &str = "default";
/// How hard a model thinks, in the runtime's words.
const EFFORTS: [&str; 2] = ["adaptive", "fast"];

/// With what a session is carried out.
#[derive(Clone, Debug)]
struct Pinned {
    generation: u64,
    adapter: String,
    model: Option<String>,
    directory: String,
}

/// One conversation.
#[derive(Debug, Default)]
pub(super) struct Chat {
    name: String,
    at_ms: Option<i64>,
    /// Acts without asking; else it only reads.
    pub(super) acts: bool,
    pub(super) effort: Option<String>,
    is_main: bool,
    /// The session in the process that runs.
    pub(super) session: Option<String>,
    profile: Option<Pinned>,
    /// The message that waits for the session.
    waiting: Option<Box<Planned>>,
    /// Commands that end when the history is here.
    pub(super) opening: Vec<CommandId>,
    pub(super) journal: super::journal::Journal,
}

/// All conversations.
#[derive(Debug, Default)]
pub(super) struct Chats {
    pub(super) all: BTreeMap<ConversationId, Chat>,
}

impl Chats {
    /// What was kept at earlier times.
    pub(super) fn from_facts(with_main: bool, facts: &BTreeMap<String, String>) -> Self {
        let mut all: BTreeMap<ConversationId, Chat> = facts
            .iter()
            .filter_map(|(name, value)| {
                let id = name.strip_prefix(FACT)?;
                let kept: Map<String, Value> = serde_json::from_str(value).ok()?;
                let chat = Chat {
                    name: word(&kept, "name").to_owned(),
                    at_ms: kept.get("at").and_then(Value::as_i64),
                    acts: kept.get("acts").and_then(Value::as_bool).unwrap_or(false),
                    effort: kept
                        .get("effort")
                        .and_then(Value::as_str)
                        .map(str::to_owned),
                    ..Chat::default()
                };
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
        Self { all }
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

    pub(super) fn origin(&self) -> &'static str {
        if self.is_main {
            "typed_chat"
        } else {
            "task_chat"
        }
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
    fn keep(&mut self, id: &ConversationId) {
        let value = self.chats.all.get(id).map(|chat| {
            json!({"name": chat.name, "at": chat.at_ms, "acts": chat.acts, "effort": chat.effort})
                .to_string()
        });
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
    fn resolve(&mut self, now: Moment, id: &ConversationId) {
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
        let adapter = self
            .endpoint
            .adapter
            .as_ref()
            .filter(|name| self.session.adapters.contains(name))
            .or_else(|| self.session.adapters.first());
        // Without a registered adapter the runtime decides, and says what is missing.
        if let Some(adapter) = adapter {
            line["creationProfile"] = json!({
                "adapterId": adapter,
                "modelProfile": self.endpoint.model,
                "workingDirectory": self.directory,
            });
        }
        let conversation = id.clone();
        self.ask(now, line, Asked::Resolve { conversation });
    }

    pub(super) fn on_resolved(&mut self, now: Moment, line: &Map<String, Value>) {
        let Some(Asked::Resolve { conversation }) = self.pending.take(word(line, "requestId"))
        else {
            return self.odd("a session that nobody asked for");
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
        let lists = !chat.opening.is_empty();
        self.say_settings(&conversation);
        if lists {
            self.list_turns(now, &conversation);
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
        commands.extend(chat.waiting.take().map(|planned| planned.command));
        for command in commands {
            self.refuse(
                command,
                RefusalCode::ServerFailed,
                format!("The runtime could not open the conversation: {words}"),
            );
        }
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

    /// Profile, mode and effort of a conversation, as they are.
    fn say_settings(&mut self, id: &ConversationId) {
        let Some(chat) = self.chats.all.get(id) else {
            return;
        };
        let (acts, level) = (chat.acts, chat.effort.clone());
        let profile = chat.profile.as_ref().map(|pinned| Profile {
            adapter: SafeText::label(&pinned.adapter),
            model: pinned.model.as_deref().map(SafeText::label),
            directory: SafeText::label(&pinned.directory),
            adapters: self
                .session
                .adapters
                .iter()
                .map(|name| SafeText::label(name))
                .collect(),
        });
        if let Some(profile) = profile {
            self.say(Topic::Models(ModelsEvent::ProfileChanged {
                conversation: id.clone(),
                profile,
            }));
        }
        self.say(Topic::Models(ModelsEvent::AutoApproveChanged {
            conversation: id.clone(),
            on: acts,
        }));
        self.say(Topic::Models(ModelsEvent::EffortChanged {
            effort: Effort {
                level,
                enabled: true,
                supported: EFFORTS.map(str::to_owned).to_vec(),
            },
            scope: Scope::Conversation(id.clone()),
        }));
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
            ConversationCommand::Delete { conversation } => self.delete(id, &conversation),
            ConversationCommand::Clear { conversation } => {
                let Some(chat) = self.chats.all.get(&conversation) else {
                    return self.unknown(id);
                };
                // The cloud of the desktop app keeps what it has: it is not ours to empty.
                let mut line = json!({
                    "type": "journal_clear_turns",
                    "expectedGeneration": chat.journal.generation,
                    "deleteBackend": false,
                });
                self.put_surface(&mut line, &conversation);
                self.ask(
                    now,
                    line,
                    Asked::Clear {
                        command: id,
                        conversation,
                    },
                );
            }
            ConversationCommand::Open { conversation } => {
                let Some(chat) = self.chats.all.get_mut(&conversation) else {
                    return self.unknown(id);
                };
                chat.opening.push(id);
                if chat.session.is_some() {
                    self.say_settings(&conversation);
                    self.list_turns(now, &conversation);
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

    fn unknown(&mut self, command: CommandId) {
        self.refuse(
            command,
            RefusalCode::NotFound,
            "This conversation is not there any more.",
        );
    }

    /// Only the list forgets it: the runtime cannot delete a surface.
    fn delete(&mut self, id: CommandId, conversation: &ConversationId) {
        if self.queries.is_active(conversation) {
            return self.refuse(
                id,
                RefusalCode::RunActive,
                "The agent still works in this conversation; stop it first.",
            );
        }
        match self.chats.all.get(conversation) {
            None => self.unknown(id),
            Some(chat) if chat.is_main => self.refuse(
                id,
                RefusalCode::Unsupported,
                "The main chat belongs to the account; clear it instead.",
            ),
            Some(_) => {
                let waiting = self.chats.all.remove(conversation);
                for command in waiting.into_iter().flat_map(|chat| {
                    chat.opening
                        .into_iter()
                        .chain(chat.waiting.map(|w| w.command))
                }) {
                    self.refuse(
                        command,
                        RefusalCode::Cancelled,
                        "The conversation was deleted.",
                    );
                }
                self.keep(conversation);
                self.say(Topic::Directory(DirectoryEvent::Removed {
                    conversation: conversation.clone(),
                }));
                self.done(id);
            }
        }
    }

    pub(super) fn cleared(&mut self, conversation: &ConversationId) {
        self.say(Topic::Timeline(TimelineEvent::Cleared {
            conversation: conversation.clone(),
        }));
    }

    pub(super) fn set_mode(&mut self, id: CommandId, conversation: &ConversationId, on: bool) {
        let Some(chat) = self.chats.all.get_mut(conversation) else {
            return self.unknown(id);
        };
        chat.acts = on;
        self.say(Topic::Models(ModelsEvent::AutoApproveChanged {
            conversation: conversation.clone(),
            on,
        }));
        self.keep(conversation);
        self.done(id);
    }

    pub(super) fn set_effort(&mut self, id: CommandId, level: String, scope: Scope) {
        let chosen: Vec<ConversationId> = match scope {
            Scope::Conversation(conversation) => vec![conversation],
            Scope::Account => self.chats.all.keys().cloned().collect(),
        };
        for conversation in chosen {
            if let Some(chat) = self.chats.all.get_mut(&conversation) {
                chat.effort = Some(level.clone());
                self.keep(&conversation);
                self.say_settings(&conversation);
            }
        }
        self.done(id);
    }

    pub(super) fn load_catalog(&mut self, id: CommandId) {
        self.say(Topic::Models(ModelsEvent::CatalogLoaded {
            conversation: None,
            catalog: Box::new(ModelCatalog {
                efforts: EFFORTS.map(str::to_owned).to_vec(),
                ..ModelCatalog::default()
            }),
        }));
        self.done(id);
    }

    pub(super) fn set_model(
        &mut self,
        now: Moment,
        id: CommandId,
        choice: ModelChoice,
        scope: Scope,
    ) {
        match scope {
            Scope::Conversation(conversation) => {
                self.set_profile(now, id, conversation, None, Some(choice.model), None);
            }
            Scope::Account => self.refuse(
                id,
                RefusalCode::Unsupported,
                "Omi has a model for each conversation; for new ones it stands in the configuration.",
            ),
        }
    }

    pub(super) fn set_profile(
        &mut self,
        now: Moment,
        id: CommandId,
        conversation: ConversationId,
        adapter: Option<String>,
        model: Option<String>,
        directory: Option<String>,
    ) {
        if self.queries.is_active(&conversation) {
            return self.refuse(
                id,
                RefusalCode::RunActive,
                "The agent still works in this conversation; stop it first.",
            );
        }
        let Some(chat) = self.chats.all.get(&conversation) else {
            return self.unknown(id);
        };
        let (Some(session), Some(old)) = (&chat.session, &chat.profile) else {
            return self.refuse(
                id,
                RefusalCode::NotFound,
                "Open the conversation first: its profile is not known yet.",
            );
        };
        let line = json!({
            "type": "migrate_session_execution_profile",
            "sessionId": session,
            "expectedProfileGeneration": old.generation,
            "adapterId": adapter.as_ref().unwrap_or(&old.adapter),
            "modelProfile": model.as_ref().or(old.model.as_ref()),
            "workingDirectory": directory.as_ref().unwrap_or(&old.directory),
            "reason": "user_requested",
        });
        self.ask(
            now,
            line,
            Asked::Migrate {
                command: id,
                conversation,
            },
        );
    }

    pub(super) fn on_migrated(&mut self, line: &Map<String, Value>) {
        let Some(Asked::Migrate {
            command,
            conversation,
        }) = self.pending.take(word(line, "requestId"))
        else {
            return self.odd("a change of profile that nobody asked for");
        };
        if let Some(chat) = self.chats.all.get_mut(&conversation) {
            chat.profile = line.get("profile").and_then(Value::as_object).map(pinned);
        }
        self.say_settings(&conversation);
        self.done(command);
    }

    /// The process is gone, and its sessions with it.
    pub(super) fn cut_chats(&mut self) {
        let mut opening = Vec::new();
        let mut waiting = Vec::new();
        for chat in self.chats.all.values_mut() {
            chat.session = None;
            chat.profile = None;
            opening.append(&mut chat.opening);
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

fn pinned(profile: &Map<String, Value>) -> Pinned {
    Pinned {
        generation: number(profile, "profileGeneration").unwrap_or(1),
        adapter: word(profile, "adapterId").to_owned(),
        model: profile
            .get("modelProfile")
            .and_then(Value::as_str)
            .map(str::to_owned),
        directory: word(profile, "workingDirectory").to_owned(),
    }
}
