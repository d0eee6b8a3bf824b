/* SPDX-License-Identifier: Apache-2.0 */
/* log_seek.h - the owner of a log, its line numbers, and the line at a time. */
#ifndef STORE_LOG_LOG_SEEK_H
#define STORE_LOG_LOG_SEEK_H

#include <stdint.h>

#include "base/err.h"

struct arena;
struct db;

/* The owner of a log, also before its first run.  DET_NOT_FOUND: no such task. */
struct log_owner {
    int64_t trial_id; /* 0: none */
    int64_t experiment_id;
    int64_t job_id;
};
det_status store_log_owner(struct db *db, const char *task_id,
                           struct log_owner *ret_owner, struct err *err);
/* The numbers of the stored lines: 1 and 0 for an empty log. */
struct log_span {
    int64_t first;
    int64_t last;
};
det_status store_log_span(struct db *db, const char *task_id, struct log_span *ret_span,
                          struct err *err);
/* The first line, in the order of arrival, of that time or later; the number after the
 * last line if there is none.  Later lines may have earlier times if several senders
 * write. */
det_status store_log_at(struct db *db, const char *task_id, int64_t time_us,
                        struct arena *mem, int64_t *ret_line, struct err *err);
/* The first line of the first chunk that has a line later than `after_us`; the number
 * after the last line if there is none. */
det_status log_seek(struct db *db, int64_t task, int64_t after_us, int64_t *ret_line,
                    struct err *err);

#endif
