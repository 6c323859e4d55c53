-- The first schema. Never edited once released: a change is a new file.
--
-- `entry.id` is (wall milliseconds << 20) + n, so that row ids, and with them the rows of the
-- full-text tables, are in the order of time: "newest first" needs no sorting.

CREATE TABLE conversation (
  id INTEGER PRIMARY KEY,
  account TEXT NOT NULL,
  ident TEXT NOT NULL,
  kind INTEGER NOT NULL DEFAULT 3,
  parent TEXT,
  name TEXT NOT NULL DEFAULT '',
  name_is_derived INTEGER NOT NULL DEFAULT 0,
  is_favorite INTEGER NOT NULL DEFAULT 0,
  is_automation INTEGER NOT NULL DEFAULT 0,
  is_archived INTEGER NOT NULL DEFAULT 0,
  server_activity_ms INTEGER,
  color INTEGER,
  icon BLOB,
  is_gone INTEGER NOT NULL DEFAULT 0,
  is_muted INTEGER NOT NULL DEFAULT 0,
  is_pinned INTEGER NOT NULL DEFAULT 0,
  read_order INTEGER NOT NULL DEFAULT 0,
  read_remote TEXT,
  read_at_ms INTEGER NOT NULL DEFAULT 0,
  older_token TEXT,
  activity_ms INTEGER,
  UNIQUE (account, ident)
);

CREATE TABLE entry (
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
CREATE UNIQUE INDEX entry_key ON entry (conversation, key);
CREATE INDEX entry_order ON entry (conversation, ord, key);
CREATE INDEX entry_time ON entry (conversation, id);
CREATE UNIQUE INDEX entry_remote ON entry (conversation, remote) WHERE remote IS NOT NULL;
CREATE UNIQUE INDEX entry_call ON entry (conversation, call) WHERE call IS NOT NULL;
CREATE INDEX entry_reply ON entry (conversation, reply_to) WHERE reply_to IS NOT NULL;
CREATE INDEX entry_waiting ON entry (id) WHERE is_indexed = 2;
CREATE INDEX entry_unread ON entry (conversation, ord) WHERE counts = 1;

CREATE TABLE tombstone (
  conversation INTEGER NOT NULL REFERENCES conversation (id) ON DELETE CASCADE,
  remote TEXT NOT NULL,
  PRIMARY KEY (conversation, remote)
) WITHOUT ROWID;

CREATE VIRTUAL TABLE entry_words USING fts5 (
  text, content = 'entry', content_rowid = 'id', tokenize = 'unicode61 remove_diacritics 2'
);
CREATE VIRTUAL TABLE entry_grams USING fts5 (
  text, content = 'entry', content_rowid = 'id', tokenize = 'trigram remove_diacritics 1'
);

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

-- Outbox and drafts name the conversation by its text id: they outlive its row.
CREATE TABLE outbox (
  key INTEGER PRIMARY KEY,
  account TEXT NOT NULL,
  conversation TEXT NOT NULL,
  position INTEGER NOT NULL,
  rest TEXT NOT NULL
);
CREATE TABLE draft (
  account TEXT NOT NULL,
  conversation TEXT NOT NULL,
  rest TEXT NOT NULL,
  PRIMARY KEY (account, conversation)
);
CREATE TABLE attachment (
  account TEXT NOT NULL,
  ident TEXT NOT NULL,
  conversation TEXT NOT NULL,
  message TEXT,
  rest TEXT NOT NULL,
  PRIMARY KEY (account, ident)
);
CREATE INDEX attachment_conversation ON attachment (account, conversation);
CREATE TABLE answering (
  account TEXT NOT NULL,
  decision TEXT NOT NULL,
  conversation TEXT NOT NULL,
  command INTEGER NOT NULL,
  answer TEXT NOT NULL,
  PRIMARY KEY (account, decision)
);
CREATE TABLE fact (
  account TEXT NOT NULL,
  name TEXT NOT NULL,
  value TEXT NOT NULL,
  PRIMARY KEY (account, name)
);
CREATE TABLE input (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  account TEXT NOT NULL,
  conversation TEXT NOT NULL,
  at_ms INTEGER NOT NULL,
  text TEXT NOT NULL
);
CREATE INDEX input_conversation ON input (account, conversation, id);
CREATE TABLE ui (
  name TEXT PRIMARY KEY,
  value TEXT NOT NULL
);
