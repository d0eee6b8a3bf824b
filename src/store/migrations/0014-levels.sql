-- What blocks of metrics hold, summed up beforehand (store/series/level.h): a page of level 0
-- for each block, one of level n + 1 for sixteen of level n that follow each other.
-- `data` comes last, so that the rest is read without it.
CREATE TABLE metric_levels (
    id INTEGER PRIMARY KEY,
    trial_id INTEGER NOT NULL,
    group_id INTEGER NOT NULL,
    run_id INTEGER NOT NULL,
    level INTEGER NOT NULL,
    first_steps INTEGER NOT NULL,
    first_nth INTEGER NOT NULL,
    last_steps INTEGER NOT NULL,
    last_nth INTEGER NOT NULL,
    min_us INTEGER NOT NULL,
    max_us INTEGER NOT NULL,
    count INTEGER NOT NULL,
    data BLOB NOT NULL
);
CREATE UNIQUE INDEX metric_levels_key
    ON metric_levels (trial_id, group_id, run_id, level, first_steps, first_nth);

-- Blocks that were there before: those with an id in done + 1 .. upto have no page yet.
CREATE TABLE metric_level_fill (
    done INTEGER NOT NULL,
    upto INTEGER NOT NULL
);
INSERT INTO metric_level_fill (done, upto)
    SELECT 0, MAX(id) FROM metric_blocks HAVING MAX(id) IS NOT NULL;
