/* SPDX-License-Identifier: Apache-2.0 */
/* store.h - a store of rows in memory, which checks every row.
 *
 * It holds the committed rows and reports at once when a row breaks a rule: a terminal
 * state that changes (unless the experiment is continued), a run number that jumps, a
 * second run of a trial while the first is not over, a slot held twice. */
#ifndef TESTS_SIM_STORE_H
#define TESTS_SIM_STORE_H

#include "base/memory/arena.h"
#include "base/memory/map.h"
#include "base/memory/vec.h"
#include "core/core.h"

enum { WHY_SIZE = 512 };

struct sim_table {
    const struct field *fields;
    size_t size;
    struct map rows; /* owned */
};

struct sim_store {
    struct sim_table experiments;
    struct sim_table trials;
    struct sim_table jobs;
    struct sim_table allocations; /* the latest of each task only */
    struct sim_table shares;
    struct sim_table agents;
    struct sim_table inputs;
    struct sim_table snapshots;
    struct map run_of; /* by task_key(): its latest allocation */
    struct core_counters counters;
    VEC(int64_t) continued; /* experiments, by the commit that is being written */
    bool has_user; /* a user's event is part of that commit, and may activate tasks */
    char why[WHY_SIZE]; /* what was broken first; "": nothing */
};

void sim_store_init(struct sim_store *store);
void sim_store_done(struct sim_store *store);

/* Writes the rows among the effects; store->why says what they break. */
void sim_store_commit(struct sim_store *store, const struct core_out *out);

/* The core that these rows give. */
det_status sim_store_restore(const struct sim_store *store,
                             const struct core_config *config, int64_t now_us,
                             struct core **ret_core, struct core_out *out,
                             struct err *err);

/* The rows that an EVENT_EXPERIMENT_CONTINUED brings, as they are now; in `mem`.  Those
 * of an experiment that is not there have nothing in them but its id. */
void sim_store_fill_continued(const struct sim_store *store, int64_t id,
                              struct arena *mem, struct core_event *event);

const struct experiment *sim_store_experiment(const struct sim_store *store,
                                              int64_t id);
const struct trial *sim_store_trial(const struct sim_store *store, int64_t id);
const struct job *sim_store_job(const struct sim_store *store, int64_t id);
const struct allocation *sim_store_allocation(const struct sim_store *store,
                                              int64_t id);

#endif
