//! The small tables: facts of drivers, inputs of the composer, state of the screen.

use crate::domain::{AccountId, ConversationId};
use rusqlite::{Connection, params};

/// Inputs kept in all; the oldest go first.
const INPUTS: i64 = 10_000;

/// Keeps a fact; none removes it.
pub(super) fn put_fact(
    connection: &Connection,
    account: &AccountId,
    name: &str,
    value: Option<&str>,
) -> rusqlite::Result<()> {
    match value {
        Some(value) => connection
            .prepare_cached(
                "INSERT OR REPLACE INTO fact (account, name, value) VALUES (?1, ?2, ?3)",
            )?
            .execute([account.as_str(), name, value])?,
        None => connection
            .prepare_cached("DELETE FROM fact WHERE account = ?1 AND name = ?2")?
            .execute([account.as_str(), name])?,
    };
    Ok(())
}

/// All facts.
pub(super) fn facts(connection: &Connection) -> rusqlite::Result<Vec<(AccountId, String, String)>> {
    connection
        .prepare_cached("SELECT account, name, value FROM fact ORDER BY account, name")?
        .query_map([], |row| {
            Ok((
                AccountId::from(row.get::<_, String>(0)?),
                row.get(1)?,
                row.get(2)?,
            ))
        })?
        .collect()
}

/// Remembers an input. The same text of the same conversation is remembered once, at its last use.
pub(super) fn put_input(
    connection: &Connection,
    account: &AccountId,
    conversation: &ConversationId,
    text: &str,
    at_ms: i64,
) -> rusqlite::Result<()> {
    if text.trim().is_empty() {
        return Ok(());
    }
    connection
        .prepare_cached("DELETE FROM input WHERE account = ?1 AND conversation = ?2 AND text = ?3")?
        .execute([account.as_str(), conversation.as_str(), text])?;
    let newest = connection
        .prepare_cached(
            "INSERT INTO input (account, conversation, at_ms, text) VALUES (?1, ?2, ?3, ?4)",
        )?
        .insert(params![
            account.as_str(),
            conversation.as_str(),
            at_ms,
            text
        ])?;
    connection
        .prepare_cached("DELETE FROM input WHERE id <= ?1")?
        .execute([newest - INPUTS])?;
    Ok(())
}

/// Inputs that contain a text, newest first, each once.
pub(super) fn inputs(
    connection: &Connection,
    account: Option<&AccountId>,
    conversation: Option<&ConversationId>,
    containing: &str,
    limit: usize,
) -> rusqlite::Result<Vec<String>> {
    let needle = containing.to_lowercase();
    let mut statement = connection.prepare_cached(
        "SELECT text FROM input WHERE (?1 IS NULL OR account = ?1)
         AND (?2 IS NULL OR conversation = ?2) ORDER BY id DESC",
    )?;
    let mut rows = statement.query(params![
        account.map(AccountId::as_str),
        conversation.map(ConversationId::as_str)
    ])?;
    let mut known = std::collections::HashSet::new();
    let mut found = Vec::new();
    while found.len() < limit
        && let Some(row) = rows.next()?
    {
        let text: String = row.get(0)?;
        let fits = needle.is_empty() || text.to_lowercase().contains(&needle);
        if fits && known.insert(text.clone()) {
            found.push(text);
        }
    }
    Ok(found)
}

/// Keeps a piece of the screen's state.
pub(super) fn put_ui(connection: &Connection, name: &str, value: &str) -> rusqlite::Result<()> {
    connection
        .prepare_cached("INSERT OR REPLACE INTO ui (name, value) VALUES (?1, ?2)")?
        .execute([name, value])?;
    Ok(())
}

/// All of the screen's state.
pub(super) fn ui(connection: &Connection) -> rusqlite::Result<Vec<(String, String)>> {
    connection
        .prepare_cached("SELECT name, value FROM ui ORDER BY name")?
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect()
}
