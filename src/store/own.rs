//! Own messages that stand here already when the server tells them: several runs of the program
//! may write one message, the one that sends it under its own key and without an id, and another
//! one, open beside it, as the server's. Both are one row: the sender's, which keeps its place and
//! its mark of delivery and takes over the id.

use super::history::{self, COLUMNS, MESSAGE};
use super::look::readable;
use crate::domain::{Author, Delivery, Entry, EntryBody, Message, MessageKey, MessageSort};
use rusqlite::{Connection, OptionalExtension, params};

/// Times of server and client may differ by so much, and a message may be under way for as long.
const AROUND_MS: i64 = 10 * 60 * 1000;

/// The entry as it is to be written, when the message stands here as one of our own under another
/// key; with it that key.
pub(super) fn claim(
    connection: &Connection,
    conversation: i64,
    entry: &Entry,
) -> rusqlite::Result<Option<(MessageKey, Entry)>> {
    let Some(told) = entry.message().filter(|message| is_told(message)) else {
        return Ok(None);
    };
    let is_here = connection
        .prepare_cached("SELECT 1 FROM entry WHERE conversation = ?1 AND key = ?2")?
        .exists([conversation, entry.key.0.cast_signed()])?;
    if is_here {
        return Ok(None);
    }
    let known = match named(connection, conversation, told)? {
        Some(known) => Some(known),
        None => unnamed(connection, conversation, entry, told)?,
    };
    let own = known.as_ref().and_then(Entry::message);
    let Some(own) = own.filter(|own| own.delivery.is_some()) else {
        return Ok(None);
    };
    let mut message = told.clone();
    message.key = own.key;
    message.order = own.order;
    message.seen_at_ms = own.seen_at_ms;
    message.command = own.command;
    message.delivery = match own.delivery {
        Some(Delivery::Read) => Some(Delivery::Read),
        _ => Some(Delivery::Accepted),
    };
    if message.attachments.is_empty() {
        message.attachments.clone_from(&own.attachments);
    }
    let claimed = Entry {
        key: own.key,
        order: own.order,
        seen_at_ms: own.seen_at_ms,
        body: EntryBody::Message(Box::new(message)),
    };
    Ok(Some((own.key, claimed)))
}

/// Whether a message is the person's and was not sent from here, as far as its writer knows.
fn is_told(message: &Message) -> bool {
    message.author == Author::User
        && message.sort == MessageSort::Ordinary
        && message.delivery.is_none()
        && message.remote.is_some()
}

/// The row with the id of this message.
fn named(
    connection: &Connection,
    conversation: i64,
    told: &Message,
) -> rusqlite::Result<Option<Entry>> {
    let Some(remote) = &told.remote else {
        return Ok(None);
    };
    let found = connection
        .prepare_cached(&format!(
            "SELECT {COLUMNS} FROM entry WHERE conversation = ?1 AND remote = ?2"
        ))?
        .query_row(params![conversation, remote.as_str()], |row| {
            readable(history::entry(row))
        })
        .optional()?;
    Ok(found.flatten())
}

/// The oldest row without an id that holds this text, written before the server told it and not
/// long before it was sent.
fn unnamed(
    connection: &Connection,
    conversation: i64,
    entry: &Entry,
    told: &Message,
) -> rusqlite::Result<Option<Entry>> {
    let sent_at_ms = told.sent_at_ms.unwrap_or(entry.seen_at_ms);
    let mut statement = connection.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM entry
         WHERE conversation = ?1 AND kind = {MESSAGE} AND remote IS NULL AND author = 0
           AND coalesce(sent_at_ms, seen_at_ms) BETWEEN ?2 AND ?3 AND seen_at_ms <= ?4
         ORDER BY ord"
    ))?;
    let mut rows = statement.query([
        conversation,
        sent_at_ms.saturating_sub(AROUND_MS),
        sent_at_ms.saturating_add(AROUND_MS),
        entry.seen_at_ms,
    ])?;
    while let Some(row) = rows.next()? {
        let Some(found) = readable(history::entry(row))? else {
            continue;
        };
        let is_it = found.message().is_some_and(|own| {
            let may_have_arrived = matches!(
                own.delivery,
                Some(
                    Delivery::InFlight | Delivery::Uncertain | Delivery::Accepted | Delivery::Read
                )
            );
            may_have_arrived && own.body.raw().trim() == told.body.raw().trim()
        });
        if is_it {
            return Ok(Some(found));
        }
    }
    Ok(None)
}
