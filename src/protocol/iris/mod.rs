//! The Iris driver (`iris.schema.json`): JSON frames in an envelope over a WebSocket, bytes of
//! media as binary frames between them.
//!
//! # How it works
//! - `session`: hello, hello.ack, sync from the stored cursor, sync.done, health, heartbeat.
//! - `lanes`: a channel or a thread of it is one conversation; what is open in each.
//! - `directory`: channels and threads, their flags and looks, search, the slash catalogue.
//! - `messages`: messages in and out, own echoes, receipts.
//! - `history`: pages of history, deletion.
//! - `turns`: runs, which the protocol does not state and which are inferred here; `missed`: which
//!   messages have no answer yet when a link comes to stand.
//! - `calls`: calls of tools, recognised when a replay repeats them; todos; `running`: what is
//!   remembered of them, also over a restart.
//! - `decisions`: pickers, and approvals and questions that come as notifications; `answers`: how
//!   they are answered, here and elsewhere.
//! - `media`: one pull at a time; `upload`: one upload at a time.
//!
//! # Replay
//! Live frames carry no cursor, so the replay after a drop may repeat what was seen live. What has
//! a message id is recognised by it. A finished tool is recognised by what its end said, in the
//! order of the lane (`calls`); one that was seen to begin, by its index and name. Notifications are
//! recognised by their content, pickers by their id. Errors and search results of a replay answer
//! nobody and are left out. Decisions of a replay open when it is over, and only if nothing came
//! after them in their lane. What was open when the link was lost ends with a gateway that said it
//! restarts, whose cursor went back, or whose history does not have the lane's last words any more.
//!
//! A message that streams stands where it began. The outbox, and the history that is made of it,
//! know only where messages ended, so what came in while it grew (a notice, a message of the person)
//! stands behind it on a device that watched, and before it on one that was away (reading I31). No
//! frame says where it began, and moving it when it ends would tear it from under the reader.
//!
//! The cursor is handed out to be kept behind the events that it covers, and moves with replayed
//! frames and `sync.done` only.
//!
//! # Every frame, and where it is handled
//! The transcripts under `tests/transcripts/iris` hold one rule a file; their names say which.
//!
//! | frame | direction | handled in |
//! |---|---|---|
//! | `hello`, `hello.ack`, `sync`, `sync.done`, `status`, `ping`, `pong` | both | `session` |
//! | `error` (6 codes) | in | `refusals`, matched by its id in this file |
//! | `message.send`, `message`, `message.start`, `.update`, `.stop`, `commentary`, `read.receipt` | both | `messages` |
//! | `message.deleted`, `message.delete`, `history` | both | `history` |
//! | `tool.start`, `tool.progress`, `tool.end`, `todo.update` | in | `calls` |
//! | `typing`, `agent.busy`, `agent.idle` | in | `turns` |
//! | `notification`, `picker.choice`, `picker.select`, planned pickers | both | `decisions`, `answers` |
//! | `channel.list`, `.created`, `.renamed`, `.deleted`, `.create`, `.rename`, `.set_default`, `.favorite`, `.icon`, `.set_automation`, `.delete` | both | `directory` |
//! | `search`, `search.results`, `commands.catalog` | both | `directory` |
//! | `media.offer`, `media.pull`, `media.pull.end`, `media.upload.start`, `.end`, `.ack`, binary frames | both | `media`, `upload` |
//! | `fcm.register`, planned frames to the server | out | never sent: a terminal has no push, and the server has none of the others |
//! | unknown types and fields | in | counted as an oddity, one notice each type |

mod answers;
mod asked;
mod asking;
mod calls;
mod decisions;
mod directory;
mod frames;
mod history;
mod lanes;
mod media;
mod messages;
mod missed;
mod refusals;
mod running;
mod sent;
mod session;
mod turns;
mod upload;

use super::decode::{self, Oddities, Oddity, leading_fields};
use super::pending::Pending;
use super::{Driver, Input, Output, ReplaceKey, Resume, Retry, Setup};
use crate::config::account::NetworkEndpoint;
use crate::domain::{
    AccountEvent, ChatCommand, Command, CommandId, CommandOutcome, ConversationCommand,
    ConversationId, Cursor, ModelCommand, Moment, Provenance, Refusal, RefusalCode, Reply, Secret,
    Topic, TransferCommand,
};
use crate::link::{CloseReason, Frame};
use asked::Asked;
use frames::{Event, Incoming, Outgoing, Request, VERSION};
use lanes::Address;
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// How long an answer is awaited.
const PATIENCE: Duration = Duration::from_secs(20);
/// The same for a message: a gateway that starts may think for a while before it accepts.
const SEND_PATIENCE: Duration = Duration::from_secs(45);
/// A picker that the gateway forgot says nothing when it is answered.
const PICK_PATIENCE: Duration = Duration::from_secs(15);

/// One Iris account.
pub struct Iris {
    secret: Option<Secret>,
    /// Ids of requests are numbers on this wire: a part out of the seed plus a counter.
    id_base: u64,
    id_count: u64,
    name_count: u64,
    out: VecDeque<Output>,
    pending: Pending<Asked>,
    oddities: Oddities,
    /// Where what is said at the moment comes from.
    provenance: Provenance,
    session: session::Session,
    lanes: lanes::Lanes,
    directory: directory::Directory,
    decisions: decisions::Decisions,
    media: media::Media,
}

/// A check is the same device every time: a gateway keeps what each device missed for ever.
pub(super) fn check() -> Resume {
    let facts = [("device_id".to_owned(), "trialogue-check".to_owned())];
    Resume {
        facts: facts.into_iter().collect(),
    }
}

impl Iris {
    /// A driver that waits for its first link.
    pub fn new(_endpoint: &NetworkEndpoint, setup: Setup) -> Self {
        let part = setup.seed[..4]
            .iter()
            .fold(0u64, |number, byte| (number << 8) | u64::from(*byte));
        Self {
            // Below 2^53, so that gateways in any language keep it exactly.
            id_base: part << 20,
            id_count: 0,
            name_count: 0,
            out: VecDeque::new(),
            pending: Pending::default(),
            oddities: Oddities::default(),
            provenance: Provenance::Live,
            lanes: lanes::Lanes::new(&setup.resume),
            session: session::Session::new(&setup),
            secret: setup.secret,
            directory: directory::Directory::default(),
            decisions: decisions::Decisions::default(),
            media: media::Media::default(),
        }
    }

    /// Says something, with the provenance of the frame that is being read.
    fn say(&mut self, topic: Topic) {
        let provenance = self.provenance.clone();
        self.tell(AccountEvent { provenance, topic });
    }

    fn tell(&mut self, event: AccountEvent) {
        self.out.push_back(Output::Event(Box::new(event)));
    }

    fn odd(&mut self, words: impl Into<String>) {
        if let Some(event) = self.oddities.report(Oddity::new(words)) {
            self.tell(event);
        }
    }

    /// Ends a command, or a stage of it.
    fn finish(&mut self, command: CommandId, outcome: CommandOutcome) {
        self.tell(AccountEvent::live(Topic::Outcome { command, outcome }));
    }

    fn done(&mut self, command: CommandId) {
        self.finish(command, CommandOutcome::Done(Reply::Nothing));
    }

    fn refuse(&mut self, command: CommandId, code: RefusalCode, words: impl AsRef<str>) {
        self.finish(command, CommandOutcome::Refused(Refusal::new(code, words)));
    }

    /// A number for a request.
    fn mint(&mut self) -> u64 {
        self.id_count += 1;
        self.id_base + self.id_count
    }

    /// A name for something of ours that must be unique on this server.
    fn mint_name(&mut self, what: &str) -> String {
        self.name_count += 1;
        format!("{what}-{:x}-{}", self.id_base, self.name_count)
    }

    /// Writes a request and notes what it is for; the id it got.
    fn ask(
        &mut self,
        now: Moment,
        name: &'static str,
        address: &Address,
        payload: Request<'_>,
        asked: Asked,
    ) -> u64 {
        let patience = match asked {
            Asked::Send { .. } => SEND_PATIENCE,
            Asked::Hello => session::HELLO_PATIENCE,
            Asked::Sync => session::SYNC_PATIENCE,
            Asked::Pick { .. } => PICK_PATIENCE,
            _ => PATIENCE,
        };
        let id = self.mint();
        self.write(id, name, address, payload);
        self.pending.insert(id.to_string(), asked, now, patience);
        id
    }

    fn write(&mut self, id: u64, name: &'static str, address: &Address, payload: Request<'_>) {
        let outgoing = Outgoing {
            v: VERSION,
            id,
            name,
            chat_id: address.chat_id.as_deref(),
            thread_id: address.thread_id.as_deref(),
            payload,
        };
        match serde_json::to_string(&outgoing) {
            Ok(text) => self.out.push_back(Output::Frame(Frame::text(text))),
            Err(error) => self.odd(format!("a frame could not be written: {error}")),
        }
    }

    fn take(&mut self, id: Option<u64>) -> Option<Asked> {
        self.pending.take(&id?.to_string())
    }

    fn on_command(&mut self, now: Moment, id: CommandId, command: Command) {
        if !self.session.is_ready() {
            return self.finish(id, CommandOutcome::NotSent);
        }
        match command {
            Command::Chat(command) => match command {
                ChatCommand::Send {
                    conversation,
                    text,
                    files,
                    reply_to,
                    auto_thread,
                    ..
                } => {
                    let outgoing = media::OutgoingMessage {
                        command: id,
                        conversation,
                        text,
                        files,
                        reply_to,
                        auto_thread,
                    };
                    self.send(now, outgoing);
                }
                ChatCommand::DeleteMessages {
                    conversation,
                    remotes,
                } => self.delete_messages(now, id, conversation, &remotes),
                ChatCommand::CancelRun { conversation, .. } => self.stop(now, id, conversation),
            },
            Command::Conversation(command) => self.on_conversation_command(now, id, command),
            Command::Answer {
                decision, answer, ..
            } => self.answer(now, id, decision, answer),
            Command::Transfer(command) => match command {
                TransferCommand::Fetch {
                    attachment,
                    transfer,
                } => self.fetch(now, id, *attachment, transfer),
                TransferCommand::Cancel { transfer } => self.cancel_transfer(now, id, transfer),
            },
            Command::Model(command) => {
                let words = match command {
                    ModelCommand::LoadCatalog { .. } | ModelCommand::SetModel { .. } => {
                        session::NO_MODELS
                    }
                    ModelCommand::SetEffort { .. } => session::NO_EFFORT,
                    ModelCommand::SetAutoApprove { .. } => session::NO_AUTO_APPROVE,
                    ModelCommand::SetProfile { .. } => session::NO_PROFILE,
                };
                self.refuse(id, RefusalCode::Unsupported, words);
            }
            Command::Search(query) => self.search(now, id, query),
            Command::LoadCatalog => self.load_catalog(now, Some(id)),
            Command::Invoke { .. } => {
                self.refuse(
                    id,
                    RefusalCode::Unsupported,
                    "This server has no such function.",
                );
            }
        }
    }

    fn on_conversation_command(
        &mut self,
        now: Moment,
        id: CommandId,
        command: ConversationCommand,
    ) {
        match command {
            ConversationCommand::Refresh => self.list(now, id),
            ConversationCommand::Create { name, parent } => {
                self.create(now, id, name.as_deref(), parent);
            }
            ConversationCommand::Rename { conversation, name } => {
                self.rename(now, id, conversation, &name);
            }
            ConversationCommand::Delete { conversation } => self.delete(now, id, conversation),
            ConversationCommand::Clear { .. } => {
                self.refuse(id, RefusalCode::Unsupported, session::NO_CLEARING);
            }
            ConversationCommand::Open { conversation } => self.open(now, id, conversation),
            ConversationCommand::LoadOlder {
                conversation,
                before,
            } => self.load_history(now, conversation, Some(before), vec![id]),
            ConversationCommand::SetDefault { conversation } => {
                self.change(
                    now,
                    id,
                    conversation,
                    "channel.set_default",
                    Request::Empty {},
                );
            }
            ConversationCommand::SetFavorite { conversation, on } => {
                self.change(
                    now,
                    id,
                    conversation,
                    "channel.favorite",
                    Request::Switch { on },
                );
            }
            ConversationCommand::SetAutomation { conversation, on } => {
                let request = Request::Switch { on };
                self.change(now, id, conversation, "channel.set_automation", request);
            }
            ConversationCommand::SetAppearance {
                conversation,
                appearance,
            } => self.set_appearance(now, id, conversation, &appearance),
        }
    }

    fn on_frame(&mut self, now: Moment, frame: &Frame) {
        if self.session.is_down() {
            return;
        }
        self.hear(now);
        let text = match frame {
            Frame::Binary(bytes) => return self.on_bytes(now, bytes.clone()),
            Frame::Text(_) => match frame.as_text() {
                Some(text) => text,
                None => return self.odd("a text frame that is not UTF-8"),
            },
        };
        match frames::decode(text) {
            Ok(incoming) => {
                self.provenance = match incoming.cursor {
                    Some(cursor) => Provenance::Replayed {
                        cursor: Cursor::from(cursor.to_string()),
                        was_announced: self.session.was_announced(cursor),
                    },
                    None => Provenance::Live,
                };
                let cursor = incoming.cursor;
                self.route(now, incoming);
                self.provenance = Provenance::Live;
                if let Some(cursor) = cursor {
                    self.replayed(now, cursor);
                }
            }
            Err(oddity) => {
                if let Some(event) = self.oddities.report(oddity) {
                    self.tell(event);
                }
            }
        }
    }

    fn is_replay(&self) -> bool {
        matches!(self.provenance, Provenance::Replayed { .. })
    }

    fn route(&mut self, now: Moment, incoming: Incoming) {
        let id = incoming.id;
        let (chat, thread) = (incoming.chat_id, incoming.thread_id);
        let lane = self.lane(chat.as_deref(), thread.as_deref());
        match incoming.event {
            Event::HelloAck(ack) => self.on_hello_ack(now, id, *ack),
            Event::Message(message) => self.on_message(now, id, lane, *message),
            Event::MessageStart(start) => self.on_message_start(now, lane, &start),
            Event::MessageUpdate(update) => self.on_message_update(now, lane, update),
            Event::MessageStop(stop) => self.on_message_stop(now, lane, *stop),
            Event::MessageDeleted(ids) => self.on_messages_deleted(id, lane, &ids.message_ids),
            Event::Commentary(beat) => self.on_commentary(now, lane, beat),
            Event::ToolStart(tool) => self.on_tool_start(now, lane, tool),
            Event::ToolProgress(tool) => self.on_tool_progress(now, lane, &tool),
            Event::ToolEnd(tool) => self.on_tool_end(now, lane, &tool),
            Event::TodoUpdate(update) => self.on_todos(lane, update.todos),
            Event::Typing { on } => self.on_typing(now, lane, on),
            Event::Notification(notification) => self.on_notification(now, lane, notification),
            Event::ChannelList(list) => self.on_channel_list(id, list.channels),
            Event::Channel(channel) => self.on_channel(id, *channel),
            Event::ChannelDeleted { chat_id } => {
                let gone = if chat_id.is_empty() {
                    lane
                } else {
                    ConversationId::from(chat_id)
                };
                self.on_channel_deleted(id, &gone);
            }
            Event::SearchResults(results) => self.on_search_results(id, results),
            Event::MediaOffer(offer) => self.on_media_offer(id, lane, &offer),
            Event::ReadReceipt(receipt) => self.on_receipt(now, id, lane, &receipt.message_id),
            Event::Status { state } => self.on_status(&state),
            Event::Error(error) => self.on_error(now, id, chat.map(|_| lane), &error),
            Event::Pong => self.on_pong(now),
            Event::SyncDone { cursor } => self.on_sync_done(now, id, cursor),
            Event::History(history) => self.on_history(now, id, lane, *history),
            Event::MediaPullEnd { ok } => self.on_pull_end(now, id, ok),
            Event::MediaUploadAck(ack) => self.on_upload_ack(now, id, ack),
            Event::CommandsCatalog(catalog) => self.on_catalog(id, catalog.commands),
            Event::Picker(picker) => self.on_picker(now, lane, picker),
            Event::Planned => {}
            Event::Unknown(name) => {
                if let Some(event) = self.oddities.unknown_type(&name) {
                    self.tell(event);
                }
            }
        }
    }

    fn on_deadline(&mut self, now: Moment) {
        for (_, asked) in self.pending.expire(now) {
            self.on_request_expired(now, asked);
        }
        self.end_quiet_turns(now);
        self.watch_media(now);
        self.beat(now);
    }

    fn on_request_expired(&mut self, now: Moment, asked: Asked) {
        match asked {
            Asked::Hello => self.hello_unanswered(),
            Asked::Sync => self.sync_unanswered(now),
            Asked::Send {
                command,
                conversation,
                activity,
                decision,
                text,
                may_open_thread: _,
            } => {
                // An agent that goes on has its answer, whoever gave it. Of other messages only the
                // server can say whether they arrived: it may have worked for another one.
                let is_nudge = decision.is_some() || text == messages::STOP;
                if is_nudge && self.lanes.activity(&conversation) > activity {
                    self.acknowledge(command, &conversation, None);
                    self.done(command);
                } else {
                    self.lanes.lane(&conversation).unanswered += 1;
                    self.finish(command, CommandOutcome::LinkLost);
                    self.load_history(now, conversation, None, Vec::new());
                }
            }
            Asked::Pick {
                command, decision, ..
            } => self.pick_unanswered(command, decision),
            Asked::Pull | Asked::UploadStart | Asked::UploadEnd => {}
            asked => {
                for command in asked.commands() {
                    self.finish(command, CommandOutcome::Refused(refusals::timed_out()));
                }
            }
        }
    }
}

impl Driver for Iris {
    fn handle(&mut self, now: Moment, input: Input) {
        match input {
            Input::LinkUp { .. } => self.link_up(now),
            Input::LinkDown { reason } => self.link_down(&reason),
            Input::Frame(frame) => self.on_frame(now, &frame),
            Input::Command { id, command } => self.on_command(now, id, command),
            Input::UploadChunk { transfer, bytes } => self.on_upload_chunk(now, transfer, bytes),
            Input::UploadEnd {
                transfer,
                size,
                sha256,
            } => self.on_upload_end(now, transfer, size, &sha256),
            Input::TransferDone { transfer, size, .. } => self.on_transfer_done(transfer, size),
            Input::TransferFailed { transfer, reason } => {
                self.on_transfer_failed(now, transfer, reason);
            }
            Input::SecretRenewed(secret) => self.renew_secret(now, secret),
            Input::PersonActed => self.attend(now),
            Input::Deadline => self.on_deadline(now),
            // There is no HTTP, no process and no local tool in this protocol.
            Input::HttpReply(_) | Input::ToolFinished { .. } | Input::Log(_) => {}
        }
    }

    fn poll(&mut self) -> Option<Output> {
        self.out.pop_front()
    }

    fn deadline(&self) -> Option<Moment> {
        [
            self.pending.deadline(),
            self.session.deadline(),
            self.lanes.deadline(),
            self.media.deadline(),
        ]
        .into_iter()
        .flatten()
        .min_by_key(|moment| moment.mono_ms)
    }

    fn glance(&self, frame: &Frame) -> Option<ReplaceKey> {
        let fields: BTreeMap<&str, &str> = leading_fields(frame.beginning()?)
            .into_iter()
            .take_while(|(key, _)| *key != "text" && *key != "note")
            .collect();
        // What is replayed is counted by its cursor.
        if fields.contains_key("cursor") {
            return None;
        }
        let what = match *fields.get("type")? {
            "message.update" => *fields.get("message_id")?,
            "tool.progress" => *fields.get("index")?,
            _ => return None,
        };
        let part = |key: &str| fields.get(key).copied().unwrap_or_default();
        Some(ReplaceKey(format!(
            "{}\n{}\n{}\n{what}",
            part("type"),
            part("chat_id"),
            part("thread_id"),
        )))
    }

    fn redact(&self, frame: &Frame) -> Frame {
        let Some(text) = frame.as_text() else {
            return frame.clone();
        };
        let masked = decode::mask(text, self.secret.as_ref());
        // A hello may carry a token that is not ours any more.
        if masked.contains("\"hello\"")
            && let Ok(mut map) = decode::object(&masked)
            && let Some(serde_json::Value::Object(payload)) = map.get_mut("payload")
        {
            for key in ["token", "fcm_token", "ntfy_topic"] {
                if payload.contains_key(key) {
                    payload.insert(key.to_owned(), "<secret>".into());
                }
            }
            return Frame::text(serde_json::Value::Object(map).to_string());
        }
        Frame::text(masked)
    }

    fn retry(&self, reason: &CloseReason) -> Retry {
        self.session.retry(reason)
    }
}
