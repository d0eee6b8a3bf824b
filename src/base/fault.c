/* SPDX-License-Identifier: Apache-2.0 */
#include "base/fault.h"

_Thread_local struct fault_state fault_state;

/* By thread, so that a test strikes its own calls and not those of threads beside it.
 */
void fault_arm(enum fault_kind kind, int64_t nth)
{
    fault_state.left[kind] = nth;
    fault_state.fired[kind] = false;
}

bool fault_disarm(enum fault_kind kind)
{
    bool fired = fault_state.fired[kind];

    fault_state.left[kind] = 0;
    fault_state.fired[kind] = false;
    return fired;
}
