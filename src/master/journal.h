/* SPDX-License-Identifier: Apache-2.0 */
/* journal.h - events that wait in the store, as JSON. */
#ifndef MASTER_JOURNAL_H
#define MASTER_JOURNAL_H

#include "base/err.h"

struct arena;
struct core_event;
struct db;
struct journal_entry;

/* Within a write job: the event is remembered if the job is. */
det_status journal_add(struct db *db, const struct core_event *event, struct err *err);
det_status journal_decode(const struct journal_entry *entry, struct arena *mem,
                          struct core_event *ret_event, struct err *err);

#endif
