/* SPDX-License-Identifier: Apache-2.0 */
/* executor_single.c - everything on the caller's thread, in an order that a seed
 * decides.
 *
 * The generator chooses what threads would leave to chance: which of the ready lanes
 * goes next and, in a wide lane, which of the work items that its threads could have
 * taken.  Time stands still while any work item is ready, and then jumps to the next
 * due time.  A lane that was slowed down is busy for a while after each of its items.
 *
 * A work item may wait by pumping.  A lane counts its work items on the stack and is
 * passed over while they fill its width, as its threads would be busy. */
#include <assert.h>

#include "base/memory/mem.h"
#include "base/rng.h"
#include "base/thread/executor_impl.h"

struct single {
    struct executor exec;
    struct clock_manual *clock;
    struct rng64 rng;
};

struct single_lane {
    struct lane lane;
    uint32_t running; /* its tasks on the stack */
    int64_t slow_us;  /* each item takes up to this long */
    int64_t busy_until_us;
};

static struct single *single_of(struct executor *exec)
{
    return CONTAINER_OF(exec, struct single, exec);
}

static struct single_lane *lane_of(struct lane *lane)
{
    return CONTAINER_OF(lane, struct single_lane, lane);
}

/* A lane that waits below on the stack is as busy as a thread that waits. */
static bool has_item(struct lane *lane)
{
    return lane_choices(lane) && lane_of(lane)->running < lane->width;
}

static bool is_ready(const struct single *single, struct lane *lane)
{
    return has_item(lane) && lane_of(lane)->busy_until_us <= single->clock->mono_us;
}

/* When a lane that is only busy has an item again; INT64_MAX: there is no such lane. */
static int64_t next_ready_us(const struct single *single)
{
    int64_t first_us = INT64_MAX;

    for (struct lane *lane = single->exec.lanes; lane; lane = lane->next)
        if (has_item(lane))
            first_us = MIN(first_us, lane_of(lane)->busy_until_us);
    return first_us;
}

/* NULL: no lane has a work item that may run.  Counts first and then draws once: the
 * number of draws, and so everything that follows, depends only on the seed and the
 * work items. */
static struct lane *choose_lane(struct single *single)
{
    struct lane *chosen = NULL;
    uint64_t ready = 0;

    for (struct lane *lane = single->exec.lanes; lane; lane = lane->next)
        ready += is_ready(single, lane);
    if (!ready)
        return NULL;
    ready = rng64_below(&single->rng, ready);
    for (struct lane *lane = single->exec.lanes; lane; lane = lane->next)
        if (is_ready(single, lane) && ready-- == 0)
            chosen = lane;
    return chosen;
}

static void run_one(struct single *single, struct lane *lane)
{
    uint32_t width_left = lane->width - lane_of(lane)->running;
    uint64_t nth = rng64_below(&single->rng, MIN(width_left, lane_choices(lane)));
    uint32_t group = 0;
    struct work *work = lane_take(lane, (uint32_t)nth, &group);

    /* run() may free the work item, but not the lane. */
    lane_of(lane)->running++;
    work->run(work);
    lane_of(lane)->running--;
    lane_ran(lane, group);
    if (lane_of(lane)->slow_us)
        lane_of(lane)->busy_until_us =
            single->clock->mono_us +
            (int64_t)rng64_below(&single->rng, (uint64_t)lane_of(lane)->slow_us);
}

/* In the order of due times: work items of one lane start in that order. */
static void queue_due(struct single *single)
{
    int64_t now_us = clock_mono_us(single->exec.clock);
    struct work *work;

    while ((work = executor_take_due(&single->exec, now_us)) != NULL)
        lane_queue(work->lane, work);
}

/* Runs one work item.  Moves the clock for it as far as needed, but not beyond
 * `deadline_us`; false when no work item is due until then. */
static bool pump_once(struct single *single, int64_t deadline_us)
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
        due_us = MIN(executor_next_due_us(&single->exec), next_ready_us(single));
        if (due_us == INT64_MAX || due_us > deadline_us)
            return false;
        /* Its lane may be busy below on the stack; then the next round goes on to later
         * times, as time would pass for others while a thread waits. */
        clock_manual_advance(single->clock, due_us - single->clock->mono_us);
    }
}

bool executor_pump(struct executor *exec)
{
    assert(executor_is_single(exec));
    return pump_once(single_of(exec), INT64_MAX);
}

bool executor_pump_until(struct executor *exec, const bool *done)
{
    assert(executor_is_single(exec));
    while (!*done && pump_once(single_of(exec), INT64_MAX))
        ;
    return *done;
}

void lane_slow_down(struct lane *lane, int64_t most_us)
{
    assert(executor_is_single(lane->exec) && most_us >= 0);
    lane_of(lane)->slow_us = most_us;
}

static void single_post(struct lane *lane, struct work *work)
{
    lane_queue(lane, work);
}

static void single_post_at(struct lane *lane, struct work *work, int64_t due_us)
{
    lane_queue_at(lane, work, due_us);
}

static bool single_cancel(struct lane *lane UNUSED, struct work *work)
{
    return work_withdraw(work);
}

static det_status single_lane_new(struct executor *exec, const char *name,
                                  uint32_t width, struct lane **ret_lane,
                                  struct err *err)
{
    struct single_lane *lane = mem_new(struct single_lane);

    if (!lane)
        return err_default(err, DET_NOMEM);
    lane_init(&lane->lane, exec, name, width);
    lane_link(&lane->lane);
    *ret_lane = &lane->lane;
    return DET_OK;
}

static det_status single_gate_new(struct executor *exec, struct gate **ret_gate,
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

/* Pumps, as other threads would run meanwhile.  Ends early when nothing can open the
 * gate any more: threads would hang, but a test should fail instead. */
static bool single_gate_wait(struct gate *gate, int64_t deadline_us)
{
    struct single *single = single_of(gate->exec);
    int64_t until_us = deadline_us ? deadline_us : INT64_MAX;

    while (!gate->is_open && clock_mono_us(gate->exec->clock) < until_us)
        if (!pump_once(single, until_us))
            break;
    /* The caller has waited the whole time in vain. */
    if (!gate->is_open && deadline_us > single->clock->mono_us)
        clock_manual_advance(single->clock, deadline_us - single->clock->mono_us);
    return gate->is_open;
}

/* Tasks that still wait are not touched: their owners may have freed them. */
static void single_free(struct executor *exec)
{
    struct lane *next;

    for (struct lane *lane = exec->lanes; lane; lane = next) {
        next = lane->next;
        mem_free(lane_of(lane));
    }
    mem_free(single_of(exec));
}

static uint32_t single_look(struct executor *exec, struct lane_state *states,
                            uint32_t most)
{
    return executor_lane_states(exec, states, most);
}

const struct executor_ops executor_single_ops = {
    .free = single_free,
    .lane_new = single_lane_new,
    .take_turns = lane_set_turns,
    .post = single_post,
    .post_at = single_post_at,
    .cancel = single_cancel,
    .look = single_look,
    .gate_new = single_gate_new,
    .gate_free = single_gate_free,
    .gate_open = single_gate_open,
    .gate_wait = single_gate_wait,
};

det_status executor_single_new(struct clock_manual *clock, uint64_t seed,
                               struct executor **ret_exec, struct err *err)
{
    struct single *single = mem_new(struct single);

    if (!single)
        return err_default(err, DET_NOMEM);
    executor_init(&single->exec, &executor_single_ops, &clock->clock);
    single->clock = clock;
    single->rng.state = seed;
    *ret_exec = &single->exec;
    return DET_OK;
}
