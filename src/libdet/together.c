/* SPDX-License-Identifier: Apache-2.0 */
#include "libdet/together.h"

#include <stdatomic.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "base/mem.h"
#include "base/task.h"

enum { HELPERS = 3 };

/* The next thing is whoever's asks first; the first failure by number is kept. */
struct team {
    together_fn *work;
    void *arg;
    size_t count;
    atomic_size_t next;
    atomic_bool has_failed;
    struct lock lock; /* guards the rest */
    size_t failed;    /* which thing */
    struct err err;
};

struct helper {
    struct task task;
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

static void help(struct task *task)
{
    struct helper *helper = CONTAINER_OF(task, struct helper, task);

    work_on(helper->team);
    gate_open(helper->gate);
}

/* Helpers that could not be had are done without. */
static void work_with_help(struct team *team, struct exec *exec)
{
    struct helper helpers[HELPERS] = {0};
    size_t count = MIN(team->count - 1, (size_t)HELPERS);
    struct lane *lane;

    if (lane_new(exec, "det-file", (uint32_t)count, &lane, NULL))
        count = 0;
    for (size_t i = 0; i < count; i++) {
        helpers[i].task = (struct task)TASK_INIT(help);
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

static det_status work_alone(size_t count, together_fn *work, void *arg,
                             struct err *err)
{
    det_status st = DET_OK;

    for (size_t i = 0; i < count && !st; i++)
        st = work(arg, i, err);
    return st;
}

det_status together(size_t count, bool is_alone, together_fn *work, void *arg,
                    struct err *err)
{
    CLEANUP(mem_freep) struct team *team = NULL;
    struct exec *exec = NULL;
    det_status st;

    if (is_alone || count < 2)
        return work_alone(count, work, arg, err);
    team = mem_new(struct team);
    if (!team || lock_init(&team->lock, NULL))
        return work_alone(count, work, arg, err);
    team->work = work;
    team->arg = arg;
    team->count = count;
    if (exec_threads_new(&clock_system, &exec, NULL))
        work_on(team);
    else
        work_with_help(team, exec);
    if (exec)
        exec_free(exec);
    lock_done(&team->lock);
    st = team->err.status;
    return st ? err_set(err, st, "%s", team->err.text) : DET_OK;
}
