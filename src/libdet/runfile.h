/* SPDX-License-Identifier: Apache-2.0 */
/* runfile.h - how programs of one user find the master that runs here.
 *
 * A master writes <data-dir>/master.json when it answers and removes it when it ends.
 * The file alone proves nothing: it may be left over, its pid may be somebody else's by
 * now, and whoever listens on the port may be a stranger.  runfile_find() therefore
 * believes it only when
 *
 *   1. the file belongs to this user (or root),
 *   2. the process is alive and the master's lock, <data-dir>/master.lock, is held,
 *   3. GET /info at its address answers with the very cluster id in the file. */
#ifndef LIBDET_RUNFILE_H
#define LIBDET_RUNFILE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct arena;
struct io;
struct net;

#define RUNFILE_NAME "master.json"
#define RUNFILE_LOCK "master.lock"

struct runfile {
    const char *url; /* "http://127.0.0.1:8080" */
    const char *host;
    uint16_t port;
    int64_t pid;
    const char *cluster_id;
    const char *master_id;
    const char *agent_token_file;
};

/* $XDG_DATA_HOME/det, else ~/.local/share/det.  DET_NOT_FOUND: no home directory. */
det_status data_dir_default(struct arena *mem, const char **ret_path, struct err *err);

/* Only its owner can read the file. */
det_status runfile_write(struct io *io, const char *data_dir, const struct runfile *run,
                         struct err *err);
/* Fine when it is not there. */
det_status runfile_remove(struct io *io, const char *data_dir, struct err *err);
/* The file as it is.  DET_NOT_FOUND; DET_CORRUPT. */
det_status runfile_read(struct io *io, const char *data_dir, struct arena *mem,
                        struct runfile *ret_run, struct err *err);
/* DET_NOT_FOUND: no master of ours runs there (the sentence says why).
 * DET_FORBIDDEN: somebody else's file, or somebody else on its port. */
det_status runfile_find(struct io *io, struct net *net, const char *data_dir,
                        struct arena *mem, struct runfile *ret_run, struct err *err);

/* The address that a task should use for the master it was given: another one once the
 * master has moved, as the task's supervisor has written into `path` (DET_MASTER_FILE;
 * NULL: nowhere).  `given` itself, when nothing else is known or can be read. */
const char *runfile_moved(struct io *io, const char *path, const char *given,
                          struct arena *mem);

/* Whether there is a process of that number. */
bool pid_is_alive(int64_t pid);

#endif
