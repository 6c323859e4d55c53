//! Messages in and out, own echoes, receipts (readings I11, I12, I28, I37, I39). Must not infer
//! runs.

use super::directory::author;
use super::frames::{Message, MessageStart, MessageStop, MessageUpdate, Request, Runtime};
use super::media::{OutgoingMessage, attachment};
use super::missed::Said;
use super::turns::Sign;
use super::{Asked, Iris};
use crate::domain::{
    Author, CommandId, CommandOutcome, ConversationId, Footer, IncomingMessage, MessageSort,
    Moment, Part, RefusalCode, RemoteId, TextPatch, TimelineEvent, Topic,
};
use crate::protocol::decode::{shown, sort};
use crate::text::SafeText;

/// What has no answer after so long gets none.
const UNANSWERED_MS: i64 = 10 * 60 * 1000;
/// The gateway's own command that ends a run.
pub(super) const STOP: &str = "/stop";

impl Iris {
    /// Writes a message whose files, if any, are on the server.
    pub(super) fn write_message(
        &mut self,
        now: Moment,
        outgoing: &OutgoingMessage,
        media_refs: &[&str],
    ) {
        let conversation = &outgoing.conversation;
        let is_slash = outgoing.text.starts_with('/');
        let lane = self.lanes.lane(conversation);
        if is_slash {
            lane.slash_at = (outgoing.text != STOP).then_some(now);
        } else {
            lane.slash_at = None;
            lane.last_command = Some(outgoing.command);
        }
        let activity = lane.activity;
        let address = self.lanes.address(conversation);
        let is_default = self.lanes.default.as_ref() == Some(conversation);
        let may_open_thread = outgoing.auto_thread && is_default && !is_slash;
        let request = Request::MessageSend {
            text: &outgoing.text,
            reply_to: outgoing.reply_to.as_ref().map(RemoteId::as_str),
            media_refs,
            auto_thread: may_open_thread,
        };
        let asked = Asked::Send {
            command: outgoing.command,
            conversation: conversation.clone(),
            text: outgoing.text.clone(),
            activity,
            decision: None,
            may_open_thread,
        };
        self.ask(now, "message.send", &address, request, asked);
    }

    /// Stops a run by the gateway's own command.
    pub(super) fn stop(&mut self, now: Moment, command: CommandId, conversation: ConversationId) {
        if !self.session.stops {
            return self.refuse(command, RefusalCode::Unsupported, super::session::NO_STOP);
        }
        self.write_message(
            now,
            &OutgoingMessage {
                command,
                conversation: conversation.clone(),
                text: STOP.to_owned(),
                files: Vec::new(),
                reply_to: None,
                auto_thread: false,
            },
            &[],
        );
        self.stop_turn(&conversation);
    }

    pub(super) fn acknowledge(
        &mut self,
        command: CommandId,
        conversation: &ConversationId,
        remote: Option<RemoteId>,
    ) {
        self.say(Topic::Timeline(TimelineEvent::Acknowledged {
            conversation: conversation.clone(),
            command,
            remote,
        }));
    }

    /// The agent took a message and works on it. The receipt may come before the echo, without an
    /// id, or alone.
    pub(super) fn on_receipt(
        &mut self,
        now: Moment,
        id: Option<u64>,
        lane: ConversationId,
        message: &str,
    ) {
        let remote = (!message.is_empty()).then(|| RemoteId::from(message));
        let known = remote.as_ref().and_then(|remote| self.lanes.sent(remote));
        // Whose message it is was seen when it came in: one that was not ours then is no other one
        // of ours now.
        let was_seen = remote
            .as_ref()
            .is_some_and(|remote| self.lanes.lane(&lane).has_ended(remote));
        if self.awaits_its_thread(id, &lane, remote.as_ref()) {
            return;
        }
        let parent = self.lanes.parent(&lane);
        let asked = match known {
            _ if known.is_some() || was_seen => self.take_send(id),
            _ => self.take_send(id).or_else(|| {
                let is_here = |asked: &Asked| asked.may_stand_in(&lane, parent.as_ref());
                let is_late = id.is_none() && self.lanes.lane(&lane).takes_late_receipt();
                (id.is_none() && !is_late)
                    .then(|| self.pending.take_first(is_here))
                    .flatten()
            }),
        };
        let command = match asked {
            Some(Asked::Send {
                command,
                conversation,
                text,
                decision,
                ..
            }) => {
                let has_moved = conversation != lane;
                if !has_moved {
                    self.acknowledge(command, &conversation, remote.clone());
                }
                if let Some(remote) = &remote {
                    self.lanes.remember_sent(remote.clone(), command);
                    // Answers and stops have no message here before, nor has a new thread; some
                    // gateways echo to other devices only.
                    if decision.is_some() || text == STOP || has_moved {
                        self.say(Topic::Timeline(TimelineEvent::Upserted {
                            conversation: lane.clone(),
                            message: Box::new(IncomingMessage {
                                remote: Some(remote.clone()),
                                author: Author::User,
                                text: text.clone(),
                                sent_at_ms: Some(now.wall_ms),
                                command: Some(command),
                                ..IncomingMessage::default()
                            }),
                        }));
                    }
                }
                let reply = self.place_of_sent(command, &conversation, &lane);
                self.finish(command, CommandOutcome::Done(reply));
                match decision {
                    Some(decision) => {
                        self.answered(decision, &text, command);
                        self.renew_grace(now, &lane);
                    }
                    None => self.line_up(&lane, &text, Some(command)),
                }
                Some(command)
            }
            _ => known,
        };
        // Of an id that nobody has seen it does not show whose it is.
        if command.is_some() || was_seen {
            self.say(Topic::Timeline(TimelineEvent::WasRead {
                conversation: lane.clone(),
                remote,
                command,
            }));
        }
        self.lanes.lane(&lane).activity += 1;
        self.touch(now, &lane, None);
    }

    pub(super) fn on_message(
        &mut self,
        now: Moment,
        id: Option<u64>,
        lane: ConversationId,
        message: Message,
    ) {
        if message.message_id.is_empty() {
            return self.odd("a message without an id");
        }
        let remote = RemoteId::from(message.message_id.as_str());
        let author = author(&message.role);
        let mut incoming = incoming(&message);
        if author == Author::User {
            return self.on_user_message(now, id, lane, remote, incoming, &message.text);
        }
        self.lanes.lane(&lane).activity += 1;
        // What a replay repeats is older than what waits for an answer.
        let is_repeat = self.is_replay() && self.lanes.lane(&lane).has_ended(&remote);
        self.resume_message(&lane, &remote);
        if author == Author::System {
            if self.decisions.is_asked_by(&lane, &incoming.text) {
                incoming.sort = MessageSort::Aside;
            } else {
                let twin = (remote.clone(), incoming.text.clone(), message.ts);
                self.lanes.lane(&lane).last_system = Some(twin);
                if !is_repeat {
                    self.on_reply(&lane);
                }
            }
        } else if !is_repeat {
            self.on_output(&lane);
            self.on_reply(&lane);
        } else {
            self.on_repeat(&lane);
        }
        if !is_repeat && author == Author::Assistant {
            let said = said(incoming.sent_at_ms, &incoming.footer);
            let is_replay = self.is_replay();
            let missed = &mut self.lanes.lane(&lane).missed;
            match is_replay {
                true => missed.answer_at_once(said),
                false => missed.settle(said),
            }
        }
        if !is_repeat {
            self.picked(&lane);
        }
        let of = self.lanes.lane(&lane);
        of.end(&remote);
        of.last_ts = incoming.sent_at_ms.or(of.last_ts);
        if author == Author::Assistant
            && let Some(turn) = &mut of.turn
        {
            turn.has_answer = true;
            incoming.run = Some(turn.run.clone());
        }
        let ts = incoming.sent_at_ms;
        self.say(Topic::Timeline(TimelineEvent::Upserted {
            conversation: lane.clone(),
            message: Box::new(incoming),
        }));
        self.touch(now, &lane, ts);
        self.check_turn(now, &lane);
    }

    /// A message of the person, from here or from another device. The own one is recognised by its
    /// request, by its receipt, or by its words, whichever comes.
    fn on_user_message(
        &mut self,
        now: Moment,
        id: Option<u64>,
        lane: ConversationId,
        remote: RemoteId,
        mut incoming: IncomingMessage,
        raw: &str,
    ) {
        let known = self.lanes.sent(&remote);
        let parent = self.lanes.parent(&lane);
        let asked = self.take_send(id).or_else(|| match known {
            Some(known) => self.pending.take_first(
                |asked| matches!(asked, Asked::Send { command, .. } if *command == known),
            ),
            None if self.is_replay() => None,
            None => self.pending.take_first(|asked| {
                matches!(asked, Asked::Send { text, .. } if text.trim() == raw.trim())
                    && asked.may_stand_in(&lane, parent.as_ref())
            }),
        });
        let mut ended = None;
        if let Some(Asked::Send {
            command,
            conversation,
            text,
            decision,
            ..
        }) = asked
        {
            self.lanes.remember_sent(remote.clone(), command);
            incoming.command = Some(command);
            let reply = self.place_of_sent(command, &conversation, &lane);
            ended = Some((command, reply, decision, text));
        } else {
            incoming.command = known;
        }
        let is_repeat = self.lanes.lane(&lane).has_ended(&remote);
        let of = self.lanes.lane(&lane);
        of.end(&remote);
        of.last_ts = incoming.sent_at_ms.or(of.last_ts);
        let command = incoming.command;
        let ts = incoming.sent_at_ms;
        let text = incoming.text.clone();
        if !text.is_empty() && !text.starts_with('/') {
            of.spoken = Some(remote.clone());
        }
        self.say(Topic::Timeline(TimelineEvent::Upserted {
            conversation: lane.clone(),
            message: Box::new(incoming),
        }));
        let mut is_answer = false;
        if let Some((command, reply, decision, text)) = ended {
            self.finish(command, CommandOutcome::Done(reply));
            if let Some(decision) = decision {
                is_answer = true;
                self.answered(decision, &text, command);
                self.renew_grace(now, &lane);
            }
        }
        if !is_repeat {
            is_answer |= self.on_answer_seen(&lane, &text);
            if command.is_none() {
                self.lanes.lane(&lane).slash_at = None;
            }
            if self.is_replay() {
                // Whoever wrote on saw the picker and passed it by.
                self.pass_pickers(&lane);
            }
            // An answer lets the turn go on that asked; other messages want a turn of their own.
            let is_replay = self.is_replay();
            if !is_answer && !is_replay {
                self.lanes.lane(&lane).has_others |= command.is_none();
                self.line_up(&lane, &text, command);
            } else if !is_answer && is_recent(now, ts) {
                self.lanes.lane(&lane).missed.ask(&text, ts);
            }
        }
        self.touch(now, &lane, ts);
    }

    /// A message stands in line for a turn; the gateway's own commands take none.
    fn line_up(&mut self, lane: &ConversationId, text: &str, command: Option<CommandId>) {
        if !text.starts_with('/') {
            self.lanes.lane(lane).line_up(command);
        }
    }

    /// Something stands as an answer of its own in a lane: the last slash command has its reply.
    fn on_reply(&mut self, lane: &ConversationId) {
        self.lanes.lane(lane).slash_at = None;
        self.pass_pickers(lane);
    }

    pub(super) fn on_message_start(
        &mut self,
        now: Moment,
        lane: ConversationId,
        start: &MessageStart,
    ) {
        if start.message_id.is_empty() {
            return self.odd("message.start without an id");
        }
        let remote = RemoteId::from(start.message_id.as_str());
        if self.lanes.lane(&lane).has_ended(&remote) {
            return;
        }
        self.on_output(&lane);
        let run = self.begin_turn(now, &lane, Sign::Beginning);
        if !self.lanes.lane(&lane).streams(&remote) {
            return;
        }
        // Its place is here, although its words may come behind a tool that begins next.
        self.say(Topic::Timeline(TimelineEvent::Upserted {
            conversation: lane,
            message: Box::new(IncomingMessage {
                remote: Some(remote),
                author: author(&start.role),
                run,
                is_streaming: true,
                ..IncomingMessage::default()
            }),
        }));
    }

    pub(super) fn on_message_update(
        &mut self,
        now: Moment,
        lane: ConversationId,
        update: MessageUpdate,
    ) {
        if update.message_id.is_empty() {
            return self.odd("message.update without an id");
        }
        let remote = RemoteId::from(update.message_id);
        if self.lanes.lane(&lane).has_ended(&remote) {
            return;
        }
        self.resume_message(&lane, &remote);
        let is_known = self.lanes.lane(&lane).open.contains(&remote);
        self.lanes.lane(&lane).is_doubtful &= !is_known;
        let sign = if is_known { Sign::Typing } else { Sign::Amid };
        let run = self.begin_turn(now, &lane, sign);
        let is_new = self.lanes.lane(&lane).streams(&remote);
        if is_new {
            self.on_output(&lane);
        }
        self.say(Topic::Timeline(TimelineEvent::Patched {
            conversation: lane,
            remote,
            run,
            part: Part::Body,
            patch: TextPatch::Replace(shown(&update.text)),
        }));
    }

    pub(super) fn on_message_stop(&mut self, now: Moment, lane: ConversationId, stop: MessageStop) {
        if stop.message_id.is_empty() {
            return self.odd("message.stop without an id");
        }
        let remote = RemoteId::from(stop.message_id.as_str());
        let text = shown(&stop.final_text);
        let footer = footer(&stop.runtime, stop.model.as_deref(), stop.tokens);
        let is_replay = self.is_replay();
        let is_repeat = self.lanes.lane(&lane).has_ended(&remote);
        self.resume_message(&lane, &remote);
        let was_open = self.lanes.lane(&lane).open.contains(&remote);
        if is_replay {
            self.on_text_ended(&lane, stop.ts, is_repeat);
        }
        if !was_open && !is_replay {
            self.settle_owner(&lane, Sign::Amid);
        }
        let said = said(stop.ts, &footer);
        let of = self.lanes.lane(&lane);
        match is_replay {
            _ if is_repeat => {}
            true => of.missed.answer(said),
            false => of.missed.settle(said),
        }
        of.activity += 1;
        of.end(&remote);
        if !text.is_empty() {
            of.spoken = Some(remote.clone());
        }
        of.last_ts = stop.ts.or(of.last_ts);
        let mut run = None;
        if let Some(turn) = &mut of.turn {
            turn.has_answer = true;
            run = Some(turn.run.clone());
        }
        let sort = sort(Author::Assistant, &text);
        if was_open && !is_replay && sort == MessageSort::Ordinary {
            self.say(Topic::Timeline(TimelineEvent::Ended {
                conversation: lane.clone(),
                remote,
                text: (!text.is_empty()).then_some(text),
                reasoning: stop.reasoning,
                footer,
                sent_at_ms: stop.ts,
                is_interrupted: false,
            }));
        } else if !text.is_empty() || stop.reasoning.is_some() {
            self.say(Topic::Timeline(TimelineEvent::Upserted {
                conversation: lane.clone(),
                message: Box::new(IncomingMessage {
                    remote: Some(remote),
                    author: Author::Assistant,
                    sort,
                    text,
                    reasoning: stop.reasoning,
                    sent_at_ms: stop.ts,
                    run,
                    footer,
                    ..IncomingMessage::default()
                }),
            }));
        }
        self.picked(&lane);
        self.touch(now, &lane, stop.ts);
        self.check_turn(now, &lane);
    }

    /// A beat between two steps of a turn.
    pub(super) fn on_commentary(&mut self, now: Moment, lane: ConversationId, beat: MessageUpdate) {
        let text = shown(&beat.text);
        if text.is_empty() {
            return;
        }
        let run = self.begin_turn(now, &lane, Sign::Typing);
        self.say(Topic::Timeline(TimelineEvent::Upserted {
            conversation: lane,
            message: Box::new(IncomingMessage {
                remote: (!beat.message_id.is_empty()).then(|| RemoteId::from(beat.message_id)),
                author: Author::Assistant,
                sort: MessageSort::Commentary,
                text,
                run,
                ..IncomingMessage::default()
            }),
        }));
    }
}

/// Whether the answer to a message may still be on its way.
pub(super) fn is_recent(now: Moment, ts: Option<i64>) -> bool {
    ts.is_some_and(|ts| now.wall_ms - ts < UNANSWERED_MS)
}

/// When a message was said, and its turn begun, as its footer says.
pub(super) fn said(at: Option<i64>, footer: &Footer) -> Said {
    let latency = footer.latency_ms.and_then(|ms| i64::try_from(ms).ok());
    let turn_at = at.zip(latency).and_then(|(at, ms)| at.checked_sub(ms));
    Said { at, turn_at }
}

/// A message with everything that its frame says.
pub(super) fn incoming(message: &Message) -> IncomingMessage {
    let author = author(&message.role);
    let text = shown(&message.text);
    let attachments = message
        .media
        .iter()
        .filter_map(|media| attachment(media, author == Author::User))
        .map(|mut attachment| {
            attachment.message = Some(RemoteId::from(message.message_id.as_str()));
            attachment
        })
        .collect();
    IncomingMessage {
        remote: Some(RemoteId::from(message.message_id.as_str())),
        author,
        sort: if author == Author::System {
            MessageSort::Notice
        } else {
            sort(author, &text)
        },
        text,
        reasoning: message.reasoning.clone(),
        attachments,
        reply_to: message.reply_to.as_deref().map(RemoteId::from),
        sent_at_ms: message.ts,
        run: None,
        footer: footer(&message.runtime, message.model.as_deref(), message.tokens),
        command: None,
        is_streaming: false,
        is_interrupted: false,
    }
}

/// What stands under an answer. The model of the runtime block goes before the bare one.
fn footer(runtime: &Runtime, model: Option<&str>, tokens: Option<u64>) -> Footer {
    let positive = |value: Option<f64>, factor: f64| {
        value
            .filter(|value| value.is_finite() && *value >= 0.0)
            .map(|value| (value * factor).round() as u64)
    };
    Footer {
        model: runtime.model.as_deref().or(model).map(SafeText::label),
        tokens,
        context_percent: positive(runtime.context_pct, 1.0).map(|percent| percent.min(100) as u8),
        directory: runtime.cwd.as_deref().map(SafeText::label),
        latency_ms: positive(runtime.latency, 1_000.0),
        cost_micro_usd: positive(runtime.cost, 1_000_000.0),
        ..Footer::default()
    }
}
