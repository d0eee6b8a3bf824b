/* SPDX-License-Identifier: Apache-2.0 */
/* metric_compact.h - compaction: tail rows become blocks. */
#ifndef STORE_METRIC_METRIC_COMPACT_H
#define STORE_METRIC_METRIC_COMPACT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "store/metric/metric.h"

struct arena;
struct db;
struct metric_group;

/* One step: turns the oldest full run of tail rows into a block.  *ret_did: there was
 * something to do.  `everything`: also short runs (tests, bench, the end of a
 * trial). */
det_status store_metric_compact(struct db *db, bool everything, bool *ret_did,
                                struct err *err);
/* Puts the rows of the block that holds exactly this place back into the tail. */
det_status metric_block_unpack(struct db *db, const struct metric_key *key,
                               struct metric_group *group, struct metric_place place,
                               struct arena *mem, struct err *err);
/* Removes a bounded part of a trial's metrics.  *ret_more: call again. */
det_status metric_delete_step(struct db *db, int64_t trial_id, bool *ret_more,
                              struct err *err);

#endif
