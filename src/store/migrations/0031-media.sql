-- Media that trials reported: one row per name and steps.  The bytes are a table of their own, so
-- that lists and sums do not read them.
CREATE TABLE media (
    id INTEGER PRIMARY KEY,
    trial_id INTEGER NOT NULL,
    name TEXT NOT NULL,
    steps INTEGER NOT NULL,
    run_id INTEGER NOT NULL,
    type INTEGER NOT NULL,
    size_bytes INTEGER NOT NULL,
    report_us INTEGER NOT NULL,
    is_archived BOOLEAN NOT NULL DEFAULT FALSE
);
CREATE UNIQUE INDEX media_key ON media (trial_id, name, steps);
CREATE INDEX media_by_time ON media (report_us);
CREATE INDEX media_by_run ON media (trial_id, run_id);

-- How much a trial has, so that a report need not count.
CREATE TABLE media_sums (
    trial_id INTEGER PRIMARY KEY,
    items INTEGER NOT NULL,
    size_bytes INTEGER NOT NULL
);

CREATE TABLE media_bytes (
    id INTEGER PRIMARY KEY,
    data BLOB NOT NULL
);
