//! Outbox and drafts: what the person wrote and no server has yet. They outlive the conversation
//! they were written in, and a damaged database.

use super::look::{from_json, readable, to_json};
use super::rows::{AnswerRow, DraftRest, OutboxRest, OutgoingFileRow};
use crate::domain::{
    AccountId, Answer, CommandId, ConversationId, DecisionId, Delivery, DraftRecord, MessageKey,
    OutboxRecord, OutgoingFile, RemoteId,
};
use rusqlite::{Connection, OptionalExtension, params};
use serde::{Deserialize, Serialize};

/// All of it, as text: as it stands in the tables and in the sidecar.
#[derive(Serialize, Deserialize, Default)]
pub(super) struct Unsent {
    outbox: Vec<OutboxLine>,
    drafts: Vec<DraftLine>,
}

#[derive(Serialize, Deserialize)]
struct OutboxLine {
    key: i64,
    account: String,
    conversation: String,
    position: i64,
    rest: String,
}

#[derive(Serialize, Deserialize)]
struct DraftLine {
    account: String,
    conversation: String,
    rest: String,
}

impl Unsent {
    /// Messages and drafts in it.
    pub fn len(&self) -> usize {
        self.outbox.len() + self.drafts.len()
    }
}

/// Reads all of it.
pub(super) fn read(connection: &Connection) -> rusqlite::Result<Unsent> {
    let outbox = connection
        .prepare("SELECT key, account, conversation, position, rest FROM outbox ORDER BY position")?
        .query_map([], |row| {
            Ok(OutboxLine {
                key: row.get(0)?,
                account: row.get(1)?,
                conversation: row.get(2)?,
                position: row.get(3)?,
                rest: row.get(4)?,
            })
        })?
        .collect::<Result<_, _>>()?;
    let drafts = connection
        .prepare("SELECT account, conversation, rest FROM draft")?
        .query_map([], |row| {
            Ok(DraftLine {
                account: row.get(0)?,
                conversation: row.get(1)?,
                rest: row.get(2)?,
            })
        })?
        .collect::<Result<_, _>>()?;
    Ok(Unsent { outbox, drafts })
}

/// Puts all of it into a new database.
pub(super) fn restore(connection: &mut Connection, unsent: Unsent) -> rusqlite::Result<()> {
    let transaction = connection.transaction()?;
    for line in unsent.outbox {
        transaction.execute(
            "INSERT OR REPLACE INTO outbox (key, account, conversation, position, rest)
             VALUES (?1, ?2, ?3, ?4, ?5)",
            params![
                line.key,
                line.account,
                line.conversation,
                line.position,
                line.rest
            ],
        )?;
    }
    for line in unsent.drafts {
        transaction.execute(
            "INSERT OR REPLACE INTO draft (account, conversation, rest) VALUES (?1, ?2, ?3)",
            params![line.account, line.conversation, line.rest],
        )?;
    }
    transaction.commit()
}

/// Adds or replaces an outbox row.
pub(super) fn put_outbox(connection: &Connection, record: &OutboxRecord) -> rusqlite::Result<()> {
    let rest = OutboxRest {
        text: record.text.clone(),
        files: record.files.iter().map(OutgoingFileRow::from).collect(),
        reply_to: record.reply_to.as_ref().map(|id| id.as_str().to_owned()),
        auto_thread: record.auto_thread,
        delivery: (&record.delivery).into(),
        created_ms: record.created_ms,
        instance: record.instance,
    };
    connection
        .prepare_cached(
            "INSERT OR REPLACE INTO outbox (key, account, conversation, position, rest)
             VALUES (?1, ?2, ?3, ?4, ?5)",
        )?
        .execute(params![
            record.key.0.cast_signed(),
            record.account.as_str(),
            record.conversation.as_str(),
            record.position,
            to_json(&rest)?,
        ])?;
    Ok(())
}

/// Drops an outbox row; false when there was none.
pub(super) fn drop_outbox(connection: &Connection, key: MessageKey) -> rusqlite::Result<bool> {
    let dropped = connection
        .prepare_cached("DELETE FROM outbox WHERE key = ?1")?
        .execute([key.0.cast_signed()])?;
    Ok(dropped > 0)
}

/// All outbox rows in the order of the queue.
pub(super) fn outbox(connection: &Connection) -> rusqlite::Result<Vec<OutboxRecord>> {
    let mut found = Vec::new();
    let mut statement = connection.prepare_cached(
        "SELECT key, account, conversation, position, rest FROM outbox ORDER BY position, key",
    )?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let Some(rest) = readable(from_json::<OutboxRest>(row, 4))? else {
            continue;
        };
        found.push(OutboxRecord {
            key: MessageKey(row.get::<_, i64>(0)?.cast_unsigned()),
            account: AccountId::from(row.get::<_, String>(1)?),
            conversation: ConversationId::from(row.get::<_, String>(2)?),
            text: rest.text,
            files: rest.files.into_iter().map(OutgoingFile::from).collect(),
            reply_to: rest.reply_to.map(RemoteId::from),
            auto_thread: rest.auto_thread,
            delivery: Delivery::from(rest.delivery),
            created_ms: rest.created_ms,
            instance: rest.instance,
            position: row.get(3)?,
        });
    }
    Ok(found)
}

/// Replies that wait in the outbox follow the message they answer to its new id.
pub(super) fn rekey(
    connection: &Connection,
    account: &AccountId,
    conversation: &ConversationId,
    from: &RemoteId,
    to: &RemoteId,
) -> rusqlite::Result<()> {
    for table in ["outbox", "draft"] {
        connection
            .prepare_cached(&format!(
                "UPDATE {table} SET rest = json_set(rest, '$.reply_to', ?4)
                 WHERE account = ?1 AND conversation = ?2 AND rest ->> '$.reply_to' = ?3"
            ))?
            .execute(params![
                account.as_str(),
                conversation.as_str(),
                from.as_str(),
                to.as_str()
            ])?;
    }
    Ok(())
}

/// Keeps a draft.
pub(super) fn put_draft(
    connection: &Connection,
    account: &AccountId,
    conversation: &ConversationId,
    draft: &DraftRecord,
) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "INSERT OR REPLACE INTO draft (account, conversation, rest) VALUES (?1, ?2, ?3)",
        )?
        .execute(params![
            account.as_str(),
            conversation.as_str(),
            to_json(&DraftRest::from(draft))?,
        ])?;
    Ok(())
}

/// Drops a draft.
pub(super) fn drop_draft(
    connection: &Connection,
    account: &AccountId,
    conversation: &ConversationId,
) -> rusqlite::Result<()> {
    connection
        .prepare_cached("DELETE FROM draft WHERE account = ?1 AND conversation = ?2")?
        .execute(params![account.as_str(), conversation.as_str()])?;
    Ok(())
}

/// The draft of a conversation.
pub(super) fn draft(
    connection: &Connection,
    account: &AccountId,
    conversation: &ConversationId,
) -> rusqlite::Result<Option<DraftRecord>> {
    let draft = connection
        .prepare_cached("SELECT rest FROM draft WHERE account = ?1 AND conversation = ?2")?
        .query_row(params![account.as_str(), conversation.as_str()], |row| {
            readable(from_json::<DraftRest>(row, 0))
        })
        .optional()?;
    Ok(draft.flatten().map(DraftRecord::from))
}

/// Remembers an answer that is on its way.
pub(super) fn put_answering(
    connection: &Connection,
    account: &AccountId,
    decision: &DecisionId,
    conversation: &ConversationId,
    answer: &Answer,
    command: CommandId,
) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "INSERT OR REPLACE INTO answering (account, decision, conversation, command, answer)
             VALUES (?1, ?2, ?3, ?4, ?5)",
        )?
        .execute(params![
            account.as_str(),
            decision.as_str(),
            conversation.as_str(),
            command.0.cast_signed(),
            to_json(&AnswerRow::from(answer))?,
        ])?;
    Ok(())
}

/// Forgets it.
pub(super) fn drop_answering(
    connection: &Connection,
    account: &AccountId,
    decision: &DecisionId,
) -> rusqlite::Result<()> {
    connection
        .prepare_cached("DELETE FROM answering WHERE account = ?1 AND decision = ?2")?
        .execute(params![account.as_str(), decision.as_str()])?;
    Ok(())
}

/// All answers that are on their way.
pub(super) fn answering(
    connection: &Connection,
) -> rusqlite::Result<Vec<(AccountId, DecisionId, ConversationId, Answer)>> {
    let mut statement = connection
        .prepare_cached("SELECT account, decision, conversation, answer FROM answering")?;
    let mut rows = statement.query([])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        if let Some(answer) = readable(from_json::<AnswerRow>(row, 3))? {
            found.push((
                AccountId::from(row.get::<_, String>(0)?),
                DecisionId::from(row.get::<_, String>(1)?),
                ConversationId::from(row.get::<_, String>(2)?),
                Answer::from(answer),
            ));
        }
    }
    Ok(found)
}
