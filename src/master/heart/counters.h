/* SPDX-License-Identifier: Apache-2.0 */
/* counters.h - the core's counters as rows of `settings`: the next number of each kind of
 * record, and the last journal entry that the core has applied. */
#ifndef MASTER_HEART_COUNTERS_H
#define MASTER_HEART_COUNTERS_H

#include "base/err.h"

struct core_counters;
struct db;

/* Inside the heart's write job.  Journal entries that are applied are deleted. */
det_status counters_write(struct db *db, const struct core_counters *counters,
                          struct err *err);
/* A counter that was never stored has its first value. */
det_status counters_read(struct db *db, struct core_counters *ret_counters,
                         struct err *err);

#endif
