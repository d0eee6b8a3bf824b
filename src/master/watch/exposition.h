/* SPDX-License-Identifier: Apache-2.0 */
/* exposition.h - metrics as Prometheus reads them: the text format, version 0.0.4.
 *
 *   # HELP det_slots Slots by pool and state
 *   # TYPE det_slots gauge
 *   det_slots{pool="default",state="free"} 4
 *
 * A row describes one metric.  Its reader writes the samples, with one value for each label
 * of the row. */
#ifndef MASTER_WATCH_EXPOSITION_H
#define MASTER_WATCH_EXPOSITION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct exposition;
struct histogram;
struct histogram_bounds;
struct watch_facts;

#define EXPOSITION_TYPE "text/plain; version=0.0.4; charset=utf-8"

enum metric_type { METRIC_COUNTER, METRIC_GAUGE, METRIC_HISTOGRAM };
enum metric_unit { METRIC_NUMBER, METRIC_SECONDS /* values are in microseconds */ };
enum { METRIC_LABELS = 2, METRIC_UNKNOWN = -1 /* a value that is left out */ };

typedef void metric_read_fn(struct exposition *out, const struct watch_facts *facts);

struct metric_row {
    const char *name;
    enum metric_type type;
    enum metric_unit unit;
    const char *help;
    const char *labels[METRIC_LABELS]; /* NULL: none */
    metric_read_fn *read;              /* NULL: the number at `offset` of the facts */
    size_t offset;
};

struct exposition {
    struct buf *out;
    const struct metric_row *row;
};

extern const char *const metric_type_names[];

/* The row's heading and its samples. */
void exposition_write(struct buf *out, const struct metric_row *row,
                      const struct watch_facts *facts);

/* For readers.  NULL for a label that the row does not have. */
void exposition_sample(struct exposition *out, const char *first, const char *second,
                       int64_t value);
void exposition_histogram(struct exposition *out, const char *first, const char *second,
                          const struct histogram *histogram,
                          const struct histogram_bounds *bounds);

#endif
