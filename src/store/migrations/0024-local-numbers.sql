-- The number of a trial in its project, shown as KEY-number.  A project counts on: numbers are
-- not used again, and a trial that moves gets a new one.
ALTER TABLE projects ADD COLUMN trials_numbered BIGINT NOT NULL DEFAULT 0;
ALTER TABLE trials ADD COLUMN local_number BIGINT NOT NULL DEFAULT 0;
UPDATE trials SET local_number = n.nth
    FROM (SELECT t.id, ROW_NUMBER() OVER (PARTITION BY e.project_id ORDER BY t.id) AS nth
            FROM trials t JOIN experiments e ON e.id = t.experiment_id) AS n
    WHERE n.id = trials.id;
UPDATE projects SET trials_numbered = (SELECT COUNT(*) FROM experiments e
    JOIN trials t ON t.experiment_id = e.id WHERE e.project_id = projects.id);
