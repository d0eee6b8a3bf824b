/* SPDX-License-Identifier: Apache-2.0 */
/* courier.h - carrying something to the master on a lane, for as long as it takes.
 *
 * What ship.h (output) and drain.h (reports) have in common: one round after the other,
 * as long as there is something; while the master is away the same round again and
 * again, with growing pauses; over when everything was carried, or when the master
 * refuses it. */
#ifndef AGENT_TASK_COURIER_H
#define AGENT_TASK_COURIER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/task.h"

struct courier;

enum { COURIER_PAUSE_US = 50 * 1000, COURIER_UNTIL_WOKEN = -1 };

/* What comes after a round that went well. */
struct courier_next {
    bool is_done;    /* nothing will ever follow */
    int64_t wait_us; /* until the next round; sooner when woken; 0: at once */
};

/* One round, on the lane.  A status that talk_may_retry() brings it back after a pause,
 * and so does DET_UNAUTHENTICATED until courier_end(); any other is the end. */
typedef det_status courier_fn(struct courier *courier, struct courier_next *ret_next,
                              struct err *err);

struct courier_config {
    struct exec *exec;
    struct lane *lane; /* of width 1; all blocking happens there */
    const char *what;  /* "the output" */
    courier_fn *carry;
    void (*on_over)(void *arg); /* on the lane, once it is over */
    void *arg;
};

/* Embedded; the lane must have stopped before it goes. */
struct courier {
    struct task task;
    struct courier_config config;
    atomic_bool is_due; /* posted to run, soon or after a pause */
    atomic_bool is_ending;
    uint32_t failures;
    atomic_bool is_over;
    struct err refusal; /* status DET_OK: none */
};

/* Borrows all of it. */
void courier_init(struct courier *courier, const struct courier_config *config);

/* From any thread: there is something new.  A round comes after the usual pause. */
void courier_wake(struct courier *courier);
/* From any thread: do not wait for the rest of the pause. */
void courier_hurry(struct courier *courier);
/* From any thread: nothing follows what is there now, which is carried at once. */
void courier_end(struct courier *courier);
int64_t courier_now_us(const struct courier *courier); /* monotonic */

bool courier_is_over(const struct courier *courier); /* any thread */
/* Once it is over: DET_OK, or why the master does not want it. */
det_status courier_outcome(const struct courier *courier, struct err *err);

#endif
