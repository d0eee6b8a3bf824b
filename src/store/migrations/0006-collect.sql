-- The removal of checkpoints.  `is_held`: another trial began from it, so it stays.
-- `is_top`: it was among its experiment's best at the last look; the next look compares, and
-- finds the checkpoints that no longer are.
ALTER TABLE checkpoints ADD COLUMN is_held BOOLEAN NOT NULL DEFAULT FALSE;
ALTER TABLE checkpoints ADD COLUMN is_top BOOLEAN NOT NULL DEFAULT FALSE;
UPDATE checkpoints SET is_held = TRUE
    WHERE uuid IN (SELECT warm_start FROM trials WHERE warm_start IS NOT NULL);
CREATE INDEX checkpoints_whole ON checkpoints (trial_id) WHERE state = 'COMPLETED';
CREATE INDEX checkpoints_by_metric ON checkpoints (experiment_id, searcher_metric)
    WHERE state = 'COMPLETED' AND searcher_metric IS NOT NULL;
CREATE INDEX checkpoints_top ON checkpoints (experiment_id) WHERE is_top;

-- Trials to be looked at, because something of theirs changed; and experiments whose
-- trials all are, those up to `after_trial` already.
CREATE TABLE collect_trials (
    experiment_id INTEGER NOT NULL,
    trial_id INTEGER NOT NULL,
    PRIMARY KEY (experiment_id, trial_id)
) WITHOUT ROWID;
CREATE TABLE collect_experiments (
    experiment_id INTEGER PRIMARY KEY,
    after_trial INTEGER NOT NULL
);

-- What is being removed: the checkpoints in state DELETING.  `agent` wrote it; when it is
-- `is_shared`, any agent of the pool reaches it.
CREATE TABLE removals (
    uuid TEXT PRIMARY KEY,
    experiment_id INTEGER NOT NULL,
    agent TEXT NOT NULL,
    resource_pool TEXT NOT NULL,
    is_shared BOOLEAN NOT NULL,
    since_us INTEGER NOT NULL,
    tries INTEGER NOT NULL,
    next_us INTEGER NOT NULL,
    error TEXT
);
CREATE INDEX removals_by_agent ON removals (agent, is_shared, resource_pool, next_us);
CREATE INDEX removals_by_experiment ON removals (experiment_id);

-- Where a run ended badly and may have left a checkpoint half written.
CREATE TABLE sweeps (
    agent TEXT NOT NULL,
    trial_id INTEGER NOT NULL,
    run_id INTEGER NOT NULL, -- this one and those before
    experiment_id INTEGER NOT NULL,
    next_us INTEGER NOT NULL,
    PRIMARY KEY (agent, trial_id)
) WITHOUT ROWID;
