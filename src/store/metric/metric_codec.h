/* SPDX-License-Identifier: Apache-2.0 */
/* metric_codec.h - columns of numbers as bytes.
 *
 * Whole numbers are stored as the first value, the smallest difference and the excess
 * of each difference over it, as varints.  If all differences are equal, only one is
 * stored, so regular steps and ids cost nothing.  Doubles are stored in the shortest
 * form: one value (if all are equal), whole numbers, floats, doubles.  A column with
 * holes begins with one bit per row.
 *
 * A failed write shows in the buffer, a failed read in the blob (blob.h). */
#ifndef STORE_METRIC_METRIC_CODEC_H
#define STORE_METRIC_METRIC_CODEC_H

#include "store/blob.h"

void metric_codec_put_ints(struct buf *out, const int64_t *value, uint32_t count);
void metric_codec_get_ints(struct blob *blob, int64_t *value, uint32_t count);
/* `scratch` has room for `count` values. */
void metric_codec_put_reals(struct buf *out, const double *value, uint32_t count,
                            int64_t *scratch);
void metric_codec_get_reals(struct blob *blob, double *value, uint32_t count,
                            int64_t *scratch);

/* Which rows have a value: one bit per row, unless all or none have. */
struct metric_codec_holes {
    const unsigned char *bits; /* NULL: all rows have one, or none */
    uint32_t present;
};
void metric_codec_put_holes(struct buf *out, const unsigned char *has, uint32_t rows,
                            uint32_t present);
struct metric_codec_holes metric_codec_get_holes(struct blob *blob, uint32_t rows);

static inline bool metric_codec_has(const struct metric_codec_holes *holes, uint32_t i)
{
    return holes->bits ? holes->bits[i / 8] >> (i % 8) & 1 : holes->present > 0;
}

#endif
