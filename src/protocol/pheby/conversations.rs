//! The directory, opening a conversation with its snapshot, and older pages (spec section
//! "Conversations"; readings P7, P9, P13 to P18, P20, P22). Must not keep messages.

use super::frames::{
    ActiveRun, ConversationEntry, ConversationHistory, ConversationNamed, ConversationSnapshot,
    Request,
};
use super::history::is_in_answer;
use super::{Asked, Pheby};
use crate::domain::{
    AccountEvent, Author, CommandId, CommandOutcome, ConversationId, ConversationInfo,
    ConversationKind, DirectoryEvent, IncomingMessage, Moment, PageToken, Provenance, RefusalCode,
    RemoteId, Reply, RunEvent, RunId, RunPhase, Snapshot, TimelineEvent, Topic,
};
use crate::protocol::decode::{self, CONVERSATION_LIMIT, instant, shown};
use crate::text::SafeText;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Messages of one page.
const PAGE: u32 = 200;
/// Messages looked at again when a run elsewhere began or ended.
const SHORT_PAGE: u32 = 50;
/// Conversations that are kept up to date because they were opened.
const OPENED_LIMIT: usize = 32;
/// The name the server gives before it has derived one.
const UNNAMED: &str = "New chat";

/// What is known of the conversations.
#[derive(Debug, Default)]
pub(super) struct Directory {
    known: BTreeMap<ConversationId, ConversationInfo>,
    /// Newest last.
    opened: VecDeque<ConversationId>,
    /// What had a run, or a decision, when the link was lost.
    interrupted: BTreeMap<ConversationId, Option<RunId>>,
}

impl Directory {
    pub(super) fn is_opened(&self, conversation: &ConversationId) -> bool {
        self.opened.contains(conversation)
    }

    pub(super) fn opened(&self) -> Vec<ConversationId> {
        self.opened.iter().cloned().collect()
    }

    /// Notes that the link was lost while this conversation had a run or a decision.
    pub(super) fn interrupt(&mut self, conversation: ConversationId, run: Option<RunId>) {
        let known = self.interrupted.entry(conversation).or_default();
        if run.is_some() {
            *known = run;
        }
    }
}

impl Pheby {
    pub(super) fn list(&mut self, now: Moment, command: Option<CommandId>) {
        if command.is_none()
            && self
                .pending
                .any(|asked| matches!(asked, Asked::List { .. }))
        {
            return;
        }
        self.ask(now, &Request::ConversationList, Asked::List { command });
    }

    pub(super) fn create(&mut self, now: Moment, command: CommandId, name: Option<&str>) {
        let name = name.map(str::trim).filter(|name| !name.is_empty());
        let request = Request::ConversationCreate { name };
        self.ask(now, &request, Asked::Create { command });
    }

    pub(super) fn rename(
        &mut self,
        now: Moment,
        command: CommandId,
        conversation: ConversationId,
        name: &str,
    ) {
        let name = name.trim();
        if name.is_empty() {
            return self.refuse(
                command,
                RefusalCode::LocalLimit,
                "A conversation needs a name. Type one, or leave the old one.",
            );
        }
        let request = Request::ConversationRename {
            conversation_id: conversation.as_str(),
            name,
        };
        let asked = Asked::Rename {
            command,
            conversation: conversation.clone(),
        };
        self.ask(now, &request, asked);
    }

    pub(super) fn delete(&mut self, now: Moment, command: CommandId, conversation: ConversationId) {
        let request = Request::ConversationDelete {
            conversation_id: conversation.as_str(),
        };
        let asked = Asked::Delete {
            command,
            conversation: conversation.clone(),
        };
        self.ask(now, &request, asked);
    }

    /// Asks for the newest page and the snapshot; one request at a time for a conversation.
    pub(super) fn open(
        &mut self,
        now: Moment,
        conversation: ConversationId,
        command: Option<CommandId>,
    ) {
        if command.is_some() {
            self.directory.opened.retain(|known| *known != conversation);
            self.directory.opened.push_back(conversation.clone());
            if self.directory.opened.len() > OPENED_LIMIT {
                self.directory.opened.pop_front();
            }
        }
        let same = |asked: &Asked| matches!(asked, Asked::Open { conversation: known, .. } if *known == conversation);
        if let Some(Asked::Open { commands, .. }) = self.pending.find_mut(same) {
            commands.extend(command);
            return;
        }
        self.request_page(now, conversation, PAGE, command.into_iter().collect());
    }

    /// Looks again at a conversation that is shown, for what is not broadcast.
    pub(super) fn look_again(&mut self, now: Moment, conversation: &ConversationId) {
        if self.directory.is_opened(conversation) && self.session.is_ready() {
            self.request_page(now, conversation.clone(), SHORT_PAGE, Vec::new());
        }
    }

    fn request_page(
        &mut self,
        now: Moment,
        conversation: ConversationId,
        limit: u32,
        commands: Vec<CommandId>,
    ) {
        let request = Request::ConversationOpen {
            conversation_id: conversation.as_str(),
            limit,
            before_message_id: None,
        };
        let asked = Asked::Open {
            conversation: conversation.clone(),
            commands,
        };
        self.ask(now, &request, asked);
    }

    pub(super) fn load_older(
        &mut self,
        now: Moment,
        command: CommandId,
        conversation: ConversationId,
        before: PageToken,
    ) {
        let request = Request::ConversationOpen {
            conversation_id: conversation.as_str(),
            limit: PAGE,
            before_message_id: Some(before.as_str()),
        };
        let asked = Asked::Older {
            conversation: conversation.clone(),
            before: before.clone(),
            command,
        };
        self.ask(now, &request, asked);
    }

    /// After a reconnect: what had a run or a decision is looked at, shown or not.
    pub(super) fn reopen_interrupted(&mut self, now: Moment) {
        let conversations: Vec<ConversationId> =
            self.directory.interrupted.keys().cloned().collect();
        for conversation in conversations {
            self.open(now, conversation, None);
        }
    }

    pub(super) fn on_list(
        &mut self,
        _now: Moment,
        id: Option<String>,
        frame: ConversationSnapshot,
    ) {
        let asked = match id {
            Some(id) => self.pending.take(&id),
            None => self
                .pending
                .take_first(|asked| matches!(asked, Asked::List { .. })),
        };
        let total = frame.conversations.len();
        let mut seen = BTreeSet::new();
        let entries: Vec<(ConversationId, ConversationInfo)> = frame
            .conversations
            .iter()
            .filter(|entry| !entry.conversation_id.is_empty())
            .filter(|entry| seen.insert(entry.conversation_id.clone()))
            .take(CONVERSATION_LIMIT)
            .map(|entry| {
                (
                    ConversationId::from(entry.conversation_id.as_str()),
                    info(entry),
                )
            })
            .collect();
        if total > CONVERSATION_LIMIT {
            self.odd(format!(
                "{total} conversations, of which {CONVERSATION_LIMIT} are shown"
            ));
        }
        self.directory.known = entries.iter().cloned().collect();
        self.say_snapshot(Topic::Directory(DirectoryEvent::Replaced(entries)));
        if let Some(Asked::List {
            command: Some(command),
        }) = asked
        {
            self.done(command);
        }
    }

    pub(super) fn on_created(&mut self, id: Option<String>, frame: ConversationNamed) {
        let asked = id.and_then(|id| self.pending.take(&id));
        let conversation = ConversationId::from(frame.conversation_id.as_str());
        if frame.conversation_id.is_empty() {
            self.odd("conversation.created without an id");
            for command in asked.iter().flat_map(Asked::commands) {
                self.refuse(
                    command,
                    RefusalCode::ServerFailed,
                    "The server did not say which conversation it made. Reload the list.",
                );
            }
            return;
        }
        self.upsert(&conversation, frame.name.as_deref());
        if let Some(Asked::Create { command }) = asked {
            self.finish(command, CommandOutcome::Done(Reply::Created(conversation)));
        }
    }

    /// Made or renamed elsewhere, or named by the server itself.
    pub(super) fn on_updated(&mut self, frame: ConversationNamed) {
        if frame.conversation_id.is_empty() {
            return self.odd("conversation.updated without an id");
        }
        let conversation = ConversationId::from(frame.conversation_id.as_str());
        self.upsert(&conversation, frame.name.as_deref());
    }

    pub(super) fn on_renamed(&mut self, id: Option<String>, frame: ConversationNamed) {
        let asked = id.and_then(|id| self.pending.take(&id));
        let conversation = match &asked {
            Some(Asked::Rename { conversation, .. }) if frame.conversation_id.is_empty() => {
                conversation.clone()
            }
            _ => ConversationId::from(frame.conversation_id.as_str()),
        };
        match (&frame.name, conversation.as_str().is_empty()) {
            (Some(_), false) => self.upsert(&conversation, frame.name.as_deref()),
            _ => self.odd("conversation.renamed without id or name"),
        }
        for command in asked.iter().flat_map(Asked::commands) {
            self.done(command);
        }
    }

    pub(super) fn on_deleted(&mut self, id: Option<String>, frame: ConversationNamed) {
        let asked = id.and_then(|id| self.pending.take(&id));
        let conversation = match &asked {
            Some(Asked::Delete { conversation, .. }) => conversation.clone(),
            _ => ConversationId::from(frame.conversation_id.as_str()),
        };
        if conversation.as_str().is_empty() {
            self.odd("conversation.deleted without an id");
        } else {
            self.forget_conversation(&conversation);
        }
        for command in asked.iter().flat_map(Asked::commands) {
            self.done(command);
        }
    }

    /// It is gone on the server.
    pub(super) fn forget_conversation(&mut self, conversation: &ConversationId) {
        self.directory.known.remove(conversation);
        self.directory.opened.retain(|known| known != conversation);
        self.directory.interrupted.remove(conversation);
        self.runs.forget(conversation);
        self.decisions.forget(conversation);
        self.say(Topic::Directory(DirectoryEvent::Removed {
            conversation: conversation.clone(),
        }));
    }

    /// Adds a conversation, or changes the name of a known one, once however often it is said.
    fn upsert(&mut self, conversation: &ConversationId, name: Option<&str>) {
        let name = name.map(SafeText::label).filter(|name| !name.is_empty());
        match (self.directory.known.get_mut(conversation), name) {
            (Some(info), Some(name)) => {
                if info.name == name {
                    return;
                }
                info.name_is_derived = info.name.as_str() == UNNAMED;
                info.name = name.clone();
                self.say(Topic::Directory(DirectoryEvent::Renamed {
                    conversation: conversation.clone(),
                    name,
                }));
            }
            (Some(_), None) => {}
            (None, name) => {
                let info = ConversationInfo {
                    kind: ConversationKind::Session,
                    name: name.unwrap_or_else(|| UNNAMED.into()),
                    ..ConversationInfo::default()
                };
                self.directory
                    .known
                    .insert(conversation.clone(), info.clone());
                self.say(Topic::Directory(DirectoryEvent::Upserted {
                    conversation: conversation.clone(),
                    info,
                }));
            }
        }
    }

    /// Something happened in a conversation. One that the list did not name makes the list old.
    pub(super) fn touch(&mut self, now: Moment, conversation: &ConversationId, ts: Option<&str>) {
        if !self.directory.known.contains_key(conversation) {
            self.list(now, None);
            return;
        }
        let at_ms = ts.and_then(instant).unwrap_or(now.wall_ms);
        self.say(Topic::Directory(DirectoryEvent::Touched {
            conversation: conversation.clone(),
            at_ms,
        }));
    }

    pub(super) fn on_history(
        &mut self,
        now: Moment,
        id: Option<String>,
        frame: ConversationHistory,
    ) {
        let named = ConversationId::from(frame.conversation_id.as_str());
        let asked = match id {
            Some(id) => self.pending.take(&id),
            None => self.pending.take_first(|asked| match asked {
                Asked::Open { conversation, .. } | Asked::Older { conversation, .. } => {
                    *conversation == named
                }
                _ => false,
            }),
        };
        match asked {
            Some(Asked::Open {
                conversation,
                commands,
            }) => {
                self.apply_snapshot(now, conversation, frame);
                for command in commands {
                    self.done(command);
                }
            }
            Some(Asked::Older {
                conversation,
                before,
                command,
            }) => {
                let page = self.page(now, &conversation, &frame, Some(before));
                self.tell(AccountEvent {
                    provenance: Provenance::History,
                    topic: Topic::Timeline(TimelineEvent::Page(Box::new(page))),
                });
                self.done(command);
            }
            // The answer to a request that was given up; the next one brings the state.
            _ => {}
        }
    }

    fn apply_snapshot(
        &mut self,
        now: Moment,
        conversation: ConversationId,
        mut frame: ConversationHistory,
    ) {
        let page = self.page(now, &conversation, &frame, None);
        let mut run = frame.run.take().filter(is_active);
        if let Some(run) = &mut run
            && is_in_answer(&page, &shown(&run.text))
        {
            // The message is complete and stands in the page; the run writes another one next.
            run.message_id = None;
            run.text.clear();
        }
        let run_id = run.as_ref().map(|run| RunId::from(run.run_id.as_str()));
        let lost_runs = match self.directory.interrupted.remove(&conversation).flatten() {
            Some(known) if run_id.as_ref() != Some(&known) => {
                // A run that ended properly left an answer behind the person's words.
                page.messages
                    .last()
                    .is_none_or(|last| last.author == Author::User)
            }
            _ => false,
        };
        let draft = run.as_ref().and_then(|run| {
            let text = shown(&run.text);
            let id = run.message_id.as_deref()?;
            (!text.is_empty()).then(|| IncomingMessage {
                remote: Some(RemoteId::from(id)),
                author: Author::Assistant,
                text,
                run: run_id.clone(),
                is_streaming: true,
                ..IncomingMessage::default()
            })
        });
        self.runs.adopt(&conversation, run.as_ref());
        let (tools, todos) = self.snapshot_tools(now, &conversation, frame.tools);
        let decisions = self.adopt_decisions(
            now,
            &conversation,
            run_id.as_ref(),
            frame.approvals,
            frame.clarifications,
        );
        let attachments = self.snapshot_attachments(now, &page, &frame.attachments);
        let is_waiting = !decisions.is_empty();
        let is_working = draft.is_some() || !tools.is_empty();
        let started_ms = run
            .as_ref()
            .and_then(|run| run.started_at.as_deref().and_then(instant));
        self.say_snapshot(Topic::Timeline(TimelineEvent::Snapshot(Box::new(
            Snapshot {
                page,
                run: run_id.clone().map(|run| (run, started_ms)),
                draft,
                tools,
                attachments,
                decisions,
                lost_runs,
            },
        ))));
        if let Some(todos) = todos {
            self.say_snapshot(Topic::Timeline(TimelineEvent::TodosReplaced {
                conversation: conversation.clone(),
                todos,
            }));
        }
        if let Some(run) = run_id
            && (is_waiting || is_working)
        {
            let phase = if is_waiting {
                RunPhase::WaitingForDecision
            } else {
                RunPhase::Working
            };
            self.runs.set_phase(&conversation, phase.clone());
            self.say_snapshot(Topic::Run(RunEvent::PhaseChanged {
                conversation,
                run,
                phase,
            }));
        }
    }
}

fn info(entry: &ConversationEntry) -> ConversationInfo {
    let name = SafeText::label(&entry.name);
    ConversationInfo {
        kind: ConversationKind::Session,
        name: if name.is_empty() {
            UNNAMED.into()
        } else {
            name
        },
        last_activity_ms: entry.last_active.as_deref().and_then(decode::instant),
        ..ConversationInfo::default()
    }
}

/// A snapshot may still name a run that has just ended.
fn is_active(run: &ActiveRun) -> bool {
    !run.run_id.is_empty()
        && !matches!(
            run.status.as_str(),
            "completed" | "cancelled" | "failed" | "finished"
        )
}
