//! Calls of tools that an earlier start of the program, or another program, wrote down: what it knew
//! and a later report leaves out stays.

use super::apply::Touched;
use super::history::{find, put, read_row};
use crate::domain::{Entry, EntryBody, ToolCallId, ToolStatus};
use rusqlite::{Connection, params};

/// The call that this row has already, with what a newer report says of it.
pub(super) fn whole(
    connection: &Connection,
    row: i64,
    newer: &EntryBody,
) -> rusqlite::Result<Option<Entry>> {
    let EntryBody::Tool(newer) = newer else {
        return Ok(None);
    };
    let stored = read_row(connection, row)?;
    Ok(stored.and_then(|mut stored| match &mut stored.body {
        EntryBody::Tool(whole) => {
            whole.merge((**newer).clone());
            Some(stored)
        }
        _ => None,
    }))
}

/// Renames a call. When it is here by both names, the row of the first one stays, with all that is
/// known of it.
pub(super) fn rekey(
    connection: &Connection,
    conversation: i64,
    from: &ToolCallId,
    to: &ToolCallId,
) -> rusqlite::Result<()> {
    let old = find(connection, conversation, "call = ?2", from.as_str())?;
    let new = find(connection, conversation, "call = ?2", to.as_str())?;
    let Some(old) = old.filter(|_| from != to) else {
        return Ok(());
    };
    if let Some(new) = new {
        let both = read_row(connection, old)?.zip(read_row(connection, new)?);
        connection
            .prepare_cached("DELETE FROM entry WHERE id = ?1")?
            .execute([new])?;
        if let Some((mut whole, newer)) = both {
            if let (EntryBody::Tool(whole), EntryBody::Tool(newer)) = (&mut whole.body, newer.body)
            {
                whole.merge(*newer);
            }
            put(connection, conversation, &whole, &mut Touched::default())?;
        }
    }
    connection
        .prepare_cached("UPDATE entry SET call = ?2 WHERE id = ?1")?
        .execute(params![old, to.as_str()])?;
    Ok(())
}

/// Ends a call that seems to run.
pub(super) fn lose(
    connection: &Connection,
    conversation: i64,
    call: &ToolCallId,
) -> rusqlite::Result<()> {
    let Some(id) = find(connection, conversation, "call = ?2", call.as_str())? else {
        return Ok(());
    };
    let Some(mut lost) = read_row(connection, id)? else {
        return Ok(());
    };
    match &mut lost.body {
        EntryBody::Tool(tool) if tool.status == ToolStatus::Running => {
            tool.status = ToolStatus::Cancelled;
        }
        _ => return Ok(()),
    }
    put(connection, conversation, &lost, &mut Touched::default())
}
