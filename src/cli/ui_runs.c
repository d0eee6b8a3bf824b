/* SPDX-License-Identifier: Apache-2.0 */
/* ui_runs.c - see ui_runs.h.
 *
 * A run is told in two steps: that it is there (its number follows from the order), and
 * later, the newest first, what it has reported and printed.  From then on it is looked
 * at when its files say that something happened: run.json is written when it begins,
 * state.json when it ends, and in between its lock is held. */
#include "cli/ui_runs.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/io.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/vec.h"
#include "cli/ctx.h"
#include "cli/offline.h"
#include "libdet/record.h"

enum { SCRATCH = 256 << 20 };

/* When a run's files were written last. */
struct signs {
    int64_t run_us;
    int64_t state_us;
    int64_t notes_us;
};

struct shown {
    char *path;
    struct signs signs;
    struct bring_follow follow;
    enum offline_state state;
    bool is_told; /* the master has it */
    bool is_whole;
    bool is_left_out;
};

struct ui_runs {
    struct cli *cli;
    char *path;
    VEC(struct shown *) all; /* in the order in which they were told */
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

/* run_us 0: there is no run. */
static struct signs signs_of(const char *folder)
{
    struct signs signs = {.run_us = modified_us(folder, "run.json")};

    if (signs.run_us) {
        signs.state_us = modified_us(folder, RECORD_STATE);
        signs.notes_us = modified_us(folder, "metadata.json");
    }
    return signs;
}

static bool is_same(const struct signs *a, const struct signs *b)
{
    return a->run_us == b->run_us && a->state_us == b->state_us &&
           a->notes_us == b->notes_us;
}

/* ---- life ------------------------------------------------------------------------ */

static void shown_free(struct shown *shown)
{
    if (!shown)
        return;
    bring_follow_end(&shown->follow);
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

/* ---- telling that they are there ------------------------------------------------- */

/* One that cannot be read is said once; it is tried again when its files change. */
static void leave_out(struct ui_runs *runs, struct shown *shown)
{
    cli_note(runs->cli, "left out: %s", runs->cli->err->text);
    *runs->cli->err = (struct err){0};
    shown->is_left_out = true;
}

/* Whether it is the run's own fault, and the others can be shown all the same. */
static bool is_its_own(det_status status)
{
    return status && status != DET_NOMEM && status != DET_UNREACHABLE &&
           status != DET_TIMEOUT;
}

static det_status tell(struct ui_runs *runs, struct shown *shown,
                       const struct offline_run *run)
{
    struct brought brought;
    det_status st = bring_run(runs->cli, run, BRING_IN_PLACE | BRING_NAMES, &brought);

    if (is_its_own(st)) {
        leave_out(runs, shown);
        return DET_OK;
    }
    if (st)
        return st;
    shown->follow.trial_id = brought.trial_id;
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

/* A folder that was not told yet: read, when its files are others than last time. */
static det_status consider(struct ui_runs *runs, const char *path, newcomers *found)
{
    struct shown *shown = smap_get(&runs->by_path, path);
    struct cli *cli = runs->cli;
    struct newcomer one = {0};
    struct signs signs;
    det_status st;

    if (shown && shown->is_told)
        return DET_OK;
    signs = signs_of(path);
    if (!signs.run_us || (shown && is_same(&signs, &shown->signs)))
        return DET_OK;
    if (!shown)
        shown = shown_new(runs, path);
    if (!shown)
        return cli_nomem(cli);
    shown->signs = signs;
    one.shown = shown;
    st = offline_run_read(path, &cli->mem, &one.run, cli->err);
    if (is_its_own(st)) {
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
        return consider(runs, runs->path, found);
    st = io_list(io_system(), runs->path, &cli->mem, &names, cli->err);
    for (; !st && *names; names++) {
        const char *path = arena_printf(&cli->mem, "%s/%s", runs->path, *names);

        st = path ? consider(runs, path, found) : cli_nomem(cli);
    }
    return st;
}

/* Everything that a command makes in cli->mem stays to its end; this is done again and
 * again. */
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
        st = tell(runs, found.at[i].shown, &found.at[i].run);
    vec_done(&found);
    scratch_end(runs->cli, kept);
    return st;
}

/* ---- following them -------------------------------------------------------------- */

/* What it has to say now; that it has ended comes last. */
static det_status bring_now(struct ui_runs *runs, struct shown *shown,
                            const struct signs *signs)
{
    struct cli *cli = runs->cli;
    bool is_new = !is_same(signs, &shown->signs);
    struct offline_run run;
    bool did;
    det_status st = offline_run_read(shown->path, &cli->mem, &run, cli->err);

    if (!st)
        st = bring_follow(cli, &run, &shown->follow, &did);
    if (!st && (is_new || run.state != shown->state))
        st = bring_end(cli, &run, shown->follow.trial_id);
    if (st)
        return st;
    shown->signs = *signs;
    shown->state = run.state;
    shown->is_whole = true;
    if (run.state != OFFLINE_RUNNING) {
        int64_t trial = shown->follow.trial_id;

        bring_follow_end(&shown->follow); /* it may begin again */
        shown->follow.trial_id = trial;
    }
    return DET_OK;
}

static det_status look_at(struct ui_runs *runs, struct shown *shown)
{
    struct signs signs = signs_of(shown->path);
    struct arena kept;
    det_status st;

    if (!signs.run_us) /* it was removed: what is known of it stays */
        return DET_OK;
    kept = scratch_begin(runs->cli);
    st = bring_now(runs, shown, &signs);
    scratch_end(runs->cli, kept);
    if (!is_its_own(st))
        return st;
    shown->signs = signs; /* not again before something changes */
    shown->is_whole = true;
    shown->state = OFFLINE_FAILED;
    cli_note(runs->cli, "'%s' is shown in part: %s", shown->path, runs->cli->err->text);
    *runs->cli->err = (struct err){0};
    return DET_OK;
}

static bool has_changed(const struct shown *shown)
{
    struct signs signs;

    if (shown->state == OFFLINE_RUNNING)
        return true;
    signs = signs_of(shown->path);
    return signs.run_us && !is_same(&signs, &shown->signs);
}

det_status ui_runs_bring(struct ui_runs *runs, bool *ret_is_behind)
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
            st = look_at(runs, shown);
        }
    }
    return st;
}
