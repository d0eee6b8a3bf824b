/* SPDX-License-Identifier: Apache-2.0 */
/* collect.h - checkpoints that may go, and their going; the rule itself is
 * model/keep.h.
 *
 *   a report, a trial's end --> collect_trials ---+
 *   a patched policy --> collect_experiments -----+--> store_collect_step()
 *                                                              |
 *   COMPLETED --> DELETING, a row of `removals` <--------------+
 *       ^             |
 *       |        an agent removes the files and says so --> DELETED, no row
 *    nothing           or why it cannot --> error, later again
 *
 * Whatever makes a trial worth a look notes that in the transaction that changes it, so
 * that nothing is forgotten over a crash; a step then looks at a few trials of one
 * experiment.  What an event costs does not depend on how many trials there are: the
 * trial's own checkpoints that are still there, and as many of the experiment's best as
 * are to be kept, are found by index.
 *
 * Everything takes a connection: inside a write job to write, a reader to read. */
#ifndef STORE_COLLECT_H
#define STORE_COLLECT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct arena;
struct checkpoint;
struct db;
struct field_strs;
struct keep_policy;

/* What the store is told by who asks. */
struct collect_place {
    const char
        *local_directory; /* storage here is not shared, whatever its type says */
    int64_t now_us;
};

/* ---- deciding -------------------------------------------------------------------- */

/* Whether there is anything for a step. */
det_status store_collect_is_due(struct db *db, bool *ret_is_due, struct err *err);
/* Looks at a bounded number of trials of one experiment; *ret_experiment: which, 0: of
 * none. */
det_status store_collect_step(struct db *db, const struct collect_place *place,
                              int64_t *ret_experiment, struct err *err);
/* All its trials are to be looked at. */
det_status store_collect_experiment(struct db *db, int64_t experiment_id,
                                    struct err *err);
/* What would go under another policy; numbers below 0 mean "as it is". */
struct collect_preview {
    int64_t save_experiment_best;
    int64_t save_trial_best;
    int64_t save_trial_latest;
};
det_status store_collect_preview(struct db *db, int64_t experiment_id,
                                 const struct collect_preview *policy,
                                 struct arena *mem, struct field_strs *ret_uuids,
                                 struct err *err);

/* ---- by hand --------------------------------------------------------------------- */

/* Another trial begins from it: it stays.  DET_STATE: it is going or gone. */
det_status store_checkpoint_hold(struct db *db, const char *uuid, struct err *err);
/* Whether it may be removed on demand: DET_STATE names the trial that would resume from
 * it, its own or one that began from it.  One that is going or gone already is fine. */
det_status store_checkpoint_may_remove(struct db *db, const char *uuid,
                                       struct err *err);
det_status store_checkpoint_remove(struct db *db, const char *uuid,
                                   const struct collect_place *place, struct err *err);
/* A bounded number of an experiment's, whatever protects them; *ret_did: any. */
det_status store_experiment_remove_step(struct db *db, int64_t experiment_id,
                                        const struct collect_place *place,
                                        bool *ret_did, struct err *err);

/* ---- removals -------------------------------------------------------------------- */

struct removal {
    const char *uuid;
    int64_t experiment_id;
    const char *agent; /* "": nobody knows who wrote it */
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
/* Those that have any whose time has come. */
det_status store_removal_groups(struct db *db, int64_t now_us, struct arena *mem,
                                struct removal_group **ret_groups, uint32_t *ret_count,
                                struct err *err);
/* A bounded number of them, the oldest first. */
det_status store_removals_of(struct db *db, const struct removal_group *group,
                             int64_t now_us, struct arena *mem,
                             struct removal **ret_rows, uint32_t *ret_count,
                             struct err *err);
det_status store_removal_get(struct db *db, const char *uuid, struct arena *mem,
                             struct removal *ret_row, bool *ret_found, struct err *err);
/* The files are gone: DELETED, no bytes, no files.  Fine when it was said before. */
det_status store_removal_done(struct db *db, const char *uuid, struct err *err);
/* They are not; again later, later each time.  *ret_is_news: nobody has heard this
 * sentence about it yet. */
det_status store_removal_failed(struct db *db, const char *uuid, const char *sentence,
                                int64_t now_us, bool *ret_is_news, struct err *err);

/* How far the removal of everything an experiment has is. */
struct removal_state {
    int64_t unmarked; /* 0 or 1: there are some that nobody removes yet */
    int64_t left;     /* 0 or 1: there are some that are being removed */
    int64_t tries;    /* the most that any of them took in vain */
    const char *error;
};
det_status store_removal_state(struct db *db, int64_t experiment_id, struct arena *mem,
                               struct removal_state *ret_state, struct err *err);
/* Somebody asks again: no more waiting. */
det_status store_removals_again(struct db *db, int64_t experiment_id, struct err *err);

/* ---- what was never finished ----------------------------------------------------- */

/* A run that ended badly on an agent; nothing that it or an earlier one began to write
 * will be finished. */
struct sweep {
    const char *agent;
    int64_t trial_id;
    int64_t run_id;
    int64_t experiment_id;
    int64_t next_us;
};
/* A bounded number of those of an agent (NULL: of all) whose time has come. */
det_status store_sweeps_of(struct db *db, const char *agent, int64_t now_us,
                           struct arena *mem, struct sweep **ret_rows,
                           uint32_t *ret_count, struct err *err);
/* Nothing is left there; or something is, and `next_us` is then when to look again. */
det_status store_sweep_done(struct db *db, const struct sweep *sweep, struct err *err);

#endif
