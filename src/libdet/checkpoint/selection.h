/* SPDX-License-Identifier: Apache-2.0 */
/* selection.h - selects files of a directory, and copies them. */
#ifndef LIBDET_CHECKPOINT_SELECTION_H
#define LIBDET_CHECKPOINT_SELECTION_H

#include "det/checkpoint.h"
#include "libdet/checkpoint/manifest.h"

/* A NULL function selects everything. */
struct selection {
    det_selector *selector;
    void *self;
};

/* Asks whether a path is wanted.  DET_FAILED: the selector failed. */
det_status selection_ask(const struct selection *selection, const char *path,
                         bool *ret_wants, struct err *err);
/* Removes unwanted entries from a list, but keeps the directories of wanted ones. */
det_status selection_cut(const struct selection *selection, struct manifest *manifest,
                         struct err *err);
/* Copies the files of a list and makes its directories, with several threads if there
 * is much to do.  The target must exist. */
det_status selection_copy(struct io *io, const struct manifest *manifest,
                          const char *from, const char *to, struct err *err);

#endif
