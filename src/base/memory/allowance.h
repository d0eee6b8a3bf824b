/* SPDX-License-Identifier: Apache-2.0 */
/* allowance.h - bounds the memory that others may make us use at once.
 *
 * Bytes are taken before memory is allocated and given back after it was freed.  Each taker
 * belongs to a group (as in lane_take_turns()), and a group may have only a part of the
 * whole: what is left is for the others.
 *
 * Threading: from any thread; no lock. */
#ifndef BASE_MEMORY_ALLOWANCE_H
#define BASE_MEMORY_ALLOWANCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ALLOWANCE_GROUPS = 64 };

struct allowance {
    size_t most;       /* 0: no bound */
    size_t group_most; /* of one group */
    _Atomic size_t taken;
    _Atomic size_t group[ALLOWANCE_GROUPS];
};

/* False: nothing was taken. */
bool allowance_take(struct allowance *allowance, uint32_t group, size_t bytes);
void allowance_give(struct allowance *allowance, uint32_t group, size_t bytes);

#endif
