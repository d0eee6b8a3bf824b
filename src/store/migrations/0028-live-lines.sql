-- Lines that are being rewritten (progress bars): what each sender's line shows now.  It becomes a
-- line of the log when it ends.  `data` is a chunk with this one line.
CREATE TABLE log_live (
    sender TEXT PRIMARY KEY,
    task INTEGER NOT NULL,
    data BLOB NOT NULL
);
CREATE INDEX log_live_by_task ON log_live (task);
