/* SPDX-License-Identifier: Apache-2.0 */
#include "base/fault.h"

#include <assert.h>

_Thread_local struct fault_state fault_state;

/* Per thread: a test makes its own calls fail and not those of other threads. */
void fault_arm_as(enum fault_kind kind, int64_t nth, enum fault_how how)
{
    assert(kind < FAULT_KINDS && how < FAULT_HOWS && nth >= 0);
    fault_state.left[kind] = nth;
    fault_state.fired[kind] = false;
    fault_state.how[kind] = how;
}

void fault_arm(enum fault_kind kind, int64_t nth)
{
    fault_arm_as(kind, nth, FAULT_TORN);
}

bool fault_disarm(enum fault_kind kind)
{
    bool fired = fault_state.fired[kind];

    fault_state.left[kind] = 0;
    fault_state.fired[kind] = false;
    return fired;
}

bool fault_light(void)
{
    bool was_dark = fault_state.is_dark;

    fault_state = (struct fault_state){0};
    return was_dark;
}

/* So far away that it never strikes. */
void fault_count(enum fault_kind kind)
{
    fault_arm(kind, INT64_MAX);
}

int64_t fault_counted(enum fault_kind kind)
{
    int64_t count = INT64_MAX - fault_state.left[kind];

    (void)fault_disarm(kind);
    return count;
}
