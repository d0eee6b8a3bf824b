-- SPDX-License-Identifier: Apache-2.0
-- What was forked from an experiment is found without reading all of them.  Most were
-- forked from none, and are not in it.
CREATE INDEX experiments_by_parent ON experiments (parent_id) WHERE parent_id > 0;
