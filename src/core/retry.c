/* SPDX-License-Identifier: Apache-2.0 */
/* retry.c - how long a task waits before it runs again.
 *
 * A run *ends too soon* if it ends within QUICK_END_US after it got its slots, and was
 * neither finished nor stopped by us.  The next one would probably do the same, so it
 * waits; twice as long after each such end.  While it waits it holds no slots, and to
 * pause or kill its task works at once.
 *
 *   end of a run          waits at first   at most   costs a restart
 *   its program failed    0.25 s           60 s      yes (trial.c; a job ends)
 *   its machine was lost  0.25 s           60 s      no
 *   its machine lacked    1 s              60 s      no, and other agents come first
 *   something
 *
 * The count of ends in a row is a number of the next run (quick_ends).  It begins anew
 * after a run that lived longer, unless its machine lacked something, and after one that made progress: it validated, saved a
 * checkpoint or told its progress.  So a program that crashes again and again behind its
 * checkpoints is retried quickly, but not in a tight loop.  It also begins anew when a
 * user pauses and activates the experiment. */
#include <inttypes.h>

#include "core/core_impl.h"

enum { FAILED_FIRST_US = 250 * 1000, LACKING_FIRST_US = 1000 * 1000 };

static const int64_t first_wait_us[EXIT_KINDS] = {
    [EXIT_FAILED] = FAILED_FIRST_US,
    [EXIT_TRANSIENT] = FAILED_FIRST_US,
    [EXIT_LACKING] = LACKING_FIRST_US,
};

static int64_t wait_of(const struct live_allocation *run, int64_t quick_ends)
{
    int64_t wait_us = first_wait_us[run->row.exit];

    for (int64_t i = 0; i < quick_ends && wait_us < RETRY_MOST_US; i++)
        wait_us *= 2;
    return MIN(wait_us, (int64_t)RETRY_MOST_US);
}

/* The agent of the first share that reported it. */
static const struct live_share *lacking_share(const struct live_allocation *run)
{
    for (int64_t i = 0; i < run->row.shares; i++)
        if (run->share[i].row.exit == EXIT_LACKING)
            return &run->share[i];
    return NULL;
}

static const char *reason_of(struct core *core, const struct live_allocation *run,
                             const struct live_share *share)
{
    const char *why = run->exit_reason ? run->exit_reason : "";
    const char *text;

    if (share)
        text = arena_printf(&core->scratch,
                            "agent %s lacks resources: %s; this costs no restart",
                            share->row.agent, why);
    else
        text = arena_printf(&core->scratch, "its run ended too soon: %s", why);
    if (!text)
        core_fail_memory(core);
    return text;
}

struct retry retry_after(struct core *core, const struct live_allocation *run)
{
    const struct live_share *share =
        run->row.exit == EXIT_LACKING ? lacking_share(run) : NULL;
    bool is_quick = core->now_us - run->row.start_us < QUICK_END_US;
    struct retry retry = {0};

    if ((is_quick || share) && !run->row.has_progressed)
        retry.quick_ends = run->row.quick_ends;
    if (!first_wait_us[run->row.exit] || (!is_quick && !share))
        return retry;
    retry.wait_us = wait_of(run, retry.quick_ends++);
    retry.reason = reason_of(core, run, share);
    retry.avoided_agent = share ? share->row.agent_id : 0;
    return retry;
}
