/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/checkpoint_remover.h"

#include <inttypes.h>
#include <string.h>

#include "agent/master_link.h"
#include "base/compiler.h"
#include "base/io/io.h"
#include "base/log.h"
#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "base/rng.h"
#include "data/json/json.h"

#define TRASH   ".det-trash-"
#define PARTIAL ".det-"

enum {
    MEM_LIMIT = 64 << 20,
    CLUSTER_CHARS = 8, /* of the id of the cluster, in names */
};

/* ---- one checkpoint -------------------------------------------------------------- */

static det_status check_directory(struct io *io, const char *directory, struct err *err)
{
    struct io_stat stat;
    det_status st;

    if (!directory || *directory != '/')
        return err_set(err, DET_INVALID, "'%s' is not an absolute path",
                       directory ? directory : "");
    st = io_stat(io, directory, &stat, err);
    if (st == DET_NOT_FOUND)
        return err_set(err, DET_NOT_FOUND,
                       "the storage directory '%s' does not exist on this machine",
                       directory);
    return st;
}

/* Hides the checkpoint: afterwards it has its trash name, or does not exist. */
static det_status hide(struct io *io, const char *path, const char *trash,
                       struct err *err)
{
    struct io_stat stat;
    det_status st = io_stat(io, path, &stat, err);

    if (st == DET_NOT_FOUND)
        return DET_OK;
    if (st)
        return st;
    if (stat.kind != IO_DIRECTORY)
        return err_set(err, DET_INVALID,
                       "'%s' is %s, not a directory that a trial wrote: remove it by "
                       "hand",
                       path, stat.kind == IO_LINK ? "a link" : "a file");
    return io_rename(io, path, trash, err);
}

det_status remover_remove(struct io *io, const char *directory, const char *uuid,
                          struct arena *mem, struct err *err)
{
    const char *path = arena_printf(mem, "%s/%s", directory ? directory : "", uuid);
    const char *trash =
        arena_printf(mem, "%s/" TRASH "%s", directory ? directory : "", uuid);
    det_status st;

    if (!path || !trash)
        return err_default(err, DET_NOMEM);
    if (!uuid_is_valid(uuid))
        return err_set(err, DET_INVALID, "'%s' is not a checkpoint's uuid", uuid);
    st = check_directory(io, directory, err);
    if (!st)
        st = io_remove_tree(io, trash, err); /* of an earlier try */
    if (!st)
        st = hide(io, path, trash, err);
    if (!st)
        st = io_remove_tree(io, trash, err);
    /* The master does not ask again for a reported removal, so a loss of power must
     * not bring it back. */
    return st ? st : io_sync_dir(io, directory, err);
}

/* ---- unfinished checkpoints ------------------------------------------------------ */

/* Skips "TRIAL-" at the start of `text`; NULL if it is not there. */
static const char *take_number(const char *text, int64_t *ret_value)
{
    int64_t value = 0;
    const char *at = text;

    for (; *at >= '0' && *at <= '9'; at++)
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, *at - '0', &value))
            return NULL;
    *ret_value = value;
    return at > text && *at == '-' ? at + 1 : NULL;
}

static bool is_leftover(const struct remover_sweep *sweep, const char *name)
{
    size_t len = strnlen(sweep->cluster, CLUSTER_CHARS);
    int64_t trial, run;

    if (strncmp(name, PARTIAL, strlen(PARTIAL)))
        return false;
    name += strlen(PARTIAL);
    if (!len || strncmp(name, sweep->cluster, len) || name[len] != '-')
        return false;
    name = take_number(name + len + 1, &trial);
    if (name)
        name = take_number(name, &run);
    if (!name || !uuid_is_valid(name))
        return false;
    for (size_t i = 0; i < sweep->count; i++)
        if (sweep->runs[i].trial == trial && run <= sweep->runs[i].run)
            return true;
    return false;
}

det_status remover_sweep(struct io *io, const struct remover_sweep *sweep,
                         struct arena *mem, struct err *err)
{
    const char **names;
    bool has_removed = false;
    det_status st = check_directory(io, sweep->directory, err);

    if (st == DET_NOT_FOUND)
        return DET_OK;
    if (!st)
        st = io_list(io, sweep->directory, mem, &names, err);
    for (size_t i = 0; !st && names[i]; i++) {
        const char *path;

        if (!is_leftover(sweep, names[i]))
            continue;
        path = arena_printf(mem, "%s/%s", sweep->directory, names[i]);
        if (!path)
            return err_default(err, DET_NOMEM);
        log_info("removing '%s', which a run that is over left unfinished", path);
        st = io_remove_tree(io, path, err);
        has_removed = true;
    }
    return st || !has_removed ? st : io_sync_dir(io, sweep->directory, err);
}

/* ---- rounds ---------------------------------------------------------------------- */

static void carry_out(const struct checkpoint_remover *remover, const struct json *work,
                      struct json_writer *w)
{
    jw_array(w, "results");
    json_each(item, json_get(work, "removals")) {
        CLEANUP(arena_done) struct arena mem = ARENA_INIT(MEM_LIMIT);
        const char *uuid = json_str(json_get(item, "uuid"), "");
        struct err err = {0};
        det_status st;

        if (!remover->may_continue(remover->arg))
            break;
        st = remover_remove(remover->io, json_str(json_get(item, "directory"), NULL),
                            uuid, &mem, &err);
        jw_object(w, NULL);
        jw_str(w, "uuid", uuid);
        if (st)
            jw_str(w, "error", err.text);
        jw_end_object(w);
    }
    jw_end_array(w);
}

/* Those of one directory, found by listing it once. */
static det_status sweep_directory(const struct checkpoint_remover *remover,
                                  const struct json *work, const char *directory,
                                  struct err *err)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(MEM_LIMIT);
    const struct json *list = json_get(work, "sweeps");
    struct remover_run *runs = arena_array(&mem, struct remover_run, list->list.count);
    struct remover_sweep sweep = {.directory = directory,
                                  .cluster = json_str(json_get(work, "cluster"), ""),
                                  .runs = runs};

    if (!runs)
        return err_default(err, DET_NOMEM);
    json_each(item, list)
        if (!strcmp(json_str(json_get(item, "directory"), ""), directory))
            runs[sweep.count++] =
                (struct remover_run){json_i64(json_get(item, "trial"), -1),
                                     json_i64(json_get(item, "run"), -1)};
    return remover_sweep(remover->io, &sweep, &mem, err);
}

static void sweep_all(const struct checkpoint_remover *remover, const struct json *work,
                      struct json_writer *w)
{
    const char *last = NULL; /* the directory that was swept */
    struct err err = {0};

    jw_array(w, "swept");
    json_each(item, json_get(work, "sweeps")) {
        const char *directory = json_str(json_get(item, "directory"), NULL);

        if (!remover->may_continue(remover->arg))
            break;
        if (directory && (!last || strcmp(last, directory))) {
            err = (struct err){0};
            if (sweep_directory(remover, work, directory, &err))
                log_warn("unfinished checkpoints could not be removed: %s", err.text);
            last = directory;
        }
        jw_object(w, NULL);
        jw_i64(w, "trial", json_i64(json_get(item, "trial"), 0));
        jw_i64(w, "run", json_i64(json_get(item, "run"), 0));
        if (directory && err.status)
            jw_str(w, "error", err.text);
        jw_end_object(w);
    }
    jw_end_array(w);
}

det_status remover_round(const struct checkpoint_remover *remover, bool *ret_more,
                         struct err *err)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(MEM_LIMIT);
    CLEANUP(buf_done) struct buf body = BUF_INIT;
    struct master_link_request ask = {.method = NET_GET, .path = remover->path};
    struct master_link_request tell = {
        .method = NET_POST, .path = remover->path, .body = &body};
    struct json_writer w = JSON_WRITER(&body);
    struct json *work, *reply;
    det_status st = master_link_call(remover->link, &ask, &mem, &work, err);

    *ret_more = false;
    if (st)
        return st;
    if (!json_first(json_get(work, "removals")) &&
        !json_first(json_get(work, "sweeps")))
        return DET_OK;
    jw_object(&w, NULL);
    carry_out(remover, work, &w);
    sweep_all(remover, work, &w);
    jw_end_object(&w);
    st = master_link_call(remover->link, &tell, &mem, &reply, err);
    *ret_more = !st;
    return st;
}
