/* SPDX-License-Identifier: Apache-2.0 */
/* fault.h - makes the n-th allocation, query, write or sync of this thread fail.
 *
 * Compiled in always, so that what is tested is what ships: one thread-local
 * comparison for each operation.  Disarmed unless a test arms it. */
#ifndef BASE_FAULT_H
#define BASE_FAULT_H

#include <stdbool.h>
#include <stdint.h>

enum fault_kind { FAULT_MEMORY, FAULT_QUERY, FAULT_WRITE, FAULT_SYNC, FAULT_KINDS };

struct fault_state {
    int64_t left[FAULT_KINDS]; /* 0: disarmed; n: the n-th next operation fails */
    bool fired[FAULT_KINDS];
};

extern _Thread_local struct fault_state fault_state;

/* The `nth` next operation of `kind` on this thread fails, once (1: the very next). */
void fault_arm(enum fault_kind kind, int64_t nth);
/* Disarms; says whether the fault had struck. */
bool fault_disarm(enum fault_kind kind);

/* Asked by the code that performs operations of `kind`. */
static inline bool fault_strikes(enum fault_kind kind)
{
    if (__builtin_expect(fault_state.left[kind] == 0, 1))
        return false;
    if (--fault_state.left[kind] > 0)
        return false;
    fault_state.fired[kind] = true;
    return true;
}

#endif
