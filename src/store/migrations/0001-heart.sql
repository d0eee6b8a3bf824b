-- The heart's rows, and what people write beside them.  Columns named like the fields of
-- model/records.h hold those fields.  An experiment's large texts live in tables of their
-- own, so that its row stays small: the row changes often, they hardly ever do.

CREATE TABLE experiments (
    id INTEGER PRIMARY KEY,
    state TEXT NOT NULL,
    job_id TEXT,
    owner_id INTEGER NOT NULL,
    project_id INTEGER NOT NULL,
    parent_id INTEGER NOT NULL,
    resource_pool TEXT,
    priority INTEGER NOT NULL,
    weight DOUBLE PRECISION NOT NULL,
    max_slots INTEGER NOT NULL,
    submitted_us INTEGER NOT NULL,
    start_us INTEGER NOT NULL,
    end_us INTEGER NOT NULL,
    progress DOUBLE PRECISION NOT NULL,
    trials INTEGER NOT NULL,
    search_seq INTEGER NOT NULL,
    snapshot_seq INTEGER NOT NULL,
    -- the store's own
    name TEXT NOT NULL DEFAULT '',
    description TEXT NOT NULL DEFAULT '',
    notes TEXT NOT NULL DEFAULT '',
    labels TEXT NOT NULL DEFAULT '[]',
    searcher_type TEXT,
    searcher_metric TEXT,
    smaller_is_better BOOLEAN NOT NULL DEFAULT TRUE,
    is_archived BOOLEAN NOT NULL DEFAULT FALSE,
    log_retention_days INTEGER NOT NULL DEFAULT -2,
    checkpoint_count INTEGER NOT NULL DEFAULT 0,
    checkpoint_size INTEGER NOT NULL DEFAULT 0,
    files_size INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX experiments_by_state ON experiments (state);
CREATE INDEX experiments_alive ON experiments (id)
    WHERE state NOT IN ('COMPLETED', 'CANCELED', 'ERROR', 'DELETING', 'DELETE_FAILED');
CREATE INDEX experiments_by_project ON experiments (project_id);

CREATE TABLE experiment_configs (
    id INTEGER PRIMARY KEY,
    config TEXT,
    original_config TEXT
);

CREATE TABLE experiment_files (
    id INTEGER PRIMARY KEY,
    files BLOB NOT NULL
);

CREATE TABLE trials (
    id INTEGER PRIMARY KEY,
    experiment_id INTEGER NOT NULL,
    number INTEGER NOT NULL,
    state TEXT NOT NULL,
    request_id TEXT,
    task_id TEXT,
    seed INTEGER NOT NULL,
    hparams TEXT,
    restarts INTEGER NOT NULL,
    run_id INTEGER NOT NULL,
    start_us INTEGER NOT NULL,
    end_us INTEGER NOT NULL,
    latest_checkpoint TEXT,
    latest_steps INTEGER NOT NULL,
    warm_start TEXT,
    is_stopped_by_searcher BOOLEAN NOT NULL,
    has_invalid_hparams BOOLEAN NOT NULL,
    is_retry_cancelled BOOLEAN NOT NULL,
    blocked_agents TEXT,
    progress DOUBLE PRECISION NOT NULL,
    -- the store's own; best_rank is the metric with the sign that makes the best smallest
    runner_state TEXT NOT NULL DEFAULT '',
    metadata TEXT,
    best_metric DOUBLE PRECISION,
    best_rank DOUBLE PRECISION,
    best_steps INTEGER NOT NULL DEFAULT 0,
    best_validation TEXT,
    best_validation_us INTEGER NOT NULL DEFAULT 0,
    latest_metric DOUBLE PRECISION,
    latest_validation_steps INTEGER NOT NULL DEFAULT 0,
    latest_validation TEXT,
    latest_validation_us INTEGER NOT NULL DEFAULT 0,
    checkpoint_count INTEGER NOT NULL DEFAULT 0,
    checkpoint_size INTEGER NOT NULL DEFAULT 0,
    log_policy_matched TEXT
);
CREATE INDEX trials_by_experiment ON trials (experiment_id, id);
CREATE INDEX trials_by_rank ON trials (experiment_id, best_rank)
    WHERE best_rank IS NOT NULL;
CREATE INDEX trials_by_task ON trials (task_id);
CREATE INDEX trials_alive ON trials (id) WHERE state NOT IN ('COMPLETED', 'CANCELED', 'ERROR');

CREATE TABLE allocations (
    id INTEGER PRIMARY KEY,
    trial_id INTEGER NOT NULL,
    experiment_id INTEGER NOT NULL,
    task_id TEXT,
    name TEXT,
    run_id INTEGER NOT NULL,
    state TEXT NOT NULL,
    resource_pool TEXT,
    slots INTEGER NOT NULL,
    request_us INTEGER NOT NULL,
    start_us INTEGER NOT NULL,
    end_us INTEGER NOT NULL,
    is_ready BOOLEAN NOT NULL,
    is_preempted BOOLEAN NOT NULL,
    is_acknowledged BOOLEAN NOT NULL,
    is_killed BOOLEAN NOT NULL,
    preempt_deadline_us INTEGER NOT NULL,
    exit TEXT NOT NULL,
    exit_code INTEGER NOT NULL,
    exit_reason TEXT,
    shares INTEGER NOT NULL,
    port_ssh INTEGER NOT NULL,
    port_comm_1 INTEGER NOT NULL,
    port_comm_2 INTEGER NOT NULL,
    port_c10d INTEGER NOT NULL
);
CREATE INDEX allocations_by_name ON allocations (name);
CREATE INDEX allocations_by_task ON allocations (task_id);
CREATE INDEX allocations_by_experiment ON allocations (experiment_id);
CREATE INDEX allocations_alive ON allocations (id) WHERE state <> 'TERMINATED';
CREATE INDEX allocations_live ON allocations (experiment_id, trial_id, state)
    WHERE state <> 'TERMINATED';

CREATE TABLE shares (
    allocation_id INTEGER NOT NULL,
    rank INTEGER NOT NULL,
    agent_id INTEGER NOT NULL,
    agent TEXT,
    container_id TEXT,
    slots TEXT,
    is_running BOOLEAN NOT NULL,
    has_exited BOOLEAN NOT NULL,
    exit TEXT NOT NULL,
    exit_code INTEGER NOT NULL,
    PRIMARY KEY (allocation_id, rank)
);

CREATE TABLE agents (
    id INTEGER PRIMARY KEY,
    name TEXT,
    resource_pool TEXT,
    devices TEXT,
    addresses TEXT,
    slots INTEGER NOT NULL,
    is_enabled BOOLEAN NOT NULL,
    is_draining BOOLEAN NOT NULL,
    is_connected BOOLEAN NOT NULL,
    disabled_slots TEXT,
    boot_id TEXT,
    version TEXT,
    joined_us INTEGER NOT NULL,
    silent_us INTEGER NOT NULL
);

CREATE TABLE search_inputs (
    experiment_id INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    kind TEXT NOT NULL,
    trial INTEGER NOT NULL,
    why TEXT NOT NULL,
    progress DOUBLE PRECISION,
    metrics TEXT,
    PRIMARY KEY (experiment_id, seq)
);

CREATE TABLE search_snapshots (
    experiment_id INTEGER PRIMARY KEY,
    seq INTEGER NOT NULL,
    state TEXT
);

CREATE TABLE numbers (
    name TEXT PRIMARY KEY,
    value INTEGER NOT NULL
);

CREATE TABLE texts (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL
);

CREATE TABLE journal (
    seq INTEGER PRIMARY KEY,
    kind INTEGER NOT NULL,
    data TEXT
);

CREATE TABLE marks (
    sender TEXT PRIMARY KEY,
    seq INTEGER NOT NULL
);
