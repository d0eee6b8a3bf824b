/* SPDX-License-Identifier: Apache-2.0 */
/* metric_parts.h - a report split into numbers and other values. */
#ifndef STORE_METRIC_METRIC_PARTS_H
#define STORE_METRIC_METRIC_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct arena;
struct json;
struct metric_shape;
struct report_metrics;

struct metric_part {
    const char *name; /* `len` bytes */
    size_t len;
    double value;            /* of a number */
    const struct json *json; /* as it came; NULL: a bare number */
};

/* Numbers that a double can hold, and everything else; each sorted by name.  They come
 * from a tree or from the values of a ring's record; after that both are the same. */
struct metric_parts {
    struct metric_part *number;
    struct metric_part *other;
    uint32_t numbers;
    uint32_t others;
};

/* Borrow from their input; the arrays are in `mem`. */
det_status metric_parts_of_json(const struct json *object, struct arena *mem,
                                struct metric_parts *ret_parts, struct err *err);
/* DET_INVALID: a value that should be JSON is not. */
det_status metric_parts_of_values(const struct report_metrics *values,
                                  struct arena *mem, struct metric_parts *ret_parts,
                                  struct err *err);
/* DET_INVALID: a name is not valid text, or occurs twice. */
det_status metric_parts_check(const struct metric_parts *parts, struct err *err);
bool metric_parts_fit(const struct metric_parts *parts,
                      const struct metric_shape *shape);
/* Copies the names; NULL if memory is out. */
struct metric_shape *metric_parts_shape(const struct metric_parts *parts, int64_t id,
                                        struct arena *mem);

/* {"name": value, ...}: the values of a ring's record as a tree in `mem`.  DET_INVALID
 * as above. */
det_status metric_values_json(const struct report_metrics *values, struct arena *mem,
                              struct json **ret_object, struct err *err);

#endif
