/* SPDX-License-Identifier: Apache-2.0 */
/* executor.c - queues, due times and work item states for both executors, and the
 * public calls that lead to them.
 *
 * A work item is in one of three states.  IDLE: its owner may free it.  QUEUED: it is
 * in the list of its lane.  TIMED: it is in the tree of its executor.  Both links are
 * part of the work item: posting needs no memory and cannot fail. */
#include "base/thread/executor.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdio.h>

#include "base/thread/executor_impl.h"

static const struct work *work_of(const struct tree_node *node)
{
    return CONTAINER_OF(node, const struct work, timed);
}

/* Equal due times stay in the order of their posts: see tree.h. */
static int compare_due(const struct tree_node *a, const struct tree_node *b)
{
    int64_t due_a = work_of(a)->due_us;
    int64_t due_b = work_of(b)->due_us;

    return (due_a > due_b) - (due_a < due_b);
}

void executor_init(struct executor *exec, const struct executor_ops *ops,
                   const struct clock *clock)
{
    *exec = (struct executor){ops, clock, TREE_INIT(compare_due), NULL};
}

void lane_init(struct lane *lane, struct executor *exec, const char *name,
               uint32_t width)
{
    lane->exec = exec;
    /* A lane without width would never run its work items. */
    lane->width = MAX(width, 1u);
    lane->groups = 1;
    lane->group_most = UINT32_MAX;
    snprintf(lane->name, sizeof(lane->name), "%s", name);
}

/* At the end: lanes stay in the order in which they were made. */
void lane_link(struct lane *lane)
{
    struct lane **at = &lane->exec->lanes;

    while (*at)
        at = &(*at)->next;
    *at = lane;
}

/* ---- queues and due times ---- */

static void remove_due_time(struct work *work)
{
    tree_remove(&work->lane->exec->timed, &work->timed);
    work->state = WORK_IDLE;
}

static struct lane_group *group_of(struct lane *lane, const struct work *work)
{
    return &lane->group[work->turn % lane->groups];
}

/* A post of a queued work item does nothing: a caller that only wants to wake a lane
 * need not know whether another did so already. */
bool lane_queue(struct lane *lane, struct work *work)
{
    struct lane_group *group = group_of(lane, work);

    if (work->state == WORK_QUEUED)
        return false;
    if (work->state == WORK_TIMED)
        remove_due_time(work);
    work->state = WORK_QUEUED;
    work->lane = lane;
    work->next = NULL;
    if (group->tail)
        group->tail->next = work;
    else
        group->head = work;
    group->tail = work;
    lane->queued++;
    return true;
}

bool lane_queue_at(struct lane *lane, struct work *work, int64_t due_us)
{
    if (work->state == WORK_QUEUED)
        return false;
    if (work->state == WORK_TIMED)
        remove_due_time(work);
    work->state = WORK_TIMED;
    work->lane = lane;
    work->due_us = due_us;
    tree_add(&lane->exec->timed, &work->timed);
    return true;
}

static void unlink_after(struct lane *lane, struct work *before, struct work *work)
{
    struct lane_group *group = group_of(lane, work);

    if (before)
        before->next = work->next;
    else
        group->head = work->next;
    if (group->tail == work)
        group->tail = before;
    lane->queued--;
    work->next = NULL;
    work->state = WORK_IDLE;
}

static bool has_turn(const struct lane *lane, const struct lane_group *group)
{
    return group->head && group->running < lane->group_most;
}

uint32_t lane_choices(const struct lane *lane)
{
    uint32_t choices = 0;

    if (lane->groups == 1)
        return lane->queued;
    for (uint32_t i = 0; i < lane->groups; i++)
        choices += has_turn(lane, &lane->group[i]);
    return choices;
}

/* The groups that have a turn, in the order of their turns. */
static uint32_t choose_group(const struct lane *lane, uint32_t nth)
{
    for (uint32_t i = 1; i <= lane->groups; i++) {
        uint32_t at = (lane->last_group + i) % lane->groups;

        if (has_turn(lane, &lane->group[at]) && nth-- == 0)
            return at;
    }
    return lane->groups;
}

void lane_set_turns(struct lane *lane, uint32_t most)
{
    assert(!lane->queued);
    lane->groups = LANE_GROUPS;
    lane->group_most = MAX(most, 1u);
}

/* The work item is idle before it runs: run() may post it again or free it. */
struct work *lane_take(struct lane *lane, uint32_t nth, uint32_t *ret_group)
{
    uint32_t at = lane->groups == 1 ? 0 : choose_group(lane, nth);
    uint32_t steps = lane->groups == 1 ? nth : 0;
    struct work *before = NULL;
    struct work *work =
        !lane->queued || at == lane->groups ? NULL : lane->group[at].head;

    for (; work && steps > 0; steps--) {
        before = work;
        work = work->next;
    }
    if (!work)
        return NULL;
    unlink_after(lane, before, work);
    lane->last_group = at;
    lane->group[at].running++;
    *ret_group = at;
    return work;
}

void lane_ran(struct lane *lane, uint32_t group)
{
    assert(lane->group[group].running > 0);
    lane->group[group].running--;
}

bool work_withdraw(struct work *work)
{
    struct work *before = NULL;
    struct work *head;

    if (work->state == WORK_IDLE)
        return false;
    if (work->state == WORK_TIMED) {
        remove_due_time(work);
        return true;
    }
    /* The list has no way back, so a cancel searches.  Cancels of queued work items are
     * rare, posts are not. */
    head = group_of(work->lane, work)->head;
    if (head != work)
        for (before = head; before->next != work;)
            before = before->next;
    unlink_after(work->lane, before, work);
    return true;
}

uint32_t executor_lane_states(const struct executor *exec, struct lane_state *states,
                              uint32_t most)
{
    uint32_t count = 0;

    for (const struct lane *lane = exec->lanes; lane && count < most;
         lane = lane->next) {
        struct lane_state *state = &states[count++];

        *state = (struct lane_state){
            .width = lane->width,
            .waiting = lane->queued,
            .busy_us = atomic_load_explicit(&lane->busy_us, memory_order_relaxed),
            .wait = &lane->wait};
        for (uint32_t i = 0; i < lane->groups; i++)
            state->running += lane->group[i].running;
        snprintf(state->name, sizeof(state->name), "%s", lane->name);
    }
    return count;
}

int64_t executor_next_due_us(const struct executor *exec)
{
    const struct tree_node *first = tree_first(&exec->timed);

    return first ? work_of(first)->due_us : INT64_MAX;
}

struct work *executor_take_due(struct executor *exec, int64_t now_us)
{
    struct tree_node *first = tree_first(&exec->timed);
    struct work *work = first ? CONTAINER_OF(first, struct work, timed) : NULL;

    if (!work || work->due_us > now_us)
        return NULL;
    remove_due_time(work);
    return work;
}

/* ---- public calls ---- */

void executor_free(struct executor *exec)
{
    if (exec)
        exec->ops->free(exec);
}

const struct clock *executor_clock(const struct executor *exec)
{
    return exec->clock;
}

bool executor_is_single(const struct executor *exec)
{
    return exec->ops == &executor_single_ops;
}

det_status lane_new(struct executor *exec, const char *name, uint32_t width,
                    struct lane **ret_lane, struct err *err)
{
    return exec->ops->lane_new(exec, name, width, ret_lane, err);
}

void lane_take_turns(struct lane *lane, uint32_t most)
{
    lane->exec->ops->take_turns(lane, most);
}

/* A work item without a function is noticed at its post, not later on some thread. */
void lane_post(struct lane *lane, struct work *work)
{
    assert(work->run);
    lane->exec->ops->post(lane, work);
}

void lane_post_at(struct lane *lane, struct work *work, int64_t due_us)
{
    assert(work->run);
    lane->exec->ops->post_at(lane, work, due_us);
}

bool lane_cancel(struct lane *lane, struct work *work)
{
    return lane->exec->ops->cancel(lane, work);
}

uint32_t executor_look(struct executor *exec, struct lane_state *states, uint32_t most)
{
    return exec->ops->look(exec, states, most);
}

det_status gate_new(struct executor *exec, struct gate **ret_gate, struct err *err)
{
    det_status st = exec->ops->gate_new(exec, ret_gate, err);

    if (!st)
        (*ret_gate)->ops = exec->ops;
    return st;
}

void gate_free(struct gate *gate)
{
    if (gate)
        gate->ops->gate_free(gate); /* the executor may be gone already */
}

void gate_open(struct gate *gate)
{
    gate->exec->ops->gate_open(gate);
}

bool gate_wait(struct gate *gate, int64_t deadline_us)
{
    return gate->exec->ops->gate_wait(gate, deadline_us);
}
