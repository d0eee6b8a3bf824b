/* SPDX-License-Identifier: Apache-2.0 */
#include "store/metric/metric_codec.h"

#include <math.h>
#include <string.h>

#include "base/compiler.h"
#include "store/blob.h"

enum ints_form { INTS_EVEN, INTS_UNEVEN };
enum reals_form { REALS_EQUAL, REALS_WHOLE, REALS_SINGLE, REALS_DOUBLE };

/* ---- writing --------------------------------------------------------------------- */

void metric_codec_put_ints(struct buf *out, const int64_t *value, uint32_t count)
{
    int64_t least = 0;
    bool is_even = true;

    for (uint32_t i = 1; i < count; i++) {
        int64_t step = (int64_t)((uint64_t)value[i] - (uint64_t)value[i - 1]);

        if (i > 1 && step != least)
            is_even = false;
        if (i == 1 || step < least)
            least = step;
    }
    buf_putc(out, is_even ? INTS_EVEN : INTS_UNEVEN);
    buf_put_zigzag(out, count ? value[0] : 0);
    buf_put_zigzag(out, least);
    for (uint32_t i = 1; i < count && !is_even; i++)
        buf_put_varint(out,
                       (uint64_t)value[i] - (uint64_t)value[i - 1] - (uint64_t)least);
}

static bool all_equal(const double *value, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++) {
        if (memcmp(&value[i], &value[0], sizeof(*value)) != 0)
            return false;
    }
    return true;
}

static bool is_single(double value)
{
    double back = (double)(float)value;

    return memcmp(&back, &value, sizeof(value)) == 0;
}

static bool is_whole(double value)
{
    double back;

    if (!(fabs(value) <= 9007199254740992.0))
        return false;
    back = (double)(int64_t)value; /* also drops the sign of -0 */
    return memcmp(&back, &value, sizeof(value)) == 0;
}

static bool all_values(const double *value, uint32_t count, bool (*is)(double value))
{
    for (uint32_t i = 0; i < count; i++) {
        if (!is(value[i]))
            return false;
    }
    return true;
}

/* Returns false, and writes nothing, if it would not be shorter. */
static bool put_whole(struct buf *out, const double *value, uint32_t count,
                      size_t otherwise, int64_t *scratch)
{
    size_t before = out->len;

    for (uint32_t i = 0; i < count; i++)
        scratch[i] = (int64_t)value[i];
    buf_putc(out, REALS_WHOLE);
    metric_codec_put_ints(out, scratch, count);
    if (out->len - before <= otherwise)
        return true;
    buf_cut(out, before);
    return false;
}

void metric_codec_put_reals(struct buf *out, const double *value, uint32_t count,
                            int64_t *scratch)
{
    bool is_short = all_values(value, count, is_single);

    if (all_equal(value, count)) {
        buf_putc(out, REALS_EQUAL);
        buf_put_f64(out, count ? value[0] : 0);
        return;
    }
    if (all_values(value, count, is_whole) &&
        put_whole(out, value, count, (size_t)count * (is_short ? 4 : 8), scratch))
        return;
    buf_putc(out, is_short ? REALS_SINGLE : REALS_DOUBLE);
    if (!is_short) {
        buf_add(out, value, (size_t)count * sizeof(*value));
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        float single = (float)value[i];

        buf_add(out, &single, sizeof(single));
    }
}

void metric_codec_put_holes(struct buf *out, const unsigned char *has, uint32_t rows,
                            uint32_t present)
{
    buf_put_varint(out, present);
    if (present == rows || !present)
        return;
    for (uint32_t at = 0; at < rows; at += 8) {
        unsigned char bits = 0;

        for (uint32_t i = at; i < rows && i < at + 8; i++)
            bits |= (unsigned char)(has[i] << (i - at));
        buf_putc(out, (char)bits);
    }
}

/* ---- reading --------------------------------------------------------------------- */

void metric_codec_get_ints(struct blob *blob, int64_t *value, uint32_t count)
{
    const unsigned char *form = blob_bytes(blob, 1);
    int64_t first = blob_zigzag(blob);
    int64_t least = blob_zigzag(blob);

    for (uint32_t i = 0; i < count; i++) {
        uint64_t more = i && form && *form == INTS_UNEVEN ? blob_varint(blob) : 0;

        if (i)
            first = (int64_t)((uint64_t)first + (uint64_t)least + more);
        value[i] = first;
    }
}

static void get_singles(struct blob *blob, double *value, uint32_t count)
{
    const char *bytes = blob_bytes(blob, (uint64_t)count * sizeof(float));

    for (uint32_t i = 0; i < count && bytes; i++) {
        float single;

        memcpy(&single, bytes + i * sizeof(single), sizeof(single));
        value[i] = (double)single;
    }
}

void metric_codec_get_reals(struct blob *blob, double *value, uint32_t count,
                            int64_t *scratch)
{
    const unsigned char *form = blob_bytes(blob, 1);
    const void *bytes;
    double equal;

    switch (form ? *form : REALS_DOUBLE) {
    case REALS_EQUAL:
        equal = blob_f64(blob);
        for (uint32_t i = 0; i < count; i++)
            value[i] = equal;
        break;
    case REALS_WHOLE:
        metric_codec_get_ints(blob, scratch, count);
        for (uint32_t i = 0; i < count; i++)
            value[i] = (double)scratch[i];
        break;
    case REALS_SINGLE:
        get_singles(blob, value, count);
        break;
    case REALS_DOUBLE:
        bytes = blob_bytes(blob, (uint64_t)count * sizeof(*value));
        if (bytes)
            memcpy(value, bytes, (size_t)count * sizeof(*value));
        break;
    default: /* damaged */
        blob->is_bad = true;
    }
}

struct metric_codec_holes metric_codec_get_holes(struct blob *blob, uint32_t rows)
{
    struct metric_codec_holes holes = {0};
    uint64_t present = blob_varint(blob);

    if (present > rows) {
        blob->is_bad = true;
        return holes;
    }
    holes.present = (uint32_t)present;
    if (present && present < rows)
        holes.bits = blob_bytes(blob, (rows + 7) / 8);
    return holes;
}
