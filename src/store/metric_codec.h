/* SPDX-License-Identifier: Apache-2.0 */
/* metric_codec.h - columns of numbers as bytes.
 *
 * Whole numbers are first value, smallest difference and what each difference has more,
 * as varints; when all differences are equal only that one is kept, so that regular
 * steps and ids cost nothing.  Doubles are kept as the shortest of: one value (all
 * equal), whole numbers, floats (when all are), doubles.  Columns with holes begin with
 * a bit a row.
 *
 * Writing fails in the buffer, reading in the blob (blob.h). */
#ifndef STORE_METRIC_CODEC_H
#define STORE_METRIC_CODEC_H

#include "store/blob.h"

void codec_put_ints(struct buf *out, const int64_t *value, uint32_t count);
void codec_get_ints(struct blob *blob, int64_t *value, uint32_t count);
/* `scratch` has room for as many. */
void codec_put_reals(struct buf *out, const double *value, uint32_t count,
                     int64_t *scratch);
void codec_get_reals(struct blob *blob, double *value, uint32_t count,
                     int64_t *scratch);

/* Which rows have something: 1 a row, when not all or none have. */
struct codec_holes {
    const unsigned char *bits; /* NULL: none, or nothing is there */
    uint32_t present;
};
void codec_put_holes(struct buf *out, const unsigned char *has, uint32_t rows,
                     uint32_t present);
struct codec_holes codec_get_holes(struct blob *blob, uint32_t rows);

static inline bool codec_has(const struct codec_holes *holes, uint32_t i)
{
    return holes->bits ? holes->bits[i / 8] >> (i % 8) & 1 : holes->present > 0;
}

#endif
