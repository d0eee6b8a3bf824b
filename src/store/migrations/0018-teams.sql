-- SPDX-License-Identifier: Apache-2.0
-- What rights attach to: workspaces, projects, groups, roles and tokens.

-- state: '' usable, else DELETING, DELETE_FAILED (with `error`).  storage: a complete
-- checkpoint_storage section as JSON, or NULL.  agent_*: the task user; each may be NULL.
CREATE TABLE workspaces (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    owner_id BIGINT NOT NULL,
    is_archived BOOLEAN NOT NULL DEFAULT FALSE,
    is_immutable BOOLEAN NOT NULL DEFAULT FALSE,
    created_us BIGINT NOT NULL DEFAULT 0,
    state TEXT NOT NULL DEFAULT '',
    error TEXT NOT NULL DEFAULT '',
    storage TEXT,
    compute_pool TEXT NOT NULL DEFAULT '',
    aux_pool TEXT NOT NULL DEFAULT '',
    agent_uid BIGINT,
    agent_gid BIGINT,
    agent_user TEXT,
    agent_group TEXT
);
CREATE UNIQUE INDEX workspaces_by_name ON workspaces (name);

-- notes: a JSON list of {"name", "contents"}
CREATE TABLE projects (
    id INTEGER PRIMARY KEY,
    workspace_id BIGINT NOT NULL,
    name TEXT NOT NULL,
    description TEXT NOT NULL DEFAULT '',
    project_key TEXT NOT NULL,
    owner_id BIGINT NOT NULL,
    is_archived BOOLEAN NOT NULL DEFAULT FALSE,
    is_immutable BOOLEAN NOT NULL DEFAULT FALSE,
    created_us BIGINT NOT NULL DEFAULT 0,
    state TEXT NOT NULL DEFAULT '',
    error TEXT NOT NULL DEFAULT '',
    notes TEXT NOT NULL DEFAULT '[]'
);
CREATE UNIQUE INDEX projects_by_name ON projects (workspace_id, name);
CREATE UNIQUE INDEX projects_by_key ON projects (project_key);

-- User 1 is `admin`, who is made after the migrations.
INSERT INTO workspaces (id, name, owner_id, is_immutable) VALUES (1, 'Uncategorized', 1, TRUE);
INSERT INTO projects (id, workspace_id, name, project_key, owner_id, is_immutable)
    VALUES (1, 1, 'Uncategorized', 'UNCAT', 1, TRUE);
UPDATE experiments SET project_id = 1;
-- Counts of a project need nothing but this index.
DROP INDEX experiments_by_project;
CREATE INDEX experiments_by_project ON experiments (project_id, state, start_us, trials);

CREATE TABLE workspace_pins (
    user_id BIGINT NOT NULL,
    workspace_id BIGINT NOT NULL,
    pinned_us BIGINT NOT NULL,
    PRIMARY KEY (user_id, workspace_id)
);

CREATE TABLE project_visits (
    user_id BIGINT NOT NULL,
    project_id BIGINT NOT NULL,
    visited_us BIGINT NOT NULL,
    PRIMARY KEY (user_id, project_id)
);

ALTER TABLE jobs ADD COLUMN workspace_id BIGINT NOT NULL DEFAULT 1;
CREATE INDEX jobs_by_workspace ON jobs (workspace_id);

-- The run of an experiment acts as the user who submitted it or last continued it.
ALTER TABLE experiments ADD COLUMN starter_id BIGINT NOT NULL DEFAULT 0;

CREATE TABLE user_groups (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL
);
CREATE UNIQUE INDEX user_groups_by_name ON user_groups (name);

CREATE TABLE group_members (
    group_id BIGINT NOT NULL,
    user_id BIGINT NOT NULL,
    PRIMARY KEY (group_id, user_id)
);
CREATE INDEX group_members_by_user ON group_members (user_id);

-- To a user or to a group, the other is 0.  workspace_id 0: on the whole cluster.
CREATE TABLE role_assignments (
    role_id BIGINT NOT NULL,
    user_id BIGINT NOT NULL,
    group_id BIGINT NOT NULL,
    workspace_id BIGINT NOT NULL,
    PRIMARY KEY (user_id, group_id, workspace_id, role_id)
);
CREATE INDEX role_assignments_by_workspace ON role_assignments (workspace_id);
-- Administrators keep their rights when the mode becomes rbac.
INSERT INTO role_assignments (role_id, user_id, group_id, workspace_id)
    SELECT 1, id, 0, 0 FROM users WHERE is_admin;

CREATE TABLE user_settings (
    user_id BIGINT NOT NULL,
    storage_path TEXT NOT NULL,
    setting_key TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (user_id, storage_path, setting_key)
);

-- Every token holds random digits, so a number that is given twice (after a backup was
-- restored) opens nothing.  Sessions without them are closed: their users log in again.
-- Allocations without them keep their old tokens until they end.
DELETE FROM sessions;
ALTER TABLE sessions ADD COLUMN nonce TEXT NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN is_access_token BOOLEAN NOT NULL DEFAULT FALSE;
ALTER TABLE sessions ADD COLUMN is_revoked BOOLEAN NOT NULL DEFAULT FALSE;
ALTER TABLE sessions ADD COLUMN description TEXT NOT NULL DEFAULT '';
ALTER TABLE allocations ADD COLUMN nonce TEXT NOT NULL DEFAULT '';
-- The supervisor's credential ends when everything of its run is delivered.
ALTER TABLE shares ADD COLUMN is_delivered BOOLEAN NOT NULL DEFAULT FALSE;
