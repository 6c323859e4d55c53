//! Full-text search, newest first.
//!
//! A query is a list of terms that must all occur; quotes hold a term with spaces together. Terms
//! of three characters and more are found anywhere in a word: the trigram table says which messages
//! have all pieces of three characters, and their text says whether the pieces follow each other.
//! Shorter terms are filtered out of what the longer ones found. With short terms only, whole words
//! are found in all of history, and a bounded look through the newest messages finds them inside of
//! words as well (scripts without spaces need that).
//!
//! Row ids are in the order of time (see the schema), so no query has to sort, and each stops as
//! soon as the page is full. `CROSS JOIN` keeps SQLite from another order of loops, for which it
//! would have to read and sort everything that was found.

use super::fold::fold;
use super::rows::author_of;
use crate::domain::{AccountId, ConversationId, RemoteId, SearchHit};
use crate::text::{SafeText, unmarked};
use rusqlite::{Connection, Row, params};
use std::collections::BTreeMap;

/// Shortest term the trigram table can find.
const GRAM: usize = 3;
/// Messages looked through, newest first, for terms that no index finds.
const SCAN: i64 = 20_000;
/// Terms of a query that count.
const TERMS: usize = 16;
/// Pieces of one term that the trigram table is asked for; of a longer one they are spread over it.
const PIECES: usize = 24;
/// Characters of a snippet, with what was found near its start.
const SNIPPET: usize = 160;
/// Characters before what was found.
const LEAD: usize = 40;

/// Where to look; none is everywhere.
pub(super) struct Scope<'a> {
    pub account: Option<&'a AccountId>,
    pub conversation: Option<&'a ConversationId>,
}

/// One page of hits, and whether there are more.
pub(super) type Page = (Vec<(AccountId, SearchHit)>, bool);

/// Searches.
pub(super) fn search(
    connection: &Connection,
    query: &str,
    scope: &Scope<'_>,
    limit: usize,
    skip: usize,
) -> rusqlite::Result<Page> {
    let terms = terms(query);
    if terms.is_empty() || limit == 0 {
        return Ok((Vec::new(), false));
    }
    let wanted = skip.saturating_add(limit).saturating_add(1);
    let (long, short): (Vec<String>, Vec<String>) = terms
        .iter()
        .cloned()
        .partition(|term| term.chars().count() >= GRAM);
    let mut found = Hits::new();
    if long.is_empty() {
        // Both find the same message at times; the map keeps it once.
        find_words(connection, &short, scope, wanted, &mut found)?;
        scan(connection, &short, scope, wanted, &mut found)?;
    } else {
        find_grams(connection, &long, &short, scope, wanted, &mut found)?;
    }
    let total = found.len();
    let hits = found
        .into_values()
        .rev()
        .skip(skip)
        .take(limit)
        .map(|found| found.into_hit(&terms))
        .collect();
    Ok((hits, total > skip.saturating_add(limit)))
}

/// By row id, which is by time.
type Hits = BTreeMap<i64, Match>;

struct Match {
    account: String,
    conversation: String,
    remote: Option<String>,
    order: i64,
    author: u8,
    at_ms: i64,
    text: String,
}

const COLUMNS: &str = "entry.id, conversation.account, conversation.ident, entry.remote, entry.ord,
    entry.author, coalesce(entry.sent_at_ms, entry.seen_at_ms), entry.text";

impl Match {
    fn read(row: &Row<'_>) -> rusqlite::Result<(i64, Self)> {
        Ok((
            row.get(0)?,
            Self {
                account: row.get(1)?,
                conversation: row.get(2)?,
                remote: row.get(3)?,
                order: row.get(4)?,
                author: row.get(5)?,
                at_ms: row.get(6)?,
                text: row.get(7)?,
            },
        ))
    }

    fn into_hit(self, terms: &[String]) -> (AccountId, SearchHit) {
        let hit = SearchHit {
            conversation: ConversationId::from(self.conversation),
            remote: self.remote.map(RemoteId::from),
            order: Some(self.order),
            author: author_of(self.author),
            snippet: snippet(&self.text, terms),
            sent_at_ms: Some(self.at_ms),
        };
        (AccountId::from(self.account), hit)
    }
}

fn find_grams(
    connection: &Connection,
    long: &[String],
    short: &[String],
    scope: &Scope<'_>,
    wanted: usize,
    found: &mut Hits,
) -> rusqlite::Result<()> {
    let sql = format!(
        "SELECT {COLUMNS} FROM entry_grams
         CROSS JOIN entry ON entry.id = entry_grams.rowid
         CROSS JOIN conversation ON conversation.id = entry.conversation
         WHERE entry_grams MATCH ?1 AND conversation.is_gone = 0
           AND (?2 IS NULL OR conversation.account = ?2)
           AND (?3 IS NULL OR conversation.ident = ?3)
         ORDER BY entry_grams.rowid DESC"
    );
    let phrase = long
        .iter()
        .flat_map(|term| pieces(term))
        .collect::<Vec<_>>()
        .join(" AND ");
    // A term of one piece needs no second look.
    let filter: Vec<String> = long
        .iter()
        .filter(|term| term.chars().count() > GRAM)
        .chain(short)
        .cloned()
        .collect();
    collect(connection, &sql, &phrase, &filter, scope, wanted, found)
}

/// The pieces of a term as the trigram table has them, each once and quoted.
fn pieces(term: &str) -> Vec<String> {
    let characters: Vec<char> = term.chars().collect();
    let count = characters.len().saturating_sub(GRAM - 1);
    let mut pieces: Vec<String> = characters
        .windows(GRAM)
        .step_by(count.div_ceil(PIECES).max(1))
        .map(|piece| quote(&piece.iter().collect::<String>()))
        .collect();
    pieces.sort_unstable();
    pieces.dedup();
    pieces
}

fn find_words(
    connection: &Connection,
    terms: &[String],
    scope: &Scope<'_>,
    wanted: usize,
    found: &mut Hits,
) -> rusqlite::Result<()> {
    // The table does not know which words follow each other, and an empty phrase is an error.
    let words: Vec<String> = terms
        .iter()
        .flat_map(|term| term.split(|c: char| !c.is_alphanumeric()))
        .filter(|word| !word.is_empty())
        .map(quote)
        .collect();
    // Signs are no part of the words in the table, so what was found has to be looked at.
    let signs: Vec<String> = terms
        .iter()
        .filter(|term| !term.chars().all(char::is_alphanumeric))
        .cloned()
        .collect();
    if words.is_empty() {
        return Ok(());
    }
    let sql = format!(
        "SELECT {COLUMNS} FROM entry_words
         CROSS JOIN entry ON entry.id = entry_words.rowid
         CROSS JOIN conversation ON conversation.id = entry.conversation
         WHERE entry_words MATCH ?1 AND conversation.is_gone = 0
           AND (?2 IS NULL OR conversation.account = ?2)
           AND (?3 IS NULL OR conversation.ident = ?3)
         ORDER BY entry_words.rowid DESC"
    );
    collect(
        connection,
        &sql,
        &words.join(" AND "),
        &signs,
        scope,
        wanted,
        found,
    )
}

fn collect(
    connection: &Connection,
    sql: &str,
    phrase: &str,
    filter: &[String],
    scope: &Scope<'_>,
    wanted: usize,
    found: &mut Hits,
) -> rusqlite::Result<()> {
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query(params![
        phrase,
        scope.account.map(AccountId::as_str),
        scope.conversation.map(ConversationId::as_str)
    ])?;
    while found.len() < wanted
        && let Some(row) = rows.next()?
    {
        let (id, hit) = Match::read(row)?;
        if contains_all(&hit.text, filter) {
            found.insert(id, hit);
        }
    }
    Ok(())
}

fn scan(
    connection: &Connection,
    terms: &[String],
    scope: &Scope<'_>,
    wanted: usize,
    found: &mut Hits,
) -> rusqlite::Result<()> {
    let mut statement = connection.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM entry
         CROSS JOIN conversation ON conversation.id = entry.conversation
         WHERE entry.is_indexed = 1 AND conversation.is_gone = 0
           AND (?1 IS NULL OR conversation.account = ?1)
           AND (?2 IS NULL OR conversation.ident = ?2)
         ORDER BY entry.id DESC LIMIT ?3"
    ))?;
    let mut rows = statement.query(params![
        scope.account.map(AccountId::as_str),
        scope.conversation.map(ConversationId::as_str),
        SCAN
    ])?;
    let mut matches = 0;
    while matches < wanted
        && let Some(row) = rows.next()?
    {
        let (id, hit) = Match::read(row)?;
        if contains_all(&hit.text, terms) {
            matches += 1;
            found.insert(id, hit);
        }
    }
    Ok(())
}

/// The terms of a query, folded as the texts are.
fn terms(query: &str) -> Vec<String> {
    let mut terms = Vec::new();
    // SQLite would end the query there.
    let query = query.replace('\0', " ");
    for (index, part) in query.split('"').enumerate() {
        if index % 2 == 1 {
            terms.push(fold(part.trim()));
        } else {
            terms.extend(part.split_whitespace().map(fold));
        }
    }
    terms.retain(|term| !term.is_empty());
    terms.truncate(TERMS);
    terms
}

/// A phrase of the full-text query language; in quotes nothing else has a meaning.
fn quote(term: &str) -> String {
    format!("\"{}\"", term.replace('"', "\"\""))
}

fn contains_all(text: &str, terms: &[String]) -> bool {
    if terms.is_empty() {
        return true;
    }
    let text = fold(text);
    terms.iter().all(|term| text.contains(term.as_str()))
}

/// The part of a text around the first term in it, as plain words on one line.
fn snippet(text: &str, terms: &[String]) -> SafeText {
    // Somebody may look for the marks of Markdown themselves.
    let plain = unmarked(text);
    let text = if contains_all(&plain, terms) {
        plain.as_str()
    } else {
        text
    };
    // Characters before the find, counted in the folded text, whose characters stand nearly
    // always at the same places; being off by a few does not matter here.
    let folded = fold(text);
    let start = terms
        .iter()
        .filter_map(|term| folded.find(term.as_str()))
        .min()
        .map_or(0, |at| folded[..at].chars().count())
        .saturating_sub(LEAD);
    let mut piece = String::new();
    if start > 0 {
        piece.push('…');
    }
    let mut rest = text.chars().skip(start);
    for character in rest.by_ref().take(SNIPPET) {
        piece.push(if character.is_whitespace() {
            ' '
        } else {
            character
        });
    }
    if rest.next().is_some() {
        piece.push('…');
    }
    SafeText::label(piece.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_hold_a_term_together() {
        assert_eq!(
            terms("Build  \"No Space\" x"),
            ["build", "no space", "x"].map(str::to_owned)
        );
        assert_eq!(terms("  \"\" "), Vec::<String>::new());
        assert_eq!(terms("\"open end"), ["open end"].map(str::to_owned));
    }

    #[test]
    fn a_snippet_shows_what_was_found() {
        let text = format!("{} needle\n{}", "hay ".repeat(100), "straw ".repeat(100));
        let piece = snippet(&text, &["needle".to_owned()]);
        assert!(piece.as_str().contains("needle straw"));
        assert!(piece.as_str().starts_with('…') && piece.as_str().ends_with('…'));
        assert_eq!(snippet("short", &["x".to_owned()]).as_str(), "short");
    }

    #[test]
    fn a_snippet_shows_words_and_no_marks() {
        let text = "| file | **size** |\n|------|------|\n| core.bin | 3 MB |";
        let shown = |term: &str| snippet(text, &[term.to_owned()]).to_string();
        assert_eq!(shown("core"), "file · size core.bin · 3 MB");
        // Marks are shown to somebody who looks for them.
        assert_eq!(
            shown("|---"),
            "| file | **size** | |------|------| | core.bin | 3 MB |"
        );
    }
}
