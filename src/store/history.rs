//! Entries of conversations: adding, replacing, deleting, and windows on them by order.
//!
//! Which row an incoming entry replaces: the one with its key; else, for a message, the one with
//! its remote id; else, for a tool, the one with its call id, with which it is merged (`calls`), and
//! for the end of a run, the one of the run. The row keeps key and order. What two programs wrote of one thing meets in `meeting`. When
//! key and id lead to two rows, the one with the key stays and the other goes: an echo came in
//! before the program knew that it was one. Own messages that another run of the program wrote are
//! found in `own`. A message never loses its id again.

use super::apply::Touched;
use super::calls;
use super::look::{from_json, readable, to_json};
use super::meeting;
use super::rows::{
    self, DeletedRest, DeliveryRow, FooterRow, GapRest, MessageRest, RunEndedRest, ToolRest,
    author_number, author_of, sort_number, sort_of,
};
use crate::domain::{
    AttachmentId, Author, Body, Delivery, Entry, EntryBody, Footer, Message, MessageKey,
    MessageSort, PageToken, Place, RemoteId, RunId, ToolCallId,
};
use rusqlite::{Connection, OptionalExtension, Row, params};
use std::borrow::Cow;

pub(super) const MESSAGE: i64 = 0;
pub(super) const TOOL: i64 = 1;
pub(super) const RUN_ENDED: i64 = 2;
const GAP: i64 = 3;
const DELETED: i64 = 4;

/// Times are held within this; it is beyond the year 2100, and leaves room for the next free row id.
const MAX_TIME_MS: i64 = (1 << 42) - 1;

pub(super) const COLUMNS: &str =
    "key, ord, kind, seen_at_ms, sent_at_ms, remote, call, author, text, reply_to, rest";

/// A row as it is written.
struct EntryRow<'a> {
    kind: i64,
    sent_at_ms: Option<i64>,
    remote: Option<&'a str>,
    call: Option<Cow<'a, str>>,
    author: u8,
    counts: bool,
    is_searchable: bool,
    text: Option<&'a str>,
    reply_to: Option<&'a str>,
    rest: String,
}

impl<'a> EntryRow<'a> {
    /// The value of `is_indexed`: the texts wait for the end of the transaction.
    fn indexing(&self) -> i64 {
        if self.is_searchable { 2 } else { 0 }
    }

    fn new(body: &'a EntryBody) -> rusqlite::Result<Self> {
        let empty = Self {
            kind: GAP,
            sent_at_ms: None,
            remote: None,
            call: None,
            author: 0,
            counts: false,
            is_searchable: false,
            text: None,
            reply_to: None,
            rest: String::new(),
        };
        Ok(match body {
            EntryBody::Message(message) => Self {
                kind: MESSAGE,
                sent_at_ms: message.sent_at_ms,
                remote: message.remote.as_ref().map(RemoteId::as_str),
                author: author_number(message.author),
                counts: counts(message),
                // A text that still grows would be indexed anew every second.
                is_searchable: !message.is_streaming && !message.body.is_empty(),
                text: Some(message.body.raw()),
                reply_to: message.reply_to.as_ref().map(RemoteId::as_str),
                rest: to_json(&message_rest(message))?,
                ..empty
            },
            EntryBody::Tool(tool) => Self {
                kind: TOOL,
                call: Some(tool.id.as_str().into()),
                rest: to_json(&ToolRest::from(tool.as_ref()))?,
                ..empty
            },
            EntryBody::RunEnded { run, outcome } => Self {
                kind: RUN_ENDED,
                call: Some(meeting::name_of_end(run.as_str()).into()),
                rest: to_json(&RunEndedRest::new(run, outcome))?,
                ..empty
            },
            EntryBody::Gap { token } => Self {
                kind: GAP,
                rest: to_json(&GapRest {
                    token: token.as_str().to_owned(),
                })?,
                ..empty
            },
            EntryBody::Deleted { count } => Self {
                kind: DELETED,
                rest: to_json(&DeletedRest { count: *count })?,
                ..empty
            },
        })
    }
}

/// Puts the texts written since the last call into the full-text tables. Called once at the end of
/// a transaction.
pub(super) fn index(connection: &Connection) -> rusqlite::Result<()> {
    let is_any = connection
        .prepare_cached("SELECT 1 FROM entry WHERE is_indexed = 2")?
        .exists([])?;
    if is_any {
        for table in ["entry_words", "entry_grams"] {
            connection
                .prepare_cached(&format!(
                    "INSERT INTO {table} (rowid, text)
                     SELECT id, text FROM entry WHERE is_indexed = 2"
                ))?
                .execute([])?;
        }
        connection
            .prepare_cached("UPDATE entry SET is_indexed = 1 WHERE is_indexed = 2")?
            .execute([])?;
    }
    Ok(())
}

/// Whether a message of this kind is one that the person has to read: not an own one, not a beat
/// between two steps, not an aside.
fn counts(message: &Message) -> bool {
    message.author != Author::User
        && matches!(message.sort, MessageSort::Ordinary | MessageSort::Notice)
}

/// Adds or replaces one entry.
pub(super) fn put(
    connection: &Connection,
    conversation: i64,
    entry: &Entry,
    touched: &mut Touched,
) -> rusqlite::Result<()> {
    let mut row = EntryRow::new(&entry.body)?;
    if let Some(remote) = row.remote
        && is_deleted(connection, conversation, remote)?
    {
        return Ok(());
    }
    let by_key = find(
        connection,
        conversation,
        "key = ?2",
        entry.key.0.cast_signed(),
    )?;
    let by_id = match (row.remote, row.call.as_deref()) {
        (Some(remote), _) => find(connection, conversation, "remote = ?2", remote)?,
        (None, Some(call)) => match find(connection, conversation, "call = ?2", call)? {
            None if by_key.is_none() => {
                meeting::same_end(connection, conversation, entry, &row.rest)?
            }
            found => found,
        },
        (None, None) => None,
    };
    let merged = match by_id.filter(|_| by_key.is_none()) {
        Some(id) => calls::whole(connection, id, &entry.body)?,
        None => None,
    };
    if let Some(known) = &merged {
        row = EntryRow::new(&known.body)?;
    }
    // A call that is merged is dated by what was written first.
    let seen_at_ms = merged
        .as_ref()
        .map_or(entry.seen_at_ms, |known| known.seen_at_ms);
    let renamed = match entry.message().filter(|_| by_id.is_none()) {
        Some(message) => meeting::renamed(connection, conversation, message)?,
        None => None,
    };
    if let Some((id, remote)) = &renamed {
        if by_key.is_none() {
            // Another program wrote it down already as history has it.
            return Ok(());
        }
        if by_key == Some(*id) {
            row.remote = Some(remote.as_str());
        }
    }
    let at_ms = row.sent_at_ms.unwrap_or(entry.seen_at_ms);
    if row.kind == MESSAGE {
        touched.active(at_ms);
    }
    let target = match (by_key, by_id) {
        (Some(key), Some(id)) if key != id => {
            connection
                .prepare_cached("DELETE FROM entry WHERE id = ?1")?
                .execute([id])?;
            Some(key)
        }
        (Some(found), _) | (None, Some(found)) => Some(found),
        (None, None) => None,
    };
    if let Some(id) = target {
        connection
            .prepare_cached(
                "UPDATE entry SET kind = ?2, sent_at_ms = ?3, remote = coalesce(?4, remote),
                        call = ?5, author = ?6, counts = ?7, text = ?9, reply_to = ?10, rest = ?11, seen_at_ms = ?12,
                        is_indexed = CASE WHEN is_indexed = 1 AND ?8 = 2 AND text IS ?9 THEN 1
                                          ELSE ?8 END
                 WHERE id = ?1",
            )?
            .execute(params![
                id,
                row.kind,
                row.sent_at_ms,
                row.remote,
                row.call,
                row.author,
                row.counts,
                row.indexing(),
                row.text,
                row.reply_to,
                row.rest,
                seen_at_ms,
            ])?;
        return Ok(());
    }
    connection
        .prepare_cached(
            "INSERT INTO entry (id, conversation, key, ord, kind, seen_at_ms, sent_at_ms, remote,
                                call, author, counts, is_indexed, text, reply_to, rest)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)",
        )?
        .execute(params![
            free_id(connection, at_ms)?,
            conversation,
            entry.key.0.cast_signed(),
            entry.order,
            row.kind,
            entry.seen_at_ms,
            row.sent_at_ms,
            row.remote,
            row.call,
            row.author,
            row.counts,
            row.indexing(),
            row.text,
            row.reply_to,
            row.rest,
        ])?;
    if row.counts
        && let Some(remote) = row.remote
    {
        touched.new_messages.push(RemoteId::new(remote));
    }
    Ok(())
}

/// A free row id at a millisecond or soon behind it. Behind taken ones it looks in steps that
/// double, so that however many have one time (a gateway that gives none), it costs little.
fn free_id(connection: &Connection, at_ms: i64) -> rusqlite::Result<i64> {
    let mut statement =
        connection.prepare_cached("SELECT max(id) FROM entry WHERE id BETWEEN ?1 AND ?2")?;
    let (mut first, mut length) = (row_id_of(at_ms), 1);
    loop {
        let last = first + length - 1;
        let highest: Option<i64> = statement.query_row([first, last], |row| row.get(0))?;
        match highest {
            None => return Ok(first),
            Some(highest) if highest < last => return Ok(highest + 1),
            Some(_) => (first, length) = (last + 1, length.saturating_mul(2)),
        }
    }
}

/// The lowest row id of a wall time.
fn row_id_of(at_ms: i64) -> i64 {
    at_ms.clamp(0, MAX_TIME_MS)
}

pub(super) fn find(
    connection: &Connection,
    conversation: i64,
    condition: &'static str,
    value: impl rusqlite::ToSql,
) -> rusqlite::Result<Option<i64>> {
    connection
        .prepare_cached(&format!(
            "SELECT id FROM entry WHERE conversation = ?1 AND {condition}"
        ))?
        .query_row(params![conversation, value], |row| row.get(0))
        .optional()
}

fn is_deleted(connection: &Connection, conversation: i64, remote: &str) -> rusqlite::Result<bool> {
    connection
        .prepare_cached("SELECT 1 FROM tombstone WHERE conversation = ?1 AND remote = ?2")?
        .exists(params![conversation, remote])
}

/// Gives entries other places.
pub(super) fn put_orders(
    connection: &Connection,
    conversation: i64,
    orders: &[(MessageKey, i64)],
) -> rusqlite::Result<()> {
    let mut statement = connection
        .prepare_cached("UPDATE entry SET ord = ?3 WHERE conversation = ?1 AND key = ?2")?;
    for (key, order) in orders {
        statement.execute([conversation, key.0.cast_signed(), *order])?;
    }
    Ok(())
}

/// Drops entries by key.
pub(super) fn drop_keys(
    connection: &Connection,
    conversation: i64,
    keys: &[MessageKey],
) -> rusqlite::Result<()> {
    let mut statement =
        connection.prepare_cached("DELETE FROM entry WHERE conversation = ?1 AND key = ?2")?;
    for key in keys {
        statement.execute(params![conversation, key.0.cast_signed()])?;
    }
    Ok(())
}

/// Deletes messages for good.
pub(super) fn bury(
    connection: &Connection,
    conversation: i64,
    remotes: &[RemoteId],
) -> rusqlite::Result<()> {
    for remote in remotes {
        let values = params![conversation, remote.as_str()];
        connection
            .prepare_cached(
                "INSERT OR IGNORE INTO tombstone (conversation, remote) VALUES (?1, ?2)",
            )?
            .execute(values)?;
        connection
            .prepare_cached("DELETE FROM entry WHERE conversation = ?1 AND remote = ?2")?
            .execute(values)?;
    }
    Ok(())
}

/// Gives a message another remote id. When both are here, the row of the old id, which is the one
/// on screen, takes over what the other says, and the other goes.
pub(super) fn rekey(
    connection: &Connection,
    conversation: i64,
    from: &RemoteId,
    to: &RemoteId,
) -> rusqlite::Result<()> {
    if from == to {
        return Ok(());
    }
    meeting::remember(connection, conversation, from, to)?;
    let old = find(connection, conversation, "remote = ?2", from.as_str())?;
    let new = find(connection, conversation, "remote = ?2", to.as_str())?;
    if is_deleted(connection, conversation, from.as_str())? {
        bury(connection, conversation, std::slice::from_ref(to))?;
    } else if is_deleted(connection, conversation, to.as_str())? {
        bury(connection, conversation, std::slice::from_ref(from))?;
    } else {
        match (old, new) {
            (Some(old), Some(new)) => merge_into(connection, conversation, old, new)?,
            (Some(old), None) => {
                connection
                    .prepare_cached("UPDATE entry SET remote = ?2 WHERE id = ?1")?
                    .execute(params![old, to.as_str()])?;
            }
            (None, _) => {}
        }
    }
    let values = params![conversation, from.as_str(), to.as_str()];
    connection
        .prepare_cached("UPDATE entry SET reply_to = ?3 WHERE conversation = ?1 AND reply_to = ?2")?
        .execute(values)?;
    connection
        .prepare_cached(
            "UPDATE conversation SET read_remote = ?3 WHERE id = ?1 AND read_remote = ?2",
        )?
        .execute(values)?;
    Ok(())
}

/// The entry of a row; none when it cannot be read.
pub(super) fn read_row(connection: &Connection, id: i64) -> rusqlite::Result<Option<Entry>> {
    readable(
        connection
            .prepare_cached(&format!("SELECT {COLUMNS} FROM entry WHERE id = ?1"))?
            .query_row([id], entry),
    )
}

fn merge_into(
    connection: &Connection,
    conversation: i64,
    old: i64,
    new: i64,
) -> rusqlite::Result<()> {
    let key: i64 = connection
        .prepare_cached("SELECT key FROM entry WHERE id = ?1")?
        .query_row([old], |row| row.get(0))?;
    let Some(mut taken) = read_row(connection, new)? else {
        return Ok(());
    };
    taken.key = MessageKey(key.cast_unsigned());
    connection
        .prepare_cached("DELETE FROM entry WHERE id = ?1")?
        .execute([new])?;
    put(connection, conversation, &taken, &mut Touched::default())
}

/// Drops all entries of a conversation.
pub(super) fn clear(connection: &Connection, conversation: i64) -> rusqlite::Result<()> {
    connection
        .prepare_cached("DELETE FROM entry WHERE conversation = ?1")?
        .execute([conversation])?;
    // The order may begin anew, so a mark of before would hide what comes.
    connection
        .prepare_cached(
            "UPDATE conversation SET older_token = NULL, read_order = 0, read_remote = NULL
             WHERE id = ?1",
        )?
        .execute([conversation])?;
    Ok(())
}

/// Lowest and highest order; zero when there are no entries.
pub(super) fn bounds(connection: &Connection, conversation: i64) -> rusqlite::Result<(i64, i64)> {
    // Two queries: SQLite answers a lone `min` or `max` from the index, both together by a scan.
    let one = |sql: &str| -> rusqlite::Result<i64> {
        connection
            .prepare_cached(sql)?
            .query_row([conversation], |row| {
                Ok(row.get::<_, Option<i64>>(0)?.unwrap_or_default())
            })
    };
    Ok((
        one("SELECT min(ord) FROM entry WHERE conversation = ?1")?,
        one("SELECT max(ord) FROM entry WHERE conversation = ?1")?,
    ))
}

/// What a window found.
pub(super) struct Window {
    pub entries: Vec<Entry>,
    pub has_older: bool,
    pub has_newer: bool,
}

/// Entries around a place: what stands exactly there, at most `before` older ones and at most
/// `after` newer ones. Nothing when a remote id is not here.
pub(super) fn window(
    connection: &Connection,
    conversation: i64,
    around: &Place,
    before: usize,
    after: usize,
) -> rusqlite::Result<Window> {
    let (oldest, newest) = bounds(connection, conversation)?;
    let nothing = Window {
        entries: Vec::new(),
        has_older: false,
        has_newer: false,
    };
    let center = match around {
        // Beyond every entry, so that none stands "there" and the counts hold as they are.
        Place::Newest => newest.saturating_add(1),
        Place::Oldest => oldest.saturating_sub(1),
        Place::Order(order) => *order,
        Place::Remote(remote) => {
            let found = connection
                .prepare_cached("SELECT ord FROM entry WHERE conversation = ?1 AND remote = ?2")?
                .query_row(params![conversation, remote.as_str()], |row| row.get(0))
                .optional()?;
            match found {
                Some(order) => order,
                None => return Ok(nothing),
            }
        }
        Place::Time(at_ms) => connection
            .prepare_cached(
                "SELECT ord FROM entry WHERE conversation = ?1 AND id >= ?2 ORDER BY id LIMIT 1",
            )?
            .query_row([conversation, row_id_of(*at_ms)], |row| row.get(0))
            .optional()?
            .unwrap_or(newest.saturating_add(1)),
    };
    let mut entries = Vec::new();
    let has_older = read(
        connection,
        &format!(
            "SELECT {COLUMNS} FROM entry WHERE conversation = ?1 AND ord < ?2
             ORDER BY ord DESC, key DESC LIMIT ?3"
        ),
        conversation,
        center,
        before,
        &mut entries,
    )?;
    entries.reverse();
    read(
        connection,
        &format!(
            "SELECT {COLUMNS} FROM entry WHERE conversation = ?1 AND ord = ?2
             ORDER BY key LIMIT ?3"
        ),
        conversation,
        center,
        1000,
        &mut entries,
    )?;
    let has_newer = read(
        connection,
        &format!(
            "SELECT {COLUMNS} FROM entry WHERE conversation = ?1 AND ord > ?2
             ORDER BY ord, key LIMIT ?3"
        ),
        conversation,
        center,
        after,
        &mut entries,
    )?;
    Ok(Window {
        entries,
        has_older,
        has_newer,
    })
}

/// Adds at most `limit` entries and says whether there are more.
fn read(
    connection: &Connection,
    sql: &str,
    conversation: i64,
    center: i64,
    limit: usize,
    into: &mut Vec<Entry>,
) -> rusqlite::Result<bool> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX - 1);
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query([conversation, center, limit.saturating_add(1)])?;
    let mut seen = 0;
    while let Some(row) = rows.next()? {
        if seen == limit {
            return Ok(true);
        }
        seen += 1;
        into.extend(readable(entry(row))?);
    }
    Ok(false)
}

pub(super) fn entry(row: &Row<'_>) -> rusqlite::Result<Entry> {
    let key = MessageKey(row.get::<_, i64>(0)?.cast_unsigned());
    let order = row.get(1)?;
    let seen_at_ms = row.get(3)?;
    let body = match row.get::<_, i64>(2)? {
        MESSAGE => EntryBody::Message(Box::new(message(row, key, order, seen_at_ms)?)),
        TOOL => {
            let id = ToolCallId::from(row.get::<_, Option<String>>(6)?.unwrap_or_default());
            EntryBody::Tool(Box::new(from_json::<ToolRest>(row, 10)?.into_tool(id)))
        }
        RUN_ENDED => {
            let (run, outcome) = from_json::<RunEndedRest>(row, 10)?.into_parts();
            EntryBody::RunEnded { run, outcome }
        }
        DELETED => EntryBody::Deleted {
            count: from_json::<DeletedRest>(row, 10)?.count,
        },
        _ => EntryBody::Gap {
            token: PageToken::from(from_json::<GapRest>(row, 10)?.token),
        },
    };
    Ok(Entry {
        key,
        order,
        seen_at_ms,
        body,
    })
}

fn message(
    row: &Row<'_>,
    key: MessageKey,
    order: i64,
    seen_at_ms: i64,
) -> rusqlite::Result<Message> {
    let rest: MessageRest = from_json(row, 10)?;
    let text = row.get_ref(8)?.as_str_or_null()?.unwrap_or_default();
    Ok(Message {
        key,
        order,
        remote: row.get::<_, Option<String>>(5)?.map(RemoteId::from),
        author: author_of(row.get(7)?),
        sort: sort_of(rest.sort),
        body: Body::new(text),
        reasoning: Body::new(&rest.reasoning),
        reasoned_ms: rest.reasoned_ms,
        attachments: rest
            .attachments
            .into_iter()
            .map(AttachmentId::from)
            .collect(),
        reply_to: row.get::<_, Option<String>>(9)?.map(RemoteId::from),
        sent_at_ms: row.get(4)?,
        seen_at_ms,
        run: rest.run.map(RunId::from),
        delivery: rest.delivery.map(Delivery::from),
        command: rows::command_of(rest.command),
        footer: rest.footer.map(Footer::from).unwrap_or_default(),
        is_streaming: rest.is_streaming,
        is_interrupted: rest.is_interrupted,
        is_seen_live_only: rest.is_seen_live_only,
    })
}

fn message_rest(message: &Message) -> MessageRest {
    MessageRest {
        sort: sort_number(message.sort),
        reasoning: message.reasoning.raw().to_owned(),
        reasoned_ms: message.reasoned_ms,
        attachments: message
            .attachments
            .iter()
            .map(|id| id.as_str().to_owned())
            .collect(),
        run: message.run.as_ref().map(|run| run.as_str().to_owned()),
        delivery: message.delivery.as_ref().map(DeliveryRow::from),
        command: message.command.map(|command| command.0),
        footer: (!message.footer.is_empty()).then(|| FooterRow::from(&message.footer)),
        is_streaming: message.is_streaming,
        is_interrupted: message.is_interrupted,
        is_seen_live_only: message.is_seen_live_only,
    }
}
