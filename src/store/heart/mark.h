/* SPDX-License-Identifier: Apache-2.0 */
/* mark.h - high-water marks: how far the data of each sender is stored. */
#ifndef STORE_HEART_MARK_H
#define STORE_HEART_MARK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct db;

/* Of agent events and exit reports.  *ret_is_new: `seq` is above the mark and is now
 * the mark. */
det_status store_mark_advance(struct db *db, const char *sender, int64_t seq,
                              bool *ret_is_new, struct err *err);

/* Of the reports in the ring of one share. */
struct report_sender {
    int64_t allocation_id;
    int64_t source; /* its rank */
};
struct report_mark {
    int64_t number; /* of the last report that is stored; 0: none */
    bool is_late;   /* the run was given up: it is over, or its trial has a later one */
};
/* DET_STATE: no more reports are accepted, because the share's exit was reported. */
det_status store_report_mark(struct db *db, const struct report_sender *sender,
                             struct report_mark *ret_mark, struct err *err);
det_status store_report_mark_set(struct db *db, const struct report_sender *sender,
                                 int64_t number, struct err *err);

#endif
