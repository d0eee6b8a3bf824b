/* SPDX-License-Identifier: Apache-2.0 */
/* level.h - stretches of reports summed up, so that a long line is drawn from little.
 *
 *   level 3   |-------------------------------------------|   16 x 16 x 16 blocks
 *   level 2   |-------------|-------------|-------------|     16 x 16 blocks
 *   level 1   |----|----|----|----| ...                       16 blocks
 *   level 0   |-|-|-|-| ...                                   a block of metrics
 *   rows      .................                              ... and the tail, on top
 *
 * A page covers rows that follow each other within one trial, group and run, and has a
 * list of nodes: of level 0 LEVEL_NODE_ROWS rows each, above that a few nodes of the
 * pages below it.  A node has the bounds of its steps and times, and for each metric
 * how many values it has, the smallest and the largest finite one, which of them came
 * first, and what is not finite.  A page has the first and the last value of each
 * metric, in steps and in time.
 *
 * Pages are written in the transaction that writes their blocks.  A page is only right
 * for the blocks it was made of: where a block comes or goes, the pages above it go,
 * and are made again when the next sixteen are there.  A page above level 0 is made of
 * blocks without a gap, so rows of other blocks are never in its stretch; rows of the
 * tail may be, and are read by themselves.
 *
 * Numbers are never taken back, only archived (metric.h): a stretch that a cut divides
 * is read from the next level below, in the end from its rows. */
#ifndef STORE_LEVEL_H
#define STORE_LEVEL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "store/metric.h"
#include "store/series_pen.h"

struct arena;
struct buf;
struct db;

enum {
    LEVELS = 4,
    LEVEL_NODE_ROWS = 32, /* of level 0 */
    LEVEL_PAGES = 16,     /* that a page of the next level is made of */
};

struct level_node {
    int64_t first_steps;
    int64_t last_steps;
    int64_t min_us;
    int64_t max_us;
    int64_t rows;
};

struct level_end {
    int64_t steps;
    int64_t report_us;
    double value;
};

/* Mostly the first two are the others, too. */
enum level_end_kind {
    LEVEL_FIRST, /* by place */
    LEVEL_LAST,
    LEVEL_EARLIEST, /* by time */
    LEVEL_LATEST,
    LEVEL_ENDS,
};

struct level_column {
    const char *name;
    struct series_sum *sum; /* one a node */
    struct level_end end[LEVEL_ENDS];
    bool has_ends;
};

/* A page in memory; everything lies in one arena. */
struct level {
    uint32_t nodes;
    struct level_node *node;
    uint32_t columns;
    struct level_column *column; /* sorted by name */
};

/* ---- pages in memory (level.c) --------------------------------------------------- */

det_status level_of_rows(const struct metric_rows *rows, struct arena *mem,
                         struct level *ret_level, struct err *err);
/* Pages that follow each other into one; `each` nodes of a page become one. */
det_status level_merge(const struct level *page, uint32_t count, uint32_t each,
                       struct arena *mem, struct level *ret_level, struct err *err);
void level_encode(const struct level *level, struct buf *out);
/* Only the columns of these names (sorted), in their order: *ret_level has exactly
 * `names` columns, of which those that are not there have no `sum`.  NULL: all columns.
 * DET_CORRUPT. */
det_status level_decode(const void *bytes, size_t len, const char *const *name,
                        uint32_t names, struct arena *mem, struct level *ret_level,
                        struct err *err);

/* ---- pages in the database (store_level.c) --------------------------------------- */

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

/* The pages of level `top` or below that cover all blocks of the run between two places
 * (both may be ends of pages, not in the middle of one), the largest there are, in
 * order.  Into `mem`. */
struct level_range {
    struct metric_place from; /* blocks that begin here or behind ... */
    struct metric_place to;   /* ... and not behind here */
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

/* A block was written, or goes: called where that happens. */
det_status level_block_put(struct db *db, const struct metric_key *key,
                           const struct metric_rows *rows, struct arena *mem,
                           struct err *err);
det_status level_block_drop(struct db *db, const struct metric_key *key,
                            struct metric_place first, struct metric_place last,
                            struct err *err);
/* Pages above level 0 for which there are enough below by now.  Bounded: at most one a
 * level. */
det_status level_grow(struct db *db, const struct metric_key *key, struct err *err);
/* Some blocks of an older version get their pages.  *ret_did: there were any. */
det_status level_fill_step(struct db *db, bool *ret_did, struct err *err);

#endif
