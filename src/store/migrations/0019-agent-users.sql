-- SPDX-License-Identifier: Apache-2.0
-- The Unix identity that a user's tasks run with.  All four, or agent_user is NULL: none.
ALTER TABLE users ADD COLUMN agent_uid INTEGER NOT NULL DEFAULT 0;
ALTER TABLE users ADD COLUMN agent_gid INTEGER NOT NULL DEFAULT 0;
ALTER TABLE users ADD COLUMN agent_user TEXT;
ALTER TABLE users ADD COLUMN agent_group TEXT;
