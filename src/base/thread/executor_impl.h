/* SPDX-License-Identifier: Apache-2.0 */
/* executor_impl.h - the parts that both executors share; only for executor*.c.
 *
 * executor.c keeps the queue of each lane, the tree of due times and the state of each
 * work item.  Its functions are called with the executor's lock held, where there is
 * one.  An executor embeds `struct executor`, its lanes embed `struct lane`; the
 * executor decides when a queued work item runs. */
#ifndef BASE_THREAD_EXECUTOR_IMPL_H
#define BASE_THREAD_EXECUTOR_IMPL_H

#include "base/histogram.h"
#include "base/memory/tree.h"
#include "base/thread/executor.h"

struct executor_ops {
    void (*free)(struct executor *exec);
    det_status (*lane_new)(struct executor *exec, const char *name, uint32_t width,
                           struct lane **ret_lane, struct err *err);
    void (*take_turns)(struct lane *lane, uint32_t most);
    void (*post)(struct lane *lane, struct work *work);
    void (*post_at)(struct lane *lane, struct work *work, int64_t due_us);
    bool (*cancel)(struct lane *lane, struct work *work);
    uint32_t (*look)(struct executor *exec, struct lane_state *states, uint32_t most);
    det_status (*gate_new)(struct executor *exec, struct gate **ret_gate,
                           struct err *err);
    void (*gate_free)(struct gate *gate);
    void (*gate_open)(struct gate *gate);
    bool (*gate_wait)(struct gate *gate, int64_t deadline_us);
};

struct executor {
    const struct executor_ops *ops;
    const struct clock *clock;
    struct tree timed; /* tasks by due time, then by the order of their posts */
    struct lane *lanes;
};

/* The items of one group, oldest first. */
struct lane_group {
    struct work *head;
    struct work *tail;
    uint32_t running;
};

/* A lane that does not take turns has one group, the first. */
struct lane {
    struct executor *exec;
    struct lane *next; /* of the same executor */
    struct lane_group group[LANE_GROUPS];
    uint32_t groups;     /* in use: 1 or LANE_GROUPS */
    uint32_t group_most; /* items of a group that run at once */
    uint32_t last_group; /* whose turn it was */
    uint32_t queued;
    uint32_t width;
    char name[LANE_NAME];
    struct histogram wait; /* this and busy_us need no lock */
    _Atomic uint64_t busy_us;
};

struct gate {
    struct executor *exec;
    const struct executor_ops
        *ops; /* its executor's; needed when the executor is gone already */
    bool is_open;
};

extern const struct executor_ops executor_single_ops;

void executor_init(struct executor *exec, const struct executor_ops *ops,
                   const struct clock *clock);
void lane_init(struct lane *lane, struct executor *exec, const char *name,
               uint32_t width);
void lane_link(
    struct lane
        *lane); /* adds it to its executor, which then frees it in executor_free() */

/* See lane_take_turns(). */
void lane_set_turns(struct lane *lane, uint32_t most);
/* Queues the work item; false when it is queued already. */
bool lane_queue(struct lane *lane, struct work *work);
/* Sets or moves the due time; false when the work item is queued already. */
bool lane_queue_at(struct lane *lane, struct work *work, int64_t due_us);
/* How many items could be next, whichever thread is free: those in the queue; with turns,
 * the first ones of the groups that are not at their limit. */
uint32_t lane_choices(const struct lane *lane);
/* Takes choice number `nth` (0: whose turn it is) out of the queue and makes it idle; NULL:
 * there is none.  *ret_group is for lane_ran(), after its run(). */
struct work *lane_take(struct lane *lane, uint32_t nth, uint32_t *ret_group);
void lane_ran(struct lane *lane, uint32_t group);
/* Takes the work item out of the queue or tree it waits in; false when it does not
 * wait. */
bool work_withdraw(struct work *work);

/* See executor_look(). */
uint32_t executor_lane_states(const struct executor *exec, struct lane_state *states,
                              uint32_t most);

/* The earliest due time; INT64_MAX when no work item is timed. */
int64_t executor_next_due_us(const struct executor *exec);
/* Takes out the first work item due at or before `now_us`; NULL when there is none. */
struct work *executor_take_due(struct executor *exec, int64_t now_us);

#endif
