/* SPDX-License-Identifier: Apache-2.0 */
/* parallel.c - see parallel.h. */
#include "libdet/parallel.h"

#include <stdatomic.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "base/memory/mem.h"
#include "base/thread/executor.h"
#include "base/thread/lock.h"

enum { HELPERS = 3 };

/* Each thread takes the next item when it is free.  Of several failures the one with
 * the lowest item number is kept. */
struct team {
    parallel_fn *work;
    void *arg;
    size_t count;
    atomic_size_t next;
    atomic_bool has_failed;
    struct lock lock; /* guards the rest */
    size_t failed;    /* the item that failed */
    struct err err;
};

struct helper {
    struct work task;
    struct team *team;
    struct gate *gate;
};

static void keep_failure(struct team *team, size_t i, det_status status,
                         const struct err *err)
{
    lock_take(&team->lock);
    if (!team->err.status || i < team->failed) {
        team->failed = i;
        team->err.status = status;
        snprintf(team->err.text, sizeof(team->err.text), "%s",
                 err->text[0] ? err->text : det_status_text(status));
    }
    lock_give(&team->lock);
    atomic_store(&team->has_failed, true);
}

static void work_on(struct team *team)
{
    size_t i;

    while (!atomic_load(&team->has_failed) &&
           (i = atomic_fetch_add(&team->next, 1)) < team->count) {
        struct err err;
        det_status st;

        err.status = DET_OK;
        err.text[0] = '\0';
        st = team->work(team->arg, i, &err);
        if (st)
            keep_failure(team, i, st, &err);
    }
}

static void help_team(struct work *task)
{
    struct helper *helper = CONTAINER_OF(task, struct helper, task);

    work_on(helper->team);
    gate_open(helper->gate);
}

/* Works with fewer helpers if threads cannot be started. */
static void work_with_help(struct team *team, struct executor *exec)
{
    struct helper helpers[HELPERS] = {0};
    size_t count = MIN(team->count - 1, (size_t)HELPERS);
    struct lane *lane;

    if (lane_new(exec, "det-file", (uint32_t)count, &lane, NULL))
        count = 0;
    for (size_t i = 0; i < count; i++) {
        helpers[i].task = (struct work)WORK_INIT(help_team);
        helpers[i].team = team;
        if (!gate_new(exec, &helpers[i].gate, NULL))
            lane_post(lane, &helpers[i].task);
    }
    work_on(team);
    for (size_t i = 0; i < count; i++) {
        if (!helpers[i].gate)
            continue;
        if (!lane_cancel(lane, &helpers[i].task))
            (void)gate_wait(helpers[i].gate, 0);
        gate_free(helpers[i].gate);
    }
}

static det_status work_alone(size_t count, parallel_fn *work, void *arg,
                             struct err *err)
{
    det_status st = DET_OK;

    for (size_t i = 0; i < count && !st; i++)
        st = work(arg, i, err);
    return st;
}

det_status parallel_run(size_t count, bool is_alone, parallel_fn *work, void *arg,
                        struct err *err)
{
    CLEANUP(mem_freep) struct team *team = NULL;
    struct executor *exec = NULL;
    det_status st;

    if (is_alone || count < 2)
        return work_alone(count, work, arg, err);
    team = mem_new(struct team);
    if (!team || lock_init(&team->lock, NULL))
        return work_alone(count, work, arg, err);
    team->work = work;
    team->arg = arg;
    team->count = count;
    if (executor_threads_new(&clock_system, &exec, NULL))
        work_on(team);
    else
        work_with_help(team, exec);
    if (exec)
        executor_free(exec);
    lock_done(&team->lock);
    st = team->err.status;
    return st ? err_set(err, st, "%s", team->err.text) : DET_OK;
}
