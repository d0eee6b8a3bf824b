/* SPDX-License-Identifier: Apache-2.0 */
/* exec_impl.h - what both executors share; only for base/exec*.c.
 *
 * exec.c keeps the books: the queue of each lane, the tree of due times, the state of
 * each task.  Its functions here are called with the executor's lock held, where there
 * is one.  An executor embeds `struct exec`, its lanes embed `struct lane`; it decides
 * who runs what is queued. */
#ifndef BASE_EXEC_IMPL_H
#define BASE_EXEC_IMPL_H

#include "base/task.h"
#include "base/tree.h"

enum { LANE_NAME = 16 }; /* the kernel's limit for a thread's name, with its NUL */

struct exec_ops {
    void (*free)(struct exec *exec);
    det_status (*lane_new)(struct exec *exec, const char *name, uint32_t width,
                           struct lane **ret_lane, struct err *err);
    void (*post)(struct lane *lane, struct task *task);
    void (*post_at)(struct lane *lane, struct task *task, int64_t due_us);
    bool (*cancel)(struct lane *lane, struct task *task);
    det_status (*gate_new)(struct exec *exec, struct gate **ret_gate, struct err *err);
    void (*gate_free)(struct gate *gate);
    void (*gate_open)(struct gate *gate);
    bool (*gate_wait)(struct gate *gate, int64_t deadline_us);
};

struct exec {
    const struct exec_ops *ops;
    const struct clock *clock;
    struct tree timed; /* tasks by due time, then by the order of their posts */
    struct lane *lanes;
};

struct lane {
    struct exec *exec;
    struct lane *next; /* of the executor */
    struct task *head; /* the queue, oldest first */
    struct task *tail;
    uint32_t queued;
    uint32_t width;
    char name[LANE_NAME];
};

struct gate {
    struct exec *exec;
    const struct exec_ops *ops; /* its executor's, also when that is gone */
    bool is_open;
};

extern const struct exec_ops exec_single_ops;

void exec_init(struct exec *exec, const struct exec_ops *ops,
               const struct clock *clock);
void lane_init(struct lane *lane, struct exec *exec, const char *name, uint32_t width);
void lane_link(struct lane *lane); /* to its executor: exec_free() then frees it */

/* Queues the task; false when it was queued already. */
bool lane_queue(struct lane *lane, struct task *task);
/* Sets or moves its due time; false when it was queued already. */
bool lane_queue_at(struct lane *lane, struct task *task, int64_t due_us);
/* Takes task number `nth` (0: the oldest) out of the queue and makes it idle. */
struct task *lane_take(struct lane *lane, uint32_t nth);
/* Takes the task out of wherever it waits; false when it does not wait. */
bool task_withdraw(struct task *task);

/* The due time that comes first; INT64_MAX when there is none. */
int64_t exec_next_due_us(const struct exec *exec);
/* Takes out the first task due at or before `now_us`; NULL when there is none. */
struct task *exec_take_due(struct exec *exec, int64_t now_us);

#endif
