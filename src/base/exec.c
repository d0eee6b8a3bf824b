/* SPDX-License-Identifier: Apache-2.0 */
/* exec.c - the books that both executors keep, and the door that leads to them.
 *
 * A task is in one of three states.  IDLE belongs to its owner; QUEUED hangs in the
 * list of its lane; TIMED hangs in the tree of its executor.  Both hooks lie in the
 * task, so that no post can run out of memory. */
#include <assert.h>
#include <stdio.h>

#include "base/exec_impl.h"

static const struct task *task_at(const struct tree_node *node)
{
    return CONTAINER_OF(node, const struct task, timed);
}

/* Equal due times stay in the order of their posts: see tree.h. */
static int compare_due(const struct tree_node *a, const struct tree_node *b)
{
    int64_t due_a = task_at(a)->due_us;
    int64_t due_b = task_at(b)->due_us;

    return (due_a > due_b) - (due_a < due_b);
}

void exec_init(struct exec *exec, const struct exec_ops *ops, const struct clock *clock)
{
    *exec = (struct exec){ops, clock, TREE_INIT(compare_due), NULL};
}

void lane_init(struct lane *lane, struct exec *exec, const char *name, uint32_t width)
{
    lane->exec = exec;
    /* A lane of no width would take tasks and never run them. */
    lane->width = MAX(width, 1u);
    snprintf(lane->name, sizeof(lane->name), "%s", name);
}

/* At the end, so that lanes are met in the order of their making. */
void lane_link(struct lane *lane)
{
    struct lane **at = &lane->exec->lanes;

    while (*at)
        at = &(*at)->next;
    *at = lane;
}

/* ---- the books ---- */

static void untime(struct task *task)
{
    tree_remove(&task->lane->exec->timed, &task->timed);
    task->state = TASK_IDLE;
}

/* Posting what is queued already is allowed and does nothing: whoever only wants to
 * wake a lane need not know whether somebody else did. */
bool lane_queue(struct lane *lane, struct task *task)
{
    if (task->state == TASK_QUEUED)
        return false;
    if (task->state == TASK_TIMED)
        untime(task);
    task->state = TASK_QUEUED;
    task->lane = lane;
    task->next = NULL;
    if (lane->tail)
        lane->tail->next = task;
    else
        lane->head = task;
    lane->tail = task;
    lane->queued++;
    return true;
}

bool lane_queue_at(struct lane *lane, struct task *task, int64_t due_us)
{
    if (task->state == TASK_QUEUED)
        return false;
    if (task->state == TASK_TIMED)
        untime(task);
    task->state = TASK_TIMED;
    task->lane = lane;
    task->due_us = due_us;
    tree_add(&lane->exec->timed, &task->timed);
    return true;
}

static void unlink_after(struct lane *lane, struct task *before, struct task *task)
{
    if (before)
        before->next = task->next;
    else
        lane->head = task->next;
    if (lane->tail == task)
        lane->tail = before;
    lane->queued--;
    task->next = NULL;
    task->state = TASK_IDLE;
}

/* The task is idle before it runs, so that run() may post it again or free it. */
struct task *lane_take(struct lane *lane, uint32_t nth)
{
    struct task *before = NULL;
    struct task *task = lane->head;

    for (; task && nth > 0; nth--) {
        before = task;
        task = task->next;
    }
    if (task)
        unlink_after(lane, before, task);
    return task;
}

bool task_withdraw(struct task *task)
{
    struct task *before = NULL;

    if (task->state == TASK_IDLE)
        return false;
    if (task->state == TASK_TIMED) {
        untime(task);
        return true;
    }
    /* The list has no way back, so that a cancel searches; cancels of queued tasks are
     * rare, posts are not. */
    if (task->lane->head != task)
        for (before = task->lane->head; before->next != task;)
            before = before->next;
    unlink_after(task->lane, before, task);
    return true;
}

int64_t exec_next_due_us(const struct exec *exec)
{
    const struct tree_node *first = tree_first(&exec->timed);

    return first ? task_at(first)->due_us : INT64_MAX;
}

struct task *exec_take_due(struct exec *exec, int64_t now_us)
{
    struct tree_node *first = tree_first(&exec->timed);
    struct task *task = first ? CONTAINER_OF(first, struct task, timed) : NULL;

    if (!task || task->due_us > now_us)
        return NULL;
    untime(task);
    return task;
}

/* ---- the door ---- */

void exec_free(struct exec *exec)
{
    if (exec)
        exec->ops->free(exec);
}

const struct clock *exec_clock(const struct exec *exec)
{
    return exec->clock;
}

bool exec_is_single(const struct exec *exec)
{
    return exec->ops == &exec_single_ops;
}

det_status lane_new(struct exec *exec, const char *name, uint32_t width,
                    struct lane **ret_lane, struct err *err)
{
    return exec->ops->lane_new(exec, name, width, ret_lane, err);
}

/* A task without a function is found where it is posted, not later on some thread. */
void lane_post(struct lane *lane, struct task *task)
{
    assert(task->run);
    lane->exec->ops->post(lane, task);
}

void lane_post_at(struct lane *lane, struct task *task, int64_t due_us)
{
    assert(task->run);
    lane->exec->ops->post_at(lane, task, due_us);
}

bool lane_cancel(struct lane *lane, struct task *task)
{
    return lane->exec->ops->cancel(lane, task);
}

det_status gate_new(struct exec *exec, struct gate **ret_gate, struct err *err)
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
