-- SPDX-License-Identifier: Apache-2.0
-- Jobs: programs that train nothing.  An allocation belongs to a trial or to a job.
CREATE TABLE jobs (
    id INTEGER PRIMARY KEY,
    state TEXT NOT NULL,
    task_id TEXT NOT NULL,
    owner_id BIGINT NOT NULL,
    resource_pool TEXT,
    priority BIGINT NOT NULL,
    weight DOUBLE PRECISION NOT NULL,
    slots BIGINT NOT NULL,
    is_single_node BOOLEAN NOT NULL,
    is_pausable BOOLEAN NOT NULL,
    preemption_timeout_us BIGINT NOT NULL,
    submitted_us BIGINT NOT NULL,
    start_us BIGINT NOT NULL,
    end_us BIGINT NOT NULL,
    run_id BIGINT NOT NULL,
    -- the store's own
    name TEXT NOT NULL DEFAULT '',
    forked_from TEXT,
    files_size BIGINT NOT NULL DEFAULT 0
);
CREATE UNIQUE INDEX jobs_by_task ON jobs (task_id);
CREATE INDEX jobs_alive ON jobs (id) WHERE state NOT IN ('COMPLETED', 'CANCELED', 'ERROR');

CREATE TABLE job_configs (
    id INTEGER PRIMARY KEY,
    config TEXT NOT NULL
);

CREATE TABLE job_files (
    id INTEGER PRIMARY KEY,
    files BLOB NOT NULL
);

ALTER TABLE allocations ADD COLUMN job_id BIGINT NOT NULL DEFAULT 0;
