/* SPDX-License-Identifier: Apache-2.0 */
/* proof_compare.h - compares checkpoints byte by byte and metrics value by value.  Files
 * whose bytes differ may have the same contents: see proof_contents.h. */
#ifndef CLI_PROOF_PROOF_COMPARE_H
#define CLI_PROOF_PROOF_COMPARE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/memory/vec.h"

struct arena;
struct io;
struct json;
struct proof_rules;

/* One difference.  Its texts live in the arena of the comparison. */
struct proof_difference {
    const char *name;        /* of the file or metric; NULL: the report itself */
    int64_t place;           /* the first byte, or the batches, where it differs */
    const char *undisturbed; /* a value or size with all digits; NULL: missing */
    const char *killed;
    const char *where; /* in the contents of a file; NULL: not known */
    uint64_t count;    /* reports that differ; 1 for files */
};

/* The comparison of a checkpoint, or of the reports of a group. */
struct proof_part {
    const char *group; /* NULL: the checkpoint */
    uint64_t items;    /* files or reports */
    uint64_t size_bytes;
    uint64_t left_out;     /* ignored files or values */
    uint64_t unplaced;     /* reports without batches, which cannot be matched */
    int64_t experiment_id; /* the killed one; set by the caller */
    VEC(struct proof_difference) differences;
    VEC(const char *) same_contents; /* files with other bytes, but the same contents */
};

struct proof_parts {
    VEC(struct proof_part) all;
};
void proof_parts_done(struct proof_parts *parts);
bool proof_is_same(const struct proof_parts *parts);

struct proof_directories {
    struct io *io;
    const char *undisturbed;
    const char *killed;
};
/* Compares two directories and adds a part. */
det_status proof_compare_files(const struct proof_directories *directories,
                               const struct proof_rules *rules, struct arena *mem,
                               struct proof_parts *parts, struct err *err);

struct proof_report {
    const char *group;
    int64_t steps;
    const struct json *values; /* name to value */
    uint64_t order;            /* of arrival */
};
struct proof_reports {
    VEC(struct proof_report) all;
};

/* Compares the reports and adds one part per group; sorts both lists.  Numbers are the
 * same if all their bits are. */
det_status proof_compare_reports(struct proof_reports *undisturbed,
                                 struct proof_reports *killed,
                                 const struct proof_rules *rules, struct arena *mem,
                                 struct proof_parts *parts, struct err *err);

#endif
