/* SPDX-License-Identifier: Apache-2.0 */
/* experiment_text.h - how long the texts may be that people give to an experiment.
 *
 * Every list reads them for every row, and so does the table that everybody sees first: one
 * long text would make it slow for all, or too large to be shown. */
#ifndef MODEL_EXPERIMENT_TEXT_H
#define MODEL_EXPERIMENT_TEXT_H

#include "base/err.h"

struct json;

enum {
    EXPERIMENT_NAME_MOST = 1024, /* bytes; of the searcher's metric, too */
    EXPERIMENT_DESCRIPTION_MOST = 16384,
    EXPERIMENT_NOTES_MOST = 65536,
    EXPERIMENT_LABELS_MOST = 256,
    EXPERIMENT_LABEL_MOST = 256,             /* bytes */
    EXPERIMENT_HPARAMS_MOST = 4096,          /* hyperparameters, in nested maps too */
    EXPERIMENT_HPARAMS_BYTES_MOST = 1 << 18, /* of their names and values */
    PROJECT_COLUMNS_MOST = 20000, /* different names in a project, of each kind */
};

/* DET_TOO_LARGE with the length and the limit.  `what`: "the name"; `text` may be NULL. */
det_status experiment_text_check(const char *what, const char *text, size_t most,
                                 struct err *err);
/* Of a configuration, or of one trial: how many there are, and how long they are. */
det_status experiment_hparams_check(const struct json *hparams, struct err *err);
/* A list of strings; others are not looked at. */
det_status experiment_labels_check(const struct json *labels, struct err *err);

#endif
