/* SPDX-License-Identifier: Apache-2.0 */
/* exec_single.c - everything on the caller's thread, in an order that a seed decides.
 *
 * What threads would leave to chance, the generator chooses: which of the ready lanes
 * goes next and, in a wide lane, which of the tasks that its threads could have taken.
 * Time stands still while anything is ready, and then jumps to the next due time.
 *
 * A task may wait by pumping; a lane counts the tasks that it has on the stack, and is
 * passed over while they fill its width, as its threads would be busy. */
#include <assert.h>

#include "base/exec_impl.h"
#include "base/mem.h"
#include "base/rng.h"

struct single {
    struct exec exec;
    struct clock_manual *clock;
    struct rng64 rng;
};

struct single_lane {
    struct lane lane;
    uint32_t running; /* its tasks on the stack */
};

static struct single *single_of(struct exec *exec)
{
    return CONTAINER_OF(exec, struct single, exec);
}

static struct single_lane *lane_of(struct lane *lane)
{
    return CONTAINER_OF(lane, struct single_lane, lane);
}

/* A lane that waits below on the stack is as busy as a thread that waits. */
static bool is_ready(struct lane *lane)
{
    return lane->head && lane_of(lane)->running < lane->width;
}

/* NULL: no lane has anything that may run. */
/* Counts first and then draws once: the number of draws, and so all that follows,
 * depends on the seed and the tasks alone. */
static struct lane *choose_lane(struct single *single)
{
    struct lane *chosen = NULL;
    uint64_t ready = 0;

    for (struct lane *lane = single->exec.lanes; lane; lane = lane->next)
        ready += is_ready(lane);
    if (!ready)
        return NULL;
    ready = rng64_below(&single->rng, ready);
    for (struct lane *lane = single->exec.lanes; lane; lane = lane->next)
        if (is_ready(lane) && ready-- == 0)
            chosen = lane;
    return chosen;
}

static void run_one(struct single *single, struct lane *lane)
{
    uint32_t width_left = lane->width - lane_of(lane)->running;
    uint64_t nth = rng64_below(&single->rng, MIN(width_left, lane->queued));
    struct task *task = lane_take(lane, (uint32_t)nth);

    /* The task may be gone when run() returns; the lane is not. */
    lane_of(lane)->running++;
    task->run(task);
    lane_of(lane)->running--;
}

/* In the order of due times, so that those of one lane start in it. */
static void queue_due(struct single *single)
{
    int64_t now_us = clock_mono_us(single->exec.clock);
    struct task *task;

    while ((task = exec_take_due(&single->exec, now_us)) != NULL)
        lane_queue(task->lane, task);
}

/* Runs one task, moving the clock for it as far as needed, but not beyond
 * `deadline_us`; false when there is none until then. */
static bool pump(struct single *single, int64_t deadline_us)
{
    for (;;) {
        struct lane *lane;
        int64_t due_us;

        queue_due(single);
        lane = choose_lane(single);
        if (lane) {
            run_one(single, lane);
            return true;
        }
        due_us = exec_next_due_us(&single->exec);
        if (due_us == INT64_MAX || due_us > deadline_us)
            return false;
        /* Its lane may be busy below on the stack; then the next round goes on to later
         * times, as time would pass for others while a thread waits. */
        clock_manual_advance(single->clock, due_us - single->clock->mono_us);
    }
}

bool exec_pump(struct exec *exec)
{
    assert(exec_is_single(exec));
    return pump(single_of(exec), INT64_MAX);
}

bool exec_pump_until(struct exec *exec, const bool *done)
{
    assert(exec_is_single(exec));
    while (!*done && pump(single_of(exec), INT64_MAX))
        ;
    return *done;
}

static void single_post(struct lane *lane, struct task *task)
{
    lane_queue(lane, task);
}

static void single_post_at(struct lane *lane, struct task *task, int64_t due_us)
{
    lane_queue_at(lane, task, due_us);
}

static bool single_cancel(struct lane *lane UNUSED, struct task *task)
{
    return task_withdraw(task);
}

static det_status single_lane_new(struct exec *exec, const char *name, uint32_t width,
                                  struct lane **ret_lane, struct err *err)
{
    struct single_lane *lane = mem_new(struct single_lane);

    if (!lane)
        return err_default(err, DET_NOMEM);
    lane_init(&lane->lane, exec, name, width);
    lane_link(&lane->lane);
    *ret_lane = &lane->lane;
    return DET_OK;
}

static det_status single_gate_new(struct exec *exec, struct gate **ret_gate,
                                  struct err *err)
{
    struct gate *gate = mem_new(struct gate);

    if (!gate)
        return err_default(err, DET_NOMEM);
    gate->exec = exec;
    *ret_gate = gate;
    return DET_OK;
}

static void single_gate_free(struct gate *gate)
{
    mem_free(gate);
}

static void single_gate_open(struct gate *gate)
{
    gate->is_open = true;
}

/* Pumps as others would run meanwhile; ends early when nothing can open the gate any
 * more, where threads would hang: a test had better fail than hang. */
static bool single_gate_wait(struct gate *gate, int64_t deadline_us)
{
    struct single *single = single_of(gate->exec);
    int64_t until_us = deadline_us ? deadline_us : INT64_MAX;

    while (!gate->is_open && clock_mono_us(gate->exec->clock) < until_us)
        if (!pump(single, until_us))
            break;
    /* Whoever waits in vain has waited. */
    if (!gate->is_open && deadline_us > single->clock->mono_us)
        clock_manual_advance(single->clock, deadline_us - single->clock->mono_us);
    return gate->is_open;
}

/* Tasks that still wait are not touched: their owners may have freed them. */
static void single_free(struct exec *exec)
{
    struct lane *next;

    for (struct lane *lane = exec->lanes; lane; lane = next) {
        next = lane->next;
        mem_free(lane_of(lane));
    }
    mem_free(single_of(exec));
}

const struct exec_ops exec_single_ops = {
    .free = single_free,
    .lane_new = single_lane_new,
    .post = single_post,
    .post_at = single_post_at,
    .cancel = single_cancel,
    .gate_new = single_gate_new,
    .gate_free = single_gate_free,
    .gate_open = single_gate_open,
    .gate_wait = single_gate_wait,
};

det_status exec_single_new(struct clock_manual *clock, uint64_t seed,
                           struct exec **ret_exec, struct err *err)
{
    struct single *single = mem_new(struct single);

    if (!single)
        return err_default(err, DET_NOMEM);
    exec_init(&single->exec, &exec_single_ops, &clock->clock);
    single->clock = clock;
    single->rng.state = seed;
    *ret_exec = &single->exec;
    return DET_OK;
}
