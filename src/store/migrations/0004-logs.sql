-- Logs: chunks of lines.  A chunk's id is its task's number times 2^38 plus the number of
-- its first line, so that one tree finds any line of any task.

CREATE TABLE log_tasks (
    id INTEGER PRIMARY KEY,
    task_id TEXT NOT NULL UNIQUE,
    next_line INTEGER NOT NULL DEFAULT 1 -- at least; for when all chunks have expired
);

CREATE TABLE log_chunks (
    id INTEGER PRIMARY KEY,
    last_line INTEGER NOT NULL,
    from_us INTEGER NOT NULL,
    to_us INTEGER NOT NULL,
    size INTEGER NOT NULL,
    data BLOB NOT NULL
);

-- How far each sender's lines are stored.
CREATE TABLE log_senders (
    sender TEXT PRIMARY KEY,
    task INTEGER NOT NULL,
    end_offset INTEGER NOT NULL
);
CREATE INDEX log_senders_by_task ON log_senders (task);

-- What values the filters of a task's log could have.
CREATE TABLE log_values (
    task INTEGER NOT NULL,
    kind TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (task, kind, value)
);
