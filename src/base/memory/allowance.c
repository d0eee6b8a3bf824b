/* SPDX-License-Identifier: Apache-2.0 */
#include "base/memory/allowance.h"

#include <assert.h>
#include <stdatomic.h>

static bool take_one(_Atomic size_t *taken, size_t most, size_t bytes)
{
    size_t now = atomic_load(taken);

    do
        if (bytes > most || now > most - bytes)
            return false;
    while (!atomic_compare_exchange_weak(taken, &now, now + bytes));
    return true;
}

static void give_one(_Atomic size_t *taken, size_t bytes)
{
    size_t before = atomic_fetch_sub(taken, bytes);

    assert(before >= bytes);
    (void)before;
}

bool allowance_take(struct allowance *allowance, uint32_t group, size_t bytes)
{
    _Atomic size_t *own = &allowance->group[group % ALLOWANCE_GROUPS];

    if (!allowance->most)
        return true;
    if (!take_one(own, allowance->group_most, bytes))
        return false;
    if (take_one(&allowance->taken, allowance->most, bytes))
        return true;
    give_one(own, bytes);
    return false;
}

void allowance_give(struct allowance *allowance, uint32_t group, size_t bytes)
{
    if (!allowance->most)
        return;
    give_one(&allowance->group[group % ALLOWANCE_GROUPS], bytes);
    give_one(&allowance->taken, bytes);
}

bool allowance_part_take(struct allowance_part *part, size_t bytes)
{
    if (!part->from)
        return true;
    if (allowance_take(part->from, part->group, bytes)) {
        part->taken += bytes;
        return true;
    }
    part->was_refused = true;
    return false;
}

void allowance_part_give(struct allowance_part *part)
{
    if (part->taken)
        allowance_give(part->from, part->group, part->taken);
    part->taken = 0;
    part->was_refused = false;
}

void allowance_part_move(struct allowance_part *part, struct allowance_part *to)
{
    if (!part->taken)
        return;
    if (to->from == part->from && to->group == part->group) {
        to->taken += part->taken;
        part->taken = 0;
    } else if (!to->taken) {
        *to = *part;
        part->taken = 0;
    } else {
        allowance_part_give(part); /* cannot be kept apart */
    }
}
