/* SPDX-License-Identifier: Apache-2.0 */
/* journal.h - events in the store, as JSON, that the heart will read. */
#ifndef MASTER_HEART_JOURNAL_H
#define MASTER_HEART_JOURNAL_H

#include "base/err.h"

struct arena;
struct core_event;
struct db;
struct journal_entry;

/* Inside a write job; the entry is committed with it.  Only the kinds of events that
 * journal.c lists. */
det_status journal_add(struct db *db, const struct core_event *event, struct err *err);
det_status journal_decode(const struct journal_entry *entry, struct arena *mem,
                          struct core_event *ret_event, struct err *err);

#endif
