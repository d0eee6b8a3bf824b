-- How long an experiment was paused, and since when it is: its duration does not count pauses.  For
-- experiments that are paused now, the end of their latest run is the best that is known.
ALTER TABLE experiments ADD COLUMN paused_us INTEGER NOT NULL DEFAULT 0;
ALTER TABLE experiments ADD COLUMN paused_since_us INTEGER NOT NULL DEFAULT 0;
UPDATE experiments SET paused_since_us = COALESCE((SELECT NULLIF(MAX(a.end_us), 0) FROM allocations a
  WHERE a.experiment_id = experiments.id), start_us) WHERE state = 'PAUSED';
-- Checkpoints of runs that were given up, and kept files: both are listed and kept, and nothing
-- resumes from them or ranks them.  They have one name for that, which is also that of the REST API.
ALTER TABLE checkpoints RENAME COLUMN is_late TO is_archived;
