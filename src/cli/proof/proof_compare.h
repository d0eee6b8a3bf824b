/* SPDX-License-Identifier: Apache-2.0 */
/* proof_compare.h - compares checkpoints byte by byte and metrics value by value. */
#ifndef CLI_PROOF_PROOF_COMPARE_H
#define CLI_PROOF_PROOF_COMPARE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/memory/vec.h"
#include "model/field.h"

struct arena;
struct io;
struct json;

/* One difference.  Its texts live in the arena of the comparison. */
struct proof_difference {
    const char *name;        /* of the file or metric; NULL: the report itself */
    int64_t place;           /* the first byte, or the batches, where it differs */
    const char *undisturbed; /* a value or size with all digits; NULL: missing */
    const char *killed;
    uint64_t count; /* reports that differ; 1 for files */
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
};

struct proof_parts {
    VEC(struct proof_part) all;
};
void proof_parts_done(struct proof_parts *parts);
bool proof_is_same(const struct proof_parts *parts);

/* Patterns of files that are not compared: those of the user, and those in `not_state` of
 * the checkpoint's metadata (files with the id of the experiment, for example).  Borrows
 * from both. */
det_status proof_left_out(const struct field_strs *ignored, const struct json *metadata,
                          struct arena *mem, struct field_strs *ret_patterns,
                          struct err *err);

/* Compares two directories and adds a part.  `ignored` are patterns of paths for
 * fnmatch(3). */
det_status proof_compare_files(struct io *io, const char *undisturbed,
                               const char *killed, const struct field_strs *ignored,
                               struct arena *mem, struct proof_parts *parts,
                               struct err *err);

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
 * same if all their bits are.  `ignored` are patterns of names: "seconds",
 * "training.seconds", "time*". */
det_status proof_compare_reports(struct proof_reports *undisturbed,
                                 struct proof_reports *killed,
                                 const struct field_strs *ignored, struct arena *mem,
                                 struct proof_parts *parts, struct err *err);

#endif
