/* SPDX-License-Identifier: Apache-2.0 */
/* core_restore.h - a core built again from the rows in the store. */
#ifndef CORE_CORE_RESTORE_H
#define CORE_CORE_RESTORE_H

#include "core/core.h"

/* The rows of all live objects, as the store has them: non-terminal experiments, trials
 * and jobs; allocations that are not over, with their shares; agents; searcher snapshots
 * and the inputs since; counters.  Each list is in the order of ids. */
struct core_rows {
    const struct experiment *experiment;
    uint32_t experiments;
    const struct trial *trial;
    uint32_t trials;
    const struct job *job;
    uint32_t jobs;
    const struct allocation *allocation;
    uint32_t allocations;
    const struct share *share;
    uint32_t shares;
    const struct agent *agent;
    uint32_t agents;
    const struct search_snapshot *snapshot;
    uint32_t snapshots;
    const struct search_input *input;
    uint32_t inputs;
    struct core_counters counters;
};

/* A core equal to the one that wrote these rows, and its actions, to be carried out
 * again: START, KILL and PREEMPT of live allocations.  OVER is not repeated: after a
 * restart nobody waits for it.  For EXPERIMENT_OVER the heart looks up ended experiments
 * whose checkpoints were not collected yet.  Copies what it needs.  DET_INVALID for rows
 * of a pool that is no longer configured, DET_CORRUPT for rows that contradict each
 * other. */
det_status core_restore(const struct core_config *config, const struct core_rows *rows,
                        int64_t now_us, struct core **ret_core, struct core_out *out,
                        struct err *err);

#endif
