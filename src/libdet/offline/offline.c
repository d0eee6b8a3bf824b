/* SPDX-License-Identifier: Apache-2.0 */
/* offline.c - opens the folder of a run without a master, and locks it. */
#include "libdet/offline/offline.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/io/io.h"
#include "base/memory/buf.h"
#include "data/base64.h"
#include "data/json/json.h"
#include "data/text.h"
#include "data/time.h"
#include "libdet/client/runfile.h"
#include "libdet/context.h"
#include "libdet/environment.h"
#include "libdet/run_notes.h"

enum {
    FILE_BYTES = 64 << 20,
    SEED_MOST = 0x7fffffff,
    LOCK_TRIES = 200,
    LOCK_PAUSE_US = 5000,
};

/* ---- the directory --------------------------------------------------------------- */

static det_status new_name(det_context *context, const char **ret_name, struct err *err)
{
    unsigned char random[4];
    char hex[sizeof(random) * 2 + 1];
    char now[TIME_TEXT];
    det_status st = rng_secret(random, sizeof(random), err);

    if (st)
        return st;
    hex_encode(hex, random, sizeof(random));
    time_format(clock_wall_us(context->world.clock), now);
    *ret_name = arena_printf(&context->strings, "%.19s-%s", now, hex);
    return *ret_name ? DET_OK : err_default(err, DET_NOMEM);
}

static det_status find_directory(det_context *context, const det_init_options *options,
                                 const char **ret_path, struct err *err)
{
    const char *given = options->directory && *options->directory
                            ? options->directory
                            : context_variable(context, "DET_OFFLINE_DIR");
    const char *data_dir, *name;
    det_status st;

    if (given) {
        *ret_path = arena_strdup(&context->strings, given);
        return *ret_path ? DET_OK : err_default(err, DET_NOMEM);
    }
    st = runfile_data_dir(&context->strings, &data_dir, err);
    if (!st)
        st = new_name(context, &name, err);
    if (st)
        return st == DET_NOMEM
                   ? st
                   : err_prefix(
                         err,
                         "there is no directory for the reports; set DET_OFFLINE_DIR");
    *ret_path = arena_printf(&context->strings, "%s/offline/%s", data_dir, name);
    return *ret_path ? DET_OK : err_default(err, DET_NOMEM);
}

/* ---- the run --------------------------------------------------------------------- */

static det_status choose_seed(det_context *context, const struct json *before,
                              struct err *err)
{
    const char *text = context_variable(context, "DET_TRIAL_SEED");
    int64_t *seed = &context->info.seed;
    uint32_t random;
    det_status st;

    *seed = json_i64(json_get(before, "seed"), -1);
    if (*seed >= 0)
        return DET_OK;
    if (text) {
        if (!parse_i64(text, seed) || *seed < 0)
            return err_set(err, DET_INVALID,
                           "DET_TRIAL_SEED is '%s'; expected a whole number", text);
        return DET_OK;
    }
    *seed = json_i64(json_path(context->config, "reproducibility.experiment_seed"), -1);
    if (*seed >= 0)
        return DET_OK;
    st = rng_secret(&random, sizeof(random), err);
    if (!st)
        *seed = random & SEED_MOST;
    return st;
}

/* The same in every run of this folder: by it a master recognises data that it has. */
static det_status choose_uuid(const struct json *before, char uuid[UUID_TEXT],
                              struct err *err)
{
    const char *known = json_str(json_get(before, "uuid"), "");
    unsigned char random[16];
    det_status st = DET_OK;

    if (uuid_is_valid(known)) {
        memcpy(uuid, known, UUID_TEXT);
        return DET_OK;
    }
    st = rng_secret(random, sizeof(random), err);
    if (!st)
        uuid_format(random, uuid);
    return st;
}

static det_status write_run(det_context *context, const struct json *before,
                            struct err *err)
{
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    struct json_writer w = JSON_WRITER(&text);
    const det_info *info = &context->info;
    const struct json *created = json_get(before, "created");
    char uuid[UUID_TEXT];
    det_status st = choose_uuid(before, uuid, err);

    if (st)
        return st;
    jw_object(&w, NULL);
    jw_i64(&w, "format", 1);
    jw_str(&w, "uuid", uuid);
    if (!created)
        created = json_get(before, "begun");
    if (created)
        jw_json(&w, "created", created);
    else
        jw_time(&w, "created", clock_wall_us(context->world.clock));
    jw_i64(&w, "run_id", info->run_id);
    jw_i64(&w, "seed", info->seed);
    jw_i64(&w, "pid", getpid());
    jw_time(&w, "begun", clock_wall_us(context->world.clock));
    jw_json(&w, "hparams", context->hparams);
    jw_json(&w, "config", context->config);
    if (context->storage)
        jw_json(&w, "checkpoint_storage", context->storage);
    jw_end_object(&w);
    buf_putc(&text, '\n');
    return run_notes_write(context, "run.json", &text, err);
}

static const char *text_of(det_context *context, const char *given,
                           const char *variable)
{
    const char *text = given ? given : context_variable(context, variable);

    return arena_strdup(&context->strings, text ? text : "{}");
}

static det_status open_run(det_context *context, const det_init_options *options,
                           struct err *err)
{
    det_info *info = &context->info;
    const char *hparams = text_of(context, options->hparams, "DET_HPARAMS");
    const char *config = text_of(context, options->config, "DET_EXPERIMENT_CONFIG");
    bool is_follower = options->flags & DET_INIT_FOLLOW;
    struct json *before = NULL;
    det_status st;

    if (!hparams || !config)
        return err_default(err, DET_NOMEM);
    st = environment_parse_config(context, hparams, config, err);
    if (!st)
        st = run_notes_read(context, "run.json", &context->strings, &before, err);
    if (!st && is_follower && !before)
        st = err_set(
            err, DET_NOT_FOUND,
            "no run was started in '%s': the first process must open it before others",
            info->directory);
    if (!st)
        st = choose_seed(context, before, err);
    if (st)
        return st;
    info->run_id = json_i64(json_get(before, "run_id"), 0) + !is_follower;
    return is_follower ? DET_OK : write_run(context, before, err);
}

/* Whether another living process holds the lock.  Left-over children of a dead process
 * (a loader's workers) do not count as a run, and one process may have two contexts for
 * the same run. */
static bool is_of_another(det_context *context)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(FILE_BYTES);
    struct json *run = NULL;
    struct err ignored;
    int64_t pid;

    if (run_notes_read(context, "run.json", &mem, &run, &ignored))
        return false;
    pid = json_i64(json_get(run, "pid"), 0);
    return pid > 0 && pid != getpid() && runfile_is_alive(pid);
}

/* All processes of a run share its lock, which only says that a run is under way.  The
 * first process holds it exclusively until run.json names it. */
static det_status hold_lock(det_context *context, bool is_follower, struct err *err)
{
    const char *path =
        arena_printf(&context->strings, "%s/" OFFLINE_LOCK, context->info.directory);
    det_status st;

    if (!path)
        return err_default(err, DET_NOMEM);
    st =
        io_open(context->world.io, path, IO_WRITE | IO_CREATE, &context->run_lock, err);
    for (int i = 0; !st && i < LOCK_TRIES; i++) {
        if (!is_follower && !io_lock(context->run_lock, NULL))
            return DET_OK;
        if ((is_follower || !is_of_another(context)) &&
            !io_lock_shared(context->run_lock, NULL))
            return DET_OK;
        clock_pause(context->world.clock, LOCK_PAUSE_US); /* another process is
                                                             looking at it */
    }
    return st ? st
              : err_set(err, DET_BUSY,
                        "another run is under way in '%s': wait for its end, or use "
                        "another directory",
                        context->info.directory);
}

static det_status choose_storage(det_context *context, const char *given,
                                 struct err *err)
{
    const char *text = arena_strdup(&context->strings, given);

    if (!text)
        return err_default(err, DET_NOMEM);
    return environment_parse_object(context, "checkpoint_storage", text,
                                    &context->storage, err);
}

det_status offline_open(det_context *context, const det_init_options *options,
                        struct err *err)
{
    det_info *info = &context->info;
    det_status st = find_directory(context, options, &info->directory, err);

    info->is_trial = 1;
    info->task_type = "TRIAL";
    info->world_size = info->local_size = info->node_count = 1;
    if (!st)
        st = io_mkdir(context->world.io, info->directory, false, err);
    context->notes_dir = info->directory;
    if (!st)
        st = hold_lock(context, options->flags & DET_INIT_FOLLOW, err);
    if (!st && options->checkpoint_storage)
        st = choose_storage(context, options->checkpoint_storage, err);
    if (!st)
        st = open_run(context, options, err);
    if (!st)
        st = io_lock_shared(context->run_lock, err);
    if (st)
        return st;
    context->ring_dir = arena_printf(&context->strings, "%s/reports", info->directory);
    return context->ring_dir ? DET_OK : err_default(err, DET_NOMEM);
}
