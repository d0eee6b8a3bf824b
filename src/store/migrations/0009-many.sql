-- SPDX-License-Identifier: Apache-2.0
-- So that deleting an experiment of many trials costs no square: what belongs to one trial,
-- what of an experiment is still to be marked, and how often its removals failed are found
-- without reading the rest.
CREATE INDEX allocations_by_trial ON allocations (trial_id);
CREATE INDEX checkpoints_unmarked ON checkpoints (experiment_id)
    WHERE state NOT IN ('DELETING', 'DELETED');
DROP INDEX removals_by_experiment;
CREATE INDEX removals_by_experiment ON removals (experiment_id, tries);
