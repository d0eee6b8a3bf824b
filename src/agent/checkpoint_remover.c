/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/checkpoint_remover.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/master_link.h"
#include "agent/privileged.h"
#include "agent/task/prepare/identity.h"
#include "agent/task/spec.h"
#include "base/compiler.h"
#include "base/io/io.h"
#include "base/log.h"
#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "base/rng.h"
#include "data/json/json.h"
#include "data/text.h"

#define TRASH   ".det-trash-"
#define PARTIAL ".det-"

enum {
    MEM_LIMIT = 64 << 20,
    CLUSTER_CHARS = 8, /* of the id of the cluster, in names */
};

/* ---- one checkpoint -------------------------------------------------------------- */

static det_status no_directory(const char *directory, struct err *err)
{
    return err_set(err, DET_NOT_FOUND,
                   "the storage directory '%s' does not exist on this machine",
                   directory);
}

static det_status check_directory(struct io *io, const char *directory, struct err *err)
{
    struct io_stat stat;
    det_status st;

    if (!directory || *directory != '/')
        return err_set(err, DET_INVALID, "'%s' is not an absolute path",
                       directory ? directory : "");
    st = io_stat(io, directory, &stat, err);
    return st == DET_NOT_FOUND ? no_directory(directory, err) : st;
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
        log_info("removing '%s/%s', which a run that is over left unfinished",
                 sweep->name ? sweep->name : sweep->directory, names[i]);
        st = io_remove_tree(io, path, err);
        has_removed = true;
    }
    return st || !has_removed ? st : io_sync_dir(io, sweep->directory, err);
}

/* ---- rights ---------------------------------------------------------------------- */

/* A storage directory, opened with the rights of the tasks' user. */
struct storage {
    const char *directory; /* as the master names it */
    const char *path;      /* what to call the functions above with */
    struct privileged_storage door;
};

static void storage_done(struct storage *storage)
{
    privileged_storage_close(&storage->door);
}

static bool is_allowed_here(const struct field_strs *roots, const char *directory)
{
    bool is_allowed = !roots || !roots->count;

    for (size_t i = 0; !is_allowed && i < roots->count; i++)
        is_allowed = path_under(directory, roots->at[i]) != NULL;
    return is_allowed;
}

static det_status find_user(const struct json *item, struct arena *mem,
                            struct identity *ret_who, struct err *err)
{
    const struct json *user = json_get(item, "user");
    const struct task_user wanted = {.uid = json_i64(json_get(user, "uid"), 0),
                                     .gid = json_i64(json_get(user, "gid"), 0),
                                     .name = json_str(json_get(user, "name"), NULL),
                                     .is_link =
                                         json_bool(json_get(user, "isLink"), false)};

    /* An agent that is not root has no rights but its own. */
    if (!user || geteuid() != 0) {
        *ret_who = (struct identity){0};
        return DET_OK;
    }
    return identity_find(&wanted, mem, ret_who, err);
}

static det_status open_system(const struct json *item, struct arena *mem,
                              struct storage *storage, struct err *err)
{
    const char *root = json_str(json_get(item, "root"), storage->directory);
    struct identity who;
    det_status st = find_user(item, mem, &who, err);

    if (!st)
        st = privileged_storage_open(&who, root, json_str(json_get(item, "below"), ""),
                                     &storage->door, err);
    storage->path = storage->door.path;
    return st == DET_NOT_FOUND ? no_directory(storage->directory, err) : st;
}

/* storage_done() must follow, also after a failure. */
static det_status storage_open(const struct checkpoint_remover *remover,
                               const struct json *item, struct arena *mem,
                               struct storage *storage, struct err *err)
{
    const char *refused = json_str(json_get(item, "refused"), NULL);

    storage->directory = json_str(json_get(item, "directory"), NULL);
    storage->path = storage->directory;
    if (refused)
        return err_set(err, DET_FORBIDDEN, "%s", refused);
    if (!storage->directory || storage->directory[0] != '/')
        return check_directory(remover->io, storage->directory, err);
    if (!is_allowed_here(remover->roots, storage->directory))
        return err_set(err, DET_FORBIDDEN,
                       "the storage '%s' is not below a directory that this agent "
                       "allows (checkpoint_storage_roots)",
                       storage->directory);
    if (remover->io != io_system()) /* a simulated world has no users */
        return DET_OK;
    return open_system(item, mem, storage, err);
}

/* Messages name the directory, not our descriptor. */
static void name_directory(const struct storage *storage, struct err *err)
{
    const char *path = storage->door.path;
    const char *at = path[0] ? strstr(err->text, path) : NULL;
    char text[ERR_TEXT_SIZE];

    if (!at)
        return;
    snprintf(text, sizeof(text), "%.*s%s%s", (int)(at - err->text), err->text,
             storage->directory, at + strlen(path));
    memcpy(err->text, text, sizeof(text));
}

/* ---- rounds ---------------------------------------------------------------------- */

det_status remover_obey(const struct checkpoint_remover *remover,
                        const struct json *item, struct err *err)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(MEM_LIMIT);
    CLEANUP(storage_done) struct storage storage = {0};
    const char *uuid = json_str(json_get(item, "uuid"), "");
    det_status st = storage_open(remover, item, &mem, &storage, err);

    if (!st)
        st = remover_remove(remover->io, storage.path, uuid, &mem, err);
    name_directory(&storage, err);
    return st;
}

static void carry_out(const struct checkpoint_remover *remover, const struct json *work,
                      struct json_writer *w)
{
    jw_array(w, "results");
    json_each(item, json_get(work, "removals")) {
        struct err err = {0};
        det_status st;

        if (!remover->may_continue(remover->arg))
            break;
        st = remover_obey(remover, item, &err);
        jw_object(w, NULL);
        jw_str(w, "uuid", json_str(json_get(item, "uuid"), ""));
        if (st)
            jw_str(w, "error", err.text);
        jw_end_object(w);
    }
    jw_end_array(w);
}

/* Whether one opened directory serves both. */
static bool is_same_place(const struct json *a, const struct json *b)
{
    const struct json *ours = json_get(a, "user");
    const struct json *theirs = json_get(b, "user");

    return !strcmp(json_str(json_get(a, "directory"), ""),
                   json_str(json_get(b, "directory"), "")) &&
           json_i64(json_get(ours, "uid"), 0) == json_i64(json_get(theirs, "uid"), 0) &&
           json_i64(json_get(ours, "gid"), 0) == json_i64(json_get(theirs, "gid"), 0);
}

/* Those of one directory and user, found by listing it once. */
static det_status sweep_directory(const struct checkpoint_remover *remover,
                                  const struct json *work, const struct json *first,
                                  struct err *err)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(MEM_LIMIT);
    CLEANUP(storage_done) struct storage storage = {0};
    const char *directory = json_str(json_get(first, "directory"), "");
    const struct json *list = json_get(work, "sweeps");
    struct remover_run *runs = arena_array(&mem, struct remover_run, list->list.count);
    struct remover_sweep sweep = {.cluster = json_str(json_get(work, "cluster"), ""),
                                  .runs = runs};
    det_status st;

    if (!runs)
        return err_default(err, DET_NOMEM);
    json_each(item, list)
        if (is_same_place(item, first))
            runs[sweep.count++] =
                (struct remover_run){json_i64(json_get(item, "trial"), -1),
                                     json_i64(json_get(item, "run"), -1)};
    st = storage_open(remover, first, &mem, &storage, err);
    if (st == DET_NOT_FOUND)
        return DET_OK;
    sweep.directory = storage.path;
    sweep.name = directory;
    if (!st)
        st = remover_sweep(remover->io, &sweep, &mem, err);
    name_directory(&storage, err);
    return st;
}

static void sweep_all(const struct checkpoint_remover *remover, const struct json *work,
                      struct json_writer *w)
{
    const struct json *last = NULL; /* the place that was swept */
    struct err err = {0};

    jw_array(w, "swept");
    json_each(item, json_get(work, "sweeps")) {
        const char *directory = json_str(json_get(item, "directory"), NULL);

        if (!remover->may_continue(remover->arg))
            break;
        if (directory && (!last || !is_same_place(last, item))) {
            err = (struct err){0};
            if (sweep_directory(remover, work, item, &err))
                log_warn("unfinished checkpoints could not be removed: %s", err.text);
            last = item;
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
