/* SPDX-License-Identifier: Apache-2.0 */
/* log_compact.h - merging small chunks and removing old lines. */
#ifndef STORE_LOG_LOG_COMPACT_H
#define STORE_LOG_LOG_COMPACT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct db;

/* One step of merging.  *ret_did: there was something to do. */
det_status store_log_compact(struct db *db, bool *ret_did, struct err *err);
/* Removes chunks whose lines are all older than their task's retention.  Bounded: call
 * again while *ret_removed (lines) is not 0. */
det_status store_log_expire(struct db *db, int64_t now_us, int64_t default_days,
                            int64_t *ret_removed, struct err *err);
/* Removes a bounded part of a task's log.  *ret_more: call again. */
det_status log_delete_step(struct db *db, const char *task_id, bool *ret_more,
                           struct err *err);

#endif
