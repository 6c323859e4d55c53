//! Conversations: directory entries, settings, read marks, and what is unread.

use super::rows::conversation_kind_number;
use crate::domain::{
    AccountId, Committed, ConversationId, ConversationInfo, LocalSettings, PageToken, ReadMark,
    RemoteId, Unread,
};
use rusqlite::{Connection, OptionalExtension, params};

/// Counting unread messages stops here.
const UNREAD_LIMIT: i64 = 1000;

/// The row of a conversation.
pub(super) fn row_of(
    connection: &Connection,
    account: &AccountId,
    conversation: &ConversationId,
) -> rusqlite::Result<Option<i64>> {
    connection
        .prepare_cached("SELECT id FROM conversation WHERE account = ?1 AND ident = ?2")?
        .query_row([account.as_str(), conversation.as_str()], |row| row.get(0))
        .optional()
}

/// The row of a conversation, made when it is missing: an entry may come before its directory.
pub(super) fn row_for(
    connection: &Connection,
    account: &AccountId,
    conversation: &ConversationId,
) -> rusqlite::Result<i64> {
    if let Some(row) = row_of(connection, account, conversation)? {
        return Ok(row);
    }
    connection
        .prepare_cached("INSERT INTO conversation (account, ident) VALUES (?1, ?2)")?
        .insert([account.as_str(), conversation.as_str()])
}

/// Adds or changes a directory entry.
pub(super) fn put(
    connection: &Connection,
    account: &AccountId,
    conversation: &ConversationId,
    info: &ConversationInfo,
) -> rusqlite::Result<()> {
    let color = info
        .appearance
        .color
        .map(|(red, green, blue)| u32::from_be_bytes([0, red, green, blue]));
    connection
        .prepare_cached(
            "INSERT INTO conversation (account, ident, kind, parent, name, name_is_derived,
                is_favorite, is_automation, is_archived, server_activity_ms, color, icon)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)
             ON CONFLICT (account, ident) DO UPDATE SET
                kind = excluded.kind, parent = excluded.parent, name = excluded.name,
                name_is_derived = excluded.name_is_derived, is_favorite = excluded.is_favorite,
                is_automation = excluded.is_automation, is_archived = excluded.is_archived,
                server_activity_ms = coalesce(excluded.server_activity_ms, server_activity_ms),
                color = excluded.color, icon = excluded.icon, is_gone = 0",
        )?
        .execute(params![
            account.as_str(),
            conversation.as_str(),
            conversation_kind_number(info.kind),
            info.parent.as_ref().map(ConversationId::as_str),
            info.name.as_str(),
            info.name_is_derived,
            info.is_favorite,
            info.is_automation,
            info.is_archived,
            info.last_activity_ms,
            color,
            info.appearance.icon.as_deref(),
        ])?;
    Ok(())
}

/// Marks all conversations gone that are not in the list. Their entries stay: the server may name
/// them again, and what was said was said.
pub(super) fn keep_only(
    connection: &Connection,
    account: &AccountId,
    conversations: &[ConversationId],
) -> rusqlite::Result<()> {
    let listed: Vec<&str> = conversations.iter().map(ConversationId::as_str).collect();
    connection
        .prepare_cached(
            "UPDATE conversation SET is_gone = ident NOT IN (SELECT value FROM json_each(?2))
             WHERE account = ?1",
        )?
        .execute(params![account.as_str(), super::look::to_json(&listed)?])?;
    Ok(())
}

/// Removes a conversation with its entries, marks, tombstones and attachments.
pub(super) fn remove(
    connection: &Connection,
    account: &AccountId,
    conversation: &ConversationId,
) -> rusqlite::Result<()> {
    let values = [account.as_str(), conversation.as_str()];
    connection
        .prepare_cached("DELETE FROM attachment WHERE account = ?1 AND conversation = ?2")?
        .execute(values)?;
    connection
        .prepare_cached("DELETE FROM conversation WHERE account = ?1 AND ident = ?2")?
        .execute(values)?;
    Ok(())
}

/// Removes everything of an account.
pub(super) fn remove_account(connection: &Connection, account: &AccountId) -> rusqlite::Result<()> {
    for table in [
        "conversation",
        "outbox",
        "draft",
        "attachment",
        "answering",
        "fact",
        "input",
    ] {
        connection.execute(
            &format!("DELETE FROM {table} WHERE account = ?1"),
            [account.as_str()],
        )?;
    }
    Ok(())
}

/// Keeps what the person set for a conversation.
pub(super) fn put_settings(
    connection: &Connection,
    row: i64,
    settings: &LocalSettings,
) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "UPDATE conversation SET is_muted = ?2, is_pinned = ?3, is_left = ?4 WHERE id = ?1",
        )?
        .execute(params![
            row,
            settings.is_muted,
            settings.is_pinned,
            settings.is_left
        ])?;
    Ok(())
}

/// Keeps where older pages begin.
pub(super) fn put_older_token(
    connection: &Connection,
    row: i64,
    token: Option<&PageToken>,
) -> rusqlite::Result<()> {
    connection
        .prepare_cached("UPDATE conversation SET older_token = ?2 WHERE id = ?1")?
        .execute(params![row, token.map(PageToken::as_str)])?;
    Ok(())
}

/// Moves the read mark forward, never back: the message and the time each by itself, as a visit to a
/// conversation without messages here moves only the time.
pub(super) fn put_read(connection: &Connection, row: i64, mark: &ReadMark) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "UPDATE conversation SET
               read_remote = CASE WHEN read_order < ?2 THEN ?3 ELSE read_remote END,
               read_order = max(read_order, ?2),
               read_at_ms = max(read_at_ms, ?4)
             WHERE id = ?1 AND (read_order < ?2 OR read_at_ms < ?4)",
        )?
        .execute(params![
            row,
            mark.order,
            mark.remote.as_ref().map(RemoteId::as_str),
            mark.at_ms
        ])?;
    Ok(())
}

/// Moves the time of the last message forward.
pub(super) fn put_activity(connection: &Connection, row: i64, at_ms: i64) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "UPDATE conversation SET activity_ms = max(coalesce(activity_ms, ?2), ?2)
             WHERE id = ?1",
        )?
        .execute([row, at_ms])?;
    Ok(())
}

/// How much is unread above an order.
pub(super) fn unread(
    connection: &Connection,
    row: i64,
    read_order: i64,
) -> rusqlite::Result<Unread> {
    let count: u32 = connection
        .prepare_cached(
            "SELECT count(*) FROM (SELECT 1 FROM entry
             WHERE conversation = ?1 AND counts = 1 AND ord > ?2 LIMIT ?3)",
        )?
        .query_row([row, read_order, UNREAD_LIMIT], |row| row.get(0))?;
    Ok(match count {
        0 => Unread::None,
        count => Unread::Count(count),
    })
}

/// What a batch changed in a conversation, after it.
pub(super) fn committed(
    connection: &Connection,
    account: AccountId,
    conversation: ConversationId,
    new_messages: Vec<RemoteId>,
) -> rusqlite::Result<Committed> {
    let found: Option<(i64, i64, i64)> = connection
        .prepare_cached(
            "SELECT id, read_order,
                    max(coalesce(server_activity_ms, 0), coalesce(activity_ms, 0))
             FROM conversation WHERE account = ?1 AND ident = ?2",
        )?
        .query_row([account.as_str(), conversation.as_str()], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?))
        })
        .optional()?;
    Ok(match found {
        Some((row, read_order, last_activity_ms)) => Committed {
            unread: unread(connection, row, read_order)?,
            newest_order: super::history::bounds(connection, row)?.1,
            account,
            conversation,
            new_messages,
            last_activity_ms,
        },
        None => Committed {
            account,
            conversation,
            new_messages: Vec::new(),
            unread: Unread::None,
            newest_order: 0,
            last_activity_ms: 0,
        },
    })
}
