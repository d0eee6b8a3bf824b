/* SPDX-License-Identifier: Apache-2.0 */
/* storage_roots.h - the directories in which checkpoints may be.
 *
 * A user chooses the storage of an experiment (checkpoint_storage), and the master reads
 * it for downloads while agents remove from it.  So the directory must be below a root:
 * the master's own storage, the one of its configuration, or one of
 * checkpoint_storage_roots.  A master that neither is root nor serves other machines,
 * and has no such list, allows every directory: it can read no more than the user who
 * started it, and that user submits.
 *
 * A root belongs to the administrator; below it tasks may have placed symlinks, so
 * everything below is opened without following them. */
#ifndef MASTER_STORAGE_ROOTS_H
#define MASTER_STORAGE_ROOTS_H

#include "base/err.h"

struct arena;
struct experiment_config;
struct json_writer;
struct master;

struct storage_root {
    const char *root;  /* borrowed, as is the rest */
    const char *below; /* the directory relative to it; "": the root itself */
};

/* DET_FORBIDDEN: `directory` is below no root. */
det_status storage_roots_find(const struct master *master, const char *directory,
                              struct arena *mem, struct storage_root *ret_root,
                              struct err *err);

/* For a configuration that is submitted; DET_INVALID, with the key's name. */
det_status storage_roots_check(const struct master *master,
                               const struct experiment_config *config,
                               struct arena *mem, struct err *err);

/* A list of all roots. */
void storage_roots_write(const struct master *master, struct json_writer *w,
                         const char *key);

#endif
