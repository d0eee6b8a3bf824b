-- Whether the first validation of a trial was compared with the searcher's metric, and lacked it: a
-- restarted master must neither say it again nor run such a trial once more.
ALTER TABLE trials ADD COLUMN is_metric_checked BOOLEAN NOT NULL DEFAULT FALSE;
ALTER TABLE trials ADD COLUMN lacks_metric BOOLEAN NOT NULL DEFAULT FALSE;
