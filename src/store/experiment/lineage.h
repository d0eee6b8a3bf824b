/* SPDX-License-Identifier: Apache-2.0 */
/* lineage.h - what an experiment was forked from, and what was forked from it. */
#ifndef STORE_EXPERIMENT_LINEAGE_H
#define STORE_EXPERIMENT_LINEAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct arena;
struct db;
struct field_strs;

struct kin {
    int64_t id;
    const char *name;
    uint32_t state;
    int64_t parent_id;
    bool is_gone; /* deleted: only its number is left */
};

/* Its parent, the parent's parent and so on, at most `most`. */
det_status store_experiment_ancestors(struct db *db, int64_t id, uint32_t most,
                                      struct arena *mem, struct kin **ret_kin,
                                      uint32_t *ret_count, struct err *err);
/* The experiments that were forked from it, by id, at most `most`. */
det_status store_experiment_children(struct db *db, int64_t id, uint32_t most,
                                     struct arena *mem, struct kin **ret_kin,
                                     uint32_t *ret_count, struct err *err);
/* The checkpoints that its trials began from, each once, at most `most`. */
det_status store_experiment_warm_starts(struct db *db, int64_t id, uint32_t most,
                                        struct arena *mem, struct field_strs *ret_uuids,
                                        struct err *err);

#endif
