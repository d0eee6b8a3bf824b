/* SPDX-License-Identifier: Apache-2.0 */
/* tensorboard_reports.c - see tensorboard_reports.h. */
#include "libdet/report/tensorboard_reports.h"

#include <inttypes.h>
#include <string.h>

#include "base/io/io.h"
#include "base/memory/buf.h"
#include "base/memory/mem.h"
#include "base/thread/lock.h"
#include "libdet/checkpoint/storage.h"
#include "libdet/context.h"
#include "libdet/report/tensorboard_events.h"
#include "wire/report.h"

enum {
    EVERY_US = 1000000,
    GATHER_MOST = 16 << 20, /* more is dropped */
    TREE = 64 << 20,
    TAG = 2 * REPORT_NAME_MOST + 2,
};

struct tensorboard_reports {
    det_context *context;
    struct executor *exec;
    struct lane *lane;
    struct work task;
    det_events *events;  /* opened with the first metrics; only for the thread */
    bool has_failed;     /* opening failed; it is not tried again */
    struct buf spare;    /* only for the thread */
    struct lock lock;    /* guards the next two */
    struct buf gathered; /* (time i64, size u64, payload of a metrics record)* */
    bool is_posted;
};

/* ---- the folder ------------------------------------------------------------------ */

const char *det_tensorboard_directory(det_context *context)
{
    struct storage storage = {0};
    const char *path = NULL;
    CONTEXT_ERR(err);
    det_status st = context_check_trial(context, &err);

    if (st) {
        (void)context_end(context, st, &err);
        return NULL;
    }
    lock_take(&context->lock);
    path = context->tensorboard_dir;
    if (!path && context->info.directory) {
        path =
            arena_printf(&context->strings, "%s/tensorboard", context->info.directory);
    } else if (!path) {
        st = storage_open(context, &context->strings, &storage, &err);
        if (!st)
            path = arena_printf(
                &context->strings,
                "%s/%s/tensorboard/experiment/%" PRId64 "/trial/%" PRId64, storage.root,
                context->info.cluster_id ? context->info.cluster_id : "unknown",
                context->info.experiment_id, context->info.trial_id);
    }
    context->tensorboard_dir = path;
    lock_give(&context->lock);
    if (!st && !path)
        st = err_default(&err, DET_NOMEM);
    if (!st)
        st = io_mkdir(context->world.io, path, false, &err);
    return context_end(context, st, &err) ? NULL : path;
}

/* ---- the thread ------------------------------------------------------------------ */

static bool open_events(struct tensorboard_reports *reports)
{
    det_context *context = reports->context;
    const char *directory;
    /* TensorBoard ignores the events of earlier runs from here on */
    det_events_options options = {.size = sizeof(options),
                                  .resume_step = context->info.run_id > 1
                                                     ? context->info.steps_completed + 1
                                                     : 0};

    if (reports->events || reports->has_failed)
        return reports->events;
    directory = det_tensorboard_directory(context);
    if (!directory || det_events_open(context, directory, &options, &reports->events)) {
        reports->has_failed = true;
        return false;
    }
    return true;
}

/* Makes tags like "training/loss".  Leaves out values that are not numbers. */
static size_t fill_scalars(const struct report_metrics *report, struct arena *mem,
                           det_metric *metrics)
{
    size_t count = 0;

    for (uint32_t i = 0; i < report->count; i++) {
        const struct report_value *value = &report->value[i];
        char *tag;

        if (value->type != REPORT_NUMBER)
            continue;
        tag = arena_printf(mem, "%.*s/%.*s", (int)report->group_len, report->group,
                           (int)value->name_len, value->name);
        if (tag)
            metrics[count++] = (det_metric){tag, value->number};
    }
    return count;
}

static void write_one(struct tensorboard_reports *reports, int64_t time_us,
                      const char *payload, size_t len)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(TREE);
    struct report_metrics report;
    det_metric *metrics;
    size_t count;

    if (report_metrics_decode(payload, len, &mem, &report, NULL) || report.steps < 0)
        return;
    metrics = arena_array(&mem, det_metric, (size_t)report.count + 1);
    count = metrics ? fill_scalars(&report, &mem, metrics) : 0;
    if (count && open_events(reports))
        (void)tensorboard_events_scalars_at(reports->events, time_us, report.steps,
                                            metrics, count, NULL);
}

/* Writes the collected metrics. */
static void write_gathered(struct tensorboard_reports *reports)
{
    struct buf taken;
    size_t at = 0;

    lock_take(&reports->lock);
    taken = reports->gathered;
    reports->gathered = reports->spare;
    reports->is_posted = false;
    lock_give(&reports->lock);
    while (at < taken.len) {
        int64_t head[2];

        memcpy(head, taken.data + at, sizeof(head));
        at += sizeof(head);
        write_one(reports, head[0], taken.data + at, (size_t)head[1]);
        at += (size_t)head[1];
    }
    buf_clear(&taken);
    reports->spare = taken;
    if (reports->events)
        (void)det_events_flush(reports->events);
}

static void on_time(struct work *task)
{
    write_gathered(CONTAINER_OF(task, struct tensorboard_reports, task));
}

/* ---- the training thread --------------------------------------------------------- */

static bool is_shown(const struct report_metrics *metrics)
{
    static const char training[] = DET_GROUP_TRAINING;
    static const char validation[] = DET_GROUP_VALIDATION;

    return (metrics->group_len == sizeof(training) - 1 &&
            !memcmp(metrics->group, training, sizeof(training) - 1)) ||
           (metrics->group_len == sizeof(validation) - 1 &&
            !memcmp(metrics->group, validation, sizeof(validation) - 1));
}

void tensorboard_reports_note(det_context *context, int64_t time_us,
                              const struct report_metrics *metrics)
{
    struct tensorboard_reports *reports = context->tensorboard;
    struct report_metrics plain = *metrics;
    size_t len;
    char *room = NULL;
    bool posts = false;

    if (!is_shown(metrics))
        return;
    plain.batch = NULL; /* TensorBoard shows no curves of single batches */
    plain.batch_len = 0;
    len = report_metrics_size(&plain);
    lock_take(&reports->lock);
    if (reports->gathered.len + len < GATHER_MOST)
        room = buf_room(&reports->gathered, len + 2 * sizeof(int64_t));
    if (room) {
        int64_t head[2] = {time_us, (int64_t)len};

        memcpy(room, head, sizeof(head));
        report_metrics_encode(&plain, room + sizeof(head));
        buf_took(&reports->gathered, len + sizeof(head));
        posts = !reports->is_posted;
        reports->is_posted = true;
    }
    lock_give(&reports->lock);
    if (posts)
        lane_post_at(reports->lane, &reports->task,
                     clock_mono_us(context->world.clock) + EVERY_US);
}

/* ---- start and stop -------------------------------------------------------------- */

det_status tensorboard_reports_start(det_context *context, struct err *err)
{
    struct tensorboard_reports *reports = mem_new(struct tensorboard_reports);
    det_status st;

    if (!reports)
        return err_default(err, DET_NOMEM);
    reports->context = context;
    reports->task = (struct work)WORK_INIT(on_time);
    reports->spare = (struct buf)BUF_INIT;
    reports->gathered = (struct buf)BUF_INIT;
    st = lock_init(&reports->lock, err);
    if (!st)
        st = executor_threads_new(context->world.clock, &reports->exec, err);
    if (!st)
        st = lane_new(reports->exec, "det-board", 1, &reports->lane, err);
    context->tensorboard = reports;
    return st;
}

void tensorboard_reports_stop(det_context *context)
{
    struct tensorboard_reports *reports = context->tensorboard;

    if (!reports)
        return;
    context->tensorboard = NULL;
    if (!context_check(context, NULL)) {
        if (reports->exec)
            executor_free(reports->exec); /* waits for a write under way */
        write_gathered(reports);
        (void)det_events_close(reports->events);
        lock_done(&reports->lock);
    }
    buf_done(&reports->spare);
    buf_done(&reports->gathered);
    mem_free(reports);
}
