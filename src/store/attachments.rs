//! Attachments of conversations: where their bytes come from and where they lie.

use super::look::{from_json, to_json};
use super::rows::AttachmentRest;
use crate::domain::{AccountId, Attachment, AttachmentId, ConversationId, RemoteId};
use rusqlite::{Connection, params};

/// The newest ones of a conversation that a lookup brings; the screen shows few at once.
const LIMIT: i64 = 5000;

/// Adds or replaces one.
pub(super) fn put(
    connection: &Connection,
    account: &AccountId,
    conversation: &ConversationId,
    attachment: &Attachment,
) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO attachment (account, ident, conversation, message, rest)
             VALUES (?1, ?2, ?3, ?4, ?5)
             ON CONFLICT (account, ident) DO UPDATE SET conversation = excluded.conversation,
                message = excluded.message, rest = excluded.rest",
        )?
        .execute(params![
            account.as_str(),
            attachment.id.as_str(),
            conversation.as_str(),
            attachment.message.as_ref().map(RemoteId::as_str),
            to_json(&AttachmentRest::from(attachment))?,
        ])?;
    Ok(())
}

/// Drops one.
pub(super) fn drop(
    connection: &Connection,
    account: &AccountId,
    attachment: &AttachmentId,
) -> rusqlite::Result<()> {
    connection
        .prepare_cached("DELETE FROM attachment WHERE account = ?1 AND ident = ?2")?
        .execute([account.as_str(), attachment.as_str()])?;
    Ok(())
}

/// Drops those of deleted messages.
pub(super) fn drop_of_messages(
    connection: &Connection,
    account: &AccountId,
    conversation: &ConversationId,
    remotes: &[RemoteId],
) -> rusqlite::Result<()> {
    let mut statement = connection.prepare_cached(
        "DELETE FROM attachment WHERE account = ?1 AND conversation = ?2 AND message = ?3",
    )?;
    for remote in remotes {
        statement.execute([account.as_str(), conversation.as_str(), remote.as_str()])?;
    }
    Ok(())
}

/// Drops all of a conversation.
pub(super) fn drop_of_conversation(
    connection: &Connection,
    account: &AccountId,
    conversation: &ConversationId,
) -> rusqlite::Result<()> {
    connection
        .prepare_cached("DELETE FROM attachment WHERE account = ?1 AND conversation = ?2")?
        .execute([account.as_str(), conversation.as_str()])?;
    Ok(())
}

/// They follow their message to its new id.
pub(super) fn rekey(
    connection: &Connection,
    account: &AccountId,
    conversation: &ConversationId,
    from: &RemoteId,
    to: &RemoteId,
) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "UPDATE attachment SET message = ?4
             WHERE account = ?1 AND conversation = ?2 AND message = ?3",
        )?
        .execute([
            account.as_str(),
            conversation.as_str(),
            from.as_str(),
            to.as_str(),
        ])?;
    Ok(())
}

/// The newest ones of a conversation, in the order they came.
pub(super) fn of(
    connection: &Connection,
    account: &AccountId,
    conversation: &ConversationId,
) -> rusqlite::Result<Vec<Attachment>> {
    let mut statement = connection.prepare_cached(
        "SELECT ident, message, rest FROM attachment
         WHERE account = ?1 AND conversation = ?2 ORDER BY rowid DESC LIMIT ?3",
    )?;
    let mut rows = statement.query(params![account.as_str(), conversation.as_str(), LIMIT])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let id = AttachmentId::from(row.get::<_, String>(0)?);
        let message = row.get::<_, Option<String>>(1)?.map(RemoteId::from);
        match from_json::<AttachmentRest>(row, 2) {
            Ok(rest) => found.push(rest.into_attachment(id, message)),
            Err(error) => tracing::warn!(%error, "an attachment in the store cannot be read"),
        }
    }
    found.reverse();
    Ok(found)
}
