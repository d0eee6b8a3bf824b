/* SPDX-License-Identifier: Apache-2.0 */
/* ui_runs.c - see ui_runs.h.
 *
 * A run is imported in two steps: first its name (the order gives its number), and later,
 * newest first, its reports and output.  After that it is read again when its files have
 * changed: run.json is written when it starts, state.json when it ends.  A run that holds
 * its lock is read in every pass. */
#include "cli/offline/ui_runs.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/io/io.h"
#include "base/memory/arena.h"
#include "base/memory/map.h"
#include "base/memory/mem.h"
#include "base/memory/vec.h"
#include "cli/frame/cli.h"
#include "cli/offline/import_run.h"
#include "cli/offline/offline_run.h"
#include "libdet/offline/output_recorder.h"

enum { SCRATCH = 256 << 20 };

/* When a run's files were last written. */
struct file_times {
    int64_t run_us;
    int64_t state_us;
    int64_t notes_us;
};

struct shown {
    char *path;
    struct file_times times;
    struct import_follow follow;
    enum offline_state state;
    bool is_told;  /* its name is imported */
    bool is_whole; /* its reports and output are imported */
    bool is_left_out;
};

struct ui_runs {
    struct cli *cli;
    char *path;
    VEC(struct shown *) all; /* in the order of import */
    struct map by_path;
    uint32_t told;
};

/* ---- files ----------------------------------------------------------------------- */

static int64_t modified_us(const char *folder, const char *name)
{
    char path[PATH_MAX];
    struct io_stat stat;

    if ((size_t)snprintf(path, sizeof(path), "%s/%s", folder, name) >= sizeof(path) ||
        io_stat(io_system(), path, &stat, NULL))
        return 0;
    return stat.modified_us;
}

/* run_us is 0 if there is no run. */
static struct file_times file_times_of(const char *folder)
{
    struct file_times times = {.run_us = modified_us(folder, "run.json")};

    if (times.run_us) {
        times.state_us = modified_us(folder, OFFLINE_STATE);
        times.notes_us = modified_us(folder, "metadata.json");
    }
    return times;
}

static bool is_same(const struct file_times *a, const struct file_times *b)
{
    return a->run_us == b->run_us && a->state_us == b->state_us &&
           a->notes_us == b->notes_us;
}

/* ---- life ------------------------------------------------------------------------ */

static void shown_free(struct shown *shown)
{
    if (!shown)
        return;
    import_follow_end(&shown->follow);
    mem_free(shown->path);
    mem_free(shown);
}

det_status ui_runs_new(struct cli *cli, const char *path, struct ui_runs **ret_runs)
{
    struct ui_runs *runs = mem_new(struct ui_runs);

    if (!runs)
        return cli_nomem(cli);
    runs->cli = cli;
    runs->path = mem_strdup(path);
    if (!runs->path) {
        mem_free(runs);
        return cli_nomem(cli);
    }
    *ret_runs = runs;
    return DET_OK;
}

void ui_runs_free(struct ui_runs *runs)
{
    if (!runs)
        return;
    for (size_t i = 0; i < runs->all.count; i++)
        shown_free(runs->all.at[i]);
    vec_done(&runs->all);
    map_done(&runs->by_path);
    mem_free(runs->path);
    mem_free(runs);
}

uint32_t ui_runs_count(const struct ui_runs *runs)
{
    return runs->told;
}

static struct shown *shown_new(struct ui_runs *runs, const char *path)
{
    struct shown *shown = mem_new(struct shown);

    if (shown)
        shown->path = mem_strdup(path);
    if (!shown || !shown->path || !vec_push(&runs->all, shown)) {
        shown_free(shown);
        return NULL;
    }
    if (smap_put(&runs->by_path, shown->path, shown))
        return shown;
    runs->all.count--;
    shown_free(shown);
    return NULL;
}

/* ---- importing names ------------------------------------------------------------- */

/* Reports an unreadable run once.  It is tried again when its files change. */
static void leave_out(struct ui_runs *runs, struct shown *shown)
{
    cli_note(runs->cli, "left out: %s", runs->cli->err->text);
    *runs->cli->err = (struct err){0};
    shown->is_left_out = true;
}

/* Whether the failure concerns this run only, and the others can be shown. */
static bool is_of_one_run(det_status status)
{
    return status && status != DET_NOMEM && status != DET_UNREACHABLE &&
           status != DET_TIMEOUT;
}

static det_status import_name(struct ui_runs *runs, struct shown *shown,
                              const struct offline_run *run)
{
    struct import_result result;
    det_status st = import_run(runs->cli, run, IMPORT_IN_PLACE | IMPORT_NAMES, &result);

    if (is_of_one_run(st)) {
        leave_out(runs, shown);
        return DET_OK;
    }
    if (st)
        return st;
    shown->follow.trial_id = result.trial_id;
    shown->state = run->state;
    shown->is_told = true;
    runs->told++;
    return DET_OK;
}

struct newcomer {
    struct shown *shown;
    struct offline_run run;
};

static int by_age(const void *a, const void *b)
{
    const struct newcomer *x = a, *y = b;

    if (x->run.created_us != y->run.created_us)
        return x->run.created_us < y->run.created_us ? -1 : 1;
    return strcmp(x->run.path, y->run.path);
}

typedef VEC(struct newcomer) newcomers;

/* Reads a folder that was not imported yet, if its files have changed since the last
 * attempt. */
static det_status consider_folder(struct ui_runs *runs, const char *path,
                                  newcomers *found)
{
    struct shown *shown = smap_get(&runs->by_path, path);
    struct cli *cli = runs->cli;
    struct newcomer one = {0};
    struct file_times times;
    det_status st;

    if (shown && shown->is_told)
        return DET_OK;
    times = file_times_of(path);
    if (!times.run_us || (shown && is_same(&times, &shown->times)))
        return DET_OK;
    if (!shown)
        shown = shown_new(runs, path);
    if (!shown)
        return cli_nomem(cli);
    shown->times = times;
    one.shown = shown;
    st = offline_run_read(path, &cli->mem, &one.run, cli->err);
    if (is_of_one_run(st)) {
        leave_out(runs, shown);
        return DET_OK;
    }
    if (!st && !vec_push(found, one))
        st = cli_nomem(cli);
    return st;
}

static det_status consider_all(struct ui_runs *runs, newcomers *found)
{
    struct cli *cli = runs->cli;
    const char **names;
    det_status st;

    if (modified_us(runs->path, "run.json"))
        return consider_folder(runs, runs->path, found);
    st = io_list(io_system(), runs->path, &cli->mem, &names, cli->err);
    for (; !st && *names; names++) {
        const char *path = arena_printf(&cli->mem, "%s/%s", runs->path, *names);

        st = path ? consider_folder(runs, path, found) : cli_nomem(cli);
    }
    return st;
}

/* cli->mem is freed when the command ends.  A pass that is repeated needs its own
 * memory. */
static struct arena scratch_begin(struct cli *cli)
{
    struct arena kept = cli->mem;

    cli->mem = (struct arena)ARENA_INIT(SCRATCH);
    return kept;
}

static void scratch_end(struct cli *cli, struct arena kept)
{
    arena_done(&cli->mem);
    cli->mem = kept;
}

det_status ui_runs_find(struct ui_runs *runs)
{
    struct arena kept = scratch_begin(runs->cli);
    newcomers found = {0};
    det_status st = consider_all(runs, &found);

    if (!st && found.count)
        qsort(found.at, found.count, sizeof(*found.at), by_age);
    for (size_t i = 0; i < found.count && !st; i++)
        st = import_name(runs, found.at[i].shown, &found.at[i].run);
    vec_done(&found);
    scratch_end(runs->cli, kept);
    return st;
}

/* ---- following runs -------------------------------------------------------------- */

/* Imports what is new; the end of the run comes last. */
static det_status import_news(struct ui_runs *runs, struct shown *shown,
                              const struct file_times *times)
{
    struct cli *cli = runs->cli;
    bool is_new = !is_same(times, &shown->times);
    struct offline_run run;
    bool did;
    det_status st = offline_run_read(shown->path, &cli->mem, &run, cli->err);

    if (!st)
        st = import_follow(cli, &run, &shown->follow, &did);
    if (!st && (is_new || run.state != shown->state))
        st = import_end(cli, &run, shown->follow.trial_id);
    if (st)
        return st;
    shown->times = *times;
    shown->state = run.state;
    shown->is_whole = true;
    if (run.state != OFFLINE_RUNNING) {
        int64_t trial = shown->follow.trial_id;

        import_follow_end(&shown->follow); /* it may start again */
        shown->follow.trial_id = trial;
    }
    return DET_OK;
}

static det_status update_run(struct ui_runs *runs, struct shown *shown)
{
    struct file_times times = file_times_of(shown->path);
    struct arena kept;
    det_status st;

    if (!times.run_us) /* it was removed: keep what was imported */
        return DET_OK;
    kept = scratch_begin(runs->cli);
    st = import_news(runs, shown, &times);
    scratch_end(runs->cli, kept);
    if (!is_of_one_run(st))
        return st;
    shown->times = times; /* try again when something changes */
    shown->is_whole = true;
    shown->state = OFFLINE_FAILED;
    cli_note(runs->cli, "'%s' is shown in part: %s", shown->path, runs->cli->err->text);
    *runs->cli->err = (struct err){0};
    return DET_OK;
}

static bool has_changed(const struct shown *shown)
{
    struct file_times times;

    if (shown->state == OFFLINE_RUNNING)
        return true;
    times = file_times_of(shown->path);
    return times.run_us && !is_same(&times, &shown->times);
}

det_status ui_runs_update(struct ui_runs *runs, bool *ret_is_behind)
{
    det_status st = DET_OK;
    bool has_told = false;

    *ret_is_behind = false;
    for (size_t i = runs->all.count; i > 0 && !st; i--) {
        struct shown *shown = runs->all.at[i - 1];

        if (!shown->is_told)
            continue;
        if (!shown->is_whole && has_told)
            *ret_is_behind = true;
        else if (!shown->is_whole || has_changed(shown)) {
            has_told = has_told || !shown->is_whole;
            st = update_run(runs, shown);
        }
    }
    return st;
}
