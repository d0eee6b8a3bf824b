/* SPDX-License-Identifier: Apache-2.0 */
/* stored_files.h - files in the checkpoint storage of an experiment.
 *
 * The storage may belong to tasks, which run other people's programs.  So files are opened
 * below an allowed root (storage_roots.h) without following symlinks, and a master that is
 * root sends only what the tasks' user may read. */
#ifndef MASTER_API_REPORTS_STORED_FILES_H
#define MASTER_API_REPORTS_STORED_FILES_H

#include <stdint.h>

#include "base/err.h"
#include "master/rm/run_user.h"

struct io_file;
struct request;

struct stored_place {
    const char *root;            /* an allowed root of storage */
    const char *below;           /* the storage directory, relative to it; "": itself */
    struct run_user_number user; /* whose rights limit what a root's master reads */
};

/* Where the experiment keeps its checkpoints; `user` is left alone.  DET_UNSUPPORTED: not in
 * a directory.  DET_FORBIDDEN: no longer below an allowed root. */
det_status stored_place_find(struct request *req, int64_t experiment_id,
                             struct stored_place *place);
/* The text of run_user.h as the place's user. */
det_status stored_place_set_user(struct request *req, const char *text,
                                 struct stored_place *place);
/* `below` is relative to the root. */
det_status stored_file_open(struct request *req, const struct stored_place *place,
                            const char *below, struct io_file **ret_file,
                            struct err *err);

#endif
