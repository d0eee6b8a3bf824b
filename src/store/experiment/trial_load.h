/* SPDX-License-Identifier: Apache-2.0 */
/* trial_load.h - the load of the machines that a trial runs on, as its supervisors measure
 * it.  They are not metrics: nothing that counts or lists reports of a trial sees them. */
#ifndef STORE_EXPERIMENT_TRIAL_LOAD_H
#define STORE_EXPERIMENT_TRIAL_LOAD_H

#include <stdint.h>

#include "base/err.h"

struct arena;
struct db;

enum { TRIAL_LOADS_MOST = 1000 }; /* of a trial on one agent */

struct trial_load {
    const char *agent;
    int64_t time_us;
    const char *load; /* JSON: {"cpu": {"cpu_util_simple": 2.5}, ...} */
};

/* Adds one.  If there are more than TRIAL_LOADS_MOST, every second one goes: the curve
 * becomes coarser, and keeps its length.  One with the same time replaces the other. */
det_status store_trial_load_add(struct db *db, int64_t trial_id,
                                const struct trial_load *load, struct err *err);
/* All of a trial, by agent and time. */
det_status store_trial_loads(struct db *db, int64_t trial_id, struct arena *mem,
                             struct trial_load **ret_rows, uint32_t *ret_count,
                             struct err *err);

#endif
