/* SPDX-License-Identifier: Apache-2.0 */
/* ship.h - from the spools to the master, in order, for as long as it takes.
 *
 * A batch is a number of lines of one stream, at most SHIP_BATCH bytes, with the
 * offsets they cover.  The master answers with its own offset, so a batch whose answer
 * was lost is sent again and stored once.  Nothing is dropped before it was
 * acknowledged.
 *
 * A last line without an end is sent when the stream has ended, or after 5 s without
 * new bytes: a person who follows the log sees a prompt, and a line that a program
 * prints in pieces stays one line.
 *
 * While the master is away, calls are repeated with growing pauses.  A refusal ends the
 * shipping; ship_outcome() says why. */
#ifndef AGENT_TASK_OUTPUT_SHIP_H
#define AGENT_TASK_OUTPUT_SHIP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct executor;
struct lane;
struct ship;
struct spool;
struct master_link;

enum { SHIP_BATCH = 256 << 10, SHIP_STREAMS = 2 };
extern const char *const ship_streams[SHIP_STREAMS]; /* "stdout", "stderr" */

struct ship_config {
    struct executor *exec; /* NULL: only ship_rest() will be called */
    struct lane *lane;     /* of width 1; all blocking happens there */
    struct master_link *link;
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
/* After its lane has stopped (executor_free()). */
void ship_free(struct ship *ship);

/* From any thread: there is something new, or the end.  Sent about 50 ms later. */
void ship_wake(struct ship *ship);
/* From any thread: ends the pause. */
void ship_hurry(struct ship *ship);
/* From any thread: the spools have ended. */
void ship_end(struct ship *ship);

/* From any thread: everything was sent, or refused. */
bool ship_is_over(const struct ship *ship);
/* After the end: DET_OK, or why the master refused it.  DET_STATE: the run is over
 * for the master. */
det_status ship_outcome(const struct ship *ship, struct err *err);

/* Sends the rest of ended spools, on the caller's thread, without retries. */
det_status ship_rest(struct ship *ship, struct err *err);

#endif
