/* SPDX-License-Identifier: Apache-2.0 */
/* level.h - summaries of many reports, from which long lines are drawn.
 *
 *   level 3   |-------------------------------------------|   16 x 16 x 16 blocks
 *   level 2   |-------------|-------------|-------------|     16 x 16 blocks
 *   level 1   |----|----|----|----| ...                       16 blocks
 *   level 0   |-|-|-|-| ...                                   a block of metrics
 *   rows      .................                               and the tail
 *
 * A page covers consecutive rows of one trial, group and run and has a list of nodes.
 * A node of level 0 covers LEVEL_NODE_ROWS rows; a node above covers a few nodes of the
 * level below.  A node has the bounds of its steps and times, and for each metric the
 * number of values, the smallest and the largest finite one, which of them came first,
 * and which kinds of values that are not finite.  A page has the first and the last
 * value of each metric, in steps and in time.
 *
 * Pages are written in the transaction that writes their blocks.  A page is valid only
 * for the blocks it was made of: if a block is added or dropped, the pages above it are
 * dropped, and made again when there are sixteen below.  A page above level 0 is made
 * of blocks without a gap, so rows of other blocks are never in its range.  Rows of the
 * tail may be in it; they are read separately.
 *
 * Reports are archived, never deleted (metric.h).  If a cut divides a page, the reader
 * uses the level below, and in the end the rows. */
#ifndef STORE_SERIES_LEVEL_H
#define STORE_SERIES_LEVEL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "store/metric/metric.h"
#include "store/series/series_pen.h"

struct arena;
struct buf;

enum {
    LEVELS = 4,
    LEVEL_NODE_ROWS = 32, /* of level 0 */
    LEVEL_PAGES = 16,     /* per page of the next level */
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

/* The ends by time are mostly equal to the ends by place. */
enum level_end_kind {
    LEVEL_FIRST, /* by place */
    LEVEL_LAST,
    LEVEL_EARLIEST, /* by time */
    LEVEL_LATEST,
    LEVEL_ENDS,
};

struct level_column {
    const char *name;
    struct series_sum *sum; /* one per node */
    struct level_end end[LEVEL_ENDS];
    bool has_ends;
};

/* A page in memory; everything is in one arena. */
struct level {
    uint32_t nodes;
    struct level_node *node;
    uint32_t columns;
    struct level_column *column; /* sorted by name */
};

det_status level_of_rows(const struct metric_rows *rows, struct arena *mem,
                         struct level *ret_level, struct err *err);
/* Merges consecutive pages into one; `each` nodes become one. */
det_status level_merge(const struct level *page, uint32_t count, uint32_t each,
                       struct arena *mem, struct level *ret_level, struct err *err);
void level_encode(const struct level *level, struct buf *out);
/* Decodes the columns of these names (sorted), in their order: *ret_level has exactly
 * `names` columns; a missing one has no `sum`.  NULL: all columns.  DET_CORRUPT: the
 * bytes are damaged. */
det_status level_decode(const void *bytes, size_t len, const char *const *name,
                        uint32_t names, struct arena *mem, struct level *ret_level,
                        struct err *err);

#endif
