/* SPDX-License-Identifier: Apache-2.0 */
#include "master/watch/exposition.h"

#include <assert.h>
#include <inttypes.h>
#include <stdatomic.h>

#include "base/histogram.h"
#include "base/memory/buf.h"

const char *const metric_type_names[] = {
    [METRIC_COUNTER] = "counter",
    [METRIC_GAUGE] = "gauge",
    [METRIC_HISTOGRAM] = "histogram",
};

/* The format escapes these three, and takes every other byte as it is. */
static void put_label_value(struct buf *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '\n') {
            buf_puts(out, "\\n");
            continue;
        }
        if (*text == '\\' || *text == '"')
            buf_putc(out, '\\');
        buf_putc(out, *text);
    }
}

static void put_value(struct buf *out, enum metric_unit unit, int64_t value)
{
    if (unit == METRIC_SECONDS && value % 1000000)
        buf_printf(out, "%s%" PRId64 ".%06" PRId64, value < 0 ? "-" : "",
                   value < 0 ? -value / 1000000 : value / 1000000,
                   value < 0 ? -value % 1000000 : value % 1000000);
    else
        buf_printf(out, "%" PRId64, unit == METRIC_SECONDS ? value / 1000000 : value);
}

/* The name and the labels of a sample; `bound` NULL: not a bucket. */
static void put_name(struct exposition *out, const char *suffix,
                     const char *const values[METRIC_LABELS], const int64_t *bound)
{
    const struct metric_row *row = out->row;
    const char *before = "{";

    buf_puts(out->out, row->name);
    buf_puts(out->out, suffix);
    for (int i = 0; i < METRIC_LABELS; i++) {
        assert(!row->labels[i] == !values[i]);
        if (!values[i])
            continue;
        buf_printf(out->out, "%s%s=\"", before, row->labels[i]);
        put_label_value(out->out, values[i]);
        buf_putc(out->out, '"');
        before = ",";
    }
    if (bound) {
        buf_printf(out->out, "%sle=\"", before);
        if (*bound == INT64_MAX)
            buf_puts(out->out, "+Inf");
        else
            put_value(out->out, row->unit, *bound);
        buf_putc(out->out, '"');
    }
    if (bound || values[0])
        buf_putc(out->out, '}');
    buf_putc(out->out, ' ');
}

void exposition_sample(struct exposition *out, const char *first, const char *second,
                       int64_t value)
{
    const char *const values[METRIC_LABELS] = {first, second};

    if (value == METRIC_UNKNOWN)
        return;
    put_name(out, "", values, NULL);
    put_value(out->out, out->row->unit, value);
    buf_putc(out->out, '\n');
}

void exposition_histogram(struct exposition *out, const char *first, const char *second,
                          const struct histogram *histogram,
                          const struct histogram_bounds *bounds)
{
    const char *const values[METRIC_LABELS] = {first, second};
    uint64_t count = 0;

    for (int i = 0; i <= HISTOGRAM_BOUNDS; i++) {
        int64_t bound = i < HISTOGRAM_BOUNDS ? bounds->most[i] : INT64_MAX;

        count += atomic_load_explicit(&histogram->bucket[i], memory_order_relaxed);
        put_name(out, "_bucket", values, &bound);
        buf_printf(out->out, "%" PRIu64 "\n", count);
    }
    put_name(out, "_sum", values, NULL);
    put_value(out->out, out->row->unit,
              (int64_t)atomic_load_explicit(&histogram->sum, memory_order_relaxed));
    buf_putc(out->out, '\n');
    put_name(out, "_count", values, NULL);
    buf_printf(out->out, "%" PRIu64 "\n", count);
}

void exposition_write(struct buf *out, const struct metric_row *row,
                      const struct watch_facts *facts)
{
    struct exposition exposition = {out, row};

    buf_printf(out, "# HELP %s %s\n# TYPE %s %s\n", row->name, row->help, row->name,
               metric_type_names[row->type]);
    if (row->read)
        row->read(&exposition, facts);
    else
        exposition_sample(&exposition, NULL, NULL,
                          *(const int64_t *)((const char *)facts + row->offset));
}
