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

/* Takes out of a list what is not wanted.  The directories of what is wanted stay. */
det_status selection_cut(const struct selection *selection, struct manifest *manifest,
                         struct err *err);
/* Copies the files of a list, and makes its directories; several at once where there is
 * much to do.  The target is there. */
det_status selection_copy(struct io *io, const struct manifest *manifest,
                          const char *from, const char *to, struct err *err);

#endif
