/* SPDX-License-Identifier: Apache-2.0 */
/* task.h - who runs what; the only door to threads for master, agent, supervisor and
 * libdet.
 *
 * Work is cut into tasks: short functions that never block on one another.  A *lane*
 * runs the tasks posted to it in order; a lane of width 1 (the heart, the writer, the
 * logins) runs one at a time and so needs no lock for what only it touches; a wider
 * one (the workers) runs up to `width` at once.  A task may carry a due time.
 *
 *   exec_threads_new()  the real thing: a named thread for each unit of width, one
 *                       thread for due times.
 *   exec_single_new()   the twin: everything on the caller's thread, in an order that
 *                       a seed decides, on a clock that jumps to the next due time.
 *
 * `struct task` is embedded in the object that is worked on, so that posting cannot
 * fail.  A task is posted at most once at a time; it may be posted again from within
 * its own run(), which may also free it.  Threads have small stacks (256 KB) and all
 * signals blocked. */
#ifndef BASE_TASK_H
#define BASE_TASK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/tree.h"

struct exec;
struct lane;
struct task;

typedef void task_fn(struct task *task);

enum task_state { TASK_IDLE, TASK_QUEUED, TASK_TIMED };

struct task {
    task_fn *run;
    struct task *next;      /* owned by the lane while queued */
    struct lane *lane;      /* where it is queued or due */
    int64_t due_us;         /* on the monotonic clock */
    struct tree_node timed; /* its place among the due times */
    enum task_state state;  /* guarded by the executor's lock */
};

#define TASK_INIT(fn)                                                                  \
    {                                                                                  \
        .run = (fn)                                                                    \
    }

/* Processors that this process may run on; at least 1. */
uint32_t task_cores(void);

det_status exec_threads_new(const struct clock *clock, struct exec **ret_exec,
                            struct err *err);
/* Borrows the clock and moves it.  The order of ready lanes follows from `seed`. */
det_status exec_single_new(struct clock_manual *clock, uint64_t seed,
                           struct exec **ret_exec, struct err *err);
/* Stops: no further task starts; waits for those that run; frees lanes.  Tasks still
 * queued are not run; their owners free them. */
void exec_free(struct exec *exec);

/* Copies `name` (the thread's name, at most 15 characters).  Lanes live until
 * exec_free(). */
det_status lane_new(struct exec *exec, const char *name, uint32_t width,
                    struct lane **ret_lane, struct err *err);
/* Does nothing when the task is queued already; a timed one runs now instead. */
void lane_post(struct lane *lane, struct task *task);
/* Moves the due time when the task is already timed; does nothing when it is queued.
 * Tasks of one due time run in the order of their posts. */
void lane_post_at(struct lane *lane, struct task *task, int64_t due_us);
/* True: it was queued or timed and will not run.  False: it runs, ran, or was never
 * posted. */
bool lane_cancel(struct lane *lane, struct task *task);

const struct clock *exec_clock(const struct exec *exec);
bool exec_is_single(const struct exec *exec);

/* Only for exec_single: runs one ready task, or advances the clock to the next due
 * one; false when nothing is left.  exec_pump_until() stops when *done becomes true,
 * and returns it.  Both may be called from within a task, and then do not run lanes
 * whose width is taken up by the tasks below on the stack. */
bool exec_pump(struct exec *exec);
bool exec_pump_until(struct exec *exec, const bool *done);

/* A lock for data that tasks of several lanes touch.  Never held across a post that
 * could run user code, nor while waiting for anything. */
struct lock {
    void *impl;
};
det_status lock_init(struct lock *lock, struct err *err);
void lock_done(struct lock *lock);
void lock_take(struct lock *lock);
void lock_give(struct lock *lock);

/* Which thread this is: a number that no other living thread has. */
uintptr_t thread_self(void);

/* Somebody outside all lanes (main, a blocking client) waits for a task to say so.  A
 * gate stays open once it is; whoever has waited may free it at once, or after
 * exec_free().  With exec_single the wait pumps the executor. */
struct gate;
det_status gate_new(struct exec *exec, struct gate **ret_gate, struct err *err);
void gate_free(struct gate *gate);
void gate_open(struct gate *gate);
/* False: `deadline_us` (monotonic; 0: none) passed first, or, with exec_single, nothing
 * is left that could open it. */
bool gate_wait(struct gate *gate, int64_t deadline_us);

#endif
