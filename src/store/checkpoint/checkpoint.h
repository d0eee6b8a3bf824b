/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint.h - rows of checkpoints. */
#ifndef STORE_CHECKPOINT_CHECKPOINT_H
#define STORE_CHECKPOINT_CHECKPOINT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "model/field.h"

struct arena;
struct db;
struct json;

struct checkpoint {
    const char *uuid;
    const char *task_id;
    const char *allocation_id; /* its name on the wire */
    int64_t trial_id;
    int64_t experiment_id;
    uint32_t state; /* enum checkpoint_state */
    int64_t steps_completed;
    const char *metadata;  /* JSON object */
    const char *resources; /* JSON object: path -> size */
    int64_t size_bytes;
    int64_t report_us;
    int64_t storage_id;
    double searcher_metric; /* of the validation at the same steps */
    bool has_searcher_metric;
    bool is_held; /* another trial began from it: it is not collected */
    /* Its run was given up before, or it holds kept files: no run resumes from it, it has
     * no rank, and no policy deletes it. */
    bool is_archived;
};
extern const struct field checkpoint_fields[];

/* *ret_is_new: it was not stored before.  An equal one again is fine. */
det_status store_checkpoint_add(struct db *db, const struct checkpoint *row,
                                bool *ret_is_new, struct err *err);
det_status store_checkpoint_get(struct db *db, const char *uuid, struct arena *mem,
                                struct checkpoint *ret_row, struct err *err);
/* The best complete checkpoint of a trial by the searcher's metric; without metrics the
 * latest.  *ret_found is false if there is none. */
det_status store_checkpoint_best(struct db *db, int64_t trial_id, struct arena *mem,
                                 struct checkpoint *ret_row, bool *ret_found,
                                 struct err *err);
/* New resources: none means DELETED, fewer PARTIALLY_DELETED. */
det_status store_checkpoint_set_resources(struct db *db, const char *uuid,
                                          const struct json *resources,
                                          struct arena *mem, struct err *err);
det_status store_checkpoint_set_metadata(struct db *db, const char *uuid,
                                         const char *metadata, struct err *err);
/* Sets the searcher's metric of the trial's checkpoint at those steps. */
det_status checkpoint_validated(struct db *db, int64_t trial_id, int64_t steps,
                                double metric, struct err *err);

enum checkpoint_sort {
    CHECKPOINT_BY_END_TIME,
    CHECKPOINT_BY_UUID,
    CHECKPOINT_BY_TRIAL,
    CHECKPOINT_BY_STEPS,
    CHECKPOINT_BY_STATE,
    CHECKPOINT_BY_METRIC,
};
struct checkpoint_query {
    int64_t experiment_id; /* or */
    int64_t trial_id;
    uint32_t states; /* bit set; 0: all */
    enum checkpoint_sort sort;
    bool is_descending;
    int64_t offset; /* negative: from the end */
    int64_t limit;  /* 0: all */
};
det_status store_checkpoint_list(struct db *db, const struct checkpoint_query *query,
                                 struct arena *mem, struct checkpoint **ret_rows,
                                 uint32_t *ret_count, int64_t *ret_total,
                                 struct err *err);

#endif
