/* SPDX-License-Identifier: Apache-2.0 */
/* search.h - the state of a search: a snapshot and the inputs since. */
#ifndef STORE_EXPERIMENT_SEARCH_H
#define STORE_EXPERIMENT_SEARCH_H

#include <stdint.h>

#include "base/err.h"

struct db;
struct search_input;
struct search_snapshot;

det_status store_search_input_add(struct db *db, const struct search_input *row,
                                  struct err *err);
/* Also removes the inputs that the snapshot contains. */
det_status store_search_snapshot_put(struct db *db, const struct search_snapshot *row,
                                     struct err *err);
det_status store_search_drop(struct db *db, int64_t experiment_id, struct err *err);

#endif
