//! The Pheby driver (`pheby.md`): JSON over a WebSocket, files over HTTP beside it.
//!
//! # How it works
//! - `session`: hello within 10 s of a link, ready, heartbeat, and what ends a link for good.
//! - `conversations`: the directory, opening (newest page plus snapshot), older pages; `history`:
//!   their rows.
//! - `runs`: messages out and in, the life of a run; `tools`: calls of tools, todos.
//! - `decisions`: approvals, clarifications, auto-approve.
//! - `models`: catalogue, current model, reasoning effort, each with its scope.
//! - `attachments`: uploads before a message, downloads, both described and done by the shell.
//!
//! After a reconnect the program opens again what it shows; the driver itself opens again what had
//! a run or a decision when the link was lost. A run that began elsewhere is opened again when it
//! begins and when it ends, because its user text is not broadcast.
//!
//! A finished text may come a few milliseconds after the tool event that it precedes. So while a
//! draft is open and has no text yet, a beginning tool and all that follows in its conversation
//! are held back for a moment, and the text goes first.
//!
//! # Every frame, and where it is handled
//! The transcripts under `tests/transcripts/pheby` hold one rule a file; their names say which.
//!
//! | frame | direction | handled in |
//! |---|---|---|
//! | `hello`, `ready`, `ping`, `pong` | both | `session` |
//! | `error` (15 codes) | in | `refusals`, matched to its request in this file |
//! | `conversation.list`, `.snapshot`, `.create`, `.created`, `.updated` | both | `conversations` |
//! | `conversation.open`, `.history`, `.rename`, `.renamed`, `.delete`, `.deleted` | both | `conversations` |
//! | `chat.send`, `run.accepted`, `run.cancel`, `run.finished` | both | `runs` |
//! | `message.start`, `message.delta`, `message.complete` | in | `runs` |
//! | `tool.event` (and todos in the arguments of the tool `todo`) | in | `tools` |
//! | `approval.request`, `.respond`, `.resolved` | both | `decisions` |
//! | `clarify.request`, `.respond`, `.resolved` | both | `decisions` |
//! | `yolo.current`, `.snapshot`, `.set`, `.changed` | both | `decisions` |
//! | `models.list`, `models.snapshot`, `models.current`, `model.current`, `model.set`, `model.changed` | both | `models` |
//! | `reasoning.current`, `.snapshot`, `.set`, `.changed` | both | `models` |
//! | `attachment.added`, `POST /attachments`, `GET {download_path}` | both | `attachments`; bytes go through `transport::http` |
//! | protocol-level pings | in | answered by `transport::websocket` |

mod asked;
mod attachments;
mod conversations;
mod decisions;
mod frames;
mod history;
mod models;
mod refusals;
mod runs;
mod session;
mod tools;

use super::decode::{self, Oddities, Oddity, leading_fields};
use super::pending::{Pending, WireIds};
use super::{Driver, Input, Output, ReplaceKey, Retry, Setup};
use crate::config::account::NetworkEndpoint;
use crate::domain::{
    AccountEvent, ChatCommand, Command, CommandId, CommandOutcome, ConversationCommand,
    ConversationId, ModelCommand, Moment, Provenance, Refusal, RefusalCode, Reply, Secret, Topic,
    TransferCommand,
};
use crate::link::{CloseReason, Frame};
use asked::Asked;
use frames::{Event, Incoming, Outgoing, Request};
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// How long an answer is awaited.
const PATIENCE: Duration = Duration::from_secs(20);
/// The same for a message: a gateway that starts may think for a while before it accepts.
const SEND_PATIENCE: Duration = Duration::from_secs(45);
/// How long a beginning tool waits for the text that it follows (35 ms were seen).
const HOLD: Duration = Duration::from_millis(80);

/// Frames of one conversation that wait for a text which belongs before them.
#[derive(Debug)]
struct Held {
    until: Moment,
    frames: Vec<Incoming>,
}

/// One Pheby account.
pub struct Pheby {
    secret: Option<Secret>,
    ids: WireIds,
    out: VecDeque<Output>,
    pending: Pending<Asked>,
    oddities: Oddities,
    session: session::Session,
    directory: conversations::Directory,
    runs: runs::Runs,
    decisions: decisions::Decisions,
    models: models::Models,
    files: attachments::Files,
    held: BTreeMap<ConversationId, Held>,
}

impl Pheby {
    /// A driver that waits for its first link.
    pub fn new(_endpoint: &NetworkEndpoint, setup: Setup) -> Self {
        Self {
            secret: setup.secret,
            ids: WireIds::new(&setup.seed),
            out: VecDeque::new(),
            pending: Pending::default(),
            oddities: Oddities::default(),
            session: session::Session::default(),
            directory: conversations::Directory::default(),
            runs: runs::Runs::default(),
            decisions: decisions::Decisions::default(),
            models: models::Models::default(),
            files: attachments::Files::default(),
            held: BTreeMap::new(),
        }
    }

    /// Says something that happens now.
    fn say(&mut self, topic: Topic) {
        self.tell(AccountEvent::live(topic));
    }

    /// Says something that the server stated as a whole.
    fn say_snapshot(&mut self, topic: Topic) {
        self.tell(AccountEvent {
            provenance: Provenance::Snapshot,
            topic,
        });
    }

    fn tell(&mut self, event: AccountEvent) {
        self.out.push_back(Output::Event(Box::new(event)));
    }

    fn odd(&mut self, words: impl Into<String>) {
        if let Some(event) = self.oddities.report(Oddity::new(words)) {
            self.tell(event);
        }
    }

    /// Ends a command.
    fn finish(&mut self, command: CommandId, outcome: CommandOutcome) {
        self.say(Topic::Outcome { command, outcome });
    }

    fn done(&mut self, command: CommandId) {
        self.finish(command, CommandOutcome::Done(Reply::Nothing));
    }

    fn refuse(&mut self, command: CommandId, code: RefusalCode, words: impl AsRef<str>) {
        self.finish(command, CommandOutcome::Refused(Refusal::new(code, words)));
    }

    /// Writes a request and notes what it is for.
    fn ask(&mut self, now: Moment, request: &Request<'_>, asked: Asked) {
        let patience = match asked {
            Asked::Send { .. } => SEND_PATIENCE,
            Asked::Hello => session::HELLO_PATIENCE,
            _ => PATIENCE,
        };
        let id = self.ids.mint();
        self.write(request, Some(&id));
        self.pending.insert(id, asked, now, patience);
    }

    fn write(&mut self, request: &Request<'_>, request_id: Option<&str>) {
        let outgoing = Outgoing {
            request,
            request_id,
        };
        match serde_json::to_string(&outgoing) {
            Ok(text) => self.out.push_back(Output::Frame(Frame::text(text))),
            Err(error) => self.odd(format!("a frame could not be written: {error}")),
        }
    }

    fn on_command(&mut self, now: Moment, id: CommandId, command: Command) {
        // Bytes go over HTTP, which works without the WebSocket.
        if let Command::Transfer(command) = command {
            return match command {
                TransferCommand::Fetch {
                    attachment,
                    transfer,
                } => {
                    self.fetch(now, id, *attachment, transfer);
                }
                TransferCommand::Cancel { transfer } => self.cancel_transfer(id, transfer),
            };
        }
        if !self.session.is_ready() {
            return self.finish(id, CommandOutcome::NotSent);
        }
        match command {
            Command::Chat(command) => match command {
                ChatCommand::Send {
                    conversation,
                    text,
                    files,
                    ..
                } => {
                    self.send(now, id, conversation, text, files);
                }
                ChatCommand::CancelRun { conversation, run } => {
                    self.cancel_run(now, id, conversation, run);
                }
                ChatCommand::DeleteMessages { .. } => {
                    self.refuse(id, RefusalCode::Unsupported, session::NO_MESSAGE_DELETION);
                }
            },
            Command::Conversation(command) => self.on_conversation_command(now, id, command),
            Command::Answer {
                decision, answer, ..
            } => self.answer(now, id, decision, answer),
            Command::Model(command) => match command {
                ModelCommand::LoadCatalog { conversation } => {
                    self.load_models(now, id, conversation);
                }
                ModelCommand::SetModel { choice, scope } => self.set_model(now, id, &choice, scope),
                ModelCommand::SetEffort { level, scope } => self.set_effort(now, id, &level, scope),
                ModelCommand::SetAutoApprove { conversation, on } => {
                    self.set_yolo(now, id, conversation, on);
                }
                ModelCommand::SetProfile { .. } => {
                    self.refuse(id, RefusalCode::Unsupported, session::NO_PROFILE);
                }
            },
            Command::Search(_) => {
                self.refuse(id, RefusalCode::Unsupported, session::NO_SERVER_SEARCH);
            }
            Command::LoadCatalog => {
                self.refuse(id, RefusalCode::Unsupported, session::NO_CATALOG);
            }
            Command::Invoke { .. } => {
                self.refuse(
                    id,
                    RefusalCode::Unsupported,
                    "This server has no such function.",
                );
            }
            Command::Transfer(_) => {}
        }
    }

    fn on_conversation_command(
        &mut self,
        now: Moment,
        id: CommandId,
        command: ConversationCommand,
    ) {
        match command {
            ConversationCommand::Refresh => self.list(now, Some(id)),
            ConversationCommand::Create { name, parent: None } => {
                self.create(now, id, name.as_deref());
            }
            ConversationCommand::Create {
                parent: Some(_), ..
            } => {
                self.refuse(id, RefusalCode::Unsupported, session::NO_THREADS);
            }
            ConversationCommand::Rename { conversation, name } => {
                self.rename(now, id, conversation, &name);
            }
            ConversationCommand::Delete { conversation } => self.delete(now, id, conversation),
            ConversationCommand::Open { conversation } => {
                self.open(now, conversation.clone(), Some(id));
                self.load_settings(now, &conversation);
            }
            ConversationCommand::LoadOlder {
                conversation,
                before,
            } => {
                self.load_older(now, id, conversation, before);
            }
            ConversationCommand::Clear { .. } => {
                self.refuse(id, RefusalCode::Unsupported, session::NO_CLEARING);
            }
            ConversationCommand::SetDefault { .. }
            | ConversationCommand::SetFavorite { .. }
            | ConversationCommand::SetAppearance { .. }
            | ConversationCommand::SetAutomation { .. } => {
                self.refuse(id, RefusalCode::Unsupported, session::NOT_IN_PHEBY);
            }
        }
    }

    fn on_frame(&mut self, now: Moment, frame: &Frame) {
        // What still comes after we gave a link up says nothing any more.
        if self.session.is_down() {
            return;
        }
        self.hear(now);
        let Some(text) = frame.as_text() else {
            return self.odd(format!("a binary frame of {} bytes", frame.len()));
        };
        match frames::decode(text) {
            Ok(incoming) => self.arrange(now, incoming),
            Err(oddity) => {
                if let Some(event) = self.oddities.report(oddity) {
                    self.tell(event);
                }
            }
        }
    }

    /// Brings frames of a conversation into their causal order (see the module documentation).
    fn arrange(&mut self, now: Moment, incoming: Incoming) {
        let Some(conversation) = incoming
            .event
            .conversation()
            .filter(|id| !id.is_empty())
            .map(ConversationId::from)
        else {
            // An end of something that is held back must not overtake its beginning.
            if matches!(
                incoming.event,
                Event::ApprovalResolved(_) | Event::ClarifyResolved(_)
            ) {
                self.release_all(now);
            }
            return self.route(now, incoming);
        };
        if let Some(held) = self.held.get_mut(&conversation) {
            return match &incoming.event {
                Event::MessageComplete(frame)
                    if self.runs.is_textless(&conversation, &frame.message_id) =>
                {
                    self.route(now, incoming);
                    self.release(now, &conversation);
                }
                Event::ToolEvent(_) | Event::ApprovalRequest(_) | Event::ClarifyRequest(_)
                    if held.frames.len() < 64 =>
                {
                    held.frames.push(incoming);
                }
                _ => {
                    self.release(now, &conversation);
                    self.route(now, incoming);
                }
            };
        }
        let begins = match &incoming.event {
            Event::ToolEvent(frame) => frame.status == "running",
            Event::ApprovalRequest(_) | Event::ClarifyRequest(_) => true,
            _ => false,
        };
        if begins && self.runs.has_textless_draft(&conversation) {
            let held = Held {
                until: now.after(HOLD),
                frames: vec![incoming],
            };
            self.held.insert(conversation, held);
        } else {
            self.route(now, incoming);
        }
    }

    fn release(&mut self, now: Moment, conversation: &ConversationId) {
        if let Some(held) = self.held.remove(conversation) {
            for incoming in held.frames {
                self.route(now, incoming);
            }
        }
    }

    fn release_all(&mut self, now: Moment) {
        while let Some(conversation) = self.held.keys().next().cloned() {
            self.release(now, &conversation);
        }
    }

    fn route(&mut self, now: Moment, incoming: Incoming) {
        let id = incoming.request_id;
        match incoming.event {
            Event::Ready(frame) => self.on_ready(now, id, &frame),
            Event::Pong => self.on_pong(now),
            Event::Error(error) => self.on_error(now, id, &error),
            Event::ConversationSnapshot(frame) => self.on_list(now, id, frame),
            Event::ConversationCreated(frame) => self.on_created(id, frame),
            Event::ConversationUpdated(frame) => self.on_updated(frame),
            Event::ConversationHistory(frame) => self.on_history(now, id, *frame),
            Event::ConversationRenamed(frame) => self.on_renamed(id, frame),
            Event::ConversationDeleted(frame) => self.on_deleted(id, frame),
            Event::RunAccepted(frame) => self.on_run_accepted(now, id, frame),
            Event::MessageStart(frame) => self.on_message_start(now, frame),
            Event::MessageDelta(frame) => self.on_message_delta(now, frame),
            Event::MessageComplete(frame) => self.on_message_complete(now, frame),
            Event::RunFinished(frame) => self.on_run_finished(now, id, frame),
            Event::ToolEvent(frame) => self.on_tool_event(now, frame),
            Event::ApprovalRequest(frame) => self.on_approval_request(now, frame),
            Event::ApprovalResolved(frame) => self.on_approval_resolved(id, frame),
            Event::ClarifyRequest(frame) => self.on_clarify_request(now, frame),
            Event::ClarifyResolved(frame) => self.on_clarify_resolved(id, frame),
            Event::YoloSnapshot(frame) | Event::YoloChanged(frame) => self.on_yolo(id, frame),
            Event::AttachmentAdded(frame) => self.on_attachment_added(now, frame),
            Event::ModelsSnapshot(frame) => self.on_models(id, frame),
            Event::ModelCurrent(frame) | Event::ModelChanged(frame) => {
                self.on_model(now, id, frame)
            }
            Event::ReasoningSnapshot(frame) | Event::ReasoningChanged(frame) => {
                self.on_reasoning(now, id, frame);
            }
            Event::Unknown(name) => {
                if let Some(event) = self.oddities.unknown_type(&name) {
                    self.tell(event);
                }
            }
        }
    }

    /// A request was refused. Ids of other clients match nothing here.
    fn on_request_error(&mut self, now: Moment, asked: Asked, error: &frames::ErrorBody) {
        let refusal = refusals::refusal(error, asked.asking());
        for command in asked.commands() {
            self.finish(command, CommandOutcome::Refused(refusal.clone()));
        }
        match asked {
            Asked::Approve { decision, .. } | Asked::Clarify { decision, .. } => {
                self.on_answer_refused(&decision, &error.code);
            }
            Asked::Open { conversation, .. } | Asked::Older { conversation, .. }
                if error.code == "conversation_not_found" =>
            {
                self.forget_conversation(&conversation);
            }
            Asked::Send { .. } | Asked::Rename { .. } | Asked::Delete { .. }
                if error.code == "conversation_not_found" =>
            {
                self.list(now, None);
            }
            _ => {}
        }
    }

    fn on_deadline(&mut self, now: Moment) {
        let due: Vec<ConversationId> = self
            .held
            .iter()
            .filter(|(_, held)| held.until.mono_ms <= now.mono_ms)
            .map(|(id, _)| id.clone())
            .collect();
        for conversation in due {
            self.release(now, &conversation);
        }
        for (id, asked) in self.pending.expire(now) {
            self.on_request_expired(now, id, asked);
        }
        self.beat(now);
    }

    fn on_request_expired(&mut self, now: Moment, id: String, asked: Asked) {
        match asked {
            Asked::Hello => self.hello_unanswered(),
            // The message may have arrived all the same; the snapshot tells.
            Asked::Send {
                command,
                conversation,
            } => {
                self.finish(command, CommandOutcome::LinkLost);
                self.runs.remember_late(id, command, conversation.clone());
                self.open(now, conversation, None);
            }
            Asked::Approve {
                command,
                ref decision,
            }
            | Asked::Clarify {
                command,
                ref decision,
                ..
            } => {
                self.finish(command, CommandOutcome::LinkLost);
                if let Some(conversation) = self.decisions.conversation(decision) {
                    self.open(now, conversation, None);
                }
            }
            asked => {
                for command in asked.commands() {
                    self.finish(command, CommandOutcome::Refused(refusals::timed_out()));
                }
            }
        }
    }
}

impl Driver for Pheby {
    fn handle(&mut self, now: Moment, input: Input) {
        match input {
            Input::LinkUp { .. } => self.link_up(now),
            Input::LinkDown { reason } => self.link_down(now, &reason),
            Input::Frame(frame) => self.on_frame(now, &frame),
            Input::Command { id, command } => self.on_command(now, id, command),
            Input::HttpReply(reply) => self.on_http_reply(now, &reply),
            Input::TransferDone { transfer, size, .. } => self.on_transfer_done(transfer, size),
            Input::TransferFailed { transfer, reason } => self.on_transfer_failed(transfer, reason),
            Input::SecretRenewed(secret) => self.renew_secret(now, secret),
            Input::PersonActed => self.attend(now),
            Input::Deadline => self.on_deadline(now),
            // Files go over HTTP and there are no local tools in this protocol.
            Input::UploadChunk { .. }
            | Input::UploadEnd { .. }
            | Input::ToolFinished { .. }
            | Input::Log(_) => {}
        }
    }

    fn poll(&mut self) -> Option<Output> {
        self.out.pop_front()
    }

    fn deadline(&self) -> Option<Moment> {
        let held = self.held.values().map(|held| held.until).min();
        [self.pending.deadline(), self.session.deadline(), held]
            .into_iter()
            .flatten()
            .min_by_key(|moment| moment.mono_ms)
    }

    fn glance(&self, frame: &Frame) -> Option<ReplaceKey> {
        let fields = leading_fields(frame.beginning()?);
        let field = |name: &str| {
            fields
                .iter()
                .take_while(|(key, _)| *key != "text")
                .find(|(key, _)| *key == name)
                .map(|(_, value)| *value)
        };
        if field("type")? != "message.delta" {
            return None;
        }
        Some(ReplaceKey(format!(
            "{}\n{}",
            field("conversation_id")?,
            field("message_id")?
        )))
    }

    fn redact(&self, frame: &Frame) -> Frame {
        let Some(text) = frame.as_text() else {
            return frame.clone();
        };
        let masked = decode::mask(text, self.secret.as_ref());
        // A hello may carry a secret that is not ours any more.
        if masked.contains("\"secret\"")
            && let Ok(mut map) = decode::object(&masked)
            && map.contains_key("secret")
        {
            map.insert("secret".to_owned(), "<secret>".into());
            return Frame::text(serde_json::Value::Object(map).to_string());
        }
        Frame::text(masked)
    }

    fn retry(&self, reason: &CloseReason) -> Retry {
        self.session.retry(reason)
    }
}
