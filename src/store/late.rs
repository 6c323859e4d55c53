//! Where that stands which was missed, where the program does not see it: the window of its
//! conversation is not in memory, or does not reach far enough.

use super::history::{MESSAGE, TOOL, find};
use crate::domain::{Entry, EntryBody, ORDER_STEP, RemoteId};
use rusqlite::{Connection, OptionalExtension, params};

/// How far back a missed message looks for its place.
const LATE: usize = 200;
/// So much of the room before what came later is left for what is still missed.
const MORE: i64 = 1024;
/// So many taken orders are passed by.
const TAKEN: usize = 4096;

/// Gives a missed entry its order, if there is a better one than its own. One that is here already
/// keeps what it has.
pub(super) fn place(
    connection: &Connection,
    conversation: i64,
    entry: &mut Entry,
    after: &[RemoteId],
) -> rusqlite::Result<()> {
    let mut place_behind = None;
    for message in after {
        place_behind = place_behind.max(behind(connection, conversation, message)?);
    }
    let own = entry.order;
    let place = match &entry.body {
        EntryBody::Message(message) => {
            let (Some(sent_ms), Some(remote)) = (message.sent_at_ms, &message.remote) else {
                return Ok(());
            };
            if find(connection, conversation, "remote = ?2", remote.as_str())?.is_some() {
                return Ok(());
            }
            let floor = place_behind.map(|(floor, _)| floor);
            let later = before_later(connection, conversation, sent_ms, floor)?;
            match place_behind {
                Some((floor, next)) if own <= floor => Some((floor, next.unwrap_or(i64::MAX))),
                _ => later.filter(|(_, next)| *next <= own),
            }
        }
        EntryBody::Tool(call) => {
            if find(connection, conversation, "call = ?2", call.id.as_str())?.is_some() {
                return Ok(());
            }
            place_behind.and_then(|(floor, next)| Some((floor, next.filter(|next| *next <= own)?)))
        }
        _ => None,
    };
    let (first, end) = match place {
        Some((before, next)) => {
            let room = next.saturating_sub(before).min(ORDER_STEP);
            (before + (room / MORE).max(1), next)
        }
        None => (own, i64::MAX),
    };
    let mut order = first;
    let mut is_taken =
        connection.prepare_cached("SELECT 1 FROM entry WHERE conversation = ?1 AND ord = ?2")?;
    for _ in 0..TAKEN {
        if order >= end || !is_taken.exists([conversation, order])? {
            break;
        }
        order += 1;
    }
    if order < end {
        entry.order = order;
        if let Some(message) = entry.message_mut() {
            message.order = order;
        }
    }
    Ok(())
}

/// The order of a message, or of the last of the calls that follow it, and that of what stands behind
/// them; none when the message is not here.
fn behind(
    connection: &Connection,
    conversation: i64,
    message: &RemoteId,
) -> rusqlite::Result<Option<(i64, Option<i64>)>> {
    let found: Option<i64> = connection
        .prepare_cached("SELECT ord FROM entry WHERE conversation = ?1 AND remote = ?2")?
        .query_row(params![conversation, message.as_str()], |row| row.get(0))
        .optional()?;
    let Some(mut floor) = found else {
        return Ok(None);
    };
    let mut statement = connection.prepare_cached(&format!(
        "SELECT ord, kind FROM entry WHERE conversation = ?1 AND ord > ?2
         ORDER BY ord LIMIT {LATE}"
    ))?;
    let mut rows = statement.query([conversation, floor])?;
    while let Some(row) = rows.next()? {
        if row.get::<_, i64>(1)? != TOOL {
            return Ok(Some((floor, Some(row.get(0)?))));
        }
        floor = row.get(0)?;
    }
    Ok(Some((floor, None)))
}

/// The orders around the place before those at the end that were sent later.
fn before_later(
    connection: &Connection,
    conversation: i64,
    sent_ms: i64,
    after: Option<i64>,
) -> rusqlite::Result<Option<(i64, i64)>> {
    let mut next = None;
    let mut statement = connection.prepare_cached(&format!(
        "SELECT ord, sent_at_ms FROM entry
         WHERE conversation = ?1 AND kind = {MESSAGE} AND sent_at_ms IS NOT NULL
           AND remote IS NOT NULL AND ord > ?2
         ORDER BY ord DESC LIMIT {LATE}"
    ))?;
    let mut rows = statement.query([conversation, after.unwrap_or(i64::MIN)])?;
    while let Some(row) = rows.next()? {
        if row.get::<_, i64>(1)? <= sent_ms {
            break;
        }
        next = Some(row.get::<_, i64>(0)?);
    }
    let Some(next) = next else {
        return Ok(None);
    };
    let before: Option<i64> = connection
        .prepare_cached("SELECT max(ord) FROM entry WHERE conversation = ?1 AND ord < ?2")?
        .query_row([conversation, next], |row| row.get(0))?;
    Ok(Some((before.unwrap_or(next - ORDER_STEP), next)))
}
