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

/* What one holder, for example a buffer, has taken for its group.  {0}: it is not bound. */
struct allowance_part {
    struct allowance *from; /* NULL: no bound */
    uint32_t group;
    bool was_refused; /* since it gave all back */
    size_t taken;
};

/* False: nothing was taken. */
bool allowance_take(struct allowance *allowance, uint32_t group, size_t bytes);
void allowance_give(struct allowance *allowance, uint32_t group, size_t bytes);

bool allowance_part_take(struct allowance_part *part, size_t bytes);
void allowance_part_give(struct allowance_part *part); /* all of it */
/* Adds all of it to `to`, which is of the same group. */
void allowance_part_move(struct allowance_part *part, struct allowance_part *to);

#endif
