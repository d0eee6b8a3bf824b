/* SPDX-License-Identifier: Apache-2.0 */
/* envs.h - the environments of a machine, and their users.
 *
 *   ENVS/KEY.lock               held by the builder of KEY; free when it dies
 *   ENVS/KEY-XXXXXXXX/          an environment, or the rest of a failed build
 *     det-environment.json      written last: only with it the environment is complete
 *     det-environment.use       shared by the tasks that use it, taken by a remover;
 *                               its time is the last use
 *   ENVS/known/                 answers of interpreters (interpreter.h)
 *   ENVS/user-UID/              the same for tasks of another user
 *
 * A virtual environment has its own path in its scripts, so it cannot be built
 * elsewhere and renamed.  It is built in place, under a unique name, and the file that
 * makes it usable is written last, durably.  A builder that dies leaves a folder
 * without that file, which the next builder or `det env prune` removes.
 *
 * A task holds its lock through an inherited descriptor, as long as any of its
 * processes lives, whatever happens to agent and supervisor. */
#ifndef AGENT_ENV_ENVS_H
#define AGENT_ENV_ENVS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct arena;
struct buf;
struct io;
struct io_file;
struct json;

#define ENVS_MARKER "det-environment.json"

struct env {
    const char *key;
    const char *dir;
    const struct json *marker; /* NULL: incomplete */
    int64_t used_us;           /* wall clock; 0: not known */
    bool is_in_use;            /* or being built */
    struct io_file *use;       /* of envs_find(): closing it ends the use */
};

/* Finds the complete environment of the key; it is in use as long as `ret_env->use`
 * is open.  DET_NOT_FOUND: there is none.  DET_BUSY: another process looks at it or
 * begins to remove it; try again in a moment.  All in `mem`. */
det_status envs_find(struct io *io, const char *envs, const char *key, int64_t now_us,
                     struct arena *mem, struct env *ret_env, struct err *err);

/* Takes the right to build KEY, until the file is closed.  DET_BUSY: another process
 * builds it. */
det_status envs_lock(struct io *io, const char *envs, const char *key,
                     struct arena *mem, struct io_file **ret_lock, struct err *err);

/* With the lock held: removes the rest of earlier builds of KEY and makes a new
 * folder. */
det_status envs_begin(struct io *io, const char *envs, const char *key,
                      struct arena *mem, const char **ret_dir, struct err *err);
/* Makes it complete: `marker` is the text of its file. */
det_status envs_finish(struct io *io, const char *dir, const struct buf *marker,
                       struct err *err);

struct envs_list {
    struct env *at;
    size_t count;
};
/* Lists everything, by key, also for other users.  An empty list if nothing is
 * there. */
det_status envs_list(struct io *io, const char *envs, struct arena *mem,
                     struct envs_list *ret_list, struct err *err);

/* Removes one; DET_BUSY: it is in use. */
det_status envs_remove(struct io *io, const struct env *env, struct arena *mem,
                       struct err *err);

#endif
