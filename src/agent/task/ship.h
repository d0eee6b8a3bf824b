/* SPDX-License-Identifier: Apache-2.0 */
/* ship.h - from the spools to the master, in order, for as long as it takes.
 *
 * A batch is some lines of one stream, at most SHIP_BATCH bytes of them, with the
 * offsets they cover.  The master answers with where it is, so that a batch whose
 * answer was lost is sent again and stored once.  Nothing is thrown away before it was
 * acknowledged.
 *
 * A last line without an end is sent when the stream has ended, or after 5 s in which
 * nothing was added to it: people who follow the log see a prompt, while what a program
 * prints piece by piece stays one line.
 *
 * While the master is away: again and again, with growing pauses.  When it refuses, the
 * shipping is over, and says why. */
#ifndef AGENT_TASK_SHIP_H
#define AGENT_TASK_SHIP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct exec;
struct lane;
struct ship;
struct spool;
struct talk;

enum { SHIP_BATCH = 256 << 10, SHIP_STREAMS = 2 };
extern const char *const ship_streams[SHIP_STREAMS]; /* "stdout", "stderr" */

struct ship_config {
    struct exec *exec; /* NULL: only ship_rest() will be called */
    struct lane *lane; /* of width 1; all blocking happens there */
    struct talk *talk;
    struct spool *spool[SHIP_STREAMS];
    const char *allocation; /* copied */
    int64_t rank;
    /* Called on the lane once everything was sent or refused. */
    void (*on_over)(void *arg);
    void *arg;
};

/* Borrows all but the strings. */
det_status ship_new(const struct ship_config *config, struct ship **ret_ship,
                    struct err *err);
/* After its lane has stopped (exec_free()). */
void ship_free(struct ship *ship);

/* From any thread: there is something new, or the end.  Sent about 50 ms later. */
void ship_wake(struct ship *ship);
/* From any thread: do not wait for the rest of the pause. */
void ship_hurry(struct ship *ship);
/* From any thread: the spools have ended. */
void ship_end(struct ship *ship);

/* From any thread: everything was sent, or refused. */
bool ship_is_over(const struct ship *ship);
/* Once it is over: DET_OK, or why the master does not want it.  DET_STATE: the run is
 * over, as far as the master is concerned. */
det_status ship_outcome(const struct ship *ship, struct err *err);

/* Sends what the ended spools hold, on the caller's thread, without retries. */
det_status ship_rest(struct ship *ship, struct err *err);

#endif
