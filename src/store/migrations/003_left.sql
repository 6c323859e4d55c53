-- The server began anew and does not know it any more; it is kept here only.
ALTER TABLE conversation ADD COLUMN is_left INTEGER NOT NULL DEFAULT 0;
