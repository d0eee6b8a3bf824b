/* SPDX-License-Identifier: Apache-2.0 */
/* master_sender.c - the lane's work.  `is_due` keeps wake-ups from delaying a round
 * that is already due: otherwise a busy task would delay it for ever. */
#include "agent/task/master_sender.h"

#include "agent/master_link.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "base/log.h"

int64_t sender_now_us(const struct master_sender *sender)
{
    return clock_mono_us(executor_clock(sender->config.exec));
}

static void post_in(struct master_sender *sender, int64_t wait_us)
{
    lane_post_at(sender->config.lane, &sender->task, sender_now_us(sender) + wait_us);
}

static void end_sending(struct master_sender *sender)
{
    atomic_store(&sender->is_over, true); /* after the refusal was written */
    sender->config.on_over(sender->config.arg);
}

/* The master may take a refused token later: its key was restored, or the user is
 * active again.  After sender_end() the agent sends the rest with its own token. */
static bool may_retry(const struct master_sender *sender, det_status status)
{
    return master_link_may_retry(status) ||
           (status == DET_UNAUTHENTICATED && !atomic_load(&sender->is_ending));
}

static void fail_round(struct master_sender *sender, det_status status,
                       const struct err *err)
{
    if (!may_retry(sender, status)) {
        sender->refusal = *err;
        log_error("giving up sending %s: %s", sender->config.what, err->text);
        end_sending(sender);
        return;
    }
    if (!sender->failures++)
        log_warn("cannot send %s, retrying: %s", sender->config.what, err->text);
    atomic_store(&sender->is_due, true);
    post_in(sender, master_link_backoff_us(sender->failures));
}

static void run_round(struct work *task)
{
    struct master_sender *sender = CONTAINER_OF(task, struct master_sender, task);
    struct sender_next next = {.wait_us = SENDER_UNTIL_WOKEN};
    struct err err = {0};
    det_status status;

    if (sender_is_over(sender))
        return;
    atomic_store(&sender->is_due, false);
    status = sender->config.send_round(sender, &next, &err);
    if (status) {
        fail_round(sender, status, &err);
        return;
    }
    if (sender->failures)
        log_info("sending %s again", sender->config.what);
    sender->failures = 0;
    if (next.is_done)
        end_sending(sender);
    else if (next.wait_us == 0)
        sender_hurry(sender);
    else if (next.wait_us > 0 && !atomic_load(&sender->is_due))
        post_in(sender, next.wait_us); /* sooner when something comes */
}

void sender_init(struct master_sender *sender, const struct sender_config *config)
{
    sender->task = (struct work)WORK_INIT(run_round);
    sender->config = *config;
}

void sender_wake(struct master_sender *sender)
{
    if (!atomic_exchange(&sender->is_due, true))
        post_in(sender, SENDER_PAUSE_US);
}

void sender_hurry(struct master_sender *sender)
{
    atomic_store(&sender->is_due, true);
    lane_post(sender->config.lane, &sender->task);
}

void sender_end(struct master_sender *sender)
{
    atomic_store(&sender->is_ending, true);
    sender_hurry(sender);
}

bool sender_is_over(const struct master_sender *sender)
{
    return atomic_load(&sender->is_over);
}

det_status sender_outcome(const struct master_sender *sender, struct err *err)
{
    if (sender->refusal.status)
        return err_set(err, sender->refusal.status, "%s", sender->refusal.text);
    return DET_OK;
}
