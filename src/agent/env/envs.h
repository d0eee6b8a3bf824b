/* SPDX-License-Identifier: Apache-2.0 */
/* envs.h - the environments that a machine has, and who uses them.
 *
 *   ENVS/KEY.lock                     held by who builds KEY; free when he dies
 *   ENVS/KEY-XXXXXXXX/                an environment, or what a build left
 *     det-environment.json            only what has this is whole; written last
 *     det-environment.use             shared by the tasks that use it, taken by who
 *                                     removes it; holds when it was last used
 *   ENVS/known/                       what interpreters said (interpreter.h)
 *   ENVS/user-UID/                    the same for tasks of another user
 *
 * A virtual environment has its own path written into its scripts, so that it cannot be
 * built elsewhere and renamed: it is built where it stays, under a name that no other
 * build has, and the file that makes it usable comes last, durably. Whoever dies on the
 * way leaves a folder without it, which the next builder or envs_prune() removes.
 *
 * A task holds its lock through a descriptor that it inherits, for as long as any of
 * its processes lives, whatever becomes of agent and supervisor. */
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
    const struct json *marker; /* NULL: it is not whole */
    int64_t used_us;           /* wall clock; 0: not known */
    bool is_in_use;            /* or being built */
    struct io_file *use;       /* of envs_find(): who closes it uses it no longer */
};

/* The whole environment of that key, in use from now on as long as `ret_env->use` is
 * open.  DET_NOT_FOUND: there is none.  DET_BUSY: there is one, and somebody looks at
 * it or begins to remove it; a moment later it can be told.  All in `mem`. */
det_status envs_find(struct io *io, const char *envs, const char *key, int64_t now_us,
                     struct arena *mem, struct env *ret_env, struct err *err);

/* The right to build KEY, until the file is closed.  DET_BUSY: somebody else does. */
det_status envs_lock(struct io *io, const char *envs, const char *key,
                     struct arena *mem, struct io_file **ret_lock, struct err *err);

/* With the lock held.  A new folder for a build, after what earlier ones left of KEY is
 * gone. */
det_status envs_begin(struct io *io, const char *envs, const char *key,
                      struct arena *mem, const char **ret_dir, struct err *err);
/* Makes it whole: `marker` is the text of its file. */
det_status envs_finish(struct io *io, const char *dir, const struct buf *marker,
                       struct err *err);

struct envs_list {
    struct env *at;
    size_t count;
};
/* Everything there is, by key; also for other users.  Nothing there: an empty list. */
det_status envs_list(struct io *io, const char *envs, struct arena *mem,
                     struct envs_list *ret_list, struct err *err);

/* Removes one unless somebody uses it: DET_BUSY. */
det_status envs_remove(struct io *io, const struct env *env, struct arena *mem,
                       struct err *err);

#endif
