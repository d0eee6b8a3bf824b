/* SPDX-License-Identifier: Apache-2.0 */
/* selection.h - some files of a directory, and copies of them. */
#ifndef LIBDET_SELECTION_H
#define LIBDET_SELECTION_H

#include "det/checkpoint.h"
#include "libdet/manifest.h"

/* NULL as the function: everything. */
struct selection {
    det_selector *selector;
    void *self;
};

/* Whether a path is wanted.  DET_FAILED: the selector says that it has failed. */
det_status selection_ask(const struct selection *selection, const char *path,
                         bool *ret_wants, struct err *err);
/* Takes out of a list what is not wanted.  The directories of what is wanted stay. */
det_status selection_cut(const struct selection *selection, struct manifest *manifest,
                         struct err *err);
/* Copies the files of a list, and makes its directories; several at once where there is
 * much to do.  The target is there. */
det_status selection_copy(struct io *io, const struct manifest *manifest,
                          const char *from, const char *to, struct err *err);

#endif
