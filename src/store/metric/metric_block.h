/* SPDX-License-Identifier: Apache-2.0 */
/* metric_block.h - many reports of one run as a block of columns. */
#ifndef STORE_METRIC_METRIC_BLOCK_H
#define STORE_METRIC_METRIC_BLOCK_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct arena;
struct buf;
struct metric_cells;

/* Rows are sorted by their places.  Appends to `head` and `data`. */
det_status metric_block_encode(const struct metric_cells *row, uint32_t count,
                               struct arena *mem, struct buf *head, struct buf *data,
                               struct err *err);
det_status metric_block_decode(const void *data, size_t len, struct arena *mem,
                               struct metric_cells **ret_rows, uint32_t *ret_count,
                               struct err *err);

/* Only some columns of a block.  A number that is JSON in its row (too long for a
 * double) is here the nearest double. */
struct metric_columns {
    uint32_t rows;
    int64_t *steps;
    int64_t *report_us;
    double **value;      /* per wanted name: `rows` of them */
    unsigned char **has; /* likewise: 1 where the row has it; NULL: no row has */
};
/* Like strcmp(); the second name is `len` bytes without an end. */
int metric_name_compare(const char *name, const char *bytes, uint64_t len);
/* `name` is sorted.  Into `mem`. */
det_status metric_block_columns(const void *data, size_t len, const char *const *name,
                                uint32_t names, struct arena *mem,
                                struct metric_columns *ret_columns, struct err *err);

#endif
