/* SPDX-License-Identifier: Apache-2.0 */
/* preempt.c - asks the master whether the platform wants the slots back.
 *
 * A thread holds a long poll at the master; the first one is answered at once.
 * Training only reads a flag in memory.  If the master is away the thread retries, less
 * and less often. */
#include "libdet/train/preempt.h"

#include <inttypes.h>
#include <string.h>

#include "base/memory/buf.h"
#include "base/memory/mem.h"
#include "data/json/json.h"
#include "data/url.h"
#include "libdet/checkpoint/saver.h"
#include "libdet/client/client_impl.h"
#include "libdet/client/task_call.h"
#include "libdet/context.h"
#include "net/net_system.h"

enum {
    POLL_S = 60,
    CALL_MS = (POLL_S + 10) * 1000,
    RETRY_LEAST_US = 250000,
    RETRY_MOST_US = 10000000,
    TREE = 1 << 16,
    ACK_MS = 60000,
    ACK_PAUSE_US = 200000,
};

struct preempt {
    det_context *context;
    struct net *net;       /* owned, unless it is the world's */
    struct executor *exec; /* likewise */
    struct lane *lane;
    struct work task;
    det_client *client;
    char *path; /* of the allocation's signals, owned */
    atomic_bool is_ending;
    bool has_asked; /* this and the rest: only for the lane */
    uint32_t failures;
};

/* ---- calling --------------------------------------------------------------------- */

static det_status signals_path(const det_context *context, char **ret_path,
                               struct err *err)
{
    struct buf path = BUF_INIT;

    buf_puts(&path, "/api/v1/allocations/");
    url_encode(&path, context->info.allocation_id);
    buf_puts(&path, "/signals/");
    *ret_path = buf_take(&path);
    buf_done(&path);
    return *ret_path ? DET_OK : err_default(err, DET_NOMEM);
}

/* DET_OK if the master has answered. */
static det_status ask(struct preempt *preempt, int wait_s, bool *ret_preempt)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(TREE);
    CLEANUP(buf_done) struct buf path = BUF_INIT;
    det_reply *reply;
    struct json *tree;
    const char *body;
    size_t len;
    det_status st;

    buf_printf(&path, "%spreemption?timeoutSeconds=%d", preempt->path, wait_s);
    if (path.status)
        return path.status;
    st = det_call(preempt->client, "GET", path.data, NULL, &reply);
    if (st)
        return st;
    body = det_reply_body(reply, &len);
    st = json_parse(body, len, &mem, &tree, NULL);
    if (!st)
        *ret_preempt = json_bool(json_get(tree, "preempt"), false);
    det_reply_free(reply);
    return st;
}

/* ---- the poll -------------------------------------------------------------------- */

static int64_t retry_us(uint32_t failures)
{
    return MIN((int64_t)RETRY_LEAST_US << MIN(failures, 10u), (int64_t)RETRY_MOST_US);
}

static void poll_once(struct work *task)
{
    struct preempt *preempt = CONTAINER_OF(task, struct preempt, task);
    const struct clock *clock = preempt->context->world.clock;
    int64_t begun_us = clock_mono_us(clock);
    bool is_preempted = false;
    det_status st;

    if (atomic_load(&preempt->is_ending))
        return;
    st = ask(preempt, preempt->has_asked ? POLL_S : 0, &is_preempted);
    if (is_preempted) {
        atomic_store_explicit(&preempt->context->is_preempted, 1, memory_order_release);
        return;
    }
    /* A poll that is answered too soon counts as a failure; else the thread would loop
     * without a pause. */
    if (!st && preempt->has_asked && clock_mono_us(clock) - begun_us < RETRY_LEAST_US)
        st = DET_BUSY;
    preempt->has_asked = preempt->has_asked || !st;
    preempt->failures = st ? preempt->failures + 1 : 0;
    if (atomic_load(&preempt->is_ending))
        return;
    if (st)
        lane_post_at(preempt->lane, task,
                     clock_mono_us(clock) + retry_us(preempt->failures - 1));
    else
        lane_post(preempt->lane, task);
}

static det_status start_polling(struct preempt *preempt, struct err *err)
{
    det_context *context = preempt->context;
    const struct context_world *world = &context->world;
    struct executor *exec = world->exec;
    struct net *net = world->net;
    det_status st = signals_path(context, &preempt->path, err);

    if (!st && !exec) {
        st = executor_threads_new(world->clock, &preempt->exec, err);
        exec = preempt->exec;
    }
    if (!st && !net) {
        st = net_system_new(NULL, &preempt->net, err);
        net = preempt->net;
    }
    if (!st)
        st = task_call_client(context, net, CALL_MS, &preempt->client, err);
    if (!st)
        st = lane_new(exec, "det-preempt", 1, &preempt->lane, err);
    if (!st)
        lane_post(preempt->lane, &preempt->task);
    return st;
}

det_status preempt_start(det_context *context, struct err *err)
{
    struct preempt *preempt = mem_new(struct preempt);

    if (!preempt)
        return err_default(err, DET_NOMEM);
    preempt->context = context;
    preempt->task = (struct work)WORK_INIT(poll_once);
    context->preempt = preempt;
    return start_polling(preempt, err);
}

void preempt_stop(det_context *context)
{
    struct preempt *preempt = context->preempt;

    if (!preempt)
        return;
    atomic_store(&preempt->is_ending, true);
    if (preempt->client)
        client_cancel(preempt->client);
    if (preempt->lane)
        (void)lane_cancel(preempt->lane, &preempt->task);
    if (preempt->exec)
        executor_free(preempt->exec); /* waits for the current poll */
    det_client_close(preempt->client);
    if (preempt->net)
        net_free(preempt->net);
    mem_free(preempt->path);
    mem_free(preempt);
    context->preempt = NULL;
}

/* ---- public functions ------------------------------------------------------------ */

int det_preempted(const det_context *context)
{
    if (!context || context_check(context, NULL))
        return 0;
    return atomic_load_explicit(&context->is_preempted, memory_order_acquire);
}

static bool may_retry(det_status status)
{
    return status == DET_UNREACHABLE || status == DET_TIMEOUT || status == DET_BUSY;
}

static det_status acknowledge_preemption(det_context *context, det_client *client,
                                         int64_t deadline_us, struct err *err)
{
    const struct clock *clock = context->world.clock;
    CLEANUP(buf_done) struct buf path = BUF_INIT;
    det_status st;

    buf_printf(&path, "%sack_preemption", context->preempt->path);
    if (path.status)
        return err_default(err, path.status);
    for (;;) {
        st = det_call(client, "POST", path.data, NULL, NULL);
        if (!may_retry(st) || clock_mono_us(clock) >= deadline_us)
            break;
        clock_pause(clock, ACK_PAUSE_US);
    }
    return st ? err_set(err, st,
                        "the master was not told that the request to stop was "
                        "heard: %s",
                        det_error_text(client))
              : DET_OK;
}

det_status det_preempt_ack(det_context *context, int64_t timeout_ms)
{
    int64_t deadline_us;
    det_client *client = NULL;
    struct net *net;
    CONTEXT_ERR(err);
    det_status st = context_check(context, &err);

    if (!st && !det_preempted(context))
        st =
            err_set(&err, DET_STATE, "the platform has not asked this program to stop");
    /* The program ends after this and resumes from its last checkpoint, so the outcome
     * of that checkpoint must be known first. */
    if (!st) {
        (void)saver_is_quiet(context, 0);
        st = saver_collect(context, NULL, &err);
    }
    if (st)
        return context_end(context, st, &err);
    deadline_us = clock_mono_us(context->world.clock) +
                  (timeout_ms > 0 ? MIN(timeout_ms, INT64_MAX / 2000) : ACK_MS) * 1000;
    net = context->preempt->net ? context->preempt->net : context->world.net;
    st = task_call_client(context, net, 0, &client, &err);
    if (!st)
        st = acknowledge_preemption(context, client, deadline_us, &err);
    det_client_close(client);
    return context_end(context, st, &err);
}
