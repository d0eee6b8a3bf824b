-- SPDX-License-Identifier: Apache-2.0
-- Experiments that somebody else runs, or has run: the heart does not know them.  What a
-- trial of one has sent is counted here, so that whoever brings it may begin again.
ALTER TABLE experiments ADD COLUMN is_unmanaged BOOLEAN NOT NULL DEFAULT FALSE;
ALTER TABLE experiments ADD COLUMN external_id TEXT;
CREATE INDEX experiments_by_external_id ON experiments (external_id)
    WHERE external_id IS NOT NULL;
ALTER TABLE trials ADD COLUMN reports_stored INTEGER NOT NULL DEFAULT 0;
