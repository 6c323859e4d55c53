//! Rows of history as messages, and the attachments that belong to them (spec section
//! "Conversations"; readings P9, P17). Must not ask for anything.

use super::Pheby;
use super::frames::{ConversationHistory, HistoryMessage};
use crate::domain::{
    Attachment, Author, ConversationId, HistoryPage, IncomingMessage, Moment, PageToken, RemoteId,
};
use crate::protocol::decode::{instant, shown, sort};
use std::collections::BTreeSet;

impl Pheby {
    /// The messages of a reply, with the attachments that belong to them.
    pub(super) fn page(
        &self,
        now: Moment,
        conversation: &ConversationId,
        frame: &ConversationHistory,
        before: Option<PageToken>,
    ) -> HistoryPage {
        let mut seen = BTreeSet::new();
        let mut messages: Vec<IncomingMessage> = frame
            .messages
            .iter()
            .filter(|row| row.message_id.is_empty() || seen.insert(row.message_id.as_str()))
            .filter_map(history_row)
            .collect();
        self.place_attachments(now, &mut messages, frame);
        let older = frame
            .messages
            .iter()
            .find(|row| !row.message_id.is_empty())
            .filter(|_| frame.has_more)
            .map(|row| PageToken::from(row.message_id.as_str()));
        HistoryPage {
            conversation: conversation.clone(),
            messages,
            // A page that begins where it was asked to end would load for ever.
            older: older.filter(|older| before.as_ref() != Some(older)),
            before,
            is_authoritative: true,
        }
    }

    /// Attachments of history name draft ids, or ids of sends, which history does not have. Then
    /// the time tells the message: a file of the agent follows its text within moments, a file of
    /// the person comes with the words.
    fn place_attachments(
        &self,
        now: Moment,
        messages: &mut [IncomingMessage],
        frame: &ConversationHistory,
    ) {
        for wire in &frame.attachments {
            let Some(mut attachment) = super::attachments::attachment(now, wire) else {
                continue;
            };
            if let Some(index) = place(messages, &attachment, wire.created_at.as_deref()) {
                attachment.message = messages[index].remote.clone();
                messages[index].attachments.push(attachment);
            }
        }
    }

    /// The attachments of a snapshot: those on messages of its page, and those without any time.
    pub(super) fn snapshot_attachments(
        &self,
        now: Moment,
        page: &HistoryPage,
        wire: &[super::frames::Attachment],
    ) -> Vec<Attachment> {
        let mut placed: Vec<Attachment> = page
            .messages
            .iter()
            .flat_map(|message| message.attachments.iter().cloned())
            .collect();
        let first = page.messages.iter().find_map(|message| message.sent_at_ms);
        for wire in wire {
            let is_older = match (wire.created_at.as_deref().and_then(instant), first) {
                (Some(created), Some(first)) => created < first && page.older.is_some(),
                _ => false,
            };
            if let Some(attachment) = super::attachments::attachment(now, wire)
                && !is_older
                && !placed.iter().any(|known| known.id == attachment.id)
            {
                placed.push(attachment);
            }
        }
        placed
    }
}

/// Whether this text stands in the page as a message of the answer that is being given.
pub(super) fn is_in_answer(page: &HistoryPage, text: &str) -> bool {
    page.messages
        .iter()
        .rev()
        .take_while(|row| row.author != Author::User)
        .any(|row| row.text == text)
}

/// One row of history; none for rows without words.
fn history_row(row: &HistoryMessage) -> Option<IncomingMessage> {
    let author = match row.role.as_str() {
        "user" => Author::User,
        "assistant" => Author::Assistant,
        _ => Author::System,
    };
    let text = shown(&row.text);
    if text.is_empty() {
        return None;
    }
    Some(IncomingMessage {
        remote: Some(RemoteId::from(row.message_id.as_str())).filter(|id| !id.as_str().is_empty()),
        author,
        sort: sort(author, &text),
        text,
        sent_at_ms: row.ts.as_deref().and_then(instant),
        ..IncomingMessage::default()
    })
}

/// The row of a page that an attachment belongs to.
fn place(
    messages: &[IncomingMessage],
    attachment: &Attachment,
    created_at: Option<&str>,
) -> Option<usize> {
    if let Some(message) = &attachment.message
        && let Some(index) = messages
            .iter()
            .position(|row| row.remote.as_ref() == Some(message))
    {
        return Some(index);
    }
    let created = created_at.and_then(instant)?;
    let (author, slack_ms) = match attachment.direction {
        // Times are whole seconds, so the text may seem to be later than its file.
        crate::domain::Direction::In => (Author::Assistant, 2_000),
        crate::domain::Direction::Out => (Author::User, 5_000),
    };
    // The nearest one, and of several the last.
    let (index, row) = messages
        .iter()
        .enumerate()
        .rev()
        .filter(|(_, row)| row.author == author)
        .filter_map(|(index, row)| Some((index, row, row.sent_at_ms?)))
        .filter(|(_, _, at)| *at <= created + slack_ms)
        .min_by_key(|(_, _, at)| (created - at).abs())
        .map(|(index, row, _)| (index, row))?;
    // Without the first row's own file in sight the page may begin after the message.
    let at = row.sent_at_ms?;
    (index > 0 || created - at < 3_600_000).then_some(index)
}
