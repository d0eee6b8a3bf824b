/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/env/envs.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/io/io.h"
#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "base/memory/vec.h"
#include "base/rng.h"
#include "data/base64.h"
#include "data/json/json.h"
#include "data/text.h"

#define USE   "det-environment.use"
#define LOCK  ".lock"
#define USERS "user-"

enum { MARKER_MOST = 8 << 20, NUMBER = 24, RANDOM = 4 };

static const char *join_path(struct arena *mem, const char *dir, const char *name)
{
    return arena_printf(mem, "%s/%s", dir, name);
}

/* The part before the last dash (a key has no dash); NULL: not an environment. */
static const char *key_of(const char *name, struct arena *mem)
{
    const char *dash = strrchr(name, '-');

    if (!dash || dash == name || strlen(dash) != 1 + 2 * RANDOM ||
        strncmp(name, USERS, strlen(USERS)) == 0)
        return NULL;
    return arena_strndup(mem, name, (size_t)(dash - name));
}

static det_status read_marker(struct io *io, const char *dir, struct arena *mem,
                              struct json **ret_marker, struct err *err)
{
    CLEANUP(buf_done) struct buf text = BUF_LIMITED(MARKER_MOST);
    const char *path = join_path(mem, dir, ENVS_MARKER);
    det_status st =
        path ? io_read_file(io, path, &text, err) : err_default(err, DET_NOMEM);

    return st ? st : json_parse(text.data, text.len, mem, ret_marker, err);
}

/* ---- using ----------------------------------------------------------------------- */

/* A failure to note the time does not concern the task. */
static void note_use(struct io_file *use, int64_t now_us)
{
    char text[NUMBER];
    int len = snprintf(text, sizeof(text), "%-20" PRId64 "\n", now_us);

    (void)io_write_at(use, 0, text, (size_t)len, NULL);
}

static det_status try_one(struct io *io, const char *dir, int64_t now_us,
                          struct arena *mem, struct env *ret_env, struct err *err)
{
    const char *path = join_path(mem, dir, USE);
    struct io_file *use = NULL;
    struct json *marker = NULL;
    det_status st =
        path ? io_open(io, path, IO_WRITE, &use, err) : err_default(err, DET_NOMEM);

    if (!st)
        st = io_lock_shared(use, err);
    /* A remover takes the lock first, then the marker; a reader holds the lock for a
     * moment and leaves the marker.  DET_BUSY is one of these two. */
    if (!st || st == DET_BUSY) {
        det_status whole = read_marker(io, dir, mem, &marker, err);

        st = whole ? whole : st;
    }
    if (st) {
        io_close(use);
        return st;
    }
    note_use(use, now_us);
    ret_env->dir = dir;
    ret_env->marker = marker;
    ret_env->used_us = now_us;
    ret_env->is_in_use = true;
    ret_env->use = use;
    return DET_OK;
}

det_status envs_find(struct io *io, const char *envs, const char *key, int64_t now_us,
                     struct arena *mem, struct env *ret_env, struct err *err)
{
    const char **names;
    bool is_busy = false;
    det_status st = io_list(io, envs, mem, &names, err);

    for (; !st && *names; names++) {
        const char *theirs = key_of(*names, mem);
        const char *dir = join_path(mem, envs, *names);

        if (!dir)
            return err_default(err, DET_NOMEM);
        if (!theirs || strcmp(theirs, key) != 0)
            continue;
        ret_env->key = theirs;
        st = try_one(io, dir, now_us, mem, ret_env, NULL);
        if (!st || st == DET_NOMEM)
            return st ? err_default(err, st) : DET_OK;
        is_busy |= st == DET_BUSY;
        st = DET_OK;
    }
    if (mem->has_failed)
        return err_default(err, DET_NOMEM);
    if (is_busy)
        return err_set(err, DET_BUSY, "another process looks at environment %s", key);
    if (st && st != DET_NOT_FOUND)
        return st;
    return err_set(err, DET_NOT_FOUND, "there is no environment %s", key);
}

/* ---- building -------------------------------------------------------------------- */

det_status envs_lock(struct io *io, const char *envs, const char *key,
                     struct arena *mem, struct io_file **ret_lock, struct err *err)
{
    const char *path = arena_printf(mem, "%s/%s" LOCK, envs, key);
    struct io_file *lock = NULL;
    det_status st =
        path ? io_open(io, path, IO_WRITE | IO_CREATE | IO_PRIVATE, &lock, err)
             : err_default(err, DET_NOMEM);

    if (!st)
        st = io_lock(lock, err);
    if (st)
        io_close(lock);
    else
        *ret_lock = lock;
    return st;
}

/* Removes folders without a marker.  We hold the lock, so none is being built. */
static det_status remove_leftovers(struct io *io, const char *envs, const char *key,
                                   struct arena *mem, struct err *err)
{
    const char **names;
    det_status st = io_list(io, envs, mem, &names, err);

    for (; !st && *names; names++) {
        const char *theirs = key_of(*names, mem);
        const char *dir = join_path(mem, envs, *names);
        struct json *marker;

        if (!dir)
            return err_default(err, DET_NOMEM);
        if (!theirs || strcmp(theirs, key) != 0)
            continue;
        if (read_marker(io, dir, mem, &marker, NULL) != DET_NOT_FOUND)
            continue;
        /* A process that outlived its build may still write there; `det env prune`
         * will remove it. */
        (void)io_remove_tree(io, dir, NULL);
    }
    return st;
}

det_status envs_begin(struct io *io, const char *envs, const char *key,
                      struct arena *mem, const char **ret_dir, struct err *err)
{
    unsigned char random[RANDOM];
    char hex[2 * RANDOM + 1];
    const char *dir, *path;
    CLEANUP(io_closep) struct io_file *use = NULL;
    det_status st = remove_leftovers(io, envs, key, mem, err);

    if (!st)
        st = rng_secret(random, sizeof(random), err);
    if (st)
        return st;
    hex_encode(hex, random, sizeof(random));
    dir = arena_printf(mem, "%s/%s-%s", envs, key, hex);
    path = dir ? join_path(mem, dir, USE) : NULL;
    if (!path)
        return err_default(err, DET_NOMEM);
    st = io_mkdir(io, dir, false, err);
    if (!st)
        st = io_open(io, path, IO_WRITE | IO_CREATE | IO_PRIVATE, &use, err);
    if (!st)
        *ret_dir = dir;
    return st;
}

det_status envs_finish(struct io *io, const char *dir, const struct buf *marker,
                       struct err *err)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(65536);
    CLEANUP(io_closep) struct io_file *use = NULL;
    const char *use_path = join_path(&mem, dir, USE);
    const char *path = join_path(&mem, dir, ENVS_MARKER);
    det_status st;

    if (mem.has_failed || marker->status)
        return err_default(err, DET_NOMEM);
    st = io_open(io, use_path, IO_WRITE, &use, err);
    if (st)
        return st;
    /* There are thousands of files: one sync of the file system costs less than one
     * for each. */
    if (io_fd(use) >= 0 && syncfs(io_fd(use)))
        return err_set(err, DET_IO, "cannot sync '%s'", dir);
    return io_replace(io, path, marker->data, marker->len, false, err);
}

/* ---- looking and removing -------------------------------------------------------- */

typedef VEC(struct env) env_vec;

static det_status read_used(struct io *io, const char *path, int64_t *ret_used_us)
{
    CLEANUP(buf_done) struct buf text = BUF_LIMITED(256);
    det_status st = io_read_file(io, path, &text, NULL);

    buf_cut(&text, strcspn(text.data, " \n"));
    if (st || !parse_i64(text.data, ret_used_us))
        *ret_used_us = 0;
    return st == DET_NOMEM ? st : DET_OK;
}

static det_status is_taken(struct io *io, const char *path, bool *ret_taken)
{
    CLEANUP(io_closep) struct io_file *file = NULL;
    det_status st = io_open(io, path, IO_WRITE | IO_PLAIN, &file, NULL);

    if (!st)
        st = io_lock(file, NULL);
    *ret_taken |= st == DET_BUSY;
    return st == DET_NOMEM ? st : DET_OK;
}

static det_status look_at_env(struct io *io, const char *envs, const char *name,
                              struct arena *mem, env_vec *list)
{
    struct env env = {.key = key_of(name, mem), .dir = join_path(mem, envs, name)};
    const char *use, *lock;
    struct json *marker;
    det_status st;

    if (!env.key || !env.dir)
        return mem->has_failed ? DET_NOMEM : DET_OK;
    use = join_path(mem, env.dir, USE);
    lock = arena_printf(mem, "%s/%s" LOCK, envs, env.key);
    if (!use || !lock)
        return DET_NOMEM;
    st = read_marker(io, env.dir, mem, &marker, NULL);
    if (st == DET_NOMEM) /* it may still be complete */
        return st;
    env.marker = st ? NULL : marker;
    st = read_used(io, use, &env.used_us);
    if (!st)
        st = is_taken(io, use, &env.is_in_use);
    if (!st && !env.marker)
        st = is_taken(io, lock, &env.is_in_use);
    if (!st && !vec_push(list, env))
        st = DET_NOMEM;
    return st;
}

static det_status look_in(struct io *io, const char *envs, struct arena *mem,
                          env_vec *list, struct err *err)
{
    const char **names;
    det_status st = io_list(io, envs, mem, &names, err);

    if (st == DET_NOT_FOUND)
        return DET_OK;
    for (; !st && *names; names++) {
        if (strncmp(*names, USERS, strlen(USERS)) == 0) {
            const char *inner = join_path(mem, envs, *names);

            st = inner ? look_in(io, inner, mem, list, err) : DET_NOMEM;
        } else {
            st = look_at_env(io, envs, *names, mem, list);
        }
    }
    return st ? err_default(err, st) : DET_OK;
}

det_status envs_list(struct io *io, const char *envs, struct arena *mem,
                     struct envs_list *ret_list, struct err *err)
{
    env_vec list = {0};
    struct env *at;
    det_status st = look_in(io, envs, mem, &list, err);

    at = st ? NULL : arena_array(mem, struct env, list.count + 1);
    if (!st && !at)
        st = err_default(err, DET_NOMEM);
    if (!st && list.count)
        memcpy(at, list.at, list.count * sizeof(*at));
    if (!st)
        *ret_list = (struct envs_list){at, list.count};
    vec_done(&list);
    return st;
}

/* Takes a lock whose file may not exist; DET_BUSY as in io_lock(). */
static det_status take_lock(struct io *io, const char *path, struct io_file **ret_lock,
                            struct err *err)
{
    det_status st = io_open(io, path, IO_WRITE | IO_PLAIN, ret_lock, err);

    if (st == DET_NOT_FOUND)
        return DET_OK;
    return st ? st : io_lock(*ret_lock, err);
}

/* Takes both locks, whatever the list said: then it is neither built nor used. */
det_status envs_remove(struct io *io, const struct env *env, struct arena *mem,
                       struct err *err)
{
    CLEANUP(io_closep) struct io_file *lock = NULL;
    CLEANUP(io_closep) struct io_file *use = NULL;
    const char *slash = strrchr(env->dir, '/');
    const char *lock_path =
        arena_printf(mem, "%.*s/%s" LOCK, (int)(slash - env->dir), env->dir, env->key);
    const char *use_path = join_path(mem, env->dir, USE);
    const char *marker = join_path(mem, env->dir, ENVS_MARKER);
    det_status st;

    if (!lock_path || !use_path || !marker)
        return err_default(err, DET_NOMEM);
    st = take_lock(io, lock_path, &lock, err);
    if (!st)
        st = take_lock(io, use_path, &use, err);
    if (st == DET_BUSY)
        return err_set(err, DET_BUSY, "environment %s is in use", env->key);
    if (st)
        return st;
    st = io_remove(io, marker, err);
    if (st && st != DET_NOT_FOUND)
        return st;
    return io_remove_tree(io, env->dir, err);
}
