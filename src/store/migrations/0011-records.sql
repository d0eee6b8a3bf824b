-- SPDX-License-Identifier: Apache-2.0
-- What each run ran on: machine, interpreter, packages, a sum of the code.  Runs of one
-- search on one machine have the same record, which is kept once.
CREATE TABLE records (
    id INTEGER PRIMARY KEY,
    sum TEXT NOT NULL UNIQUE,
    record TEXT NOT NULL
);
CREATE TABLE run_records (
    allocation_id BIGINT NOT NULL,
    rank BIGINT NOT NULL,
    record_id BIGINT NOT NULL,
    PRIMARY KEY (allocation_id, rank)
);
CREATE INDEX run_records_by_record ON run_records (record_id);
