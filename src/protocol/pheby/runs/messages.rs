//! Messages in: a draft that grows, its end, and words of the gateway on its own state (spec sections
//! "Chat & streaming", "Unsolicited messages"). Texts are never taken as states.

use crate::domain::{
    Author, ConversationId, Footer, IncomingMessage, MessageSort, Moment, Part, RemoteId,
    TextPatch, TimelineEvent, Topic,
};
use crate::protocol::decode::{instant, shown, sort};
use crate::protocol::pheby::Pheby;
use crate::protocol::pheby::frames::MessageFrame;

impl Pheby {
    pub(in crate::protocol::pheby) fn on_message_start(
        &mut self,
        _now: Moment,
        frame: MessageFrame,
    ) {
        let Some((conversation, message)) = self.place_of(&frame, "message.start") else {
            return;
        };
        if self.runs.has_ended(&conversation, &message) {
            return;
        }
        // An empty bubble is never shown: the run's mark says that something is coming, and the
        // first text decides where it stands among the tools.
        self.runs.draft(&conversation, &message);
        if self.runs.active(&conversation).is_none() {
            self.say(Topic::Timeline(TimelineEvent::Typing {
                conversation,
                on: true,
            }));
        }
    }

    pub(in crate::protocol::pheby) fn on_message_delta(
        &mut self,
        _now: Moment,
        frame: MessageFrame,
    ) {
        let Some((conversation, message)) = self.place_of(&frame, "message.delta") else {
            return;
        };
        if self.runs.has_ended(&conversation, &message) {
            return;
        }
        let text = shown(&frame.text);
        let draft = self.runs.draft(&conversation, &message);
        if text.is_empty() && !draft.is_shown {
            return;
        }
        draft.is_shown = true;
        self.work(&conversation);
        let run = self.runs.active(&conversation).cloned();
        self.say(Topic::Timeline(TimelineEvent::Patched {
            conversation,
            remote: message,
            run,
            part: Part::Body,
            patch: TextPatch::Replace(text),
        }));
    }

    pub(in crate::protocol::pheby) fn on_message_complete(
        &mut self,
        now: Moment,
        frame: MessageFrame,
    ) {
        let Some((conversation, message)) = self.place_of(&frame, "message.complete") else {
            return;
        };
        let text = shown(&frame.text);
        let sent_at_ms = frame.ts.as_deref().and_then(instant).or(Some(now.wall_ms));
        if frame.kind == "notice" {
            return self.on_notice(conversation, message, text, sent_at_ms);
        }
        let draft = self.runs.close_draft(&conversation, &message);
        let was_shown = draft.as_ref().is_some_and(|draft| draft.is_shown);
        let had_ended = self.runs.has_ended(&conversation, &message);
        self.runs.end(&conversation, message.clone());
        let run = self.runs.active(&conversation).cloned();
        if run.is_none() && draft.is_some() {
            self.say(Topic::Timeline(TimelineEvent::Typing {
                conversation: conversation.clone(),
                on: false,
            }));
        }
        self.drop_same_notice(&conversation, &text);
        if let Some(active) = self.runs.active.get_mut(&conversation) {
            active.last_message = Some(message.clone());
            active.answers.push(text.clone());
        }
        self.work(&conversation);
        let sort = sort(Author::Assistant, &text);
        if was_shown && sort == MessageSort::Ordinary {
            self.say(Topic::Timeline(TimelineEvent::Ended {
                conversation: conversation.clone(),
                remote: message,
                text: (!text.is_empty()).then_some(text),
                reasoning: None,
                footer: Footer::default(),
                sent_at_ms,
                is_interrupted: false,
            }));
        } else if !text.is_empty() || had_ended {
            self.say(Topic::Timeline(TimelineEvent::Upserted {
                conversation: conversation.clone(),
                message: Box::new(IncomingMessage {
                    remote: Some(message),
                    author: Author::Assistant,
                    sort,
                    text,
                    sent_at_ms,
                    run,
                    ..IncomingMessage::default()
                }),
            }));
        }
        self.touch(now, &conversation, frame.ts.as_deref());
    }

    /// A word of the gateway on its own state. The same id again edits it in place.
    fn on_notice(
        &mut self,
        conversation: ConversationId,
        message: RemoteId,
        text: String,
        sent_at_ms: Option<i64>,
    ) {
        if text.is_empty() {
            return;
        }
        let run = self.runs.active(&conversation).cloned();
        if let Some(active) = self.runs.active.get_mut(&conversation) {
            if active.answers.contains(&text) {
                return;
            }
            active.notices.retain(|(id, _)| *id != message);
            active.notices.push((message.clone(), text.clone()));
        }
        self.say(Topic::Timeline(TimelineEvent::Upserted {
            conversation,
            message: Box::new(IncomingMessage {
                remote: Some(message),
                author: Author::System,
                sort: MessageSort::Notice,
                text,
                sent_at_ms,
                run,
                ..IncomingMessage::default()
            }),
        }));
    }

    /// The answer repeats a notice of the same run (a provider that failed): the answer stays,
    /// because history has it.
    fn drop_same_notice(&mut self, conversation: &ConversationId, text: &str) {
        let Some(active) = self.runs.active.get_mut(conversation) else {
            return;
        };
        let Some(at) = active.notices.iter().position(|(_, known)| known == text) else {
            return;
        };
        let (remote, _) = active.notices.remove(at);
        self.say(Topic::Timeline(TimelineEvent::Deleted {
            conversation: conversation.clone(),
            remotes: vec![remote],
        }));
    }

    /// The conversation and message that a frame names.
    fn place_of(&mut self, frame: &MessageFrame, what: &str) -> Option<(ConversationId, RemoteId)> {
        if frame.conversation_id.is_empty() || frame.message_id.is_empty() {
            self.odd(format!("{what} without its ids"));
            return None;
        }
        Some((
            ConversationId::from(frame.conversation_id.as_str()),
            RemoteId::from(frame.message_id.as_str()),
        ))
    }
}
