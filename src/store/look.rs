//! Lookups: routing, the facts of the first frame, and reading JSON columns.

use super::rows::conversation_kind_of;
use super::{StoreError, attachments, directory, history, search, small, unsent};
use crate::domain::{
    AccountId, Appearance, ConversationId, ConversationInfo, Found, LocalSettings, Lookup,
    PageToken, ReadMark, RemoteId, StartFacts, StoredConversation,
};
use crate::text::SafeText;
use rusqlite::types::Type;
use rusqlite::{Connection, Row};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Answers one lookup.
pub(super) fn look(connection: &Connection, lookup: Lookup) -> Result<Found, StoreError> {
    find(connection, lookup).map_err(|error| StoreError::from_look(&error))
}

fn find(connection: &Connection, lookup: Lookup) -> rusqlite::Result<Found> {
    Ok(match lookup {
        Lookup::Start => Found::Start(Box::new(start(connection)?)),
        Lookup::Window {
            account,
            conversation,
            around,
            before,
            after,
        } => {
            let window = match directory::row_of(connection, &account, &conversation)? {
                Some(row) => history::window(connection, row, &around, before, after)?,
                None => history::Window {
                    entries: Vec::new(),
                    has_older: false,
                    has_newer: false,
                },
            };
            Found::Window {
                account,
                conversation,
                around,
                entries: window.entries,
                has_older: window.has_older,
                has_newer: window.has_newer,
            }
        }
        Lookup::Search {
            query,
            account,
            conversation,
            limit,
            skip,
        } => {
            let scope = search::Scope {
                account: account.as_ref(),
                conversation: conversation.as_ref(),
            };
            let (hits, has_more) = search::search(connection, &query, &scope, limit, skip)?;
            Found::Search {
                query,
                hits,
                has_more,
            }
        }
        Lookup::Inputs {
            account,
            conversation,
            containing,
            limit,
        } => {
            let texts = small::inputs(
                connection,
                account.as_ref(),
                conversation.as_ref(),
                &containing,
                limit,
            )?;
            Found::Inputs { containing, texts }
        }
        Lookup::Attachments {
            account,
            conversation,
        } => {
            let attachments = attachments::of(connection, &account, &conversation)?;
            Found::Attachments {
                account,
                conversation,
                attachments,
            }
        }
    })
}

/// What the first frame needs.
pub(super) fn start(connection: &Connection) -> rusqlite::Result<StartFacts> {
    Ok(StartFacts {
        conversations: conversations(connection)?,
        outbox: unsent::outbox(connection)?,
        answering: unsent::answering(connection)?,
        facts: small::facts(connection)?,
        ui: small::ui(connection)?,
    })
}

fn conversations(connection: &Connection) -> rusqlite::Result<Vec<StoredConversation>> {
    let mut statement = connection.prepare_cached(
        "SELECT id, account, ident, kind, parent, name, name_is_derived, is_favorite,
                is_automation, is_archived, server_activity_ms, color, icon, is_muted, is_pinned,
                read_order, read_remote, read_at_ms, older_token, activity_ms, is_left
         FROM conversation WHERE is_gone = 0 ORDER BY account, ident",
    )?;
    let mut rows = statement.query([])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let id: i64 = row.get(0)?;
        let account = AccountId::from(row.get::<_, String>(1)?);
        let conversation = ConversationId::from(row.get::<_, String>(2)?);
        let read = ReadMark {
            order: row.get(15)?,
            remote: row.get::<_, Option<String>>(16)?.map(RemoteId::from),
            at_ms: row.get(17)?,
        };
        let (oldest_order, newest_order) = history::bounds(connection, id)?;
        found.push(StoredConversation {
            info: info(row)?,
            settings: LocalSettings {
                is_muted: row.get(13)?,
                is_pinned: row.get(14)?,
                is_left: row.get(20)?,
            },
            unread: directory::unread(connection, id, read.order)?,
            read,
            oldest_order,
            newest_order,
            older_token: row.get::<_, Option<String>>(18)?.map(PageToken::from),
            draft: unsent::draft(connection, &account, &conversation)?,
            account,
            conversation,
        });
    }
    Ok(found)
}

fn info(row: &Row<'_>) -> rusqlite::Result<ConversationInfo> {
    let named: Option<i64> = row.get(10)?;
    let seen: Option<i64> = row.get(19)?;
    Ok(ConversationInfo {
        kind: conversation_kind_of(row.get(3)?),
        parent: row.get::<_, Option<String>>(4)?.map(ConversationId::from),
        name: SafeText::label(&row.get::<_, String>(5)?),
        name_is_derived: row.get(6)?,
        is_favorite: row.get(7)?,
        is_automation: row.get(8)?,
        is_archived: row.get(9)?,
        last_activity_ms: named.max(seen),
        appearance: Appearance {
            color: row.get::<_, Option<u32>>(11)?.map(|color| {
                let [_, red, green, blue] = color.to_be_bytes();
                (red, green, blue)
            }),
            icon: row.get::<_, Option<Vec<u8>>>(12)?.map(Into::into),
        },
    })
}

/// Reads a JSON column.
pub(super) fn from_json<T: DeserializeOwned>(row: &Row<'_>, column: usize) -> rusqlite::Result<T> {
    let text = row.get_ref(column)?.as_str().map_err(|error| {
        rusqlite::Error::FromSqlConversionFailure(column, Type::Text, Box::new(error))
    })?;
    serde_json::from_str(text).map_err(|error| {
        rusqlite::Error::FromSqlConversionFailure(column, Type::Text, Box::new(error))
    })
}

/// Skips a row that cannot be understood, with a line in the log, so that one bad row does not hide
/// all others.
pub(super) fn readable<T>(row: rusqlite::Result<T>) -> rusqlite::Result<Option<T>> {
    match row {
        Ok(row) => Ok(Some(row)),
        Err(error @ rusqlite::Error::FromSqlConversionFailure(..)) => {
            tracing::warn!(%error, "a row of the store cannot be read");
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Writes a JSON column.
pub(super) fn to_json(row: &impl Serialize) -> rusqlite::Result<String> {
    serde_json::to_string(row)
        .map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))
}
