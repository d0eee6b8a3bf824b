/* SPDX-License-Identifier: Apache-2.0 */
/* executor.h - threads and timers; all code starts threads through this seam.
 *
 * Work is cut into work items: short functions that never block on one another.  A
 * *lane* runs the items posted to it in order.  A lane of width 1 (the heart, the
 * writer, the logins) runs one item at a time and needs no lock for data that only it
 * touches; a wider lane (the workers) runs up to `width` at once.  An item may have a
 * due time.
 *
 * A lane may take turns (lane_take_turns()).  Then the items are sorted into groups by
 * their `turn`, for example the user for whom they run, and the groups go round: an item
 * waits for one item of each other group at most, however many these have queued, and one
 * group cannot occupy the whole width.
 *
 *   executor_threads_new()  the real one: a named thread for each unit of width, and
 *                           one thread for due times.
 *   executor_single_new()   the twin: everything on the caller's thread, in an order
 *                           that a seed decides, on a clock that jumps to the next
 *                           due time.
 *
 * `struct work` is embedded in the object that is worked on: posting cannot fail.  An
 * item is posted at most once at a time; its run() may post it again, or free it.
 * Threads have small stacks (256 KB) and all signals blocked. */
#ifndef BASE_THREAD_EXECUTOR_H
#define BASE_THREAD_EXECUTOR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/memory/tree.h"

struct executor;
struct histogram;
struct lane;
struct work;

typedef void work_fn(struct work *work);

enum work_state { WORK_IDLE, WORK_QUEUED, WORK_TIMED };

struct work {
    work_fn *run;
    struct work *next;      /* owned by the lane while queued */
    struct lane *lane;      /* where it is queued or due */
    int64_t due_us;         /* on the monotonic clock; once queued: since when */
    struct tree_node timed; /* its place among the due times */
    uint32_t turn;          /* its group, in a lane that takes turns; see there */
    enum work_state state;  /* guarded by the executor's lock */
};

#define WORK_INIT(fn)                                                                  \
    {                                                                                  \
        .run = (fn)                                                                    \
    }

/* Processors that this process may run on; at least 1. */
uint32_t executor_cores(void);

det_status executor_threads_new(const struct clock *clock, struct executor **ret_exec,
                                struct err *err);
/* Borrows the clock and moves it.  The order of ready lanes follows from `seed`. */
det_status executor_single_new(struct clock_manual *clock, uint64_t seed,
                               struct executor **ret_exec, struct err *err);
/* Stops: no further item starts.  Waits for running items and frees the lanes.  Items
 * that are still queued do not run; their owners free them. */
void executor_free(struct executor *exec);

/* Copies `name` (the thread's name, at most 15 characters).  Lanes live until
 * executor_free(). */
det_status lane_new(struct executor *exec, const char *name, uint32_t width,
                    struct lane **ret_lane, struct err *err);
/* Before the first post.  From now on groups of items take turns, and at most `most` items
 * of one group run at once.  There are LANE_GROUPS groups, chosen by `turn` modulo their
 * number: callers hash.  An item keeps its turn while it is queued. */
enum { LANE_GROUPS = 64 };
void lane_take_turns(struct lane *lane, uint32_t most);
/* Does nothing when the item is queued already; a timed one runs now instead. */
void lane_post(struct lane *lane, struct work *work);
/* Moves the due time when the item is timed already; does nothing when it is queued.
 * Items with equal due times run in the order of their posts. */
void lane_post_at(struct lane *lane, struct work *work, int64_t due_us);
/* True: it was queued or timed and will not run.  False: it runs, ran, or was never
 * posted. */
bool lane_cancel(struct lane *lane, struct work *work);

/* How busy a lane is.  The twin measures no times. */
enum { LANE_NAME = 16 }; /* the kernel's limit for a thread's name, with its NUL */
struct lane_state {
    char name[LANE_NAME];
    uint32_t width;
    uint32_t waiting; /* items in its queue */
    uint32_t running;
    uint64_t busy_us; /* spent in items, of all threads together */
    const struct histogram
        *wait; /* in its queue (histogram_latency_us); lives as the lane */
};
/* Returns how many of at most `most` states were written. */
uint32_t executor_look(struct executor *exec, struct lane_state *states, uint32_t most);

const struct clock *executor_clock(const struct executor *exec);
bool executor_is_single(const struct executor *exec);

/* Only for executor_single: runs one ready item, or advances the clock to the next due
 * one; false when nothing is left.  executor_pump_until() stops when *done becomes
 * true, and returns it.  A work item may call both; they then skip lanes whose width is
 * taken up by the items below on the stack. */
bool executor_pump(struct executor *exec);
bool executor_pump_until(struct executor *exec, const bool *done);
/* Only for executor_single: from now on each item of the lane takes up to `most_us`; the
 * other lanes go on meanwhile.  0: no time, as at first. */
void lane_slow_down(struct lane *lane, int64_t most_us);

/* A gate lets a thread outside all lanes (main, a blocking client) wait until a work
 * item opens it.  An open gate stays open; the waiting thread may free it at once, or
 * after executor_free().  With executor_single the wait pumps the executor. */
struct gate;
det_status gate_new(struct executor *exec, struct gate **ret_gate, struct err *err);
void gate_free(struct gate *gate);
void gate_open(struct gate *gate);
/* False: `deadline_us` (monotonic; 0: no deadline) passed first, or, with
 * executor_single, nothing is left that could open it. */
bool gate_wait(struct gate *gate, int64_t deadline_us);

#endif
