/* SPDX-License-Identifier: Apache-2.0 */
/* journal.h - reports that are also events, kept until the heart has applied them. */
#ifndef STORE_HEART_JOURNAL_H
#define STORE_HEART_JOURNAL_H

#include <stdint.h>

#include "base/err.h"

struct arena;
struct db;

struct journal_entry {
    int64_t seq;
    uint32_t kind;    /* the heart's event kind */
    const char *data; /* JSON, the master's encoding */
};
det_status store_journal_add(struct db *db, uint32_t kind, const char *data,
                             int64_t *ret_seq, struct err *err);
/* Entries after `after`, in order, at most `limit`. */
det_status store_journal_read(struct db *db, int64_t after, uint32_t limit,
                              struct arena *mem, struct journal_entry **ret_entries,
                              uint32_t *ret_count, struct err *err);
det_status store_journal_drop(struct db *db, int64_t upto, struct err *err);

#endif
