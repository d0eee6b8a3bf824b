-- SPDX-License-Identifier: Apache-2.0
-- Experiments that run, or ran, outside the platform: the heart does not know them.  The
-- stored reports of each trial are counted here, so an interrupted import can continue.
ALTER TABLE experiments ADD COLUMN is_unmanaged BOOLEAN NOT NULL DEFAULT FALSE;
ALTER TABLE experiments ADD COLUMN external_id TEXT;
CREATE INDEX experiments_by_external_id ON experiments (external_id)
    WHERE external_id IS NOT NULL;
ALTER TABLE trials ADD COLUMN reports_stored INTEGER NOT NULL DEFAULT 0;
