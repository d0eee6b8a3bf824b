-- SPDX-License-Identifier: Apache-2.0
-- Two who bring the same at once make one experiment: what they call it is unique, but for
-- those that are being deleted.  Where there were two already, the first keeps its name.
UPDATE experiments SET external_id = NULL
    WHERE external_id IS NOT NULL AND id > (SELECT MIN(o.id) FROM experiments o
        WHERE o.external_id = experiments.external_id
        AND o.state NOT IN ('DELETING', 'DELETE_FAILED'));
DROP INDEX experiments_by_external_id;
CREATE UNIQUE INDEX experiments_by_external_id ON experiments (external_id)
    WHERE external_id IS NOT NULL AND state NOT IN ('DELETING', 'DELETE_FAILED');
