-- Checkpoints of runs that were given up, and kept files: both are listed and kept, and nothing
-- resumes from them or ranks them.  They have one name for that, which is also that of the REST API.
ALTER TABLE checkpoints RENAME COLUMN is_late TO is_archived;
