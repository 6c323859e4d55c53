//! Pages of history, and messages that go for good (readings I29 to I32). Must not know how a
//! message comes in live.

use super::frames::{History, Request};
use super::messages::{incoming, is_recent, said};
use super::missed::Missed;
use super::{Asked, Iris};
use crate::domain::{
    AccountEvent, Author, CommandId, ConversationId, HistoryPage, IncomingMessage, Moment,
    PageToken, Provenance, RemoteId, TimelineEvent, Topic,
};

/// Messages of one page; the gateway hands out up to 200.
const PAGE: u32 = 100;

impl Iris {
    pub(super) fn delete_messages(
        &mut self,
        now: Moment,
        command: CommandId,
        conversation: ConversationId,
        remotes: &[RemoteId],
    ) {
        let ids: Vec<&str> = remotes.iter().map(RemoteId::as_str).collect();
        let address = self.lanes.address(&conversation);
        let request = Request::MessageDelete { message_ids: &ids };
        let asked = Asked::DeleteMessages {
            command,
            conversation,
        };
        self.ask(now, "message.delete", &address, request, asked);
    }

    pub(super) fn on_messages_deleted(
        &mut self,
        id: Option<u64>,
        lane: ConversationId,
        ids: &[String],
    ) {
        let asked = self.take(id);
        let conversation = match &asked {
            Some(Asked::DeleteMessages { conversation, .. }) => conversation.clone(),
            _ => lane,
        };
        let remotes: Vec<RemoteId> = ids
            .iter()
            .filter(|id| !id.is_empty())
            .map(|id| RemoteId::from(id.as_str()))
            .collect();
        if !remotes.is_empty() {
            let of = self.lanes.lane(&conversation);
            for said in [&mut of.spoken, &mut of.proof] {
                said.take_if(|said| remotes.contains(said));
            }
            self.say(Topic::Timeline(TimelineEvent::Deleted {
                conversation,
                remotes,
            }));
        }
        for command in asked.iter().flat_map(Asked::commands) {
            self.done(command);
        }
    }

    pub(super) fn open(&mut self, now: Moment, command: CommandId, conversation: ConversationId) {
        let same = |asked: &Asked| {
            matches!(asked, Asked::History { conversation: of, before: None, .. }
                if *of == conversation)
        };
        if let Some(Asked::History { commands, .. }) = self.pending.find_mut(same) {
            return commands.push(command);
        }
        self.load_history(now, conversation, None, vec![command]);
    }

    pub(super) fn load_history(
        &mut self,
        now: Moment,
        conversation: ConversationId,
        before: Option<PageToken>,
        commands: Vec<CommandId>,
    ) {
        let address = self.lanes.address(&conversation);
        let request = Request::History {
            before_message_id: before.as_ref().map(PageToken::as_str),
            limit: PAGE,
        };
        let asked = Asked::History {
            conversation,
            before: before.clone(),
            commands,
        };
        self.ask(now, "history", &address, request, asked);
    }

    pub(super) fn on_history(
        &mut self,
        now: Moment,
        id: Option<u64>,
        lane: ConversationId,
        mut history: History,
    ) {
        if is_newest_first(&history) {
            history.messages.reverse();
        }
        let asked = match id {
            Some(_) => self.take(id),
            None => self.pending.take_first(|asked| {
                matches!(asked, Asked::History { conversation, .. } if *conversation == lane)
            }),
        };
        let Some(Asked::History {
            conversation,
            before,
            commands,
        }) = asked
        else {
            return;
        };
        let oldest = history.oldest_message_id.clone().or_else(|| {
            let first = history
                .messages
                .iter()
                .find(|row| !row.message_id.is_empty());
            first.map(|row| row.message_id.clone())
        });
        let messages: Vec<IncomingMessage> = history
            .messages
            .iter()
            .filter(|row| !row.message_id.is_empty())
            .map(incoming)
            .filter(|row| !row.text.is_empty() || !row.attachments.is_empty())
            .collect();
        // History has whole messages only: the end of one that is open here was lost, and one that
        // was given up came to its end.
        let mut has_ended = false;
        let had_turn = self.lanes.lane(&conversation).turn.is_some();
        for remote in messages.iter().filter_map(|row| row.remote.as_ref()) {
            self.resume_message(&conversation, remote);
            let of = self.lanes.lane(&conversation);
            if of.open.contains(remote) {
                of.end(remote);
                has_ended = true;
                if let Some(turn) = &mut of.turn {
                    turn.has_answer = true;
                }
            }
        }
        if before.is_none() {
            self.guess_turns(now, &conversation, &messages);
            let proof = self.lanes.lane(&conversation).proof.take();
            let is_known = |proof: &RemoteId| {
                history.has_more
                    || messages
                        .iter()
                        .any(|row| row.remote.as_ref() == Some(proof))
            };
            if proof.is_some_and(|proof| !is_known(&proof)) {
                self.forget_decisions(&conversation);
            }
        }
        let of = self.lanes.lane(&conversation);
        if before.is_none() && of.anchor.is_none() {
            of.anchor = messages.last().and_then(|row| row.remote.clone());
        }
        let older = oldest
            .filter(|_| history.has_more)
            .map(PageToken::from)
            .filter(|older| before.as_ref() != Some(older));
        // Deletions are said by frames of their own, and a page may leave out system rows.
        self.tell(AccountEvent {
            provenance: Provenance::History,
            topic: Topic::Timeline(TimelineEvent::Page(Box::new(HistoryPage {
                conversation: conversation.clone(),
                messages,
                before,
                older,
                is_authoritative: false,
            }))),
        });
        for command in commands {
            self.done(command);
        }
        if has_ended {
            // Nothing but that message was known of a turn that had been given up.
            self.lanes.lane(&conversation).is_off |= !had_turn;
            self.check_turn(now, &conversation);
        }
    }

    /// Messages of the newest page that have no answer yet: a turn may be going on for them, and
    /// more may come before the one of ours. What came in over this link is known without it.
    fn guess_turns(
        &mut self,
        now: Moment,
        conversation: &ConversationId,
        messages: &[IncomingMessage],
    ) {
        let mut page = Missed::default();
        for row in messages {
            let is_ours = row
                .remote
                .as_ref()
                .is_some_and(|remote| self.lanes.sent(remote).is_some());
            match row.author {
                Author::User if !is_ours && is_recent(now, row.sent_at_ms) => {
                    page.ask(&row.text, row.sent_at_ms);
                }
                Author::Assistant => page.answer_at_once(said(row.sent_at_ms, &row.footer)),
                _ => {}
            }
        }
        let was_quiet = self.was_quiet(now);
        let of = self.lanes.lane(conversation);
        let is_ours = of.turn.as_ref().is_some_and(|turn| turn.command.is_some());
        if !of.is_known && !of.has_others && !is_ours && (of.turn.is_some() || !was_quiet) {
            of.missed.learn(page, of.turn.is_some());
        }
    }
}

/// Whether a page is the wrong way round: the specification says which message is the oldest, and
/// not where it stands.
fn is_newest_first(history: &History) -> bool {
    let rows = &history.messages;
    let (Some(first), Some(last)) = (rows.first(), rows.last()) else {
        return false;
    };
    match &history.oldest_message_id {
        Some(oldest) if *oldest == first.message_id => false,
        Some(oldest) if *oldest == last.message_id => true,
        _ => first
            .ts
            .zip(last.ts)
            .is_some_and(|(first, last)| first > last),
    }
}
