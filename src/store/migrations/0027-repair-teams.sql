-- An earlier form of migration 18 left three things undone: its databases are known by the owner 0
-- of workspace 1.  Databases of the present form are not changed.
INSERT INTO role_assignments (role_id, user_id, group_id, workspace_id)
    SELECT 1, id, 0, 0 FROM users WHERE is_admin
       AND EXISTS (SELECT 1 FROM workspaces WHERE id = 1 AND owner_id = 0)
    ON CONFLICT DO NOTHING;
UPDATE workspaces SET owner_id = 1 WHERE id = 1 AND owner_id = 0;
UPDATE projects SET owner_id = 1 WHERE id = 1 AND owner_id = 0;

-- Experiments of no project move to project 1, where their trials are numbered on.
UPDATE trials SET local_number = n.nth
    FROM (SELECT t.id, ROW_NUMBER() OVER (ORDER BY t.id)
                 + (SELECT trials_numbered FROM projects WHERE id = 1) AS nth
            FROM trials t JOIN experiments e ON e.id = t.experiment_id
           WHERE e.project_id NOT IN (SELECT id FROM projects)) AS n
    WHERE n.id = trials.id;
UPDATE projects SET trials_numbered = trials_numbered + (SELECT COUNT(*) FROM experiments e
    JOIN trials t ON t.experiment_id = e.id WHERE e.project_id NOT IN (SELECT id FROM projects))
    WHERE id = 1;
UPDATE experiments SET project_id = 1 WHERE project_id NOT IN (SELECT id FROM projects);

DROP INDEX experiments_by_project;
CREATE INDEX experiments_by_project ON experiments (project_id, state, start_us, trials);
