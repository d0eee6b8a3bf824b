/* SPDX-License-Identifier: Apache-2.0 */
/* experiment_edit.h - changes that people make to an experiment. */
#ifndef STORE_EXPERIMENT_EXPERIMENT_EDIT_H
#define STORE_EXPERIMENT_EXPERIMENT_EDIT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct arena;
struct db;

/* NULL leaves a text unchanged. */
struct experiment_patch {
    const char *name;
    const char *description;
    const char *notes;
    const char *notes_before; /* DET_EXISTS if the notes differ; NULL: do not compare */
    const char *labels;
    bool has_gc;
    int64_t save_experiment_best; /* stored in the configuration; -1: unchanged */
    int64_t save_trial_best;
    int64_t save_trial_latest;
    bool has_log_retention;
    int64_t log_retention_days;
};
det_status store_experiment_patch(struct db *db, int64_t id,
                                  const struct experiment_patch *patch,
                                  struct arena *mem, struct err *err);
/* Adds a label unless the experiment has it, and removes a label; either may be NULL.
 * *ret_labels is a JSON list in `mem`. */
det_status store_experiment_relabel(struct db *db, int64_t id, const char *add,
                                    const char *drop, struct arena *mem,
                                    const char **ret_labels, struct err *err);
/* DET_STATE with the reference's sentences. */
det_status store_experiment_archive(struct db *db, int64_t id, bool is_archived,
                                    struct err *err);

#endif
