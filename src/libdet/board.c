/* SPDX-License-Identifier: Apache-2.0 */
#include "libdet/board.h"

#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "base/io.h"
#include "base/mem.h"
#include "libdet/context.h"
#include "libdet/storage.h"
#include "wire/report.h"

enum {
    EVERY_US = 1000000,
    GATHER_MOST = 16 << 20, /* beyond it reports are left out */
    TREE = 64 << 20,
    TAG = 2 * REPORT_NAME_MOST + 2,
};

struct board {
    det_context *context;
    struct exec *exec;
    struct lane *lane;
    struct task task;
    det_events *events;  /* opened with the first numbers; only the thread's */
    bool has_failed;     /* ... and could not be: it is not tried again */
    struct buf spare;    /* only the thread's */
    struct lock lock;    /* guards the next two */
    struct buf gathered; /* (time i64, size u64, payload of a metrics record)* */
    bool is_posted;
};

/* ---- where ----------------------------------------------------------------------- */

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
    path = context->board_dir;
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
    context->board_dir = path;
    lock_give(&context->lock);
    if (!st && !path)
        st = err_default(&err, DET_NOMEM);
    if (!st)
        st = io_mkdir(context->world.io, path, false, &err);
    return context_end(context, st, &err) ? NULL : path;
}

/* ---- the thread ------------------------------------------------------------------ */

static bool open_events(struct board *board)
{
    det_context *context = board->context;
    const char *directory;
    /* what an earlier run said about what comes now is forgotten */
    det_events_options options = {.size = sizeof(options),
                                  .resume_step = context->info.run_id > 1
                                                     ? context->info.steps_completed + 1
                                                     : 0};

    if (board->events || board->has_failed)
        return board->events;
    directory = det_tensorboard_directory(context);
    if (!directory || det_events_open(context, directory, &options, &board->events)) {
        board->has_failed = true;
        return false;
    }
    return true;
}

/* "training/loss"; what is no number is no curve. */
static size_t fill(const struct report_metrics *report, struct arena *mem,
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

static void write_one(struct board *board, int64_t time_us, const char *payload,
                      size_t len)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(TREE);
    struct report_metrics report;
    det_metric *metrics;
    size_t count;

    if (report_metrics_decode(payload, len, &mem, &report, NULL) || report.steps < 0)
        return;
    metrics = arena_array(&mem, det_metric, (size_t)report.count + 1);
    count = metrics ? fill(&report, &mem, metrics) : 0;
    if (count && open_events(board))
        (void)events_scalars_at(board->events, time_us, report.steps, metrics, count,
                                NULL);
}

/* Takes what has gathered and writes it. */
static void write_gathered(struct board *board)
{
    struct buf taken;
    size_t at = 0;

    lock_take(&board->lock);
    taken = board->gathered;
    board->gathered = board->spare;
    board->is_posted = false;
    lock_give(&board->lock);
    while (at < taken.len) {
        int64_t head[2];

        memcpy(head, taken.data + at, sizeof(head));
        at += sizeof(head);
        write_one(board, head[0], taken.data + at, (size_t)head[1]);
        at += (size_t)head[1];
    }
    buf_clear(&taken);
    board->spare = taken;
    if (board->events)
        (void)det_events_flush(board->events);
}

static void on_time(struct task *task)
{
    write_gathered(CONTAINER_OF(task, struct board, task));
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

void board_note(det_context *context, int64_t time_us,
                const struct report_metrics *metrics)
{
    struct board *board = context->board;
    struct report_metrics plain = *metrics;
    size_t len;
    char *room = NULL;
    bool posts = false;

    if (!is_shown(metrics))
        return;
    plain.batch = NULL; /* of single batches there are no curves */
    plain.batch_len = 0;
    len = report_metrics_size(&plain);
    lock_take(&board->lock);
    if (board->gathered.len + len < GATHER_MOST)
        room = buf_room(&board->gathered, len + 2 * sizeof(int64_t));
    if (room) {
        int64_t head[2] = {time_us, (int64_t)len};

        memcpy(room, head, sizeof(head));
        report_metrics_encode(&plain, room + sizeof(head));
        buf_took(&board->gathered, len + sizeof(head));
        posts = !board->is_posted;
        board->is_posted = true;
    }
    lock_give(&board->lock);
    if (posts)
        lane_post_at(board->lane, &board->task,
                     clock_mono_us(context->world.clock) + EVERY_US);
}

/* ---- life ------------------------------------------------------------------------ */

det_status board_start(det_context *context, struct err *err)
{
    struct board *board = mem_new(struct board);
    det_status st;

    if (!board)
        return err_default(err, DET_NOMEM);
    board->context = context;
    board->task = (struct task)TASK_INIT(on_time);
    board->spare = (struct buf)BUF_INIT;
    board->gathered = (struct buf)BUF_INIT;
    st = lock_init(&board->lock, err);
    if (!st)
        st = exec_threads_new(context->world.clock, &board->exec, err);
    if (!st)
        st = lane_new(board->exec, "det-board", 1, &board->lane, err);
    context->board = board;
    return st;
}

void board_stop(det_context *context)
{
    struct board *board = context->board;

    if (!board)
        return;
    context->board = NULL;
    if (!context_check(context, NULL)) {
        if (board->exec)
            exec_free(board->exec); /* waits for the writing under way */
        write_gathered(board);
        (void)det_events_close(board->events);
        lock_done(&board->lock);
    }
    buf_done(&board->spare);
    buf_done(&board->gathered);
    mem_free(board);
}
