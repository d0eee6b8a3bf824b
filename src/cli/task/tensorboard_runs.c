/* SPDX-License-Identifier: Apache-2.0 */

#include "cli/task/tensorboard_runs.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/io/io.h"
#include "base/memory/map.h"
#include "base/memory/mem.h"
#include "cli/frame/call.h"
#include "cli/frame/cli.h"
#include "cli/output/format.h"
#include "data/event_file.h"
#include "data/json/json.h"
#include "data/time.h"
#include "libdet/checkpoint/storage.h"

enum { LOOK_MEMORY = 256 << 20, LINE_MEMORY = 64 << 20, GROUPS = 32, GROUP_TEXT = 128 };

/* The last step written for one group. */
struct group_mark {
    char name[GROUP_TEXT];
    int64_t steps;
};

struct trial_run {
    int64_t id;
    int64_t experiment_id;
    char *path;           /* LOGS/experiment_N/trial_M */
    char *files;          /* its own event files; NULL: we cannot read its storage */
    struct io_file *file; /* made from metrics; NULL: none yet */
    int64_t batches;      /* at the last reading of its metrics */
    struct group_mark group[GROUPS];
    size_t group_count;
    bool is_linked;
    bool is_final; /* it has ended, and everything is written */
};

struct tensorboard_runs {
    struct cli *cli;
    const struct json *sources;
    const char *logs;
    struct map trials; /* struct trial_run, by id */
    struct map roots;  /* char *, by experiment; "" where there is none */
};

/* ---- a trial's own files --------------------------------------------------------- */

static det_status find_root(struct tensorboard_runs *runs, int64_t experiment,
                            struct arena *mem, const char **ret_root)
{
    const char *root = map_get(&runs->roots, experiment);
    struct json *reply;
    char *copy;
    det_status st;

    *ret_root = root;
    if (root)
        return DET_OK;
    st = cli_get_in(runs->cli, mem, &reply, "/api/v1/experiments/%" PRId64, experiment);
    if (st)
        return st;
    if (storage_root(json_path(reply, "experiment.config.checkpoint_storage"), mem,
                     &root, NULL))
        root = "";
    copy = mem_strdup(root);
    if (!copy || !map_put(&runs->roots, experiment, copy)) {
        mem_free(copy);
        return cli_nomem(runs->cli);
    }
    *ret_root = copy;
    return DET_OK;
}

static bool has_files(const struct trial_run *it, struct arena *mem)
{
    const char **names = NULL;

    return it->files && !io_list(io_system(), it->files, mem, &names, NULL) && *names;
}

static det_status link_files(struct trial_run *it, struct err *err)
{
    if (it->file) {
        io_close(it->file);
        it->file = NULL;
    }
    (void)io_remove_tree(io_system(), it->path, NULL);
    if (symlink(it->files, it->path) && errno != EEXIST)
        return err_errno(err, errno, "cannot link '%s'", it->path);
    it->is_linked = true;
    return DET_OK;
}

/* ---- files made of metrics ------------------------------------------------------- */

struct export
{
    struct trial_run *it;
    struct buf out;
    det_status status;
};

/* NULL: too many groups. */
static struct group_mark *find_mark(struct trial_run *it, const char *group)
{
    struct group_mark *mark;

    for (size_t i = 0; i < it->group_count; i++)
        if (!strcmp(it->group[i].name, group))
            return &it->group[i];
    if (it->group_count == GROUPS || strlen(group) >= GROUP_TEXT)
        return NULL;
    mark = &it->group[it->group_count++];
    snprintf(mark->name, sizeof(mark->name), "%s", group);
    mark->steps = -1;
    return mark;
}

static size_t read_numbers(const struct json *report, const char *group,
                           struct arena *mem, det_metric **ret_metrics)
{
    const struct json *metrics = json_path(report, "metrics.avg_metrics");
    size_t count = 0;

    if (!metrics)
        metrics = json_path(report, "metrics.validation_metrics");
    if (!metrics || metrics->kind != JSON_OBJECT)
        return 0;
    *ret_metrics = arena_array(mem, det_metric, metrics->list.count + 1);
    json_each(value, metrics) {
        double number;
        const char *tag;

        if (!*ret_metrics || !json_number(value, &number))
            continue;
        tag = arena_printf(mem, "%s/%s", group, value->key);
        if (tag)
            (*ret_metrics)[count++] = (det_metric){tag, number};
    }
    return count;
}

static void write_report(struct export *export, const struct json *report,
                         struct arena *mem)
{
    const char *group = json_str(json_get(report, "group"), "");
    struct group_mark *mark = find_mark(export->it, group);
    struct event_stamp stamp = {.step = json_i64(json_get(report, "totalBatches"), 0)};
    det_metric *metrics = NULL;
    int64_t time_us = 0;
    size_t count;

    if (!mark || stamp.step <= mark->steps)
        return;
    mark->steps = stamp.step;
    count = read_numbers(report, group, mem, &metrics);
    (void)time_parse(json_str(json_get(report, "endTime"), ""), &time_us);
    stamp.wall_s = (double)time_us / 1e6;
    if (count)
        event_numbers(&export->out, &stamp, metrics, count);
}

/* A line of the stream holds several reports. */
static int on_line(void *arg, const char *text, size_t len)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(LINE_MEMORY);
    struct export *export = arg;
    struct json *tree;

    if (json_parse(text, len, &mem, &tree, NULL))
        return 0;
    json_each(report, json_path(tree, "result.metrics"))
        write_report(export, report, &mem);
    return export->out.status || mem.has_failed;
}

static det_status open_file(struct trial_run *it, struct err *err)
{
    CLEANUP(buf_done) struct buf path = BUF_INIT;
    CLEANUP(buf_done) struct buf first = BUF_INIT;
    det_status st = io_mkdir(io_system(), it->path, false, err);

    buf_printf(&path, "%s/events.out.tfevents.1.det.%" PRId64, it->path, it->id);
    event_version(&first, 0);
    if (!st && (path.status || first.status))
        st = err_default(err, DET_NOMEM);
    if (!st)
        st = io_open(io_system(), path.data, IO_WRITE | IO_CREATE | IO_TRUNCATE,
                     &it->file, err);
    return st ? st : io_append(it->file, first.data, first.len, err);
}

static det_status export_metrics(struct tensorboard_runs *runs, struct trial_run *it,
                                 struct err *err)
{
    struct export export = {.it = it, .out = BUF_INIT};
    char path[96];
    det_status st;

    snprintf(path, sizeof(path),
             "/api/v1/trials/metrics/trial_metrics?trialIds=%" PRId64, it->id);
    st = cli_stream(runs->cli, path, on_line, &export);
    if (st)
        *err = *runs->cli->err;
    if (!st && export.out.status)
        st = err_default(err, DET_NOMEM);
    if (!st && export.out.len && !it->file)
        st = open_file(it, err);
    if (!st && export.out.len)
        st = io_append(it->file, export.out.data, export.out.len, err);
    buf_done(&export.out);
    return st;
}

/* ---- trials ---------------------------------------------------------------------- */

static void trial_run_free(struct trial_run *it)
{
    if (it->file)
        io_close(it->file);
    mem_free(it->path);
    mem_free(it->files);
    mem_free(it);
}

static char *print_text(const char *fmt, ...) PRINTF_LIKE(1, 2);
static char *print_text(const char *fmt, ...)
{
    struct buf out = BUF_INIT;
    va_list args;

    va_start(args, fmt);
    buf_vprintf(&out, fmt, args);
    va_end(args);
    return buf_take(&out);
}

static det_status trial_run_new(struct tensorboard_runs *runs, const struct json *trial,
                                struct arena *mem, struct trial_run **ret_shown)
{
    const char *cluster = getenv("DET_CLUSTER_ID");
    struct trial_run *it = mem_new(struct trial_run);
    const char *root = "";
    det_status st;

    if (!it)
        return cli_nomem(runs->cli);
    it->id = json_i64(json_get(trial, "id"), 0);
    it->experiment_id = json_i64(json_get(trial, "experimentId"), 0);
    it->batches = -1;
    st = find_root(runs, it->experiment_id, mem, &root);
    if (!st && *root)
        it->files =
            print_text("%s/%s/tensorboard/experiment/%" PRId64 "/trial/%" PRId64, root,
                       cluster ? cluster : "unknown", it->experiment_id, it->id);
    it->path = print_text("%s/experiment_%" PRId64 "/trial_%" PRId64, runs->logs,
                          it->experiment_id, it->id);
    if (!st &&
        (!it->path || (*root && !it->files) || !map_put(&runs->trials, it->id, it)))
        st = cli_nomem(runs->cli);
    if (st)
        trial_run_free(it);
    else
        *ret_shown = it;
    return st;
}

static bool is_over(const struct json *trial)
{
    return format_state_is_final(format_state(json_get(trial, "state")));
}

static det_status update_run(struct tensorboard_runs *runs, const struct json *trial,
                             struct arena *mem, struct err *err)
{
    struct trial_run *it = map_get(&runs->trials, json_i64(json_get(trial, "id"), 0));
    int64_t batches = json_i64(json_get(trial, "totalBatchesProcessed"), 0);
    const char *slash;
    det_status st = DET_OK;

    if (!it)
        st = trial_run_new(runs, trial, mem, &it);
    if (st)
        *err = *runs->cli->err;
    if (st || it->is_linked || it->is_final)
        return st;
    slash = strrchr(it->path, '/');
    st = io_mkdir(io_system(), arena_strndup(mem, it->path, (size_t)(slash - it->path)),
                  false, err);
    if (st)
        return st;
    if (has_files(it, mem))
        return link_files(it, err);
    if (batches != it->batches || is_over(trial))
        st = export_metrics(runs, it, err);
    if (!st) {
        it->batches = batches;
        it->is_final = is_over(trial);
    }
    return st;
}

/* ---- all trials ------------------------------------------------------------------ */

static void keep_first(struct err *first, const struct err *err)
{
    if (!first->status)
        *first = *err;
}

static void update_experiment(struct tensorboard_runs *runs, int64_t id,
                              struct err *first)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(LOOK_MEMORY);
    struct json *reply;

    if (cli_get_in(runs->cli, &mem, &reply,
                   "/api/v1/experiments/%" PRId64 "/trials?limit=0", id)) {
        keep_first(first, runs->cli->err);
        return;
    }
    json_each(trial, json_get(reply, "trials")) {
        struct err err = {0};

        if (update_run(runs, trial, &mem, &err))
            keep_first(first, &err);
    }
}

static void update_trial(struct tensorboard_runs *runs, int64_t id, struct err *first)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(LOOK_MEMORY);
    struct err err = {0};
    struct json *reply;

    if (cli_get_in(runs->cli, &mem, &reply, "/api/v1/trials/%" PRId64, id))
        keep_first(first, runs->cli->err);
    else if (update_run(runs, json_get(reply, "trial"), &mem, &err))
        keep_first(first, &err);
}

det_status tensorboard_runs_update(struct tensorboard_runs *runs, struct err *err)
{
    struct err first = {0};

    json_each(id, json_get(runs->sources, "experimentIds"))
        update_experiment(runs, json_i64(id, 0), &first);
    json_each(id, json_get(runs->sources, "trialIds"))
        update_trial(runs, json_i64(id, 0), &first);
    if (first.status && err)
        *err = first;
    return first.status;
}

det_status tensorboard_runs_new(struct cli *cli, const struct json *sources,
                                const char *logs, struct tensorboard_runs **ret_runs)
{
    struct tensorboard_runs *runs = mem_new(struct tensorboard_runs);
    det_status st;

    if (!runs)
        return cli_nomem(cli);
    *runs = (struct tensorboard_runs){.cli = cli, .sources = sources, .logs = logs};
    st = io_mkdir(io_system(), logs, false, cli->err);
    if (st)
        tensorboard_runs_free(runs);
    else
        *ret_runs = runs;
    return st;
}

void tensorboard_runs_free(struct tensorboard_runs *runs)
{
    struct trial_run *it;
    char *root;

    if (!runs)
        return;
    for (size_t i = 0; (it = map_next(&runs->trials, &i));)
        trial_run_free(it);
    for (size_t i = 0; (root = map_next(&runs->roots, &i));)
        mem_free(root);
    map_done(&runs->trials);
    map_done(&runs->roots);
    mem_free(runs);
}
