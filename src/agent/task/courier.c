/* SPDX-License-Identifier: Apache-2.0 */
/* courier.c - the lane's task.  `is_due` keeps wake-ups from putting off a run that is
 * coming: moving the due time with everything new would put it off for ever. */
#include "agent/task/courier.h"

#include "agent/talk.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "base/log.h"

int64_t courier_now_us(const struct courier *courier)
{
    return clock_mono_us(exec_clock(courier->config.exec));
}

static void post_in(struct courier *courier, int64_t wait_us)
{
    lane_post_at(courier->config.lane, &courier->task,
                 courier_now_us(courier) + wait_us);
}

static void end(struct courier *courier)
{
    atomic_store(&courier->is_over, true); /* after the refusal was written */
    courier->config.on_over(courier->config.arg);
}

/* A token that is not taken may be taken later: the master's key was put back, the user
 * is active again.  When nothing more comes it is the agent that has one of its own. */
static bool may_retry(const struct courier *courier, det_status status)
{
    return talk_may_retry(status) ||
           (status == DET_UNAUTHENTICATED && !atomic_load(&courier->is_ending));
}

static void fail(struct courier *courier, det_status status, const struct err *err)
{
    if (!may_retry(courier, status)) {
        courier->refusal = *err;
        log_error("giving up sending %s: %s", courier->config.what, err->text);
        end(courier);
        return;
    }
    if (!courier->failures++)
        log_warn("cannot send %s, retrying: %s", courier->config.what, err->text);
    atomic_store(&courier->is_due, true);
    post_in(courier, talk_backoff_us(courier->failures));
}

static void run(struct task *task)
{
    struct courier *courier = CONTAINER_OF(task, struct courier, task);
    struct courier_next next = {.wait_us = COURIER_UNTIL_WOKEN};
    struct err err = {0};
    det_status status;

    if (courier_is_over(courier))
        return;
    atomic_store(&courier->is_due, false);
    status = courier->config.carry(courier, &next, &err);
    if (status) {
        fail(courier, status, &err);
        return;
    }
    if (courier->failures)
        log_info("sending %s again", courier->config.what);
    courier->failures = 0;
    if (next.is_done)
        end(courier);
    else if (next.wait_us == 0)
        courier_hurry(courier);
    else if (next.wait_us > 0 && !atomic_load(&courier->is_due))
        post_in(courier, next.wait_us); /* sooner when something comes */
}

void courier_init(struct courier *courier, const struct courier_config *config)
{
    courier->task = (struct task)TASK_INIT(run);
    courier->config = *config;
}

void courier_wake(struct courier *courier)
{
    if (!atomic_exchange(&courier->is_due, true))
        post_in(courier, COURIER_PAUSE_US);
}

void courier_hurry(struct courier *courier)
{
    atomic_store(&courier->is_due, true);
    lane_post(courier->config.lane, &courier->task);
}

void courier_end(struct courier *courier)
{
    atomic_store(&courier->is_ending, true);
    courier_hurry(courier);
}

bool courier_is_over(const struct courier *courier)
{
    return atomic_load(&courier->is_over);
}

det_status courier_outcome(const struct courier *courier, struct err *err)
{
    if (courier->refusal.status)
        return err_set(err, courier->refusal.status, "%s", courier->refusal.text);
    return DET_OK;
}
