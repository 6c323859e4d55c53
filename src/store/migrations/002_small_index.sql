-- The row id of an entry is its wall milliseconds, or the next free number: the full-text tables
-- keep the difference to the row before for every word, and small differences take few bytes. For
-- the same reason they only say in which rows a word stands, not where (`detail`), and not how many
-- a row has (`columnsize`).
--
-- Rows keep their order; each gets its milliseconds or, where those are taken, the number behind
-- the row before.
DROP TRIGGER entry_dropped;
DROP TRIGGER entry_changed;
DROP TABLE entry_words;
DROP TABLE entry_grams;

CREATE TABLE entry_moved (
  id INTEGER PRIMARY KEY,
  conversation INTEGER NOT NULL REFERENCES conversation (id) ON DELETE CASCADE,
  key INTEGER NOT NULL,
  ord INTEGER NOT NULL,
  kind INTEGER NOT NULL,
  seen_at_ms INTEGER NOT NULL,
  sent_at_ms INTEGER,
  remote TEXT,
  call TEXT,
  author INTEGER NOT NULL DEFAULT 0,
  -- A message of others that counts as unread while it is above the read mark.
  counts INTEGER NOT NULL DEFAULT 0,
  -- 0: not for the full-text tables; 1: stands in them; 2: has to be put there before the
  -- transaction ends.
  is_indexed INTEGER NOT NULL DEFAULT 0,
  text TEXT,
  reply_to TEXT,
  -- Everything that no query looks into, as JSON of the store's own row types.
  rest TEXT NOT NULL
);
INSERT INTO entry_moved
  SELECT max((id >> 20) - place) OVER (ORDER BY id) + place, conversation, key, ord, kind,
         seen_at_ms, sent_at_ms, remote, call, author, counts, is_indexed, text, reply_to, rest
  FROM (SELECT *, row_number() OVER (ORDER BY id) AS place FROM entry)
  ORDER BY id;
DROP TABLE entry;
ALTER TABLE entry_moved RENAME TO entry;
CREATE UNIQUE INDEX entry_key ON entry (conversation, key);
CREATE INDEX entry_order ON entry (conversation, ord, key);
CREATE INDEX entry_time ON entry (conversation, id);
CREATE UNIQUE INDEX entry_remote ON entry (conversation, remote) WHERE remote IS NOT NULL;
CREATE UNIQUE INDEX entry_call ON entry (conversation, call) WHERE call IS NOT NULL;
CREATE INDEX entry_reply ON entry (conversation, reply_to) WHERE reply_to IS NOT NULL;
-- Own messages that no server has named yet.
CREATE INDEX entry_unnamed ON entry (conversation, ord)
WHERE kind = 0 AND remote IS NULL AND author = 0;
CREATE INDEX entry_waiting ON entry (id) WHERE is_indexed = 2;
CREATE INDEX entry_unread ON entry (conversation, ord) WHERE counts = 1;

CREATE VIRTUAL TABLE entry_words USING fts5 (
  text, content = 'entry', content_rowid = 'id', tokenize = 'unicode61 remove_diacritics 2',
  detail = none, columnsize = 0
);
CREATE VIRTUAL TABLE entry_grams USING fts5 (
  text, content = 'entry', content_rowid = 'id', tokenize = 'trigram remove_diacritics 1',
  detail = none, columnsize = 0
);
INSERT INTO entry_words (rowid, text) SELECT id, text FROM entry WHERE is_indexed = 1;
INSERT INTO entry_grams (rowid, text) SELECT id, text FROM entry WHERE is_indexed = 1;

-- Rows come into the full-text tables many at once, at the end of a transaction: the tables write
-- out what they gathered at every statement, and a trigger would make that one for each row.
CREATE TRIGGER entry_dropped AFTER DELETE ON entry WHEN old.is_indexed = 1 BEGIN
  INSERT INTO entry_words (entry_words, rowid, text) VALUES ('delete', old.id, old.text);
  INSERT INTO entry_grams (entry_grams, rowid, text) VALUES ('delete', old.id, old.text);
END;
CREATE TRIGGER entry_changed AFTER UPDATE OF text, is_indexed ON entry
WHEN old.is_indexed = 1 AND new.is_indexed <> 1 BEGIN
  INSERT INTO entry_words (entry_words, rowid, text) VALUES ('delete', old.id, old.text);
  INSERT INTO entry_grams (entry_grams, rowid, text) VALUES ('delete', old.id, old.text);
END;
