/* SPDX-License-Identifier: Apache-2.0 */
/* log_seek.h - whose log it is, which lines it has and where in it a time is; what
 * stands there is read by store_log_read() (data.h). */
#ifndef STORE_LOG_SEEK_H
#define STORE_LOG_SEEK_H

#include <stdint.h>

#include "base/err.h"

struct arena;
struct db;

/* Whose log it is, also before its first run; DET_NOT_FOUND: there is no such task. */
struct log_owner {
    int64_t trial_id; /* 0: none */
    int64_t experiment_id;
    int64_t job_id;
};
det_status store_log_owner(struct db *db, const char *task_id,
                           struct log_owner *ret_owner, struct err *err);
/* The numbers of the lines that are there: 1 and 0 for none. */
struct log_span {
    int64_t first;
    int64_t last;
};
det_status store_log_span(struct db *db, const char *task_id, struct log_span *ret_span,
                          struct err *err);
/* The first line, in the order they came, of that time or later; behind the last one:
 * there is none.  Those behind it may be earlier, where several senders write. */
det_status store_log_at(struct db *db, const char *task_id, int64_t time_us,
                        struct arena *mem, int64_t *ret_line, struct err *err);

#endif
