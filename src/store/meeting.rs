//! What two programs on one profile write of one thing that both saw live. Each gave it a key of its
//! own, so it is met again by what both know: a message by the id it came in with, also after history
//! gave it another one; the end of a run by the run, or, where each named the run itself, by how and
//! when it ended. Own messages are in `own`.

use super::history::{MESSAGE, RUN_ENDED};
use crate::domain::{EntryBody, Message, MessageKey, RemoteId};
use rusqlite::{Connection, OptionalExtension, params};

/// So many renamed messages of a conversation are remembered.
const REMEMBERED: i64 = 128;
/// Two programs see the end of one run at most so far apart.
const APART_MS: i64 = 10 * 1000;
/// Keys of one program have these bits in common.
const PROGRAM: u64 = !0 << 32;

/// Under what the end of a run stands in the column of call ids.
pub(super) fn name_of_end(run: &str) -> String {
    format!("end of {run}")
}

/// Notes that history has a message under another id than the one it came in with.
pub(super) fn remember(
    connection: &Connection,
    conversation: i64,
    from: &RemoteId,
    to: &RemoteId,
) -> rusqlite::Result<()> {
    let values = params![conversation, from.as_str(), to.as_str()];
    connection
        .prepare_cached("DELETE FROM renamed WHERE conversation = ?1 AND was IN (?2, ?3)")?
        .execute(values)?;
    connection
        .prepare_cached("UPDATE renamed SET remote = ?3 WHERE conversation = ?1 AND remote = ?2")?
        .execute(values)?;
    connection
        .prepare_cached("INSERT INTO renamed (conversation, was, remote) VALUES (?1, ?2, ?3)")?
        .execute(values)?;
    connection
        .prepare_cached(
            "DELETE FROM renamed WHERE conversation = ?1 AND id <= (
               SELECT id FROM renamed WHERE conversation = ?1 ORDER BY id DESC LIMIT 1 OFFSET ?2)",
        )?
        .execute([conversation, REMEMBERED])?;
    Ok(())
}

/// The row of a message that comes under the id it was seen with live, and stands here under the one
/// that history gave it: the row it was written into before, or one of another program.
pub(super) fn renamed(
    connection: &Connection,
    conversation: i64,
    message: &Message,
) -> rusqlite::Result<Option<(i64, RemoteId)>> {
    let Some(was) = message
        .remote
        .as_ref()
        .filter(|_| message.is_seen_live_only)
    else {
        return Ok(None);
    };
    let found: Option<(i64, i64, String, Option<String>)> = connection
        .prepare_cached(
            "SELECT entry.id, entry.key, entry.remote, entry.text FROM renamed JOIN entry
               ON entry.conversation = renamed.conversation AND entry.remote = renamed.remote
             WHERE renamed.conversation = ?1 AND renamed.was = ?2",
        )?
        .query_row(params![conversation, was.as_str()], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
        })
        .optional()?;
    let mine = message.body.raw().trim();
    Ok(found
        .filter(|(_, key, _, text)| {
            let key = MessageKey(key.cast_unsigned());
            let is_of_other = key.0 & PROGRAM != message.key.0 & PROGRAM;
            // A server may give an id again; then the text is another one.
            let theirs = text.as_deref().unwrap_or_default().trim();
            let agrees = theirs.starts_with(mine) || mine.starts_with(theirs);
            key == message.key || (is_of_other && agrees)
        })
        .map(|(id, _, remote, _)| (id, RemoteId::new(remote))))
}

/// The row with the end of the same run under the name that another program gave the run: it ended
/// the same way at the same time, and nothing was said since.
pub(super) fn same_end(
    connection: &Connection,
    conversation: i64,
    entry: &crate::domain::Entry,
    rest: &str,
) -> rusqlite::Result<Option<i64>> {
    if !matches!(entry.body, EntryBody::RunEnded { .. }) {
        return Ok(None);
    }
    connection
        .prepare_cached(&format!(
            "SELECT id FROM entry AS known
             WHERE conversation = ?1 AND kind = {RUN_ENDED} AND ord >= (
                 SELECT coalesce(max(ord), 0) FROM entry
                 WHERE conversation = ?1 AND kind = {MESSAGE})
               AND abs(seen_at_ms - ?2) <= {APART_MS}
               AND key & ?3 <> ?4
               AND json_extract(rest, '$.outcome') = json_extract(?5, '$.outcome')
             LIMIT 1"
        ))?
        .query_row(
            params![
                conversation,
                entry.seen_at_ms,
                PROGRAM.cast_signed(),
                (entry.key.0 & PROGRAM).cast_signed(),
                rest
            ],
            |row| row.get(0),
        )
        .optional()
}
