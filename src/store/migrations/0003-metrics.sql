-- Metrics: reports wait in the tail and are later packed into blocks of columns.
-- A row's key within its trial, group and run is (steps, nth): nth is 0 where the report
-- had steps; reports without any have steps -1 and their own id there.

CREATE TABLE metric_groups (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE
);

-- The sets of names a trial's reports have had: {"n": numbers, "o": others}, sorted.
CREATE TABLE metric_shapes (
    trial_id INTEGER NOT NULL,
    group_id INTEGER NOT NULL,
    shape INTEGER NOT NULL,
    names TEXT NOT NULL,
    PRIMARY KEY (trial_id, group_id, shape)
);

-- What a later run took back: rows with steps >= cut are archived; `top` is the highest
-- of those that are not (-1: none; null: nothing was taken back).
CREATE TABLE metric_runs (
    trial_id INTEGER NOT NULL,
    group_id INTEGER NOT NULL,
    run_id INTEGER NOT NULL,
    cut INTEGER NOT NULL DEFAULT 9223372036854775807,
    top INTEGER,
    PRIMARY KEY (trial_id, group_id, run_id)
);

CREATE TABLE metric_tail (
    trial_id INTEGER NOT NULL,
    group_id INTEGER NOT NULL,
    run_id INTEGER NOT NULL,
    steps INTEGER NOT NULL,
    nth INTEGER NOT NULL,
    id INTEGER NOT NULL,
    report_us INTEGER NOT NULL,
    data BLOB NOT NULL,
    PRIMARY KEY (trial_id, group_id, run_id, steps, nth)
) WITHOUT ROWID;

-- `head` (summaries of the columns) stands before `data`, so that reading it does not
-- touch the pages of the values.
CREATE TABLE metric_blocks (
    id INTEGER PRIMARY KEY,
    trial_id INTEGER NOT NULL,
    group_id INTEGER NOT NULL,
    run_id INTEGER NOT NULL,
    first_steps INTEGER NOT NULL,
    first_nth INTEGER NOT NULL,
    last_steps INTEGER NOT NULL,
    last_nth INTEGER NOT NULL,
    count INTEGER NOT NULL,
    head BLOB NOT NULL,
    data BLOB NOT NULL
);
CREATE UNIQUE INDEX metric_blocks_key
    ON metric_blocks (trial_id, group_id, run_id, first_steps, first_nth);
