/* SPDX-License-Identifier: Apache-2.0 */
/* runfile.h - how programs of one user find the master on this machine.
 *
 * A master writes <data-dir>/master.json when it is ready and removes it when it ends.
 * The file alone proves nothing: it may be left over, its pid may belong to another
 * process by now, and another program may listen on the port.  So runfile_find()
 * believes it only if
 *
 *   1. the file belongs to this user (or root),
 *   2. the process is alive and the master's lock, <data-dir>/master.lock, is held,
 *   3. GET /info at its address returns the cluster id of the file. */
#ifndef LIBDET_CLIENT_RUNFILE_H
#define LIBDET_CLIENT_RUNFILE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct arena;
struct io;
struct net;

#define RUNFILE_NAME "master.json"
#define RUNFILE_LOCK "master.lock"
#define RUNFILE_LAST "master.last" /* of a master that has ended */

struct runfile {
    const char *url; /* "http://127.0.0.1:8080" */
    const char *host;
    uint16_t port;
    int64_t pid;
    const char *cluster_id;
    const char *master_id;
    const char *agent_token_file;
    const char *cert_file; /* what it shows over TLS; NULL: plain HTTP */
};

/* The default data directory: $XDG_DATA_HOME/det, else ~/.local/share/det.
 * DET_NOT_FOUND: no home directory. */
det_status runfile_data_dir(struct arena *mem, const char **ret_path, struct err *err);

/* Only its owner can read the file. */
det_status runfile_write(struct io *io, const char *data_dir, const struct runfile *run,
                         struct err *err);
/* DET_OK also if there is no such file. */
det_status runfile_remove(struct io *io, const char *data_dir, struct err *err);
/* Reads the file without verifying it.  DET_NOT_FOUND; DET_CORRUPT. */
det_status runfile_read(struct io *io, const char *data_dir, struct arena *mem,
                        struct runfile *ret_run, struct err *err);
/* The port of the last master that has ended here; 0: unknown. */
uint16_t runfile_last_port(struct io *io, const char *data_dir);
/* Reads and verifies the file.  DET_NOT_FOUND: no master runs there (the message says
 * why).  DET_FORBIDDEN: the file belongs to another user, or another program uses the
 * port. */
det_status runfile_find(struct io *io, struct net *net, const char *data_dir,
                        struct arena *mem, struct runfile *ret_run, struct err *err);

/* The current address of the master that a task was given as `given`.  After the master
 * has moved, the task's supervisor writes the new address into `path` (DET_MASTER_FILE;
 * NULL: none).  Returns `given` if nothing else is known. */
const char *runfile_moved(struct io *io, const char *path, const char *given,
                          struct arena *mem);

/* Whether a process with that number exists. */
bool runfile_is_alive(int64_t pid);

#endif
