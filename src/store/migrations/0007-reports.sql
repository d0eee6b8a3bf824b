-- How far the reports of a task's ring got: one row a share that ever sent a batch.
CREATE TABLE report_marks (
    allocation_id INTEGER NOT NULL,
    source INTEGER NOT NULL,
    number INTEGER NOT NULL,
    PRIMARY KEY (allocation_id, source)
);
