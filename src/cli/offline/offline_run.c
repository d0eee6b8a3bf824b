/* SPDX-License-Identifier: Apache-2.0 */
/* offline_run.c - reads what libdet/offline has written.  Changes nothing. */
#include "cli/offline/offline_run.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/io/io.h"
#include "base/memory/buf.h"
#include "base/memory/vec.h"
#include "base/rng.h"
#include "cli/frame/cli.h"
#include "data/json/json.h"
#include "data/text.h"
#include "data/time.h"
#include "libdet/client/runfile.h"
#include "libdet/offline/offline.h"

enum { FILE_BYTES = 64 << 20 };

/* ---- one run --------------------------------------------------------------------- */

static det_status read_json(const char *folder, const char *name, struct arena *mem,
                            struct json **ret_tree, struct err *err)
{
    CLEANUP(buf_done) struct buf text = BUF_LIMITED(FILE_BYTES);
    const char *path = arena_printf(mem, "%s/%s", folder, name);
    det_status st;

    if (!path)
        return err_default(err, DET_NOMEM);
    st = io_read_file(io_system(), path, &text, err);
    if (!st)
        st = json_parse(text.data, text.len, mem, ret_tree, err);
    if (st == DET_INVALID || (!st && (*ret_tree)->kind != JSON_OBJECT))
        return err_set(err, DET_CORRUPT, "'%s' is damaged: it is not a JSON object",
                       path);
    return st;
}

/* A running program holds a shared lock, so we cannot get an exclusive one. */
static bool is_running(const char *folder)
{
    CLEANUP(buf_done) struct buf path = BUF_INIT;
    CLEANUP(io_closep) struct io_file *file = NULL;

    buf_printf(&path, "%s/" OFFLINE_LOCK, folder);
    if (path.status || io_open(io_system(), path.data, IO_READ, &file, NULL))
        return false;
    return io_lock(file, NULL) == DET_BUSY;
}

/* The end of a killed run: the last time a file was written. */
static int64_t last_write_us(const char *folder, int64_t begun_us, struct arena *mem)
{
    static const char *const places[] = {"reports", "checkpoints", OFFLINE_LOGS};
    int64_t last_us = begun_us;

    for (size_t i = 0; i < ARRAY_LEN(places); i++) {
        const char *place = arena_printf(mem, "%s/%s", folder, places[i]);
        const char **names;

        if (!place || io_list(io_system(), place, mem, &names, NULL))
            continue;
        for (; *names; names++) {
            const char *path = arena_printf(mem, "%s/%s", place, *names);
            struct io_stat stat;

            /* the ring's head is mapped: reading it changes its time */
            if (path && strcmp(*names, "head") &&
                !io_stat(io_system(), path, &stat, NULL))
                last_us = MAX(last_us, stat.modified_us);
        }
    }
    return last_us;
}

static det_status read_end(struct offline_run *run, struct arena *mem, struct err *err)
{
    struct json *end = NULL;
    bool has_end = false;
    det_status st = read_json(run->path, OFFLINE_STATE, mem, &end, err);

    if (st == DET_NOMEM)
        return st;
    has_end = !st && json_i64(json_get(end, "run_id"), 0) == run->run_id;
    run->exit_code = has_end ? json_i64(json_get(end, "exit_code"), 0) : -1;
    if (has_end) {
        run->state = strcmp(json_str(json_get(end, "state"), ""), "COMPLETED") == 0
                         ? OFFLINE_COMPLETED
                         : OFFLINE_FAILED;
        if (!time_parse(json_str(json_get(end, "ended"), ""), &run->ended_us))
            run->ended_us = run->begun_us;
        return DET_OK;
    }
    run->state = is_running(run->path) ? OFFLINE_RUNNING : OFFLINE_KILLED;
    if (run->state == OFFLINE_KILLED)
        run->ended_us = last_write_us(run->path, run->begun_us, mem);
    return DET_OK;
}

static const struct json *object_of(const struct json *tree, const char *key,
                                    struct arena *mem)
{
    const struct json *value = json_get(tree, key);

    return value && value->kind == JSON_OBJECT ? value : json_new(mem, JSON_OBJECT);
}

static det_status fill_run(const struct json *tree, struct arena *mem,
                           struct offline_run *run, struct err *err)
{
    const char *id = json_str(json_get(tree, "uuid"), NULL);
    const struct json *storage = json_get(tree, "checkpoint_storage");
    struct json *notes = NULL;
    det_status st;

    if (json_i64(json_get(tree, "format"), 0) != 1)
        return err_set(err, DET_UNSUPPORTED,
                       "'%s' was recorded by another version of det: its run.json has "
                       "format %" PRId64 ", but this version reads format 1",
                       run->path, json_i64(json_get(tree, "format"), 0));
    run->run_id = json_i64(json_get(tree, "run_id"), 1);
    run->seed = json_i64(json_get(tree, "seed"), 0);
    if (!time_parse(json_str(json_get(tree, "begun"), ""), &run->begun_us))
        return err_set(err, DET_CORRUPT,
                       "'%s/run.json' is damaged: it does not say when the run began",
                       run->path);
    if (!time_parse(json_str(json_get(tree, "created"), ""), &run->created_us))
        run->created_us = run->begun_us;
    run->hparams = object_of(tree, "hparams", mem);
    run->config = object_of(tree, "config", mem);
    run->storage = storage && storage->kind == JSON_OBJECT ? storage : NULL;
    /* old runs have no uuid: use name and seed */
    run->id = id && uuid_is_valid(id)
                  ? id
                  : arena_printf(mem, "%s-%" PRId64, run->name, run->seed);
    st = read_json(run->path, "metadata.json", mem, &notes, err);
    run->notes = st ? NULL : notes;
    if (st == DET_NOMEM || mem->has_failed)
        return err_default(err, DET_NOMEM);
    return read_end(run, mem, err);
}

static const char *absolute(const char *path, struct arena *mem)
{
    char whole[PATH_MAX];

    return arena_strdup(mem, realpath(path, whole) ? whole : path);
}

det_status offline_run_read(const char *path, struct arena *mem,
                            struct offline_run *ret_run, struct err *err)
{
    struct offline_run run = {.path = absolute(path, mem)};
    struct json *tree;
    det_status st;

    if (!run.path)
        return err_default(err, DET_NOMEM);
    run.name = strrchr(run.path, '/');
    run.name = run.name && run.name[1] ? run.name + 1 : run.path;
    st = read_json(run.path, "run.json", mem, &tree, err);
    if (st == DET_NOT_FOUND)
        return err_set(err, DET_NOT_FOUND,
                       "'%s' is not the folder of a run: it has no run.json", path);
    if (!st)
        st = fill_run(tree, mem, &run, err);
    if (!st)
        *ret_run = run;
    return st;
}

/* ---- many runs ------------------------------------------------------------------- */

det_status offline_home(struct arena *mem, const char **ret_path, struct err *err)
{
    const char *data_dir;
    det_status st = runfile_data_dir(mem, &data_dir, err);

    if (st)
        return st;
    *ret_path = arena_printf(mem, "%s/offline", data_dir);
    return *ret_path ? DET_OK : err_default(err, DET_NOMEM);
}

static int by_age(const void *a, const void *b)
{
    const struct offline_run *x = a, *y = b;

    if (x->created_us != y->created_us)
        return x->created_us < y->created_us ? -1 : 1;
    return strcmp(x->path, y->path);
}

static det_status find_below(struct cli *cli, const char *path, const char **names,
                             struct offline_runs *runs)
{
    size_t count = 0;

    while (names[count])
        count++;
    runs->at = arena_array(&cli->mem, struct offline_run, count + 1);
    if (!runs->at)
        return cli_nomem(cli);
    for (; *names; names++) {
        const char *folder = arena_printf(&cli->mem, "%s/%s", path, *names);
        struct err why = {0};
        det_status st =
            folder ? offline_run_read(folder, &cli->mem, &runs->at[runs->count], &why)
                   : DET_NOMEM;

        if (st == DET_NOMEM)
            return cli_nomem(cli);
        if (st && st != DET_NOT_FOUND && st != DET_IO)
            cli_note(cli, "left out: %s", why.text);
        runs->count += !st;
    }
    qsort(runs->at, runs->count, sizeof(*runs->at), by_age);
    return DET_OK;
}

det_status offline_runs_find(struct cli *cli, const char *path,
                             struct offline_runs *ret_runs)
{
    struct offline_runs runs = {.at = arena_new(&cli->mem, struct offline_run)};
    const char **names;
    det_status st;

    if (!runs.at)
        return cli_nomem(cli);
    st = offline_run_read(path, &cli->mem, runs.at, cli->err);
    if (!st) {
        runs.count = 1;
        *ret_runs = runs;
        return DET_OK;
    }
    if (st != DET_NOT_FOUND)
        return st;
    memset(cli->err, 0, sizeof(*cli->err));
    st = io_list(io_system(), path, &cli->mem, &names, cli->err);
    if (!st)
        st = find_below(cli, path, names, &runs);
    if (!st)
        *ret_runs = runs;
    return st;
}

const struct offline_run *offline_run_named(const struct offline_runs *runs,
                                            const char *word, uint32_t *ret_number)
{
    char whole[PATH_MAX] = "";
    bool is_path = (strchr(word, '/') || *word == '.') && realpath(word, whole);
    const struct offline_run *found = NULL;
    int64_t number;

    if (parse_i64(word, &number) && number >= 1 && number <= runs->count) {
        *ret_number = (uint32_t)number;
        found = &runs->at[number - 1];
    }
    for (uint32_t i = 0; !found && i < runs->count; i++)
        if (!strcmp(runs->at[i].name, word) ||
            (is_path && !strcmp(runs->at[i].path, whole))) {
            *ret_number = i + 1;
            found = &runs->at[i];
        }
    return found;
}
