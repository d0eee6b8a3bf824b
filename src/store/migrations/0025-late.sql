-- A checkpoint that a run delivered only after it was given up: it is listed and kept, and nothing
-- resumes from it or ranks it.
ALTER TABLE checkpoints ADD COLUMN is_late BOOLEAN NOT NULL DEFAULT FALSE;
