/* SPDX-License-Identifier: Apache-2.0 */
/* removal.h - checkpoints that agents are to remove, and what failed runs left.
 *
 * collect.h decides what is removed and adds the rows. */
#ifndef STORE_CHECKPOINT_REMOVAL_H
#define STORE_CHECKPOINT_REMOVAL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct arena;
struct db;

struct removal {
    const char *uuid;
    int64_t experiment_id;
    const char *agent; /* "": the writer is unknown */
    const char *resource_pool;
    bool is_shared;
    int64_t since_us;
    int64_t tries;
    int64_t next_us;
    const char *error; /* of the last try; NULL: none yet */
};

/* Removals that the same agents can carry out. */
struct removal_group {
    const char *agent;
    const char *resource_pool;
    bool is_shared;
};
/* The groups that have a removal that is due. */
det_status store_removal_groups(struct db *db, int64_t now_us, struct arena *mem,
                                struct removal_group **ret_groups, uint32_t *ret_count,
                                struct err *err);
/* A bounded number of a group's due removals, the oldest first. */
det_status store_removals_of(struct db *db, const struct removal_group *group,
                             int64_t now_us, struct arena *mem,
                             struct removal **ret_rows, uint32_t *ret_count,
                             struct err *err);
det_status store_removal_get(struct db *db, const char *uuid, struct arena *mem,
                             struct removal *ret_row, bool *ret_found, struct err *err);
/* The files are gone: sets DELETED, no bytes, no files.  Repeating it is fine. */
det_status store_removal_done(struct db *db, const char *uuid, struct err *err);
/* The files are still there.  The next try comes later, after a longer time with each
 * failure.  *ret_is_news: this sentence differs from the last one. */
det_status store_removal_failed(struct db *db, const char *uuid, const char *sentence,
                                int64_t now_us, bool *ret_is_news, struct err *err);

/* The progress of removing everything an experiment has. */
struct removal_state {
    int64_t unmarked; /* 0 or 1: some checkpoints have no removal yet */
    int64_t left;     /* 0 or 1: some removals are not done */
    int64_t tries;    /* the most failed tries of one of them */
    const char *error;
};
det_status store_removal_state(struct db *db, int64_t experiment_id, struct arena *mem,
                               struct removal_state *ret_state, struct err *err);
/* Makes all removals of an experiment due, because a user asked again. */
det_status store_removals_again(struct db *db, int64_t experiment_id, struct err *err);

/* ---- unfinished files ------------------------------------------------------------ */

/* A run that failed on an agent: whatever this run or an earlier one began to write
 * will not be finished. */
struct sweep {
    const char *agent;
    int64_t trial_id;
    int64_t run_id;
    int64_t experiment_id;
    int64_t next_us;
};
/* Adds the sweeps of a run that failed. */
det_status sweep_allocation(struct db *db, int64_t allocation_id, struct err *err);
/* A bounded number of the due sweeps of an agent (NULL: of all). */
det_status store_sweeps_of(struct db *db, const char *agent, int64_t now_us,
                           struct arena *mem, struct sweep **ret_rows,
                           uint32_t *ret_count, struct err *err);
/* Nothing is left there; or something is, and `next_us` says when to try again. */
det_status store_sweep_done(struct db *db, const struct sweep *sweep, struct err *err);

#endif
