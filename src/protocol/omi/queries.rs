//! A message out, its answer in. The exchange is written into the journal, the query asked, its
//! lines shown as they come (`streamed`); `ends` writes the end down. One query of a conversation at
//! a time.

mod streamed;

use super::{Asked, Omi, word};
use crate::domain::{
    CommandId, ConversationId, Moment, OutgoingFile, RefusalCode, RemoteId, RunEvent, RunId,
    TimelineEvent, Topic,
};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

/// Queries that ended, of which lines may still come.
const ENDED: usize = 64;
/// Parts of one answer.
const PART_LIMIT: usize = 200;
/// Longest line that every runtime takes.
const LINE_LIMIT: usize = 1_000_000;

/// A message that is about to be asked.
#[derive(Debug)]
pub(super) struct Planned {
    pub(super) command: CommandId,
    pub(super) conversation: ConversationId,
    text: String,
    attachments: Vec<Value>,
    /// The bytes of a picture, in Base64.
    pub(super) picture: Option<String>,
    effort: Option<String>,
    user_turn: String,
    pub(super) answer_turn: String,
    /// The person stopped it before it was asked.
    pub(super) is_stopped: bool,
}

/// How a query stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Life {
    Running,
    /// An error came; forgotten at this moment if nothing more comes.
    Failed {
        until: Moment,
    },
    /// Stopped here, and shown so. The end that the runtime says is awaited without a word, until
    /// this moment.
    Stopped {
        until: Moment,
    },
}

/// A query that was asked.
#[derive(Debug)]
pub(super) struct Query {
    pub(super) conversation: ConversationId,
    /// What the program knows the run by.
    pub(super) run: RunId,
    command: CommandId,
    pub(super) answer_turn: String,
    pub(super) is_journaled: bool,
    /// The line as it went out, for the one repetition without a refused field.
    pub(super) line: Value,
    pub(super) run_id: String,
    pub(super) attempt: String,
    /// The text in its parts: what comes after a tool stands below it.
    pub(super) parts: Vec<String>,
    /// A tool began since the last text.
    is_split: bool,
    has_worked: bool,
    pub(super) model: Option<String>,
    pub(super) started: Moment,
    /// When its last line came.
    pub(super) heard: Moment,
    /// The message was not written into the journal, so only the first line of this query proves that
    /// it arrived: the command that waits for it, and the turn of the message.
    pub(super) owed: Option<(CommandId, String)>,
    pub(super) life: Life,
    /// When the runtime was last told to stop it.
    pub(super) interrupted: Option<Moment>,
    /// The runtime found nothing to stop; the next sign of the query is told to stop again.
    pub(super) stop_missed: bool,
    pub(super) tools: Vec<(String, String)>,
}

/// All queries.
#[derive(Debug, Default)]
pub(super) struct Queries {
    pub(super) all: BTreeMap<String, Query>,
    /// Keys of queries that ended, newest last.
    ended: VecDeque<String>,
    /// Turns that were written by this life of the program.
    ours: BTreeSet<String>,
    /// What answers had said when their process ended, by turn.
    pub(super) cut: BTreeMap<String, String>,
    /// Fields of a query that this process refuses.
    pub(super) refused: Vec<String>,
}

impl Queries {
    pub(super) fn knows(&self, id: &str) -> bool {
        self.all.contains_key(id)
    }

    pub(super) fn get_mut(&mut self, id: &str) -> Option<&mut Query> {
        self.all.get_mut(id)
    }

    /// Takes a query out; its key is remembered for its late lines.
    pub(super) fn take(&mut self, id: &str) -> Option<Query> {
        let query = self.all.remove(id)?;
        if self.ended.len() >= ENDED {
            self.ended.pop_front();
        }
        self.ended.push_back(id.to_owned());
        Some(query)
    }

    pub(super) fn has_ended(&self, id: &str) -> bool {
        self.ended.iter().any(|ended| ended == id)
    }

    pub(super) fn is_active(&self, conversation: &ConversationId) -> bool {
        self.active(conversation).is_some()
    }

    pub(super) fn active(&self, conversation: &ConversationId) -> Option<&String> {
        self.all
            .iter()
            .find(|(_, query)| query.conversation == *conversation && query.life == Life::Running)
            .map(|(id, _)| id)
    }

    pub(super) fn is_ours(&self, turn: &str) -> bool {
        self.ours.contains(turn)
    }

    /// The parts so far of an answer that is being written, under their ids.
    pub(super) fn written(&self, turn: &str) -> Option<(Vec<(RemoteId, String)>, RunId)> {
        let query = self.all.values().find(|query| query.answer_turn == turn)?;
        let parts = query
            .parts
            .iter()
            .enumerate()
            .map(|(at, text)| (query.part_id(at), text.clone()))
            .collect();
        Some((parts, query.run.clone()))
    }

    /// The query of a line: by its key, else by its run.
    pub(super) fn of_line(&self, line: &Map<String, Value>) -> Option<String> {
        let id = word(line, "requestId");
        if self.all.contains_key(id) {
            return Some(id.to_owned());
        }
        let run = word(line, "runId");
        self.all
            .iter()
            .find(|(_, query)| !run.is_empty() && query.run_id == run)
            .map(|(id, _)| id.clone())
    }

    /// Conversation and run behind a line of the runtime.
    pub(super) fn place(&self, line: &Map<String, Value>) -> Option<(ConversationId, RunId)> {
        let id = self.of_line(line)?;
        let query = self.all.get(&id)?;
        Some((query.conversation.clone(), query.run.clone()))
    }

    /// Whether the agent itself shows a call of this tool, under whatever prefix it has there.
    pub(super) fn shows_tool(&self, place: &Option<(ConversationId, RunId)>, name: &str) -> bool {
        let Some((_, run)) = place else { return false };
        self.all
            .values()
            .filter(|query| query.run == *run)
            .flat_map(|query| &query.tools)
            .any(|(_, shown)| shown.ends_with(name))
    }

    /// When to look again; `lease` is how long a query may be silent.
    pub(super) fn deadline(&self, lease: Option<Duration>) -> Option<Moment> {
        self.all
            .values()
            .filter_map(|query| match query.life {
                Life::Failed { until } | Life::Stopped { until } => Some(until),
                Life::Running => lease.map(|lease| query.heard.after(lease)),
            })
            .min_by_key(|moment| moment.mono_ms)
    }
}

/// The id of a part of an answer. The first one has the id that the journal knows.
pub(super) fn part_id(turn: &str, at: usize) -> RemoteId {
    match at {
        0 => RemoteId::from(turn),
        more => RemoteId::from(format!("{turn}/{more}")),
    }
}

impl Query {
    pub(super) fn part_id(&self, at: usize) -> RemoteId {
        part_id(&self.answer_turn, at)
    }

    /// The whole text so far.
    pub(super) fn text(&self) -> String {
        self.parts.concat()
    }

    /// The same for the journal: what stood below a tool begins anew.
    pub(super) fn written_text(&self) -> String {
        match self.parts.len() {
            0 | 1 => self.text(),
            _ => {
                let parts: Vec<&str> = self.parts.iter().map(|part| part.trim()).collect();
                parts.join("\n\n").trim().to_owned()
            }
        }
    }

    /// Whether the parts say all of this text, so that they may stay.
    pub(super) fn keeps_parts(&self, text: &str) -> bool {
        self.parts.len() > 1
            && self
                .parts
                .join("\n")
                .split_whitespace()
                .eq(text.split_whitespace())
    }

    /// A tool began: what comes next stands below it. The part that ends with it, the first time.
    pub(super) fn split(&mut self) -> Option<RemoteId> {
        let was_split = std::mem::replace(&mut self.is_split, true);
        let last = self.parts.len().checked_sub(1)?;
        (!was_split).then(|| self.part_id(last))
    }
}

impl Omi {
    pub(super) fn send(
        &mut self,
        now: Moment,
        command: CommandId,
        conversation: ConversationId,
        text: String,
        files: &[OutgoingFile],
        effort: Option<String>,
    ) {
        if text.len() > LINE_LIMIT {
            return self.refuse(
                command,
                RefusalCode::LocalLimit,
                "The message is longer than a runtime takes (a megabyte). Put it into a file and \
                 attach that.",
            );
        }
        let is_recording = self.pending.any(
            |asked| matches!(asked, Asked::Exchange { query } if query.conversation == conversation),
        );
        if is_recording
            || self.queries.is_active(&conversation)
            || self.pictures.is_reading_for(&conversation)
        {
            return self.refuse(
                command,
                RefusalCode::RunActive,
                "The agent still works on the message before; it takes one at a time.",
            );
        }
        let (picture, attachments) = self.sort_files(files);
        let picture = picture.map(|file| file.transfer);
        let named: Vec<OutgoingFile> = files
            .iter()
            .filter(|file| Some(file.transfer) != picture)
            .cloned()
            .collect();
        self.files_are_named(command, &named);
        let planned = Planned {
            command,
            conversation,
            text,
            attachments,
            picture: None,
            effort,
            user_turn: format!("turn-{}", self.ids.mint()),
            answer_turn: format!("turn-{}", self.ids.mint()),
            is_stopped: false,
        };
        match picture {
            Some(transfer) => self.read_picture(planned, transfer),
            None => self.with_session(now, planned),
        }
    }

    pub(super) fn record_exchange(&mut self, now: Moment, planned: Planned) {
        let origin = self
            .chats
            .all
            .get(&planned.conversation)
            .map_or("task_chat", |chat| chat.origin());
        let turn = |id: &str, role: &str, status: &str, content: &str, at_ms: i64| {
            json!({
                "turnId": id, "role": role, "origin": origin, "status": status,
                "content": content, "contentBlocks": [], "resources": [],
                "metadataJson": "{}", "createdAtMs": at_ms,
            })
        };
        let mut line = json!({
            "type": "journal_record_exchange",
            "turns": [
                turn(&planned.user_turn, "user", "completed", &planned.text, now.wall_ms),
                turn(&planned.answer_turn, "assistant", "streaming", "", now.wall_ms + 1),
            ],
        });
        self.put_surface(&mut line, &planned.conversation);
        self.queries.ours.insert(planned.user_turn.clone());
        self.queries.ours.insert(planned.answer_turn.clone());
        let query = Box::new(planned);
        self.ask(now, line, Asked::Exchange { query });
    }

    /// Asks the question itself.
    pub(super) fn start_query(&mut self, now: Moment, planned: Planned, is_journaled: bool) {
        let command = planned.command;
        if planned.is_stopped {
            if is_journaled {
                self.ask_repair(now, &planned.conversation, &[planned.answer_turn]);
            }
            return self.refuse(command, RefusalCode::Cancelled, super::ends::STOPPED_EARLY);
        }
        let Some(chat) = self.chats.all.get(&planned.conversation) else {
            return self.refuse(command, RefusalCode::NotFound, "The conversation is gone.");
        };
        let effort = planned
            .effort
            .as_deref()
            .or(chat.effort.as_deref())
            .unwrap_or("adaptive");
        let mut line = json!({
            "type": "query",
            "sessionId": chat.session,
            "surfaceKind": chat.surface().0,
            "prompt": planned.text,
            "mode": if chat.acts { "act" } else { "ask" },
            "reasoningEffort": effort,
        });
        if is_journaled {
            line["producingTurnId"] = json!(planned.answer_turn);
        }
        if !planned.attachments.is_empty() {
            line["attachments"] = json!(planned.attachments);
        }
        if let Some(picture) = planned.picture {
            line["imageBase64"] = json!(picture);
        }
        let id = self.ids.mint();
        let run = RunId::from(id.as_str());
        if is_journaled {
            self.acknowledge(&planned.conversation, command, &planned.user_turn);
        }
        self.say(Topic::Run(RunEvent::Started {
            conversation: planned.conversation.clone(),
            run: run.clone(),
            command: Some(command),
            is_stated: true,
        }));
        self.touch(now, &planned.conversation);
        let query = Query {
            conversation: planned.conversation,
            run,
            command,
            answer_turn: planned.answer_turn,
            is_journaled,
            line: line.clone(),
            run_id: String::new(),
            attempt: String::new(),
            parts: Vec::new(),
            is_split: false,
            has_worked: false,
            model: None,
            started: now,
            heard: now,
            owed: (!is_journaled).then_some((command, planned.user_turn)),
            life: Life::Running,
            interrupted: None,
            stop_missed: false,
            tools: Vec::new(),
        };
        self.queries.all.insert(id.clone(), query);
        self.write_query(line, &id);
        if is_journaled {
            self.done(command);
        }
    }

    fn acknowledge(&mut self, conversation: &ConversationId, command: CommandId, turn: &str) {
        self.say(Topic::Timeline(TimelineEvent::Acknowledged {
            conversation: conversation.clone(),
            command,
            remote: Some(RemoteId::from(turn)),
        }));
    }

    /// The first line of a query proves that its message arrived.
    pub(super) fn note_arrival(&mut self, line: &Map<String, Value>) {
        if self.queries.all.values().all(|query| query.owed.is_none()) {
            return;
        }
        let Some(query) = self
            .queries
            .of_line(line)
            .and_then(|id| self.queries.all.get_mut(&id))
        else {
            return;
        };
        let conversation = query.conversation.clone();
        if let Some((command, turn)) = query.owed.take() {
            self.acknowledge(&conversation, command, &turn);
            self.done(command);
        }
    }

    pub(super) fn write_query(&mut self, mut line: Value, id: &str) {
        if let Some(fields) = line.as_object_mut() {
            for field in &self.queries.refused {
                fields.remove(field);
            }
        }
        self.envelope(&mut line, id);
        self.write(line);
    }
}
