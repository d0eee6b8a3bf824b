/* SPDX-License-Identifier: Apache-2.0 */
/* level_page.h - the pages of level.h in the database. */
#ifndef STORE_SERIES_LEVEL_PAGE_H
#define STORE_SERIES_LEVEL_PAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "store/metric/metric.h"

struct arena;
struct db;
struct level;

struct level_page {
    int64_t id;    /* 0: a block that has no page yet */
    int64_t block; /* of level 0 */
    int level;
    struct metric_place first;
    struct metric_place last;
    int64_t min_us;
    int64_t max_us;
    int64_t count; /* rows */
};

struct level_pages {
    struct level_page *at;
    uint32_t count;
};

/* The largest pages of level `top` or below that cover all blocks of a run in a range,
 * in order, in `mem`.  The ends of the range may be ends of pages, not in the middle of
 * one. */
struct level_range {
    struct metric_place from; /* blocks that begin here or later ... */
    struct metric_place to;   /* ... and not after this place */
};
#define LEVEL_EVERYTHING                                                               \
    (struct level_range)                                                               \
    {                                                                                  \
        {INT64_MIN, 0},                                                                \
        {                                                                              \
            INT64_MAX, INT64_MAX                                                       \
        }                                                                              \
    }
det_status level_pages_load(struct db *db, const struct metric_key *key, int top,
                            struct level_range range, struct arena *mem,
                            struct level_pages *ret_pages, struct err *err);
det_status level_page_load(struct db *db, const struct level_page *page,
                           const char *const *name, uint32_t names, struct arena *mem,
                           struct level *ret_level, struct err *err);

/* Call them where a block is written or dropped. */
det_status level_block_put(struct db *db, const struct metric_key *key,
                           const struct metric_rows *rows, struct arena *mem,
                           struct err *err);
det_status level_block_drop(struct db *db, const struct metric_key *key,
                            struct metric_place first, struct metric_place last,
                            struct err *err);
/* Makes pages above level 0 where there are enough below.  Bounded: at most one per
 * level. */
det_status level_grow(struct db *db, const struct metric_key *key, struct err *err);
/* Makes the pages of some blocks of an older version.  *ret_did: there were any. */
det_status level_fill_step(struct db *db, bool *ret_did, struct err *err);

#endif
