/* SPDX-License-Identifier: Apache-2.0 */
/* fault.h - makes the n-th allocation, query, write, sync, send or receive of this
 * thread fail, in a chosen way.
 *
 * Always compiled in, so the tested code is the code that ships.  It costs one
 * thread-local comparison per operation.  Disarmed unless a test arms it.
 *
 *   memory         gives NULL
 *   query          fails before it is asked
 *   write, sync    changes of bytes or names through base/io; makes durable
 *   send, receive  a client's request never arrives; its answer never comes, though
 *                  the other side did its work
 *
 * FAULT_POWER and FAULT_DEATH end the story of this thread.  From then on it is *dark*:
 * all its file and network calls fail.  The test throws it away and starts another
 * after fault_light(). */
#ifndef BASE_FAULT_H
#define BASE_FAULT_H

#include <stdbool.h>
#include <stdint.h>

enum fault_kind {
    FAULT_MEMORY,
    FAULT_QUERY,
    FAULT_WRITE,
    FAULT_SYNC,
    FAULT_SEND,
    FAULT_RECEIVE,
    FAULT_KINDS
};

enum fault_how {
    FAULT_TORN,  /* half of it happens, then an I/O error; for names nothing happens */
    FAULT_FAILS, /* nothing happens: an I/O error */
    FAULT_FULL,  /* half of it fits, then the disk is full */
    FAULT_TWICE, /* a request arrives a second time */
    FAULT_POWER, /* it happens, then the power fails: unsynced bytes are lost */
    FAULT_DEATH, /* half of it happens, then the process dies: files stay as they are */
    FAULT_HOWS
};

struct fault_state {
    int64_t left[FAULT_KINDS]; /* 0: disarmed; n: the n-th next operation fails */
    bool fired[FAULT_KINDS];
    enum fault_how how[FAULT_KINDS];
    bool is_dark;
};

extern _Thread_local struct fault_state fault_state;

/* The `nth` next operation of `kind` on this thread fails, once (1: the very next);
 * FAULT_TORN, or as `how` says. */
void fault_arm(enum fault_kind kind, int64_t nth);
void fault_arm_as(enum fault_kind kind, int64_t nth, enum fault_how how);
/* Disarms; returns whether the fault has struck. */
bool fault_disarm(enum fault_kind kind);
/* Disarms everything and ends the dark; true: it was dark. */
bool fault_light(void);

/* Counts operations instead of striking, until fault_counted() returns the number. */
void fault_count(enum fault_kind kind);
int64_t fault_counted(enum fault_kind kind);

/* Called by the code that performs operations of `kind`. */
static inline bool fault_strikes(enum fault_kind kind)
{
    if (__builtin_expect(fault_state.left[kind] == 0, 1))
        return false;
    if (--fault_state.left[kind] > 0)
        return false;
    fault_state.fired[kind] = true;
    return true;
}

static inline bool fault_is_dark(void)
{
    return __builtin_expect(fault_state.is_dark, 0);
}

#endif
