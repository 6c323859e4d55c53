//! Where messages stand that were missed, of conversations that are not in memory.

use super::history::{MESSAGE, find};
use crate::domain::{Entry, ORDER_STEP};
use rusqlite::Connection;

/// How far back a missed message looks for its place.
const LATE: usize = 200;

/// Gives a missed message an order before what stands at the end and was sent later, if that is so
/// and there is room. One that is here already keeps its own.
pub(super) fn place(
    connection: &Connection,
    conversation: i64,
    entry: &mut Entry,
) -> rusqlite::Result<()> {
    let Some((sent_ms, remote)) = entry
        .message()
        .and_then(|message| Some((message.sent_at_ms?, message.remote.clone()?)))
    else {
        return Ok(());
    };
    if find(connection, conversation, "remote = ?2", remote.as_str())?.is_some() {
        return Ok(());
    }
    let mut after = None;
    let mut statement = connection.prepare_cached(&format!(
        "SELECT ord, sent_at_ms FROM entry
         WHERE conversation = ?1 AND kind = {MESSAGE} AND sent_at_ms IS NOT NULL
         ORDER BY ord DESC LIMIT {LATE}"
    ))?;
    let mut rows = statement.query([conversation])?;
    while let Some(row) = rows.next()? {
        if row.get::<_, i64>(1)? <= sent_ms {
            break;
        }
        after = Some(row.get::<_, i64>(0)?);
    }
    let Some(after) = after.filter(|after| *after < entry.order) else {
        return Ok(());
    };
    let before: Option<i64> = connection
        .prepare_cached("SELECT max(ord) FROM entry WHERE conversation = ?1 AND ord < ?2")?
        .query_row([conversation, after], |row| row.get(0))?;
    let before = before.unwrap_or(after - ORDER_STEP);
    let order = before + (after - before) / 2;
    if order > before && order < after {
        entry.order = order;
        if let Some(message) = entry.message_mut() {
            message.order = order;
        }
    }
    Ok(())
}
