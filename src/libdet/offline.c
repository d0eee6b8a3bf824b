/* SPDX-License-Identifier: Apache-2.0 */
/* offline.c - a run without a master.
 *
 *   DIR/run.json      what runs here: how often it was begun, its seed, hyperparameters
 *   DIR/run.lock      held by whoever runs
 *   DIR/state.json    how the last run ended, said by itself (record.c)
 *   DIR/reports/      the ring, never sent from: what the run has reported
 *   DIR/logs/         what it printed (record.c)
 *   DIR/checkpoints/  its checkpoints
 *   DIR/metadata.json the trial's notes (metadata.c)
 *   DIR/latest.json   the one the next run begins from; in a task it lies in the
 *                     run's own directory, for the other processes of the run
 *
 * Everything is in the same form as on a cluster, so that it can be brought into one.
 */
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/io.h"
#include "data/json.h"
#include "data/text.h"
#include "libdet/context.h"
#include "libdet/record.h"
#include "libdet/runfile.h"

#define LATEST_NAME "latest.json"

enum {
    FILE_BYTES = 64 << 20,
    SEED_MOST = 0x7fffffff,
    LOCK_TRIES = 200,
    LOCK_PAUSE_US = 5000,
};

/* ---- its files ------------------------------------------------------------------- */

det_status own_file_read(det_context *context, const char *name, struct arena *mem,
                         struct json **ret_tree, struct err *err)
{
    CLEANUP(buf_done) struct buf text = BUF_LIMITED(FILE_BYTES);
    const char *path = arena_printf(mem, "%s/%s", context->notes_dir, name);
    det_status st;

    *ret_tree = NULL;
    if (!path)
        return err_default(err, DET_NOMEM);
    st = io_read_file(context->world.io, path, &text, err);
    if (st == DET_NOT_FOUND)
        return DET_OK;
    if (st)
        return st;
    st = json_parse(text.data, text.len, mem, ret_tree, err);
    if (st == DET_INVALID)
        return err_set(err, DET_CORRUPT, "'%s' is damaged: it is not JSON", path);
    return st;
}

det_status own_file_write(det_context *context, const char *name, struct buf *text,
                          struct err *err)
{
    CLEANUP(buf_done) struct buf path = BUF_INIT;

    buf_printf(&path, "%s/%s", context->notes_dir, name);
    if (path.status || text->status)
        return err_default(err, DET_NOMEM);
    return io_replace(context->world.io, path.data, text->data, text->len, false, err);
}

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
    st = data_dir_default(&context->strings, &data_dir, err);
    if (!st)
        st = new_name(context, &name, err);
    if (st)
        return st == DET_NOMEM ? st
                               : err_prefix(err, "nowhere to keep what is reported; "
                                                 "set DET_OFFLINE_DIR");
    *ret_path = arena_printf(&context->strings, "%s/offline/%s", data_dir, name);
    return *ret_path ? DET_OK : err_default(err, DET_NOMEM);
}

/* ---- what runs here -------------------------------------------------------------- */

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

/* The same in every run: by it a master knows what it has already. */
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
    return own_file_write(context, "run.json", &text, err);
}

static const char *text_of(det_context *context, const char *given,
                           const char *variable)
{
    const char *text = given ? given : context_variable(context, variable);

    return arena_strdup(&context->strings, text ? text : "{}");
}

static det_status describe(det_context *context, const det_init_options *options,
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
    st = info_parse(context, hparams, config, err);
    if (!st)
        st = own_file_read(context, "run.json", &context->strings, &before, err);
    if (!st && is_follower && !before)
        st = err_set(err, DET_NOT_FOUND,
                     "no run was begun in '%s': its first process must open it before "
                     "others follow",
                     info->directory);
    if (!st)
        st = choose_seed(context, before, err);
    if (st)
        return st;
    info->run_id = json_i64(json_get(before, "run_id"), 0) + !is_follower;
    return is_follower ? DET_OK : write_run(context, before, err);
}

/* Its lock is held, but by whom?  What a dead process of it has left behind, a loader's
 * workers, say, is no run; and a process may have two contexts of one. */
static bool is_of_another(det_context *context)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(FILE_BYTES);
    struct json *run = NULL;
    struct err ignored;
    int64_t pid;

    if (own_file_read(context, "run.json", &mem, &run, &ignored))
        return false;
    pid = json_i64(json_get(run, "pid"), 0);
    return pid > 0 && pid != getpid() && pid_is_alive(pid);
}

/* All processes of a run share its lock: that one is under way is all it says.  The
 * first has it alone until it has said who it is. */
static det_status hold_lock(det_context *context, bool is_follower, struct err *err)
{
    const char *path =
        arena_printf(&context->strings, "%s/" RECORD_LOCK, context->info.directory);
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
        clock_pause(context->world.clock, LOCK_PAUSE_US); /* somebody looks at it */
    }
    return st ? st
              : err_set(err, DET_BUSY,
                        "another run is under way in '%s': wait for its end, or name "
                        "another directory",
                        context->info.directory);
}

static det_status choose_storage(det_context *context, const char *given,
                                 struct err *err)
{
    const char *text = arena_strdup(&context->strings, given);

    if (!text)
        return err_default(err, DET_NOMEM);
    return info_object(context, "checkpoint_storage", text, &context->storage, err);
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
        st = describe(context, options, err);
    if (!st)
        st = io_lock_shared(context->run_lock, err);
    if (st)
        return st;
    context->ring_dir = arena_printf(&context->strings, "%s/reports", info->directory);
    return context->ring_dir ? DET_OK : err_default(err, DET_NOMEM);
}

/* ---- the latest checkpoint ------------------------------------------------------- */

det_status latest_write(det_context *context, const char *uuid, int64_t steps,
                        struct err *err)
{
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    struct json_writer w = JSON_WRITER(&text);

    if (!context->notes_dir)
        return DET_OK;
    jw_object(&w, NULL);
    jw_str(&w, "uuid", uuid);
    jw_i64(&w, "steps_completed", steps);
    jw_end_object(&w);
    buf_putc(&text, '\n');
    return own_file_write(context, LATEST_NAME, &text, err);
}

det_status latest_read(det_context *context, struct arena *mem, const char **ret_uuid,
                       int64_t *ret_steps, struct err *err)
{
    struct json *latest = NULL;
    const char *uuid;
    det_status st = DET_OK;

    if (context->notes_dir)
        st = own_file_read(context, LATEST_NAME, mem, &latest, err);
    if (st || !latest)
        return st;
    uuid = json_str(json_get(latest, "uuid"), NULL);
    if (!uuid || !uuid_is_valid(uuid))
        return err_set(err, DET_CORRUPT,
                       "'%s/" LATEST_NAME "' is damaged: it names no checkpoint",
                       context->notes_dir);
    *ret_uuid = uuid;
    *ret_steps = json_i64(json_get(latest, "steps_completed"), 0);
    return DET_OK;
}

det_status latest_forget(det_context *context, struct err *err)
{
    CLEANUP(buf_done) struct buf path = BUF_INIT;
    det_status st;

    if (!context->notes_dir)
        return DET_OK;
    buf_printf(&path, "%s/" LATEST_NAME, context->notes_dir);
    st = path.status ? err_default(err, path.status)
                     : io_remove(context->world.io, path.data, err);
    if (!st)
        st = io_sync_dir(context->world.io, context->notes_dir, err);
    return st;
}
