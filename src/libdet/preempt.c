/* SPDX-License-Identifier: Apache-2.0 */
/* preempt.c - does the platform want its slots back?
 *
 * A thread of our own holds a long poll at the master, the first one answered at once;
 * what training asks is a flag in memory.  A master that is away is asked again, less
 * and less often: nobody who is away can ask anybody to stop. */
#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "data/json.h"
#include "data/text.h"
#include "libdet/client_impl.h"
#include "libdet/context.h"
#include "libdet/saver.h"

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
    struct net *net;   /* owned, unless the world brought one */
    struct exec *exec; /* as well */
    struct lane *lane;
    struct task task;
    det_client *client;
    char *path; /* of the allocation's signals, owned */
    atomic_bool is_ending;
    bool has_asked; /* the rest only by the lane */
    uint32_t failures;
};

/* ---- calling --------------------------------------------------------------------- */

det_status context_client(const det_context *context, struct net *net, long timeout_ms,
                          det_client **ret_client, struct err *err)
{
    struct client_world world = {
        .io = context->world.io,
        .net = net,
        .master_file = context->master_file,
        .cluster = context->info.cluster_id,
    };
    det_client_options options = {
        .size = sizeof(options),
        .master = context->info.master_url,
        .token = context->token,
        .auth_file = "",
        .timeout_ms = timeout_ms,
    };

    return client_open(&world, &options, ret_client, err);
}

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

/* DET_OK: the master has answered. */
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

static void poll_once(struct task *task)
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
    /* A poll that is answered too soon counts as a failure, or it would run hot. */
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

static det_status start(struct preempt *preempt, struct err *err)
{
    det_context *context = preempt->context;
    const struct context_world *world = &context->world;
    struct exec *exec = world->exec;
    struct net *net = world->net;
    det_status st = signals_path(context, &preempt->path, err);

    if (!st && !exec) {
        st = exec_threads_new(world->clock, &preempt->exec, err);
        exec = preempt->exec;
    }
    if (!st && !net) {
        st = net_system_new(NULL, &preempt->net, err);
        net = preempt->net;
    }
    if (!st)
        st = context_client(context, net, CALL_MS, &preempt->client, err);
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
    preempt->task = (struct task)TASK_INIT(poll_once);
    context->preempt = preempt;
    return start(preempt, err);
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
        exec_free(preempt->exec); /* waits for the poll under way */
    det_client_close(preempt->client);
    if (preempt->net)
        net_free(preempt->net);
    mem_free(preempt->path);
    mem_free(preempt);
    context->preempt = NULL;
}

/* ---- asked by training ----------------------------------------------------------- */

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

static det_status acknowledge(det_context *context, det_client *client,
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
        st = err_set(&err, DET_STATE, "nobody has asked this program to stop");
    /* What is acknowledged ends, and goes on from what was saved: that must be known.
     */
    if (!st) {
        (void)saver_is_quiet(context, 0);
        st = saver_collect(context, NULL, &err);
    }
    if (st)
        return context_end(context, st, &err);
    deadline_us = clock_mono_us(context->world.clock) +
                  (timeout_ms > 0 ? MIN(timeout_ms, INT64_MAX / 2000) : ACK_MS) * 1000;
    net = context->preempt->net ? context->preempt->net : context->world.net;
    st = context_client(context, net, 0, &client, &err);
    if (!st)
        st = acknowledge(context, client, deadline_us, &err);
    det_client_close(client);
    return context_end(context, st, &err);
}
