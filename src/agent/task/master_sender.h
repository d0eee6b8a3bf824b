/* SPDX-License-Identifier: Apache-2.0 */
/* master_sender.h - sends something to the master on a lane, for as long as it takes.
 *
 * The common part of ship.h (output) and ring_drain.h (reports): rounds follow one
 * another while there is something to send; while the master is away the same round is
 * repeated with growing pauses; it is over when everything was sent, or when the master
 * refuses it. */
#ifndef AGENT_TASK_MASTER_SENDER_H
#define AGENT_TASK_MASTER_SENDER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/thread/executor.h"

struct master_sender;

enum { SENDER_PAUSE_US = 50 * 1000, SENDER_UNTIL_WOKEN = -1 };

/* The result of a successful round. */
struct sender_next {
    bool is_done;    /* nothing will ever follow */
    int64_t wait_us; /* until the next round; sooner when woken; 0: at once */
};

/* One round, on the lane.  It is repeated after a pause if master_link_may_retry()
 * says so, and for DET_UNAUTHENTICATED until sender_end(); any other failure is the
 * end. */
typedef det_status sender_fn(struct master_sender *sender, struct sender_next *ret_next,
                             struct err *err);

struct sender_config {
    struct executor *exec;
    struct lane *lane; /* of width 1; all blocking happens there */
    const char *what;  /* "the output" */
    sender_fn *send_round;
    void (*on_over)(void *arg); /* on the lane, once it is over */
    void *arg;
};

/* Embedded; the lane must have stopped before it is freed. */
struct master_sender {
    struct work task;
    struct sender_config config;
    atomic_bool is_due; /* posted to run, soon or after a pause */
    atomic_bool is_ending;
    uint32_t failures;
    atomic_bool is_over;
    struct err refusal; /* status DET_OK: none */
};

/* Borrows all of it. */
void sender_init(struct master_sender *sender, const struct sender_config *config);

/* From any thread: there is something new.  A round comes after the usual pause. */
void sender_wake(struct master_sender *sender);
/* From any thread: ends the pause. */
void sender_hurry(struct master_sender *sender);
/* From any thread: nothing more will come; sends the rest at once. */
void sender_end(struct master_sender *sender);
int64_t sender_now_us(const struct master_sender *sender); /* monotonic */

bool sender_is_over(const struct master_sender *sender); /* any thread */
/* After the end: DET_OK, or why the master refused it. */
det_status sender_outcome(const struct master_sender *sender, struct err *err);

#endif
