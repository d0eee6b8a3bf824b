-- SPDX-License-Identifier: Apache-2.0
-- Jobs that are TensorBoards, and where programs behind the master's address listen.
ALTER TABLE jobs ADD COLUMN type TEXT NOT NULL DEFAULT 'GENERIC';
ALTER TABLE jobs ADD COLUMN sources TEXT;

-- One for each allocation that has said so; it counts as long as that is not over.
CREATE TABLE proxies (
    allocation_id INTEGER PRIMARY KEY,
    task_id TEXT NOT NULL,
    address TEXT NOT NULL,
    port BIGINT NOT NULL
);
CREATE INDEX proxies_by_task ON proxies (task_id);
