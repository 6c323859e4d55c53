-- What messages are called now that came in under another id: a second program may still write
-- one down under that.
CREATE TABLE renamed (
  id INTEGER PRIMARY KEY,
  conversation INTEGER NOT NULL REFERENCES conversation (id) ON DELETE CASCADE,
  was TEXT NOT NULL,
  remote TEXT NOT NULL
);
CREATE UNIQUE INDEX renamed_was ON renamed (conversation, was);
CREATE INDEX renamed_remote ON renamed (conversation, remote);

-- The end of a run stands under the name of the run, once.
DELETE FROM entry WHERE kind = 2 AND json_valid(rest) AND id NOT IN (
  SELECT min(id) FROM entry WHERE kind = 2 AND json_valid(rest)
  GROUP BY conversation, json_extract(rest, '$.run')
);
UPDATE entry SET call = 'end of ' || json_extract(rest, '$.run')
WHERE kind = 2 AND json_valid(rest);
