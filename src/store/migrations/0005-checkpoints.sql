CREATE TABLE checkpoints (
    uuid TEXT PRIMARY KEY,
    task_id TEXT,
    allocation_id TEXT,
    trial_id INTEGER NOT NULL,
    experiment_id INTEGER NOT NULL,
    state TEXT NOT NULL,
    steps_completed INTEGER NOT NULL,
    metadata TEXT,
    resources TEXT,
    size_bytes INTEGER NOT NULL,
    report_us INTEGER NOT NULL,
    storage_id INTEGER NOT NULL,
    searcher_metric DOUBLE PRECISION
);
CREATE INDEX checkpoints_by_trial ON checkpoints (trial_id, steps_completed);
CREATE INDEX checkpoints_by_experiment ON checkpoints (experiment_id);
